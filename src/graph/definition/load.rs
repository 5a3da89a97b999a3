//! The envelope of graph definitions, and the way from documents to checked definitions.

use super::resource::{self, Entry};
use super::schemas::{self, ObjectKind};
use super::{Definition, Definitions, Features, checks, expressions, for_each, metadata, naming, order, status};
use crate::graph::catalog::{Catalog, Scope};
use crate::graph::diagnostic::{Diagnostic, Location, Severity};
use crate::graph::schema::Schema;
use crate::graph::simple_schema;
use crate::graph::template::Template;
use crate::graph::yaml::{Node, NodeValue};
use indexmap::IndexMap;

/// apiVersion of graph definitions.
pub(crate) const API_VERSION: &str = "kro.run/v1alpha1";
/// Their kind.
pub(crate) const KIND: &str = "ResourceGraphDefinition";

const ENVELOPE: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];
const SPEC: &[&str] = &["schema", "resources"];
const SCHEMA: &[&str] = &[
    "kind",
    "apiVersion",
    "group",
    "scope",
    "spec",
    "types",
    "status",
    "additionalPrinterColumns",
    "metadata",
    "shortNames",
    "categories",
];

/// A definition on its way: what could be read of it.
struct Draft<'a> {
    document: &'a Node,
    definition: Definition,
    entries: Vec<Entry<'a>>,
    status: Option<&'a Node>,
    errors: Vec<Diagnostic>,
}

/// See [`Definitions::load`].
pub(super) fn load(documents: &[Node], catalog: &dyn Catalog, features: Features) -> (Definitions, Vec<Diagnostic>) {
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    let mut diagnostics = Vec::new();
    for document in documents.iter().filter(|document| is_definition(document)) {
        match draft(document) {
            Ok(draft) => drafts.push(draft),
            Err(problems) => diagnostics.extend(problems),
        }
    }
    refuse_second_definitions(&mut drafts);
    let mut kinds = Kinds { catalog, defined: IndexMap::new() };
    let mut loaded = Definitions::default();
    for mut draft in by_use(drafts) {
        complete(&mut draft, &mut kinds, features);
        let sound = draft.errors.iter().all(|problem| problem.severity != Severity::Error);
        diagnostics.append(&mut draft.errors);
        if sound {
            loaded.by_kind.insert(draft.definition.kind.clone(), draft.definition);
        }
    }
    in_reading_order(&mut diagnostics, documents);
    (loaded, diagnostics)
}

/// Sorts diagnostics as somebody meets them who reads the files from the first to the last.
pub(crate) fn in_reading_order(diagnostics: &mut [Diagnostic], documents: &[Node]) {
    let file = |location: &Location| documents.iter().position(|document| document.location.file == location.file);
    diagnostics.sort_by_cached_key(|problem| problem.location.as_ref().map(|place| (file(place), place.offset)));
}

/// See [`super::is_definition`]. Misspelt kinds and obsolete ones count, so that they are reported.
pub(super) fn is_definition(document: &Node) -> bool {
    let text = |key: &str| document.get(key).and_then(Node::as_str).unwrap_or_default();
    if text("kind") == KIND || text("kind") == "ResourceGroup" {
        return text("apiVersion").starts_with("kro.run") || text("apiVersion").is_empty() || text("kind") == KIND;
    }
    document.get("spec").is_some_and(|spec| spec.get("schema").is_some() && spec.get("resources").is_some())
}

/// Every kind that templates may name.
pub(super) struct Kinds<'a> {
    catalog: &'a dyn Catalog,
    defined: IndexMap<String, ObjectKind>,
}

impl Kinds<'_> {
    /// The kind, if there is one.
    pub(super) fn find(&self, api_version: &str, kind: &str) -> Option<ObjectKind> {
        let defined = self.defined.get(kind).filter(|defined| defined.api_version == api_version);
        defined.cloned().or_else(|| self.catalog.kind(api_version, kind).map(schemas::of_description))
    }

    /// Whether a definition defines the kind.
    pub(super) fn is_defined(&self, api_version: &str, kind: &str) -> bool {
        self.defined.get(kind).is_some_and(|defined| defined.api_version == api_version)
    }

    /// apiVersion and kind of every kind.
    pub(super) fn all(&self) -> Vec<(String, String)> {
        let known = self.catalog.kinds().into_iter().map(|known| (known.api_version.clone(), known.kind.clone()));
        let defined = self.defined.values().map(|defined| (defined.api_version.clone(), defined.kind.clone()));
        defined.chain(known).collect()
    }

    /// The catalog.
    pub(super) fn catalog(&self) -> &dyn Catalog {
        self.catalog
    }
}

/// Reads a document as far as it can be read. `Err` where nothing below can make sense.
fn draft(document: &Node) -> Result<Draft<'_>, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    check_envelope(document, &mut errors);
    let Some(spec) = document.get("spec").filter(|spec| matches!(spec.value, NodeValue::Mapping(_))) else {
        errors.push(Diagnostic::error("structure", "a graph definition needs a `spec`").at(&document.location));
        return Err(errors);
    };
    unknown_fields(spec, SPEC, "spec", &mut errors);
    let Some(schema) = spec.get("schema").filter(|schema| matches!(schema.value, NodeValue::Mapping(_))) else {
        errors.push(Diagnostic::error("structure", "a graph definition needs `spec.schema`").at(&spec.location));
        return Err(errors);
    };
    unknown_fields(schema, SCHEMA, "spec.schema", &mut errors);
    let definition = Definition {
        name: document.get("metadata").and_then(|found| found.get("name")).and_then(Node::as_str).unwrap_or("").to_owned(),
        kind: defined_kind(schema, &mut errors),
        api_version: defined_api_version(schema, &mut errors),
        scope: defined_scope(schema, &mut errors),
        spec: simple_schema::schema(schema.get("spec"), schema.get("types")).unwrap_or_else(|problems| {
            errors.extend(problems);
            Schema::default()
        }),
        status: Vec::new(),
        resources: Vec::new(),
        location: document.location.clone(),
    };
    for part in [schema.get("status"), spec.get("resources")].into_iter().flatten() {
        errors.extend(Template::differences_from_kro(part));
    }
    let entries = resource::read(spec.get("resources"), &mut errors);
    Ok(Draft { document, definition, entries, status: schema.get("status"), errors })
}

fn check_envelope(document: &Node, errors: &mut Vec<Diagnostic>) {
    for (field, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match document.get(field) {
            None => errors.push(
                Diagnostic::error("structure", format!("the document has no `{field}`"))
                    .at(&document.location)
                    .suggest(format!("`{field}: {expected}`")),
            ),
            Some(node) if node.as_str() != Some(expected) => errors.push(
                Diagnostic::error("structure", format!("`{}` is no {field} that graph definitions have", shown(node)))
                    .at(&node.location)
                    .suggest(format!("`{field}: {expected}`")),
            ),
            Some(_) => {}
        }
    }
    unknown_fields(document, ENVELOPE, "a graph definition", errors);
    match document.get("metadata").and_then(|metadata| metadata.get("name")) {
        Some(name) if name.as_str().is_none() => {
            let message = format!("`metadata.name` is {}, but has to be text", name.describe());
            errors.push(Diagnostic::error("structure", message).at(&name.location).suggest("quote it"));
        }
        Some(_) => {}
        None => {
            let message = "a graph definition needs `metadata.name`";
            errors.push(Diagnostic::error("structure", message).at(&document.location));
        }
    }
}

/// The text of a scalar for messages.
pub(super) fn shown(node: &Node) -> String {
    node.as_str().map_or_else(|| node.to_json().to_string(), str::to_owned)
}

/// Reports fields that are not allowed.
pub(crate) fn unknown_fields(node: &Node, allowed: &[&str], place: &str, errors: &mut Vec<Diagnostic>) {
    for (key, _) in node.entries() {
        if !allowed.contains(&key.text.as_str()) {
            errors.push(
                Diagnostic::error("unknown-field", format!("{place} has no field `{}`", key.text))
                    .at(&key.location)
                    .suggest_closest(&key.text, allowed.iter().copied()),
            );
        }
    }
}

fn defined_kind(schema: &Node, errors: &mut Vec<Diagnostic>) -> String {
    let Some(node) = schema.get("kind") else {
        errors.push(Diagnostic::error("structure", "`spec.schema` has no `kind`").at(&schema.location));
        return String::new();
    };
    let kind = shown(node);
    if !naming::is_kind(&kind) {
        let message = format!("`{kind}` cannot be a kind: UpperCamelCase, letters and digits, at most 63");
        errors.push(Diagnostic::error("naming", message).at(&node.location));
    }
    kind
}

fn defined_api_version(schema: &Node, errors: &mut Vec<Diagnostic>) -> String {
    let group = schema.get("group").map_or("kro.run".to_owned(), shown);
    if !naming::is_dns_name(&group) {
        let place = schema.get("group").map_or(&schema.location, |node| &node.location);
        errors.push(Diagnostic::error("structure", format!("`{group}` cannot be an API group")).at(place));
    }
    let Some(node) = schema.get("apiVersion") else {
        let problem = Diagnostic::error("structure", "`spec.schema` has no `apiVersion`").at(&schema.location);
        errors.push(problem.suggest("`apiVersion: v1alpha1`"));
        return format!("{group}/v1alpha1");
    };
    let version = shown(node);
    if !naming::is_version(&version) {
        let problem = Diagnostic::error("structure", format!("`{version}` cannot be the version of a kind"));
        errors.push(problem.at(&node.location).suggest("a version without a group, such as `v1alpha1`"));
    }
    format!("{group}/{version}")
}

fn defined_scope(schema: &Node, errors: &mut Vec<Diagnostic>) -> Scope {
    match schema.get("scope").map(|node| (shown(node), node)) {
        None => Scope::Namespaced,
        Some((scope, _)) if scope == "Namespaced" => Scope::Namespaced,
        Some((scope, _)) if scope == "Cluster" => Scope::Cluster,
        Some((scope, node)) => {
            let problem = Diagnostic::error("structure", format!("`{scope}` is no scope")).at(&node.location);
            errors.push(problem.suggest("`Namespaced` or `Cluster`"));
            Scope::Namespaced
        }
    }
}

/// Kubernetes knows kinds by their lower-case plural: `EKSCluster` and `EksCluster` are the same there. Here they are
/// known by that alone, whatever their group.
fn refuse_second_definitions(drafts: &mut [Draft<'_>]) {
    let mut first: IndexMap<String, (String, Location)> = IndexMap::new();
    for draft in drafts {
        let key = draft.definition.kind.to_lowercase();
        if let Some((kind, location)) = first.get(&key) {
            let message = format!("`{}` is defined twice: `{kind}` at {location} is the same kind", draft.definition.kind);
            let problem = Diagnostic::error("ownership-conflict", message).at(&draft.definition.location);
            draft.errors.push(problem.suggest("remove one of the two, or rename its kind"));
        } else {
            first.insert(key, (draft.definition.kind.clone(), draft.definition.location.clone()));
        }
    }
}

/// Drafts with those first whose kinds others use. Members of a cycle get an error, and come last.
fn by_use(mut drafts: Vec<Draft<'_>>) -> Vec<Draft<'_>> {
    let uses = |draft: &Draft<'_>| -> Vec<usize> {
        let used = |other: &Draft<'_>| {
            draft.entries.iter().any(|entry| {
                entry.kind.as_deref() == Some(&*other.definition.kind)
                    && entry.api_version.as_deref() == Some(&*other.definition.api_version)
            })
        };
        drafts.iter().enumerate().filter(|(_, other)| used(other)).map(|(index, _)| index).collect()
    };
    let needs: Vec<Vec<usize>> = drafts.iter().map(uses).collect();
    let sequence = order::topological(&needs).unwrap_or_else(|unordered| {
        for members in &unordered.cycles {
            report_cycle(&mut drafts, members);
        }
        (0..needs.len()).collect()
    });
    let mut slots: Vec<Option<Draft<'_>>> = drafts.into_iter().map(Some).collect();
    sequence.into_iter().filter_map(|index| slots[index].take()).collect()
}

fn report_cycle(drafts: &mut [Draft<'_>], members: &[usize]) {
    let names: Vec<&str> = members.iter().chain(members.first()).map(|index| drafts[*index].definition.kind.as_str()).collect();
    let message = format!("definitions use one another in a circle: {}", names.join(" -> "));
    for index in members {
        let location = drafts[*index].definition.location.clone();
        drafts[*index].errors.push(Diagnostic::error("cycle", message.clone()).at(&location));
    }
}

/// Checks everything inside a draft and completes its definition. Its kind is known from here on, even if it is faulty:
/// definitions that use it have no problem of their own.
fn complete(draft: &mut Draft<'_>, kinds: &mut Kinds<'_>, features: Features) {
    let Draft { definition, entries, status, errors, document } = draft;
    let resolved: Vec<Option<ObjectKind>> = entries.iter().map(|entry| checks::resolve(entry, kinds, errors)).collect();
    let scene = expressions::Scene::new(definition, entries, resolved, features);
    for (index, entry) in entries.iter().enumerate() {
        metadata::check(entry, scene.kind(index), definition.scope, errors);
        checks::template(&scene, index, entry, kinds, errors);
        expressions::check(&scene, index, entry, errors);
        for_each::check(&scene, index, entry, errors);
    }
    let (fields, status_schema) = status::read(*status, &scene, errors);
    let sources: Vec<Vec<String>> = entries.iter().map(|entry| scene.dependencies(entry)).collect();
    definition.status = fields;
    definition.resources = entries.drain(..).zip(sources).filter_map(|(entry, needs)| entry.finish(needs)).collect();
    if let Err(unordered) = order::topological(&definition.edges()) {
        let location = document.location.clone();
        errors.extend(unordered.cycles.iter().map(|members| resource_cycle(definition, members, &location)));
    }
    kinds.defined.insert(definition.kind.clone(), schemas::of_definition(definition, status_schema));
}

fn resource_cycle(definition: &Definition, members: &[usize], document: &Location) -> Diagnostic {
    let names: Vec<&str> = members.iter().chain(members.first()).map(|index| definition.resources[*index].id.as_str()).collect();
    let place = members.first().map_or(document, |index| &definition.resources[*index].location);
    Diagnostic::error("cycle", format!("resources need one another in a circle: {}", names.join(" -> "))).at(place)
}
