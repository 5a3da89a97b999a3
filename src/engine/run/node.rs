//! One resource during a run: its stage, and how outcomes move it on.

use super::priority::Paths;
use super::steps::{self, Begun, Configured};
use super::{Part, Reached};
use crate::engine::context::{Context, Item, Trouble, guarded};
use crate::engine::failure::Reason;
use crate::engine::plan::{Action, Change};
use crate::engine::removal;
use crate::graph::catalog::Production;
use crate::kinds::kind::Observed;
use crate::state::file::{Phase, Record};
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// How far a resource is in this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is there, and of no use: it has to go before it is made anew.
    Doomed,
    /// It goes with another object that is doomed.
    Carried,
    /// It is not there.
    Absent,
    /// It is there; it has to be compared and perhaps changed.
    Present,
    /// It is as wanted; it has to become ready.
    Configured,
    /// A step is running that takes a slot.
    Busy,
    /// A wait is running; it takes no slot.
    Waiting,
    /// AWS says it is usable.
    Ready,
    /// It failed, and why.
    Failed(Reason),
    /// It cannot be reached in this run, and why.
    Unreachable(String),
    /// The run was stopped while it was under way.
    Stopped,
}

impl Stage {
    pub(super) fn can_start(&self) -> bool {
        matches!(self, Self::Doomed | Self::Absent | Self::Present | Self::Configured)
    }

    /// Whether it is there and has to go before it is made anew.
    pub(super) fn has_to_go(&self) -> bool {
        matches!(self, Self::Doomed | Self::Carried)
    }

    pub(super) fn takes_slot(&self) -> bool {
        *self == Self::Busy
    }
}

/// One resource during a run.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) item: Item,
    pub(super) action: Action,
    pub(super) stage: Stage,
    pub(super) record: Option<Record>,
    pub(super) observed: Option<Observed>,
    /// What usually still has to be waited for, from each of its steps on.
    pub(super) paths: Paths,
    /// It was made in this run and has not been read since.
    fresh: bool,
    /// What was observed is not what is there now.
    open: bool,
}

/// What a step comes to.
#[derive(Debug)]
pub(super) enum Outcome {
    Created(Result<(Record, Observed), Trouble>),
    Configured(Result<Configured, Trouble>),
    Ready(Result<(Record, Observed), Trouble>),
    Removed(Result<(), Trouble>),
}

impl Node {
    pub(super) fn new(change: &Change, part: Part) -> Self {
        let stage = match (&part.unreachable, change.action) {
            (Some(reason), _) => Stage::Unreachable(reason.clone()),
            (None, Action::Replace) => Stage::Doomed,
            (None, Action::None) if !change.waits => Stage::Ready,
            (None, _) if part.observed.is_some() => Stage::Present,
            (None, _) => Stage::Absent,
        };
        let Part { item, record, observed, .. } = part;
        Self { item, action: change.action, stage, record, observed, paths: Paths::default(), fresh: false, open: false }
    }

    /// Whether it was made in this run and is not as wanted yet.
    pub(super) fn is_unfinished(&self) -> bool {
        self.fresh && self.stage == Stage::Present
    }

    /// What usually still has to be waited for from here on.
    pub(super) fn remaining(&self) -> Duration {
        self.paths.after(&self.stage)
    }

    /// Begins the next step. The future owns everything it needs. `spare`: how much longer others usually take still.
    pub(super) fn begin(&mut self, context: Context, desired: Value, spare: Duration) -> Option<BoxFuture<'static, Outcome>> {
        let item = self.item.clone();
        match (&self.stage, self.record.clone(), self.observed.clone()) {
            (Stage::Absent, _, _) => {
                self.stage = Stage::Busy;
                Some(Box::pin(async move { Outcome::Created(guarded(steps::create(&context, &item, &desired)).await) }))
            }
            (Stage::Present, Some(record), Some(observed)) => {
                self.stage = Stage::Busy;
                let fresh = self.fresh;
                Some(Box::pin(async move {
                    Outcome::Configured(guarded(steps::configure(&context, &item, &desired, record, observed, fresh)).await)
                }))
            }
            (Stage::Configured, Some(record), Some(observed)) => {
                self.stage = Stage::Waiting;
                let begun = Begun { record, observed, fresh: self.fresh, open: self.open, spare };
                Some(Box::pin(async move { Outcome::Ready(guarded(steps::wait_ready(&context, &item, begun)).await) }))
            }
            (Stage::Doomed, Some(record), _) => {
                self.stage = Stage::Busy;
                Some(Box::pin(async move { Outcome::Removed(guarded(removal::remove(&context, &item, record)).await) }))
            }
            _ => None,
        }
    }

    /// Moves on. Returns what the resource has reached now; `None` together with no observed object: it is gone.
    pub(super) fn settle(&mut self, outcome: Outcome) -> Reached {
        match outcome {
            Outcome::Created(Ok((record, observed))) => {
                self.fresh = !record.adopted;
                self.keep(record, observed, Stage::Present);
                Some(Production::Created)
            }
            Outcome::Configured(Ok(Configured { record, observed, changed, open })) => {
                self.open = open;
                if !changed && self.action == Action::Update {
                    self.action = Action::None;
                }
                self.keep(record, observed, Stage::Configured);
                Some(Production::Configured)
            }
            Outcome::Ready(Ok((record, observed))) => {
                self.keep(record, observed, Stage::Ready);
                Some(Production::Ready)
            }
            Outcome::Removed(Ok(())) => {
                self.record = None;
                self.observed = None;
                self.stage = Stage::Absent;
                None
            }
            Outcome::Created(Err(trouble))
            | Outcome::Configured(Err(trouble))
            | Outcome::Ready(Err(trouble))
            | Outcome::Removed(Err(trouble)) => {
                self.stage = trouble.stage(Stage::Stopped);
                self.record.as_ref().and_then(|record| record.phase.reached())
            }
        }
    }

    fn keep(&mut self, record: Record, observed: Observed, stage: Stage) {
        debug_assert_ne!(record.phase, Phase::Deleting);
        self.record = Some(record);
        self.observed = Some(observed);
        self.stage = stage;
    }
}
