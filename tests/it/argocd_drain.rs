//! What lives on a cluster is said before it is destroyed, and goes first.

use crate::argocd::address;
use crate::support::World;
use crate::support::world::Ended;
use crate::support::world::upstream_graphs;
use serde_json::{Value, json};
use std::time::Duration;

/// Applied, with Applications of these `ApplicationSets` on the cluster; their controller looks twice a second.
fn inhabited(sets: &Value) -> World {
    let world = World::new();
    world.tell_argocd("settings", &json!({"tickSeconds": 0.5, "strict": true}));
    world.tell_argocd("applicationSets", sets);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    std::thread::sleep(Duration::from_secs(1));
    world.aws.forget();
    world.argocd.forget();
    world
}

/// Addons that go a second after they are switched off, and something that only its own label selects.
fn addons_and_more() -> Value {
    json!([
        {"name": "external-secrets", "selector": {"enable_external_secrets": "true"}, "goneSeconds": 1.0},
        {"name": "bootstrap", "selector": {"fleet_member": "spoke"}, "goneSeconds": 1.0},
    ])
}

fn labels(world: &World) -> Value {
    world.registered()[0]["labels"].clone()
}

#[test]
fn applications_are_named_and_not_left_behind_unasked() {
    let world = inhabited(&addons_and_more());
    let address = address(&world);
    let refused = world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(4);
    for part in ["2 Applications live on workload-cluster1", "external-secrets-workload-cluster1", "load balancers"] {
        assert!(refused.stdout.contains(part), "{part}: {}", refused.stdout);
    }
    assert!(refused.stderr.contains("--drain") && refused.stderr.contains(&format!("--confirm {address}")), "{}", refused.stderr);
    let refused = world.fleetctl(&["destroy", "cluster.yaml", "--yes", "-o", "json"]).expect(4);
    let plan: Value = serde_json::from_str(refused.stdout.lines().next().unwrap()).unwrap();
    let found = &plan["applications"][0];
    assert_eq!((&found["count"], &found["drained"], &found["address"]), (&json!(2), &json!(false), &json!(address)));
    assert_eq!(found["names"], json!(["bootstrap-workload-cluster1", "external-secrets-workload-cluster1"]));
    assert_eq!(refused.summary()["error"]["code"], "needs-confirmation");
    assert_eq!((world.aws.mutating(), world.argocd.mutating()), (vec![], vec![]));

    world.fleetctl(&["destroy", "cluster.yaml", "--yes", "--confirm", &address]).expect(0);
    assert_eq!(world.ask_argocd("applications")["leaked"].as_array().unwrap().len(), 2, "that is what was confirmed");
}

#[test]
fn drained_applications_go_before_anything_else() {
    let world = inhabited(&addons_and_more());
    // What the switches do not select stays; when the time is over nothing has been destroyed.
    let late = world.fleetctl(&["destroy", "cluster.yaml", "--yes", "--drain", "--drain-timeout", "4", "-o", "json"]).expect(1);
    let report = &late.summary()["instances"][0];
    let reason = report["failed"][0]["reason"].as_str().unwrap();
    for part in ["1 Application left", "bootstrap-workload-cluster1", "--drain-label"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    assert_eq!((&report["calls"], report["toConfirm"].as_array().unwrap().len()), (&json!(1), 0), "the labels are off");
    assert_eq!((report["done"].as_array().unwrap().len(), report["failed"].as_array().unwrap().len()), (0, 1));
    assert_eq!(report["notReached"].as_array().unwrap().len(), 21);
    assert_eq!(world.aws.mutating(), []);
    assert_eq!((&labels(&world)["enable_external_secrets"], &labels(&world)["tenant"]), (&json!("false"), &json!("tenant1")));
    let events: Vec<Value> = late.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.iter().any(|event| event["event"] == "waiting" && event["state"] == "1 Application left"), "{events:?}");
    assert!(events.iter().any(|event| event["event"] == "started" && event["step"] == "drain"), "{events:?}");
    // What it hangs on is said, and what failed at once.
    assert!(events.iter().any(|event| event["event"] == "progress" && event["waitsFor"] == address(&world)), "{events:?}");
    assert!(events.iter().any(|event| event["event"] == "failed" && event["reason"] == reason), "{events:?}");
    // The change went the way of every change: begun and ended in the journal, and nothing is left open.
    assert_eq!(world.argocd.mutating().len(), 1);
    assert_eq!(world.state()["open"].as_array().map_or(0, Vec::len), 0);

    // Ctrl-C while it waits.
    let child = world.spawn(&["destroy", "cluster.yaml", "--yes", "--drain"]);
    std::thread::sleep(Duration::from_secs(3));
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    Ended::of(child.wait_with_output().unwrap()).expect(130);
    assert_eq!(world.aws.mutating(), []);
    assert_eq!(world.argocd.mutating().len(), 1, "its labels were off already");

    let done =
        world.fleetctl(&["destroy", "cluster.yaml", "--yes", "--drain", "--drain-label", "fleet_member=leaving"]).expect(0);
    assert!(done.stdout.contains("they are removed first"), "{}", done.stdout);
    let operations: Vec<_> = world.argocd.mutating().into_iter().map(|call| call.operation).collect();
    assert_eq!(operations.len(), 3, "{operations:?}");
    assert_eq!(world.ask_argocd("applications"), json!({"applications": [], "leaked": []}), "nothing stayed behind");
    let unknown = world.ask_argocd("calls");
    assert!(unknown.as_array().unwrap().iter().all(|call| call["unknownKeys"].as_array().is_none_or(Vec::is_empty)), "{unknown}");
}

/// Killed right after the labels were switched off, or the reply to that lost: the same command again goes on.
#[test]
fn a_drain_that_was_cut_off_goes_on() {
    let world = inhabited(&json!([{"name": "addon", "selector": {"enable_external_secrets": "true"}, "goneSeconds": 1.0}]));
    world.tell_argocd("faults", &json!([{"operation": "update", "when": "after", "drop": true}]));
    let mut child = world.spawn(&["destroy", "cluster.yaml", "--yes", "--drain"]);
    while world.ask_argocd("faults")[0]["hits"] == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    world.fleetctl(&["destroy", "cluster.yaml", "--yes", "--drain"]).expect(0);
    assert_eq!(world.ask_argocd("applications"), json!({"applications": [], "leaked": []}));
    assert_eq!(world.registered(), json!([]));
}

/// Without an answer nothing is known, so nothing is destroyed: the registration is the first thing that goes.
#[test]
fn an_argo_cd_that_cannot_be_asked_keeps_the_cluster() {
    let world = inhabited(&json!([]));
    world.tell_argocd(
        "faults",
        &json!([{"operation": "list", "count": null, "status": 403, "code": 7, "text": "permission denied"}]),
    );
    for arguments in [&["destroy", "cluster.yaml", "--yes"][..], &["destroy", "cluster.yaml", "--yes", "--drain"]] {
        let failed = world.fleetctl(arguments).expect(1);
        assert!(failed.stdout.contains("Argo CD could not be asked"), "{}", failed.stdout);
        assert_eq!(world.aws.mutating(), []);
    }
}

/// The same inside an apply that takes the registration out of the graph.
#[test]
fn a_registration_that_leaves_the_graph_says_what_it_leaves_behind() {
    let world = inhabited(&json!([{"name": "addon", "selector": {"enable_external_secrets": "true"}}]));
    let in_use = upstream_graphs().unwrap_or_else(|| crate::support::emulator::repository().join("graphs"));
    for file in std::fs::read_dir(in_use).unwrap().map(|entry| entry.unwrap().path()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        if file.extension().is_some_and(|extension| extension == "yaml") {
            world.write(&format!("without/{name}"), &without_registration(&std::fs::read_to_string(&file).unwrap()));
        }
    }
    let address = address(&world);
    let graphs = world.folder.path().join("without");
    let arguments = ["apply", "cluster.yaml", "--yes", "--graphs", graphs.to_str().unwrap()];
    let asked = world.fleetctl(&arguments).expect(4);
    assert!(asked.stdout.contains("1 Application lives on workload-cluster1"), "{}", asked.stdout);
    assert!(asked.stderr.contains(&format!("--confirm {address}")), "{}", asked.stderr);
    assert_eq!(world.argocd.mutating(), []);
}

/// A definition without its Secret: the item of `resources` that begins with `- id: argocdSecret`.
fn without_registration(text: &str) -> String {
    let mut kept = Vec::new();
    let mut dropped = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if dropped.is_some_and(|at| !line.trim().is_empty() && indent <= at) {
            dropped = None;
        }
        if line.trim() == "- id: argocdSecret" {
            dropped = Some(indent);
        }
        if dropped.is_none() {
            kept.push(line);
        }
    }
    kept.join("\n") + "\n"
}
