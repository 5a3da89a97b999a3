//! What the graph language needs to know about kinds. The kinds themselves live above and implement [`Catalog`].

use super::path::covers;
use super::schema::Schema;
use serde::{Deserialize, Serialize};

/// What a resource makes available while it comes up, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Production {
    /// It has its id.
    Created,
    /// It is attached, associated, its policies are in place.
    Configured,
    /// AWS says it is usable.
    Ready,
}

/// The step of a resource that needs a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// The call that makes the object.
    Create,
    /// The calls after it.
    Configure,
}

/// Whether objects of a kind live in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// They do.
    Namespaced,
    /// They do not.
    Cluster,
}

/// What fleetctl does with objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Carried out on AWS or Argo CD.
    CarriedOut,
    /// The schema is known, so definitions can be checked, but nothing is carried out; plans name it.
    OnlyKnown,
}

/// What is special about one field of a template. Paths start at the object, are dotted, and `[]` enters list items:
/// `spec.routes[].natGatewayID`, `stringData.server`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The path. It covers everything below itself unless a longer path says otherwise.
    pub path: &'static str,
    /// The step that needs the field.
    pub step: Step,
    /// The production that the field asks of whatever its value is read from.
    pub asks: Production,
    /// Whether fleetctl carries the field out. Fields that it does not are accepted by `validate` and refused by `plan`.
    pub carried_out: bool,
}

/// A field that names another object of the graph without an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The path: `spec.clusterName`, or `spec.vpcRef.from.name` / `spec.routeTableRefs[].from.name`.
    pub path: &'static str,
    /// Kind that is named, in the API group `group`.
    pub kind: &'static str,
    /// API group of that kind.
    pub group: &'static str,
    /// What of the named object is compared: `spec.name` for `clusterName`, `metadata.name` for `*Ref.from.name`.
    pub target: ReferenceTarget,
    /// The step that needs it and the production it asks for.
    pub step: Step,
    /// The production that the referring step asks for.
    pub asks: Production,
}

/// What of the named object a reference is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceTarget {
    /// `spec.name`.
    SpecName,
    /// `metadata.name`, in the namespace that the reference gives, else the referrer's own.
    MetadataName,
}

/// An implied edge that no field names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImpliedEdge {
    /// A public NAT gateway asks the internet gateway of its subnet's VPC to be attached (`configured`).
    InternetGatewayOfVpc,
    /// A registration comes after *done* of everything else in its top-level instance that does not need it.
    AfterEverything,
}

/// Everything the graph language knows of one kind.
#[derive(Debug, Clone)]
pub struct KindDescription {
    /// `ec2.services.k8s.aws/v1alpha1`, or `v1`.
    pub api_version: String,
    /// `VPC`.
    pub kind: String,
    /// Namespaced or cluster-scoped.
    pub scope: Scope,
    /// Schema of `spec` for ACK kinds. For core kinds (`v1` Secret, `ConfigMap`, …), whose fields sit at the top level,
    /// see `root`.
    pub spec: Schema,
    /// Schema of `status`.
    pub status: Schema,
    /// Schemas of further top-level fields (`type`, `data`, `stringData` of a Secret), beside apiVersion, kind,
    /// metadata, spec and status. Empty for ACK kinds.
    pub root: Schema,
    /// What fleetctl does with it.
    pub support: Support,
    /// Special fields. See [`KindDescription::field`] for what no entry covers.
    pub fields: &'static [Field],
    /// The production that publishes a field of the observed object, by path from the object (`status.endpoint`); the
    /// longest covering path counts, and what no path covers is published at `created`.
    pub published: &'static [(&'static str, Production)],
    /// Fields that name other objects.
    pub references: &'static [Reference],
    /// Implied edges that no field names.
    pub implied: &'static [ImpliedEdge],
}

/// The kinds, as the graph language sees them. Implemented by `kinds`.
pub trait Catalog: Send + Sync {
    /// The kind with this apiVersion and kind.
    fn kind(&self, api_version: &str, kind: &str) -> Option<&KindDescription>;

    /// Every kind, for suggestions.
    fn kinds(&self) -> Vec<&KindDescription>;

    /// Values of a rendered spec that AWS could never accept: CIDRs that do not parse, names over AWS's limits, empty
    /// ids. `spec` has only the leaves that are known; called at definition time with literals and at plan time with
    /// rendered values. Returns the path below the object (`spec.cidrBlocks[0]`), the message, and what was expected.
    fn impossible_values(&self, api_version: &str, kind: &str, object: &serde_json::Value) -> Vec<ImpossibleValue>;
}

/// A value that AWS could never accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImpossibleValue {
    /// Path below the object: `spec.cidrBlocks[0]`.
    pub path: String,
    /// What is wrong with it, quoting the value.
    pub message: String,
    /// What was expected.
    pub expected: String,
}

impl KindDescription {
    /// What is true of a path of the template, written with `[]` for list items. Without an entry of its own,
    /// `metadata` (which definitions use to make edges) is needed by `create` and counts as carried out; anything else
    /// is needed by `configure` and is not carried out. Both ask for `created`.
    #[must_use]
    pub fn field(&self, path: &str) -> Field {
        const METADATA: Field = Field { path: "metadata", step: Step::Create, asks: Production::Created, carried_out: true };
        const OTHER: Field = Field { path: "", step: Step::Configure, asks: Production::Created, carried_out: false };
        let special = self.fields.iter().filter(|field| covers(field.path, path)).max_by_key(|field| field.path.len());
        match special {
            Some(field) => field.clone(),
            None if covers("metadata", path) => METADATA,
            None => OTHER,
        }
    }

    /// What a value at a path of the template asks: the step that needs it first, and the latest production that the
    /// field, or a field below it, asks for. An expression may give a whole subtree.
    #[must_use]
    pub fn demands(&self, path: &str) -> (Step, Production) {
        let own = self.field(path);
        self.fields
            .iter()
            .filter(|field| field.path != path && covers(path, field.path))
            .fold((own.step, own.asks), |(step, asks), field| (step.min(field.step), asks.max(field.asks)))
    }

    /// The production that publishes a path of the observed object (`status.vpcID`). A read of a whole subtree needs
    /// everything in it.
    #[must_use]
    pub fn published_at(&self, path: &str) -> Production {
        let own = self.published.iter().filter(|(prefix, _)| covers(prefix, path)).max_by_key(|(prefix, _)| prefix.len());
        self.published
            .iter()
            .filter(|(entry, _)| covers(path, entry))
            .chain(own)
            .map(|(_, production)| *production)
            .max()
            .unwrap_or(Production::Created)
    }
}
