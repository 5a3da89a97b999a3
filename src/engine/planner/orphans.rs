//! What becomes of what is recorded and stands in the graph no more, at least not under its identity: it was taken out, it
//! has another name, or its includeWhen leave it out now.

use super::{Orphan, PRECIOUS, PlanInput};
use crate::engine::plan::{Action, Change};
use crate::graph::evaluation::Evaluation;
use crate::graph::identity::{Address, Identity};
use crate::state::file::Record;
use serde_json::Value;
use std::collections::BTreeMap;

/// What to do about a change that would need other objects in the place of those that are there.
const ANEW: &str = "take the change back, or destroy and apply anew";

/// Kinds that are found whatever the region: an IAM role, and a registration in Argo CD.
const WITHOUT_REGION: [&str; 2] = ["Role", "Secret"];

/// Adds the removals. Returns the identities whose object another resource of the graph stands for now: their records go,
/// the objects stay.
pub(super) fn settle(
    input: &PlanInput<'_>,
    excluded: &[Orphan],
    evaluation: &Evaluation,
    changes: &mut Vec<Change>,
) -> Vec<Identity> {
    let users = users(input, evaluation);
    let mut superseded = Vec::new();
    let mut removals = Vec::new();
    for orphan in input.orphans.iter().chain(excluded) {
        if let Some(change) = changes.iter_mut().find(|change| is_same_object(change, orphan)) {
            if change.action == Action::Adopt {
                change.reason = Some(format!("it is ours, and recorded until now as {}", orphan.record.identity));
                change.recorded_as = Some(orphan.record.identity.to_string());
            }
            superseded.push(orphan.record.identity.clone());
        } else if let Some(change) = changes.iter_mut().find(|change| change.address == orphan.record.address) {
            change.action = Action::Refused;
            change.reason = Some(another_object(&orphan.record.identity, &change.identity));
        } else {
            removals.push(removal(orphan, named(&orphan.record).and_then(|name| users.get(name)).copied()));
        }
    }
    changes.extend(removals);
    superseded
}

/// Whether a change is about the very object of a record, under another identity.
fn is_same_object(change: &Change, orphan: &Orphan) -> bool {
    let (now, then) = (&change.identity, &orphan.record.identity);
    let same_place = now.account == then.account && (now.region == then.region || WITHOUT_REGION.contains(&now.kind.as_str()));
    now.kind == then.kind && same_place && change.id.as_deref() == Some(orphan.record.id.as_str())
}

/// Why a resource that would become another object is refused.
fn another_object(then: &Identity, now: &Identity) -> String {
    let moved = if then.account != now.account {
        format!("its account changes from {} to {}", then.account, now.account)
    } else if then.region != now.region {
        format!("its region changes from {} to {}", then.region, now.region)
    } else {
        format!("its name changes from {}/{} to {}/{}", then.namespace, then.name, now.namespace, now.name)
    };
    format!("{moved}, which would make another object; {ANEW}")
}

/// Who uses an id: every text of what is wanted, with the resource that it stands in.
fn users<'a>(input: &'a PlanInput<'_>, evaluation: &Evaluation) -> BTreeMap<String, &'a Address> {
    let mut users = BTreeMap::new();
    for (index, seen) in input.seen.iter().filter(|(index, _)| !evaluation.is_excluded(**index)) {
        let address = &seen.subject.address;
        let desired = &evaluation.node(*index).desired;
        collect(&desired.known_part(), address, &mut users);
        // What is not known yet may stay what it is.
        if let (Some(observed), false) = (&seen.observed, desired.is_known()) {
            collect(&observed.spec, address, &mut users);
        }
    }
    users
}

fn collect<'a>(value: &Value, address: &'a Address, users: &mut BTreeMap<String, &'a Address>) {
    match value {
        Value::String(text) => {
            users.entry(text.clone()).or_insert(address);
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, address, users)),
        Value::Object(entries) => entries.values().for_each(|entry| collect(entry, address, users)),
        _ => {}
    }
}

/// What others know an object by: its id, but a role's name says nothing outside of IAM.
fn named(record: &Record) -> Option<&str> {
    match record.identity.kind.as_str() {
        "Role" => record.status.pointer("/ackResourceMetadata/arn")?.as_str(),
        _ => Some(&record.id),
    }
}

fn removal(orphan: &Orphan, user: Option<&Address>) -> Change {
    let Orphan { record, observed, unreachable } = orphan;
    let (action, reason) = match (unreachable, observed, user) {
        (Some(reason), _, _) => (Action::Delete, format!("it left the graph, but will not be reached: {reason}")),
        (None, None, _) => (Action::Delete, "it left the graph and is gone already".to_owned()),
        (None, Some(_), Some(user)) => (Action::Refused, format!("it left the graph, but {user} still uses it; {ANEW}")),
        (None, Some(_), None) => (Action::Delete, "it left the graph".to_owned()),
    };
    Change {
        reason: Some(reason),
        id: Some(record.id.clone()),
        by_name: action == Action::Delete && observed.is_some() && PRECIOUS.contains(&record.identity.kind.as_str()),
        unread: unreachable.is_some(),
        unreached: unreachable.clone(),
        ..Change::new(action, &record.address, &record.identity)
    }
}
