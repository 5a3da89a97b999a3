//! Evaluation: from what has been observed so far, what each node of a graph wants, whether it is included, and
//! whether its gate is open. A pure function, called again whenever something has been observed.

mod conditions;
mod defaults;
mod run;
mod scope;
mod steps;

use super::catalog::{Catalog, Production, Step};
use super::diagnostic::Diagnostic;
use super::expansion::{Graph, NodeIndex};
use super::tree::Tree;
use serde_json::Value;
use std::collections::HashMap;

#[cfg(test)]
pub(in crate::graph) use conditions::tests::ready as ready_roll_up;
pub use run::is_carried_out;

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
    /// The rendered object: apiVersion, kind, metadata, spec, …; leaves may be unknown. A leaf that reads a sibling's
    /// status is unknown until the sibling's gate is open and, if it is a resource, has reached what publishes the field
    /// read. `metadata.namespace` is that of the instance where the template names none.
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

/// How [`super::tree::Unknown::waits_for`] begins where an input has neither value nor default; then follow the path and
/// the instance that lacks it: `input spec.accountId of EksCluster/workload-cluster1`.
pub(crate) const MISSING_INPUT: &str = "input ";

/// Evaluates a graph. `catalog` answers which production publishes a status field.
///
/// - `metadata` and `spec` of a resource are answered from its rendered template until it exists, and from the observed
///   object afterwards, whether or not its gate is open: steps wait for gates ([`Evaluation::step_waits_for`]), plans
///   show the value. `status` is unknown until the gate is open and what publishes the field has been reached.
/// - Resources that are only known ([`super::catalog::Support::OnlyKnown`], and Secrets that are no registration) count as
///   existing, with the rendered object as observed.
pub fn evaluate(graph: &Graph, observations: &Observations, catalog: &dyn Catalog) -> Evaluation {
    run::run(graph, observations, catalog, scope::Gates::Kept)
}

/// What a graph will want once everything that is missing has been made: as [`evaluate`], but the status of a nested instance
/// is read although its gate is closed, as far as it has a value. For plans alone: steps wait for the gate.
pub fn foresee(graph: &Graph, observations: &Observations, catalog: &dyn Catalog) -> Evaluation {
    run::run(graph, observations, catalog, scope::Gates::Foreseen)
}

impl Evaluation {
    /// What evaluation says of one node.
    #[must_use]
    pub fn node(&self, index: NodeIndex) -> &NodeEvaluation {
        &self.nodes[index.0]
    }

    /// Whether a node is excluded.
    #[must_use]
    pub fn is_excluded(&self, index: NodeIndex) -> bool {
        matches!(self.node(index).included, Included::No(_))
    }

    /// Whether everything that a step of a resource needs is there: the fields of that step are known, the gates that
    /// they stand behind are open, and what its edges (implied ones too) ask for has been reached. Otherwise what it
    /// waits for. Excluded nodes keep nobody waiting.
    pub fn step_waits_for(
        &self,
        graph: &Graph,
        observations: &Observations,
        catalog: &dyn Catalog,
        index: NodeIndex,
        step: Step,
    ) -> Option<String> {
        steps::waits_for(&steps::Scene { evaluation: self, graph, observations, catalog }, index, step)
    }
}
