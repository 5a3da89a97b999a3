//! Second copies of what is recorded: objects that bear its marks without being it, as a create call leaves them whose reply
//! was lost and that AWS showed too late.

use crate::destroy::without_deleted;
use crate::support::World;
use crate::support::aws::Account;
use serde_json::{Value, json};

const APPLY: [&str; 3] = ["apply", "cluster.yaml", "--yes"];

/// Makes an object past fleetctl, with the marks of a resource of the instance. Gives its id.
fn second(world: &World, resource: &str, (operation, tagged): (&str, &str), more: &[(&str, &str)], at: &str) -> String {
    let state = world.state();
    let address = format!("EksCluster/workload-cluster1/{resource}");
    let tags = [
        ("lineage", state["lineage"].as_str().unwrap()),
        ("address", address.as_str()),
        ("instance", "argocd/EksCluster/workload-cluster1"),
    ];
    let mut parameters = vec![("TagSpecification.1.ResourceType".to_owned(), tagged.to_owned())];
    for (number, (key, value)) in tags.iter().enumerate() {
        parameters.push((format!("TagSpecification.1.Tag.{}.Key", number + 1), format!("fleetctl:{key}")));
        parameters.push((format!("TagSpecification.1.Tag.{}.Value", number + 1), (*value).to_owned()));
    }
    let tags = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let parameters: Vec<(&str, &str)> = tags.chain(more.iter().copied()).collect();
    Account(&world.workload).ec2(operation, &parameters).pointer(at).and_then(Value::as_str).unwrap().to_owned()
}

fn vpc(world: &World) -> String {
    second(world, "vpc/vpc", ("CreateVpc", "vpc"), &[("CidrBlock", "10.0.0.0/16")], "/vpc/vpcId")
}

/// Longer than new objects are invisible.
fn until_visible() {
    std::thread::sleep(std::time::Duration::from_millis(1500));
}

#[test]
fn a_second_copy_is_shown_and_removed_if_nothing_uses_it_and_refused_otherwise() {
    let world = World::new();
    let before = without_deleted(world.inventory(&world.workload));
    world.fleetctl(&APPLY).expect(0);
    let applied = without_deleted(world.inventory(&world.workload));
    let recorded = world.id("workload-cluster1-vpc");
    let gateway = ("CreateInternetGateway", "internet-gateway");
    let copies = [
        vpc(&world),
        second(&world, "vpc/internetGateway", gateway, &[], "/internetGateway/internetGatewayId"),
        second(&world, "vpc/eip1", ("AllocateAddress", "elastic-ip"), &[("Domain", "vpc")], "/allocationId"),
    ];
    until_visible();

    let planned = world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(2);
    for id in &copies {
        assert!(planned.stdout.contains(&format!("(second copy {id})")), "{id}: {}", planned.stdout);
    }
    assert!(
        planned.stdout.contains(&format!("a second copy that nothing uses; the recorded one is {recorded}")),
        "{}",
        planned.stdout
    );
    world.aws.forget();
    world.fleetctl(&APPLY).expect(0);
    assert_eq!(world.aws.mutating().len(), 3, "{:?}", world.aws.mutating());
    assert_eq!(without_deleted(world.inventory(&world.workload)), applied, "the copies are gone, and nothing else");
    world.aws.forget();
    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
    let looks = world.aws.calls().iter().filter(|call| call.operation == "DescribeTags").count();
    println!("reading calls of a plan with nothing to do: {}", world.aws.calls().len());
    assert_eq!(looks, 1, "while there is no second copy, one call looks for all");

    // Somebody has put something into it.
    let used = vpc(&world);
    let subnet = Account(&world.workload).ec2("CreateSubnet", &[("VpcId", &used), ("CidrBlock", "10.0.0.0/24")]);
    let subnet = subnet["subnet"]["subnetId"].as_str().unwrap();
    until_visible();
    world.aws.forget();
    let refused = world.fleetctl(&APPLY).expect(1);
    let all = format!("{}{}", refused.stdout, refused.stderr);
    for said in [&used, &recorded, subnet, "take it out of use"] {
        assert!(all.contains(said), "{said}: {all}");
    }
    assert_eq!(world.aws.mutating(), []);

    // Out of use, it goes with the rest.
    Account(&world.workload).ec2("DeleteSubnet", &[("SubnetId", subnet)]);
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(without_deleted(world.inventory(&world.workload)), before, "nothing is left");
    assert_eq!(world.state()["resources"], json!([]));
}
