//! What every step of a run shares.

use super::clock::WallClock;
use super::events::{Event, Events, StepName};
use super::failure::Reason;
use super::look::{Patience, View};
use super::outlook::Outlook;
use super::ownership::FormerNames;
use super::stop::Stop;
use crate::aws::error::CallError;
use crate::kinds::kind::{Cloud, Kind, Observed, Subject};
use crate::kinds::recorder::Recorder;
use crate::state::error::StateError;
use crate::state::file::{Phase, Record};
use crate::state::journal::Journal;
use chrono::{DateTime, Utc};
use futures::FutureExt as _;
use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Waits that are not longer are not remembered.
const WORTH_REMEMBERING: Duration = Duration::from_secs(1);

/// What every step of a run shares. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Context {
    /// Makes recorded calls.
    pub recorder: Recorder,
    /// The journal.
    pub journal: Journal,
    /// Where events go.
    pub events: Events,
    /// The wish to stop.
    pub stop: Stop,
    /// Absence of an object that was just made counts after this long.
    pub window: Duration,
    /// What time it is.
    pub wall: WallClock,
    /// The clock of what is looked at in step (see [`super::pace::Pace`]).
    pub clock: Instant,
    /// Seconds that past waits took, by `Kind.create` or `Kind.delete`.
    pub durations: Arc<BTreeMap<String, f64>>,
    /// In a destroy: what else the instance was called, by which objects may be marked that are to go.
    pub former: Option<Arc<FormerNames>>,
    /// Says how far the run is.
    pub outlook: Outlook,
}

/// One object, its kind, and the services that reach it.
#[derive(Clone)]
pub(super) struct Item {
    /// Its kind.
    pub kind: &'static dyn Kind,
    /// The object.
    pub subject: Subject,
    /// The services of its account and region.
    pub cloud: Cloud,
}

impl std::fmt::Debug for Item {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Item({})", self.subject.address)
    }
}

impl Item {
    /// The name of its kind.
    pub(super) fn kind_name(&self) -> &str {
        &self.subject.identity.kind
    }

    /// The object for whoever only looks.
    pub(super) fn view(&self) -> View<'_> {
        View { kind: self.kind, readers: &self.cloud.readers, subject: &self.subject }
    }

    /// The record of an object that is there and was not made by a call that this state knows, taken over at a time.
    pub(super) fn adopted(&self, observed: &Observed, desired: &Value, now: DateTime<Utc>) -> Record {
        Record {
            identity: self.subject.identity.clone(),
            address: self.subject.address.clone(),
            role: self.subject.role.clone(),
            id: observed.id.clone(),
            phase: Phase::Created,
            applied: self.kind.recordable(desired),
            status: observed.status.clone(),
            dependencies: self.subject.dependencies.clone(),
            adopted: true,
            since: now,
            created_at: now,
            wait: None,
        }
    }
}

impl Context {
    /// Whether anything new may be begun: nobody asked to stop, and the state can be written.
    pub(super) fn goes_on(&self) -> bool {
        !self.stop.requested() && self.journal.is_open()
    }

    /// Returns when nothing new may be begun.
    pub(super) async fn ends(&self) {
        tokio::select! {
            () = self.stop.wait() => {}
            () = self.journal.wait_closed() => {}
        }
    }

    /// Why what was not begun was not, if nothing new may be begun.
    pub(super) fn why_not(&self) -> Option<&'static str> {
        match (self.stop.requested(), self.journal.is_open()) {
            (true, _) => Some("the run was interrupted"),
            (false, false) => Some("the state could not be written any more"),
            (false, true) => None,
        }
    }

    /// How a look goes on in this run until its answer counts.
    pub(super) fn patience(&self) -> Patience<'_> {
        Patience { window: self.window, stop: &self.stop, events: &self.events, clock: &self.wall }
    }

    /// The clock by which an object is looked at, if its kind is looked at in step.
    pub(super) fn in_step(&self, item: &Item) -> Option<Instant> {
        item.kind.is_read_together().then_some(self.clock)
    }

    /// How long a wait usually takes: as past runs of this state say, else as the kind does.
    pub(super) fn usually(&self, item: &Item, what: Usually) -> Duration {
        let typical = item.kind.typical();
        let stated = match what {
            Usually::Create => typical.create,
            Usually::Delete => typical.delete,
        };
        let past = self.durations.get(&what.of(item)).copied();
        past.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(stated)
    }

    /// Whether past runs of this state say how long a wait takes.
    pub(super) fn is_measured(&self, item: &Item, what: Usually) -> bool {
        self.durations.contains_key(&what.of(item))
    }

    /// Remembers how long a wait took, for runs to come. Very short ones say nothing about the kind.
    pub(super) async fn remember(&self, item: &Item, what: Usually, took: Duration) -> Result<(), StateError> {
        if took <= WORTH_REMEMBERING {
            return Ok(());
        }
        self.journal.duration(what.of(item), took.as_secs_f64()).await
    }

    /// Says that a step has started, and gives what says that it is over.
    pub(super) fn started(&self, item: &Item, step: StepName) -> StepClock {
        let (address, kind) = (item.subject.address.clone(), item.kind_name().to_owned());
        self.events.say(Event::Started { address, kind, step });
        StepClock { step, since: Instant::now() }
    }

    /// Says that a step is over.
    pub(super) fn finished(&self, item: &Item, clock: &StepClock, id: &str) {
        self.events.say(Event::Finished {
            address: item.subject.address.clone(),
            kind: item.kind_name().to_owned(),
            step: clock.step,
            id: id.to_owned(),
            seconds: clock.since.elapsed().as_secs_f64(),
        });
    }

    /// Says how something that is waited for is.
    pub(super) fn waiting(&self, item: &Item, state: &str, waited: Duration, usually: Duration) {
        self.events.say(Event::Waiting {
            address: item.subject.address.clone(),
            kind: item.kind_name().to_owned(),
            state: state.to_owned(),
            seconds: waited.as_secs_f64(),
            usually_seconds: usually.as_secs_f64(),
        });
    }
}

/// Which wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usually {
    /// From the create call until ready.
    Create,
    /// From the delete call until gone.
    Delete,
}

impl Usually {
    /// The key of such waits in the state: `Cluster.create`.
    fn of(self, item: &Item) -> String {
        let suffix = match self {
            Self::Create => "create",
            Self::Delete => "delete",
        };
        format!("{}.{suffix}", item.kind_name())
    }
}

/// When a step started.
#[derive(Debug)]
pub(super) struct StepClock {
    step: StepName,
    since: Instant,
}

/// Why a step did not get done.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It failed: AWS's code and message, and the way out where one is known.
    Failed(String),
    /// AWS or Argo CD refused a call.
    Refused(Box<CallError>),
    /// The user asked to stop; nothing is wrong.
    Stopped,
}

impl From<StateError> for Trouble {
    fn from(error: StateError) -> Self {
        Self::Failed(format!("the state could not be written: {error}"))
    }
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Self {
        Self::Refused(Box::new(error))
    }
}

impl Trouble {
    /// Why it failed; nothing if it was only stopped.
    pub(super) fn reason(self) -> Option<Reason> {
        match self {
            Self::Failed(text) => Some(text.into()),
            Self::Refused(error) => Some((*error).into()),
            Self::Stopped => None,
        }
    }
}

/// Runs a step that may break off with a panic: its object has failed then, and nobody else's.
pub(super) async fn guarded<T>(step: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
    let broken = |_| Err(Trouble::Failed("the step broke off, which is a bug in fleetctl: please report it".to_owned()));
    AssertUnwindSafe(step).catch_unwind().await.unwrap_or_else(broken)
}
