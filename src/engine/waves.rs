//! The waves in which an instance is destroyed, for people: what AWS takes away with something else goes in its wave.

use super::work::Work;
use crate::graph::definition::delete_layers;
use crate::graph::expansion::NodeIndex;
use crate::kinds::catalog;
use crate::kinds::compare::at;
use crate::kinds::kind::Kind;
use serde_json::Value;
use std::collections::BTreeMap;

/// Objects by what takes them away with it.
type Carriers = BTreeMap<NodeIndex, NodeIndex>;

/// Resources in waves: a wave goes when the one before it is gone. See [`super::removal::Order`], which has the same rules
/// for what is recorded.
pub fn delete_waves(work: &Work) -> Vec<Vec<NodeIndex>> {
    let carriers = carriers(work);
    let goes_as = |index: NodeIndex| carriers.get(&index).copied().unwrap_or(index);
    let alone: Vec<NodeIndex> =
        work.graph.resources().map(|(index, _)| index).filter(|index| !carriers.contains_key(index)).collect();
    let position = |index: NodeIndex| alone.binary_search(&goes_as(index)).ok();
    let mut needs = vec![Vec::new(); alone.len()];
    for edge in &work.graph.edges {
        if let (Some(from), Some(to)) = (position(edge.from), position(edge.to))
            && from != to
            && !needs[from].contains(&to)
        {
            needs[from].push(to);
        }
    }
    let with_carried = |carrier: NodeIndex| {
        let carried = carriers.iter().filter(|(_, of)| **of == carrier).map(|(carried, _)| *carried);
        std::iter::once(carrier).chain(carried).collect::<Vec<_>>()
    };
    let layers = delete_layers(&needs).into_iter();
    layers.map(|wave| wave.into_iter().flat_map(|at| with_carried(alone[at])).collect()).collect()
}

fn carriers(work: &Work) -> Carriers {
    let mut carriers: Carriers = work.graph.resources().filter_map(|(index, _)| Some((index, carrier(work, index)?))).collect();
    // What stands between the two has to be gone after the one and before the other: then each goes by itself.
    let apart = |carriers: &Carriers| {
        let found = carriers.iter().find(|(carried, carrier)| are_apart(work, **carried, **carrier, carriers));
        found.map(|(carried, _)| *carried)
    };
    while let Some(carried) = apart(&carriers) {
        carriers.remove(&carried);
    }
    carriers
}

/// The object that takes this one away with it.
fn carrier(work: &Work, index: NodeIndex) -> Option<NodeIndex> {
    let node = work.graph.node(index);
    let with = catalog::kind(&node.api_version, &node.kind).and_then(Kind::goes_with)?;
    let desired = |index: NodeIndex| work.blank.node(index).desired.known_part();
    let own = desired(index);
    let name = at(&own, with.path).as_str()?;
    let target = |index: NodeIndex| work.place(index).map(|place| (&place.identity.account, &place.identity.region));
    let is_carrier = |other: NodeIndex| {
        target(other).is_some()
            && target(other) == target(index)
            && at(&desired(other), "spec.name") == &Value::String(name.to_owned())
    };
    let mut others = work.graph.resources().filter(|(_, other)| other.kind == with.kind).map(|(other, _)| other);
    others.find(|other| is_carrier(*other))
}

/// Whether something stands between a carried object and its carrier.
fn are_apart(work: &Work, inner: NodeIndex, carrier: NodeIndex, carriers: &Carriers) -> bool {
    let needs_carrier = work.graph.needed_by(carrier);
    let mut targets = work.graph.edges_from(inner).map(|edge| edge.to);
    targets.any(|to| to != carrier && carriers.get(&to) != Some(&carrier) && needs_carrier.contains(&to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::planner::tests::Scene;

    #[test]
    fn what_goes_with_a_cluster_is_in_its_wave() {
        let work = Scene::with_cluster().work;
        let waves = delete_waves(&work);
        let named =
            |wave: &Vec<NodeIndex>| wave.iter().map(|index| work.graph.node(*index).id.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!(waves.iter().map(named).collect::<Vec<_>>(), ["registration", "cluster addon"]);
    }
}
