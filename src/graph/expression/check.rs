//! What can be said of an expression without a schema: functions exist and are called in a way that they can be, and
//! types that are certain go together. Variables are `dyn` here, which goes with everything.

use super::environment::Signatures;
use super::macros::{PAIRS, RANGE, TEXT, UNUSED};
use super::reads::{function_name, is_operator, is_qualified_call};
use super::types::{Signature, StaticType};
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators};

/// A problem, at a node of the syntax tree.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) node: u64,
    pub(super) category: &'static str,
    pub(super) message: String,
    /// The function, if it is about a call: the node stands at the parenthesis behind its name.
    pub(super) function: Option<String>,
    /// A function that was probably meant.
    pub(super) meant: Option<String>,
}

/// The type of an expression, and what is wrong with it.
pub(super) fn check(tree: &IdedExpr, signatures: &Signatures) -> (StaticType, Vec<Finding>) {
    let mut checker = Checker { signatures, scope: Vec::new(), findings: Vec::new() };
    let result = checker.infer(tree);
    (result, checker.findings)
}

struct Checker<'a> {
    signatures: &'a Signatures,
    /// Types of the variables of comprehensions and bindings around the current place.
    scope: Vec<(String, StaticType)>,
    findings: Vec<Finding>,
}

impl Checker<'_> {
    fn infer(&mut self, tree: &IdedExpr) -> StaticType {
        match &tree.expr {
            Expr::Literal(literal) => literal_type(literal),
            Expr::Ident(name) => self.variable(name),
            Expr::Call(call) => self.call(tree.id, call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::List(list) => {
                let items: Vec<_> = list.elements.iter().map(|element| self.infer(element)).collect();
                StaticType::list(if list.optional_indices.is_empty() { join(items) } else { StaticType::Dyn })
            }
            Expr::Map(map) => self.map(map.entries.iter().map(|entry| &entry.expr)),
            Expr::Struct(message) => {
                self.mismatch(tree.id, format!("there is no message type `{}`", message.type_name));
                StaticType::Dyn
            }
            Expr::Select(select) => self.select(tree.id, select),
            Expr::Unspecified => StaticType::Dyn,
        }
    }

    fn variable(&self, name: &str) -> StaticType {
        let bound = self.scope.iter().rev().find(|(bound, _)| bound == name);
        bound.map_or(StaticType::Dyn, |(_, bound)| bound.clone())
    }

    fn map<'e>(&mut self, entries: impl Iterator<Item = &'e EntryExpr>) -> StaticType {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                EntryExpr::StructField(field) => values.push(self.infer(&field.value)),
                EntryExpr::MapEntry(entry) => {
                    keys.push(self.infer(&entry.key));
                    let value = self.infer(&entry.value);
                    values.push(if entry.optional { StaticType::Dyn } else { value });
                }
            }
        }
        StaticType::map(join(keys), join(values))
    }

    fn select(&mut self, node: u64, select: &SelectExpr) -> StaticType {
        match self.infer(&select.operand) {
            StaticType::Map(_, value) => *value,
            StaticType::Dyn | StaticType::Optional(_) => StaticType::Dyn,
            other => {
                self.mismatch(node, format!("a value of the type {other} has no field `{}`", select.field));
                StaticType::Dyn
            }
        }
    }

    fn call(&mut self, node: u64, call: &CallExpr) -> StaticType {
        let is_function = |name: &str| self.signatures.is_function(name);
        let name = function_name(call, &is_function);
        let is_method = call.target.is_some() && !is_qualified_call(call, &is_function);
        if let Some(library) = foreign_library(call).filter(|_| is_method) {
            let message = format!("there is no function `{library}.{name}`: kro does not have the library `{library}`");
            self.findings.push(Finding { node, category: "unknown-function", message, function: Some(name), meant: None });
            return StaticType::Dyn;
        }
        let mut arguments = Vec::with_capacity(call.args.len() + 1);
        if let Some(target) = call.target.as_deref().filter(|_| is_method) {
            arguments.push(self.infer(target));
        }
        arguments.extend(call.args.iter().map(|argument| self.infer(argument)));
        if is_operator(&name) {
            return self.operator(node, &name, &arguments);
        }
        let signatures = self.signatures;
        let candidates = if is_method { signatures.methods(&name) } else { signatures.functions(&name) };
        if let Some(candidates) = candidates {
            return self.overload(node, &name, candidates, &arguments, is_method);
        }
        self.unknown_function(node, &name, is_method);
        StaticType::Dyn
    }

    fn overload(
        &mut self,
        node: u64,
        name: &str,
        candidates: &[Signature],
        arguments: &[StaticType],
        is_method: bool,
    ) -> StaticType {
        let results: Vec<_> = candidates
            .iter()
            .filter(|candidate| candidate.accepts(arguments))
            .map(|candidate| candidate.result.clone())
            .collect();
        if results.is_empty() {
            let call = match arguments.split_first() {
                Some((receiver, rest)) if is_method => format!("{receiver}.{name}({})", list_of(rest)),
                _ => format!("{name}({})", list_of(arguments)),
            };
            let (message, function) = (format!("there is no `{call}`"), Some(name.to_owned()));
            self.findings.push(Finding { node, category: "cel-type", message, function, meant: None });
        }
        join(results)
    }

    fn unknown_function(&mut self, node: u64, name: &str, is_method: bool) {
        let (message, meant) = match self.signatures.other_way(name, is_method) {
            Some(example) => (format!("`{name}` is called like this: {example}"), None),
            None => (format!("there is no function `{name}`"), self.signatures.closest(name, is_method)),
        };
        self.findings.push(Finding { node, category: "unknown-function", message, function: Some(name.to_owned()), meant });
    }

    fn operator(&mut self, node: u64, operator: &str, arguments: &[StaticType]) -> StaticType {
        match (operator, arguments) {
            (operators::CONDITIONAL, [condition, then, otherwise]) => {
                self.expect_bool(node, condition);
                self.expect_agreement(node, "? :", then, otherwise);
                then.clone().join(otherwise)
            }
            (operators::LOGICAL_AND | operators::LOGICAL_OR, [left, right]) => {
                self.expect_bool(node, left);
                self.expect_bool(node, right);
                StaticType::Bool
            }
            (operators::LOGICAL_NOT, [operand]) => {
                self.expect_bool(node, operand);
                StaticType::Bool
            }
            (operators::EQUALS | operators::NOT_EQUALS, [left, right]) => {
                self.expect_agreement(node, symbol(operator), left, right);
                StaticType::Bool
            }
            (operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS, [left, right]) => {
                if !(left.is_ordered() && right.is_ordered() && left.agrees_with(right)) {
                    self.no_operator(node, symbol(operator), left, right);
                }
                StaticType::Bool
            }
            (operators::IN, [item, container]) => self.contains(node, item, container),
            (operators::INDEX, [container, index]) => self.index(node, container, index),
            (RANGE, [range]) => StaticType::list(element_type(range)),
            (operators::NEGATE | TEXT, [operand]) => operand.clone(),
            (PAIRS, _) => StaticType::list(StaticType::list(StaticType::Dyn)),
            (_, [left, right]) => self.arithmetic(node, operator, left, right),
            _ => StaticType::Dyn,
        }
    }

    fn contains(&mut self, node: u64, item: &StaticType, container: &StaticType) -> StaticType {
        match container {
            StaticType::List(element) if item.agrees_with(element) => {}
            StaticType::Map(key, _) if item.agrees_with(key) => {}
            StaticType::Dyn => {}
            _ => self.no_operator(node, "in", item, container),
        }
        StaticType::Bool
    }

    fn index(&mut self, node: u64, container: &StaticType, index: &StaticType) -> StaticType {
        match container {
            StaticType::List(item) if index.agrees_with(&StaticType::Int) => (**item).clone(),
            StaticType::Map(key, value) if index.agrees_with(key) => (**value).clone(),
            StaticType::Dyn | StaticType::Optional(_) => StaticType::Dyn,
            _ => {
                self.mismatch(node, format!("a value of the type {container} has no index of the type {index}"));
                StaticType::Dyn
            }
        }
    }

    fn arithmetic(&mut self, node: u64, operator: &str, left: &StaticType, right: &StaticType) -> StaticType {
        match operator {
            operators::OPT_SELECT | operators::OPT_INDEX => return StaticType::Optional(Box::new(StaticType::Dyn)),
            _ if operator.starts_with('@') => return StaticType::Dyn,
            _ => {}
        }
        let result = arithmetic_result(operator, left, right);
        if result.is_none() && *left != StaticType::Dyn && *right != StaticType::Dyn {
            self.no_operator(node, symbol(operator), left, right);
        }
        result.unwrap_or(StaticType::Dyn)
    }

    fn comprehension(&mut self, comprehension: &ComprehensionExpr) -> StaticType {
        let range = self.infer(&comprehension.iter_range);
        let initial = self.infer(&comprehension.accu_init);
        let is_binding = comprehension.iter_var == UNUSED;
        let outer = self.scope.len();
        self.scope.push((comprehension.accu_var.clone(), initial));
        if !is_binding {
            self.scope.push((comprehension.iter_var.clone(), element_type(&range)));
            self.infer(&comprehension.loop_cond);
            self.infer(&comprehension.loop_step);
            self.scope.truncate(outer + 1);
        }
        let result = self.infer(&comprehension.result);
        self.scope.truncate(outer);
        result
    }

    fn expect_bool(&mut self, node: u64, found: &StaticType) {
        if !matches!(found, StaticType::Bool | StaticType::Dyn) {
            self.mismatch(node, format!("a bool is needed here, this is {found}"));
        }
    }

    fn expect_agreement(&mut self, node: u64, operator: &str, left: &StaticType, right: &StaticType) {
        if !left.agrees_with(right) {
            self.no_operator(node, operator, left, right);
        }
    }

    fn no_operator(&mut self, node: u64, operator: &str, left: &StaticType, right: &StaticType) {
        self.mismatch(node, format!("`{operator}` does not go with {left} and {right}"));
    }

    fn mismatch(&mut self, node: u64, message: String) {
        self.findings.push(Finding { node, category: "cel-type", message, function: None, meant: None });
    }
}

/// The type of `left + right` and its like, where it is certain.
fn arithmetic_result(operator: &str, left: &StaticType, right: &StaticType) -> Option<StaticType> {
    use StaticType::{Bytes, Double, Duration, Dyn, Int, List, String, Timestamp, Uint};
    match (left, right) {
        (Int, Int) => Some(Int),
        (Uint, Uint) => Some(Uint),
        (Double, Double) if operator != operators::MODULO => Some(Double),
        // Text goes with text only, so one side tells.
        (String, String | Dyn) | (Dyn, String) if operator == operators::ADD => Some(String),
        (Bytes, Bytes) if operator == operators::ADD => Some(Bytes),
        (List(_), List(_)) if operator == operators::ADD && left.agrees_with(right) => Some(left.clone().join(right)),
        (Timestamp, Duration) if matches!(operator, operators::ADD | operators::SUBSTRACT) => Some(Timestamp),
        (Duration, Timestamp) if operator == operators::ADD => Some(Timestamp),
        (Duration, Duration) if matches!(operator, operators::ADD | operators::SUBSTRACT) => Some(Duration),
        (Timestamp, Timestamp) if operator == operators::SUBSTRACT => Some(Duration),
        _ => None,
    }
}

/// A CEL library that kro leaves out, if a call is one of it.
fn foreign_library(call: &CallExpr) -> Option<&str> {
    const LIBRARIES: [&str; 5] = ["sets", "math", "regex", "proto", "format"];
    match &call.target.as_deref()?.expr {
        Expr::Ident(name) if LIBRARIES.contains(&name.as_str()) => Some(name),
        _ => None,
    }
}

fn literal_type(literal: &LiteralValue) -> StaticType {
    match literal {
        LiteralValue::Boolean(_) => StaticType::Bool,
        LiteralValue::Bytes(_) => StaticType::Bytes,
        LiteralValue::Double(_) => StaticType::Double,
        LiteralValue::Int(_) => StaticType::Int,
        LiteralValue::Null => StaticType::Null,
        LiteralValue::String(_) => StaticType::String,
        LiteralValue::UInt(_) => StaticType::Uint,
    }
}

fn element_type(range: &StaticType) -> StaticType {
    match range {
        StaticType::List(item) => (**item).clone(),
        StaticType::Map(key, _) => (**key).clone(),
        _ => StaticType::Dyn,
    }
}

/// The one type that all have, else anything.
fn join(types: Vec<StaticType>) -> StaticType {
    types.into_iter().reduce(|all, one| all.join(&one)).unwrap_or(StaticType::Dyn)
}

fn list_of(types: &[StaticType]) -> String {
    types.iter().map(StaticType::to_string).collect::<Vec<_>>().join(", ")
}

/// `==` for `_==_`.
fn symbol(operator: &str) -> &str {
    operator.trim_matches(['_', '@'])
}
