//! A disk that fails in mid-run: nothing begins any more, and what no file holds is handed back, to be taken in later.

use super::{holder, identity, instance, intent, make, open, read, record, refused};
use crate::state::error::StateError;
use crate::state::file::{DefinitionsUsed, Phase, Record, StateFile, Verb};
use crate::state::folder::FolderStore;
use crate::state::journal::{Entry, Journal, Outcome};
use crate::state::memory::{MemoryStore, Trouble};
use crate::state::session::Session;
use crate::state::store::Store;
use crate::state::survey;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

/// What a run asks of its journal, in order. What is about an object only happens if its last call was permitted.
#[derive(Debug, Clone, Copy)]
enum Act {
    Begin(&'static str, Verb),
    End(&'static str, u32),
    Refused(&'static str),
    Put(&'static str, u32),
    Gone(&'static str),
    Used(&'static str),
}

const RUN: [Act; 18] = [
    Act::Used("new"),
    Act::Begin("vpc", Verb::Create),
    Act::Begin("role", Verb::Create),
    Act::End("vpc", 1),
    Act::Put("vpc", 2),
    Act::Begin("subnet1", Verb::Create),
    Act::Begin("subnet2", Verb::Create),
    Act::Refused("role"),
    Act::End("subnet2", 1),
    Act::Begin("old", Verb::Delete),
    Act::End("subnet1", 1),
    Act::Put("subnet1", 2),
    Act::End("old", 1),
    Act::Gone("old"),
    Act::Begin("role", Verb::Create),
    Act::End("role", 3),
    Act::Put("role", 4),
    Act::Put("subnet2", 4),
];

/// Plays the run; `allowed` says which calls are made at all. Which of the begin entries were permitted, and whether
/// anything began after something could not be written.
async fn play(journal: &Journal, allowed: impl Fn(usize) -> bool) -> (Vec<usize>, bool) {
    let (mut permitted, mut entries, mut failed, mut late) = (Vec::new(), BTreeMap::new(), false, false);
    for (at, act) in RUN.iter().enumerate() {
        let done = match *act {
            Act::Begin(name, verb) => {
                entries.remove(name);
                if !allowed(at) {
                    continue;
                }
                journal.begin(intent(name, verb)).await.map(|permit| {
                    late |= failed;
                    permitted.push(at);
                    entries.insert(name, permit.entry());
                })
            }
            Act::End(name, round) => match entries.get(name) {
                Some(entry) => {
                    let made = (name != "old").then(|| record(name, round));
                    journal.end(*entry, Outcome::Succeeded, made).await
                }
                None => continue,
            },
            Act::Refused(name) => match entries.get(name) {
                Some(entry) => journal.end(*entry, refused(), None).await,
                None => continue,
            },
            Act::Put(name, round) if entries.contains_key(name) => journal.put(record(name, round)).await,
            Act::Gone(name) if entries.contains_key(name) => {
                let deleting = Record { phase: Phase::Deleting, ..record(name, 9) };
                match journal.put(deleting).await {
                    Ok(()) => journal.forget(&identity(name)).await,
                    // A run does not go on here, but AWS does: it is gone.
                    Err(error) => journal.forget(&identity(name)).await.and(Err(error)),
                }
            }
            Act::Used(hash) => journal.definitions(DefinitionsUsed { source: "built-in".into(), hash: hash.to_owned() }).await,
            Act::Put(..) | Act::Gone(_) => continue,
        };
        failed |= done.is_err();
    }
    (permitted, late)
}

/// What counts of a state: lineages, tokens and times are each run's own.
fn content(state: &StateFile) -> String {
    let open: Vec<_> = state.open.iter().map(|begin| (begin.entry, &begin.identity.name, &begin.operation)).collect();
    let mut records = state.resources.clone();
    records.sort_by(|one, other| one.identity.name.cmp(&other.identity.name));
    format!("{records:#?} {open:?} {:?} {:?}", state.definitions, state.durations)
}

async fn with_old() -> MemoryStore {
    let store = MemoryStore::new();
    let session = open(&store).await;
    make(&session, "old").await;
    session.close().await.unwrap();
    store
}

fn parsed(lines: &[String]) -> Vec<Entry> {
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every entry that a journal in the store holds.
async fn in_files(store: &MemoryStore) -> Vec<Entry> {
    let survey = survey::survey(store, &instance().store_key()).await.unwrap();
    survey.segments.into_iter().flat_map(|segment| segment.entries.unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_failing_disk_did_not_take_is_taken_back_later() {
    let kinds = [ErrorKind::StorageFull, ErrorKind::ReadOnlyFilesystem, ErrorKind::PermissionDenied, ErrorKind::Other];
    let (mut handed_back, mut whole) = (0, 0);
    for kind in kinds {
        for writes in 0..30 {
            let store = with_old().await;
            let session = open(&store).await;
            store.trouble(Trouble { failing: Some((writes, kind)), ..Trouble::default() });
            let (permitted, late) = play(&session.journal(), |_| true).await;
            assert!(!late, "{kind:?} after {writes}: something began after a write had failed");
            let unsaved = match session.close().await {
                Ok(_) => Vec::new(),
                Err(StateError::Unsaved { entries, source }) => {
                    assert!(source.to_string().contains("cannot be written"), "{source}");
                    entries
                }
                Err(error) => {
                    assert!(matches!(&error, StateError::Store { .. }), "{error}");
                    Vec::new()
                }
            };
            store.trouble(Trouble::default());
            let unsaved = parsed(&unsaved);
            let saved = in_files(&store).await;
            assert!(unsaved.iter().all(|entry| !saved.contains(entry)), "{kind:?} after {writes}");
            assert!(!unsaved.iter().any(|entry| matches!(entry, Entry::Begin(_))), "what was not begun was not called");
            handed_back += unsaved.len();
            whole += usize::from(unsaved.is_empty());

            let session = open(&store).await;
            let taken = session.take_back(unsaved.clone()).await.unwrap();
            let again = session.take_back(unsaved).await.unwrap();
            assert_eq!(taken, again, "taking them in twice changes nothing");
            session.close().await.unwrap();

            let good = with_old().await;
            let session = open(&good).await;
            play(&session.journal(), |at| permitted.contains(&at)).await;
            let expected = session.close().await.unwrap();
            assert_eq!(content(&read(&store).await), content(&expected), "{kind:?} after {writes} writes");
        }
    }
    assert!(handed_back > 100 && whole > 20, "{handed_back} {whole}");
}

/// A disk that is whole again before the end: the ends of what was under way are written after all.
#[tokio::test(start_paused = true)]
async fn ends_are_tried_again_when_the_disk_is_back() {
    let store = with_old().await;
    let session = open(&store).await;
    let journal = session.journal();
    let first = journal.begin(intent("vpc", Verb::Create)).await.unwrap().entry();
    let second = journal.begin(intent("role", Verb::Create)).await.unwrap().entry();
    assert!(journal.is_open());
    store.trouble(Trouble { failing: Some((0, ErrorKind::StorageFull)), ..Trouble::default() });
    journal.end(first, Outcome::Succeeded, Some(record("vpc", 1))).await.unwrap_err();
    assert!(!journal.is_open());
    journal.wait_closed().await;
    store.trouble(Trouble::default());
    journal.end(second, Outcome::Succeeded, Some(record("role", 1))).await.unwrap();
    let error = journal.begin(intent("subnet1", Verb::Create)).await.unwrap_err();
    assert!(matches!(error, StateError::Journal { .. }), "{error}");
    let closed = session.close().await.unwrap();
    assert_eq!((closed.resources.len(), closed.open.len()), (3, 0));
}

/// A write that is there although it was said to have failed, and a store that cannot be read for a while: what came after it
/// is not taken for written.
#[tokio::test(start_paused = true)]
async fn what_comes_after_a_doubtful_write_is_not_forgotten() {
    let store = with_old().await;
    let session = open(&store).await;
    let journal = session.journal();
    let first = journal.begin(intent("vpc", Verb::Create)).await.unwrap().entry();
    let second = journal.begin(intent("role", Verb::Create)).await.unwrap().entry();
    store.trouble(Trouble { lost_replies: 1, unread: 1, ..Trouble::default() });
    journal.end(first, Outcome::Succeeded, Some(record("vpc", 1))).await.unwrap_err();
    journal.end(second, Outcome::Succeeded, Some(record("role", 1))).await.unwrap_err();
    let closed = session.close().await.unwrap();
    assert_eq!((closed.resources.len(), closed.open.len()), (3, 0), "{:?}", closed.open);
    assert_eq!(read(&store).await, closed);
}

/// Lines that come late do not undo what later runs did.
#[tokio::test(start_paused = true)]
async fn entries_that_a_later_run_went_past_change_nothing() {
    let store = with_old().await;
    let session = open(&store).await;
    let entry = session.journal().begin(intent("vpc", Verb::Create)).await.unwrap().entry();
    let late = vec![
        Entry::End { begin: entry, outcome: Outcome::Succeeded, record: Some(Box::new(record("vpc", 1))) },
        Entry::Put { record: Box::new(record("vpc", 2)) },
        Entry::Put { record: Box::new(Record { phase: Phase::Deleting, ..record("old", 2) }) },
        Entry::Forget { identity: identity("old") },
    ];
    drop(session);
    tokio::task::yield_now().await;
    // The next run finds the VPC and configures it, and makes what was deleted again.
    let session = open(&store).await;
    let journal = session.journal();
    journal.end(entry, Outcome::FoundDone, Some(record("vpc", 5))).await.unwrap();
    journal.put(Record { phase: Phase::Ready, ..record("vpc", 6) }).await.unwrap();
    journal.forget(&identity("old")).await.unwrap();
    let again = journal.begin(intent("old", Verb::Create)).await.unwrap().entry();
    journal.end(again, Outcome::Succeeded, Some(record("old", 7))).await.unwrap();
    let other = journal.begin(intent("role", Verb::Create)).await.unwrap().entry();
    let before = session.state();
    let mut lines = late;
    // An end of an entry whose number stands for another object by now.
    lines.push(Entry::End { begin: other, outcome: Outcome::Succeeded, record: Some(Box::new(record("cluster", 1))) });
    let after = session.take_back(lines).await.unwrap();
    assert!(after.same_content(&before), "{:#?}", after.resources);
}

/// The state file is removed while a run has it: it is written again, and nothing else begins.
#[tokio::test]
async fn a_file_that_is_removed_in_mid_run_is_written_again_and_stops_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(FolderStore::new(folder.path()));
    let session = super::open_in(&store).await;
    make(&session, "vpc").await;
    let journal = session.journal();
    let entry = journal.begin(intent("role", Verb::Create)).await.unwrap().entry();
    std::fs::remove_file(folder.path().join(instance().store_key())).unwrap();
    let error = journal.begin(intent("subnet1", Verb::Create)).await.unwrap_err().to_string();
    assert!(error.contains("somebody removed it in mid-run"), "{error}");
    journal.begin(intent("subnet2", Verb::Create)).await.unwrap_err();
    journal.end(entry, Outcome::Succeeded, Some(record("role", 1))).await.unwrap();
    let closed = session.close().await.unwrap();
    assert_eq!((closed.resources.len(), closed.open.len()), (2, 0));
    assert_eq!(read(&*store).await, closed);
}

/// The whole folder is removed: nothing else begins, and the state is written again in the end.
#[tokio::test]
async fn a_folder_that_is_removed_in_mid_run_is_there_again_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("state");
    let store: Arc<dyn Store> = Arc::new(FolderStore::new(&root));
    let session = super::open_in(&store).await;
    make(&session, "vpc").await;
    let journal = session.journal();
    let entry = journal.begin(intent("role", Verb::Create)).await.unwrap().entry();
    let open_one = journal.begin(intent("cluster", Verb::Create)).await.unwrap().entry();
    std::fs::remove_dir_all(&root).unwrap();
    let error = journal.begin(intent("subnet1", Verb::Create)).await.unwrap_err();
    assert!(matches!(&error, StateError::LockLost { .. }) && error.to_string().contains("was removed"), "{error}");
    journal.end(entry, Outcome::Succeeded, Some(record("role", 1))).await.unwrap_err();
    assert!(!root.exists(), "nothing is written while others may have it");
    let error = session.close().await.unwrap_err();
    assert!(matches!(&error, StateError::LockLost { .. }), "{error}");
    let session = super::open_in(&store).await;
    let state = session.state();
    assert_eq!((state.resources.len(), state.open.len(), state.open[0].entry), (2, 1, open_one));
    session.close().await.unwrap();
}

/// The same, but somebody else has begun another state there: theirs stays, and ours is said.
#[tokio::test]
async fn a_state_of_somebody_else_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("state");
    let store: Arc<dyn Store> = Arc::new(FolderStore::new(&root));
    let session = super::open_in(&store).await;
    let entry = session.journal().begin(intent("role", Verb::Create)).await.unwrap().entry();
    std::fs::remove_dir_all(&root).unwrap();
    let others = Session::open(store.clone(), instance(), holder()).await.unwrap();
    make(&others, "theirs").await;
    session.journal().end(entry, Outcome::Succeeded, Some(record("role", 1))).await.unwrap_err();
    let StateError::Unsaved { entries, .. } = session.close().await.unwrap_err() else { panic!("it is in no file") };
    assert_eq!(entries.len(), 1);
    let state = others.close().await.unwrap();
    assert_eq!(state.resources[0].identity.name, "theirs");
    assert_eq!(read(&*store).await, state);
}
