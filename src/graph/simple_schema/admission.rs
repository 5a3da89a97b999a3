//! Fills in defaults and checks values, as the API server does for instances (kro.md 2.4, 2.5).

use super::AdmissionProblem;
use super::limits;
use crate::graph::diagnostic::{Diagnostic, Location, closest};
use crate::graph::schema::{Object, Schema, Shape};
use crate::graph::tree::{push_field, push_index};
use crate::graph::yaml::{Node, NodeValue};
use serde_json::{Map, Number, Value};

/// Applies defaults to a spec and checks it, against the spec before it where there is one.
pub(super) fn admit(schema: &Schema, spec: &Value, old: Option<&Value>) -> Result<Value, Vec<AdmissionProblem>> {
    let spec = if spec.is_null() { Value::Object(Map::new()) } else { spec.clone() };
    let mut admission = Admission::default();
    let admitted = admission.value(schema, spec, old);
    if admission.problems.is_empty() { Ok(admitted) } else { Err(admission.problems) }
}

/// Why a default does not fit the field that has it.
pub(super) fn problem_of_default(schema: &Schema, default: &Value) -> Option<String> {
    let mut admission = Admission::default();
    admission.value(schema, default.clone(), None);
    admission.problems.into_iter().next().map(|problem| problem.message)
}

#[derive(Default)]
struct Admission {
    /// Path of the current value.
    path: String,
    problems: Vec<AdmissionProblem>,
}

impl Admission {
    fn report(&mut self, category: &'static str, message: String, suggestion: Option<String>) {
        self.problems.push(AdmissionProblem { path: self.path.clone(), category, message, suggestion });
    }

    /// Runs something for a value below.
    fn below<T>(&mut self, push: impl FnOnce(&mut String), run: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        push(&mut self.path);
        let result = run(self);
        self.path.truncate(length);
        result
    }

    /// A value with defaults applied below it, checked.
    fn value(&mut self, schema: &Schema, value: Value, old: Option<&Value>) -> Value {
        let admitted = match (&schema.shape, value) {
            (Shape::Any, value) if !schema.constraints.mapping_only || value.is_object() => value,
            (Shape::Object(object), Value::Object(fields)) => Value::Object(self.object(object, fields, old)),
            (Shape::Map(value_schema), Value::Object(entries)) => Value::Object(self.map(value_schema, entries, old)),
            (Shape::Array(item_schema), Value::Array(items)) => Value::Array(self.list(item_schema, items, old)),
            (Shape::String | Shape::Bytes | Shape::IntegerOrString, Value::String(text)) => Value::String(text),
            (Shape::Boolean, Value::Bool(value)) => Value::Bool(value),
            (Shape::Integer | Shape::IntegerOrString, Value::Number(number)) if whole(&number).is_some() => {
                whole(&number).map_or(Value::Null, Value::from)
            }
            // CEL knows the difference between 3 and 3.0: a number is always the latter.
            (Shape::Number, Value::Number(number)) => number.as_f64().map_or(Value::Null, Value::from),
            (_, value) => {
                self.wrong_type(schema, &value);
                return value;
            }
        };
        if old == Some(&admitted) {
            return admitted;
        }
        if let Some(old) = old.filter(|_| schema.constraints.immutable) {
            self.report("immutable", format!("the field is immutable: it is {old} and cannot become {admitted}"), None);
        }
        for (category, message) in limits::check(&schema.constraints, &admitted) {
            self.report(category, message, None);
        }
        admitted
    }

    fn object(&mut self, object: &Object, fields: Map<String, Value>, old: Option<&Value>) -> Map<String, Value> {
        let mut admitted = Map::new();
        let mut given = fields;
        for (name, schema) in &object.properties {
            // Null counts as absent.
            let value = given.remove(name).filter(|value| !value.is_null()).or_else(|| schema.constraints.default.clone());
            let is_required = object.required.contains(name);
            let old = old.and_then(|old| old.get(name));
            self.below(
                |path| push_field(path, name),
                |this| match value {
                    Some(value) => {
                        let value = this.value(schema, value, old);
                        admitted.insert(name.clone(), value);
                    }
                    None if is_required => this.missing(name, schema),
                    None => {}
                },
            );
        }
        for name in given.keys() {
            let meant = closest(name, object.properties.keys().map(String::as_str));
            let suggestion = meant.map(|meant| format!("did you mean `{meant}`?"));
            let message = format!("there is no field `{name}`");
            self.below(|path| push_field(path, name), |this| this.report("unknown-field", message, suggestion));
        }
        admitted
    }

    fn missing(&mut self, name: &str, schema: &Schema) {
        let suggestion = schema.constraints.description.as_ref().map(|description| format!("`{name}`: {description}"));
        self.report("required", format!("the field `{name}` is required"), suggestion);
    }

    /// Null values are dropped.
    fn map(&mut self, schema: &Schema, entries: Map<String, Value>, old: Option<&Value>) -> Map<String, Value> {
        let mut admitted = Map::new();
        for (key, value) in entries {
            let Some(value) = Some(value).filter(|value| !value.is_null()).or_else(|| schema.constraints.default.clone()) else {
                continue;
            };
            let old = old.and_then(|old| old.get(&key));
            let value = self.below(|path| push_field(path, &key), |this| this.value(schema, value, old));
            admitted.insert(key, value);
        }
        admitted
    }

    /// Null items are of the wrong type. Items count as unchanged if the whole list is.
    fn list(&mut self, schema: &Schema, items: Vec<Value>, old: Option<&Value>) -> Vec<Value> {
        let is_unchanged = old.and_then(Value::as_array) == Some(&items);
        let mut admitted = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let old = old.filter(|_| is_unchanged).and_then(|old| old.get(index));
            admitted.push(self.below(|path| push_index(path, index), |this| this.value(schema, item, old)));
        }
        admitted
    }

    fn wrong_type(&mut self, schema: &Schema, value: &Value) {
        let want = describe_shape(schema);
        let (found, quoted) = match value {
            Value::Null => ("nothing", None),
            Value::Bool(value) => ("a boolean", Some(value.to_string())),
            Value::Number(number) => ("a number", Some(number.to_string())),
            Value::String(_) => ("text", None),
            Value::Array(_) => ("a list", None),
            Value::Object(_) => ("a mapping", None),
        };
        let suggestion = quoted.as_ref().filter(|_| schema.shape == Shape::String).map(|text| format!("{QUOTE}\"{text}\""));
        let found = quoted.map_or_else(|| found.to_owned(), |text| format!("{found} (`{text}`)"));
        self.report("type", format!("{want} is needed, this is {found}"), suggestion);
    }
}

fn describe_shape(schema: &Schema) -> &'static str {
    match &schema.shape {
        Shape::Any | Shape::Map(_) | Shape::Object(_) => "a mapping",
        Shape::String | Shape::Bytes => "text",
        Shape::Integer => "a whole number",
        Shape::Number => "a number",
        Shape::Boolean => "true or false",
        Shape::IntegerOrString => "a whole number or text",
        Shape::Array(_) => "a list",
    }
}

/// A whole number, also one that is written with a fraction of zero.
fn whole(number: &Number) -> Option<i64> {
    const LIMIT: f64 = 9_007_199_254_740_992.0; // 2^53: beyond it a double has no fractions to be without
    number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= LIMIT)?;
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
        Some(float as i64)
    })
}

/// Turns problems into diagnostics at the places of a document.
pub(super) fn locate(problems: Vec<AdmissionProblem>, spec: &Node) -> Vec<Diagnostic> {
    let mut places = vec![(String::new(), spec.location.clone(), spec.location.clone())];
    collect_places(spec, &mut String::new(), &mut places);
    problems.into_iter().map(|problem| locate_one(problem, &places)).collect()
}

/// What a value that has to be quoted is begun with.
const QUOTE: &str = "quote it: ";

/// A number loses its form when it is read: `1.30` is 1.3. What is to be quoted is what was written.
fn quote_as_written(problem: &mut AdmissionProblem, written: &str) {
    let Some(read) = problem.suggestion.as_deref().and_then(|text| text.strip_prefix(QUOTE)) else { return };
    let (read, written) = (format!("`{}`", read.trim_matches('"')), written.trim());
    if written.is_empty() {
        return;
    }
    problem.message = problem.message.replace(&read, &format!("`{written}`"));
    problem.suggestion = Some(format!("{QUOTE}\"{written}\""));
}

/// Every path with the places of its key and its value.
fn collect_places(node: &Node, path: &mut String, places: &mut Vec<(String, Location, Location)>) {
    let length = path.len();
    let mut add = |path: &mut String, key: &Location, node: &Node| {
        places.push((path.clone(), key.clone(), node.location.clone()));
        collect_places(node, path, places);
        path.truncate(length);
    };
    match &node.value {
        NodeValue::Mapping(entries) => {
            for (key, value) in entries {
                push_field(path, &key.text);
                add(path, &key.location, value);
            }
        }
        NodeValue::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                push_index(path, index);
                add(path, &item.location, item);
            }
        }
        _ => {}
    }
}

fn locate_one(mut problem: AdmissionProblem, places: &[(String, Location, Location)]) -> Diagnostic {
    let covers = |place: &str| match problem.path.strip_prefix(place) {
        Some(rest) => place.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']),
        None => false,
    };
    let nearest = places.iter().filter(|(path, ..)| covers(path)).max_by_key(|(path, ..)| path.len());
    let subject = if problem.path.is_empty() { "spec".to_owned() } else { format!("spec.{}", problem.path) };
    let mut at = None;
    if let Some((path, key, value)) = nearest {
        // A value that is there is pointed at; what is missing or unknown stands for the key above or for its own.
        let is_value = *path == problem.path && problem.category != "unknown-field";
        if is_value {
            quote_as_written(&mut problem, value.text());
        }
        at = Some(if is_value { value } else { key });
    }
    let diagnostic = Diagnostic::error(problem.category, format!("`{subject}`: {}", problem.message));
    let diagnostic = match at {
        Some(location) => diagnostic.at(location),
        None => diagnostic,
    };
    match problem.suggestion {
        Some(suggestion) => diagnostic.suggest(suggestion),
        None => diagnostic,
    }
}
