//! Makes limits of markers (kro.md 2.3).

use super::admission;
use super::markers::Marker;
use crate::graph::diagnostic::Location;
use crate::graph::expression::Expression;
use crate::graph::schema::{Schema, Shape};
use regex::RegexBuilder;
use serde_json::{Number, Value};

/// The largest compiled size of a pattern.
pub(super) const PATTERN_SIZE_LIMIT: usize = 1 << 20;

/// Applies a marker to the schema of a field. Answers whether the marker makes the field required; an error is the
/// message of a `marker-value` problem.
pub(super) fn apply(schema: &mut Schema, marker: &Marker, location: &Location) -> Result<bool, String> {
    let value = marker.value.as_str();
    match marker.name {
        "required" => return boolean(value),
        "default" => schema.constraints.default = Some(default(schema, value)?),
        "description" => schema.constraints.description = Some(value.to_owned()),
        "enum" => schema.constraints.enumeration = enumeration(schema, value)?,
        "minimum" => schema.constraints.minimum = Some(float(value)?),
        "maximum" => schema.constraints.maximum = Some(float(value)?),
        "pattern" => schema.constraints.pattern = Some(pattern(schema, value)?),
        "minLength" => schema.constraints.minimum_length = Some(string_limit(schema, value)?),
        "maxLength" => schema.constraints.maximum_length = Some(string_limit(schema, value)?),
        "minItems" => schema.constraints.minimum_items = Some(list_limit(schema, value)?),
        "maxItems" => schema.constraints.maximum_items = Some(list_limit(schema, value)?),
        "uniqueItems" => unique_items(schema, value)?,
        "listType" => list_type(schema, value)?,
        "listMapKey" => list_map_key(schema, value)?,
        "immutable" => schema.constraints.immutable |= boolean(value)?,
        "validation" => schema.constraints.validations.push(validation(value, location)?),
        name => return Err(format!("there is no marker `{name}`")),
    }
    Ok(false)
}

/// Checks what only the markers of a field together tell.
pub(super) fn check_together(schema: &Schema) -> Result<(), String> {
    let constraints = &schema.constraints;
    if !constraints.list_map_keys.is_empty() && constraints.list_type.as_deref() != Some("map") {
        return Err("`listMapKey` needs `listType=map`".to_owned());
    }
    if let Some(default) = &constraints.default
        && let Some(problem) = admission::problem_of_default(schema, default)
    {
        return Err(format!("the default does not fit its own field: {problem}"));
    }
    Ok(())
}

fn is_list(schema: &Schema) -> bool {
    matches!(schema.shape, Shape::Array(_))
}

/// As Go's `ParseBool` reads it.
fn boolean(value: &str) -> Result<bool, String> {
    match value {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("`{value}` is not true or false")),
    }
}

fn float(value: &str) -> Result<f64, String> {
    let parsed = value.parse::<f64>().ok().filter(|number| number.is_finite());
    parsed.ok_or_else(|| format!("`{value}` is no number"))
}

fn integer(value: &str) -> Result<i64, String> {
    value.parse().map_err(|_| format!("`{value}` is no whole number of 64 bits"))
}

/// kro puts the text of a default into the JSON of the schema as it is, texts between quotes. What would not be valid
/// JSON there is refused here.
fn default(schema: &Schema, value: &str) -> Result<Value, String> {
    match schema.shape {
        Shape::String | Shape::Bytes => serde_json::from_str::<String>(&format!("\"{value}\""))
            .map(Value::String)
            .map_err(|_| format!("`{value}` cannot be a default: quotes and backslashes have to be escaped as in JSON")),
        Shape::Integer => integer(value).and_then(|_| json(value)),
        Shape::Number => float(value).and_then(|_| json(value)),
        Shape::Boolean => boolean(value).and_then(|_| json(value)),
        _ => json(value),
    }
}

fn json(value: &str) -> Result<Value, String> {
    serde_json::from_str(value).map_err(|_| format!("`{value}` is no valid JSON"))
}

fn enumeration(schema: &Schema, value: &str) -> Result<Vec<Value>, String> {
    let item = |item: &str| match (item.trim(), &schema.shape) {
        ("", _) => Err("an item of `enum` is empty".to_owned()),
        (item, Shape::String) => Ok(Value::from(item)),
        (item, Shape::Integer) => integer(item).map(|number| Value::Number(Number::from(number))),
        _ => Err("`enum` goes with string and integer only".to_owned()),
    };
    value.split(',').map(item).collect()
}

fn pattern(schema: &Schema, value: &str) -> Result<String, String> {
    if schema.shape != Shape::String {
        return Err("`pattern` goes with string only".to_owned());
    }
    if value.is_empty() {
        return Err("the pattern is empty".to_owned());
    }
    match RegexBuilder::new(value).size_limit(PATTERN_SIZE_LIMIT).build() {
        Ok(_) => Ok(value.to_owned()),
        Err(_) => Err(format!("`{value}` is no valid regular expression")),
    }
}

fn string_limit(schema: &Schema, value: &str) -> Result<usize, String> {
    if schema.shape == Shape::String { limit(value) } else { Err("limits on the length go with string only".to_owned()) }
}

fn list_limit(schema: &Schema, value: &str) -> Result<usize, String> {
    if is_list(schema) { limit(value) } else { Err("limits on the number of items go with lists only".to_owned()) }
}

fn limit(value: &str) -> Result<usize, String> {
    value.parse().map_err(|_| format!("`{value}` is no number of characters or items"))
}

fn unique_items(schema: &mut Schema, value: &str) -> Result<(), String> {
    let is_unique = boolean(value)?;
    if !is_list(schema) {
        return Err("`uniqueItems` goes with lists only".to_owned());
    }
    if is_unique {
        if schema.constraints.list_type.as_deref() == Some("map") {
            return Err("`uniqueItems` contradicts `listType=map`".to_owned());
        }
        schema.constraints.list_type = Some("set".to_owned());
    }
    Ok(())
}

fn list_type(schema: &mut Schema, value: &str) -> Result<(), String> {
    if !is_list(schema) {
        return Err("`listType` goes with lists only".to_owned());
    }
    if !matches!(value, "atomic" | "set" | "map") {
        return Err(format!("`{value}` is no list type: atomic, set or map"));
    }
    if schema.constraints.list_type.as_deref().is_some_and(|earlier| earlier != value) {
        return Err(format!("`listType={value}` contradicts an earlier marker"));
    }
    schema.constraints.list_type = Some(value.to_owned());
    Ok(())
}

fn list_map_key(schema: &mut Schema, value: &str) -> Result<(), String> {
    if !is_list(schema) {
        return Err("`listMapKey` goes with lists only".to_owned());
    }
    if value.is_empty() || schema.constraints.list_map_keys.iter().any(|key| key == value) {
        return Err(format!("`listMapKey={value}` is empty, or there twice"));
    }
    schema.constraints.list_map_keys.push(value.to_owned());
    Ok(())
}

/// Functions that only the API server has are left for later; what is no CEL at all is not.
fn validation(value: &str, location: &Location) -> Result<String, String> {
    if value.trim().is_empty() {
        return Err("the rule is empty".to_owned());
    }
    match Expression::compile(value, location) {
        Err(problem) if matches!(problem.category, "cel-syntax" | "cel-too-long") => {
            Err(format!("the rule is no valid CEL: {}", problem.message))
        }
        _ => Ok(value.to_owned()),
    }
}
