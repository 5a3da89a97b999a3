//! Instances and namespaces: identity, and the spec against its schema.

use super::{Instance, Namespace};
use crate::graph::catalog::Scope;
use crate::graph::definition::{Definition, is_dns_name, unknown_fields};
use crate::graph::diagnostic::{Diagnostic, Severity};
use crate::graph::schema::{Schema, Shape};
use crate::graph::simple_schema;
use crate::graph::yaml::{Node, NodeValue};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

const FIELDS: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];

/// apiVersion and kind of a document.
pub(super) fn kind_of<'a>(document: &'a Node, diagnostics: &mut Vec<Diagnostic>) -> Option<(&'a str, &'a str)> {
    if !matches!(document.value, NodeValue::Mapping(_)) {
        let message = format!("a document has to be a mapping, this is {}", document.describe());
        diagnostics.push(Diagnostic::error("structure", message).at(&document.location));
        return None;
    }
    let mut text = |field: &str| {
        let problem = match document.get(field) {
            None => Diagnostic::error("structure", format!("the document has no `{field}`")).at(&document.location),
            Some(node) => {
                if let Some(text) = node.as_str() {
                    return Some(text);
                }
                let message = format!("`{field}` is {}, but has to be text", node.describe());
                Diagnostic::error("structure", message).at(&node.location)
            }
        };
        diagnostics.push(problem);
        None
    };
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    Some((api_version?, kind?))
}

/// Reads an instance. `None` if it has an error.
pub(super) fn read(document: &Node, definition: &Definition, diagnostics: &mut Vec<Diagnostic>) -> Option<Instance> {
    let before = diagnostics.len();
    unknown_fields(document, FIELDS, &definition.kind, diagnostics);
    let name = metadata_name(document, diagnostics);
    let namespace = instance_namespace(document, definition, diagnostics);
    texts(document, "labels", diagnostics);
    texts(document, "annotations", diagnostics);
    let spec = spec(document, definition, diagnostics);
    if diagnostics[before..].iter().any(|problem| problem.severity == Severity::Error) {
        return None;
    }
    let (name, spec) = (name?, spec?);
    Some(Instance {
        api_version: definition.api_version.clone(),
        kind: definition.kind.clone(),
        object: object(document, definition, &namespace, spec),
        namespace,
        name,
        node: document.clone(),
    })
}

/// The whole object, with its namespace and its spec after defaulting.
fn object(document: &Node, definition: &Definition, namespace: &str, spec: Value) -> Value {
    let mut metadata = document.get("metadata").map(Node::to_json).unwrap_or_default();
    if definition.scope == Scope::Namespaced
        && let Some(metadata) = metadata.as_object_mut()
    {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), json!(definition.api_version));
    object.insert("kind".to_owned(), json!(definition.kind));
    object.insert("metadata".to_owned(), metadata);
    object.insert("spec".to_owned(), spec);
    Value::Object(object)
}

/// `metadata.name`.
pub(super) fn metadata_name(document: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<String> {
    let metadata = document.get("metadata");
    let Some(node) = metadata.and_then(|metadata| metadata.get("name")) else {
        let place = metadata.unwrap_or(document);
        diagnostics.push(Diagnostic::error("required", "the document needs `metadata.name`").at(&place.location));
        return None;
    };
    let Some(name) = node.as_str() else {
        diagnostics.push(no_text("metadata.name", node));
        return None;
    };
    if !is_dns_name(name) {
        let message = format!("`{name}` cannot be a name: lower-case letters, digits, `-` and `.` only");
        diagnostics.push(Diagnostic::error("naming", message).at(&node.location));
    }
    Some(name.to_owned())
}

fn no_text(field: &str, node: &Node) -> Diagnostic {
    let problem = Diagnostic::error("type", format!("`{field}` is {}, but has to be text", node.describe()));
    problem.at(&node.location).suggest(format!("quote it: `\"{}\"`", node.to_json()))
}

fn instance_namespace(document: &Node, definition: &Definition, diagnostics: &mut Vec<Diagnostic>) -> String {
    let node = document.get("metadata").and_then(|metadata| metadata.get("namespace"));
    match (definition.scope, node) {
        (Scope::Cluster, None) => String::new(),
        (Scope::Cluster, Some(node)) => {
            let message = format!("a {} lives in no namespace: `metadata.namespace` cannot be set", definition.kind);
            diagnostics.push(Diagnostic::error("structure", message).at(&node.location));
            String::new()
        }
        (Scope::Namespaced, None) => "default".to_owned(),
        (Scope::Namespaced, Some(node)) => {
            let text = node.as_str();
            match text {
                Some(text) if is_dns_name(text) => {}
                Some(text) => {
                    let message = format!("`{text}` cannot be a namespace");
                    diagnostics.push(Diagnostic::error("naming", message).at(&node.location));
                }
                None => diagnostics.push(no_text("metadata.namespace", node)),
            }
            text.unwrap_or_default().to_owned()
        }
    }
}

/// A map of texts below `metadata`.
fn texts(document: &Node, field: &str, diagnostics: &mut Vec<Diagnostic>) -> IndexMap<String, String> {
    let mut out = IndexMap::new();
    let Some(node) = document.get("metadata").and_then(|metadata| metadata.get(field)) else { return out };
    if !matches!(node.value, NodeValue::Mapping(_) | NodeValue::Null) {
        let message = format!("`metadata.{field}` is {}, but has to be a mapping", node.describe());
        diagnostics.push(Diagnostic::error("type", message).at(&node.location));
    }
    for (key, value) in node.entries() {
        if let Some(text) = value.as_str() {
            out.insert(key.text.clone(), text.to_owned());
        } else {
            let message = format!("`metadata.{field}` takes text, but `{}` is {}", key.text, value.describe());
            let problem = Diagnostic::error("type", message).at(&value.location);
            diagnostics.push(problem.suggest(format!("quote it: `\"{}\"`", value.to_json())));
        }
    }
    out
}

/// The spec after defaulting. Without any `spec`, kro enforces nothing; here required fields are missed at once.
fn spec(document: &Node, definition: &Definition, diagnostics: &mut Vec<Diagnostic>) -> Option<Value> {
    let Some(node) = document.get("spec").filter(|node| node.value != NodeValue::Null) else {
        let required = required(&definition.spec);
        if !required.is_empty() {
            let message = format!("a {} needs a `spec` with {}", definition.kind, required.join(", "));
            diagnostics.push(Diagnostic::error("required", message).at(&document.location));
            return None;
        }
        return simple_schema::admit(&definition.spec, &json!({})).ok();
    };
    match simple_schema::admit(&definition.spec, &node.to_json()) {
        Ok(spec) => Some(spec),
        Err(problems) => {
            diagnostics.extend(simple_schema::locate(problems, node));
            None
        }
    }
}

/// Required fields of a spec, quoted.
fn required(schema: &Schema) -> Vec<String> {
    match &schema.shape {
        Shape::Object(object) => object.required.iter().map(|field| format!("`{field}`")).collect(),
        _ => Vec::new(),
    }
}

/// Reads a Namespace: its name, and what ACK reads from it.
pub(super) fn namespace(document: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<(String, Namespace)> {
    let labels = texts(document, "labels", diagnostics);
    let annotations = texts(document, "annotations", diagnostics);
    Some((metadata_name(document, diagnostics)?, Namespace { labels, annotations }))
}
