use super::*;
use crate::graph::identity::Address;
use crate::state::file::Phase;
use chrono::DateTime;
use serde_json::json;

const WITH_CLUSTER: GoesWith = GoesWith { kind: "Cluster", path: "spec.clusterName" };

fn identity(kind: &str, name: &str) -> Identity {
    Identity {
        api_version: "test/v1".into(),
        kind: kind.into(),
        namespace: "argocd".into(),
        name: name.into(),
        account: "222222222222".into(),
        region: "us-west-2".into(),
    }
}

/// A record: `Kind/name`, and what it needs. What lives in a cluster lives in the cluster `one`.
fn record(object: &str, needs: &[&str]) -> Record {
    let parts = |object: &str| object.split_once('/').map(|(kind, name)| identity(kind, name)).unwrap();
    let identity = parts(object);
    let spec = json!({"name": identity.name, "clusterName": "one"});
    Record {
        address: Address(object.into()),
        role: None,
        id: identity.name.clone(),
        phase: Phase::Ready,
        applied: json!({ "spec": spec }),
        status: json!({}),
        dependencies: needs.iter().map(|needed| parts(needed)).collect(),
        adopted: false,
        since: DateTime::UNIX_EPOCH,
        created_at: DateTime::UNIX_EPOCH,
        wait: None,
        identity,
    }
}

/// Waves of removals, each with what went along.
fn waves(records: &[Record]) -> Vec<String> {
    let goes_with = |record: &Record| matches!(&*record.identity.kind, "Addon" | "Association").then_some(WITH_CLUSTER);
    let doomed: Vec<_> = records.iter().map(|record| (record, goes_with(record))).collect();
    let order = Order::of(&doomed);
    let mut gone = BTreeSet::new();
    let mut waves = Vec::new();
    loop {
        let free =
            |record: &&Record| !gone.contains(&record.identity) && order.is_free(&record.identity, |one| gone.contains(one));
        let wave: Vec<Identity> = records.iter().filter(free).map(|record| record.identity.clone()).collect();
        if wave.is_empty() {
            break;
        }
        let along: Vec<Identity> = wave.iter().flat_map(|identity| order.carried_by(identity)).collect();
        let names = |identities: &[Identity]| identities.iter().map(|one| &*one.name).collect::<Vec<_>>().join(" ");
        let with = if along.is_empty() { String::new() } else { format!(" with {}", names(&along)) };
        waves.push(format!("{}{with}", names(&wave)));
        gone.extend(wave.into_iter().chain(along));
    }
    assert_eq!(gone.len(), records.len(), "something never goes: {waves:?}");
    waves
}

#[test]
fn what_needs_something_goes_first() {
    let records = [record("VPC/vpc", &[]), record("Subnet/a", &["VPC/vpc"]), record("Subnet/b", &["VPC/vpc"])];
    assert_eq!(waves(&records), ["a b", "vpc"]);
}

#[test]
fn what_stays_or_is_gone_keeps_nobody_waiting() {
    assert_eq!(waves(&[record("Subnet/a", &["VPC/elsewhere"])]), ["a"]);
}

#[test]
fn a_cluster_takes_along_what_lives_in_it() {
    let records = [
        record("Cluster/one", &["Role/role"]),
        record("Addon/dns", &["Cluster/one"]),
        record("Role/role", &[]),
        record("Cluster/two", &["Role/role"]),
    ];
    assert_eq!(waves(&records), ["one two with dns", "role"]);
}

#[test]
fn without_its_cluster_an_addon_goes_by_itself() {
    assert_eq!(waves(&[record("Addon/dns", &["Cluster/one"])]), ["dns"]);
}

#[test]
fn what_needs_something_that_is_carried_goes_before_the_carrier() {
    let records = [record("Cluster/one", &[]), record("Addon/dns", &["Cluster/one"]), record("Secret/argocd", &["Addon/dns"])];
    assert_eq!(waves(&records), ["argocd", "one with dns"]);
}

#[test]
fn carried_objects_may_need_one_another() {
    let records = [
        record("Cluster/one", &[]),
        record("Association/csi", &["Cluster/one"]),
        record("Addon/csi-driver", &["Cluster/one", "Association/csi"]),
        record("Secret/argocd", &["Association/csi"]),
    ];
    assert_eq!(waves(&records), ["argocd", "one with csi-driver csi"]);
}

#[test]
fn what_needs_something_that_needs_the_carrier_goes_by_itself() {
    let records = [
        record("Cluster/one", &[]),
        record("Role/trusts-the-issuer", &["Cluster/one"]),
        record("Addon/csi-driver", &["Cluster/one", "Role/trusts-the-issuer"]),
        record("Addon/late", &["Cluster/one", "Addon/csi-driver"]),
        record("Addon/dns", &["Cluster/one"]),
    ];
    assert_eq!(waves(&records), ["late", "csi-driver", "trusts-the-issuer", "one with dns"]);
}

#[test]
fn for_people_what_is_carried_comes_right_after_its_carrier() {
    let records = [
        record("Role/nodes", &[]),
        record("Addon/agent", &["Cluster/one"]),
        record("Cluster/one", &["Role/nodes"]),
        record("Secret/argocd", &["Cluster/one", "Addon/agent"]),
    ];
    let goes_with = |record: &Record| (record.identity.kind == "Addon").then_some(WITH_CLUSTER);
    let order = Order::of(&records.iter().map(|record| (record, goes_with(record))).collect::<Vec<_>>());
    let sequence = order.sequence(records.iter().map(|record| record.identity.clone()).collect());
    assert_eq!(sequence.iter().map(|one| &*one.name).collect::<Vec<_>>(), ["argocd", "one", "agent", "nodes"]);
}
