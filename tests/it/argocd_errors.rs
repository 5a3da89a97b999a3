//! What Argo CD's refusals lead to: repeated, looked up, or final.

use crate::argocd::unregistered;
use crate::support::World;
use serde_json::{Value, json};

const TARGET: &str = "error getting server version: failed to get server version: ";

/// A refusal, and what is to become of it.
struct Row {
    what: &'static str,
    rule: Value,
    exit: i32,
    /// How often the registration is sent.
    sent: usize,
    /// What the report says, if it fails.
    says: &'static str,
}

fn refused(status: u16, code: u32, text: &str, count: u32) -> Value {
    json!({"operation": "create", "status": status, "code": code, "text": text, "count": count})
}

fn passes(what: &'static str, rule: Value, sent: usize) -> Row {
    Row { what, rule, exit: 0, sent, says: "" }
}

fn is_final(what: &'static str, rule: Value, says: &'static str) -> Row {
    Row { what, rule, exit: 1, sent: 1, says }
}

fn rows() -> Vec<Row> {
    let target = |text: &str| format!("{TARGET}{text}");
    vec![
        passes("another writer", refused(409, 10, "the object has been modified", 2), 3),
        passes("throttled", refused(429, 8, "too many requests", 2), 3),
        passes("down", refused(503, 14, "connection refused", 1), 2),
        passes(
            "no AWS identity",
            refused(504, 4, &target("getting credentials: exec: executable argocd-k8s-auth failed with exit code 20"), 1),
            2,
        ),
        passes(
            "the cluster refuses",
            refused(401, 16, &target("the server has asked for the client to provide credentials"), 2),
            3,
        ),
        passes("the cluster forbids", refused(403, 7, "failed to get server version: unknown", 1), 2),
        passes("the cluster is not found", refused(500, 2, &target("dial tcp: lookup x: no such host"), 1), 2),
        passes("a panic", refused(500, 13, "runtime error: invalid memory address or nil pointer dereference", 1), 2),
        passes("a load balancer", json!({"operation": "create", "status": 502}), 2),
        passes("a lost reply", json!({"operation": "create", "when": "after", "drop": true}), 1),
        passes(
            "stored, but not noted",
            json!({"operation": "create", "when": "after", "status": 500, "code": 2, "text": "error setting cluster info in cache: dial tcp"}),
            1,
        ),
        is_final(
            "the token",
            refused(401, 16, "invalid session: token has invalid claims: token is expired", 1),
            "ARGOCD_AUTH_TOKEN",
        ),
        is_final(
            "the rights",
            refused(403, 7, "permission denied: clusters, create, default/https://x, sub: fleet", 1),
            "permission denied",
        ),
        is_final(
            "a wrong request",
            refused(400, 3, "existing cluster spec is different; use upsert flag to force update", 1),
            "InvalidArgument",
        ),
        is_final(
            "the configuration",
            refused(500, 2, "error getting REST config: unable to apply K8s REST config defaults", 1),
            "REST config",
        ),
        is_final(
            "the authority",
            refused(500, 2, &target("tls: failed to verify certificate: x509: certificate signed by unknown authority"), 1),
            "x509",
        ),
        is_final(
            "an ARN",
            refused(500, 2, &target("failed to create discovery client: parse \"http://arn:aws\": invalid port"), 1),
            "discovery client",
        ),
        is_final("a wrong path", json!({"operation": "create", "status": 404, "text": "Not Found\n"}), "no Argo CD API"),
    ]
}

fn creates(world: &World) -> usize {
    let calls = world.ask_argocd("calls");
    calls.as_array().unwrap().iter().filter(|call| call["operation"] == "create").count()
}

#[test]
fn every_refusal_has_its_consequence() {
    let world = unregistered();
    for row in rows() {
        world.clear_argocd("clusters");
        world.clear_argocd("calls");
        world.tell_argocd("faults", &json!([row.rule]));
        let ended = world.fleetctl(&["apply", "cluster.yaml", "--yes"]);
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, Some(row.exit), "{}: {all}", row.what);
        assert_eq!(creates(&world), row.sent, "{}: {all}", row.what);
        assert!(all.contains(row.says), "{}: {all}", row.what);
        assert_eq!(world.registered().as_array().unwrap().len(), usize::from(row.exit == 0), "{}", row.what);
    }
}

/// A cluster that never lets Argo CD in is asked as long as settings say, and it is said what is waited for.
#[test]
fn a_cluster_that_never_lets_argo_cd_in_is_given_up() {
    let world = unregistered();
    let settings = world.fleetctl_yaml("externalId: fleetctl-test") + "argocd:\n  patience: 3s\n";
    world.write("fleetctl.yaml", &settings);
    let text = format!("{TARGET}the server has asked for the client to provide credentials");
    world.tell_argocd("faults", &json!([{"operation": "create", "count": null, "status": 401, "code": 16, "text": text}]));
    let failed = world.fleetctl(&["apply", "cluster.yaml", "--yes", "-o", "json"]).expect(1);
    let events: Vec<Value> = failed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let repeated: Vec<_> = events.iter().filter(|event| event["event"] == "repeating").collect();
    assert!(repeated.len() >= 3 && repeated.len() + 1 == creates(&world), "{events:?}");
    assert!(
        repeated[0]["message"].as_str().unwrap().contains("its access entry is missing or not yet effective"),
        "{repeated:?}"
    );
    let reason = failed.summary()["instances"][0]["failed"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("access entry"), "{reason}");
}

/// Changes and removals: another writer is waited for; a 403 for what is not there any more is success.
#[test]
fn changes_and_removals_have_theirs() {
    let world = unregistered();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    world.tell_argocd(
        "faults",
        &json!([{"operation": "update", "status": 409, "code": 10, "text": "the object has been modified", "count": 2}]),
    );
    world.write("cluster.yaml", &world.instance("workload-cluster1", "  workloads: \"true\"\n"));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.registered()[0]["labels"]["workloads"], "true");
    world.clear_argocd("calls");
    // It was carried out, but the reply is lost and the repeated call finds nothing.
    world.tell_argocd("faults", &json!([{"operation": "delete", "when": "after", "drop": true}]));
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.registered(), json!([]));
}
