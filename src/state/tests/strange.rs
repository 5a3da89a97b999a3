//! What people put where a state belongs: absurd numbers, another instance's file, a folder, a link that leads nowhere.

use super::{Portable, holder, instance, intent, make, open, read, record};
use crate::state::error::StateError;
use crate::state::file::{InstanceKey, Record, StateFile, Verb};
use crate::state::folder::FolderStore;
use crate::state::journal::Outcome;
use crate::state::memory::MemoryStore;
use crate::state::s3::S3Store;
use crate::state::session::{self, export, import};
use crate::state::store::Store;
use crate::state::survey;
use serde_json::json;
use std::sync::Arc;

const KEY: &str = "argocd/EksCluster.workload-cluster1.json";

/// A state at serial 2, with a version before it.
async fn with_versions<S: Portable>() -> S {
    let store = S::default();
    for name in ["vpc", "role"] {
        let session = open(&store).await;
        make(&session, name).await;
        session.close().await.unwrap();
    }
    S::with(store.objects())
}

/// Bytes of a state with absurd content, as somebody would push it; the checksum does not matter.
fn edited(state: &StateFile, pointer: &str, value: serde_json::Value) -> Vec<u8> {
    let mut document = serde_json::to_value(state).unwrap();
    *document.pointer_mut(pointer).unwrap() = value;
    document.to_string().into_bytes()
}

fn reason(error: &StateError) -> String {
    assert!(matches!(error, StateError::Damaged { .. }), "{error}");
    error.to_string()
}

#[tokio::test]
async fn numbers_and_times_that_cannot_be_are_not_taken() {
    let store = with_versions::<MemoryStore>().await;
    let state = read(&store).await;
    import("a.json", &edited(&state, "/serial", json!(1_000_000))).unwrap();
    for pointer in ["/serial", "/foldedSegment", "/lastEntry"] {
        for number in [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 52) + 1] {
            let error = reason(&import("a.json", &edited(&state, pointer, json!(number))).unwrap_err());
            assert!(error.contains(&number.to_string()) && error.contains("which no state reaches"), "{error}");
        }
    }
    for seconds in [-1.0, 1e10, f64::MAX] {
        reason(&import("a.json", &edited(&state, "/durations", json!({"VPC.create": seconds}))).unwrap_err());
    }
    for time in ["+262142-12-31T23:59:59Z", "-262143-01-01T00:00:00Z"] {
        reason(&import("a.json", &edited(&state, "/resources/0/since", json!(time))).unwrap_err());
    }
}

/// A whole file, with the right checksum, as an older program may have taken it.
#[tokio::test]
async fn a_state_with_numbers_that_cannot_be_is_damaged_and_gone_back_from() {
    let store = with_versions::<MemoryStore>().await;
    let whole = read(&store).await;
    let sealed = |field: &str| {
        let document = serde_json::from_slice(&edited(&whole, field, json!(u64::MAX))).unwrap();
        let text = crate::state::checksum::with_room(document).to_string();
        crate::state::checksum::seal(text).into_bytes()
    };
    for field in ["/serial", "/foldedSegment", "/lastEntry"] {
        let mut objects = store.objects();
        objects.insert(KEY.to_owned(), sealed(field));
        // Names count too.
        objects.insert(format!("{KEY}.backup-{}", u64::MAX), b"{}".to_vec());
        let other = InstanceKey { name: "other".into(), ..instance() };
        let healthy = StateFile { instance: other.clone(), ..whole.clone() };
        objects.insert(other.store_key(), export(&healthy).unwrap());
        let store = MemoryStore::with(objects);
        let error = reason(&session::read(&store, &instance()).await.unwrap_err());
        assert!(error.contains("state doctor EksCluster/workload-cluster1 -n argocd --restore"), "{error}");
        // It does not keep others from being read.
        assert_eq!(session::read_each(&store).await.unwrap().iter().filter(|(_, state)| state.is_ok()).count(), 1);
        let shared: Arc<dyn Store> = Arc::new(store.clone());
        survey::restore(shared, KEY, &holder(), None).await.unwrap();
        let session = open(&store).await;
        make(&session, "subnet").await;
        assert_eq!(session.close().await.unwrap().resources.len(), 2);
    }
}

#[tokio::test]
async fn a_segment_with_a_number_that_cannot_be_is_kept_aside() {
    let store = with_versions::<MemoryStore>().await;
    let mut objects = store.objects();
    objects.insert(format!("argocd/EksCluster.workload-cluster1.journal/{}.json", u64::MAX), b"{}".to_vec());
    let store = MemoryStore::with(objects);
    reason(&session::read(&store, &instance()).await.unwrap_err());
    let restored = survey::restore(Arc::new(store.clone()), KEY, &holder(), None).await.unwrap();
    assert_eq!((restored.aside.len(), restored.state.resources.len()), (1, 2));
    assert_eq!(read(&store).await, restored.state);
}

async fn another_instances_file_is_gone_back_from<S: Portable>() {
    let store = with_versions::<S>().await;
    let whole = read(&store).await;
    let other =
        StateFile { instance: InstanceKey { name: "other".into(), ..instance() }, lineage: "another".into(), ..whole.clone() };
    let mut objects = store.objects();
    objects.insert(KEY.to_owned(), export(&other).unwrap());
    let store = S::with(objects.clone());
    let error = reason(&session::read(&store, &instance()).await.unwrap_err());
    assert!(error.contains("it holds the state of EksCluster/other in namespace argocd"), "{error}");
    assert!(error.contains("goes back to serial 1"), "{error}");
    let restored = survey::restore(Arc::new(store.clone()), KEY, &holder(), None).await.unwrap();
    assert_eq!((restored.from, restored.aside.len()), (1, 1));
    let state = read(&store).await;
    assert_eq!((state.lineage.as_str(), state.resources.len()), (whole.lineage.as_str(), 1));
    // What somebody has kept is taken, and what nothing is known of can be made anew.
    let store = S::with(objects.clone());
    survey::restore(Arc::new(store.clone()), KEY, &holder(), Some(whole)).await.unwrap();
    assert_eq!(read(&store).await.resources.len(), 2);
    objects.retain(|key, _| key == KEY);
    let store = S::with(objects);
    let error = reason(&session::read(&store, &instance()).await.unwrap_err());
    assert!(error.contains("fleetctl state rebuild"), "{error}");
    session::set_aside(&store, &instance(), &holder()).await.unwrap();
    assert!(session::read(&store, &instance()).await.unwrap().is_none());
}

#[tokio::test]
async fn another_instances_file_is_damage() {
    another_instances_file_is_gone_back_from::<MemoryStore>().await;
    another_instances_file_is_gone_back_from::<S3Store>().await;
}

/// In a bucket nobody looks for the file before each write of the journal.
#[tokio::test(start_paused = true)]
async fn a_file_that_is_removed_from_a_bucket_in_mid_run_is_written_again_in_the_end() {
    let store = S3Store::default();
    let session = open(&store).await;
    make(&session, "vpc").await;
    let entry = session.journal().begin(intent("role", Verb::Create)).await.unwrap().entry();
    store.remove(KEY).await.unwrap();
    session.journal().end(entry, Outcome::Succeeded, Some(record("role", 1))).await.unwrap();
    let error = session.close().await.unwrap_err().to_string();
    assert!(error.contains("somebody removed it in mid-run. What it said was written again"), "{error}");
    assert_eq!(read(&store).await.resources.len(), 2);
    let session = open(&store).await;
    make(&session, "subnet").await;
    assert_eq!(session.close().await.unwrap().resources.len(), 3);
}

#[cfg(unix)]
#[tokio::test]
async fn what_lies_in_a_states_place_is_never_taken_for_none() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    std::fs::create_dir_all(folder.path().join("argocd/EksCluster.folder.json")).unwrap();
    symlink("nowhere", folder.path().join("argocd/EksCluster.link.json")).unwrap();
    let each = session::read_each(&store).await.unwrap();
    let keys: Vec<&str> = each.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["argocd/EksCluster.folder.json", "argocd/EksCluster.link.json"]);
    assert!(each.iter().all(|(_, state)| state.is_err()));
    let error = store.get("argocd/EksCluster.link.json").await.unwrap_err().to_string();
    assert!(error.ends_with("it is a link to nowhere, which is not there"), "{error}");
    // The whole folder.
    let root = folder.path().join("state");
    symlink("elsewhere", &root).unwrap();
    let store = FolderStore::new(&root);
    for error in [store.list("").await.unwrap_err(), store.put_if_absent(KEY, b"{}").await.unwrap_err()] {
        assert!(error.to_string().ends_with("it is a link to elsewhere, which is not there"), "{error}");
    }
}

#[tokio::test]
async fn an_object_belongs_to_one_state() {
    use crate::state::elsewhere::{are_one, check};
    let store = with_versions::<MemoryStore>().await;
    let state = read(&store).await;
    let named = |name: &str, lineage: &str, resources: Vec<Record>| {
        let instance = InstanceKey { name: name.into(), ..instance() };
        StateFile { instance, lineage: lineage.into(), resources, ..state.clone() }
    };
    let copy = named("other", &state.lineage, state.resources.clone());
    assert!(are_one(&state, &copy));
    let error = check(&store, &copy).await.unwrap_err().to_string();
    assert!(
        error.starts_with("2 objects of EksCluster/other in namespace argocd are recorded by EksCluster/workload-cluster1"),
        "{error}"
    );
    check(&store, &named("other", &state.lineage, vec![record("elsewhere", 0)])).await.unwrap();
    // A role is the same in every region, a VPC is not.
    let in_region = |kind: &str| {
        let mut record = state.resources[0].clone();
        record.identity.kind = kind.into();
        record.identity.region = "us-west-2".into();
        record
    };
    check(&store, &named("other", "l", vec![in_region("VPC")])).await.unwrap();
    let mut roles = named("third", "l", vec![in_region("Role")]);
    store.put_if_absent(&roles.instance.store_key(), &export(&roles).unwrap()).await.unwrap();
    roles.instance.name = "fourth".into();
    roles.resources[0].identity.region = "eu-west-1".into();
    check(&store, &roles).await.unwrap_err();
}
