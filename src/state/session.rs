//! Opening state: for changing, with the lock; for reading, without.

use super::clock::{self, Clock};
use super::error::StateError;
use super::file::{Begin, InstanceKey, Phase, StateFile};
use super::journal::{Entry, Journal};
use super::keys::Keys;
pub use super::lock::{Holder, Holding};
use super::replay::{Loaded, apply, load};
use super::store::Store;
use super::writer::{Request, Writer};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// An instance's state, open for changing. Dropping it releases the lock without folding: writes under way are finished
/// first, and what is asked of the journal afterwards is refused.
#[derive(Debug)]
pub struct Session {
    journal: Journal,
    requests: mpsc::UnboundedSender<Request>,
}

impl Session {
    /// Takes the lock, reads the file, replays and folds the journal. A new state has a new lineage, and a file as soon as
    /// there is something to record. Errors: [`StateError::Locked`] and whatever reading and writing give.
    pub async fn open(store: Arc<dyn Store>, instance: InstanceKey, holder: Holder) -> Result<Self, StateError> {
        Self::open_with(store, instance, holder, clock::system()).await
    }

    /// [`Session::open`] with another clock than the system's, for simulations.
    pub async fn open_with(
        store: Arc<dyn Store>,
        instance: InstanceKey,
        holder: Holder,
        clock: Clock,
    ) -> Result<Self, StateError> {
        Self::open_of(store, instance, holder, clock, None).await
    }

    /// [`Session::open`] for a state that is made from what is there: it has the lineage that the objects bear. Error
    /// [`StateError::Conflict`] if anything is recorded already.
    pub async fn rebuild(
        store: Arc<dyn Store>,
        instance: InstanceKey,
        holder: Holder,
        clock: Clock,
        lineage: &str,
    ) -> Result<Self, StateError> {
        Self::open_of(store, instance, holder, clock, Some(lineage)).await
    }

    async fn open_of(
        store: Arc<dyn Store>,
        instance: InstanceKey,
        holder: Holder,
        clock: Clock,
        lineage: Option<&str>,
    ) -> Result<Self, StateError> {
        let keys = keys_of(&instance)?;
        let lock = match store.lock(&keys.state, &holder).await {
            Err(StateError::Locked { holder, .. }) => return Err(StateError::Locked { instance: instance.to_string(), holder }),
            lock => lock?,
        };
        let loaded = match load(&*store, &keys).await? {
            Some(loaded) => loaded,
            None => Loaded::new(&instance),
        };
        check_instance(&keys, &loaded.base, Some(&instance))?;
        let mut writer = Writer::new(store, keys, lock, clock.clone(), loaded);
        writer.fold().await?;
        if let Some(lineage) = lineage {
            writer.take_lineage(lineage).await?;
        }
        let (requests, served) = mpsc::unbounded_channel();
        let journal = Journal::new(instance, requests.clone(), (writer.watch(), writer.watch_open()), clock);
        tokio::spawn(writer.run(served));
        Ok(Self { journal, requests })
    }

    /// The journal.
    pub fn journal(&self) -> Journal {
        self.journal.clone()
    }

    /// The state as it is now, entries included.
    pub fn state(&self) -> StateFile {
        self.journal.snapshot()
    }

    /// Makes the state another one, as a new version; the one before is kept. For what people do to a state by hand. Errors:
    /// those of writing; the state is then as it was.
    pub async fn replace(&self, content: StateFile) -> Result<StateFile, StateError> {
        let closed = || StateError::Closed { instance: self.journal.view(|state| state.instance.to_string()) };
        let (reply, answer) = oneshot::channel();
        self.requests.send(Request::Replace { content: Box::new(content), reply }).map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Takes entries that an earlier run could not write, and printed instead. Those that are in the state already change
    /// nothing, nor do those that a later run went past.
    pub async fn take_back(&self, entries: Vec<Entry>) -> Result<StateFile, StateError> {
        let (state, _) = taken_back(self.state(), &entries);
        self.replace(state).await
    }

    /// Folds the journal into the file and releases the lock. On an error the journal stays as it is, for the next
    /// session to fold, and the lock is released all the same.
    pub async fn close(self) -> Result<StateFile, StateError> {
        let closed = || StateError::Closed { instance: self.journal.view(|state| state.instance.to_string()) };
        let (reply, answer) = oneshot::channel();
        self.requests.send(Request::Close { reply }).map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // After `close` nobody is there to hear it.
        let _ = self.requests.send(Request::Abandon);
    }
}

/// What becomes of an entry that comes late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// It says something new.
    Taken,
    /// The state says so already.
    Known,
    /// Its call was never made, or a later run went past it.
    Obsolete,
}

/// A state with entries that come late, and what becomes of each; see [`Session::take_back`].
pub fn taken_back(mut state: StateFile, entries: &[Entry]) -> (StateFile, Vec<Late>) {
    let mut fates = Vec::new();
    for entry in entries {
        if !still_counts(&state, entry) {
            fates.push(Late::Obsolete);
            continue;
        }
        let before = state.clone();
        apply(&mut state, entry);
        fates.push(if state.same_content(&before) { Late::Known } else { Late::Taken });
    }
    (state, fates)
}

/// Whether an entry that comes late says something that the state does not know better. What is left out is harmless: the next
/// refresh finds it.
fn still_counts(state: &StateFile, entry: &Entry) -> bool {
    match entry {
        // Its call was never made.
        Entry::Begin(_) => false,
        Entry::End { begin, record, .. } => {
            let of_object = |open: &Begin| record.as_ref().is_none_or(|record| record.identity == open.identity);
            state.open.iter().any(|open| open.entry == *begin && of_object(open))
        }
        Entry::Put { record } => state.record(&record.identity).is_none_or(|known| known.since <= record.since),
        // It may have been made again since; what is still being deleted was not.
        Entry::Forget { identity } => state.record(identity).is_some_and(|record| record.phase == Phase::Deleting),
        Entry::Definitions { .. } | Entry::Duration { .. } => true,
    }
}

/// Reads an instance's state without lock, journal replayed in memory. `None` if there is none.
pub async fn read(store: &dyn Store, instance: &InstanceKey) -> Result<Option<StateFile>, StateError> {
    read_one(store, &keys_of(instance)?, Some(instance)).await
}

/// Puts a state that cannot be read aside, its journal and previous versions included, so that another can be made: what it
/// was is kept under other keys, which are returned.
pub async fn set_aside(store: &dyn Store, instance: &InstanceKey, holder: &Holder) -> Result<Vec<String>, StateError> {
    let keys = keys_of(instance)?;
    let lock = store.lock(&keys.state, holder).await?;
    let mut kept = Vec::new();
    // The file last: until it is gone, the same command can be given again.
    let beside = [store.list(keys.segments()).await?, store.list(&keys.backups()).await?].concat();
    for key in beside.into_iter().chain([keys.state.clone()]) {
        let Some(stored) = store.get(&key).await? else { continue };
        // Not among the segments, where a new journal begins.
        let file = key.rsplit('/').next().unwrap_or_default();
        let hash: String = super::hash::sha256(&stored.bytes).chars().take(12).collect();
        // It ends like no key of a state: nobody takes it for one.
        let name = format!("{}{hash}-{file}.kept", keys.aside());
        match store.put_if_absent(&name, &stored.bytes).await {
            // An earlier attempt got this far: the name holds the hash.
            Ok(_) | Err(StateError::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
        store.remove(&key).await?;
        kept.push(name);
    }
    lock.release().await?;
    Ok(kept)
}

/// Who is about to change an instance's state, as far as can be told from `host` without the lock. `None`: nobody. In a store
/// whose locks outlive their holders it is whoever has the lock, gone or not.
pub async fn holding(store: &dyn Store, instance: &InstanceKey, host: &str) -> Result<Option<Holding>, StateError> {
    let holding = store.holding(&keys_of(instance)?.state).await?;
    Ok(holding.filter(|holding| holding.last_heard.is_some() || holding.may_last(host)))
}

/// The keys of every state in a store, readable or not, in order.
pub async fn keys(store: &dyn Store) -> Result<Vec<String>, StateError> {
    Ok(Keys::all(&store.list("").await?).into_iter().map(|keys| keys.state).collect())
}

/// Every state in a store by its key, in the order of keys, with what is wrong with those that cannot be read. What is no
/// state is passed over.
pub async fn read_each(store: &dyn Store) -> Result<Vec<(String, Result<StateFile, StateError>)>, StateError> {
    let mut states = Vec::new();
    for keys in Keys::all(&store.list("").await?) {
        if let Some(state) = read_one(store, &keys, None).await.transpose() {
            states.push((keys.state, state));
        }
    }
    Ok(states)
}

/// The state of a key, journal replayed in memory. `None` if there is none.
pub async fn read_key(store: &dyn Store, key: &str) -> Result<Option<StateFile>, StateError> {
    let Some(keys) = Keys::of(key) else { return Ok(None) };
    read_one(store, &keys, None).await
}

/// A state as the bytes of a file, whole and with its checksum.
pub fn export(state: &StateFile) -> Result<Vec<u8>, StateError> {
    super::migrate::encode_file(&state.instance.store_key(), state)
}

/// A state from the bytes of a file that somebody may have edited. Errors: [`StateError::Damaged`], with `name` as key,
/// [`StateError::NewerVersion`], and [`StateError::BadKey`] for an instance that can have no state.
pub fn import(name: &str, bytes: &[u8]) -> Result<StateFile, StateError> {
    let state = super::migrate::edited_file(name, bytes)?;
    keys_of(&state.instance)?;
    Ok(state)
}

async fn read_one(store: &dyn Store, keys: &Keys, instance: Option<&InstanceKey>) -> Result<Option<StateFile>, StateError> {
    let Some(loaded) = load(store, keys).await? else { return Ok(None) };
    check_instance(keys, &loaded.base, instance)?;
    Ok(Some(loaded.current))
}

fn keys_of(instance: &InstanceKey) -> Result<Keys, StateError> {
    let key = instance.store_key();
    let reason = "a kind begins with a capital letter, and neither it nor the name contains a slash";
    Keys::of(&key).ok_or(StateError::BadKey { key, reason })
}

fn check_instance(keys: &Keys, state: &StateFile, expected: Option<&InstanceKey>) -> Result<(), StateError> {
    let found = &state.instance;
    if expected.is_none_or(|expected| expected == found) && found.store_key() == keys.state {
        return Ok(());
    }
    let describe = |instance: &InstanceKey| format!("{instance} ({})", instance.api_version);
    let expected = expected.map_or_else(|| keys.state.clone(), describe);
    Err(StateError::OtherInstance { key: keys.state.clone(), found: describe(found), expected })
}
