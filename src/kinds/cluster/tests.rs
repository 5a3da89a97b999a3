use super::*;
use crate::kinds::kind::Changeability;
use crate::kinds::shared::tests::{complete, paths, places, subject};
use aws_sdk_eks::types::{
    BlockStorage, Certificate, ClusterHealth, ClusterIssue, ClusterStatus, ComputeConfigResponse, ElasticLoadBalancing, Identity,
    IpFamily, KubernetesNetworkConfigResponse, LogSetup, LogType, Logging, Oidc, StorageConfigResponse, VpcConfigResponse,
    ZonalShiftConfigResponse,
};
use serde_json::json;

fn us() -> Subject {
    subject("eks.services.k8s.aws/v1alpha1", "Cluster")
}

/// The Cluster of kro's eks-cluster-mgmt example.
fn wanted() -> Value {
    json!({
        "apiVersion": "eks.services.k8s.aws/v1alpha1", "kind": "Cluster",
        "metadata": {"name": "workload-cluster1", "namespace": "workload-cluster1"},
        "spec": {
            "name": "workload-cluster1",
            "roleARN": "arn:aws:iam::111122223333:role/workload-cluster1-cluster-role",
            "version": "1.34",
            "accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": true},
            "computeConfig": {
                "enabled": true,
                "nodeRoleARN": "arn:aws:iam::111122223333:role/workload-cluster1-cluster-node-role",
                "nodePools": ["system", "general-purpose"],
            },
            "kubernetesNetworkConfig": {"ipFamily": "ipv4", "elasticLoadBalancing": {"enabled": true}},
            "logging": {"clusterLogging": [
                {"enabled": true, "types": ["api", "audit", "authenticator", "controllerManager", "scheduler"]},
            ]},
            "storageConfig": {"blockStorage": {"enabled": true}},
            "resourcesVPCConfig": {
                "endpointPrivateAccess": true, "endpointPublicAccess": true, "subnetIDs": ["subnet-1", "subnet-2"],
            },
            "zonalShiftConfig": {"enabled": true},
            "tags": {"kro-management": "workload-cluster1", "tenant": "tenant1", "environment": "staging"},
        },
    })
}

fn log_setup(enabled: bool, types: &[&str]) -> LogSetup {
    let types = types.iter().map(|name| LogType::from(*name)).collect();
    LogSetup::builder().enabled(enabled).set_types(Some(types)).build()
}

/// What `DescribeCluster` answers of it.
fn active() -> aws_sdk_eks::types::Cluster {
    let vpc = VpcConfigResponse::builder()
        .subnet_ids("subnet-2")
        .subnet_ids("subnet-1")
        .cluster_security_group_id("sg-1")
        .vpc_id("vpc-1")
        .endpoint_public_access(true)
        .endpoint_private_access(true)
        .public_access_cidrs("0.0.0.0/0")
        .build();
    let network = KubernetesNetworkConfigResponse::builder()
        .ip_family(IpFamily::Ipv4)
        .service_ipv4_cidr("10.100.0.0/16")
        .elastic_load_balancing(ElasticLoadBalancing::builder().enabled(true).build())
        .build();
    let compute = ComputeConfigResponse::builder()
        .enabled(true)
        .node_pools("general-purpose")
        .node_pools("system")
        .node_role_arn("arn:aws:iam::111122223333:role/workload-cluster1-cluster-node-role")
        .build();
    let block = BlockStorage::builder().enabled(true).build();
    let access = aws_sdk_eks::types::AccessConfigResponse::builder()
        .authentication_mode("API_AND_CONFIG_MAP".into())
        .bootstrap_cluster_creator_admin_permissions(true)
        .build();
    aws_sdk_eks::types::Cluster::builder()
        .name("workload-cluster1")
        .arn("arn:aws:eks:us-west-2:111122223333:cluster/workload-cluster1")
        .role_arn("arn:aws:iam::111122223333:role/workload-cluster1-cluster-role")
        .version("1.34")
        .status(ClusterStatus::Active)
        .endpoint("https://ABC.gr7.us-west-2.eks.amazonaws.com")
        .certificate_authority(Certificate::builder().data("Q0E=").build())
        .identity(Identity::builder().oidc(Oidc::builder().issuer("https://oidc/ABC").build()).build())
        .platform_version("eks.1")
        .created_at(aws_smithy_types::DateTime::from_secs(1_700_000_000))
        .resources_vpc_config(vpc)
        .kubernetes_network_config(network)
        .compute_config(compute)
        .storage_config(StorageConfigResponse::builder().block_storage(block).build())
        .access_config(access)
        .zonal_shift_config(ZonalShiftConfigResponse::builder().enabled(true).build())
        .logging(
            Logging::builder()
                .cluster_logging(log_setup(true, &["audit", "api", "scheduler", "controllerManager", "authenticator"]))
                .cluster_logging(log_setup(false, &[]))
                .build(),
        )
        .set_tags(Some(crate::aws::tags::to_eks(&tags::wanted(&us(), &wanted()))))
        .build()
}

fn there() -> Observed {
    observe::observed(&us(), &active())
}

fn changes(desired: &Value, observed: &Observed) -> Vec<FieldChange> {
    Cluster.compare(&us(), desired, observed, Some(&wanted()))
}

fn with(path: &str, value: Value) -> Value {
    let mut object = wanted();
    *object.pointer_mut(path).unwrap() = value;
    object
}

#[test]
fn what_eks_answers_is_what_was_wanted() {
    assert_eq!(changes(&wanted(), &there()), []);
    assert_eq!(there().readiness, Readiness::Ready);
}

#[test]
fn the_object_has_acks_shape() {
    let observed = there();
    assert_eq!(observed.spec["resourcesVPCConfig"]["subnetIDs"], json!(["subnet-2", "subnet-1"]));
    assert_eq!(observed.spec["kubernetesNetworkConfig"]["serviceIPv4CIDR"], "10.100.0.0/16");
    assert_eq!(observed.spec["computeConfig"]["nodeRoleARN"], wanted()["spec"]["computeConfig"]["nodeRoleARN"]);
    assert_eq!(observed.spec["tags"], wanted()["spec"]["tags"]);
    assert_eq!(
        observed.status,
        json!({
            "ackResourceMetadata": {
                "arn": "arn:aws:eks:us-west-2:111122223333:cluster/workload-cluster1",
                "ownerAccountID": "111122223333", "region": "us-west-2", "partition": "aws",
            },
            "status": "ACTIVE",
            "endpoint": "https://ABC.gr7.us-west-2.eks.amazonaws.com",
            "certificateAuthority": {"data": "Q0E="},
            "identity": {"oidc": {"issuer": "https://oidc/ABC"}},
            "platformVersion": "eks.1",
            "createdAt": "2023-11-14T22:13:20Z",
            "clusterSecurityGroupID": "sg-1",
        })
    );
    assert!(serde_json::from_value::<ClusterSpec>(observed.spec).is_ok());
}

#[test]
fn every_field_says_how_it_may_be_changed() {
    let all = [
        ("/spec/version", json!("1.35"), "spec.version", Changeability::NotCarriedOut),
        ("/spec/roleARN", json!("arn:aws:iam::111122223333:role/x"), "spec.roleARN", Changeability::Replacement),
        ("/spec/name", json!("other"), "spec.name", Changeability::Replacement),
        (
            "/spec/resourcesVPCConfig/subnetIDs",
            json!(["subnet-1", "subnet-3"]),
            "spec.resourcesVPCConfig.subnetIDs",
            Changeability::NotCarriedOut,
        ),
        (
            "/spec/resourcesVPCConfig/endpointPublicAccess",
            json!(false),
            "spec.resourcesVPCConfig.endpointPublicAccess",
            Changeability::NotCarriedOut,
        ),
        (
            "/spec/accessConfig/authenticationMode",
            json!("API"),
            "spec.accessConfig.authenticationMode",
            Changeability::NotCarriedOut,
        ),
        ("/spec/computeConfig/enabled", json!(false), "spec.computeConfig.enabled", Changeability::NotCarriedOut),
        ("/spec/computeConfig/nodePools", json!(["system"]), "spec.computeConfig.nodePools", Changeability::NotCarriedOut),
        (
            "/spec/kubernetesNetworkConfig/ipFamily",
            json!("ipv6"),
            "spec.kubernetesNetworkConfig.ipFamily",
            Changeability::Replacement,
        ),
        (
            "/spec/logging/clusterLogging",
            json!([{"enabled": true, "types": ["api", "audit", "authenticator", "scheduler"]}]),
            "spec.logging.clusterLogging[controllerManager]",
            Changeability::NotCarriedOut,
        ),
        ("/spec/zonalShiftConfig/enabled", json!(false), "spec.zonalShiftConfig.enabled", Changeability::NotCarriedOut),
        ("/spec/tags/tenant", json!("other"), "spec.tags[tenant]", Changeability::InPlace),
        (
            "/spec/accessConfig/bootstrapClusterCreatorAdminPermissions",
            json!(false),
            "spec.accessConfig.bootstrapClusterCreatorAdminPermissions",
            Changeability::Replacement,
        ),
    ];
    for (pointer, value, path, changeability) in all {
        let found = changes(&with(pointer, value), &there());
        let found: Vec<_> = found.iter().map(|change| (change.path.as_str(), change.changeability, change.reason)).collect();
        assert_eq!(found.len(), 1, "{path}: {found:?}");
        assert_eq!((found[0].0, found[0].1), (path, changeability));
        assert_eq!(found[0].2.is_some(), changeability != Changeability::InPlace, "{path}");
    }
}

#[test]
fn a_lower_version_is_no_upgrade() {
    let found = changes(&with("/spec/version", json!("1.9")), &there());
    assert_eq!((found[0].changeability, found[0].reason), (Changeability::Replacement, Some(DOWNGRADE)));
}

#[test]
fn an_encryption_config_is_added_once() {
    let config = json!([{"provider": {"keyARN": "arn:aws:kms:us-west-2:1:key/a"}, "resources": ["secrets"]}]);
    let before = |value: Value| {
        let (mut desired, mut observed) = (wanted(), there());
        desired["spec"]["encryptionConfig"] = config.clone();
        observed.spec["encryptionConfig"] = value;
        changes(&desired, &observed)
    };
    assert_eq!(before(json!([]))[0].changeability, Changeability::NotCarriedOut);
    let other = json!([{"provider": {"keyARN": "arn:aws:kms:us-west-2:1:key/b"}, "resources": ["secrets"]}]);
    assert_eq!((before(other.clone())[0].changeability, before(other)[0].reason), (Changeability::Replacement, Some(ENCRYPTED)));
}

#[test]
fn defaults_of_new_clusters_are_no_change() {
    let mut desired = wanted();
    desired["spec"]["accessConfig"].as_object_mut().unwrap().remove("bootstrapClusterCreatorAdminPermissions");
    assert_eq!(changes(&desired, &there()), []);
    desired["spec"]["bootstrapSelfManagedAddons"] = json!(false);
    assert_eq!(changes(&desired, &there()), []);
    desired["spec"]["bootstrapSelfManagedAddons"] = json!(true);
    assert_eq!(paths(&changes(&desired, &there())), ["spec.bootstrapSelfManagedAddons"]);
    assert_eq!(Cluster.compare(&us(), &desired, &there(), None), []);
}

#[test]
fn a_cluster_without_auto_mode_has_it_off() {
    let mut observed = there();
    let spec = observed.spec.as_object_mut().unwrap();
    for name in ["computeConfig", "storageConfig", "zonalShiftConfig"] {
        spec.remove(name);
    }
    let mut desired = wanted();
    desired["spec"]["computeConfig"] = json!({"enabled": false});
    desired["spec"]["storageConfig"] = json!({"blockStorage": {"enabled": false}});
    desired["spec"]["zonalShiftConfig"] = json!({"enabled": false});
    desired["spec"]["deletionProtection"] = json!(false);
    assert_eq!(changes(&desired, &observed), []);
    assert!(paths(&changes(&wanted(), &observed)).contains(&"spec.computeConfig.enabled"));
}

#[test]
fn blocks_that_are_missing_while_a_cluster_is_made_are_no_difference() {
    let making = aws_sdk_eks::types::Cluster::builder()
        .name("workload-cluster1")
        .arn("arn:aws:eks:us-west-2:111122223333:cluster/workload-cluster1")
        .status(ClusterStatus::Creating)
        .version("1.33")
        .build();
    let observed = observe::observed(&us(), &making);
    assert_eq!(observed.readiness, Readiness::Waiting("CREATING".into()));
    let found = changes(&wanted(), &observed);
    let fields: Vec<&str> = paths(&found).into_iter().filter(|path| !path.starts_with("spec.tags")).collect();
    assert_eq!(fields, ["spec.version"]);
    assert!(paths(&found).contains(&"spec.tags[tenant]"));
}

#[test]
fn states_of_eks_are_understood() {
    let of = |status: ClusterStatus| {
        let issue = ClusterIssue::builder().code("AccessDenied".into()).message("not allowed").build();
        let health = ClusterHealth::builder().issues(issue).build();
        let cluster = aws_sdk_eks::types::Cluster::builder().name("x").status(status).health(health).build();
        observe::observed(&us(), &cluster).readiness
    };
    assert_eq!(of(ClusterStatus::Pending), Readiness::Waiting("PENDING".into()));
    assert_eq!(of(ClusterStatus::Updating), Readiness::Waiting("UPDATING".into()));
    assert_eq!(of(ClusterStatus::Deleting), Readiness::Deleting);
    let failed = Readiness::Failed { code: "AccessDenied".into(), message: "AccessDenied: not allowed".into() };
    assert_eq!(of(ClusterStatus::Failed), failed);
}

#[test]
fn the_request_holds_what_the_spec_sets_and_nothing_else() {
    let wanted: ClusterSpec = spec(&wanted()).unwrap();
    let input = request::create(&wanted, &tags::wanted(&us(), &super::tests::wanted())).unwrap().build().unwrap();
    assert_eq!(input.bootstrap_self_managed_addons(), None);
    assert_eq!(input.encryption_config, None);
    assert!(input.upgrade_policy().is_none() && input.kube_api_server_config().is_none());
    assert_eq!(input.version(), Some("1.34"));
    let compute = input.compute_config().unwrap();
    assert_eq!((compute.enabled(), compute.node_pools().len()), (Some(true), 2));
    assert_eq!(input.storage_config().unwrap().block_storage().unwrap().enabled(), Some(true));
    assert_eq!(input.kubernetes_network_config().unwrap().elastic_load_balancing().unwrap().enabled(), Some(true));
    assert_eq!(input.logging().unwrap().cluster_logging()[0].types().len(), 5);
    assert_eq!(input.resources_vpc_config().unwrap().public_access_cidrs, None);
    assert_eq!(input.tags().unwrap()["fleetctl:lineage"], "5f0c");
    assert_eq!(input.tags().unwrap()["tenant"], "tenant1");
}

#[test]
fn what_is_needed_is_named_when_it_is_missing() {
    let error = request::create(&ClusterSpec::default(), &std::collections::BTreeMap::new()).unwrap_err();
    assert!(error.to_string().contains("spec.name is missing"), "{error}");
}

#[test]
fn fields_that_are_not_carried_out_are_marked() {
    let description = Cluster.description();
    for path in ["spec.roleRef.from.name", "spec.outpostConfig.outpostARNs", "spec.resourcesVPCConfig.subnetRefs[]"] {
        assert!(!description.field(path).carried_out, "{path}");
    }
    for path in ["spec.resourcesVPCConfig.subnetIDs[]", "spec.kubeSchedulerConfig", "spec.encryptionConfig[].provider.keyARN"] {
        assert!(description.field(path).carried_out, "{path}");
    }
    assert_eq!(description.published_at("status.endpoint"), Production::Ready);
    assert_eq!(description.published_at("status.certificateAuthority.data"), Production::Ready);
    assert_eq!(description.published_at("status.ackResourceMetadata.arn"), Production::Created);
    assert_eq!(description.published_at("status.status"), Production::Created);
}

#[test]
fn values_that_eks_refuses_are_found() {
    assert_eq!(impossible::values(&wanted()), []);
    let object = json!({"spec": {
        "name": "-x",
        "version": "v1.34",
        "roleARN": "",
        "resourcesVPCConfig": {
            "subnetIDs": ["subnet-1", "vpc-1"], "securityGroupIDs": [""], "publicAccessCIDRs": ["everybody"],
            "endpointPublicAccess": false, "endpointPrivateAccess": false,
        },
        "accessConfig": {"authenticationMode": "CONFIG_MAP"},
        "computeConfig": {"enabled": true, "nodePools": ["gpu"]},
        "storageConfig": {"blockStorage": {"enabled": false}},
        "kubernetesNetworkConfig": {"ipFamily": "IPv4"},
        "logging": {"clusterLogging": [{"enabled": true, "types": ["everything"]}]},
        "tags": {"aws:x": "y"},
    }});
    assert_eq!(
        places(&impossible::values(&object)),
        [
            "spec.name",
            "spec.version",
            "spec.roleARN",
            "spec.resourcesVPCConfig.subnetIDs[1]",
            "spec.resourcesVPCConfig.securityGroupIDs[0]",
            "spec.resourcesVPCConfig.publicAccessCIDRs[0]",
            "spec.resourcesVPCConfig",
            "spec.computeConfig.nodePools[0]",
            "spec.kubernetesNetworkConfig.ipFamily",
            "spec.logging.clusterLogging[0].types[0]",
            "spec",
            "spec.tags.aws:x",
            "spec.accessConfig.authenticationMode",
        ]
    );
}

#[test]
fn the_spec_reads_every_field_of_the_schema() {
    spec::<ClusterSpec>(&complete(Cluster.description())).unwrap();
}
