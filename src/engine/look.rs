//! Looking something up has three answers: present, absent, not visible yet.
//!
//! EC2 and IAM are eventually consistent: an object that was just made may be answered with NotFound. Absence counts only
//! when the visibility window after the create call has passed.

use super::stop::Stop;
use crate::aws::error::{CallError, ErrorClass};
use crate::kinds::kind::{Kind, Observed, Readers, Subject};
use crate::state::file::Record;
use chrono::{DateTime, Utc};
use std::time::Duration;

/// Pause between looks at something that is not visible yet.
const PAUSE: Duration = Duration::from_millis(500);

/// The answer of a look.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Presence {
    /// It is there.
    Present(Box<Observed>),
    /// It is not there, and that counts.
    Absent,
    /// AWS does not show it, but it may still be there: absence counts in so long.
    NotVisibleYet(Duration),
}

/// What an absent object means, given when its create call was made.
pub(super) fn judge(observed: Option<Observed>, made_at: DateTime<Utc>, window: Duration, now: DateTime<Utc>) -> Presence {
    let Some(observed) = observed else {
        return match time_left(made_at, window, now) {
            Some(left) => Presence::NotVisibleYet(left),
            None => Presence::Absent,
        };
    };
    Presence::Present(Box::new(observed))
}

/// How long it takes until absence counts; `None` when it counts already.
pub(super) fn time_left(made_at: DateTime<Utc>, window: Duration, now: DateTime<Utc>) -> Option<Duration> {
    let age = (now - made_at).to_std().unwrap_or(Duration::ZERO);
    window.checked_sub(age).filter(|left| !left.is_zero())
}

/// Whether a failed read says nothing about the object: a wait goes on after it.
pub(super) fn passes(error: &CallError) -> bool {
    matches!(error.class, ErrorClass::Unclear | ErrorClass::NotYet | ErrorClass::Throttled)
}

/// Reads a recorded object once.
pub(super) async fn look(
    kind: &dyn Kind,
    readers: &Readers,
    subject: &Subject,
    record: &Record,
    window: Duration,
) -> Result<Presence, CallError> {
    let observed = kind.read(readers, subject, record).await?;
    Ok(judge(observed, record.created_at, window, Utc::now()))
}

/// Reads a recorded object until it is there or its absence counts. `None` when it is absent, or when the wish to stop
/// came first.
pub(super) async fn look_until_sure(
    kind: &dyn Kind,
    readers: &Readers,
    subject: &Subject,
    record: &Record,
    window: Duration,
    stop: &Stop,
) -> Result<Option<Observed>, CallError> {
    loop {
        match look(kind, readers, subject, record, window).await? {
            Presence::Present(observed) => return Ok(Some(*observed)),
            Presence::Absent => return Ok(None),
            Presence::NotVisibleYet(_) if stop.requested() => return Ok(None),
            Presence::NotVisibleYet(left) => tokio::time::sleep(left.min(PAUSE)).await,
        }
    }
}
