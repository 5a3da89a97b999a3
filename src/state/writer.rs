//! The one task that writes a state: entries into segments, segments into the file.

use super::clock::Clock;
use super::error::StateError;
use super::file::{Begin, StateFile, VERSION, Verb, writer};
use super::journal::{Entry, Intent, Permit};
use super::keys::Keys;
use super::migrate;
use super::replay::{Loaded, Segment, apply};
use super::store::{Linger, Lock, Store, Stored};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

/// How many previous versions of the file are kept.
const BACKUPS: usize = 5;

/// An entry that has no number yet.
#[derive(Debug)]
pub(super) enum Draft {
    Begin(Box<Intent>),
    Entry(Entry),
}

/// What comes back of a request to write: a permit for a begin entry.
type Written = Result<Option<Permit>, StateError>;

/// What the writer is asked to do.
#[derive(Debug)]
pub(super) enum Request {
    /// Write an entry.
    Write { draft: Draft, reply: oneshot::Sender<Written> },
    /// Make the state another one, as a new version of the file.
    Replace { content: Box<StateFile>, reply: oneshot::Sender<Result<StateFile, StateError>> },
    /// Fold, release the lock, end.
    Close { reply: oneshot::Sender<Result<StateFile, StateError>> },
    /// Release the lock and end, without folding.
    Abandon,
}

/// A segment that may or may not be in the store, because its write failed.
#[derive(Debug)]
struct Doubt {
    key: String,
    bytes: Vec<u8>,
    after: StateFile,
    /// How many of the unsaved entries it holds: the first ones.
    unsaved: usize,
}

/// Holds the lock, and everything that is known of the state.
pub(super) struct Writer {
    store: Arc<dyn Store>,
    keys: Keys,
    lock: Box<dyn Lock>,
    clock: Clock,
    /// The file as it stands in the store. `None`: nothing was recorded yet.
    stored: Option<Stored>,
    /// What it says.
    base: StateFile,
    /// See [`Loaded::leftover`].
    leftover: Vec<String>,
    /// The state after every durable entry.
    state: watch::Sender<Arc<StateFile>>,
    doubt: Option<Doubt>,
    /// Entries of calls that were made, whose write failed. They are part of every later attempt.
    unsaved: Vec<Entry>,
    /// Why nothing is begun any more.
    broken: Option<Broken>,
    /// Whether anything is begun any more.
    is_open: watch::Sender<bool>,
}

/// Why nothing is begun any more.
#[derive(Debug, Clone)]
enum Broken {
    /// A write failed. The end of calls under way is still tried.
    Unwritable(String),
    /// The state is another's. Nothing is written either: what is under way is resolved by whoever has it.
    Lost(String),
}

impl Writer {
    pub(super) fn new(store: Arc<dyn Store>, keys: Keys, lock: Box<dyn Lock>, clock: Clock, loaded: Loaded) -> Self {
        let Loaded { stored, base, current, leftover } = loaded;
        let (state, _) = watch::channel(Arc::new(current));
        let (is_open, _) = watch::channel(true);
        let (doubt, unsaved, broken) = (None, Vec::new(), None);
        Self { store, keys, lock, clock, stored, base, leftover, state, doubt, unsaved, broken, is_open }
    }

    /// The state after every durable entry.
    pub(super) fn watch(&self) -> watch::Receiver<Arc<StateFile>> {
        self.state.subscribe()
    }

    /// Whether anything is begun any more.
    pub(super) fn watch_open(&self) -> watch::Receiver<bool> {
        self.is_open.subscribe()
    }

    fn current(&self) -> Arc<StateFile> {
        self.state.borrow().clone()
    }

    /// Serves requests until it is told to close or to abandon, or nobody is left to ask.
    pub(super) async fn run(mut self, mut requests: mpsc::UnboundedReceiver<Request>) {
        while let Some(first) = self.next(&mut requests).await {
            let settled = self.settle().await;
            let mut batch = Batch::new(&self.current(), &self.unsaved);
            let mut last = self.take(&mut batch, first);
            // Whatever came while the write before was under way shares this one, and so does what comes while it lingers.
            let (linger, since) = (self.store.linger(), Instant::now());
            while last.is_none() {
                let next = match requests.try_recv() {
                    Ok(next) => next,
                    Err(_) if batch.patience(linger).is_zero() => break,
                    Err(_) => match timeout_at(since + batch.patience(linger), requests.recv()).await {
                        Ok(Some(next)) => next,
                        _ => break,
                    },
                };
                last = self.take(&mut batch, next);
            }
            self.write(batch, settled).await;
            match last {
                None => {}
                Some(Last::Abandon) => break,
                Some(Last::Replace(content, reply)) => {
                    let _ = reply.send(self.replace(*content).await);
                }
                Some(Last::Close(reply)) => {
                    let _ = reply.send(self.close().await);
                    return;
                }
            }
        }
        if let Err(error) = self.lock.release().await {
            tracing::warn!(%error, "the lock could not be released");
        }
    }

    /// The next request. Where the lock is found to be lost meanwhile, whoever waits for anything is told at once.
    async fn next(&mut self, requests: &mut mpsc::UnboundedReceiver<Request>) -> Option<Request> {
        if !matches!(self.broken, Some(Broken::Lost(_))) {
            tokio::select! {
                biased;
                request = requests.recv() => return request,
                error = self.lock.lost() => self.broken = Some(Broken::of(error)),
            }
            self.is_open.send_replace(false);
        }
        requests.recv().await
    }

    /// Puts a request into the batch, or says how it ends the writer.
    fn take(&self, batch: &mut Batch, request: Request) -> Option<Last> {
        match (request, &self.broken) {
            (Request::Abandon, _) => return Some(Last::Abandon),
            (Request::Close { reply }, _) => return Some(Last::Close(reply)),
            (Request::Replace { content, reply }, _) => return Some(Last::Replace(content, reply)),
            // Whoever asked is gone, so the call will not be made.
            (Request::Write { draft: Draft::Begin(_), reply }, _) if reply.is_closed() => {}
            (Request::Write { draft: Draft::Begin(_), reply }, Some(reason)) => {
                let _ = reply.send(Err(self.unwritten(reason)));
            }
            (Request::Write { draft, reply }, _) => batch.add(draft, reply, &self.clock),
        }
        None
    }

    /// Writes a batch as one segment and answers everybody who waits for it.
    async fn write(&mut self, batch: Batch, settled: Result<(), StateError>) {
        let Batch { entries, after, waiting } = batch;
        let kept = without_begins(&entries);
        let written = match settled {
            Ok(()) if entries.is_empty() => Ok(()),
            Ok(()) => self.commit(entries, after).await,
            Err(error) => Err(error),
        };
        self.unsaved = if written.is_ok() { Vec::new() } else { kept };
        let broken = written.err().map(Broken::of);
        self.is_open.send_if_modified(|is_open| std::mem::replace(is_open, *is_open && broken.is_none()) && broken.is_some());
        for (permit, reply) in waiting {
            let answer = broken.as_ref().map_or(Ok(permit), |reason| Err(self.unwritten(reason)));
            let _ = reply.send(answer);
        }
        if matches!(broken, Some(Broken::Lost(_))) || self.broken.is_none() {
            self.broken = broken;
        }
    }

    async fn commit(&mut self, entries: Vec<Entry>, mut after: StateFile) -> Result<(), StateError> {
        self.verify().await?;
        self.file().await?;
        let number = after.folded_segment + 1;
        let key = self.keys.segment(number);
        let unsaved = without_begins(&entries).len();
        let segment = Segment { version: VERSION, lineage: after.lineage.clone(), number, entries };
        let bytes = migrate::encode_segment(&key, &segment)?;
        after.folded_segment = number;
        match self.store.put_if_absent(&key, &bytes).await {
            Ok(_) => {
                self.state.send_replace(Arc::new(after));
                Ok(())
            }
            Err(error) => {
                self.doubt = Some(Doubt { key, bytes, after, unsaved });
                Err(error)
            }
        }
    }

    /// Whether the state is still ours to write. What is lost once stays lost.
    async fn verify(&self) -> Result<(), StateError> {
        match &self.broken {
            Some(Broken::Lost(reason)) => Err(StateError::LockLost { instance: String::new(), reason: reason.clone() }),
            _ => self.lock.verify().await,
        }
    }

    /// The file as it stands in the store. One that was removed under our lock is written again, without which the journal
    /// would be worth nothing, and that is an error: nobody knows what else happens to the folder. That of a new state is made here, before its first segment, so that a journal
    /// always has a lineage, and what records nothing leaves nothing behind.
    async fn file(&mut self) -> Result<Stored, StateError> {
        let key = &self.keys.state;
        if let Some(stored) = &self.stored {
            if self.store.is_there(key).await? {
                return Ok(stored.clone());
            }
            self.store.put_if_absent(key, &stored.bytes).await?;
            return Err(removed(key));
        }
        let bytes = migrate::encode_file(key, &self.base)?;
        let tag = match self.store.put_if_absent(key, &bytes).await {
            // An earlier attempt failed and wrote it all the same.
            Err(StateError::Conflict { key: taken }) => match self.store.get(key).await? {
                Some(found) if found.bytes == bytes => found.tag,
                _ => return Err(StateError::Conflict { key: taken }),
            },
            tag => tag?,
        };
        Ok(self.stored.insert(Stored { bytes, tag }).clone())
    }

    /// Finds out whether a write that failed is in the store all the same, so that what comes next gets the right number.
    /// Those who asked for the write were told that it failed; a begin entry that is there stands for no call.
    async fn settle(&mut self) -> Result<(), StateError> {
        let Some(doubt) = &self.doubt else { return Ok(()) };
        match self.store.get(&doubt.key).await? {
            Some(found) if found.bytes != doubt.bytes => return Err(StateError::Conflict { key: doubt.key.clone() }),
            Some(_) => {
                self.state.send_replace(Arc::new(doubt.after.clone()));
                // Those that came after it are in no file yet.
                self.unsaved.drain(..doubt.unsaved.min(self.unsaved.len()));
            }
            None => {}
        }
        self.doubt = None;
        Ok(())
    }

    async fn close(mut self) -> Result<StateFile, StateError> {
        let mut folded = self.finish().await.map_err(|error| match error {
            StateError::LockLost { reason, .. } => self.unwritten(&Broken::Lost(reason)),
            error => error,
        });
        if let Err(error) = &folded
            && self.rescue(error).await
            && matches!(error, StateError::Conflict { .. })
        {
            folded = Err(removed(&self.keys.state));
        }
        let state = StateFile::clone(&self.current());
        let released = self.lock.release().await;
        let closed = folded.and(released).map(|()| state);
        closed.map_err(|error| unsaved(error, &self.unsaved))
    }

    /// Where the whole state was removed, journal and lock too: writes what is known of it, unless somebody else has begun
    /// another one meanwhile. If that fails too, what is in no file is said in the end. Whether it was written.
    async fn rescue(&mut self, error: &StateError) -> bool {
        let key = self.keys.state.clone();
        if self.stored.is_none() || !self.is_gone(&key, error).await {
            return false;
        }
        let mut after = StateFile::clone(&self.current());
        for entry in &self.unsaved {
            apply(&mut after, entry);
        }
        (after.version, after.serial, after.writer) = (VERSION, after.serial + 1, writer());
        let Ok(bytes) = migrate::encode_file(&key, &after) else { return false };
        let is_written = self.store.put_if_absent(&key, &bytes).await.is_ok();
        if is_written {
            self.unsaved.clear();
        }
        is_written
    }

    /// Whether the file was removed. Stores that cannot tell that cheaply are asked for the file itself, but not for one that
    /// is no longer ours: whoever has the lock may be about to make it anew.
    async fn is_gone(&self, key: &str, error: &StateError) -> bool {
        match self.store.is_there(key).await {
            Ok(true) if !matches!(error, StateError::LockLost { .. }) => matches!(self.store.get(key).await, Ok(None)),
            found => matches!(found, Ok(false)),
        }
    }

    async fn finish(&mut self) -> Result<(), StateError> {
        self.verify().await?;
        self.settle().await?;
        if let (false, Some(broken)) = (self.unsaved.is_empty(), &self.broken) {
            return Err(self.unwritten(broken));
        }
        self.fold().await
    }

    /// Makes the state another one. The one before is kept.
    async fn replace(&mut self, content: StateFile) -> Result<StateFile, StateError> {
        self.finish().await?;
        let current = self.current();
        let after = StateFile {
            folded_segment: content.folded_segment.max(current.folded_segment),
            last_entry: content.last_entry.max(current.last_entry),
            serial: content.serial.max(current.serial),
            ..content
        };
        self.state.send_replace(Arc::new(after));
        match self.write_file().await {
            Ok(()) => Ok(StateFile::clone(&self.current())),
            Err(error) => {
                self.state.send_replace(current);
                Err(error)
            }
        }
    }

    /// Folds the journal into the file, then removes what is folded. A crash in between is harmless: replay skips
    /// segments that the file says it has.
    pub(super) async fn fold(&mut self) -> Result<(), StateError> {
        let mut folded = std::mem::take(&mut self.leftover);
        let before = self.base.folded_segment;
        let last = self.current().folded_segment;
        if last > before {
            self.write_file().await?;
            folded.extend((before + 1..=last).map(|number| self.keys.segment(number)));
        }
        self.store.remove_all(&folded).await
    }

    /// Gives a state of which nothing is recorded the lineage that its objects bear.
    pub(super) async fn take_lineage(&mut self, lineage: &str) -> Result<(), StateError> {
        let mut after = StateFile::clone(&self.current());
        if !after.resources.is_empty() || !after.open.is_empty() {
            return Err(StateError::Conflict { key: self.keys.state.clone() });
        }
        lineage.clone_into(&mut after.lineage);
        if self.stored.is_none() {
            self.base = after.clone();
        }
        self.state.send_replace(Arc::new(after));
        // A file that is there has to have it before the first segment does.
        if self.stored.is_some() { self.write_file().await } else { Ok(()) }
    }

    async fn write_file(&mut self) -> Result<(), StateError> {
        let stored = self.file().await?;
        let mut after = StateFile::clone(&self.current());
        after.version = VERSION;
        after.writer = writer();
        let changed = !after.same_content(&self.base);
        if changed {
            after.serial += 1;
            self.back_up(&stored.bytes).await?;
        }
        let key = &self.keys.state;
        let bytes = migrate::encode_file(key, &after)?;
        let tag = self.store.put_if_match(key, &bytes, &stored.tag).await?;
        self.stored = Some(Stored { bytes, tag });
        self.base = after.clone();
        self.state.send_replace(Arc::new(after));
        Ok(())
    }

    /// Keeps the file that is about to be replaced, and lets go of the oldest.
    async fn back_up(&self, bytes: &[u8]) -> Result<(), StateError> {
        // A state that was just made has nothing to keep.
        if self.base.serial == 0 {
            return Ok(());
        }
        match self.store.put_if_absent(&self.keys.backup(self.base.serial), bytes).await {
            // An earlier fold got this far.
            Ok(_) | Err(StateError::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
        let listed = self.store.list(&self.keys.backups()).await?;
        let mut serials: Vec<u64> = listed.iter().filter_map(|key| self.keys.backup_serial(key)).collect();
        serials.sort_unstable();
        let surplus = serials.len().saturating_sub(BACKUPS);
        let oldest: Vec<String> = serials.into_iter().take(surplus).map(|serial| self.keys.backup(serial)).collect();
        self.store.remove_all(&oldest).await
    }

    fn unwritten(&self, broken: &Broken) -> StateError {
        let instance = self.base.instance.to_string();
        match broken.clone() {
            Broken::Unwritable(reason) => StateError::Journal { instance, reason },
            Broken::Lost(reason) => StateError::LockLost { instance, reason },
        }
    }
}

impl Broken {
    fn of(error: StateError) -> Self {
        match error {
            StateError::LockLost { reason, .. } => Self::Lost(reason),
            error => Self::Unwritable(error.to_string()),
        }
    }
}

/// Begin entries that could not be written stand for no call.
fn without_begins(entries: &[Entry]) -> Vec<Entry> {
    entries.iter().filter(|entry| !matches!(entry, Entry::Begin(_))).cloned().collect()
}

fn removed(key: &str) -> StateError {
    let reason = "somebody removed it in mid-run. What it said was written again";
    StateError::Store { action: "find", key: key.to_owned(), source: std::io::Error::new(std::io::ErrorKind::NotFound, reason) }
}

/// An error at the end, with the entries that are nowhere else.
fn unsaved(error: StateError, entries: &[Entry]) -> StateError {
    // What was made from JSON, and is written as JSON all the time, can be written.
    let entries: Vec<String> = entries.iter().filter_map(|entry| serde_json::to_string(entry).ok()).collect();
    if entries.is_empty() { error } else { StateError::Unsaved { source: Box::new(error), entries } }
}

/// What ends the writer, or has to be done alone.
enum Last {
    Replace(Box<StateFile>, oneshot::Sender<Result<StateFile, StateError>>),
    Abandon,
    Close(oneshot::Sender<Result<StateFile, StateError>>),
}

/// Entries that are going to share one durable write.
struct Batch {
    entries: Vec<Entry>,
    /// The state after them.
    after: StateFile,
    waiting: Vec<(Option<Permit>, oneshot::Sender<Written>)>,
}

impl Batch {
    /// Begins with what could not be written before.
    fn new(state: &StateFile, unsaved: &[Entry]) -> Self {
        let mut after = state.clone();
        for entry in unsaved {
            apply(&mut after, entry);
        }
        Self { entries: unsaved.to_vec(), after, waiting: Vec::new() }
    }

    /// How long it may wait for more to share its write.
    fn patience(&self, linger: Linger) -> Duration {
        match self.entries.as_slice() {
            [] => Duration::ZERO,
            entries if entries.iter().any(|entry| matches!(entry, Entry::Begin(_))) => linger.begin,
            _ => linger.other,
        }
    }

    /// Adds an entry, or refuses it. What changes nothing is not written, but its answer waits for what it relies on.
    fn add(&mut self, draft: Draft, reply: oneshot::Sender<Written>, clock: &Clock) {
        let (entry, permit) = match draft {
            Draft::Begin(intent) => match self.begin(*intent, clock) {
                Ok(begin) => {
                    let permit = Permit::of(&begin);
                    (Entry::Begin(Box::new(begin)), Some(permit))
                }
                Err(error) => {
                    let _ = reply.send(Err(error));
                    return;
                }
            },
            Draft::Entry(Entry::End { begin, .. }) if !self.after.open.iter().any(|open| open.entry == begin) => {
                let _ = reply.send(Err(StateError::NotOpen { entry: begin }));
                return;
            }
            Draft::Entry(entry) => (entry, None),
        };
        if !changes_nothing(&self.after, &entry) {
            apply(&mut self.after, &entry);
            self.entries.push(entry);
        }
        self.waiting.push((permit, reply));
    }

    fn begin(&self, intent: Intent, clock: &Clock) -> Result<Begin, StateError> {
        let makes = |verb: Verb| verb == Verb::Create;
        let in_the_way = |earlier: &Begin| makes(earlier.verb) || makes(intent.verb);
        if let Some(earlier) = self.after.open_entries(&intent.identity).find(|earlier| in_the_way(earlier)) {
            return Err(StateError::Unresolved {
                identity: intent.identity.to_string(),
                operation: intent.operation.to_owned(),
                earlier: earlier.operation.clone(),
                entry: earlier.entry,
            });
        }
        Ok(Begin {
            entry: self.after.last_entry + 1,
            at: clock(),
            identity: intent.identity,
            address: intent.address,
            role: intent.role,
            verb: intent.verb,
            operation: intent.operation.to_owned(),
            token: uuid::Uuid::new_v4().to_string(),
            id: intent.id,
            applied: intent.applied,
            dependencies: intent.dependencies,
        })
    }
}

fn changes_nothing(state: &StateFile, entry: &Entry) -> bool {
    match entry {
        Entry::Begin(_) | Entry::End { .. } => false,
        Entry::Put { record } => state.record(&record.identity) == Some(&**record),
        Entry::Forget { identity } => state.record(identity).is_none(),
        Entry::Definitions { used } => state.definitions.as_ref() == Some(used),
        Entry::Duration { what, seconds } => state.durations.get(what) == Some(seconds),
    }
}
