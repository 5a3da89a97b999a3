//! A bucket of S3 as store, by conditional writes.
//!
//! Nothing is built, loaded or called before the first use.

mod client;
mod failure;
pub mod location;
mod lock;
#[cfg(test)]
mod tests;

pub use client::{KeySource, Keys, Way};
pub use lock::all_released;

use super::error::StateError;
use super::lock::{Holder, Holding, Seen};
use super::store::{Linger, Lock, Store, Stored, check_key};
use chrono::{DateTime, Utc};
use failure::Failure;
use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use location::Location;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, UpdateVersion};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

/// How often something is attempted, and the pause after the first attempt; it doubles.
const ATTEMPTS: u32 = 6;
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// How long entries wait for others to share their write: a write takes some ten milliseconds and costs money. A begin entry
/// is waited for by its call, and a dependent by what comes of that.
const LINGER: Linger = Linger { begin: Duration::from_millis(50), other: Duration::from_millis(200) };

/// Loads what is known of the way to S3.
pub type Finder = Arc<dyn Fn() -> BoxFuture<'static, Way> + Send + Sync>;

/// A bucket of S3 as store. Clones share it.
#[derive(Clone)]
pub struct S3Store {
    location: Location,
    finder: Finder,
    bucket: Arc<OnceCell<Arc<dyn ObjectStore>>>,
}

impl std::fmt::Debug for S3Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("S3Store").field("location", &self.location).finish_non_exhaustive()
    }
}

/// What must be so for a write.
#[derive(Debug, Clone)]
enum Condition {
    Absent,
    Tag(String),
}

impl S3Store {
    /// The store at a location. The way to it is looked for at its first use.
    pub fn new(location: Location, finder: Finder) -> Self {
        Self { location, finder, bucket: Arc::default() }
    }

    /// A store over something that behaves like S3.
    #[cfg(test)]
    pub(super) fn over(location: &str, bucket: Arc<dyn ObjectStore>) -> Self {
        let location = Location::parse(location).unwrap();
        let finder: Finder = Arc::new(|| Box::pin(async { panic!("nothing is looked for") }));
        Self { location, finder, bucket: Arc::new(OnceCell::new_with(Some(bucket))) }
    }

    async fn bucket(&self) -> Result<&Arc<dyn ObjectStore>, StateError> {
        self.bucket.get_or_try_init(|| async { client::connect(&self.location, (self.finder)().await).await }).await
    }

    fn path(&self, key: &str) -> Result<Path, StateError> {
        let reason = "it contains characters that keys in S3 should not have";
        Path::parse(self.location.whole(key)).map_err(|_| StateError::BadKey { key: key.to_owned(), reason })
    }

    fn failure(&self, error: &object_store::Error) -> Failure {
        Failure::of(error, &self.location)
    }

    /// Attempts something that does no harm twice, until its outcome is clear.
    async fn attempt<T, F>(&self, action: &'static str, key: &str, one: impl Fn() -> F) -> Result<Option<T>, StateError>
    where
        F: Future<Output = object_store::Result<T>>,
    {
        let mut pauses = pauses();
        loop {
            let failure = match one().await {
                Ok(done) => return Ok(Some(done)),
                Err(error) => self.failure(&error),
            };
            match (failure, pauses.next()) {
                (Failure::Absent, _) => return Ok(None),
                (Failure::Unclear(reason), Some(pause)) => wait(&reason, pause).await,
                (failure, _) => return Err(failure.named(action, key, &self.location)),
            }
        }
    }

    async fn read(&self, key: &str) -> Result<Option<Stored>, StateError> {
        Ok(self.read_with_time(key).await?.map(|(stored, _)| stored))
    }

    /// An object, and when it was written by the clock of S3.
    async fn read_with_time(&self, key: &str) -> Result<Option<(Stored, DateTime<Utc>)>, StateError> {
        let (bucket, path) = (self.bucket().await?, self.path(key)?);
        let one = || async {
            let found = bucket.get(&path).await?;
            let (tag, written) = (found.meta.e_tag.clone().unwrap_or_default(), found.meta.last_modified);
            Ok((Stored { bytes: found.bytes().await?.to_vec(), tag }, written))
        };
        self.attempt("read", key, one).await
    }

    /// Writes an object if the condition holds. After an attempt whose outcome is unclear the condition may fail because
    /// that attempt was carried out: what is there tells.
    async fn write(&self, key: &str, bytes: &[u8], condition: Condition) -> Result<String, StateError> {
        let (bucket, path) = (self.bucket().await?, self.path(key)?);
        let mut pauses = pauses();
        let mut is_unclear = false;
        loop {
            let options = PutOptions { mode: condition.mode(), ..PutOptions::default() };
            let failure = match bucket.put_opts(&path, PutPayload::from(bytes.to_vec()), options).await {
                Ok(done) => return done.e_tag.ok_or_else(|| self.no_tag(key)),
                Err(error) => self.failure(&error),
            };
            match (failure, pauses.next()) {
                (Failure::Condition | Failure::Absent, _) if is_unclear => return self.settle(key, bytes).await,
                (Failure::Condition | Failure::Absent, _) => return Err(StateError::Conflict { key: key.to_owned() }),
                (Failure::Unclear(reason), Some(pause)) => {
                    is_unclear = true;
                    wait(&reason, pause).await;
                }
                (failure, _) => return Err(failure.named("write", key, &self.location)),
            }
        }
    }

    /// Whether an object is what we wrote, although the reply was lost.
    async fn settle(&self, key: &str, bytes: &[u8]) -> Result<String, StateError> {
        match self.read(key).await? {
            Some(found) if found.bytes == bytes => Ok(found.tag),
            _ => Err(StateError::Conflict { key: key.to_owned() }),
        }
    }

    fn no_tag(&self, key: &str) -> StateError {
        let reason = "the store gives no ETag: state needs a store that has conditional writes, as S3 has".to_owned();
        Failure::Refused(reason).named("write", key, &self.location)
    }

    async fn delete(&self, key: &str) -> Result<(), StateError> {
        let (bucket, path) = (self.bucket().await?, self.path(key)?);
        self.attempt("remove", key, || bucket.delete(&path)).await.map(|_| ())
    }

    /// Removes many objects in one call; one by one where the store has no such call.
    async fn delete_all(&self, keys: &[String]) -> Result<(), StateError> {
        keys.iter().try_for_each(|key| check_key(key))?;
        if let [key] = keys {
            return self.delete(key).await;
        }
        let bucket = self.bucket().await?;
        let paths = keys.iter().map(|key| self.path(key)).collect::<Result<Vec<_>, _>>()?;
        let paths = stream::iter(paths.into_iter().map(Ok)).boxed();
        let removed = bucket.delete_stream(paths).try_for_each(|_| std::future::ready(Ok(()))).await;
        if removed.is_ok() {
            return Ok(());
        }
        for key in keys {
            self.delete(key).await?;
        }
        Ok(())
    }

    async fn keys(&self, prefix: &str) -> Result<Vec<String>, StateError> {
        let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
        if !folder.is_empty() {
            check_key(folder)?;
        }
        let (bucket, below) = (self.bucket().await?, self.path(folder)?);
        // Keys come in order, so those of others before and after are not fetched.
        let mut before = self.location.whole(prefix);
        before.pop();
        let before = Path::parse(&before).ok().filter(|before| *before != below && !before.as_ref().is_empty());
        let below = Some(below).filter(|below| !below.as_ref().is_empty());
        let list = || async {
            let listed = match &before {
                Some(before) => bucket.list_with_offset(below.as_ref(), before),
                None => bucket.list(below.as_ref()),
            };
            let own = |location: &Path| self.location.own(location.as_ref()).map(ToOwned::to_owned);
            let keys = listed.try_filter_map(|meta| std::future::ready(Ok(own(&meta.location))));
            let is_over = |key: &String| key.as_str() > prefix && !key.starts_with(prefix);
            keys.try_take_while(|key| std::future::ready(Ok(!is_over(key)))).try_collect::<Vec<String>>().await
        };
        let mut keys = self.attempt("list", prefix, list).await?.unwrap_or_default();
        keys.retain(|key| key.starts_with(prefix) && check_key(key).is_ok());
        keys.sort_unstable();
        Ok(keys)
    }
}

impl Condition {
    fn mode(&self) -> PutMode {
        match self {
            Self::Absent => PutMode::Create,
            Self::Tag(tag) => PutMode::Update(UpdateVersion { e_tag: Some(tag.clone()), version: None }),
        }
    }
}

/// The pauses between attempts.
fn pauses() -> impl Iterator<Item = Duration> {
    (0..ATTEMPTS - 1).map(|attempt| LONGEST_PAUSE.min(PAUSE * 2_u32.pow(attempt)))
}

async fn wait(reason: &str, pause: Duration) {
    tracing::info!(reason, pause = pause.as_secs_f64(), "another attempt");
    tokio::time::sleep(pause).await;
}

impl Store for S3Store {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Stored>, StateError>> {
        async move {
            check_key(key)?;
            self.read(key).await
        }
        .boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StateError>> {
        self.keys(prefix).boxed()
    }

    fn put_if_absent<'a>(&'a self, key: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<String, StateError>> {
        async move {
            check_key(key)?;
            self.write(key, bytes, Condition::Absent).await
        }
        .boxed()
    }

    fn put_if_match<'a>(&'a self, key: &'a str, bytes: &'a [u8], tag: &'a str) -> BoxFuture<'a, Result<String, StateError>> {
        async move {
            check_key(key)?;
            self.write(key, bytes, Condition::Tag(tag.to_owned())).await
        }
        .boxed()
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StateError>> {
        async move {
            check_key(key)?;
            self.delete(key).await
        }
        .boxed()
    }

    fn remove_all<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<(), StateError>> {
        async move { if keys.is_empty() { Ok(()) } else { self.delete_all(keys).await } }.boxed()
    }

    fn lock<'a>(&'a self, key: &'a str, holder: &'a Holder) -> BoxFuture<'a, Result<Box<dyn Lock>, StateError>> {
        async move {
            check_key(key)?;
            Ok(Box::new(lock::take(self, key, holder).await?) as Box<dyn Lock>)
        }
        .boxed()
    }

    fn holding<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Holding>, StateError>> {
        async move {
            let Some(seen) = self.look_at_lock(key).await? else { return Ok(None) };
            Ok(seen.holding.map(|holding| Holding { last_heard: seen.last_heard, ..holding }))
        }
        .boxed()
    }

    fn look_at_lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Seen>, StateError>> {
        async move {
            check_key(key)?;
            lock::look(self, key).await
        }
        .boxed()
    }

    fn break_lock<'a>(&'a self, key: &'a str, seen: &'a Seen) -> BoxFuture<'a, Result<bool, StateError>> {
        async move {
            check_key(key)?;
            lock::break_it(self, key, seen).await
        }
        .boxed()
    }

    fn linger(&self) -> Linger {
        LINGER
    }

    fn name(&self) -> String {
        self.location.to_string()
    }
}
