//! Where values come from: reads are followed through nested instances down to real resources, without evaluating
//! anything.

use super::{Graph, NodeIndex, NodeRole};
use crate::graph::expression::{Expression, Read, Segment};
use crate::graph::path::{self, Plain};
use crate::graph::template::Template;
use crate::graph::walk::Descent;
use crate::graph::yaml::Key;

/// What a read comes down to.
#[derive(Debug, Default)]
pub(super) struct Traced {
    /// Real resources and the paths that are read of them.
    pub(super) sources: Vec<(NodeIndex, Vec<Segment>)>,
    /// Nodes whose gates have to be open before the value is there.
    pub(super) gates: Vec<NodeIndex>,
    /// Paths of the top-level instance.
    pub(super) inputs: Vec<Vec<Segment>>,
}

/// Follows everything that an expression of an instance's scope reads.
pub(super) fn trace(graph: &Graph, scope: NodeIndex, expression: &Expression) -> Traced {
    let mut tracer = Tracer { graph, found: Traced::default() };
    tracer.expression(scope, expression, &[], true);
    tracer.found
}

/// Follows a path of an instance's own object.
pub(super) fn trace_object(graph: &Graph, instance: NodeIndex, path: &[Segment]) -> Traced {
    let mut tracer = Tracer { graph, found: Traced::default() };
    tracer.object(instance, path);
    tracer.found
}

struct Tracer<'a> {
    graph: &'a Graph,
    found: Traced,
}

impl Tracer<'_> {
    /// `below` is what is wanted inside of the expression's value. `gated` is false inside of status blocks, which see
    /// resources whether or not they are ready.
    fn expression(&mut self, scope: NodeIndex, expression: &Expression, below: &[Segment], gated: bool) {
        let plain = path::plain(&expression.source, &expression.reads) == Some(Plain::Value);
        for read in &expression.reads {
            if plain && !below.is_empty() {
                let path = read.path.iter().chain(below).cloned().collect();
                self.read(scope, &Read { root: read.root.clone(), path }, gated);
            } else {
                self.read(scope, read, gated);
            }
        }
    }

    fn read(&mut self, scope: NodeIndex, read: &Read, gated: bool) {
        if read.root == "schema" {
            self.object(scope, &read.path);
            return;
        }
        let graph = self.graph;
        let Some(sibling) = graph.children(scope).iter().find(|child| graph.node(**child).id == read.root) else {
            return;
        };
        let node = graph.node(*sibling);
        let has_gate = !node.ready_when.is_empty() || matches!(node.role, NodeRole::Instance { .. });
        if gated && has_gate && !self.found.gates.contains(sibling) {
            self.found.gates.push(*sibling);
        }
        match &node.role {
            NodeRole::Resource => self.source(*sibling, &read.path),
            NodeRole::Instance { status, .. } => {
                self.object(*sibling, &read.path);
                self.status(*sibling, status, &read.path);
            }
        }
    }

    fn source(&mut self, node: NodeIndex, path: &[Segment]) {
        let source = (node, path.to_vec());
        if !self.found.sources.contains(&source) {
            self.found.sources.push(source);
        }
    }

    /// The object of an instance, apart from its status: the document of the user, or a template of the instance around
    /// it.
    fn object(&mut self, instance: NodeIndex, path: &[Segment]) {
        let node = self.graph.node(instance);
        let (Some(parent), Some(template)) = (node.parent, &node.template) else {
            if !self.found.inputs.iter().any(|known| known == path) {
                self.found.inputs.push(path.to_vec());
            }
            return;
        };
        self.template(parent, template, path, true);
    }

    fn template(&mut self, scope: NodeIndex, template: &Template, path: &[Segment], gated: bool) {
        match template.descend(path) {
            Descent::Absent => {}
            Descent::Inside(expression, below) => self.expression(scope, expression, below, gated),
            Descent::Found(part) => {
                for (_, expression) in part.expressions() {
                    self.expression(scope, expression, &[], gated);
                }
            }
        }
    }

    /// The status of a nested instance: what its authored fields read; its conditions and state depend on every resource
    /// below it.
    fn status(&mut self, instance: NodeIndex, status: &[(Key, Template)], path: &[Segment]) {
        let (field, below) = match path {
            [] => (None, path),
            [Segment::Field(first)] if first == "status" => (None, &path[1..]),
            [Segment::Field(first), Segment::Field(name), below @ ..] if first == "status" => (Some(name), below),
            _ => return,
        };
        for (_, template) in status.iter().filter(|(key, _)| field.is_none_or(|name| *name == key.text)) {
            self.template(instance, template, below, false);
        }
        let computed = field.is_none_or(|name| name == "conditions" || name == "state");
        if computed {
            for resource in self.graph.resources_below(instance) {
                self.source(resource, &[Segment::Field("metadata".to_owned())]);
            }
        }
    }
}
