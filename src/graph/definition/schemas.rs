//! Schemas of whole objects: what templates are checked against and what expressions may read.

use super::Definition;
use crate::graph::catalog::{KindDescription, Scope};
use crate::graph::expression::Segment;
use crate::graph::path;
use crate::graph::schema::{Object, Schema, Shape};
use crate::graph::template::{Template, TemplateValue};
use crate::graph::yaml::Key;
use indexmap::IndexMap;

/// A kind, as the checks see it.
#[derive(Debug, Clone)]
pub(super) struct ObjectKind {
    /// `ec2.services.k8s.aws/v1alpha1`.
    pub(super) api_version: String,
    /// `VPC`.
    pub(super) kind: String,
    /// Namespaced or cluster-scoped.
    pub(super) scope: Scope,
    /// Schema of the whole object.
    pub(super) object: Schema,
}

/// A schema with these fields.
pub(super) fn object(properties: impl IntoIterator<Item = (String, Schema)>) -> Schema {
    Schema::of(Shape::Object(Object { properties: properties.into_iter().collect(), required: Vec::new() }))
}

/// Kubernetes' `ObjectMeta`.
fn metadata() -> Schema {
    let text = || Schema::of(Shape::String);
    let texts = || Schema::of(Shape::Map(Box::new(text())));
    let list = |item: Schema| Schema::of(Shape::Array(Box::new(item)));
    let fields = [
        ("name", text()),
        ("generateName", text()),
        ("namespace", text()),
        ("labels", texts()),
        ("annotations", texts()),
        ("finalizers", list(text())),
        ("ownerReferences", list(Schema::of(Shape::Any))),
        ("uid", text()),
        ("resourceVersion", text()),
        ("generation", Schema::of(Shape::Integer)),
        ("creationTimestamp", Schema::of(Shape::Any)),
        ("deletionTimestamp", Schema::of(Shape::Any)),
        ("deletionGracePeriodSeconds", Schema::of(Shape::Integer)),
        ("selfLink", text()),
        ("managedFields", list(Schema::of(Shape::Any))),
    ];
    object(fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)))
}

/// apiVersion, kind and metadata, which every object has.
fn envelope() -> IndexMap<String, Schema> {
    IndexMap::from([
        ("apiVersion".to_owned(), Schema::of(Shape::String)),
        ("kind".to_owned(), Schema::of(Shape::String)),
        ("metadata".to_owned(), metadata()),
    ])
}

/// The schema of one of the catalog's kinds.
pub(super) fn of_description(description: &KindDescription) -> ObjectKind {
    let mut properties = envelope();
    for (name, schema) in [("spec", &description.spec), ("status", &description.status)] {
        let absent = matches!(&schema.shape, Shape::Object(object) if object.properties.is_empty());
        if !absent {
            properties.insert(name.to_owned(), schema.clone());
        }
    }
    if let Shape::Object(root) = &description.root.shape {
        properties.extend(root.properties.iter().map(|(name, schema)| (name.clone(), schema.clone())));
    }
    ObjectKind {
        api_version: description.api_version.clone(),
        kind: description.kind.clone(),
        scope: description.scope,
        object: object(properties),
    }
}

/// The schema of the kind that a definition defines; `status` is that of its authored fields.
pub(super) fn of_definition(definition: &Definition, status: IndexMap<String, Schema>) -> ObjectKind {
    let condition = ["type", "status", "reason", "message", "lastTransitionTime"]
        .map(|name| (name.to_owned(), Schema::of(Shape::String)))
        .into_iter()
        .chain([("observedGeneration".to_owned(), Schema::of(Shape::Integer))]);
    let mut fields = status;
    fields.insert("state".to_owned(), Schema::of(Shape::String));
    fields.insert("conditions".to_owned(), Schema::of(Shape::Array(Box::new(object(condition)))));
    let mut properties = envelope();
    properties.insert("spec".to_owned(), definition.spec.clone());
    properties.insert("status".to_owned(), object(fields));
    ObjectKind {
        api_version: definition.api_version.clone(),
        kind: definition.kind.clone(),
        scope: definition.scope,
        object: object(properties),
    }
}

/// The schema of the variable `schema` inside a definition. Under a cluster-scoped kind there is no namespace.
pub(super) fn of_variable(spec: &Schema, scope: Scope) -> Schema {
    let mut properties = envelope();
    if let (Scope::Cluster, Some(Shape::Object(metadata))) =
        (scope, properties.get_mut("metadata").map(|schema| &mut schema.shape))
    {
        metadata.properties.shift_remove("namespace");
    }
    properties.insert("spec".to_owned(), spec.clone());
    object(properties)
}

/// Schemas of authored status fields: a leaf that is one plain path has the type of what it reads.
pub(super) fn of_status(status: &[(Key, Template)], plain: &dyn Fn(&Template) -> Option<Schema>) -> IndexMap<String, Schema> {
    status.iter().map(|(key, template)| (key.text.clone(), of_status_field(template, plain))).collect()
}

fn of_status_field(template: &Template, plain: &dyn Fn(&Template) -> Option<Schema>) -> Schema {
    match &template.value {
        TemplateValue::Mapping(entries) => object(of_status(entries, plain)),
        TemplateValue::Text(_) => Schema::of(Shape::String),
        TemplateValue::Expression(_) => plain(template).unwrap_or_default(),
        TemplateValue::Sequence(_) => Schema::of(Shape::Array(Box::default())),
        TemplateValue::Literal(_) => Schema::default(),
    }
}

/// Why a path cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Undeclared {
    /// The path up to the field that is not there.
    pub(super) path: String,
    /// That field.
    pub(super) field: String,
    /// The fields that there are; empty where there is no field at all.
    pub(super) declared: Vec<String>,
}

/// The schema at a path below a schema.
pub(super) fn walk<'a>(schema: &'a Schema, segments: &[Segment]) -> Result<&'a Schema, Undeclared> {
    let mut current = schema;
    for (depth, segment) in segments.iter().enumerate() {
        let next = match (&current.shape, segment) {
            (Shape::Any, _) => return Ok(current),
            (Shape::Array(item), Segment::Index(_)) => Some(&**item),
            (Shape::Map(value), _) => Some(&**value),
            (Shape::Object(object), Segment::Field(name)) => object.properties.get(name),
            _ => None,
        };
        current = next.ok_or_else(|| undeclared(current, &segments[..=depth]))?;
    }
    Ok(current)
}

fn undeclared(parent: &Schema, segments: &[Segment]) -> Undeclared {
    let field = segments.last().map(|last| path::text(std::slice::from_ref(last))).unwrap_or_default();
    let declared = match &parent.shape {
        Shape::Object(object) => object.properties.keys().cloned().collect(),
        _ => Vec::new(),
    };
    Undeclared { path: path::text(segments), field, declared }
}

/// What a shape is called in messages.
pub(super) fn describe(shape: &Shape) -> &'static str {
    match shape {
        Shape::Any => "anything",
        Shape::String => "text",
        Shape::Bytes => "base64 text",
        Shape::Integer => "a whole number",
        Shape::Number => "a number",
        Shape::Boolean => "a boolean",
        Shape::IntegerOrString => "a whole number or text",
        Shape::Array(_) => "a list",
        Shape::Map(_) | Shape::Object(_) => "a mapping",
    }
}

/// Whether a value of one declared shape can stand where another is declared (kro.md 3.5). Only clear mismatches are
/// refused.
pub(super) fn fits(value: &Schema, target: &Schema) -> bool {
    match (&value.shape, &target.shape) {
        (Shape::Any, _)
        | (_, Shape::Any)
        | (Shape::String | Shape::Integer | Shape::IntegerOrString, Shape::IntegerOrString)
        | (Shape::IntegerOrString, Shape::String | Shape::Integer) => true,
        (Shape::Array(value), Shape::Array(target)) | (Shape::Map(value), Shape::Map(target)) => fits(value, target),
        (Shape::Map(value), Shape::Object(target)) => target.properties.values().all(|field| fits(value, field)),
        (Shape::Object(value), Shape::Map(target)) => value.properties.values().all(|field| fits(field, target)),
        (Shape::Object(value), Shape::Object(target)) => {
            value.properties.iter().all(|(name, field)| target.properties.get(name).is_some_and(|declared| fits(field, declared)))
        }
        (value, target) => std::mem::discriminant(value) == std::mem::discriminant(target),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn text() -> Schema {
        Schema::of(Shape::String)
    }

    #[test]
    fn a_path_ends_at_the_field_that_is_not_declared() {
        let spec = object([("vpc".to_owned(), object([("create".to_owned(), Schema::of(Shape::Boolean))]))]);
        let schema = of_variable(&spec, Scope::Namespaced);
        assert!(walk(&schema, &path::parse("spec.vpc.create")).is_ok());
        let problem = walk(&schema, &path::parse("spec.vpc.creat.x")).unwrap_err();
        assert_eq!((problem.path.as_str(), problem.declared), ("spec.vpc.creat", vec!["create".to_owned()]));
        assert!(walk(&of_variable(&spec, Scope::Cluster), &path::parse("metadata.namespace")).is_err());
        assert!(walk(&schema, &path::parse("status")).is_err());
    }

    #[test]
    fn shapes_fit_as_in_kro() {
        let list = Schema::of(Shape::Array(Box::new(text())));
        assert!(!fits(&text(), &list));
        assert!(fits(&list, &Schema::of(Shape::Array(Box::default()))));
        let one = object([("a".to_owned(), text())]);
        let two = object([("a".to_owned(), text()), ("b".to_owned(), text())]);
        assert!(fits(&one, &two) && !fits(&two, &one));
        assert!(fits(&Schema::of(Shape::Map(Box::new(text()))), &two));
        assert!(!fits(&Schema::of(Shape::Integer), &text()));
    }
}
