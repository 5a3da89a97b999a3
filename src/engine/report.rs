//! What a run comes to. Text, JSON and exit code are made of the same value.

use super::failure::{Answer, Reason};
use super::outcome::{Circumstances, Place};
use super::plan::Plan;
use super::removal::Ended;
use crate::graph::identity::{Address, Identity};
use crate::state::error::StateError;
use crate::state::session::Holding;
use serde::Serialize;
use serde_json::Value;

/// How a run of one instance ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// Address of the instance.
    pub instance: Address,
    /// How it ended.
    pub end: End,
    /// What was made, changed, deleted, and how often; nothing counts twice.
    pub done: Vec<Done>,
    /// What failed, and why.
    pub failed: Vec<Failure>,
    /// What was never started, and because of what.
    pub not_reached: Vec<NotReached>,
    /// The instance's status, computed from what is there now (authored fields, state, conditions).
    pub status: Value,
    /// Seconds from start to end.
    pub seconds: f64,
    /// When and where it was, and what there is now.
    #[serde(flatten)]
    pub circumstances: Circumstances,
}

impl RunReport {
    /// Adds how others ended.
    pub(super) fn add(&mut self, ended: Ended) {
        if !ended.failed.is_empty() {
            self.end = End::Failed;
        }
        self.done.extend(ended.done);
        self.failed.extend(ended.failed);
        self.not_reached.extend(ended.not_reached);
    }

    /// Adds that the state could not be closed after the run. What the run did is recorded in its journal all the same.
    pub(super) fn not_closed(&mut self, error: &StateError) {
        let reason = match error {
            StateError::Unsaved { .. } => format!(
                "{error}; `fleetctl state push --entries FILE --to {}` takes the lines below back in. Where the whole state is gone, \
                 `fleetctl state rebuild FILE…` with the same documents finds what was made",
                self.instance
            ),
            error => format!("{error}; what was done is in the journal of the state, and the next run goes on from there"),
        };
        if let StateError::Unsaved { entries, .. } = error {
            self.circumstances.unsaved.clone_from(entries);
        }
        self.circumstances.lock_lost = error.is_lock_lost();
        self.failed.push(Failure::new(self.instance.clone(), String::new(), reason));
        self.end = End::Failed;
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Everything is done.
    Done,
    /// Something failed.
    Failed,
    /// Nothing failed, but something was not reached or could not be read.
    Incomplete,
    /// The user interrupted it.
    Interrupted,
}

impl End {
    /// The exit code (DESIGN: failed beats incomplete).
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Incomplete => 3,
            Self::Interrupted => 130,
        }
    }
}

/// Something that was done.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    /// The object.
    pub address: Address,
    /// Its kind.
    pub kind: String,
    /// What AWS knows it by.
    pub id: String,
    /// What was done.
    pub action: super::plan::Action,
    /// How long it took, from its first step to its last; nothing for what went together with something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// Something that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The object.
    pub address: Address,
    /// Its kind.
    pub kind: String,
    /// Why: AWS's code and message, and the way out where one is known.
    pub reason: String,
    /// What AWS knows it by, if it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The account and region.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Where Argo CD is, if it failed there: its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argocd: Option<String>,
    /// What was answered, where a call was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// What probably helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Failure {
    /// A failure of which nothing more is known.
    pub(crate) fn new(address: Address, kind: String, reason: impl Into<Reason>) -> Self {
        let Reason { text, answer, hint } = reason.into();
        Self { address, kind, reason: text, id: None, place: None, argocd: None, answer, hint }
    }
}

/// Something that was never started.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotReached {
    /// The object.
    pub address: Address,
    /// Its kind.
    pub kind: String,
    /// Because of what.
    pub reason: String,
    /// The failed object that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<Address>,
}

/// What stops everything before a run starts.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The documents cannot be carried out as they are.
    #[error("{} in the documents", counted(.0.len(), "problem"))]
    Documents(Vec<crate::graph::diagnostic::Diagnostic>),
    /// State.
    #[error(transparent)]
    State(#[from] StateError),
    /// No credentials, or the wrong account.
    #[error("{0}")]
    Identity(String),
    /// Whose account, found offline: two selectors, no way.
    #[error("{0}")]
    Selector(String),
    /// AWS or Argo CD refused a read that everything depends on.
    #[error("{0}")]
    Read(crate::aws::error::CallError),
    /// The plan holds changes that are refused, or its checks refuse it; nothing was changed.
    #[error("{} refused; nothing was changed", refusals(.0))]
    Refused(Box<Plan>),
    /// Removals or replacements that ask to be confirmed by name; nothing was changed.
    #[error("not confirmed by name: {}; nothing was changed", .0.join(", "))]
    NotConfirmed(Vec<String>),
    /// A call that an earlier run left open could not be resolved; nothing was changed.
    #[error("a call of an earlier run could not be resolved: {0}")]
    Unresolved(String),
    /// Argo CD cannot be used as it is; nothing was changed.
    #[error("Argo CD: {0}")]
    ArgoCd(String),
    /// Nothing says what was applied last, so nothing can be put back.
    #[error(
        "{0}: nothing is recorded of it, so nobody knows what was applied last: use the state folder that made it (--state), or apply without --drift-only"
    )]
    NothingApplied(String),
    /// A state cannot be made from what is there, or an object not taken into one; why, and the way out. Nothing was changed.
    #[error("{0}")]
    Recovery(String),
    /// A written plan no longer fits.
    #[error("the plan is out of date: {0}; plan again")]
    PlanOutOfDate(String),
}

impl EngineError {
    /// A read that failed and on which everything depends.
    pub(super) fn of_read(error: crate::aws::error::CallError) -> Self {
        match error.service {
            "argocd" => {
                let way_out = super::failure::hint(&error).map(|hint| format!("; {hint}")).unwrap_or_default();
                Self::ArgoCd(format!("{}: {}: {}{way_out}", error.operation, error.code, error.message))
            }
            _ => Self::Read(error),
        }
    }

    /// Why there are no credentials, or that they are not accepted.
    pub fn of_caller(error: crate::aws::error::CallError) -> Self {
        super::clouds::caller_error(error)
    }

    /// The exit code of DESIGN section 8.
    pub fn exit_code(&self) -> u8 {
        match self {
            // The last is a name that the command line or a document gives.
            Self::Documents(_)
            | Self::Selector(_)
            | Self::NotConfirmed(_)
            | Self::NothingApplied(_)
            | Self::State(StateError::BadKey { .. }) => 4,
            Self::State(StateError::Locked { .. }) => 5,
            Self::Identity(_) | Self::State(StateError::Credentials { .. }) => 6,
            Self::Read(error) if error.class == crate::aws::error::ErrorClass::Credentials => 6,
            Self::State(_)
            | Self::Read(_)
            | Self::Refused(_)
            | Self::Unresolved(_)
            | Self::ArgoCd(_)
            | Self::Recovery(_)
            | Self::PlanOutOfDate(_) => 1,
        }
    }
}

/// `1 change`, `2 changes and 1 check`.
fn refusals(plan: &Plan) -> String {
    let counts = [(plan.summary.refused, "change"), (plan.refused_checks().count(), "check")];
    let parts: Vec<String> = counts.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(*count, noun)).collect();
    parts.join(" and ")
}

/// `1 change`, `2 changes`.
fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// What `status` says of one instance.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceStatus {
    /// `EksCluster`.
    pub kind: String,
    /// `argocd`.
    pub namespace: String,
    /// `workload-cluster1`.
    pub name: String,
    /// `ACTIVE`, `IN_PROGRESS`, `ERROR`, `DELETING`, or `DELETED` when nothing is recorded any more.
    pub state: String,
    /// The recorded status of the instance.
    pub status: Value,
    /// Who holds its lock, and since when; null: no run is going on.
    pub run: Option<Holding>,
    /// Its resources.
    pub resources: Vec<ResourceStatus>,
}

/// What `status` says of one resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceStatus {
    /// Where it sits.
    pub address: Address,
    /// Its kind.
    pub kind: String,
    /// What AWS knows it by.
    pub id: String,
    /// How far it came.
    pub phase: crate::state::file::Phase,
    /// Since when.
    pub since: chrono::DateTime<chrono::Utc>,
    /// The key.
    #[serde(skip)]
    pub identity: Identity,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::error::{CallError, ErrorClass};

    #[test]
    fn credentials_of_argo_cd_are_not_those_of_aws() {
        let refused = |service| CallError {
            service,
            operation: "ListClusters",
            class: ErrorClass::Credentials,
            code: "Unauthenticated".into(),
            message: "invalid session".into(),
            request_id: None,
        };
        let of_argocd = EngineError::of_read(refused("argocd"));
        assert_eq!((of_argocd.exit_code(), EngineError::of_read(refused("eks")).exit_code()), (1, 6));
        let text = of_argocd.to_string();
        assert!(text.starts_with("Argo CD: ListClusters: Unauthenticated: invalid session; "), "{text}");
        assert!(text.contains("not about the session with AWS"), "{text}");
    }

    #[test]
    fn counts_are_read_as_they_are_spoken() {
        assert_eq!([counted(1, "change"), counted(2, "change")], ["1 change", "2 changes"]);
    }
}
