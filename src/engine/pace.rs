//! How often to look at something that is on its way.
//!
//! What a look costs is a call; what a late look costs is time. While the end is far the pause is a few per cent of the
//! time already waited, so that a wait of any length is noticed after a few per cent of itself, whatever was expected of
//! it; around the usual time the share is smaller. No pause is shorter than about a second, unless the whole
//! wait usually takes a few. What others will be waiting for longer anyway is looked at more seldom.
//!
//! Kinds of which one call tells of many objects are looked at in step: their looks fall on ticks of one clock, so that
//! waits of the same pace share each call. All others get jitter, so that they spread.

use rand::RngExt as _;
use std::time::Duration;
use tokio::time::Instant;

const SHORTEST: Duration = Duration::from_millis(500);
const SHORT: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
const LONGEST_OVERDUE: Duration = Duration::from_secs(10);
/// Nothing is there before this part of its usual time.
const FIRST: f64 = 0.02;
const LONGEST_FIRST: Duration = Duration::from_secs(2);
/// Part of the time waited that the next pause is.
const SHARE: f64 = 0.05;
/// The same when the end is near.
const NEAR: f64 = 0.01;
/// Part of the usual time after which the end is near, and after which nobody knows any more.
const MOST: f64 = 0.7;
const OVERDUE: f64 = 1.5;
/// The pause of what others take longer than anyway.
const ASIDE: Duration = Duration::from_secs(4);
/// That others take longer counts from here.
const MUCH_LONGER: Duration = Duration::from_secs(10);

/// What a wait is for, as far as its pace goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// How long such waits usually take.
    pub usual: Duration,
    /// How much longer something else in the run usually takes still, when the wait begins.
    pub spare: Duration,
    /// The clock of those that are looked at in step; `None`: each for itself.
    pub in_step: Option<Instant>,
}

impl Pace {
    /// How long until the first look, after a call that starts something.
    pub(super) fn first(self) -> Duration {
        let first = self.usual.mul_f64(FIRST).clamp(SHORTEST, LONGEST_FIRST);
        self.spread(if self.is_aside() { first.max(ASIDE) } else { first })
    }

    /// How long until the next look.
    pub(super) fn next(self, waited: Duration) -> Duration {
        self.spread(self.pause(waited))
    }

    /// The pause before the next look, neither in step nor spread.
    fn pause(self, waited: Duration) -> Duration {
        // What usually takes ten seconds or more is looked at every second or so, however well its time is known.
        let shortest = (self.usual / 10).clamp(SHORTEST, SHORT);
        let share = if self.end_is_near(waited) { NEAR } else { SHARE };
        let longest = if waited < self.usual { LONGEST } else { LONGEST_OVERDUE };
        let pause = waited.mul_f64(share).clamp(shortest, longest);
        if self.is_aside() { (pause * 2).max(ASIDE) } else { pause }
    }

    fn end_is_near(self, waited: Duration) -> bool {
        waited >= self.usual.mul_f64(MOST) && waited < self.usual.mul_f64(OVERDUE)
    }

    fn is_aside(self) -> bool {
        self.spare >= MUCH_LONGER
    }

    fn spread(self, pause: Duration) -> Duration {
        match self.in_step {
            Some(start) => until_tick(start.elapsed(), pause),
            None => pause.mul_f64(rand::rng().random_range(0.95..1.0)),
        }
    }
}

/// How long until the next tick of a clock that ticks about as often as the pause is long, and no sooner than half a pause
/// from now. Ticks of slower clocks are ticks of faster ones too.
fn until_tick(now: Duration, pause: Duration) -> Duration {
    let mut tick = SHORTEST;
    while tick * 2 <= pause {
        tick *= 2;
    }
    let earliest = (now + tick / 2).as_secs_f64();
    let next = (earliest / tick.as_secs_f64()).ceil() * tick.as_secs_f64();
    Duration::from_secs_f64(next).saturating_sub(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(usual: u64) -> Pace {
        Pace { usual: Duration::from_secs(usual), spare: Duration::ZERO, in_step: None }
    }

    /// How often a wait of this length is looked at, and how late its end is noticed at most.
    fn looks(pace: Pace, length: Duration) -> (usize, Duration) {
        let (mut waited, mut looks) = (pace.first(), 1);
        let mut longest = waited;
        while waited < length {
            let pause = pace.pause(waited);
            (waited, looks, longest) = (waited + pause, looks + 1, longest.max(pause));
        }
        (looks, longest)
    }

    #[test]
    fn any_wait_is_noticed_after_two_seconds_or_a_few_per_cent() {
        for usual in [2, 45, 100, 600] {
            for length in [1, 5, 20, 60, 540, 1800] {
                let length = Duration::from_secs(length);
                let (_, late) = looks(pace(usual), length);
                let limit = length.mul_f64(0.055).max(Duration::from_millis(2200));
                assert!(late <= limit, "{usual} {length:?}: {late:?}");
            }
        }
    }

    #[test]
    fn a_wait_of_ten_minutes_takes_fewer_than_two_hundred_looks() {
        let (looks, _) = looks(pace(600), Duration::from_mins(10));
        assert!((50..120).contains(&looks), "{looks}");
    }

    #[test]
    fn a_known_time_does_not_cost_more_looks_than_an_unknown_one() {
        for (known, typical) in [(20, 600), (10, 46)] {
            let length = Duration::from_secs(known);
            let (looks_known, looks_typical) = (looks(pace(known), length).0, looks(pace(typical), length).0);
            assert!(looks_known <= looks_typical + 2, "{known}: {looks_known}, {looks_typical}");
        }
    }

    #[test]
    fn the_end_is_looked_for_more_closely_than_the_way() {
        let cluster = pace(600);
        assert_eq!(cluster.pause(Duration::from_secs(20)), SHORT);
        assert_eq!(cluster.pause(Duration::from_secs(400)), Duration::from_secs(20));
        assert_eq!(cluster.pause(Duration::from_secs(500)), Duration::from_secs(5));
        assert_eq!(cluster.pause(Duration::from_mins(30)), LONGEST_OVERDUE);
    }

    #[test]
    fn what_usually_takes_a_moment_is_looked_at_at_once() {
        assert_eq!(pace(2).pause(Duration::ZERO), SHORTEST);
        assert_eq!(pace(10).pause(Duration::ZERO), Duration::from_secs(1));
        assert_eq!(pace(600).pause(Duration::ZERO), SHORT);
    }

    #[test]
    fn what_others_take_longer_than_is_looked_at_more_seldom() {
        let gateway = Pace { spare: Duration::from_mins(8), ..pace(100) };
        assert_eq!(gateway.pause(Duration::from_secs(10)), ASIDE);
        assert_eq!(gateway.pause(Duration::from_mins(1)), Duration::from_secs(6));
        assert_eq!(pace(100).pause(Duration::from_secs(10)), SHORT);
    }

    #[test]
    fn waits_of_one_pace_meet() {
        let tick = |now: u64, pause| {
            let now = Duration::from_millis(now);
            now + until_tick(now, pause)
        };
        for now in [760, 2000, 2400] {
            assert_eq!(tick(now, ASIDE), Duration::from_secs(if now < 2001 { 4 } else { 8 }), "{now}");
        }
        assert_eq!(tick(4010, Duration::from_secs(6)), Duration::from_secs(8));
        assert_eq!(tick(10_490, SHORT), Duration::from_secs(11));
        assert_eq!(tick(10_510, SHORT), Duration::from_secs(12));
    }
}
