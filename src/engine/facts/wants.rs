//! What an instance wants of its accounts: found by kind and field, whatever the definition is.

use super::{Breadth, Place, Question};
use crate::aws::facts::Quota;
use crate::engine::subject::marked;
use crate::engine::work::Work;
use crate::graph::expansion::NodeIndex;
use crate::graph::identity::{Address, Identity};
use crate::kinds::catalog;
use crate::kinds::kind::Kind;
use ipnet::IpNet;
use serde_json::Value;
use std::collections::BTreeSet;

/// What becomes of an object, or of one of its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Stage {
    /// It is made.
    New,
    /// It is made in the place of one that goes first.
    Anew,
    /// It is there, and the field is changed.
    Changed,
    /// It stays.
    Kept,
}

/// An object, for findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) address: Address,
    pub(super) identity: Identity,
}

impl Object {
    pub(super) fn place(&self) -> Place {
        Place::of(&self.identity)
    }
}

/// A cluster.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub(super) object: Object,
    pub(super) stage: Stage,
    pub(super) version: Option<String>,
    /// Those that are there already: the graph does not make them.
    pub(super) subnets: Vec<String>,
    /// What its registration names beside them.
    pub(super) named: Named,
}

/// Ids that the annotations of a registration hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) vpcs: BTreeSet<String>,
    /// With whether the annotation's name says that they are public.
    pub(super) subnets: BTreeSet<(String, bool)>,
}

/// An add-on whose version is given.
#[derive(Debug, Clone)]
pub(super) struct Addon {
    pub(super) object: Object,
    pub(super) name: String,
    pub(super) version: String,
    /// The Kubernetes version of its cluster, if that is known.
    pub(super) kubernetes: Option<String>,
}

/// A role that may enter a cluster.
#[derive(Debug, Clone)]
pub(super) struct Principal {
    pub(super) object: Object,
    pub(super) arn: String,
    pub(super) account: String,
    pub(super) name: String,
}

/// A network with its blocks.
#[derive(Debug, Clone)]
pub(super) struct Vpc {
    pub(super) object: Object,
    pub(super) stage: Stage,
    pub(super) blocks: Vec<IpNet>,
}

/// An account and region in which nothing may bear the instance's mark yet: no state of it was ever used.
#[derive(Debug, Clone)]
pub(super) struct Fresh {
    /// The first object there.
    pub(super) object: Object,
    /// The instance's mark.
    pub(super) instance: String,
}

/// What one instance wants.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Wants {
    pub(super) clusters: Vec<Cluster>,
    pub(super) addons: Vec<Addon>,
    pub(super) principals: Vec<Principal>,
    /// Addresses of Amazon's that are made.
    pub(super) addresses: Vec<Object>,
    pub(super) vpcs: Vec<Vpc>,
    /// Roles that the graph has, made or not: account and name.
    pub(super) roles: BTreeSet<(String, String)>,
    pub(super) fresh: Vec<Fresh>,
}

impl Wants {
    /// What an instance wants, given what becomes of a node and a field of it.
    pub(in crate::engine) fn of(work: &Work, stage: impl Fn(NodeIndex, &str) -> Stage) -> Self {
        let mut wants = Self::default();
        for index in &work.graph.order {
            if let Some(place) = work.place(*index) {
                let object = Object { address: work.graph.node(*index).address.clone(), identity: place.identity.clone() };
                wants.add(work, *index, object, &stage);
            }
        }
        wants
    }

    /// The same where no state of the instance was ever used.
    pub(in crate::engine) fn of_unused_state(mut self, work: &Work) -> Self {
        for index in &work.graph.order {
            let node = work.graph.node(*index);
            let Some(place) = work.place(*index) else { continue };
            let is_found = catalog::kind(&node.api_version, &node.kind).is_some_and(Kind::is_found_by_marks);
            let object = Object { address: node.address.clone(), identity: place.identity.clone() };
            if is_found && !self.fresh.iter().any(|fresh| fresh.object.place() == object.place()) {
                self.fresh.push(Fresh { object, instance: marked(&work.key()) });
            }
        }
        self
    }

    fn add(&mut self, work: &Work, index: NodeIndex, object: Object, stage: &impl Fn(NodeIndex, &str) -> Stage) {
        let desired = desired(work, index);
        let fate = stage(index, "");
        match object.identity.kind.as_str() {
            "Cluster" => self.clusters.push(Cluster {
                stage: stage(index, "spec.version"),
                version: text(&desired, "/spec/version"),
                subnets: texts(&desired, "/spec/resourcesVPCConfig/subnetIDs"),
                named: named(work, index),
                object,
            }),
            "Addon" if stage(index, "spec.addonVersion") != Stage::Kept => {
                let both = (text(&desired, "/spec/name"), text(&desired, "/spec/addonVersion"));
                let (Some(name), Some(version)) = both else { return };
                self.addons.push(Addon { object, name, version, kubernetes: kubernetes(work, index) });
            }
            "AccessEntry" if matches!(fate, Stage::New | Stage::Anew) => self.principals.extend(principal(object, &desired)),
            "ElasticIPAddress" if fate == Stage::New && !is_brought_along(&desired) => self.addresses.push(object),
            "VPC" => {
                let blocks = texts(&desired, "/spec/cidrBlocks").iter().filter_map(|block| block.parse().ok()).collect();
                self.vpcs.push(Vpc { object, stage: fate, blocks });
            }
            "Role" => self.roles.extend(text(&desired, "/spec/name").map(|name| (object.identity.account, name))),
            _ => {}
        }
    }

    /// What has to be asked.
    pub(in crate::engine) fn questions(&self, breadth: Breadth) -> BTreeSet<Question> {
        let mut questions = BTreeSet::new();
        for cluster in self.clusters.iter().filter(|cluster| cluster.is_looked_at(breadth)) {
            questions.extend(cluster.version.as_ref().map(|_| Question::ClusterVersions(cluster.object.place())));
            questions.extend(cluster.network());
        }
        questions.extend(self.fresh.iter().map(Fresh::question));
        questions.extend(self.addons.iter().map(Addon::question));
        let of_others = self.principals.iter().filter(|principal| !self.roles.contains(&principal.role()));
        questions.extend(of_others.map(Principal::question));
        for (quota, objects) in self.counted() {
            for place in objects.iter().map(|object| object.place()) {
                questions.extend([Question::Quota(place.clone(), quota), Question::Used(place, quota)]);
            }
        }
        questions
    }

    /// What is made of that of which an account may have only so many.
    pub(super) fn counted(&self) -> [(Quota, Vec<&Object>); 2] {
        let vpcs = self.vpcs.iter().filter(|vpc| vpc.stage == Stage::New).map(|vpc| &vpc.object).collect();
        [(Quota::ElasticIpAddresses, self.addresses.iter().collect()), (Quota::Vpcs, vpcs)]
    }
}

impl Cluster {
    fn is_looked_at(&self, breadth: Breadth) -> bool {
        self.stage != Stage::Kept || breadth == Breadth::Everything
    }

    /// The question about the network that is there; `None` if the graph makes it, or the cluster is there itself.
    pub(super) fn network(&self) -> Option<Question> {
        if !matches!(self.stage, Stage::New | Stage::Anew) || self.subnets.is_empty() {
            return None;
        }
        let named = self.named.subnets.iter().map(|(id, _)| id);
        let subnets: BTreeSet<&String> = self.subnets.iter().chain(named).collect();
        Some(Question::Network {
            place: self.object.place(),
            subnets: subnets.into_iter().cloned().collect(),
            vpcs: self.named.vpcs.iter().cloned().collect(),
        })
    }
}

impl Addon {
    pub(super) fn question(&self) -> Question {
        Question::AddonVersions { place: self.object.place(), addon: self.name.clone(), kubernetes: self.kubernetes.clone() }
    }
}

impl Fresh {
    pub(super) fn question(&self) -> Question {
        Question::Marked { place: self.object.place(), instance: self.instance.clone() }
    }
}

impl Principal {
    pub(super) fn question(&self) -> Question {
        Question::Role { account: self.account.clone(), name: self.name.clone() }
    }

    pub(super) fn role(&self) -> (String, String) {
        (self.account.clone(), self.name.clone())
    }
}

/// What a node wants as far as it is known before anything is observed: what its documents say.
fn desired(work: &Work, index: NodeIndex) -> Value {
    work.blank.node(index).desired.known_part()
}

fn text(object: &Value, pointer: &str) -> Option<String> {
    object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn texts(object: &Value, pointer: &str) -> Vec<String> {
    let list = object.pointer(pointer).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Addresses that a customer has brought along do not count.
fn is_brought_along(desired: &Value) -> bool {
    text(desired, "/spec/publicIPv4Pool").is_some() || text(desired, "/spec/customerOwnedIPv4Pool").is_some()
}

/// The version of the cluster that a node reads.
fn kubernetes(work: &Work, index: NodeIndex) -> Option<String> {
    let mut read = work.graph.edges_from(index).filter(|edge| work.graph.node(edge.to).kind == "Cluster");
    read.find_map(|edge| text(&desired(work, edge.to), "/spec/version"))
}

/// The role in an ARN, `arn:aws:iam::111122223333:role/path/name`. Users are not looked for.
fn principal(object: Object, desired: &Value) -> Option<Principal> {
    let arn = text(desired, "/spec/principalARN")?;
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let [_, _, "iam", _, account, resource] = parts[..] else { return None };
    let name = resource.strip_prefix("role/")?.rsplit('/').next()?.to_owned();
    Some(Principal { account: account.to_owned(), name, object, arn })
}

/// Ids in the annotations of the registrations that read a cluster.
fn named(work: &Work, cluster: NodeIndex) -> Named {
    let mut named = Named::default();
    for edge in work.graph.edges.iter().filter(|edge| edge.to == cluster && work.graph.node(edge.from).kind == "Secret") {
        let desired = desired(work, edge.from);
        let Some(annotations) = desired.pointer("/metadata/annotations").and_then(Value::as_object) else { continue };
        for (key, value) in annotations {
            for id in value.as_str().into_iter().flat_map(|value| value.split(',')).map(str::trim) {
                if is_id(id, "vpc-") {
                    named.vpcs.insert(id.to_owned());
                } else if is_id(id, "subnet-") {
                    named.subnets.insert((id.to_owned(), key.contains("public")));
                }
            }
        }
    }
    named
}

fn is_id(text: &str, prefix: &str) -> bool {
    let digits = text.strip_prefix(prefix).unwrap_or_default();
    !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_hexdigit())
}
