//! How often to look at something that is on its way.
//!
//! The pause grows with the time already waited, so that a wait of any length is noticed after a few per cent of itself:
//! a NAT gateway of the local AWS that takes a second, and a cluster that takes a quarter of an hour. Past most of the
//! usual time the pause is capped lower, because the end is near.

use rand::RngExt as _;
use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(400);
const LONGEST_EARLY: Duration = Duration::from_secs(30);
const LONGEST_LATE: Duration = Duration::from_secs(10);
/// Part of the time waited that the next pause is.
const SHARE: f64 = 0.03;
/// Part of the usual time after which the end is near.
const MOST: f64 = 0.8;

/// The pause before the next look, without jitter.
pub(super) fn pause(waited: Duration, usual: Duration) -> Duration {
    let longest = if waited >= usual.mul_f64(MOST) { LONGEST_LATE } else { LONGEST_EARLY };
    waited.mul_f64(SHARE).clamp(SHORTEST, longest)
}

/// The pause before the next look, ten per cent more or less.
pub(super) fn jittered_pause(waited: Duration, usual: Duration) -> Duration {
    pause(waited, usual).mul_f64(rand::rng().random_range(0.9..1.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_waits_are_noticed_soon_and_long_ones_are_not_hammered() {
        let usual = Duration::from_mins(10);
        assert_eq!(pause(Duration::from_secs(1), usual), SHORTEST);
        assert_eq!(pause(Duration::from_secs(20), usual), Duration::from_millis(600));
        assert_eq!(pause(Duration::from_secs(400), usual), Duration::from_secs(12));
        assert_eq!(pause(Duration::from_secs(550), usual), LONGEST_LATE);
    }

    #[test]
    fn a_wait_of_ten_minutes_takes_fewer_than_two_hundred_looks() {
        let (mut waited, mut looks) = (Duration::ZERO, 0);
        while waited < Duration::from_mins(10) {
            waited += pause(waited, Duration::from_mins(10));
            looks += 1;
        }
        assert!(looks < 200, "{looks}");
    }
}
