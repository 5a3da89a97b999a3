//! Kubernetes' regular expressions: `find` and `findAll`, in RE2 syntax.

use super::super::environment::Library;
use super::{Arguments, Outcome, failed, int, list_value, text, text_value};
use cel::ExecutionError;
use cel::common::types::CelString;
use cel::common::value::{CowVal, Val};
use regex::{Regex, RegexBuilder};

/// Enough for any pattern that a person writes.
const SIZE_LIMIT: usize = 1 << 20;

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.method("string.find(string) -> string", find)?;
    library.method("string.findAll(string) -> list(string)", find_all)?;
    library.method("string.findAll(string, int) -> list(string)", find_some)
}

fn pattern(arguments: &[CowVal<'_, '_>], function: &str) -> Result<Regex, ExecutionError> {
    let compiled = RegexBuilder::new(text(arguments, 1)?).size_limit(SIZE_LIMIT).build();
    compiled.map_err(|_| failed(function, "the pattern is no valid regular expression"))
}

/// The first match, or the empty text.
fn find<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let found = pattern(&arguments, "find")?.find(text(&arguments, 0)?).map_or("", |found| found.as_str()).to_owned();
    Ok(text_value(found))
}

fn find_all<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    matches(&arguments, usize::MAX)
}

/// As many matches as the last argument says; all for a negative number.
fn find_some<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let limit = usize::try_from(int(&arguments, 2)?).unwrap_or(usize::MAX);
    matches(&arguments, limit)
}

fn matches<'b, 'v>(arguments: &[CowVal<'b, 'v>], limit: usize) -> Outcome<'b, 'v> {
    let pattern = pattern(arguments, "findAll")?;
    let found = pattern.find_iter(text(arguments, 0)?).take(limit);
    Ok(list_value(found.map(|found| Box::new(CelString::from(found.as_str().to_owned())) as Box<dyn Val + 'v>).collect()))
}
