//! A cluster as EKS has it, in ACK's shape.

use super::spec::{
    AccessConfig, ApiServerConfig, AutoscalerConfig, ClusterSpec, ComputeConfig, ControllerManagerConfig, EncryptionConfig,
    LogSetup, Logging, NetworkConfig, PortRange, Provider, RemoteNetwork, RemoteNetworkConfig, ResourceWeight, ResourcesFit,
    ScalingConfig, SchedulerConfig, ScoringStrategy, StorageConfig, Switch, UpgradePolicy, VpcConfig,
};
use crate::aws::error::CallError;
use crate::aws::tags::of_eks;
use crate::kinds::eks;
use crate::kinds::kind::{Observed, Readiness, Subject};
use crate::kinds::shared::{metadata, moment, tags_as_map, without_nulls};
use aws_sdk_eks::types::{
    Certificate, Cluster, ClusterHealth, ClusterIssueCode, ClusterStatus, Identity, Oidc, VpcConfigResponse,
};
use serde_json::{Value, json};

/// `DescribeCluster`; `None` when EKS has no cluster of that name.
pub(in crate::kinds) async fn describe(eks: &crate::aws::eks::Reader, name: &str) -> Result<Option<Cluster>, CallError> {
    eks.cluster(name).await
}

/// The observed object.
pub(super) fn observed(subject: &Subject, cluster: &Cluster) -> Observed {
    let tags = of_eks(cluster.tags());
    let spec = ClusterSpec { tags: tags_as_map(&tags), ..spec_of(cluster) };
    Observed {
        id: cluster.name().unwrap_or_default().to_owned(),
        spec: without_nulls(serde_json::to_value(spec).unwrap_or_default()),
        status: status(subject, cluster),
        tags,
        readiness: readiness(cluster),
    }
}

/// How the cluster is. While it is UPDATING it works, but takes no other change.
fn readiness(cluster: &Cluster) -> Readiness {
    match cluster.status() {
        Some(ClusterStatus::Active) => Readiness::Ready,
        Some(ClusterStatus::Deleting) => Readiness::Deleting,
        Some(ClusterStatus::Failed) => {
            let issues = cluster.health().map(ClusterHealth::issues).unwrap_or_default();
            eks::failed("FAILED", issues.iter().map(|issue| (issue.code().map(ClusterIssueCode::as_str), issue.message())))
        }
        Some(other) => Readiness::Waiting(other.as_str().to_owned()),
        None => Readiness::Waiting("CREATING".to_owned()),
    }
}

/// `status` in ACK's shape.
pub(super) fn status(subject: &Subject, cluster: &Cluster) -> Value {
    let issues = cluster.health().map(|health| {
        let issue = |issue: &aws_sdk_eks::types::ClusterIssue| {
            json!({
                "code": issue.code().map(ClusterIssueCode::as_str),
                "message": issue.message(),
                "resourceIDs": issue.resource_ids.as_ref(),
            })
        };
        json!({ "issues": health.issues().iter().map(issue).collect::<Vec<_>>() })
    });
    let identity = cluster.identity().and_then(Identity::oidc).and_then(Oidc::issuer);
    let authority = cluster.certificate_authority().and_then(Certificate::data);
    without_nulls(json!({
        "ackResourceMetadata": metadata(subject, cluster.arn()),
        "status": cluster.status().map(ClusterStatus::as_str),
        "endpoint": cluster.endpoint(),
        "certificateAuthority": authority.map(|data| json!({ "data": data })),
        "identity": identity.map(|issuer| json!({ "oidc": { "issuer": issuer } })),
        "platformVersion": cluster.platform_version(),
        "createdAt": cluster.created_at().and_then(moment),
        "id": cluster.id(),
        "health": issues,
        "connectorConfig": connector(cluster),
        "clusterSecurityGroupID": cluster.resources_vpc_config().and_then(VpcConfigResponse::cluster_security_group_id),
    }))
}

fn connector(cluster: &Cluster) -> Option<Value> {
    let connector = cluster.connector_config()?;
    // The activation code is left out: whoever has it can connect a cluster.
    Some(json!({
        "activationExpiry": connector.activation_expiry().and_then(moment),
        "activationID": connector.activation_id(),
        "provider": connector.provider(),
        "roleARN": connector.role_arn(),
    }))
}

/// `spec` in ACK's shape. Blocks that EKS leaves out of an answer stay out.
fn spec_of(cluster: &Cluster) -> ClusterSpec {
    ClusterSpec {
        name: cluster.name.clone(),
        role_arn: cluster.role_arn.clone(),
        version: cluster.version.clone(),
        resources_vpc_config: cluster.resources_vpc_config().map(|config| VpcConfig {
            endpoint_private_access: Some(config.endpoint_private_access),
            endpoint_public_access: Some(config.endpoint_public_access),
            public_access_cidrs: config.public_access_cidrs.clone(),
            security_group_ids: config.security_group_ids.clone(),
            subnet_ids: config.subnet_ids.clone(),
            ..VpcConfig::default()
        }),
        access_config: cluster.access_config().map(|config| AccessConfig {
            authentication_mode: config.authentication_mode().map(|mode| mode.as_str().to_owned()),
            bootstrap_cluster_creator_admin_permissions: config.bootstrap_cluster_creator_admin_permissions(),
        }),
        deletion_protection: cluster.deletion_protection(),
        logging: cluster
            .logging()
            .map(|logging| Logging { cluster_logging: Some(logging.cluster_logging().iter().map(log_setup).collect()) }),
        upgrade_policy: cluster
            .upgrade_policy()
            .map(|policy| UpgradePolicy { support_type: policy.support_type().map(|kind| kind.as_str().to_owned()) }),
        zonal_shift_config: cluster.zonal_shift_config().map(|config| Switch { enabled: config.enabled() }),
        encryption_config: cluster.encryption_config.as_ref().map(|list| list.iter().map(encryption).collect()),
        ..components(cluster, auto_mode(cluster))
    }
}

fn log_setup(setup: &aws_sdk_eks::types::LogSetup) -> LogSetup {
    let types = setup.types().iter().map(|kind| kind.as_str().to_owned()).collect();
    LogSetup { enabled: setup.enabled(), types: Some(types) }
}

#[expect(deprecated, reason = "ACK's spec has `resources`, and EKS still answers with it")]
fn encryption(config: &aws_sdk_eks::types::EncryptionConfig) -> EncryptionConfig {
    let provider = config.provider().map(|provider| Provider { key_arn: provider.key_arn.clone(), key_ref: None });
    EncryptionConfig { provider, resources: config.resources.clone() }
}

/// The three blocks of Auto Mode, and the addresses that share one of them.
fn auto_mode(cluster: &Cluster) -> ClusterSpec {
    ClusterSpec {
        compute_config: cluster.compute_config().map(|config| ComputeConfig {
            enabled: config.enabled(),
            node_pools: config.node_pools.clone(),
            node_role_arn: config.node_role_arn.clone(),
        }),
        storage_config: cluster.storage_config().map(|config| StorageConfig {
            block_storage: config.block_storage().map(|block| Switch { enabled: block.enabled() }),
        }),
        kubernetes_network_config: cluster.kubernetes_network_config().map(|config| NetworkConfig {
            elastic_load_balancing: config.elastic_load_balancing().map(|switch| Switch { enabled: switch.enabled() }),
            ip_family: config.ip_family().map(|family| family.as_str().to_owned()),
            service_ipv4_cidr: config.service_ipv4_cidr.clone(),
        }),
        ..ClusterSpec::default()
    }
}

/// The control plane's own settings.
fn components(cluster: &Cluster, spec: ClusterSpec) -> ClusterSpec {
    let networks = |cidrs: &Option<Vec<String>>| RemoteNetwork { cidrs: cidrs.clone() };
    ClusterSpec {
        remote_network_config: cluster.remote_network_config().map(|config| RemoteNetworkConfig {
            remote_node_networks: config
                .remote_node_networks
                .as_ref()
                .map(|list| list.iter().map(|one| networks(&one.cidrs)).collect()),
            remote_pod_networks: config
                .remote_pod_networks
                .as_ref()
                .map(|list| list.iter().map(|one| networks(&one.cidrs)).collect()),
        }),
        control_plane_scaling_config: cluster
            .control_plane_scaling_config()
            .map(|config| ScalingConfig { tier: config.tier().map(|tier| tier.as_str().to_owned()) }),
        kube_api_server_config: cluster.kube_api_server_config().map(|config| ApiServerConfig {
            event_ttl: config.event_ttl.clone(),
            service_node_port_range: config
                .service_node_port_range()
                .map(|range| PortRange { min_port: Some(range.min_port), max_port: Some(range.max_port) }),
        }),
        kube_controller_manager_config: cluster.kube_controller_manager_config().map(|config| ControllerManagerConfig {
            horizontal_pod_autoscaler_controller_config: config.horizontal_pod_autoscaler_controller_config().map(|config| {
                AutoscalerConfig { horizontal_pod_autoscaler_sync_period: config.horizontal_pod_autoscaler_sync_period.clone() }
            }),
        }),
        kube_scheduler_config: cluster.kube_scheduler_config().map(|config| SchedulerConfig {
            node_resources_fit: config
                .node_resources_fit()
                .map(|fit| ResourcesFit { scoring_strategy: fit.scoring_strategy().map(scoring) }),
        }),
        ..spec
    }
}

fn scoring(strategy: &aws_sdk_eks::types::ScoringStrategy) -> ScoringStrategy {
    let weight =
        |resource: &aws_sdk_eks::types::ResourceWeight| ResourceWeight { name: resource.name.clone(), weight: resource.weight };
    ScoringStrategy {
        r#type: strategy.r#type().map(|kind| kind.as_str().to_owned()),
        resources: strategy.resources.as_ref().map(|list| list.iter().map(weight).collect()),
    }
}
