//! Schemas of the ACK kinds' specs and statuses, and of the Kubernetes core kinds that definitions use.
//!
//! The ACK kinds come from `ack-fields.json`, a table taken from the CRDs and the source of the ACK controllers (ec2 and
//! eks v1.20.0, iam v1.8.1). It gives a type for each field of a spec, and a source for each field of a status. Types of
//! status fields follow from their names; what is neither listed here as a number nor as a boolean is text.

use crate::graph::schema::{Constraints, Object, Schema, Shape};
use indexmap::IndexMap;
use serde::Deserialize;
#[cfg(test)]
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The table, as it stands in the source tree.
const TABLE: &str = include_str!("ack-fields.json");

/// Fields of a status that hold whole numbers, by their last name.
const STATUS_INTEGERS: &[&str] = &[
    "attachmentCount",
    "availableIPAddressCount",
    "desiredSize",
    "enableLniAtDeviceIndex",
    "fromPort",
    "permissionsBoundaryUsageCount",
    "toPort",
];

/// Fields of a status that hold booleans, by their last name.
const STATUS_BOOLEANS: &[&str] = &[
    "defaultForAZ",
    "enableResourceNameDNSAAAARecord",
    "enableResourceNameDNSARecord",
    "isAttachable",
    "isDefault",
    "isEgress",
    "main",
    "mapCustomerOwnedIPOnLaunch",
    "securityGroupDefaultRulesExist",
];

/// Fields of a status that hold lists of text, by their last name.
const STATUS_LISTS: &[&str] = &["resourceIDs"];

/// The schemas of one ACK kind.
#[derive(Debug, Clone, PartialEq)]
pub struct AckKind {
    /// `ec2.services.k8s.aws/v1alpha1`.
    pub api_version: String,
    /// `VPC`.
    pub kind: String,
    /// Schema of `spec`. Descriptions name the parameter of the AWS API.
    pub spec: Schema,
    /// Schema of `status`, with `conditions` and `ackResourceMetadata`.
    pub status: Schema,
    /// Fields of which the ACK controller wants exactly one: `vpcID` or `vpcRef`.
    pub one_of: Vec<Vec<String>>,
}

/// A kind of the Kubernetes core API that definitions use.
#[derive(Debug, Clone, PartialEq)]
pub struct CoreKind {
    /// `ConfigMap`.
    pub kind: &'static str,
    /// Whether it lives in a namespace.
    pub namespaced: bool,
    /// Schema of `spec`; without fields where the kind has none.
    pub spec: Schema,
    /// Schema of `status`; without fields where the kind has none.
    pub status: Schema,
    /// Schemas of the other top-level fields.
    pub root: Schema,
}

static ACK_KINDS: LazyLock<Vec<AckKind>> = LazyLock::new(|| parse(TABLE).unwrap_or_default());

static CORE_KINDS: LazyLock<Vec<CoreKind>> = LazyLock::new(core);

/// The ACK kinds of the table, in its order.
pub fn ack_kinds() -> &'static [AckKind] {
    &ACK_KINDS
}

/// The ACK kind with this name.
pub fn ack_kind(kind: &str) -> Option<&'static AckKind> {
    ACK_KINDS.iter().find(|known| known.kind == kind)
}

/// The core kinds (apiVersion `v1`).
pub fn core_kinds() -> &'static [CoreKind] {
    &CORE_KINDS
}

/// The core kind with this name.
pub fn core_kind(kind: &str) -> Option<&'static CoreKind> {
    CORE_KINDS.iter().find(|known| known.kind == kind)
}

/// One kind of the table.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "apiVersion")]
    api_version: String,
    spec: IndexMap<String, SpecField>,
    status: IndexMap<String, String>,
    #[serde(default)]
    required_one_of: Vec<Vec<String>>,
}

/// One field of a spec in the table.
#[derive(Deserialize)]
struct SpecField {
    r#type: String,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    immutable: bool,
    #[serde(default)]
    api: String,
}

fn parse(table: &str) -> Result<Vec<AckKind>, serde_json::Error> {
    let entries: IndexMap<String, Entry> = serde_json::from_str(table)?;
    Ok(entries.into_iter().map(|(kind, entry)| ack(kind, entry)).collect())
}

fn ack(kind: String, entry: Entry) -> AckKind {
    let mut spec = Branch::default();
    for (path, field) in entry.spec {
        spec.insert(&path, field);
    }
    let mut status = Branch::default();
    for (path, source) in entry.status {
        let field = SpecField { r#type: String::new(), required: false, immutable: false, api: source };
        status.insert(&path, field);
    }
    AckKind {
        api_version: entry.api_version,
        kind,
        spec: spec.schema("spec"),
        status: status.schema("status"),
        one_of: entry.required_one_of,
    }
}

/// A field on the way from dotted paths to a schema.
#[derive(Default)]
struct Branch {
    /// What the table says of the field itself, if it has a line of its own.
    field: Option<SpecField>,
    /// Whether a path enters list items here.
    list: bool,
    children: IndexMap<String, Branch>,
}

impl Branch {
    fn insert(&mut self, path: &str, field: SpecField) {
        let mut branch = self;
        for segment in path.split('.') {
            let name = segment.strip_suffix("[]");
            branch = branch.children.entry(name.unwrap_or(segment).to_owned()).or_default();
            branch.list |= name.is_some();
        }
        branch.field = Some(field);
    }

    fn schema(self, name: &str) -> Schema {
        let required = self.children.iter().filter(|(_, child)| child.required()).map(|(name, _)| name.clone()).collect();
        let field =
            self.field.unwrap_or(SpecField { r#type: String::new(), required: false, immutable: false, api: String::new() });
        let list = self.list || field.r#type.starts_with("[]");
        let shape = if self.children.is_empty() {
            leaf(name, &field.r#type)
        } else {
            let properties = self.children.into_iter().map(|(name, child)| (name.clone(), child.schema(&name))).collect();
            let object = Shape::Object(Object { properties, required });
            if list { Shape::Array(Box::new(Schema::of(object))) } else { object }
        };
        let constraints = Constraints {
            description: Some(field.api).filter(|text| !text.is_empty()),
            immutable: field.immutable,
            ..Constraints::default()
        };
        Schema { shape, constraints }
    }

    fn required(&self) -> bool {
        self.field.as_ref().is_some_and(|field| field.required)
    }
}

/// The shape of a field without fields of its own in the table.
fn leaf(name: &str, kind: &str) -> Shape {
    match kind {
        "string" => Shape::String,
        "boolean" => Shape::Boolean,
        "integer" => Shape::Integer,
        "[]string" => list(Shape::String),
        "map[string]string" => Shape::Map(Box::new(Schema::of(Shape::String))),
        "object" if name.ends_with("Ref") => reference(),
        "[]object" if name.ends_with("Refs") => list(reference()),
        "[]object" if name == "tags" => list(texts(&["key", "value"])),
        "[]object" => list(Shape::Any),
        "" => status_leaf(name),
        _ => Shape::Any,
    }
}

fn status_leaf(name: &str) -> Shape {
    match name {
        "conditions" => list(texts(&["type", "status", "lastTransitionTime", "reason", "message"])),
        _ if STATUS_INTEGERS.contains(&name) => Shape::Integer,
        _ if STATUS_BOOLEANS.contains(&name) => Shape::Boolean,
        _ if STATUS_LISTS.contains(&name) => list(Shape::String),
        _ => Shape::String,
    }
}

/// `{from: {name, namespace}}`: how ACK names another object.
fn reference() -> Shape {
    object([("from", texts(&["name", "namespace"]))])
}

fn list(item: Shape) -> Shape {
    Shape::Array(Box::new(Schema::of(item)))
}

fn texts(names: &[&str]) -> Shape {
    object(names.iter().map(|name| (*name, Shape::String)))
}

fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Shape)>) -> Shape {
    let properties = fields.into_iter().map(|(name, shape)| (name.to_owned(), Schema::of(shape))).collect();
    Shape::Object(Object { properties, required: Vec::new() })
}

/// The core kinds, from the Kubernetes API reference (v1.36).
fn core() -> Vec<CoreKind> {
    let text_map = || Shape::Map(Box::new(Schema::of(Shape::String)));
    let bytes_map = || Shape::Map(Box::new(Schema::of(Shape::Bytes)));
    let nothing = || object([]);
    let kind = |kind, root| CoreKind {
        kind,
        namespaced: true,
        spec: Schema::of(nothing()),
        status: Schema::of(nothing()),
        root: Schema::of(root),
    };
    let secret =
        object([("type", Shape::String), ("data", bytes_map()), ("stringData", text_map()), ("immutable", Shape::Boolean)]);
    let config_map = object([("data", text_map()), ("binaryData", bytes_map()), ("immutable", Shape::Boolean)]);
    let object_reference = ["apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"];
    let service_account = object([
        ("automountServiceAccountToken", Shape::Boolean),
        ("imagePullSecrets", list(texts(&["name"]))),
        ("secrets", list(texts(&object_reference))),
    ]);
    let conditions = list(texts(&["type", "status", "lastTransitionTime", "reason", "message"]));
    vec![
        kind("Secret", secret),
        kind("ConfigMap", config_map),
        kind("ServiceAccount", service_account),
        CoreKind {
            kind: "Namespace",
            namespaced: false,
            spec: Schema::of(object([("finalizers", list(Shape::String))])),
            status: Schema::of(object([("phase", Shape::String), ("conditions", conditions)])),
            root: Schema::of(nothing()),
        },
    ]
}

/// Every dotted path of a schema, `[]` entering list items; for checks of the tables that the kinds carry.
#[cfg(test)]
pub fn paths(schema: &Schema) -> BTreeMap<String, &Schema> {
    let mut found = BTreeMap::new();
    collect(schema, "", &mut found);
    found
}

#[cfg(test)]
fn collect<'a>(schema: &'a Schema, path: &str, found: &mut BTreeMap<String, &'a Schema>) {
    match &schema.shape {
        Shape::Object(object) => {
            for (name, child) in &object.properties {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(child, &below, found);
                found.insert(below, child);
            }
        }
        Shape::Array(item) => collect(item, &format!("{path}[]"), found),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape<'a>(kind: &str, path: &[&str]) -> &'a Shape {
        let known = ack_kind(kind).unwrap();
        let (root, rest) = path.split_first().unwrap();
        let schema = if *root == "spec" { &known.spec } else { &known.status };
        &schema.at(rest).unwrap().shape
    }

    #[test]
    fn the_table_gives_all_kinds() {
        let kinds: Vec<&str> = ack_kinds().iter().map(|known| known.kind.as_str()).collect();
        assert_eq!(kinds.len(), 14, "{kinds:?}");
        assert_eq!(ack_kind("Role").unwrap().api_version, "iam.services.k8s.aws/v1alpha1");
        assert_eq!(ack_kind("Subnet").unwrap().one_of, [["vpcID", "vpcRef"]]);
    }

    #[test]
    fn every_line_of_the_table_is_a_path_of_a_schema() {
        let table: IndexMap<String, Entry> = serde_json::from_str(TABLE).unwrap();
        for (kind, entry) in table {
            let known = ack_kind(&kind).unwrap();
            let (spec, status) = (paths(&known.spec), paths(&known.status));
            entry.spec.keys().for_each(|path| assert!(spec.contains_key(path), "{kind} spec.{path}"));
            entry.status.keys().for_each(|path| assert!(status.contains_key(path), "{kind} status.{path}"));
        }
    }

    #[test]
    fn only_unstructured_fields_take_anything() {
        for known in ack_kinds() {
            for schema in [&known.spec, &known.status] {
                for (path, field) in paths(schema) {
                    assert_ne!(field.shape, Shape::Any, "{} {path}", known.kind);
                }
            }
        }
    }

    #[test]
    fn paths_of_the_table_become_nested_shapes() {
        assert_eq!(shape("RouteTable", &["spec", "routes", "0", "natGatewayID"]), &Shape::String);
        assert_eq!(shape("RouteTable", &["spec", "routes", "0", "gatewayRef", "from", "name"]), &Shape::String);
        assert_eq!(shape("VPC", &["spec", "tags", "0", "key"]), &Shape::String);
        assert_eq!(shape("VPC", &["spec", "cidrBlocks"]), &list(Shape::String));
        assert_eq!(shape("Subnet", &["spec", "routeTableRefs", "0", "from", "namespace"]), &Shape::String);
        assert_eq!(shape("Cluster", &["status", "identity", "oidc", "issuer"]), &Shape::String);
        assert_eq!(shape("Cluster", &["status", "conditions", "0", "status"]), &Shape::String);
        assert_eq!(shape("Cluster", &["status", "ackResourceMetadata", "arn"]), &Shape::String);
        assert_eq!(shape("RouteTable", &["status", "associations", "0", "main"]), &Shape::Boolean);
        assert_eq!(shape("Nodegroup", &["status", "health", "issues", "0", "resourceIDs"]), &list(Shape::String));
        assert_eq!(shape("Cluster", &["spec", "tags", "anything"]), &Shape::String);
    }

    #[test]
    fn required_and_immutable_come_from_the_table() {
        let Shape::Object(spec) = &ack_kind("Cluster").unwrap().spec.shape else { panic!("an object") };
        assert_eq!(spec.required, ["name", "resourcesVPCConfig"]);
        assert!(spec.properties["name"].constraints.immutable);
        assert_eq!(spec.properties["name"].constraints.description.as_deref(), Some("CreateCluster.Name"));
    }

    #[test]
    fn core_kinds_have_root_fields() {
        let secret = core_kind("Secret").unwrap();
        assert_eq!(secret.root.at(&["stringData", "server"]).unwrap().shape, Shape::String);
        assert_eq!(secret.root.at(&["data", "server"]).unwrap().shape, Shape::Bytes);
        assert!(secret.spec.at(&["anything"]).is_none());
        assert!(!core_kind("Namespace").unwrap().namespaced);
        assert!(core_kind("VPC").is_none());
    }
}
