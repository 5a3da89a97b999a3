//! Resolving begin entries that have no end: calls whose reply was lost, in this run or in one that was killed.
//!
//! A create is looked for, by tags or by name, until it shows or until its absence counts. A change may be repeated, so its
//! entry is closed and the object is compared (or read) again. So may a delete; the record says from then on that the
//! object is going: AWS may show for a while what is gone.

use super::context::{Context, Item, Trouble};
use super::events::Event;
use crate::kinds::kind::{Observed, Owner, Readiness};
use crate::state::file::{Begin, Phase, Record, Verb};
use crate::state::journal::Outcome;
use chrono::{DateTime, Utc};
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// Pause between looks.
const PAUSE: Duration = Duration::from_millis(500);

/// Resolves one entry. For a create that was carried out, the record that is now in the journal, and the object.
pub(super) async fn resolve(context: &Context, item: &Item, begin: &Begin) -> Result<Option<(Record, Observed)>, Trouble> {
    let found = match begin.verb {
        Verb::Create => find(context, item, begin).await?,
        Verb::Change | Verb::Delete => None,
    };
    let outcome = if found.is_some() { Outcome::FoundDone } else { Outcome::FoundUndone };
    let record = found.as_ref().map(|observed| record_of(begin, observed, context.wall.now()));
    let going = if begin.verb == Verb::Delete { going(context, begin) } else { None };
    context.journal.end(begin.entry, outcome, record.clone().or(going)).await?;
    context.events.say(Event::Resolved {
        address: begin.address.clone(),
        operation: begin.operation.clone(),
        carried_out: (begin.verb == Verb::Create).then_some(found.is_some()),
    });
    Ok(record.zip(found))
}

/// Resolves every entry of one object that the journal has open.
pub(super) async fn resolve_open(context: &Context, item: &Item) -> Result<Option<(Record, Observed)>, Trouble> {
    let mut made = None;
    for begin in context.journal.snapshot().open {
        if begin.identity == item.subject.identity {
            made = resolve(context, item, &begin).await?.or(made);
        }
    }
    Ok(made)
}

/// The record of an object whose delete call was begun.
fn going(context: &Context, begin: &Begin) -> Option<Record> {
    let record = context.journal.view(|state| state.record(&begin.identity).cloned())?;
    let is_it = begin.id.as_ref() == Some(&record.id) && record.phase != Phase::Deleting;
    is_it.then_some(Record { phase: Phase::Deleting, since: begin.at, wait: None, ..record })
}

async fn find(context: &Context, item: &Item, begin: &Begin) -> Result<Option<Observed>, Trouble> {
    let desired = begin.applied.clone().unwrap_or(Value::Null);
    let mut said = false;
    // The call may have been made long after its begin entry: it waited for the rate limit, or for a slow network. It was
    // certainly made before now, since whoever made it has given up or is dead.
    let since = Instant::now();
    loop {
        // An answer may be slow: what it says was true when it was asked for.
        let left = context.window.checked_sub(since.elapsed()).filter(|left| !left.is_zero());
        let observed = item.kind.find(&item.cloud.readers, &item.subject, &desired).await?;
        if let Some(observed) = observed.filter(|observed| is_what_we_made(item, observed)) {
            return Ok(Some(observed));
        }
        let Some(left) = left else { return Ok(None) };
        if context.stop.requested() {
            return Err(Trouble::Stopped);
        }
        if !said {
            said = true;
            context.events.say(Event::Resolving {
                address: begin.address.clone(),
                operation: begin.operation.clone(),
                seconds_left: left.as_secs(),
            });
        }
        tokio::time::sleep(left.min(PAUSE)).await;
    }
}

/// Only what carries our lineage was made by this call; something that is on its way out was made by an earlier one.
fn is_what_we_made(item: &Item, observed: &Observed) -> bool {
    observed.owner(&item.subject.marks) == Owner::Ours && observed.readiness != Readiness::Deleting
}

/// The record of an object that a call of which the reply was lost has made.
fn record_of(begin: &Begin, observed: &Observed, now: DateTime<Utc>) -> Record {
    Record {
        identity: begin.identity.clone(),
        address: begin.address.clone(),
        role: begin.role.clone(),
        id: observed.id.clone(),
        phase: Phase::Created,
        applied: begin.applied.clone().unwrap_or(Value::Null),
        status: observed.status.clone(),
        dependencies: begin.dependencies.clone(),
        adopted: false,
        since: now,
        created_at: now,
        wait: None,
    }
}
