//! What can be said against a graph from the instance's inputs alone.

use super::{Graph, NodeIndex, NodeRole, build, trace};
use crate::graph::catalog::{Catalog, ImpossibleValue};
use crate::graph::diagnostic::{Diagnostic, Location};
use crate::graph::evaluation::{Evaluation, Included, MISSING_INPUT};
use crate::graph::expression::Segment;
use crate::graph::path;
use crate::graph::schema::Schema;
use crate::graph::simple_schema;
use crate::graph::template::{Template, TemplateValue, TextPiece};
use crate::graph::tree::Tree;
use crate::graph::walk::Descent;
use crate::graph::yaml::{Node, NodeValue};
use indexmap::IndexMap;

/// Everything that is wrong. `looks` is the evaluation before anything exists.
pub(super) fn find(graph: &Graph, looks: &Evaluation, catalog: &dyn Catalog) -> Vec<Diagnostic> {
    let mut problems = looks.errors.clone();
    problems.extend(missing_inputs(graph, looks));
    problems.extend(duplicate_identities(graph, looks));
    for (index, node) in graph.nodes.iter().enumerate() {
        if looks.nodes[index].included != Included::Yes {
            continue;
        }
        match node.role {
            NodeRole::Resource => problems.extend(impossible_values(graph, looks, NodeIndex(index), catalog)),
            NodeRole::Instance { .. } => problems.extend(refused_specs(graph, looks, NodeIndex(index))),
        }
    }
    merged(problems)
}

/// One problem for each value that an input gives: many objects may be named after one.
fn merged(problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut kept: Vec<(Diagnostic, usize)> = Vec::new();
    for problem in problems {
        let is_same = |(other, _): &&mut (Diagnostic, usize)| {
            let alike = (&other.category, &other.location) == (&problem.category, &problem.location);
            alike && input_of(&problem).is_some_and(|input| input_of(other) == Some(input))
        };
        match kept.iter_mut().find(is_same) {
            Some((_, more)) => *more += 1,
            None => kept.push((problem, 0)),
        }
    }
    let counted = kept.into_iter().map(|(mut problem, more)| {
        match more {
            0 => {}
            1 => problem.message.push_str(" (and 1 more object)"),
            more => problem.message = format!("{} (and {more} more objects)", problem.message),
        }
        problem
    });
    counted.collect()
}

/// The input that a suggestion names.
fn input_of(problem: &Diagnostic) -> Option<&str> {
    problem.suggestion.as_deref()?.split_once(COMES_FROM).map(|(_, input)| input)
}

/// Inputs that included resources read and nobody gives. kro waits for them for ever.
fn missing_inputs(graph: &Graph, looks: &Evaluation) -> Vec<Diagnostic> {
    let mut missing: IndexMap<&str, Vec<String>> = IndexMap::new();
    for (index, node) in graph.resources() {
        let evaluation = looks.node(index);
        let unknown = evaluation.desired.unknowns();
        for (field, unknown) in unknown.into_iter().filter(|_| evaluation.included == Included::Yes) {
            // A text with several pieces waits for several things.
            for input in unknown.waits_for.split(", ").filter_map(|reason| reason.strip_prefix(MISSING_INPUT)) {
                missing.entry(input).or_default().push(format!("{} ({field})", node.address));
            }
        }
    }
    missing.into_iter().map(|(input, readers)| missing_input(graph, input, &readers)).collect()
}

fn missing_input(graph: &Graph, input: &str, readers: &[String]) -> Diagnostic {
    const SHOWN: usize = 3;
    let (field, owner) = input.split_once(" of ").unwrap_or((input, ""));
    let mut who = readers.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if readers.len() > SHOWN {
        who = format!("{who} and {} more", readers.len() - SHOWN);
    }
    let path = path::parse(field);
    let instance = graph.find(owner).unwrap_or(NodeIndex(0));
    let problem = |field: &str| {
        let message = format!("`{field}` has neither a value nor a default; it is read by {who}");
        Diagnostic::error("missing-input", message)
    };
    // A nested instance may hand on a whole subtree of what its own instance is given.
    match trace::trace_object(graph, instance, &path).inputs.as_slice() {
        [input] => {
            let field = path::text(input);
            problem(&field).at(input_location(graph, input)).suggest(format!("add `{field}`"))
        }
        _ => problem(field)
            .at(&graph.node(instance).location)
            .suggest(format!("give `{field}` a value in the template of {owner}")),
    }
}

/// Where an input stands in the instance document; else the deepest part on the way to it.
fn input_location<'a>(graph: &'a Graph, path: &[Segment]) -> &'a Location {
    let mut current: &Node = &graph.instance.node;
    for segment in path {
        let below = match (segment, &current.value) {
            (Segment::Field(name), _) => current.get(name),
            (Segment::Index(index), NodeValue::Sequence(items)) => items.get(*index),
            _ => None,
        };
        match below {
            Some(below) => current = below,
            None => break,
        }
    }
    &current.location
}

/// Two objects of one apiVersion, kind, namespace and name.
fn duplicate_identities(graph: &Graph, looks: &Evaluation) -> Vec<Diagnostic> {
    let mut seen: IndexMap<[String; 4], NodeIndex> = IndexMap::new();
    let mut problems = Vec::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        if looks.nodes[index].included != Included::Yes {
            continue;
        }
        let Some([namespace, name]) = place(&looks.nodes[index].desired) else { continue };
        let identity = [node.api_version.clone(), node.kind.clone(), namespace, name];
        match seen.get(&identity) {
            None => drop(seen.insert(identity, NodeIndex(index))),
            Some(first) => {
                let [_, kind, namespace, name] = &identity;
                let other = &graph.node(*first).address;
                let message = format!("{} and {other} are the same object: {kind} {namespace}/{name}", node.address);
                problems.push(Diagnostic::error("duplicate-identity", message).at(&node.location));
            }
        }
    }
    problems
}

/// Namespace (or nothing) and name of a rendered object, once they are known.
fn place(desired: &Tree) -> Option<[String; 2]> {
    let text = |field: &str| {
        let found = desired.at(&path::parse(field));
        found.map(|found| found.known().and_then(|value| value.as_str()).map(str::to_owned))
    };
    Some([text("metadata.namespace").unwrap_or_else(|| Some(String::new()))?, text("metadata.name")??])
}

/// Values that AWS could never accept, as far as they are known.
fn impossible_values(graph: &Graph, looks: &Evaluation, index: NodeIndex, catalog: &dyn Catalog) -> Vec<Diagnostic> {
    let node = graph.node(index);
    let object = looks.node(index).desired.known_part();
    let found = catalog.impossible_values(&node.api_version, &node.kind, &object);
    found.iter().map(|problem| impossible(graph, index, problem)).collect()
}

/// A value that AWS could never accept, at the place that it comes from.
pub(super) fn impossible(graph: &Graph, index: NodeIndex, problem: &ImpossibleValue) -> Diagnostic {
    let message = format!("{} {}: {}", graph.node(index).address, problem.path, problem.message);
    let origin = origin(graph, index, &path::parse(&problem.path));
    let error = Diagnostic::error("impossible-value", message).at(origin.location);
    match origin.input {
        Some(input) => error.suggest(format!("{} ({COMES_FROM}`{input}`)", problem.expected)),
        None => error.suggest(problem.expected.clone()),
    }
}

const COMES_FROM: &str = "it comes from ";

/// Where a rendered value comes from.
struct Origin<'a> {
    location: &'a Location,
    input: Option<String>,
}

/// The one input that a field is made of, else the field in the template.
fn origin<'a>(graph: &'a Graph, index: NodeIndex, field: &[Segment]) -> Origin<'a> {
    let node = graph.node(index);
    let (Some(template), Some(parent)) = (&node.template, node.parent) else {
        return Origin { location: input_location(graph, field), input: None };
    };
    let inputs: Vec<Vec<Segment>> = match template.descend(field) {
        Descent::Absent => Vec::new(),
        Descent::Inside(expression, _) => trace::trace(graph, parent, expression).inputs,
        Descent::Found(part) => {
            expressions_of(part).into_iter().flat_map(|found| trace::trace(graph, parent, found).inputs).collect()
        }
    };
    match inputs.as_slice() {
        [input] => Origin { location: input_location(graph, input), input: Some(path::text(input)) },
        _ => Origin { location: template.nearest(field, &|_| false), input: None },
    }
}

fn expressions_of(part: &Template) -> Vec<&crate::graph::expression::Expression> {
    match &part.value {
        TemplateValue::Expression(expression) => vec![expression],
        TemplateValue::Text(pieces) => pieces
            .iter()
            .filter_map(|piece| match piece {
                TextPiece::Expression(expression) => Some(expression),
                TextPiece::Literal(_) => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The rendered spec of a nested instance against the schema of its kind.
fn refused_specs(graph: &Graph, looks: &Evaluation, index: NodeIndex) -> Vec<Diagnostic> {
    let node = graph.node(index);
    let (Some(schema), Some(template)) = (build::spec_schema(node), &node.template) else { return Vec::new() };
    let desired = &looks.node(index).desired;
    let spec = [Segment::Field("spec".to_owned())];
    let Some(tree) = desired.at(&spec) else { return Vec::new() };
    let problems = admission(schema, &tree);
    problems
        .into_iter()
        .map(|problem| {
            let whole: Vec<Segment> = spec.iter().cloned().chain(path::parse(&problem.path)).collect();
            let message = format!("{}: {}", node.address, problem.message);
            let error = Diagnostic::error(problem.category, message).at(template.nearest(&whole, &|_| false));
            match problem.suggestion {
                Some(suggestion) => error.suggest(suggestion),
                None => error,
            }
        })
        .collect()
}

/// Problems of the known part of a spec. What is only not known yet is not missed.
fn admission(schema: &Schema, spec: &Tree) -> Vec<simple_schema::AdmissionProblem> {
    let problems = simple_schema::admit(schema, &spec.known_part()).err().unwrap_or_default();
    problems.into_iter().filter(|problem| problem.category != "required" || spec.is_known()).collect()
}
