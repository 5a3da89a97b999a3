//! Tags: the marks that make objects ours, and tags in each service's own shape.

use crate::state::hash::sha256;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

/// Key of the tag that holds the lineage of the state.
pub const LINEAGE: &str = "fleetctl:lineage";
/// Key of the tag that holds the top-level instance.
pub const INSTANCE: &str = "fleetctl:instance";
/// Key of the tag that holds the address of the resource.
pub const ADDRESS: &str = "fleetctl:address";

/// The same three as annotations: Kubernetes allows no colon in their keys.
pub const LINEAGE_ANNOTATION: &str = "fleetctl/lineage";
/// See [`INSTANCE`].
pub const INSTANCE_ANNOTATION: &str = "fleetctl/instance";
/// See [`ADDRESS`].
pub const ADDRESS_ANNOTATION: &str = "fleetctl/address";

/// AWS allows this many characters in a tag's value.
const LONGEST_VALUE: usize = 256;

/// Tags that ACK and kro put on what they make. They change with each release of a controller.
const ACK_KEYS: [&str; 4] =
    ["services.k8s.aws/controller-version", "services.k8s.aws/namespace", "app.kubernetes.io/managed-by", "kro.run/kro-version"];

/// Tags by key.
pub type Tags = BTreeMap<String, String>;

/// Whether a tag belongs to AWS or to fleetctl itself: nobody may want it, and it never counts as a difference.
pub fn is_reserved(key: &str) -> bool {
    key.starts_with("aws:") || key.starts_with("fleetctl:")
}

/// Whether a tag that is there but not wanted is left alone: AWS's, fleetctl's, and the four of ACK and kro.
pub fn is_ignored(key: &str) -> bool {
    is_reserved(key) || ACK_KEYS.contains(&key)
}

/// A text as a tag's value: itself, or, where AWS's 256 characters are too few, its beginning and its hash.
pub fn value(text: &str) -> String {
    if text.chars().count() <= LONGEST_VALUE {
        return text.to_owned();
    }
    let hash = sha256(text);
    let beginning: String = text.chars().take(LONGEST_VALUE - hash.len() - 1).collect();
    format!("{beginning}={hash}")
}

/// What tells our objects from those of others: tags on AWS, annotations in Argo CD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    /// `fleetctl:lineage`: lineage of the state.
    pub lineage: String,
    /// `fleetctl:instance`: `argocd/EksCluster/workload-cluster1`.
    pub instance: String,
    /// `fleetctl:address`.
    pub address: String,
}

impl Marks {
    /// The marks as tags.
    pub fn tags(&self) -> Tags {
        self.keyed([LINEAGE, INSTANCE, ADDRESS])
    }

    /// The marks as annotations of an Argo CD registration.
    pub fn annotations(&self) -> Tags {
        self.keyed([LINEAGE_ANNOTATION, INSTANCE_ANNOTATION, ADDRESS_ANNOTATION])
    }

    /// Whether tags or annotations hold just these marks.
    pub fn are_on(&self, tags: &Tags) -> bool {
        [self.tags(), self.annotations()].iter().any(|marks| marks.iter().all(|(key, value)| tags.get(key) == Some(value)))
    }

    /// The instance whose mark tags or annotations hold, if it is another one.
    pub fn other_instance<'a>(&self, tags: &'a Tags) -> Option<&'a str> {
        let instance = [INSTANCE, INSTANCE_ANNOTATION].iter().find_map(|key| tags.get(*key))?;
        (*instance != value(&self.instance)).then_some(instance.as_str())
    }

    fn keyed(&self, keys: [&str; 3]) -> Tags {
        let texts = [&self.lineage, &self.instance, &self.address];
        keys.into_iter().zip(texts).map(|(key, text)| (key.to_owned(), value(text))).collect()
    }
}

/// Whose object something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// Our lineage.
    Ours,
    /// Another lineage, which the text names.
    Other(String),
    /// No lineage at all.
    Nobody,
}

/// Whose object it is that bears these tags (or annotations).
pub fn owner(tags: &Tags, marks: &Marks) -> Owner {
    let find = |keys: [&str; 2]| keys.iter().find_map(|key| tags.get(*key));
    match find([LINEAGE, LINEAGE_ANNOTATION]) {
        None => Owner::Nobody,
        Some(lineage) if *lineage == value(&marks.lineage) => Owner::Ours,
        Some(lineage) => Owner::Other(match find([INSTANCE, INSTANCE_ANNOTATION]) {
            Some(instance) => format!("{instance}, lineage {lineage}"),
            None => format!("lineage {lineage}"),
        }),
    }
}

/// The tags of a spec in ACK's shape: a list of `key` and `value` (EC2, IAM) or a map (EKS). Leaves that are not texts
/// are left out.
pub fn of_spec(tags: &Value) -> Tags {
    match tags {
        Value::Array(list) => list.iter().filter_map(of_item).collect(),
        Value::Object(map) => map.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect(),
        _ => Tags::new(),
    }
}

fn of_item(item: &Value) -> Option<(String, String)> {
    // AWS takes a tag without a value as one with an empty value.
    let value = item.get("value").map_or(Some(""), Value::as_str)?;
    Some((item.get("key")?.as_str()?.to_owned(), value.to_owned()))
}

fn owned((key, value): (&String, &String)) -> (String, String) {
    (key.clone(), value.clone())
}

/// Tags for EC2's `CreateTags` and `DeleteTags`.
pub fn to_ec2(tags: &Tags) -> Vec<aws_sdk_ec2::types::Tag> {
    tags.iter().map(|(key, value)| aws_sdk_ec2::types::Tag::builder().key(key).value(value).build()).collect()
}

/// The `TagSpecifications` of an EC2 create call.
pub fn to_ec2_specification(
    resource_type: aws_sdk_ec2::types::ResourceType,
    tags: &Tags,
) -> aws_sdk_ec2::types::TagSpecification {
    aws_sdk_ec2::types::TagSpecification::builder().resource_type(resource_type).set_tags(Some(to_ec2(tags))).build()
}

/// Tags for IAM.
pub fn to_iam(tags: &Tags) -> Vec<aws_sdk_iam::types::Tag> {
    // Building fails only without key or value, and both are given.
    tags.iter().filter_map(|(key, value)| aws_sdk_iam::types::Tag::builder().key(key).value(value).build().ok()).collect()
}

/// Tags for EKS.
pub fn to_eks(tags: &Tags) -> HashMap<String, String> {
    tags.iter().map(owned).collect()
}

/// Tags as EC2 gives them.
pub fn of_ec2(tags: &[aws_sdk_ec2::types::Tag]) -> Tags {
    tags.iter().filter_map(|tag| Some((tag.key.clone()?, tag.value.clone().unwrap_or_default()))).collect()
}

/// Tags as IAM gives them.
pub fn of_iam(tags: &[aws_sdk_iam::types::Tag]) -> Tags {
    tags.iter().map(|tag| (tag.key.clone(), tag.value.clone())).collect()
}

/// Tags as EKS gives them.
pub fn of_eks<S: BuildHasher>(tags: Option<&HashMap<String, String, S>>) -> Tags {
    tags.into_iter().flatten().map(owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn marks() -> Marks {
        Marks {
            lineage: "5f0c".into(),
            instance: "argocd/EksCluster/workload-cluster1".into(),
            address: "EksCluster/workload-cluster1/vpc/vpc".into(),
        }
    }

    #[test]
    fn short_values_stay_and_long_ones_are_hashed() {
        assert_eq!(value("EksCluster/a/vpc"), "EksCluster/a/vpc");
        let longest = "x".repeat(256);
        assert_eq!(value(&longest), longest);
        let (long, other) = ("y".repeat(300), format!("{}z", "y".repeat(299)));
        assert_eq!(value(&long).chars().count(), 256);
        assert!(value(&long).starts_with("yyyy"));
        assert_ne!(value(&long), value(&other));
        assert_eq!(value(&"ü".repeat(257)).chars().count(), 256);
    }

    #[test]
    fn the_owner_is_told_by_lineage() {
        assert_eq!(owner(&marks().tags(), &marks()), Owner::Ours);
        assert_eq!(owner(&marks().annotations(), &marks()), Owner::Ours);
        assert_eq!(owner(&tags(&[("Name", "x")]), &marks()), Owner::Nobody);
        let mut other = marks();
        other.lineage = "77aa".into();
        assert_eq!(owner(&other.tags(), &marks()), Owner::Other("argocd/EksCluster/workload-cluster1, lineage 77aa".into()));
        assert_eq!(owner(&tags(&[(LINEAGE, "77aa")]), &marks()), Owner::Other("lineage 77aa".into()));
    }

    #[test]
    fn another_address_of_our_lineage_is_ours() {
        let mut moved = marks();
        moved.address = "EksCluster/workload-cluster1/network/vpc".into();
        assert_eq!(owner(&moved.tags(), &marks()), Owner::Ours);
    }

    #[test]
    fn both_shapes_of_ack_are_read() {
        let list = json!([{"key": "Name", "value": "a"}, {"key": "empty"}, {"key": 3, "value": "no"}, {"value": "no key"}]);
        assert_eq!(of_spec(&list), tags(&[("Name", "a"), ("empty", "")]));
        assert_eq!(of_spec(&json!({"Name": "a", "number": 1})), tags(&[("Name", "a")]));
        assert_eq!(of_spec(&Value::Null), Tags::new());
    }

    #[test]
    fn tags_go_out_and_come_back() {
        let some = tags(&[("Name", "a"), ("team", "")]);
        assert_eq!(of_ec2(&to_ec2(&some)), some);
        assert_eq!(of_iam(&to_iam(&some)), some);
        assert_eq!(of_eks(Some(&to_eks(&some))), some);
        assert_eq!(of_eks(None::<&HashMap<_, _>>), Tags::new());
        let specification = to_ec2_specification(aws_sdk_ec2::types::ResourceType::Vpc, &some);
        assert_eq!(of_ec2(specification.tags()), some);
    }
}
