//! kubectl's way into a cluster: the kubeconfig, and the token that kubectl gets by it.

use crate::support::World;
use crate::support::emulator::Emulator;
use crate::support::kubernetes::{ApiServer, kubectl};
use crate::support::skip::skipped;
use crate::support::world::Ended;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const OTHERS: &str = "apiVersion: v1\nkind: Config\nclusters:\n- name: other\n  cluster: {server: https://other.example.com}\n\
                      contexts:\n- name: other\n  context: {cluster: other, user: other, namespace: team-a}\n\
                      users:\n- name: other\n  user: {token: keep-me}\ncurrent-context: other\n";

fn cluster(world: &World) -> Value {
    let state = world.state();
    let records = state["resources"].as_array().unwrap();
    records.iter().find(|record| record["identity"]["kind"] == "Cluster").unwrap().clone()
}

fn endpoint(world: &World) -> String {
    cluster(world)["status"]["endpoint"].as_str().unwrap().to_owned()
}

fn run(world: &World, kubectl: &Path, arguments: &[&str]) -> Ended {
    Ended::of(world.program(kubectl, arguments).output().unwrap())
}

#[test]
fn kubectl_reads_the_kubeconfig_and_gets_a_token() {
    let Some(kubectl) = kubectl() else {
        return skipped("kubectl_reads_the_kubeconfig_and_gets_a_token", "there is no kubectl and none can be downloaded");
    };
    let world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    world.write(".kube/config", OTHERS);
    world.aws.forget();
    let written = world.fleetctl(&["kubeconfig", "EksCluster/workload-cluster1"]).expect(0);
    assert_eq!(world.aws.calls(), [], "everything is recorded");
    let arn = format!("arn:aws:eks:us-west-2:{}:cluster/workload-cluster1", world.workload);
    assert!(written.stdout.contains(&arn), "{}", written.stdout);

    assert_eq!(run(&world, kubectl, &["config", "current-context"]).expect(0).stdout.trim(), arn);
    let view = run(&world, kubectl, &["config", "view", "--raw", "-o", "json"]).expect(0);
    let view: Value = serde_json::from_str(&view.stdout).unwrap();
    let other = |list: &str| view[list].as_array().unwrap().iter().find(|entry| entry["name"] == "other").unwrap().clone();
    assert_eq!(other("users")["user"]["token"], "keep-me");
    assert_eq!(other("contexts")["context"]["namespace"], "team-a");
    let ours = view["clusters"].as_array().unwrap().iter().find(|entry| entry["name"] == json!(arn)).unwrap();
    assert_eq!(ours["cluster"]["server"], json!(endpoint(&world)));

    // The CA in the kubeconfig has signed the certificate: kubectl checks it, and sends no token otherwise.
    let api = ApiServer::start(&world, &endpoint(&world), "workload-cluster1");
    let answer = run(&world, kubectl, &["get", "--raw", "/version", "--server", &api.url]).expect(0);
    assert!(answer.stdout.contains("\"minor\""), "{}", answer.stdout);
    let asked = api.asked();
    let first = asked.iter().find(|request| request["path"] == "/version").unwrap();
    assert!(first["authorization"].as_str().unwrap().starts_with("Bearer k8s-aws-v1."), "{first}");
    let session = format!("arn:aws:sts::{}:assumed-role/ack/", world.workload);
    assert!(first["arn"].as_str().unwrap().starts_with(&session), "{first}");

    // Without its external id the role is refused, and kubectl shows why.
    let path = world.folder.path().join(".kube/config");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("fleetctl-test", "wrong")).unwrap();
    let refused = run(&world, kubectl, &["get", "--raw", "/version", "--server", &api.url]);
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("role/ack") && refused.stderr.contains("external id"), "{}", refused.stderr);
}

#[test]
fn the_callers_own_account_needs_no_role() {
    let world = World::new();
    world.write("fleetctl.yaml", "{}\n");
    let text = world.instance("workload-cluster1", "").replace(&world.workload, &world.hub);
    Emulator::shared().post("/_fleet/accounts", &json!({"hub": world.hub, "workload": world.hub, "externalId": null}));
    world.write("cluster.yaml", &text);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let printed = world.fleetctl(&["kubeconfig", "workload-cluster1", "--stdout", "-o", "json"]).expect(0);
    let kubeconfig: Value = serde_json::from_str(&printed.stdout).unwrap();
    let exec = &kubeconfig["users"][0]["user"]["exec"];
    assert_eq!(exec["args"], json!(["token", "--cluster", "workload-cluster1", "--region", "us-west-2"]));
    assert!(!world.folder.path().join(".kube").exists(), "nothing is written");

    world.aws.forget();
    let arguments: Vec<&str> = exec["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let token = world.fleetctl(&arguments).expect(0);
    assert_eq!(world.aws.calls(), [], "a token of one's own credentials needs no call");
    let credential: Value = serde_json::from_str(&token.stdout).unwrap();
    assert_eq!((&credential["kind"], &credential["apiVersion"]), (&json!("ExecCredential"), &exec["apiVersion"]));
    let who = who_is(credential["status"]["token"].as_str().unwrap(), "workload-cluster1");
    assert!(who.contains(&format!("<Account>{}</Account>", world.hub)), "{who}");
}

/// What STS answers to the call that a token is.
fn who_is(token: &str, cluster: &str) -> String {
    use base64::Engine as _;
    let encoded = token.strip_prefix("k8s-aws-v1.").unwrap();
    let url = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(encoded).unwrap();
    let emulator = Emulator::shared();
    let request = emulator.http.get(String::from_utf8(url).unwrap()).header("x-k8s-aws-id", cluster);
    emulator.runtime.block_on(async {
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{status}: {text}");
        text
    })
}

#[test]
fn a_token_works_in_any_folder_and_is_in_no_log() {
    let world = World::new();
    world.write("fleetctl.yaml", "regoin: nonsense\n");
    let arn = format!("arn:aws:iam::{}:role/ack", world.workload);
    let words =
        ["token", "--cluster", "one", "--region", "us-west-2", "--role-arn", &arn, "--external-id", "fleetctl-test", "-vv"];
    let asked = r#"{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","spec":{}}"#;
    let mut command = world.command(&words);
    command.env("KUBERNETES_EXEC_INFO", asked).env("FLEETCTL_OUTPUT", "json").env("FLEETCTL_LOG", "trace");
    let ended = Ended::of(command.output().unwrap()).expect(0);
    let credential: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(credential["apiVersion"], "client.authentication.k8s.io/v1beta1");
    let token = credential["status"]["token"].as_str().unwrap();
    let who = who_is(token, "one");
    assert!(who.contains(&format!("arn:aws:sts::{}:assumed-role/ack/fleetctl-one", world.workload)), "{who}");
    assert!(!ended.stderr.contains(token) && !ended.stderr.contains("X-Amz-Signature"), "{}", ended.stderr);
    assert!(!world.folder.path().join("state").exists(), "nothing is written");

    Emulator::shared().post("/_fleet/settings", &json!({"expiredAccessKeys": [world.hub]}));
    let expired = world.fleetctl(&words[..9]).expect(6);
    assert!(expired.stderr.contains("expired") && expired.stdout.is_empty(), "{}", expired.stderr);
}

fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it did not come about");
}

#[test]
fn an_address_that_is_not_recorded_is_asked_of_eks() {
    let world = World::new();
    world.settings(&json!({"clusterCreateSeconds": 8.0}));
    let mut child = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    wait_until(|| world.fleetctl(&["status"]).stdout.contains("/ekscluster  "));
    child.kill().unwrap();
    child.wait().unwrap();
    let early = world.fleetctl(&["kubeconfig", "workload-cluster1", "--kubeconfig", "config"]).expect(3);
    assert!(early.stderr.contains("no address yet"), "{}", early.stderr);
    assert!(!world.folder.path().join("config").exists());
    wait_until(|| world.inventory(&world.workload)["eks"][0]["status"] == "ACTIVE");
    world.write("config", "apiVersion: v1\nusers: nonsense\n");
    let broken = world.fleetctl(&["kubeconfig", "workload-cluster1", "--kubeconfig", "config"]).expect(4);
    assert!(broken.stderr.contains("config:2") && broken.stderr.contains("`users` is a list"), "{}", broken.stderr);
    let text = || std::fs::read_to_string(world.folder.path().join("config")).unwrap();
    assert_eq!(text(), "apiVersion: v1\nusers: nonsense\n");

    world.write("config", OTHERS);
    let arguments = ["kubeconfig", "workload-cluster1", "--kubeconfig", "config", "--context", "short", "--keep-context"];
    world.fleetctl(&arguments).expect(0);
    assert!(text().contains("eks.amazonaws.com") && text().contains("name: short"), "{}", text());
    assert!(text().contains("current-context: other"), "{}", text());
    let other = world.fleetctl(&["kubeconfig", "workload-cluster2", "--kubeconfig", "config"]).expect(4);
    assert!(other.stderr.contains("did you mean `workload-cluster1`?"), "{}", other.stderr);
}
