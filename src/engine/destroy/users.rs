//! Who else uses what is to go: other states of the store hold ids in what they have recorded.

use crate::engine::copies::holds;
use crate::engine::plan::{Action, Plan, Summary};
use crate::graph::identity::Identity;
use crate::state::file::{Record, StateFile};
use std::collections::BTreeMap;

/// Who uses what of a state, by its objects' identities.
#[derive(Debug, Default)]
pub(super) struct Users(BTreeMap<Identity, Vec<String>>);

impl Users {
    /// Notes what another state uses of this one. A copy of the same state is no other.
    pub(super) fn add(&mut self, own: &StateFile, other: &StateFile) {
        if other.lineage == own.lineage {
            return;
        }
        for record in &own.resources {
            if let Some(user) = user(record, other) {
                self.0.entry(record.identity.clone()).or_default().push(user);
            }
        }
    }

    /// Refuses what objects of other states use. AWS would refuse it too, but only after others have gone.
    pub(super) fn refuse(&self, plan: &mut Plan, own: &StateFile) {
        for change in plan.changes.iter_mut().filter(|change| change.action == Action::Delete) {
            let (Some(record), Some(users)) = (own.record(&change.identity), self.0.get(&change.identity)) else { continue };
            change.action = Action::Refused;
            change.reason =
                Some(format!("{} is used by {}; destroy that first, or have it use another", record.id, users.join(", ")));
        }
        plan.summary = Summary::of(&plan.changes);
    }
}

/// The first object of another state that names one of this.
fn user(record: &Record, other: &StateFile) -> Option<String> {
    let arn = record.status.pointer("/ackResourceMetadata/arn").and_then(|arn| arn.as_str());
    // Names are not unique; ids and ARNs are.
    let id = Some(record.id.as_str()).filter(|id| id.contains('-') && record.identity.api_version.starts_with("ec2."));
    let names: Vec<&str> = id.into_iter().chain(arn).collect();
    let is_it = |text: &str| names.contains(&text);
    let uses = |one: &&Record| holds(&one.applied, &is_it) || holds(&one.status, &is_it);
    let found = other.resources.iter().find(uses)?;
    Some(format!("{} of {}", found.address, other.instance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::planner::tests::{Scene, record};
    use crate::state::file::Phase;
    use serde_json::json;

    #[test]
    fn what_another_state_uses_is_refused_before_anything_goes() {
        let mut scene = Scene::new("");
        let mut own = StateFile::new(scene.work.key());
        own.resources.push(record(&scene.seen("subnet").subject.clone(), "subnet-1", Phase::Ready));
        let mut other = StateFile::new(crate::state::file::InstanceKey { name: "guest".into(), ..scene.work.key() });
        let mut cluster = record(&scene.seen("vpc").subject.clone(), "guest", Phase::Ready);
        cluster.applied = json!({"spec": {"resourcesVPCConfig": {"subnetIDs": ["subnet-1", "subnet-2"]}}});
        other.resources.push(cluster);
        let refused = |own: &StateFile, others: &[StateFile]| {
            let mut plan = scene.plan().plan;
            plan.changes.retain(|change| change.kind == "Subnet");
            plan.changes[0].action = Action::Delete;
            let mut users = Users::default();
            for other in others {
                users.add(own, other);
            }
            users.refuse(&mut plan, own);
            plan.changes.remove(0).reason.filter(|_| plan.is_refused())
        };
        let reason = refused(&own, std::slice::from_ref(&other)).unwrap();
        assert!(reason.starts_with("subnet-1 is used by Network/one/vpc of Network/guest in namespace argocd; "), "{reason}");
        let copy = StateFile { lineage: own.lineage.clone(), ..other };
        assert_eq!(refused(&own, &[copy]), None, "the same state under another name");
    }
}
