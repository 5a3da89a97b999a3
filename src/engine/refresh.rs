//! Refresh: reads what is there, before planning. It changes nothing.

use super::context::Item;
use super::look::{Patience, look_until_sure};
use super::planner::{Orphan, Seen, observations};
use super::removal::Doomed;
use super::report::EngineError;
use super::work::Work;
use crate::aws::error::CallError;
use crate::graph::evaluation::evaluate;
use crate::graph::expansion::NodeIndex;
use crate::kinds::catalog::KindCatalog;
use crate::kinds::kind::Subject;
use crate::state::file::Record;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::Value;
use std::collections::BTreeMap;

/// Most reads at one time.
const CONCURRENT: usize = 16;

/// A resource of the graph that is to be looked at.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The node.
    pub index: NodeIndex,
    /// The object, its kind, and the services that reach it.
    pub item: Item,
    /// What the state says.
    pub record: Option<Record>,
    /// The object as far as it is known without observing anything: names, and what `find` needs.
    pub desired: Value,
    /// Why it cannot be reached, if it cannot.
    pub unreachable: Option<String>,
    /// The lineage was made just now: nothing can carry it.
    pub never_used: bool,
}

/// Looks at every resource of the graph.
pub(super) async fn refresh(wanted: &[Wanted], patience: Patience<'_>) -> Result<BTreeMap<NodeIndex, Seen>, EngineError> {
    stream::iter(wanted)
        .map(|one| see(one, patience))
        .buffer_unordered(CONCURRENT)
        .map_err(EngineError::of_read)
        .try_collect()
        .await
}

async fn see(wanted: &Wanted, patience: Patience<'_>) -> Result<(NodeIndex, Seen), CallError> {
    let Item { kind, subject, cloud } = &wanted.item;
    let observed = match (&wanted.unreachable, &wanted.record) {
        (Some(_), _) => None,
        (None, Some(record)) => look_until_sure(&wanted.item, record, patience).await?,
        (None, None) => kind.find(&cloud.readers, &searched(wanted), &wanted.desired).await?,
    };
    let seen =
        Seen { subject: subject.clone(), record: wanted.record.clone(), observed, unreachable: wanted.unreachable.clone() };
    Ok((wanted.index, seen))
}

/// Looks again for registrations that are not recorded, once the cluster that they are for is known: they are told by its
/// ARN, and until then by their name alone.
pub(super) async fn look_again(work: &Work, wanted: &[Wanted], seen: &mut BTreeMap<NodeIndex, Seen>) -> Result<(), EngineError> {
    let is_open = |one: &&Wanted| one.item.subject.identity.is_secret() && one.record.is_none() && one.unreachable.is_none();
    let open: Vec<&Wanted> = wanted.iter().filter(is_open).collect();
    if open.is_empty() {
        return Ok(());
    }
    let evaluation = evaluate(&work.graph, &observations(work, seen), &KindCatalog);
    for one in open {
        let desired = evaluation.node(one.index).desired.known_part();
        let server = "/stringData/server";
        if desired.pointer(server) == one.desired.pointer(server) {
            continue;
        }
        let Item { kind, cloud, .. } = &one.item;
        let found = kind.find(&cloud.readers, &searched(one), &desired).await.map_err(EngineError::of_read)?;
        if let Some(seen) = seen.get_mut(&one.index) {
            seen.observed = found;
        }
    }
    Ok(())
}

/// Kinds without names are found by their tags; an empty lineage tells them that there is nothing to search for.
fn searched(wanted: &Wanted) -> Subject {
    let mut subject = wanted.item.subject.clone();
    if wanted.never_used {
        subject.marks.lineage.clear();
    }
    subject
}

/// Looks at what is recorded and has left the graph.
pub(super) async fn refresh_orphans(doomed: &[Doomed], patience: Patience<'_>) -> Result<Vec<Orphan>, EngineError> {
    stream::iter(doomed)
        .map(|Doomed { item, record, unreachable }| async {
            let observed = match unreachable {
                Some(_) => None,
                None => look_until_sure(item, record, patience).await?,
            };
            Ok(Orphan { record: record.clone(), observed, unreachable: unreachable.clone() })
        })
        .buffered(CONCURRENT)
        .map_err(EngineError::of_read)
        .try_collect()
        .await
}
