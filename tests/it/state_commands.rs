//! `fleetctl state`: what people do to a state by hand, and what becomes of one that is damaged.

use crate::support::World;
use serde_json::Value;

const CLUSTER: &str = "EksCluster/workload-cluster1";

fn json(world: &World, arguments: &[&str], exit: i32) -> Value {
    let ended = world.fleetctl(&[arguments, &["-o", "json"]].concat()).expect(exit);
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn states_are_listed_forgotten_renamed_pulled_pushed_and_put_right() {
    let world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let file = world.folder.path().join("state/argocd/EksCluster.workload-cluster1.json");
    assert_eq!(json(&world, &["state", "list"], 0)["resources"].as_array().unwrap().len(), 22);
    let vpc = json(&world, &["state", "show", CLUSTER, "vpc/vpc"], 0)["resource"]["id"].as_str().unwrap().to_owned();
    let unknown = world.fleetctl(&["state", "show", CLUSTER, "vpc/vcp"]).expect(4);
    assert!(unknown.stderr.contains("did you mean `EksCluster/workload-cluster1/vpc/vpc`?"), "{}", unknown.stderr);

    // What is forgotten is found again by its tags.
    world.fleetctl(&["state", "pull", CLUSTER, "--out", "first.json"]).expect(0);
    world.fleetctl(&["state", "rm", CLUSTER, "vpc/vpc"]).expect(4);
    world.fleetctl(&["state", "rm", CLUSTER, "vpc/vpc", "--yes"]).expect(0);
    assert_eq!(json(&world, &["state", "list"], 0)["resources"].as_array().unwrap().len(), 21);
    world.aws.forget();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.aws.mutating(), []);
    assert_eq!(json(&world, &["state", "show", CLUSTER, "vpc/vpc"], 0)["resource"]["id"], vpc.as_str());
    let old = world.fleetctl(&["state", "push", "first.json", "--yes"]).expect(4);
    assert!(old.stderr.contains("the one that is there is newer"), "{}", old.stderr);

    // An address that was renamed by hand comes back with the documents, tags included.
    let address = |name: &str| format!("{CLUSTER}/vpc/{name}");
    world.fleetctl(&["state", "mv", &address("vpc"), &address("network"), "--yes"]).expect(0);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(json(&world, &["state", "show", CLUSTER, "vpc/vpc"], 0)["resource"]["id"], vpc.as_str());
    let history = json(&world, &["state", "history", CLUSTER], 0);
    assert!(history["versions"].as_array().unwrap().len() >= 4, "{history}");

    // One character is enough to be noticed; what was edited on purpose is pushed.
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("us-west-2", "us-west-3", 1)).unwrap();
    let damaged = world.fleetctl(&["plan", "cluster.yaml"]).expect(1);
    assert!(damaged.stderr.contains("does not fit its checksum") && damaged.stderr.contains("--restore"), "{}", damaged.stderr);
    world.fleetctl(&["status"]).expect(3);
    let found = json(&world, &["state", "doctor"], 1);
    assert_eq!(found["findings"][0]["wrong"], true, "{found}");
    std::fs::write(world.folder.path().join("edited.json"), text.replace("\"serial\"", " \"serial\"")).unwrap();
    world.fleetctl(&["state", "push", "edited.json", "--yes"]).expect(0);
    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);

    // What is no state at all is replaced by the newest version that is one.
    std::fs::write(&file, "no state").unwrap();
    let restored = json(&world, &["state", "doctor", CLUSTER, "--restore", "--yes"], 0);
    assert_eq!(restored["resources"], 22, "{restored}");
    assert_eq!(
        std::fs::read_to_string(world.folder.path().join("state").join(restored["aside"][0].as_str().unwrap())).unwrap(),
        "no state"
    );
    world.fleetctl(&["state", "doctor"]).expect(0);
    world.aws.forget();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.aws.mutating(), []);

    // A file that is gone is not taken for a state that never was.
    std::fs::remove_file(&file).unwrap();
    for (command, exit) in [(&["state", "doctor"][..], 1), (&["status"], 3), (&["destroy", "cluster.yaml", "--yes"], 1)] {
        let said = world.fleetctl(command).expect(exit);
        assert!(
            format!("{}{}", said.stdout, said.stderr).contains("is missing, but versions before it are there"),
            "{}",
            said.stderr
        );
    }
    let key = "argocd/EksCluster.workload-cluster1.json";
    world.fleetctl(&["state", "rebuild", "cluster.yaml", "--yes", "--replace", key]).expect(0);
    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
    assert_eq!(world.aws.mutating(), []);
}

/// The instance's document is renamed, and its objects keep their names on AWS.
#[test]
fn an_instance_that_was_renamed_keeps_its_objects() {
    let world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let ids = |listed: &Value| -> Vec<String> {
        let mut ids: Vec<_> = listed["resources"].as_array().unwrap().iter().map(|one| one["id"].to_string()).collect();
        ids.sort();
        ids
    };
    let before = ids(&json(&world, &["state", "list"], 0));
    let document = std::fs::read_to_string(world.folder.path().join("cluster.yaml")).unwrap();
    // Of the instance alone: spec.name names the objects.
    let renamed = document.replacen(
        "kind: EksCluster\nmetadata:\n  name: workload-cluster1",
        "kind: EksCluster\nmetadata:\n  name: renamed",
        1,
    );
    assert_ne!(document, renamed);
    world.write("renamed.yaml", &renamed);
    world.fleetctl(&["plan", "renamed.yaml"]).expect(1);
    world.fleetctl(&["state", "mv", CLUSTER, "EksCluster/renamed", "--yes"]).expect(0);
    world.aws.forget();
    world.fleetctl(&["apply", "renamed.yaml", "--yes"]).expect(0);
    let makes: Vec<_> = world
        .aws
        .mutating()
        .into_iter()
        .filter(|call| call.operation.starts_with("Create") && call.operation != "CreateTags")
        .collect();
    assert_eq!(makes, []);
    assert_eq!(ids(&json(&world, &["state", "list"], 0)), before);
    world.fleetctl(&["plan", "renamed.yaml", "--detailed-exitcode"]).expect(0);
    world.fleetctl(&["destroy", "renamed.yaml", "--yes"]).expect(0);
}
