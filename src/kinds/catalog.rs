//! The list of kinds: what the graph language sees of them, and where the engine finds them.

use super::kind::Kind;
use super::{access_entry, addon, cluster, ec2, pod_identity_association, registration, role, schemas};
use crate::graph::catalog::{
    Catalog, Field, ImpliedEdge, ImpossibleValue, KindDescription, Production, Reference, Scope, Support,
};
use crate::graph::schema::{Object, Schema, Shape};
use serde_json::Value;
use std::sync::LazyLock;

/// The kinds that are carried out. A kind that is not here but has a schema is only known.
static CARRIED_OUT: &[&dyn Kind] = &[
    &ec2::vpc::Vpc,
    &ec2::subnet::Subnet,
    &ec2::internet_gateway::InternetGateway,
    &ec2::nat_gateway::NatGateway,
    &ec2::elastic_ip_address::ElasticIpAddress,
    &ec2::route_table::RouteTable,
    &role::Role,
    &cluster::Cluster,
    &addon::Addon,
    &access_entry::AccessEntry,
    &pod_identity_association::PodIdentityAssociation,
    &registration::Registration,
];

/// Kinds that have a schema and nobody to carry them out.
static ONLY_KNOWN: LazyLock<Vec<KindDescription>> = LazyLock::new(|| {
    let ack = schemas::ack_kinds().iter().map(|known| {
        let facts = Facts { support: Support::OnlyKnown, ..Facts::default() };
        ack_description(known, &facts)
    });
    let core = schemas::core_kinds().iter().map(|known| core_description(known, Support::OnlyKnown, &[]));
    ack.chain(core).filter(|known| kind(&known.api_version, &known.kind).is_none()).collect()
});

/// The kinds, as the graph language sees them.
#[derive(Debug, Clone, Copy, Default)]
pub struct KindCatalog;

impl Catalog for KindCatalog {
    fn kind(&self, api_version: &str, name: &str) -> Option<&KindDescription> {
        let only_known = || ONLY_KNOWN.iter().find(|known| known.api_version == api_version && known.kind == name);
        kind(api_version, name).map(Kind::description).or_else(only_known)
    }

    fn kinds(&self) -> Vec<&KindDescription> {
        kinds().map(Kind::description).chain(ONLY_KNOWN.iter()).collect()
    }

    fn impossible_values(&self, api_version: &str, name: &str, object: &Value) -> Vec<ImpossibleValue> {
        kind(api_version, name).map(|known| known.impossible_values(object)).unwrap_or_default()
    }
}

/// The kind that carries out objects of this apiVersion and kind; none for kinds that are only known.
pub fn kind(api_version: &str, name: &str) -> Option<&'static dyn Kind> {
    kinds().find(|known| {
        let description = known.description();
        description.api_version == api_version && description.kind == name
    })
}

/// The kinds that are carried out.
pub fn kinds() -> impl Iterator<Item = &'static dyn Kind> {
    CARRIED_OUT.iter().copied()
}

/// What a kind's own file says of it, beside its schema.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// What fleetctl does with it.
    pub support: Support,
    /// See [`KindDescription::fields`].
    pub fields: &'static [Field],
    /// See [`KindDescription::published`].
    pub published: &'static [(&'static str, Production)],
    /// See [`KindDescription::references`].
    pub references: &'static [Reference],
    /// See [`KindDescription::implied`].
    pub implied: &'static [ImpliedEdge],
}

impl Default for Facts {
    fn default() -> Self {
        Self { support: Support::CarriedOut, fields: &[], published: &[], references: &[], implied: &[] }
    }
}

/// The description of an ACK kind of the table, by its name. A name that the table does not have gives a description
/// without fields; a test of the catalog rules that out.
pub fn describe_ack(name: &str, facts: &Facts) -> KindDescription {
    match schemas::ack_kind(name) {
        Some(known) => ack_description(known, facts),
        None => description("", name, nothing(), nothing(), facts),
    }
}

fn ack_description(known: &schemas::AckKind, facts: &Facts) -> KindDescription {
    description(&known.api_version, &known.kind, known.spec.clone(), known.status.clone(), facts)
}

fn description(api_version: &str, kind: &str, spec: Schema, status: Schema, facts: &Facts) -> KindDescription {
    KindDescription {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        scope: Scope::Namespaced,
        spec,
        status,
        root: nothing(),
        support: facts.support,
        fields: facts.fields,
        published: facts.published,
        references: facts.references,
        implied: facts.implied,
    }
}

/// The description of a core kind.
pub fn core_description(known: &schemas::CoreKind, support: Support, fields: &'static [Field]) -> KindDescription {
    KindDescription {
        api_version: "v1".to_owned(),
        kind: known.kind.to_owned(),
        scope: if known.namespaced { Scope::Namespaced } else { Scope::Cluster },
        spec: known.spec.clone(),
        status: known.status.clone(),
        root: known.root.clone(),
        support,
        fields,
        published: &[],
        references: &[],
        implied: &[],
    }
}

/// A schema that has no field.
fn nothing() -> Schema {
    Schema::of(Shape::Object(Object::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_known_once() {
        let catalog = KindCatalog;
        let mut names: Vec<(String, String)> =
            catalog.kinds().iter().map(|known| (known.api_version.clone(), known.kind.clone())).collect();
        assert_eq!(names.len(), schemas::ack_kinds().len() + schemas::core_kinds().len());
        names.sort();
        names.dedup();
        assert_eq!(names.len(), catalog.kinds().len());
    }

    #[test]
    fn core_kinds_are_no_ack_kinds() {
        let catalog = KindCatalog;
        assert!(catalog.kind("ec2.services.k8s.aws/v1alpha1", "VPC").is_some());
        assert!(catalog.kind("v1", "VPC").is_none());
        assert!(catalog.kind("ec2.services.k8s.aws/v1alpha1", "Secret").is_none());
        assert!(catalog.kind("eks.services.k8s.aws/v1alpha1", "VPC").is_none());
        assert_eq!(catalog.kind("v1", "ConfigMap").unwrap().support, Support::OnlyKnown);
    }

    #[test]
    fn tables_of_kinds_name_fields_that_exist() {
        for known in kinds() {
            let description = known.description();
            let spec = schemas::paths(&description.spec);
            let status = schemas::paths(&description.status);
            let in_root = |path: &str| description.root.at(&path.split('.').collect::<Vec<_>>()).is_some();
            let exists = |path: &str| {
                let below = |prefix: &str| path.strip_prefix(prefix).map(str::to_owned);
                match (below("spec."), below("status.")) {
                    (Some(rest), _) => spec.contains_key(&rest),
                    (_, Some(rest)) => status.contains_key(&rest),
                    _ => path == "spec" || path == "metadata" || path.starts_with("metadata.") || in_root(path),
                }
            };
            assert!(!description.api_version.is_empty(), "{} is not in the table", description.kind);
            let fields = description.fields.iter().map(|field| field.path);
            let published = description.published.iter().map(|(path, _)| *path);
            let references = description.references.iter().map(|reference| reference.path);
            for path in fields.chain(published).chain(references) {
                assert!(exists(path), "{}: {path}", description.kind);
            }
        }
    }
}
