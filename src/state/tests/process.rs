//! Processes that are killed. The child is this test binary, told by the environment to play the part.

use super::{instance, intent, open, record};
use crate::state::error::StateError;
use crate::state::file::Verb;
use crate::state::folder::FolderStore;
use crate::state::journal::Outcome;
use crate::state::session::{self, Session};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const FOLDER: &str = "FLEETCTL_TEST_CHILD_FOLDER";

fn child(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "state::tests::process::the_child", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{text}").unwrap();
    out.flush().unwrap();
}

/// Not a test unless the environment says so: makes calls until it is killed, and says what it was told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let session = open(&FolderStore::new(folder)).await;
    say("open");
    let callers = (0..4).map(|caller| {
        let journal = session.journal();
        tokio::spawn(async move {
            for round in 0.. {
                let name = format!("vpc{caller}-{round}");
                let entry = journal.begin(intent(&name, Verb::Create)).await.unwrap().entry();
                say(&format!("permit {entry}"));
                say(&format!("ending {entry}"));
                journal.end(entry, Outcome::Succeeded, Some(record(&name, round))).await.unwrap();
                say(&format!("ended {entry}"));
            }
        })
    });
    futures::future::join_all(callers).await;
}

#[tokio::test]
async fn a_killed_process_loses_no_call_and_keeps_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    let mut calls = 0;
    for round in 0..6 {
        let mut child = child(folder.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line == "open"));
        let locked = Session::open(Arc::new(store.clone()), instance(), super::holder()).await.unwrap_err();
        assert!(matches!(locked, StateError::Locked { .. }), "{locked}");
        std::thread::sleep(Duration::from_millis(15 + 7 * round));
        child.kill().unwrap();
        child.wait().unwrap();

        let told: Vec<String> = lines.collect();
        let entries = |what: &str| -> BTreeSet<u64> {
            told.iter().filter_map(|line| line.strip_prefix(what)?.trim().parse().ok()).collect()
        };
        let (permits, ending, ended) = (entries("permit "), entries("ending "), entries("ended "));
        calls += permits.len();
        // Killed before its first write.
        let Some(seen) = session::read(&store, &instance()).await.unwrap() else {
            assert!(permits.is_empty());
            continue;
        };
        let session = open(&store).await;
        let state = session.state();
        assert!(seen.same_content(&state));
        let is_open: BTreeSet<u64> = state.open.iter().map(|begin| begin.entry).collect();
        assert!(permits.difference(&ending).all(|entry| is_open.contains(entry)), "{permits:?} {is_open:?}");
        assert!(ended.is_disjoint(&is_open));
        assert!(permits.iter().all(|entry| *entry <= state.last_entry));
        for entry in is_open {
            session.journal().end(entry, Outcome::FoundUndone, None).await.unwrap();
        }
        // Leave nothing of this round's names to the next.
        for record in session.state().resources {
            session.journal().forget(&record.identity).await.unwrap();
        }
        session.close().await.unwrap();
    }
    assert!(calls > 0, "the children were killed before they did anything");
}
