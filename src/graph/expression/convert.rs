//! JSON into CEL values, and CEL values into JSON after kro's rules (kro.md 3.6).

use super::EvaluationError;
use super::functions::is_omitted;
use cel::common::types::{
    CelBool, CelBytes, CelDouble, CelDuration, CelInt, CelList, CelMap, CelMapKey, CelNull, CelOptional, CelString, CelTimestamp,
    CelUInt,
};
use cel::common::value::Val;
use chrono::{TimeDelta, Utc};
use serde_json::{Map, Number, Value};
use std::collections::HashMap;

/// The deepest nesting of a value. Values are converted, compared and dropped by recursion.
const MAX_DEPTH: usize = 256;

/// A JSON value as CEL sees it: whole numbers are `int`, whatever their sign, texts are borrowed.
pub(super) fn from_json(value: &Value) -> Result<Box<dyn Val + '_>, EvaluationError> {
    from_json_at(value, 0)
}

fn from_json_at(value: &Value, depth: usize) -> Result<Box<dyn Val + '_>, EvaluationError> {
    Ok(match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(value) => Box::new(CelBool::from(*value)),
        Value::Number(number) => from_number(number),
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => {
            let depth = deeper(depth)?;
            let items: Result<Vec<_>, _> = items.iter().map(|item| from_json_at(item, depth)).collect();
            Box::new(CelList::from(items?))
        }
        Value::Object(entries) => {
            let depth = deeper(depth)?;
            let entries: Result<HashMap<_, _>, EvaluationError> =
                entries.iter().map(|(key, value)| Ok((CelMapKey::from(key.as_str()), from_json_at(value, depth)?))).collect();
            Box::new(CelMap::from(entries?))
        }
    })
}

fn from_number<'a>(number: &Number) -> Box<dyn Val + 'a> {
    match number.as_i64() {
        Some(whole) => Box::new(CelInt::from(whole)),
        None => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
    }
}

/// A CEL value as JSON. Keys of mappings are sorted: the evaluator's maps have no order.
pub(super) fn to_json(value: &dyn Val) -> Result<Value, EvaluationError> {
    to_json_at(value, 0)
}

fn to_json_at(value: &dyn Val, depth: usize) -> Result<Value, EvaluationError> {
    if value.downcast_ref::<CelNull>().is_some() {
        return Ok(Value::Null);
    }
    if let Some(value) = value.downcast_ref::<CelBool>() {
        return Ok(Value::Bool(*value.inner()));
    }
    if let Some(value) = value.downcast_ref::<CelInt>() {
        return Ok(Value::from(*value.inner()));
    }
    if let Some(value) = value.downcast_ref::<CelUInt>() {
        let too_large = |_| fatal("the uint does not fit into a signed integer");
        return i64::try_from(*value.inner()).map(Value::from).map_err(too_large);
    }
    if let Some(value) = value.downcast_ref::<CelDouble>() {
        let number = Number::from_f64(*value.inner()).map(Value::Number);
        return number.ok_or_else(|| fatal("infinite and NaN have no place in a document"));
    }
    if let Some(value) = value.downcast_ref::<CelString>() {
        return Ok(Value::String(value.inner().to_owned()));
    }
    if let Some(list) = value.downcast_ref::<CelList>() {
        return list_to_json(list, deeper(depth)?);
    }
    if let Some(map) = value.downcast_ref::<CelMap>() {
        return map_to_json(map, deeper(depth)?);
    }
    if let Some(optional) = value.downcast_ref::<CelOptional>() {
        return optional.option().map_or(Ok(Value::Null), |value| to_json_at(value, depth));
    }
    other_to_json(value)
}

fn list_to_json(list: &CelList<'_>, depth: usize) -> Result<Value, EvaluationError> {
    let mut items = Vec::with_capacity(list.inner().len());
    for item in list.inner() {
        match to_json_at(item.as_ref(), depth) {
            Err(EvaluationError::Omitted) => {}
            item => items.push(item?),
        }
    }
    Ok(Value::Array(items))
}

fn map_to_json(map: &CelMap<'_>, depth: usize) -> Result<Value, EvaluationError> {
    let mut entries = Map::with_capacity(map.inner().len());
    for (key, value) in sorted_entries(map) {
        let CelMapKey::String(key) = key else { return Err(fatal("the keys of a mapping have to be text")) };
        match to_json_at(value, depth) {
            Err(EvaluationError::Omitted) => {}
            value => {
                entries.insert(key.inner().to_owned(), value?);
            }
        }
    }
    Ok(Value::Object(entries))
}

/// The entries of a map in the order of their keys.
pub(super) fn sorted_entries<'a, 'v>(map: &'a CelMap<'v>) -> Vec<(&'a CelMapKey<'v>, &'a (dyn Val + 'v))> {
    let mut entries: Vec<_> = map.inner().iter().map(|(key, value)| (key, value.as_ref())).collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries
}

fn other_to_json(value: &dyn Val) -> Result<Value, EvaluationError> {
    if let Some(timestamp) = value.downcast_ref::<CelTimestamp>() {
        let utc = timestamp.inner().with_timezone(&Utc);
        return Ok(Value::String(utc.format("%Y-%m-%dT%H:%M:%SZ").to_string()));
    }
    if let Some(duration) = value.downcast_ref::<CelDuration>() {
        return Ok(Value::String(go_duration(*duration.inner())));
    }
    if is_omitted(value) {
        return Err(EvaluationError::Omitted);
    }
    if value.downcast_ref::<CelBytes>().is_some() {
        return Err(fatal("bytes have no place in a document: encode them, as in base64.encode(…)"));
    }
    Err(fatal(&format!("a value of the type {} has no place in a document", value.get_type().name())))
}

/// A duration as Go writes it: `1h30m0s`, `1.5s`, `2ms`.
fn go_duration(duration: TimeDelta) -> String {
    let nanoseconds = i128::from(duration.num_seconds()) * 1_000_000_000 + i128::from(duration.subsec_nanos());
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let nanoseconds = nanoseconds.unsigned_abs();
    let (unit, name) = match nanoseconds {
        0 => return "0s".to_owned(),
        1..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let (whole, fraction) = (nanoseconds / unit, nanoseconds % unit);
    let digits = unit.ilog10() as usize;
    let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:0digits$}") };
    let fraction = fraction.trim_end_matches('0');
    let (hours, minutes) = (whole / 3600, whole / 60 % 60);
    match (hours, minutes) {
        _ if name != "s" => format!("{sign}{whole}{fraction}{name}"),
        (0, 0) => format!("{sign}{whole}{fraction}s"),
        (0, _) => format!("{sign}{minutes}m{}{fraction}s", whole % 60),
        _ => format!("{sign}{hours}h{minutes}m{}{fraction}s", whole % 60),
    }
}

fn deeper(depth: usize) -> Result<usize, EvaluationError> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(fatal(&format!("the value is nested more than {MAX_DEPTH} levels deep"))) }
}

fn fatal(message: &str) -> EvaluationError {
    EvaluationError::Fatal(message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (nanoseconds, want) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5µs"),
            (2_000_000, "2ms"),
            (1_500_000_000, "1.5s"),
            (90_000_000_000, "1m30s"),
            (5_400_000_000_000, "1h30m0s"),
            (-3_600_500_000_000, "-1h0m0.5s"),
        ] {
            assert_eq!(go_duration(TimeDelta::nanoseconds(nanoseconds)), want);
        }
    }

    #[test]
    fn values_that_are_nested_too_deeply_are_refused() {
        let nested = |levels| (0..levels).fold(Value::Null, |value, _| Value::Array(vec![value]));
        assert!(from_json(&nested(MAX_DEPTH)).is_ok());
        assert!(from_json(&nested(MAX_DEPTH + 1)).is_err());
    }
}
