//! `CreateCluster` from a spec.

use super::spec::{
    AccessConfig, ApiServerConfig, ClusterSpec, ComputeConfig, ControllerManagerConfig, EncryptionConfig, Logging, NetworkConfig,
    RemoteNetworkConfig, SchedulerConfig, ScoringStrategy, Switch, VpcConfig,
};
use crate::aws::tags::to_eks;
use crate::kinds::kind::StepError;
use crate::kinds::shared::required;
use aws_sdk_eks::operation::create_cluster::builders::CreateClusterInputBuilder;
use aws_sdk_eks::types::{
    BlockStorage, ComputeConfigRequest, ControlPlaneScalingConfig, CreateAccessConfigRequest, ElasticLoadBalancing,
    HorizontalPodAutoscalerControllerConfigRequest, KubeApiServerConfigRequest, KubeControllerManagerConfigRequest,
    KubeSchedulerConfigRequest, KubernetesNetworkConfigRequest, LogSetup, NodeResourcesFitConfig, Provider,
    RemoteNetworkConfigRequest, RemoteNodeNetwork, RemotePodNetwork, ResourceWeight, ServiceNodePortRange, StorageConfigRequest,
    UpgradePolicyRequest, VpcConfigRequest, ZonalShiftConfigRequest,
};
use std::collections::BTreeMap;

/// The input, without its token. Only what the spec sets is sent: EKS refuses Auto Mode together with a default for
/// `bootstrapSelfManagedAddons`, and takes Auto Mode's three blocks only in one call.
pub(super) fn create(spec: &ClusterSpec, tags: &BTreeMap<String, String>) -> Result<CreateClusterInputBuilder, StepError> {
    let input = CreateClusterInputBuilder::default()
        .name(required(spec.name.as_ref(), "spec.name")?)
        .role_arn(required(spec.role_arn.as_ref(), "spec.roleARN")?)
        .resources_vpc_config(vpc_config(required(spec.resources_vpc_config.as_ref(), "spec.resourcesVPCConfig")?))
        .set_version(spec.version.clone())
        .set_access_config(spec.access_config.as_ref().map(access_config))
        .set_bootstrap_self_managed_addons(spec.bootstrap_self_managed_addons)
        .set_compute_config(spec.compute_config.as_ref().map(compute_config))
        .set_deletion_protection(spec.deletion_protection)
        .set_kubernetes_network_config(spec.kubernetes_network_config.as_ref().map(network_config))
        .set_tags(Some(to_eks(tags)));
    Ok(components(capacity(input, spec), spec))
}

/// Storage, logging, encryption, networks, upgrades.
fn capacity(input: CreateClusterInputBuilder, spec: &ClusterSpec) -> CreateClusterInputBuilder {
    let storage = spec.storage_config.as_ref().map(|storage| {
        let block = storage.block_storage.as_ref();
        let block = block.map(|block| BlockStorage::builder().set_enabled(block.enabled).build());
        StorageConfigRequest::builder().set_block_storage(block).build()
    });
    let encryption = spec.encryption_config.as_ref().map(|list| list.iter().map(encryption_config).collect());
    let upgrade = spec
        .upgrade_policy
        .as_ref()
        .map(|policy| UpgradePolicyRequest::builder().set_support_type(policy.support_type.as_deref().map(Into::into)).build());
    input
        .set_storage_config(storage)
        .set_logging(spec.logging.as_ref().map(logging))
        .set_encryption_config(encryption)
        .set_remote_network_config(spec.remote_network_config.as_ref().map(remote_networks))
        .set_upgrade_policy(upgrade)
        .set_zonal_shift_config(spec.zonal_shift_config.as_ref().map(zonal_shift))
}

/// The control plane's own settings.
fn components(input: CreateClusterInputBuilder, spec: &ClusterSpec) -> CreateClusterInputBuilder {
    let scaling = spec
        .control_plane_scaling_config
        .as_ref()
        .map(|scaling| ControlPlaneScalingConfig::builder().set_tier(scaling.tier.as_deref().map(Into::into)).build());
    input
        .set_control_plane_scaling_config(scaling)
        .set_kube_api_server_config(spec.kube_api_server_config.as_ref().map(api_server))
        .set_kube_scheduler_config(spec.kube_scheduler_config.as_ref().map(scheduler))
        .set_kube_controller_manager_config(spec.kube_controller_manager_config.as_ref().map(controller_manager))
}

fn vpc_config(config: &VpcConfig) -> VpcConfigRequest {
    VpcConfigRequest::builder()
        .set_subnet_ids(config.subnet_ids.clone())
        .set_security_group_ids(config.security_group_ids.clone())
        .set_endpoint_public_access(config.endpoint_public_access)
        .set_endpoint_private_access(config.endpoint_private_access)
        .set_public_access_cidrs(config.public_access_cidrs.clone())
        .build()
}

fn access_config(config: &AccessConfig) -> CreateAccessConfigRequest {
    CreateAccessConfigRequest::builder()
        .set_authentication_mode(config.authentication_mode.as_deref().map(Into::into))
        .set_bootstrap_cluster_creator_admin_permissions(config.bootstrap_cluster_creator_admin_permissions)
        .build()
}

fn compute_config(config: &ComputeConfig) -> ComputeConfigRequest {
    ComputeConfigRequest::builder()
        .set_enabled(config.enabled)
        .set_node_pools(config.node_pools.clone())
        .set_node_role_arn(config.node_role_arn.clone())
        .build()
}

fn network_config(config: &NetworkConfig) -> KubernetesNetworkConfigRequest {
    let balancing = config.elastic_load_balancing.as_ref();
    let balancing = balancing.map(|switch| ElasticLoadBalancing::builder().set_enabled(switch.enabled).build());
    KubernetesNetworkConfigRequest::builder()
        .set_elastic_load_balancing(balancing)
        .set_ip_family(config.ip_family.as_deref().map(Into::into))
        .set_service_ipv4_cidr(config.service_ipv4_cidr.clone())
        .build()
}

#[expect(deprecated, reason = "ACK's spec has `resources`, and EKS still takes it")]
fn encryption_config(config: &EncryptionConfig) -> aws_sdk_eks::types::EncryptionConfig {
    let provider = config.provider.as_ref();
    let provider = provider.map(|provider| Provider::builder().set_key_arn(provider.key_arn.clone()).build());
    aws_sdk_eks::types::EncryptionConfig::builder().set_provider(provider).set_resources(config.resources.clone()).build()
}

fn logging(config: &Logging) -> aws_sdk_eks::types::Logging {
    let setups = config.cluster_logging.as_ref().map(|setups| {
        let setup = |setup: &super::spec::LogSetup| {
            let types = setup.types.as_ref().map(|types| types.iter().map(|name| name.as_str().into()).collect());
            LogSetup::builder().set_enabled(setup.enabled).set_types(types).build()
        };
        setups.iter().map(setup).collect()
    });
    aws_sdk_eks::types::Logging::builder().set_cluster_logging(setups).build()
}

fn zonal_shift(switch: &Switch) -> ZonalShiftConfigRequest {
    ZonalShiftConfigRequest::builder().set_enabled(switch.enabled).build()
}

fn remote_networks(config: &RemoteNetworkConfig) -> RemoteNetworkConfigRequest {
    let nodes = config.remote_node_networks.as_ref().map(|networks| {
        let network =
            |network: &super::spec::RemoteNetwork| RemoteNodeNetwork::builder().set_cidrs(network.cidrs.clone()).build();
        networks.iter().map(network).collect()
    });
    let pods = config.remote_pod_networks.as_ref().map(|networks| {
        let network = |network: &super::spec::RemoteNetwork| RemotePodNetwork::builder().set_cidrs(network.cidrs.clone()).build();
        networks.iter().map(network).collect()
    });
    RemoteNetworkConfigRequest::builder().set_remote_node_networks(nodes).set_remote_pod_networks(pods).build()
}

fn api_server(config: &ApiServerConfig) -> KubeApiServerConfigRequest {
    let ports = config
        .service_node_port_range
        .as_ref()
        .map(|range| ServiceNodePortRange::builder().set_min_port(range.min_port).set_max_port(range.max_port).build());
    KubeApiServerConfigRequest::builder().set_event_ttl(config.event_ttl.clone()).set_service_node_port_range(ports).build()
}

fn controller_manager(config: &ControllerManagerConfig) -> KubeControllerManagerConfigRequest {
    let autoscaler = config.horizontal_pod_autoscaler_controller_config.as_ref().map(|config| {
        HorizontalPodAutoscalerControllerConfigRequest::builder()
            .set_horizontal_pod_autoscaler_sync_period(config.horizontal_pod_autoscaler_sync_period.clone())
            .build()
    });
    KubeControllerManagerConfigRequest::builder().set_horizontal_pod_autoscaler_controller_config(autoscaler).build()
}

fn scheduler(config: &SchedulerConfig) -> KubeSchedulerConfigRequest {
    let fit = config
        .node_resources_fit
        .as_ref()
        .map(|fit| NodeResourcesFitConfig::builder().set_scoring_strategy(fit.scoring_strategy.as_ref().map(scoring)).build());
    KubeSchedulerConfigRequest::builder().set_node_resources_fit(fit).build()
}

fn scoring(strategy: &ScoringStrategy) -> aws_sdk_eks::types::ScoringStrategy {
    let resources = strategy.resources.as_ref().map(|list| {
        let weight = |weight: &super::spec::ResourceWeight| {
            ResourceWeight::builder().set_name(weight.name.clone()).set_weight(weight.weight).build()
        };
        list.iter().map(weight).collect()
    });
    aws_sdk_eks::types::ScoringStrategy::builder()
        .set_type(strategy.r#type.as_deref().map(Into::into))
        .set_resources(resources)
        .build()
}
