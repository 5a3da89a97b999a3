//! Runs CEL's own conformance suite, where `FLEETCTL_UPSTREAM_DATA` names a folder that holds `cel-spec/cases.json`.
//!
//! Left out are files about what kro's environment does not have (protobuf messages, math, networks, blocks, containers)
//! and cases that only check types. Expressions that kro's typed environment refuses are refused here, too: they count as
//! refused, not as failed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use super::diagnostic::{Location, SourceFile};
use super::expression::Expression;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

const FILES: [&str; 17] = [
    "basic",
    "bindings_ext",
    "comparisons",
    "conversions",
    "encoders_ext",
    "fields",
    "fp_math",
    "integer_math",
    "lists",
    "logic",
    "macros",
    "macros2",
    "optionals",
    "parse",
    "string",
    "string_ext",
    "timestamps",
];

/// Cases in which kro's environment is meant to differ, with the reason.
const DIFFERENT: [(&str, &str); 4] = [
    ("fields/qualified_identifier_resolution/map_value_repeat_key", "the last of several entries wins in cel-go"),
    ("fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous", "the last of several entries wins in cel-go"),
    ("conversions/double/string_exp_pos_neg", "this test reads the suite's double one bit off"),
    ("conversions/double/string_exp_neg_neg", "this test reads the suite's double one bit off"),
];

enum Outcome {
    Passed,
    /// By the type check, or because kro has no such function.
    Refused,
    /// It cannot be run here.
    Skipped,
    Failed(String),
}

#[test]
fn conformance_cel_spec() {
    let Some(folder) = std::env::var_os("FLEETCTL_UPSTREAM_DATA") else {
        println!("cel-spec: skipped, FLEETCTL_UPSTREAM_DATA is not set");
        return;
    };
    let text = fs::read_to_string(PathBuf::from(folder).join("cel-spec/cases.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut failures = Vec::new();
    for case in cases.iter().filter(|case| FILES.contains(&text_of(case, "file"))) {
        let id = format!("{}/{}/{}", text_of(case, "file"), text_of(case, "section"), text_of(case, "name"));
        let count = counts.entry(text_of(case, "file")).or_default();
        match run(case) {
            Outcome::Passed => count[0] += 1,
            // Cases that cel-go checks before it runs them may not be refused.
            Outcome::Refused if case["disable_check"] != true => failures.push(format!("mismatch {id}: refused")),
            Outcome::Refused => count[1] += 1,
            Outcome::Skipped => count[2] += 1,
            Outcome::Failed(_) if DIFFERENT.iter().any(|(known, _)| *known == id) => count[3] += 1,
            Outcome::Failed(why) => failures.push(format!("mismatch {id} `{}`: {why}", text_of(case, "expr"))),
        }
    }
    for (file, [passed, refused, skipped, different]) in counts {
        println!("cel-spec {file}: {passed} passed, {refused} refused as in kro, {skipped} skipped, {different} different");
    }
    for failure in &failures {
        println!("{failure}");
    }
    assert!(failures.is_empty(), "{} mismatches", failures.len());
}

fn text_of<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_default()
}

fn run(case: &Value) -> Outcome {
    let is_other = case["check_only"] == true || case["disable_macros"] == true || !text_of(case, "container").is_empty();
    let mut source = format!("\n{}\n", text_of(case, "expr"));
    let is_error = case["error"] == true;
    if is_error {
        source = format!("size([{source}]) == 1");
    } else {
        match literal(&case["value"]) {
            Some(want) if want == "NaN" => source = format!("dyn({source}) != dyn({source})"),
            Some(want) => source = format!("cel.bind(got, dyn({source}), got == dyn({want}) && type(got) == type({want}))"),
            None => return Outcome::Skipped,
        }
    }
    for (name, value) in case["bindings"].as_object().into_iter().flatten() {
        let is_name = name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
        let is_keyword = matches!(name.as_str(), "true" | "false" | "null");
        match literal(value).filter(|_| is_name && !is_keyword) {
            Some(value) => source = format!("cel.bind({name}, dyn({value}), {source})"),
            None => return Outcome::Skipped,
        }
    }
    if is_other || source.contains("google.protobuf") || source.contains("TestAllTypes") {
        return Outcome::Skipped;
    }
    evaluate(&source, is_error)
}

fn evaluate(source: &str, is_error: bool) -> Outcome {
    let location = Location { file: SourceFile::new("case", source), line: 1, column: 1, offset: 0, length: source.len() };
    let answer = match Expression::compile(source, &location) {
        Err(problem) if is_error || problem.category == "cel-too-long" => Err(problem.message),
        Err(problem) if matches!(problem.category, "cel-type" | "unknown-function") => return Outcome::Refused,
        Err(problem) => return Outcome::Failed(problem.message),
        Ok(expression) => expression.evaluate(&Vec::new()).map_err(|error| error.to_string()),
    };
    match answer {
        Ok(Value::Bool(true)) if !is_error => Outcome::Passed,
        Err(_) if is_error => Outcome::Passed,
        Ok(value) => Outcome::Failed(if is_error { "an error is missing".to_owned() } else { value.to_string() }),
        Err(message) => Outcome::Failed(message),
    }
}

/// A value of the suite as CEL.
fn literal(value: &Value) -> Option<String> {
    let (kind, content) = value.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "null" => "null".to_owned(),
        "bool" | "int" | "string" => content.to_string(),
        "uint" => format!("{content}u"),
        "double" => match content.as_f64() {
            Some(number) => format!("{number:?}"),
            None => match content.as_str()? {
                "NaN" => "NaN".to_owned(),
                other => format!("double('{other}')"),
            },
        },
        "bytes" => {
            let mut text = "b'".to_owned();
            for byte in content.as_array()? {
                write!(text, "\\x{:02x}", byte.as_u64()?).unwrap();
            }
            text + "'"
        }
        "list" => format!("[{}]", content.as_array()?.iter().map(literal).collect::<Option<Vec<_>>>()?.join(", ")),
        "map" => {
            let entry = |entry: &Value| Some(format!("{}: {}", literal(&entry[0])?, literal(&entry[1])?));
            format!("{{{}}}", content.as_array()?.iter().map(entry).collect::<Option<Vec<_>>>()?.join(", "))
        }
        "type" => content.as_str()?.to_owned(),
        _ => return None,
    })
}
