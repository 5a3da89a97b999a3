//! The cluster that a registration is about, as EKS has it now, and how Argo CD gets there.

use super::secret::ClusterArn;
use crate::aws::eks::Reader;
use crate::aws::error::CallError;
use crate::kinds::cluster::describe;
use crate::kinds::kind::Subject;
use crate::kinds::shared::fault;
use crate::state::hash::sha256;
use serde_json::{Value, json};

/// Annotation with the hash of what Argo CD never gives back of a configuration: the only way to see it drift.
pub(super) const CONFIG_HASH: &str = "fleetctl/config-hash";

/// Where a cluster is reached, by a self-managed Argo CD with an AWS identity of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The cluster's name, which goes into the tokens that Argo CD makes.
    pub(super) cluster: String,
    /// Its endpoint, without a slash at the end: Argo CD takes `https://x/` for another server.
    pub(super) server: String,
    /// Base64 of its certificate authority in PEM, as EKS gives it.
    pub(super) authority: String,
}

impl Target {
    /// `config` of Argo CD's cluster: `awsAuthConfig` wants the name, not the ARN.
    pub(super) fn config(&self) -> Value {
        json!({
            "awsAuthConfig": { "clusterName": self.cluster },
            "tlsClientConfig": { "insecure": false, "caData": self.authority },
        })
    }

    /// The part of `config` that Argo CD gives back.
    pub(super) fn readable_config(&self) -> Value {
        json!({ "awsAuthConfig": { "clusterName": self.cluster } })
    }

    /// The hash of the part that it does not give back.
    pub(super) fn hash(&self) -> String {
        sha256(&self.authority)
    }
}

/// The part of a configuration that is compared: how Argo CD gets its tokens.
pub(super) fn readable(config: &Value) -> Value {
    json!({ "awsAuthConfig": config["awsAuthConfig"] })
}

/// Reads the cluster of an ARN. `None`: it is not there, or not up yet. Another cluster of that name, in another account
/// or region than the ARN's, is an error.
pub(super) async fn read(eks: &Reader, subject: &Subject, arn: &ClusterArn) -> Result<Option<Target>, CallError> {
    let Some(cluster) = describe(eks, &arn.name).await? else {
        let here = (arn.account.as_str(), arn.region.as_str());
        let place = (subject.identity.account.as_str(), subject.identity.region.as_str());
        return if here == place { Ok(None) } else { Err(elsewhere(arn, place.0, place.1)) };
    };
    if let Some(found) = cluster.arn().filter(|found| *found != arn.arn) {
        let message = format!("the registration's server is {}, but the cluster that was found is {found}", arn.arn);
        return Err(fault("eks", "DescribeCluster", "OtherCluster", message));
    }
    let authority = cluster.certificate_authority().and_then(|authority| authority.data());
    Ok(target(&arn.name, cluster.endpoint(), authority))
}

fn target(cluster: &str, endpoint: Option<&str>, authority: Option<&str>) -> Option<Target> {
    let server = endpoint?.trim_end_matches('/').to_owned();
    let authority = authority?.to_owned();
    let complete = !server.is_empty() && !authority.is_empty();
    complete.then(|| Target { cluster: cluster.to_owned(), server, authority })
}

fn elsewhere(arn: &ClusterArn, account: &str, region: &str) -> CallError {
    let message = format!(
        "the registration's server is {}, but the registration is placed in account {account}, region {region}, where no \
         cluster {} is",
        arn.arn, arn.name
    );
    fault("eks", "DescribeCluster", "OtherAccount", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_needs_endpoint_and_authority() {
        let found = target("one", Some("https://ABC.gr7.us-west-2.eks.amazonaws.com/"), Some("Q0E=")).unwrap();
        assert_eq!(found.server, "https://ABC.gr7.us-west-2.eks.amazonaws.com");
        assert_eq!(target("one", None, Some("Q0E=")), None);
        assert_eq!(target("one", Some("https://x"), None), None);
        assert_eq!(target("one", Some("https://x"), Some("")), None);
    }

    #[test]
    fn the_configuration_is_for_an_argo_cd_with_an_identity() {
        let target = Target { cluster: "one".into(), server: "https://x".into(), authority: "Q0E=".into() };
        assert_eq!(
            target.config(),
            json!({
                "awsAuthConfig": {"clusterName": "one"},
                "tlsClientConfig": {"insecure": false, "caData": "Q0E="},
            })
        );
        let given_back = json!({"awsAuthConfig": {"clusterName": "one"}, "tlsClientConfig": {"insecure": false}});
        assert_eq!(readable(&given_back), target.readable_config());
        assert_eq!(target.hash().len(), 64);
        let other = Target { authority: "Q0I=".into(), ..target.clone() };
        assert_ne!(other.hash(), target.hash());
    }
}
