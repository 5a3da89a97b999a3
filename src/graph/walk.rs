//! Ways through templates and trees by path.

use super::diagnostic::Location;
use super::expression::{Expression, Segment};
use super::template::{Template, TemplateValue, TextPiece};
use super::tree::{Tree, Unknown};
use serde_json::{Map, Value};

/// What stands at a path of a template.
#[derive(Debug)]
pub(crate) enum Descent<'t, 'p> {
    /// A part of the template.
    Found(&'t Template),
    /// An expression stands on the way: it gives the whole subtree, the rest of the path lies inside its value.
    Inside(&'t Expression, &'p [Segment]),
    /// The template has nothing there.
    Absent,
}

impl Template {
    /// What stands at a path.
    pub(crate) fn descend<'t, 'p>(&'t self, path: &'p [Segment]) -> Descent<'t, 'p> {
        let mut current = self;
        for (depth, segment) in path.iter().enumerate() {
            let next = match (&current.value, segment) {
                (TemplateValue::Expression(expression), _) => return Descent::Inside(expression, &path[depth..]),
                (TemplateValue::Mapping(entries), Segment::Field(name)) => {
                    entries.iter().find(|(key, _)| key.text == *name).map(|(_, below)| below)
                }
                (TemplateValue::Sequence(items), Segment::Index(index)) => items.get(*index),
                _ => None,
            };
            match next {
                Some(below) => current = below,
                None => return Descent::Absent,
            }
        }
        Descent::Found(current)
    }

    /// Where the deepest part on the way to a path stands. Items of lists that `skipped` holds for do not count.
    pub(crate) fn nearest(&self, path: &[Segment], skipped: &dyn Fn(&Template) -> bool) -> &Location {
        let mut current = self;
        for segment in path {
            let next = match (&current.value, segment) {
                (TemplateValue::Mapping(entries), Segment::Field(name)) => {
                    entries.iter().find(|(key, _)| key.text == *name).map(|(_, below)| below)
                }
                (TemplateValue::Sequence(items), Segment::Index(index)) => {
                    items.iter().filter(|item| !skipped(item)).nth(*index)
                }
                _ => None,
            };
            let Some(below) = next else { break };
            current = below;
        }
        &current.location
    }

    /// What stands in the template without any expression, if there is anything.
    pub(crate) fn literals(&self) -> Option<Value> {
        match &self.value {
            TemplateValue::Literal(value) => Some(value.clone()),
            TemplateValue::Expression(_) => None,
            TemplateValue::Text(pieces) => {
                let whole = pieces.iter().map(|piece| match piece {
                    TextPiece::Literal(text) => Some(text.as_str()),
                    TextPiece::Expression(_) => None,
                });
                whole.collect::<Option<String>>().map(Value::String)
            }
            TemplateValue::Sequence(items) => {
                let known: Vec<Value> = items.iter().filter_map(Template::literals).collect();
                (items.is_empty() || !known.is_empty()).then_some(Value::Array(known))
            }
            TemplateValue::Mapping(entries) => {
                let known: Map<String, Value> =
                    entries.iter().filter_map(|(key, below)| Some((key.text.clone(), below.literals()?))).collect();
                (entries.is_empty() || !known.is_empty()).then_some(Value::Object(known))
            }
        }
    }
}

/// What stands at a path of a tree.
#[derive(Debug)]
pub(crate) enum Look<'t> {
    /// A value.
    Known(Value),
    /// Nothing; the deepest thing that there is stands after so many segments.
    Missing(usize),
    /// It is not known yet, or something below it is not.
    Unknown(&'t Unknown),
}

/// Looks at a path of a tree.
pub(crate) fn look<'t>(tree: &'t Tree, path: &[Segment]) -> Look<'t> {
    let mut current = tree;
    for (depth, segment) in path.iter().enumerate() {
        let next = match (current, segment) {
            (Tree::Known(value), _) => return look_at_value(value, path, depth),
            (Tree::Unknown(unknown), _) => return Look::Unknown(unknown),
            (Tree::Mapping(entries), Segment::Field(name)) => entries.get(name),
            (Tree::Sequence(items), Segment::Index(index)) => items.get(*index),
            _ => None,
        };
        match next {
            Some(below) => current = below,
            None => return Look::Missing(depth),
        }
    }
    match (current, first_unknown(current)) {
        (Tree::Known(value), _) => Look::Known(value.clone()),
        (_, Some(unknown)) => Look::Unknown(unknown),
        (_, None) => Look::Known(current.known_part()),
    }
}

fn look_at_value<'t>(value: &Value, path: &[Segment], start: usize) -> Look<'t> {
    let mut current = value;
    for (depth, segment) in path.iter().enumerate().skip(start) {
        match step(current, segment) {
            Some(below) => current = below,
            None => return Look::Missing(depth),
        }
    }
    Look::Known(current.clone())
}

/// One step into a value.
pub(crate) fn step<'v>(value: &'v Value, segment: &Segment) -> Option<&'v Value> {
    match segment {
        Segment::Field(name) => value.as_object()?.get(name),
        Segment::Index(index) => value.as_array()?.get(*index),
    }
}

/// The first unknown leaf of a tree.
pub(crate) fn first_unknown(tree: &Tree) -> Option<&Unknown> {
    match tree {
        Tree::Known(_) => None,
        Tree::Unknown(unknown) => Some(unknown),
        Tree::Sequence(items) => items.iter().find_map(first_unknown),
        Tree::Mapping(entries) => entries.values().find_map(first_unknown),
    }
}

/// Puts a value at a path, making mappings and lists on the way.
pub(crate) fn put(root: &mut Value, path: &[Segment], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *root = value;
        return;
    };
    match first {
        Segment::Field(name) => {
            if !root.is_object() {
                *root = Value::Object(Map::new());
            }
            if let Value::Object(entries) = root {
                put(entries.entry(name.as_str()).or_insert(Value::Null), rest, value);
            }
        }
        Segment::Index(index) => {
            if !root.is_array() {
                *root = Value::Array(Vec::new());
            }
            if let Value::Array(items) = root {
                if items.len() <= *index {
                    items.resize(*index + 1, Value::Null);
                }
                put(&mut items[*index], rest, value);
            }
        }
    }
}
