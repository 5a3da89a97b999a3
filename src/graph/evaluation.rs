//! Evaluation: from what has been observed so far, what each node of a graph wants, whether it is included, and
//! whether its gate is open. A pure function, called again whenever something has been observed.

use super::catalog::{Catalog, Production};
use super::diagnostic::Diagnostic;
use super::expansion::{Graph, NodeIndex};
use super::tree::Tree;
use serde_json::Value;
use std::collections::HashMap;

/// What is known of one resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The observed object in ACK's shape: apiVersion, kind, metadata as rendered, spec as read back, status.
    pub object: Value,
    /// What it has reached.
    pub reached: Production,
}

/// The observations of a graph's resources; a resource that does not exist has none.
pub type Observations = HashMap<NodeIndex, Observation>;

/// What evaluation says of a graph.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// By node, in the order of [`Graph::nodes`].
    pub nodes: Vec<NodeEvaluation>,
    /// Fatal errors: expressions that can never give a value (kro.md 3.8). Nothing may be changed while there is one.
    pub errors: Vec<Diagnostic>,
}

/// What evaluation says of one node.
#[derive(Debug, Clone)]
pub struct NodeEvaluation {
    /// Whether the node is part of the graph.
    pub included: Included,
    /// The rendered object: apiVersion, kind, metadata, spec, …; leaves may be unknown. A leaf that reads a sibling is
    /// unknown until the sibling's gate is open and, if it is a resource, has reached what publishes the field read.
    pub desired: Tree,
    /// Whether nodes that depend on it may read it: it exists and its readyWhen hold; for a nested instance: all its
    /// included resources exist and their readyWhen hold, and its own readyWhen hold.
    pub gate_open: bool,
    /// What the gate waits for, when it is closed.
    pub gate_waits_for: Option<String>,
    /// For instances: the computed status (authored fields, `state`, `conditions`).
    pub status: Option<Value>,
}

/// Whether a node is part of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Included {
    /// All its includeWhen hold, and so do those of everything it depends on.
    Yes,
    /// One of them does not; the text says which.
    No(String),
    /// One of them is not known yet; the text says what it waits for.
    Unknown(String),
}

/// Evaluates a graph. `catalog` answers which production publishes a status field.
pub fn evaluate(_graph: &Graph, _observations: &Observations, _catalog: &dyn Catalog) -> Evaluation {
    todo!()
}

impl Evaluation {
    /// What evaluation says of one node.
    pub fn node(&self, index: NodeIndex) -> &NodeEvaluation {
        &self.nodes[index.0]
    }

    /// Whether everything that a step of a resource needs is there: the fields of that step are known, and what its
    /// edges (implied ones too) ask for has been reached. Otherwise what it waits for.
    pub fn step_waits_for(
        &self,
        _graph: &Graph,
        _observations: &Observations,
        _catalog: &dyn Catalog,
        _index: NodeIndex,
        _step: super::catalog::Step,
    ) -> Option<String> {
        todo!()
    }
}
