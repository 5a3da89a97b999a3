//! The Argo CD double answers as a real Argo CD server did, as far as recorded exchanges say.

use crate::support::emulator::repository;
use std::process::Command;

#[test]
fn the_double_answers_as_a_real_server_did() {
    let exchanges = std::env::var_os("FLEETCTL_CONFORMANCE")
        .map_or_else(|| repository().join("tests/conformance"), Into::into)
        .join("argocd-exchanges.jsonl");
    let output = Command::new("python3")
        .arg(repository().join("localstack/argocd/replay.py"))
        .arg(exchanges)
        .args(["--group", "empty", "--group", "auth", "--group", "create", "--group", "duplicates"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}
