//! The journal as its users see it.

use super::{holder, instance, intent, make, open, read, record, refused};
use crate::state::clock;
use crate::state::error::StateError;
use crate::state::file::{DefinitionsUsed, Verb};
use crate::state::folder::FolderStore;
use crate::state::journal::Outcome;
use crate::state::memory::MemoryStore;
use crate::state::session::Session;
use chrono::DateTime;
use futures::future::join_all;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn entries_that_come_together_share_a_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    let session = open(&store).await;
    let journal = session.journal();
    let names: Vec<String> = (0..200).map(|number| format!("subnet{number}")).collect();
    let permits = join_all(names.iter().map(|name| journal.begin(intent(name, Verb::Create)))).await;
    let tokens: BTreeSet<String> = permits.iter().map(|permit| permit.as_ref().unwrap().token().to_owned()).collect();
    assert_eq!(tokens.len(), 200, "every begin entry has a token of its own");
    let state = read(&store).await;
    assert_eq!(state.open.len(), 200);
    assert!(state.folded_segment <= 3, "{} writes for 200 entries", state.folded_segment);
}

#[tokio::test]
async fn a_second_create_waits_until_the_first_is_resolved() {
    let store = MemoryStore::new();
    let session = open(&store).await;
    let journal = session.journal();
    let create = journal.begin(intent("vpc", Verb::Create)).await.unwrap();
    for verb in [Verb::Create, Verb::Change, Verb::Delete] {
        let error = journal.begin(intent("vpc", verb)).await.unwrap_err();
        assert!(matches!(error, StateError::Unresolved { entry, .. } if entry == create.entry()));
    }
    journal.begin(intent("subnet1", Verb::Create)).await.unwrap();
    journal.end(create.entry(), Outcome::FoundDone, Some(record("vpc", 0))).await.unwrap();
    journal.begin(intent("vpc", Verb::Change)).await.unwrap();
    journal.begin(intent("vpc", Verb::Change)).await.unwrap();
    journal.begin(intent("vpc", Verb::Delete)).await.unwrap();
    let error = journal.begin(intent("vpc", Verb::Create)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "CreateVpc is not called for VPC argocd/vpc (111122223333, eu-west-1): what came of the earlier \
         ModifyVpcAttribute is not known yet (entry 3)"
    );
}

#[tokio::test]
async fn a_session_that_records_nothing_leaves_nothing_behind() {
    let store = MemoryStore::new();
    open(&store).await.close().await.unwrap();
    assert_eq!(store.objects().len(), 0);
    let session = open(&store).await;
    let lineage = session.state().lineage;
    make(&session, "vpc").await;
    assert_eq!(read(&store).await.lineage, lineage);
}

#[tokio::test]
async fn an_entry_ends_once() {
    let session = open(&MemoryStore::new()).await;
    let journal = session.journal();
    let permit = journal.begin(intent("vpc", Verb::Create)).await.unwrap();
    journal.end(permit.entry(), refused(), None).await.unwrap();
    let again = journal.end(permit.entry(), refused(), None).await.unwrap_err();
    assert_eq!(again.to_string(), "entry 1 is not open");
    journal.begin(intent("vpc", Verb::Create)).await.unwrap();
}

#[tokio::test]
async fn what_changes_nothing_is_not_written() {
    let store = MemoryStore::new();
    let session = open(&store).await;
    let journal = session.journal();
    make(&session, "vpc").await;
    let used = DefinitionsUsed { source: "built-in".into(), hash: "abc".into() };
    journal.definitions(used.clone()).await.unwrap();
    let before = session.state();
    journal.put(record("vpc", 0)).await.unwrap();
    journal.definitions(used).await.unwrap();
    journal.forget(&record("nothing", 0).identity).await.unwrap();
    journal.duration("VPC.create".into(), f64::NAN).await.unwrap();
    assert_eq!(session.state(), before);
}

#[tokio::test]
async fn the_serial_grows_only_when_something_changed() {
    let store = MemoryStore::new();
    assert_eq!(open(&store).await.close().await.unwrap().serial, 0);
    let session = open(&store).await;
    make(&session, "vpc").await;
    let made = session.close().await.unwrap();
    assert_eq!(made.serial, 1);
    let session = open(&store).await;
    let permit = session.journal().begin(intent("vpc", Verb::Change)).await.unwrap();
    session.journal().end(permit.entry(), refused(), None).await.unwrap();
    let tried = session.close().await.unwrap();
    assert_eq!((tried.serial, tried.last_entry), (1, 2));
    assert_eq!(open(&store).await.close().await.unwrap(), tried);
}

#[tokio::test]
async fn an_emptied_state_keeps_its_file_and_lineage() {
    let store = MemoryStore::new();
    let session = open(&store).await;
    let lineage = session.state().lineage;
    make(&session, "vpc").await;
    session.journal().forget(&record("vpc", 0).identity).await.unwrap();
    session.close().await.unwrap();
    let state = read(&store).await;
    assert!(state.resources.is_empty());
    assert_eq!(state.lineage, lineage);
    assert_eq!(open(&store).await.state().lineage, lineage);
}

#[tokio::test]
async fn the_last_versions_are_kept() {
    let store = MemoryStore::new();
    for round in 0..12 {
        let session = open(&store).await;
        session.journal().put(record("vpc", round)).await.unwrap();
        session.close().await.unwrap();
    }
    let backups: Vec<String> = store.objects().into_keys().filter(|key| key.contains(".backup-")).collect();
    let expected: BTreeSet<String> =
        (7..12).map(|serial| format!("argocd/EksCluster.workload-cluster1.json.backup-{serial}")).collect();
    assert_eq!(BTreeSet::from_iter(backups), expected);
}

#[tokio::test]
async fn a_dropped_session_lets_go_and_its_journal_is_closed() {
    let store = MemoryStore::new();
    let session = open(&store).await;
    let journal = session.journal();
    let permit = journal.begin(intent("vpc", Verb::Create)).await.unwrap();
    drop(session);
    let error = journal.end(permit.entry(), refused(), None).await.unwrap_err();
    assert!(matches!(error, StateError::Closed { .. }), "{error}");
    assert_eq!(open(&store).await.state().open.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_clock_can_be_a_simulated_one() {
    let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    let clock = clock::simulated(start);
    let session = Session::open_with(Arc::new(MemoryStore::new()), instance(), holder(), clock).await.unwrap();
    tokio::time::sleep(Duration::from_mins(10)).await;
    let permit = session.journal().begin(intent("vpc", Verb::Create)).await.unwrap();
    assert_eq!(session.state().open[0].entry, permit.entry());
    assert_eq!(session.state().open[0].at, start + Duration::from_mins(10));
}
