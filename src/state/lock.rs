//! The lock of an instance's state: a side file that a dead holder does not keep.
//!
//! The kernel's lock on the open file is the lock; it goes with the process. The file's content only says who holds it.
//! The file is never removed: whoever had it open would then lock a file that nobody else can see.

use super::error::StateError;
use super::store::Lock;
use chrono::{DateTime, SecondsFormat, Utc};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
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
}

impl Holding {
    /// A holding that begins now.
    pub fn from_now(holder: &Holder) -> Self {
        Self { holder: holder.clone(), since: Utc::now() }
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
}

impl FileLock {
    /// Locks the file at the path, which is made if need be; its folder must exist. Blocking. `instance` is named in
    /// [`StateError::Locked`].
    pub(super) fn take(path: &Path, instance: &str, holder: &Holder) -> Result<Self, StateError> {
        let failed = |source| StateError::Store { action: "lock", key: path.display().to_string(), source };
        let mut file = open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StateError::Locked { instance: instance.to_owned(), holder: holder_of(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let lock = Self { file };
        lock.write(&Holding::from_now(holder)).map_err(failed)?;
        Ok(lock)
    }

    fn write(&self, holding: &Holding) -> std::io::Result<()> {
        self.file.set_len(0)?;
        let mut text = serde_json::to_string(holding)?;
        text.push('\n');
        (&self.file).write_all(text.as_bytes())
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Only so that the next holder is never taken for this one; closing the file is what releases the lock.
        let _ = self.file.set_len(0);
    }
}

impl Lock for FileLock {
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
