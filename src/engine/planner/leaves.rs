//! The leaves of a desired object, each with its path.

use crate::graph::tree::Tree;
use serde_json::Value;

/// A leaf of a desired object.
#[derive(Debug, Clone, Copy)]
pub(super) enum Leaf<'a> {
    /// A value.
    Known(&'a Value),
    /// An expression.
    Unknown(&'a str),
}

impl Leaf<'_> {
    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Known(Value::Null))
    }
}

/// Every leaf of a desired object with its path. Lists are leaves item by item.
pub(super) fn leaves(tree: &Tree) -> Vec<(String, Leaf<'_>)> {
    let mut found = Vec::new();
    collect(tree, String::new(), &mut found);
    found
}

fn collect<'a>(tree: &'a Tree, path: String, found: &mut Vec<(String, Leaf<'a>)>) {
    match tree {
        Tree::Known(value) => collect_known(value, path, found),
        Tree::Unknown(unknown) => found.push((path, Leaf::Unknown(&unknown.expression))),
        Tree::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{path}[{index}]"), found);
            }
        }
        Tree::Mapping(entries) => {
            for (key, entry) in entries {
                collect(entry, joined(&path, key), found);
            }
        }
    }
}

fn collect_known<'a>(value: &'a Value, path: String, found: &mut Vec<(String, Leaf<'a>)>) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                collect_known(item, format!("{path}[{index}]"), found);
            }
        }
        Value::Object(entries) if !entries.is_empty() => {
            for (key, entry) in entries {
                collect_known(entry, joined(&path, key), found);
            }
        }
        _ => found.push((path, Leaf::Known(value))),
    }
}

/// The path of a name below a path.
pub(in crate::engine) fn joined(path: &str, key: &str) -> String {
    match (path.is_empty(), key.contains(['.', '/'])) {
        (true, _) => key.to_owned(),
        (false, false) => format!("{path}.{key}"),
        (false, true) => format!("{path}[{key}]"),
    }
}
