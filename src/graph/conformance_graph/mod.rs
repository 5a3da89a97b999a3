//! Runs kro's cases that need definitions: static checks, order, evaluation in its places, plans, forEach, status.
//!
//! The cases are read from `tests/conformance`, or from the folder that `FLEETCTL_CONFORMANCE` names. Cases about a file of
//! kro need `FLEETCTL_UPSTREAM_DATA`, the folder that holds `kro/…`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod definitions;
mod runtime;

use super::diagnostic::{Diagnostic, SourceFile};
use super::yaml::{self, Key, Node, NodeValue};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

struct Case {
    id: String,
    input: String,
    given: Map<String, Value>,
    expect: Value,
}

/// What a case came to.
enum Answer {
    Ok(Value),
    Error(String),
    /// Not run, and why.
    Apart(&'static str),
}

const NO_FOR_EACH: &str = "forEach is not carried out yet";
const PROSE: &str = "prose about something that is not part of the graph language here";

fn folder() -> PathBuf {
    std::env::var_os("FLEETCTL_CONFORMANCE")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conformance"), PathBuf::from)
}

fn cases(area: &str) -> Vec<Case> {
    let text = fs::read_to_string(folder().join("kro-cases.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|case| case["area"] == area)
        .map(|case| Case {
            id: case["id"].as_str().unwrap().to_owned(),
            input: case["input"].as_str().unwrap().to_owned(),
            given: case["given"].as_object().cloned().unwrap_or_default(),
            expect: case["expect"].clone(),
        })
        .collect()
}

/// Runs the cases of an area. An answer may say more than is expected.
fn conform(area: &str, run: impl Fn(&Case) -> Answer) {
    let (mut right, mut apart, mut mismatches) = (0, 0, Vec::new());
    let cases = cases(area);
    for case in &cases {
        let answer = match run(case) {
            Answer::Ok(value) => json!({ "ok": value }),
            Answer::Error(kind) => json!({ "error": kind }),
            Answer::Apart(reason) => {
                println!("set apart {}: {reason}", case.id);
                apart += 1;
                continue;
            }
        };
        if covers(&answer, &case.expect) {
            right += 1;
        } else {
            mismatches.push(format!("mismatch {}: expected {}, got {answer}", case.id, case.expect));
        }
    }
    println!("{area}: {right} of {} cases ({apart} set apart)", cases.len());
    for mismatch in &mismatches {
        println!("{mismatch}");
    }
    assert!(mismatches.is_empty(), "{area}: {} mismatches", mismatches.len());
}

/// Whether an answer holds everything that is expected.
fn covers(answer: &Value, expected: &Value) -> bool {
    match (answer, expected) {
        (Value::Object(answer), Value::Object(expected)) => {
            expected.iter().all(|(key, value)| answer.get(key).is_some_and(|found| covers(found, value)))
        }
        (Value::String(state), Value::String(expected)) if expected == "<kro-computed>" => {
            ["ACTIVE", "IN_PROGRESS", "ERROR"].contains(&state.as_str())
        }
        _ => answer == expected,
    }
}

/// The kind of the errors, if there are any; several kinds are all named.
fn kind_of(problems: &[Diagnostic]) -> Option<String> {
    let mut kinds: Vec<&str> = problems.iter().map(|problem| problem.category).collect();
    kinds.sort_unstable();
    kinds.dedup();
    (!kinds.is_empty()).then(|| kinds.join(" and "))
}

fn parse(text: &str) -> Result<Vec<Node>, Vec<Diagnostic>> {
    yaml::parse(&SourceFile::new("case.yaml", text))
}

/// A mapping from parts of a case.
fn mapping(entries: Vec<(&str, Node)>) -> Node {
    let location = parse("x").unwrap().remove(0).location;
    let key = |text: &str| Key { text: text.to_owned(), is_text: true, location: location.clone() };
    let entries = entries.into_iter().map(|(name, node)| (key(name), node)).collect();
    Node { value: NodeValue::Mapping(entries), location }
}

/// A node from JSON.
fn node(value: &Value) -> Node {
    parse(&value.to_string()).unwrap().remove(0)
}

/// The documents of a file of kro's examples, and those of the other files in its folder; `None` where the folder is not
/// named or does not hold it.
fn upstream_file(name: &str) -> Option<(Vec<Node>, Vec<Node>)> {
    let root = PathBuf::from(std::env::var_os("FLEETCTL_UPSTREAM_DATA")?).join("kro");
    let path = Path::new(name);
    let example = path.strip_prefix("examples/aws").unwrap_or(path);
    let flat = root.join(example.components().next()?).join(path.file_name()?);
    let file = [root.join(example), flat].into_iter().find(|file| file.is_file())?;
    let read = |file: &Path| parse(&fs::read_to_string(file).unwrap()).unwrap();
    let beside = fs::read_dir(file.parent()?).unwrap().map(|entry| entry.unwrap().path());
    let others = beside.filter(|other| *other != file && other.extension().is_some_and(|end| end == "yaml"));
    Some((read(&file), others.flat_map(|other| read(&other)).collect()))
}
