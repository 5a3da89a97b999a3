//! Coalescing of reads: single objects that several tasks ask for within a few milliseconds become one call.

use super::error::{CallError, ErrorClass};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// How long the first asker waits for others: less than a call takes, and more than calls of one kind that began together
/// usually end apart.
const WINDOW: Duration = Duration::from_millis(20);

/// AWS takes at most this many values in one filter.
pub(super) const FILTER_VALUES: usize = 200;

/// What an asker gets: the object, or that AWS knows none.
type Answer<T> = Result<Option<T>, CallError>;

/// Somebody who asked for the object with a key.
type Ask<T> = (String, oneshot::Sender<Answer<T>>);

/// Collects asks for objects of one kind. Cheap to clone: clones share their asks.
#[derive(Debug)]
pub(super) struct Batch<T> {
    waiting: Arc<Mutex<Vec<Ask<T>>>>,
}

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self { waiting: Arc::default() }
    }
}

impl<T> Clone for Batch<T> {
    fn clone(&self) -> Self {
        Self { waiting: Arc::clone(&self.waiting) }
    }
}

impl<T: Clone + Send + 'static> Batch<T> {
    /// Asks for the object with this key. `read` reads many: it gets every key that is asked for at that time, each once,
    /// and gives back the objects that are there. Its error goes to all who asked.
    ///
    /// An answer is never older than its ask: a call takes only asks that were made before it starts.
    pub(super) async fn ask<F, R>(&self, key: &str, read: F) -> Answer<T>
    where
        F: FnOnce(Vec<String>) -> R + Send + 'static,
        R: Future<Output = Result<HashMap<String, T>, CallError>> + Send,
    {
        let (sender, receiver) = oneshot::channel();
        if self.add(key, sender) {
            let batch = self.clone();
            // A task of its own: the first asker may be cancelled, the others must get their answers nevertheless.
            tokio::spawn(async move {
                tokio::time::sleep(WINDOW).await;
                let asks = batch.take();
                let answer = read(keys(&asks)).await;
                distribute(asks, &answer);
            });
        }
        receiver.await.unwrap_or_else(|_| Err(ended_early()))
    }

    /// Adds an ask, and says whether it is the first.
    fn add(&self, key: &str, sender: oneshot::Sender<Answer<T>>) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push((key.to_owned(), sender));
        waiting.len() == 1
    }

    fn take(&self) -> Vec<Ask<T>> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The keys asked for, each once, in order.
fn keys<T>(asks: &[Ask<T>]) -> Vec<String> {
    let mut keys: Vec<String> = asks.iter().map(|(key, _)| key.clone()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn distribute<T: Clone>(asks: Vec<Ask<T>>, answer: &Result<HashMap<String, T>, CallError>) {
    for (key, sender) in asks {
        let one = match answer {
            Ok(found) => Ok(found.get(&key).cloned()),
            Err(error) => Err(error.clone()),
        };
        // Whoever asked may have gone away.
        let _ = sender.send(one);
    }
}

/// The reading task was dropped: only when the runtime goes down.
fn ended_early() -> CallError {
    CallError {
        service: "ec2",
        operation: "Describe",
        class: ErrorClass::Unclear,
        code: "Interrupted".to_owned(),
        message: "the read ended before it was answered".to_owned(),
        request_id: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn failure() -> CallError {
        CallError { code: "RequestLimitExceeded".into(), class: ErrorClass::Throttled, ..ended_early() }
    }

    #[tokio::test(start_paused = true)]
    async fn asks_at_one_time_become_one_call() {
        let batch: Batch<u32> = Batch::default();
        let calls = Arc::new(AtomicUsize::new(0));
        let ask = |key: &'static str| {
            let (batch, calls) = (batch.clone(), Arc::clone(&calls));
            async move {
                batch
                    .ask(key, move |keys| async move {
                        calls.fetch_add(1, Ordering::SeqCst);
                        assert_eq!(keys, ["a", "b", "gone"]);
                        Ok(HashMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]))
                    })
                    .await
            }
        };
        let answers = join_all([ask("a"), ask("b"), ask("gone"), ask("a")]).await;
        assert_eq!(answers, [Ok(Some(1)), Ok(Some(2)), Ok(None), Ok(Some(1))]);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_ask_makes_a_new_call() {
        let batch: Batch<u32> = Batch::default();
        let first = batch.ask("a", |_| async { Ok(HashMap::from([("a".to_owned(), 1)])) }).await;
        let second = batch.ask("a", |_| async { Ok(HashMap::from([("a".to_owned(), 2)])) }).await;
        assert_eq!((first, second), (Ok(Some(1)), Ok(Some(2))));
    }

    #[tokio::test(start_paused = true)]
    async fn an_ask_during_a_call_is_not_answered_by_it() {
        let batch: Batch<u32> = Batch::default();
        let slow = batch.ask("a", |_| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(HashMap::from([("a".to_owned(), 1)]))
        });
        let late = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            batch.ask("a", |_| async { Ok(HashMap::from([("a".to_owned(), 2)])) }).await
        };
        assert_eq!(tokio::join!(slow, late), (Ok(Some(1)), Ok(Some(2))));
    }

    #[tokio::test(start_paused = true)]
    async fn all_askers_share_an_error() {
        let batch: Batch<u32> = Batch::default();
        let asks = (0..3).map(|index| {
            let batch = batch.clone();
            async move { batch.ask(&index.to_string(), |_| async { Err(failure()) }).await }
        });
        assert_eq!(join_all(asks).await, [Err(failure()), Err(failure()), Err(failure())]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_asker_takes_nobody_with_it() {
        let batch: Batch<u32> = Batch::default();
        let first = batch.ask("a", |keys| async move { Ok(keys.into_iter().map(|key| (key, 7)).collect()) });
        let cancelled = tokio::time::timeout(Duration::from_millis(1), first);
        let second = batch.ask("b", |_| async { Ok(HashMap::new()) });
        let (cancelled, second) = tokio::join!(cancelled, second);
        assert!(cancelled.is_err());
        assert_eq!(second, Ok(Some(7)));
    }
}
