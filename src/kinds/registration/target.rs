//! The cluster that a registration is about, as EKS has it now, and how Argo CD gets there.

use super::secret::ClusterArn;
use crate::argocd::Reader;
use crate::argocd::product::{AccessRole, Product, Registering, ServerForm};
use crate::aws::error::CallError;
use crate::kinds::cluster::describe;
use crate::kinds::kind::{Readers, Subject};
use crate::kinds::shared::{fault, without_nulls};
use crate::state::hash::sha256;
use serde_json::{Value, json};

/// Annotation with the hash of what Argo CD never gives back of a configuration: the only way to see it drift.
pub(super) const CONFIG_HASH: &str = "fleetctl/config-hash";

/// Project of a registration that names none, where each has to have one.
const DEFAULT_PROJECT: &str = "default";

/// Where a cluster is reached, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The cluster's ARN.
    pub(super) arn: ClusterArn,
    /// Its endpoint, without a slash at the end: Argo CD takes `https://x/` for another server.
    pub(super) endpoint: String,
    /// Base64 of its certificate authority in PEM, as EKS gives it.
    pub(super) authority: String,
    /// How Argo CD gets there.
    pub(super) way: Way,
}

/// How Argo CD gets to a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// A self-managed Argo CD, with the AWS identity of its pods.
    SelfManaged {
        /// ARN of the role that it assumes first.
        role: Option<String>,
        /// The AWS profile that it uses.
        profile: Option<String>,
    },
    /// The Argo CD that EKS hosts.
    Hosted(ServerForm),
}

impl Way {
    /// The way that settings and Argo CD's product lead to, for one cluster.
    pub(super) fn of(product: Product, registering: &Registering, arn: &ClusterArn) -> Self {
        match product {
            Product::Hosted => Self::Hosted(registering.server_form),
            Product::SelfManaged => {
                let role = registering.role.as_ref().map(|role| match role {
                    AccessRole::Arn(arn) => arn.clone(),
                    AccessRole::Name(name) => format!("arn:{}:iam::{}:role/{name}", arn.partition, arn.account),
                });
                Self::SelfManaged { role, profile: registering.profile.clone() }
            }
        }
    }
}

impl Target {
    /// What a new registration gives as `server`.
    pub(super) fn server(&self) -> &str {
        match self.way {
            Way::Hosted(ServerForm::Arn) => &self.arn.arn,
            Way::Hosted(ServerForm::Endpoint) | Way::SelfManaged { .. } => &self.endpoint,
        }
    }

    /// Every `server` under which Argo CD may have this cluster.
    pub(super) fn servers(&self) -> Vec<&str> {
        match self.way {
            Way::SelfManaged { .. } => vec![&self.endpoint],
            Way::Hosted(_) => vec![&self.arn.arn, &self.endpoint],
        }
    }

    /// The `server` of a registration of this very cluster with which Argo CD cannot do anything.
    pub(super) fn useless_server(&self) -> Option<&str> {
        matches!(self.way, Way::SelfManaged { .. }).then_some(self.arn.arn.as_str())
    }

    /// Whether Argo CD may have given the cluster another `server` than it was sent.
    pub(super) fn is_hosted(&self) -> bool {
        matches!(self.way, Way::Hosted(_))
    }

    /// The project of a registration, given the one that is wanted: each of a hosted Argo CD has to have one.
    pub(super) fn project(&self, wanted: &str) -> String {
        if wanted.is_empty() && self.is_hosted() { DEFAULT_PROJECT.to_owned() } else { wanted.to_owned() }
    }

    /// `config` of Argo CD's cluster.
    pub(super) fn config(&self) -> Value {
        let mut config = self.readable_config();
        if self.has_authority() {
            config["tlsClientConfig"] = json!({ "insecure": false, "caData": self.authority });
        }
        config
    }

    /// The part of `config` that Argo CD gives back. A self-managed one wants the cluster's name, the hosted one its ARN.
    pub(super) fn readable_config(&self) -> Value {
        match &self.way {
            Way::Hosted(_) => json!({ "awsAuthConfig": { "clusterName": self.arn.arn } }),
            Way::SelfManaged { role, profile } => without_nulls(json!({
                "awsAuthConfig": { "clusterName": self.arn.name, "roleARN": role, "profile": profile },
            })),
        }
    }

    /// The hash of the part that it does not give back, if there is such a part.
    pub(super) fn hash(&self) -> Option<String> {
        self.has_authority().then(|| sha256(&self.authority))
    }

    fn has_authority(&self) -> bool {
        self.way != Way::Hosted(ServerForm::Arn)
    }
}

/// The part of a configuration that is compared: how Argo CD gets its tokens.
pub(super) fn readable(config: &Value) -> Value {
    json!({ "awsAuthConfig": config["awsAuthConfig"] })
}

/// Reads the cluster of an ARN. `None`: it is not there, or not up yet. Another cluster of that name, in another account
/// or region than the ARN's, is an error.
pub(super) async fn read(
    readers: &Readers,
    argocd: &Reader,
    subject: &Subject,
    arn: &ClusterArn,
) -> Result<Option<Target>, CallError> {
    let Some(cluster) = describe(&readers.eks, &arn.name).await? else {
        let here = (arn.account.as_str(), arn.region.as_str());
        let place = (subject.identity.account.as_str(), subject.identity.region.as_str());
        return if here == place { Ok(None) } else { Err(elsewhere(arn, place.0, place.1)) };
    };
    if let Some(found) = cluster.arn().filter(|found| *found != arn.arn) {
        let message = format!("the registration's server is {}, but the cluster that was found is {found}", arn.arn);
        return Err(fault("eks", "DescribeCluster", "OtherCluster", message));
    }
    let way = Way::of(argocd.product().await?, argocd.registering(), arn);
    let authority = cluster.certificate_authority().and_then(|authority| authority.data());
    Ok(target(arn, cluster.endpoint(), authority, way))
}

fn target(arn: &ClusterArn, endpoint: Option<&str>, authority: Option<&str>, way: Way) -> Option<Target> {
    let endpoint = endpoint?.trim_end_matches('/').to_owned();
    let authority = authority?.to_owned();
    let complete = !endpoint.is_empty() && !authority.is_empty();
    complete.then(|| Target { arn: arn.clone(), endpoint, authority, way })
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
pub(super) mod tests {
    use super::*;

    const ARN: &str = "arn:aws:eks:us-west-2:111122223333:cluster/one";

    fn arn() -> ClusterArn {
        ClusterArn::parse(ARN).unwrap()
    }

    /// A self-managed Argo CD without a role of its own.
    pub(in crate::kinds::registration) fn plain() -> Way {
        Way::SelfManaged { role: None, profile: None }
    }

    fn at(way: Way) -> Target {
        target(&arn(), Some("https://x/"), Some("Q0E="), way).unwrap()
    }

    #[test]
    fn a_target_needs_endpoint_and_authority() {
        assert_eq!(at(plain()).endpoint, "https://x");
        assert_eq!(target(&arn(), None, Some("Q0E="), plain()), None);
        assert_eq!(target(&arn(), Some("https://x"), None, plain()), None);
        assert_eq!(target(&arn(), Some("https://x"), Some(""), plain()), None);
    }

    #[test]
    fn a_self_managed_argo_cd_gets_endpoint_authority_and_name() {
        let target = at(plain());
        assert_eq!(target.server(), "https://x");
        assert_eq!((target.servers(), target.useless_server()), (vec!["https://x"], Some(ARN)));
        assert_eq!(
            target.config(),
            json!({
                "awsAuthConfig": {"clusterName": "one"},
                "tlsClientConfig": {"insecure": false, "caData": "Q0E="},
            })
        );
        let given_back = json!({"awsAuthConfig": {"clusterName": "one"}, "tlsClientConfig": {"insecure": false}});
        assert_eq!(readable(&given_back), target.readable_config());
        let other = Target { authority: "Q0I=".into(), ..target.clone() };
        assert!(target.hash().is_some() && other.hash() != target.hash());
        assert_eq!((target.project(""), target.project("p")), (String::new(), "p".into()));
    }

    #[test]
    fn a_role_is_the_same_for_all_or_one_of_each_account() {
        let way = |role, profile: Option<&str>| {
            let registering = Registering { role, profile: profile.map(Into::into), ..Registering::default() };
            at(Way::of(Product::SelfManaged, &registering, &arn())).readable_config()["awsAuthConfig"].take()
        };
        let hub = "arn:aws:iam::999999999999:role/hub";
        assert_eq!(way(Some(AccessRole::Arn(hub.into())), None), json!({"clusterName": "one", "roleARN": hub}));
        assert_eq!(
            way(Some(AccessRole::Name("argocd".into())), Some("fleet")),
            json!({"clusterName": "one", "roleARN": "arn:aws:iam::111122223333:role/argocd", "profile": "fleet"})
        );
    }

    #[test]
    fn a_hosted_argo_cd_gets_the_arn() {
        let target = at(Way::Hosted(ServerForm::Arn));
        assert_eq!((target.server(), target.servers(), target.useless_server()), (ARN, vec![ARN, "https://x"], None));
        assert_eq!(target.config(), json!({"awsAuthConfig": {"clusterName": ARN}}));
        assert_eq!((target.hash(), target.project("")), (None, "default".into()));
        let as_the_command_line = at(Way::Hosted(ServerForm::Endpoint));
        assert_eq!(as_the_command_line.server(), "https://x");
        assert_eq!(
            as_the_command_line.config(),
            json!({"awsAuthConfig": {"clusterName": ARN}, "tlsClientConfig": {"insecure": false, "caData": "Q0E="}})
        );
        assert!(as_the_command_line.hash().is_some());
    }
}
