//! Second copies of what is recorded: found by their marks, shown in the plan, and removed where nothing uses them.
//!
//! EC2 takes no client token for a VPC, a subnet, an internet gateway or an address. When the reply to such a call is lost and
//! AWS does not show the object before its absence counts, it is made once more, and the first shows up later.

use super::apply::Site;
use super::context::{Context, Item, Trouble};
use super::drift;
use super::plan::{Action, Change, Plan, Summary};
use super::removal::{Ended, delete};
use super::report::{Done, EngineError, Failure};
use crate::aws::error::ErrorClass;
use crate::graph::identity::{Address, Identity};
use crate::kinds::kind::SecondCopy;
use crate::state::file::{Record, StateFile};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A second copy of a recorded object.
#[derive(Debug, Clone)]
struct Copy {
    item: Item,
    /// The record of the object itself.
    record: Record,
    /// What AWS knows the copy by.
    id: String,
    /// What uses it; nothing: it may go.
    used_by: Vec<String>,
}

impl Copy {
    /// As it stands in plans and reports: where the object itself sits, and which copy it is.
    fn address(&self) -> Address {
        Address(format!("{} (second copy {})", self.record.address, self.id))
    }

    fn change(&self) -> Change {
        let name = format!("{} (second copy {})", self.record.identity.name, self.id);
        let identity = Identity { name, ..self.record.identity.clone() };
        let recorded = &self.record.id;
        let (action, reason) = if self.used_by.is_empty() {
            (Action::Delete, format!("a second copy that nothing uses; the recorded one is {recorded}"))
        } else {
            let id = &self.id;
            let used_by = self.used_by.join(", ");
            let way_out = "take it out of use, and the next apply removes it, or take its fleetctl tags away to keep it";
            let reason = format!(
                "{id} carries the same lineage and address as {recorded}, the recorded one, and {used_by} uses it; {way_out}"
            );
            (Action::Refused, reason)
        };
        Change { reason: Some(reason), id: Some(self.id.clone()), ..Change::new(action, &self.address(), &identity) }
    }
}

/// What a look for second copies comes to.
#[derive(Debug, Default)]
pub(super) struct Copies {
    found: Vec<Copy>,
    /// Where it was not possible to look, for people.
    unread: BTreeSet<String>,
}

/// Looks for second copies of what a used state has recorded: one call an account and region while there are none. Where that
/// is not allowed, nothing is found, which is said.
pub(super) async fn look(site: &Site, state: Option<&StateFile>) -> Result<Copies, EngineError> {
    let Some(state) = state.filter(|state| drift::is_used(state)) else { return Ok(Copies::default()) };
    let mut unread = BTreeSet::new();
    let mut marked: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut found = Vec::new();
    for record in &state.resources {
        let item = site.recorded_item(record, &state.lineage).await?;
        let Some(prefix) = item.kind.prefix_of_ids() else { continue };
        let place = (record.identity.account.clone(), record.identity.region.clone());
        if !marked.contains_key(&place) {
            let ids = match item.cloud.readers.ec2.marked_ids(&item.subject.marks.instance).await {
                Err(error) if error.class == ErrorClass::Denied => {
                    let (account, region) = &place;
                    unread
                        .insert(format!("second copies were not looked for in {account} {region}, which needs ec2:DescribeTags"));
                    Vec::new()
                }
                ids => ids.map_err(EngineError::of_read)?,
            };
            marked.insert(place.clone(), unrecorded(ids, state));
        }
        if !marked.get(&place).is_some_and(|ids| ids.iter().any(|id| id.starts_with(prefix))) {
            continue;
        }
        let copies = item.kind.copies(&item.cloud.readers, &item.subject, &record.id).await.map_err(EngineError::of_read)?;
        for SecondCopy { id, mut used_by } in copies {
            if state.resources.iter().any(|other| other.id == id) {
                continue;
            }
            used_by.extend(named_by(state, &id));
            found.push(Copy { item: item.clone(), record: record.clone(), id, used_by });
        }
    }
    Ok(Copies { found, unread })
}

fn unrecorded(ids: Vec<String>, state: &StateFile) -> Vec<String> {
    let recorded: BTreeSet<&str> = state.resources.iter().map(|record| record.id.as_str()).collect();
    ids.into_iter().filter(|id| !recorded.contains(id.as_str())).collect()
}

/// The recorded objects that name an id.
fn named_by(state: &StateFile, id: &str) -> Vec<String> {
    let names = |record: &&Record| holds(&record.applied, id) || holds(&record.status, id);
    state.resources.iter().filter(names).map(|record| record.address.to_string()).collect()
}

fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found == text,
        Value::Array(items) => items.iter().any(|item| holds(item, text)),
        Value::Object(entries) => entries.values().any(|entry| holds(entry, text)),
        _ => false,
    }
}

/// Shows them in a plan.
pub(super) fn tell(copies: &Copies, plan: &mut Plan) {
    plan.changes.extend(copies.found.iter().map(Copy::change));
    plan.warnings.extend(copies.unread.iter().cloned());
    plan.summary = Summary::of(&plan.changes);
}

/// Shows those in a plan of a destroy that go; what is used stays, and is a warning.
pub(super) fn tell_destroy(copies: &Copies, plan: &mut Plan) {
    plan.warnings.extend(copies.unread.iter().cloned());
    let (unused, used): (Vec<Change>, Vec<Change>) =
        copies.found.iter().map(Copy::change).partition(|change| change.action == Action::Delete);
    plan.warnings.extend(used.into_iter().filter_map(|change| change.reason).map(|reason| format!("left alone: {reason}")));
    plan.changes.extend(unused);
    plan.summary = Summary::of(&plan.changes);
}

/// Removes those that nothing uses, which is looked at once more before each.
pub(super) async fn remove(context: &Context, copies: &Copies) -> Ended {
    let mut ended = Ended::default();
    for copy in copies.found.iter().filter(|copy| copy.used_by.is_empty()) {
        if context.stop.requested() {
            break;
        }
        let kind = copy.item.kind_name().to_owned();
        match remove_one(context, copy).await {
            Ok(()) => {
                let (address, id) = (copy.address(), copy.id.clone());
                ended.done.push(Done { address, kind, id, action: Action::Delete, seconds: None });
            }
            Err(trouble) => {
                let Some(reason) = trouble.reason() else { break };
                ended.failed.push(Failure::new(copy.address(), kind, reason));
            }
        }
    }
    ended
}

async fn remove_one(context: &Context, copy: &Copy) -> Result<(), Trouble> {
    let Copy { item, record, id, .. } = copy;
    let now = item.kind.copies(&item.cloud.readers, &item.subject, &record.id).await?;
    let Some(there) = now.into_iter().find(|other| other.id == *id) else { return Ok(()) };
    if !there.used_by.is_empty() {
        return Err(Trouble::Failed(format!("{id} is used by {} by now: it is not deleted", there.used_by.join(", "))));
    }
    delete(context, item, &Record { id: id.clone(), ..record.clone() }).await
}
