//! Schemas of specs and statuses, in the subset of JSON Schema that kro and ACK use.

use indexmap::IndexMap;
use serde_json::Value;

/// What values a field takes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schema {
    /// The shape of the value.
    pub shape: Shape,
    /// Limits on the value, and its default.
    pub constraints: Constraints,
}

/// The shape of a value.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Shape {
    /// Anything goes (`object` in SimpleSchema, `x-kubernetes-preserve-unknown-fields`).
    #[default]
    Any,
    /// Text.
    String,
    /// Text that holds base64 (`format: byte`).
    Bytes,
    /// A whole number that fits 64 bits; `3.0` is accepted.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `x-kubernetes-int-or-string`.
    IntegerOrString,
    /// A list of one shape.
    Array(Box<Schema>),
    /// A map from text to one shape.
    Map(Box<Schema>),
    /// Named fields.
    Object(Object),
}

/// Named fields and which of them are required.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object {
    /// Fields by name, in declaration order.
    pub properties: IndexMap<String, Schema>,
    /// Names of required fields.
    pub required: Vec<String>,
}

/// Limits on a value. What is absent does not limit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Constraints {
    /// The value that an absent field gets.
    pub default: Option<Value>,
    /// What the field is for.
    pub description: Option<String>,
    /// The only values allowed.
    pub enumeration: Vec<Value>,
    /// Smallest number.
    pub minimum: Option<f64>,
    /// Largest number.
    pub maximum: Option<f64>,
    /// Regular expression (RE2 syntax, unanchored).
    pub pattern: Option<String>,
    /// Shortest text, in characters.
    pub minimum_length: Option<usize>,
    /// Longest text, in characters.
    pub maximum_length: Option<usize>,
    /// Fewest items.
    pub minimum_items: Option<usize>,
    /// Most items.
    pub maximum_items: Option<usize>,
    /// `atomic`, `set` or `map`.
    pub list_type: Option<String>,
    /// The fields that tell items of a `map` list apart.
    pub list_map_keys: Vec<String>,
    /// The value may not change once it is there.
    pub immutable: bool,
    /// Extra CEL rules (`self`, `oldSelf`).
    pub validations: Vec<String>,
}

impl Schema {
    /// A schema of this shape without limits.
    pub fn of(shape: Shape) -> Self {
        Self { shape, constraints: Constraints::default() }
    }

    /// The schema of a field below, by a path of names; array items and map values are entered by any segment.
    pub fn at<'a>(&'a self, path: &[&str]) -> Option<&'a Schema> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        match &self.shape {
            Shape::Any => Some(self),
            Shape::Array(item) | Shape::Map(item) => item.at(rest),
            Shape::Object(object) => object.properties.get(*first)?.at(rest),
            _ => None,
        }
    }
}
