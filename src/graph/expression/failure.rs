//! Why an evaluation failed: data that is not there yet, or an error.

use super::EvaluationError;
use cel::common::types::Type;
use cel::{ExecutionError, OverloadError, Value};

/// Sorts an error of the evaluator as kro does by the text of cel-go's (kro.md 3.8). The messages name types and keys,
/// never values: a value may be a secret.
pub(super) fn classify(error: ExecutionError) -> EvaluationError {
    use EvaluationError::{Fatal, Pending};
    match error {
        ExecutionError::NoSuchKey(key) => Pending(format!("no such key: {key}")),
        ExecutionError::UndeclaredReference(name) => Pending(format!("no such attribute: {name}")),
        ExecutionError::IndexOutOfBounds(index) => Pending(match index {
            Value::Int(index) => format!("index out of bounds: {index}"),
            Value::UInt(index) => format!("index out of bounds: {index}"),
            _ => "index out of bounds".to_owned(),
        }),
        ExecutionError::NoSuchOverload(overload) if selects_from_a_scalar(&overload) => {
            let of = overload.argument_types().first().map_or("value", String::as_str);
            Pending(format!("no such key: the {of} has no fields"))
        }
        ExecutionError::NoSuchOverload(overload) => Fatal(no_overload(overload.function(), overload.argument_types())),
        ExecutionError::FunctionError { function, message } => Fatal(format!("{function}: {message}")),
        ExecutionError::DivisionByZero(_) => Fatal("division by zero".to_owned()),
        ExecutionError::RemainderByZero(_) => Fatal("modulus by zero".to_owned()),
        ExecutionError::Overflow(operator, ..) => Fatal(format!("integer overflow in `{operator}`")),
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => {
            Fatal(no_overload(operator, &[left.type_of().to_string(), right.type_of().to_string()]))
        }
        ExecutionError::ValuesNotComparable(left, right) => {
            Fatal(format!("{} and {} cannot be compared", left.type_of(), right.type_of()))
        }
        ExecutionError::UnexpectedType { got, want } => Fatal(format!("expected {want}, got {got}")),
        ExecutionError::UnsupportedKeyType(key) => Fatal(format!("a {} cannot be the key of a map", key.type_of())),
        ExecutionError::InvalidArgumentCount { expected, actual } => {
            Fatal(format!("expected {expected} arguments, got {actual}"))
        }
        _ => Fatal("the expression cannot be evaluated".to_owned()),
    }
}

/// cel-go answers "no such key" for a field of something that has no fields: null, text, a number.
fn selects_from_a_scalar(overload: &OverloadError) -> bool {
    matches!(overload.function(), "_._" | "_[_]")
        && !overload.argument_types().first().is_some_and(|operand| matches!(operand.as_str(), "list" | "map"))
}

fn no_overload(function: &str, types: &[String]) -> String {
    format!("no such overload: {function}({})", types.join(", "))
}

/// The error of a function of ours that got a value of a type it does not take.
pub(super) fn unexpected(got: &Type, want: &str) -> ExecutionError {
    ExecutionError::UnexpectedType { got: got.name().to_owned(), want: want.to_owned() }
}
