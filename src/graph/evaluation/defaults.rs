//! Defaults of a nested instance's spec, whose leaves may be unknown (kro.md 2.4, 2.5).

use crate::graph::schema::{Object, Schema, Shape};
use crate::graph::tree::Tree;
use indexmap::IndexMap;
use serde_json::Value;

/// The value with defaults put in; `None` if it stays absent. Null counts as absent, but not where anything goes.
pub(super) fn apply(schema: &Schema, value: Option<Tree>) -> Option<Tree> {
    let given = value.filter(|value| *value != Tree::Known(Value::Null) || schema.shape == Shape::Any);
    let value = given.or_else(|| schema.constraints.default.clone().map(Tree::Known))?;
    Some(match (&schema.shape, value) {
        (Shape::Object(object), Tree::Known(Value::Object(entries))) => {
            fields(object, entries.into_iter().map(|(key, value)| (key, Tree::Known(value))).collect())
        }
        (Shape::Object(object), Tree::Mapping(entries)) => fields(object, entries),
        (Shape::Map(item), Tree::Known(Value::Object(entries))) => {
            map(item, entries.into_iter().map(|(key, value)| (key, Tree::Known(value))).collect())
        }
        (Shape::Map(item), Tree::Mapping(entries)) => map(item, entries),
        (Shape::Array(item), Tree::Known(Value::Array(items))) => list(item, items.into_iter().map(Tree::Known).collect()),
        (Shape::Array(item), Tree::Sequence(items)) => list(item, items),
        (_, other) => other,
    })
}

fn fields(object: &Object, mut entries: IndexMap<String, Tree>) -> Tree {
    for (name, schema) in &object.properties {
        let given = entries.get(name).cloned();
        match apply(schema, given) {
            Some(value) => drop(entries.insert(name.clone(), value)),
            None => drop(entries.shift_remove(name)),
        }
    }
    Tree::mapping(entries)
}

fn map(item: &Schema, entries: IndexMap<String, Tree>) -> Tree {
    Tree::mapping(entries.into_iter().filter_map(|(key, value)| Some((key, apply(item, Some(value))?))).collect())
}

fn list(item: &Schema, items: Vec<Tree>) -> Tree {
    Tree::sequence(items.into_iter().map(|value| apply(item, Some(value.clone())).unwrap_or(value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::tree::Unknown;
    use serde_json::json;

    fn text(default: Option<&str>) -> Schema {
        let mut schema = Schema::of(Shape::String);
        schema.constraints.default = default.map(|value| json!(value));
        schema
    }

    fn object(fields: Vec<(&str, Schema)>, default: Option<Value>) -> Schema {
        let properties = fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
        let mut schema = Schema::of(Shape::Object(Object { properties, required: Vec::new() }));
        schema.constraints.default = default;
        schema
    }

    #[test]
    fn absent_fields_get_their_defaults_and_unknown_ones_stay() {
        let schema = object(
            vec![
                ("cidr", object(vec![("vpc", text(Some("10.0.0.0/16"))), ("first", text(None))], Some(json!({})))),
                ("name", text(None)),
                ("zone", text(Some("a"))),
            ],
            Some(json!({})),
        );
        let unknown = Tree::Unknown(Unknown { expression: "x".to_owned(), waits_for: "y".to_owned() });
        let given = Tree::mapping(IndexMap::from([("name".to_owned(), unknown.clone())]));
        let expected = Tree::mapping(IndexMap::from([
            ("name".to_owned(), unknown),
            ("cidr".to_owned(), Tree::Known(json!({"vpc": "10.0.0.0/16"}))),
            ("zone".to_owned(), Tree::Known(json!("a"))),
        ]));
        assert_eq!(apply(&schema, Some(given)), Some(expected));
        let nulls = Tree::Known(json!({"name": null, "zone": null, "cidr": {"first": null}}));
        let filled = json!({"zone": "a", "cidr": {"vpc": "10.0.0.0/16"}});
        assert_eq!(apply(&schema, Some(nulls)), Some(Tree::Known(filled.clone())));
        assert_eq!(apply(&schema, None), Some(Tree::Known(filled)));
    }
}
