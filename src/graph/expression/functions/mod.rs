//! The functions of kro's CEL environment (kro.md 3.4), one file a library.
//!
//! The evaluator picks an overload by the types of its parameters, so a function gets what its signature says; the
//! helpers here answer an error all the same where it does not.

// The evaluator's function pointer type takes the arguments by value.
#![allow(clippy::needless_pass_by_value)]

/// Declares a type that only the functions of one library handle.
macro_rules! opaque_type {
    ($(#[$comment:meta])* $name:ident($inner:ty), $cel_name:literal) => {
        $(#[$comment])*
        #[derive(Debug, Clone, PartialEq)]
        pub(super) struct $name(pub(super) $inner);

        impl cel::common::value::Val for $name {
            fn get_type(&self) -> &cel::common::types::Type {
                Self::cel_type()
            }

            fn cel_type() -> &'static cel::common::types::Type {
                static TYPE: cel::common::types::Type = cel::common::types::Type::new_unspecified_type($cel_name);
                &TYPE
            }

            fn equals(&self, other: &dyn cel::common::value::Val) -> bool {
                other.downcast_ref::<Self>().is_some_and(|other| self == other)
            }

            fn clone_as_boxed<'v>(&self) -> Box<dyn cel::common::value::Val + 'v> {
                Box::new(self.clone())
            }

            fn as_any(&self) -> Option<&dyn std::any::Any> {
                Some(self)
            }
        }

        impl cel::common::value::StaticVal for $name {}
    };
}

mod cidr;
mod comprehensions;
mod double_text;
mod hash;
mod ip;
mod json;
mod lists;
mod maps;
mod md5;
mod omit;
mod optionals;
mod quantity;
mod random;
mod regex;
mod result;
mod runtime;
mod semver;
mod standard;
mod url;

use super::environment::Library;
use super::failure::unexpected;
use cel::ExecutionError;
use cel::common::types::{CelBool, CelInt, CelList, CelMap, CelString};
use cel::common::value::{CowVal, FromVal, Val};

/// The arguments of a function; a method's receiver comes first.
type Arguments<'b, 'v> = Vec<CowVal<'b, 'v>>;
/// What a function answers.
type Outcome<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// Adds all libraries.
pub(super) fn register(library: &mut Library) -> Result<(), String> {
    standard::register(library)?;
    result::register(library)?;
    comprehensions::register(library)?;
    double_text::register(library)?;
    optionals::register(library)?;
    lists::register(library)?;
    maps::register(library)?;
    json::register(library)?;
    hash::register(library)?;
    random::register(library)?;
    regex::register(library)?;
    url::register(library)?;
    quantity::register(library)?;
    ip::register(library)?;
    cidr::register(library)?;
    semver::register(library)?;
    omit::register(library)?;
    runtime::register(library)
}

pub(super) use result::take as take_result;

/// Whether a value is that of `omit()`.
pub(super) fn is_omitted(value: &dyn Val) -> bool {
    value.downcast_ref::<omit::Omitted>().is_some()
}

/// The argument at an index, which the signature promises.
fn argument<'a, 'b, 'v>(arguments: &'a [CowVal<'b, 'v>], index: usize) -> Result<&'a CowVal<'b, 'v>, ExecutionError> {
    arguments.get(index).ok_or_else(|| ExecutionError::invalid_argument_count(index + 1, arguments.len()))
}

/// An argument as a type of the evaluator or of a library.
fn typed<'a, 'v, T: FromVal<'a, 'v>>(arguments: &'a [CowVal<'_, 'v>], index: usize, want: &str) -> Result<&'a T, ExecutionError> {
    let value: &'a (dyn Val + 'v) = argument(arguments, index)?.as_ref();
    value.downcast_ref::<T>().ok_or_else(|| unexpected(value.get_type(), want))
}

fn text<'a>(arguments: &'a [CowVal<'_, '_>], index: usize) -> Result<&'a str, ExecutionError> {
    typed::<CelString<'_>>(arguments, index, "string").map(CelString::inner)
}

fn int(arguments: &[CowVal<'_, '_>], index: usize) -> Result<i64, ExecutionError> {
    typed::<CelInt>(arguments, index, "int").map(|int| *int.inner())
}

fn list<'a, 'v>(arguments: &'a [CowVal<'_, 'v>], index: usize) -> Result<&'a [Box<dyn Val + 'v>], ExecutionError> {
    typed::<CelList<'v>>(arguments, index, "list").map(CelList::inner)
}

fn map<'a, 'v>(arguments: &'a [CowVal<'_, 'v>], index: usize) -> Result<&'a CelMap<'v>, ExecutionError> {
    typed::<CelMap<'v>>(arguments, index, "map")
}

fn failed(function: &str, message: impl Into<String>) -> ExecutionError {
    ExecutionError::FunctionError { function: function.to_owned(), message: message.into() }
}

fn bool_value<'b, 'v>(value: bool) -> CowVal<'b, 'v> {
    CowVal::owned(CelBool::from(value))
}

fn int_value<'b, 'v>(value: i64) -> CowVal<'b, 'v> {
    CowVal::owned(CelInt::from(value))
}

fn text_value<'b, 'v>(value: impl Into<String>) -> CowVal<'b, 'v> {
    CowVal::owned(CelString::from(value.into()))
}

fn list_value<'b, 'v>(items: Vec<Box<dyn Val + 'v>>) -> CowVal<'b, 'v> {
    CowVal::owned(CelList::from(items))
}

fn length(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
