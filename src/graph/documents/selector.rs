//! `IAMRoleSelectors`: ACK's own rules (ack.md 2.1). ACK ignores an invalid selector; here it is an error.

use super::instance::metadata_name;
use super::{ResourceType, RoleSelector};
use crate::graph::definition::unknown_fields;
use crate::graph::diagnostic::{Diagnostic, Severity};
use crate::graph::yaml::{Node, NodeValue};
use indexmap::IndexMap;
use std::collections::HashSet;

/// apiVersion of selectors.
pub(super) const API_VERSION: &str = "services.k8s.aws/v1alpha1";
/// Their kind.
pub(super) const KIND: &str = "IAMRoleSelector";

/// Reads a selector. `None` if it has an error.
pub(super) fn read(document: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<RoleSelector> {
    let before = diagnostics.len();
    unknown_fields(document, &["apiVersion", "kind", "metadata", "spec", "status"], KIND, diagnostics);
    let name = metadata_name(document, diagnostics);
    let Some(spec) = document.get("spec") else {
        diagnostics.push(Diagnostic::error("required", "an IAMRoleSelector needs `spec.arn`").at(&document.location));
        return None;
    };
    let fields = ["arn", "namespaceSelector", "resourceTypeSelector", "resourceLabelSelector"];
    unknown_fields(spec, &fields, "spec", diagnostics);
    let selector = RoleSelector {
        name: name.unwrap_or_default(),
        arn: arn(spec, diagnostics),
        namespaces: namespaces(spec, diagnostics),
        namespace_labels: namespace_labels(spec, diagnostics),
        resource_types: resource_types(spec, diagnostics),
        resource_labels: spec
            .get("resourceLabelSelector")
            .map(|node| match_labels(node, "spec.resourceLabelSelector", diagnostics))
            .unwrap_or_default(),
        location: document.location.clone(),
    };
    let sound = diagnostics[before..].iter().all(|problem| problem.severity != Severity::Error);
    sound.then_some(selector)
}

fn arn(spec: &Node, diagnostics: &mut Vec<Diagnostic>) -> String {
    const SHAPE: &str = "`arn:aws:iam::<12-digit account>:role/<name>`";
    let Some(node) = spec.get("arn") else {
        let problem = Diagnostic::error("required", "an IAMRoleSelector needs `spec.arn`").at(&spec.location);
        diagnostics.push(problem.suggest(SHAPE));
        return String::new();
    };
    let text = node.as_str().unwrap_or_default();
    if !is_role_arn(text) {
        let shown = node.as_str().map_or_else(|| node.describe().to_owned(), |text| format!("`{text}`"));
        let problem = Diagnostic::error("pattern", format!("`spec.arn` has to be the ARN of an IAM role, not {shown}"));
        diagnostics.push(problem.at(&node.location).suggest(SHAPE));
    }
    text.to_owned()
}

fn is_role_arn(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    let [arn, partition, service, region, account, resource] = parts[..] else { return false };
    arn == "arn"
        && partition.starts_with("aws")
        && service == "iam"
        && region.is_empty()
        && account.len() == 12
        && account.chars().all(|c| c.is_ascii_digit())
        && resource.strip_prefix("role/").is_some_and(|name| !name.is_empty() && !name.ends_with('/'))
}

fn namespaces(spec: &Node, diagnostics: &mut Vec<Diagnostic>) -> Vec<String> {
    let Some(selector) = spec.get("namespaceSelector") else { return Vec::new() };
    unknown_fields(selector, &["names", "labelSelector"], "spec.namespaceSelector", diagnostics);
    let Some(names) = selector.get("names") else {
        let problem = Diagnostic::error("required", "`spec.namespaceSelector` needs `names`").at(&selector.location);
        diagnostics.push(problem.suggest("`names: []` matches all namespaces that have the labels"));
        return Vec::new();
    };
    if !matches!(names.value, NodeValue::Sequence(_)) {
        let message = format!("`spec.namespaceSelector.names` is {}, but has to be a list", names.describe());
        diagnostics.push(Diagnostic::error("type", message).at(&names.location));
    }
    let mut seen = HashSet::new();
    for item in names.items() {
        let problem = match item.as_str() {
            None => format!("a namespace is text, not {}", item.describe()),
            Some("") => "a namespace cannot be empty".to_owned(),
            Some(name) if !seen.insert(name) => format!("namespace `{name}` stands here twice"),
            Some(_) => continue,
        };
        diagnostics.push(Diagnostic::error("structure", problem).at(&item.location));
    }
    names.items().iter().filter_map(Node::as_str).map(str::to_owned).collect()
}

fn namespace_labels(spec: &Node, diagnostics: &mut Vec<Diagnostic>) -> IndexMap<String, String> {
    let selector = spec.get("namespaceSelector").and_then(|selector| selector.get("labelSelector"));
    selector.map(|node| match_labels(node, "spec.namespaceSelector.labelSelector", diagnostics)).unwrap_or_default()
}

/// `matchLabels`; ACK knows nothing else.
fn match_labels(node: &Node, place: &str, diagnostics: &mut Vec<Diagnostic>) -> IndexMap<String, String> {
    unknown_fields(node, &["matchLabels"], place, diagnostics);
    let mut labels = IndexMap::new();
    for (key, value) in node.get("matchLabels").map(Node::entries).unwrap_or_default() {
        if key.text.is_empty() {
            diagnostics.push(Diagnostic::error("structure", "a label's key cannot be empty").at(&key.location));
        }
        if let Some(text) = value.as_str() {
            labels.insert(key.text.clone(), text.to_owned());
        } else {
            let message = format!("label `{}` is {}, but has to be text", key.text, value.describe());
            let problem = Diagnostic::error("type", message).at(&value.location);
            diagnostics.push(problem.suggest(format!("quote it: `\"{}\"`", value.to_json())));
        }
    }
    labels
}

fn resource_types(spec: &Node, diagnostics: &mut Vec<Diagnostic>) -> Vec<ResourceType> {
    let Some(list) = spec.get("resourceTypeSelector") else { return Vec::new() };
    if !matches!(list.value, NodeValue::Sequence(_)) {
        let message = format!("`spec.resourceTypeSelector` is {}, but has to be a list", list.describe());
        diagnostics.push(Diagnostic::error("type", message).at(&list.location));
    }
    let mut types: Vec<ResourceType> = Vec::new();
    for item in list.items() {
        let found = resource_type(item, diagnostics);
        let problem = if [&found.group, &found.version, &found.kind].iter().all(|text| text.is_empty()) {
            "a resource type that matches everything: leave out `resourceTypeSelector` instead"
        } else if types.contains(&found) {
            "the resource type stands here twice"
        } else {
            types.push(found);
            continue;
        };
        diagnostics.push(Diagnostic::error("structure", problem).at(&item.location));
    }
    types
}

fn resource_type(item: &Node, diagnostics: &mut Vec<Diagnostic>) -> ResourceType {
    unknown_fields(item, &["group", "version", "kind"], "a resource type", diagnostics);
    let mut text = |field: &str| match item.get(field).map(|node| (node.as_str(), node)) {
        Some((Some(text), _)) => text.to_owned(),
        Some((None, node)) => {
            let message = format!("`{field}` is {}, but has to be text", node.describe());
            diagnostics.push(Diagnostic::error("type", message).at(&node.location));
            String::new()
        }
        None => {
            let problem = Diagnostic::error("required", format!("a resource type needs `{field}`"));
            diagnostics.push(problem.at(&item.location).suggest(format!("`{field}: \"\"` matches all")));
            String::new()
        }
    };
    ResourceType { group: text("group"), version: text("version"), kind: text("kind") }
}
