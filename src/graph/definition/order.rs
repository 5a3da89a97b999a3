//! Order of anything that depends on one another: kro.md 4.2. Things are numbered in the order they were declared.

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What could not be ordered: the cycles, each with its members in a loop (`a` needs `b` needs `a`).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unordered {
    /// The cycles.
    pub(crate) cycles: Vec<Vec<usize>>,
}

/// Kahn's algorithm: of all that are ready, always the one that was declared first. `needs[i]` are the indices that `i`
/// depends on.
pub(crate) fn topological(needs: &[Vec<usize>]) -> Result<Vec<usize>, Unordered> {
    let mut waiting: Vec<usize> = needs.iter().map(Vec::len).collect();
    let needed_by = reverse(needs);
    let mut ready: BinaryHeap<Reverse<usize>> = (0..needs.len()).filter(|i| waiting[*i] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(needs.len());
    while let Some(Reverse(next)) = ready.pop() {
        order.push(next);
        for dependent in &needed_by[next] {
            waiting[*dependent] -= 1;
            if waiting[*dependent] == 0 {
                ready.push(Reverse(*dependent));
            }
        }
    }
    if order.len() == needs.len() { Ok(order) } else { Err(Unordered { cycles: cycles(needs) }) }
}

/// Layers for deletion, first deleted first: what nothing left depends on, again and again. Members of cycles are left
/// out.
pub(crate) fn delete_layers(needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut dependents: Vec<usize> = reverse(needs).iter().map(Vec::len).collect();
    let mut layers = Vec::new();
    let mut layer: Vec<usize> = (0..needs.len()).filter(|i| dependents[*i] == 0).collect();
    while !layer.is_empty() {
        let mut next = Vec::new();
        for needed in layer.iter().flat_map(|member| &needs[*member]) {
            dependents[*needed] -= 1;
            if dependents[*needed] == 0 {
                next.push(*needed);
            }
        }
        next.sort_unstable();
        layers.push(std::mem::replace(&mut layer, next));
    }
    layers
}

/// For each the indices that depend on it.
fn reverse(needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut needed_by = vec![Vec::new(); needs.len()];
    for (dependent, needed) in needs.iter().enumerate() {
        for index in needed {
            needed_by[*index].push(dependent);
        }
    }
    needed_by
}

/// Every strongly connected component of more than one member, or with an edge to itself, walked as a loop where it is
/// one.
fn cycles(needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut graph: DiGraph<(), ()> = DiGraph::new();
    let nodes: Vec<_> = needs.iter().map(|_| graph.add_node(())).collect();
    for (from, targets) in needs.iter().enumerate() {
        for to in targets {
            graph.update_edge(nodes[from], nodes[*to], ());
        }
    }
    let mut found: Vec<Vec<usize>> = tarjan_scc(&graph)
        .into_iter()
        .map(|component| component.into_iter().map(petgraph::graph::NodeIndex::index).collect::<Vec<_>>())
        .filter(|members| members.len() > 1 || needs[members[0]].contains(&members[0]))
        .map(|members| walk(needs, &members))
        .collect();
    found.sort();
    found
}

/// The members of a component in the order in which they need one another, from the one declared first; members that the
/// walk does not meet come last.
fn walk(needs: &[Vec<usize>], members: &[usize]) -> Vec<usize> {
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    let mut loop_ = vec![sorted[0]];
    let mut current = sorted[0];
    while let Some(next) = needs[current].iter().find(|index| sorted.contains(index) && !loop_.contains(index)) {
        loop_.push(*next);
        current = *next;
    }
    let rest: Vec<usize> = sorted.into_iter().filter(|index| !loop_.contains(index)).collect();
    loop_.extend(rest);
    loop_
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn author_order_is_kept_where_it_can_be() {
        // C needs D.
        let needs = vec![vec![], vec![], vec![3], vec![], vec![], vec![]];
        assert_eq!(topological(&needs), Ok(vec![0, 1, 3, 2, 4, 5]));
        assert_eq!(delete_layers(&needs), [vec![0, 1, 2, 4, 5], vec![3]]);
    }

    #[test]
    fn cycles_are_named_with_all_their_members() {
        let needs = vec![vec![2], vec![], vec![3], vec![0], vec![4]];
        assert_eq!(topological(&needs), Err(Unordered { cycles: vec![vec![0, 2, 3], vec![4]] }));
    }
}
