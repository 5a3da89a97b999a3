//! Values whose leaves may be unknown.

use super::expression::Segment;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A JSON value whose leaves may be unknown.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// A value that holds nothing unknown: a scalar, or a whole subtree.
    Known(Value),
    /// A value that is not known yet.
    Unknown(Unknown),
    /// A list with something unknown in it.
    Sequence(Vec<Tree>),
    /// A mapping with something unknown in it.
    Mapping(IndexMap<String, Tree>),
}

/// A value that is not known yet, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unknown {
    /// The expression that would give it.
    pub expression: String,
    /// What it waits for, for people: `vpc.status.vpcID`, or `EksCluster/x/vpc is ready`.
    pub waits_for: String,
}

impl Tree {
    /// Whether nothing in it is unknown.
    pub fn is_known(&self) -> bool {
        matches!(self, Self::Known(_))
    }

    /// The value, if nothing in it is unknown.
    pub fn known(&self) -> Option<&Value> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }

    /// Everything that is unknown in it, with its path (`spec.routes[0].natGatewayID`).
    pub fn unknowns(&self) -> Vec<(String, &Unknown)> {
        todo!()
    }

    /// The subtree at a path; an unknown on the way answers for everything below it.
    pub fn at(&self, _path: &[Segment]) -> Option<std::borrow::Cow<'_, Tree>> {
        todo!()
    }

    /// The value with unknown leaves left out of mappings and lists: what is known so far.
    pub fn known_part(&self) -> Value {
        todo!()
    }

    /// Builds a mapping; it is `Known` when all of its parts are.
    pub fn mapping(_entries: IndexMap<String, Tree>) -> Self {
        todo!()
    }

    /// Builds a list; it is `Known` when all of its parts are.
    pub fn sequence(_items: Vec<Tree>) -> Self {
        todo!()
    }
}
