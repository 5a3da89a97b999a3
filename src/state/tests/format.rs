//! The format, and what is said when it is not what it should be.

use super::{instance, intent, make, open, read};
use crate::state::file::{InstanceKey, Verb};
use crate::state::memory::MemoryStore;
use crate::state::session;
use crate::state::store::Store as _;
use serde_json::{Value, json};

const KEY: &str = "argocd/EksCluster.workload-cluster1.json";
const FIRST: &str = "argocd/EksCluster.workload-cluster1.journal/000000000001.json";
const SECOND: &str = "argocd/EksCluster.workload-cluster1.journal/000000000002.json";

/// A state with two segments that are not folded.
async fn unfolded() -> MemoryStore {
    let store = MemoryStore::new();
    let session = open(&store).await;
    make(&session, "vpc").await;
    MemoryStore::with(store.objects())
}

/// What reading and opening say about a store in which one object was changed.
async fn complaint(store: &MemoryStore, key: &str, change: impl Fn(Option<Vec<u8>>) -> Option<Vec<u8>>) -> String {
    let mut objects = store.objects();
    let changed = change(objects.remove(key));
    if let Some(bytes) = changed {
        objects.insert(key.to_owned(), bytes);
    }
    let store = MemoryStore::with(objects.clone());
    let error = session::read(&store, &instance()).await.unwrap_err().to_string();
    let opened = session::Session::open(std::sync::Arc::new(store.clone()), instance(), super::holder()).await;
    assert_eq!(opened.unwrap_err().to_string(), error);
    assert_eq!(store.objects(), objects, "a state that cannot be read is not written");
    error
}

fn edited(bytes: Option<Vec<u8>>, edit: impl Fn(&mut Value)) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(&bytes?).unwrap();
    edit(&mut document);
    Some(document.to_string().into_bytes())
}

#[tokio::test(start_paused = true)]
async fn a_newer_version_is_refused() {
    let store = unfolded().await;
    for key in [KEY, FIRST] {
        let text = complaint(&store, key, |bytes| edited(bytes, |file| file["version"] = json!(3))).await;
        assert_eq!(text, format!("{key} has version 3, this fleetctl reads up to 2: use a newer fleetctl"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_damaged_file_is_named_with_the_way_out() {
    let store = unfolded().await;
    let text = complaint(&store, KEY, |_| Some(b"{\"version\": 1, \"line".to_vec())).await;
    assert!(
        text.starts_with(&format!("{KEY} is damaged: it is not JSON: EOF while parsing a string at line 1 column 20. ")),
        "{text}"
    );
    assert!(text.contains("No version before it is whole; `fleetctl state rebuild FILE…`"), "{text}");
    let text = complaint(&store, KEY, |_| Some(b"{}".to_vec())).await;
    assert!(text.contains("it has no version"), "{text}");
    let text = complaint(&store, KEY, |bytes| edited(bytes, |file| file["resource"] = json!([]))).await;
    assert!(text.contains("unknown field `resource`"), "{text}");
    let text = complaint(&store, KEY, |_| None).await;
    assert!(text.starts_with(&format!("{KEY} is damaged: it is missing, but its journal is there. No version")), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_damaged_segment_is_named_with_the_way_out() {
    let store = unfolded().await;
    let text = complaint(&store, SECOND, |bytes| bytes.map(|bytes| bytes[..bytes.len() / 2].to_vec())).await;
    assert!(text.starts_with(&format!("{SECOND} is damaged: it is not JSON: EOF")), "{text}");
    assert!(text.contains("found again by the tags and names"), "{text}");
    let text = complaint(&store, FIRST, |_| None).await;
    assert!(
        text.starts_with(&format!("{FIRST} is damaged: it is missing, but segment 2 is there. `fleetctl state doctor")),
        "{text}"
    );
    let text = complaint(&store, SECOND, |bytes| edited(bytes, |segment| segment["lineage"] = json!("other"))).await;
    assert!(text.contains("it belongs to lineage other, the state has "), "{text}");
    let text = complaint(&store, SECOND, |bytes| edited(bytes, |segment| segment["number"] = json!(7))).await;
    assert!(text.contains("it is segment 7"), "{text}");
    let text = complaint(&store, SECOND, |bytes| edited(bytes, |segment| segment["entries"][0]["begin"] = json!(9))).await;
    assert!(text.contains("it ends entry 9, which is not open"), "{text}");
    let text = complaint(&store, KEY, |bytes| edited(bytes, |file| file["lastEntry"] = json!(5))).await;
    assert!(text.starts_with(FIRST) && text.contains("it begins entry 1, but entries up to 5 are known"), "{text}");
    let stray = "argocd/EksCluster.workload-cluster1.journal/1.json";
    let text = complaint(&store, stray, |_| Some(Vec::new())).await;
    assert_eq!(text, format!("{stray} is damaged: it is no segment of a journal. Move it out of this folder"));
}

#[tokio::test]
async fn a_state_of_another_instance_is_refused() {
    let store = unfolded().await;
    let other = InstanceKey { api_version: "example.com/v1".into(), ..instance() };
    let error = session::read(&store, &other).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "argocd/EksCluster.workload-cluster1.json holds the state of EksCluster/workload-cluster1 in namespace argocd \
         (kro.run/v1alpha1), not of EksCluster/workload-cluster1 in namespace argocd (example.com/v1)"
    );
}

#[tokio::test]
async fn names_that_cannot_be_keys_are_refused() {
    let store = MemoryStore::new();
    for name in ["../../etc/passwd", "a/b", "", "a\nb", "..\\x"] {
        let instance = InstanceKey { name: name.into(), ..instance() };
        session::read(&store, &instance).await.unwrap_err();
    }
    for namespace in ["..", ".hidden", "/etc"] {
        let instance = InstanceKey { namespace: namespace.into(), ..instance() };
        session::read(&store, &instance).await.unwrap_err();
    }
}

#[tokio::test]
async fn an_instance_without_namespace_has_a_folder_too() {
    let store = MemoryStore::new();
    let instance = InstanceKey { namespace: String::new(), ..instance() };
    let opened = session::Session::open(std::sync::Arc::new(store.clone()), instance.clone(), super::holder()).await.unwrap();
    opened.journal().duration("VPC".into(), 1.0).await.unwrap();
    opened.close().await.unwrap();
    assert_eq!(store.list("").await.unwrap(), ["_cluster/EksCluster.workload-cluster1.json"]);
    assert_eq!(session::read_each(&store).await.unwrap()[0].1.as_ref().unwrap().instance, instance);
}

/// Kinds strip what is secret before they hand an object over; nothing here keeps more than it is given.
#[tokio::test]
async fn a_state_holds_no_secret_that_it_was_not_given() {
    const TOKEN: &str = "argocd-token-7f3a";
    let store = MemoryStore::new();
    let session = open(&store).await;
    let journal = session.journal();
    let mut object = json!({"kind": "Secret", "stringData": {"name": "c1", "server": "arn:…", "config": TOKEN}});
    object["stringData"].as_object_mut().unwrap().remove("config");
    let mut intent = intent("registration", Verb::Create);
    intent.applied = Some(object.clone());
    let permit = journal.begin(intent).await.unwrap();
    let mut record = super::record("registration", 0);
    record.applied = object;
    journal.end(permit.entry(), crate::state::journal::Outcome::Succeeded, Some(record)).await.unwrap();
    let unfolded = store.objects();
    session.close().await.unwrap();
    open(&store).await.close().await.unwrap();
    for (key, bytes) in unfolded.into_iter().chain(store.objects()) {
        assert!(!String::from_utf8(bytes).unwrap().contains(TOKEN), "{key}");
    }
}

#[tokio::test]
async fn the_file_reads_well() {
    let store = MemoryStore::new();
    let session = open(&store).await;
    make(&session, "vpc").await;
    session.journal().begin(intent("vpc", Verb::Delete)).await.unwrap();
    session.close().await.unwrap();
    let text = String::from_utf8(store.get(KEY).await.unwrap().unwrap().bytes).unwrap();
    assert!(text.ends_with("}\n"));
    let mut file: Value = serde_json::from_str(&text).unwrap();
    for changing in ["/lineage", "/writer", "/open/0/token", "/open/0/at"] {
        *file.pointer_mut(changing).unwrap() = json!("…");
    }
    insta::assert_json_snapshot!(file);
    assert_eq!(read(&store).await.open.len(), 1);
}
