//! Tags of an object, and which tags of others are left alone.

use super::compare::at;
use super::kind::Subject;
use crate::aws::tags::{Tags, is_reserved, of_spec};
use serde_json::Value;

pub use crate::aws::tags::is_ignored as is_foreign;

/// All tags that an object is to carry: the spec's, over the settings' default tags (those without a value are left out,
/// as ACK does), and the marks.
pub fn wanted(subject: &Subject, desired: &Value) -> Tags {
    let defaults = subject.default_tags.iter().filter(|(_, value)| !value.is_empty());
    let mut tags: Tags = defaults.map(|(key, value)| (key.clone(), value.clone())).collect();
    tags.extend(of_spec(at(desired, "spec.tags")));
    tags.retain(|key, _| !is_reserved(key));
    tags.extend(subject.marks.tags());
    tags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::shared::tests::subject;
    use serde_json::json;

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_object_is_made_with_defaults_spec_and_marks() {
        let mut subject = subject("ec2.services.k8s.aws/v1alpha1", "VPC");
        subject.default_tags = tags(&[("team", "fleet"), ("Name", "default"), ("nothing", "")]);
        let spec = json!([{"key": "Name", "value": "a"}, {"key": "fleetctl:lineage", "value": "forged"}]);
        let mut expected = tags(&[("team", "fleet"), ("Name", "a")]);
        expected.extend(subject.marks.tags());
        assert_eq!(wanted(&subject, &json!({"spec": {"tags": spec}})), expected);
    }
}
