//! Turns YAML text into nodes, and everything that is wrong with it into diagnostics.

use super::raw::{Raw, RawKey};
use super::{Key, Node, NodeValue};
use crate::graph::diagnostic::{Diagnostic, Location, SourceFile};
use serde_saphyr::options::{AliasLimits, DuplicateKeyPolicy};
use serde_saphyr::{Error, Spanned};
use std::collections::HashMap;
use std::sync::Arc;

const MAX_DEPTH: usize = 100;
const MAX_NODES: usize = 100_000;
const TOO_COMPLEX: &str = "yaml-too-complex";

/// Reads the text of a file from `start` on, which is the beginning of the file or of a document.
pub(super) struct Reader<'a> {
    pub(super) file: &'a Arc<SourceFile>,
    /// Offset of the text that is read.
    pub(super) start: usize,
    /// Lines before it.
    pub(super) lines: usize,
    pub(super) problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// Reads every document. A document that cannot be parsed ends its own reading, not that of the documents after it.
    pub(super) fn read(&mut self) -> Vec<Node> {
        let mut documents = Vec::new();
        while let Some(text) = self.file.text.get(self.start..) {
            match serde_saphyr::from_multiple_with_options::<Spanned<Raw>>(text, options()) {
                Ok(raw) => {
                    documents.extend(raw.into_iter().map(|document| self.node(document)));
                    break;
                }
                Err(error) => {
                    let line = self.report(&error);
                    let Some((offset, lines)) = next_document(&self.file.text, line) else { break };
                    (self.start, self.lines) = (offset, lines);
                }
            }
        }
        documents
    }

    fn node(&mut self, raw: Spanned<Raw>) -> Node {
        let location = self.location(raw.defined);
        let value = match raw.value {
            Raw::Null => NodeValue::Null,
            Raw::Boolean(value) => NodeValue::Boolean(value),
            Raw::Integer(value) => NodeValue::Integer(value),
            Raw::TooLarge => self.too_large_number(&location),
            Raw::Float(value) if is_whole_number(location.text()) && value.abs() > 9e18 => self.too_large_number(&location),
            Raw::Float(value) => NodeValue::Float(value),
            Raw::String(value) => NodeValue::String(value),
            Raw::Sequence(items) => NodeValue::Sequence(items.into_iter().map(|item| self.node(item)).collect()),
            Raw::Mapping(entries) => self.mapping(entries),
        };
        Node { value, location }
    }

    fn mapping(&mut self, raw: Vec<(Spanned<RawKey>, Spanned<Raw>)>) -> NodeValue {
        let mut entries: Vec<(Key, Node)> = Vec::with_capacity(raw.len());
        let mut seen: HashMap<String, usize> = HashMap::with_capacity(raw.len());
        for (key, value) in raw {
            let key = self.key(&key);
            let value = self.node(value);
            let Some(key) = key else { continue };
            if let Some(first) = seen.get(&key.text).and_then(|index| entries.get(*index)) {
                let first = &first.0.location;
                let message = format!(
                    "the key `{}` is here twice: first at line {}, column {}, and again at line {}, column {}",
                    key.text, first.line, first.column, key.location.line, key.location.column
                );
                self.problems.push(Diagnostic::error("duplicate-key", message).at(&key.location));
                continue;
            }
            seen.insert(key.text.clone(), entries.len());
            entries.push((key, value));
        }
        NodeValue::Mapping(entries)
    }

    fn key(&mut self, raw: &Spanned<RawKey>) -> Option<Key> {
        let location = self.location(raw.defined);
        let (text, is_text) = match &raw.value {
            RawKey::Text(text) => (text.clone(), true),
            RawKey::Boolean(value) => (value.to_string(), false),
            RawKey::Number => (location.text().to_owned(), false),
            RawKey::Other(what) => {
                let problem = Diagnostic::error("yaml-key", format!("a key has to be text, here it is {what}"));
                self.problems.push(problem.at(&location).suggest("quote the key"));
                return None;
            }
        };
        Some(Key { text, is_text, location })
    }

    fn too_large_number(&mut self, location: &Location) -> NodeValue {
        let message = format!("`{}` does not fit into 64 bits", location.text());
        self.problems.push(Diagnostic::error("yaml-number", message).at(location).suggest("quote it if it is text"));
        NodeValue::Null
    }

    fn location(&self, found: serde_saphyr::Location) -> Location {
        let span = found.span();
        let line = self.lines + to_usize(found.line());
        let column = to_usize(found.column());
        match (span.byte_offset(), span.byte_len()) {
            (Some(offset), Some(length)) => Location {
                file: Arc::clone(self.file),
                line,
                column,
                offset: self.start + to_usize(offset),
                length: to_usize(length),
            },
            _ => point(self.file, line, column),
        }
    }

    /// Reports an error of the parser; answers its line.
    fn report(&mut self, error: &Error) -> usize {
        let error = error.without_snippet();
        let location = error.location().map(|found| self.location(found));
        let (category, message) = describe(error);
        let mut problem = Diagnostic::error(category, message);
        let line = location.as_ref().map_or(usize::MAX, |location| location.line);
        if let Some(location) = location {
            if category == "yaml-syntax" && breaks_expression(&location) {
                let why = "unquoted, YAML takes `: `, ` #`, `{`, `[` and `,` in it for its own";
                problem = problem.suggest(format!("quote the expression: '${{…}}' or \"${{…}}\"; {why}"));
            }
            problem = problem.at(&location);
        }
        self.problems.push(problem);
        line
    }
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        legacy_octal_numbers: true,
        // All of them are reported, each with both places, instead of the first one.
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        with_snippet: false,
        alias_limits: alias_limits(),
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH, max_nodes: MAX_NODES },
    }
}

fn alias_limits() -> AliasLimits {
    serde_saphyr::alias_limits! { max_total_replayed_events: MAX_NODES }
}

fn describe(error: &Error) -> (&'static str, String) {
    match error {
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => {
            let limits = format!("more than {MAX_DEPTH} levels, or more than {MAX_NODES} values once aliases are followed");
            (TOO_COMPLEX, format!("the document is too complex: {limits}"))
        }
        Error::AliasError { error, .. } => describe(error),
        Error::NonFiniteFloat { value, .. } => ("yaml-number", format!("`{value}` is no number that JSON has")),
        _ => {
            let text = error.to_string();
            let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
            if message.contains("recursion limit") {
                return (TOO_COMPLEX, format!("the document is too complex: more than {MAX_DEPTH} levels"));
            }
            ("yaml-syntax", message.to_owned())
        }
    }
}

/// Whether the parser stumbled over a line that holds an expression.
fn breaks_expression(location: &Location) -> bool {
    let text = &location.file.text;
    let before = text.get(..location.offset).unwrap_or("");
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(line_start..).and_then(|rest| rest.lines().next()).unwrap_or("");
    line.contains("${")
}

fn is_whole_number(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
}

/// A place of which only line and column are known.
fn point(file: &Arc<SourceFile>, line: usize, column: usize) -> Location {
    let line_start: usize = file.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = file.text.get(line_start..).unwrap_or("");
    let within = rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(index, _)| index);
    Location { file: Arc::clone(file), line, column, offset: line_start + within, length: 0 }
}

/// Where the next document starts after a line: its offset and the number of lines before it.
fn next_document(text: &str, after_line: usize) -> Option<(usize, usize)> {
    let mut offset = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if index >= after_line && line.strip_prefix("---").is_some_and(|rest| rest.trim_start().len() < rest.len()) {
            return Some((offset, index));
        }
        offset += line.len();
    }
    None
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
