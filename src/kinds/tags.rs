//! Tags: what an object is to carry, and which tags of others are left alone.

use super::compare::at;
use super::kind::{Marks, Subject};
use serde_json::Value;
use std::collections::BTreeMap;

/// Tag that holds the lineage of the state an object belongs to.
pub const LINEAGE: &str = "fleetctl:lineage";
/// Tag that holds the top-level instance an object belongs to.
pub const INSTANCE: &str = "fleetctl:instance";
/// Tag that holds the address of an object.
pub const ADDRESS: &str = "fleetctl:address";

/// Keys that ACK's controllers put on everything (ack.md 1.7); they change with each of ACK's releases.
const ACK: &[&str] =
    &["services.k8s.aws/controller-version", "services.k8s.aws/namespace", "app.kubernetes.io/managed-by", "kro.run/kro-version"];

/// All tags that an object is to carry: the spec's, before the settings' default tags, and the marks.
#[must_use]
pub fn wanted(subject: &Subject, desired: &Value) -> BTreeMap<String, String> {
    let mut tags = subject.default_tags.clone();
    tags.extend(of_spec(at(desired, "spec.tags")));
    tags.extend(marks(&subject.marks));
    tags
}

/// The tags of a spec, in either of ACK's forms: a list of `key` and `value` (EC2, IAM), or a mapping (EKS). A tag
/// without value has an empty one.
#[must_use]
pub fn of_spec(tags: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match tags {
        Value::Array(list) => list
            .iter()
            .filter_map(|tag| Some((tag.get("key")?.as_str()?.to_owned(), tag.get("value").map(text).unwrap_or_default())))
            .collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
        _ => BTreeMap::new(),
    }
}

/// The marks as tags.
#[must_use]
pub fn marks(marks: &Marks) -> BTreeMap<String, String> {
    let tags = [(LINEAGE, &marks.lineage), (INSTANCE, &marks.instance), (ADDRESS, &marks.address)];
    tags.into_iter().map(|(key, value)| (key.to_owned(), value.clone())).collect()
}

/// Whether a tag that is not wanted is left alone: tags of AWS, of ACK, and fleetctl's own.
#[must_use]
pub fn is_foreign(key: &str) -> bool {
    key.to_lowercase().starts_with("aws:") || key.starts_with("fleetctl:") || ACK.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_forms_of_tags_are_read() {
        let list = of_spec(&json!([{"key": "Name", "value": "x"}, {"key": "empty"}, {"value": "no key yet"}]));
        assert_eq!(list, of_spec(&json!({"Name": "x", "empty": ""})));
        assert!(of_spec(&Value::Null).is_empty());
    }
}
