//! The objects of an instance, with everything that makes them ours.

use super::api::EngineSettings;
use super::report::EngineError;
use crate::graph::identity::{Address, Identity};
use crate::kinds::catalog;
use crate::kinds::kind::{Kind, Marks, Subject};
use crate::state::error::StateError;
use crate::state::file::{InstanceKey, RoleUsed};

/// What the objects of one instance have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Common<'a> {
    /// Settings.
    pub settings: &'a EngineSettings,
    /// The instance.
    pub instance: &'a InstanceKey,
    /// Lineage of its state.
    pub lineage: &'a str,
    /// `aws`, `aws-cn`, `aws-us-gov`.
    pub partition: &'a str,
}

impl Common<'_> {
    /// One of its objects.
    pub(super) fn subject(
        &self,
        identity: &Identity,
        address: &Address,
        role: Option<&RoleUsed>,
        dependencies: Vec<Identity>,
    ) -> Subject {
        let marks = Marks { lineage: self.lineage.to_owned(), instance: marked(self.instance), address: address.to_string() };
        Subject {
            identity: identity.clone(),
            address: address.clone(),
            partition: self.partition.to_owned(),
            role: role.cloned(),
            marks,
            default_tags: self.settings.default_tags.clone(),
            role_path: self.settings.role_path.clone(),
            permissions_boundary: self.settings.permissions_boundary.clone(),
            dependencies,
        }
    }
}

/// An instance as objects bear it in their marks.
pub(super) fn marked(instance: &InstanceKey) -> String {
    format!("{}/{}/{}", instance.namespace, instance.kind, instance.name)
}

/// The kind of something recorded or placed.
pub(super) fn known_kind(identity: &Identity, instance: &InstanceKey) -> Result<&'static dyn Kind, EngineError> {
    catalog::kind(&identity.api_version, &identity.kind).ok_or_else(|| {
        let reason = format!("it records a {} ({}), which this fleetctl does not carry out", identity.kind, identity.api_version);
        EngineError::State(StateError::Damaged { key: instance.store_key(), reason })
    })
}
