//! CEL expressions: compiled once, with the paths that they read.
//!
//! Parsing, stack limits and diagnostics are in `compile`, the paths in `reads`, what can be said of types without a
//! schema in `check`. `environment` puts kro's functions together (`functions`, one file a library) with the macros
//! (`macros`); `convert` turns JSON into CEL values and back, `failure` tells pending from fatal.

mod check;
mod compile;
mod convert;
mod environment;
mod failure;
mod functions;
mod macros;
mod reads;
mod types;

use super::diagnostic::{Diagnostic, Location};
use super::schema::Shape;
use cel::common::ast::IdedExpr;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use types::StaticType;

/// A compiled expression.
#[derive(Clone)]
pub struct Expression {
    /// The CEL source.
    pub source: String,
    /// Where the source stands in its document.
    pub location: Location,
    /// Every path of a free variable that the expression reads (comprehension and bind variables are not free). Type
    /// names count: kro knows no identifier `int`.
    pub reads: Vec<Read>,
    /// Names of the functions that it calls, sorted: `size`, `json.marshal`, `omit`, `runtime.newCondition`.
    pub functions: Vec<String>,
    program: Arc<Program>,
}

/// The function that every expression is an argument of: it turns the value into JSON.
const RESULT: &str = "@result_of";

/// What evaluation needs of an expression.
struct Program {
    /// The call of [`RESULT`].
    tree: IdedExpr,
    result: StaticType,
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
    /// The expression is `omit()`: the field or list item that it stands for is to be left out.
    #[error("omit() leaves a field of a template out; here there is none")]
    Omitted,
}

/// Values of the free variables of an expression.
pub type Variables<'a> = Vec<(&'a str, &'a Value)>;

impl Expression {
    /// Compiles a CEL source. Errors: `cel-syntax` with the place inside the expression, `cel-too-long` (in bytes or in
    /// levels), `unknown-function`, `cel-type` where types that are known without a schema cannot go together.
    pub fn compile(source: &str, location: &Location) -> Result<Self, Diagnostic> {
        let compiled = compile::compile(source, location)?;
        Ok(Self {
            source: source.to_owned(),
            location: location.clone(),
            reads: compiled.reads,
            functions: compiled.functions,
            program: Arc::new(Program { tree: compiled.tree, result: compiled.result }),
        })
    }

    /// Evaluates with the given variables and converts the result as kro does (kro.md 3.6). Null stays null; keys of
    /// mappings are sorted.
    pub fn evaluate(&self, variables: &Variables<'_>) -> Result<Value, EvaluationError> {
        let mut context = environment::context().map_err(EvaluationError::Fatal)?;
        for (name, value) in variables {
            if self.reads.iter().any(|read| read.root == *name) {
                context.add_variable_as_val(*name, convert::from_json(value)?);
            }
        }
        // On this very stack, whichever it is: compilation refuses trees that are too deep for it.
        let value = cel::Value::resolve(&self.program.tree, &context).map_err(failure::classify)?;
        functions::take_result(&value)
    }

    /// The shape of the value, as far as it is certain without a schema.
    pub(crate) fn certain_shape(&self) -> Option<Shape> {
        self.program.result.shape()
    }

    /// What the value is called, if it is certain without a schema that it is no text.
    pub(crate) fn certainly_no_text(&self) -> Option<String> {
        match &self.program.result {
            StaticType::Dyn | StaticType::String => None,
            other => Some(other.to_string()),
        }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "${{{}}} at {}", self.source, self.location)
    }
}

impl Read {
    /// The path as CEL writes it: `vpc.status.conditions[0]`.
    pub fn dotted(&self) -> String {
        let mut path = self.root.clone();
        for segment in &self.path {
            match segment {
                Segment::Field(name) => super::tree::push_field(&mut path, name),
                Segment::Index(index) => super::tree::push_index(&mut path, *index),
            }
        }
        path
    }
}

impl fmt::Display for Read {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.dotted())
    }
}

#[cfg(test)]
mod tests;
