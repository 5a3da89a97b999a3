//! One evaluation of a whole graph.

use super::scope::{Failure, Gates, Reader, Sight};
use super::{Evaluation, Included, MISSING_INPUT, NodeEvaluation, Observation, Observations, conditions, defaults};
use crate::graph::catalog::{Catalog, Production, Scope, Support};
use crate::graph::definition::topological;
use crate::graph::diagnostic::{Diagnostic, Location};
use crate::graph::expansion::{Graph, NodeIndex, NodeRole, is_registration};
use crate::graph::expression::{EvaluationError, Expression};
use crate::graph::path;
use crate::graph::template::{Template, TemplateValue};
use crate::graph::tree::{Tree, Unknown};
use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// See [`super::evaluate`].
pub(super) fn run(graph: &Graph, observations: &Observations, catalog: &dyn Catalog, gates: Gates) -> Evaluation {
    let nothing = NodeEvaluation {
        included: Included::Yes,
        desired: Tree::Known(Value::Null),
        gate_open: false,
        gate_waits_for: None,
        status: None,
    };
    let nodes = vec![nothing; graph.nodes.len()];
    let sight = Sight { graph, observations, catalog, gates, nodes, assumed: HashMap::new() };
    let mut run = Run { sight, errors: Vec::new() };
    run.sight.nodes[0].desired = Tree::Known(graph.instance.object.clone());
    run.children(NodeIndex(0));
    Evaluation { nodes: run.sight.nodes, errors: run.errors }
}

struct Run<'a> {
    sight: Sight<'a>,
    errors: Vec<Diagnostic>,
}

impl<'a> Run<'a> {
    fn graph(&self) -> &'a Graph {
        self.sight.graph
    }

    /// Evaluates the resources of an instance, dependencies first, then its own status and gate.
    fn children(&mut self, instance: NodeIndex) {
        let graph = self.graph();
        let before = self.errors.len();
        let children = graph.children(instance);
        let position = |index: &NodeIndex| children.iter().position(|child| child == index);
        let needs: Vec<Vec<usize>> =
            children.iter().map(|child| graph.node(*child).dependencies.iter().filter_map(position).collect()).collect();
        for at in topological(&needs).unwrap_or_else(|_| (0..children.len()).collect()) {
            self.node(children[at]);
        }
        let failed = self.errors.len() > before;
        self.finish_instance(instance, failed);
    }

    fn node(&mut self, index: NodeIndex) {
        let before = self.errors.len();
        let included = self.inclusion(index);
        let is_excluded = matches!(included, Included::No(_));
        self.sight.nodes[index.0].included = included;
        self.sight.nodes[index.0].desired = self.render(index);
        match self.graph().node(index).role {
            NodeRole::Instance { .. } => self.children(index),
            NodeRole::Resource => self.finish_resource(index),
        }
        if is_excluded {
            // Nothing of it is carried out, so nothing that is wrong with it matters.
            self.errors.truncate(before);
            let evaluation = &mut self.sight.nodes[index.0];
            evaluation.gate_open = false;
            evaluation.gate_waits_for = None;
            evaluation.status = None;
        }
    }

    fn inclusion(&mut self, index: NodeIndex) -> Included {
        let graph = self.graph();
        let node = graph.node(index);
        let Some(parent) = node.parent else { return Included::Yes };
        let mut waits_for = None;
        let mut look_at = |other: NodeIndex, included: &Included| match included {
            Included::No(_) => Some(Included::No(format!("{} is not included", graph.node(other).address))),
            Included::Unknown(reason) => {
                waits_for.get_or_insert_with(|| reason.clone());
                None
            }
            Included::Yes => None,
        };
        if let Some(excluded) = look_at(parent, &self.sight.nodes[parent.0].included) {
            return excluded;
        }
        let contagion = node.dependencies.iter().find_map(|other| look_at(*other, &self.sight.nodes[other.0].included));
        for expression in &node.include_when {
            match self.condition(parent, expression, index) {
                Ok(true) => {}
                Ok(false) => return Included::No(format!("`{}` does not hold", expression.source.trim())),
                Err(reason) => drop(waits_for.get_or_insert(reason)),
            }
        }
        contagion.unwrap_or_else(|| waits_for.map_or(Included::Yes, Included::Unknown))
    }

    /// Whether an includeWhen holds; `Err` with what it waits for.
    fn condition(&mut self, scope: NodeIndex, expression: &Expression, index: NodeIndex) -> Result<bool, String> {
        let only_inputs = expression.reads.iter().all(|read| read.root == "schema");
        let message = match self.sight.evaluate(scope, expression, Reader::Gated) {
            Ok(Value::Bool(holds)) => return Ok(holds),
            Ok(Value::Null) => return Ok(false),
            Ok(other) => format!("gives {other}, but has to give a boolean"),
            Err(Failure::Pending(unknown)) if only_inputs => match unknown.waits_for.strip_prefix(MISSING_INPUT) {
                Some(input) => format!("there is no {input}, and no default"),
                None => unknown.waits_for,
            },
            Err(Failure::Unknown(unknown) | Failure::Pending(unknown)) => return Err(unknown.waits_for),
            Err(Failure::Fatal(message)) => message,
            Err(Failure::Omitted) => "has no value".to_owned(),
        };
        self.fatal(index, "includeWhen", expression, &message);
        Err(format!("`{}`", expression.source.trim()))
    }

    fn fatal(&mut self, index: NodeIndex, place: &str, expression: &Expression, message: &str) {
        let address = &self.graph().node(index).address;
        let text = format!("{address} {place}: `{}` can never have a value: {message}", expression.source.trim());
        self.errors.push(Diagnostic::error("fatal", text).at(&expression.location));
    }

    /// The rendered object of a node.
    fn render(&mut self, index: NodeIndex) -> Tree {
        let graph = self.graph();
        let node = graph.node(index);
        let (Some(parent), Some(template)) = (node.parent, &node.template) else { return Tree::Known(Value::Null) };
        let mut tree = self.render_template(parent, template, index, Reader::Gated);
        if node.scope == Scope::Namespaced
            && let Some(namespace) = self.sight.nodes[parent.0].desired.at(&path::parse("metadata.namespace"))
        {
            tree = with_namespace(tree, namespace.into_owned());
        }
        match &node.role {
            NodeRole::Resource => tree,
            NodeRole::Instance { spec, .. } => replace(tree, "spec", |given| defaults::apply(spec, given)),
        }
    }

    fn render_template(&mut self, scope: NodeIndex, template: &Template, index: NodeIndex, reader: Reader) -> Tree {
        let mut problems: Vec<(Expression, String)> = Vec::new();
        let sight = &self.sight;
        let rendered = template.render(&mut |expression| {
            Ok(match sight.evaluate(scope, expression, reader) {
                Ok(value) => Tree::Known(value),
                Err(Failure::Unknown(unknown) | Failure::Pending(unknown)) => Tree::Unknown(unknown),
                Err(Failure::Omitted) => return Err(EvaluationError::Omitted),
                Err(Failure::Fatal(message)) => {
                    let source = expression.source.trim().to_owned();
                    problems.push((expression.clone(), message));
                    Tree::Unknown(Unknown { waits_for: format!("`{source}`"), expression: source })
                }
            })
        });
        for (expression, message) in problems {
            self.fatal(index, "template", &expression, &message);
        }
        rendered.unwrap_or_else(|error| {
            self.text_error(index, &template.location, &error.to_string());
            Tree::Unknown(Unknown { expression: String::new(), waits_for: error.to_string() })
        })
    }

    fn text_error(&mut self, index: NodeIndex, location: &Location, message: &str) {
        let text = format!("{}: {message}", self.graph().node(index).address);
        self.errors.push(Diagnostic::error("fatal", text).at(location));
    }

    fn finish_resource(&mut self, index: NodeIndex) {
        let graph = self.graph();
        let evaluation = &self.sight.nodes[index.0];
        if !self.sight.observations.contains_key(&index)
            && evaluation.included == Included::Yes
            && !is_carried_out(graph, self.sight.catalog, index, &evaluation.desired)
            && let Tree::Known(object) = &evaluation.desired
        {
            let assumed = Observation { object: object.clone(), reached: Production::Ready };
            self.sight.assumed.insert(index, assumed);
        }
        let object = self.sight.observation(index).map(|observation| observation.object.clone());
        let waits_for = match object {
            None => Some(format!("{} exists", graph.node(index).address)),
            Some(object) => self.own_conditions(index, &object),
        };
        self.set_gate(index, waits_for);
    }

    fn set_gate(&mut self, index: NodeIndex, waits_for: Option<String>) {
        let evaluation = &mut self.sight.nodes[index.0];
        evaluation.gate_open = waits_for.is_none();
        evaluation.gate_waits_for = waits_for;
    }

    /// The first readyWhen that does not hold.
    fn own_conditions(&mut self, index: NodeIndex, object: &Value) -> Option<String> {
        let node = self.graph().node(index);
        let mut waits_for = None;
        for expression in &node.ready_when {
            let message = match expression.evaluate(&vec![(node.id.as_str(), object)]) {
                Ok(Value::Bool(true)) => continue,
                Ok(Value::Bool(false) | Value::Null) | Err(EvaluationError::Pending(_)) => {
                    waits_for.get_or_insert_with(|| format!("`{}` of {}", expression.source.trim(), node.address));
                    continue;
                }
                Ok(other) => format!("gives {other}, but has to give a boolean"),
                Err(error @ (EvaluationError::Fatal(_) | EvaluationError::Omitted)) => error.to_string(),
            };
            self.fatal(index, "readyWhen", expression, &message);
            waits_for.get_or_insert_with(|| format!("`{}` of {}", expression.source.trim(), node.address));
        }
        waits_for
    }

    /// Status and gate of an instance whose resources have been evaluated.
    fn finish_instance(&mut self, index: NodeIndex, failed: bool) {
        let graph = self.graph();
        let waiting = graph.children(index).iter().find_map(|child| {
            let evaluation = &self.sight.nodes[child.0];
            match &evaluation.included {
                Included::No(_) => None,
                Included::Unknown(reason) => Some(reason.clone()),
                Included::Yes => evaluation.gate_waits_for.clone(),
            }
        });
        let mut status = self.authored_status(index);
        let shown = waiting.as_deref().filter(|_| self.sight.gates == Gates::Kept);
        let (conditions, state) = conditions::of_instance(shown, failed);
        status.insert("state".to_owned(), Value::String(state.to_owned()));
        status.insert("conditions".to_owned(), conditions);
        self.sight.nodes[index.0].status = Some(Value::Object(status));
        let object = self.sight.instance_object(index).unwrap_or_default();
        let own = self.own_conditions(index, &object);
        self.set_gate(index, waiting.or(own));
    }

    /// Authored status fields, each as far as it has a value.
    fn authored_status(&mut self, index: NodeIndex) -> Map<String, Value> {
        let NodeRole::Instance { status, .. } = &self.graph().node(index).role else { return Map::new() };
        let fields = status.iter();
        fields.filter_map(|(key, template)| Some((key.text.clone(), self.status_field(index, template)?))).collect()
    }

    fn status_field(&mut self, index: NodeIndex, template: &Template) -> Option<Value> {
        match &template.value {
            TemplateValue::Mapping(entries) => {
                let below = entries.iter();
                let below: Map<String, Value> =
                    below.filter_map(|(key, field)| Some((key.text.clone(), self.status_field(index, field)?))).collect();
                (!below.is_empty()).then_some(Value::Object(below))
            }
            TemplateValue::Sequence(items) if self.sight.gates == Gates::Kept => {
                Some(Value::Array(items.iter().filter_map(|item| self.status_field(index, item)).collect()))
            }
            _ => {
                let value = self.render_template(index, template, index, Reader::Status).into_known()?;
                (!value.is_null()).then_some(value)
            }
        }
    }
}

/// Whether fleetctl does something for a resource: its kind is carried out, and a Secret is a registration.
pub fn is_carried_out(graph: &Graph, catalog: &dyn Catalog, index: NodeIndex, desired: &Tree) -> bool {
    let node = graph.node(index);
    let supported = graph.describe(index, catalog).is_some_and(|kind| kind.support == Support::CarriedOut);
    let is_secret = node.api_version == "v1" && node.kind == "Secret";
    supported && (!is_secret || is_registration(&node.api_version, &node.kind, desired))
}

/// The entries of a mapping, or the tree itself if it is none.
fn entries(tree: Tree) -> Result<IndexMap<String, Tree>, Tree> {
    match tree {
        Tree::Mapping(entries) => Ok(entries),
        Tree::Known(Value::Object(object)) => Ok(object.into_iter().map(|(key, value)| (key, Tree::Known(value))).collect()),
        other => Err(other),
    }
}

/// The tree with another value under a key.
fn replace(tree: Tree, key: &str, with: impl FnOnce(Option<Tree>) -> Option<Tree>) -> Tree {
    match entries(tree) {
        Err(other) => other,
        Ok(mut entries) => {
            let given = entries.get(key).cloned();
            match with(given) {
                Some(value) => drop(entries.insert(key.to_owned(), value)),
                None => drop(entries.shift_remove(key)),
            }
            Tree::mapping(entries)
        }
    }
}

/// The object with `metadata.namespace`, if it has none of its own.
fn with_namespace(tree: Tree, namespace: Tree) -> Tree {
    replace(tree, "metadata", |metadata| {
        let metadata = metadata.unwrap_or_else(|| Tree::Known(Value::Object(Map::new())));
        Some(replace(metadata, "namespace", |given| given.filter(|value| *value != Tree::Known(Value::Null)).or(Some(namespace))))
    })
}
