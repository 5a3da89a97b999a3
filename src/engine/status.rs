//! Status: what is recorded of an instance.

use super::report::{InstanceStatus, ResourceStatus};
use crate::state::file::{Phase, Record, StateFile};
use crate::state::session::Holding;
use serde_json::json;

/// What a record waits for from the first delete of a destroy until an apply begins.
pub(super) const TO_BE_DELETED: &str = "deleted";

/// Whether a record bears the mark of a destroy that has begun.
pub(super) fn is_to_be_deleted(record: &Record) -> bool {
    record.wait.as_ref().is_some_and(|wait| wait.what == TO_BE_DELETED)
}

/// Whether a state was ever used. One is made with the first lock, before anything is known of what will be done.
pub(super) fn is_used(state: &StateFile) -> bool {
    let StateFile { definitions, last_entry, resources, open, .. } = state;
    definitions.is_some() || *last_entry > 0 || !resources.is_empty() || !open.is_empty()
}

/// What the state says of an instance, and who has it open. No call is made: the values are those of the last run.
pub(super) fn of(state: &StateFile, run: Option<Holding>) -> InstanceStatus {
    let word = word(state);
    let ready = if word == "ACTIVE" { "True" } else { "False" };
    let resources = state
        .resources
        .iter()
        .map(|record| ResourceStatus {
            address: record.address.clone(),
            kind: record.identity.kind.clone(),
            id: record.id.clone(),
            phase: record.phase,
            since: record.since,
            identity: record.identity.clone(),
        })
        .collect();
    InstanceStatus {
        kind: state.instance.kind.clone(),
        namespace: state.instance.namespace.clone(),
        name: state.instance.name.clone(),
        state: word.to_owned(),
        status: json!({"state": word, "conditions": [{"type": "Ready", "status": ready}]}),
        run,
        resources,
    }
}

fn word(state: &StateFile) -> &'static str {
    let any = |phase| state.resources.iter().any(|record| record.phase == phase);
    if state.resources.is_empty() && state.open.is_empty() {
        return "DELETED";
    }
    if any(Phase::Deleting) || state.resources.iter().any(is_to_be_deleted) {
        return "DELETING";
    }
    if any(Phase::Failed) {
        return "ERROR";
    }
    if state.open.is_empty() && state.resources.iter().all(|record| record.phase == Phase::Ready) {
        return "ACTIVE";
    }
    "IN_PROGRESS"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::file::InstanceKey;

    #[test]
    fn a_state_that_was_only_locked_is_not_used() {
        let text = |text: &str| text.to_owned();
        let (api_version, kind) = (text("kro.run/v1alpha1"), text("EksCluster"));
        let mut state = StateFile::new(InstanceKey { api_version, kind, namespace: text("argocd"), name: text("one") });
        assert!(!is_used(&state));
        state.last_entry = 1;
        assert!(is_used(&state));
        assert_eq!(of(&state, None).state, "DELETED");
    }

    #[test]
    fn what_a_destroy_has_left_is_not_active() {
        let mut scene = crate::engine::planner::tests::Scene::new("");
        let mut state = StateFile::new(scene.work.key());
        let subject = scene.seen("vpc").subject.clone();
        state.resources.push(crate::engine::planner::tests::record(&subject, "vpc-1", Phase::Ready));
        assert_eq!(of(&state, None).state, "ACTIVE");
        let since = state.resources[0].since;
        let wait = crate::state::file::Wait { what: TO_BE_DELETED.to_owned(), update: None, since };
        state.resources[0].wait = Some(wait);
        assert_eq!(of(&state, None).state, "DELETING");
    }
}
