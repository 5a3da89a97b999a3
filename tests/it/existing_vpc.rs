//! `vpc.create: false`: a cluster in a VPC that somebody else owns.

use crate::support::World;
use serde_json::Value;

#[test]
fn an_existing_vpc_is_used_and_never_touched() {
    let world = World::new();
    world.write("vpc.yaml", &vpc(&world));
    world.fleetctl(&["apply", "vpc.yaml", "--yes"]).expect(0);
    let network = network(&world);
    let before = world.inventory(&world.workload);

    world.write("cluster.yaml", &world.instance("workload-cluster1", &format!("  vpc:\n    create: false\n{network}")));
    world.aws.forget();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let ec2: Vec<_> = world.aws.mutating().into_iter().filter(|call| call.service == "ec2").collect();
    assert_eq!(ec2, [], "the VPC is not touched");
    let inventory = world.inventory(&world.workload);
    assert_eq!(inventory["eks"][0]["status"], "ACTIVE");
    for owned in ["vpcs", "subnets", "internetGateways", "natGateways", "addresses", "routeTables"] {
        assert_eq!(inventory["ec2"]["us-west-2"][owned], before["ec2"]["us-west-2"][owned], "{owned}");
    }
    world.aws.forget();
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    let ec2: Vec<_> = world.aws.mutating().into_iter().filter(|call| call.service == "ec2").collect();
    assert_eq!(ec2, [], "the VPC is not touched");
    assert_eq!(world.inventory(&world.workload), before);
    let untouched = world.fleetctl(&["apply", "vpc.yaml", "--yes"]).expect(0);
    assert!(untouched.stdout.contains("No changes"), "{}", untouched.stdout);
}

#[test]
fn an_existing_vpc_without_ids_is_refused_before_any_call() {
    let world = World::new();
    world.write("cluster.yaml", &world.instance("workload-cluster1", "  vpc:\n    create: false\n"));
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(4);
    assert!(refused.stderr.contains("subnet"), "{}", refused.stderr);
    assert_eq!(world.aws.mutating(), []);
}

/// What is wrong with a VPC that is there is found before anything is changed.
#[test]
fn an_existing_vpc_is_looked_at_before_anything_is_changed() {
    let world = World::new();
    let small = vpc(&world).replace("  region: us-west-2\n", "  region: us-west-2\n  cidr: {privateSubnet1Cidr: 10.0.11.0/28}\n");
    world.write("vpc.yaml", &small);
    world.fleetctl(&["apply", "vpc.yaml", "--yes"]).expect(0);
    world.aws.forget();
    let network = network(&world);
    let id = |name: &str| network.split(&format!("{name}: ")).nth(1).unwrap().lines().next().unwrap().to_owned();
    let (vpc, first, second) = (id("vpcId"), id("privateSubnet1Id"), id("privateSubnet2Id"));
    let plan = |network: &str, code: i32, says: &[&str]| {
        world.write("cluster.yaml", &world.instance("workload-cluster1", &format!("  vpc:\n    create: false\n{network}")));
        let planned = world.fleetctl(&["plan", "cluster.yaml"]).expect(code);
        for text in says {
            assert!(planned.stdout.contains(text), "{text}: {}", planned.stdout);
        }
    };
    let attribute = |value: bool| {
        let form = format!("Action=ModifyVpcAttribute&Version=2016-11-15&VpcId={vpc}&EnableDnsHostnames.Value={value}");
        world.by_hand("ec2", "POST", "/", &form);
    };
    let untag =
        format!("Action=DeleteTags&Version=2016-11-15&ResourceId.1={second}&Tag.1.Key=kubernetes.io%2Frole%2Finternal-elb");
    plan(&network, 0, &[&format!("{first} has 11 free addresses; EKS recommends 16")]);
    plan(&network.replace(&first, "subnet-00000001"), 1, &["there is no subnet-00000001"]);
    plan(
        &network.replace(&second, &id("publicSubnet1Id")),
        1,
        &["all subnets of the cluster are in us-west-2a; EKS wants two zones"],
    );
    attribute(false);
    plan(&network, 1, &[&format!("{vpc} has no DNS hostnames")]);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(1);
    attribute(true);
    world.by_hand("ec2", "POST", "/", &untag);
    plan(&network, 0, &[&format!("{second} has neither the tag kubernetes.io/role/internal-elb")]);
    assert_eq!(world.aws.mutating(), []);
}

pub(crate) fn vpc(world: &World) -> String {
    format!(
        "apiVersion: kro.run/v1alpha1\nkind: Vpc\nmetadata:\n  name: shared\n  namespace: network\nspec:\n  name: shared\n  region: us-west-2\n---\n\
         apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata:\n  name: network\nspec:\n  \
         arn: arn:aws:iam::{}:role/ack\n  namespaceSelector:\n    names: [shared]\n",
        world.workload
    )
}

/// The ids of the VPC `shared`, as lines of an `EksCluster`'s `spec.vpc`.
pub(crate) fn network(world: &World) -> String {
    let path = world.folder.path().join("state/network/Vpc.shared.json");
    let state: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let id = |name: &str| -> String {
        let resources = state["resources"].as_array().unwrap();
        let record = resources.iter().find(|record| record["identity"]["name"] == format!("shared-{name}")).unwrap();
        record["id"].as_str().unwrap().to_owned()
    };
    format!(
        "    vpcId: {}\n    publicSubnet1Id: {}\n    publicSubnet2Id: {}\n    privateSubnet1Id: {}\n    privateSubnet2Id: {}\n",
        id("vpc"),
        id("public-subnet1"),
        id("public-subnet2"),
        id("private-subnet1"),
        id("private-subnet2")
    )
}
