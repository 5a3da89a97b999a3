//! Where a rendered value comes from: the place in the user's document, or else in the definition.

use crate::graph::diagnostic::Location;
use crate::graph::expansion::{Graph, NodeIndex};
use crate::graph::expression::{Expression, Segment};
use crate::graph::template::{Template, TemplateValue, TextPiece};
use crate::graph::yaml::Node;

/// The place that a value of a rendered object comes from. Follows single reads of `schema` up through nested instances
/// to the instance document; a value that is made otherwise is placed at its template.
pub(super) fn place_of(graph: &Graph, index: NodeIndex, path: &[Segment]) -> Option<Location> {
    let node = graph.node(index);
    let Some(template) = &node.template else { return document_place(&graph.instance.node, path) };
    let found = descend(template, path);
    let Some(input) = read_of_schema(found) else { return Some(found.location.clone()) };
    let parent = node.parent?;
    place_of(graph, parent, input).or_else(|| Some(found.location.clone()))
}

/// The deepest template on a path.
fn descend<'a>(template: &'a Template, path: &[Segment]) -> &'a Template {
    let Some((first, rest)) = path.split_first() else { return template };
    let below = match (&template.value, first) {
        (TemplateValue::Mapping(entries), Segment::Field(name)) => {
            entries.iter().find(|(key, _)| &key.text == name).map(|(_, below)| below)
        }
        (TemplateValue::Sequence(items), Segment::Index(index)) => items.get(*index),
        _ => None,
    };
    below.map_or(template, |below| descend(below, rest))
}

/// The path below `schema` that a template reads, if that is all it reads.
fn read_of_schema(template: &Template) -> Option<&[Segment]> {
    let expression = match &template.value {
        TemplateValue::Expression(expression) => expression,
        TemplateValue::Text(pieces) => only_expression(pieces)?,
        _ => return None,
    };
    match expression.reads.as_slice() {
        [read] if read.root == "schema" => Some(&read.path),
        _ => None,
    }
}

fn only_expression(pieces: &[TextPiece]) -> Option<&Expression> {
    let mut expressions = pieces.iter().filter_map(|piece| match piece {
        TextPiece::Expression(expression) => Some(expression),
        TextPiece::Literal(_) => None,
    });
    match (expressions.next(), expressions.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

fn document_place(node: &Node, path: &[Segment]) -> Option<Location> {
    let Some((first, rest)) = path.split_first() else { return Some(node.location.clone()) };
    let below = match first {
        Segment::Field(name) => node.get(name)?,
        Segment::Index(index) => node.items().get(*index)?,
    };
    document_place(below, rest)
}

/// `spec.cidrBlocks[0]` → its segments. Keys in brackets that are not numbers are names.
pub(super) fn segments(path: &str) -> Vec<Segment> {
    let mut found = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (name, after) = inside.split_once(']').unwrap_or((inside, ""));
            let name = name.trim_matches('"');
            found.push(name.parse().map_or_else(|_| Segment::Field(name.to_owned()), Segment::Index));
            rest = after.strip_prefix('.').unwrap_or(after);
            continue;
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        found.push(Segment::Field(name.to_owned()));
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_fall_apart_into_segments() {
        let field = |name: &str| Segment::Field(name.to_owned());
        assert_eq!(segments("spec.cidrBlocks[0]"), [field("spec"), field("cidrBlocks"), Segment::Index(0)]);
        assert_eq!(
            segments("metadata.annotations[\"services.k8s.aws/region\"].x"),
            [field("metadata"), field("annotations"), field("services.k8s.aws/region"), field("x")]
        );
        assert_eq!(segments(""), []);
    }
}
