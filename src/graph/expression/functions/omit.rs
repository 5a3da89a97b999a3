//! kro's `omit()`: a field or list item whose value it is, is left out. Definitions may use it only where kro's feature
//! gate `CELOmitFunction` is on; whether it is, and the place, are checked with the definition.

use super::super::environment::Library;
use super::{Arguments, Outcome};
use cel::common::value::CowVal;

opaque_type!(
    /// The value of `omit()`.
    Omitted(()),
    "kro.omit"
);

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.function("omit() -> dyn", omit)
}

#[expect(clippy::unnecessary_wraps, reason = "it is the evaluator's function pointer type")]
fn omit<'b, 'v>(_: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(CowVal::owned(Omitted(())))
}
