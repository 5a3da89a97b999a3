//! What there is of one state, whole or not; and going back to what is whole.

use super::error::StateError;
use super::file::StateFile;
use super::journal::Entry;
use super::keys::Keys;
use super::lock::Holder;
use super::migrate;
use super::replay::{self, apply};
use super::store::{Store, Stored};
use std::sync::Arc;

/// A previous version.
#[derive(Debug)]
pub struct Version {
    /// Its key in the store.
    pub key: String,
    /// Its serial, from its key.
    pub serial: u64,
    /// What it says, or what is wrong with it.
    pub content: Result<StateFile, StateError>,
}

/// A segment of the journal.
#[derive(Debug)]
pub struct Segment {
    /// Its key in the store.
    pub key: String,
    /// Its number.
    pub number: u64,
    /// Its entries, or what is wrong with it.
    pub entries: Result<Vec<Entry>, StateError>,
    /// The lineage that it belongs to; empty if that cannot be read.
    pub lineage: String,
}

impl Segment {
    fn read(keys: &Keys, number: u64, stored: &Stored) -> Self {
        let key = keys.segment(number);
        let read = migrate::segment(&key, &stored.bytes).and_then(|segment| {
            if segment.number == number {
                return Ok(segment);
            }
            Err(StateError::damaged(&key, format!("it is segment {}", segment.number)))
        });
        let (lineage, entries) = match read {
            Ok(segment) => (segment.lineage, Ok(segment.entries)),
            Err(error) => (String::new(), Err(error)),
        };
        Self { key, number, entries, lineage }
    }

    /// Its entries, if it is whole and belongs to a state.
    fn entries_of(&self, state: &StateFile) -> Option<&[Entry]> {
        self.entries.as_deref().ok().filter(|_| self.lineage == state.lineage)
    }
}

/// Everything that there is of one state.
#[derive(Debug)]
pub struct Survey {
    /// The key of the state in its store.
    pub key: String,
    /// The instance as it is typed: `EksCluster/workload-cluster1 -n argocd`.
    pub name: String,
    /// The state with its journal, as every command reads it. `None`: nothing is recorded.
    pub state: Result<Option<StateFile>, StateError>,
    /// The file by itself. `None`: there is none.
    pub file: Option<Result<StateFile, StateError>>,
    /// Previous versions, the newest first.
    pub versions: Vec<Version>,
    /// Segments that the file does not include, in order. All of them where the file cannot be read.
    pub segments: Vec<Segment>,
    /// Keys of segments that the file includes already.
    pub leftover: Vec<String>,
    /// Keys of what was kept aside because it was damaged.
    pub aside: Vec<String>,
    /// Keys that are none of these and lie among them.
    pub strange: Vec<String>,
}

impl Survey {
    /// The newest previous version that is whole.
    pub fn newest_whole(&self) -> Option<(u64, &StateFile)> {
        self.versions.iter().find_map(|version| Some((version.serial, version.content.as_ref().ok()?)))
    }

    /// What a restore starts from: the file where it is whole, else the newest whole version before it.
    fn base(&self) -> Option<&StateFile> {
        let file = self.file.as_ref().and_then(|file| file.as_ref().ok());
        file.or_else(|| self.newest_whole().map(|(_, state)| state))
    }

    /// Why the state is too new for this program, if it is.
    fn newer(&self) -> Option<StateError> {
        let files = self.file.iter().filter_map(|file| file.as_ref().err());
        let mut errors = files.chain(self.segments.iter().filter_map(|segment| segment.entries.as_ref().err()));
        errors.find_map(|error| match error {
            StateError::NewerVersion { key, found, known } => {
                Some(StateError::NewerVersion { key: key.clone(), found: *found, known: *known })
            }
            _ => None,
        })
    }

    /// What lies among the segments and is none.
    fn in_the_journal<'a>(&'a self, keys: &'a Keys) -> impl Iterator<Item = &'a String> {
        self.strange.iter().filter(|key| key.starts_with(keys.segments()))
    }

    /// How to put right what is damaged.
    pub fn way_out(&self) -> String {
        let command = format!("fleetctl state doctor {} --restore", self.name);
        let Some(base) = self.base() else {
            let rebuild = "`fleetctl state rebuild FILE…` finds by tags and names what was made";
            return format!("No version before it is whole; {rebuild}");
        };
        let kept = "keeps what is damaged aside; what was made since then is found again by its tags and names";
        match latest(base) {
            Some(at) => format!("`{command}` goes back to serial {}, of {at}, and {kept}", base.serial),
            None => format!("`{command}` goes back to serial {} and {kept}", base.serial),
        }
    }
}

/// When the youngest change of a state was recorded.
fn latest(state: &StateFile) -> Option<String> {
    let latest = state.resources.iter().map(|record| record.since).max()?;
    Some(latest.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
}

/// Looks at everything that there is of the state of a key. Takes no lock and writes nothing. Errors: those of the store, and
/// [`StateError::BadKey`] for what is no key of a state.
pub async fn survey(store: &dyn Store, key: &str) -> Result<Survey, StateError> {
    let keys = keys_of(key)?;
    let state = replay::load(store, &keys).await.map(|loaded| loaded.map(|loaded| loaded.current));
    look(store, &keys, state).await
}

pub(super) async fn look(
    store: &dyn Store,
    keys: &Keys,
    state: Result<Option<StateFile>, StateError>,
) -> Result<Survey, StateError> {
    let file = store.get(&keys.state).await?.map(|stored| replay::read_file(keys, &keys.state, &stored));
    let folded = file.as_ref().and_then(|file| file.as_ref().ok()).map_or(0, |file| file.folded_segment);
    let mut survey = Survey {
        key: keys.state.clone(),
        name: keys.named().unwrap_or_default(),
        state,
        file,
        versions: Vec::new(),
        segments: Vec::new(),
        leftover: Vec::new(),
        aside: Vec::new(),
        strange: Vec::new(),
    };
    for key in store.list(keys.stem()).await? {
        if key == keys.state {
            continue;
        }
        if let Some(serial) = keys.backup_serial(&key) {
            let Some(stored) = store.get(&key).await? else { continue };
            let content = replay::read_file(keys, &key, &stored);
            survey.versions.push(Version { key, serial, content });
        } else if key.starts_with(&keys.aside()) {
            survey.aside.push(key);
        } else if let Some(number) = keys.segment_number(&key) {
            if number <= folded {
                survey.leftover.push(key);
                continue;
            }
            let Some(stored) = store.get(&key).await? else { continue };
            survey.segments.push(Segment::read(keys, number, &stored));
        } else if key.starts_with(keys.segments()) || key.starts_with(&keys.state) {
            survey.strange.push(key);
        }
    }
    survey.versions.sort_by_key(|version| std::cmp::Reverse(version.serial));
    survey.segments.sort_by_key(|segment| segment.number);
    Ok(survey)
}

/// What a restore has done.
#[derive(Debug)]
pub struct Restored {
    /// The state as it is now.
    pub state: StateFile,
    /// The serial that it started from.
    pub from: u64,
    /// Where what was damaged is kept.
    pub aside: Vec<String>,
}

/// Puts a damaged state right, under its lock. It starts from `given`, else from the file where that is whole, else from the
/// newest whole version before it; whatever the journal still says is added. What is damaged is kept aside first, so a crash
/// at any instant loses nothing. Errors: what is wrong with the state, where there is nothing to start from; and
/// [`StateError::NewerVersion`] where nothing is wrong with it but that this program is too old.
pub async fn restore(
    store: Arc<dyn Store>,
    key: &str,
    holder: &Holder,
    given: Option<StateFile>,
) -> Result<Restored, StateError> {
    let keys = keys_of(key)?;
    let lock = store.lock(&keys.state, holder).await?;
    let restored = restore_locked(&*store, &keys, given).await;
    let released = lock.release().await;
    let restored = restored?;
    released.map(|()| restored)
}

async fn restore_locked(store: &dyn Store, keys: &Keys, given: Option<StateFile>) -> Result<Restored, StateError> {
    let stored = store.get(&keys.state).await?;
    let survey = survey(store, &keys.state).await?;
    let Some(base) = given.as_ref().or_else(|| survey.base()) else {
        return Err(survey.state.err().unwrap_or_else(|| StateError::damaged(&keys.state, "there is nothing to go back to")));
    };
    if let Some(newer) = survey.newer() {
        return Err(newer);
    }
    let mut after = base.clone();
    add_journal(&mut after, &survey.segments);
    if survey.state.is_err() || given.is_some() {
        // What is lost had numbers too, and those were seen by others.
        after.folded_segment += LOST_AT_MOST;
        after.last_entry += LOST_AT_MOST;
    }
    after.version = super::file::VERSION;
    after.writer = super::file::writer();
    after.serial = highest_serial(&survey, base, stored.as_ref()) + 1;
    let aside = keep_aside(store, keys, &survey, base).await?;
    if let Some(Ok(file)) = &survey.file {
        ignore_conflict(store.put_if_absent(&keys.backup(file.serial), &migrate::encode_file(&keys.state, file)?).await)?;
    }
    let bytes = migrate::encode_file(&keys.state, &after)?;
    match &stored {
        Some(stored) => store.put_if_match(&keys.state, &bytes, &stored.tag).await?,
        None => store.put_if_absent(&keys.state, &bytes).await?,
    };
    let segments = survey.segments.iter().map(|segment| segment.key.clone());
    let others = survey.leftover.iter().chain(survey.in_the_journal(keys)).cloned();
    let folded: Vec<String> = segments.chain(others).collect();
    store.remove_all(&folded).await?;
    Ok(Restored { from: base.serial, state: after, aside })
}

/// More segments, or entries, than are ever written between two versions of a state.
const LOST_AT_MOST: u64 = 1_000_000;

/// What later segments say, as far as it can be read. Begin entries without an end stay open: the next run looks what came of
/// them.
fn add_journal(state: &mut StateFile, segments: &[Segment]) {
    let folded = state.folded_segment;
    for segment in segments.iter().filter(|segment| segment.number > folded) {
        segment.entries_of(state).unwrap_or_default().iter().for_each(|entry| apply(state, entry));
    }
    state.folded_segment = segments.iter().map(|segment| segment.number).fold(state.folded_segment, u64::max);
}

/// The highest serial that anything of this state ever showed: the next one must be new even where the file is damaged.
fn highest_serial(survey: &Survey, base: &StateFile, stored: Option<&Stored>) -> u64 {
    let of_versions = survey.versions.iter().map(|version| version.serial).max().unwrap_or_default();
    let document = stored.and_then(|stored| serde_json::from_slice::<serde_json::Value>(&stored.bytes).ok());
    // A flipped bit may have made it huge, or too small: it was one further than the last that was kept, here or aside.
    let of_file =
        document.and_then(|document| document["serial"].as_u64()).filter(|serial| *serial <= of_versions + LOST_AT_MOST);
    let guessed = of_file.unwrap_or_default().max(of_versions + 1 + survey.aside.len() as u64);
    guessed.max(base.serial)
}

async fn keep_aside(store: &dyn Store, keys: &Keys, survey: &Survey, base: &StateFile) -> Result<Vec<String>, StateError> {
    let mut damaged: Vec<&str> = Vec::new();
    if matches!(survey.file, Some(Err(_))) {
        damaged.push(&keys.state);
    }
    damaged
        .extend(survey.segments.iter().filter(|segment| segment.entries_of(base).is_none()).map(|segment| segment.key.as_str()));
    damaged.extend(survey.in_the_journal(keys).map(String::as_str));
    let mut aside = Vec::new();
    let mut number = survey.aside.len();
    for key in damaged {
        let Some(found) = store.get(key).await? else { continue };
        loop {
            number += 1;
            let place = format!("{}{number}", keys.aside());
            match store.put_if_absent(&place, &found.bytes).await {
                Ok(_) => break aside.push(place),
                Err(StateError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(aside)
}

fn ignore_conflict(written: Result<String, StateError>) -> Result<(), StateError> {
    match written {
        Ok(_) | Err(StateError::Conflict { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn keys_of(key: &str) -> Result<Keys, StateError> {
    let reason = "it is not the key of a state: namespace/Kind.name.json";
    Keys::of(key).ok_or_else(|| StateError::BadKey { key: key.to_owned(), reason })
}
