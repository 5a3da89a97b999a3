//! Work: one expanded instance, with the account, region and role of every resource.

use crate::graph::evaluation::Evaluation;
use crate::graph::expansion::{Graph, NodeIndex};
use crate::graph::identity::Identity;
use crate::state::file::{DefinitionsUsed, InstanceKey, RoleUsed};
use std::collections::BTreeMap;

/// One top-level instance, ready to be planned.
#[derive(Debug, Clone)]
pub struct Work {
    /// The expanded instance.
    pub graph: Graph,
    /// By node: where a resource goes. `None` for virtual nodes, excluded ones, and resources that are left out.
    pub places: Vec<Option<Place>>,
    /// Resources of kinds that fleetctl carries out but that settings leave out, and why.
    pub left_out: BTreeMap<NodeIndex, String>,
    /// The definitions used.
    pub definitions: DefinitionsUsed,
    /// What evaluation says with nothing observed.
    pub blank: Evaluation,
}

/// Where a resource goes, and who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The key.
    pub identity: Identity,
    /// The role that reaches its account; `None` for the caller's own credentials.
    pub role: Option<RoleUsed>,
    /// Where that comes from, for people.
    pub because: String,
}

impl Work {
    /// The key of the instance's state.
    pub fn key(&self) -> InstanceKey {
        let instance = &self.graph.instance;
        InstanceKey {
            api_version: instance.api_version.clone(),
            kind: instance.kind.clone(),
            namespace: instance.namespace.clone(),
            name: instance.name.clone(),
        }
    }

    /// Where a resource goes.
    pub fn place(&self, index: NodeIndex) -> Option<&Place> {
        self.places.get(index.0).and_then(Option::as_ref)
    }
}
