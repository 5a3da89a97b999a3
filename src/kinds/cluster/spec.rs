//! `spec` of a Cluster.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A field that the schema knows and fleetctl does not carry out.
pub(super) type Ignored = Value;

/// `spec` of a Cluster, with ACK's field names. Everything is optional here: what is known of a document that still waits
/// for others is read with it too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ClusterSpec {
    pub(super) name: Option<String>,
    #[serde(rename = "roleARN")]
    pub(super) role_arn: Option<String>,
    #[serde(skip_serializing)]
    pub(super) role_ref: Option<Ignored>,
    #[serde(rename = "resourcesVPCConfig")]
    pub(super) resources_vpc_config: Option<VpcConfig>,
    pub(super) version: Option<String>,
    pub(super) access_config: Option<AccessConfig>,
    pub(super) bootstrap_self_managed_addons: Option<bool>,
    #[serde(skip_serializing)]
    pub(super) client_request_token: Option<Ignored>,
    pub(super) compute_config: Option<ComputeConfig>,
    pub(super) control_plane_scaling_config: Option<ScalingConfig>,
    pub(super) deletion_protection: Option<bool>,
    pub(super) encryption_config: Option<Vec<EncryptionConfig>>,
    #[serde(rename = "kubeAPIServerConfig")]
    pub(super) kube_api_server_config: Option<ApiServerConfig>,
    pub(super) kube_controller_manager_config: Option<ControllerManagerConfig>,
    pub(super) kube_scheduler_config: Option<SchedulerConfig>,
    pub(super) kubernetes_network_config: Option<NetworkConfig>,
    pub(super) logging: Option<Logging>,
    #[serde(skip_serializing)]
    pub(super) outpost_config: Option<Ignored>,
    pub(super) remote_network_config: Option<RemoteNetworkConfig>,
    pub(super) storage_config: Option<StorageConfig>,
    pub(super) tags: Option<Value>,
    pub(super) upgrade_policy: Option<UpgradePolicy>,
    pub(super) zonal_shift_config: Option<Switch>,
}

/// Subnets, security groups and who may reach the endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct VpcConfig {
    pub(super) endpoint_private_access: Option<bool>,
    pub(super) endpoint_public_access: Option<bool>,
    #[serde(rename = "publicAccessCIDRs")]
    pub(super) public_access_cidrs: Option<Vec<String>>,
    #[serde(rename = "securityGroupIDs")]
    pub(super) security_group_ids: Option<Vec<String>>,
    #[serde(skip_serializing)]
    pub(super) security_group_refs: Option<Ignored>,
    #[serde(rename = "subnetIDs")]
    pub(super) subnet_ids: Option<Vec<String>>,
    #[serde(skip_serializing)]
    pub(super) subnet_refs: Option<Ignored>,
}

/// Who may talk to the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct AccessConfig {
    pub(super) authentication_mode: Option<String>,
    pub(super) bootstrap_cluster_creator_admin_permissions: Option<bool>,
}

/// Auto Mode's nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ComputeConfig {
    pub(super) enabled: Option<bool>,
    pub(super) node_pools: Option<Vec<String>>,
    #[serde(rename = "nodeRoleARN")]
    pub(super) node_role_arn: Option<String>,
}

/// Something that is on or off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Switch {
    pub(super) enabled: Option<bool>,
}

/// Auto Mode's volumes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct StorageConfig {
    pub(super) block_storage: Option<Switch>,
}

/// Services' addresses, and Auto Mode's load balancers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct NetworkConfig {
    pub(super) elastic_load_balancing: Option<Switch>,
    pub(super) ip_family: Option<String>,
    #[serde(rename = "serviceIPv4CIDR")]
    pub(super) service_ipv4_cidr: Option<String>,
}

/// The control plane's tier.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ScalingConfig {
    pub(super) tier: Option<String>,
}

/// A key, and what is encrypted with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct EncryptionConfig {
    pub(super) provider: Option<Provider>,
    pub(super) resources: Option<Vec<String>>,
}

/// A key of KMS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Provider {
    #[serde(rename = "keyARN")]
    pub(super) key_arn: Option<String>,
    #[serde(skip_serializing)]
    pub(super) key_ref: Option<Ignored>,
}

/// Settings of kube-apiserver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ApiServerConfig {
    #[serde(rename = "eventTTL")]
    pub(super) event_ttl: Option<String>,
    pub(super) service_node_port_range: Option<PortRange>,
}

/// Ports from and to, both included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct PortRange {
    pub(super) min_port: Option<i32>,
    pub(super) max_port: Option<i32>,
}

/// Settings of kube-controller-manager.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ControllerManagerConfig {
    pub(super) horizontal_pod_autoscaler_controller_config: Option<AutoscalerConfig>,
}

/// Settings of the horizontal pod autoscaler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct AutoscalerConfig {
    pub(super) horizontal_pod_autoscaler_sync_period: Option<String>,
}

/// Settings of kube-scheduler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct SchedulerConfig {
    pub(super) node_resources_fit: Option<ResourcesFit>,
}

/// How nodes are chosen by their resources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ResourcesFit {
    pub(super) scoring_strategy: Option<ScoringStrategy>,
}

/// How nodes are scored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ScoringStrategy {
    pub(super) r#type: Option<String>,
    pub(super) resources: Option<Vec<ResourceWeight>>,
}

/// What a resource counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ResourceWeight {
    pub(super) name: Option<String>,
    pub(super) weight: Option<i32>,
}

/// What the control plane logs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Logging {
    pub(super) cluster_logging: Option<Vec<LogSetup>>,
}

/// Types of logs, on or off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct LogSetup {
    pub(super) enabled: Option<bool>,
    pub(super) types: Option<Vec<String>>,
}

/// Networks of hybrid nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct RemoteNetworkConfig {
    pub(super) remote_node_networks: Option<Vec<RemoteNetwork>>,
    pub(super) remote_pod_networks: Option<Vec<RemoteNetwork>>,
}

/// CIDRs of one network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct RemoteNetwork {
    pub(super) cidrs: Option<Vec<String>>,
}

/// How long a version is supported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct UpgradePolicy {
    pub(super) support_type: Option<String>,
}
