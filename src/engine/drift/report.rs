//! What a look for drift comes to. Text, JSON and exit code are made of the same value.

use crate::engine::plan::Action;
use crate::engine::work::HeldBack;
use crate::graph::identity::Address;
use serde::Serialize;
use serde_json::Value;

/// The drift of one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftReport {
    /// Address of the instance.
    pub instance: Address,
    /// Its namespace.
    pub namespace: String,
    /// Whether there was a state to tell what was applied last.
    pub recorded: bool,
    /// What differs, in the order of the graph.
    pub findings: Vec<Finding>,
    /// What the documents want by now and nobody has applied yet: no drift.
    pub pending: Vec<Pending>,
    /// What could not be read, and why.
    pub unreadable: Vec<Unreadable>,
    /// What people should know beside.
    pub notes: Vec<String>,
    /// How many objects were looked at; those that could not be read are not among them.
    pub objects: usize,
    /// How long that took.
    pub seconds: f64,
}

impl DriftReport {
    /// Whether something has drifted; what AWS does by itself does not count.
    pub fn has_drift(&self) -> bool {
        self.findings.iter().any(|finding| finding.class != Class::Info)
    }

    /// The exit code: incomplete beats drift.
    pub fn exit_code(&self) -> u8 {
        match self {
            _ if !self.unreadable.is_empty() => 3,
            _ if self.has_drift() => 2,
            _ => 0,
        }
    }

    /// How many of each.
    pub fn summary(&self) -> DriftSummary {
        let count = |class| self.findings.iter().filter(|finding| finding.class == class).count();
        DriftSummary {
            changed: count(Class::Changed),
            missing: count(Class::Missing),
            info: count(Class::Info),
            pending: self.pending.len(),
            unreadable: self.unreadable.iter().map(|one| one.addresses.len()).sum(),
            objects: self.objects,
        }
    }
}

/// What kind of finding it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// It is there, and other than it was applied.
    Changed,
    /// It is not there.
    Missing,
    /// AWS's own doing, or others', which fleetctl leaves alone.
    Info,
}

/// What has drifted of one object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Where it sits.
    pub address: Address,
    /// `VPC`.
    pub kind: String,
    /// 12 digits.
    pub account: String,
    /// `us-west-2`.
    pub region: String,
    /// What AWS knows it by, or knew it by; `None`: nobody knows.
    pub id: Option<String>,
    /// What kind of finding it is.
    pub class: Class,
    /// What there is to say beside the fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The fields that differ.
    pub fields: Vec<FieldDrift>,
}

/// A field in three voices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldDrift {
    /// ACK field path: `spec.tags[Name]`.
    pub path: String,
    /// What the documents want; null: nothing.
    pub desired: Value,
    /// What was applied last; null: nothing. `None`, and absent in JSON: nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Value>,
    /// What is there; null: nothing.
    pub observed: Value,
}

/// What the documents want of one object and nobody has applied yet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pending {
    /// Where it sits.
    pub address: Address,
    /// Its kind.
    pub kind: String,
    /// What apply would do to it.
    pub action: Action,
    /// The fields of an update.
    pub fields: Vec<FieldDrift>,
}

/// What could not be read of one account and region.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unreadable {
    /// 12 digits.
    pub account: String,
    /// `us-west-2`.
    pub region: String,
    /// Why.
    pub reason: String,
    /// What is not known because of it.
    pub addresses: Vec<Address>,
}

/// How many of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DriftSummary {
    /// Objects that are other than they were applied.
    pub changed: usize,
    /// Objects that are not there.
    pub missing: usize,
    /// Objects that AWS or others have done something to.
    pub info: usize,
    /// Objects that the documents want changed.
    pub pending: usize,
    /// Objects that could not be read.
    pub unreadable: usize,
    /// Objects that were looked at.
    pub objects: usize,
}

impl Verdict {
    /// Whether not a single object was found, and all were looked for.
    pub(in crate::engine) fn nothing_is_there(&self) -> bool {
        let all_missing = self.findings.iter().all(|finding| finding.class == Class::Missing);
        all_missing && self.unreadable.is_empty() && self.findings.len() == self.objects
    }

    /// What was never applied is not missing: it waits to be made.
    pub(in crate::engine) fn never_applied(&mut self) {
        let wait = |finding: Finding| Pending {
            address: finding.address,
            kind: finding.kind,
            action: Action::Create,
            fields: Vec::new(),
        };
        self.pending.extend(self.findings.drain(..).map(wait));
    }
}

/// What judging comes to.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::engine) struct Verdict {
    pub(in crate::engine) findings: Vec<Finding>,
    pub(in crate::engine) pending: Vec<Pending>,
    pub(in crate::engine) unreadable: Vec<Unreadable>,
    /// How many objects were looked at.
    pub(in crate::engine) objects: usize,
    /// What has to stay as it is where only drift is put back.
    pub(in crate::engine) held_back: HeldBack,
}
