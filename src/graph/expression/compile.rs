//! From the source of an expression to a checked syntax tree.

use super::check::{self, Finding};
use super::environment::{Environment, environment};
use super::reads;
use super::types::StaticType;
use super::{RESULT, Read};
use crate::graph::diagnostic::{Diagnostic, Location};
use crate::graph::stack::with_large_stack;
use cel::ParseErrors;
use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, SourceInfo};

/// The parser takes some 2 KiB of stack for every link of a chain of operators or calls, and a link needs two bytes at
/// least: 8 KiB of source stay far below the 64 MiB that parsing has.
const MAX_SOURCE_BYTES: usize = 8 << 10;

/// Levels of nesting, in the source and in the tree. A tree of 250 levels takes less than half a MiB of stack to evaluate
/// and to drop, so that may happen on any thread. cel-go's own limit is 250, too.
const MAX_DEPTH: u16 = 250;

/// A compiled expression.
pub(super) struct Compiled {
    pub(super) tree: IdedExpr,
    pub(super) reads: Vec<Read>,
    pub(super) functions: Vec<String>,
    pub(super) result: StaticType,
}

/// Parses and checks a source.
pub(super) fn compile(source: &str, location: &Location) -> Result<Compiled, Diagnostic> {
    if source.len() > MAX_SOURCE_BYTES {
        let message = format!("the expression has {} bytes; it may have {MAX_SOURCE_BYTES}", source.len());
        return Err(Diagnostic::error("cel-too-long", message).at(location));
    }
    let broken = |message| Diagnostic::error("out-of-resources", message).at(location);
    let environment = environment().map_err(broken)?;
    let compiled = with_large_stack(|| parse_and_check(source, location, environment));
    compiled.ok_or_else(|| broken("the system gives no thread to parse expressions on".to_owned()))?
}

fn parse_and_check(source: &str, location: &Location, environment: &Environment) -> Result<Compiled, Diagnostic> {
    let parser = environment.parser().max_recursion_depth(MAX_DEPTH);
    let (tree, positions) = parser.parse_with_source_info(source).map_err(|errors| syntax_error(source, location, &errors))?;
    if is_deeper_than(&tree, MAX_DEPTH.into()) {
        return Err(too_deep(location));
    }
    let signatures = &environment.signatures;
    let (result, findings) = check::check(&tree, signatures);
    if let Some(finding) = findings.into_iter().next() {
        return Err(report(finding, source, location, &positions));
    }
    let (reads, functions) = reads::collect(&tree, &|name| signatures.is_function(name));
    let call = CallExpr { func_name: RESULT.to_owned(), target: None, args: vec![tree] };
    Ok(Compiled { tree: IdedExpr { id: 0, expr: Expr::Call(call) }, reads, functions, result })
}

/// Measures without recursion: the tree may be too deep for that.
fn is_deeper_than(tree: &IdedExpr, limit: usize) -> bool {
    let mut open = vec![(tree, 1)];
    while let Some((tree, depth)) = open.pop() {
        if depth > limit {
            return true;
        }
        children(&tree.expr, &mut |child| open.push((child, depth + 1)));
    }
    false
}

fn children<'e>(expression: &'e Expr, visit: &mut dyn FnMut(&'e IdedExpr)) {
    let visit_entry = |entry: &'e EntryExpr, visit: &mut dyn FnMut(&'e IdedExpr)| match entry {
        EntryExpr::StructField(field) => visit(&field.value),
        EntryExpr::MapEntry(entry) => {
            visit(&entry.key);
            visit(&entry.value);
        }
    };
    match expression {
        Expr::Call(call) => {
            call.target.iter().for_each(|target| visit(target));
            call.args.iter().for_each(visit);
        }
        Expr::Comprehension(comprehension) => {
            visit(&comprehension.iter_range);
            visit(&comprehension.accu_init);
            visit(&comprehension.loop_cond);
            visit(&comprehension.loop_step);
            visit(&comprehension.result);
        }
        Expr::List(list) => list.elements.iter().for_each(visit),
        Expr::Map(map) => map.entries.iter().for_each(|entry| visit_entry(&entry.expr, visit)),
        Expr::Struct(message) => message.entries.iter().for_each(|entry| visit_entry(&entry.expr, visit)),
        Expr::Select(select) => visit(&select.operand),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}

/// The first error of the parser. Its own way to print errors is not used: it panics on columns above 65,535.
fn syntax_error(source: &str, location: &Location, errors: &ParseErrors) -> Diagnostic {
    if errors.errors.iter().any(|error| error.msg.contains("Recursion limit")) {
        return too_deep(location);
    }
    let Some(error) = errors.errors.first() else {
        return Diagnostic::error("cel-syntax", "the expression is not valid CEL").at(location);
    };
    let offset = offset_of(source, error.pos.0, error.pos.1);
    let message = if source.trim().is_empty() { "the expression is empty".to_owned() } else { tidy(&error.msg) };
    Diagnostic::error("cel-syntax", message).at(&place(location, source, offset, 1))
}

fn too_deep(location: &Location) -> Diagnostic {
    Diagnostic::error("cel-too-long", format!("the expression is nested more than {MAX_DEPTH} levels deep")).at(location)
}

fn report(finding: Finding, source: &str, location: &Location, positions: &SourceInfo) -> Diagnostic {
    let mut offset = positions.offset_for(finding.node).and_then(|(start, _)| usize::try_from(start).ok()).unwrap_or(0);
    let name = finding.function.as_deref().and_then(|name| name.rsplit('.').next()).unwrap_or("");
    if source.get(..offset).is_some_and(|before| before.ends_with(name)) {
        offset -= name.len();
    }
    let at = place(location, source, offset, name.len().max(1));
    let problem = Diagnostic::error(finding.category, finding.message).at(&at);
    match finding.meant {
        Some(meant) => problem.suggest(format!("did you mean `{meant}`?")),
        None => problem,
    }
}

/// What the parser says, without its list of everything that could have stood there.
fn tidy(message: &str) -> String {
    let message = message.strip_prefix("Syntax error: ").unwrap_or(message);
    let quoted = |prefix: &str| {
        let rest = message.strip_prefix(prefix)?;
        let end = rest.find("' expecting").or_else(|| rest.rfind('\''))?;
        rest.get(..end)
    };
    let unexpected = quoted("mismatched input '")
        .or_else(|| quoted("extraneous input '"))
        .or_else(|| quoted("no viable alternative at input '"))
        .or_else(|| quoted("token recognition error at: '"));
    match unexpected {
        Some("<EOF>") => "the expression ends too early".to_owned(),
        Some(text) => format!("unexpected `{text}`"),
        None => message.to_owned(),
    }
}

/// Byte offset of a line and a column, both from 1, the column in characters.
fn offset_of(source: &str, line: isize, column: isize) -> usize {
    let before = |number: isize| usize::try_from(number.saturating_sub(1)).unwrap_or(0);
    let line_start: usize = source.split_inclusive('\n').take(before(line)).map(str::len).sum();
    let rest = source.get(line_start..).unwrap_or("");
    line_start + rest.char_indices().nth(before(column)).map_or(rest.trim_end().len(), |(offset, _)| offset)
}

/// The place of some bytes of the source in the document. The document's text may be indented where the source is not; if
/// it cannot be followed, the place is that of the whole expression.
fn place(location: &Location, source: &str, offset: usize, length: usize) -> Location {
    let text = location.text();
    let before = source.get(..offset).unwrap_or(source);
    let line = before.matches('\n').count();
    let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1);
    let (Some(source_line), Some(text_line)) = (source.split('\n').nth(line), text.split('\n').nth(line)) else {
        return location.clone();
    };
    if source.matches('\n').count() != text.matches('\n').count() {
        return location.clone();
    }
    let Some(indentation) = text_line.find(source_line) else { return location.clone() };
    let line_start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    // At least to the end of the first character, at most to the end of the line.
    let rest = source_line.get(column..).unwrap_or("");
    let length = (length..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
    location.part(line_start + indentation + column, length)
}
