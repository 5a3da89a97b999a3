//! When removals are expected to end: the longest chain of what has to be gone before what, less what has passed.

use super::order::Order;
use super::{Doomed, Removal, Stage};
use crate::engine::context::{Context, Usually};
use crate::engine::outlook::{Counts, Expected};
use crate::graph::identity::{Address, Identity};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is left to do of one removal.
struct Task<'a> {
    address: &'a Address,
    /// `None`: it will not be done.
    left: Option<Duration>,
    measured: bool,
}

/// How long it usually takes to remove all of these.
pub(in crate::engine) fn usually(context: &Context, doomed: &[Doomed]) -> Duration {
    let order = Order::of(&doomed.iter().map(|one| (&one.record, one.item.kind.goes_with())).collect::<Vec<_>>());
    let task = |one: &'_ Doomed| context.usually(&one.item, Usually::Delete);
    let tasks = doomed.iter().map(|one| {
        let left = one.unreachable.is_none().then(|| task(one));
        (one.record.identity.clone(), Task { address: &one.record.address, left, measured: false })
    });
    expected(&order, &tasks.collect()).left
}

impl Removal {
    /// Says how far it is.
    pub(super) fn say_outlook(&self, context: &Context) {
        let tasks = self.entries.iter().map(|(identity, entry)| {
            let usual = context.usually(&entry.doomed.item, Usually::Delete);
            let passed = entry.since.map(|since| since.elapsed()).unwrap_or_default();
            let left = match entry.stage {
                Stage::Over => Some(Duration::ZERO),
                Stage::Failed => None,
                Stage::Pending | Stage::Running => entry.doomed.unreachable.is_none().then(|| usual.saturating_sub(passed)),
            };
            let measured = context.is_measured(&entry.doomed.item, Usually::Delete);
            (identity.clone(), Task { address: &entry.doomed.record.address, left, measured })
        });
        let expected = expected(&self.order, &tasks.collect());
        context.outlook.say(&context.events, self.counts(), expected);
    }

    fn counts(&self) -> Counts {
        let entries = || self.entries.values().filter(|entry| entry.doomed.unreachable.is_none());
        let count = |stage| entries().filter(|entry| entry.stage == stage).count();
        Counts { objects: entries().count(), done: count(Stage::Over), failed: count(Stage::Failed) }
    }
}

fn expected(order: &Order, tasks: &BTreeMap<Identity, Task<'_>>) -> Expected<Address> {
    let mut gone: BTreeMap<Identity, Option<Expected<Address>>> = BTreeMap::new();
    for identity in order.sequence(tasks.keys().cloned().collect()) {
        let carrier = order.carrier(&identity);
        let when = match (carrier, tasks.get(&identity)) {
            (Some(carrier), _) => gone.get(carrier).cloned().flatten(),
            (None, Some(task)) => order
                .blockers(&identity)
                .map(|blocker| gone.get(blocker).cloned().unwrap_or_else(|| Some(Expected::now())))
                .try_fold(Expected::now(), |latest, when| Some(latest.later(when?)))
                .and_then(|when| after(&when, task)),
            (None, None) => None,
        };
        gone.insert(identity, when);
    }
    gone.into_values().flatten().fold(Expected::now(), Expected::later)
}

fn after(when: &Expected<Address>, task: &Task<'_>) -> Option<Expected<Address>> {
    let left = task.left?;
    // What is gone is not what anything hangs on.
    Some(if left.is_zero() && when.on.is_none() { when.clone() } else { when.and(task.address, left, task.measured) })
}
