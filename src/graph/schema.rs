//! Schemas of specs and statuses, in the subset of JSON Schema that kro and ACK use.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

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
    /// Anything goes (`object` in `SimpleSchema`, `x-kubernetes-preserve-unknown-fields`).
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
    /// Of a value of any shape: it has to be a mapping all the same (`object` in `SimpleSchema`).
    pub mapping_only: bool,
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

    /// The schema in the words of JSON Schema and Kubernetes.
    pub fn to_json_schema(&self) -> Value {
        let mut written = self.shape.to_json_schema();
        self.constraints.write(&mut written);
        if self.constraints.mapping_only {
            written.insert("type".to_owned(), json!("object"));
        }
        Value::Object(written)
    }
}

impl Shape {
    fn to_json_schema(&self) -> Map<String, Value> {
        let written = match self {
            Self::Any => json!({ "x-kubernetes-preserve-unknown-fields": true }),
            Self::String => json!({ "type": "string" }),
            Self::Bytes => json!({ "type": "string", "format": "byte" }),
            Self::Integer => json!({ "type": "integer" }),
            Self::Number => json!({ "type": "number" }),
            Self::Boolean => json!({ "type": "boolean" }),
            Self::IntegerOrString => json!({ "x-kubernetes-int-or-string": true }),
            Self::Array(item) => json!({ "type": "array", "items": item.to_json_schema() }),
            Self::Map(value) => json!({ "type": "object", "additionalProperties": value.to_json_schema() }),
            Self::Object(object) => return object.to_json_schema(),
        };
        written.as_object().cloned().unwrap_or_default()
    }
}

impl Object {
    fn to_json_schema(&self) -> Map<String, Value> {
        let mut written = Map::from_iter([("type".to_owned(), json!("object"))]);
        if !self.properties.is_empty() {
            let properties = self.properties.iter().map(|(name, schema)| (name.clone(), schema.to_json_schema()));
            written.insert("properties".to_owned(), Value::Object(properties.collect()));
        }
        if !self.required.is_empty() {
            let mut required = self.required.clone();
            required.sort();
            written.insert("required".to_owned(), json!(required));
        }
        written
    }
}

impl Constraints {
    fn write(&self, written: &mut Map<String, Value>) {
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                written.insert(name.to_owned(), value);
            }
        };
        set("default", self.default.clone());
        set("description", self.description.clone().map(Value::from));
        set("enum", (!self.enumeration.is_empty()).then(|| json!(self.enumeration)));
        set("minimum", self.minimum.map(Value::from));
        set("maximum", self.maximum.map(Value::from));
        set("pattern", self.pattern.clone().map(Value::from));
        set("minLength", self.minimum_length.map(Value::from));
        set("maxLength", self.maximum_length.map(Value::from));
        set("minItems", self.minimum_items.map(Value::from));
        set("maxItems", self.maximum_items.map(Value::from));
        set("x-kubernetes-list-type", self.list_type.clone().map(Value::from));
        set("x-kubernetes-list-map-keys", (!self.list_map_keys.is_empty()).then(|| json!(self.list_map_keys)));
        let immutable = self.immutable.then(|| json!({ "rule": "self == oldSelf", "message": "field is immutable" }));
        let validation = |rule: &String| json!({ "rule": rule, "message": "validation failed" });
        let rules: Vec<Value> = immutable.into_iter().chain(self.validations.iter().map(validation)).collect();
        set("x-kubernetes-validations", (!rules.is_empty()).then_some(Value::Array(rules)));
    }
}
