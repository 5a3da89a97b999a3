//! The Secret of a registration as it stands in a graph: what fleetctl takes of it, and what it cannot take.

use crate::graph::catalog::ImpossibleValue;
use crate::graph::expansion::REGISTRATION_LABEL;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The label that makes a Secret a cluster of Argo CD.
pub(super) const SECRET_TYPE: &str = REGISTRATION_LABEL.0;

/// Keys of `stringData` that are carried out. No other value of a Secret is kept anywhere.
pub(super) const KEPT: [&str; 3] = ["name", "server", "project"];

/// Labels and annotations that Argo CD or Kubernetes write themselves; they are never sent (Argo CD adds, drops or
/// refuses them).
const SYSTEM: [&str; 4] =
    [SECRET_TYPE, "managed-by", "argocd.argoproj.io/refresh", "kubectl.kubernetes.io/last-applied-configuration"];

/// Bytes that the annotations of an object may have in all (Kubernetes: 256 KiB).
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// What a registration wants, as far as it is known. Texts that are absent are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Wanted {
    /// Argo CD's name of the cluster.
    pub(super) name: String,
    /// Argo CD's project.
    pub(super) project: String,
    /// The ARN that `server` is.
    pub(super) server: Option<ClusterArn>,
    /// Labels as rendered, without system keys.
    pub(super) labels: BTreeMap<String, String>,
    /// Annotations as rendered, without system keys.
    pub(super) annotations: BTreeMap<String, String>,
}

impl Wanted {
    /// What an object says.
    pub(super) fn of(object: &Value) -> Self {
        let text = |key: &str| object["stringData"][key].as_str().unwrap_or_default();
        Self {
            name: text("name").to_owned(),
            project: text("project").to_owned(),
            server: ClusterArn::parse(text("server")),
            labels: without_system_keys(texts(&object["metadata"]["labels"])),
            annotations: without_system_keys(texts(&object["metadata"]["annotations"])),
        }
    }
}

/// The ARN of an EKS cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClusterArn {
    /// The whole ARN.
    pub(super) arn: String,
    /// Its partition: `aws`.
    pub(super) partition: String,
    /// The cluster's region.
    pub(super) region: String,
    /// The cluster's account.
    pub(super) account: String,
    /// The cluster's name.
    pub(super) name: String,
}

impl ClusterArn {
    /// Reads `arn:aws:eks:us-west-2:111122223333:cluster/spoke1`, of any partition.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(6, ':');
        let (scheme, partition, service) = (parts.next()?, parts.next()?, parts.next()?);
        let (region, account, resource) = (parts.next()?, parts.next()?, parts.next()?);
        let name = resource.strip_prefix("cluster/")?;
        let named = scheme == "arn" && partition.starts_with("aws") && service == "eks" && !region.is_empty();
        let digits = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
        let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        (named && digits && plain).then(|| Self {
            arn: text.to_owned(),
            partition: partition.to_owned(),
            region: region.to_owned(),
            account: account.to_owned(),
            name: name.to_owned(),
        })
    }
}

/// Whether an object is a registration at all. Unknown labels count as none.
pub(super) fn is_registration(object: &Value) -> bool {
    object["metadata"]["labels"][SECRET_TYPE].as_str() == Some(REGISTRATION_LABEL.1)
}

/// The object without everything that may be secret: of `stringData` only name, server and project stay, of `data`
/// nothing.
pub(super) fn without_secrets(object: &Value) -> Value {
    let mut kept = object.clone();
    if let Some(fields) = kept.as_object_mut() {
        fields.remove("data");
        if let Some(Value::Object(texts)) = fields.get_mut("stringData") {
            texts.retain(|key, _| KEPT.contains(&key.as_str()));
        }
    }
    if let Some(Value::Object(annotations)) = kept.pointer_mut("/metadata/annotations") {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    kept
}

/// Values that Kubernetes would refuse for the Secret behind a registration, and names that Argo CD's `ApplicationSets`
/// cannot work with. Argo CD finds them only after the cluster is up, so they are found here.
pub(super) fn impossible_values(object: &Value) -> Vec<ImpossibleValue> {
    if !is_registration(object) {
        return Vec::new();
    }
    let labels = texts(&object["metadata"]["labels"]);
    let annotations = texts(&object["metadata"]["annotations"]);
    let mut found: Vec<ImpossibleValue> = labels.iter().flat_map(|(key, value)| label_faults(key, value)).collect();
    found.extend(annotations.keys().filter_map(|key| key_fault("metadata.annotations", key)));
    found.extend(annotations_too_long(&annotations));
    found.extend(name_fault(object));
    found
}

/// Applications are named `<addon>-<cluster>`, and Kubernetes takes only DNS labels there.
fn name_fault(object: &Value) -> Option<ImpossibleValue> {
    let name = object["stringData"]["name"].as_str()?;
    let message = || match name.chars().count() {
        length @ 64.. => format!("the cluster name `{name}` has {length} characters, 63 are allowed"),
        _ => format!("the cluster name `{name}` is not a DNS label"),
    };
    (!is_dns_label(name)).then(|| ImpossibleValue {
        path: "stringData.name".to_owned(),
        message: message(),
        expected: "1 to 63 of a-z, 0-9 and `-`, beginning and ending with a letter or digit".to_owned(),
    })
}

fn label_faults(key: &str, value: &str) -> Vec<ImpossibleValue> {
    let too_odd = (!is_label_value(value)).then(|| ImpossibleValue {
        path: format!("metadata.labels[{key}]"),
        message: format!("`{value}` cannot be the value of a label"),
        expected: "at most 63 of A-Z, a-z, 0-9, `-`, `_` and `.`, beginning and ending with a letter or digit; or nothing"
            .to_owned(),
    });
    key_fault("metadata.labels", key).into_iter().chain(too_odd).collect()
}

fn key_fault(place: &str, key: &str) -> Option<ImpossibleValue> {
    (!is_qualified_name(key)).then(|| ImpossibleValue {
        path: format!("{place}[{key}]"),
        message: format!("`{key}` cannot be a key here"),
        expected: "a name of at most 63 of A-Z, a-z, 0-9, `-`, `_` and `.`, with a DNS name and `/` before it if need be"
            .to_owned(),
    })
}

fn annotations_too_long(annotations: &BTreeMap<String, String>) -> Option<ImpossibleValue> {
    let bytes: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    (bytes > ANNOTATIONS_LIMIT).then(|| ImpossibleValue {
        path: "metadata.annotations".to_owned(),
        message: format!("the annotations have {bytes} bytes"),
        expected: format!("at most {ANNOTATIONS_LIMIT}"),
    })
}

/// RFC 1123 label, as Kubernetes has it.
fn is_dns_label(text: &str) -> bool {
    let inner = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    !text.is_empty() && text.len() <= 63 && inner && !text.starts_with('-') && !text.ends_with('-')
}

fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_label_name(text)
}

fn is_label_name(text: &str) -> bool {
    let inner = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let edge = |character: char| character.is_ascii_alphanumeric();
    text.len() <= 63 && inner && text.starts_with(edge) && text.ends_with(edge)
}

fn is_qualified_name(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => prefix.len() <= 253 && prefix.split('.').all(is_dns_label) && is_label_name(name),
        None => is_label_name(key),
    }
}

fn without_system_keys(mut map: BTreeMap<String, String>) -> BTreeMap<String, String> {
    map.retain(|key, _| !SYSTEM.contains(&key.as_str()));
    map
}

/// A map of texts; what is no text is left out.
pub(super) fn texts(map: &Value) -> BTreeMap<String, String> {
    let nothing = Map::new();
    let entries = map.as_object().unwrap_or(&nothing).iter();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn secret() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {
                "name": "spoke1", "namespace": "argocd",
                "labels": {SECRET_TYPE: "cluster", "fleet_member": "spoke", "workloads": ""},
                "annotations": {"aws_vpc_id": "vpc-1", "argocd.argoproj.io/refresh": "x", "managed-by": "me"},
            },
            "stringData": {
                "name": "spoke1", "server": "arn:aws:eks:us-west-2:111122223333:cluster/spoke1", "project": "default",
                "config": "{\"bearerToken\": \"hush\"}",
            },
            "data": {"password": "aHVzaA=="},
        })
    }

    #[test]
    fn system_keys_are_not_wanted() {
        let wanted = Wanted::of(&secret());
        assert_eq!(wanted.name, "spoke1");
        assert_eq!(wanted.project, "default");
        assert_eq!(wanted.labels.keys().collect::<Vec<_>>(), ["fleet_member", "workloads"]);
        assert_eq!(wanted.annotations.keys().collect::<Vec<_>>(), ["aws_vpc_id"]);
        let server = wanted.server.unwrap();
        assert_eq!(
            (server.account.as_str(), server.region.as_str(), server.name.as_str()),
            ("111122223333", "us-west-2", "spoke1")
        );
    }

    #[test]
    fn only_arns_of_clusters_are_servers() {
        assert!(ClusterArn::parse("arn:aws-us-gov:eks:us-gov-west-1:111122223333:cluster/a_b-C").is_some());
        for text in [
            "",
            "https://ABC.gr7.us-west-2.eks.amazonaws.com",
            "https://kubernetes.default.svc",
            "arn:aws:eks:us-west-2:111122223333:cluster/",
            "arn:aws:eks:us-west-2:111122223333:nodegroup/a",
            "arn:aws:eks:us-west-2:1111:cluster/spoke1",
            "arn:aws:ecs:us-west-2:111122223333:cluster/spoke1",
            "arn:aws:eks:us-west-2:111122223333:cluster/a/b",
        ] {
            assert_eq!(ClusterArn::parse(text), None, "{text}");
        }
    }

    #[test]
    fn no_secret_is_kept() {
        let kept = without_secrets(&secret());
        assert!(!kept.to_string().contains("hush") && !kept.to_string().contains("aHVzaA"));
        assert_eq!(kept["stringData"].as_object().unwrap().len(), 3);
        assert_eq!(kept["metadata"]["labels"]["fleet_member"], "spoke");
    }

    #[test]
    fn what_kubernetes_would_refuse_is_found() {
        assert_eq!(impossible_values(&secret()), []);
        let mut object = secret();
        object["metadata"]["labels"]["tenant"] = json!("team a");
        object["metadata"]["labels"]["long"] = json!("x".repeat(64));
        object["metadata"]["annotations"]["a/b/c"] = json!("");
        object["stringData"]["name"] = json!("Spoke_1");
        let paths: Vec<String> = impossible_values(&object).into_iter().map(|found| found.path).collect();
        assert_eq!(paths, ["metadata.labels[long]", "metadata.labels[tenant]", "metadata.annotations[a/b/c]", "stringData.name"]);
        object["metadata"]["labels"][SECRET_TYPE] = json!("repository");
        assert_eq!(impossible_values(&object), []);
    }

    #[test]
    fn too_many_annotations_are_found() {
        let mut object = secret();
        object["metadata"]["annotations"]["big"] = json!("x".repeat(ANNOTATIONS_LIMIT));
        assert_eq!(impossible_values(&object)[0].path, "metadata.annotations");
    }

    proptest! {
        #[test]
        fn valid_label_values_pass(value in "([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?") {
            prop_assert!(is_label_value(&value));
        }

        #[test]
        fn label_values_with_odd_characters_do_not(value in "[A-Za-z0-9]{0,5}[ /:@,äß]{1,3}[A-Za-z0-9]{0,5}") {
            prop_assert!(!is_label_value(&value));
        }

        #[test]
        fn arns_come_back_whole(region in "[a-z]{2}-[a-z]{4,9}-[1-9]", account in "[0-9]{12}", name in "[0-9A-Za-z][A-Za-z0-9_-]{0,99}") {
            let arn = format!("arn:aws:eks:{region}:{account}:cluster/{name}");
            let parsed = ClusterArn::parse(&arn).unwrap();
            prop_assert_eq!((parsed.arn, parsed.region, parsed.account, parsed.name), (arn, region, account, name));
        }
    }
}
