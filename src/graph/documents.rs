//! The documents that users write: instances, IAMRoleSelectors and Namespaces.

use super::definition::Definitions;
use super::diagnostic::{Diagnostic, Location};
use super::yaml::Node;
use indexmap::IndexMap;
use serde_json::Value;

/// What a set of user documents holds.
#[derive(Debug, Default)]
pub struct Documents {
    /// Instances, in the order they were written.
    pub instances: Vec<Instance>,
    /// IAMRoleSelectors.
    pub selectors: Vec<RoleSelector>,
    /// Namespaces by name.
    pub namespaces: IndexMap<String, Namespace>,
    /// Graph definitions that stood among them, to be added to those in use.
    pub definitions: Vec<Node>,
}

/// An instance of a graph definition, with defaults applied.
#[derive(Debug, Clone)]
pub struct Instance {
    /// `kro.run/v1alpha1`.
    pub api_version: String,
    /// `EksCluster`.
    pub kind: String,
    /// `metadata.namespace`, or `default`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// The whole object, its spec after defaulting.
    pub object: Value,
    /// The document.
    pub node: Node,
}

/// An IAMRoleSelector (`services.k8s.aws/v1alpha1`).
#[derive(Debug, Clone)]
pub struct RoleSelector {
    /// `metadata.name`.
    pub name: String,
    /// The role to assume.
    pub arn: String,
    /// Namespace names; empty matches all.
    pub namespaces: Vec<String>,
    /// Labels that the namespace must have.
    pub namespace_labels: IndexMap<String, String>,
    /// Types: group, version, kind; an empty text matches all.
    pub resource_types: Vec<ResourceType>,
    /// Labels that the object must have.
    pub resource_labels: IndexMap<String, String>,
    /// Where it stands.
    pub location: Location,
}

/// One entry of `resourceTypeSelector`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceType {
    /// API group, or empty.
    pub group: String,
    /// Version, or empty.
    pub version: String,
    /// Kind, or empty.
    pub kind: String,
}

/// A Namespace: what ACK reads from it.
#[derive(Debug, Clone, Default)]
pub struct Namespace {
    /// Labels.
    pub labels: IndexMap<String, String>,
    /// Annotations (`services.k8s.aws/default-region`, `services.k8s.aws/owner-account-id`).
    pub annotations: IndexMap<String, String>,
}

impl Documents {
    /// Sorts and checks user documents: unknown kinds, instances against the schema of their definition (defaults
    /// applied), selectors by ACK's own rules (ack.md 2.1). Two documents of one identity are an error.
    pub fn load(_documents: &[Node], _definitions: &Definitions) -> (Self, Vec<Diagnostic>) {
        todo!()
    }
}
