//! What a plan may not do under something that lives.

use super::{Decision, Leaf};
use crate::graph::expansion::Edge;
use crate::graph::identity::Address;
use crate::graph::tree::Tree;
use crate::kinds::compare;
use crate::kinds::kind::{Changeability, FieldChange, Observed};
use serde_json::{Map, Value};

/// Stands for what is not known yet: no id, ARN, name or CIDR block looks like it.
const UNKNOWN: &str = "(not known yet)";

/// Why a gateway stays in its network.
const CUT_OFF: &str = "the network that the gateway is attached to now would be cut off";

/// The first field of a live object that would get its value from an object that is yet to be made, although such a field
/// of a live object cannot be changed, or takes it out of its network. The change, and what is to be made.
///
/// Only what is neither recorded nor there counts as yet to be made: what was removed outside of fleetctl and is made again
/// stands where it stood.
pub(super) fn moved_onto_new<'a>(
    decision: &'a Decision<'_>,
    observed: &Observed,
    applied: Option<&Value>,
    unknown: &[(String, Leaf<'_>)],
) -> Option<(FieldChange, &'a Address)> {
    if unknown.is_empty() || decision.new_sources.is_empty() {
        return None;
    }
    let desired = filled(decision.desired);
    let changes = decision.kind.compare(&decision.seen.subject, &desired, observed, applied);
    let kind = decision.seen.subject.identity.kind.as_str();
    changes.into_iter().filter_map(|change| stays_put(kind, change)).find_map(|change| {
        let is_unknown = unknown.iter().any(|(path, _)| compare::undecided(&change.path, path));
        let reads = |(edge, _): &&(&Edge, &'a Address)| compare::undecided(&change.path, &edge.field);
        let source = decision.new_sources.iter().filter(|_| is_unknown).find(reads)?;
        Some((change, source.1))
    })
}

/// A change by which an object would have to leave its place. AWS attaches a gateway to another network if it is asked to: the
/// one that it leaves is cut off.
fn stays_put(kind: &str, change: FieldChange) -> Option<FieldChange> {
    let leaves_network = kind == "InternetGateway" && change.path == "spec.vpc" && !change.before.is_null();
    match change.changeability {
        Changeability::InPlace if leaves_network => Some(FieldChange { reason: Some(CUT_OFF), ..change }),
        Changeability::InPlace => None,
        Changeability::Replacement | Changeability::Follows | Changeability::NotCarriedOut => Some(change),
    }
}

/// The object with a text in the place of each unknown leaf.
fn filled(tree: &Tree) -> Value {
    match tree {
        Tree::Known(value) => value.clone(),
        Tree::Unknown(_) => Value::String(UNKNOWN.to_owned()),
        Tree::Sequence(items) => Value::Array(items.iter().map(filled).collect()),
        Tree::Mapping(entries) => {
            Value::Object(entries.iter().map(|(key, entry)| (key.clone(), filled(entry))).collect::<Map<_, _>>())
        }
    }
}

/// Why the change is refused, and the way out.
pub(super) fn why_not_moved(change: &FieldChange, source: &Address) -> String {
    let why = change.reason.unwrap_or("it cannot be changed in place");
    format!(
        "{}: it would come from {source}, which is yet to be made, under an object that lives: {why}; take the change back, or \
         destroy and apply anew",
        change.path
    )
}
