//! The wish to stop: set by the first Ctrl-C, seen by everything that would start something new.

use tokio::sync::watch;

/// The wish to stop. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Stop(watch::Sender<bool>);

impl Default for Stop {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Stop {
    /// Asks everything to stop.
    pub fn request(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was asked for.
    pub fn requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when it is asked for.
    pub async fn wait(&self) {
        let mut seen = self.0.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ = seen.wait_for(|requested| *requested).await;
    }
}
