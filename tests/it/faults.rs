//! Throttling is absorbed; a NAT gateway that fails is reported while the rest is finished; lost replies make no second
//! copy.

use crate::crash::expect_one_of_everything;
use crate::support::World;
use serde_json::json;

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
    let state = world.state();
    let phase = |kind: &str| -> Vec<String> {
        let resources = state["resources"].as_array().unwrap();
        let of_kind = resources.iter().filter(|record| record["identity"]["kind"] == kind);
        of_kind.map(|record| record["phase"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(phase("Cluster"), ["ready"], "the cluster needs no NAT gateway");
    let mut gateways = phase("NATGateway");
    gateways.sort();
    assert_eq!(gateways, ["failed", "ready"]);
    assert_eq!(world.argocd.mutating(), [], "not registered before everything is done");

    let planned = world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(2);
    assert!(planned.stdout.contains("replace"), "{}", planned.stdout);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    expect_one_of_everything(&world);
}

#[test]
fn lost_replies_make_no_second_copy() {
    let world = World::new();
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
    expect_one_of_everything(&world);
}
