//! A process that is killed before any of the things it asks of the operating system. The child is this test binary, told by
//! the environment when to die.

use super::{holder, instance, intent, make, open, record};
use crate::state::error::StateError;
use crate::state::file::Verb;
use crate::state::folder::FolderStore;
use crate::state::journal::Outcome;
use crate::state::session::{self, Session};
use crate::state::store::Store as _;
use crate::state::survey;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

const FOLDER: &str = "FLEETCTL_TEST_SYSCALLS_FOLDER";
const LAST: &str = "FLEETCTL_TEST_SYSCALLS_LAST";
const SIGABRT: i32 = 6;

static STEPS: AtomicUsize = AtomicUsize::new(0);

/// The step before which this process dies, if it is a child.
fn last() -> Option<usize> {
    static LAST_STEP: OnceLock<Option<usize>> = OnceLock::new();
    *LAST_STEP.get_or_init(|| std::env::var(LAST).ok()?.parse().ok())
}

/// What the folder store is about to ask of the operating system. A process that aborts leaves what one leaves that is killed.
pub(in crate::state) fn step(what: &str) {
    let Some(last) = last() else { return };
    say(&format!("step {what}"));
    if STEPS.fetch_add(1, Ordering::SeqCst) == last {
        std::process::abort();
    }
}

/// Killed in the middle of a write, if the next step is the last.
pub(in crate::state) fn half_written(file: &mut File, bytes: &[u8]) {
    if last() == Some(STEPS.load(Ordering::SeqCst)) {
        file.write_all(&bytes[..bytes.len() / 2]).unwrap();
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{text}").unwrap();
    out.flush().unwrap();
}

/// Not a test unless the environment says so: a session from its lock to its last fold, as far as it comes.
#[tokio::test]
async fn the_child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let session = Session::open(Arc::new(FolderStore::new(folder)), instance(), holder()).await.unwrap();
    for name in ["natGateway1", "cluster"] {
        let entry = session.journal().begin(intent(name, Verb::Create)).await.unwrap().entry();
        say(&format!("permit {entry}"));
        say(&format!("ending {entry}"));
        session.journal().end(entry, Outcome::Succeeded, Some(record(name, 1))).await.unwrap();
        say(&format!("ended {entry}"));
    }
    session.close().await.unwrap();
    say("closed");
}

fn child(folder: &Path, last: usize) -> (std::process::ExitStatus, Vec<String>) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "state::tests::syscalls::the_child", "--nocapture"])
        .envs([(FOLDER, folder.as_os_str()), (LAST, last.to_string().as_ref())])
        .output()
        .unwrap();
    (output.status, String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let place = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &place);
        } else {
            fs::copy(&path, &place).unwrap();
        }
    }
}

/// What a child that was killed has left: everything whole, with all that it was told; and the next session goes on.
async fn check(folder: &Path, told: &[String], known: &[&str]) {
    let store = FolderStore::new(folder);
    let entries =
        |what: &str| -> BTreeSet<u64> { told.iter().filter_map(|line| line.strip_prefix(what)?.trim().parse().ok()).collect() };
    let (permits, ending, ended) = (entries("permit "), entries("ending "), entries("ended "));
    let survey = survey::survey(&store, &instance().store_key()).await.unwrap();
    assert!(survey.file.iter().all(Result::is_ok), "{:?}", survey.file);
    assert!(survey.versions.iter().all(|version| version.content.is_ok()) && survey.versions.len() <= 6, "{:?}", survey.versions);
    assert!(survey.segments.iter().all(|segment| segment.entries.is_ok()), "{:?}", survey.segments);
    assert!(survey.strange.is_empty() && survey.aside.is_empty());
    let Some(seen) = survey.state.unwrap() else {
        assert!(permits.is_empty() && known.is_empty(), "there was something before");
        return;
    };
    let session = Session::open(Arc::new(store.clone()), instance(), holder()).await.expect("its lock went with it");
    let state = session.state();
    assert!(state.same_content(&seen));
    let is_open: BTreeSet<u64> = state.open.iter().map(|begin| begin.entry).collect();
    assert!(permits.difference(&ending).all(|entry| is_open.contains(entry)), "{permits:?} {is_open:?}");
    assert!(ended.is_disjoint(&is_open));
    assert_eq!(state.resources.len(), known.len() + permits.len() - permits.intersection(&is_open).count());
    assert!(known.iter().all(|name| state.resources.iter().any(|record| record.identity.name == *name)));
    make(&session, "after").await;
    let closed = session.close().await.unwrap();
    assert_eq!(super::read(&store).await, closed);
    let keys = store.list("").await.unwrap();
    assert!(!keys.iter().any(|key| key.contains(".journal/")), "{keys:?}");
    assert!(keys.iter().filter(|key| key.contains(".backup-")).count() <= 5, "{keys:?}");
}

/// What was written is under its name only when it is durable, and nobody is told before its name is.
fn check_order(told: &[String]) {
    let told: Vec<&str> = told.iter().filter(|line| !line.is_empty()).map(String::as_str).collect();
    let names: Vec<usize> = (0..told.len()).filter(|at| told[*at] == "step name").collect();
    assert!(names.len() >= 6, "{told:?}");
    for at in names {
        let around = &told[at - 3..at + 2];
        assert_eq!(around, ["step make", "step write", "step sync file", "step name", "step sync folder"]);
    }
    let last_name = told.iter().rposition(|line| *line == "step name").unwrap();
    let removal = told.iter().rposition(|line| *line == "step remove").unwrap();
    assert!(removal > last_name, "segments go when they are folded");
}

/// Kills children before each of their steps, each in a copy of a folder.
async fn killed_at_each_step(folder: &Path, known: &[&str]) {
    for last in 0.. {
        assert!(last < 500, "it never ends");
        let scratch = tempfile::tempdir().unwrap();
        let place = scratch.path().join("state");
        if folder.exists() {
            copy(folder, &place);
        }
        let (status, told) = child(&place, last);
        check(&place, &told, known).await;
        if status.success() {
            assert!(told.iter().any(|line| line == "closed") && last > 30, "{last} steps: {told:?}");
            return check_order(&told);
        }
        assert_eq!(status.signal(), Some(SIGABRT), "{told:?}");
    }
}

#[tokio::test]
async fn a_first_session_is_killed_at_each_step() {
    let folder = tempfile::tempdir().unwrap();
    killed_at_each_step(&folder.path().join("state"), &[]).await;
}

/// With as many versions before it as are kept, and a journal that is not folded yet.
#[tokio::test]
async fn a_later_session_is_killed_at_each_step() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    let names = ["vpc", "subnet1", "subnet2", "subnet3", "routeTable", "role", "internetGateway"];
    for name in &names[..6] {
        let session = super::open(&store).await;
        make(&session, name).await;
        session.close().await.unwrap();
    }
    let session = open(&store).await;
    make(&session, names[6]).await;
    drop(session);
    killed_at_each_step(folder.path(), &names).await;
}

/// Two processes at once: one works, the other is told who does, and nothing of either is lost.
#[tokio::test]
async fn two_processes_never_write_one_state_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let never = usize::MAX;
    let children: Vec<_> = (0..4)
        .map(|_| {
            let place = folder.path().to_owned();
            std::thread::spawn(move || child(&place, never))
        })
        .collect();
    let ended: Vec<_> = children.into_iter().map(|child| child.join().unwrap()).collect();
    let closed = ended.iter().filter(|(status, _)| status.success()).count();
    assert!(closed >= 1, "{ended:?}");
    let store = FolderStore::new(folder.path());
    let state = super::read(&store).await;
    assert_eq!((state.serial, state.last_entry), (closed as u64, 2 * closed as u64), "each entry has a number of its own");
    assert_eq!((state.resources.len(), state.open.len()), (2, 0));
    for (status, told) in ended {
        assert!(status.success() || !told.iter().any(|line| line.starts_with("permit ")), "{told:?}");
    }
}

/// A folder that belongs to somebody else: nothing is begun, and the path is named.
#[tokio::test]
async fn without_permission_nothing_is_begun() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let locked = folder.path().join("state");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(locked.join("x"), "x").is_ok() {
        println!("SKIPPED: root may write everywhere");
        return;
    }
    let error = Session::open(Arc::new(FolderStore::new(&locked)), instance(), holder()).await.unwrap_err();
    assert!(matches!(&error, StateError::Store { action: "lock", .. }) && error.to_string().contains("argocd"), "{error}");
    assert_eq!(session::read(&FolderStore::new(&locked), &instance()).await.unwrap(), None);
}
