//! Identities and addresses: what everything recorded is keyed by, and where it sits.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The key of everything recorded: apiVersion, kind, namespace and name of the rendered object, with account and
/// region. An id in a definition may be renamed without the identity changing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// `ec2.services.k8s.aws/v1alpha1`.
    pub api_version: String,
    /// `VPC`.
    pub kind: String,
    /// Namespace of the rendered object; empty for cluster-scoped kinds.
    #[serde(default)]
    pub namespace: String,
    /// `metadata.name` of the rendered object.
    pub name: String,
    /// The 12-digit account that owns the object.
    pub account: String,
    /// The region it is in; IAM objects keep the one they were rendered for.
    pub region: String,
}

impl Identity {
    /// Whether it is a Secret. Of those only registrations with Argo CD are carried out.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.api_version == "v1" && self.kind == "Secret"
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}/{} ({}, {})", self.kind, self.namespace, self.name, self.account, self.region)
    }
}

/// Where a resource sits, for people and tags: `EksCluster/workload-cluster1/vpc/natGateway1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Address(pub String);

impl Address {
    /// The address of a top-level instance.
    #[must_use]
    pub fn root(kind: &str, name: &str) -> Self {
        Self(format!("{kind}/{name}"))
    }

    /// The address of a resource below this one, by its id in the definition.
    #[must_use]
    pub fn child(&self, id: &str) -> Self {
        Self(format!("{}/{id}", self.0))
    }

    /// The address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
