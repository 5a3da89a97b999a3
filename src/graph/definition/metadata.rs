//! Namespaces and reserved labels of templates: kro.md 1.4, checks 6 and 7.

use super::resource::Entry;
use super::schemas::ObjectKind;
use super::{Form, load::shown};
use crate::graph::catalog::Scope;
use crate::graph::diagnostic::Diagnostic;
use crate::graph::yaml::Node;

/// Prefixes of labels and annotations that kro keeps to itself.
const RESERVED: &[&str] = &["kro.run/", "internal.kro.run/"];

/// Checks the metadata of an entry's object.
pub(super) fn check(entry: &Entry<'_>, kind: Option<&ObjectKind>, instance: Scope, errors: &mut Vec<Diagnostic>) {
    let Some(metadata) = entry.object.and_then(|object| object.get("metadata")) else { return };
    if let Some(kind) = kind {
        check_namespace(entry, metadata, kind, instance, errors);
    }
    for field in ["labels", "annotations"] {
        for (key, _) in metadata.get(field).map(Node::entries).unwrap_or_default() {
            if let Some(prefix) = RESERVED.iter().find(|prefix| key.text.starts_with(**prefix)) {
                let message = format!("`{}` cannot be set: `{prefix}` is kro's own", key.text);
                errors.push(Diagnostic::error("reserved-metadata", message).at(&key.location));
            }
        }
    }
}

fn check_namespace(entry: &Entry<'_>, metadata: &Node, kind: &ObjectKind, instance: Scope, errors: &mut Vec<Diagnostic>) {
    let namespace = metadata.get("namespace");
    match (kind.scope, namespace) {
        (Scope::Cluster, Some(node)) => {
            let message = format!("a {} lives in no namespace: `metadata.namespace` cannot be set", kind.kind);
            errors.push(Diagnostic::error("structure", message).at(&node.location));
        }
        (Scope::Namespaced, namespace) if instance == Scope::Cluster => {
            let external_list = matches!(entry.form, Form::External) && metadata.get("selector").is_some();
            if namespace.is_none_or(|node| shown(node).is_empty()) && !external_list {
                let message = format!("`{}` needs `metadata.namespace`: the instance has none to inherit", entry.id);
                errors.push(Diagnostic::error("structure", message).at(&metadata.location));
            }
        }
        _ => {}
    }
}
