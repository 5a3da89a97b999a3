//! What happens during a run, as it happens. Progress, JSON lines and logs are readers of these.

use crate::graph::identity::Address;
use crate::kinds::recorder::RecorderEvent;
use serde::Serialize;
use std::sync::Arc;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// A call that an earlier run left open is being looked up.
    Resolving {
        /// The object.
        address: Address,
        /// AWS's name of the call.
        operation: String,
        /// When absence counts, in seconds from now.
        seconds_left: u64,
    },
    /// It is resolved.
    Resolved {
        /// The object.
        address: Address,
        /// AWS's name of the call.
        operation: String,
        /// Whether the call had been carried out. `None` (null) of a change or a delete: nobody asks, since it may be repeated.
        carried_out: Option<bool>,
    },
    /// A step has started.
    Started {
        /// The object.
        address: Address,
        /// Its kind.
        kind: String,
        /// What is being done: `create`, `configure`, `delete`, `wait`.
        step: StepName,
    },
    /// A step is over.
    Finished {
        /// The object.
        address: Address,
        /// Its kind.
        kind: String,
        /// What was done.
        step: StepName,
        /// What AWS knows the object by.
        id: String,
        /// How long it took, seconds.
        seconds: f64,
    },
    /// An object is on its way; said when AWS's state changes and at long intervals.
    Waiting {
        /// The object.
        address: Address,
        /// Its kind.
        kind: String,
        /// AWS's state: `CREATING`.
        state: String,
        /// How long it has been waited for, seconds.
        seconds: f64,
        /// How long it usually takes, seconds.
        usually_seconds: f64,
    },
    /// A call was refused and will be made again.
    Repeating {
        /// The object.
        address: Address,
        /// AWS's name of the call.
        operation: String,
        /// AWS's code.
        code: String,
        /// AWS's message: what is waited for.
        message: String,
        /// After how many seconds.
        seconds: f64,
    },
    /// A step failed.
    Failed {
        /// The object.
        address: Address,
        /// Its kind.
        kind: String,
        /// Why.
        reason: String,
    },
    /// How far the run of an instance is; said when it begins, when one more object is over, and when the expected end
    /// moves noticeably.
    Progress {
        /// Address of the instance.
        instance: Address,
        /// How many objects the run has to do with.
        objects: usize,
        /// How many of them are done.
        done: usize,
        /// How many of them failed.
        failed: usize,
        /// When the run is expected to end, in seconds from now: the longest path through what is left, each wait as
        /// long as it usually is.
        seconds_left: f64,
        /// Whether the longest wait on that path is known from earlier runs of this instance; else it is what is typical
        /// of AWS.
        measured: bool,
        /// The object on that path that comes next or is under way.
        #[serde(skip_serializing_if = "Option::is_none")]
        waits_for: Option<Address>,
    },
    /// The run has been asked to stop: nothing new is started.
    Stopping,
}

impl From<RecorderEvent> for Event {
    fn from(event: RecorderEvent) -> Self {
        Self::Repeating {
            address: event.address,
            operation: event.operation.to_owned(),
            code: event.code,
            message: event.message,
            seconds: event.delay.as_secs_f64(),
        }
    }
}

/// What is being done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepName {
    /// The call that makes it.
    Create,
    /// The calls after it.
    Configure,
    /// Waiting until AWS says it is usable.
    Wait,
    /// The call that removes it.
    Delete,
    /// Switching off what lives on a cluster, and waiting until it is gone.
    Drain,
}

/// Where events go.
#[derive(Clone)]
pub struct Events(Arc<dyn Fn(Event) + Send + Sync>);

impl Events {
    /// Events go to this function.
    pub fn to(sink: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    /// Events go nowhere.
    pub fn nowhere() -> Self {
        Self::to(|_| {})
    }

    /// Says that something happened.
    pub fn say(&self, event: Event) {
        (self.0)(event);
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Events")
    }
}
