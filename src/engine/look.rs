//! Looking something up has three answers: present, absent, not visible yet.
//!
//! EC2 and IAM are eventually consistent: an object that was just made may be answered with NotFound, and one that is gone
//! may be shown for a while as it was. Absence counts only when the visibility window after the create call has passed;
//! that something is still there although its removal was begun counts only when the window after that has passed.

use super::clock::WallClock;
use super::events::{Event, Events};
use super::stop::Stop;
use crate::aws::error::{CallError, ErrorClass};
use crate::kinds::kind::{Kind, Observed, Readers, Readiness, Subject};
use crate::state::file::{Phase, Record};
use chrono::{DateTime, TimeDelta, Utc};
use std::time::Duration;
use tokio::time::Instant;

/// Pause between looks at something that is not visible yet.
const PAUSE: Duration = Duration::from_millis(500);

/// Clocks differ from machine to machine and are set now and then: what is younger than this by a clock may be younger than
/// the visibility window.
const CLOCKS_DIFFER: TimeDelta = TimeDelta::minutes(10);

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

/// How much a look is to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Everything: [`crate::kinds::kind::Kind::read`].
    Whole,
    /// How it comes up: [`crate::kinds::kind::Kind::watch`].
    Watch,
    /// Whether it is there and whose it is: [`crate::kinds::kind::Kind::glance`].
    Glance,
}

/// What is looked at, and through what. Nothing in here can change anything.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    /// What it is.
    pub(super) kind: &'static dyn Kind,
    /// What reaches it.
    pub(super) readers: &'a Readers,
    /// The object.
    pub(super) subject: &'a Subject,
}

/// Looks at a recorded object once.
pub(super) async fn look(view: View<'_>, record: &Record, patience: Patience<'_>, depth: Depth) -> Result<Presence, CallError> {
    // An answer may be slow: what it says was true when it was asked for.
    let asked = patience.clock.now();
    let View { kind, readers, subject } = view;
    let observed = match depth {
        Depth::Whole => kind.read(readers, subject, record),
        Depth::Watch => kind.watch(readers, subject, record),
        Depth::Glance => kind.glance(readers, subject, record),
    };
    // A delete call that was accepted has seen it: nothing is too new to be visible any more.
    let window = if record.phase == Phase::Deleting { Duration::ZERO } else { patience.window };
    Ok(judge(observed.await?, record.created_at, window, asked))
}

/// How a look goes on until its answer counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience<'a> {
    /// Absence of an object that was just made counts after this long.
    pub(super) window: Duration,
    /// The wish to stop.
    pub(super) stop: &'a Stop,
    /// Where it is said what is waited for.
    pub(super) events: &'a Events,
    /// What time it is.
    pub(super) clock: &'a WallClock,
}

impl Patience<'_> {
    /// How much of the window was left, when asking, to whoever has looked since `began`: time that no clock of another process,
    /// nor one that is set, can shorten or lengthen. An answer may be slow: what it says was true when it was asked for.
    fn left(&self, began: Instant, asked: Instant) -> Option<Duration> {
        self.window.checked_sub(asked - began).filter(|left| !left.is_zero())
    }

    /// What it means that a recorded object is not shown, if `left` of the window was left when it was asked for: the clock by
    /// which it was made may have been another one, ahead or behind.
    fn unless_clocks_differ(&self, record: &Record, left: Option<Duration>, presence: Presence) -> Presence {
        // What is being deleted was seen before.
        let is_old = record.phase == Phase::Deleting || self.clock.now() - record.created_at >= CLOCKS_DIFFER;
        match (presence, left) {
            (Presence::NotVisibleYet(_), None) => Presence::Absent,
            (Presence::NotVisibleYet(by_the_clock), Some(left)) => Presence::NotVisibleYet(by_the_clock.min(left)),
            (Presence::Absent, Some(left)) if !is_old => Presence::NotVisibleYet(left),
            (presence, _) => presence,
        }
    }

    /// How long an object has still to be looked at before it counts that it is there: its removal was begun, and what is
    /// gone is shown for a while. Whoever removes it need not know.
    fn may_be_gone(&self, record: &Record, observed: &Observed, depth: Depth, left: Option<Duration>) -> Option<Duration> {
        let was_begun = record.phase == Phase::Deleting && observed.readiness != Readiness::Deleting;
        let is_old = self.clock.now() - record.since >= CLOCKS_DIFFER;
        left.filter(|_| was_begun && !is_old && depth == Depth::Whole && !self.stop.requested())
    }
}

/// Reads a recorded object until its presence or its absence counts. `None` when it is absent, or when the wish to stop
/// came first.
pub(super) async fn look_until_sure(
    view: View<'_>,
    record: &Record,
    patience: Patience<'_>,
    depth: Depth,
) -> Result<Option<Observed>, CallError> {
    let View { subject, .. } = view;
    let (mut said, began) = (false, Instant::now());
    loop {
        let left = patience.left(began, Instant::now());
        let presence = look(view, record, patience, depth).await?;
        let (state, left) = match patience.unless_clocks_differ(record, left, presence) {
            Presence::Present(observed) => match patience.may_be_gone(record, &observed, depth, left) {
                Some(left) => ("still shown", left),
                None => return Ok(Some(*observed)),
            },
            Presence::Absent => return Ok(None),
            Presence::NotVisibleYet(_) if patience.stop.requested() => return Ok(None),
            Presence::NotVisibleYet(left) => ("not visible yet", left),
        };
        if !std::mem::replace(&mut said, true) {
            patience.events.say(Event::Waiting {
                address: subject.address.clone(),
                kind: subject.identity.kind.clone(),
                state: state.to_owned(),
                seconds: 0.0,
                usually_seconds: left.as_secs_f64(),
            });
        }
        tokio::time::sleep(left.min(PAUSE)).await;
    }
}
