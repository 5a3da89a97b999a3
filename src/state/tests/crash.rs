//! A crash at any instant: whatever the store looks like, opening it again gives a state that knows every call.

use super::Portable;
use super::faults::{Failure, Faulty};
use super::script::{Fact, Script, play, scripts};
use super::{holder, instance, make, open, read, record};
use crate::state::error::StateError;
use crate::state::file::{StateFile, Verb};
use crate::state::journal::Outcome;
use crate::state::memory::MemoryStore;
use crate::state::s3::S3Store;
use crate::state::session::Session;
use proptest::prelude::{ProptestConfig, proptest};
use std::sync::Arc;

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(work)
}

/// Two runs of a script, the second after a run that ended without folding.
async fn play_twice<S: Portable>(store: &Faulty<S>, script: &Script) -> Vec<(Fact, usize)> {
    let mut facts = Vec::new();
    for fold in [false, true] {
        let Some(session) = try_open(store).await else { continue };
        facts.extend(play(&session.journal(), script, || store.carried_out()).await);
        if fold {
            let _ = session.close().await;
        } else {
            drop(session);
            tokio::task::yield_now().await;
        }
    }
    facts
}

/// Opens a state as soon as the run before has let go, if the store lets it.
async fn try_open<S: Portable>(store: &Faulty<S>) -> Option<Session> {
    loop {
        match Session::open(Arc::new(store.clone()), instance(), holder()).await {
            Err(StateError::Locked { .. }) => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
            session => return session.ok(),
        }
    }
}

/// What a state must know of facts that were told when the store had seen at most `writes` writes.
fn check(state: &StateFile, facts: &[(Fact, usize)], writes: usize) {
    let is_open = |entry: u64| state.open.iter().any(|begin| begin.entry == entry);
    let known: Vec<Fact> = facts.iter().filter(|(_, at)| *at <= writes).map(|(fact, _)| *fact).collect();
    for fact in &known {
        match *fact {
            Fact::Permit(entry) => {
                assert!(entry <= state.last_entry, "entry {entry} is forgotten");
                let over = known.contains(&Fact::Ending(entry));
                assert!(is_open(entry) || over, "entry {entry} was never ended, but is not open");
            }
            Fact::Ended(entry) => assert!(!is_open(entry), "entry {entry} was ended, but is open"),
            Fact::Ending(_) => {}
        }
    }
}

async fn reopened<S: Portable>(objects: super::faults::Objects) -> StateFile {
    let store = S::with(objects);
    let seen = read(&store).await;
    let session = open(&store).await;
    let state = session.state();
    assert!(seen.same_content(&state), "a reader and a session see different states");
    let closed = session.close().await.unwrap();
    assert!(closed.same_content(&state));
    assert_eq!(closed, read(&store).await);
    state
}

async fn replayed<S: Portable>(script: &Script) {
    let store = S::default();
    let session = open(&store).await;
    // Something is recorded at least: a script may change nothing.
    make(&session, "first").await;
    play(&session.journal(), script, || 0).await;
    let live = session.state();
    assert_eq!(read(&store).await, live);
    let closed = session.close().await.unwrap();
    assert!(closed.same_content(&live));
    assert_eq!(closed.folded_segment, live.folded_segment);
    assert_eq!(read(&store).await, closed);
}

async fn crash_after_any_write<S: Portable>(script: &Script) {
    let store = Faulty::<S>::default();
    let facts = play_twice(&store, script).await;
    for (index, objects) in store.history().into_iter().enumerate() {
        check(&reopened::<S>(objects).await, &facts, index + 1);
    }
}

/// Each write fails, and with it those after it, if the store does not recover.
async fn failing<S: Portable>(script: &Script, for_good: bool) {
    let clean = Faulty::<S>::default();
    play_twice(&clean, script).await;
    for failure in [Failure::Undone, Failure::Done] {
        for first in 1..clean.writes() {
            let last = if for_good { usize::MAX } else { first };
            let store = Faulty::<S>::failing(first, last, failure);
            let facts = play_twice(&store, script).await;
            check(&reopened::<S>(store.inner.objects()).await, &facts, usize::MAX);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_crash_after_any_write_loses_nothing(script in scripts()) {
        run(async {
            crash_after_any_write::<MemoryStore>(&script).await;
            crash_after_any_write::<S3Store>(&script).await;
        });
    }

    #[test]
    fn entries_have_numbers_of_their_own(script in scripts()) {
        run(async {
            let store = Faulty::<MemoryStore>::default();
            let facts = play_twice(&store, &script).await;
            let mut numbers: Vec<u64> =
                facts.iter().filter_map(|(fact, _)| if let Fact::Permit(entry) = fact { Some(*entry) } else { None }).collect();
            let count = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), count);
        });
    }

    #[test]
    fn what_is_replayed_is_what_was_seen(script in scripts()) {
        run(async {
            replayed::<MemoryStore>(&script).await;
            replayed::<S3Store>(&script).await;
        });
    }
}

proptest! {
    // Each case tries every write.
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn a_store_that_fails_from_any_write_on_loses_nothing(script in scripts()) {
        run(async {
            failing::<MemoryStore>(&script, true).await;
            failing::<S3Store>(&script, true).await;
        });
    }

    #[test]
    fn a_store_that_fails_once_loses_nothing(script in scripts()) {
        run(async {
            failing::<MemoryStore>(&script, false).await;
            failing::<S3Store>(&script, false).await;
        });
    }
}

#[tokio::test]
async fn after_a_failed_write_nothing_begins_but_ends_are_still_written() {
    for failure in [Failure::Undone, Failure::Done] {
        // Writes: 0 the file, 1 the first begin, 2 the second begin, which fails.
        let store = Faulty::<MemoryStore>::failing(2, 2, failure);
        let session = open(&store).await;
        let journal = session.journal();
        let first = journal.begin(super::intent("vpc", Verb::Create)).await.unwrap();
        let second = journal.begin(super::intent("subnet1", Verb::Create)).await.unwrap_err();
        assert!(second.to_string().contains("cannot be written: cannot write store: "), "{second}");
        journal.begin(super::intent("subnet2", Verb::Create)).await.unwrap_err();
        journal.end(first.entry(), Outcome::Succeeded, Some(record("vpc", 0))).await.unwrap();
        let state = session.close().await.unwrap();
        assert_eq!(state.resources.len(), 1);
        // The entry whose write was said to have failed is open if it is there: looking it up does no harm.
        assert_eq!(state.open.len(), usize::from(failure == Failure::Done));
        assert_eq!(read(&store.inner).await, state);
    }
}

#[tokio::test]
async fn while_the_store_is_down_nothing_is_said_to_be_written() {
    let store = Faulty::<MemoryStore>::failing(2, usize::MAX, Failure::Undone);
    let session = open(&store).await;
    let journal = session.journal();
    let first = journal.begin(super::intent("vpc", Verb::Create)).await.unwrap();
    journal.begin(super::intent("subnet1", Verb::Create)).await.unwrap_err();
    journal.end(first.entry(), Outcome::Succeeded, Some(record("vpc", 0))).await.unwrap_err();
    journal.put(record("subnet2", 0)).await.unwrap_err();
    assert!(session.state().resources.is_empty());
    session.close().await.unwrap_err();
    let reopened = open(&store.inner).await.state();
    assert_eq!((reopened.open.len(), reopened.open[0].entry), (1, first.entry()));
}

#[tokio::test]
async fn leftovers_of_a_fold_are_removed() {
    let store = MemoryStore::new();
    let session = open(&store).await;
    make(&session, "vpc").await;
    let before = store.objects();
    session.close().await.unwrap();
    // As if the process had died right after it wrote the file.
    let mut objects = store.objects();
    let segments: Vec<_> = before.into_iter().filter(|(key, _)| key.contains(".journal/")).collect();
    assert_eq!(segments.len(), 2);
    objects.extend(segments);
    let store = MemoryStore::with(objects);
    let state = read(&store).await;
    assert_eq!(open(&store).await.close().await.unwrap(), state);
    assert!(!store.objects().keys().any(|key| key.contains(".journal/")));
}
