//! Removing objects in reverse order, from records alone. Each waits until what depends on it is really gone; what AWS
//! takes away with something else (an add-on with its cluster) is not deleted by itself.

mod expectation;
mod order;

use super::context::{Context, Item, Trouble, Usually, guarded};
use super::events::{Event, StepName};
use super::look::{Depth, look_until_sure, passes};
use super::pace::Pace;
use super::plan::Action;
use super::report::{Done, Failure, NotReached};
use super::resolve::resolve_open;
use super::run::{lost_each_time, trouble};
use crate::graph::identity::{Address, Identity};
use crate::kinds::kind::{Observed, Owner, Readiness, StepError, Takeover, why_failed};
use crate::state::file::{Phase, Record};
pub(super) use expectation::usually;
pub(super) use order::Order;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How often a delete whose reply was lost is begun anew.
const ATTEMPTS: usize = 4;
/// A removal that usually takes this long goes on after its call.
const TAKES_A_WHILE: Duration = Duration::from_secs(5);

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

/// How objects ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// What was done.
    pub done: Vec<Done>,
    /// What failed, and why.
    pub failed: Vec<Failure>,
    /// What was never started, and because of what.
    pub not_reached: Vec<NotReached>,
}

impl Ended {
    /// Adds how others ended.
    pub(super) fn add(&mut self, others: Self) {
        self.done.extend(others.done);
        self.failed.extend(others.failed);
        self.not_reached.extend(others.not_reached);
    }
}

/// What is not removed in this run, and why.
pub(super) fn postponed(doomed: Vec<Doomed>, reason: &str) -> Ended {
    let not_reached = |Doomed { record, .. }: Doomed| NotReached {
        address: record.address,
        kind: record.identity.kind,
        reason: reason.to_owned(),
        because: None,
    };
    Ended { not_reached: doomed.into_iter().map(not_reached).collect(), ..Ended::default() }
}

/// Sorts objects into the order in which they go, for people.
pub(super) fn sort(doomed: &mut [Doomed]) {
    let order = Order::of(&doomed.iter().map(|one| (&one.record, one.item.kind.goes_with())).collect::<Vec<_>>());
    let sequence = order.sequence(doomed.iter().map(|one| one.record.identity.clone()).collect());
    doomed.sort_by_key(|one| sequence.iter().position(|identity| *identity == one.record.identity));
}

/// Removes everything, as concurrently as dependencies allow.
pub(super) async fn remove_all(context: &Context, doomed: Vec<Doomed>, parallelism: usize) -> Ended {
    let mut removal = Removal::new(doomed);
    let mut running = JoinSet::new();
    let mut told = false;
    loop {
        if context.goes_on() {
            while running.len() < parallelism
                && let Some((identity, item, record)) = removal.next()
            {
                let context = context.clone();
                running.spawn(async move { (identity, guarded(remove(&context, &item, record)).await) });
            }
        }
        removal.say_outlook(context);
        if running.is_empty() {
            break;
        }
        tokio::select! {
            Some(joined) = running.join_next() => match joined {
                Ok((identity, Ok(()))) => removal.gone(context, &identity).await,
                Ok((identity, Err(trouble))) => removal.failed(context, &identity, trouble),
                // Nobody ends these tasks but the runtime when it goes down.
                Err(_) => {}
            },
            () = context.stop.wait(), if !told => {
                told = true;
                context.recorder.stop();
                context.events.say(Event::Stopping);
            }
        }
    }
    removal.conclude(context.why_not())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Pending,
    Running,
    Over,
    Failed,
}

#[derive(Debug)]
struct Entry {
    doomed: Doomed,
    stage: Stage,
    since: Option<Instant>,
}

#[derive(Debug)]
struct Removal {
    entries: BTreeMap<Identity, Entry>,
    order: Order,
    outcome: Ended,
}

impl Removal {
    fn new(doomed: Vec<Doomed>) -> Self {
        let order = Order::of(&doomed.iter().map(|one| (&one.record, one.item.kind.goes_with())).collect::<Vec<_>>());
        let entry = |doomed: Doomed| (doomed.record.identity.clone(), Entry { doomed, stage: Stage::Pending, since: None });
        Self { entries: doomed.into_iter().map(entry).collect(), order, outcome: Ended::default() }
    }

    /// The next object that nothing left depends on.
    fn next(&mut self) -> Option<(Identity, Item, Record)> {
        let is_gone = |identity: &Identity| self.entries.get(identity).is_none_or(|entry| entry.stage == Stage::Over);
        let is_free = |(identity, entry): &(&Identity, &Entry)| {
            entry.stage == Stage::Pending && entry.doomed.unreachable.is_none() && self.order.is_free(identity, is_gone)
        };
        let identity = self.entries.iter().find(is_free).map(|(identity, _)| identity.clone())?;
        let entry = self.entries.get_mut(&identity)?;
        entry.stage = Stage::Running;
        entry.since = Some(Instant::now());
        Some((identity, entry.doomed.item.clone(), entry.doomed.record.clone()))
    }

    /// Something is gone, and what it carried with it.
    async fn gone(&mut self, context: &Context, identity: &Identity) {
        for carried in self.order.carried_by(identity) {
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
            seconds: None,
        });
    }

    fn failed(&mut self, context: &Context, identity: &Identity, trouble: Trouble) {
        let Some(entry) = self.entries.get_mut(identity) else { return };
        let Some(reason) = trouble.reason() else {
            entry.stage = Stage::Pending;
            return;
        };
        entry.stage = Stage::Failed;
        let (address, kind) = (entry.doomed.record.address.clone(), identity.kind.clone());
        context.events.say(Event::Failed { address: address.clone(), kind: kind.clone(), reason: reason.text.clone() });
        self.outcome.failed.push(Failure::new(address, kind, reason));
    }

    fn conclude(mut self, why_not: Option<&str>) -> Ended {
        let address = |entry: &Entry| entry.doomed.record.address.clone();
        let addresses: BTreeMap<Identity, Address> =
            self.entries.iter().map(|(identity, entry)| (identity.clone(), address(entry))).collect();
        for (identity, entry) in self.entries {
            let (address, kind) = (address(&entry), identity.kind.clone());
            if matches!(entry.stage, Stage::Over | Stage::Failed) {
                continue;
            }
            let carrier = self.order.carrier(&identity).and_then(|of| addresses.get(of));
            let reason = match (entry.doomed.unreachable, why_not, carrier) {
                (Some(reason), ..) => {
                    let reason = format!("it cannot be removed: {reason}");
                    self.outcome.failed.push(Failure::new(address, kind, reason));
                    continue;
                }
                (None, Some(reason), _) => reason.to_owned(),
                (None, None, Some(carrier)) => format!("it goes with {carrier}, which is still there"),
                (None, None, None) => "what depends on it is still there".to_owned(),
            };
            self.outcome.not_reached.push(NotReached { address, kind, reason, because: None });
        }
        self.outcome
    }
}

/// Removes one object and waits until it is gone; then its record goes too.
pub(super) async fn remove(context: &Context, item: &Item, record: Record) -> Result<(), Trouble> {
    let clock = context.started(item, StepName::Delete);
    let id = record.id.clone();
    if let Some(observed) = look_until_sure(item.view(), &record, context.patience(), Depth::Glance).await? {
        match observed.owner(&item.subject.marks) {
            Owner::Ours => {
                let former = context.former.as_deref();
                if let Some(other) = former.and_then(|former| former.stranger(&observed.tags, &item.subject.marks)) {
                    return Err(Trouble::Failed(marked_by(&id, other, &item.subject.marks.instance)));
                }
            }
            // What AWS made for us and was not given its marks yet.
            Owner::Nobody if item.kind.adoptable_without_marks(&observed) => {}
            Owner::Nobody => return Err(Trouble::Failed(unmarked(item, &observed))),
            Owner::Other(other) => return Err(Trouble::Failed(format!("{id} now belongs to {other}: it is not deleted"))),
        }
        let was_going = observed.readiness == Readiness::Deleting;
        if !was_going {
            delete(context, item, &record).await?;
        }
        let had_failed = matches!(observed.readiness, Readiness::Failed { .. });
        let took = wait_gone(context, item, record, had_failed).await?;
        if !was_going {
            context.remember(item, Usually::Delete, took).await?;
        }
    } else if context.stop.requested() {
        return Err(Trouble::Stopped);
    }
    context.journal.forget(&item.subject.identity).await?;
    context.finished(item, &clock, &id);
    Ok(())
}

/// Why something that bears the marks of another instance is not deleted, although it has our lineage: the state was copied.
fn marked_by(id: &str, other: &str, instance: &str) -> String {
    format!(
        "{id} carries the tags of {other}, not of {instance}: it is not deleted; if that is the same instance under its old name, \
         `fleetctl apply` gives it the new one first"
    )
}

/// Why something without marks is not deleted.
fn unmarked(item: &Item, observed: &Observed) -> String {
    let Observed { id, .. } = observed;
    match item.kind.takeover(observed) {
        Takeover::Refused(Some(reason)) => format!("{reason}; {id} is not deleted"),
        Takeover::ByName => {
            let address = &item.subject.address;
            format!(
                "{id} no longer carries the marks of this state: it is not deleted; `apply --confirm {address}` puts them back"
            )
        }
        Takeover::Refused(None) => format!("{id} no longer carries the tags of this state: it is not deleted"),
    }
}

/// Sends the delete call, again if its reply is lost.
pub(super) async fn delete(context: &Context, item: &Item, record: &Record) -> Result<(), Trouble> {
    let mut lost = None;
    for _ in 0..ATTEMPTS {
        match item.kind.delete(&item.cloud, &context.recorder, &item.subject, record).await {
            Ok(()) => return Ok(()),
            // A delete may be repeated: NotFound is success.
            Err(StepError::Unclear(error)) => {
                lost = Some(error);
                resolve_open(context, item).await?;
                if is_going(item, record).await {
                    return Ok(());
                }
            }
            Err(error) => return Err(trouble(error)),
        }
    }
    Err(lost_each_time("it is not known whether it is gone", lost))
}

/// Whether an object that was seen before is gone or going by now. What is not answered is no.
async fn is_going(item: &Item, record: &Record) -> bool {
    let seen = item.kind.glance(&item.cloud.readers, &item.subject, record).await;
    seen.is_ok_and(|seen| seen.is_none_or(|observed| observed.readiness == Readiness::Deleting))
}

/// Waits until the object is gone, and says how long that took. `had_failed`: it was in a failed state before, so that says nothing about the removal.
async fn wait_gone(context: &Context, item: &Item, record: Record, had_failed: bool) -> Result<Duration, Trouble> {
    let since = Instant::now();
    let usually = context.usually(item, Usually::Delete);
    let record = Record { phase: Phase::Deleting, since: context.wall.now(), ..record };
    context.journal.put(record.clone()).await?;
    let pace = Pace { usual: usually, spare: Duration::ZERO, in_step: context.in_step(item) };
    let mut said = false;
    // What usually goes with the call itself is looked for at once.
    let mut pause = if usually < TAKES_A_WHILE { Duration::ZERO } else { pace.first() };
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = context.ends() => return Err(Trouble::Stopped),
        }
        // The object has been seen and its delete call was accepted, so NotFound counts at once.
        let observed = match item.kind.glance(&item.cloud.readers, &item.subject, &record).await {
            Ok(Some(observed)) => Some(observed),
            Ok(None) => return Ok(since.elapsed()),
            Err(error) if passes(&error) => None,
            Err(error) => return Err(error.into()),
        };
        let readiness = observed.map(|observed| observed.readiness);
        if let (Some(Readiness::Failed { code, message }), false) = (&readiness, had_failed) {
            return Err(Trouble::Failed(format!("{}: {}", record.id, why_failed(code, message))));
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
        pause = pace.next(since.elapsed());
    }
}
