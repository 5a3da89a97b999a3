//! Templates against the schema of their kind: kro.md 1.4, checks 5, 8 and what of 14 is plain without types.

use super::Form;
use super::expressions::Scene;
use super::load::Kinds;
use super::resource::Entry;
use super::schemas::{self, ObjectKind, describe};
use crate::graph::diagnostic::{Diagnostic, Location, closest};
use crate::graph::path::{self, Plain};
use crate::graph::schema::{Schema, Shape};
use crate::graph::template::{Template, TemplateValue, TextPiece};
use serde_json::Value;

/// The kind that an entry's object has (check 5).
pub(super) fn resolve(entry: &Entry<'_>, kinds: &Kinds<'_>, errors: &mut Vec<Diagnostic>) -> Option<ObjectKind> {
    let (api_version, kind) = (entry.api_version.as_deref()?, entry.kind.as_deref()?);
    let found = kinds.find(api_version, kind);
    if found.is_none() {
        let location = entry.object.and_then(|object| object.get("kind")).map_or(&entry.location, |node| &node.location);
        errors.push(unknown_kind(api_version, kind, &kinds.all(), location));
    }
    found
}

/// Says that there is no such kind, and which one may be meant.
pub(crate) fn unknown_kind(api_version: &str, kind: &str, all: &[(String, String)], location: &Location) -> Diagnostic {
    let problem = Diagnostic::error("schema-not-found", format!("there is no kind `{kind}` in `{api_version}`"));
    let problem = problem.at(location);
    let elsewhere = all.iter().find(|(_, known)| known == kind);
    if let Some((known, _)) = elsewhere {
        return problem.suggest(format!("`apiVersion: {known}`"));
    }
    let Some(near) = closest(kind, all.iter().map(|(_, known)| known.as_str())) else { return problem };
    let place = all.iter().find(|(_, known)| known == near).map_or("", |(known, _)| known.as_str());
    if place == api_version {
        problem.suggest(format!("did you mean `{near}`?"))
    } else {
        problem.suggest(format!("did you mean `{near}` of `{place}`?"))
    }
}

/// Walks an entry's template along the schema of its kind, and asks the catalog whether its literals can be.
pub(super) fn template(scene: &Scene, index: usize, entry: &Entry<'_>, kinds: &Kinds<'_>, errors: &mut Vec<Diagnostic>) {
    let (Some(template), Some(kind)) = (&entry.template, scene.kind(index)) else { return };
    let mut check = Check { scene, entry, errors };
    check.texts(template);
    if matches!(entry.form, Form::External) {
        return;
    }
    check.value(template, &kind.object, &Place { path: String::new(), name: &kind.kind });
    if !kinds.is_defined(&kind.api_version, &kind.kind) {
        impossible_literals(template, kind, kinds, errors);
    }
}

/// Where a check stands.
struct Place<'a> {
    path: String,
    name: &'a str,
}

impl Place<'_> {
    fn child(&self, key: &str) -> Self {
        Self { path: path::child(&self.path, key), ..*self }
    }

    fn item(&self) -> Self {
        Self { path: format!("{}[]", self.path), ..*self }
    }
}

struct Check<'a> {
    scene: &'a Scene,
    entry: &'a Entry<'a>,
    errors: &'a mut Vec<Diagnostic>,
}

impl Check<'_> {
    fn error(&mut self, category: &'static str, message: String, location: &Location) {
        self.errors.push(Diagnostic::error(category, message).at(location));
    }

    fn value(&mut self, template: &Template, schema: &Schema, place: &Place<'_>) {
        match (&template.value, &schema.shape) {
            (TemplateValue::Mapping(entries), Shape::Object(object)) => {
                for (key, below) in entries {
                    match object.properties.get(&key.text) {
                        Some(schema) => self.value(below, schema, &place.child(&key.text)),
                        None => self.unknown_field(&key.text, &key.location, object.properties.keys(), place),
                    }
                }
            }
            (TemplateValue::Mapping(entries), Shape::Map(schema)) => {
                for (key, below) in entries {
                    self.value(below, schema, &place.child(&key.text));
                }
            }
            (TemplateValue::Sequence(items), Shape::Array(schema)) => {
                for item in items {
                    self.value(item, schema, &place.item());
                }
            }
            (TemplateValue::Expression(expression), shape) => {
                let Some(found) = self.scene.shape(expression) else { return };
                if !schemas::fits(&found, schema) {
                    let (source, found, wanted) = (expression.source.trim(), describe(&found.shape), describe(shape));
                    let message = format!("`{source}` is {found}, but `{}` has to be {wanted}", place.path);
                    self.error("type-mismatch", message, &expression.location);
                }
            }
            (TemplateValue::Text(_), Shape::String | Shape::IntegerOrString | Shape::Any) => {}
            (TemplateValue::Text(_), shape) => {
                let message = format!("`{}` has to be {}, but this is text", place.path, describe(shape));
                self.error("type-mismatch", message, &template.location);
            }
            (literal, _) => self.literal(literal, schema, &template.location, place),
        }
    }

    fn unknown_field<'k>(
        &mut self,
        key: &str,
        location: &Location,
        declared: impl Iterator<Item = &'k String>,
        place: &Place<'_>,
    ) {
        let whole = if place.path.is_empty() { place.name.to_owned() } else { format!("{} {}", place.name, place.path) };
        let problem = Diagnostic::error("unknown-field", format!("{whole} has no field `{key}`")).at(location);
        self.errors.push(problem.suggest_closest(key, declared.map(String::as_str)));
    }

    /// A literal, or a mapping or list where something else is declared.
    fn literal(&mut self, value: &TemplateValue, schema: &Schema, location: &Location, place: &Place<'_>) {
        let shape = if schema.constraints.mapping_only { &Shape::Map(Box::default()) } else { &schema.shape };
        let (fits, found, quoted) = match value {
            TemplateValue::Literal(value) => (literal_fits(value, shape), literal_name(value), Some(value.to_string())),
            TemplateValue::Mapping(_) => (matches!(shape, Shape::Any | Shape::Map(_)), "a mapping", None),
            TemplateValue::Sequence(_) => (*shape == Shape::Any, "a list", None),
            TemplateValue::Expression(_) | TemplateValue::Text(_) => return,
        };
        if fits {
            return;
        }
        let shown = quoted.as_ref().map_or_else(String::new, |quoted| format!(" (`{quoted}`)"));
        let message = format!("`{}` has to be {}, but this is {found}{shown}", place.path, describe(shape));
        let problem = Diagnostic::error("literal-type", message).at(location);
        let scalar = matches!(value, TemplateValue::Literal(Value::Number(_) | Value::Bool(_)));
        self.errors.push(match (shape, quoted) {
            (Shape::String, Some(quoted)) if scalar => problem.suggest(format!("quote it: `\"{quoted}\"`")),
            (Shape::Array(_), Some(quoted)) => problem.suggest(format!("a list: `[{quoted}]`")),
            _ => problem,
        });
    }

    /// Pieces of a text have to be text themselves.
    fn texts(&mut self, template: &Template) {
        match &template.value {
            TemplateValue::Text(pieces) => pieces.iter().for_each(|piece| self.piece(piece)),
            TemplateValue::Sequence(items) => items.iter().for_each(|item| self.texts(item)),
            TemplateValue::Mapping(entries) => entries.iter().for_each(|(_, below)| self.texts(below)),
            TemplateValue::Literal(_) | TemplateValue::Expression(_) => {}
        }
    }

    fn piece(&mut self, piece: &TextPiece) {
        let TextPiece::Expression(expression) = piece else { return };
        let Some((plain, found)) = self.scene.plain(expression) else { return };
        let source = expression.source.trim();
        let (found, better) = match (plain, &found.shape) {
            (Plain::Optional, _) => ("an optional", format!("`{source}.orValue(\"\")`")),
            (Plain::Value, Shape::String | Shape::Any | Shape::IntegerOrString) => return,
            (Plain::Value, shape) => (describe(shape), format!("`string({source})`")),
        };
        let message = format!("`{source}` is {found}, but a piece of a text has to be text (in `{}`)", self.entry.id);
        self.errors.push(Diagnostic::error("cel-type", message).at(&expression.location).suggest(better));
    }
}

/// Whether a literal has the JSON type that is declared. Null fits everything; other rules are not checked, as in kro.
fn literal_fits(value: &Value, shape: &Shape) -> bool {
    match (value, shape) {
        (Value::Null, _)
        | (_, Shape::Any)
        | (Value::String(_), Shape::String | Shape::Bytes | Shape::IntegerOrString)
        | (Value::Bool(_), Shape::Boolean)
        | (Value::Number(_), Shape::Number)
        | (Value::Array(_), Shape::Array(_))
        | (Value::Object(_), Shape::Object(_) | Shape::Map(_)) => true,
        (Value::Number(number), Shape::Integer | Shape::IntegerOrString) => {
            number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => false,
    }
}

fn literal_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

fn impossible_literals(template: &Template, kind: &ObjectKind, kinds: &Kinds<'_>, errors: &mut Vec<Diagnostic>) {
    let Some(literals) = template.literals() else { return };
    for problem in kinds.catalog().impossible_values(&kind.api_version, &kind.kind, &literals) {
        let location = template.nearest(&path::parse(&problem.path), &|item| item.literals().is_none());
        let error = Diagnostic::error("impossible-value", format!("`{}`: {}", problem.path, problem.message));
        errors.push(error.at(location).suggest(problem.expected));
    }
}
