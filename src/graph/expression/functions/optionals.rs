//! What cel-go's optional library has and the evaluator has not: `first`, `last` and `unwrap`.

use super::super::environment::Library;
use super::super::failure::unexpected;
use super::{Arguments, Outcome, list, list_value};
use cel::common::types::CelOptional;
use cel::common::value::{CowVal, Val};

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.method("list(T).first() -> optional(T)", first)?;
    library.method("list(T).last() -> optional(T)", last)?;
    library.function("optional.unwrap(list(T)) -> list(T)", unwrap)?;
    library.method("list(T).unwrapOpt() -> list(T)", unwrap)
}

fn first<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(optional(list(&arguments, 0)?.first().map(|item| &**item)))
}

fn last<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(optional(list(&arguments, 0)?.last().map(|item| &**item)))
}

fn optional<'b, 'v>(value: Option<&(dyn Val + 'v)>) -> CowVal<'b, 'v> {
    CowVal::owned(value.map_or_else(CelOptional::none, |value| CelOptional::of(value.clone_as_boxed())))
}

/// The values of those optionals that have one.
fn unwrap<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let mut values = Vec::new();
    for item in list(&arguments, 0)? {
        let optional = item.downcast_ref::<CelOptional<'v>>().ok_or_else(|| unexpected(item.get_type(), "optional"))?;
        values.extend(optional.option().map(Val::clone_as_boxed));
    }
    Ok(list_value(values))
}
