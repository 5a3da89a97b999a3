//! Numbers and times that no state reaches: whoever finds one finds damage, and nothing that is added to the others overflows.

use super::file::{Begin, Record, StateFile};
use super::journal::Entry;
use chrono::{DateTime, Datelike as _, Utc};

/// The largest serial, segment or entry that is read.
const LARGEST: u64 = (1 << 53) - 1;
/// The largest that is taken from outside, so that there is room to go on from it.
pub(super) const LARGEST_TAKEN: u64 = 1 << 52;
/// The longest wait that is remembered, in seconds: some thirty years.
const LONGEST: f64 = 1e9;

/// Says what of a state cannot be.
pub(super) fn check_file(state: &StateFile) -> Result<(), String> {
    check_up_to(state, LARGEST)
}

/// The same for a state that somebody may have edited.
pub(super) fn check_taken(state: &StateFile) -> Result<(), String> {
    check_up_to(state, LARGEST_TAKEN)
}

fn check_up_to(state: &StateFile, largest: u64) -> Result<(), String> {
    number("serial", state.serial, largest)?;
    number("foldedSegment", state.folded_segment, largest)?;
    number("lastEntry", state.last_entry, largest)?;
    state.resources.iter().try_for_each(record)?;
    if let Some(open) = state.open.iter().find(|open| open.entry > state.last_entry) {
        return Err(format!("entry {} is open, but lastEntry is {}", open.entry, state.last_entry));
    }
    state.open.iter().try_for_each(begin)?;
    state.durations.iter().try_for_each(|(what, seconds)| duration(what, *seconds))
}

/// Says what of an entry cannot be.
pub(super) fn check_entry(entry: &Entry) -> Result<(), String> {
    match entry {
        Entry::Begin(entry) => {
            number("entry", entry.entry, LARGEST)?;
            begin(entry)
        }
        Entry::End { record: Some(content), .. } | Entry::Put { record: content } => record(content),
        Entry::Duration { what, seconds } => duration(what, *seconds),
        Entry::End { record: None, .. } | Entry::Forget { .. } | Entry::Definitions { .. } => Ok(()),
    }
}

fn record(record: &Record) -> Result<(), String> {
    time("since", record.since)?;
    time("createdAt", record.created_at)?;
    record.wait.as_ref().map_or(Ok(()), |wait| time("wait.since", wait.since))
}

fn begin(begin: &Begin) -> Result<(), String> {
    time("at", begin.at)
}

fn number(field: &str, found: u64, largest: u64) -> Result<(), String> {
    if found <= largest { Ok(()) } else { Err(format!("{field} is {found}, which no state reaches")) }
}

fn time(field: &str, found: DateTime<Utc>) -> Result<(), String> {
    if (1970..=9999).contains(&found.year()) { Ok(()) } else { Err(format!("{field} is {found}, which cannot be")) }
}

fn duration(what: &str, seconds: f64) -> Result<(), String> {
    let can_be = (0.0..=LONGEST).contains(&seconds);
    if can_be { Ok(()) } else { Err(format!("durations say that {what} takes {seconds} seconds, which cannot be")) }
}
