//! The labels and annotations that `ApplicationSets` of the `GitOps` Bridge read, as AWS's example has them.

use crate::graph::expression::Segment;
use crate::graph::tree::Tree;
use serde_json::Value;
use std::collections::BTreeSet;

const LABELS: [&str; 2] = ["environment", "tenant"];
const ANNOTATIONS: [&str; 3] = ["addons_repo_basepath", "addons_repo_revision", "addons_repo_url"];
/// Those that a member of the control plane needs besides.
const FLEET: [&str; 3] = ["fleet_repo_basepath", "fleet_repo_revision", "fleet_repo_url"];

/// What a registration that follows the convention lacks, for people: `label tenant`. Such a registration is one with a
/// label `enable_…` or an annotation `addons_repo_…`.
pub fn missing_keys(desired: &Tree) -> Vec<String> {
    let (Some(labels), Some(annotations)) = (keys(desired, "labels"), keys(desired, "annotations")) else { return Vec::new() };
    let follows =
        labels.iter().any(|key| key.starts_with("enable_")) || annotations.iter().any(|key| key.starts_with("addons_repo_"));
    if !follows {
        return Vec::new();
    }
    let member = desired.at(&path("labels", Some("fleet_member")));
    let is_control_plane = member.is_some_and(|member| member.known().and_then(Value::as_str) == Some("control-plane"));
    let fleet: &[&str] = if is_control_plane { &FLEET } else { &[] };
    let lacks = |wanted: &[&str], there: &BTreeSet<String>, what: &str| -> Vec<String> {
        wanted.iter().filter(|key| !there.contains(**key)).map(|key| format!("{what} {key}")).collect()
    };
    let mut missing = lacks(&LABELS, &labels, "label");
    missing.extend(lacks(&ANNOTATIONS, &annotations, "annotation"));
    missing.extend(lacks(fleet, &annotations, "annotation"));
    missing
}

fn path(map: &str, key: Option<&str>) -> Vec<Segment> {
    ["metadata", map].into_iter().chain(key).map(|name| Segment::Field(name.into())).collect()
}

/// The keys of a map; `None` if it is not known which there are.
fn keys(desired: &Tree, map: &str) -> Option<BTreeSet<String>> {
    let Some(found) = desired.at(&path(map, None)) else { return Some(BTreeSet::new()) };
    match &*found {
        Tree::Known(Value::Object(entries)) => Some(entries.keys().cloned().collect()),
        Tree::Known(_) => Some(BTreeSet::new()),
        Tree::Mapping(entries) => Some(entries.keys().cloned().collect()),
        Tree::Unknown(_) | Tree::Sequence(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(clippy::needless_pass_by_value, reason = "written where it is used")]
    fn missing(labels: Value, annotations: Value) -> Vec<String> {
        missing_keys(&Tree::Known(json!({"metadata": {"labels": labels, "annotations": annotations}})))
    }

    #[test]
    fn only_who_follows_the_convention_can_lack_something() {
        assert!(missing(json!({"team": "a"}), json!({})).is_empty());
        assert_eq!(
            missing(json!({"enable_dns": "true", "tenant": ""}), json!({"addons_repo_url": ""})),
            ["label environment", "annotation addons_repo_basepath", "annotation addons_repo_revision"]
        );
        let labels = json!({"environment": "a", "tenant": "b", "fleet_member": "control-plane"});
        let annotations = json!({"addons_repo_url": "", "addons_repo_revision": "", "addons_repo_basepath": ""});
        assert_eq!(missing(labels, annotations).len(), 3);
    }
}
