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
    let is_it = |text: &str| text == id;
    let names = |record: &&Record| holds(&record.applied, &is_it) || holds(&record.status, &is_it);
    state.resources.iter().filter(names).map(|record| record.address.to_string()).collect()
}

/// Whether a text anywhere in a value is the one that is looked for.
pub(super) fn holds(value: &Value, is_it: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_it(text),
        Value::Array(items) => items.iter().any(|item| holds(item, is_it)),
        Value::Object(entries) => entries.values().any(|entry| holds(entry, is_it)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::simulated::{Call, Simulated, cloud_of, identity};
    use crate::engine::planner::tests::{Scene, record};
    use crate::kinds::catalog::kind;
    use crate::state::file::{InstanceKey, Phase};
    use serde_json::json;

    async fn copies(used_by: &[&str]) -> (Scene, Copies) {
        let aws = Simulated::new(|_: &Call| identity("222222222222", "arn:aws:iam::222222222222:user/me"));
        let cloud = cloud_of(&aws).await;
        let mut scene = Scene::new("");
        let subject = scene.seen("vpc").subject.clone();
        let record = record(&subject, "vpc-1", Phase::Ready);
        let item = Item { kind: kind("ec2.services.k8s.aws/v1alpha1", "VPC").unwrap(), subject, cloud };
        let used_by = used_by.iter().map(|id| (*id).to_owned()).collect();
        let found = vec![Copy { item, record, id: "vpc-2".into(), used_by }];
        (scene, Copies { found, unread: BTreeSet::from(["not looked".to_owned()]) })
    }

    #[tokio::test(start_paused = true)]
    async fn a_copy_that_nothing_uses_is_a_change_of_its_own_and_one_that_is_used_is_refused() {
        let (scene, unused) = copies(&[]).await;
        let mut plan = scene.plan().plan;
        let (changes, deletions) = (plan.changes.len(), plan.summary.delete);
        tell(&unused, &mut plan);
        let change = plan.changes.last().unwrap();
        assert_eq!((plan.changes.len(), plan.summary.delete), (changes + 1, deletions + 1));
        assert_eq!(change.address.as_str(), "Network/one/vpc (second copy vpc-2)");
        assert_eq!(change.reason.as_deref(), Some("a second copy that nothing uses; the recorded one is vpc-1"));
        assert_ne!(change.identity, unused.found[0].record.identity, "its original has a change too");
        assert_eq!(plan.warnings, ["not looked"]);

        let (_, used) = copies(&["subnet-9"]).await;
        tell(&used, &mut plan);
        let reason = plan.changes.last().unwrap().reason.clone().unwrap();
        assert!(plan.is_refused() && reason.starts_with("vpc-2 carries the same lineage and address as vpc-1"), "{reason}");
        assert!(reason.contains("subnet-9 uses it; take it out of use"), "{reason}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_destroy_leaves_alone_what_is_used_and_says_so() {
        let (scene, used) = copies(&["subnet-9"]).await;
        let mut plan = scene.plan().plan;
        let changes = plan.changes.len();
        tell_destroy(&used, &mut plan);
        assert_eq!((plan.changes.len(), plan.summary.refused), (changes, 0));
        assert!(plan.warnings[1].starts_with("left alone: vpc-2 carries"), "{:?}", plan.warnings);
    }

    /// What the state names is used, whatever AWS says.
    #[tokio::test(start_paused = true)]
    async fn what_a_record_names_is_used() {
        let mut scene = Scene::new("");
        let subject = scene.seen("subnet").subject.clone();
        let key = InstanceKey { api_version: "a".into(), kind: "K".into(), namespace: "n".into(), name: "i".into() };
        let mut state = StateFile::new(key);
        state
            .resources
            .push(Record { applied: json!({"spec": {"a": [{"vpcID": "vpc-2"}]}}), ..record(&subject, "x", Phase::Ready) });
        assert_eq!(named_by(&state, "vpc-2"), ["Network/one/subnet"]);
        assert_eq!(named_by(&state, "vpc-3"), Vec::<String>::new());
        assert_eq!(unrecorded(vec!["x".into(), "vpc-2".into()], &state), ["vpc-2"]);
    }
}
