//! Lists as in Kubernetes (`isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf`) and in kro (`lists.setAtIndex` and
//! its like).

use super::super::environment::Library;
use super::super::failure::unexpected;
use super::{Arguments, Outcome, argument, bool_value, failed, int, int_value, length, list, list_value};
use cel::ExecutionError;
use cel::common::types::CelInt;
use cel::common::value::{CowVal, Val};
use std::cmp::Ordering;

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.method("list(T).isSorted() -> bool", is_sorted)?;
    library.method("list(T).sum() -> T", sum)?;
    library.method("list(T).min() -> T", min)?;
    library.method("list(T).max() -> T", max)?;
    library.method("list(T).indexOf(T) -> int", index_of)?;
    library.method("list(T).lastIndexOf(T) -> int", last_index_of)?;
    library.function("lists.setAtIndex(list(T), int, T) -> list(T)", set_at_index)?;
    library.function("lists.insertAtIndex(list(T), int, T) -> list(T)", insert_at_index)?;
    library.function("lists.removeAtIndex(list(T), int) -> list(T)", remove_at_index)
}

fn compare(left: &dyn Val, right: &dyn Val) -> Result<Ordering, ExecutionError> {
    left.as_comparer().ok_or_else(|| unexpected(left.get_type(), "a type with an order"))?.compare(right)
}

fn is_sorted<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    for pair in list(&arguments, 0)?.windows(2) {
        if let [left, right] = pair
            && compare(left.as_ref(), right.as_ref())? == Ordering::Greater
        {
            return Ok(bool_value(false));
        }
    }
    Ok(bool_value(true))
}

/// The sum; of nothing it is 0.
fn sum<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let Some((first, rest)) = list(&arguments, 0)?.split_first() else { return Ok(CowVal::owned(CelInt::from(0))) };
    let mut total: Box<dyn Val + 'v> = first.clone_as_boxed();
    if !matches!(total.get_type().name(), "int" | "uint" | "double" | "google.protobuf.Duration") {
        return Err(unexpected(total.get_type(), "numbers or durations"));
    }
    for item in rest {
        let adder = total.as_adder().ok_or_else(|| unexpected(total.get_type(), "numbers or durations"))?;
        let next = adder.add(item.as_ref())?.into_owned();
        total = next;
    }
    Ok(CowVal::Owned(total))
}

fn min<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    extreme(&arguments, "min", Ordering::Less)
}

fn max<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    extreme(&arguments, "max", Ordering::Greater)
}

fn extreme<'b, 'v>(arguments: &[CowVal<'b, 'v>], function: &str, wanted: Ordering) -> Outcome<'b, 'v> {
    let Some((mut best, rest)) = list(arguments, 0)?.split_first() else {
        return Err(failed(function, "the list is empty"));
    };
    for item in rest {
        if compare(item.as_ref(), best.as_ref())? == wanted {
            best = item;
        }
    }
    Ok(CowVal::Owned(best.clone_as_boxed()))
}

fn index_of<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let wanted = argument(&arguments, 1)?.as_ref();
    Ok(index_value(list(&arguments, 0)?.iter().position(|item| item.equals(wanted))))
}

fn last_index_of<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let wanted = argument(&arguments, 1)?.as_ref();
    Ok(index_value(list(&arguments, 0)?.iter().rposition(|item| item.equals(wanted))))
}

fn index_value<'b, 'v>(index: Option<usize>) -> CowVal<'b, 'v> {
    int_value(index.map_or(-1, length))
}

fn set_at_index<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let mut items = list(&arguments, 0)?.to_vec();
    let index = checked_index(&arguments, "lists.setAtIndex", items.len())?;
    if let Some(item) = items.get_mut(index) {
        *item = argument(&arguments, 2)?.clone_as_boxed();
    }
    Ok(list_value(items))
}

/// An index equal to the size appends.
fn insert_at_index<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let mut items = list(&arguments, 0)?.to_vec();
    let index = checked_index(&arguments, "lists.insertAtIndex", items.len() + 1)?;
    items.insert(index, argument(&arguments, 2)?.clone_as_boxed());
    Ok(list_value(items))
}

fn remove_at_index<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let mut items = list(&arguments, 0)?.to_vec();
    let index = checked_index(&arguments, "lists.removeAtIndex", items.len())?;
    items.remove(index);
    Ok(list_value(items))
}

fn checked_index(arguments: &[CowVal<'_, '_>], function: &str, limit: usize) -> Result<usize, ExecutionError> {
    let index = int(arguments, 1)?;
    let valid = usize::try_from(index).ok().filter(|index| *index < limit);
    valid.ok_or_else(|| failed(function, format!("the index {index} is not below {limit}, or negative")))
}
