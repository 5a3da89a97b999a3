//! Templates: YAML trees whose texts have been scanned and whose expressions have been compiled.

use super::diagnostic::{Diagnostic, Location};
use super::expression::{EvaluationError, Expression};
use super::scan::{Piece, ScanError, Scanned, Span, kro_reads_differently, scan};
use super::stack::with_large_stack;
use super::tree::{Tree, Unknown, push_field};
use super::yaml::{Key, Node, NodeValue};
use indexmap::IndexMap;
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
    /// Scans and compiles everything below a node. All problems are reported: `nested-expression`,
    /// `unterminated-expression`, and those of [`Expression::compile`]. Keys are never scanned.
    pub fn compile(node: &Node) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        // One thread for all expressions.
        let template = with_large_stack(|| compile_node(node, &mut problems));
        match template {
            None => Err(vec![Diagnostic::error("out-of-resources", "the system gives no thread to parse expressions on")]),
            Some(template) if problems.is_empty() => Ok(template),
            Some(_) => Err(problems),
        }
    }

    /// Warnings about texts below a node in which kro finds other expressions than fleetctl (`kro-reads-differently`).
    pub fn differences_from_kro(node: &Node) -> Vec<Diagnostic> {
        let mut warnings = Vec::new();
        collect_differences(node, &mut warnings);
        warnings
    }

    /// Every expression in the tree, with the path of the field it stands in, list items as `[]`.
    pub fn expressions(&self) -> Vec<(String, &Expression)> {
        let mut found = Vec::new();
        self.collect_expressions(&mut String::new(), &mut found);
        found
    }

    fn collect_expressions<'a>(&'a self, path: &mut String, found: &mut Vec<(String, &'a Expression)>) {
        let length = path.len();
        match &self.value {
            TemplateValue::Literal(_) => {}
            TemplateValue::Expression(expression) => found.push((path.clone(), expression)),
            TemplateValue::Text(pieces) => found.extend(pieces.iter().filter_map(|piece| match piece {
                TextPiece::Expression(expression) => Some((path.clone(), expression)),
                TextPiece::Literal(_) => None,
            })),
            TemplateValue::Sequence(items) => {
                path.push_str("[]");
                for item in items {
                    item.collect_expressions(path, found);
                }
            }
            TemplateValue::Mapping(entries) => {
                for (key, value) in entries {
                    push_field(path, &key.text);
                    value.collect_expressions(path, found);
                    path.truncate(length);
                }
            }
        }
        path.truncate(length);
    }

    /// The tree with the values of its expressions. `evaluate` may answer that a value is unknown; a text with an unknown
    /// piece is unknown as a whole. A piece of a text that has another value than text is fatal. A field or item whose
    /// expression is [`EvaluationError::Omitted`] is left out. The first error ends rendering.
    pub fn render(
        &self,
        evaluate: &mut dyn FnMut(&Expression) -> Result<Tree, EvaluationError>,
    ) -> Result<Tree, EvaluationError> {
        match &self.value {
            TemplateValue::Literal(value) => Ok(Tree::Known(value.clone())),
            TemplateValue::Expression(expression) => evaluate(expression),
            TemplateValue::Text(pieces) => render_text(pieces, evaluate),
            TemplateValue::Sequence(items) => {
                let mut rendered = Vec::with_capacity(items.len());
                for item in items {
                    rendered.extend(unless_omitted(item.render(evaluate))?);
                }
                Ok(Tree::sequence(rendered))
            }
            TemplateValue::Mapping(entries) => {
                let mut rendered = IndexMap::with_capacity(entries.len());
                for (key, value) in entries {
                    let value = unless_omitted(value.render(evaluate))?;
                    rendered.extend(value.map(|value| (key.text.clone(), value)));
                }
                Ok(Tree::mapping(rendered))
            }
        }
    }
}

fn unless_omitted(rendered: Result<Tree, EvaluationError>) -> Result<Option<Tree>, EvaluationError> {
    match rendered {
        Err(EvaluationError::Omitted) => Ok(None),
        rendered => rendered.map(Some),
    }
}

fn render_text(
    pieces: &[TextPiece],
    evaluate: &mut dyn FnMut(&Expression) -> Result<Tree, EvaluationError>,
) -> Result<Tree, EvaluationError> {
    let mut text = String::new();
    let mut written = String::new();
    let mut waits_for: Vec<String> = Vec::new();
    for piece in pieces {
        match piece {
            TextPiece::Literal(literal) => {
                text.push_str(literal);
                written.push_str(literal);
            }
            TextPiece::Expression(expression) => {
                written.extend(["${", expression.source.as_str(), "}"]);
                match evaluate(expression)? {
                    Tree::Known(Value::String(value)) => text.push_str(&value),
                    Tree::Known(other) => return Err(no_text(expression, json_type(&other))),
                    Tree::Unknown(unknown) => waits_for.push(unknown.waits_for),
                    Tree::Sequence(_) => return Err(no_text(expression, "a list")),
                    Tree::Mapping(_) => return Err(no_text(expression, "a mapping")),
                }
            }
        }
    }
    if waits_for.is_empty() {
        return Ok(Tree::Known(Value::String(text)));
    }
    waits_for.dedup();
    Ok(Tree::Unknown(Unknown { expression: written, waits_for: waits_for.join(", ") }))
}

fn no_text(expression: &Expression, found: &str) -> EvaluationError {
    let source = &expression.source;
    EvaluationError::Fatal(format!("`${{{source}}}` stands in a text and has to be text, it is {found}"))
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

fn compile_node(node: &Node, problems: &mut Vec<Diagnostic>) -> Template {
    let value = match &node.value {
        NodeValue::Sequence(items) => TemplateValue::Sequence(items.iter().map(|item| compile_node(item, problems)).collect()),
        NodeValue::Mapping(entries) => {
            let compiled = entries.iter().map(|(key, value)| (key.clone(), compile_node(value, problems)));
            TemplateValue::Mapping(compiled.collect())
        }
        NodeValue::String(text) => compile_text(text, &node.location, problems),
        _ => TemplateValue::Literal(node.to_json()),
    };
    Template { value, location: node.location.clone() }
}

fn compile_text(text: &str, location: &Location, problems: &mut Vec<Diagnostic>) -> TemplateValue {
    let literal = || TemplateValue::Literal(Value::String(text.to_owned()));
    match scan(text) {
        Ok(Scanned::Literal) => literal(),
        Ok(Scanned::Standalone(span)) => {
            compile_expression(text, &span, location, problems).map_or_else(literal, TemplateValue::Expression)
        }
        Ok(Scanned::Text(pieces)) => {
            let compiled = pieces.into_iter().filter_map(|piece| match piece {
                Piece::Literal(text) => Some(TextPiece::Literal(text)),
                Piece::Expression(span) => compile_piece(text, &span, location, problems).map(TextPiece::Expression),
            });
            TemplateValue::Text(compiled.collect())
        }
        Err(error) => {
            problems.push(describe(&error, text, location));
            literal()
        }
    }
}

fn compile_expression(text: &str, span: &Span, location: &Location, problems: &mut Vec<Diagnostic>) -> Option<Expression> {
    let compiled = Expression::compile(&span.source, &place(location, text, span));
    compiled.map_err(|problem| problems.push(problem)).ok()
}

/// An expression among other text has to give text.
fn compile_piece(text: &str, span: &Span, location: &Location, problems: &mut Vec<Diagnostic>) -> Option<Expression> {
    let expression = compile_expression(text, span, location, problems)?;
    if let Some(found) = expression.certainly_no_text() {
        let message = format!("`${{{}}}` stands in a text and has to be text, it is {found}", span.source);
        let problem = Diagnostic::error("cel-type", message).at(&expression.location);
        problems.push(problem.suggest(format!("write `${{string({})}}`", span.source)));
    }
    Some(expression)
}

fn describe(error: &ScanError, text: &str, location: &Location) -> Diagnostic {
    match error {
        ScanError::Nested { offset } => {
            let message = "`${` inside an expression: expressions do not nest, and text in them has to be quoted";
            Diagnostic::error("nested-expression", message).at(&point(location, text, *offset))
        }
        ScanError::Unterminated { offset } => {
            let excerpt: String = text.get(*offset..).unwrap_or("").chars().take(40).collect();
            let problem = Diagnostic::error("unterminated-expression", format!("`{excerpt}` has no closing `}}`"));
            let problem = problem.at(&point(location, text, *offset));
            problem.suggest("close it; if it is closed, quote the value, because YAML cuts it at ` #`, or end a `//` comment")
        }
    }
}

fn collect_differences(node: &Node, warnings: &mut Vec<Diagnostic>) {
    match &node.value {
        NodeValue::String(text) if kro_reads_differently(text) => {
            let message = "kro reads this text differently: it knows no strings but those in double quotes, and no comments";
            let warning = Diagnostic::warning("kro-reads-differently", message).at(&node.location);
            warnings.push(warning.suggest("write strings in expressions with double quotes"));
        }
        NodeValue::Sequence(items) => items.iter().for_each(|item| collect_differences(item, warnings)),
        NodeValue::Mapping(entries) => entries.iter().for_each(|(_, value)| collect_differences(value, warnings)),
        _ => {}
    }
}

/// The place of an expression's source in the document.
///
/// The value of a scalar is not what the document says: there are quotes, escapes, indentation and folded lines. But
/// `${` with what follows it up to the end of the line stands in the document as it does in the value, and as often,
/// unless something in it is escaped; then the place is that of the scalar.
fn place(scalar: &Location, text: &str, span: &Span) -> Location {
    let first_line = span.source.split('\n').next().unwrap_or("");
    let Some(start) = same_occurrence(scalar, text, span.offset, first_line) else { return scalar.clone() };
    let document = scalar.text();
    let mut end = start + first_line.len();
    for line in span.source.split('\n').skip(1) {
        // A line of the source follows, behind its indentation.
        let rest = document.get(end..).unwrap_or("").trim_start_matches([' ', '\t', '\r']);
        let Some(found) = rest.strip_prefix('\n').and_then(|rest| rest.find(line.trim_start()).map(|at| rest.split_at(at)))
        else {
            return scalar.clone();
        };
        if !found.0.trim_matches([' ', '\t']).is_empty() {
            return scalar.clone();
        }
        end = document.len() - found.1.len() + line.trim_start().len();
    }
    scalar.part(start, end - start)
}

/// The place of the `${` at an offset of the value.
fn point(scalar: &Location, text: &str, offset: usize) -> Location {
    let line = text.get(offset + 2..).and_then(|rest| rest.split('\n').next()).unwrap_or("");
    same_occurrence(scalar, text, offset + 2, line).map_or_else(|| scalar.clone(), |start| scalar.part(start - 2, 2))
}

/// Where in the document the text behind a `${` stands, by counting how often it stands before.
fn same_occurrence(scalar: &Location, text: &str, offset: usize, line: &str) -> Option<usize> {
    // Counting takes quadratic time; nobody reads columns of texts that are longer.
    const LONGEST: usize = 64 << 10;
    if text.len() > LONGEST {
        return None;
    }
    let needle = format!("${{{line}");
    let document = scalar.text();
    if text.matches(&needle).count() != document.matches(&needle).count() {
        return None;
    }
    let before = text.get(..offset.checked_sub(2)?)?.matches(&needle).count();
    document.match_indices(&needle).nth(before).map(|(start, _)| start + 2)
}

#[cfg(test)]
mod tests;
