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
    /// Whether anything was heard of how far it is; else it is known by its objects alone.
    is_counted: bool,
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
    /// It was made or changed, and nobody has looked whether it is ready.
    Unseen,
    Waiting {
        state: String,
        usually: f64,
    },
    Repeating {
        code: String,
        again: f64,
    },
    Resolving {
        operation: String,
        counts: f64,
    },
}

impl Model {
    /// From now on things are changed; times are counted anew.
    pub(super) fn begin(&mut self) {
        *self = Self { stage: Stage::Running, ..Self::default() };
    }

    /// Takes in what happened. Returns what is worth keeping.
    pub(super) fn hear(&mut self, event: &Event, now: f64) -> Option<Kept> {
        if let Event::Started { address, .. } | Event::Waiting { address, .. } | Event::Resolving { address, .. } = event {
            self.meet(address);
        }
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
                self.rows.retain(|row| !row.is_waiting());
            }
            Event::Finished { address, kind, step, id, .. } => {
                let word = match step {
                    StepName::Wait => "ready",
                    StepName::Delete => "gone",
                    StepName::Drain => "drained",
                    StepName::Create | StepName::Configure => {
                        self.unseen(address);
                        return None;
                    }
                };
                self.rows.retain(|row| row.address != *address);
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

    /// What was made stays as a row until it is ready, unless nobody will look any more.
    fn unseen(&mut self, address: &Address) {
        if self.stage == Stage::Stopping {
            return self.rows.retain(|row| row.address != *address);
        }
        let first = self.first_heard.get(address).and_then(|heard| heard.since);
        if let Some(row) = self.rows.iter_mut().find(|row| row.address == *address) {
            row.what = What::Unseen;
            row.since = first.unwrap_or(row.since);
        }
    }

    /// An object tells of its instance before anything is heard of how far that is.
    fn meet(&mut self, object: &Address) {
        let Some(address) = instance_of(object).filter(|_| self.stage != Stage::Looking) else { return };
        if !self.instances.iter().any(|instance| instance.address == address) {
            let (objects, done, failed, measured, waits_for) = (0, 0, 0, false, None);
            self.know(Instance { address, is_counted: false, objects, done, failed, end: 0.0, measured, waits_for });
        }
    }

    fn progress(&mut self, event: &Event, now: f64) {
        let Event::Progress { instance, objects, done, failed, seconds_left, measured, waits_for } = event else { return };
        self.know(Instance {
            address: instance.clone(),
            is_counted: true,
            objects: *objects,
            done: *done,
            failed: *failed,
            end: now + seconds_left,
            measured: *measured,
            waits_for: waits_for.clone(),
        });
    }

    fn know(&mut self, known: Instance) {
        match self.instances.iter_mut().find(|other| other.address == known.address) {
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

/// `EksCluster/demo` of `EksCluster/demo/vpc/vpc`.
fn instance_of(object: &Address) -> Option<Address> {
    let mut segments = object.as_str().splitn(3, '/');
    Some(Address(format!("{}/{}", segments.next()?, segments.next()?)))
}

fn kind_of(instance: &Address) -> &str {
    instance.as_str().split('/').next().unwrap_or_default()
}
