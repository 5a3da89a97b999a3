//! Puts fields and custom types together to a schema.

use super::apply;
use super::markers::{self, Marker};
use super::types::TypeExpression;
use crate::graph::diagnostic::{Diagnostic, Location};
use crate::graph::schema::{Object, Schema, Shape};
use crate::graph::yaml::{Node, NodeValue};
use indexmap::IndexMap;
use serde_json::json;
use std::collections::HashMap;

/// Reads the schema of a `spec` block with its custom types.
pub(super) fn schema(spec: Option<&Node>, types: Option<&Node>) -> Result<Schema, Vec<Diagnostic>> {
    let mut builder = Builder::default();
    builder.load_types(types);
    let schema = match spec {
        Some(Node { value: NodeValue::Null, .. }) | None => Schema::of(Shape::Object(Object::default())),
        Some(node @ Node { value: NodeValue::Mapping(_), .. }) => builder.structure(node),
        Some(node) => {
            builder.report("schema-field-type", format!("a spec is a mapping of fields, this is {}", node.describe()), node);
            Schema::default()
        }
    };
    if builder.problems.is_empty() { Ok(schema) } else { Err(builder.problems) }
}

/// Custom types are expanded where they are used. The limits keep a few lines from becoming millions of fields.
const MAX_FIELDS: usize = 50_000;
const MAX_TYPE_DEPTH: usize = 32;

/// A custom type.
#[derive(Clone)]
struct CustomType {
    schema: Schema,
    /// Fields in it, to all depths.
    fields: usize,
    /// Every field of the type is required.
    required: bool,
}

#[derive(Default)]
struct Builder<'a> {
    /// Where custom types are declared.
    declared: IndexMap<&'a str, &'a Node>,
    /// Custom types that have been read; `None` for one that cannot be.
    types: HashMap<&'a str, Option<CustomType>>,
    /// Custom types that are being read, each for the one before it.
    reading: Vec<&'a str>,
    /// Fields so far, those of custom types wherever they are used.
    fields: usize,
    problems: Vec<Diagnostic>,
}

impl<'a> Builder<'a> {
    fn report(&mut self, category: &'static str, message: String, node: &Node) {
        self.problems.push(Diagnostic::error(category, message).at(&node.location));
    }

    fn load_types(&mut self, types: Option<&'a Node>) {
        let Some(types) = types else { return };
        if !matches!(types.value, NodeValue::Mapping(_) | NodeValue::Null) {
            self.report("schema-field-type", format!("types are a mapping of names, this is {}", types.describe()), types);
        }
        self.declared = types.entries().iter().map(|(key, node)| (key.text.as_str(), node)).collect();
        for (key, _) in types.entries() {
            self.custom_type(&key.text);
        }
    }

    /// The custom type of a name; `None` after a problem.
    fn custom_type(&mut self, name: &str) -> Option<CustomType> {
        let (name, node) = self.declared.get_key_value(name).map(|(name, node)| (*name, *node))?;
        if let Some(start) = self.reading.iter().position(|reading| *reading == name) {
            let cycle = self.reading.get(start..).unwrap_or_default().join(" → ");
            self.report("type-cycle", format!("the type `{name}` needs itself: {cycle} → {name}"), node);
            return None;
        }
        if let Some(known) = self.types.get(name) {
            return known.clone();
        }
        if self.reading.len() == MAX_TYPE_DEPTH {
            self.report("type-nesting", format!("custom types may be nested {MAX_TYPE_DEPTH} levels deep"), node);
            return None;
        }
        let (problems, fields) = (self.problems.len(), std::mem::take(&mut self.fields));
        self.reading.push(name);
        let (schema, required) = self.field(node);
        self.reading.pop();
        let own_fields = std::mem::replace(&mut self.fields, fields);
        let read = (self.problems.len() == problems).then_some(CustomType { schema, fields: own_fields, required });
        self.types.insert(name, read.clone());
        read
    }

    /// A field, or a custom type: its schema, and whether it is required.
    fn field(&mut self, node: &Node) -> (Schema, bool) {
        self.fields += 1;
        match &node.value {
            NodeValue::Mapping(_) => (self.structure(node), false),
            NodeValue::String(text) => self.text_field(text, node),
            _ => {
                let message = format!("a field is a type like `string` or a mapping of fields, this is {}", node.describe());
                self.report("schema-field-type", message, node);
                (Schema::default(), false)
            }
        }
    }

    /// Named fields. A struct without required fields gets an empty default if one of its fields has a default.
    fn structure(&mut self, node: &Node) -> Schema {
        let mut object = Object::default();
        for (key, field) in node.entries() {
            let (schema, required) = self.field(field);
            if required {
                object.required.push(key.text.clone());
            }
            object.properties.insert(key.text.clone(), schema);
        }
        let has_default = object.properties.values().any(|field| field.constraints.default.is_some());
        let is_filled = has_default && object.required.is_empty();
        let mut schema = Schema::of(Shape::Object(object));
        schema.constraints.default = is_filled.then(|| json!({}));
        schema
    }

    fn text_field(&mut self, text: &str, node: &Node) -> (Schema, bool) {
        let (type_text, marker_text) = text.split_once('|').map_or((text, None), |(before, after)| (before, Some(after)));
        let (mut schema, mut required) = match TypeExpression::parse(type_text) {
            Ok(expression) => self.resolve(&expression, node),
            Err((category, message)) => {
                self.report(category, message, node);
                return (Schema::default(), false);
            }
        };
        let Some(marker_text) = marker_text else { return (schema, required) };
        let start = type_text.len() + 1;
        match markers::parse(marker_text) {
            Ok(found) => required |= self.apply(&mut schema, &found, &part(node, text, start)),
            Err(error) => {
                let problem = Diagnostic::error(error.category, error.message).at(&part(node, text, start + error.offset));
                self.problems.push(match error.suggestion {
                    Some(suggestion) => problem.suggest(suggestion),
                    None => problem,
                });
            }
        }
        (schema, required)
    }

    fn apply(&mut self, schema: &mut Schema, markers: &[Marker], location: &Location) -> bool {
        let mut required = false;
        let before = self.problems.len();
        for marker in markers {
            match apply::apply(schema, marker, location) {
                Ok(makes_required) => required |= makes_required,
                Err(message) => {
                    let message = format!("`{}`: {message}", marker.name);
                    let at =
                        if location.length == 0 { location.clone() } else { location.part(marker.offset, marker.name.len()) };
                    self.problems.push(Diagnostic::error("marker-value", message).at(&at));
                }
            }
        }
        if self.problems.len() == before
            && let Err(message) = apply::check_together(schema)
        {
            self.problems.push(Diagnostic::error("marker-value", message).at(location));
        }
        required
    }

    fn resolve(&mut self, expression: &TypeExpression, node: &Node) -> (Schema, bool) {
        let schema = match expression {
            TypeExpression::String => Schema::of(Shape::String),
            TypeExpression::Integer => Schema::of(Shape::Integer),
            TypeExpression::Boolean => Schema::of(Shape::Boolean),
            TypeExpression::Float => Schema::of(Shape::Number),
            TypeExpression::Object => {
                let mut any = Schema::default();
                any.constraints.mapping_only = true;
                any
            }
            TypeExpression::List(item) => Schema::of(Shape::Array(Box::new(self.resolve(item, node).0))),
            TypeExpression::Map(value) => Schema::of(Shape::Map(Box::new(self.resolve(value, node).0))),
            TypeExpression::Custom(name) => return self.resolve_custom(name, node),
        };
        (schema, false)
    }

    fn resolve_custom(&mut self, name: &str, node: &Node) -> (Schema, bool) {
        if let Some(custom) = self.custom_type(name) {
            self.fields += custom.fields;
            if self.fields > MAX_FIELDS {
                self.report(
                    "type-too-large",
                    format!("with its custom types the schema has more than {MAX_FIELDS} fields"),
                    node,
                );
                return (Schema::default(), false);
            }
            return (custom.schema, custom.required);
        }
        if !self.declared.contains_key(name) {
            let simple = ["string", "integer", "boolean", "float", "object"];
            let known = simple.into_iter().chain(self.declared.keys().copied());
            let problem = Diagnostic::error("type-unknown", format!("there is no type `{name}`")).at(&node.location);
            let problem =
                if name == "number" { problem.suggest("did you mean `float`?") } else { problem.suggest_closest(name, known) };
            self.problems.push(problem);
        }
        (Schema::default(), false)
    }
}

/// The place of the rest of a field's text from an offset on, where the document has the text as it is.
fn part(node: &Node, text: &str, offset: usize) -> Location {
    let written = node.location.text();
    let quotes = if written == text {
        0
    } else if written.get(1..).is_some_and(|rest| rest.len() == text.len() + 1 && rest.starts_with(text)) {
        1
    } else {
        return Location { length: 0, ..node.location.clone() };
    };
    node.location.part(offset + quotes, text.len().saturating_sub(offset))
}
