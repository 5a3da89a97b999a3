//! The wall clock, passed in so that simulations can run on tokio's paused clock.

use chrono::{DateTime, Utc};
use std::sync::Arc;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// The system's wall clock.
pub fn system() -> Clock {
    Arc::new(Utc::now)
}

/// A clock that starts at a time and goes on with tokio's clock, which tests can pause.
#[cfg(test)]
pub fn simulated(start: DateTime<Utc>) -> Clock {
    let origin = tokio::time::Instant::now();
    Arc::new(move || start + chrono::TimeDelta::from_std(origin.elapsed()).unwrap_or(chrono::TimeDelta::MAX))
}
