//! What bears marks and is in no state, and what is recorded and not there.

use crate::crash::foreign_vpc;
use crate::support::World;
use serde_json::{Value, json};

fn orphans(world: &World, arguments: &[&str], code: i32) -> Value {
    let shown = world.fleetctl(&[&["orphans", "-o", "json"], arguments].concat()).expect(code);
    serde_json::from_str(&shown.stdout).unwrap()
}

/// `why` and `id` of each.
fn told(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    report["orphans"].as_array().unwrap().iter().map(|one| (text(&one["why"]), text(&one["id"]))).collect()
}

#[test]
fn what_no_state_has_and_what_is_gone_is_told_and_nothing_is_changed() {
    let world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    world.aws.forget();
    assert_eq!(orphans(&world, &[], 0)["orphans"], json!([]), "a healthy cluster");

    // A second VPC of our lineage and address, and an association that somebody has removed.
    let state = world.state();
    let lineage = state["lineage"].as_str().unwrap();
    let address = "EksCluster/workload-cluster1/vpc/vpc";
    let instance = "argocd/EksCluster/workload-cluster1";
    let marks = [("fleetctl:lineage", lineage), ("fleetctl:address", address), ("fleetctl:instance", instance)];
    let second = foreign_vpc(&world, &marks);
    let records = state["resources"].as_array().unwrap();
    let association = records.iter().find(|record| record["identity"]["kind"] == "PodIdentityAssociation").unwrap();
    let association = association["id"].as_str().unwrap();
    let (cluster, id) = association.split_once('|').unwrap();
    world.by_hand("eks", "DELETE", &format!("/clusters/{cluster}/pod-identity-associations/{id}"), "");
    std::thread::sleep(std::time::Duration::from_secs(5));
    let report = orphans(&world, &[], 2);
    let expected = [("duplicate".to_owned(), second.clone()), ("gone".to_owned(), association.to_owned())];
    let mut found = told(&report);
    found.sort();
    assert_eq!(found, expected, "{report}");
    let duplicate = report["orphans"].as_array().unwrap().iter().find(|one| one["id"] == second.as_str()).unwrap();
    let recorded = records.iter().find(|record| record["address"] == address).unwrap();
    assert_eq!(duplicate["recordedId"], recorded["id"]);

    // Without the state, everything is one; a rebuild has to be told which VPC to keep.
    std::fs::remove_dir_all(world.folder.path().join("state")).unwrap();
    let report = orphans(&world, &["--account", &world.workload], 2);
    assert_eq!(told(&report).len(), 22, "21 recorded by then and the second VPC: {report}");
    let refused = world.fleetctl(&["state", "rebuild", "cluster.yaml", "--yes"]).expect(1);
    assert!(refused.stderr.contains(&second) && refused.stderr.contains("--keep"), "{}", refused.stderr);
    let keep = recorded["id"].as_str().unwrap();
    let rebuilt = world.fleetctl(&["state", "rebuild", "cluster.yaml", "--yes", "--keep", keep]).expect(0);
    assert!(rebuilt.stdout.contains(&second), "{}", rebuilt.stdout);
    let vpc = |state: &Value| {
        state["resources"].as_array().unwrap().iter().find(|one| one["address"] == address).unwrap()["id"].clone()
    };
    assert_eq!(vpc(&world.state()), vpc(&state));
    assert_eq!(world.aws.mutating(), []);
}
