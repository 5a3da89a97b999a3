//! CEL expressions: compiled once, with the paths that they read.

use super::diagnostic::{Diagnostic, Location};
use serde_json::Value;

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Expression {
    /// The CEL source.
    pub source: String,
    /// Where the source stands in its document.
    pub location: Location,
    /// Every path of a free variable that the expression reads (comprehension and bind variables are not free).
    pub reads: Vec<Read>,
}

/// A path that an expression reads: `vpc.status.vpcID`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Read {
    /// The variable: `schema`, or the id of a node.
    pub root: String,
    /// The fields below it, as far as they are literal (`['k']` and `.?k` count, an index that is not a literal ends the
    /// path).
    pub path: Vec<Segment>,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment {
    /// A field or key.
    Field(String),
    /// An item of a list.
    Index(usize),
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// The data is not there yet (kro.md 3.8: no such key, field or attribute, index out of bounds).
    #[error("not there yet: {0}")]
    Pending(String),
    /// Everything else.
    #[error("{0}")]
    Fatal(String),
}

/// Values of the free variables of an expression.
pub type Variables<'a> = Vec<(&'a str, &'a Value)>;

impl Expression {
    /// Compiles a CEL source. Errors: `cel-syntax` with the place inside the expression, `cel-too-long`,
    /// `unknown-function`.
    pub fn compile(_source: &str, _location: &Location) -> Result<Self, Diagnostic> {
        todo!()
    }

    /// Evaluates with the given variables and converts the result as kro does (kro.md 3.6). Null stays null.
    pub fn evaluate(&self, _variables: &Variables<'_>) -> Result<Value, EvaluationError> {
        todo!()
    }
}
