//! What goes wrong, and when: decided by a seed, so that it goes wrong again in the same way.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

/// How the simulation misbehaves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    /// Part of the calls that is throttled.
    pub(crate) throttled: f64,
    /// Part of the calls that is taken and whose reply is lost.
    pub(crate) lost: f64,
    /// How long at most a new object of EC2 or IAM is not shown, nor seen by calls that need it.
    pub(crate) lag: Duration,
    /// How long at most EKS does not see a new role.
    pub(crate) propagation: Duration,
    /// Where the process dies.
    pub(crate) kill: Option<Kill>,
}

/// The death of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kill {
    /// At which mutating call since it was started; the first is 1.
    pub(crate) at: usize,
    /// Whether that call still takes effect.
    pub(crate) when: When,
}

/// When a process dies at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Before it is sent.
    Before,
    /// After it took effect, before the reply arrives.
    After,
}

/// Numbers that follow from a seed. Each label has a row of its own: calls that come in another order draw the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draws {
    seed: u64,
    drawn: BTreeMap<String, u64>,
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, drawn: BTreeMap::new() }
    }

    /// The next number of a label, from 0 up to 1.
    pub(crate) fn next(&mut self, label: &str) -> f64 {
        let count = self.drawn.entry(label.to_owned()).or_default();
        *count += 1;
        let mut hasher = DefaultHasher::new();
        (self.seed, label, *count).hash(&mut hasher);
        let bits = u32::try_from(hasher.finish() >> 32).unwrap_or_default();
        f64::from(bits) / (f64::from(u32::MAX) + 1.0)
    }

    /// One of so many.
    pub(crate) fn below(&mut self, label: &str, count: usize) -> usize {
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
        let index = (self.next(label) * count as f64) as usize;
        index
    }

    /// A time between nothing and this: mostly short.
    pub(crate) fn lag(&mut self, label: &str, longest: Duration) -> Duration {
        let drawn = self.next(label);
        longest.mul_f64(drawn * drawn)
    }
}
