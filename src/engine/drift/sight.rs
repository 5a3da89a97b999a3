//! Looking, with readers and nothing else.

use super::judge::has_left;
use crate::aws::error::CallError;
use crate::aws::reading::ReaderSessions;
use crate::aws::sessions::SessionError;
use crate::aws::tags::{self, INSTANCE, INSTANCE_ANNOTATION, LINEAGE, LINEAGE_ANNOTATION};
use crate::engine::api::{ArgoCd, EngineSettings, NO_ARGOCD};
use crate::engine::clock::WallClock;
use crate::engine::events::Events;
use crate::engine::look::{Depth, Patience, View, look_until_sure};
use crate::engine::planner::Seen;
use crate::engine::stop::Stop;
use crate::engine::subject::{Common, known_kind, marked};
use crate::engine::work::{Place, Work};
use crate::graph::expansion::NodeIndex;
use crate::kinds::kind::{Kind, Observed, Readers, Subject};
use crate::state::file::{InstanceKey, Record, RoleUsed, StateFile};
use futures::stream::{self, StreamExt as _};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Most reads at one time.
const CONCURRENT: usize = 16;

/// One object, its kind, and what reads it. Nothing here can change anything: a kind's `create`, `configure` and `delete`
/// ask for a [`Cloud`](crate::aws::cloud::Cloud), which holds writers, and there is no way from [`Readers`] to one.
///
/// What only looks compiles:
///
/// ```
/// use fleetctl::engine::drift::sight::Sight;
/// use fleetctl::kinds::recorder::Recorder;
/// use fleetctl::state::file::Record;
///
/// async fn step(sight: &Sight, _recorder: &Recorder, record: &Record) {
///     let _ = sight.kind.read(&sight.readers, &sight.subject, record).await;
/// }
/// ```
///
/// The same with a call that changes something does not, whatever it is given:
///
/// ```compile_fail,E0308
/// use fleetctl::engine::drift::sight::Sight;
/// use fleetctl::kinds::recorder::Recorder;
/// use fleetctl::state::file::Record;
///
/// async fn step(sight: &Sight, _recorder: &Recorder, record: &Record) {
///     let _ = sight.kind.delete(&sight.readers, _recorder, &sight.subject, record).await;
/// }
/// ```
///
/// And there are no writers to be had:
///
/// ```compile_fail,E0609
/// use fleetctl::engine::drift::sight::Sight;
/// use fleetctl::kinds::recorder::Recorder;
/// use fleetctl::state::file::Record;
///
/// async fn step(sight: &Sight, _recorder: &Recorder, record: &Record) {
///     let _ = &sight.writers;
/// }
/// ```
#[derive(Clone)]
pub struct Sight {
    /// Its kind.
    pub kind: &'static dyn Kind,
    /// The object.
    pub subject: Subject,
    /// What reads its account and region.
    pub readers: Readers,
}

impl std::fmt::Debug for Sight {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Sight({})", self.subject.address)
    }
}

impl Sight {
    fn view(&self) -> View<'_> {
        View { kind: self.kind, readers: &self.readers, subject: &self.subject }
    }
}

/// Whoever looks at one instance.
#[derive(Debug)]
pub(in crate::engine) struct Viewer<'a> {
    pub(in crate::engine) sessions: ReaderSessions,
    pub(in crate::engine) settings: &'a EngineSettings,
    pub(in crate::engine) events: &'a Events,
    pub(in crate::engine) clock: &'a WallClock,
    pub(in crate::engine) instance: InstanceKey,
}

/// What was seen.
#[derive(Debug, Default)]
pub(in crate::engine) struct Looked {
    /// By node of the graph. What could not be read is `unreachable`.
    pub(in crate::engine) seen: BTreeMap<NodeIndex, Seen>,
    /// What is recorded and has left the graph.
    pub(in crate::engine) left: Vec<Seen>,
    /// What people should know beside.
    pub(in crate::engine) notes: Vec<String>,
}

/// An object that is to be looked at.
struct Wanted<'a> {
    index: NodeIndex,
    sight: Sight,
    record: Option<&'a Record>,
    /// The object as far as it is known without observing anything.
    desired: Value,
    /// Lineages that its objects may carry, where no state tells.
    lineages: Vec<String>,
}

/// What looking at one object gives.
struct Found {
    index: NodeIndex,
    seen: Seen,
    note: Option<String>,
}

impl Viewer<'_> {
    /// Looks at every resource of the graph. What cannot be read does not hide the others.
    pub(in crate::engine) async fn look(&self, work: &Work, state: Option<&StateFile>) -> Looked {
        let mut looked = Looked::default();
        let mut wanted = Vec::new();
        let mut doors = Doors::default();
        for (index, place) in work.places.iter().enumerate() {
            let Some(place) = place else { continue };
            let index = NodeIndex(index);
            match self.wanted(work, index, place, state, &mut doors).await {
                Ok(one) => wanted.push(one),
                Err(closed) => drop(looked.seen.insert(index, closed)),
            }
        }
        let found: Vec<Found> = stream::iter(&wanted).map(|one| self.see(one)).buffer_unordered(CONCURRENT).collect().await;
        for Found { index, seen, note } in found {
            looked.notes.extend(note);
            looked.seen.insert(index, seen);
        }
        looked.left = self.look_at_left(work, state, &mut doors).await;
        looked.notes.sort();
        looked.notes.extend(doors.several());
        looked
    }

    /// Looks at what is recorded and has left the graph.
    async fn look_at_left(&self, work: &Work, state: Option<&StateFile>, doors: &mut Doors) -> Vec<Seen> {
        let Some(state) = state else { return Vec::new() };
        let mut sights = Vec::new();
        let mut left = Vec::new();
        for record in state.resources.iter().filter(|record| has_left(work, record)) {
            match self.sight_of(record, &state.lineage, doors).await {
                Ok(sight) => sights.push((sight, record)),
                Err(closed) => left.push(closed),
            }
        }
        let seen = stream::iter(&sights).map(|(sight, record)| self.see_recorded(sight, record)).buffer_unordered(CONCURRENT);
        left.extend(seen.collect::<Vec<_>>().await);
        left.sort_by(|one, other| one.subject.address.cmp(&other.subject.address));
        left
    }

    async fn sight_of(&self, record: &Record, lineage: &str, doors: &mut Doors) -> Result<Sight, Seen> {
        let common = |partition| Common { settings: self.settings, instance: &self.instance, lineage, partition };
        let subject = |partition| common(partition).subject(&record.identity, &record.address, record.role.as_ref(), Vec::new());
        let closed = |reason: String| Seen {
            subject: subject("aws"),
            record: Some(record.clone()),
            observed: None,
            unreachable: Some(reason),
        };
        if record.identity.is_secret() && !matches!(self.settings.argocd, ArgoCd::Server(_)) {
            return Err(closed(NO_ARGOCD.to_owned()));
        }
        let kind = known_kind(&record.identity, &self.instance).map_err(|error| closed(error.to_string()))?;
        let place = Place { identity: record.identity.clone(), role: record.role.clone(), because: String::new() };
        let door = doors.open(self, &place).await.map_err(closed)?;
        Ok(Sight { kind, subject: subject(&door.partition), readers: door.readers.clone() })
    }

    async fn see_recorded(&self, sight: &Sight, record: &Record) -> Seen {
        let stop = Stop::default();
        let patience = Patience { window: self.settings.visibility_window, stop: &stop, events: self.events, clock: self.clock };
        let answer = look_until_sure(sight.view(), record, patience, Depth::Whole).await;
        let (observed, unreachable) = answer.map_or_else(|error| (None, Some(told(&error))), |observed| (observed, None));
        Seen { subject: sight.subject.clone(), record: Some(record.clone()), observed, unreachable }
    }

    /// What looks at one resource, or the resource as it is known without looking.
    async fn wanted<'b>(
        &self,
        work: &Work,
        index: NodeIndex,
        place: &Place,
        state: Option<&'b StateFile>,
        doors: &mut Doors,
    ) -> Result<Wanted<'b>, Seen> {
        let lineage = state.map(|state| state.lineage.as_str()).unwrap_or_default();
        let address = &work.graph.node(index).address;
        let record = state.and_then(|state| state.record(&place.identity));
        let common = |partition| Common { settings: self.settings, instance: &self.instance, lineage, partition };
        let subject = |partition| common(partition).subject(&place.identity, address, place.role.as_ref(), Vec::new());
        let closed =
            |reason: String| Seen { subject: subject("aws"), record: record.cloned(), observed: None, unreachable: Some(reason) };
        if place.identity.is_secret() && !matches!(self.settings.argocd, ArgoCd::Server(_)) {
            return Err(closed(NO_ARGOCD.to_owned()));
        }
        let kind = known_kind(&place.identity, &self.instance).map_err(|error| closed(error.to_string()))?;
        let door = doors.open(self, place).await.map_err(closed)?;
        let (readers, partition) = (door.readers.clone(), door.partition.clone());
        let lineages = match state {
            None if kind.is_found_by_marks() => door.lineages(&marked(&self.instance)).await.map_err(closed)?,
            _ => Vec::new(),
        };
        let desired = work.blank.node(index).desired.known_part();
        Ok(Wanted { index, sight: Sight { kind, subject: subject(&partition), readers }, record, desired, lineages })
    }

    async fn see(&self, wanted: &Wanted<'_>) -> Found {
        let stop = Stop::default();
        let patience = Patience { window: self.settings.visibility_window, stop: &stop, events: self.events, clock: self.clock };
        let sight = &wanted.sight;
        let mut found = Found {
            index: wanted.index,
            seen: Seen { subject: sight.subject.clone(), record: wanted.record.cloned(), observed: None, unreachable: None },
            note: None,
        };
        let answer = match wanted.record {
            Some(record) => look_until_sure(sight.view(), record, patience, Depth::Whole).await,
            None if sight.kind.is_found_by_marks() => by_marks(wanted, &mut found).await,
            None => sight.kind.find(&sight.readers, &sight.subject, &wanted.desired).await,
        };
        match answer {
            Ok(observed) => {
                if let (Some(observed), true) = (&observed, found.seen.subject.marks.lineage.is_empty()) {
                    adopt_lineage(&mut found.seen.subject, observed);
                }
                found.seen.observed = observed;
            }
            Err(error) => found.seen.unreachable = Some(told(&error)),
        }
        found
    }
}

/// Looks for the object of each lineage that is known. The first counts, which has the most objects.
async fn by_marks(wanted: &Wanted<'_>, found: &mut Found) -> Result<Option<Observed>, CallError> {
    let Sight { kind, subject, readers } = &wanted.sight;
    if !subject.marks.lineage.is_empty() {
        return kind.find(readers, subject, &wanted.desired).await;
    }
    let mut first: Option<Observed> = None;
    for lineage in &wanted.lineages {
        let mut subject = subject.clone();
        subject.marks.lineage.clone_from(lineage);
        match (kind.find(readers, &subject, &wanted.desired).await?, &first) {
            (Some(other), Some(first)) => {
                let (address, one, other) = (&subject.address, &first.id, &other.id);
                found.note = Some(format!("{address}: both {one} and {other} carry its tags; {one} was compared"));
            }
            (Some(observed), None) => {
                found.seen.subject = subject;
                first = Some(observed);
            }
            (None, _) => {}
        }
    }
    Ok(first)
}

/// Where no state tells the lineage, the object itself does, if it is the instance's.
fn adopt_lineage(subject: &mut Subject, observed: &Observed) {
    let tag = |keys: [&str; 2]| keys.iter().find_map(|key| observed.tags.get(*key));
    let ours = tags::value(&subject.marks.instance);
    if let (Some(lineage), true) = (tag([LINEAGE, LINEAGE_ANNOTATION]), tag([INSTANCE, INSTANCE_ANNOTATION]) == Some(&ours)) {
        subject.marks.lineage.clone_from(lineage);
    }
}

/// A failed read without what differs each time, so that one reason is told once.
fn told(error: &CallError) -> String {
    format!("{} {}: {}: {}", error.service, error.operation, error.code, error.message)
}

/// The ways into accounts and regions, each tried once.
#[derive(Debug, Default)]
struct Doors(BTreeMap<DoorKey, Result<Door, String>>);

type DoorKey = (String, String, Option<RoleUsed>);

/// A way into one account and region.
#[derive(Debug)]
struct Door {
    readers: Readers,
    partition: String,
    /// Lineages of the instance there, once they were asked for.
    lineages: Option<Result<Vec<String>, String>>,
}

impl Doors {
    async fn open(&mut self, viewer: &Viewer<'_>, place: &Place) -> Result<&mut Door, String> {
        let (account, region, role) = (&place.identity.account, &place.identity.region, place.role.as_ref());
        let key = (account.clone(), region.clone(), role.cloned());
        if !self.0.contains_key(&key) {
            let opened = viewer.sessions.readers(account, region, role, &viewer.instance.name).await;
            let door =
                opened.map(|(readers, caller)| Door { readers, partition: caller.partition, lineages: None }).map_err(|error| {
                    match error {
                        SessionError::Call(error) => told(&error),
                        SessionError::Refused(refusal) => refusal.to_string(),
                    }
                });
            self.0.insert(key.clone(), door);
        }
        match self.0.get_mut(&key) {
            Some(Ok(door)) => Ok(door),
            Some(Err(reason)) => Err(reason.clone()),
            None => Err(String::new()),
        }
    }

    /// Objects of several lineages: said once.
    fn several(&self) -> Option<String> {
        let doors = self.0.values().filter_map(|door| door.as_ref().ok()?.lineages.as_ref()?.as_ref().ok());
        let all: BTreeSet<&String> = doors.flatten().collect();
        let names: Vec<&str> = all.iter().map(|lineage| lineage.as_str()).collect();
        (names.len() > 1).then(|| format!("several states have made objects for it: lineages {}", names.join(", ")))
    }
}

impl Door {
    async fn lineages(&mut self, instance: &str) -> Result<Vec<String>, String> {
        if self.lineages.is_none() {
            let asked = self.readers.ec2.lineages(instance).await.map_err(|error| told(&error));
            self.lineages = Some(asked);
        }
        self.lineages.clone().unwrap_or_else(|| Ok(Vec::new()))
    }
}
