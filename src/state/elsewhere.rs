//! What other states of the store record. An object belongs to one state.

use super::error::StateError;
use super::file::{InstanceKey, Record, StateFile};
use super::session::{keys, read_key};
use super::store::Store;
use futures::StreamExt as _;
use std::collections::BTreeSet;

/// How many states are read at a time. Each is dropped as soon as it was looked at.
const READS: usize = 4;

/// What AWS knows a recorded object by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Object<'a> {
    kind: &'a str,
    account: &'a str,
    region: &'a str,
    id: &'a str,
}

impl<'a> Object<'a> {
    fn of(record: &'a Record) -> Self {
        let identity = &record.identity;
        // IAM knows no regions.
        let region = if identity.kind == "Role" { "" } else { &identity.region };
        Self { kind: &identity.kind, account: &identity.account, region, id: &record.id }
    }
}

fn objects(state: &StateFile) -> BTreeSet<Object<'_>> {
    state.resources.iter().map(Object::of).collect()
}

/// Hands every state of a store but that of an instance to `visit`, a few in memory at a time. One that cannot be read is passed
/// over: it says so wherever it is used. Errors: those of listing, and of `visit`.
pub async fn visit_others(
    store: &dyn Store,
    instance: &InstanceKey,
    mut visit: impl FnMut(StateFile) -> Result<(), StateError>,
) -> Result<(), StateError> {
    let own = instance.store_key();
    let others: Vec<String> = keys(store).await?.into_iter().filter(|key| *key != own).collect();
    let mut reads = futures::stream::iter(others.iter().map(|key| read_key(store, key))).buffered(READS);
    while let Some(read) = reads.next().await {
        match read {
            Ok(Some(state)) => visit(state)?,
            Ok(None) => {}
            Err(error) => tracing::debug!(%error, "a state is not compared"),
        }
    }
    Ok(())
}

/// Refuses what another state of the store records too. Error [`StateError::RecordedTwice`].
pub async fn check(store: &dyn Store, state: &StateFile) -> Result<(), StateError> {
    visit_others(store, &state.instance, |other| check_two(state, &other)).await
}

/// Refuses what both of two states record. Error [`StateError::RecordedTwice`].
pub fn check_two(state: &StateFile, other: &StateFile) -> Result<(), StateError> {
    let theirs = objects(other);
    let mut shared = state.resources.iter().filter(|record| theirs.contains(&Object::of(record)));
    let Some(first) = shared.next() else { return Ok(()) };
    Err(StateError::RecordedTwice {
        instance: state.instance.to_string(),
        other: other.instance.to_string(),
        count: 1 + shared.count(),
        first: format!("{} {}", first.identity.kind, first.id),
        way_out: way_out(state, other),
    })
}

/// Whether two states are one that was copied, or whose move to another name broke off: one lineage, and the same objects.
pub fn are_one(state: &StateFile, other: &StateFile) -> bool {
    state.lineage == other.lineage && objects(state) == objects(other)
}

fn way_out(state: &StateFile, other: &StateFile) -> String {
    let (here, there) = (&state.instance, &other.instance);
    if are_one(state, other) && here.kind == there.kind {
        return format!(
            "a `state mv` broke off, or the state was copied: `{}` goes on with it, or `{}` if they are to be there",
            move_command(there, here),
            move_command(here, there)
        );
    }
    "`fleetctl state rm ADDRESS` lets go of them in the state that should not have them".to_owned()
}

/// How the state of an instance is given another name.
pub fn move_command(from: &InstanceKey, to: &InstanceKey) -> String {
    let namespace = if from.namespace == to.namespace { String::new() } else { format!(" --to-namespace {}", to.namespace) };
    format!("fleetctl state mv {}/{} {}/{} -n {}{namespace}", from.kind, from.name, to.kind, to.name, from.namespace)
}
