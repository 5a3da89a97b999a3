//! What becomes of what is recorded and stands in the graph no more, at least not under its identity: it was taken out, it
//! has another name, or its includeWhen leave it out now.

use super::{Orphan, PRECIOUS, PlanInput, Seen};
use crate::engine::plan::{Action, Change};
use crate::graph::evaluation::Evaluation;
use crate::graph::expansion::NodeIndex;
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
    let users = users(input, evaluation, changes);
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
            let user = named(&orphan.record)
                .and_then(|name| users.get(name).cloned())
                .or_else(|| silent_user(input, evaluation, orphan));
            removals.push(removal(orphan, user));
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

/// Who uses an id: every text of what is wanted, with the resource that it stands in; and every text of what stays as it
/// is, also where the documents say nothing about it.
fn users(input: &PlanInput<'_>, evaluation: &Evaluation, changes: &[Change]) -> BTreeMap<String, Address> {
    let mut users = BTreeMap::new();
    for (index, seen) in input.seen.iter().filter(|(index, _)| !evaluation.is_excluded(**index)) {
        let address = &seen.subject.address;
        let desired = &evaluation.node(*index).desired;
        collect(&desired.known_part(), address, &mut users);
        let Some(observed) = &seen.observed else { continue };
        let change = changes.iter().find(|change| change.address == *address);
        // What is not known yet may stay what it is.
        let stays = change.filter(|change| matches!(change.action, Action::None | Action::Update | Action::Adopt));
        if !desired.is_known() || stays.is_some() {
            let mut texts = BTreeMap::new();
            collect(&observed.spec, address, &mut texts);
            let mut given_up = BTreeMap::new();
            let fields = stays.map(|change| change.fields.as_slice()).unwrap_or_default();
            for field in fields {
                collect(&field.before, address, &mut given_up);
            }
            texts.retain(|text, _| !given_up.contains_key(text));
            for (text, address) in texts {
                users.entry(text).or_insert(address);
            }
        }
    }
    users
}

/// Kinds that cannot do without another one although no field of theirs names it: a public NAT gateway needs the internet
/// gateway of its VPC.
const NEEDS_UNNAMED: [(&str, &str); 1] = [("NATGateway", "InternetGateway")];

/// A resource that stays, and that was recorded as depending on the object in a way that no field shows.
fn silent_user(input: &PlanInput<'_>, evaluation: &Evaluation, orphan: &Orphan) -> Option<Address> {
    let needed = &orphan.record.identity;
    let needs = |(index, seen): &(&NodeIndex, &Seen)| {
        let pair = (seen.subject.identity.kind.as_str(), needed.kind.as_str());
        let depends = seen.record.as_ref().is_some_and(|record| record.dependencies.contains(needed));
        NEEDS_UNNAMED.contains(&pair) && depends && seen.observed.is_some() && !evaluation.is_excluded(**index)
    };
    input.seen.iter().find(needs).map(|(_, seen)| seen.subject.address.clone())
}

fn collect(value: &Value, address: &Address, users: &mut BTreeMap<String, Address>) {
    match value {
        Value::String(text) => {
            users.entry(text.clone()).or_insert_with(|| address.clone());
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

fn removal(orphan: &Orphan, user: Option<Address>) -> Change {
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
