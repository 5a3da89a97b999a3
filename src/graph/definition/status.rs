//! `spec.schema.status`: every leaf has to read something (kro.md 1.4, check 17).

use super::expressions::Scene;
use super::load::shown;
use super::resource::compile;
use super::schemas;
use crate::graph::diagnostic::{Diagnostic, Location};
use crate::graph::expression::Expression;
use crate::graph::schema::Schema;
use crate::graph::template::{Template, TemplateValue, TextPiece};
use crate::graph::yaml::{Key, Node, NodeValue};
use indexmap::IndexMap;

/// Reads the status block: its fields, and their schemas.
pub(super) fn read(
    status: Option<&Node>,
    scene: &Scene,
    errors: &mut Vec<Diagnostic>,
) -> (Vec<(Key, Template)>, IndexMap<String, Schema>) {
    let Some(status) = status.filter(|node| node.value != NodeValue::Null) else { return Default::default() };
    if !matches!(status.value, NodeValue::Mapping(_)) {
        let message = format!("`status` is {}, but has to be a mapping", status.describe());
        errors.push(Diagnostic::error("structure", message).at(&status.location));
    }
    let mut fields = Vec::new();
    for (key, node) in status.entries() {
        if key.text == "conditions" {
            let message = "conditions of one's own (`status.conditions`) are not carried out yet";
            errors.push(Diagnostic::error("not-carried-out", message).at(&key.location));
        } else if let Some(template) = compile(node, errors) {
            check(&template, node, scene, errors);
            fields.push((key.clone(), template));
        }
    }
    let plain = |template: &Template| match &template.value {
        TemplateValue::Expression(expression) => scene.shape(expression),
        _ => None,
    };
    let schema = schemas::of_status(&fields, &plain);
    (fields, schema)
}

fn check(template: &Template, node: &Node, scene: &Scene, errors: &mut Vec<Diagnostic>) {
    match &template.value {
        TemplateValue::Mapping(entries) if !entries.is_empty() => {
            for ((_, below), (_, node)) in entries.iter().zip(node.entries()) {
                check(below, node, scene, errors);
            }
        }
        TemplateValue::Sequence(items) if !items.is_empty() => {
            for (item, node) in items.iter().zip(node.items()) {
                check(item, node, scene, errors);
            }
        }
        TemplateValue::Expression(expression) => leaf(&[expression], &template.location, scene, errors),
        TemplateValue::Text(pieces) => {
            let expressions: Vec<&Expression> = pieces
                .iter()
                .filter_map(|piece| match piece {
                    TextPiece::Expression(expression) => Some(expression),
                    TextPiece::Literal(_) => None,
                })
                .collect();
            leaf(&expressions, &template.location, scene, errors);
        }
        _ => {
            let message = format!("the status field `{}` has no expression", shown(node));
            errors.push(Diagnostic::error("status-without-expression", message).at(&template.location));
        }
    }
}

fn leaf(expressions: &[&Expression], location: &Location, scene: &Scene, errors: &mut Vec<Diagnostic>) {
    if expressions.iter().all(|expression| expression.reads.is_empty()) {
        let message = "a status field has to read `schema` or a resource: this one is constant";
        errors.push(Diagnostic::error("status-constant", message).at(location));
    }
    for expression in expressions {
        scene.check_status(expression, errors);
    }
}
