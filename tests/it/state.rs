//! State: the lock, interruption, secrets.

use crate::support::World;
use crate::support::world::Ended;
use serde_json::json;

#[test]
fn a_second_apply_is_told_who_holds_the_lock() {
    let world = World::new();
    world.settings(&json!({"clusterCreateSeconds": 8.0}));
    let first = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    world.wait_for("CreateVpc");
    let second = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(5);
    assert!(second.stderr.contains(&first.id().to_string()), "{}", second.stderr);
    // Nor is the lock of a living process taken away.
    let kept = world.fleetctl(&["state", "unlock", "EksCluster/workload-cluster1", "-n", "argocd", "--yes"]).expect(5);
    assert!(kept.stderr.contains("It is alive: end it"), "{}", kept.stderr);
    // Readers take no lock.
    world.fleetctl(&["status"]).expect(0);
    world.fleetctl(&["plan", "cluster.yaml"]).expect(0);
    Ended::of(first.wait_with_output().unwrap()).expect(0);
    let free = world.fleetctl(&["state", "unlock", "EksCluster/workload-cluster1", "--yes"]).expect(0);
    assert!(free.stdout.contains("is not locked"), "{}", free.stdout);
}

#[cfg(unix)]
#[test]
fn ctrl_c_finishes_running_calls_and_the_next_apply_goes_on() {
    let world = World::new();
    world.settings(&json!({"clusterCreateSeconds": 6.0}));
    let child = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    world.wait_for("POST /clusters");
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let ended = Ended::of(child.wait_with_output().unwrap()).expect(130);
    assert!(ended.stdout.contains("Carry on with: fleetctl apply"), "says how to go on: {}", ended.stdout);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
}

#[test]
fn secrets_reach_neither_state_nor_output() {
    let world = World::new();
    let token = world.token().to_owned();
    let mut seen = String::new();
    for arguments in
        [["plan", "cluster.yaml", "-vv"], ["apply", "cluster.yaml", "--yes"], ["status", "-o", "json"], ["config", "show", "-vv"]]
    {
        let ended = world.fleetctl(&arguments).expect(0);
        seen += &ended.stdout;
        seen += &ended.stderr;
    }
    for entry in walk(&world.folder.path().join("state")) {
        seen += &String::from_utf8_lossy(&std::fs::read(entry).unwrap());
    }
    assert!(!seen.contains(&token));
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}

/// The lock of a process that was killed keeps nobody out, and whoever waits is told everything about its holder.
#[test]
fn the_lock_names_its_holder_and_dies_with_it() {
    let world = World::new();
    world.settings(&json!({"clusterCreateSeconds": 30.0}));
    let mut first = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    world.wait_for("POST /clusters");
    let second = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(5);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for said in [&first.id().to_string(), host.trim(), "fleetctl apply cluster.yaml --yes", "since "] {
        assert!(second.stderr.contains(said), "{said}: {}", second.stderr);
    }
    first.kill().unwrap();
    first.wait().unwrap();
    world.settings(&json!({"clusterCreateSeconds": 1.0}));
    let third = world.fleetctl(&["destroy", "cluster.yaml", "--yes"]);
    assert_ne!(third.code, Some(5), "{}", third.stderr);
}

/// Clusters of one account come up at one time, and what is taken away of one leaves the others alone.
#[test]
fn clusters_in_one_account_do_not_get_in_each_others_way() {
    let world = World::new();
    let names = ["workload-cluster1", "workload-cluster2"];
    let files = names.map(|name| format!("{name}.yaml"));
    for (name, file) in names.iter().zip(&files) {
        world.write(file, &world.instance(name, ""));
    }
    let children: Vec<_> = files.iter().map(|file| world.spawn(&["apply", file, "--yes"])).collect();
    for child in children {
        Ended::of(child.wait_with_output().unwrap()).expect(0);
    }
    world.fleetctl(&["destroy", &files[1], "--yes"]).expect(0);
    let left = world.fleetctl(&["plan", &files[0], "--detailed-exitcode"]).expect(0);
    assert!(left.stdout.contains("No changes"), "{}", left.stdout);
    crate::crash::expect_one_of_everything(&world);
}
