//! What differs between the object that is wanted and the one that is there, field by field.
//!
//! Each kind carries a table of [`Rule`]s: one a field, saying how its values are told apart, what its absence means,
//! and whether AWS lets it change. Only fields that the wanted object sets count, beside those that ACK enforces when
//! they are absent. `null` and absent are the same, and so are an empty list and none; an empty text is a text.

mod document;
pub mod policy;

use super::kind::{Changeability, FieldChange, Observed, Subject};
use super::tags;
use crate::aws::tags::Tags;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Why a field that no rule covers cannot be changed.
const NOT_CARRIED_OUT: &str = "fleetctl does not carry this field out yet";

/// How the values of a field are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// By value. Of a mapping, only what the wanted side sets counts, leaf by leaf, unless a longer path has its own
    /// rule; a list of texts counts as a set, as in ACK; other lists are ordered.
    Exact,
    /// As a list whose order and repetitions do not matter.
    Set,
    /// As a list of mappings, told apart by the first of these fields that a mapping has. A change is reported item by
    /// item, `spec.routes[0.0.0.0/0]`. Of an item, only the fields that the wanted side sets count; texts in lists inside
    /// it count as sets.
    Keyed(&'static [&'static str]),
    /// As a mapping from names to texts. Every name counts, also those that only the observed side has.
    Names,
    /// Like [`How::Names`], the texts being IAM policy documents.
    NamedPolicies,
    /// As an IAM policy document, by meaning ([`policy::same`]).
    Policy,
    /// As JSON or YAML text, by meaning.
    Document,
    /// AWS does not give the field back: compared with what was applied last. Nothing was applied: no difference.
    WriteOnly,
    /// Compared by [`tag_changes`]: the rule only says that the field is known.
    Tags,
    /// Never compared: what AWS makes of it later says nothing about the wish.
    Ignored,
}

/// What it means when the wanted object does not set a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// Whatever is there is right.
    Unmanaged,
    /// It has to be false.
    False,
    /// It has to be true.
    True,
    /// It has to be this text.
    Text(&'static str),
    /// There may be nothing: no list, no value.
    Nothing,
}

/// How one field is compared, and how it may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Path from the object, without `[]`: `spec.cidrBlocks`. The longest covering path counts.
    pub path: &'static str,
    /// How its values are told apart.
    pub how: How,
    /// What its absence means.
    pub absent: Absent,
    /// How it may be changed.
    pub changeability: Changeability,
    /// Why not in place, for the others.
    pub reason: Option<&'static str>,
}

impl Rule {
    /// A field that `configure` changes.
    pub const fn in_place(path: &'static str, how: How) -> Self {
        Self { path, how, absent: Absent::Unmanaged, changeability: Changeability::InPlace, reason: None }
    }

    /// A field that only a new object can have changed: `the CIDR of a subnet cannot be changed`.
    pub const fn replacement(path: &'static str, how: How, reason: &'static str) -> Self {
        let changeability = Changeability::Replacement;
        Self { path, how, absent: Absent::Unmanaged, changeability, reason: Some(reason) }
    }

    /// A field that AWS could change, but fleetctl does not.
    pub const fn not_carried_out(path: &'static str, how: How, reason: &'static str) -> Self {
        let changeability = Changeability::NotCarriedOut;
        Self { path, how, absent: Absent::Unmanaged, changeability, reason: Some(reason) }
    }

    /// The same rule for a field that is enforced when it is absent. A value that AWS does not answer counts as this
    /// one too.
    #[must_use]
    pub const fn enforced(self, absent: Absent) -> Self {
        Self { absent, ..self }
    }

    fn change(&self, path: String, before: &Value, after: &Value) -> FieldChange {
        let (before, after) = (before.clone(), after.clone());
        FieldChange { path, before, after, changeability: self.changeability, reason: self.reason }
    }

    /// Compares the values of one place.
    fn apply(&self, path: &str, sides: Sides<'_>, changes: &mut Vec<FieldChange>) {
        let desired = self.absent.or(sides.desired);
        let observed = self.absent.or(sides.observed);
        match self.how {
            How::Keyed(keys) => by_key(self, path, keys, &desired, &observed, changes),
            How::Names => by_name(self, path, &desired, &observed, Value::eq, changes),
            How::NamedPolicies => by_name(self, path, &desired, &observed, same_policy, changes),
            How::WriteOnly => {
                if let Some(before) = sides.applied
                    && !same(How::Exact, &desired, before)
                {
                    changes.push(self.change(path.to_owned(), before, &desired));
                }
            }
            how => {
                if !same(how, &desired, &observed) {
                    changes.push(self.change(path.to_owned(), &observed, &desired));
                }
            }
        }
    }
}

/// The differences of an object: its fields by the rules, and its tags. What [`Kind::compare`] does for most kinds.
///
/// [`Kind::compare`]: super::kind::Kind::compare
pub fn object(
    rules: &[Rule],
    subject: &Subject,
    desired: &Value,
    observed: &Observed,
    applied: Option<&Value>,
) -> Vec<FieldChange> {
    let there = Value::Object(Map::from_iter([("spec".to_owned(), observed.spec.clone())]));
    let mut changes = fields(rules, desired, &there, applied);
    changes.extend(tag_changes(&tags::wanted(subject, desired), &observed.tags));
    changes
}

/// The differences of two objects by the rules, without their tags. Both sides are whole objects (`{"spec": …}`); a
/// field below `spec` that no rule covers is compared by value and cannot be changed.
pub fn fields(rules: &[Rule], desired: &Value, observed: &Value, applied: Option<&Value>) -> Vec<FieldChange> {
    let comparison = Comparison { rules, sides: Sides { desired, observed, applied } };
    let mut changes = Vec::new();
    comparison.walk("", comparison.sides, &mut changes);
    comparison.enforce(&mut changes);
    changes
}

/// The differences of tags, marks among them ([`tags::wanted`]). Tags of AWS, ACK and fleetctl that are not wanted are
/// left alone; any other tag that is not wanted is to go, as with ACK.
pub fn tag_changes(wanted: &Tags, observed: &Tags) -> Vec<FieldChange> {
    let text = |value: Option<&String>| value.map_or(Value::Null, |value| Value::String(value.clone()));
    let change = |key: &String| FieldChange {
        path: format!("spec.tags[{key}]"),
        before: text(observed.get(key)),
        after: text(wanted.get(key)),
        changeability: Changeability::InPlace,
        reason: None,
    };
    let missing = wanted.iter().filter(|(key, value)| observed.get(*key) != Some(*value)).map(|(key, _)| key);
    let extra = observed.keys().filter(|key| !wanted.contains_key(*key) && !tags::is_foreign(key));
    missing.chain(extra).map(change).collect()
}

/// Whether an unknown leaf of the wanted object leaves a change undecided: both lie in the same field. A list of which
/// one item is unknown is undecided as a whole. Paths may carry indices or keys in brackets.
pub fn undecided(change: &str, unknown: &str) -> bool {
    let head = |path: &str| path.split('[').next().unwrap_or_default().to_owned();
    let (change, unknown) = (head(change), head(unknown));
    covers(&change, &unknown) || covers(&unknown, &change)
}

/// One place in the objects.
#[derive(Clone, Copy)]
struct Sides<'a> {
    desired: &'a Value,
    observed: &'a Value,
    applied: Option<&'a Value>,
}

impl<'a> Sides<'a> {
    /// The place of a field below.
    fn below(self, name: &str, desired: &'a Value) -> Self {
        let observed = self.observed.get(name).unwrap_or(&Value::Null);
        let applied = self.applied.map(|applied| applied.get(name).unwrap_or(&Value::Null));
        Self { desired, observed, applied }
    }
}

/// The objects, and the rules between them.
struct Comparison<'a> {
    rules: &'a [Rule],
    sides: Sides<'a>,
}

impl<'a> Comparison<'a> {
    /// Compares what the wanted object sets.
    fn walk(&self, path: &str, sides: Sides<'a>, changes: &mut Vec<FieldChange>) {
        if is_nothing(sides.desired) {
            return;
        }
        let rule = self.rule(path);
        match sides.desired {
            Value::Object(map) if rule.is_none_or(|rule| rule.how == How::Exact) => {
                for (name, value) in map {
                    let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    self.walk(&below, sides.below(name, value), changes);
                }
            }
            _ => match rule {
                Some(rule) => rule.apply(path, sides, changes),
                None if path.starts_with("spec.") => {
                    Rule::not_carried_out("", How::Exact, NOT_CARRIED_OUT).apply(path, sides, changes);
                }
                None => {}
            },
        }
    }

    /// Compares what the wanted object does not set, but ACK enforces.
    fn enforce(&self, changes: &mut Vec<FieldChange>) {
        for rule in self.rules.iter().filter(|rule| rule.absent != Absent::Unmanaged) {
            let Sides { desired, observed, applied } = self.sides;
            if is_nothing(at(desired, rule.path)) {
                let observed = at(observed, rule.path);
                let applied = applied.map(|applied| at(applied, rule.path));
                rule.apply(rule.path, Sides { desired: &Value::Null, observed, applied }, changes);
            }
        }
    }

    fn rule(&self, path: &str) -> Option<&'a Rule> {
        self.rules.iter().filter(|rule| covers(rule.path, path)).max_by_key(|rule| rule.path.len())
    }
}

impl Absent {
    /// The value, or what stands for its absence.
    fn or(self, value: &Value) -> Value {
        match self {
            _ if !is_nothing(value) => value.clone(),
            Self::Unmanaged | Self::Nothing => value.clone(),
            Self::False => Value::Bool(false),
            Self::True => Value::Bool(true),
            Self::Text(text) => Value::String(text.to_owned()),
        }
    }
}

/// Whether two values are the same for a field that is compared as a whole.
fn same(how: How, desired: &Value, observed: &Value) -> bool {
    match how {
        _ if is_nothing(desired) && is_nothing(observed) => true,
        How::Tags | How::Ignored => true,
        How::Set => set(desired) == set(observed),
        How::Policy => same_policy(desired, observed),
        How::Document => match (desired.as_str(), observed.as_str()) {
            (Some(desired), Some(observed)) => document::same(desired, observed),
            _ => desired == observed,
        },
        _ => normal(desired, true) == normal(observed, true),
    }
}

fn same_policy(desired: &Value, observed: &Value) -> bool {
    match (desired.as_str(), observed.as_str()) {
        (Some(desired), Some(observed)) => policy::same(desired, observed),
        _ => desired == observed,
    }
}

/// Compares lists of mappings item by item.
fn by_key(rule: &Rule, path: &str, keys: &[&str], desired: &Value, observed: &Value, changes: &mut Vec<FieldChange>) {
    let key = |item: &Value| {
        let found = keys.iter().find_map(|key| item.get(key).filter(|value| !is_nothing(value)));
        found.map_or_else(String::new, plain)
    };
    let items = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let (desired, observed) = (items(desired), items(observed));
    for item in &desired {
        let rivals = || observed.iter().filter(|candidate| key(candidate) == key(item));
        if !rivals().any(|candidate| normal(&only(candidate, item), true) == normal(item, true)) {
            let before = rivals().next().unwrap_or(&Value::Null);
            changes.push(rule.change(format!("{path}[{}]", key(item)), before, item));
        }
    }
    for item in observed.iter().filter(|item| !desired.iter().any(|candidate| key(candidate) == key(item))) {
        changes.push(rule.change(format!("{path}[{}]", key(item)), item, &Value::Null));
    }
}

/// A mapping without the fields that another one does not set.
fn only(mapping: &Value, of: &Value) -> Value {
    match (mapping, of) {
        (Value::Object(fields), Value::Object(of)) => {
            let kept = fields.iter().filter(|(name, _)| of.get(*name).is_some_and(|value| !is_nothing(value)));
            Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        _ => mapping.clone(),
    }
}

/// Compares mappings name by name.
fn by_name(
    rule: &Rule,
    path: &str,
    desired: &Value,
    observed: &Value,
    same: impl Fn(&Value, &Value) -> bool,
    changes: &mut Vec<FieldChange>,
) {
    let names = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (desired, observed) = (names(desired), names(observed));
    for (name, after) in &desired {
        let before = observed.get(name).unwrap_or(&Value::Null);
        if !same(after, before) {
            changes.push(rule.change(format!("{path}[{name}]"), before, after));
        }
    }
    for (name, before) in observed.iter().filter(|(name, _)| !desired.contains_key(*name)) {
        changes.push(rule.change(format!("{path}[{name}]"), before, &Value::Null));
    }
}

/// A list without order and repetitions; anything else as a list of one.
fn set(value: &Value) -> Vec<String> {
    let mut items: Vec<String> = match value {
        Value::Array(items) => items.iter().map(|item| normal(item, true).to_string()).collect(),
        Value::Null => Vec::new(),
        other => vec![normal(other, true).to_string()],
    };
    items.sort();
    items.dedup();
    items
}

/// A value in one of the forms that mean the same: nothing absent, names in order, whole numbers as such, and, if asked
/// for, lists of texts in order.
fn normal(value: &Value, sort: bool) -> Value {
    match value {
        Value::Object(map) => {
            let kept: BTreeMap<String, Value> = map
                .iter()
                .filter(|(_, value)| !is_nothing(value))
                .map(|(name, value)| (name.clone(), normal(value, sort)))
                .collect();
            Value::Object(kept.into_iter().collect())
        }
        Value::Array(items) if sort && items.iter().all(Value::is_string) => {
            let mut texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            texts.sort_unstable();
            texts.dedup();
            Value::from(texts)
        }
        Value::Array(items) => items.iter().map(|item| normal(item, sort)).collect(),
        Value::Number(number) => whole(number).map_or_else(|| value.clone(), Value::from),
        _ => value.clone(),
    }
}

/// The whole number that a number is, where it is one: `3.0` is 3.
fn whole(number: &serde_json::Number) -> Option<i64> {
    let limit = 9_007_199_254_740_992.0;
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= limit);
    number.as_i64().or_else(|| format!("{:.0}", float?).parse().ok())
}

/// Whether a value is as good as absent.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The value at a dotted path; null where there is none.
pub fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').try_fold(value, |value, name| value.get(name)).unwrap_or(&Value::Null)
}

/// A value as it stands in a path.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a dotted path is the other or lies below it.
fn covers(prefix: &str, path: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests;
