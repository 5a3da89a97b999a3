//! kro's conditions: `runtime.newCondition` and `runtime.condition`. They belong into `status.conditions` only, which is
//! checked with the definition.

use super::super::environment::Library;
use super::super::failure::unexpected;
use super::{Arguments, Outcome, failed, map, text};
use cel::ParseError;
use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, MapEntryExpr};
use cel::common::types::{CelList, CelMap, CelMapKey, CelString};
use cel::common::value::{CowVal, Val};
use cel::parser::{Macro, MacroExprHelper};
use std::collections::HashMap;

const KEYS: [&str; 4] = ["type", "status", "reason", "message"];

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.function("runtime.newCondition(map(string,string)) -> map(string,string)", new_condition)?;
    library.function("runtime.condition(T, string) -> map(string,string)", condition)?;
    library.add_macro(Macro::receiver("newCondition", 1, |helper, target, arguments| {
        let is_runtime = target.as_ref().is_some_and(|target| matches!(&target.expr, Expr::Ident(name) if name == "runtime"));
        if is_runtime { quote_keys(helper, target, arguments).map(Some) } else { Ok(None) }
    }))
}

/// The keys of a new condition are written as bare words.
fn quote_keys(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
) -> Result<IdedExpr, ParseError> {
    let Some(IdedExpr { id, expr: Expr::Map(mut literal) }) = arguments.pop() else {
        return Err(helper.new_error(0, "runtime.newCondition takes a map literal"));
    };
    let mut seen = Vec::new();
    for entry in &mut literal.entries {
        let EntryExpr::MapEntry(MapEntryExpr { key, .. }) = &mut entry.expr else { continue };
        let Expr::Ident(name) = &key.expr else {
            return Err(helper.new_error(key.id, "the keys of a condition are written without quotes"));
        };
        if !KEYS.contains(&name.as_str()) || seen.contains(name) {
            return Err(helper.new_error(key.id, format!("a condition has {} once each, not `{name}`", KEYS.join(", "))));
        }
        seen.push(name.clone());
        key.expr = Expr::Literal(LiteralValue::String(name.clone().into()));
    }
    if !["type", "status"].iter().all(|needed| seen.iter().any(|name| name == needed)) {
        return Err(helper.new_error(id, "a condition needs type and status"));
    }
    let argument = IdedExpr { id, expr: Expr::Map(literal) };
    let call = CallExpr { func_name: "newCondition".to_owned(), target: target.take().map(Box::new), args: vec![argument] };
    Ok(helper.next_expr(Expr::Call(call)))
}

fn new_condition<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let given = map(&arguments, 0)?;
    for value in given.inner().values() {
        if value.downcast_ref::<CelString<'_>>().is_none() {
            return Err(unexpected(value.get_type(), "string"));
        }
    }
    let condition = condition_of(given);
    if !matches!(condition.get("status").map(String::as_str), Some("True" | "False" | "Unknown")) {
        return Err(failed("runtime.newCondition", "status has to be True, False or Unknown"));
    }
    if condition.get("type").is_none_or(String::is_empty) {
        return Err(failed("runtime.newCondition", "type has to be given"));
    }
    Ok(condition_value(condition))
}

/// The condition of a type in an object's status; one with empty texts if there is none.
fn condition<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let (object, wanted) = (map(&arguments, 0)?, text(&arguments, 1)?);
    let status = entry(object, "status").and_then(<dyn Val>::downcast_ref::<CelMap<'_>>);
    let conditions = status.and_then(|status| entry(status, "conditions")).and_then(<dyn Val>::downcast_ref::<CelList<'_>>);
    let found = conditions.into_iter().flat_map(CelList::inner).find_map(|condition| {
        let condition = condition_of(condition.downcast_ref::<CelMap<'_>>()?);
        (condition.get("type").map(String::as_str) == Some(wanted)).then_some(condition)
    });
    Ok(condition_value(found.unwrap_or_default()))
}

fn entry<'a, 'v>(map: &'a CelMap<'v>, key: &'static str) -> Option<&'a (dyn Val + 'v)> {
    map.inner().get(&CelMapKey::from(key)).map(|value| &**value)
}

/// The texts of a condition.
fn condition_of(map: &CelMap<'_>) -> HashMap<&'static str, String> {
    let text_of = |key| entry(map, key).and_then(<dyn Val>::downcast_ref::<CelString<'_>>);
    KEYS.into_iter().filter_map(|key| Some((key, text_of(key)?.inner().to_owned()))).collect()
}

fn condition_value<'b, 'v>(mut condition: HashMap<&'static str, String>) -> CowVal<'b, 'v> {
    let entries = KEYS.into_iter().map(|key| {
        let text = CelString::from(condition.remove(key).unwrap_or_default());
        (CelMapKey::from(key), Box::new(text) as Box<dyn Val + 'v>)
    });
    CowVal::owned(CelMap::from(entries.collect::<HashMap<_, _>>()))
}
