//! Damage: whatever happens to the bytes of a state, it is noticed, and what is whole is found again.

use super::faults::{Failure, Faulty, Objects};
use super::{Portable, holder, instance, intent, make, open, record};
use crate::state::error::StateError;
use crate::state::file::{StateFile, Verb};
use crate::state::folder::FolderStore;
use crate::state::journal::{Entry, Outcome};
use crate::state::memory::MemoryStore;
use crate::state::s3::S3Store;
use crate::state::session;
use crate::state::store::Store;
use crate::state::survey::{self, Restored};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What lies in the journal's folder and is no segment.
const STRAY: &str = "argocd/EksCluster.workload-cluster1.journal/12 (copy).json";

const KEY: &str = "argocd/EksCluster.workload-cluster1.json";

/// A state at serial 4 with three versions before it, and a journal of seven segments. The last begin entry has no end.
async fn rich<S: Portable>() -> S {
    let store = S::default();
    for name in ["vpc", "subnet1", "subnet2", "natGateway1"] {
        let session = open(&store).await;
        make(&session, name).await;
        session.close().await.unwrap();
    }
    let session = open(&store).await;
    for name in ["routeTable", "role", "cluster"] {
        make(&session, name).await;
    }
    session.journal().begin(intent("addon", Verb::Create)).await.unwrap();
    S::with(store.objects())
}

fn segment(number: u64) -> String {
    format!("argocd/EksCluster.workload-cluster1.journal/{number:012}.json")
}

fn backup(serial: u64) -> String {
    format!("{KEY}.backup-{serial}")
}

/// The names of what is recorded or under way.
fn names(state: &StateFile) -> BTreeSet<&str> {
    let recorded = state.resources.iter().map(|record| record.identity.name.as_str());
    recorded.chain(state.open.iter().map(|begin| begin.identity.name.as_str())).collect()
}

/// What happens to the objects of a store.
#[derive(Debug, Clone)]
enum Damage {
    Remove(String),
    /// It ends after so many bytes.
    Cut(String, usize),
    /// This bit is another.
    Flip(String, usize),
    /// It holds what another one holds.
    Copy(String, String),
}

fn damaged(objects: &Objects, damages: &[Damage]) -> Objects {
    let mut after = objects.clone();
    for damage in damages {
        match damage {
            Damage::Remove(key) => drop(after.remove(key)),
            Damage::Cut(key, length) => after.get_mut(key).unwrap().truncate(*length),
            Damage::Flip(key, bit) => after.get_mut(key).unwrap()[bit / 8] ^= 1 << (bit % 8),
            Damage::Copy(from, to) => drop(after.insert(to.clone(), objects[from].clone())),
        }
    }
    after
}

/// What reading says of objects. They are not changed by it.
async fn read(objects: &Objects) -> Result<StateFile, StateError> {
    let store = MemoryStore::with(objects.clone());
    let read = session::read(&store, &instance()).await;
    assert_eq!(store.objects(), *objects);
    read.map(|state| state.expect("a damaged state is not taken for none at all"))
}

async fn restore<S: Portable>(store: &S) -> Result<Restored, StateError> {
    survey::restore(Arc::new(store.clone()), KEY, &holder(), None).await
}

/// Every record that anything of a state that can still be read has: what must come back.
async fn readable(objects: &Objects) -> BTreeSet<String> {
    let survey = survey::survey(&MemoryStore::with(objects.clone()), KEY).await.unwrap();
    let file = survey.file.as_ref().and_then(|file| file.as_ref().ok());
    let base = file.or_else(|| survey.newest_whole().map(|(_, state)| state)).unwrap();
    let mut found: BTreeSet<String> = names(base).into_iter().map(str::to_owned).collect();
    for entry in survey.segments.iter().filter_map(|segment| segment.entries.as_ref().ok()).flatten() {
        match entry {
            Entry::Begin(begin) => drop(found.insert(begin.identity.name.clone())),
            Entry::End { record: Some(record), .. } => drop(found.insert(record.identity.name.clone())),
            _ => {}
        }
    }
    found
}

/// The highest serial that a key or a file shows.
fn highest_serial(objects: &Objects) -> u64 {
    let of_key = |key: &String| key.strip_prefix(KEY)?.strip_prefix(".backup-")?.parse().ok();
    objects.keys().filter_map(of_key).max().unwrap_or(0).max(4)
}

/// Restores damaged objects and looks at everything that was promised of it.
async fn check_restore<S: Portable>(objects: &Objects, lost: &[&str]) -> StateFile {
    let must = readable(objects).await;
    let store = S::with(objects.clone());
    let restored = restore(&store).await.unwrap();
    assert!(restored.state.serial > highest_serial(objects), "serial {}", restored.state.serial);
    assert!(restored.state.last_entry >= 8 && restored.state.folded_segment >= 15, "{:?}", restored.state);
    let after = store.objects();
    for key in lost {
        let kept = objects.get(*key).is_none_or(|bytes| restored.aside.iter().any(|place| &after[place] == bytes));
        assert!(kept, "{key} is not kept aside");
    }
    assert!(!after.keys().any(|key| key.contains(".journal/")), "what is restored has no journal");
    let state = read(&after).await.unwrap();
    assert_eq!(state, restored.state);
    assert_eq!(must.iter().filter(|name| !names(&state).contains(name.as_str())).count(), 0, "of {must:?} {:?}", names(&state));

    // Again: nothing is lost, nothing is damaged.
    let again = restore(&store).await.unwrap();
    assert!(again.state.same_content(&state) && again.aside.is_empty(), "{:?}", again.aside);
    // And it goes on from there.
    let session = open(&store).await;
    assert!(session.state().same_content(&state));
    make(&session, "after").await;
    let closed = session.close().await.unwrap();
    assert!(closed.serial > again.state.serial && closed.last_entry > state.last_entry);
    state
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_cut_off_anywhere_is_noticed() {
    let objects = rich::<MemoryStore>().await.objects();
    let whole = read(&objects).await.unwrap();
    for key in [KEY.to_owned(), segment(9), segment(12), segment(15)] {
        let length = objects[&key].len();
        // Every length near the end, and a good part of those before it.
        for cut in (0..length).filter(|cut| cut % 7 == 0 || cut + 40 > length) {
            let after = damaged(&objects, &[Damage::Cut(key.clone(), cut)]);
            match read(&after).await {
                Err(StateError::Damaged { key: said, reason }) => {
                    assert!(
                        said == key && reason.contains("state doctor EksCluster/workload-cluster1 -n argocd --restore"),
                        "{said}: {reason}"
                    );
                }
                // All but the line break.
                Ok(state) => assert!(cut == length - 1 && state == whole, "{key} cut to {cut}"),
                Err(error) => panic!("{key} cut to {cut}: {error}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_bit_that_flips_is_noticed() {
    let objects = rich::<MemoryStore>().await.objects();
    for key in [KEY.to_owned(), segment(9), segment(12), segment(15)] {
        // Every bit by itself is tried with the checksum; here are those of all positions in a byte.
        for bit in (0..objects[&key].len() * 8).step_by(31) {
            let after = damaged(&objects, &[Damage::Flip(key.clone(), bit)]);
            let error = read(&after).await.unwrap_err();
            let text = error.to_string();
            assert!(matches!(&error, StateError::Damaged { key: said, .. } if *said == key), "bit {bit}: {text}");
            let serial = if key == KEY { 3 } else { 4 };
            assert!(text.contains(&format!("goes back to serial {serial}")), "bit {bit}: {text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_bit_that_flipped_anywhere_in_the_file_does_not_keep_from_going_back() {
    let objects = rich::<MemoryStore>().await.objects();
    for bit in (0..objects[KEY].len() * 8).step_by(397) {
        let after = damaged(&objects, &[Damage::Flip(KEY.into(), bit)]);
        check_restore::<MemoryStore>(&after, &[KEY]).await;
    }
    // Every bit of the last digit of the numbers that say how old it is.
    let text = String::from_utf8(objects[KEY].clone()).unwrap();
    for field in ["\"version\": 2", "\"serial\": 4", "\"foldedSegment\": 8", "\"lastEntry\": 4"] {
        let at = text.find(field).unwrap();
        for bit in (at + field.len() - 1) * 8..(at + field.len()) * 8 {
            let after = damaged(&objects, &[Damage::Flip(KEY.into(), bit)]);
            check_restore::<MemoryStore>(&after, &[KEY]).await;
        }
    }
}

/// What is damaged, which of it has to be kept aside, and what of the state is not found again.
fn cases() -> Vec<(Vec<Damage>, Vec<String>, &'static [&'static str])> {
    let flip = |key: String| Damage::Flip(key, 1201);
    vec![
        (vec![flip(KEY.into())], vec![KEY.into()], &["natGateway1"]),
        (vec![Damage::Remove(KEY.into())], vec![], &["natGateway1"]),
        (vec![Damage::Cut(KEY.into(), 0)], vec![KEY.into()], &["natGateway1"]),
        // The newest versions before it are no better.
        (vec![flip(KEY.into()), flip(backup(3))], vec![KEY.into()], &["subnet2", "natGateway1"]),
        (
            vec![flip(KEY.into()), flip(backup(3)), Damage::Remove(backup(2))],
            vec![KEY.into()],
            &["subnet1", "subnet2", "natGateway1"],
        ),
        (vec![Damage::Remove(KEY.into()), Damage::Cut(backup(3), 700)], vec![], &["subnet2", "natGateway1"]),
        // The file is whole, what came before or after it is not.
        (vec![flip(segment(11))], vec![segment(11)], &[]),
        (vec![Damage::Remove(segment(11))], vec![], &[]),
        (vec![flip(segment(11)), flip(segment(12))], vec![segment(11), segment(12)], &["role"]),
        (vec![flip(segment(9)), flip(segment(10)), flip(segment(15))], vec![segment(9), segment(15)], &["routeTable", "addon"]),
        (vec![Damage::Copy(segment(11), segment(12))], vec![segment(12)], &[]),
        (vec![Damage::Copy(segment(11), STRAY.into())], vec![STRAY.into()], &[]),
        (vec![flip(segment(14)), flip(backup(3))], vec![segment(14)], &[]),
        // Everything at once.
        (
            vec![flip(KEY.into()), flip(backup(3)), flip(segment(12)), Damage::Remove(segment(10))],
            vec![KEY.into(), segment(12)],
            &["subnet2", "natGateway1"],
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn whatever_is_whole_is_found_again() {
    let all = ["vpc", "subnet1", "subnet2", "natGateway1", "routeTable", "role", "cluster", "addon"];
    let (in_memory, in_bucket) = (rich::<MemoryStore>().await.objects(), rich::<S3Store>().await.objects());
    for (damages, aside, lost) in cases() {
        let aside: Vec<&str> = aside.iter().map(String::as_str).collect();
        let after = damaged(&in_memory, &damages);
        let text = read(&after).await.unwrap_err().to_string();
        assert!(text.contains("--restore` goes back to serial"), "{damages:?}: {text}");
        let state = check_restore::<MemoryStore>(&after, &aside).await;
        let expected: BTreeSet<&str> = all.into_iter().filter(|name| !lost.contains(name)).collect();
        assert_eq!(names(&state), expected, "{damages:?}");
        check_restore::<S3Store>(&damaged(&in_bucket, &damages), &aside).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_folder_is_restored_like_any_other_store() {
    let objects = rich::<MemoryStore>().await.objects();
    for (damages, _, lost) in cases() {
        let folder = tempfile::tempdir().unwrap();
        let store = FolderStore::new(folder.path());
        for (key, bytes) in damaged(&objects, &damages) {
            store.put_if_absent(&key, &bytes).await.unwrap();
        }
        let restored = survey::restore(Arc::new(store.clone()), KEY, &holder(), None).await.unwrap();
        assert_eq!(super::read(&store).await, restored.state, "{damages:?}");
        assert_eq!(restored.state.resources.len() + restored.state.open.len(), 8 - lost.len(), "{damages:?}");
        for place in restored.aside {
            assert!(store.get(&place).await.unwrap().is_some());
        }
        open(&store).await.close().await.unwrap();
    }
}

/// A crash after any write of a restore: the next one, or the one after a failure of the store, gives the same.
#[tokio::test(start_paused = true)]
async fn a_restore_that_breaks_off_loses_nothing() {
    for (damages, aside, _) in cases() {
        broken_off::<MemoryStore>(&damages, &aside).await;
    }
    for (damages, aside, _) in cases().into_iter().step_by(3) {
        broken_off::<S3Store>(&damages, &aside).await;
    }
}

async fn broken_off<S: Portable>(damages: &[Damage], aside: &[String]) {
    let before = damaged(&rich::<S>().await.objects(), damages);
    let store = Faulty::<S>::with(before.clone());
    let wanted = restore(&store).await.unwrap().state;
    let mut between = store.history();
    for failure in [Failure::Undone, Failure::Done] {
        for first in 0..store.writes() {
            let failing = Faulty::over(S::with(before.clone()), first, first, failure);
            restore(&failing).await.unwrap_err();
            between.push(failing.inner.objects());
        }
    }
    for objects in between {
        let store = S::with(objects);
        let after = match session::read(&store, &instance()).await {
            Ok(state) => state.unwrap(),
            Err(StateError::Damaged { .. }) => restore(&store).await.unwrap().state,
            Err(error) => panic!("{error}"),
        };
        assert!(after.same_content(&wanted) && after.serial > 4, "{damages:?}");
        open(&store).await.close().await.unwrap();
        for key in aside {
            let kept = store.objects().iter().any(|(place, bytes)| place.contains(".damaged-") && bytes == &before[key]);
            assert!(kept, "{key} is lost in {damages:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_whole_the_way_is_by_tags_and_nothing_is_touched() {
    let objects = rich::<MemoryStore>().await.objects();
    let mut damages = vec![Damage::Flip(KEY.into(), 999)];
    damages.extend((1..4).map(|serial| Damage::Cut(backup(serial), 50)));
    let after = damaged(&objects, &damages);
    let text = read(&after).await.unwrap_err().to_string();
    assert!(text.contains("No version before it is whole; `fleetctl state rebuild FILE…`"), "{text}");
    let store = MemoryStore::with(after.clone());
    assert_eq!(restore(&store).await.unwrap_err().to_string(), text);
    assert_eq!(store.objects(), after);
    // The lock is free again.
    restore(&store).await.unwrap_err();
}

/// What a newer program wrote is whole: going back would lose what it knows.
#[tokio::test(start_paused = true)]
async fn a_newer_version_is_not_restored_over() {
    use crate::state::checksum::{FIELD, seal, with_room};
    for key in [KEY.to_owned(), segment(12)] {
        let mut objects = rich::<MemoryStore>().await.objects();
        let mut document: serde_json::Value = serde_json::from_slice(&objects[&key]).unwrap();
        document["version"] = serde_json::json!(3);
        document.as_object_mut().unwrap().shift_remove(FIELD);
        objects.insert(key.clone(), seal(with_room(document).to_string()).into_bytes());
        let store = MemoryStore::with(objects.clone());
        let error = restore(&store).await.unwrap_err();
        assert!(matches!(&error, StateError::NewerVersion { key: said, .. } if *said == key), "{error}");
        assert_eq!(store.objects(), objects);
    }
}

/// A segment of another state, put there by whoever copied folders.
#[tokio::test(start_paused = true)]
async fn a_segment_of_another_lineage_is_kept_aside_and_not_believed() {
    let objects = rich::<MemoryStore>().await.objects();
    let foreign = rich::<MemoryStore>().await.objects();
    let mut after = objects.clone();
    after.insert(segment(15), foreign[&segment(15)].clone());
    let text = read(&after).await.unwrap_err().to_string();
    assert!(text.contains("it belongs to lineage "), "{text}");
    let store = MemoryStore::with(after);
    let restored = restore(&store).await.unwrap();
    assert_eq!(restored.state.open.len(), 0, "the begin entry was another's");
    assert_eq!(store.objects()[&restored.aside[0]], foreign[&segment(15)]);
}

/// Names of versions and numbers of entries are never used again, even those that were lost.
#[tokio::test(start_paused = true)]
async fn what_was_lost_lends_its_numbers_to_nobody() {
    let store = rich::<MemoryStore>().await;
    let before = super::read(&store).await;
    let mut objects = store.objects();
    objects.retain(|key, _| key == KEY || *key == backup(2));
    let store = MemoryStore::with(damaged(&objects, &[Damage::Cut(KEY.into(), 10)]));
    let restored = restore(&store).await.unwrap();
    assert_eq!((restored.from, names(&restored.state)), (2, BTreeSet::from(["vpc", "subnet1"])));
    assert!(restored.state.folded_segment > before.folded_segment);
    let session = open(&store).await;
    let entry = session.journal().begin(intent("again", Verb::Create)).await.unwrap().entry();
    assert!(entry > before.last_entry, "{entry}");
    session.journal().end(entry, Outcome::Succeeded, Some(record("again", 1))).await.unwrap();
    session.close().await.unwrap();
}
