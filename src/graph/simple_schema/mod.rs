//! `SimpleSchema`: kro's short way to write the schema of an instance (kro.md 2), and the admission of instances.
//!
//! A field reads `string | required=true default="a"`: `types` reads what stands before the bar, `markers` what stands
//! behind it, `apply` makes limits of the markers, `build` puts fields and custom types together. `admission` fills in
//! defaults and checks values.

mod admission;
mod apply;
mod build;
mod limits;
mod markers;
mod types;

use super::diagnostic::Diagnostic;
use super::schema::Schema;
use super::yaml::Node;
use serde_json::Value;

/// Reads the schema of a `spec` block with its custom `types`. All problems are reported, with the categories of kro's
/// checks (`type-*`, `marker-*`, `map-*`, `schema-field-type`).
pub fn schema(spec: Option<&Node>, types: Option<&Node>) -> Result<Schema, Vec<Diagnostic>> {
    build::schema(spec, types)
}

/// Applies defaults to an instance's spec and checks it (kro.md 2.4, 2.5). Unlike kro, unknown fields are errors, and so
/// is a missing required field where there is no spec at all. The path in a problem is dotted and starts below `spec`.
pub fn admit(schema: &Schema, spec: &Value) -> Result<Value, Vec<AdmissionProblem>> {
    admission::admit(schema, spec, None)
}

/// The same for an instance that is there already, with the spec that was admitted for it. A value that has not changed
/// keeps to be accepted where the limits on it have become narrower; an immutable field may come and go, but not change.
pub fn admit_change(schema: &Schema, spec: &Value, old: &Value) -> Result<Value, Vec<AdmissionProblem>> {
    admission::admit(schema, spec, Some(old))
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
pub fn locate(problems: Vec<AdmissionProblem>, spec: &Node) -> Vec<Diagnostic> {
    admission::locate(problems, spec)
}

#[cfg(test)]
pub(super) use markers::parse as parse_markers;

#[cfg(test)]
mod tests;
