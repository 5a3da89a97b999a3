//! The clusters that are recorded, for those who want to talk to their Kubernetes API.

use super::api::Engine;
use super::apply::Site;
use super::report::EngineError;
use crate::state::error::StateError;
use crate::state::file::{InstanceKey, Phase, Record, RoleUsed};
use crate::state::session;
use serde_json::Value;

/// What the apiVersion of an EKS cluster begins with.
const EKS: &str = "eks.services.k8s.aws/";

/// A cluster that is recorded.
#[derive(Debug, Clone)]
pub struct RecordedCluster {
    /// The top-level instance that it belongs to.
    pub instance: InstanceKey,
    /// What EKS knows it by.
    pub name: String,
    /// 12 digits.
    pub account: String,
    /// `us-west-2`.
    pub region: String,
    /// The role that reaches its account; `None` for the caller's own credentials.
    pub role: Option<RoleUsed>,
    /// How far it came.
    pub phase: Phase,
    /// How to reach it, as far as it is recorded.
    pub access: Option<Access>,
    lineage: String,
    record: Record,
}

/// What a client of the Kubernetes API has to know of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// `arn:aws:eks:us-west-2:222222222222:cluster/workload-cluster1`.
    pub arn: String,
    /// `https://….eks.amazonaws.com`.
    pub endpoint: String,
    /// Base64 of the PEM of its certificate authority.
    pub certificate_authority: String,
}

impl Access {
    /// Out of a Cluster's status in ACK's shape; `None` while something of it is missing.
    fn of(status: &Value) -> Option<Self> {
        let text = |pointer| status.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        Some(Self {
            arn: text("/ackResourceMetadata/arn")?.to_owned(),
            endpoint: text("/endpoint")?.to_owned(),
            certificate_authority: text("/certificateAuthority/data")?.to_owned(),
        })
    }
}

impl Engine {
    /// Every cluster that is recorded, without any call; and what is wrong with the states that cannot be read.
    pub async fn clusters(&self) -> Result<(Vec<RecordedCluster>, Vec<StateError>), EngineError> {
        let (mut clusters, mut unreadable) = (Vec::new(), Vec::new());
        for (_, state) in session::read_each(self.store.as_ref()).await? {
            match state {
                Ok(state) => {
                    let records = state.resources.iter().filter(|record| is_cluster(record));
                    clusters.extend(records.map(|record| recorded(&state.instance, &state.lineage, record)));
                }
                Err(error) => unreadable.push(error),
            }
        }
        Ok((clusters, unreadable))
    }

    /// Asks EKS how to reach a cluster. `None` if it is not there, or does not answer yet.
    pub async fn read_access(&self, cluster: &RecordedCluster) -> Result<Option<Access>, EngineError> {
        let site = Site::of(self, cluster.instance.clone()).await?;
        let item = site.recorded_item(&cluster.record, &cluster.lineage).await?;
        let observed = item.kind.read(&item.cloud.readers, &item.subject, &cluster.record).await;
        Ok(observed.map_err(EngineError::of_read)?.and_then(|observed| Access::of(&observed.status)))
    }
}

fn is_cluster(record: &Record) -> bool {
    record.identity.kind == "Cluster" && record.identity.api_version.starts_with(EKS)
}

fn recorded(instance: &InstanceKey, lineage: &str, record: &Record) -> RecordedCluster {
    RecordedCluster {
        instance: instance.clone(),
        name: record.id.clone(),
        account: record.identity.account.clone(),
        region: record.identity.region.clone(),
        role: record.role.clone(),
        phase: record.phase,
        access: Access::of(&record.status),
        lineage: lineage.to_owned(),
        record: record.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cluster_without_an_endpoint_cannot_be_reached_yet() {
        let mut status = json!({
            "ackResourceMetadata": {"arn": "arn:aws:eks:us-west-2:222222222222:cluster/one"},
            "endpoint": "https://one.example.com",
            "certificateAuthority": {"data": "LS0t"},
        });
        assert_eq!(Access::of(&status).unwrap().endpoint, "https://one.example.com");
        status["endpoint"] = json!("");
        assert_eq!(Access::of(&status), None);
    }
}

/// Clusters for tests.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::graph::identity::{Address, Identity};
    use chrono::DateTime;
    use serde_json::json;

    /// A cluster of `EksCluster/<instance>` that is ready.
    pub(crate) fn cluster(namespace: &str, instance: &str, name: &str) -> RecordedCluster {
        let text = |text: &str| text.to_owned();
        let (account, region) = (text("222222222222"), text("us-west-2"));
        let key = InstanceKey {
            api_version: text("kro.run/v1alpha1"),
            kind: text("EksCluster"),
            namespace: text(namespace),
            name: text(instance),
        };
        let since = DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default();
        let record = Record {
            identity: Identity {
                api_version: text("eks.services.k8s.aws/v1alpha1"),
                kind: text("Cluster"),
                namespace: text(name),
                name: text(name),
                account,
                region,
            },
            address: Address::root("EksCluster", instance).child("cluster"),
            role: None,
            id: text(name),
            phase: Phase::Ready,
            applied: json!({}),
            status: json!({
                "ackResourceMetadata": {"arn": format!("arn:aws:eks:us-west-2:222222222222:cluster/{name}")},
                "endpoint": format!("https://{name}.example.com"),
                "certificateAuthority": {"data": "LS0t"},
            }),
            dependencies: Vec::new(),
            adopted: false,
            since,
            created_at: since,
            wait: None,
        };
        recorded(&key, "lineage", &record)
    }
}
