//! Templates: YAML trees whose texts have been scanned and whose expressions have been compiled.

use super::diagnostic::{Diagnostic, Location};
use super::expression::Expression;
use super::yaml::{Key, Node};
use serde_json::Value;

/// A template tree.
#[derive(Debug, Clone)]
pub struct Template {
    /// The value.
    pub value: TemplateValue,
    /// Where it stands.
    pub location: Location,
}

/// A value of a template.
#[derive(Debug, Clone)]
pub enum TemplateValue {
    /// A scalar without expressions.
    Literal(Value),
    /// The whole value is one expression.
    Expression(Expression),
    /// Text with expressions in it.
    Text(Vec<TextPiece>),
    /// A list.
    Sequence(Vec<Template>),
    /// Named values, in order.
    Mapping(Vec<(Key, Template)>),
}

/// A piece of a text.
#[derive(Debug, Clone)]
pub enum TextPiece {
    /// Text as it stands.
    Literal(String),
    /// An expression that must give text.
    Expression(Expression),
}

impl Template {
    /// Scans and compiles everything below a node. All problems are reported.
    pub fn compile(_node: &Node) -> Result<Self, Vec<Diagnostic>> {
        todo!()
    }

    /// Every expression in the tree, with the path of the field it stands in, list items as `[]`.
    pub fn expressions(&self) -> Vec<(String, &Expression)> {
        todo!()
    }
}
