//! Source positions and diagnostics. Every problem that a document can have becomes a [`Diagnostic`].

use std::fmt;
use std::sync::Arc;

/// A text that documents were read from.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// What users know it by: a path as they wrote it, `<stdin>`, or `built-in:vpc.yaml`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl SourceFile {
    /// Makes a shared source file.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into() })
    }
}

/// A place in a source file.
#[derive(Clone, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: Arc<SourceFile>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Offset of the first byte in the file's text.
    pub offset: usize,
    /// Length in bytes; 0 where only a point is known.
    pub length: usize,
}

impl Location {
    /// The place of a part of the text that the location covers, by byte offset and length; the location itself where
    /// there is no such part.
    #[must_use]
    pub fn part(&self, start: usize, length: usize) -> Self {
        let Some(before) = self.text().get(..start) else { return self.clone() };
        let (line, column) = match before.rsplit_once('\n') {
            Some((_, last)) => (self.line + before.matches('\n').count(), last.chars().count() + 1),
            None => (self.line, self.column + before.chars().count()),
        };
        Self { file: Arc::clone(&self.file), line, column, offset: self.offset + start, length }
    }

    /// The text that the location covers, or the empty string.
    pub fn text(&self) -> &str {
        self.file.text.get(self.offset..self.offset.saturating_add(self.length)).unwrap_or("")
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file.name, self.line, self.column)
    }
}

/// How bad a diagnostic is. Errors stop everything before the first call to AWS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document cannot be used.
    Error,
    /// It can, but probably not as meant.
    Warning,
}

/// One problem of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable word for the problem, kebab-case. For the graph language these are the categories of kro's checks
    /// (`unknown-field`, `cycle`, …); others: `yaml-syntax`, `duplicate-key`, `missing-input`, `impossible-value`, ….
    pub category: &'static str,
    /// What is wrong, one sentence that quotes the offending text.
    pub message: String,
    /// Where, when known.
    pub location: Option<Location>,
    /// What was expected, or what to write instead.
    pub suggestion: Option<String>,
}

impl Diagnostic {
    /// An error without a place.
    pub fn error(category: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, category, message: message.into(), location: None, suggestion: None }
    }

    /// A warning without a place.
    pub fn warning(category: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(category, message) }
    }

    /// The same with a place.
    #[must_use]
    pub fn at(mut self, location: &Location) -> Self {
        self.location = Some(location.clone());
        self
    }

    /// The same with a suggestion.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// The same with "did you mean" when one of the candidates is close to what was written.
    #[must_use]
    pub fn suggest_closest<'a>(self, written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        match closest(written, candidates) {
            Some(candidate) => self.suggest(format!("did you mean `{candidate}`?")),
            None => self,
        }
    }
}

/// The candidate that is most like what was written, if any is near enough to be meant.
#[must_use]
pub fn closest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const NEAR_ENOUGH: f64 = 0.8;
    let written = written.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (likeness(&written, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= NEAR_ENOUGH)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, candidate)| candidate)
}

/// One slip of the finger is near, however short the words are.
fn likeness(written: &str, candidate: &str) -> f64 {
    const ONE_SLIP: f64 = 0.9;
    let like = strsim::jaro_winkler(written, candidate);
    if written.len() > 2 && strsim::osa_distance(written, candidate) == 1 { like.max(ONE_SLIP) } else { like }
}
