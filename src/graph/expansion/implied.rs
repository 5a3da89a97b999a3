//! Edges that no expression makes: references by name, and what the catalog says comes first.

use super::{Edge, Graph, NodeIndex, is_registration, may_be_included};
use crate::graph::catalog::{Catalog, ImpliedEdge, Production, Reference, ReferenceTarget, Step};
use crate::graph::evaluation::{Evaluation, is_carried_out};
use crate::graph::path;
use crate::graph::tree::Tree;
use serde_json::Value;

/// Adds the implied edges of every resource that may come to be. `looks` is the evaluation before anything exists: names
/// are compared as the instance's inputs render them.
pub(super) fn add(graph: &mut Graph, looks: &Evaluation, catalog: &dyn Catalog) {
    let scene = Scene { graph, looks, catalog };
    let mut edges = Vec::new();
    let mut registrations = Vec::new();
    for (index, _) in graph.resources().filter(|(index, _)| may_be_included(looks, *index)) {
        let Some(description) = graph.describe(index, catalog) else { continue };
        for reference in description.references {
            edges.extend(scene.reference(index, reference));
        }
        for implied in description.implied {
            match implied {
                ImpliedEdge::InternetGatewayOfVpc => edges.extend(scene.internet_gateways(index)),
                ImpliedEdge::AfterEverything if scene.is_registration(index) => registrations.push(index),
                ImpliedEdge::AfterEverything => {}
            }
        }
    }
    let last: Vec<NodeIndex> = registrations.clone();
    graph.edges.extend(edges);
    for registration in registrations {
        let edges = Scene { graph, looks, catalog }.after_everything(registration, &last);
        graph.edges.extend(edges);
    }
}

struct Scene<'a> {
    graph: &'a Graph,
    looks: &'a Evaluation,
    catalog: &'a dyn Catalog,
}

/// What tells networks apart: a VPC of the graph, or an id.
#[derive(PartialEq, Eq)]
enum Network {
    Node(NodeIndex),
    Id(String),
}

impl Scene<'_> {
    fn desired(&self, index: NodeIndex) -> &Tree {
        &self.looks.node(index).desired
    }

    fn text(&self, index: NodeIndex, path: &str) -> Option<String> {
        let found = self.desired(index).at(&path::parse(path))?;
        found.known().and_then(Value::as_str).map(str::to_owned)
    }

    fn is_registration(&self, index: NodeIndex) -> bool {
        let node = self.graph.node(index);
        is_registration(&node.api_version, &node.kind, self.desired(index))
    }

    /// Edges from a field that names another object.
    fn reference(&self, from: NodeIndex, reference: &Reference) -> Vec<Edge> {
        let mut edges = Vec::new();
        for path in self.item_paths(from, reference.path) {
            let Some(name) = self.text(from, &path) else { continue };
            let namespace = self.referred_namespace(from, &path);
            let candidates = self.graph.resources().map(|(index, _)| index).filter(|to| {
                *to != from
                    && may_be_included(self.looks, *to)
                    && self.is_of(*to, reference.group, reference.kind)
                    && self.is_called(*to, reference.target, &name, namespace.as_deref())
            });
            for to in self.nearest(from, candidates.collect()) {
                edges.push(Edge {
                    from,
                    to,
                    expression: path::any_item(&path),
                    field: path::any_item(&path),
                    reads: String::new(),
                    step: reference.step,
                    production: reference.asks,
                    implied: true,
                });
            }
        }
        edges
    }

    /// A path with `[]` for each item that there is.
    fn item_paths(&self, index: NodeIndex, pattern: &str) -> Vec<String> {
        let Some((list, rest)) = pattern.split_once("[]") else { return vec![pattern.to_owned()] };
        let count = match self.desired(index).at(&path::parse(list)).as_deref() {
            Some(Tree::Known(Value::Array(items))) => items.len(),
            Some(Tree::Sequence(items)) => items.len(),
            _ => 0,
        };
        (0..count).flat_map(|item| self.item_paths(index, &format!("{list}[{item}]{rest}"))).collect()
    }

    fn is_of(&self, index: NodeIndex, group: &str, kind: &str) -> bool {
        let node = self.graph.node(index);
        node.kind == kind && node.api_version.rsplit_once('/').map_or("", |(group, _)| group) == group
    }

    fn is_called(&self, index: NodeIndex, target: ReferenceTarget, name: &str, namespace: Option<&str>) -> bool {
        match target {
            ReferenceTarget::SpecName => self.text(index, "spec.name").as_deref() == Some(name),
            ReferenceTarget::MetadataName => {
                self.text(index, "metadata.name").as_deref() == Some(name)
                    && self.text(index, "metadata.namespace").as_deref() == namespace
            }
        }
    }

    /// The namespace beside the name of a `*Ref`, else the referrer's own.
    fn referred_namespace(&self, from: NodeIndex, path: &str) -> Option<String> {
        let beside = path.strip_suffix(".name").map(|parent| format!("{parent}.namespace"));
        beside.and_then(|path| self.text(from, &path)).or_else(|| self.text(from, "metadata.namespace"))
    }

    /// Of several objects with the name, those that share the innermost instance with the referrer.
    fn nearest(&self, from: NodeIndex, candidates: Vec<NodeIndex>) -> Vec<NodeIndex> {
        let around: Vec<NodeIndex> = self.graph.lineage(from).collect();
        let distance = |to: &NodeIndex| {
            self.graph.lineage(*to).find_map(|member| around.iter().position(|own| *own == member)).unwrap_or(usize::MAX)
        };
        let near = candidates.iter().map(distance).min();
        candidates.into_iter().filter(|to| Some(distance(to)) == near).collect()
    }

    /// A public NAT gateway is of no use before its VPC is attached to the internet.
    fn internet_gateways(&self, nat: NodeIndex) -> Vec<Edge> {
        if self.text(nat, "spec.connectivityType").is_some_and(|kind| kind == "private") {
            return Vec::new();
        }
        let subnet = self.reached(nat, &["spec.subnetID", "spec.subnetRef.from.name"], "Subnet");
        let Some(network) = subnet.and_then(|subnet| self.network(subnet, "spec.vpcID", "spec.vpcRef.from.name")) else {
            return Vec::new();
        };
        let gateways = self.graph.resources().map(|(index, _)| index).filter(|index| {
            self.is_of(*index, "ec2.services.k8s.aws", "InternetGateway")
                && may_be_included(self.looks, *index)
                && self.network(*index, "spec.vpc", "spec.vpcRef.from.name").as_ref() == Some(&network)
        });
        gateways
            .map(|to| Edge {
                from: nat,
                to,
                expression: "internet gateway of the subnet's VPC".to_owned(),
                field: "spec.subnetID".to_owned(),
                reads: String::new(),
                step: Step::Create,
                production: Production::Configured,
                implied: true,
            })
            .collect()
    }

    /// The resource of a kind that one of the fields reads or names.
    fn reached(&self, from: NodeIndex, fields: &[&str], kind: &str) -> Option<NodeIndex> {
        let read = self.graph.edges_from(from).filter(|edge| !edge.reads.is_empty() && fields.contains(&&*edge.field));
        let named = || {
            let references = self.graph.describe(from, self.catalog).map_or(&[][..], |description| description.references);
            let matching = references.iter().filter(|reference| fields.contains(&reference.path));
            matching.flat_map(|reference| self.reference(from, reference)).map(|edge| edge.to).next()
        };
        read.map(|edge| edge.to).find(|to| self.graph.node(*to).kind == kind).or_else(named)
    }

    fn network(&self, from: NodeIndex, id: &str, reference: &str) -> Option<Network> {
        let node = self.reached(from, &[id, reference], "VPC").map(Network::Node);
        node.or_else(|| self.text(from, id).filter(|text| !text.is_empty()).map(Network::Id))
    }

    /// A registration waits for all that does not wait for it, directly or not.
    fn after_everything(&self, registration: NodeIndex, others: &[NodeIndex]) -> Vec<Edge> {
        let dependents = self.graph.needed_by(registration);
        let before = self.graph.resources().map(|(index, _)| index).filter(|index| {
            *index != registration
                && !others.contains(index)
                && !dependents.contains(index)
                && may_be_included(self.looks, *index)
                && is_carried_out(self.graph, self.catalog, *index, self.desired(*index))
        });
        before
            .map(|to| Edge {
                from: registration,
                to,
                expression: super::REGISTRATION_LAST.to_owned(),
                field: "metadata.labels".to_owned(),
                reads: String::new(),
                step: Step::Create,
                production: Production::Ready,
                implied: true,
            })
            .collect()
    }
}
