//! The outermost call of every expression: turns its value into JSON while the evaluator still has it.
//!
//! The evaluator can also hand a value out, but only through a function that is compiled into this crate, where an
//! unoptimised build needs more than 10 KiB of stack for every level of the expression.

use super::super::convert;
use super::super::environment::Library;
use super::super::{EvaluationError, RESULT};
use super::{Arguments, Outcome, argument};
use cel::Value;
use cel::common::value::{CowVal, Val};
use cel::objects::Opaque;
use serde_json::Value as Json;
use std::sync::Arc;

/// What an expression evaluates to.
#[derive(Debug, PartialEq, Eq)]
struct Answer(Result<Json, EvaluationError>);

impl Opaque for Answer {
    fn runtime_type_name(&self) -> &'static str {
        "fleetctl.Answer"
    }
}

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.internal(RESULT, result)
}

fn result<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let answer = Answer(convert::to_json(argument(&arguments, 0)?.as_ref()));
    let value: Box<dyn Val> = Value::Opaque(Arc::new(answer)).try_into()?;
    Ok(CowVal::Owned(value))
}

/// The answer in the value that the evaluator hands out.
pub(in super::super) fn take(value: &Value) -> Result<Json, EvaluationError> {
    match value {
        Value::Opaque(value) => value.downcast_ref::<Answer>().map(|answer| answer.0.clone()),
        _ => None,
    }
    .unwrap_or_else(|| Err(EvaluationError::Fatal("the expression has no value".to_owned())))
}
