//! What the kinds share: entries of field tables, recorded calls, errors of our own, the parts of a status that every ACK
//! kind has, and tags out of a list of changes.

use super::compare::at;
use super::kind::{FieldChange, Observed, StepError, Subject};
use super::recorder::Call;
use crate::aws::error::{CallError, ErrorClass};
use crate::graph::catalog::{Field, Production, Step};
use crate::state::file::Verb;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A field that the create call needs.
pub(super) const fn create(path: &'static str) -> Field {
    Field { path, step: Step::Create, asks: Production::Created, carried_out: true }
}

/// A field that the create call needs, and that its source must be configured for.
pub(super) const fn create_asking(path: &'static str, asks: Production) -> Field {
    Field { path, step: Step::Create, asks, carried_out: true }
}

/// A field that the calls after the create call need.
pub(super) const fn configure(path: &'static str) -> Field {
    Field { path, step: Step::Configure, asks: Production::Created, carried_out: true }
}

/// A field that the calls after the create call need, and what it asks of its source.
pub(super) const fn configure_asking(path: &'static str, asks: Production) -> Field {
    Field { path, step: Step::Configure, asks, carried_out: true }
}

/// A field that the schema knows and fleetctl does not carry out.
pub(super) const fn only_known(path: &'static str) -> Field {
    Field { path, step: Step::Create, asks: Production::Created, carried_out: false }
}

/// A recorded call that changes an object which is there.
pub(super) fn change<'a>(subject: &'a Subject, operation: &'static str, id: &str) -> Call<'a> {
    Call::new(subject, Verb::Change, operation).id(id)
}

/// A recorded call that removes something of an object that itself is to go: that it is gone already is fine.
pub(super) fn part_removal<'a>(subject: &'a Subject, operation: &'static str, id: &str) -> Call<'a> {
    change(subject, operation, id).not_found_is_final()
}

/// A recorded call that removes an object.
pub(super) fn removal<'a>(subject: &'a Subject, operation: &'static str, id: &str) -> Call<'a> {
    Call::new(subject, Verb::Delete, operation).id(id)
}

/// A recorded call that makes an object.
pub(super) fn creation<'a>(subject: &'a Subject, operation: &'static str, applied: &Value) -> Call<'a> {
    Call::new(subject, Verb::Create, operation).applied(applied.clone())
}

/// A refusal of our own: nothing was called, or what was read does not allow the call.
pub(super) fn fault(service: &'static str, operation: &'static str, code: &str, message: String) -> CallError {
    CallError { service, operation, class: ErrorClass::Final, code: code.to_owned(), message, request_id: None }
}

/// AWS answered without the object that its API promises: nobody knows whether it is there.
pub(super) fn empty_answer(service: &'static str, operation: &'static str) -> CallError {
    fault(service, operation, "EmptyAnswer", "the answer does not hold the object".to_owned()).meaning(ErrorClass::Unclear)
}

/// The `spec` of an object, typed. Unknown fields are an error.
pub(super) fn spec<T: DeserializeOwned>(desired: &Value) -> Result<T, CallError> {
    // By value: borrowed values of a `&Value` cannot become owned texts in every type.
    serde_json::from_value(at(desired, "spec").clone())
        .map_err(|error| fault("fleetctl", "ReadSpec", "InvalidSpec", format!("the spec cannot be read: {error}")))
}

/// A field that a call cannot do without.
pub(super) fn required<'a, T>(field: Option<&'a T>, path: &str) -> Result<&'a T, StepError> {
    field.ok_or_else(|| StepError::Refused(fault("fleetctl", "ReadSpec", "MissingField", format!("{path} is missing"))))
}

/// A read whose object may be missing.
pub(super) fn present<T>(answer: Result<T, CallError>) -> Result<Option<T>, CallError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.class == ErrorClass::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// An error that passes by itself, if its code is the given one and its message holds one of the texts.
pub(super) fn passing(error: CallError, code: &str, texts: &[&str]) -> CallError {
    let passes = error.code == code && texts.iter().any(|text| error.message.contains(text));
    if passes { error.meaning(ErrorClass::NotYet) } else { error }
}

/// A moment as Kubernetes writes it: whole seconds, `2026-11-30T12:00:00Z`.
pub(super) fn moment(time: &DateTime) -> Option<String> {
    DateTime::from_secs(time.secs()).fmt(Format::DateTime).ok()
}

/// `status.ackResourceMetadata`.
pub(super) fn metadata(subject: &Subject, arn: Option<&str>) -> Value {
    without_nulls(json!({
        "arn": arn,
        "ownerAccountID": subject.identity.account,
        "region": subject.identity.region,
        "partition": subject.partition,
    }))
}

/// A value without fields that are null, all the way down.
pub(super) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept: Map<String, Value> = fields
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, without_nulls(value)))
                .collect();
            Value::Object(kept)
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// What a create call gave, once the calls after it have given the object everything that its document says.
pub(super) fn as_wanted(desired: &Value, observed: &Observed) -> Observed {
    let mut spec = observed.spec.clone();
    if let (Some(spec), Some(wanted)) = (spec.as_object_mut(), at(desired, "spec").as_object()) {
        // The tags went with the create call.
        let wanted = wanted.iter().filter(|(field, _)| *field != "tags");
        spec.extend(wanted.map(|(field, value)| (field.clone(), value.clone())));
    }
    Observed { spec: without_nulls(spec), ..observed.clone() }
}

/// What changes of tags come to: those to be set, and the keys to be removed (only keys that are not wanted at all).
pub(super) fn tag_changes(changes: &[FieldChange]) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut set, mut remove) = (BTreeMap::new(), Vec::new());
    for change in changes {
        let Some(key) = change.path.strip_prefix("spec.tags[").and_then(|rest| rest.strip_suffix(']')) else { continue };
        match change.after.as_str() {
            Some(value) => drop(set.insert(key.to_owned(), value.to_owned())),
            None => remove.push(key.to_owned()),
        }
    }
    (set, remove)
}

/// Tags as they stand in the spec of an observed object, without those of AWS, ACK and fleetctl.
fn told(tags: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    tags.iter().filter(|(key, _)| !super::tags::is_foreign(key))
}

/// `spec.tags` of an IAM object: a list of `key` and `value`; none when there are no tags to tell of.
pub(super) fn tags_as_list(tags: &BTreeMap<String, String>) -> Option<Value> {
    let list: Vec<Value> = told(tags).map(|(key, value)| json!({"key": key, "value": value})).collect();
    (!list.is_empty()).then_some(Value::Array(list))
}

/// `spec.tags` of an EKS object: a mapping; none when there are no tags to tell of.
pub(super) fn tags_as_map(tags: &BTreeMap<String, String>) -> Option<Value> {
    let map: Map<String, Value> = told(tags).map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    (!map.is_empty()).then_some(Value::Object(map))
}

/// Whether one of the changes is in this field, or below it.
pub(super) fn touches(changes: &[FieldChange], path: &str) -> bool {
    changes
        .iter()
        .any(|change| change.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '['])))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::graph::catalog::{ImpossibleValue, KindDescription};
    use crate::graph::identity::{Address, Identity};
    use crate::graph::schema::{Schema, Shape};
    use crate::kinds::kind::{Changeability, Marks};

    /// A subject for tests of any kind.
    pub(in crate::kinds) fn subject(api_version: &str, kind: &str) -> Subject {
        Subject {
            identity: Identity {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                namespace: "workload-cluster1".to_owned(),
                name: "one".to_owned(),
                account: "111122223333".to_owned(),
                region: "us-west-2".to_owned(),
            },
            address: Address("EksCluster/workload-cluster1/basic/one".to_owned()),
            partition: "aws".to_owned(),
            role: None,
            marks: Marks {
                lineage: "5f0c".to_owned(),
                instance: "argocd/EksCluster/workload-cluster1".to_owned(),
                address: "EksCluster/workload-cluster1/basic/one".to_owned(),
            },
            default_tags: BTreeMap::new(),
            role_path: None,
            permissions_boundary: None,
            dependencies: Vec::new(),
        }
    }

    /// An object with every field that the schema of a kind has, which its typed spec has to read; and every field has to
    /// have a line in the kind's table.
    pub(in crate::kinds) fn complete(description: &KindDescription) -> Value {
        let Shape::Object(spec) = &description.spec.shape else { panic!("a spec is an object") };
        for name in spec.properties.keys() {
            let path = format!("spec.{name}");
            assert!(description.fields.iter().any(|field| field.path == path), "{path} has no line");
        }
        json!({"spec": sample(&description.spec)})
    }

    fn sample(schema: &Schema) -> Value {
        match &schema.shape {
            Shape::Object(object) => object.properties.iter().map(|(name, field)| (name.clone(), sample(field))).collect(),
            Shape::Array(item) => json!([sample(item)]),
            Shape::Map(value) => json!({"name": sample(value)}),
            Shape::Boolean => json!(true),
            Shape::Integer => json!(1),
            _ => json!("text"),
        }
    }

    /// Paths of changes, in order.
    pub(in crate::kinds) fn paths(changes: &[FieldChange]) -> Vec<&str> {
        changes.iter().map(|change| change.path.as_str()).collect()
    }

    /// Paths of impossible values, in order.
    pub(in crate::kinds) fn places(faults: &[ImpossibleValue]) -> Vec<&str> {
        faults.iter().map(|fault| fault.path.as_str()).collect()
    }

    fn tag(key: &str, after: Value) -> FieldChange {
        FieldChange {
            path: format!("spec.tags[{key}]"),
            before: Value::Null,
            after,
            changeability: Changeability::InPlace,
            reason: None,
        }
    }

    #[test]
    fn a_changed_tag_is_set_and_never_removed() {
        let (set, remove) = tag_changes(&[tag("a", json!("1")), tag("b[0]", json!("")), tag("c", Value::Null)]);
        assert_eq!(set.into_iter().collect::<Vec<_>>(), [("a".into(), "1".into()), ("b[0]".into(), String::new())]);
        assert_eq!(remove, ["c"]);
    }

    #[test]
    fn a_field_is_touched_by_itself_and_by_what_is_below() {
        let changes = [tag("a", Value::Null)];
        assert!(touches(&changes, "spec.tags"));
        assert!(touches(&changes, "spec"));
        assert!(!touches(&changes, "spec.tag"));
        assert!(!touches(&changes, "spec.tags.more"));
    }

    #[test]
    fn only_the_listed_messages_pass() {
        let error = || fault("eks", "CreateCluster", "InvalidParameterException", "role x, could not be assumed".to_owned());
        assert_eq!(passing(error(), "InvalidParameterException", &["could not be assumed"]).class, ErrorClass::NotYet);
        assert_eq!(passing(error(), "InvalidParameterException", &["other"]).class, ErrorClass::Final);
        assert_eq!(passing(error(), "OtherException", &["could not be assumed"]).class, ErrorClass::Final);
    }

    #[test]
    fn moments_have_whole_seconds() {
        assert_eq!(moment(&DateTime::from_secs_f64(1_700_000_000.75)).unwrap(), "2023-11-14T22:13:20Z");
    }
}
