//! `spec` of a Role.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// `spec` of a Role, with ACK's field names. Everything is optional here: what is known of a document that still waits
/// for others is read with it too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct RoleSpec {
    /// IAM's `RoleName`.
    pub(super) name: Option<String>,
    /// Who may assume the role.
    pub(super) assume_role_policy_document: Option<String>,
    pub(super) description: Option<String>,
    /// Seconds.
    pub(super) max_session_duration: Option<i32>,
    pub(super) path: Option<String>,
    /// ARN of the policy that bounds the role.
    pub(super) permissions_boundary: Option<String>,
    /// Not carried out.
    #[serde(skip_serializing)]
    pub(super) permissions_boundary_ref: Option<Value>,
    /// ARNs of the policies attached.
    pub(super) policies: Option<Vec<String>>,
    /// Not carried out.
    #[serde(skip_serializing)]
    pub(super) policy_refs: Option<Value>,
    /// Policy documents by name.
    pub(super) inline_policies: Option<BTreeMap<String, String>>,
    /// Read by [`crate::kinds::tags`].
    pub(super) tags: Option<Value>,
}
