//! The longest remaining path of each resource: its own usual wait, and the longest of what needs it.

use super::node::Node;
use crate::engine::context::{Context, Usually};
use crate::graph::catalog::Production;
use crate::graph::expansion::{Graph, NodeIndex};
use std::collections::BTreeMap;
use std::time::Duration;

/// Stands for the calls of one step, so that of two paths without waits the longer one still counts for more.
pub(super) const CALL: Duration = Duration::from_millis(200);

/// Gives every node its priority. A dependent that asks only for `created` does not wait for readiness.
pub(super) fn assign(graph: &Graph, context: &Context, nodes: &mut BTreeMap<NodeIndex, Node>) {
    let mut remaining: BTreeMap<NodeIndex, Duration> = BTreeMap::new();
    for index in graph.order.iter().rev() {
        let wait = nodes.get(index).map_or(Duration::ZERO, |node| context.usually(&node.item, Usually::Create));
        let after = |edge: &crate::graph::expansion::Edge| {
            let path = remaining.get(&edge.from).copied().unwrap_or_default();
            if edge.production == Production::Ready { wait + path } else { path }
        };
        let longest = graph.edges.iter().filter(|edge| edge.to == *index).map(after).max().unwrap_or_default();
        remaining.insert(*index, CALL + longest.max(wait));
    }
    for (index, node) in nodes {
        node.priority = remaining.get(index).copied().unwrap_or_default();
    }
}
