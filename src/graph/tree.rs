//! Values whose leaves may be unknown.

use super::expression::Segment;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// A JSON value whose leaves may be unknown.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// A value that holds nothing unknown: a scalar, or a whole subtree.
    Known(Value),
    /// A value that is not known yet.
    Unknown(Unknown),
    /// A list with something unknown in it.
    Sequence(Vec<Tree>),
    /// A mapping with something unknown in it.
    Mapping(IndexMap<String, Tree>),
}

/// A value that is not known yet, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unknown {
    /// The expression that would give it.
    pub expression: String,
    /// What it waits for, for people: `vpc.status.vpcID`, or `EksCluster/x/vpc is ready`.
    pub waits_for: String,
}

impl Tree {
    /// Whether nothing in it is unknown.
    pub fn is_known(&self) -> bool {
        matches!(self, Self::Known(_))
    }

    /// The value, if nothing in it is unknown.
    pub fn known(&self) -> Option<&Value> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }

    /// Everything that is unknown in it, with its path (`spec.routes[0].natGatewayID`).
    pub fn unknowns(&self) -> Vec<(String, &Unknown)> {
        let mut found = Vec::new();
        self.collect_unknowns(&mut String::new(), &mut found);
        found
    }

    fn collect_unknowns<'a>(&'a self, path: &mut String, found: &mut Vec<(String, &'a Unknown)>) {
        let length = path.len();
        match self {
            Self::Known(_) => {}
            Self::Unknown(unknown) => found.push((path.clone(), unknown)),
            Self::Sequence(items) => {
                for (index, item) in items.iter().enumerate() {
                    push_index(path, index);
                    item.collect_unknowns(path, found);
                    path.truncate(length);
                }
            }
            Self::Mapping(entries) => {
                for (key, value) in entries {
                    push_field(path, key);
                    value.collect_unknowns(path, found);
                    path.truncate(length);
                }
            }
        }
    }

    /// The subtree at a path; an unknown on the way answers for everything below it.
    pub fn at(&self, path: &[Segment]) -> Option<Cow<'_, Tree>> {
        let Some((first, rest)) = path.split_first() else { return Some(Cow::Borrowed(self)) };
        match (self, first) {
            (Self::Unknown(_), _) => Some(Cow::Borrowed(self)),
            (Self::Known(value), _) => value_at(value, path).map(|value| Cow::Owned(Self::Known(value.clone()))),
            (Self::Mapping(entries), Segment::Field(name)) => entries.get(name)?.at(rest),
            (Self::Sequence(items), Segment::Index(index)) => items.get(*index)?.at(rest),
            (Self::Mapping(_), Segment::Index(_)) | (Self::Sequence(_), Segment::Field(_)) => None,
        }
    }

    /// The value with unknown leaves left out of mappings and lists: what is known so far. Null if all of it is unknown.
    pub fn known_part(&self) -> Value {
        self.known_part_if_any().unwrap_or(Value::Null)
    }

    fn known_part_if_any(&self) -> Option<Value> {
        match self {
            Self::Known(value) => Some(value.clone()),
            Self::Unknown(_) => None,
            Self::Sequence(items) => Some(Value::Array(items.iter().filter_map(Self::known_part_if_any).collect())),
            Self::Mapping(entries) => {
                let known = entries.iter().filter_map(|(key, value)| Some((key.clone(), value.known_part_if_any()?)));
                Some(Value::Object(known.collect()))
            }
        }
    }

    /// Builds a mapping; it is `Known` when all of its parts are.
    pub fn mapping(entries: IndexMap<String, Tree>) -> Self {
        if !entries.values().all(Self::is_known) {
            return Self::Mapping(entries);
        }
        let known = entries.into_iter().filter_map(|(key, value)| Some((key, value.into_known()?)));
        Self::Known(Value::Object(known.collect()))
    }

    /// Builds a list; it is `Known` when all of its parts are.
    pub fn sequence(items: Vec<Tree>) -> Self {
        if !items.iter().all(Self::is_known) {
            return Self::Sequence(items);
        }
        Self::Known(Value::Array(items.into_iter().filter_map(Self::into_known).collect()))
    }

    /// The value, if nothing in it is unknown.
    pub fn into_known(self) -> Option<Value> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }
}

/// The value at a path.
pub fn value_at<'a>(value: &'a Value, path: &[Segment]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, segment| match segment {
        Segment::Field(name) => value.as_object()?.get(name),
        Segment::Index(index) => value.as_array()?.get(*index),
    })
}

/// Appends a field to a path, as kro writes paths: dotted, and `["a.b/c"]` where the name has a dot or is empty.
pub fn push_field(path: &mut String, name: &str) {
    if name.is_empty() || name.contains('.') {
        path.push_str("[\"");
        path.push_str(name);
        path.push_str("\"]");
        return;
    }
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// Appends a list index to a path.
pub fn push_index(path: &mut String, index: usize) {
    path.push('[');
    path.push_str(&index.to_string());
    path.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn unknown(expression: &str) -> Tree {
        Tree::Unknown(Unknown { expression: expression.into(), waits_for: expression.into() })
    }

    fn sample() -> Tree {
        let routes = Tree::sequence(vec![
            Tree::Known(json!({"destination": "0.0.0.0/0"})),
            Tree::mapping(IndexMap::from([("natGatewayID".into(), unknown("nat.status.natGatewayID"))])),
        ]);
        Tree::mapping(IndexMap::from([
            ("name".into(), Tree::Known(json!("main"))),
            ("routes".into(), routes),
            ("a.b".into(), unknown("x")),
        ]))
    }

    #[test]
    fn a_tree_of_known_parts_is_known() {
        let tree = Tree::mapping(IndexMap::from([("a".into(), Tree::sequence(vec![Tree::Known(json!(1))]))]));
        assert_eq!(tree, Tree::Known(json!({"a": [1]})));
    }

    #[test]
    fn unknowns_come_with_their_paths() {
        let tree = sample();
        let paths: Vec<String> = tree.unknowns().into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["routes[1].natGatewayID", "[\"a.b\"]"]);
    }

    #[test]
    fn the_known_part_leaves_unknown_leaves_out() {
        assert_eq!(sample().known_part(), json!({"name": "main", "routes": [{"destination": "0.0.0.0/0"}, {}]}));
        assert_eq!(unknown("x").known_part(), Value::Null);
    }

    #[test]
    fn an_unknown_answers_for_everything_below_it() {
        let tree = sample();
        let below = [Segment::Field("a.b".into()), Segment::Field("c".into())];
        assert_eq!(tree.at(&below).map(Cow::into_owned), Some(unknown("x")));
        let known = [Segment::Field("routes".into()), Segment::Index(0), Segment::Field("destination".into())];
        assert_eq!(tree.at(&known).map(Cow::into_owned), Some(Tree::Known(json!("0.0.0.0/0"))));
        assert_eq!(tree.at(&[Segment::Field("nope".into())]), None);
    }
}
