//! Which Argo CD it is, and what settings say of how clusters are registered with it.

use std::time::Duration;

/// How long Argo CD may be refused by a cluster whose access entry is not effective yet, unless settings say otherwise.
pub const PATIENCE: Duration = Duration::from_mins(5);

/// What the version of the Argo CD that EKS hosts has in it: `v3.2.7+eks-1`.
const HOSTED_VERSION: &str = "+eks-";
/// What stands in the addresses of the Argo CD that EKS hosts: `name-0123abcd-111122223333.eks-capabilities.us-west-2.…`.
const HOSTED_ADDRESS: &str = ".eks-capabilities.";

/// Which Argo CD it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// Argo CD itself, wherever it runs: it takes a cluster's endpoint and certificate authority.
    SelfManaged,
    /// The capability that EKS hosts: it takes a cluster's ARN.
    Hosted,
}

impl Product {
    /// Which one a version is of.
    pub fn of_version(version: &str) -> Self {
        if version.contains(HOSTED_VERSION) { Self::Hosted } else { Self::SelfManaged }
    }

    /// Which one an address is of, where it tells.
    pub(super) fn of_address(base: &str) -> Option<Self> {
        base.contains(HOSTED_ADDRESS).then_some(Self::Hosted)
    }
}

/// What the Argo CD that EKS hosts is given as a cluster's `server`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerForm {
    /// The cluster's ARN, as its own Secrets have it.
    #[default]
    Arn,
    /// The cluster's endpoint, as `argocd cluster add --aws-cluster-name ARN` sends it.
    Endpoint,
}

/// The role that a self-managed Argo CD assumes before it makes a token for a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessRole {
    /// This one, for every cluster.
    Arn(String),
    /// The one of this name in the cluster's account.
    Name(String),
}

/// What settings say of how clusters are registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registering {
    /// Which Argo CD it is; `None`: its address or its version tells.
    pub product: Option<Product>,
    /// What a hosted one is given as `server`.
    pub server_form: ServerForm,
    /// The role that a self-managed one assumes; `None`: the identity of its pods.
    pub role: Option<AccessRole>,
    /// The AWS profile that a self-managed one uses.
    pub profile: Option<String>,
    /// How long it may be refused by a cluster whose access entry is not effective yet.
    pub patience: Duration,
}

impl Default for Registering {
    fn default() -> Self {
        Self { product: None, server_form: ServerForm::Arn, role: None, profile: None, patience: PATIENCE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosted_one_is_told_by_version_or_address() {
        assert_eq!(Product::of_version("v3.2.7+eks-1"), Product::Hosted);
        assert_eq!(Product::of_version("v3.5.1+109ca7c"), Product::SelfManaged);
        let address = "https://argocd-0a1b2c3d-111122223333.eks-capabilities.us-west-2.amazonaws.com";
        assert_eq!(Product::of_address(address), Some(Product::Hosted));
        assert_eq!(Product::of_address("https://argocd.example.com"), None);
    }
}
