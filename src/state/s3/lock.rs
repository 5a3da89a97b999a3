//! The lock in S3: an object that says who holds it, renewed while the run lives, and never taken over by itself.
//!
//! S3 tells nobody whether a holder is alive. Therefore whoever holds the lock reads it again before each segment, and
//! stops where it is another's; and whoever finds it taken is told the holder, and the command that breaks it.

use super::{Condition, S3Store};
use crate::state::error::StateError;
use crate::state::keys::Keys;
use crate::state::lock::{FRESH, Holder, Holding, Life, Seen, ago};
use crate::state::store::{Lock, Stored};
use chrono::{DateTime, Utc};
use futures::future::{BoxFuture, FutureExt as _};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::sync::watch;

/// How often a lock is renewed.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(15);

/// A tag that no object has.
const NO_TAG: &str = "\"00000000000000000000000000000000\"";

/// What stands in a lock.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Content {
    #[serde(flatten)]
    holding: Holding,
    /// Tells this lock from every other.
    nonce: String,
    /// When it was renewed last, by the holder's clock.
    heartbeat: DateTime<Utc>,
    /// How often.
    beats: u64,
}

impl Content {
    fn from_now(holder: &Holder) -> Self {
        let holding = Holding::from_now(holder);
        Self { heartbeat: holding.since, holding, nonce: uuid::Uuid::new_v4().to_string(), beats: 0 }
    }

    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    fn read(stored: &Stored) -> Option<Self> {
        serde_json::from_slice(&stored.bytes).ok()
    }
}

fn lock_key(key: &str) -> String {
    format!("{key}.lock")
}

/// How many locks this process holds.
static HELD: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

/// Returns when this process holds no lock in S3 any more: to be waited for, within reason, before it ends.
pub async fn all_released() {
    // The sender is never dropped.
    let _ = HELD.subscribe().wait_for(|count| *count == 0).await;
}

/// A lock that counts as held.
#[derive(Debug)]
struct Counted;

impl Counted {
    fn new() -> Self {
        HELD.send_modify(|count| *count += 1);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        HELD.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// A lock that is held.
#[derive(Debug)]
pub(super) struct S3Lock {
    /// `None` once it is released.
    held: Option<(Arc<Held>, Counted)>,
    heart: tokio::task::JoinHandle<()>,
}

#[derive(Debug)]
struct Held {
    store: S3Store,
    /// The key of what is locked.
    key: String,
    lock: String,
    nonce: String,
    /// Who has it instead, once that is known.
    lost: watch::Sender<Option<String>>,
}

/// Takes the lock that belongs to a key.
pub(super) async fn take(store: &S3Store, key: &str, holder: &Holder) -> Result<S3Lock, StateError> {
    let lock = lock_key(key);
    if let Some(found) = look(store, key).await? {
        return Err(locked(key, Some(&found)));
    }
    let content = Content::from_now(holder);
    let tag = match store.write(&lock, &content.bytes(), Condition::Absent).await {
        Err(StateError::Conflict { .. }) => return Err(locked(key, look(store, key).await?.as_ref())),
        tag => tag?,
    };
    let held =
        Held { store: store.clone(), key: key.to_owned(), lock, nonce: content.nonce.clone(), lost: watch::Sender::new(None) };
    let held = (Arc::new(held), Counted::new());
    let heart = tokio::spawn(beat(held.0.clone(), content, tag));
    let taken = S3Lock { held: Some(held), heart };
    // Dropped, and thereby released, if the store cannot be relied on.
    taken.try_out(holder).await?;
    Ok(taken)
}

impl S3Lock {
    /// Sees to it that the store keeps to conditions: a store that does not lets everybody have the lock.
    async fn try_out(&self, holder: &Holder) -> Result<(), StateError> {
        let Some((held, _)) = &self.held else { return Ok(()) };
        let other = Content::from_now(holder).bytes();
        let tag = Condition::Tag(NO_TAG.to_owned());
        let writes = [Condition::Absent, tag].map(|condition| held.store.write(&held.lock, &other, condition));
        for written in futures::future::join_all(writes).await {
            match written {
                Err(StateError::Conflict { .. }) => {}
                Err(error) => return Err(error),
                Ok(_) => {
                    held.store.delete(&held.lock).await?;
                    let reason = "the store writes without regard to conditions (If-None-Match, If-Match), so that it can keep \
                                  no two runs apart: take S3, or a store that has conditional writes";
                    let (key, source) = (held.store.location.url(&held.lock), std::io::Error::other(reason));
                    return Err(StateError::Store { action: "lock", key, source });
                }
            }
        }
        Ok(())
    }
}

/// Renews a lock until it is somebody else's.
async fn beat(held: Arc<Held>, mut content: Content, mut tag: String) {
    loop {
        tokio::time::sleep(HEARTBEAT).await;
        content.beats += 1;
        content.heartbeat = Utc::now();
        match held.store.write(&held.lock, &content.bytes(), Condition::Tag(tag.clone())).await {
            Ok(renewed) => tag = renewed,
            Err(StateError::Conflict { .. }) => match held.look().await {
                Ok(Ok(found)) => tag = found,
                Ok(Err(by)) => return tracing::warn!(lock = held.lock, by, "the lock is lost"),
                Err(error) => tracing::warn!(%error, "the lock could not be read"),
            },
            // Nothing begins without reading the lock, so this loses nothing but the time that others are told.
            Err(error) => tracing::warn!(%error, "the lock could not be renewed"),
        }
    }
}

impl Held {
    /// The lock's tag, or who has it instead.
    async fn look(&self) -> Result<Result<String, String>, StateError> {
        let found = self.store.read(&self.lock).await?;
        let by = match found.as_ref().map(|stored| (Content::read(stored), stored)) {
            Some((Some(content), stored)) if content.nonce == self.nonce => return Ok(Ok(stored.tag.clone())),
            Some((Some(content), _)) => format!("{} has it", content.holding),
            Some((None, _)) => "something else stands in its place".to_owned(),
            None => "somebody has removed it (`fleetctl state unlock` does that)".to_owned(),
        };
        // What was seen first stays.
        self.lost.send_if_modified(|lost| lost.is_none() && lost.replace(by.clone()).is_none());
        Ok(Err(self.known_lost().unwrap_or(by)))
    }

    fn known_lost(&self) -> Option<String> {
        self.lost.borrow().clone()
    }

    fn lost(&self, reason: String) -> StateError {
        StateError::LockLost { instance: self.key.clone(), reason }
    }

    async fn verify(&self) -> Result<(), StateError> {
        if let Some(by) = self.known_lost() {
            return Err(self.lost(by));
        }
        self.look().await?.map(|_| ()).map_err(|by| self.lost(by))
    }

    /// Waits until the renewal, or anything else, has found that it is lost.
    async fn wait_lost(&self) -> StateError {
        let mut lost = self.lost.subscribe();
        // The sender is not dropped while it is borrowed.
        let by = lost.wait_for(Option::is_some).await.ok().and_then(|by| by.clone());
        self.lost(by.unwrap_or_default())
    }

    /// Removes the lock if it is ours. Between the look and the removal somebody might break it and another take it; the
    /// one whose lock is removed then notices before its next segment.
    async fn release(&self) -> Result<(), StateError> {
        if self.known_lost().is_none() && self.look().await?.is_ok() {
            self.store.delete(&self.lock).await?;
        }
        Ok(())
    }
}

impl Lock for S3Lock {
    fn verify(&self) -> BoxFuture<'_, Result<(), StateError>> {
        async move {
            match &self.held {
                Some((held, _)) => held.verify().await,
                None => Ok(()),
            }
        }
        .boxed()
    }

    fn lost(&self) -> BoxFuture<'_, StateError> {
        async move {
            match &self.held {
                Some((held, _)) => held.wait_lost().await,
                None => std::future::pending().await,
            }
        }
        .boxed()
    }

    fn release(mut self: Box<Self>) -> BoxFuture<'static, Result<(), StateError>> {
        self.heart.abort();
        let held = self.held.take();
        async move {
            match &held {
                Some((held, _)) => held.release().await,
                None => Ok(()),
            }
        }
        .boxed()
    }
}

impl Drop for S3Lock {
    fn drop(&mut self) {
        self.heart.abort();
        let (Some((held, counted)), Ok(runtime)) = (self.held.take(), tokio::runtime::Handle::try_current()) else { return };
        runtime.spawn(async move {
            if let Err(error) = held.release().await {
                tracing::warn!(%error, "the lock could not be released");
            }
            drop(counted);
        });
    }
}

/// The lock that belongs to a key, as it stands there. When its holder was heard of is told by the clock of S3: that of the
/// holder may go wrong.
pub(super) async fn look(store: &S3Store, key: &str) -> Result<Option<Seen>, StateError> {
    let Some((stored, written)) = store.read_with_time(&lock_key(key)).await? else { return Ok(None) };
    let holding = Content::read(&stored).map(|content| content.holding);
    // What seems to come from the future was heard of just now.
    let is_stale = (Utc::now() - written).to_std().is_ok_and(|age| age >= FRESH);
    let life = if is_stale { Life::Unknown } else { Life::Fresh };
    Ok(Some(Seen { last_heard: holding.is_some().then_some(written), holding, life, tag: stored.tag }))
}

/// Removes a lock if its holder is still the one that was seen. Its heartbeat may go on meanwhile.
pub(super) async fn break_it(store: &S3Store, key: &str, seen: &Seen) -> Result<bool, StateError> {
    let Some(now) = look(store, key).await? else { return Ok(false) };
    if now.holding != seen.holding || (now.holding.is_none() && now.tag != seen.tag) {
        return Ok(false);
    }
    store.delete(&lock_key(key)).await?;
    Ok(true)
}

/// What is said to whoever finds the lock taken.
fn locked(key: &str, seen: Option<&Seen>) -> StateError {
    let holder = match seen {
        Some(Seen { holding: Some(holding), last_heard: Some(heard), .. }) => {
            format!("{holding}; last heard of {}. {}", ago(*heard, Utc::now()), way_out(key))
        }
        Some(_) => format!("something that says no holder. {}", way_out(key)),
        None => "another process, which has just released it: try again".to_owned(),
    };
    StateError::Locked { instance: key.to_owned(), holder }
}

fn way_out(key: &str) -> String {
    let instance = Keys::of(key).and_then(|keys| keys.named()).unwrap_or_else(|| key.to_owned());
    format!("A lock in S3 stays until it is released: if that run is gone, `fleetctl state unlock {instance}` with this --state")
}
