//! kro's JSON: `json.marshal` writes as Go does, `json.unmarshal` reads every number as a double.

use super::super::EvaluationError;
use super::super::convert;
use super::super::environment::Library;
use super::{Arguments, Outcome, argument, failed, text, text_value};
use cel::common::types::{CelBool, CelDouble, CelList, CelMap, CelMapKey, CelNull, CelString};
use cel::common::value::{CowVal, Val};
use serde_json::{Number, Value};
use std::collections::HashMap;
use std::fmt::Write;

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.function("json.marshal(T) -> string", marshal)?;
    library.function("json.unmarshal(string) -> dyn", unmarshal)
}

fn marshal<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let value = convert::to_json(argument(&arguments, 0)?.as_ref()).map_err(|error| match error {
        EvaluationError::Pending(message) | EvaluationError::Fatal(message) => failed("json.marshal", message),
        EvaluationError::Omitted => failed("json.marshal", "omit() has no text"),
    })?;
    let mut written = String::new();
    write_value(&value, &mut written);
    Ok(text_value(written))
}

/// Keys come sorted from the conversion. (Writing to a `String` cannot fail.)
fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&write_number(number)),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write_value(value, out);
            }
            out.push('}');
        }
    }
}

/// Whole doubles have no fraction, very small and very large ones an exponent without padding.
fn write_number(number: &Number) -> String {
    let Some(double) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    let size = double.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let scientific = format!("{double:e}");
        return if size >= 1.0 { scientific.replace('e', "e+") } else { scientific };
    }
    format!("{double}")
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

fn unmarshal<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let parsed: Value = serde_json::from_str(text(&arguments, 0)?).map_err(|error| {
        failed("json.unmarshal", format!("no valid JSON at line {}, column {}", error.line(), error.column()))
    })?;
    Ok(CowVal::Owned(with_doubles(parsed)))
}

/// The parser limits the depth, so recursion ends.
fn with_doubles<'v>(value: Value) -> Box<dyn Val + 'v> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(value) => Box::new(CelBool::from(value)),
        Value::Number(number) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        Value::String(text) => Box::new(CelString::from(text)),
        Value::Array(items) => Box::new(CelList::from(items.into_iter().map(with_doubles).collect::<Vec<_>>())),
        Value::Object(entries) => {
            let entries = entries.into_iter().map(|(key, value)| (CelMapKey::from(key), with_doubles(value)));
            Box::new(CelMap::from(entries.collect::<HashMap<_, _>>()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_written_as_go_writes_it() {
        for (value, want) in [
            (json!({"a": [1, "x", null, true]}), r#"{"a":[1,"x",null,true]}"#),
            (json!(42.0), "42"),
            (json!(1.5), "1.5"),
            (json!(1e21), "1e+21"),
            (json!(1e-7), "1e-7"),
            (json!(0.0), "0"),
            (json!("<a href=\"x\">&\n\u{1}é\u{2028}"), "\"\\u003ca href=\\\"x\\\"\\u003e\\u0026\\n\\u0001é\\u2028\""),
        ] {
            let mut written = String::new();
            write_value(&value, &mut written);
            assert_eq!(written, want);
        }
    }
}
