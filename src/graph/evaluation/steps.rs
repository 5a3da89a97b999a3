//! What a step of a resource waits for.

use super::{Evaluation, Included, Observations, is_carried_out};
use crate::graph::catalog::{Catalog, KindDescription, Production, Step};
use crate::graph::expansion::{Edge, Graph, NodeIndex};
use crate::graph::path;

/// Everything that decides it.
pub(super) struct Scene<'a> {
    pub(super) evaluation: &'a Evaluation,
    pub(super) graph: &'a Graph,
    pub(super) observations: &'a Observations,
    pub(super) catalog: &'a dyn Catalog,
}

/// See [`Evaluation::step_waits_for`].
pub(super) fn waits_for(scene: &Scene<'_>, index: NodeIndex, step: Step) -> Option<String> {
    match &scene.evaluation.node(index).included {
        Included::No(reason) | Included::Unknown(reason) => return Some(reason.clone()),
        Included::Yes => {}
    }
    scene.unknown_field(index, step).or_else(|| scene.closed_gate(index, step)).or_else(|| scene.edge(index, step))
}

impl Scene<'_> {
    fn unknown_field(&self, index: NodeIndex, step: Step) -> Option<String> {
        let description = self.graph.describe(index, self.catalog);
        let unknowns = self.evaluation.node(index).desired.unknowns();
        let needed = unknowns.into_iter().find(|(field, _)| belongs_to(description, &path::any_item(field), step));
        needed.map(|(_, unknown)| unknown.waits_for.clone())
    }

    fn closed_gate(&self, index: NodeIndex, step: Step) -> Option<String> {
        let own = self.graph.gates.iter().filter(|gate| gate.from == index && gate.step == step);
        let mut closed = own
            .map(|gate| gate.node)
            .filter(|node| !self.evaluation.is_excluded(*node) && !self.evaluation.node(*node).gate_open);
        closed.next().map(|node| format!("{} is ready", self.graph.node(node).address))
    }

    fn edge(&self, index: NodeIndex, step: Step) -> Option<String> {
        let own = self.graph.edges_from(index).filter(|edge| edge.step == step);
        own.filter(|edge| !self.evaluation.is_excluded(edge.to)).find(|edge| !self.has_reached(edge)).map(|edge| {
            let address = &self.graph.node(edge.to).address;
            match edge.production {
                Production::Created => format!("{address} exists"),
                Production::Configured => format!("{address} is configured"),
                Production::Ready => format!("{address} is ready on AWS"),
            }
        })
    }

    fn has_reached(&self, edge: &Edge) -> bool {
        if let Some(observation) = self.observations.get(&edge.to) {
            observation.reached >= edge.production
        } else {
            let desired = &self.evaluation.node(edge.to).desired;
            desired.is_known() && !is_carried_out(self.graph, self.catalog, edge.to, desired)
        }
    }
}

/// Whether a field, or one below it, belongs to a step.
fn belongs_to(description: Option<&KindDescription>, field: &str, step: Step) -> bool {
    let Some(description) = description else { return true };
    let below = |special: &&crate::graph::catalog::Field| path::covers(field, special.path);
    description.field(field).step == step || description.fields.iter().filter(below).any(|special| special.step == step)
}
