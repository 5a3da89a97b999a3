//! Tests of the calls that the kinds of EKS and IAM make, over a simulated AWS.

mod registration;
mod world;

use self::world::{ACCOUNT, World, eks_error, field, name, of};
use super::access_entry::AccessEntry;
use super::addon::Addon;
use super::cluster::Cluster;
use super::kind::{Kind, StepError};
use super::pod_identity_association::PodIdentityAssociation;
use super::role::Role;
use crate::aws::simulated::{Call, Reply, query_error};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

const CLUSTER: &str = "workload-cluster1";
const ADMIN: &str = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy";

fn object(kind: &dyn Kind, name: &str, spec: &Value) -> Value {
    let description = kind.description();
    json!({"apiVersion": description.api_version, "kind": description.kind, "metadata": {"name": name}, "spec": spec})
}

fn role(suffix: &str, service: &str, policies: &[&str]) -> Value {
    let name = format!("{CLUSTER}-{suffix}");
    let policies: Vec<String> = policies.iter().map(|policy| format!("arn:aws:iam::aws:policy/{policy}")).collect();
    let trust = json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Principal": {"Service": service}, "Action": ["sts:AssumeRole", "sts:TagSession"]}
    ]});
    let spec = json!({"name": name, "policies": policies, "assumeRolePolicyDocument": trust.to_string()});
    object(&Role, &name, &spec)
}

fn cluster_role() -> Value {
    let policies = [
        "AmazonEKSClusterPolicy",
        "AmazonEKSComputePolicy",
        "AmazonEKSBlockStoragePolicy",
        "AmazonEKSLoadBalancingPolicy",
        "AmazonEKSNetworkingPolicy",
    ];
    role("cluster-role", "eks.amazonaws.com", &policies)
}

fn role_arn(suffix: &str) -> String {
    format!("arn:aws:iam::{ACCOUNT}:role/{CLUSTER}-{suffix}")
}

fn cluster() -> Value {
    let spec = json!({
        "name": CLUSTER,
        "roleARN": role_arn("cluster-role"),
        "version": "1.34",
        "accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": true},
        "computeConfig": {
            "enabled": true, "nodeRoleARN": role_arn("cluster-node-role"), "nodePools": ["system", "general-purpose"],
        },
        "kubernetesNetworkConfig": {"ipFamily": "ipv4", "elasticLoadBalancing": {"enabled": true}},
        "logging": {"clusterLogging": [
            {"enabled": true, "types": ["api", "audit", "authenticator", "controllerManager", "scheduler"]},
        ]},
        "storageConfig": {"blockStorage": {"enabled": true}},
        "resourcesVPCConfig": {
            "endpointPrivateAccess": true, "endpointPublicAccess": true,
            "subnetIDs": ["<subnet-private-1>", "<subnet-private-2>"],
        },
        "zonalShiftConfig": {"enabled": true},
        "tags": {"kro-management": CLUSTER, "tenant": "tenant1", "environment": "staging"},
    });
    object(&Cluster, CLUSTER, &spec)
}

fn entry(principal: &str) -> Value {
    let spec = json!({
        "clusterName": CLUSTER,
        "accessPolicies": [{"accessScope": {"type": "cluster"}, "policyARN": ADMIN}],
        "principalARN": principal,
        "type": "STANDARD",
    });
    object(&AccessEntry, principal.rsplit('/').next().unwrap(), &spec)
}

/// The kinds of EKS and IAM in kro's eks-cluster-mgmt example, rendered, in an order that respects their edges.
fn graph() -> Vec<(&'static dyn Kind, Value)> {
    let node = [
        "AmazonEKSWorkerNodeMinimalPolicy",
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonSSMManagedInstanceCore",
        "CloudWatchAgentServerPolicy",
    ];
    let addon = json!({"name": "eks-pod-identity-agent", "addonVersion": "v1.3.4-eksbuild.1", "clusterName": CLUSTER});
    let association = json!({
        "clusterName": CLUSTER, "namespace": "argocd", "serviceAccount": "external-secrets-sa",
        "roleARN": role_arn("external-secrets-role"),
        "tags": {"environment": "staging", "managedBy": "ACK", "application": "external-secrets"},
    });
    vec![
        (&Role, cluster_role()),
        (&Role, role("cluster-node-role", "ec2.amazonaws.com", &node)),
        (&Role, role("external-secrets-role", "pods.eks.amazonaws.com", &["SecretsManagerReadWrite"])),
        (&Cluster, cluster()),
        (&Addon, object(&Addon, "eks-pod-identity-agent", &addon)),
        (&AccessEntry, entry("arn:aws:iam::111111111111:role/hub-cluster-argocd-controller")),
        (&AccessEntry, entry(&format!("arn:aws:iam::{ACCOUNT}:role/Admin"))),
        (&PodIdentityAssociation, object(&PodIdentityAssociation, "workload-cluster1-external-secrets", &association)),
    ]
}

/// What kro and ACK were seen to call, as `service:action` and parameters: accepted calls, without those that change
/// nothing.
fn seen() -> Vec<(String, Value)> {
    let text = include_str!("../../../tests/conformance/ack-end-state.json");
    let text = text.replace("<account>", ACCOUNT).replace("<hub-account>", "111111111111");
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let calls = recorded["mutatingCalls"].as_array().unwrap();
    let accepted = calls.iter().filter(|call| call["refused"].is_null() && call["service"] != "ec2");
    let needed = accepted.filter(|call| call["action"] != "UpdateRole");
    needed.map(|call| (call["action"].as_str().unwrap().to_owned(), comparable(call["params"].clone()))).collect()
}

/// Parameters without tags and tokens; documents as JSON.
fn comparable(mut params: Value) -> Value {
    let fields = params.as_object_mut().unwrap();
    fields.retain(|name, _| !matches!(name.as_str(), "Tags" | "tags" | "clientRequestToken"));
    for value in fields.values_mut() {
        if let Some(document) = value.get("$json") {
            *value = document.clone();
        }
    }
    params
}

/// The parameters of a call that was made.
fn params(call: &Call) -> Value {
    if call.operation.contains(' ') {
        return comparable(serde_json::from_str(&call.body).unwrap());
    }
    let pairs = call.body.split('&').filter_map(|pair| pair.split_once('='));
    let fields = pairs.filter(|(name, _)| !matches!(*name, "Action" | "Version") && !name.starts_with("Tags."));
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    Value::Object(fields.map(|(name, text)| (name.to_owned(), value(text))).collect())
}

fn sorted(mut calls: Vec<(String, Value)>) -> Vec<(String, Value)> {
    calls.sort_by_key(|(name, params)| (name.clone(), params.to_string()));
    calls
}

/// Keys in order, so that texts of equal parameters are equal.
fn ordered(calls: Vec<(String, Value)>) -> Vec<(String, Value)> {
    let in_order = |(name, mut params): (String, Value)| {
        params.sort_all_objects();
        (name, params)
    };
    sorted(calls.into_iter().map(in_order).collect())
}

#[tokio::test(start_paused = true)]
async fn the_graph_takes_the_calls_of_kro_and_ack_without_the_needless_ones() {
    let world = World::new(|_| None).await;
    for (kind, desired) in graph() {
        world.make(kind, &desired).await.unwrap();
    }
    let made = world.changes().iter().map(|call| (name(&call.operation).to_owned(), params(call))).collect();
    assert_eq!(ordered(made), ordered(seen()));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let calls = world.changes();
    for call in &calls {
        *counts.entry(call.service.as_str()).or_default() += 1;
    }
    assert_eq!(counts, BTreeMap::from([("eks", 7), ("iam", 13)]));
    // Nothing had to be read for it, and every call has its record.
    assert_eq!(world.aws.calls().len() - world.aws.count("GetCallerIdentity"), 20);
    assert_eq!(world.session.state().last_entry, 20);
    assert_eq!(world.session.state().resources.len(), 8);
}

#[tokio::test(start_paused = true)]
async fn the_second_time_nothing_is_called() {
    let world = World::new(|_| None).await;
    let mut records = Vec::new();
    for (kind, desired) in graph() {
        records.push(world.make(kind, &desired).await.unwrap().0);
    }
    let calls = world.changes().len();
    for ((kind, desired), record) in graph().into_iter().zip(records) {
        let subject = of(kind, &desired);
        let read = kind.read(&world.cloud.readers, &subject, &record).await.unwrap().unwrap();
        let found = kind.find(&world.cloud.readers, &subject, &desired).await.unwrap().unwrap();
        assert_eq!(read, found, "{}", record.identity);
        assert_eq!(read.id, record.id);
        assert_eq!(read.status, record.status, "{}", record.identity);
        assert_eq!(kind.compare(&subject, &desired, &read, Some(&record.applied)), [], "{}", record.identity);
        kind.configure(&world.cloud, &world.recorder, &subject, &desired, &read).await.unwrap();
    }
    assert_eq!(world.changes().len(), calls);
}

/// What the replies to all calls say of an object is what a look at it says.
#[tokio::test(start_paused = true)]
async fn what_the_replies_say_is_what_is_read() {
    let world = World::new(|_| None).await;
    let mut told = Vec::new();
    for (kind, desired) in graph() {
        let (record, observed) = world.make(kind, &desired).await.unwrap();
        let subject = of(kind, &desired);
        let Some(configured) = kind.configured(&subject, &desired, &observed) else { continue };
        assert_eq!(kind.compare(&subject, &desired, &configured, Some(&desired)), []);
        let read = kind.read(&world.cloud.readers, &subject, &record).await.unwrap().unwrap();
        assert_eq!((&configured.spec, &configured.status), (&read.spec, &read.status));
        let glance = kind.glance(&world.cloud.readers, &subject, &record).await.unwrap().unwrap();
        assert_eq!((glance.tags, glance.readiness), (read.tags, read.readiness));
        told.push(kind.description().kind.clone());
    }
    assert_eq!(told, ["Role", "Role", "Role", "AccessEntry", "AccessEntry"]);
}

#[tokio::test(start_paused = true)]
async fn a_glance_at_a_role_is_one_call() {
    let world = World::new(|_| None).await;
    let (kind, desired) = graph().swap_remove(0);
    let (record, _) = world.make(kind, &desired).await.unwrap();
    let before = world.aws.calls().len();
    kind.glance(&world.cloud.readers, &of(kind, &desired), &record).await.unwrap().unwrap();
    assert_eq!(world.aws.calls().len() - before, 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_not_found() {
    let world = World::new(|_| None).await;
    for (kind, desired) in graph() {
        let found = kind.find(&world.cloud.readers, &of(kind, &desired), &desired).await.unwrap();
        assert_eq!(found, None, "{}", kind.description().kind);
    }
    assert!(world.changes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_role_that_eks_does_not_see_yet_passes() {
    let refusals = AtomicU32::new(3);
    let world = World::new(move |call| {
        let left = || refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        let refused = call.operation == "POST /clusters" && left();
        refused.then(|| {
            eks_error(
                400,
                "InvalidParameterException",
                "Role with arn: x, could not be assumed because it does not exist or the trusted entity is not correct",
            )
        })
    })
    .await;
    world.make(&Cluster, &cluster()).await.unwrap();
    assert_eq!(world.names(), vec!["CreateCluster"; 4]);
    let tokens: Vec<String> = world.changes().iter().map(token).collect();
    assert!(tokens.iter().all(|token| token.len() > 20));
    let other = World::new(|call| {
        (call.operation == "POST /clusters")
            .then(|| eks_error(400, "InvalidParameterException", "unsupported Kubernetes version"))
    })
    .await;
    assert!(matches!(other.make(&Cluster, &cluster()).await, Err(StepError::Refused(_))));
    assert_eq!(other.names(), ["CreateCluster"]);
}

fn token(call: &Call) -> String {
    let body: Value = serde_json::from_str(&call.body).unwrap();
    body["clientRequestToken"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn the_creators_entry_is_taken_over_with_its_policy() {
    let world = World::new(|_| None).await;
    let principal = format!("arn:aws:iam::{ACCOUNT}:role/Admin");
    let path = format!("/clusters/{CLUSTER}/access-entries/{principal}");
    let there = json!({
        "clusterName": CLUSTER, "principalArn": principal, "type": "STANDARD", "kubernetesGroups": [], "tags": {},
        "accessEntryArn": "arn:aws:eks:us-west-2:222222222222:access-entry/x",
    });
    world.insert(&path, there);
    let policy = json!({"policyArn": ADMIN, "accessScope": {"type": "cluster", "namespaces": []}});
    world.insert(&format!("{path}/access-policies/{ADMIN}"), policy);
    let desired = entry(&principal);
    let subject = of(&AccessEntry, &desired);
    let found = AccessEntry.find(&world.cloud.readers, &subject, &desired).await.unwrap().unwrap();
    assert!(AccessEntry.adoptable_without_marks(&found));
    AccessEntry.configure(&world.cloud, &world.recorder, &subject, &desired, &found).await.unwrap();
    assert_eq!(world.names(), ["TagResource"]);
    let body: Value = serde_json::from_str(&world.changes()[0].body).unwrap();
    assert_eq!(body["tags"]["fleetctl:lineage"], "5f0c");
}

#[tokio::test(start_paused = true)]
async fn new_policies_come_before_old_ones_go() {
    let world = World::new(|_| None).await;
    let mut desired = cluster_role();
    let (_, mut observed) = world.make(&Role, &desired).await.unwrap();
    observed.spec["policies"] = desired["spec"]["policies"].clone();
    let calls = world.names().len();
    desired["spec"]["policies"][0] = json!("arn:aws:iam::aws:policy/New");
    desired["spec"]["description"] = json!("described");
    desired["spec"]["tags"] = json!([{"key": "team", "value": "fleet"}]);
    observed.tags.insert("old".to_owned(), "1".to_owned());
    let subject = of(&Role, &desired);
    Role.configure(&world.cloud, &world.recorder, &subject, &desired, &observed).await.unwrap();
    assert_eq!(world.names()[calls..], ["AttachRolePolicy", "DetachRolePolicy", "TagRole", "UntagRole", "UpdateRole"]);
    let update = world.changes().pop().unwrap();
    assert_eq!(field(&update, "Description"), Some("described"));
}

#[tokio::test(start_paused = true)]
async fn a_role_goes_after_its_policies_and_what_holds_it_is_named() {
    let world = World::new(|_| None).await;
    let desired = role("x", "eks.amazonaws.com", &["A", "B"]);
    let (record, _) = world.make(&Role, &desired).await.unwrap();
    let subject = of(&Role, &desired);
    Role.delete(&world.cloud, &world.recorder, &subject, &record).await.unwrap();
    assert_eq!(world.names()[3..], ["DetachRolePolicy", "DetachRolePolicy", "DeleteRole"]);
    Role.delete(&world.cloud, &world.recorder, &subject, &record).await.unwrap();
    assert_eq!(world.names()[6..], ["DeleteRole"]);

    let held = World::new(|call| match call.operation.as_str() {
        "DeleteRole" => Some(query_error(409, "DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")),
        "ListInstanceProfilesForRole" => {
            let profile = "<member><Path>/</Path><InstanceProfileName>eks-1</InstanceProfileName><InstanceProfileId>1</InstanceProfileId><Arn>a</Arn><CreateDate>2023-11-14T22:13:20Z</CreateDate><Roles></Roles></member>";
            Some(Reply::Answer(200, format!("<ListInstanceProfilesForRoleResponse><ListInstanceProfilesForRoleResult><InstanceProfiles>{profile}</InstanceProfiles></ListInstanceProfilesForRoleResult></ListInstanceProfilesForRoleResponse>")))
        }
        _ => None,
    })
    .await;
    let (record, _) = held.make(&Role, &desired).await.unwrap();
    let Err(StepError::Refused(refused)) = Role.delete(&held.cloud, &held.recorder, &subject, &record).await else {
        panic!("refused")
    };
    assert!(refused.message.contains("instance profile eks-1"), "{refused}");
    assert!(held.aws.count("DeleteRole") > 10);
}

#[tokio::test(start_paused = true)]
async fn a_misnamed_principal_is_not_waited_for() {
    let world = World::new(|call| {
        (call.operation == "CreateRole")
            .then(|| query_error(400, "MalformedPolicyDocument", "Invalid principal in policy: \"AWS\":\"x\""))
    })
    .await;
    let desired = cluster_role();
    assert!(matches!(world.make(&Role, &desired).await, Err(StepError::Refused(_))));
    assert_eq!(world.names(), ["CreateRole"]);
    let mut subject = of(&Role, &desired);
    subject.dependencies.push(subject.identity.clone());
    let _ = Role.create(&world.cloud, &world.recorder, &subject, &desired).await;
    assert!(world.names().len() > 5, "the principal may be too fresh");
}

#[tokio::test(start_paused = true)]
async fn everything_is_deleted_and_what_is_gone_is_fine() {
    let world = World::new(|_| None).await;
    let mut made = Vec::new();
    for (kind, desired) in graph() {
        let record = world.make(kind, &desired).await.unwrap().0;
        made.push((kind, desired, record));
    }
    for _ in 0..2 {
        for (kind, desired, record) in made.iter().rev() {
            kind.delete(&world.cloud, &world.recorder, &of(*kind, desired), record).await.unwrap();
        }
    }
    let left: Vec<String> = world.objects.lock().unwrap().keys().cloned().collect();
    let left: Vec<&String> = left.iter().filter(|path| !path.contains("/access-policies/")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_protected_cluster_stays() {
    let world = World::new(|_| None).await;
    let mut desired = cluster();
    desired["spec"]["deletionProtection"] = json!(true);
    let (record, _) = world.make(&Cluster, &desired).await.unwrap();
    let subject = of(&Cluster, &desired);
    let refused = Cluster.delete(&world.cloud, &world.recorder, &subject, &record).await.unwrap_err();
    assert!(refused.to_string().contains("has deletion protection"), "{refused}");
    assert_eq!(world.names(), ["CreateCluster"]);
}

#[tokio::test(start_paused = true)]
async fn an_association_gets_another_role_in_place() {
    let world = World::new(|_| None).await;
    let (kind, mut desired) = graph().pop().unwrap();
    let (_, observed) = world.make(kind, &desired).await.unwrap();
    desired["spec"]["roleARN"] = json!(role_arn("other"));
    let subject = of(kind, &desired);
    let path = format!("POST /clusters/{CLUSTER}/pod-identity-associations/a-1");
    // The simulation does not know updates.
    let world = World::new(move |call| (call.operation == path).then(|| Reply::Answer(200, "{}".to_owned()))).await;
    kind.configure(&world.cloud, &world.recorder, &subject, &desired, &observed).await.unwrap();
    assert_eq!(world.names(), ["UpdatePodIdentityAssociation"]);
    let body: Value = serde_json::from_str(&world.changes()[0].body).unwrap();
    assert_eq!(body["roleArn"], role_arn("other"));
}
