//! YAML with a position for every key and value, as kro reads it: YAML 1.1 booleans, duplicate keys refused.

mod raw;
mod read;

use super::diagnostic::{Diagnostic, Location, SourceFile};
use super::stack::with_large_stack;
use serde_json::Value;
use std::sync::Arc;

/// The longest text that is parsed, in bytes.
pub const MAX_BYTES: usize = 8 << 20;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: NodeValue,
    /// Where it stands.
    pub location: Location,
}

/// A YAML value.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// Nothing.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// Text.
    String(String),
    /// A list.
    Sequence(Vec<Node>),
    /// Named values, in order.
    Mapping(Vec<(Key, Node)>),
}

/// A key of a mapping and where it stands. Keys that are not text are kept as YAML 1.1 reads them (`n:` is `false`).
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The key as text.
    pub text: String,
    /// Whether it was text in the document.
    pub is_text: bool,
    /// Where it stands.
    pub location: Location,
}

/// Parses every document of a file. Empty documents are left out. Reports as many problems as the parser can see.
pub fn parse(file: &Arc<SourceFile>) -> Result<Vec<Node>, Vec<Diagnostic>> {
    if file.text.len() > MAX_BYTES {
        let (size, limit) = (file.text.len() >> 20, MAX_BYTES >> 20);
        let message = format!("`{}` has {size} MiB; documents may have {limit} MiB", file.name);
        return Err(vec![Diagnostic::error("yaml-too-large", message)]);
    }
    let mut reader = read::Reader { file, start: 0, lines: 0, problems: Vec::new() };
    let documents = with_large_stack(|| reader.read());
    match documents {
        None => Err(vec![Diagnostic::error("out-of-resources", "the system gives no thread to parse documents on")]),
        Some(documents) if reader.problems.is_empty() => Ok(documents),
        Some(_) => Err(reader.problems),
    }
}

impl Node {
    /// The value below a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|(_, node)| node)
    }

    /// The key and the value below it.
    pub fn entry(&self, key: &str) -> Option<(&Key, &Node)> {
        match &self.value {
            NodeValue::Mapping(entries) => entries.iter().find(|(name, _)| name.text == key).map(|(name, node)| (name, node)),
            _ => None,
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            NodeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// The entries of a mapping; empty for anything else.
    pub fn entries(&self) -> &[(Key, Node)] {
        match &self.value {
            NodeValue::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; empty for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            NodeValue::Sequence(items) => items,
            _ => &[],
        }
    }

    /// The value without positions.
    pub fn to_json(&self) -> Value {
        match &self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Boolean(value) => Value::Bool(*value),
            NodeValue::Integer(value) => Value::from(*value),
            NodeValue::Float(value) => Value::from(*value),
            NodeValue::String(text) => Value::String(text.clone()),
            NodeValue::Sequence(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            NodeValue::Mapping(entries) => {
                Value::Object(entries.iter().map(|(key, node)| (key.text.clone(), node.to_json())).collect())
            }
        }
    }

    /// What the value is called in messages: `a list`, `a boolean`, ….
    pub fn describe(&self) -> &'static str {
        match self.value {
            NodeValue::Null => "nothing",
            NodeValue::Boolean(_) => "a boolean",
            NodeValue::Integer(_) | NodeValue::Float(_) => "a number",
            NodeValue::String(_) => "text",
            NodeValue::Sequence(_) => "a list",
            NodeValue::Mapping(_) => "a mapping",
        }
    }
}

#[cfg(test)]
mod tests;
