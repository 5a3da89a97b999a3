//! A lost state is made anew from what bears its instance's marks.

use crate::crash::expect_one_of_everything;
use crate::destroy::without_deleted;
use crate::support::World;
use serde_json::{Value, json};

fn lose_state(world: &World) {
    std::fs::remove_dir_all(world.folder.path().join("state")).unwrap();
}

/// After the rebuild there is nothing to do, nothing has drifted, and destroy leaves nothing.
#[test]
fn a_lost_state_is_rebuilt_and_the_plan_is_empty() {
    let world = World::new();
    let before = without_deleted(world.inventory(&world.workload));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let lost = world.state();
    lose_state(&world);
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(1);
    assert!(format!("{}{}", refused.stdout, refused.stderr).contains("fleetctl state rebuild"), "{refused:?}");

    world.aws.forget();
    let rebuilt = world.fleetctl(&["state", "rebuild", "cluster.yaml", "--yes", "-o", "json"]).expect(0);
    assert_eq!(world.aws.mutating(), []);
    let rebuilt: Value = serde_json::from_str(&rebuilt.stdout).unwrap();
    let report = &rebuilt["instances"][0];
    assert_eq!((&report["lineage"], &report["missing"], &report["notTaken"]), (&lost["lineage"], &json!([]), &json!([])));
    let state = world.state();
    assert_eq!(state["lineage"], lost["lineage"]);
    expect_one_of_everything(&world);
    for record in lost["resources"].as_array().unwrap() {
        let now = state["resources"].as_array().unwrap().iter().find(|now| now["identity"] == record["identity"]).unwrap();
        for part in ["id", "address", "role", "applied", "dependencies", "adopted"] {
            assert_eq!(now[part], record[part], "{part} of {}", record["address"]);
        }
    }

    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
    world.fleetctl(&["drift", "cluster.yaml"]).expect(0);
    world.aws.forget();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.aws.mutating(), []);
    let twice = world.fleetctl(&["state", "rebuild", "cluster.yaml", "--yes"]).expect(1);
    assert!(twice.stderr.contains("recorded"), "{}", twice.stderr);
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(without_deleted(world.inventory(&world.workload)), before);
    assert_eq!(world.registered(), json!([]));
}

/// A killed apply whose state is lost too: what is there is taken, and only the rest is made.
#[test]
fn a_partly_made_cluster_without_state_is_finished() {
    let world = World::new();
    world.settings(&json!({"ec2VisibilityLagSeconds": 2.0, "iamVisibilityLagSeconds": 1.0}));
    let before = without_deleted(world.inventory(&world.workload));
    world.aws.trap("CreateNatGateway");
    let mut child = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    world.aws.wait_sprung();
    child.kill().unwrap();
    child.wait().unwrap();
    lose_state(&world);
    world.fleetctl(&["state", "rebuild", "cluster.yaml", "--yes"]).expect(0);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    expect_one_of_everything(&world);
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(without_deleted(world.inventory(&world.workload)), before);
}
