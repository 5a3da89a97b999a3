//! A store in memory, for tests and simulations.

use super::error::StateError;
use super::lock::{Holder, Holding};
use super::store::{Lock, Store, Stored, check_key, tag_of};
use futures::future::{BoxFuture, FutureExt as _, ready};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A store in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    objects: BTreeMap<String, Vec<u8>>,
    locks: BTreeMap<String, String>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A store with these objects, unlocked.
    pub fn with(objects: BTreeMap<String, Vec<u8>>) -> Self {
        Self { inner: Arc::new(Mutex::new(Inner { objects, locks: BTreeMap::new() })) }
    }

    /// A copy of every object.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.inner().objects.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, key: &str, bytes: &[u8], expected: Option<&str>) -> Result<String, StateError> {
        check_key(key)?;
        let mut inner = self.inner();
        let found = inner.objects.get(key).map(|bytes| tag_of(bytes));
        if found.as_deref() != expected {
            return Err(StateError::Conflict { key: key.to_owned() });
        }
        inner.objects.insert(key.to_owned(), bytes.to_vec());
        Ok(tag_of(bytes))
    }

    fn take_lock(&self, key: &str, holder: &Holder) -> Result<Box<dyn Lock>, StateError> {
        check_key(key)?;
        let mut inner = self.inner();
        if let Some(holder) = inner.locks.get(key) {
            return Err(StateError::Locked { instance: key.to_owned(), holder: holder.clone() });
        }
        inner.locks.insert(key.to_owned(), Holding::from_now(holder).to_string());
        Ok(Box::new(MemoryLock { store: self.clone(), key: key.to_owned() }))
    }
}

impl Store for MemoryStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Stored>, StateError>> {
        let found = self.inner().objects.get(key).map(|bytes| Stored { tag: tag_of(bytes), bytes: bytes.clone() });
        ready(check_key(key).map(|()| found)).boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StateError>> {
        let keys = self.inner().objects.keys().filter(|key| key.starts_with(prefix)).cloned().collect();
        ready(Ok(keys)).boxed()
    }

    fn put_if_absent<'a>(&'a self, key: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<String, StateError>> {
        ready(self.put(key, bytes, None)).boxed()
    }

    fn put_if_match<'a>(&'a self, key: &'a str, bytes: &'a [u8], tag: &'a str) -> BoxFuture<'a, Result<String, StateError>> {
        ready(self.put(key, bytes, Some(tag))).boxed()
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StateError>> {
        let checked = check_key(key).map(|()| {
            self.inner().objects.remove(key);
        });
        ready(checked).boxed()
    }

    fn lock<'a>(&'a self, key: &'a str, holder: &'a Holder) -> BoxFuture<'a, Result<Box<dyn Lock>, StateError>> {
        ready(self.take_lock(key, holder)).boxed()
    }

    fn name(&self) -> String {
        "memory".to_owned()
    }
}

#[derive(Debug)]
struct MemoryLock {
    store: MemoryStore,
    key: String,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.store.inner().locks.remove(&self.key);
    }
}

impl Lock for MemoryLock {
    fn verify(&self) -> BoxFuture<'_, Result<(), StateError>> {
        let is_held = self.store.inner().locks.contains_key(&self.key);
        let lost = || StateError::LockLost { instance: self.key.clone(), reason: "it is gone".to_owned() };
        ready(if is_held { Ok(()) } else { Err(lost()) }).boxed()
    }

    fn release(self: Box<Self>) -> BoxFuture<'static, Result<(), StateError>> {
        drop(self);
        ready(Ok(())).boxed()
    }
}
