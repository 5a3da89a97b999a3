//! A catalog for tests: every ACK kind of `ack-fields.json`, built generically, and a few core kinds. What the upstream
//! definitions need of fields, productions, references and implied edges is written out here.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::catalog::{
    Catalog, Field, ImpliedEdge, ImpossibleValue, KindDescription, Production, Reference, ReferenceTarget, Scope, Step, Support,
};
use super::schema::{Object, Schema, Shape};
use indexmap::IndexMap;
use serde_json::Value;
use std::sync::LazyLock;

const EC2: &str = "ec2.services.k8s.aws";
const EKS: &str = "eks.services.k8s.aws";

/// The catalog.
pub(crate) fn catalog() -> &'static TestCatalog {
    static CATALOG: LazyLock<TestCatalog> = LazyLock::new(TestCatalog::read);
    &CATALOG
}

pub(crate) struct TestCatalog {
    kinds: Vec<KindDescription>,
}

impl Catalog for TestCatalog {
    fn kind(&self, api_version: &str, kind: &str) -> Option<&KindDescription> {
        self.kinds.iter().find(|known| known.api_version == api_version && known.kind == kind)
    }

    fn kinds(&self) -> Vec<&KindDescription> {
        self.kinds.iter().collect()
    }

    /// CIDRs that do not parse, and ids that are empty.
    fn impossible_values(&self, _api_version: &str, _kind: &str, object: &Value) -> Vec<ImpossibleValue> {
        let mut found = Vec::new();
        impossible(object.get("spec").unwrap_or(&Value::Null), "spec", &mut found);
        found
    }
}

fn impossible(value: &Value, path: &str, found: &mut Vec<ImpossibleValue>) {
    let field = path.rsplit('.').next().unwrap_or_default().to_lowercase();
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, below)| impossible(below, &format!("{path}.{key}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| impossible(item, &format!("{path}[{at}]"), found));
        }
        Value::String(text) if field.starts_with("cidrblock") && text.parse::<ipnet::IpNet>().is_err() => {
            found.push(ImpossibleValue {
                path: path.to_owned(),
                message: format!("`{text}` is no CIDR block"),
                expected: "a CIDR block such as 10.0.0.0/16".to_owned(),
            });
        }
        Value::String(text) if text.is_empty() && (field.contains("subnetids") || field.ends_with("vpcid")) => {
            found.push(ImpossibleValue {
                path: path.to_owned(),
                message: "an id cannot be empty".to_owned(),
                expected: "an id".to_owned(),
            });
        }
        _ => {}
    }
}

impl TestCatalog {
    fn read() -> Self {
        let fields: IndexMap<String, Value> = serde_json::from_str(include_str!("../kinds/ack-fields.json")).unwrap();
        let mut kinds: Vec<KindDescription> = fields.iter().map(|(kind, fields)| ack_kind(kind, fields)).collect();
        kinds.extend(core_kinds());
        Self { kinds }
    }
}

fn ack_kind(kind: &str, fields: &Value) -> KindDescription {
    let spec: Vec<(String, String)> = fields["spec"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(path, field)| (path.clone(), field["type"].as_str().unwrap().to_owned()))
        .collect();
    let paths: Vec<&String> = fields["status"].as_object().unwrap().keys().collect();
    let status = paths.iter().map(|path| ((*path).clone(), status_type(path, &paths).to_owned())).collect::<Vec<_>>();
    KindDescription {
        api_version: fields["apiVersion"].as_str().unwrap().to_owned(),
        kind: kind.to_owned(),
        scope: Scope::Namespaced,
        spec: schema_of(&spec),
        status: schema_of(&status),
        root: Schema::of(Shape::Object(Object::default())),
        support: if kind == "Nodegroup" { Support::OnlyKnown } else { Support::CarriedOut },
        fields: special_fields(kind),
        published: published(kind),
        references: references(kind),
        implied: if kind == "NATGateway" { &[ImpliedEdge::InternetGatewayOfVpc] } else { &[] },
    }
}

/// The types of status fields are not recorded: names tell.
fn status_type(path: &str, all: &[&String]) -> &'static str {
    let name = path.rsplit('.').next().unwrap_or(path);
    let has = |suffix: &str| all.iter().any(|other| other.starts_with(&format!("{path}{suffix}")));
    if path == "conditions" || has("[]") {
        "[]object"
    } else if has(".") {
        "object"
    } else if ["ID", "Id", "ARN", "arn", "state", "status", "endpoint", "issuer", "data", "publicIP"]
        .iter()
        .any(|end| name.ends_with(end))
        || name == "id"
    {
        "string"
    } else {
        "any"
    }
}

/// A schema from dotted paths and types; `[]` enters items.
fn schema_of(paths: &[(String, String)]) -> Schema {
    let mut root = Schema::of(Shape::Object(Object::default()));
    let mut sorted: Vec<&(String, String)> = paths.iter().collect();
    sorted.sort_by_key(|(path, _)| path.matches(['.', '[']).count());
    for (path, kind) in sorted {
        let steps: Vec<&str> = path.split('.').collect();
        let (last, parents) = steps.split_last().unwrap();
        let Shape::Object(object) = &mut enter(&mut root, parents).shape else { panic!("{path}") };
        object.properties.insert((*last).to_owned(), typed(last, kind));
    }
    root
}

fn enter<'a>(schema: &'a mut Schema, steps: &[&str]) -> &'a mut Schema {
    let Some((first, rest)) = steps.split_first() else { return schema };
    let (name, is_list) = first.strip_suffix("[]").map_or((*first, false), |name| (name, true));
    if !matches!(schema.shape, Shape::Object(_)) {
        schema.shape = Shape::Object(Object::default());
    }
    let Shape::Object(object) = &mut schema.shape else { unreachable!() };
    let mut next = object.properties.entry(name.to_owned()).or_default();
    if is_list {
        if !matches!(next.shape, Shape::Array(_)) {
            next.shape = Shape::Array(Box::default());
        }
        let Shape::Array(item) = &mut next.shape else { unreachable!() };
        next = item;
    }
    if !matches!(next.shape, Shape::Object(_)) {
        next.shape = Shape::Object(Object::default());
    }
    enter(next, rest)
}

fn object(fields: &[(&str, &str)]) -> Schema {
    let properties = fields.iter().map(|(name, kind)| ((*name).to_owned(), typed(name, kind))).collect();
    Schema::of(Shape::Object(Object { properties, required: Vec::new() }))
}

fn typed(name: &str, kind: &str) -> Schema {
    if let Some(item) = kind.strip_prefix("[]") {
        let item = match name {
            "tags" => object(&[("key", "string"), ("value", "string")]),
            "conditions" => object(&[
                ("type", "string"),
                ("status", "string"),
                ("reason", "string"),
                ("message", "string"),
                ("lastTransitionTime", "string"),
            ]),
            _ => typed(name.trim_end_matches('s'), item),
        };
        return Schema::of(Shape::Array(Box::new(item)));
    }
    match kind {
        "string" => Schema::of(Shape::String),
        "boolean" => Schema::of(Shape::Boolean),
        "integer" => Schema::of(Shape::Integer),
        "map[string]string" => Schema::of(Shape::Map(Box::new(Schema::of(Shape::String)))),
        "map[string]bytes" => Schema::of(Shape::Map(Box::new(Schema::of(Shape::Bytes)))),
        "object" if name.ends_with("Ref") => {
            let from = object(&[("name", "string"), ("namespace", "string")]);
            Schema::of(Shape::Object(Object { properties: IndexMap::from([("from".to_owned(), from)]), required: vec![] }))
        }
        _ => Schema::default(),
    }
}

fn core_kinds() -> Vec<KindDescription> {
    let kind = |kind: &str, root: Schema, support: Support| KindDescription {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        scope: if kind == "Namespace" { Scope::Cluster } else { Scope::Namespaced },
        spec: Schema::of(Shape::Object(Object::default())),
        status: Schema::of(Shape::Object(Object::default())),
        root,
        support,
        fields: &[],
        published: &[],
        references: &[],
        implied: &[],
    };
    let texts = "map[string]string";
    let secret = object(&[("type", "string"), ("data", "map[string]bytes"), ("stringData", texts), ("immutable", "boolean")]);
    let config_map = object(&[("data", texts), ("binaryData", "map[string]bytes"), ("immutable", "boolean")]);
    let anything = KindDescription {
        api_version: "test/v1".to_owned(),
        spec: Schema::default(),
        status: Schema::default(),
        support: Support::CarriedOut,
        ..kind("Thing", object(&[("data", "any")]), Support::OnlyKnown)
    };
    vec![
        KindDescription {
            fields: const { &[create("type"), create("stringData"), create("data")] },
            implied: &[ImpliedEdge::AfterEverything],
            ..kind("Secret", secret, Support::CarriedOut)
        },
        kind("ConfigMap", config_map, Support::OnlyKnown),
        kind("ServiceAccount", object(&[("automountServiceAccountToken", "boolean")]), Support::OnlyKnown),
        kind("Namespace", object(&[]), Support::OnlyKnown),
        anything,
    ]
}

const fn field(path: &'static str, step: Step, asks: Production) -> Field {
    Field { path, step, asks, carried_out: true }
}

const fn create(path: &'static str) -> Field {
    field(path, Step::Create, Production::Created)
}

const fn configure(path: &'static str) -> Field {
    field(path, Step::Configure, Production::Created)
}

fn special_fields(kind: &str) -> &'static [Field] {
    match kind {
        "VPC" => {
            const {
                &[
                    create("spec.cidrBlocks"),
                    create("spec.tags"),
                    configure("spec.enableDNSSupport"),
                    configure("spec.enableDNSHostnames"),
                ]
            }
        }
        "Subnet" => {
            const {
                &[
                    create("spec.vpcID"),
                    create("spec.vpcRef"),
                    create("spec.cidrBlock"),
                    create("spec.availabilityZone"),
                    create("spec.tags"),
                    configure("spec.routeTables"),
                    configure("spec.mapPublicIPOnLaunch"),
                ]
            }
        }
        "InternetGateway" => const { &[create("spec.tags"), configure("spec.vpc"), configure("spec.vpcRef")] },
        "NATGateway" | "ElasticIPAddress" | "SecurityGroup" | "Nodegroup" | "Addon" | "PodIdentityAssociation" | "Policy" => {
            const { &[create("spec")] }
        }
        "RouteTable" => {
            const {
                &[
                    create("spec.vpcID"),
                    create("spec.vpcRef"),
                    create("spec.tags"),
                    field("spec.routes[].gatewayID", Step::Configure, Production::Configured),
                    field("spec.routes[].natGatewayID", Step::Configure, Production::Ready),
                    configure("spec.routes"),
                ]
            }
        }
        "Role" => const { &[create("spec"), configure("spec.policies")] },
        "Cluster" => {
            const {
                &[
                    create("spec"),
                    field("spec.roleARN", Step::Create, Production::Configured),
                    field("spec.computeConfig.nodeRoleARN", Step::Create, Production::Configured),
                ]
            }
        }
        "AccessEntry" => const { &[create("spec"), configure("spec.accessPolicies")] },
        _ => const { &[] },
    }
}

fn published(kind: &str) -> &'static [(&'static str, Production)] {
    match kind {
        "Role" | "AccessEntry" => const { &[("status.ackResourceMetadata.arn", Production::Configured)] },
        "InternetGateway" => const { &[("status.attachments", Production::Configured)] },
        "Cluster" => {
            const {
                &[
                    ("status.endpoint", Production::Ready),
                    ("status.certificateAuthority", Production::Ready),
                    ("status.identity", Production::Ready),
                ]
            }
        }
        _ => const { &[] },
    }
}

const CLUSTER: Reference = Reference {
    path: "spec.clusterName",
    kind: "Cluster",
    group: EKS,
    target: ReferenceTarget::SpecName,
    step: Step::Create,
    asks: Production::Ready,
};

const fn object_reference(path: &'static str, kind: &'static str, step: Step) -> Reference {
    Reference { path, kind, group: EC2, target: ReferenceTarget::MetadataName, step, asks: Production::Created }
}

fn references(kind: &str) -> &'static [Reference] {
    match kind {
        "Addon" | "AccessEntry" | "PodIdentityAssociation" | "Nodegroup" => const { &[CLUSTER] },
        "Subnet" => {
            const {
                &[
                    object_reference("spec.vpcRef.from.name", "VPC", Step::Create),
                    object_reference("spec.routeTableRefs[].from.name", "RouteTable", Step::Configure),
                ]
            }
        }
        "InternetGateway" => const { &[object_reference("spec.vpcRef.from.name", "VPC", Step::Configure)] },
        "RouteTable" => const { &[object_reference("spec.vpcRef.from.name", "VPC", Step::Create)] },
        "NATGateway" => {
            const {
                &[
                    object_reference("spec.subnetRef.from.name", "Subnet", Step::Create),
                    object_reference("spec.allocationRef.from.name", "ElasticIPAddress", Step::Create),
                ]
            }
        }
        _ => const { &[] },
    }
}

#[test]
fn every_kind_of_the_file_is_there() {
    let catalog = catalog();
    assert_eq!(catalog.kinds.len(), 14 + 5);
    let table = catalog.kind("ec2.services.k8s.aws/v1alpha1", "RouteTable").unwrap();
    assert!(table.spec.at(&["routes", "0", "natGatewayID"]).is_some());
    assert_eq!(table.spec.at(&["tags", "0", "key"]).map(|schema| &schema.shape), Some(&Shape::String));
    assert!(table.spec.at(&["vpcRef", "from", "namespace"]).is_some());
    assert_eq!(table.field("spec.routes[].natGatewayID").asks, Production::Ready);
    let cluster = catalog.kind("eks.services.k8s.aws/v1alpha1", "Cluster").unwrap();
    assert_eq!(cluster.status.at(&["identity", "oidc", "issuer"]).map(|schema| &schema.shape), Some(&Shape::String));
    assert_eq!(cluster.published_at("status.identity.oidc.issuer"), Production::Ready);
    assert_eq!(cluster.published_at("status.ackResourceMetadata.arn"), Production::Created);
    assert_eq!(cluster.published_at("status"), Production::Ready);
}
