//! A folder as store: temp file, fsync, rename, fsync of the folder; mode 0600.

use super::error::StateError;
use super::keys::Keys;
use super::lock::{self, FileLock, Holder, Holding, Seen, read_holding};
use super::store::{Lock, Store, Stored, check_key, tag_of};
use futures::future::{BoxFuture, FutureExt as _};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tempfile::NamedTempFile;

/// Names of unfinished writes begin with this. A process that is killed leaves one behind at most.
const UNFINISHED: &str = ".tmp-";

/// Unfinished writes that are older than this belong to nobody any more.
const ABANDONED: Duration = Duration::from_hours(1);

/// Folders are not looked for deeper than this, so that a link to a folder above does not lead in circles.
const DEPTH: usize = 8;

/// A folder as store. Made by the first write if it does not exist.
///
/// [`Store::put_if_match`] is atomic among the users of one value and its clones; processes are kept apart by the lock.
/// [`Store::put_if_absent`] is atomic for everybody.
#[derive(Debug, Clone)]
pub struct FolderStore {
    root: PathBuf,
    replacing: Arc<Mutex<()>>,
}

impl FolderStore {
    /// The store in a folder.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), replacing: Arc::default() }
    }

    fn path(&self, key: &str) -> Result<PathBuf, StateError> {
        check_key(key)?;
        Ok(key.split('/').fold(self.root.clone(), |path, part| path.join(part)))
    }

    /// Runs blocking work on the store, so that no other task of the runtime waits for the disk.
    fn work<T, F>(&self, work: F) -> BoxFuture<'static, Result<T, StateError>>
    where
        T: Send + 'static,
        F: FnOnce(&Self) -> Result<T, StateError> + Send + 'static,
    {
        let store = self.clone();
        async move {
            let name = store.name();
            let done = tokio::task::spawn_blocking(move || work(&store)).await;
            // Fails only if the work panicked or the runtime is going down.
            done.unwrap_or_else(|error| Err(StateError::Store { action: "use", key: name, source: io::Error::other(error) }))
        }
        .boxed()
    }

    fn read(&self, key: &str) -> Result<Option<Stored>, StateError> {
        let path = self.path(key)?;
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(Stored { tag: tag_of(&bytes), bytes })),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                dangling(&path).map_or(Ok(None), |error| Err(failed("read", &path)(error)))
            }
            Err(error) => Err(failed("read", &path)(error)),
        }
    }

    fn add(&self, key: &str, bytes: &[u8]) -> Result<String, StateError> {
        let path = self.path(key)?;
        let (folder, unfinished) = self.write(&path, bytes)?;
        step("name");
        match unfinished.persist_noclobber(&path) {
            Ok(_) => sync_folder(&folder).map_err(failed("write", &path))?,
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
                return Err(StateError::Conflict { key: key.to_owned() });
            }
            Err(error) => return Err(failed("write", &path)(error.error)),
        }
        Ok(tag_of(bytes))
    }

    fn replace(&self, key: &str, bytes: &[u8], tag: &str) -> Result<String, StateError> {
        let path = self.path(key)?;
        let _alone = self.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.read(key)?.is_none_or(|found| found.tag != tag) {
            return Err(StateError::Conflict { key: key.to_owned() });
        }
        let (folder, unfinished) = self.write(&path, bytes)?;
        step("name");
        unfinished.persist(&path).map_err(|error| failed("write", &path)(error.error))?;
        sync_folder(&folder).map_err(failed("write", &path))?;
        Ok(tag_of(bytes))
    }

    /// Writes the bytes to an unfinished file in the folder of `path`, durable but not yet under its name. It is removed
    /// when it is dropped, so a failure leaves nothing behind.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(PathBuf, NamedTempFile), StateError> {
        let folder = path.parent().unwrap_or(&self.root).to_owned();
        let write = || {
            make_folders(&folder)?;
            // The mode of temporary files is 0600.
            step("make");
            let mut unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&folder)?;
            #[cfg(test)]
            super::tests::syscalls::half_written(unfinished.as_file_mut(), bytes);
            step("write");
            unfinished.write_all(bytes)?;
            step("sync file");
            unfinished.as_file().sync_all()?;
            Ok(unfinished)
        };
        let unfinished = write().map_err(failed("write", path))?;
        Ok((folder, unfinished))
    }

    fn delete(&self, key: &str) -> Result<(), StateError> {
        let path = self.path(key)?;
        step("remove");
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("remove", &path)(error)),
        }
        // The last segment takes the journal's folder with it; of a folder that is not empty this is refused.
        if let Some(folder) = path.parent().filter(|folder| *folder != self.root) {
            step("remove folder");
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>, StateError> {
        let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
        let start = if folder.is_empty() { self.root.clone() } else { self.path(folder)? };
        let mut keys = Vec::new();
        walk(&start, folder, &mut keys)?;
        keys.retain(|key| key.starts_with(prefix));
        keys.sort_unstable();
        Ok(keys)
    }

    fn lock_path(&self, key: &str) -> Result<PathBuf, StateError> {
        let mut side = self.path(key)?.into_os_string();
        side.push(".lock");
        Ok(side.into())
    }

    fn take_lock(&self, key: &str, holder: &Holder) -> Result<FileLock, StateError> {
        let path = self.path(key)?;
        let folder = path.parent().unwrap_or(&self.root);
        make_folders(folder).map_err(failed("lock", &path))?;
        let lock = FileLock::take(&self.lock_path(key)?, key, holder)?;
        sweep(folder);
        sweep(&path.with_extension("journal"));
        Ok(lock)
    }
}

impl Store for FolderStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Stored>, StateError>> {
        let key = key.to_owned();
        self.work(move |store| store.read(&key))
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StateError>> {
        let prefix = prefix.to_owned();
        self.work(move |store| store.keys(&prefix))
    }

    fn put_if_absent<'a>(&'a self, key: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<String, StateError>> {
        let (key, bytes) = (key.to_owned(), bytes.to_vec());
        self.work(move |store| store.add(&key, &bytes))
    }

    fn put_if_match<'a>(&'a self, key: &'a str, bytes: &'a [u8], tag: &'a str) -> BoxFuture<'a, Result<String, StateError>> {
        let (key, bytes, tag) = (key.to_owned(), bytes.to_vec(), tag.to_owned());
        self.work(move |store| store.replace(&key, &bytes, &tag))
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StateError>> {
        let key = key.to_owned();
        self.work(move |store| store.delete(&key))
    }

    fn lock<'a>(&'a self, key: &'a str, holder: &'a Holder) -> BoxFuture<'a, Result<Box<dyn Lock>, StateError>> {
        let (key, holder) = (key.to_owned(), holder.clone());
        self.work(move |store| Ok(Box::new(store.take_lock(&key, &holder)?) as Box<dyn Lock>))
    }

    fn holding<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Holding>, StateError>> {
        let key = key.to_owned();
        self.work(move |store| Ok(read_holding(&store.lock_path(&key)?)))
    }

    fn look_at_lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Seen>, StateError>> {
        let key = key.to_owned();
        self.work(move |store| lock::look(&store.lock_path(&key)?))
    }

    fn break_lock<'a>(&'a self, key: &'a str, seen: &'a Seen) -> BoxFuture<'a, Result<bool, StateError>> {
        let (key, seen) = (key.to_owned(), seen.clone());
        self.work(move |store| lock::break_it(&store.lock_path(&key)?, &seen))
    }

    fn untidy(&self) -> BoxFuture<'_, Result<Vec<String>, StateError>> {
        self.work(|store| {
            let mut found = Vec::new();
            untidy(&store.root, 0, &mut found)?;
            found.sort_unstable();
            Ok(found)
        })
    }

    fn is_there<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<bool, StateError>> {
        // A look at one name: not worth a thread of its own.
        let found = self.path(key).and_then(|path| path.try_exists().map_err(failed("look at", &path)));
        std::future::ready(found).boxed()
    }

    fn name(&self) -> String {
        self.root.display().to_string()
    }
}

/// What is about to be asked of the operating system. Tests are killed here.
#[cfg(test)]
pub(super) fn step(what: &str) {
    super::tests::syscalls::step(what);
}

#[cfg(not(test))]
pub(super) const fn step(_what: &str) {}

fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> StateError {
    let key = path.display().to_string();
    move |source| StateError::Store { action, key: key.clone(), source }
}

/// What is wrong with a path at which nothing is found, if it is a link that leads nowhere.
fn dangling(path: &Path) -> Option<io::Error> {
    let target = fs::read_link(path).ok()?;
    // It may have been made since.
    let is_there = path.try_exists().unwrap_or(false);
    (!is_there).then(|| {
        let reason = format!("it is a link to {}, which is not there", target.display());
        io::Error::new(ErrorKind::NotFound, reason)
    })
}

/// Makes a folder and those above it, mode 0700, each durable in the one above.
fn make_folders(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    if let Some(error) = dangling(folder) {
        return Err(error);
    }
    let above = folder.parent().unwrap_or(Path::new(""));
    make_folders(above)?;
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    step("make folder");
    match builder.create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_folder(above),
    }
}

/// Makes the names in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    step("sync folder");
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Collects the keys below a folder whose own key is `above`. What vanishes meanwhile was not there.
fn walk(folder: &Path, above: &str, keys: &mut Vec<String>) -> Result<(), StateError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return dangling(folder).map_or(Ok(()), |error| Err(failed("read", folder)(error)));
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory && !above.is_empty() => return Ok(()),
        Err(error) => return Err(failed("read", folder)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(failed("read", folder))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let key = if above.is_empty() { name } else { format!("{above}/{name}") };
        if check_key(&key).is_err() {
            continue;
        }
        match fs::metadata(entry.path()) {
            // What has the name of a state is never taken for none, whatever it is.
            Ok(found) if found.is_dir() && Keys::of(&key).is_some() => keys.push(key),
            Ok(found) if found.is_dir() && key.split('/').count() < DEPTH => walk(&entry.path(), &key, keys)?,
            Ok(found) if found.is_dir() => {}
            Ok(_) => keys.push(key),
            Err(error) if error.kind() == ErrorKind::NotFound && !entry.path().is_symlink() => {}
            Err(error) if error.kind() == ErrorKind::NotFound => keys.push(key),
            Err(error) => return Err(failed("read", &entry.path())(error)),
        }
    }
    Ok(())
}

/// Removes unfinished writes that killed processes left in a folder. Best effort: they do no harm.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let written = entry.metadata().and_then(|found| found.modified());
        let age = written.ok().and_then(|written| SystemTime::now().duration_since(written).ok());
        if unfinished && age.is_some_and(|age| age > ABANDONED) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Collects what is untidy in a folder and those below it.
fn untidy(folder: &Path, depth: usize, found: &mut Vec<String>) -> Result<(), StateError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("read", folder)(error)),
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let Ok(about) = entry.metadata() else { continue };
        if name.starts_with(UNFINISHED) {
            found.push(format!("{} is an unfinished write of a run that was killed, or of one that goes on", path.display()));
        } else if about.is_dir() && depth < DEPTH && !name.starts_with('.') {
            untidy(&path, depth + 1, found)?;
        }
        if let Some(mode) = wider(&about).filter(|_| depth > 0) {
            found.push(format!("{} can be reached by others: its mode is {mode:03o}", path.display()));
        }
    }
    Ok(())
}

/// The mode of what others than its owner can reach. Locks and states are made for their owner alone.
fn wider(about: &fs::Metadata) -> Option<u32> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o777;
        (mode & 0o077 != 0).then_some(mode)
    }
    #[cfg(not(unix))]
    {
        let _ = about;
        None
    }
}
