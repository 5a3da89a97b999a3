//! What expressions may name and read: kro.md 1.4, checks 10, 13, 15 and 16, and the reads of fields that no schema
//! declares.

use super::resource::Entry;
use super::schemas::{self, ObjectKind, describe};
use super::{Definition, Features, Form};
use crate::graph::diagnostic::Diagnostic;
use crate::graph::expression::{Expression, Read};
use crate::graph::path::{self, Plain};
use crate::graph::schema::{Schema, Shape};
use crate::graph::template::Template;
use std::collections::HashMap;

/// Everything that expressions of a definition can see.
pub(super) struct Scene {
    /// Schema of the variable `schema`.
    variable: Schema,
    /// Ids in author order.
    ids: Vec<String>,
    /// The kind behind each entry, if known.
    kinds: Vec<Option<ObjectKind>>,
    /// What reading an id gives.
    values: HashMap<String, Schema>,
    features: Features,
}

/// Where an expression stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place<'a> {
    /// In a template, at a path.
    Template(&'a str),
    IncludeWhen,
    ReadyWhen,
    ForEach,
}

impl Scene {
    /// Looks at a definition whose kinds have been resolved.
    pub(super) fn new(
        definition: &Definition,
        entries: &[Entry<'_>],
        kinds: Vec<Option<ObjectKind>>,
        features: Features,
    ) -> Self {
        let value = |(entry, kind): (&Entry<'_>, &Option<ObjectKind>)| {
            let object = kind.as_ref().map(|kind| kind.object.clone()).unwrap_or_default();
            let many = matches!(entry.form, Form::Collection(_)) || is_selector(entry);
            (entry.id.clone(), if many { Schema::of(Shape::Array(Box::new(object))) } else { object })
        };
        Self {
            variable: schemas::of_variable(&definition.spec, definition.scope),
            ids: entries.iter().map(|entry| entry.id.clone()).collect(),
            values: entries.iter().zip(&kinds).map(value).collect(),
            kinds,
            features,
        }
    }

    /// The kind behind an entry.
    pub(super) fn kind(&self, index: usize) -> Option<&ObjectKind> {
        self.kinds.get(index).and_then(Option::as_ref)
    }

    /// Ids that an entry reads in its template, forEach and includeWhen, in author order.
    pub(super) fn dependencies(&self, entry: &Entry<'_>) -> Vec<String> {
        let in_template = entry.template.iter().flat_map(Template::expressions).map(|(_, expression)| expression);
        let in_axes = entry.axes().iter().map(|axis| &axis.list);
        let read: Vec<&str> = in_template
            .chain(in_axes)
            .chain(&entry.include_when)
            .flat_map(|expression| &expression.reads)
            .map(|read| read.root.as_str())
            .collect();
        self.ids.iter().filter(|id| read.contains(&id.as_str()) && **id != entry.id).cloned().collect()
    }

    /// The declared schema of what is read; `Err` if it is not declared. `None` for variables without a schema.
    fn read(&self, read: &Read) -> Option<Result<&Schema, schemas::Undeclared>> {
        let schema = if read.root == "schema" { &self.variable } else { self.values.get(&read.root)? };
        Some(schemas::walk(schema, &read.path))
    }

    /// The declared schema of an expression that is nothing but a path.
    pub(super) fn plain(&self, expression: &Expression) -> Option<(Plain, Schema)> {
        let plain = path::plain(&expression.source, &expression.reads)?;
        Some((plain, self.read(&expression.reads[0])?.ok()?.clone()))
    }

    /// The schema of an expression's value, as far as it is plain without types: that of the path that it is, or the
    /// shape that its operators give.
    pub(super) fn shape(&self, expression: &Expression) -> Option<Schema> {
        let of_path = self.plain(expression).map(|(_, schema)| schema);
        of_path.or_else(|| expression.certain_shape().map(Schema::of))
    }

    /// Reports everything that an expression in a status block names or reads and may not.
    pub(super) fn check_status(&self, expression: &Expression, errors: &mut Vec<Diagnostic>) {
        self.check_functions(expression, None, errors);
        for read in &expression.reads {
            if read.root == "schema" || self.ids.contains(&read.root) {
                self.check_read(expression, read, errors);
            } else {
                errors.push(unknown_identifier(expression, &read.root, self.candidates()));
            }
        }
    }

    fn candidates(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str).chain(["schema"])
    }

    fn check_read(&self, expression: &Expression, read: &Read, errors: &mut Vec<Diagnostic>) {
        let Some(Err(problem)) = self.read(read) else { return };
        let message = match (read.root.as_str(), problem.path.as_str()) {
            ("schema", "status") => "`schema.status` cannot be read: it is what the graph makes".to_owned(),
            (root, path) => format!("`{root}.{path}` is not declared: there is no field `{}`", problem.field),
        };
        let closest = problem.declared.iter().map(String::as_str);
        let error = Diagnostic::error("cel-type", message).at(&expression.location);
        errors.push(error.suggest_closest(&problem.field, closest));
    }

    /// `omit()` and `runtime` stand only in few places.
    fn check_functions(&self, expression: &Expression, place: Option<Place<'_>>, errors: &mut Vec<Diagnostic>) {
        if expression.functions.iter().any(|name| name.starts_with("runtime.")) || reads_runtime(expression) {
            let message = "`runtime` exists in `status.conditions` only";
            errors.push(Diagnostic::error("runtime-context", message).at(&expression.location));
        }
        if !expression.functions.iter().any(|name| name == "omit") {
            return;
        }
        if !self.features.omit {
            let message = "`omit()` is switched off, as it is in kro (feature gate CELOmitFunction)";
            errors.push(Diagnostic::error("omit-gate", message).at(&expression.location));
            return;
        }
        match place {
            Some(Place::Template("metadata.name" | "metadata.namespace")) => {
                let message = "`omit()` cannot stand in an object's name or namespace";
                errors.push(Diagnostic::error("omit-identity", message).at(&expression.location));
            }
            Some(Place::Template(_)) => {}
            _ => {
                let message = "`omit()` stands in template fields only";
                errors.push(Diagnostic::error("omit-gate", message).at(&expression.location));
            }
        }
    }
}

/// Checks every expression of an entry.
pub(super) fn check(scene: &Scene, index: usize, entry: &Entry<'_>, errors: &mut Vec<Diagnostic>) {
    for (field, expression) in entry.template.iter().flat_map(Template::expressions) {
        check_expression(scene, index, entry, (Place::Template(&field), expression), errors);
    }
    for axis in entry.axes() {
        check_expression(scene, index, entry, (Place::ForEach, &axis.list), errors);
        must_be_list(scene, &axis.list, errors);
    }
    for expression in &entry.include_when {
        check_expression(scene, index, entry, (Place::IncludeWhen, expression), errors);
        must_be_bool(scene, entry, expression, errors);
    }
    for expression in &entry.ready_when {
        check_ready_when(scene, entry, expression, errors);
    }
}

fn check_expression(
    scene: &Scene,
    index: usize,
    entry: &Entry<'_>,
    (place, expression): (Place<'_>, &Expression),
    errors: &mut Vec<Diagnostic>,
) {
    scene.check_functions(expression, Some(place), errors);
    for read in expression.reads.iter().filter(|read| read.root != "runtime") {
        let root = read.root.as_str();
        let is_iterator = entry.iterators.iter().any(|iterator| iterator == root);
        if is_iterator && place == Place::ForEach {
            let message = format!("an axis of `forEach` cannot read another one (`{root}`)");
            errors.push(Diagnostic::error("foreach-iterator-reference", message).at(&expression.location));
        } else if is_iterator && place != Place::IncludeWhen {
            // An item: its schema is that of the list, which is not looked into.
        } else if scene.ids.get(index).is_some_and(|id| id == root) {
            let message = format!("`{root}` reads itself");
            errors.push(Diagnostic::error("self-reference", message).at(&expression.location));
        } else if root == "schema" || scene.ids.iter().any(|id| id == root) {
            scene.check_read(expression, read, errors);
        } else {
            let iterators = entry.iterators.iter().map(String::as_str);
            errors.push(unknown_identifier(expression, root, scene.candidates().chain(iterators)));
        }
    }
}

/// readyWhen reads the resource itself, or `each` of its objects if it is a collection.
fn check_ready_when(scene: &Scene, entry: &Entry<'_>, expression: &Expression, errors: &mut Vec<Diagnostic>) {
    scene.check_functions(expression, Some(Place::ReadyWhen), errors);
    let is_collection = matches!(entry.form, Form::Collection(_));
    let own = if is_collection { "each" } else { entry.id.as_str() };
    for read in expression.reads.iter().filter(|read| read.root != "runtime") {
        if read.root != own {
            let message = format!("`{}` is not known here: readyWhen reads `{own}` only", read.root);
            errors.push(Diagnostic::error("unknown-identifier", message).at(&expression.location));
        } else if !is_collection {
            scene.check_read(expression, read, errors);
        }
    }
    if expression.reads.iter().all(|read| read.root == own) {
        must_be_bool(scene, entry, expression, errors);
    }
}

fn reads_runtime(expression: &Expression) -> bool {
    expression.reads.iter().any(|read| read.root == "runtime")
}

fn unknown_identifier<'a>(expression: &Expression, root: &str, candidates: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    Diagnostic::error("unknown-identifier", format!("there is no resource or variable `{root}`"))
        .at(&expression.location)
        .suggest_closest(root, candidates)
}

/// Only what is plain without types is judged.
fn must_be_bool(scene: &Scene, entry: &Entry<'_>, expression: &Expression, errors: &mut Vec<Diagnostic>) {
    let Some(schema) = scene.shape(expression) else { return };
    if schema.shape != Shape::Boolean && !is_undeclared(&schema, expression) {
        let message = format!("a condition of `{}` is {}, but has to be a boolean", entry.id, describe(&schema.shape));
        errors.push(Diagnostic::error("must-return-bool", message).at(&expression.location));
    }
}

/// The catalog does not declare the type of every status field; of inputs everything is declared.
fn is_undeclared(schema: &Schema, expression: &Expression) -> bool {
    schema.shape == Shape::Any && expression.reads.iter().all(|read| read.root != "schema")
}

fn must_be_list(scene: &Scene, expression: &Expression, errors: &mut Vec<Diagnostic>) {
    let certain = || expression.certain_shape().map(|shape| (Plain::Value, Schema::of(shape)));
    let Some((plain, schema)) = scene.plain(expression).or_else(certain) else { return };
    let problem = match (plain, &schema.shape) {
        (Plain::Value, Shape::Array(_)) => return,
        (Plain::Value, _) if is_undeclared(&schema, expression) => return,
        (Plain::Optional, _) => "an optional".to_owned(),
        (Plain::Value, shape) => describe(shape).to_owned(),
    };
    let message = format!("`forEach` needs a list, this is {problem}");
    errors.push(Diagnostic::error("must-return-list", message).at(&expression.location));
}

/// Whether an external reference stands for a list of objects.
fn is_selector(entry: &Entry<'_>) -> bool {
    let metadata = entry.object.filter(|_| matches!(entry.form, Form::External)).and_then(|object| object.get("metadata"));
    metadata.is_some_and(|metadata| metadata.get("selector").is_some())
}
