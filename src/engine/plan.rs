//! Plans: the changes between what is recorded and observed and what is wanted.

use super::finding::{Finding, Severity};
use crate::graph::identity::{Address, Identity};
use crate::state::file::DefinitionsUsed;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A plan for one instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Who, where, by which role.
    pub header: Header,
    /// One entry a resource, in the order of the graph; deletions last.
    pub changes: Vec<Change>,
    /// Objects that fleetctl knows but does not carry out.
    pub not_carried_out: Vec<NotCarriedOut>,
    /// How many of each.
    pub summary: Summary,
    /// Calls of an earlier run that were left open and will be resolved first.
    pub open_calls: Vec<String>,
    /// What lives on clusters whose registration with Argo CD goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<Applications>,
    /// What may go wrong later, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What the checks have found; see [`super::api::Engine::check`].
    #[serde(default)]
    pub checks: Vec<Finding>,
}

/// Applications of Argo CD that live on a cluster whose registration goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Applications {
    /// The registration.
    pub address: Address,
    /// The cluster's name in Argo CD; empty if Argo CD could not be asked.
    pub cluster: String,
    /// How many; null if that is not known.
    pub count: Option<u64>,
    /// Their names, as far as the token may see them.
    pub names: Vec<String>,
    /// Why the number is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// They are removed before anything else is.
    pub drained: bool,
}

impl Applications {
    /// Whether somebody has to confirm that what they made may stay behind.
    pub fn left_behind(&self) -> bool {
        !self.drained && self.count.is_some_and(|count| count > 0)
    }
}

impl std::fmt::Display for Applications {
    /// `3 Applications live on workload-cluster1 (a, b, c)`.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cluster, count, names, reason, .. } = self;
        match (count, reason) {
            (Some(1), _) => write!(formatter, "1 Application lives on {cluster}")?,
            (Some(count), _) => write!(formatter, "{count} Applications live on {cluster}")?,
            (None, Some(reason)) => write!(formatter, "how many Applications live on it is not known: {reason}")?,
            (None, None) => formatter.write_str("how many Applications live on it is not known")?,
        }
        if names.is_empty() { Ok(()) } else { write!(formatter, " ({})", names.join(", ")) }
    }
}

/// Who, where, by which role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Address of the instance.
    pub instance: Address,
    /// ARN of the caller.
    pub caller: String,
    /// One entry per account and region.
    pub targets: Vec<Target>,
    /// The definitions used, when they differ from the recorded ones: (recorded, now).
    pub definitions_changed: Option<(DefinitionsUsed, DefinitionsUsed)>,
    /// The definitions used.
    pub definitions: DefinitionsUsed,
    /// Lineage and serial of the state that was read; empty and 0 for one with which nothing was ever done.
    pub lineage: String,
    /// See `lineage`.
    pub serial: u64,
}

impl Header {
    /// Whether no state of the instance was ever used: then nothing that it has made is ours.
    pub(super) fn is_of_unused_state(&self) -> bool {
        self.lineage.is_empty()
    }
}

/// An account and region, and how it is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// 12 digits.
    pub account: String,
    /// `us-west-2`.
    pub region: String,
    /// The role's ARN; `None` for the caller's own credentials.
    pub role: Option<String>,
    /// Where the role comes from: `IAMRoleSelector workload-cluster1`, `fleetctl.yaml`, `the caller's own account`.
    pub because: String,
}

/// What will be done to one resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Where it sits.
    pub address: Address,
    /// `VPC`.
    pub kind: String,
    /// 12 digits.
    pub account: String,
    /// `us-west-2`.
    pub region: String,
    /// What will be done.
    pub action: Action,
    /// Why; for `none` with something left to wait for, what that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What AWS knows it by, if it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The differences, field by field.
    pub fields: Vec<FieldDifference>,
    /// The key.
    pub identity: Identity,
    /// It removes or replaces a cluster, VPC or role: has to be confirmed by name.
    #[serde(default)]
    pub by_name: bool,
    /// Nothing has to be changed, but it is not ready yet: the run waits for it.
    #[serde(default)]
    pub waits: bool,
    /// It could not be read, so whether it would change, or is there at all, is not known; `reason` says why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unread: bool,
    /// It is ours already: it is only recorded anew, until now as this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_as: Option<String>,
    /// Why a run will not reach it, if that is known: there is no Argo CD to register with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreached: Option<String>,
}

/// What will be done to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It will be made.
    Create,
    /// It is there, is ours, and will be recorded.
    Adopt,
    /// It will be changed in place.
    Update,
    /// It will be removed and made anew.
    Replace,
    /// It will be removed.
    Delete,
    /// Nothing.
    None,
    /// What is wanted is refused; nothing at all is changed.
    Refused,
}

/// A difference in one field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldDifference {
    /// ACK field path: `spec.tags[Name]`.
    pub path: String,
    /// What is there.
    pub before: Value,
    /// What is wanted; null when unknown.
    pub after: Value,
    /// The value is known only after apply: the expression that gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// An object that is known but not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotCarriedOut {
    /// Where it sits.
    pub address: Address,
    /// Its kind.
    pub kind: String,
    /// Why.
    pub reason: String,
}

/// How many of each action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// To be made.
    pub create: usize,
    /// To be recorded.
    pub adopt: usize,
    /// To be changed.
    pub update: usize,
    /// To be made anew.
    pub replace: usize,
    /// To be removed.
    pub delete: usize,
    /// Unchanged.
    pub none: usize,
    /// Refused.
    pub refused: usize,
}

impl Summary {
    /// Counts.
    pub fn of(changes: &[Change]) -> Self {
        let mut summary = Self::default();
        for change in changes {
            *match change.action {
                Action::Create => &mut summary.create,
                Action::Adopt => &mut summary.adopt,
                Action::Update => &mut summary.update,
                Action::Replace => &mut summary.replace,
                Action::Delete => &mut summary.delete,
                Action::None => &mut summary.none,
                Action::Refused => &mut summary.refused,
            } += 1;
        }
        summary
    }
}

impl Change {
    /// A change of which nothing more is known.
    pub fn new(action: Action, address: &Address, identity: &Identity) -> Self {
        Self {
            address: address.clone(),
            kind: identity.kind.clone(),
            account: identity.account.clone(),
            region: identity.region.clone(),
            action,
            reason: None,
            id: None,
            fields: Vec::new(),
            identity: identity.clone(),
            by_name: false,
            waits: false,
            unread: false,
            recorded_as: None,
            unreached: None,
        }
    }

    /// It could not be read in this run, although it might have been: an apply stops at that.
    pub(super) fn mark_unread(&mut self) {
        self.unread = true;
        if let (Action::Create, Some(reason)) = (self.action, &self.unreached) {
            self.reason = Some(format!("not read, so it may be there already: {reason}"));
        }
    }
}

impl Plan {
    /// Whether a run would do nothing: no change, nothing to wait for, nothing to resolve.
    pub fn is_empty(&self) -> bool {
        self.open_calls.is_empty() && self.changes.iter().all(|change| change.action == Action::None && !change.waits)
    }

    /// What the checks refuse.
    pub fn refused_checks(&self) -> impl Iterator<Item = &Finding> {
        self.checks.iter().filter(|finding| finding.severity == Severity::Refused)
    }

    /// Whether anything is refused: then nothing at all is changed.
    pub fn is_refused(&self) -> bool {
        self.summary.refused > 0 || self.refused_checks().next().is_some()
    }

    /// Whether everything could be read that would have to be.
    pub fn is_complete(&self) -> bool {
        !self.changes.iter().any(|change| change.unread)
    }

    /// Addresses of removals and replacements that have to be confirmed by name and are not.
    pub fn unconfirmed(&self, confirmed: &[String]) -> Vec<String> {
        self.changes
            .iter()
            .filter(|change| change.by_name && !confirmed.iter().any(|address| address == change.address.as_str()))
            .map(|change| change.address.to_string())
            .collect()
    }
}
