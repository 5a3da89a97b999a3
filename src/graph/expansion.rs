//! Expansion: an instance and the definitions become one flat graph. Nested instances stay as virtual nodes.

use super::catalog::{Catalog, KindDescription, Production, Step};
use super::definition::Definitions;
use super::diagnostic::Diagnostic;
use super::documents::Instance;
use super::expression::Expression;
use super::identity::Address;
use super::template::Template;
use super::yaml::Key;

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
        spec: super::schema::Schema,
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
    /// an implied edge.
    pub expression: String,
    /// Path of the field of `from` that reads, list items as `[]`: `spec.routes[].natGatewayID`.
    pub field: String,
    /// Path of what is read of `to`: `status.vpcID`; empty for implied edges.
    pub reads: String,
    /// The step of `from` that has to wait.
    pub step: Step,
    /// What `to` has to have reached: the later of what publishes the field read and what the reading field asks for.
    pub production: Production,
    /// Not in kro's graph.
    pub implied: bool,
}

/// Expands an instance. Errors: definitions that are missing, cycles through nested instances or implied edges, inputs
/// that are read but have neither value nor default (`missing-input`, at the instance document), identities that two
/// nodes share (`duplicate-identity`).
pub fn expand(
    _instance: &Instance,
    _definitions: &Definitions,
    _catalog: &dyn Catalog,
) -> Result<Graph, Vec<Diagnostic>> {
    todo!()
}

impl Graph {
    /// The node.
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
}
