//! Expansion: an instance and the definitions become one flat graph. Nested instances stay as virtual nodes.

mod build;
mod edges;
mod implied;
mod networks;
mod problems;
mod trace;

use super::catalog::{Catalog, KindDescription, Production, Scope, Step};
use super::definition::{Definitions, delete_layers, topological};
use super::diagnostic::{Diagnostic, Location};
use super::documents::Instance;
use super::evaluation::{Evaluation, Observations, evaluate};
use super::expression::Expression;
use super::identity::Address;
use super::schema::Schema;
use super::template::Template;
use super::tree::Tree;
use super::yaml::Key;
use std::collections::BTreeSet;

/// Index of a node in [`Graph::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeIndex(pub usize);

/// One top-level instance, expanded.
#[derive(Debug, Clone)]
pub struct Graph {
    /// The instance.
    pub instance: Instance,
    /// Nodes: node 0 is the top-level instance itself; children come after their parent.
    pub nodes: Vec<GraphNode>,
    /// Edges between resources (not virtual nodes), by the field that is read, and implied ones.
    pub edges: Vec<Edge>,
    /// The gates that fields stand behind: they read through a sibling that has to be ready in kro's sense.
    pub gates: Vec<Gate>,
    /// Resources (not virtual nodes) in an order that respects all edges; author order is kept where it can be.
    pub order: Vec<NodeIndex>,
    /// Resources in waves for deletion: a wave holds what nothing left depends on.
    pub delete_waves: Vec<Vec<NodeIndex>>,
}

/// A node of the graph.
#[derive(Debug, Clone)]
pub struct GraphNode {
    /// Where it sits.
    pub address: Address,
    /// The id in its definition; the instance's name for node 0.
    pub id: String,
    /// `ec2.services.k8s.aws/v1alpha1`.
    pub api_version: String,
    /// `VPC`.
    pub kind: String,
    /// Whether the object lives in a namespace; if its template names none, it is that of the instance.
    pub scope: Scope,
    /// The instance that it belongs to; `None` for node 0.
    pub parent: Option<NodeIndex>,
    /// Resource or nested instance.
    pub role: NodeRole,
    /// The object's template; `None` for node 0, whose object is the instance document.
    pub template: Option<Template>,
    /// All must hold for the node to be included.
    pub include_when: Vec<Expression>,
    /// All must hold for its gate to open.
    pub ready_when: Vec<Expression>,
    /// Siblings that it depends on in kro's sense (template and includeWhen): includeWhen is contagious along these.
    pub dependencies: Vec<NodeIndex>,
    /// Where its entry stands in the definition; for node 0 the instance document.
    pub location: Location,
}

/// What a node is.
#[derive(Debug, Clone)]
pub enum NodeRole {
    /// An object that a kind carries out (or that is only known).
    Resource,
    /// An instance of a definition: virtual, its status is computed.
    Instance {
        /// The nodes of its definition's resources.
        children: Vec<NodeIndex>,
        /// Its definition's status templates.
        status: Vec<(Key, Template)>,
        /// The schema that its rendered spec is admitted by (defaults).
        spec: Box<Schema>,
    },
}

/// An edge: `from` needs something of `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The resource that needs.
    pub from: NodeIndex,
    /// The resource that is needed.
    pub to: NodeIndex,
    /// The expression as the author wrote it (the one in `from`'s own template), or a text like `spec.clusterName` for
    /// an implied edge. For an edge that a gate asks for, the node with the gate: `vpc (readyWhen)`.
    pub expression: String,
    /// Path of the field of `from` that reads, list items as `[]`: `spec.routes[].natGatewayID`; `includeWhen` for a
    /// condition.
    pub field: String,
    /// Path of what is read of `to`: `status.vpcID`; empty for implied edges and those of gates.
    pub reads: String,
    /// The step of `from` that has to wait.
    pub step: Step,
    /// What `to` has to have reached: the later of what publishes the field read and what the reading field asks for.
    pub production: Production,
    /// Not in kro's graph.
    pub implied: bool,
}

/// A field of a resource that stands behind a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// The resource that waits.
    pub from: NodeIndex,
    /// The node whose gate has to be open.
    pub node: NodeIndex,
    /// Path of the field of `from`.
    pub field: String,
    /// The step of `from` that has to wait.
    pub step: Step,
}

/// The label that makes a `v1/Secret` an Argo CD registration, and its value.
pub const REGISTRATION_LABEL: (&str, &str) = ("argocd.argoproj.io/secret-type", "cluster");

/// Expands an instance.
///
/// # Errors
///
/// Everything that is wrong with it: definitions that are missing, cycles through nested instances or implied edges, inputs
/// that are read but have neither value nor default (`missing-input`, at the instance document), identities that two
/// nodes share (`duplicate-identity`), values that AWS could never accept (`impossible-value`), and what fleetctl does not
/// carry out (`not-carried-out`).
pub fn expand(instance: &Instance, definitions: &Definitions, catalog: &dyn Catalog) -> Result<Graph, Vec<Diagnostic>> {
    let mut graph = build::build(instance, definitions, catalog)?;
    let first_look = evaluate(&graph, &Observations::new(), catalog);
    let mut problems = problems::find(&graph, &first_look, catalog);
    edges::add(&mut graph, catalog);
    implied::add(&mut graph, &first_look, catalog);
    edges::merge(&mut graph.edges);
    problems.extend(networks::find(&graph, &first_look));
    match graph.sorted() {
        Ok((order, delete_waves)) => (graph.order, graph.delete_waves) = (order, delete_waves),
        Err(cycles) => problems.extend(cycles),
    }
    if problems.is_empty() { Ok(graph) } else { Err(problems) }
}

/// What the expression of an edge that a gate asks for ends with.
pub const GATE: &str = " (readyWhen)";
/// The expression of an edge that puts a registration behind everything else.
pub const REGISTRATION_LAST: &str = "registration comes last";

/// Whether an object is an Argo CD registration: a Secret with the label that Argo CD looks for.
#[must_use]
pub fn is_registration(api_version: &str, kind: &str, object: &Tree) -> bool {
    use super::expression::Segment::Field;
    let (label, value) = REGISTRATION_LABEL;
    let path = [Field("metadata".to_owned()), Field("labels".to_owned()), Field(label.to_owned())];
    api_version == "v1"
        && kind == "Secret"
        && object.at(&path).is_some_and(|found| found.known().and_then(|found| found.as_str()) == Some(value))
}

impl Graph {
    /// A value that AWS could never accept, at the place that it comes from.
    pub fn impossible(&self, index: NodeIndex, value: &super::catalog::ImpossibleValue) -> Diagnostic {
        problems::impossible(self, index, value)
    }

    /// The node.
    #[must_use]
    pub fn node(&self, index: NodeIndex) -> &GraphNode {
        &self.nodes[index.0]
    }

    /// The resources, without virtual nodes.
    pub fn resources(&self) -> impl Iterator<Item = (NodeIndex, &GraphNode)> {
        self.nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| matches!(node.role, NodeRole::Resource))
            .map(|(index, node)| (NodeIndex(index), node))
    }

    /// The edges that start at a resource.
    pub fn edges_from(&self, index: NodeIndex) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.from == index)
    }

    /// What the catalog says of a node's kind.
    pub fn describe<'a>(&self, index: NodeIndex, catalog: &'a dyn Catalog) -> Option<&'a KindDescription> {
        let node = self.node(index);
        catalog.kind(&node.api_version, &node.kind)
    }

    /// The node at an address.
    pub fn find(&self, address: &str) -> Option<NodeIndex> {
        self.nodes.iter().position(|node| node.address.as_str() == address).map(NodeIndex)
    }

    /// The nodes of an instance's resources; empty for a resource.
    #[must_use]
    pub fn children(&self, index: NodeIndex) -> &[NodeIndex] {
        match &self.node(index).role {
            NodeRole::Resource => &[],
            NodeRole::Instance { children, .. } => children,
        }
    }

    /// The resources at or below a node.
    #[must_use]
    pub fn resources_below(&self, index: NodeIndex) -> Vec<NodeIndex> {
        match &self.node(index).role {
            NodeRole::Resource => vec![index],
            NodeRole::Instance { children, .. } => children.iter().flat_map(|child| self.resources_below(*child)).collect(),
        }
    }

    /// The node and the instances that it sits in, innermost first.
    pub fn lineage(&self, index: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        std::iter::successors(Some(index), |current| self.node(*current).parent)
    }

    /// Everything that a resource needs, directly or not.
    #[must_use]
    pub fn needs(&self, index: NodeIndex) -> BTreeSet<NodeIndex> {
        self.reach(index, |edge| (edge.from, edge.to))
    }

    /// Everything that needs a resource, directly or not.
    #[must_use]
    pub fn needed_by(&self, index: NodeIndex) -> BTreeSet<NodeIndex> {
        self.reach(index, |edge| (edge.to, edge.from))
    }

    fn reach(&self, start: NodeIndex, ends: impl Fn(&Edge) -> (NodeIndex, NodeIndex)) -> BTreeSet<NodeIndex> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(current) = open.pop() {
            let next = self.edges.iter().map(&ends).filter(|(near, _)| *near == current).map(|(_, far)| far);
            for far in next {
                if reached.insert(far) {
                    open.push(far);
                }
            }
        }
        reached
    }

    /// Order and deletion waves of the resources, or the cycles that forbid one.
    #[expect(clippy::type_complexity, reason = "the two fields of the graph")]
    fn sorted(&self) -> Result<(Vec<NodeIndex>, Vec<Vec<NodeIndex>>), Vec<Diagnostic>> {
        let resources: Vec<NodeIndex> = self.resources().map(|(index, _)| index).collect();
        let position = |index: NodeIndex| resources.binary_search(&index).ok();
        let mut needs = vec![BTreeSet::new(); resources.len()];
        for edge in &self.edges {
            if let (Some(from), Some(to)) = (position(edge.from), position(edge.to)) {
                needs[from].insert(to);
            }
        }
        let needs: Vec<Vec<usize>> = needs.into_iter().map(|set| set.into_iter().collect()).collect();
        let order = topological(&needs).map_err(|unordered| {
            let members = |cycle: &Vec<usize>| cycle.iter().map(|at| resources[*at]).collect::<Vec<_>>();
            unordered.cycles.iter().map(|cycle| self.cycle(&members(cycle))).collect::<Vec<_>>()
        })?;
        let waves = delete_layers(&needs).into_iter().map(|wave| wave.into_iter().map(|at| resources[at]).collect());
        Ok((order.into_iter().map(|at| resources[at]).collect(), waves.collect()))
    }

    fn cycle(&self, members: &[NodeIndex]) -> Diagnostic {
        let names: Vec<&str> = members.iter().chain(members.first()).map(|index| self.node(*index).address.as_str()).collect();
        let inside = |edge: &&Edge| members.contains(&edge.from) && members.contains(&edge.to);
        let mut reasons: Vec<String> = self
            .edges
            .iter()
            .filter(inside)
            .map(|edge| {
                let (from, to) = (&self.node(edge.from).id, &self.node(edge.to).id);
                format!("{} of {from} needs {to} ({})", edge.field, edge.expression.trim())
            })
            .collect();
        reasons.dedup();
        let place = members.first().map_or(&self.instance.node.location, |index| &self.node(*index).location);
        Diagnostic::error("cycle", format!("resources need one another in a circle: {}", names.join(" -> ")))
            .at(place)
            .suggest(reasons.join("; "))
    }
}

/// Whether a node may come to be: it is not excluded.
fn may_be_included(evaluation: &Evaluation, index: NodeIndex) -> bool {
    !matches!(evaluation.node(index).included, super::evaluation::Included::No(_))
}
