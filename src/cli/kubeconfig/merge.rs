//! Puts a cluster into a kubeconfig. Pure.

use crate::graph::diagnostic::{Diagnostic, SourceFile};
use crate::graph::yaml::{self as documents, Node, NodeValue};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The exec credential's version. kubectl has it since 1.22.
const EXEC_VERSION: &str = "client.authentication.k8s.io/v1";

/// What is put into a kubeconfig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Entry {
    /// The cluster's ARN, which names cluster and user, as the AWS CLI has it.
    pub(in crate::cli) arn: String,
    /// The address of its API.
    pub(in crate::cli) server: String,
    /// Base64 of the PEM of its certificate authority.
    pub(in crate::cli) certificate_authority: String,
    /// The context's name.
    pub(in crate::cli) context: String,
    /// How kubectl gets a token.
    pub(in crate::cli) exec: Exec,
}

/// The command that kubectl calls for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Exec {
    /// The program.
    pub(in crate::cli) command: String,
    /// Its arguments.
    pub(in crate::cli) arguments: Vec<String>,
    /// `AWS_PROFILE`, where one was set when this was written.
    pub(in crate::cli) profile: Option<String>,
}

impl Exec {
    fn to_json(&self) -> Value {
        let environment = self.profile.iter().map(|profile| json!({"name": "AWS_PROFILE", "value": profile}));
        json!({
            "apiVersion": EXEC_VERSION,
            "args": self.arguments,
            "command": self.command,
            "env": environment.collect::<Vec<_>>(),
            "installHint": "kubectl gets its tokens for this cluster from fleetctl, which is not found: put it into PATH, \
                            or run `fleetctl kubeconfig` again",
            "interactiveMode": "Never",
            "provideClusterInfo": false,
        })
    }
}

/// The kubeconfig with the entry in it: what is named otherwise stays as it is, in its order. `text` is what is in the file
/// now. Of an entry with the same name, what belongs to others (a context's namespace, a proxy) stays; the user is ours as a
/// whole. The context becomes the current one unless `keep_current`.
pub(in crate::cli) fn merged(file: &Arc<SourceFile>, entry: &Entry, keep_current: bool) -> Result<Value, Vec<Diagnostic>> {
    let mut root = match read(file)? {
        Some(node) => node.to_json(),
        None => json!({"apiVersion": "v1", "clusters": [], "contexts": [], "kind": "Config", "users": []}),
    };
    let Some(root) = root.as_object_mut() else { return Ok(root) };
    root.entry("apiVersion").or_insert_with(|| json!("v1"));
    root.entry("kind").or_insert_with(|| json!("Config"));
    put(root, "clusters", &entry.arn, |body| {
        // These would contradict what is said of the certificate authority.
        body.shift_remove("certificate-authority");
        body.shift_remove("insecure-skip-tls-verify");
        body.insert("certificate-authority-data".into(), json!(entry.certificate_authority));
        body.insert("server".into(), json!(entry.server));
    });
    put(root, "contexts", &entry.context, |body| {
        body.insert("cluster".into(), json!(entry.arn));
        body.insert("user".into(), json!(entry.arn));
    });
    put(root, "users", &entry.arn, |body| {
        body.clear();
        body.insert("exec".into(), entry.exec.to_json());
    });
    if !keep_current {
        root.insert("current-context".into(), json!(entry.context));
    }
    Ok(Value::Object(std::mem::take(root)))
}

/// Changes the entry of this name, or adds one.
fn put(root: &mut Map<String, Value>, list: &str, name: &str, change: impl Fn(&mut Map<String, Value>)) {
    let singular = &list[..list.len() - 1];
    let slot = root.entry(list).or_insert(Value::Null);
    if slot.is_null() {
        *slot = json!([]);
    }
    let Some(items) = slot.as_array_mut() else { return };
    if !items.iter().any(|item| item["name"] == name) {
        items.push(json!({singular: {}, "name": name}));
    }
    // kubectl takes the first of several with one name; none of them may say something else.
    for item in items.iter_mut().filter(|item| item["name"] == name) {
        if item[singular].is_null() {
            item[singular] = json!({});
        }
        if let Some(body) = item[singular].as_object_mut() {
            change(body);
        }
    }
}

/// The document of a kubeconfig, if it has the form of one. `None` if there is nothing in it.
fn read(file: &Arc<SourceFile>) -> Result<Option<Node>, Vec<Diagnostic>> {
    let mut found = documents::parse(file)?;
    if let Some(second) = found.get(1) {
        let problem = wrong("a kubeconfig is one document, and here a second one begins");
        return Err(vec![problem.at(&second.location)]);
    }
    let Some(root) = found.pop().filter(|root| root.value != NodeValue::Null) else { return Ok(None) };
    if !matches!(root.value, NodeValue::Mapping(_)) {
        return Err(vec![wrong(format!("a kubeconfig is a mapping, and this is {}", root.describe())).at(&root.location)]);
    }
    let mut problems: Vec<Diagnostic> =
        [("apiVersion", "v1"), ("kind", "Config")].into_iter().filter_map(|(key, only)| other(&root, key, only)).collect();
    for (list, singular) in [("clusters", "cluster"), ("contexts", "context"), ("users", "user")] {
        problems.extend(root.get(list).into_iter().flat_map(|found| wrong_list(found, list, singular)));
    }
    if problems.is_empty() { Ok(Some(root)) } else { Err(problems) }
}

/// What is wrong where a key has another value than the only one.
fn other(root: &Node, key: &str, only: &str) -> Option<Diagnostic> {
    let found = root.get(key).filter(|found| found.as_str() != Some(only))?;
    Some(wrong(format!("`{key}` of a kubeconfig is `{only}`")).at(&found.location))
}

fn wrong_list(found: &Node, list: &str, singular: &str) -> Vec<Diagnostic> {
    let is = |node: &Node| node.describe();
    match &found.value {
        NodeValue::Null => Vec::new(),
        NodeValue::Sequence(items) => items.iter().filter_map(|item| wrong_item(item, list, singular)).collect(),
        _ => vec![wrong(format!("`{list}` is a list, and here it is {}", is(found))).at(&found.location)],
    }
}

fn wrong_item(item: &Node, list: &str, singular: &str) -> Option<Diagnostic> {
    if !matches!(item.value, NodeValue::Mapping(_)) {
        return Some(wrong(format!("an entry of `{list}` is a mapping, and this is {}", item.describe())).at(&item.location));
    }
    let body = item.get(singular)?;
    let fits = matches!(body.value, NodeValue::Mapping(_) | NodeValue::Null);
    (!fits).then(|| wrong(format!("`{singular}` is a mapping, and here it is {}", body.describe())).at(&body.location))
}

fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("kubeconfig", message)
}

/// A kubeconfig as YAML. Texts that some reader could take for something else are quoted.
pub(in crate::cli) fn yaml(value: &Value) -> Result<String, String> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(value, options).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
