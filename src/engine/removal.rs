//! Removing objects in reverse order, from records alone. Each waits until what depends on it is really gone; what AWS
//! takes away with something else (an add-on with its cluster) is not deleted by itself.

use super::context::{Context, Item, Trouble, Usually};
use super::events::{Event, StepName};
use super::look::look_until_sure;
use super::pace::jittered_pause;
use super::plan::Action;
use super::report::{Done, Failure, NotReached};
use super::resolve::resolve_open;
use super::run::{broken, trouble};
use crate::graph::identity::Identity;
use crate::kinds::kind::{Owner, Readiness, StepError};
use crate::state::file::{Phase, Record};
use chrono::Utc;
use std::collections::{BTreeMap, BTreeSet};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How often a delete whose reply was lost is begun anew.
const ATTEMPTS: usize = 4;

/// Something to be removed.
#[derive(Debug)]
pub(super) struct Doomed {
    /// The object, its kind, and the services that reach it.
    pub item: Item,
    /// What the state says.
    pub record: Record,
    /// Why it cannot be reached, if it cannot.
    pub unreachable: Option<String>,
}

/// What a removal comes to.
#[derive(Debug, Default)]
pub(super) struct Removed {
    /// What is gone.
    pub done: Vec<Done>,
    /// What could not be removed, and why.
    pub failed: Vec<Failure>,
    /// What was never started, and because of what.
    pub not_reached: Vec<NotReached>,
}

/// Removes everything, as concurrently as dependencies allow.
pub(super) async fn remove_all(context: &Context, doomed: Vec<Doomed>, parallelism: usize) -> Removed {
    let mut removal = Removal::new(doomed);
    let mut running = JoinSet::new();
    let mut told = false;
    loop {
        if !context.stop.requested() {
            while running.len() < parallelism
                && let Some((identity, item, record)) = removal.next()
            {
                let context = context.clone();
                running.spawn(async move { (identity, remove(&context, &item, record).await) });
            }
        }
        if running.is_empty() {
            break;
        }
        tokio::select! {
            Some(joined) = running.join_next() => match joined {
                Ok((identity, Ok(()))) => removal.gone(context, &identity).await,
                Ok((identity, Err(trouble))) => removal.failed(context, &identity, trouble),
                Err(error) => removal.outcome.failed.push(broken(&removal.first_address(), &error)),
            },
            () = context.stop.wait(), if !told => {
                told = true;
                context.recorder.stop();
                context.events.say(Event::Stopping);
            }
        }
    }
    removal.conclude(context.stop.requested())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Pending,
    Running,
    Over,
}

#[derive(Debug)]
struct Entry {
    doomed: Doomed,
    stage: Stage,
    /// What has to be gone before.
    blockers: BTreeSet<Identity>,
    /// The object that takes this one away with it.
    carrier: Option<Identity>,
}

#[derive(Debug)]
struct Removal {
    entries: BTreeMap<Identity, Entry>,
    outcome: Removed,
}

impl Removal {
    fn new(doomed: Vec<Doomed>) -> Self {
        let carriers: BTreeMap<Identity, Identity> =
            doomed.iter().filter_map(|one| Some((one.record.identity.clone(), carrier(one, &doomed)?))).collect();
        let mut blockers: BTreeMap<Identity, BTreeSet<Identity>> = BTreeMap::new();
        for one in &doomed {
            for needed in &one.record.dependencies {
                let carried_by_it = carriers.get(&one.record.identity) == Some(needed);
                if !carried_by_it {
                    blockers.entry(needed.clone()).or_default().insert(one.record.identity.clone());
                }
            }
        }
        // What has to be gone before something that is carried has to be gone before its carrier.
        for (carried, carrier) in &carriers {
            let of_carried = blockers.get(carried).cloned().unwrap_or_default();
            let before_carrier = blockers.entry(carrier.clone()).or_default();
            before_carrier.extend(of_carried.into_iter().filter(|identity| identity != carrier));
        }
        let entries = doomed
            .into_iter()
            .map(|doomed| {
                let identity = doomed.record.identity.clone();
                let blockers = blockers.remove(&identity).unwrap_or_default();
                let carrier = carriers.get(&identity).cloned();
                (identity, Entry { doomed, stage: Stage::Pending, blockers, carrier })
            })
            .collect();
        Self { entries, outcome: Removed::default() }
    }

    /// The next object that nothing left depends on.
    fn next(&mut self) -> Option<(Identity, Item, Record)> {
        let over: BTreeSet<&Identity> =
            self.entries.iter().filter(|(_, entry)| entry.stage == Stage::Over).map(|(identity, _)| identity).collect();
        let free = |entry: &Entry| {
            entry.stage == Stage::Pending
                && entry.carrier.is_none()
                && entry.doomed.unreachable.is_none()
                && entry.blockers.iter().all(|blocker| over.contains(blocker) || !self.entries.contains_key(blocker))
        };
        let identity = self.entries.iter().find(|(_, entry)| free(entry)).map(|(identity, _)| identity.clone())?;
        let entry = self.entries.get_mut(&identity)?;
        entry.stage = Stage::Running;
        Some((identity, entry.doomed.item.clone(), entry.doomed.record.clone()))
    }

    /// Something is gone, and what it carried with it.
    async fn gone(&mut self, context: &Context, identity: &Identity) {
        let with_it: Vec<Identity> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.carrier.as_ref() == Some(identity))
            .map(|(carried, _)| carried.clone())
            .collect();
        for carried in with_it {
            if let Err(error) = context.journal.forget(&carried).await {
                self.failed(context, &carried, error.into());
                continue;
            }
            self.over(&carried);
        }
        self.over(identity);
    }

    fn over(&mut self, identity: &Identity) {
        let Some(entry) = self.entries.get_mut(identity) else { return };
        entry.stage = Stage::Over;
        self.outcome.done.push(Done {
            address: entry.doomed.record.address.clone(),
            kind: identity.kind.clone(),
            id: entry.doomed.record.id.clone(),
            action: Action::Delete,
        });
    }

    fn failed(&mut self, context: &Context, identity: &Identity, trouble: Trouble) {
        let Some(entry) = self.entries.get_mut(identity) else { return };
        let Trouble::Failed(reason) = trouble else {
            entry.stage = Stage::Pending;
            return;
        };
        let (address, kind) = (entry.doomed.record.address.clone(), identity.kind.clone());
        context.events.say(Event::Failed { address: address.clone(), kind: kind.clone(), reason: reason.clone() });
        self.outcome.failed.push(Failure { address, kind, reason });
    }

    fn first_address(&self) -> crate::graph::identity::Address {
        let first = self.entries.values().next();
        first.map_or_else(|| crate::graph::identity::Address(String::new()), |entry| entry.doomed.record.address.clone())
    }

    fn conclude(mut self, stopped: bool) -> Removed {
        let failed: BTreeSet<_> = self.outcome.failed.iter().map(|failure| failure.address.clone()).collect();
        for (identity, entry) in self.entries {
            let (address, kind) = (entry.doomed.record.address.clone(), identity.kind.clone());
            if entry.stage == Stage::Over || failed.contains(&address) {
                continue;
            }
            match entry.doomed.unreachable {
                Some(reason) => self.outcome.failed.push(Failure { address, kind, reason }),
                None if stopped => {
                    let reason = "the run was interrupted".to_owned();
                    self.outcome.not_reached.push(NotReached { address, kind, reason });
                }
                None => {
                    let reason = "what depends on it is still there".to_owned();
                    self.outcome.not_reached.push(NotReached { address, kind, reason });
                }
            }
        }
        self.outcome
    }
}

/// The doomed object that takes this one away with it.
fn carrier(one: &Doomed, doomed: &[Doomed]) -> Option<Identity> {
    let goes_with = one.item.kind.goes_with()?;
    let name = at(&one.record.applied, goes_with.path)?;
    let identity = &one.record.identity;
    doomed
        .iter()
        .map(|other| (&other.record.identity, &other.record.applied))
        .find(|(other, applied)| {
            other.kind == goes_with.kind
                && other.account == identity.account
                && other.region == identity.region
                && at(applied, "spec.name") == Some(name)
        })
        .map(|(other, _)| other.clone())
}

fn at<'a>(object: &'a serde_json::Value, path: &str) -> Option<&'a str> {
    path.split('.').try_fold(object, |value, key| value.get(key))?.as_str()
}

/// Removes one object and waits until it is gone; then its record goes too.
pub(super) async fn remove(context: &Context, item: &Item, record: Record) -> Result<(), Trouble> {
    let clock = context.started(item, StepName::Delete);
    let id = record.id.clone();
    let look = look_until_sure(item.kind, &item.cloud.readers, &item.subject, &record, context.window, &context.stop);
    if let Some(observed) = look.await? {
        let ours = observed.owner(&item.subject.marks) == Owner::Ours;
        if !ours && !record.adopted {
            let reason = format!("{id} no longer carries the tags of this state: it is not deleted");
            return Err(Trouble::Failed(reason));
        }
        if observed.readiness != Readiness::Deleting {
            delete(context, item, &record).await?;
        }
        let had_failed = matches!(observed.readiness, Readiness::Failed { .. });
        wait_gone(context, item, record, had_failed).await?;
    } else if context.stop.requested() {
        return Err(Trouble::Stopped);
    }
    context.journal.forget(&item.subject.identity).await?;
    context.finished(item, &clock, &id);
    Ok(())
}

async fn delete(context: &Context, item: &Item, record: &Record) -> Result<(), Trouble> {
    for _ in 0..ATTEMPTS {
        match item.kind.delete(&item.cloud, &context.recorder, &item.subject, record).await {
            Ok(()) => return Ok(()),
            // A delete may be repeated: NotFound is success.
            Err(StepError::Unclear(_)) => {
                resolve_open(context, item).await?;
            }
            Err(error) => return Err(trouble(error)),
        }
    }
    Err(Trouble::Failed("the reply was lost each time".to_owned()))
}

/// Waits until the object is gone. `had_failed`: it was in a failed state before, so that says nothing about the removal.
async fn wait_gone(context: &Context, item: &Item, record: Record, had_failed: bool) -> Result<(), Trouble> {
    let since = Instant::now();
    let usually = context.usually(item, Usually::Delete);
    let record = Record { phase: Phase::Deleting, since: Utc::now(), ..record };
    context.journal.put(record.clone()).await?;
    let mut said = false;
    loop {
        // The object has been seen and its delete call was accepted, so NotFound counts at once.
        let Some(observed) = item.kind.read(&item.cloud.readers, &item.subject, &record).await? else {
            return gone(context, item, since).await;
        };
        if let (Readiness::Failed { code, message }, false) = (&observed.readiness, had_failed) {
            return Err(Trouble::Failed(format!("{}: {code}: {message}", record.id)));
        }
        if since.elapsed() > item.kind.typical().limit {
            let minutes = since.elapsed().as_secs() / 60;
            return Err(Trouble::Failed(format!(
                "{} is still there after {minutes} minutes; the same again goes on waiting",
                record.id
            )));
        }
        if !said {
            said = true;
            context.waiting(item, "deleting", since.elapsed(), usually);
        }
        tokio::select! {
            () = tokio::time::sleep(jittered_pause(since.elapsed(), usually)) => {}
            () = context.stop.wait() => return Err(Trouble::Stopped),
        }
    }
}

async fn gone(context: &Context, item: &Item, since: Instant) -> Result<(), Trouble> {
    let seconds = since.elapsed().as_secs_f64();
    if seconds > 1.0 {
        context.journal.duration(format!("{}.delete", item.kind_name()), seconds).await?;
    }
    Ok(())
}
