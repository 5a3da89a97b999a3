//! The documents that users write: instances, `IAMRoleSelectors` and Namespaces.

mod instance;
mod selector;

use super::definition::{self, API_VERSION, Definitions, KIND, in_reading_order, is_definition};
use super::diagnostic::{Diagnostic, Location};
use super::yaml::Node;
use indexmap::IndexMap;
use serde_json::Value;

/// What a set of user documents holds.
#[derive(Debug, Default)]
pub struct Documents {
    /// Instances, in the order they were written.
    pub instances: Vec<Instance>,
    /// `IAMRoleSelectors`.
    pub selectors: Vec<RoleSelector>,
    /// Namespaces by name.
    pub namespaces: IndexMap<String, Namespace>,
    /// Graph definitions that stood among them, to be added to those in use.
    pub definitions: Vec<Node>,
}

/// An instance of a graph definition, with defaults applied.
#[derive(Debug, Clone)]
pub struct Instance {
    /// `kro.run/v1alpha1`.
    pub api_version: String,
    /// `EksCluster`.
    pub kind: String,
    /// `metadata.namespace`, or `default`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// The whole object, its spec after defaulting.
    pub object: Value,
    /// The document.
    pub node: Node,
}

/// An `IAMRoleSelector` (`services.k8s.aws/v1alpha1`).
#[derive(Debug, Clone)]
pub struct RoleSelector {
    /// `metadata.name`.
    pub name: String,
    /// The role to assume.
    pub arn: String,
    /// Namespace names; empty matches all.
    pub namespaces: Vec<String>,
    /// Labels that the namespace must have.
    pub namespace_labels: IndexMap<String, String>,
    /// Types: group, version, kind; an empty text matches all.
    pub resource_types: Vec<ResourceType>,
    /// Labels that the object must have.
    pub resource_labels: IndexMap<String, String>,
    /// Where it stands.
    pub location: Location,
}

/// One entry of `resourceTypeSelector`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceType {
    /// API group, or empty.
    pub group: String,
    /// Version, or empty.
    pub version: String,
    /// Kind, or empty.
    pub kind: String,
}

/// A Namespace: what ACK reads from it.
#[derive(Debug, Clone, Default)]
pub struct Namespace {
    /// Labels.
    pub labels: IndexMap<String, String>,
    /// Annotations (`services.k8s.aws/default-region`, `services.k8s.aws/owner-account-id`).
    pub annotations: IndexMap<String, String>,
}

impl Documents {
    /// Sorts and checks user documents: unknown kinds, instances against the schema of their definition (defaults
    /// applied), selectors by ACK's own rules (ack.md 2.1). Two documents of one identity are an error. Graph
    /// definitions among them are collected, not read: see [`super::definition::is_definition`].
    #[must_use]
    pub fn load(documents: &[Node], definitions: &Definitions) -> (Self, Vec<Diagnostic>) {
        let mut loaded = Self::default();
        let mut diagnostics = Vec::new();
        let mut seen: IndexMap<[String; 4], Location> = IndexMap::new();
        for document in documents {
            if let Some(identity) = loaded.add(document, definitions, &mut diagnostics) {
                if let Some(first) = seen.get(&identity) {
                    let [_, kind, namespace, name] = &identity;
                    let place = if namespace.is_empty() { name.clone() } else { format!("{namespace}/{name}") };
                    let message = format!("{kind} {place} is written twice: also at {first}");
                    diagnostics.push(Diagnostic::error("duplicate-identity", message).at(&document.location));
                }
                seen.entry(identity).or_insert_with(|| document.location.clone());
            }
        }
        in_reading_order(&mut diagnostics, documents);
        (loaded, diagnostics)
    }

    /// Sorts one document in; its apiVersion, kind, namespace and name, if it has them.
    fn add(&mut self, document: &Node, definitions: &Definitions, diagnostics: &mut Vec<Diagnostic>) -> Option<[String; 4]> {
        if is_definition(document) {
            self.definitions.push(document.clone());
            return None;
        }
        let (api_version, kind) = instance::kind_of(document, diagnostics)?;
        let (namespace, name) = match (api_version, kind) {
            (selector::API_VERSION, selector::KIND) => {
                let selector = selector::read(document, diagnostics)?;
                let name = selector.name.clone();
                self.selectors.push(selector);
                (String::new(), name)
            }
            ("v1", "Namespace") => {
                let (name, namespace) = instance::namespace(document, diagnostics)?;
                self.namespaces.insert(name.clone(), namespace);
                (String::new(), name)
            }
            _ => {
                let definition = definitions.of(api_version, kind).or_else(|| {
                    diagnostics.push(unknown_kind(document, api_version, kind, definitions));
                    None
                })?;
                let instance = instance::read(document, definition, diagnostics)?;
                let place = (instance.namespace.clone(), instance.name.clone());
                self.instances.push(instance);
                place
            }
        };
        Some([api_version.to_owned(), kind.to_owned(), namespace, name])
    }
}

/// Says that no definition defines the kind, and which one may be meant.
fn unknown_kind(document: &Node, api_version: &str, kind: &str, definitions: &Definitions) -> Diagnostic {
    let defined = definitions.by_kind.values().map(|known| (known.api_version.clone(), known.kind.clone()));
    let others = [(selector::API_VERSION, selector::KIND), ("v1", "Namespace"), (API_VERSION, KIND)]
        .map(|(api_version, kind)| (api_version.to_owned(), kind.to_owned()));
    let all: Vec<(String, String)> = defined.chain(others).collect();
    let field = if all.iter().any(|(_, known)| known == kind) { "apiVersion" } else { "kind" };
    let location = document.get(field).map_or(&document.location, |node| &node.location);
    definition::unknown_kind(api_version, kind, &all, location)
}
