//! Objects made by hand become resources of an instance.

use crate::crash::{expect_one_of_everything, foreign_vpc};
use crate::destroy::without_deleted;
use crate::support::World;

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
