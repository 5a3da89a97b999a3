//! Diagnostics for people, with the line they are about, and for programs.

use super::style::{clean, plural};
use crate::graph::diagnostic::{Diagnostic, Location, Severity};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use serde::Serialize;
use std::fmt::{self, Write};

/// Longest line that is shown with its label; longer ones (a document on one line) are shown by their place alone.
const LONGEST_LINE: usize = 500;

/// More diagnostics than these are counted, not shown.
const MOST: usize = 50;

/// A diagnostic for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiagnosticJson {
    severity: Severity,
    code: String,
    category: &'static str,
    message: String,
    file: Option<String>,
    line: Option<usize>,
    column: Option<usize>,
    suggestion: Option<String>,
}

impl From<&Diagnostic> for DiagnosticJson {
    fn from(diagnostic: &Diagnostic) -> Self {
        let location = diagnostic.location.as_ref();
        Self {
            severity: diagnostic.severity,
            code: code(diagnostic),
            category: diagnostic.category,
            message: diagnostic.message.clone(),
            file: location.map(|location| location.file.name.clone()),
            line: location.map(|location| location.line),
            column: location.map(|location| location.column),
            suggestion: diagnostic.suggestion.clone(),
        }
    }
}

/// `fleetctl::unknown-field`.
fn code(diagnostic: &Diagnostic) -> String {
    format!("fleetctl::{}", diagnostic.category)
}

/// The diagnostics without repetitions: by file and place, those without a place first.
pub fn sorted<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Vec<&'a Diagnostic> {
    let mut sorted: Vec<&'a Diagnostic> = Vec::new();
    for diagnostic in diagnostics {
        if !sorted.contains(&diagnostic) {
            sorted.push(diagnostic);
        }
    }
    // Stable: files stay in the order in which they are first mentioned.
    let files: Vec<String> = sorted.iter().filter_map(|found| Some(found.location.as_ref()?.file.name.clone())).collect();
    sorted.sort_by_key(|found| {
        found.location.as_ref().map(|place| (files.iter().position(|name| *name == place.file.name), place.offset))
    });
    sorted
}

/// The diagnostics as text.
pub fn render(diagnostics: &[&Diagnostic], colored: bool) -> String {
    let theme = if colored { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler =
        GraphicalReportHandler::new_themed(theme).with_links(false).with_wrap_lines(false).without_syntax_highlighting();
    let mut text = String::new();
    for diagnostic in diagnostics.iter().take(MOST) {
        let report = Report { diagnostic, source: source(diagnostic) };
        if handler.render_report(&mut text, &report).is_err() {
            // Only a bug in a source span makes rendering fail; the message must not be lost with it.
            text.push_str(&report.to_string());
        }
        text.push('\n');
    }
    if diagnostics.len() > MOST {
        let more = plural(diagnostics.len() - MOST, "more problem");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "… and {more}\n");
    }
    text
}

/// `2 errors, 1 warning`; empty if there is neither.
pub fn count(diagnostics: &[&Diagnostic]) -> String {
    let of = |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let counts = [(of(Severity::Error), "error"), (of(Severity::Warning), "warning")];
    counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| plural(count, noun)).collect::<Vec<_>>().join(", ")
}

/// The source that the label is shown in, where it can be shown.
fn source(diagnostic: &Diagnostic) -> Option<NamedSource<String>> {
    let location = diagnostic.location.as_ref()?;
    let is_short = location.file.text.lines().nth(location.line.saturating_sub(1)).unwrap_or("").len() <= LONGEST_LINE;
    let is_inside = location.offset + location.length <= location.file.text.len();
    (is_short && is_inside).then(|| NamedSource::new(location.file.name.clone(), clean_source(&location.file.text)))
}

/// Control characters would move the cursor; what takes their place has the same length in bytes.
fn clean_source(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => cleaned.push(c),
            _ if c.is_control() => cleaned.extend(std::iter::repeat_n('?', c.len_utf8())),
            _ => cleaned.push(c),
        }
    }
    cleaned
}

/// A diagnostic as miette wants it.
struct Report<'a> {
    diagnostic: &'a Diagnostic,
    source: Option<NamedSource<String>>,
}

impl Report<'_> {
    fn location(&self) -> Option<&Location> {
        self.diagnostic.location.as_ref()
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (None, Some(location)) = (&self.source, self.location()) {
            write!(formatter, "{location}: ")?;
        }
        formatter.write_str(&clean(&self.diagnostic.message))
    }
}

impl fmt::Debug for Report<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for Report<'_> {}

impl miette::Diagnostic for Report<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(code(self.diagnostic)))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.diagnostic.suggestion.as_ref().map(|suggestion| Box::new(clean(suggestion)) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let location = self.location().filter(|_| self.source.is_some())?;
        let length = first_line_length(location);
        Some(Box::new(std::iter::once(LabeledSpan::new(None, location.offset, length))))
    }
}

/// A label covers one line: the place of a mapping is the whole mapping.
fn first_line_length(location: &Location) -> usize {
    location.text().find(['\n', '\r']).unwrap_or(location.length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::diagnostic::SourceFile;

    fn at(text: &str, written: &str) -> Location {
        let offset = text.find(written).unwrap();
        let before = &text[..offset];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Location { file: SourceFile::new("cluster.yaml", text), line, column, offset, length: written.len() }
    }

    const TEXT: &str = "kind: EksCluster\nspec:\n  vpcc:\n    create: true\n  region: eu-west-1\n";

    #[test]
    fn a_diagnostic_shows_its_line_and_what_to_write_instead() {
        let place = at(TEXT, "vpcc:\n    create: true");
        let error = Diagnostic::error("unknown-field", "unknown field `vpcc`").at(&place).suggest("did you mean `vpc`?");
        let warning = Diagnostic::warning("drift", "no place");
        insta::assert_snapshot!(render(&[&error, &warning], false), @"
        fleetctl::unknown-field

          × unknown field `vpcc`
           ╭─[cluster.yaml:3:3]
         2 │ spec:
         3 │   vpcc:
           ·   ─────
         4 │     create: true
           ╰────
          help: did you mean `vpc`?

        fleetctl::drift

          ⚠ no place
        ");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let text = "a: \u{1b}[2Jx\n";
        let error = Diagnostic::error("x", "bad `\u{1b}[2J`").at(&at(text, "a"));
        assert!(!render(&[&error], false).contains('\u{1b}'));
    }

    #[test]
    fn a_document_on_one_line_is_not_shown() {
        let text = format!("{{\"a\": \"{}\"}}", "x".repeat(1000));
        let error = Diagnostic::error("x", "bad").at(&at(&text, "\"a\""));
        insta::assert_snapshot!(render(&[&error], false), @"
        fleetctl::x

          × cluster.yaml:1:2: bad
        ");
    }

    #[test]
    fn diagnostics_are_in_order_and_not_repeated() {
        let second = Diagnostic::error("x", "second").at(&at(TEXT, "region"));
        let first = Diagnostic::warning("x", "first").at(&at(TEXT, "vpcc"));
        let general = Diagnostic::error("x", "general");
        let all = [second.clone(), first, second, general];
        let messages: Vec<_> = sorted(&all).iter().map(|found| found.message.as_str()).collect();
        assert_eq!(messages, ["general", "first", "second"]);
        assert_eq!(count(&sorted(&all)), "2 errors, 1 warning");
    }

    #[test]
    fn the_machine_form_has_every_field() {
        let error = Diagnostic::error("unknown-field", "unknown field `vpcc`").at(&at(TEXT, "vpcc"));
        insta::assert_json_snapshot!(DiagnosticJson::from(&error), @r#"
        {
          "severity": "error",
          "code": "fleetctl::unknown-field",
          "category": "unknown-field",
          "message": "unknown field `vpcc`",
          "file": "cluster.yaml",
          "line": 3,
          "column": 3,
          "suggestion": null
        }
        "#);
    }
}
