//! What a terminal shows while a run goes on: [`Model`] is what is known from the engine's events, [`frame`] draws it as
//! lines, [`kept`] is what scrolls away above. Pure: time and size come from outside.

pub(super) mod frame;
pub(super) mod kept;

use super::style::clean;
use crate::engine::events::{Event, StepName};
use crate::graph::identity::Address;
use kept::Kept;
use std::collections::HashMap;

/// What is known of a run. Times are seconds since it began; what an earlier run began lies before zero.
#[derive(Debug, Default)]
pub(super) struct Model {
    stage: Stage,
    instances: Vec<Instance>,
    /// In the order in which objects were first heard of, so that nothing jumps about.
    rows: Vec<Row>,
    first_heard: HashMap<Address, FirstHeard>,
}

/// When an object was first heard of.
#[derive(Debug)]
struct FirstHeard {
    /// How many objects were heard of before.
    number: usize,
    /// Since when; nothing once it is over: what comes after (a removal after a drain) is timed by itself.
    since: Option<f64>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum Stage {
    /// Nothing is changed yet.
    #[default]
    Looking,
    Running,
    Stopping,
}

/// How far the run of an instance is.
#[derive(Debug)]
struct Instance {
    address: Address,
    objects: usize,
    done: usize,
    failed: usize,
    /// The expected end.
    end: f64,
    measured: bool,
    /// What the end hangs on; nothing: nothing more is expected.
    waits_for: Option<Address>,
}

/// An object that something is going on with.
#[derive(Debug)]
struct Row {
    address: Address,
    kind: String,
    since: f64,
    what: What,
}

#[derive(Debug)]
enum What {
    Step(StepName),
    Waiting { state: String, usually: f64 },
    Repeating { code: String, again: f64 },
    Resolving { operation: String, counts: f64 },
}

impl Model {
    /// From now on things are changed; times are counted anew.
    pub(super) fn begin(&mut self) {
        *self = Self { stage: Stage::Running, ..Self::default() };
    }

    /// Takes in what happened. Returns what is worth keeping.
    pub(super) fn hear(&mut self, event: &Event, now: f64) -> Option<Kept> {
        match event {
            Event::Started { address, kind, step } => self.set(address, kind, now, What::Step(*step)),
            Event::Waiting { address, kind, state, seconds, usually_seconds } => {
                let what = What::Waiting { state: clean(state), usually: *usually_seconds };
                self.set(address, kind, now - seconds, what);
            }
            Event::Repeating { address, code, seconds, .. } => {
                let row = self.rows.iter_mut().find(|row| row.address == *address)?;
                row.what = What::Repeating { code: clean(code), again: now + seconds };
            }
            #[expect(clippy::cast_precision_loss, reason = "seconds of a window, not of an age")]
            Event::Resolving { address, operation, seconds_left } => {
                let what = What::Resolving { operation: clean(operation), counts: now + *seconds_left as f64 };
                self.set(address, "", now, what);
            }
            Event::Progress { .. } => self.progress(event, now),
            Event::Stopping => {
                self.stage = Stage::Stopping;
                // Waits end at once; calls that are under way are brought to their end.
                self.rows.retain(|row| !matches!(row.what, What::Waiting { .. }));
            }
            Event::Finished { address, kind, step, id, .. } => {
                self.rows.retain(|row| row.address != *address);
                let word = match step {
                    StepName::Wait => "ready",
                    StepName::Delete => "gone",
                    StepName::Drain => "drained",
                    StepName::Create | StepName::Configure => return None,
                };
                let since = self.first_heard.get_mut(address).and_then(|heard| heard.since.take());
                let took = since.map_or(0.0, |since| now - since);
                return Some(Kept::done(word, self.name(address), kind, id, took));
            }
            Event::Failed { address, kind, reason } => {
                self.rows.retain(|row| row.address != *address);
                return Some(Kept::failed(self.name(address), kind, reason));
            }
            Event::Resolved { address, operation, carried_out } => {
                self.rows.retain(|row| row.address != *address);
                return Some(Kept::resolved(self.name(address), operation, *carried_out));
            }
        }
        None
    }

    fn set(&mut self, address: &Address, kind: &str, since: f64, what: What) {
        let number = self.first_heard.len();
        let heard = self.first_heard.entry(address.clone()).or_insert(FirstHeard { number, since: None });
        heard.since.get_or_insert(since);
        let kind = clean(kind);
        match self.rows.iter_mut().find(|row| row.address == *address) {
            Some(row) => *row = Row { address: address.clone(), kind, since, what },
            None => self.rows.push(Row { address: address.clone(), kind, since, what }),
        }
        let first_heard = &self.first_heard;
        self.rows.sort_by_key(|row| first_heard.get(&row.address).map(|heard| heard.number));
    }

    fn progress(&mut self, event: &Event, now: f64) {
        let Event::Progress { instance, objects, done, failed, seconds_left, measured, waits_for } = event else { return };
        let known = Instance {
            address: instance.clone(),
            objects: *objects,
            done: *done,
            failed: *failed,
            end: now + seconds_left,
            measured: *measured,
            waits_for: waits_for.clone(),
        };
        match self.instances.iter_mut().find(|other| other.address == *instance) {
            Some(other) => *other = known,
            None => self.instances.push(known),
        }
        self.instances.sort_by(|one, other| one.address.cmp(&other.address));
    }

    /// An address without what is the same for all.
    fn name(&self, address: &Address) -> String {
        let short = match self.instances.as_slice() {
            [one] => address.as_str().strip_prefix(one.address.as_str()).and_then(|rest| rest.strip_prefix('/')),
            [first, others @ ..] => {
                let kind = kind_of(&first.address);
                let is_same = !others.is_empty() && others.iter().all(|other| kind_of(&other.address) == kind);
                address.as_str().split_once('/').filter(|_| is_same).map(|(_, rest)| rest)
            }
            [] => None,
        };
        clean(short.unwrap_or(address.as_str()))
    }
}

fn kind_of(instance: &Address) -> &str {
    instance.as_str().split('/').next().unwrap_or_default()
}
