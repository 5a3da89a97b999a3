//! Edges from the fields that are read: each runs from the real resource whose field reads to the real resource whose
//! field is read.

use super::trace::{Traced, trace};
use super::{Edge, Gate, Graph, NodeIndex};
use crate::graph::catalog::{Catalog, KindDescription, Production, Step};
use crate::graph::expression::Expression;
use crate::graph::path;
use crate::graph::template::Template;
use indexmap::IndexMap;
use std::collections::HashMap;

/// The field name of edges that a condition makes.
pub(super) const INCLUDE_WHEN: &str = "includeWhen";

/// Adds the edges and gates of every resource.
pub(super) fn add(graph: &mut Graph, catalog: &dyn Catalog) {
    let mut found = Found { graph, catalog, edges: Vec::new(), gates: Vec::new() };
    for (index, node) in graph.resources() {
        let Some(parent) = node.parent else { continue };
        for (field, expression) in node.template.iter().flat_map(Template::expressions) {
            let demands = demands(graph.describe(index, catalog), &field);
            found.expression(index, parent, (&field, expression), demands);
        }
        for member in graph.lineage(index) {
            let Some(scope) = graph.node(member).parent else { continue };
            for expression in &graph.node(member).include_when {
                found.expression(index, scope, (INCLUDE_WHEN, expression), (Step::Create, Production::Created));
            }
        }
    }
    let (edges, gates) = (found.edges, found.gates);
    graph.edges.extend(edges);
    graph.gates.extend(gates);
}

/// The step that a field belongs to and the production that it asks for. Of unknown kinds everything is needed first.
fn demands(description: Option<&KindDescription>, field: &str) -> (Step, Production) {
    description.map_or((Step::Create, Production::Created), |description| description.demands(field))
}

struct Found<'a> {
    graph: &'a Graph,
    catalog: &'a dyn Catalog,
    edges: Vec<Edge>,
    gates: Vec<Gate>,
}

impl Found<'_> {
    fn expression(
        &mut self,
        from: NodeIndex,
        scope: NodeIndex,
        (field, expression): (&str, &Expression),
        (step, asks): (Step, Production),
    ) {
        let Traced { sources, gates, .. } = trace(self.graph, scope, expression);
        for (to, read) in sources.into_iter().filter(|(to, _)| *to != from) {
            let reads = path::text(&read);
            let published = self.graph.describe(to, self.catalog).map_or(Production::Created, |kind| kind.published_at(&reads));
            self.edges.push(Edge {
                from,
                to,
                expression: expression.source.clone(),
                field: field.to_owned(),
                reads,
                step,
                production: published.max(asks),
                implied: false,
            });
        }
        for node in gates {
            self.gate(Gate { from, node, field: field.to_owned(), step });
        }
    }

    /// A gate opens when everything behind it exists: that makes edges too.
    fn gate(&mut self, gate: Gate) {
        let expression = format!("{}{}", self.graph.node(gate.node).id, super::GATE);
        for to in self.graph.resources_below(gate.node).into_iter().filter(|to| *to != gate.from) {
            self.edges.push(Edge {
                from: gate.from,
                to,
                expression: expression.clone(),
                field: gate.field.clone(),
                reads: String::new(),
                step: gate.step,
                production: Production::Created,
                implied: false,
            });
        }
        if !self.gates.contains(&gate) {
            self.gates.push(gate);
        }
    }
}

/// Makes one edge of those that say the same, and drops edges of gates where another edge of the same field leads to the
/// same resource. Sorted by the resource that needs, then by the one that is needed.
pub(super) fn merge(edges: &mut Vec<Edge>) {
    let mut merged: IndexMap<(NodeIndex, NodeIndex, bool, String, String, String), Edge> = IndexMap::new();
    for edge in edges.drain(..) {
        let words = (edge.field.clone(), edge.expression.clone(), edge.reads.clone());
        let known = merged.entry((edge.from, edge.to, edge.implied, words.0, words.1, words.2)).or_insert(edge.clone());
        known.step = known.step.min(edge.step);
        known.production = known.production.max(edge.production);
    }
    let mut direct: HashMap<(NodeIndex, NodeIndex, &str), Step> = HashMap::new();
    for edge in merged.values().filter(|edge| !is_gate(edge)) {
        let first = direct.entry((edge.from, edge.to, &edge.field)).or_insert(edge.step);
        *first = edge.step.min(*first);
    }
    let is_covered = |edge: &Edge| direct.get(&(edge.from, edge.to, &edge.field)).is_some_and(|step| *step <= edge.step);
    edges.extend(merged.values().filter(|edge| !is_gate(edge) || !is_covered(edge)).cloned());
    edges.sort_by_key(|edge| (edge.from, edge.to, edge.implied));
}

fn is_gate(edge: &Edge) -> bool {
    !edge.implied && edge.reads.is_empty()
}
