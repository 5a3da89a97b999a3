//! The wall clock of an engine: the system's, or a simulation's.

use crate::state::clock::{self, Clock};
use chrono::{DateTime, Utc};

/// Tells what time it is. Cheap to clone.
#[derive(Clone)]
pub(super) struct WallClock(Clock);

impl Default for WallClock {
    fn default() -> Self {
        Self(clock::system())
    }
}

impl std::fmt::Debug for WallClock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("WallClock")
    }
}

impl WallClock {
    /// The clock of a simulation.
    #[cfg(test)]
    pub(super) fn of(clock: Clock) -> Self {
        Self(clock)
    }

    /// The time.
    pub(super) fn now(&self) -> DateTime<Utc> {
        (self.0)()
    }

    /// The same for a session of the state.
    pub(super) fn clock(&self) -> Clock {
        self.0.clone()
    }
}
