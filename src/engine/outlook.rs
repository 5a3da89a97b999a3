//! The outlook of a run: how far it is, and when it is expected to end. Said at the start and whenever it changes
//! noticeably, so that a reader of the events only has to count down.

use super::events::{Event, Events};
use crate::graph::identity::Address;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A change of the expected end that is smaller than this part of the time left is not worth saying.
const NOTICEABLE: f64 = 0.1;
/// Nor is one that is smaller than this.
const LEAST: Duration = Duration::from_secs(5);

/// Says how far the run of one instance is. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Outlook(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    instance: Option<Address>,
    before: Counts,
    said: Option<Said>,
}

#[derive(Debug)]
struct Said {
    counts: Counts,
    on: Option<Address>,
    end: Instant,
    measured: bool,
}

/// How many objects a run has to do with, and how many of these are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) objects: usize,
    pub(super) done: usize,
    pub(super) failed: usize,
}

/// When something is expected, seen from now, and what that hangs on.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Expected<N> {
    pub(super) left: Duration,
    /// What has to come first: the object that is, or will be, under way.
    pub(super) on: Option<N>,
    /// The longest wait on the way there.
    longest: Duration,
    /// Whether it is known how long that one takes, or only what is typical of AWS.
    pub(super) measured: bool,
}

impl<N: Clone> Expected<N> {
    /// Now.
    pub(super) fn now() -> Self {
        Self { left: Duration::ZERO, on: None, longest: Duration::ZERO, measured: false }
    }

    /// So much later, because of this object.
    pub(super) fn and(&self, object: &N, takes: Duration, measured: bool) -> Self {
        let is_longest = takes > self.longest;
        Self {
            left: self.left + takes,
            on: self.on.clone().or_else(|| Some(object.clone())),
            longest: self.longest.max(takes),
            measured: if is_longest { measured } else { self.measured },
        }
    }

    /// The later of the two.
    pub(super) fn later(self, other: Self) -> Self {
        let hangs = self.on.is_none() && other.on.is_some() && other.left == self.left;
        if other.left > self.left || hangs { other } else { self }
    }

    /// The same of something else.
    pub(super) fn of<M>(self, name: impl FnOnce(N) -> M) -> Expected<M> {
        Expected { left: self.left, on: self.on.map(name), longest: self.longest, measured: self.measured }
    }
}

impl Outlook {
    /// The outlook of an instance.
    pub(super) fn of(instance: Address) -> Self {
        Self(Arc::new(Mutex::new(Inner { instance: Some(instance), ..Inner::default() })))
    }

    /// What was counted so far is over: counts that are said from now on come on top.
    pub(super) fn go_on_from(&self, before: Counts) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).before = before;
    }

    /// Says it, if it differs from what was said before.
    pub(super) fn say(&self, events: &Events, counts: Counts, expected: Expected<Address>) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(instance) = inner.instance.clone() else { return };
        let before = inner.before;
        let counts = Counts {
            objects: counts.objects + before.objects,
            done: counts.done + before.done,
            failed: counts.failed + before.failed,
        };
        let now = Instant::now();
        let said = Said { counts, on: expected.on.clone(), end: now + expected.left, measured: expected.measured };
        if inner.said.as_ref().is_some_and(|before| before.is_near(&said, now)) {
            return;
        }
        inner.said = Some(said);
        events.say(Event::Progress {
            instance,
            objects: counts.objects,
            done: counts.done,
            failed: counts.failed,
            seconds_left: expected.left.as_secs_f64(),
            measured: expected.measured,
            waits_for: expected.on,
        });
    }
}

impl Said {
    /// Whether another one says nothing new.
    fn is_near(&self, other: &Self, now: Instant) -> bool {
        let moved = other.end.saturating_duration_since(self.end).max(self.end.saturating_duration_since(other.end));
        let noticeable = other.end.saturating_duration_since(now).mul_f64(NOTICEABLE).max(LEAST);
        self.counts == other.counts && self.on == other.on && self.measured == other.measured && moved < noticeable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(outlook: &Outlook, said: &[(usize, f64)]) -> usize {
        let heard = Arc::new(Mutex::new(0));
        let count = heard.clone();
        let events = Events::to(move |_| *count.lock().unwrap() += 1);
        for (done, seconds) in said {
            let counts = Counts { objects: 3, done: *done, failed: 0 };
            let expected = Expected { left: Duration::from_secs_f64(*seconds), ..Expected::now() };
            outlook.say(&events, counts, expected);
        }
        *heard.lock().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_changes_noticeably_is_said() {
        let outlook = || Outlook::of(Address::root("EksCluster", "one"));
        assert_eq!(heard(&outlook(), &[(0, 600.0), (0, 599.0), (0, 590.0)]), 1);
        assert_eq!(heard(&outlook(), &[(0, 600.0), (0, 400.0), (1, 400.0)]), 3);
    }

    #[test]
    fn the_later_one_says_what_it_hangs_on() {
        let vpc = Expected::now().and(&"vpc", Duration::from_secs(2), false);
        let nat = vpc.and(&"nat", Duration::from_secs(100), true);
        let cluster = Expected::now().and(&"cluster", Duration::from_mins(1), false);
        let end = nat.clone().later(cluster);
        assert_eq!((end.left.as_secs(), end.on, end.measured), (102, Some("vpc"), true));
    }
}
