//! SimpleSchema: kro's short way to write the schema of an instance (kro.md 2), and the admission of instances.

use super::diagnostic::Diagnostic;
use super::schema::Schema;
use super::yaml::Node;
use serde_json::Value;

/// Reads the schema of a `spec` block with its custom `types`. All problems are reported, with the categories of kro's
/// checks (`type-*`, `marker-*`, `map-key-not-string`, `schema-field-type`).
pub fn schema(_spec: Option<&Node>, _types: Option<&Node>) -> Result<Schema, Vec<Diagnostic>> {
    todo!()
}

/// Applies defaults to an instance's spec and checks it (kro.md 2.4, 2.5). Unlike kro, unknown fields are errors. The
/// path in a problem is dotted and starts below `spec`.
pub fn admit(_schema: &Schema, _spec: &Value) -> Result<Value, Vec<AdmissionProblem>> {
    todo!()
}

/// A problem of an instance's spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionProblem {
    /// Path below `spec`: `vpc.create`; empty for the spec itself.
    pub path: String,
    /// `required`, `type`, `unknown-field`, `enum`, `pattern`, `minimum`, ….
    pub category: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub suggestion: Option<String>,
}

/// Turns admission problems into diagnostics at the places of an instance document.
pub fn locate(_problems: Vec<AdmissionProblem>, _spec: &Node) -> Vec<Diagnostic> {
    todo!()
}
