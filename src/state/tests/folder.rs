//! The folder as a store.

use super::{holder, instance, make, open, read};
use crate::state::error::StateError;
use crate::state::folder::FolderStore;
use crate::state::session::{self, Holder, Holding, Session};
use crate::state::store::Store as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path.to_str().unwrap().to_owned()) }
    }
    found.sort();
    found
}

#[tokio::test]
async fn only_the_owner_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("state");
    let session = open(&FolderStore::new(&root)).await;
    make(&session, "vpc").await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let found = files(&root);
    assert_eq!(found.len(), 4, "file, lock, two segments: {found:?}");
    for file in found {
        assert_eq!(mode(Path::new(&file)), 0o600, "{file}");
    }
    for folder in ["", "argocd", "argocd/EksCluster.workload-cluster1.journal"] {
        assert_eq!(mode(&root.join(folder)), 0o700, "{folder}");
    }
    session.close().await.unwrap();
    assert!(!root.join("argocd/EksCluster.workload-cluster1.journal").exists());
    assert_eq!(fs::read(root.join("argocd/EksCluster.workload-cluster1.json.lock")).unwrap(), b"");
    assert_eq!(mode(&root.join("argocd/EksCluster.workload-cluster1.json")), 0o600);
}

#[tokio::test]
async fn reading_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("state");
    let store = FolderStore::new(&root);
    assert_eq!(session::read(&store, &instance()).await.unwrap(), None);
    assert!(session::read_each(&store).await.unwrap().is_empty());
    assert!(!root.exists());
}

#[tokio::test]
async fn what_is_no_state_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    let session = open(&store).await;
    make(&session, "vpc").await;
    session.close().await.unwrap();
    let session = open(&store).await;
    make(&session, "subnet1").await;
    session.close().await.unwrap();
    fs::write(folder.path().join("README.md"), "what is in here").unwrap();
    fs::write(folder.path().join(".gitignore"), "*").unwrap();
    fs::write(folder.path().join("argocd/notes.json"), "{}").unwrap();
    fs::write(folder.path().join("argocd/.tmp-abcdef"), "{\"vers").unwrap();
    fs::write(folder.path().join("EksCluster.x.json"), "{}").unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("argocd/loop")).unwrap();
    let states = session::read_each(&store).await.unwrap();
    assert_eq!(states.len(), 1);
    fs::write(folder.path().join("argocd/EksCluster.broken.json"), "{}").unwrap();
    let each = session::read_each(&store).await.unwrap();
    assert!(matches!(&each[0], (key, Err(StateError::Damaged { .. })) if key == "argocd/EksCluster.broken.json"));
    assert_eq!(each[1].1.as_ref().unwrap(), &read(&store).await);
    let keys = store.list("argocd/EksCluster.w").await.unwrap();
    let key = "argocd/EksCluster.workload-cluster1.json";
    assert_eq!(keys, [key.to_owned(), format!("{key}.backup-1")]);
}

#[tokio::test]
async fn half_a_write_is_no_object() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    let session = open(&store).await;
    make(&session, "vpc").await;
    let state = session.state();
    drop(session);
    let journal = folder.path().join("argocd/EksCluster.workload-cluster1.journal");
    fs::write(journal.join(".tmp-xyz"), "{\"version\":1,\"entr").unwrap();
    let old = fs::File::options().write(true).open(journal.join(".tmp-xyz")).unwrap();
    assert_eq!(read(&store).await, state);
    old.set_modified(std::time::SystemTime::now() - std::time::Duration::from_hours(2)).unwrap();
    let session = loop {
        match Session::open(Arc::new(store.clone()), instance(), holder()).await {
            Err(StateError::Locked { .. }) => tokio::task::yield_now().await,
            session => break session.unwrap(),
        }
    };
    assert!(session.state().same_content(&state));
    session.close().await.unwrap();
    assert!(!journal.exists(), "what a killed process left is swept, and the folder goes");
}

#[tokio::test]
async fn a_failed_write_names_path_and_reason_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("argocd"), "a file where a folder should be").unwrap();
    let store = FolderStore::new(folder.path());
    let error = store.put_if_absent("argocd/x.json", b"x").await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot write {}/argocd/x.json: ", folder.path().display())), "{error}");
    let error = Session::open(Arc::new(store.clone()), instance(), holder()).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot lock {}/argocd/EksCluster", folder.path().display())), "{error}");
    assert_eq!(files(folder.path()).len(), 1);

    // An object whose name is taken by a folder: the write fails at its last step.
    fs::create_dir_all(folder.path().join("ns/x.json/y")).unwrap();
    store.put_if_absent("ns/x.json", b"x").await.unwrap_err();
    assert_eq!(files(&folder.path().join("ns")), Vec::<String>::new());
}

#[tokio::test]
async fn who_holds_a_lock_is_read_without_taking_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    let here = Holder { pid: std::process::id(), host: "here".to_owned(), ..holder() };
    let see = |host: &'static str| {
        let store = store.clone();
        async move { session::holding(&store, &instance(), host).await.unwrap().map(|holding| holding.holder) }
    };
    assert_eq!(see("here").await, None);
    assert_eq!(files(folder.path()), Vec::<String>::new(), "nothing is made for that");
    let session = Session::open(Arc::new(store.clone()), instance(), here.clone()).await.unwrap();
    assert_eq!(see("here").await, Some(here.clone()));
    session.close().await.unwrap();
    assert_eq!(see("here").await, None);
    // A holder that was killed still stands in the file. Whether it is gone can be told on its own host alone.
    let lock = folder.path().join(format!("{}.lock", instance().store_key()));
    let killed = Holder { pid: u32::MAX, ..here };
    fs::write(&lock, serde_json::to_string(&Holding::from_now(&killed)).unwrap()).unwrap();
    let is_told = Path::new("/proc/self").exists();
    assert_eq!((see("here").await.is_none(), see("elsewhere").await), (is_told, Some(killed)));
}
