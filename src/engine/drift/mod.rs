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

/// What is recorded where drift is looked for.
#[derive(Debug)]
pub(super) struct Recorded {
    /// The state of the instance.
    pub(super) state: Option<StateFile>,
    /// Who has its lock.
    pub(super) holding: Option<Holding>,
    /// Other instances have states there.
    pub(super) others: bool,
}

/// Looks at everything that an instance has made, and says what has drifted.
pub(super) async fn drift(viewer: &Viewer<'_>, work: &Work, recorded: &Recorded) -> Result<DriftReport, EngineError> {
    let started = Instant::now();
    let state = recorded.state.as_ref().filter(|state| is_used(state));
    let looked = viewer.look(work, state).await;
    let knows = state.map_or(Knows::Nothing, Knows::State);
    let mut verdict = judge(&Input { work, seen: &looked.seen, left: &looked.left, knows })?;
    let mut notes: Vec<String> = recorded.holding.iter().map(being_applied).collect();
    notes.extend(state.filter(|_| recorded.holding.is_none()).and_then(left_open));
    notes.extend(looked.notes);
    if state.is_none() && !verdict.nothing_is_there() {
        notes.push("nothing is recorded of it here; if its state is lost, `fleetctl state rebuild` makes it anew".to_owned());
    }
    if state.is_none() && recorded.others && verdict.nothing_is_there() {
        notes.push("nothing is recorded of it here and nothing of it was found: it was never applied".to_owned());
        verdict.never_applied();
    }
    Ok(DriftReport::new(work, verdict, state.is_some(), notes, started.elapsed()))
}

/// Calls that a run has begun and whose end nobody has seen.
fn left_open(state: &StateFile) -> Option<String> {
    let calls: Vec<String> = state.open.iter().map(|begin| format!("{} of {}", begin.operation, begin.address)).collect();
    (!calls.is_empty()).then(|| format!("an earlier run left calls open, which the next apply looks up: {}", calls.join(", ")))
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
