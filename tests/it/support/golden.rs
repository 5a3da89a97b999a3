//! The golden record as a pattern.
//!
//! Texts like `<vpc>` in it are variables: each stands for one value throughout, and two of them never for the same. Lists
//! have no order. [`canonical`] takes away what differs between two descriptions of one thing.

use regex::Regex;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A variable that stands for something else each time.
const ANYTHING: &str = "<public-ip>";

static VARIABLE: LazyLock<Regex> = LazyLock::new(|| Regex::new("<[a-zA-Z0-9-]+>").unwrap());

/// What the variables stand for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bindings(BTreeMap<String, String>);

impl Bindings {
    pub(crate) fn of(known: &[(&str, &str)]) -> Self {
        Self(known.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// A text of the record with everything put in that is known.
    fn fill(&self, text: &str) -> String {
        let value = |found: &regex::Captures<'_>| self.0.get(&found[0]).map_or(&found[0], String::as_str).to_owned();
        VARIABLE.replace_all(text, value).into_owned()
    }

    /// Finds for each pattern the one object that it fits, and says what is left over on either side.
    pub(crate) fn pair(&mut self, what: &str, patterns: &[Value], objects: &[Value]) -> Vec<String> {
        let mut left: Vec<&Value> = objects.iter().collect();
        let mut missing = Vec::new();
        for pattern in patterns {
            match left.iter().position(|object| self.fits(pattern, object)) {
                Some(at) => drop(left.remove(at)),
                None => missing.push(pattern),
            }
        }
        let mut said = Vec::new();
        while let (Some(pattern), Some(object)) = (missing.first(), left.first()) {
            let difference = self.clone().unify(pattern, object, "").err().unwrap_or_else(|| "fits by now".to_owned());
            said.push(format!("{what}{difference}\n    in the record: {}\n    here: {object}", self.fill(&pattern.to_string())));
            missing.remove(0);
            left.remove(0);
        }
        said.extend(missing.iter().map(|one| format!("{what} missing: {}", self.fill(&one.to_string()))));
        said.extend(left.iter().map(|one| format!("{what} not in the record: {one}")));
        said
    }

    /// Whether an object fits; learns what its variables stand for if it does.
    fn fits(&mut self, pattern: &Value, object: &Value) -> bool {
        let before = self.clone();
        let fits = self.unify(pattern, object, "").is_ok();
        if !fits {
            *self = before;
        }
        fits
    }

    fn unify(&mut self, pattern: &Value, object: &Value, path: &str) -> Result<(), String> {
        match (pattern, object) {
            (Value::Object(pattern), Value::Object(object)) => {
                if let Some(key) = object.keys().find(|key| !pattern.contains_key(*key)) {
                    return Err(format!("{path}.{key} is not in the record: {}", object[key]));
                }
                pattern.iter().try_for_each(|(key, pattern)| {
                    let found = object.get(key).ok_or_else(|| format!("{path}.{key} is missing: {pattern}"))?;
                    self.unify(pattern, found, &format!("{path}.{key}"))
                })
            }
            (Value::Array(pattern), Value::Array(object)) => {
                let wrong = self.pair("item", pattern, object);
                if wrong.is_empty() { Ok(()) } else { Err(format!("{path}: {}", wrong.join("; "))) }
            }
            (Value::String(pattern), Value::String(text)) => {
                self.text(pattern, text).ok_or_else(|| format!("{path}: {}, not {text}", self.fill(pattern)))
            }
            _ if pattern == object => Ok(()),
            _ => Err(format!("{path}: {pattern}, not {object}")),
        }
    }

    fn text(&mut self, pattern: &str, text: &str) -> Option<()> {
        let pattern = self.fill(pattern);
        let (mut names, mut shape, mut end) = (Vec::new(), "^".to_owned(), 0);
        for found in VARIABLE.find_iter(&pattern) {
            shape += &regex::escape(&pattern[end..found.start()]);
            shape += "(.+)";
            names.push(found.as_str());
            end = found.end();
        }
        shape += &regex::escape(&pattern[end..]);
        let captures = Regex::new(&(shape + "$")).unwrap().captures(text)?;
        for (name, value) in names.iter().zip(captures.iter().skip(1).flatten()) {
            let is_taken = self.0.values().any(|taken| taken == value.as_str());
            if *name != ANYTHING && is_taken {
                return None;
            }
            if *name != ANYTHING {
                self.0.insert((*name).to_owned(), value.as_str().to_owned());
            }
        }
        Some(())
    }
}

/// Fields that hold a time, and tokens of clients.
const OF_THE_MOMENT: [&str; 8] =
    ["createtime", "createdate", "createdat", "modifiedat", "associatedat", "clienttoken", "clientrequesttoken", "requestid"];

/// One form for what SDKs, query requests and XML answers say: names without case, plural and `Set`; scalars as text; texts
/// that hold JSON as what they hold; nothing empty.
pub(crate) fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(entries) if is_list(entries) => {
            let items = entries.values().next().unwrap();
            canonical(&items.as_array().map_or_else(|| Value::Array(vec![items.clone()]), |items| items.clone().into()))
        }
        Value::Object(entries) if entries.contains_key("$json") => canonical(&entries["$json"]),
        Value::Object(entries) => {
            let kept = entries.iter().filter(|(key, _)| !OF_THE_MOMENT.contains(&key.to_lowercase().as_str()));
            let kept = kept.map(|(key, value)| (key, canonical(value))).filter(|(_, value)| !is_empty(value));
            Value::Object(kept.map(|(key, value)| (name(key, &value), value)).collect())
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::String(text) => document(text).unwrap_or_else(|| value.clone()),
        Value::Bool(_) | Value::Number(_) => Value::String(value.to_string()),
        Value::Null => Value::Null,
    }
}

fn is_list(entries: &Map<String, Value>) -> bool {
    entries.len() == 1 && entries.keys().all(|key| key == "item" || key == "member")
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

/// `TagSet`, `Tags` and `Tag` of a list are one name. Keys that are no API's (of tags, labels, policies) stay.
fn name(key: &str, value: &Value) -> String {
    if !key.chars().all(|character| character.is_ascii_alphanumeric()) {
        return key.to_owned();
    }
    let small = key.to_lowercase();
    if value.is_array() {
        format!("{}[]", small.strip_suffix("set").unwrap_or(&small).trim_end_matches(['e', 's']))
    } else {
        small
    }
}

/// JSON in a text, percent-encoded or not.
fn document(text: &str) -> Option<Value> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8().ok()?;
    let found: Value = serde_json::from_str(decoded.trim()).ok().filter(Value::is_object)?;
    Some(canonical(&found))
}
