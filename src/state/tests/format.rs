//! The format, and what is said when it is not what it should be.

use super::{identity, instance, intent, make, open, read};
use crate::state::checksum;
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

/// A document that was changed by whoever can make its checksum.
fn edited(bytes: Option<Vec<u8>>, edit: impl Fn(&mut Value)) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(&bytes?).unwrap();
    edit(&mut document);
    document.as_object_mut().unwrap().shift_remove(checksum::FIELD);
    Some(checksum::seal(checksum::with_room(document).to_string()).into_bytes())
}

/// A document that was changed by somebody who does not know of checksums.
fn edited_by_hand(bytes: Option<Vec<u8>>, edit: impl Fn(&mut Value)) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(&bytes?).unwrap();
    edit(&mut document);
    Some(serde_json::to_vec_pretty(&document).unwrap())
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
    assert!(text.contains("found again by its tags and names"), "{text}");
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
    assert!(
        text.starts_with(&format!("{stray} is damaged: it is no segment of a journal. Move it out of this folder. ")),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_its_checksum_is_refused_with_both_ways_out() {
    let store = unfolded().await;
    let said = "it does not fit its checksum: a part of it has changed, on the disk or by hand";
    for key in [KEY, FIRST, SECOND] {
        let checks = [
            complaint(&store, key, |bytes| edited_by_hand(bytes, |file| file["lineage"] = json!("another"))).await,
            complaint(&store, key, |bytes| {
                edited_by_hand(bytes, |file| drop(file.as_object_mut().unwrap().shift_remove("checksum")))
            })
            .await,
            complaint(&store, key, |bytes| edited_by_hand(bytes, |file| file["checksum"] = json!(""))).await,
            complaint(&store, key, |bytes| edited_by_hand(bytes, |file| file["checksum"] = json!(7))).await,
            // Not taken for a newer version: that would have a checksum that fits.
            complaint(&store, key, |bytes| edited_by_hand(bytes, |file| file["version"] = json!(3))).await,
        ];
        for text in checks {
            assert!(text.starts_with(&format!("{key} is damaged: {said}")), "{text}");
            assert!(text.contains("`fleetctl state push FILE`") && text.contains("`fleetctl state "), "{text}");
        }
        // Nor is one taken for an older version, which had none.
        let text = complaint(&store, key, |bytes| edited_by_hand(bytes, |file| file["version"] = json!(1))).await;
        assert!(text.contains("unknown field `checksum`"), "{text}");
    }
    // A line break at the end that an editor took away changes nothing.
    let mut objects = store.objects();
    assert_eq!(objects.get_mut(KEY).unwrap().pop(), Some(b'\n'));
    assert_eq!(read(&MemoryStore::with(objects)).await, read(&store).await);
}

/// What the program wrote before there were checksums, as it stood on the disk.
const FILE_OF_VERSION_1: &str = r#"{
  "version": 1,
  "lineage": "5e1f6c1e-9d3b-4f0a-8a53-3c4c7a0f7f11",
  "serial": 4,
  "writer": "fleetctl 0.1.0",
  "instance": {
    "apiVersion": "kro.run/v1alpha1",
    "kind": "EksCluster",
    "namespace": "argocd",
    "name": "workload-cluster1"
  },
  "definitions": null,
  "foldedSegment": 12,
  "lastEntry": 7,
  "resources": [
    {
      "identity": {
        "apiVersion": "ec2.services.k8s.aws/v1alpha1",
        "kind": "VPC",
        "namespace": "argocd",
        "name": "vpc",
        "account": "111122223333",
        "region": "eu-west-1"
      },
      "address": "EksCluster/workload-cluster1/vpc",
      "role": null,
      "id": "vpc-1",
      "phase": "ready",
      "applied": {"kind": "VPC"},
      "status": {"vpcID": "vpc-1"},
      "dependencies": [],
      "since": "2026-01-15T08:00:00Z",
      "createdAt": "2026-01-15T08:00:00Z"
    }
  ],
  "open": [],
  "durations": {"VPC.create": 2.5}
}
"#;

const SEGMENT_OF_VERSION_1: &str = r#"{"version":1,"lineage":"5e1f6c1e-9d3b-4f0a-8a53-3c4c7a0f7f11","number":13,"entries":[{"type":"begin","entry":8,"at":"2026-01-15T09:00:00Z","identity":{"apiVersion":"ec2.services.k8s.aws/v1alpha1","kind":"VPC","namespace":"argocd","name":"vpc","account":"111122223333","region":"eu-west-1"},"address":"EksCluster/workload-cluster1/vpc","role":null,"verb":"delete","operation":"DeleteVpc","token":"6f2d5a3e-1b7c-4f7e-9b53-0d6f6a0c4b22","id":"vpc-1"}]}
"#;

#[tokio::test]
async fn what_an_older_version_wrote_is_read_and_written_anew_by_the_next_fold() {
    let segment = "argocd/EksCluster.workload-cluster1.journal/000000000013.json";
    let written = [(KEY, FILE_OF_VERSION_1), (segment, SEGMENT_OF_VERSION_1)];
    let objects = written.map(|(key, text)| (key.to_owned(), text.as_bytes().to_vec()));
    let store = MemoryStore::with(objects.clone().into());
    let state = read(&store).await;
    assert_eq!((state.serial, state.folded_segment, state.last_entry, state.version), (4, 13, 8, 2));
    assert_eq!((state.resources[0].id.as_str(), state.open[0].operation.as_str()), ("vpc-1", "DeleteVpc"));
    assert_eq!(store.objects(), objects.clone().into(), "reading writes nothing");

    let session = open(&store).await;
    session.journal().end(8, crate::state::journal::Outcome::Succeeded, None).await.unwrap();
    session.journal().forget(&identity("vpc")).await.unwrap();
    let closed = session.close().await.unwrap();
    assert!(closed.resources.is_empty() && closed.open.is_empty() && closed.lineage == state.lineage);
    let text = String::from_utf8(store.objects()[KEY].clone()).unwrap();
    assert!(text.starts_with("{\n  \"version\": 2,\n  \"checksum\": \""), "{text}");
    assert_eq!(store.objects()[&format!("{KEY}.backup-4")], FILE_OF_VERSION_1.as_bytes(), "the version before, as it was");
    assert_eq!(read(&store).await, closed);
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
    for changing in ["/checksum", "/lineage", "/writer", "/open/0/token", "/open/0/at"] {
        *file.pointer_mut(changing).unwrap() = json!("…");
    }
    insta::assert_json_snapshot!(file);
    assert_eq!(read(&store).await.open.len(), 1);
}

/// External ids are in states of older versions: they are read, and neither shown nor written again.
#[test]
fn an_external_id_is_read_and_not_written_again() {
    let old = json!({"arn": "arn:aws:iam::111122223333:role/hub", "externalId": "x-1"});
    let role: super::super::file::RoleUsed = serde_json::from_value(old).unwrap();
    assert_eq!(role.external_id.as_deref(), Some("x-1"));
    assert_eq!(serde_json::to_value(&role).unwrap(), json!({"arn": "arn:aws:iam::111122223333:role/hub"}));
}
