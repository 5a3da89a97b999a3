//! What expressions see: `schema`, and the siblings in the same instance.

use super::{Included, MISSING_INPUT, NodeEvaluation, Observation, Observations};
use crate::graph::catalog::{Catalog, Production};
use crate::graph::expansion::{Graph, GraphNode, NodeIndex, NodeRole};
use crate::graph::expression::{EvaluationError, Expression, Read, Segment};
use crate::graph::path::{self, Plain};
use crate::graph::schema::Shape;
use crate::graph::tree::{Tree, Unknown, value_at};
use crate::graph::walk::{Look, look, put};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Why an expression has no value.
#[derive(Debug)]
pub(super) enum Failure {
    /// Something that it reads is not known yet.
    Unknown(Unknown),
    /// Everything that it reads is known, but what it looks for is not in there.
    Pending(Unknown),
    /// It can never have a value.
    Fatal(String),
    /// It leaves its field out.
    Omitted,
}

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// A template or an includeWhen: it waits for gates.
    Gated,
    /// A status block: it sees what there is.
    Status,
}

/// Whether the gate of a nested instance keeps others from reading its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gates {
    /// It does while it is closed.
    Kept,
    /// It does not: what of the status has a value already will still have it when the gate opens.
    Foreseen,
}

/// Everything that has been evaluated so far.
pub(super) struct Sight<'a> {
    pub(super) graph: &'a Graph,
    pub(super) observations: &'a Observations,
    pub(super) catalog: &'a dyn Catalog,
    pub(super) gates: Gates,
    /// By node; nodes that have not been evaluated yet are read by nobody.
    pub(super) nodes: Vec<NodeEvaluation>,
    /// Objects that nothing is done for and that count as existing.
    pub(super) assumed: HashMap<NodeIndex, Observation>,
}

/// What a read gives.
enum Found {
    Known(Value),
    /// Nothing at the path; the value that stands after so many segments, with nothing in it.
    Missing(usize, Value),
    Unknown(String),
}

impl Sight<'_> {
    /// What is known of a resource that exists.
    pub(super) fn observation(&self, index: NodeIndex) -> Option<&Observation> {
        self.observations.get(&index).or_else(|| self.assumed.get(&index))
    }

    /// Evaluates an expression that stands in the definition of the instance `scope`.
    pub(super) fn evaluate(&self, scope: NodeIndex, expression: &Expression, reader: Reader) -> Result<Value, Failure> {
        let unknown = |waits_for: String| Unknown { expression: expression.source.trim().to_owned(), waits_for };
        let mut variables: Vec<(&str, Value)> = Vec::new();
        let mut waits_for: Option<String> = None;
        let mut missing: Option<(&Read, String)> = None;
        let plain = path::plain(&expression.source, &expression.reads) == Some(Plain::Value);
        for read in &expression.reads {
            match self.read(scope, read, reader) {
                Found::Known(value) if plain => return Ok(value),
                Found::Known(value) => put(variable(&mut variables, &read.root), &read.path, value),
                Found::Unknown(reason) => {
                    waits_for.get_or_insert(reason);
                }
                Found::Missing(depth, nearest) => {
                    let variable = variable(&mut variables, &read.root);
                    if value_at(variable, &read.path[..depth]).is_none_or(Value::is_null) {
                        put(variable, &read.path[..depth], nearest);
                    }
                    let text = self.missing_text(scope, read);
                    missing.get_or_insert((read, text));
                }
            }
        }
        if let Some(reason) = waits_for {
            // An input that nobody gives is the better reason: it will never come.
            let input = missing.filter(|(read, _)| read.root == "schema" && !is_guarded(&expression.source));
            return Err(Failure::Unknown(unknown(input.map_or(reason, |(_, text)| text))));
        }
        let visible = variables.iter().map(|(name, value)| (*name, value)).collect();
        expression.evaluate(&visible).map_err(|error| match error {
            EvaluationError::Fatal(message) => Failure::Fatal(message),
            EvaluationError::Omitted => Failure::Omitted,
            EvaluationError::Pending(message) => {
                let only_inputs = expression.reads.iter().all(|read| read.root == "schema");
                match missing {
                    Some((_, text)) => Failure::Pending(unknown(text)),
                    // All inputs are there and will not change: an index beyond a list's end stays there.
                    None if only_inputs => Failure::Fatal(message),
                    None => Failure::Pending(unknown(message)),
                }
            }
        })
    }

    /// What is waited for where a path leads to nothing.
    fn missing_text(&self, scope: NodeIndex, read: &Read) -> String {
        if read.root == "schema" {
            format!("{MISSING_INPUT}{} of {}", path::text(&read.path), self.graph.node(scope).address)
        } else {
            read.dotted()
        }
    }

    fn read(&self, scope: NodeIndex, read: &Read, reader: Reader) -> Found {
        if read.root == "schema" {
            return in_tree(&self.nodes[scope.0].desired, &read.path);
        }
        let children = self.graph.children(scope);
        let Some(sibling) = children.iter().find(|child| self.graph.node(**child).id == read.root) else {
            return Found::Unknown(read.dotted());
        };
        match &self.nodes[sibling.0].included {
            Included::No(_) => return Found::Unknown(format!("{} is not included", self.graph.node(*sibling).address)),
            Included::Unknown(reason) => return Found::Unknown(reason.clone()),
            Included::Yes => {}
        }
        let node = self.graph.node(*sibling);
        match node.role {
            NodeRole::Resource => self.of_resource(*sibling, read, reader),
            NodeRole::Instance { .. } => self.of_instance(*sibling, node, read, reader),
        }
    }

    fn of_resource(&self, index: NodeIndex, read: &Read, reader: Reader) -> Found {
        let Some(observation) = self.observation(index) else {
            return if reads_status(&read.path) {
                Found::Unknown(read.dotted())
            } else {
                in_tree(&self.nodes[index.0].desired, &read.path)
            };
        };
        if reads_status(&read.path) {
            if reader == Reader::Gated && !self.nodes[index.0].gate_open {
                return Found::Unknown(self.gate(index));
            }
            if observation.reached < self.published(index, &read.path) {
                return Found::Unknown(read.dotted());
            }
        }
        in_observed(&observation.object, &read.path, &|path| self.declares(index, path))
    }

    /// Whether a schema says what stands at a path of a resource.
    fn declares(&self, index: NodeIndex, path: &[Segment]) -> bool {
        let names: Vec<&str> = path.iter().map(|segment| if let Segment::Field(name) = segment { name } else { "" }).collect();
        let Some((first, below)) = names.split_first() else { return false };
        let Some(description) = self.graph.describe(index, self.catalog) else { return false };
        let declared = match *first {
            "spec" => description.spec.at(below),
            "status" => description.status.at(below),
            _ => description.root.at(&names),
        };
        declared.is_some_and(|schema| schema.shape != Shape::Any)
    }

    /// The production that publishes a path of a resource.
    fn published(&self, index: NodeIndex, path: &[Segment]) -> Production {
        let description = self.graph.describe(index, self.catalog);
        description.map_or(Production::Created, |description| description.published_at(&path::text(path)))
    }

    fn of_instance(&self, index: NodeIndex, node: &GraphNode, read: &Read, reader: Reader) -> Found {
        let evaluation = &self.nodes[index.0];
        if !reads_status(&read.path) {
            return in_tree(&evaluation.desired, &read.path);
        }
        let is_closed = reader == Reader::Gated && !evaluation.gate_open;
        if is_closed && self.gates == Gates::Kept {
            return Found::Unknown(self.gate(index));
        }
        match self.instance_object(index) {
            // What is missing, or may lack an entry, may still come.
            Some(object) if is_closed => match in_observed(&object, &read.path, &|_| true) {
                Found::Known(value) if !value.is_object() => Found::Known(value),
                _ => Found::Unknown(self.gate(index)),
            },
            Some(object) => in_observed(&object, &read.path, &|_| true),
            None => Found::Unknown(node.address.to_string()),
        }
    }

    /// The object of a nested instance as its siblings see it: what is known of it, with its status.
    pub(super) fn instance_object(&self, index: NodeIndex) -> Option<Value> {
        let evaluation = &self.nodes[index.0];
        let mut object = evaluation.desired.known_part();
        object.as_object_mut()?.insert("status".to_owned(), evaluation.status.clone()?);
        Some(object)
    }

    /// What a closed gate waits for.
    fn gate(&self, index: NodeIndex) -> String {
        format!("{} is ready", self.graph.node(index).address)
    }
}

/// Whether a path reads the status, or the whole object.
fn reads_status(path: &[Segment]) -> bool {
    path.first().is_none_or(|first| *first == Segment::Field("status".to_owned()))
}

/// The variable that an expression sees under a name.
fn variable<'v, 'n>(variables: &'v mut Vec<(&'n str, Value)>, name: &'n str) -> &'v mut Value {
    let position = variables.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
        variables.push((name, Value::Object(Map::new())));
        variables.len() - 1
    });
    &mut variables[position].1
}

fn in_tree(tree: &Tree, path: &[Segment]) -> Found {
    match look(tree, path) {
        Look::Known(value) => Found::Known(value),
        Look::Unknown(unknown) => Found::Unknown(unknown.waits_for.clone()),
        Look::Missing(depth) => Found::Missing(depth, hollow_tree(tree.at(&path[..depth]).as_deref())),
    }
}

/// A declared field that is null counts as absent (kro.md 3.3).
fn in_observed(object: &Value, path: &[Segment], declares: &dyn Fn(&[Segment]) -> bool) -> Found {
    let is_there = |depth: &usize| {
        let part = &path[..*depth];
        value_at(object, part).is_some_and(|value| !value.is_null() || !declares(part))
    };
    let depth = (0..=path.len()).rev().find(is_there).unwrap_or_default();
    match value_at(object, &path[..depth]) {
        Some(value) if depth == path.len() => Found::Known(value.clone()),
        Some(value) => Found::Missing(depth, hollow(value)),
        None => Found::Missing(0, Value::Object(Map::new())),
    }
}

/// A value as those see it who look for something that is not in it.
fn hollow(value: &Value) -> Value {
    if value.is_object() { Value::Object(Map::new()) } else { value.clone() }
}

fn hollow_tree(tree: Option<&Tree>) -> Value {
    match tree {
        Some(Tree::Known(value)) => hollow(value),
        Some(Tree::Sequence(items)) => Value::Array(vec![Value::Null; items.len()]),
        Some(Tree::Mapping(_) | Tree::Unknown(_)) | None => Value::Object(Map::new()),
    }
}

/// Whether an expression asks whether something is there before it reads it.
fn is_guarded(source: &str) -> bool {
    source.contains("has(") || source.contains(".?") || source.contains("[?")
}
