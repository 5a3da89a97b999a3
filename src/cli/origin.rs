//! Where the value of a rendered field comes from: followed from a resource's template, through nested instances, up to
//! the document that the user wrote.

use crate::engine::work::Work;
use crate::graph::catalog::{Catalog, ImpossibleValue};
use crate::graph::diagnostic::{Diagnostic, Location};
use crate::graph::expansion::{Graph, NodeIndex};
use crate::graph::expression::{Expression, Segment};
use crate::graph::template::{Template, TemplateValue};
use crate::graph::yaml::Node;

/// Values that AWS could never accept, in everything that is known of an instance without any call.
pub(super) fn impossible_values(work: &Work, catalog: &dyn Catalog) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (index, node) in work.graph.resources() {
        if work.place(index).is_none() {
            continue;
        }
        let object = work.blank.node(index).desired.known_part();
        for found in catalog.impossible_values(&node.api_version, &node.kind, &object) {
            problems.push(impossible(&work.graph, index, &found));
        }
    }
    problems
}

fn impossible(graph: &Graph, index: NodeIndex, found: &ImpossibleValue) -> Diagnostic {
    let message = format!("{}, {}: {}", graph.node(index).address, found.path, found.message);
    let problem = Diagnostic::error("impossible-value", message).suggest(format!("expected: {}", found.expected));
    match location(graph, index, &segments(&found.path)) {
        Some(location) => problem.at(&location),
        None => problem,
    }
}

/// The place that a field's value comes from.
fn location(graph: &Graph, index: NodeIndex, path: &[Segment]) -> Option<Location> {
    let node = graph.node(index);
    let Some(template) = &node.template else { return document_location(&graph.instance.node, path) };
    let leaf = descend(template, path);
    let above = leaf.rest.is_empty().then(|| input(leaf.template)).flatten();
    // An input that the user left out has its default in the schema: the place that reads it says more than none.
    let followed = above.and_then(|path| location(graph, node.parent?, path));
    followed.or_else(|| Some(leaf.template.location.clone()))
}

/// The path below the instance that a template is taken from as it is: `${schema.spec.cidr}`.
fn input(template: &Template) -> Option<&[Segment]> {
    match &template.value {
        TemplateValue::Expression(Expression { reads, .. }) => match reads.as_slice() {
            [read] if read.root == "schema" => Some(&read.path),
            _ => None,
        },
        _ => None,
    }
}

/// A place in a template, and what of the path lies below it.
struct Leaf<'t, 'p> {
    template: &'t Template,
    rest: &'p [Segment],
}

fn descend<'t, 'p>(template: &'t Template, path: &'p [Segment]) -> Leaf<'t, 'p> {
    let below = path.split_first().and_then(|(first, rest)| {
        let child = match (&template.value, first) {
            (TemplateValue::Mapping(entries), Segment::Field(name)) => {
                entries.iter().find(|(key, _)| key.text == *name).map(|(_, child)| child)
            }
            (TemplateValue::Sequence(items), Segment::Index(index)) => items.get(*index),
            _ => None,
        };
        child.map(|child| descend(child, rest))
    });
    below.unwrap_or(Leaf { template, rest: path })
}

/// The place in the user's document; none for what they left out.
fn document_location(document: &Node, path: &[Segment]) -> Option<Location> {
    let found = path.iter().try_fold(document, |node, segment| match segment {
        Segment::Field(name) => node.get(name),
        Segment::Index(index) => node.items().get(*index),
    });
    found.map(|node| node.location.clone())
}

/// `spec.cidrBlocks[0]` as segments.
fn segments(path: &str) -> Vec<Segment> {
    let mut segments = Vec::new();
    for part in path.split('.') {
        let (name, indices) = part.split_at(part.find('[').unwrap_or(part.len()));
        segments.push(Segment::Field(name.to_owned()));
        let indices = indices.split(['[', ']']).filter(|text| !text.is_empty());
        segments.extend(indices.map(|text| text.parse().map_or_else(|_| Segment::Field(text.into()), Segment::Index)));
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_segments() {
        let field = |name: &str| Segment::Field(name.into());
        assert_eq!(segments("spec.cidrBlocks[0]"), [field("spec"), field("cidrBlocks"), Segment::Index(0)]);
        assert_eq!(segments("spec.tags[Name].value"), [field("spec"), field("tags"), field("Name"), field("value")]);
    }
}
