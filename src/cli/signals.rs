//! Ctrl-C, SIGTERM, and SIGHUP, which a terminal sends that is closed. While something is being changed, the first one asks
//! the run to stop and the second one leaves at once; at any other time the first one leaves.
//!
//! A reader that goes away while something is being changed (`fleetctl apply … | head`) does what a first signal does: see
//! [`super::carry_out`].

use crate::engine::stop::Stop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// The exit code of a command that was interrupted.
pub const INTERRUPTED: u8 = 130;

/// The signals that came. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Signals(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    count: watch::Sender<usize>,
    is_running: AtomicBool,
    has_begun: AtomicBool,
}

/// What the command was doing when it was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It had not begun to change anything.
    BeforeRun,
    /// It was changing something, or had just done so.
    DuringRun,
}

/// A run that a first signal asks to stop, until this is dropped.
#[derive(Debug)]
pub struct Guard {
    signals: Signals,
    watcher: tokio::task::JoinHandle<()>,
}

impl Signals {
    /// Nothing has come, and nothing is listened to.
    pub fn none() -> Self {
        Self(Arc::new(Inner {
            count: watch::Sender::new(0),
            is_running: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
        }))
    }

    /// Listens to the process's signals.
    pub fn listen() -> Self {
        let signals = Self::none();
        let raised = signals.clone();
        tokio::spawn(async move { pass_on(&raised).await });
        signals
    }

    /// As if a signal had come.
    fn raise(&self) {
        self.0.count.send_modify(|count| *count += 1);
    }

    /// Returns when the command has to be left at once.
    pub async fn leave(&self) {
        let leaves = |count: &usize| *count > 1 || *count == 1 && !self.0.is_running.load(Ordering::SeqCst);
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.0.count.subscribe().wait_for(leaves).await;
    }

    /// What the command was doing.
    pub fn what_was_left(&self) -> Left {
        if self.0.has_begun.load(Ordering::SeqCst) { Left::DuringRun } else { Left::BeforeRun }
    }

    /// From now on a first signal asks to stop, after `say` has told the user so.
    pub fn guard(&self, stop: Stop, say: impl FnOnce() + Send + 'static) -> Guard {
        self.0.is_running.store(true, Ordering::SeqCst);
        self.0.has_begun.store(true, Ordering::SeqCst);
        let mut count = self.0.count.subscribe();
        let watcher = tokio::spawn(async move {
            if count.wait_for(|count| *count > 0).await.is_ok() {
                say();
                stop.request();
            }
        });
        Guard { signals: self.clone(), watcher }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.watcher.abort();
        self.signals.0.is_running.store(false, Ordering::SeqCst);
    }
}

/// Passes on Ctrl-C, SIGTERM and SIGHUP. Where they cannot be listened to they end the process, as they would without us.
/// Whoever has SIGHUP ignored (`nohup`) keeps it ignored.
#[cfg(unix)]
async fn pass_on(signals: &Signals) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
        return;
    };
    let mut hang_up = (!ignores_hang_up()).then(|| signal(SignalKind::hangup()).ok()).flatten();
    loop {
        tokio::select! {
            _ = interrupt.recv() => signals.raise(),
            _ = terminate.recv() => signals.raise(),
            Some(()) = next(&mut hang_up) => signals.raise(),
        }
    }
}

/// The next signal, if it is listened to; else never.
#[cfg(unix)]
async fn next(signal: &mut Option<tokio::signal::unix::Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether the process was started with SIGHUP ignored, as far as the system tells.
#[cfg(unix)]
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP is signal 1, the lowest bit.
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Passes on Ctrl-C.
#[cfg(not(unix))]
async fn pass_on(signals: &Signals) {
    while tokio::signal::ctrl_c().await.is_ok() {
        signals.raise();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn outside_of_a_run_the_first_signal_leaves() {
        let signals = Signals::none();
        assert_eq!(signals.leave().now_or_never(), None);
        signals.raise();
        signals.leave().await;
        assert_eq!(signals.what_was_left(), Left::BeforeRun);
    }

    #[tokio::test]
    async fn in_a_run_the_first_signal_stops_and_the_second_leaves() {
        let (signals, stop) = (Signals::none(), Stop::default());
        let guard = signals.guard(stop.clone(), || {});
        signals.raise();
        stop.wait().await;
        assert_eq!(signals.leave().now_or_never(), None);
        signals.raise();
        signals.leave().await;
        assert_eq!(signals.what_was_left(), Left::DuringRun);
        drop(guard);
    }

    #[tokio::test]
    async fn after_a_run_a_signal_leaves() {
        let (signals, stop) = (Signals::none(), Stop::default());
        drop(signals.guard(stop.clone(), || {}));
        signals.raise();
        signals.leave().await;
        assert!(!stop.requested());
    }
}
