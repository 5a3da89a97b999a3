//! Objects made by hand become resources of an instance.

use crate::crash::{expect_one_of_everything, foreign_vpc};
use crate::destroy::without_deleted;
use crate::drift::{argocd, clusters};
use crate::support::World;
use crate::support::aws::encoded;
use serde_json::{Value, json};

const ADDRESS: &str = "EksCluster/workload-cluster1/vpc/vpc";

#[test]
fn a_vpc_made_by_hand_is_taken_in_and_apply_completes_it() {
    let world = World::new();
    let before = without_deleted(world.inventory(&world.workload));
    let theirs = foreign_vpc(&world, &[("fleetctl:lineage", "0d3f"), ("fleetctl:instance", "argocd/EksCluster/other")]);
    let with_theirs = without_deleted(world.inventory(&world.workload));
    let vpc = foreign_vpc(&world, &[("Name", "by-hand")]);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let import =
        |address: &str, id: &str, code| world.fleetctl(&["import", "-f", "cluster.yaml", address, id, "--yes"]).expect(code);
    let refused = import(ADDRESS, &theirs, 1);
    assert!(refused.stderr.contains("argocd/EksCluster/other, lineage 0d3f"), "{}", refused.stderr);
    let missing = import(ADDRESS, "vpc-0123456789abcdef0", 1);
    assert!(missing.stderr.contains("there is no VPC vpc-0123456789abcdef0"), "{}", missing.stderr);
    assert_eq!(world.aws.mutating(), []);
    let imported = import(ADDRESS, &vpc, 0);
    assert!(imported.stdout.contains("the next apply changes"), "{}", imported.stdout);
    let changes: Vec<String> = world.aws.mutating().into_iter().map(|call| call.operation).collect();
    assert_eq!(changes, ["CreateTags"]);
    let again = import(ADDRESS, &vpc, 1);
    assert!(again.stderr.contains("recorded already"), "{}", again.stderr);

    let role = "workload-cluster1-cluster-role";
    let graph = world.fleetctl(&["graph", "cluster.yaml", "-o", "json"]).expect(0).stdout;
    let graph: serde_json::Value = serde_json::from_str(&graph).unwrap();
    let node = graph["nodes"].as_array().unwrap().iter().find(|node| node["kind"] == "Role").unwrap();
    let refused = import(node["address"].as_str().unwrap(), role, 1);
    assert!(refused.stderr.contains("there is no Role"), "{}", refused.stderr);

    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    expect_one_of_everything(&world);
    let record = world.state()["resources"].as_array().unwrap().iter().find(|one| one["address"] == ADDRESS).unwrap().clone();
    assert_eq!((&record["id"], &record["adopted"]), (&vpc.as_str().into(), &true.into()));
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(without_deleted(world.inventory(&world.workload)), with_theirs);
    assert_ne!(with_theirs, before);
}

/// Takes every mark off what is there, as if somebody had made it by hand.
fn take_marks_off(world: &World, records: &[Value]) {
    let keys = ["fleetctl:lineage", "fleetctl:address", "fleetctl:instance"].map(encoded);
    let listed = |before: &str, after: &str| {
        let fields = keys.iter().enumerate().map(|(at, key)| format!("&{before}{}{after}={key}", at + 1));
        fields.collect::<Vec<_>>().concat()
    };
    for record in records {
        let id = record["id"].as_str().unwrap();
        let arn = record["status"]["ackResourceMetadata"]["arn"].as_str().unwrap_or_default();
        match record["identity"]["kind"].as_str().unwrap() {
            "Secret" => {
                let all = clusters(world);
                let mut cluster = all["items"].as_array().unwrap().iter().find(|one| one["server"] == id).unwrap().clone();
                cluster["annotations"].as_object_mut().unwrap().retain(|key, _| !key.starts_with("fleetctl/"));
                let path = format!("/api/v1/clusters/{}?updatedFields=annotations", encoded(id));
                argocd(world, reqwest::Method::PUT, &path, Some(&cluster));
            }
            "Role" => {
                let form = format!("Action=UntagRole&Version=2010-05-08&RoleName={id}{}", listed("TagKeys.member.", ""));
                world.by_hand("iam", "POST", "/", &form);
            }
            "Cluster" | "Addon" | "AccessEntry" | "PodIdentityAssociation" => {
                let keys: Vec<String> = keys.iter().map(|key| format!("tagKeys={key}")).collect();
                world.by_hand("eks", "DELETE", &format!("/tags/{}?{}", encoded(arn), keys.join("&")), "");
            }
            _ => {
                let form = format!("Action=DeleteTags&Version=2016-11-15&ResourceId.1={id}{}", listed("Tag.", ".Key"));
                world.by_hand("ec2", "POST", "/", &form);
            }
        }
    }
}

/// Every kind: made by hand, taken in one by one, kept by apply, removed by destroy.
#[test]
fn a_whole_cluster_made_by_hand_is_taken_in_kind_by_kind() {
    let world = World::new();
    let before = without_deleted(world.inventory(&world.workload));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let records = world.state()["resources"].as_array().unwrap().clone();
    take_marks_off(&world, &records);
    std::fs::remove_dir_all(world.folder.path().join("state")).unwrap();
    let nothing = world.fleetctl(&["state", "rebuild", "cluster.yaml", "--yes"]).expect(1);
    assert!(nothing.stderr.contains("nothing to rebuild"), "{}", nothing.stderr);
    std::thread::sleep(std::time::Duration::from_secs(1));

    for record in &records {
        let (address, id) = (record["address"].as_str().unwrap(), record["id"].as_str().unwrap());
        let imported = world.fleetctl(&["import", "-f", "cluster.yaml", address, id, "--yes", "-o", "json"]).expect(0);
        let report: Value = serde_json::from_str(&imported.stdout).unwrap();
        assert_eq!((&report["marks"], &report["impossible"]), (&json!(true), &json!([])), "{report}");
    }
    let planned = world.fleetctl(&["plan", "cluster.yaml", "-o", "json"]).expect(0);
    let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
    let summary = &planned["summary"];
    let none = ["create", "replace", "delete", "refused"].map(|action| summary[action].clone());
    assert_eq!(none, [json!(0), json!(0), json!(0), json!(0)], "{planned}");
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    expect_one_of_everything(&world);
    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(without_deleted(world.inventory(&world.workload)), before);
    assert_eq!(world.registered(), json!([]));
}
