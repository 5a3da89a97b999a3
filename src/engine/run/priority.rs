//! The longest remaining path of each resource, from each of its steps on: its own usual wait, and the longest of what
//! needs it. A subnet that gets its route table late does not make its cluster wait for that.

use super::node::{Node, Stage};
use crate::engine::context::{Context, Usually};
use crate::graph::catalog::{Production, Step};
use crate::graph::expansion::{Edge, Graph, NodeIndex};
use std::collections::BTreeMap;
use std::time::Duration;

/// Stands for the calls of one step, so that of two paths without waits the longer one still counts for more.
pub(super) const CALL: Duration = Duration::from_millis(200);

/// The longest remaining path, by where the resource stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Paths {
    create: Duration,
    configure: Duration,
    wait: Duration,
}

impl Paths {
    /// What usually still has to be waited for from a stage on; nothing if the resource goes no further.
    pub(super) fn after(&self, stage: &Stage) -> Duration {
        match stage {
            Stage::Doomed | Stage::Carried | Stage::Absent => self.create,
            Stage::Present | Stage::Busy => self.configure,
            Stage::Configured | Stage::Waiting => self.wait,
            Stage::Ready | Stage::Failed(_) | Stage::Unreachable(_) | Stage::Stopped => Duration::ZERO,
        }
    }

    fn after_step(&self, step: Step) -> Duration {
        match step {
            Step::Create => self.create,
            Step::Configure => self.configure,
        }
    }
}

/// Gives every node its paths.
pub(super) fn assign(graph: &Graph, context: &Context, nodes: &mut BTreeMap<NodeIndex, Node>) {
    let usual = |index: &NodeIndex| nodes.get(index).map_or(Duration::ZERO, |node| context.usually(&node.item, Usually::Create));
    let paths = paths(&graph.order, &graph.edges, usual);
    for (index, node) in nodes {
        node.paths = paths.get(index).copied().unwrap_or_default();
    }
}

/// `order` has what is needed before what needs it.
fn paths(order: &[NodeIndex], edges: &[Edge], usual: impl Fn(&NodeIndex) -> Duration) -> BTreeMap<NodeIndex, Paths> {
    let mut paths: BTreeMap<NodeIndex, Paths> = BTreeMap::new();
    for index in order.iter().rev() {
        let after = |production: Production| {
            let those = edges.iter().filter(|edge| edge.to == *index && edge.production == production);
            let path = |edge: &Edge| paths.get(&edge.from).copied().unwrap_or_default().after_step(edge.step);
            those.map(path).max().unwrap_or_default()
        };
        let wait = usual(index) + after(Production::Ready);
        let configure = CALL + after(Production::Configured).max(wait);
        let create = CALL + after(Production::Created).max(configure);
        paths.insert(*index, Paths { create, configure, wait });
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize, step: Step, production: Production) -> Edge {
        let (expression, field, reads) = (String::new(), String::new(), String::new());
        Edge { from: NodeIndex(from), to: NodeIndex(to), expression, field, reads, step, production, implied: false }
    }

    #[test]
    fn a_late_route_is_not_on_the_way_of_a_cluster() {
        // 0 gateway, 1 route table with a route through it, 2 subnet that gets the table late, 3 cluster in the subnet.
        let edges = [
            edge(1, 0, Step::Configure, Production::Ready),
            edge(2, 1, Step::Configure, Production::Created),
            edge(3, 2, Step::Create, Production::Created),
        ];
        let seconds = [100, 2, 2, 600].map(Duration::from_secs);
        let paths = paths(&[0, 1, 2, 3].map(NodeIndex), &edges, |index| seconds[index.0]);
        let of = |index| paths[&NodeIndex(index)];
        assert_eq!(of(3).wait, Duration::from_mins(10));
        assert_eq!(of(2).create, Duration::from_mins(10) + CALL * 3);
        assert_eq!(of(2).configure, Duration::from_secs(2) + CALL);
        assert_eq!(of(0).wait, Duration::from_secs(102) + CALL);
        assert_eq!(of(0).after(&Stage::Waiting), of(0).wait);
        assert_eq!(of(0).after(&Stage::Ready), Duration::ZERO);
    }
}
