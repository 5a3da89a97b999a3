//! What an expression reads and calls, from its syntax tree.

use super::{Read, Segment};
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators};
use indexmap::IndexSet;
use std::collections::BTreeSet;

/// Free variables with the paths that are read of them, and names of functions.
pub(super) fn collect(tree: &IdedExpr, is_function: &dyn Fn(&str) -> bool) -> (Vec<Read>, Vec<String>) {
    let mut walker = Walker { is_function, scope: Vec::new(), reads: IndexSet::new(), functions: BTreeSet::new() };
    walker.walk(tree);
    (walker.reads.into_iter().collect(), walker.functions.into_iter().collect())
}

/// `lists.range` of the call `lists.range(3)`, if there is a function of that name; else `f` of `f(x)` and of `x.f()`.
pub(super) fn function_name(call: &CallExpr, is_function: &dyn Fn(&str) -> bool) -> String {
    let qualified = call.target.as_deref().and_then(qualified_name).map(|target| format!("{target}.{}", call.func_name));
    let name = qualified.filter(|name| is_function(name)).unwrap_or_else(|| call.func_name.clone());
    name.trim_start_matches('.').to_owned()
}

/// Whether a call with a target calls a function with a dotted name, not a method.
pub(super) fn is_qualified_call(call: &CallExpr, is_function: &dyn Fn(&str) -> bool) -> bool {
    call.target.is_some() && function_name(call, is_function) != call.func_name
}

/// Whether a call is an operator or something that macros expand to.
pub(super) fn is_operator(function: &str) -> bool {
    const OPERATORS: [&str; 19] = [
        operators::CONDITIONAL,
        operators::LOGICAL_AND,
        operators::LOGICAL_OR,
        operators::LOGICAL_NOT,
        operators::SUBSTRACT,
        operators::ADD,
        operators::MULTIPLY,
        operators::DIVIDE,
        operators::MODULO,
        operators::EQUALS,
        operators::NOT_EQUALS,
        operators::GREATER_EQUALS,
        operators::LESS_EQUALS,
        operators::GREATER,
        operators::LESS,
        operators::NEGATE,
        operators::INDEX,
        operators::OPT_INDEX,
        operators::OPT_SELECT,
    ];
    function.starts_with('@') || OPERATORS.contains(&function)
}

fn qualified_name(tree: &IdedExpr) -> Option<String> {
    match &tree.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => Some(format!("{}.{}", qualified_name(&select.operand)?, select.field)),
        _ => None,
    }
}

struct Walker<'a> {
    is_function: &'a dyn Fn(&str) -> bool,
    /// Variables of comprehensions and bindings around the current place.
    scope: Vec<String>,
    reads: IndexSet<Read>,
    functions: BTreeSet<String>,
}

impl Walker<'_> {
    fn walk(&mut self, tree: &IdedExpr) {
        if let Some(read) = path(tree) {
            self.note(read);
            return;
        }
        match &tree.expr {
            Expr::Call(call) => self.walk_call(call),
            Expr::Comprehension(comprehension) => self.walk_comprehension(comprehension),
            Expr::List(list) => list.elements.iter().for_each(|element| self.walk(element)),
            Expr::Map(map) => map.entries.iter().for_each(|entry| self.walk_entry(&entry.expr)),
            Expr::Struct(message) => message.entries.iter().for_each(|entry| self.walk_entry(&entry.expr)),
            Expr::Select(SelectExpr { operand, .. }) => self.walk(operand),
            Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
        }
    }

    fn walk_call(&mut self, call: &CallExpr) {
        if !is_operator(&call.func_name) {
            self.functions.insert(function_name(call, self.is_function));
        }
        if let Some(target) = &call.target
            && !is_qualified_call(call, self.is_function)
        {
            self.walk(target);
        }
        call.args.iter().for_each(|argument| self.walk(argument));
    }

    fn walk_entry(&mut self, entry: &EntryExpr) {
        match entry {
            EntryExpr::StructField(field) => self.walk(&field.value),
            EntryExpr::MapEntry(entry) => {
                self.walk(&entry.key);
                self.walk(&entry.value);
            }
        }
    }

    /// The range and the start value see no variable of the comprehension, the result sees the accumulator only.
    fn walk_comprehension(&mut self, comprehension: &ComprehensionExpr) {
        self.walk(&comprehension.iter_range);
        self.walk(&comprehension.accu_init);
        let outer = self.scope.len();
        self.scope.push(comprehension.accu_var.clone());
        let with_accumulator = self.scope.len();
        self.scope.push(comprehension.iter_var.clone());
        self.scope.extend(comprehension.iter_var2.clone());
        self.walk(&comprehension.loop_cond);
        self.walk(&comprehension.loop_step);
        self.scope.truncate(with_accumulator);
        self.walk(&comprehension.result);
        self.scope.truncate(outer);
    }

    fn note(&mut self, read: Read) {
        // A leading dot skips the variables of comprehensions.
        if let Some(absolute) = read.root.strip_prefix('.') {
            self.reads.insert(Read { root: absolute.to_owned(), ..read });
        } else if !self.scope.contains(&read.root) && !read.root.starts_with(['@', '#']) {
            self.reads.insert(read);
        }
    }
}

/// The path that an expression is, if it is one to its end: `a.b['c'][0].?d`.
fn path(tree: &IdedExpr) -> Option<Read> {
    match &tree.expr {
        Expr::Ident(name) => Some(Read { root: name.clone(), path: Vec::new() }),
        Expr::Select(select) => extend(&select.operand, Segment::Field(select.field.clone())),
        Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT, [operand, index]) => {
                extend(operand, literal_segment(index)?)
            }
            _ => None,
        },
        _ => None,
    }
}

fn extend(operand: &IdedExpr, segment: Segment) -> Option<Read> {
    let mut read = path(operand)?;
    read.path.push(segment);
    Some(read)
}

fn literal_segment(index: &IdedExpr) -> Option<Segment> {
    match &index.expr {
        Expr::Literal(LiteralValue::String(key)) => Some(Segment::Field(key.inner().to_owned())),
        Expr::Literal(LiteralValue::Int(index)) => usize::try_from(*index.inner()).ok().map(Segment::Index),
        _ => None,
    }
}
