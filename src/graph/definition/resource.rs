//! The entries of `spec.resources`: their fields, which may stand together, and the parts of their templates that every
//! object has. kro.md 1.2, checks 1, 3, 4 and 9.

use super::load::{shown, unknown_fields};
use super::{Axis, Form, ResourceDefinition, naming};
use crate::graph::diagnostic::{Diagnostic, Location};
use crate::graph::expression::Expression;
use crate::graph::template::{Template, TemplateValue};
use crate::graph::yaml::{Node, NodeValue};
use std::collections::HashSet;

const FIELDS: &[&str] = &["id", "template", "externalRef", "readyWhen", "includeWhen", "forEach"];
const EXTERNAL: &[&str] = &["apiVersion", "kind", "metadata"];
const MOST_AXES: usize = 10;

/// An entry as far as it could be read.
pub(super) struct Entry<'a> {
    /// Its id; empty if it has none.
    pub(super) id: String,
    /// Where the entry starts.
    pub(super) location: Location,
    /// `template` or `externalRef`.
    pub(super) object: Option<&'a Node>,
    /// What it stands for.
    pub(super) form: Form,
    /// Of the object, if legal.
    pub(super) api_version: Option<String>,
    /// Of the object, if legal.
    pub(super) kind: Option<String>,
    /// The compiled object.
    pub(super) template: Option<Template>,
    /// Variables of its `forEach`, also of axes that could not be read.
    pub(super) iterators: Vec<String>,
    /// Compiled.
    pub(super) include_when: Vec<Expression>,
    /// Compiled.
    pub(super) ready_when: Vec<Expression>,
}

impl Entry<'_> {
    /// The resource, if everything that it needs could be read.
    pub(super) fn finish(self, dependencies: Vec<String>) -> Option<ResourceDefinition> {
        Some(ResourceDefinition {
            id: self.id,
            api_version: self.api_version?,
            kind: self.kind?,
            form: self.form,
            template: self.template?,
            include_when: self.include_when,
            ready_when: self.ready_when,
            dependencies,
            location: self.location,
        })
    }

    /// The axes of its `forEach`.
    pub(super) fn axes(&self) -> &[Axis] {
        match &self.form {
            Form::Collection(axes) => axes,
            Form::Single | Form::External => &[],
        }
    }
}

/// Reads the list of resources.
pub(super) fn read<'a>(resources: Option<&'a Node>, errors: &mut Vec<Diagnostic>) -> Vec<Entry<'a>> {
    let Some(resources) = resources else { return Vec::new() };
    match &resources.value {
        NodeValue::Null => return Vec::new(),
        NodeValue::Sequence(_) => {}
        _ => {
            let message = format!("`spec.resources` is {}, but has to be a list", resources.describe());
            errors.push(Diagnostic::error("structure", message).at(&resources.location));
            return Vec::new();
        }
    }
    let entries: Vec<Entry<'a>> = resources.items().iter().map(|node| entry(node, errors)).collect();
    let mut seen = HashSet::new();
    for entry in entries.iter().filter(|entry| !entry.id.is_empty()) {
        if !seen.insert(&entry.id) {
            let message = format!("two resources have the id `{}`", entry.id);
            errors.push(Diagnostic::error("duplicate-id", message).at(&entry.location));
        }
    }
    check_iterators(&entries, errors);
    entries
}

fn entry<'a>(node: &'a Node, errors: &mut Vec<Diagnostic>) -> Entry<'a> {
    unknown_fields(node, FIELDS, "a resource", errors);
    let id = entry_id(node, errors);
    let (object, external) = the_object(node, errors);
    let mut entry = Entry {
        id,
        location: node.location.clone(),
        object,
        form: if external { Form::External } else { for_each(node, errors) },
        api_version: None,
        kind: None,
        template: None,
        iterators: node.get("forEach").map(iterator_names).unwrap_or_default(),
        include_when: conditions(node, "includeWhen", errors),
        ready_when: conditions(node, "readyWhen", errors),
    };
    if let Some(object) = object {
        if external {
            unknown_fields(object, EXTERNAL, "externalRef", errors);
            check_external(object, errors);
        }
        (entry.api_version, entry.kind) = envelope(object, errors);
        entry.template = compile(object, errors);
    }
    entry
}

/// Compiles everything below a node.
pub(super) fn compile(node: &Node, errors: &mut Vec<Diagnostic>) -> Option<Template> {
    match Template::compile(node) {
        Ok(template) => Some(template),
        Err(problems) => {
            errors.extend(problems);
            None
        }
    }
}

fn entry_id(node: &Node, errors: &mut Vec<Diagnostic>) -> String {
    let Some(id) = node.get("id") else {
        errors.push(Diagnostic::error("structure", "a resource needs an `id`").at(&node.location));
        return String::new();
    };
    let text = shown(id);
    errors.extend(naming::check_id(&text, "the id of a resource", &id.location));
    text
}

/// The template or the external reference, and whether it is the latter.
fn the_object<'a>(node: &'a Node, errors: &mut Vec<Diagnostic>) -> (Option<&'a Node>, bool) {
    let problem = |message: &str| Diagnostic::error("field-combination", message).at(&node.location);
    match (node.get("template"), node.get("externalRef")) {
        (Some(template), None) => (Some(template), false),
        (None, Some(reference)) => {
            if node.get("forEach").is_some() {
                errors.push(problem("a resource with `externalRef` cannot have `forEach`"));
            }
            (Some(reference), true)
        }
        (Some(template), Some(_)) => {
            errors.push(problem("a resource has either `template` or `externalRef`, this one has both"));
            (Some(template), false)
        }
        (None, None) => {
            errors.push(problem("a resource needs a `template` or an `externalRef`"));
            (None, false)
        }
    }
}

fn check_external(object: &Node, errors: &mut Vec<Diagnostic>) {
    let Some(metadata) = object.get("metadata") else { return };
    if metadata.get("name").is_some() == metadata.get("selector").is_some() {
        let message = "the metadata of an `externalRef` has either `name` or `selector`";
        errors.push(Diagnostic::error("field-combination", message).at(&metadata.location));
    }
}

/// apiVersion and kind of an object, where they are legal, and whether it has metadata.
fn envelope(object: &Node, errors: &mut Vec<Diagnostic>) -> (Option<String>, Option<String>) {
    if !matches!(object.value, NodeValue::Mapping(_)) {
        let message = format!("a template has to be a mapping, this is {}", object.describe());
        errors.push(Diagnostic::error("structure", message).at(&object.location));
        return (None, None);
    }
    match object.get("metadata").map(|metadata| (&metadata.value, metadata)) {
        Some((NodeValue::Mapping(_), _)) => {}
        Some((_, metadata)) => {
            let message = format!("`metadata` is {}, but has to be a mapping", metadata.describe());
            errors.push(Diagnostic::error("structure", message).at(&metadata.location));
        }
        None => errors.push(Diagnostic::error("structure", "the template has no `metadata`").at(&object.location)),
    }
    let api_version = required_text(object, "apiVersion", errors).filter(|(text, node)| {
        let legal = naming::is_api_version(text) || text.contains("${");
        if !legal {
            errors.push(Diagnostic::error("structure", format!("`{text}` is no apiVersion")).at(&node.location));
        }
        legal
    });
    let kind = required_text(object, "kind", errors).filter(|(text, node)| {
        let legal = naming::is_object_kind(text);
        if !legal {
            errors.push(Diagnostic::error("naming", format!("`{text}` is no kind")).at(&node.location));
        }
        legal
    });
    (api_version.map(|(text, _)| text.to_owned()), kind.map(|(text, _)| text.to_owned()))
}

fn required_text<'a>(object: &'a Node, field: &str, errors: &mut Vec<Diagnostic>) -> Option<(&'a str, &'a Node)> {
    let Some(node) = object.get(field) else {
        errors.push(Diagnostic::error("structure", format!("the template has no `{field}`")).at(&object.location));
        return None;
    };
    if node.as_str().is_none() {
        let message = format!("`{field}` is {}, but has to be text", node.describe());
        errors.push(Diagnostic::error("structure", message).at(&node.location));
    }
    node.as_str().map(|text| (text, node))
}

/// The expressions of `includeWhen` or `readyWhen`.
fn conditions(node: &Node, field: &str, errors: &mut Vec<Diagnostic>) -> Vec<Expression> {
    let Some(list) = node.get(field) else { return Vec::new() };
    if !matches!(list.value, NodeValue::Sequence(_) | NodeValue::Null) {
        let message = format!("`{field}` is {}, but has to be a list of expressions", list.describe());
        errors.push(Diagnostic::error("structure", message).at(&list.location));
    }
    list.items().iter().filter_map(|item| standalone(item, field, errors)).collect()
}

/// The expression that is all of an item.
fn standalone(item: &Node, field: &str, errors: &mut Vec<Diagnostic>) -> Option<Expression> {
    let template = compile(item, errors)?;
    if let TemplateValue::Expression(expression) = template.value {
        return Some(expression);
    }
    let message = format!("`{}` has to be one expression and nothing else: {field} takes `${{…}}` only", shown(item));
    errors.push(Diagnostic::error("not-standalone", message).at(&item.location));
    None
}

fn for_each(node: &Node, errors: &mut Vec<Diagnostic>) -> Form {
    let Some(list) = node.get("forEach") else { return Form::Single };
    if list.items().len() > MOST_AXES {
        let message = format!("`forEach` has {} axes, {MOST_AXES} are allowed", list.items().len());
        errors.push(Diagnostic::error("structure", message).at(&list.location));
    }
    let axes: Vec<Axis> = list.items().iter().filter_map(|item| axis(item, errors)).collect();
    if list.items().is_empty() {
        errors.push(Diagnostic::error("structure", "`forEach` has to be a list of axes").at(&list.location));
    }
    Form::Collection(axes)
}

fn iterator_names(list: &Node) -> Vec<String> {
    list.items().iter().flat_map(Node::entries).map(|(key, _)| key.text.clone()).collect()
}

fn axis(item: &Node, errors: &mut Vec<Diagnostic>) -> Option<Axis> {
    let [(key, list)] = item.entries() else {
        let message = "an axis of `forEach` is a mapping with one entry: the variable and its list";
        errors.push(Diagnostic::error("structure", message).at(&item.location).suggest("`- zone: ${schema.spec.zones}`"));
        return None;
    };
    errors.extend(naming::check_id(&key.text, "a variable of `forEach`", &key.location));
    Some(Axis { iterator: key.text.clone(), list: standalone(list, "forEach", errors)? })
}

/// Iterators may not be named like a resource, nor occur twice in one resource.
fn check_iterators(entries: &[Entry<'_>], errors: &mut Vec<Diagnostic>) {
    for entry in entries {
        let mut seen = HashSet::new();
        for iterator in &entry.iterators {
            if entries.iter().any(|other| other.id == *iterator) {
                let message = format!("`{iterator}` is the id of a resource and cannot be a variable too");
                errors.push(Diagnostic::error("naming", message).at(&entry.location));
            }
            if !seen.insert(iterator) {
                let message = format!("`forEach` has two axes called `{iterator}`");
                errors.push(Diagnostic::error("duplicate-id", message).at(&entry.location));
            }
        }
    }
}
