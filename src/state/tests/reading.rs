//! Readers beside a writer.

use super::{instance, make, open};
use crate::state::error::StateError;
use crate::state::folder::FolderStore;
use crate::state::session::{self, Session};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_never_fail_while_a_writer_folds() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    let session = open(&store).await;
    make(&session, "vpc").await;
    session.close().await.unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (store, done) = (store.clone(), done.clone());
            tokio::spawn(async move {
                let (mut last, mut reads) = ((0, 0), 0_u32);
                while !done.load(Ordering::Relaxed) {
                    let state = session::read(&store, &instance()).await.unwrap().unwrap();
                    let seen = (state.folded_segment, state.last_entry);
                    assert!(seen >= last, "a reader went back from {last:?} to {seen:?}");
                    last = seen;
                    assert_eq!(session::read_each(&store).await.unwrap().len(), 1);
                    reads += 1;
                }
                reads
            })
        })
        .collect();
    for round in 0..25 {
        let session = open(&store).await;
        for number in 0..4 {
            make(&session, &format!("vpc{round}-{number}")).await;
        }
        session.close().await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.await.unwrap() > 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_sessions_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = (0..4).map(|task| {
        let store = FolderStore::new(folder.path());
        tokio::spawn(async move {
            let mut made = 0;
            while made < 6 {
                match Session::open(Arc::new(store.clone()), instance(), super::holder()).await {
                    Err(StateError::Locked { .. }) => tokio::task::yield_now().await,
                    session => {
                        let session = session.unwrap();
                        make(&session, &format!("vpc{task}-{made}")).await;
                        session.close().await.unwrap();
                        made += 1;
                    }
                }
            }
        })
    });
    for session in sessions.collect::<Vec<_>>() {
        session.await.unwrap();
    }
    let state = super::read(&FolderStore::new(folder.path())).await;
    assert_eq!((state.resources.len(), state.serial, state.last_entry), (24, 24, 24));
}
