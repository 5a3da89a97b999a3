//! kill -9 right after a call took effect: the next apply finishes, with one of everything.

use crate::destroy::without_deleted;
use crate::support::World;
use serde_json::{Value, json};

fn killed_after(operation: &str) {
    let world = World::new();
    world.settings(&json!({"ec2VisibilityLagSeconds": 2.0, "iamVisibilityLagSeconds": 1.0}));
    let before = without_deleted(world.inventory(&world.workload));
    let proxy = if operation.contains("/api/v1/") { &world.argocd } else { &world.aws };
    proxy.trap(operation);
    let mut child = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    proxy.wait_sprung();
    child.kill().unwrap();
    child.wait().unwrap();

    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    expect_one_of_everything(&world);
    world.aws.forget();
    let again = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert!(again.stdout.contains("No changes"), "{}", again.stdout);
    assert_eq!(world.aws.mutating(), []);
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(without_deleted(world.inventory(&world.workload)), before, "no orphan");
}

/// Every address tag occurs once per service object, and the state has an id for each.
pub(crate) fn expect_one_of_everything(world: &World) {
    let inventory = without_deleted(world.inventory(&world.workload)).to_string();
    let state = world.state();
    for record in state["resources"].as_array().unwrap() {
        let address = format!("\"{}\"", record["address"].as_str().unwrap());
        let times = inventory.matches(&address).count();
        assert!(times <= 1, "{address} is there {times} times");
    }
    let ids: Vec<&Value> = state["resources"].as_array().unwrap().iter().map(|record| &record["id"]).collect();
    assert_eq!(ids.len(), 22, "{ids:?}");
}

#[test]
fn killed_after_create_vpc() {
    killed_after("CreateVpc");
}

#[test]
fn killed_after_allocate_address() {
    killed_after("AllocateAddress");
}

#[test]
fn killed_after_create_nat_gateway() {
    killed_after("CreateNatGateway");
}

#[test]
fn killed_after_create_cluster() {
    killed_after("POST /clusters");
}

#[test]
fn killed_after_create_role() {
    killed_after("CreateRole");
}

#[test]
fn killed_after_create_route_table() {
    killed_after("CreateRouteTable");
}

#[test]
fn killed_after_the_registration() {
    killed_after("POST /api/v1/clusters");
}

#[test]
fn killed_while_the_cluster_is_being_created() {
    let world = World::new();
    world.settings(&json!({"clusterCreateSeconds": 6.0}));
    let mut child = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    let created = || world.aws.calls().iter().any(|call| call.operation == "POST /clusters" && call.status < 300);
    for _ in 0..600 {
        if created() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    child.kill().unwrap();
    child.wait().unwrap();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    expect_one_of_everything(&world);
}

#[test]
fn a_vpc_of_another_lineage_with_the_same_name_is_not_touched() {
    let world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let before = without_deleted(world.inventory(&world.workload));
    // The same names from another state folder: roles and the cluster are somebody else's now.
    world.aws.forget();
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes", "--state", "other"]).expect(1);
    let all = format!("{}{}", refused.stdout, refused.stderr);
    assert!(all.contains("lineage"), "{all}");
    assert_eq!(world.aws.mutating(), []);
    assert_eq!(without_deleted(world.inventory(&world.workload)), before);
}
