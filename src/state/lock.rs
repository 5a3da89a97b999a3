//! The lock of an instance's state: a side file that a dead holder does not keep.
//!
//! The kernel's lock on the open file is the lock; it goes with the process. The file's content only says who holds it.
//! Nobody but `state unlock` removes the file: whoever had it open would then hold a file that nobody else can see, and
//! learns that before its next write.

use super::error::StateError;
use super::folder::step;
use super::store::Lock;
use chrono::{DateTime, SecondsFormat, Utc};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Who opens a state: written into the lock for others to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Host name.
    pub host: String,
    /// User name; empty if it is not known.
    pub user: String,
    /// The command line, without secrets.
    pub command: String,
}

/// What stands in a lock file while the lock is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// Who.
    #[serde(flatten)]
    pub holder: Holder,
    /// Since when.
    pub since: DateTime<Utc>,
    /// When it was heard of last, where locks stay although their holder is gone. Not part of what stands in a lock.
    #[serde(default, skip_deserializing, skip_serializing_if = "Option::is_none", rename = "lastHeard")]
    pub last_heard: Option<DateTime<Utc>>,
}

impl Holding {
    /// A holding that begins now.
    pub fn from_now(holder: &Holder) -> Self {
        Self { holder: holder.clone(), since: Utc::now(), last_heard: None }
    }
}

impl Holding {
    /// Whether the process may still be there, seen from a host: one of that very host that is gone is not.
    pub fn may_last(&self, host: &str) -> bool {
        let processes = Path::new("/proc/self");
        let is_here = self.holder.host == host && processes.exists();
        !is_here || Path::new("/proc").join(self.holder.pid.to_string()).exists()
    }
}

/// What stands in a lock file, if that says who holds it.
pub(super) fn read_holding(path: &Path) -> Option<Holding> {
    serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
}

/// A holder that was heard of no longer ago than this counts as alive.
pub const FRESH: Duration = Duration::from_mins(1);

/// Whether a holder is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// The kernel says that its process is there, or was replaced by another holder that is.
    Alive,
    /// It was heard of a short time ago.
    Fresh,
    /// It has not been heard of for a while: it may be gone, or out of reach.
    Unknown,
    /// The kernel says that nobody holds the lock: whoever wants it gets it.
    Dead,
}

/// A lock as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Who says to hold it; `None` if that cannot be read.
    pub holding: Option<Holding>,
    /// When its holder was heard of last, where holders are heard of.
    pub last_heard: Option<DateTime<Utc>>,
    /// Whether the holder is alive.
    pub life: Life,
    /// What tells it from others.
    pub(super) tag: String,
}

impl Seen {
    /// A lock as it was found, for tests.
    #[cfg(test)]
    pub fn of(holding: Option<Holding>, life: Life) -> Self {
        Self { holding, last_heard: None, life, tag: String::new() }
    }
}

/// How long ago something was, for people: `40 minutes ago`.
pub fn ago(then: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let seconds = (now - then).num_seconds().max(0);
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

impl std::fmt::Display for Holding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Holder { pid, host, user, command } = &self.holder;
        let since = self.since.to_rfc3339_opts(SecondsFormat::Secs, true);
        let of_user = if user.is_empty() { String::new() } else { format!(" of {user}") };
        write!(formatter, "process {pid}{of_user} on {host} since {since}: {command}")
    }
}

/// How often, and how far apart, a holder's name is looked for that has the lock but has not written its name yet.
const NAME_ATTEMPTS: u32 = 10;
const NAME_PAUSE: Duration = Duration::from_millis(10);

/// A locked file. Dropping it empties the file and releases the lock.
#[derive(Debug)]
pub(super) struct FileLock {
    file: File,
    path: PathBuf,
    instance: String,
}

impl FileLock {
    /// Locks the file at the path, which is made if need be; its folder must exist. Blocking. `instance` is named in
    /// [`StateError::Locked`].
    pub(super) fn take(path: &Path, instance: &str, holder: &Holder) -> Result<Self, StateError> {
        let failed = |source| StateError::Store { action: "lock", key: path.display().to_string(), source };
        step("open lock");
        let mut file = open(path).map_err(failed)?;
        step("lock");
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StateError::Locked { instance: instance.to_owned(), holder: holder_of(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let lock = Self { file, path: path.to_owned(), instance: instance.to_owned() };
        lock.write(&Holding::from_now(holder)).map_err(failed)?;
        lock.check()?;
        Ok(lock)
    }

    /// Whether the file that is locked is still the one that others find.
    fn check(&self) -> Result<(), StateError> {
        let lost = |reason: String| Err(StateError::LockLost { instance: self.instance.clone(), reason });
        let path = self.path.display();
        match std::fs::metadata(&self.path) {
            Ok(found) if is_same(&found, &self.file) => Ok(()),
            Ok(_) => match read_holding(&self.path) {
                Some(holding) => lost(format!("{holding} has it")),
                None => lost(format!("{path} was replaced")),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => lost(format!("{path} was removed")),
            Err(source) => Err(StateError::Store { action: "look at", key: path.to_string(), source }),
        }
    }

    fn write(&self, holding: &Holding) -> std::io::Result<()> {
        step("empty lock");
        self.file.set_len(0)?;
        step("write lock");
        let mut text = serde_json::to_string(holding)?;
        text.push('\n');
        (&self.file).write_all(text.as_bytes())
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        step("release lock");
        // Only so that the next holder is never taken for this one; closing the file is what releases the lock.
        let _ = self.file.set_len(0);
    }
}

/// Whether what a path leads to is an open file.
#[cfg(unix)]
fn is_same(found: &std::fs::Metadata, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().is_ok_and(|open| (open.dev(), open.ino()) == (found.dev(), found.ino()))
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
fn is_same(_found: &std::fs::Metadata, _file: &File) -> bool {
    true
}

/// A lock file as it was found. Takes the lock for a moment to learn whether anybody has it.
pub(super) fn look(path: &Path) -> Result<Option<Seen>, StateError> {
    let failed = |source| StateError::Store { action: "look at", key: path.display().to_string(), source };
    let file = match File::options().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let life = match file.try_lock() {
        Ok(()) => Life::Dead,
        Err(TryLockError::WouldBlock) => Life::Alive,
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    };
    let holding = read_holding(path);
    // A file that was emptied was released.
    if life == Life::Dead && holding.is_none() {
        return Ok(None);
    }
    Ok(Some(Seen { holding, last_heard: None, life, tag: String::new() }))
}

/// Takes a lock file away from the holder that was seen.
pub(super) fn break_it(path: &Path, seen: &Seen) -> Result<bool, StateError> {
    if read_holding(path) != seen.holding {
        return Ok(false);
    }
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StateError::Store { action: "remove", key: path.display().to_string(), source }),
    }
}

impl Lock for FileLock {
    fn verify(&self) -> BoxFuture<'_, Result<(), StateError>> {
        // A look at one name: not worth a thread of its own.
        Box::pin(std::future::ready(self.check()))
    }

    fn release(self: Box<Self>) -> BoxFuture<'static, Result<(), StateError>> {
        Box::pin(async move {
            drop(self);
            Ok(())
        })
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The text that names the holder of a file that is locked by somebody else.
fn holder_of(file: &mut File) -> String {
    for attempt in 0..NAME_ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(NAME_PAUSE);
        }
        let mut text = String::new();
        let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
        if let Some(holding) = read.ok().and_then(|_| serde_json::from_str::<Holding>(&text).ok()) {
            return holding.to_string();
        }
    }
    "another process, which has not written its name".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_ago_is_said_in_the_unit_that_fits() {
        let then = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let said = [-5, 1, 119, 2400, 86_399, 200_000].map(|seconds| ago(then, then + chrono::TimeDelta::seconds(seconds)));
        let expected = ["0 seconds ago", "1 second ago", "119 seconds ago", "40 minutes ago", "23 hours ago", "2 days ago"];
        assert_eq!(said, expected);
    }
}
