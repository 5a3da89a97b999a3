//! From entries to state: one pure function, used for what is written now and for what is read back.

use super::error::StateError;
use super::file::{InstanceKey, Record, StateFile};
use super::journal::Entry;
use super::keys::Keys;
use super::migrate;
use super::store::{Store, Stored};
use super::survey;
use futures::{StreamExt as _, TryStreamExt as _};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A segment of the journal: the entries of one durable write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Segment {
    /// Version of the format, that of the state file.
    pub(super) version: u64,
    /// Lineage of the state that it belongs to.
    pub(super) lineage: String,
    /// Its number; the first is 1, and none is left out.
    pub(super) number: u64,
    /// The entries in order.
    pub(super) entries: Vec<Entry>,
}

/// Brings a state up to an entry. Total: what does not fit is looked for when it is read back and by the writer.
pub fn apply(state: &mut StateFile, entry: &Entry) {
    match entry {
        Entry::Begin(begin) => {
            state.last_entry = state.last_entry.max(begin.entry);
            state.open.push(begin.as_ref().clone());
        }
        Entry::End { begin, record, .. } => {
            state.open.retain(|open| open.entry != *begin);
            if let Some(record) = record {
                put(state, record);
            }
        }
        Entry::Put { record } => put(state, record),
        Entry::Forget { identity } => state.resources.retain(|record| &record.identity != identity),
        Entry::Definitions { used } => state.definitions = Some(used.clone()),
        Entry::Duration { what, seconds } => {
            state.durations.insert(what.clone(), *seconds);
        }
    }
}

fn put(state: &mut StateFile, record: &Record) {
    match state.resources.iter_mut().find(|known| known.identity == record.identity) {
        Some(known) => *known = record.clone(),
        None => state.resources.push(record.clone()),
    }
}

/// Applies an entry that was read back. The text says why it does not fit what came before it.
fn replay(state: &mut StateFile, entry: &Entry) -> Result<(), String> {
    match entry {
        Entry::Begin(begin) if begin.entry <= state.last_entry => {
            return Err(format!("it begins entry {}, but entries up to {} are known already", begin.entry, state.last_entry));
        }
        Entry::End { begin, .. } if !state.open.iter().any(|open| open.entry == *begin) => {
            return Err(format!("it ends entry {begin}, which is not open"));
        }
        _ => {}
    }
    apply(state, entry);
    Ok(())
}

/// A state as it was read.
#[derive(Debug)]
pub(super) struct Loaded {
    /// The state file as it stands in the store. `None`: there is none yet.
    pub(super) stored: Option<Stored>,
    /// What it says.
    pub(super) base: StateFile,
    /// What it says with the journal replayed.
    pub(super) current: StateFile,
    /// Keys of segments that are folded in already: a run ended between folding and removing them.
    pub(super) leftover: Vec<String>,
}

impl Loaded {
    /// A state of which nothing is recorded yet.
    pub(super) fn new(instance: &InstanceKey) -> Self {
        let base = StateFile::new(instance.clone());
        Self { stored: None, current: base.clone(), base, leftover: Vec::new() }
    }
}

/// What one look at the store gave.
enum Look {
    Still(Option<Box<Loaded>>),
    /// A writer folded meanwhile, or so it seems; the error counts if it stays that way.
    Moving(StateError),
}

/// How often, and how far apart, a state is read that somebody is folding.
const LOOKS: u32 = 20;
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// How many segments are fetched at a time.
const FETCHES: usize = 16;

/// Reads a state and replays its journal in memory. `None` if there is none. Takes no lock: a fold that happens
/// meanwhile is noticed, and the state read again. The result is the state at one instant after the call began.
pub(super) async fn load(store: &dyn Store, keys: &Keys) -> Result<Option<Loaded>, StateError> {
    match load_still(store, keys).await {
        Err(StateError::Damaged { key, reason }) => Err(with_way_out(store, keys, key, reason).await),
        loaded => loaded,
    }
}

/// A damaged state, with what can be gone back to.
async fn with_way_out(store: &dyn Store, keys: &Keys, key: String, reason: String) -> StateError {
    match survey::look(store, keys, Ok(None)).await {
        Ok(survey) => StateError::Damaged { key, reason: format!("{reason}. {}", survey.way_out()) },
        Err(_) => StateError::Damaged { key, reason },
    }
}

async fn load_still(store: &dyn Store, keys: &Keys) -> Result<Option<Loaded>, StateError> {
    let mut looks = 1;
    loop {
        match look(store, keys).await? {
            Look::Still(loaded) => return Ok(loaded.map(|loaded| *loaded)),
            Look::Moving(error) if looks >= LOOKS => return Err(error),
            Look::Moving(_) => {}
        }
        looks += 1;
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}

async fn look(store: &dyn Store, keys: &Keys) -> Result<Look, StateError> {
    let Some(stored) = store.get(&keys.state).await? else {
        return Ok(what_is_left(store, keys).await?.map_or(Look::Still(None), |left| Look::Moving(no_file(keys, left))));
    };
    let base = read_file(keys, &keys.state, &stored)?;
    let numbers = match segment_numbers(store, keys, base.folded_segment).await? {
        Numbers { gap: Some(error), .. } => return Ok(Look::Moving(error)),
        numbers => numbers,
    };
    let mut current = base.clone();
    for (number, stored) in fetch(store, keys, &numbers.newer).await? {
        let key = keys.segment(number);
        let Some(stored) = stored else {
            return Ok(Look::Moving(StateError::damaged(&key, "it has vanished")));
        };
        replay_segment(&mut current, number, &key, &stored.bytes)?;
    }
    let unchanged = store.get(&keys.state).await?.is_some_and(|now| now.tag == stored.tag);
    if !unchanged {
        return Ok(Look::Moving(StateError::Conflict { key: keys.state.clone() }));
    }
    Ok(Look::Still(Some(Box::new(Loaded { stored: Some(stored), base, current, leftover: numbers.leftover }))))
}

/// Reads a state file, or a previous version, at a key. One that holds the state of an instance that has another key was put
/// there by mistake: it is as good as lost.
pub(super) fn read_file(keys: &Keys, key: &str, stored: &Stored) -> Result<StateFile, StateError> {
    let file = migrate::file(key, &stored.bytes)?;
    if file.instance.store_key() == keys.state {
        return Ok(file);
    }
    Err(StateError::damaged(
        key,
        format!("it holds the state of {}, whose place is {}", file.instance, file.instance.store_key()),
    ))
}

/// What lies around a file that is not there. A state that was never written has nothing, and of one that was put aside to be
/// made anew only that is left.
async fn what_is_left(store: &dyn Store, keys: &Keys) -> Result<Option<&'static str>, StateError> {
    let found = store.list(keys.stem()).await?;
    Ok(if found.iter().any(|key| key.starts_with(keys.segments())) {
        Some("its journal is")
    } else if found.iter().any(|key| keys.backup_serial(key).is_some()) {
        Some("versions before it are")
    } else {
        None
    })
}

fn no_file(keys: &Keys, left: &str) -> StateError {
    StateError::damaged(&keys.state, format!("it is missing, but {left} there"))
}

/// The segments that a store has.
struct Numbers {
    newer: Vec<u64>,
    leftover: Vec<String>,
    gap: Option<StateError>,
}

async fn segment_numbers(store: &dyn Store, keys: &Keys, folded: u64) -> Result<Numbers, StateError> {
    let mut numbers = Numbers { newer: Vec::new(), leftover: Vec::new(), gap: None };
    for key in store.list(keys.segments()).await? {
        match keys.segment_number(&key) {
            Some(number) if number <= folded => numbers.leftover.push(key),
            Some(number) => numbers.newer.push(number),
            None => return Err(StateError::damaged(&key, "it is no segment of a journal. Move it out of this folder")),
        }
    }
    // Twelve digits sort as text, more do not.
    numbers.newer.sort_unstable();
    let missing = (folded + 1..).zip(&numbers.newer).find(|(expected, found)| expected != *found);
    numbers.gap = missing.map(|(expected, found)| {
        let reason = format!("it is missing, but segment {found} is there");
        StateError::damaged(&keys.segment(expected), reason)
    });
    Ok(numbers)
}

async fn fetch(store: &dyn Store, keys: &Keys, numbers: &[u64]) -> Result<Vec<(u64, Option<Stored>)>, StateError> {
    let fetches = numbers.iter().map(|number| async move {
        let stored = store.get(&keys.segment(*number)).await?;
        Ok((*number, stored))
    });
    futures::stream::iter(fetches.collect::<Vec<_>>()).buffered(FETCHES).try_collect().await
}

fn replay_segment(state: &mut StateFile, number: u64, key: &str, bytes: &[u8]) -> Result<(), StateError> {
    let segment = migrate::segment(key, bytes)?;
    let damaged = |reason: String| StateError::damaged(key, reason);
    if segment.lineage != state.lineage {
        return Err(damaged(format!("it belongs to lineage {}, the state has {}", segment.lineage, state.lineage)));
    }
    if segment.number != number {
        return Err(damaged(format!("it is segment {}", segment.number)));
    }
    segment.entries.iter().try_for_each(|entry| replay(state, entry)).map_err(damaged)?;
    state.folded_segment = number;
    Ok(())
}
