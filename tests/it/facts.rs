//! What is checked before anything is changed. Always with the definitions that ship.

use crate::support::World;
use crate::support::calls::count;
use crate::support::emulator::repository;
use crate::support::world::Ended;
use serde_json::{Value, json};

fn run(world: &World, arguments: &[&str]) -> Ended {
    let graphs = repository().join("graphs");
    world.fleetctl(&[arguments, &["--graphs", graphs.to_str().unwrap()]].concat())
}

/// `plan` and `apply` refuse, say why, and change nothing.
#[track_caller]
fn refused(world: &World, says: &[&str]) {
    let planned = run(world, &["plan", "cluster.yaml"]).expect(1);
    let applied = run(world, &["apply", "cluster.yaml", "--yes"]).expect(1);
    for (ended, text) in [&planned, &applied].into_iter().flat_map(|ended| says.iter().map(move |text| (ended, text))) {
        assert!(ended.stdout.contains(text), "{text}: {}", ended.stdout);
    }
    assert!(applied.stderr.contains("refused; nothing was changed"), "{}", applied.stderr);
    assert_eq!(world.aws.mutating(), []);
    assert_eq!(world.argocd.mutating(), []);
}

#[test]
fn each_fact_that_is_wrong_is_refused_and_nothing_is_changed() {
    let world = World::new();
    let documents = [
        (("k8sVersion: \"1.34\"", "k8sVersion: \"1.99\""), ["EKS has no Kubernetes 1.99 in us-west-2", "give one of 1.35, 1.34"]),
        (
            ("adminRoleName: Admin", "adminRoleName: Admin\n  podIdentityAddonVersion: v1.2.0-eksbuild.1"),
            ["there is no eks-pod-identity-agent v1.2.0-eksbuild.1 for Kubernetes 1.34", "one of v1.3.8-eksbuild.2"],
        ),
        (("adminRoleName: Admin", "adminRoleName: Nobody"), ["there is no role Nobody in account", &world.workload]),
        (
            ("adminRoleName: Admin", "adminRoleName: Admin\n  hubRoleName: nobody"),
            ["there is no role nobody in account", &world.hub],
        ),
        (
            ("adminRoleName: Admin", "adminRoleName: Admin\n  vpc:\n    zone1: us-west-2q"),
            ["us-west-2q is no zone of this account and region", "2 refused"],
        ),
    ];
    for ((before, after), says) in documents {
        world.write("cluster.yaml", &world.instance("workload-cluster1", "").replace(before, after));
        refused(&world, &says);
    }
    world.write("cluster.yaml", &world.instance("workload-cluster1", ""));
    // The default VPC is one of them.
    world.settings(&json!({"vpcQuota": 1}));
    refused(&world, &["1 VPC wanted, 0 left", "the quota is 1, 1 in use"]);
    world.settings(&json!({"vpcQuota": 2, "elasticIpQuota": 1}));
    refused(&world, &["2 Elastic IP addresses wanted, 1 left"]);
    world.settings(&json!({"elasticIpQuota": 2}));
    run(&world, &["plan", "cluster.yaml"]).expect(0);
}

#[test]
fn all_instances_of_a_run_share_a_quota() {
    let world = World::new();
    let one = |number: u8| {
        let block = format!(
            "  vpc:\n    vpcCidr: 10.{number}.0.0/16\n    publicSubnet1Cidr: 10.{number}.1.0/24\n    publicSubnet2Cidr: 10.{number}.2.0/24\n    \
             privateSubnet1Cidr: 10.{number}.11.0/24\n    privateSubnet2Cidr: 10.{number}.12.0/24\n"
        );
        world.instance(&format!("cluster{number}"), &block)
    };
    world.write("cluster.yaml", &[one(1), one(2), one(3)].join("---\n"));
    world.settings(&json!({"elasticIpQuota": 5}));
    let planned = run(&world, &["plan", "cluster.yaml", "-o", "json"]).expect(1);
    let plan: Value = serde_json::from_str(&planned.stdout).unwrap();
    let checks = plan["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 1, "{checks:?}");
    assert_eq!((&checks[0]["severity"], &checks[0]["address"]), (&json!("refused"), &json!("EksCluster/cluster3/vpc/eip1")));
    assert!(checks[0]["text"].as_str().unwrap().contains("4 for other instances of this run"), "{checks:?}");
    assert!(checks[0]["wayOut"].as_str().unwrap().contains("L-0263D0A3"), "{checks:?}");
    let calls = count(&world.aws.calls());
    for (call, times) in [
        ("servicequotas:GetServiceQuota", 2),
        ("ec2:DescribeAvailabilityZones", 1),
        ("eks:GET /cluster-versions", 1),
        ("iam:GetRole", 3 * 3 + 2),
    ] {
        assert_eq!(calls.get(call), Some(&times), "{call}: {calls:?}");
    }
    refused(&world, &["1 left"]);
    let ended = run(&world, &["apply", "cluster.yaml", "--yes", "-o", "json"]).expect(1);
    let error = &ended.summary()["error"];
    assert_eq!((&error["code"], &error["checks"][0]["severity"]), (&json!("refused"), &json!("refused")), "{error}");
    world.settings(&json!({"elasticIpQuota": 6}));
    run(&world, &["plan", "cluster.yaml"]).expect(0);
    // The same blocks are no reason to refuse, but one to be told.
    world.write("cluster.yaml", &[world.instance("one", ""), world.instance("two", "")].join("---\n"));
    let same = run(&world, &["plan", "cluster.yaml"]).expect(0);
    assert!(same.stdout.contains("10.0.0.0/16 is also a block of EksCluster/one/vpc/vpc"), "{}", same.stdout);
}

#[test]
fn a_quota_that_may_not_be_read_is_noted_and_the_run_goes_on() {
    let world = World::new();
    let denied = |service: &str, operation: &str| json!({"service": service, "operation": operation, "code": "AccessDeniedException", "status": 400, "count": null});
    world.faults(&[denied("service-quotas", "GetServiceQuota"), denied("eks", "DescribeClusterVersions")]);
    // EC2 tells the quota of addresses, too.
    world.settings(&json!({"elasticIpQuota": 1}));
    refused(
        &world,
        &["2 Elastic IP addresses wanted, 1 left", "the quota of VPCs: not checked", "allow servicequotas:GetServiceQuota"],
    );
    world.settings(&json!({"elasticIpQuota": 2}));
    let applied = run(&world, &["apply", "cluster.yaml", "--yes"]).expect(0);
    assert!(applied.stdout.contains("allow eks:DescribeClusterVersions"), "{}", applied.stdout);
    assert!(!applied.stdout.contains("the quota of Elastic"), "{}", applied.stdout);
}

/// The budget: a new cluster costs seven more reading calls, an apply without changes none.
#[test]
fn what_is_asked_is_asked_once_and_only_when_it_matters() {
    const QUESTIONS: [&str; 3] = ["servicequotas:GetServiceQuota", "ec2:DescribeAvailabilityZones", "eks:GET /cluster-versions"];
    let world = World::new();
    world.write("cluster.yaml", &world.instance("workload-cluster1", "").replace("\"1.34\"", "\"1.31\""));
    let planned = run(&world, &["plan", "cluster.yaml"]).expect(0);
    assert!(planned.stdout.contains("Kubernetes 1.31 is in extended support since"), "{}", planned.stdout);
    let calls = count(&world.aws.calls());
    assert_eq!(QUESTIONS.map(|call| calls.get(call).copied()), [Some(2), Some(1), Some(1)], "{calls:?}");
    assert_eq!(calls.get("iam:GetRole"), Some(&5), "three roles of the graph, two that may enter: {calls:?}");
    run(&world, &["apply", "cluster.yaml", "--yes"]).expect(0);
    world.aws.forget();
    let again = run(&world, &["apply", "cluster.yaml", "--yes"]).expect(0);
    assert!(again.stdout.contains("No changes"), "{}", again.stdout);
    let calls = count(&world.aws.calls());
    assert_eq!(QUESTIONS.map(|call| calls.get(call).copied()), [None; 3], "{calls:?}");
    assert_eq!(calls.get("iam:GetRole"), Some(&3), "{calls:?}");
    // A plan tells of the support of clusters that are there.
    let later = run(&world, &["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
    assert!(later.stdout.contains("No changes") && later.stdout.contains("extended support"), "{}", later.stdout);
}

#[test]
fn a_written_plan_is_checked_again() {
    let world = World::new();
    run(&world, &["plan", "cluster.yaml", "--out", "plan.json"]).expect(0);
    world.settings(&json!({"vpcQuota": 1}));
    let late = run(&world, &["apply", "plan.json", "--yes"]).expect(1);
    assert!(late.stderr.contains("1 check refused; nothing was changed"), "{}", late.stderr);
    assert_eq!(world.aws.mutating(), []);
    world.settings(&json!({"vpcQuota": 2}));
    run(&world, &["apply", "plan.json", "--yes"]).expect(0);
}

/// What AWS says when nobody has asked before: the emulator keeps the quotas that it tells.
#[test]
fn the_version_that_eks_chooses_stays() {
    let world = World::new();
    run(&world, &["apply", "cluster.yaml", "--yes"]).expect(0);
    let cluster = &world.inventory(&world.workload)["eks"][0];
    assert!(cluster["addons"].to_string().contains("v1.3.8-eksbuild.2"), "{cluster}");
    let association = cluster["podIdentityAssociations"].to_string();
    assert!(association.contains("external-secrets"), "{cluster}");
    world.aws.forget();
    let again = run(&world, &["apply", "cluster.yaml", "--yes"]).expect(0);
    assert!(again.stdout.contains("No changes"), "{}", again.stdout);
    assert_eq!(world.aws.mutating(), []);
}
