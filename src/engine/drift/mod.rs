//! Drift: what AWS and Argo CD hold and nobody who uses fleetctl has asked for.
//!
//! [`sight`] looks, with readers and nothing else; [`judge`](judge::judge) is a pure function of documents, recorded and
//! observed; [`report`] is what it comes to. Three voices are compared: what the documents want now, what was applied last,
//! and what is there. Drift is what is there and was not applied. What was applied, is there, and is not what the documents
//! want by now is not drift but a change that waits to be applied.

pub(super) mod judge;
pub mod report;
pub mod sight;
#[cfg(test)]
mod tests;

use self::judge::{Input, Knows, judge};
use self::report::{DriftReport, Verdict};
use self::sight::Viewer;
use super::report::EngineError;
use super::work::Work;
use crate::graph::expansion::NodeIndex;
use crate::state::file::StateFile;
use crate::state::session::Holding;
use tokio::time::Instant;

/// Looks at everything that an instance has made, and says what has drifted. `holding` is who has the state's lock.
pub(super) async fn drift(
    viewer: &Viewer<'_>,
    work: &Work,
    state: Option<&StateFile>,
    holding: Option<Holding>,
) -> Result<DriftReport, EngineError> {
    let started = Instant::now();
    let state = state.filter(|state| is_used(state));
    let looked = viewer.look(work, state).await;
    let knows = state.map_or(Knows::Nothing, Knows::State);
    let verdict = judge(&Input { work, seen: &looked.seen, knows })?;
    let mut notes: Vec<String> = holding.iter().map(being_applied).collect();
    notes.extend(looked.notes);
    Ok(DriftReport::new(work, verdict, state.is_some(), notes, started.elapsed()))
}

/// Whether anything was ever done with a state. A lineage that was made just now says nothing of what is there.
pub(super) fn is_used(state: &StateFile) -> bool {
    state.last_entry > 0 || !state.resources.is_empty()
}

fn being_applied(holding: &Holding) -> String {
    let command = &holding.holder.command;
    let since = holding.since.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    let (pid, host) = (holding.holder.pid, &holding.holder.host);
    format!("the state is locked since {since} (process {pid} on {host}: {command}): what follows may be its doing")
}

impl DriftReport {
    pub(super) fn new(work: &Work, verdict: Verdict, recorded: bool, notes: Vec<String>, took: std::time::Duration) -> Self {
        let Verdict { findings, pending, unreadable, objects, .. } = verdict;
        Self {
            instance: work.graph.node(NodeIndex(0)).address.clone(),
            namespace: work.graph.instance.namespace.clone(),
            recorded,
            findings,
            pending,
            unreadable,
            notes,
            objects,
            seconds: took.as_secs_f64(),
        }
    }
}
