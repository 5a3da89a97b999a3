//! Checks a value against the limits of its field.

use super::apply::PATTERN_SIZE_LIMIT;
use crate::graph::diagnostic::{Location, SourceFile};
use crate::graph::expression::Expression;
use crate::graph::schema::Constraints;
use regex::RegexBuilder;
use serde_json::Value;

/// Every limit that a value does not keep: category and message.
pub(super) fn check(constraints: &Constraints, value: &Value) -> Vec<(&'static str, String)> {
    let mut problems = Vec::new();
    if !constraints.enumeration.is_empty() && !constraints.enumeration.iter().any(|allowed| is_same(allowed, value)) {
        let allowed: Vec<String> = constraints.enumeration.iter().map(Value::to_string).collect();
        problems.push(("enum", format!("{value} is not one of {}", allowed.join(", "))));
    }
    match value {
        Value::Number(number) => check_number(constraints, number.as_f64().unwrap_or(f64::NAN), &mut problems),
        Value::String(text) => check_text(constraints, text, &mut problems),
        Value::Array(items) => check_items(constraints, items, &mut problems),
        _ => {}
    }
    problems.extend(constraints.validations.iter().filter_map(|rule| Some(("validation", check_rule(rule, value)?))));
    problems
}

fn check_number(constraints: &Constraints, number: f64, problems: &mut Vec<(&'static str, String)>) {
    if let Some(minimum) = constraints.minimum.filter(|minimum| number < *minimum) {
        problems.push(("minimum", format!("{number} is less than {minimum}")));
    }
    if let Some(maximum) = constraints.maximum.filter(|maximum| number > *maximum) {
        problems.push(("maximum", format!("{number} is more than {maximum}")));
    }
}

fn check_text(constraints: &Constraints, text: &str, problems: &mut Vec<(&'static str, String)>) {
    let length = text.chars().count();
    if let Some(minimum) = constraints.minimum_length.filter(|minimum| length < *minimum) {
        problems.push(("minLength", format!("{text:?} has {length} characters, fewer than {minimum}")));
    }
    if let Some(maximum) = constraints.maximum_length.filter(|maximum| length > *maximum) {
        problems.push(("maxLength", format!("{text:?} has {length} characters, more than {maximum}")));
    }
    if let Some(pattern) = &constraints.pattern {
        let compiled = RegexBuilder::new(pattern).size_limit(PATTERN_SIZE_LIMIT).build();
        if !compiled.is_ok_and(|pattern| pattern.is_match(text)) {
            problems.push(("pattern", format!("{text:?} does not match the pattern `{pattern}`")));
        }
    }
}

fn check_items(constraints: &Constraints, items: &[Value], problems: &mut Vec<(&'static str, String)>) {
    let count = items.len();
    if let Some(minimum) = constraints.minimum_items.filter(|minimum| count < *minimum) {
        problems.push(("minItems", format!("there are {count} items, fewer than {minimum}")));
    }
    if let Some(maximum) = constraints.maximum_items.filter(|maximum| count > *maximum) {
        problems.push(("maxItems", format!("there are {count} items, more than {maximum}")));
    }
    let identities: Vec<String> = match constraints.list_type.as_deref() {
        Some("set") => items.iter().map(Value::to_string).collect(),
        Some("map") => items.iter().map(|item| identity(item, &constraints.list_map_keys)).collect(),
        _ => return,
    };
    let mut sorted = identities;
    sorted.sort();
    if let Some(twice) = sorted.windows(2).find_map(|pair| (pair.first() == pair.last()).then(|| pair.first()).flatten()) {
        problems.push(("duplicate-item", format!("the item {twice} is there twice")));
    }
}

/// The values of the fields that tell items apart.
fn identity(item: &Value, keys: &[String]) -> String {
    let parts = keys.iter().map(|key| format!("{key}={}", item.get(key).unwrap_or(&Value::Null)));
    parts.collect::<Vec<_>>().join(" ")
}

fn is_same(allowed: &Value, value: &Value) -> bool {
    allowed == value || (allowed.is_number() && allowed.as_f64() == value.as_f64())
}

/// Why a rule does not hold for a value. Rules about a change (`oldSelf`) say nothing about a value alone.
fn check_rule(rule: &str, value: &Value) -> Option<String> {
    let location = Location { file: SourceFile::new("validation", rule), line: 1, column: 1, offset: 0, length: rule.len() };
    let expression = match Expression::compile(rule, &location) {
        Ok(expression) => expression,
        Err(problem) => return Some(format!("the rule `{rule}` cannot be checked: {}", problem.message)),
    };
    if expression.reads.iter().any(|read| read.root == "oldSelf") {
        return None;
    }
    match expression.evaluate(&vec![("self", value)]) {
        Ok(Value::Bool(true)) => None,
        Ok(_) => Some(format!("the rule `{rule}` does not hold")),
        Err(error) => Some(format!("the rule `{rule}` cannot be checked: {error}")),
    }
}
