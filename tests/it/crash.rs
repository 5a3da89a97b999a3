//! kill -9 right after a call took effect: the next apply finishes, with one of everything.

use crate::destroy::without_deleted;
use crate::support::World;
use crate::support::aws::Account;
use crate::support::emulator::Emulator;
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

/// Every address tag occurs exactly once in the cloud, the cluster is registered once, and the state has an id for each.
pub(crate) fn expect_one_of_everything(world: &World) {
    let inventory = without_deleted(world.inventory(&world.workload)).to_string();
    let state = world.state();
    let records = state["resources"].as_array().unwrap();
    assert_eq!(records.len(), 22);
    for record in records {
        assert!(record["id"].as_str().is_some_and(|id| !id.is_empty()), "{record}");
        assert_eq!(record["phase"], "ready", "{record}");
        let address = format!("\"fleetctl:address\":{}", record["address"]);
        let expected = usize::from(record["identity"]["kind"] != "Secret");
        assert_eq!(inventory.matches(&address).count(), expected, "{address}");
    }
    let registered = world.registered();
    let names: Vec<&Value> = registered.as_array().unwrap().iter().map(|cluster| &cluster["data"]["name"]).collect();
    assert_eq!(names, ["workload-cluster1"]);
}

#[test]
fn killed_after_create_vpc() {
    killed_after("CreateVpc");
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
    world.wait_for("POST /clusters");
    std::thread::sleep(std::time::Duration::from_secs(1));
    child.kill().unwrap();
    child.wait().unwrap();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    expect_one_of_everything(&world);
}

#[test]
fn roles_and_a_cluster_of_another_lineage_are_refused() {
    let world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let before = without_deleted(world.inventory(&world.workload));
    // The same names from another state folder: roles and the cluster are somebody else's now.
    world.aws.forget();
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes", "--state", "other"]).expect(1);
    let all = format!("{}{}", refused.stdout, refused.stderr);
    assert!(all.contains("lineage"), "{all}");
    assert_eq!(world.aws.mutating(), []);
    assert!(!world.folder.path().join("other/argocd/EksCluster.workload-cluster1.json").exists(), "nothing was recorded");
    assert_eq!(without_deleted(world.inventory(&world.workload)), before);
}

/// Nothing of it has a name that can be taken only once.
#[test]
fn objects_that_are_found_by_their_tags_alone_are_not_made_again_where_their_state_is_lost() {
    let world = World::new();
    let vpc = foreign_vpc(&world, &OF_ANOTHER_LINEAGE);
    std::thread::sleep(std::time::Duration::from_secs(1));
    for command in [&["plan", "cluster.yaml"][..], &["apply", "cluster.yaml", "--yes"], &["plan", "cluster.yaml", "-o", "json"]] {
        let refused = world.fleetctl(command).expect(1);
        let all = format!("{}{}", refused.stdout, refused.stderr);
        assert!(all.contains(&vpc) && all.contains("another state has made them") && all.contains("--state"), "{all}");
        assert_eq!(all.matches(&vpc).count(), 1, "{all}");
    }
    assert_eq!(world.aws.mutating(), []);
    assert_eq!(world.aws.calls().iter().filter(|call| call.operation == "DescribeTags").count(), 3);
    assert!(!world.folder.path().join("state/argocd/EksCluster.workload-cluster1.json").exists());
}

/// Tags of the instance's VPC that another state has made.
const OF_ANOTHER_LINEAGE: [(&str, &str); 4] = [
    ("Name", "workload-cluster1-vpc"),
    ("fleetctl:lineage", "0d3f1c2e-4a5b-4c6d-8e7f-9a0b1c2d3e4f"),
    ("fleetctl:address", "EksCluster/workload-cluster1/vpc/vpc"),
    ("fleetctl:instance", "argocd/EksCluster/workload-cluster1"),
];

/// Two VPCs of somebody else: one has only the name, the other has tags of another lineage with our address as well.
#[test]
fn a_vpc_of_another_lineage_with_the_same_name_is_not_touched() {
    let world = World::new();
    world.settings(&json!({"ec2VisibilityLagSeconds": 2.0, "iamVisibilityLagSeconds": 1.0}));
    let foreign = [&OF_ANOTHER_LINEAGE[..1], &OF_ANOTHER_LINEAGE].map(|tags| foreign_vpc(&world, tags));
    let before = without_deleted(world.inventory(&world.workload));
    // While it bears the instance's mark, a first apply is refused.
    let (key, value) = OF_ANOTHER_LINEAGE[3];
    let mark = |operation: &str, value: &[(&str, &str)]| {
        let tag = [("ResourceId.1", foreign[1].as_str()), ("Tag.1.Key", key)];
        Account(&world.workload).ec2(operation, &[&tag, value].concat());
    };
    mark("DeleteTags", &[]);

    // Killed right after CreateVpc, so that the VPC has to be found again among the three of that name.
    world.aws.trap("CreateVpc");
    let mut child = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    world.aws.wait_sprung();
    child.kill().unwrap();
    child.wait().unwrap();
    mark("CreateTags", &[("Tag.1.Value", value)]);
    Emulator::shared().request(reqwest::Method::DELETE, &format!("/_fleet/calls?account={}", world.workload), None);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let of_ours = |vpcs: &Value| vpcs.as_array().unwrap().iter().filter(|vpc| vpc["name"] == OF_ANOTHER_LINEAGE[0].1).count();
    let inventory = world.inventory(&world.workload);
    assert_eq!(of_ours(&inventory["ec2"]["us-west-2"]["vpcs"]), 3);
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);

    assert_eq!(without_deleted(world.inventory(&world.workload)), before);
    let log = Emulator::shared().get(&format!("/_fleet/calls?account={}", world.workload));
    let changes = log.as_array().unwrap().iter().filter(|call| call["mutating"] == true);
    for call in changes {
        assert!(foreign.iter().all(|id| !call["parameters"].to_string().contains(id.as_str())), "{call}");
    }
}

pub(crate) fn foreign_vpc(world: &World, tags: &[(&str, &str)]) -> String {
    let mut parameters = vec![("CidrBlock".to_owned(), "10.0.0.0/16"), ("TagSpecification.1.ResourceType".to_owned(), "vpc")];
    for (at, (key, value)) in tags.iter().enumerate() {
        parameters.push((format!("TagSpecification.1.Tag.{}.Key", at + 1), key));
        parameters.push((format!("TagSpecification.1.Tag.{}.Value", at + 1), value));
    }
    let parameters: Vec<(&str, &str)> = parameters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let made = Account(&world.workload).ec2("CreateVpc", &parameters);
    made["vpc"]["vpcId"].as_str().unwrap().to_owned()
}
