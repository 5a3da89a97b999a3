//! Throttling is absorbed; a NAT gateway that fails is reported while the rest is finished; lost replies make no second
//! copy.

use crate::crash::expect_one_of_everything;
use crate::destroy::without_deleted;
use crate::support::World;
use crate::support::calls::count;
use crate::support::world::Ended;
use serde_json::{Value, json};

#[test]
fn twenty_throttled_calls_are_absorbed() {
    let world = World::new();
    let rule = |service: &str, operation: &str, code: &str, status: u16, count: usize| json!({"service": service, "operation": operation, "when": "before", "count": count, "code": code, "status": status, "message": "slow down"});
    world.faults(&[
        rule("ec2", "CreateVpc", "RequestLimitExceeded", 503, 2),
        rule("ec2", "CreateSubnet", "RequestLimitExceeded", 503, 3),
        rule("ec2", "CreateRoute", "RequestLimitExceeded", 503, 2),
        rule("ec2", "DescribeNatGateways", "RequestLimitExceeded", 503, 3),
        rule("iam", "AttachRolePolicy", "Throttling", 400, 3),
        rule("iam", "GetRole", "Throttling", 400, 2),
        rule("eks", "CreateCluster", "TooManyRequestsException", 429, 1),
        rule("eks", "DescribeCluster", "TooManyRequestsException", 429, 2),
        rule("eks", "CreateAccessEntry", "TooManyRequestsException", 429, 2),
    ]);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.hits(), 20, "every refusal was met");
    expect_one_of_everything(&world);
}

#[test]
fn a_failed_nat_gateway_is_reported_the_rest_is_finished_and_the_next_apply_replaces_it() {
    let world = World::new();
    world.faults(&[json!({
        "service": "ec2", "operation": "CreateNatGateway", "count": 1, "outcome": "failed",
        "failureCode": "InsufficientFreeAddressesInSubnet", "failureMessage": "the subnet has no free address",
    })]);
    let failed = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(1);
    let all = format!("{}{}", failed.stdout, failed.stderr);
    assert!(all.contains("InsufficientFreeAddressesInSubnet") && all.contains("the subnet has no free address"), "{all}");
    assert!(failed.stdout.contains("1 made and failed") && !failed.stdout.contains("nothing was changed"), "{}", failed.stdout);
    assert!(failed.stdout.contains("AWS charges for 1 Cluster, 2 ElasticIPAddress, 1 NATGateway by"), "{}", failed.stdout);
    let status = world.fleetctl(&["status"]).expect(0);
    assert!(status.stdout.contains("no run is going on; the next apply makes anew what failed"), "{}", status.stdout);
    // Everything else is finished, but for what needs the gateway: the routes through it, and the registration.
    let state = world.state();
    let records = state["resources"].as_array().unwrap();
    let not_ready: Vec<&Value> = records.iter().filter(|record| record["phase"] != "ready").collect();
    let failed: Vec<&&Value> = not_ready.iter().filter(|record| record["phase"] == "failed").collect();
    assert_eq!((records.len(), failed.len(), not_ready.len()), (21, 1, 2), "{not_ready:?}");
    assert_eq!(failed[0]["identity"]["kind"], "NATGateway");
    assert!(not_ready.iter().any(|record| record["identity"]["kind"] == "RouteTable"), "{not_ready:?}");
    assert_eq!(world.argocd.mutating(), [], "not registered before everything is done");
    let id = failed[0]["id"].as_str().unwrap();
    let address = failed[0]["address"].as_str().unwrap();

    let planned = world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(2);
    let replaced = planned.stdout.lines().any(|line| line.contains("replace") && line.contains(address));
    assert!(replaced, "{}", planned.stdout);
    world.aws.forget();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(count(&world.aws.mutating()).get("ec2:CreateNatGateway"), Some(&1));
    assert!(!without_deleted(world.inventory(&world.workload)).to_string().contains(id), "the failed one is gone");
    expect_one_of_everything(&world);
    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
}

#[test]
fn after_a_failed_cluster_the_command_that_is_named_carries_on() {
    let world = World::new();
    world.faults(&[json!({
        "service": "eks", "operation": "CreateCluster", "count": 1, "outcome": "failed",
        "failureCode": "InsufficientCapacity", "failureMessage": "no capacity",
    })]);
    let failed = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(1);
    assert!(!failed.stdout.contains("InsufficientCapacity: InsufficientCapacity"), "{}", failed.stdout);
    let named = failed.stdout.lines().last().and_then(|line| line.strip_prefix("Carry on with: fleetctl ")).unwrap();
    assert!(named.contains("--confirm EksCluster/"), "{named}");
    world.fleetctl(&named.split(' ').collect::<Vec<_>>()).expect(0);
    expect_one_of_everything(&world);
}

#[test]
fn lost_replies_make_no_second_copy() {
    let world = World::new();
    let before = without_deleted(world.inventory(&world.workload));
    let lost = |service: &str, operation: &str| json!({"service": service, "operation": operation, "when": "after", "count": 1});
    world.faults(&[
        lost("ec2", "CreateVpc"),
        lost("ec2", "AllocateAddress"),
        lost("ec2", "CreateNatGateway"),
        lost("ec2", "CreateSubnet"),
        lost("iam", "CreateRole"),
        lost("iam", "AttachRolePolicy"),
        lost("eks", "CreateCluster"),
        lost("eks", "CreateAccessEntry"),
        lost("eks", "AssociateAccessPolicy"),
    ]);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.hits(), 9, "every reply was lost");
    expect_one_of_everything(&world);
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(without_deleted(world.inventory(&world.workload)), before, "no orphan");
}

/// What a reply says held when it was asked for, not when it came: absence counts by then.
#[test]
fn a_slow_reply_is_not_taken_for_absence() {
    let mut world = World::new();
    // The first look at the gateways comes before they can be seen, and its answer when their absence would count.
    world.settings(&json!({"ec2VisibilityLagSeconds": 8.0}));
    world.set("FLEETCTL_VISIBILITY_WINDOW", "10");
    world.faults(&[json!({
        "service": "ec2", "operation": "DescribeNatGateways", "when": "after", "count": 1, "delay_ms": 9000,
    })]);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.hits(), 1);
    expect_one_of_everything(&world);
}

/// The same before a plan: a VPC that could not be seen yet is not made a second time.
#[cfg(unix)]
#[test]
fn a_slow_reply_before_a_plan_makes_no_second_copy() {
    let world = World::new();
    world.settings(&json!({"ec2VisibilityLagSeconds": 3.5}));
    let child = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    world.wait_for("CreateVpc");
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    Ended::of(child.wait_with_output().unwrap()).expect(130);
    world.faults(&[json!({"service": "ec2", "operation": "DescribeVpcs", "when": "after", "count": 1, "delay_ms": 6000})]);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.hits(), 1);
    expect_one_of_everything(&world);
}
