//! The Argo CD double answers as a real Argo CD server did: every recorded exchange is replayed, and one that is answered
//! otherwise is noticed.

use crate::support::emulator::repository;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn recorded() -> PathBuf {
    let folder = std::env::var_os("FLEETCTL_CONFORMANCE").map_or_else(|| repository().join("tests/conformance"), Into::into);
    folder.join("argocd-exchanges.jsonl")
}

/// Argo CD's own description of its interface, where data of other projects are at hand.
fn description() -> Option<PathBuf> {
    let folder = repository().join(std::env::var_os("FLEETCTL_UPSTREAM_DATA")?);
    Some(folder.join("argocd/clusters.swagger.json"))
}

fn replay(exchanges: &Path) -> Output {
    let mut command = Command::new("python3");
    command.arg(repository().join("localstack/argocd/replay.py")).arg(exchanges);
    if let Some(description) = description() {
        command.arg("--swagger").arg(description);
    }
    command.output().unwrap()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_double_answers_as_a_real_server_did() {
    let exchanges = std::fs::read_to_string(recorded()).unwrap();
    let count = lines(&exchanges).iter().filter(|line| line["request"].is_object()).count();
    assert!(count >= 80, "{count}");
    let output = replay(&recorded());
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let all = format!("all: {count} of {count}");
    assert!(text.lines().last().unwrap().starts_with(&all), "none is left out: {text}");
    assert_eq!(text.contains("names of fields checked"), description().is_some());
}

/// A recording in which one thing was another one makes the replay fail, and say where.
#[test]
fn a_deviation_is_noticed() {
    let deviations: [(&str, &str, Value); 5] = [
        ("list-garbage-token", "/response/status", json!(403)),
        ("b-arn", "/response/body/message", json!("something else")),
        ("put-unknown", "/response/body/code", json!(5)),
        ("ct-charset", "/response/content_type", json!("text/html")),
        ("http-to-https", "/response/location", json!("https://elsewhere/")),
    ];
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(recorded()).unwrap();
    for (id, path, other) in deviations {
        let mut exchanges = lines(&text);
        let exchange = exchanges.iter_mut().find(|line| line["id"] == id).unwrap();
        let place = exchange.pointer_mut(path).unwrap();
        assert_ne!(*place, other);
        *place = other;
        let file = folder.path().join(format!("{id}.jsonl"));
        let written: Vec<String> = exchanges.iter().map(ToString::to_string).collect();
        std::fs::write(&file, written.join("\n")).unwrap();
        let output = replay(&file);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{id}: {shown}");
        assert!(shown.contains(&format!("mismatch {id}: ")), "{id}: {shown}");
    }
}
