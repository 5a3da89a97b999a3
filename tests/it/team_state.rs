//! State in S3: the lock and who holds it, runs that are killed, replies that are lost, and what it costs.

use crate::crash::expect_one_of_everything;
use crate::destroy::without_deleted;
use crate::support::World;
use crate::support::world::Ended;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const LOCK: &str = "argocd/EksCluster.workload-cluster1.json.lock";
const UNLOCK: [&str; 4] = ["state", "unlock", "EksCluster/workload-cluster1", "--yes"];

/// `HOST:PID` of whoever stands in the lock.
fn holder(world: &World) -> String {
    let lock: Value = serde_json::from_slice(&world.object(LOCK).unwrap()).unwrap();
    format!("{}:{}", lock["host"].as_str().unwrap(), lock["pid"])
}

/// How many calls of S3 there were, by method and what they were about.
fn calls(world: &World) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in world.aws.calls().into_iter().filter(|call| call.service == "s3") {
        *counts.entry(call.operation).or_default() += 1;
    }
    counts
}

#[test]
fn a_run_that_was_killed_keeps_its_lock_in_s3_until_it_is_unlocked() {
    let mut world = World::new();
    world.use_bucket();
    let before = without_deleted(world.inventory(&world.workload));
    world.aws.trap("CreateVpc");
    let mut first = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    world.aws.wait_sprung();
    let apply = ["apply", "cluster.yaml", "--yes"];
    let told = world.fleetctl(&apply).expect(5);
    assert!(told.stderr.contains(&format!("process {}", first.id())) && told.stderr.contains("last heard of"), "{}", told.stderr);
    // Readers take no lock.
    world.fleetctl(&["status"]).expect(0);
    world.fleetctl(&["plan", "cluster.yaml"]).expect(0);

    first.kill().unwrap();
    first.wait().unwrap();
    let told = world.fleetctl(&apply).expect(5);
    assert!(told.stderr.contains("fleetctl state unlock EksCluster/workload-cluster1 -n argocd"), "{}", told.stderr);
    let name = holder(&world);
    let told = world.fleetctl(&UNLOCK).expect(4);
    assert!(told.stderr.contains(&format!("--confirm {name}")), "{}", told.stderr);
    world.fleetctl(&[&UNLOCK[..], &["--confirm", "elsewhere:1"]].concat()).expect(4);
    let told = world.fleetctl(&[&UNLOCK[..], &["--confirm", &name, "-o", "json"]].concat()).expect(0);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!((&told["unlocked"], &told["holder"]["pid"]), (&json!(true), &json!(first.id())));
    let told = world.fleetctl(&UNLOCK).expect(0);
    assert!(told.stdout.contains("is not locked"), "{}", told.stdout);

    // Replies that are lost are no conflict with ourselves.
    for lost in ["PUT lock", "PUT segment", "PUT segment", "PUT state"] {
        world.aws.lose(lost);
    }
    world.fleetctl(&apply).expect(0);
    assert!(world.aws.has_lost_all());
    expect_one_of_everything(&world);
    world.aws.forget();
    let again = world.fleetctl(&apply).expect(0);
    assert!(again.stdout.contains("No changes"), "{}", again.stdout);
    world.fleetctl(&["drift", "cluster.yaml"]).expect(0);
    assert_eq!(world.aws.mutating(), []);
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(without_deleted(world.inventory(&world.workload)), before, "no orphan");
    assert!(!world.keys().iter().any(|key| key.contains(".lock") || key.contains(".journal/")), "{:?}", world.keys());
    assert!(!world.folder.path().join("state").exists());
}

#[test]
fn a_run_that_loses_its_lock_stops_before_its_next_change() {
    let mut world = World::new();
    world.use_bucket();
    world.settings(&json!({"clusterCreateSeconds": 12.0}));
    let first = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    world.wait_for("POST /clusters");
    let name = holder(&world);
    world.fleetctl(&[&UNLOCK[..], &["--confirm", &name]].concat()).expect(0);
    let second = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    let ended = Ended::of(first.wait_with_output().unwrap()).expect(1);
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.contains("the lock of EksCluster/workload-cluster1 in namespace argocd is lost"), "{all}");
    Ended::of(second.wait_with_output().unwrap()).expect(0);
    expect_one_of_everything(&world);
}

#[cfg(unix)]
#[test]
fn a_run_that_is_left_at_once_releases_its_lock() {
    let mut world = World::new();
    world.use_bucket();
    world.settings(&json!({"clusterCreateSeconds": 30.0}));
    let child = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    world.wait_for("POST /clusters");
    assert!(world.object(LOCK).is_some());
    for _ in 0..2 {
        let pid = child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    Ended::of(child.wait_with_output().unwrap()).expect(130);
    assert!(world.object(LOCK).is_none());
    world.settings(&json!({"clusterCreateSeconds": 1.0}));
    let dropped = world.fleetctl(&["apply", "cluster.yaml"]).expect(4);
    assert!(dropped.stderr.contains("--yes"), "{}", dropped.stderr);
    assert!(world.object(LOCK).is_none());
}

#[test]
fn a_cluster_costs_tens_of_writes_in_s3() {
    let mut world = World::new();
    world.use_bucket();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let calls = calls(&world);
    println!("calls of S3 for an apply: {calls:?}, {} segments", world.state()["foldedSegment"]);
    let writes: usize = calls.iter().filter(|(call, _)| call.starts_with("PUT")).map(|(_, count)| count).sum();
    assert!(writes < 70, "{calls:?}");
}

#[test]
fn a_place_that_cannot_hold_state_is_explained() {
    let mut world = World::new();
    for (place, code, said) in [
        ("https://fleet-state.s3.amazonaws.com", 4, "knows no `https://`"),
        ("s3://fleet-state/x?region=eu-west-1", 4, "leave out"),
        ("s3://fleet-state-nobody-made/x", 1, "no bucket `fleet-state-nobody-made`"),
    ] {
        let told = world.fleetctl(&["apply", "cluster.yaml", "--yes", "--state", place]).expect(code);
        assert!(told.stderr.contains(said), "{}", told.stderr);
    }
    world.set("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9");
    let told = world.fleetctl(&["status", "--state", "s3://fleet-state/x"]).expect(1);
    assert!(told.stderr.contains("s3://fleet-state/x") && told.stderr.contains("does not answer"), "{}", told.stderr);
    world.set("AWS_ACCESS_KEY_ID", "");
    let told = world.fleetctl(&["status", "--state", "s3://fleet-state/x"]).expect(6);
    assert!(told.stderr.contains("no AWS credentials found"), "{}", told.stderr);
    assert_eq!(world.aws.mutating(), []);
}
