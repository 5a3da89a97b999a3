//! Runs the cases of kro's language that need no definition: scanning, templates, CEL, `SimpleSchema`, admission.
//!
//! The cases are read from `tests/conformance`, or from the folder that `FLEETCTL_CONFORMANCE` names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use super::diagnostic::{Diagnostic, Location, SourceFile};
use super::expression::{EvaluationError, Expression, Variables};
use super::scan::{Piece, ScanError, Scanned, scan_as_kro};
use super::schema::{Schema, Shape};
use super::simple_schema::{self, AdmissionProblem};
use super::template::Template;
use super::tree::Tree;
use super::yaml::{self, Node};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::PathBuf;

struct Case {
    id: String,
    input: String,
    given: Map<String, Value>,
    expect: Value,
}

fn folder() -> PathBuf {
    std::env::var_os("FLEETCTL_CONFORMANCE")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conformance"), PathBuf::from)
}

fn cases(area: &str) -> Vec<Case> {
    let text = fs::read_to_string(folder().join("kro-cases.jsonl")).unwrap();
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_area = all.filter(|case| case["area"] == area);
    of_area
        .map(|case| Case {
            id: case["id"].as_str().unwrap().to_owned(),
            input: case["input"].as_str().unwrap().to_owned(),
            given: case["given"].as_object().cloned().unwrap_or_default(),
            expect: case["expect"].clone(),
        })
        .collect()
}

/// Runs all cases of an area. `run` answers the value, or the kind of the error.
fn conform(area: &str, run: impl Fn(&Case) -> Result<Value, String>) {
    let cases = cases(area);
    let mut mismatches = Vec::new();
    for case in &cases {
        let answer = match run(case) {
            Ok(value) => json!({ "ok": value }),
            Err(kind) => json!({ "error": kind }),
        };
        if !same(&answer, &case.expect) {
            mismatches.push(format!("mismatch {}: expected {}, got {answer}", case.id, case.expect));
        }
    }
    report(area, cases.len(), &mismatches);
}

fn report(area: &str, total: usize, mismatches: &[String]) {
    println!("{area}: {} of {total} cases", total - mismatches.len());
    for mismatch in mismatches {
        println!("{mismatch}");
    }
    assert!(mismatches.is_empty(), "{area}: {} mismatches", mismatches.len());
}

/// Equality of JSON in which `1` and `1.0` are one number.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len() && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

fn nowhere(text: &str) -> Location {
    Location { file: SourceFile::new("case", text), line: 1, column: 1, offset: 0, length: text.len() }
}

fn category(problem: &Diagnostic) -> String {
    problem.category.to_owned()
}

fn kind(error: &EvaluationError) -> String {
    match error {
        EvaluationError::Pending(_) => "pending",
        EvaluationError::Fatal(_) => "fatal",
        EvaluationError::Omitted => "omitted",
    }
    .to_owned()
}

#[test]
fn conformance_scan() {
    conform("scan", |case| {
        let scanned = scan_as_kro(&case.input).map_err(|error| match error {
            ScanError::Nested { .. } => "nested-expression".to_owned(),
            ScanError::Unterminated { .. } => "unterminated-expression".to_owned(),
        })?;
        let class = match &scanned {
            Scanned::Literal => "literal",
            Scanned::Standalone(_) => "standalone",
            Scanned::Text(_) => "template",
        };
        let expressions: Vec<&str> = scanned.spans().map(|span| span.source.as_str()).collect();
        let mut answer = json!({ "class": class, "exprs": expressions });
        if let Scanned::Text(pieces) = &scanned {
            let piece = |piece: &Piece| match piece {
                Piece::Literal(text) => Value::from(text.as_str()).to_string(),
                Piece::Expression(span) => format!("({})", span.source),
            };
            answer["cel"] = pieces.iter().map(piece).collect::<Vec<_>>().join(" + ").into();
        }
        Ok(answer)
    });
}

#[test]
fn conformance_template() {
    conform("template", |case| {
        let file = SourceFile::new("case", case.input.as_str());
        let nodes = yaml::parse(&file).map_err(|problems| category(&problems[0]))?;
        let template = Template::compile(&nodes[0]).map_err(|problems| category(&problems[0]))?;
        let variables: Variables<'_> = case.given.iter().map(|(name, value)| (name.as_str(), value)).collect();
        let rendered = template.render(&mut |expression| expression.evaluate(&variables).map(Tree::Known));
        Ok(rendered.map_err(|error| kind(&error))?.into_known().unwrap())
    });
}

#[test]
fn conformance_cel() {
    conform("cel", |case| {
        let variables: Variables<'_> = case.given.iter().map(|(name, value)| (name.as_str(), value)).collect();
        let expression = Expression::compile(&case.input, &nowhere(&case.input)).map_err(|problem| category(&problem))?;
        expression.evaluate(&variables).map_err(|error| kind(&error))
    });
}

/// Variables of the cases in `cel-cases.json`, which reads them but does not say what they are.
fn variables_of_cel_cases() -> Vec<(&'static str, Value)> {
    let schema = json!({
        "metadata": {"labels": {"app.kubernetes.io/name": "x"}},
        "spec": {"name": "demo", "replicas": 3, "big": i64::MAX, "flt": 1.5, "whole": 2.0, "opt": null,
            "tags": {"a": "1", "b": "2"}, "subnets": ["s1", "s2", "s3"]},
    });
    let vpc = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    vec![("schema", schema), ("vpc", vpc)]
}

#[test]
fn conformance_cel_cases() {
    let text = fs::read_to_string(folder().join("cel-cases.json")).unwrap();
    let cases: Vec<[String; 3]> = serde_json::from_str(&text).unwrap();
    let variables = variables_of_cel_cases();
    let variables: Variables<'_> = variables.iter().map(|(name, value)| (*name, value)).collect();
    let mut mismatches = Vec::new();
    for [group, source, want] in &cases {
        let answer = match Expression::compile(source, &nowhere(source)) {
            Err(problem) => Err(problem.message),
            Ok(expression) => expression.evaluate(&variables).map_err(|error| error.to_string()),
        };
        let is_right = match &answer {
            Ok(value) => serde_json::from_str::<Value>(want).is_ok_and(|want| want == *value),
            Err(_) => want == "ERR",
        };
        if !is_right {
            mismatches.push(format!("mismatch {group} `{source}`: expected {want}, got {answer:?}"));
        }
    }
    report("cel-cases", cases.len(), &mismatches);
}

#[test]
fn conformance_marker() {
    conform("marker", |case| {
        let markers = simple_schema::parse_markers(&case.input).map_err(|error| error.category.to_owned())?;
        Ok(markers.into_iter().map(|marker| json!([marker.name, marker.value])).collect())
    });
}

fn parse(text: &str) -> Node {
    let mut nodes = yaml::parse(&SourceFile::new("case", text)).unwrap();
    assert_eq!(nodes.len(), 1, "{text}");
    nodes.remove(0)
}

fn schema(spec: Option<&Node>, types: Option<&Node>) -> Result<Schema, String> {
    simple_schema::schema(spec, types).map_err(|problems| category(&problems[0]))
}

#[test]
fn conformance_type() {
    conform("type", |case| {
        let spec = parse(&format!("field: {}", Value::from(case.input.as_str())));
        match &schema(Some(&spec), None)?.shape {
            Shape::Object(object) => Ok(object.properties["field"].to_json_schema()),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn conformance_schema() {
    conform("schema", |case| {
        let node = parse(&case.input);
        Ok(schema(node.get("spec"), node.get("types"))?.to_json_schema())
    });
}

#[test]
fn conformance_default() {
    conform("default", |case| {
        let schema = schema(Some(&parse(&case.input)), None)?;
        simple_schema::admit(&schema, &case.given["spec"]).map_err(|problems| problems[0].category.to_owned())
    });
}

/// kro's API server leaves unknown fields out where fleetctl refuses them.
#[test]
fn conformance_instance() {
    conform("instance", |case| {
        let schema = schema(Some(&parse(&case.input)), None)?;
        let spec = &case.given["spec"];
        let admitted = match case.given.get("old") {
            Some(old) => simple_schema::admit_change(&schema, spec, old),
            None => simple_schema::admit(&schema, spec),
        };
        let is_unknown = |problem: &&AdmissionProblem| problem.category == "unknown-field";
        let problems = admitted.as_ref().err().map(Vec::as_slice).unwrap_or_default();
        if let Some(other) = problems.iter().find(|problem| !is_unknown(problem)) {
            return Err(other.category.to_owned());
        }
        let pruned: Vec<&str> = problems.iter().filter(is_unknown).map(|problem| problem.path.as_str()).collect();
        Ok(if pruned.is_empty() { json!("valid") } else { json!({ "pruned": pruned }) })
    });
}
