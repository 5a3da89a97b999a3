//! Registering with either Argo CD, taking over what others registered, and what is said before anything is made.

use crate::support::World;
use serde_json::{Value, json};

/// A world whose cluster is there and not registered.
pub(crate) fn unregistered() -> World {
    let mut world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes", "--argocd", "none"]).expect(0);
    // Everything that follows is about Argo CD.
    world.set("FLEETCTL_ARGOCD", "auto");
    world.aws.forget();
    world.argocd.forget();
    world
}

/// The ARN of its cluster.
pub(crate) fn arn(world: &World) -> String {
    format!("arn:aws:eks:us-west-2:{}:cluster/workload-cluster1", world.workload)
}

/// Where the registration stands in the graph.
pub(crate) fn address(world: &World) -> String {
    let planned = world.fleetctl(&["plan", "cluster.yaml", "-o", "json"]);
    let plan: Value = serde_json::from_str(&planned.stdout).unwrap();
    let secret = plan["changes"].as_array().unwrap().iter().find(|change| change["kind"] == "Secret").unwrap();
    secret["address"].as_str().unwrap().to_owned()
}

/// What the state knows the registration by.
fn recorded(world: &World) -> String {
    let state = world.state();
    let records = state["resources"].as_array().unwrap();
    let record = records.iter().find(|record| record["identity"]["kind"] == "Secret").unwrap();
    record["id"].as_str().unwrap().to_owned()
}

/// The one cluster that Argo CD has, as it is stored.
fn only(world: &World) -> Value {
    let clusters = world.registered();
    assert_eq!(clusters.as_array().unwrap().len(), 1, "{clusters:#}");
    clusters[0].clone()
}

/// A Secret as kro makes them: no configuration, and nothing that says that Argo CD made it.
fn made_by_kro(name: &str, cluster: &str, server: &str) -> Value {
    json!({
        "metadata": {
            "name": name, "namespace": "argocd",
            "labels": {"argocd.argoproj.io/secret-type": "cluster", "fleet_member": "spoke", "tenant": "old"},
            "annotations": {"addons_repo_url": "https://example.com"},
        },
        "type": "Opaque", "stringData": {"name": cluster, "server": server, "project": "default"},
    })
}

fn unchanged(world: &World) {
    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
}

#[test]
fn the_argo_cd_that_eks_hosts_is_told_by_its_version_and_given_the_arn() {
    let world = unregistered();
    let arn = arn(&world);
    world.tell_argocd("settings", &json!({"hosted": true, "strict": true}));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let stored = only(&world);
    assert_eq!((&stored["data"]["server"], &stored["data"]["project"]), (&json!(arn), &json!("default")));
    assert_eq!(stored["data"]["config"], json!({"awsAuthConfig": {"clusterName": arn}}));
    assert_eq!(recorded(&world), arn);
    unchanged(&world);

    // It may call the cluster something else: whatever it says is what the cluster is known by from then on.
    world.clear_argocd("clusters");
    world.tell_argocd("settings", &json!({"hostedServer": "https://0123.hosted.example"}));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(recorded(&world), "https://0123.hosted.example");
    unchanged(&world);

    // As Argo CD's own command line registers.
    world.clear_argocd("clusters");
    let settings = world.fleetctl_yaml("externalId: fleetctl-test") + "argocd:\n  kind: hosted\n  serverForm: endpoint\n";
    world.write("fleetctl.yaml", &settings);
    world.tell_argocd("settings", &json!({"hostedServer": null}));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let stored = only(&world);
    assert!(stored["data"]["server"].as_str().unwrap().starts_with("https://"), "{stored}");
    assert_eq!(stored["data"]["config"]["awsAuthConfig"], json!({"clusterName": arn}));
    assert_eq!(stored["writeOnly"], json!(["config.tlsClientConfig.caData"]));
    unchanged(&world);
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.registered(), json!([]));
}

#[test]
fn a_self_managed_argo_cd_is_given_the_role_that_settings_name() {
    let world = unregistered();
    world.tell_argocd("settings", &json!({"strict": true}));
    // The role of the capability in the hub: the one that the cluster has an access entry for.
    let role = format!("arn:aws:iam::{}:role/hub-cluster-argocd-controller", world.hub);
    let settings = |more: &str| world.fleetctl_yaml("externalId: fleetctl-test") + more;
    world.write("fleetctl.yaml", &settings(&format!("argocd:\n  roleArn: {role}\n  profile: fleet\n")));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let auth = json!({"clusterName": "workload-cluster1", "roleARN": role, "profile": "fleet"});
    assert_eq!(only(&world)["data"]["config"]["awsAuthConfig"], auth);
    unchanged(&world);
    // Settings that change are written.
    world.write("fleetctl.yaml", &settings(""));
    let planned = world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(2);
    assert!(planned.stdout.contains("roleARN"), "{}", planned.stdout);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(only(&world)["data"]["config"]["awsAuthConfig"], json!({"clusterName": "workload-cluster1"}));
    unchanged(&world);
}

#[test]
fn what_kro_registered_is_taken_over_when_it_is_confirmed_by_name() {
    let world = unregistered();
    let arn = arn(&world);
    // A self-managed Argo CD can do nothing with an ARN.
    world.tell_argocd("secrets", &made_by_kro("kro-spoke1", "workload-cluster1", &arn));
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(1);
    assert!(refused.stdout.contains("refused") && refused.stdout.contains("delete that Secret"), "{}", refused.stdout);

    world.tell_argocd("settings", &json!({"hosted": true}));
    let planned = world.fleetctl(&["plan", "cluster.yaml"]).expect(0);
    let adopted = planned.stdout.lines().find(|line| line.contains("adopt ")).unwrap_or_default();
    assert!(adopted.contains("has to be confirmed by name"), "{}", planned.stdout);
    let address = address(&world);
    let asked = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(4);
    assert!(asked.stderr.contains(&format!("--confirm {address}")), "{}", asked.stderr);
    assert_eq!(world.argocd.mutating(), [], "nothing is taken over silently");
    world.fleetctl(&["apply", "cluster.yaml", "--yes", "--confirm", &address]).expect(0);
    let stored = only(&world);
    assert_eq!((&stored["name"], &stored["annotations"]["managed-by"]), (&json!("kro-spoke1"), &json!("argocd.argoproj.io")));
    assert_eq!((&stored["labels"]["tenant"], &stored["data"]["server"]), (&json!("tenant1"), &json!(arn)));
    assert!(stored["annotations"]["fleetctl/lineage"].is_string(), "{stored}");
    let operations: Vec<_> = world.argocd.mutating().into_iter().map(|call| call.operation).collect();
    assert!(operations.len() == 1 && operations[0].starts_with("PUT "), "{operations:?}");
    unchanged(&world);

    // Somebody writes over the annotations, as `argocd cluster set --annotation` does: put back by name as well.
    let mut wiped = made_by_kro("kro-spoke1", "workload-cluster1", &arn);
    wiped["metadata"]["labels"] = stored["labels"].clone();
    world.tell_argocd("secrets", &wiped);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(4);
    let kept = world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(1);
    assert!(kept.stdout.contains(&format!("apply --confirm {address}")), "{}", kept.stdout);
    world.fleetctl(&["apply", "cluster.yaml", "--yes", "--confirm", &address]).expect(0);
    unchanged(&world);

    // A second one of the same cluster, and another cluster of the same name.
    world.argocd.forget();
    for (server, parts) in
        [(arn.as_str(), ["kro-twin at", "workload-cluster1 at"]), ("https://other", ["another cluster", "workload-cluster1"])]
    {
        let name = if server == arn { "kro-twin" } else { "workload-cluster1" };
        world.tell_argocd("secrets", &made_by_kro("twin", name, server));
        let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes", "--confirm", &address]).expect(1);
        for part in parts {
            assert!(refused.stdout.contains(part), "{part}: {}", refused.stdout);
        }
        world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(1);
    }
    assert_eq!(world.argocd.mutating(), [], "neither of two is ever touched");
    assert_eq!(world.aws.mutating(), [], "and their cluster neither");
}

/// With an Argo CD that cannot be read a plan shows everything else, in every form, and an apply stops.
fn unread(world: &mut World, server: &str, code: &str) {
    world.set("ARGOCD_SERVER", server);
    let planned = world.fleetctl(&["plan", "cluster.yaml", "-o", "json", "--out", "plan.json"]).expect(3);
    let plan: Value = serde_json::from_str(&planned.stdout).unwrap();
    let changes = plan["changes"].as_array().unwrap();
    let (registrations, others): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change["kind"] == "Secret");
    assert!(!others.is_empty() && others.iter().all(|change| change["unread"].is_null()), "{plan}");
    assert_eq!(registrations[0]["unread"], json!(true), "{plan}");
    assert!(registrations[0]["unreached"].as_str().unwrap().contains(code), "{plan}");
    assert!(planned.stderr.contains("plan.json was not written: the plan is not complete"), "{}", planned.stderr);
    for form in ["text", "markdown"] {
        let planned = world.fleetctl(&["plan", "cluster.yaml", "-o", form]).expect(3);
        assert!(planned.stdout.contains("not read") && planned.stdout.contains("VPC"), "{}", planned.stdout);
    }
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(1);
    assert!(refused.stderr.contains(code) && refused.stderr.contains("ARGOCD_"), "{}", refused.stderr);
}

#[test]
fn what_may_go_wrong_later_is_said_in_the_plan() {
    let mut world = World::new();
    let ready: Value = serde_json::from_slice(&std::fs::read(world.folder.path().join("argocd.json")).unwrap()).unwrap();
    world.set("ARGOCD_AUTH_TOKEN", ready["tokens"]["creator"].as_str().unwrap());
    let planned = world.fleetctl(&["plan", "cluster.yaml"]).expect(0);
    assert!(planned.stdout.contains("warning:") && planned.stdout.contains("may not update, delete"), "{}", planned.stdout);
    let planned = world.fleetctl(&["plan", "cluster.yaml", "-o", "json"]).expect(0);
    let plan: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!(plan["warnings"].as_array().unwrap().len(), 1, "{}", plan["warnings"]);
    // A token that is none stops an apply, and nothing is made.
    world.set("ARGOCD_AUTH_TOKEN", ready["tokens"]["expired"].as_str().unwrap());
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(1);
    assert!(refused.stderr.contains("ARGOCD_AUTH_TOKEN"), "{}", refused.stderr);
    assert_eq!(world.aws.mutating(), []);

    // The proxy before it would follow.
    let itself = world.argocd_itself().to_owned();
    world.set("ARGOCD_SERVER", &itself);
    world.tell_argocd("settings", &json!({"tls": true}));
    let incomplete = world.fleetctl(&["plan", "cluster.yaml"]).expect(3);
    assert!(incomplete.stdout.contains("leave out --plaintext"), "{}", incomplete.stdout);
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(1);
    assert!(refused.stderr.contains("leave out --plaintext"), "{}", refused.stderr);
    unread(&mut world, "127.0.0.1:1", "Unreachable");
    assert_eq!(world.aws.mutating(), []);
    world.set("ARGOCD_SERVER", "me:hidden-word@argocd.example.com");
    for arguments in [&["config", "show"][..], &["plan", "cluster.yaml"]] {
        let ended = world.fleetctl(arguments);
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(all.contains("…@argocd.example.com") && !all.contains("hidden-word"), "{all}");
    }
}
