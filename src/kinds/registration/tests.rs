use super::state::{carried_over, observed};
use super::steps::{registration, update, updated_fields};
use super::target::tests::plain;
use super::target::{CONFIG_HASH, Target, Way};
use super::*;
use crate::argocd::Cluster;
use crate::argocd::product::ServerForm;
use crate::kinds::kind::{Changeability, Owner};
use crate::kinds::shared::tests::{paths, subject};
use serde_json::json;

const ARN: &str = "arn:aws:eks:us-west-2:111122223333:cluster/workload-cluster1";
const SERVER: &str = "https://ABC.gr7.us-west-2.eks.amazonaws.com";

fn us() -> Subject {
    subject("v1", "Secret")
}

/// The Secret of kro's eks-cluster-mgmt example, rendered; fewer annotations.
fn wanted() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {
            "name": "workload-cluster1", "namespace": "argocd",
            "labels": {
                "argocd.argoproj.io/secret-type": "cluster",
                "fleet_member": "spoke", "tenant": "tenant1", "environment": "staging",
                "aws_cluster_name": "workload-cluster1", "workloads": "true", "enable_external_secrets": "true",
            },
            "annotations": {
                "aws_account_id": "111122223333", "aws_region": "us-west-2", "aws_vpc_id": "vpc-1",
                "oidcProvider": "https://oidc.eks.us-west-2.amazonaws.com/id/ABC", "addons_repo_path": "",
                "access_entry_arn": "arn:aws:eks:us-west-2:111122223333:access-entry/workload-cluster1/role/1/x/1",
            },
        },
        "stringData": {"name": "workload-cluster1", "server": ARN, "project": "default"},
    })
}

fn target() -> Target {
    Target { arn: ClusterArn::parse(ARN).unwrap(), endpoint: SERVER.into(), authority: "Q0E=".into(), way: plain() }
}

fn sent() -> Cluster {
    registration(&us(), &Wanted::of(&wanted()), &target(), None)
}

/// What Argo CD gives back of what was sent: no certificate authority.
fn stored() -> Cluster {
    let config = json!({"awsAuthConfig": {"clusterName": "workload-cluster1"}, "tlsClientConfig": {"insecure": false}});
    Cluster { config, ..sent() }
}

fn there(cluster: &Cluster) -> Observed {
    observed(cluster, ARN, Some(&target()))
}

fn changes(cluster: &Cluster) -> Vec<FieldChange> {
    Registration.compare(&us(), &wanted(), &there(cluster), None)
}

#[test]
fn the_whole_registration_is_sent_at_once() {
    assert_eq!(
        serde_json::to_value(sent()).unwrap(),
        json!({
            "server": SERVER,
            "name": "workload-cluster1",
            "project": "default",
            "labels": {
                "aws_cluster_name": "workload-cluster1", "enable_external_secrets": "true", "environment": "staging",
                "fleet_member": "spoke", "tenant": "tenant1", "workloads": "true",
            },
            "annotations": {
                "access_entry_arn": "arn:aws:eks:us-west-2:111122223333:access-entry/workload-cluster1/role/1/x/1",
                "addons_repo_path": "", "aws_account_id": "111122223333", "aws_region": "us-west-2", "aws_vpc_id": "vpc-1",
                "fleetctl/address": "EksCluster/workload-cluster1/basic/one",
                "fleetctl/config-hash": target().hash(),
                "fleetctl/instance": "argocd/EksCluster/workload-cluster1",
                "fleetctl/lineage": "5f0c",
                "oidcProvider": "https://oidc.eks.us-west-2.amazonaws.com/id/ABC",
            },
            "config": {
                "awsAuthConfig": {"clusterName": "workload-cluster1"},
                "tlsClientConfig": {"insecure": false, "caData": "Q0E="},
            },
        })
    );
}

#[test]
fn what_argo_cd_gives_back_is_as_wanted() {
    assert_eq!(changes(&stored()), []);
    let observed = there(&stored());
    assert_eq!(observed.id, SERVER);
    assert_eq!(observed.owner(&us().marks), Owner::Ours);
    assert_eq!(observed.spec["stringData"], wanted()["stringData"]);
    assert!(updated_fields(&us(), &wanted(), &observed).is_empty());
}

#[test]
fn what_argo_cd_and_its_controller_write_is_no_difference() {
    let mut cluster = stored();
    cluster.labels.insert("argocd.argoproj.io/kubernetes-version".into(), "1.34".into());
    cluster.annotations.insert("argocd.argoproj.io/refresh".into(), "now".into());
    cluster.annotations.insert("argocd.argoproj.io/skip-reconcile".into(), "true".into());
    assert_eq!(changes(&cluster), []);
}

#[test]
fn only_the_fields_that_differ_are_written() {
    let mut cluster = stored();
    cluster.labels.insert("tenant".into(), "other".into());
    cluster.labels.insert("foreign".into(), "x".into());
    cluster.project = "other".into();
    let found = changes(&cluster);
    assert_eq!(paths(&found), ["metadata.labels[tenant]", "metadata.labels[foreign]", "stringData.project"]);
    assert_eq!(updated_fields(&us(), &wanted(), &there(&cluster)), ["labels", "project"]);
    let sent = update(&us(), &Wanted::of(&wanted()), &there(&cluster), None);
    assert!(!sent.labels.contains_key("foreign") && sent.labels["tenant"] == "tenant1");
    assert_eq!((sent.server.as_str(), sent.name.as_str(), sent.project.as_str()), (SERVER, "workload-cluster1", "default"));
    assert!(sent.config.is_null());
    assert_eq!(Some(sent.annotations[CONFIG_HASH].clone()), target().hash());
}

#[test]
fn another_authority_moves_the_hash_and_the_configuration() {
    let mut cluster = stored();
    cluster.annotations.insert(CONFIG_HASH.into(), "old".into());
    assert_eq!(paths(&changes(&cluster)), ["config.tlsClientConfig.caData"]);
    assert_eq!(updated_fields(&us(), &wanted(), &there(&cluster)), ["annotations", "config"]);
    let sent = update(&us(), &Wanted::of(&wanted()), &there(&cluster), Some(&target()));
    assert_eq!(Some(sent.annotations[CONFIG_HASH].clone()), target().hash());
    assert_eq!(sent.config, target().config());
    let mut cluster = stored();
    cluster.config = json!({"awsAuthConfig": {"clusterName": "other"}});
    assert_eq!(paths(&changes(&cluster)), ["config"]);
}

#[test]
fn another_endpoint_is_another_registration() {
    let mut cluster = stored();
    cluster.server = "https://OLD.gr7.us-west-2.eks.amazonaws.com".into();
    let found = changes(&cluster);
    assert_eq!(paths(&found), ["stringData.server"]);
    assert_eq!(found[0].changeability, Changeability::Follows);
    assert_eq!((&found[0].before, &found[0].after), (&json!(cluster.server), &json!(SERVER)));
    let mut desired = wanted();
    desired["stringData"]["server"] = json!("arn:aws:eks:us-west-2:111122223333:cluster/other");
    let found = Registration.compare(&us(), &desired, &there(&stored()), None);
    assert_eq!((found[0].path.as_str(), &found[0].before), ("stringData.server", &json!(ARN)));
    assert_eq!(found[0].changeability, Changeability::Replacement, "that is for somebody to decide");
}

#[test]
fn a_cluster_that_is_gone_leaves_the_registration_as_it_is() {
    let observed = observed(&stored(), ARN, None);
    assert_eq!(Registration.compare(&us(), &wanted(), &observed, None), []);
    let mut desired = wanted();
    desired["stringData"].as_object_mut().unwrap().remove("server");
    assert_eq!(Registration.compare(&us(), &desired, &there(&stored()), None), []);
}

#[test]
fn foreign_keys_go_along_and_what_argo_cd_refuses_does_not() {
    let there = json!({
        "argocd.argoproj.io/kubernetes-version": "1.34", "argocd.argoproj.io/refresh": "now", "old": "x",
        "fleetctl/config-hash": "abc", "argocd.argoproj.io/secret-type": "cluster",
    });
    let sent = carried_over([("new".to_owned(), "y".to_owned())].into(), &there);
    assert_eq!(sent.keys().collect::<Vec<_>>(), ["argocd.argoproj.io/kubernetes-version", "new"]);
}

#[test]
fn secrets_of_other_uses_are_left_alone() {
    assert_eq!(Registration.not_carried_out(&wanted()), []);
    let mut other = wanted();
    other["metadata"]["labels"]["argocd.argoproj.io/secret-type"] = json!("repository");
    assert!(matches!(Registration.not_carried_out(&other)[0], NotCarriedOut::Object { .. }));
    let mut url = wanted();
    url["stringData"]["server"] = json!("https://1.2.3.4");
    let found = Registration.not_carried_out(&url);
    assert!(
        matches!(&found[0], NotCarriedOut::Value { path, reason } if path == "stringData.server" && reason.contains("1.2.3.4"))
    );
}

#[test]
fn it_waits_for_its_cluster_and_keeps_no_other_texts() {
    let description = Registration.description();
    assert_eq!((description.api_version.as_str(), description.kind.as_str()), ("v1", "Secret"));
    assert_eq!(description.field("stringData.server").asks, Production::Ready);
    assert!(!description.field("stringData.config").carried_out);
    assert!(!description.field("data.server").carried_out);
    assert!(description.field("metadata.labels.tenant").carried_out);
    assert_eq!(description.implied, [ImpliedEdge::AfterEverything]);
}

#[test]
fn without_argo_cd_the_error_says_so() {
    let error = listing::reader(None).unwrap_err();
    assert_eq!(error.code, "NotConfigured");
    assert!(error.message.contains("ARGOCD_SERVER"), "{error}");
}

#[test]
fn another_name_is_another_registration() {
    let found = changes(&Cluster { name: "old".into(), ..stored() });
    assert_eq!((found[0].path.as_str(), found[0].changeability), ("stringData.name", Changeability::Replacement));
    assert!(found[0].reason.unwrap().contains("add-ons"));
}

#[test]
fn a_role_that_settings_change_is_written() {
    let way = Way::SelfManaged { role: Some("arn:aws:iam::111122223333:role/argocd".into()), profile: None };
    let target = Target { way, ..target() };
    let observed = observed(&stored(), ARN, Some(&target));
    assert_eq!(updated_fields(&us(), &wanted(), &observed), ["annotations", "config"]);
}

#[test]
fn the_hosted_argo_cd_goes_by_the_arn() {
    let target = Target { way: Way::Hosted(ServerForm::Arn), ..target() };
    let mut cluster = registration(&us(), &Wanted::of(&wanted()), &target, None);
    assert_eq!((cluster.server.as_str(), cluster.config["awsAuthConfig"]["clusterName"].as_str()), (ARN, Some(ARN)));
    let differs = |cluster: &Cluster| Registration.compare(&us(), &wanted(), &observed(cluster, ARN, Some(&target)), None);
    assert_eq!(differs(&cluster), []);
    cluster.server = "https://changed".into();
    cluster.config = json!({});
    assert_eq!(differs(&cluster), [], "whatever it calls the server, and without a configuration");
    cluster.config = json!({"awsAuthConfig": {"clusterName": "other"}});
    assert_eq!(paths(&differs(&cluster)), ["config"]);
}

#[test]
fn only_the_registration_of_this_very_cluster_may_be_taken_over() {
    let mut nobodys = stored();
    nobodys.annotations.clear();
    assert_eq!(Registration.takeover(&there(&nobodys)), Takeover::ByName);
    assert_eq!(Registration.takeover(&observed(&nobodys, ARN, None)), Takeover::Refused(None));
    nobodys.server = "https://other".into();
    assert_eq!(Registration.takeover(&there(&nobodys)), Takeover::Refused(None));
}
