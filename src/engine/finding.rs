//! What a check before anything is changed has found.

use crate::graph::identity::{Address, Identity};
use serde::{Deserialize, Serialize};

/// Something that a check has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The object that it is about.
    pub address: Address,
    /// `Cluster`.
    pub kind: String,
    /// 12 digits.
    pub account: String,
    /// `us-west-2`.
    pub region: String,
    /// What is wrong, with what was asked for and what there is.
    pub text: String,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way_out: Option<String>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// AWS would refuse it, or what comes out would not work: nothing at all is changed.
    Refused,
    /// It works, and somebody should know.
    Warning,
    /// Something was not checked, and why.
    Note,
}

impl Finding {
    /// A finding about an object.
    pub(crate) fn new(severity: Severity, address: &Address, identity: &Identity, text: impl Into<String>) -> Self {
        Self {
            severity,
            address: address.clone(),
            kind: identity.kind.clone(),
            account: identity.account.clone(),
            region: identity.region.clone(),
            text: text.into(),
            way_out: None,
        }
    }

    /// The same with what can be done about it.
    pub(super) fn way_out(mut self, text: impl Into<String>) -> Self {
        self.way_out = Some(text.into());
        self
    }
}
