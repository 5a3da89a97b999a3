//! What every store promises.

use super::{Portable as _, holder, instance, intent, make, open_in, record};
use crate::state::error::StateError;
use crate::state::file::Verb;
use crate::state::folder::FolderStore;
use crate::state::journal::Outcome;
use crate::state::lock::Life;
use crate::state::memory::MemoryStore;
use crate::state::s3::S3Store;
use crate::state::session::{self, Holder, Session};
use crate::state::store::Store;
use std::sync::Arc;
use tempfile::TempDir;

/// One of each, empty. The folder lives as long as what comes second.
fn stores() -> (Vec<Arc<dyn Store>>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = FolderStore::new(folder.path().join("state"));
    (vec![Arc::new(MemoryStore::new()), Arc::new(in_folder), Arc::new(S3Store::default())], folder)
}

/// Those that outlive a process.
fn lasting() -> (Vec<Arc<dyn Store>>, TempDir) {
    let (mut stores, folder) = stores();
    stores.remove(0);
    (stores, folder)
}

#[tokio::test]
async fn objects_are_put_once_and_replaced_by_tag() {
    let (stores, _folder) = stores();
    for store in stores {
        assert_eq!(store.get("a/b").await.unwrap(), None);
        let tag = store.put_if_absent("a/b", b"one").await.unwrap();
        let found = store.get("a/b").await.unwrap().unwrap();
        assert_eq!((found.bytes.as_slice(), &found.tag), (b"one".as_slice(), &tag));
        for again in [b"two", b"one"] {
            let again = store.put_if_absent("a/b", again).await.unwrap_err();
            assert!(matches!(again, StateError::Conflict { .. }));
        }
        let second = store.put_if_match("a/b", b"two", &tag).await.unwrap();
        for again in [&b"three"[..], b"two"] {
            let stale = store.put_if_match("a/b", again, &tag).await.unwrap_err();
            assert!(matches!(stale, StateError::Conflict { .. }));
        }
        let absent = store.put_if_match("a/c", b"three", &second).await.unwrap_err();
        assert!(matches!(absent, StateError::Conflict { .. }));
        assert_eq!(store.get("a/b").await.unwrap().unwrap().bytes, b"two");
        store.remove("a/b").await.unwrap();
        store.remove("a/b").await.unwrap();
        assert_eq!(store.list("").await.unwrap(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn keys_are_listed_by_what_they_begin_with() {
    let (stores, _folder) = stores();
    let keys = ["a/x.journal/1", "a/x.json", "a/x.json.backup-1", "a/x.json.backup-10", "a/xy.json", "b/x.json"];
    for store in stores {
        for key in keys {
            store.put_if_absent(key, b"x").await.unwrap();
        }
        let _lock = store.lock("a/x.json", &holder()).await.unwrap();
        let list = |prefix: &'static str| {
            let store = store.clone();
            async move { store.list(prefix).await.unwrap().join(" ") }
        };
        assert_eq!(list("").await, keys.join(" "), "{}", store.name());
        assert_eq!(list("a/x.json.backup-").await, keys[2..4].join(" "));
        assert_eq!(list("a/x.journal/").await, keys[0]);
        assert_eq!(list("a/xy").await, keys[4]);
        assert_eq!(list("c/").await, "");
        let gone: Vec<String> = keys[..4].iter().chain(&["a/never"]).map(|key| (*key).to_owned()).collect();
        store.remove_all(&gone).await.unwrap();
        assert_eq!(list("").await, keys[4..].join(" "));
    }
}

#[tokio::test]
async fn one_of_many_puts_wins() {
    let (stores, _folder) = stores();
    for store in stores {
        let puts = (0..20_u8).map(|number| {
            let store = store.clone();
            async move { store.put_if_absent("a/b", &[number]).await.is_ok() }
        });
        let won = futures::future::join_all(puts).await.into_iter().filter(|won| *won).count();
        assert_eq!(won, 1);
    }
}

#[tokio::test]
async fn keys_stay_inside() {
    let (stores, _folder) = stores();
    for store in stores {
        for key in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/.hidden", ".git", "a\\b", "a/b.lock", "C:x", "a\0b"] {
            assert!(matches!(store.put_if_absent(key, b"x").await, Err(StateError::BadKey { .. })), "{key}");
            assert!(matches!(store.get(key).await, Err(StateError::BadKey { .. })), "{key}");
            assert!(matches!(store.lock(key, &holder()).await, Err(StateError::BadKey { .. })), "{key}");
        }
        assert_eq!(store.list("").await.unwrap(), Vec::<String>::new());
    }
    let (stores, _folder) = lasting();
    for store in stores {
        assert!(matches!(store.list("../").await, Err(StateError::BadKey { .. })));
    }
}

#[tokio::test]
async fn a_second_session_is_told_who_has_the_first() {
    let (stores, _folder) = stores();
    for store in stores {
        let first = Session::open(store.clone(), instance(), holder()).await.unwrap();
        let error = Session::open(store.clone(), instance(), holder()).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, StateError::Locked { .. }));
        let who =
            "the state of EksCluster/workload-cluster1 in namespace argocd is locked by process 4242 of ann on laptop since ";
        assert!(text.starts_with(who) && text.contains("Z: fleetctl apply cluster.yaml"), "{text}");
        first.close().await.unwrap();
        Session::open(store.clone(), instance(), holder()).await.unwrap();
    }
}

#[tokio::test]
async fn instances_have_locks_of_their_own() {
    let (stores, _folder) = stores();
    for store in stores {
        let names: Vec<String> = (0..8).map(|number| format!("cluster{number}")).collect();
        let all = names.iter().map(|name| {
            let (store, mut instance) = (store.clone(), instance());
            instance.name.clone_from(name);
            async move {
                let session = Session::open(store, instance, holder()).await.unwrap();
                make(&session, "vpc").await;
                session.close().await.unwrap()
            }
        });
        let closed = futures::future::join_all(all).await;
        assert_eq!(session::read_each(&*store).await.unwrap().len(), 8);
        assert!(closed.iter().all(|state| state.resources.len() == 1 && state.serial == 1));
    }
}

/// A lock that is broken: its holder begins nothing more, writes nothing more, and says who has it now.
#[tokio::test]
async fn whoever_loses_the_lock_stops_before_the_next_call() {
    let (stores, _folder) = lasting();
    for store in stores {
        let key = instance().store_key();
        assert_eq!(store.look_at_lock(&key).await.unwrap(), None);
        let first = open_in(&store).await;
        let journal = first.journal();
        let under_way = journal.begin(intent("vpc", Verb::Create)).await.unwrap();

        let seen = store.look_at_lock(&key).await.unwrap().unwrap();
        assert_eq!(seen.holding.as_ref().unwrap().holder, holder());
        assert!(matches!(seen.life, Life::Alive | Life::Fresh));
        assert!(store.break_lock(&key, &seen).await.unwrap());
        assert!(!store.break_lock(&key, &seen).await.unwrap(), "it is nobody's any more");
        let other = Holder { pid: 7, host: "desktop".into(), ..holder() };
        let second = Session::open(store.clone(), instance(), other).await.unwrap();
        assert!(!store.break_lock(&key, &seen).await.unwrap(), "it is another's");

        let error = journal.begin(intent("subnet1", Verb::Create)).await.unwrap_err();
        assert!(matches!(error, StateError::LockLost { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("EksCluster/workload-cluster1") && text.contains("process 7 of ann on desktop"), "{text}");
        let error = journal.end(under_way.entry(), Outcome::Succeeded, Some(record("vpc", 0))).await.unwrap_err();
        assert!(matches!(error, StateError::LockLost { .. }), "{error}");
        let StateError::Unsaved { source, entries } = first.close().await.unwrap_err() else { panic!("the end entry is lost") };
        assert!(
            matches!(*source, StateError::LockLost { .. }) && entries.len() == 1 && entries[0].contains("\"end\""),
            "{entries:?}"
        );

        // The second has everything, and keeps its lock.
        assert_eq!(second.state().open.len(), 1);
        second.journal().end(under_way.entry(), Outcome::FoundDone, Some(record("vpc", 0))).await.unwrap();
        make(&second, "subnet1").await;
        assert_eq!(second.close().await.unwrap().resources.len(), 2);
        open_in(&store).await.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_session_that_is_dropped_lets_go() {
    let (stores, _folder) = stores();
    for store in stores {
        let session = open_in(&store).await;
        make(&session, "vpc").await;
        drop(session);
        let session = open_in(&store).await;
        assert_eq!(session.state().resources.len(), 1);
        session.close().await.unwrap();
    }
    crate::state::s3::all_released().await;
}

#[test]
fn objects_can_be_taken_out_and_put_back() {
    let store = S3Store::default();
    let objects = [("a/b".to_owned(), b"x".to_vec())].into();
    assert_eq!(store.objects().len(), 0);
    assert_eq!(S3Store::with(objects).objects().len(), 1);
}
