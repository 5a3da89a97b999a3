//! A store in memory, for tests and simulations.

use super::error::StateError;
use super::lock::{Holder, Holding};
use super::store::{Lock, Store, Stored, check_key, tag_of};
use futures::future::{BoxFuture, FutureExt as _, ready};
use std::collections::BTreeMap;
use std::io::ErrorKind;
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
    trouble: Trouble,
}

/// What goes wrong from now on.
#[derive(Debug, Default)]
pub struct Trouble {
    /// After so many writes all others fail like this. On a full disk things can still be removed.
    pub failing: Option<(usize, ErrorKind)>,
    /// So many writes are carried out, but said to have failed.
    pub lost_replies: usize,
    /// So many reads fail after a lost reply.
    pub unread: usize,
}

impl Inner {
    fn fail(&mut self, action: &'static str, key: &str) -> Result<(), StateError> {
        match &mut self.trouble.failing {
            Some((_, ErrorKind::StorageFull)) if action == "remove" => Ok(()),
            Some((0, kind)) => Err(failed(action, key, *kind)),
            Some((left, _)) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

fn failed(action: &'static str, key: &str, kind: ErrorKind) -> StateError {
    StateError::Store { action, key: key.to_owned(), source: kind.into() }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A store with these objects, unlocked.
    pub fn with(objects: BTreeMap<String, Vec<u8>>) -> Self {
        Self { inner: Arc::new(Mutex::new(Inner { objects, ..Inner::default() })) }
    }

    /// A copy of every object.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.inner().objects.clone()
    }

    /// Lets things go wrong, or right again.
    pub fn trouble(&self, trouble: Trouble) {
        self.inner().trouble = trouble;
    }

    /// Removes an object behind everybody's back.
    pub fn lose(&self, key: &str) {
        self.inner().objects.remove(key);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, key: &str, bytes: &[u8], expected: Option<&str>) -> Result<String, StateError> {
        check_key(key)?;
        let mut inner = self.inner();
        inner.fail("write", key)?;
        let found = inner.objects.get(key).map(|bytes| tag_of(bytes));
        if found.as_deref() != expected {
            return Err(StateError::Conflict { key: key.to_owned() });
        }
        inner.objects.insert(key.to_owned(), bytes.to_vec());
        if inner.trouble.lost_replies > 0 {
            inner.trouble.lost_replies -= 1;
            return Err(failed("write", key, ErrorKind::TimedOut));
        }
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
        let mut inner = self.inner();
        if inner.trouble.lost_replies == 0 && inner.trouble.unread > 0 {
            inner.trouble.unread -= 1;
            return ready(Err(failed("read", key, ErrorKind::TimedOut))).boxed();
        }
        let found = inner.objects.get(key).map(|bytes| Stored { tag: tag_of(bytes), bytes: bytes.clone() });
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
        let mut inner = self.inner();
        let checked = check_key(key).and_then(|()| inner.fail("remove", key)).map(|()| {
            inner.objects.remove(key);
        });
        ready(checked).boxed()
    }

    fn lock<'a>(&'a self, key: &'a str, holder: &'a Holder) -> BoxFuture<'a, Result<Box<dyn Lock>, StateError>> {
        ready(self.take_lock(key, holder)).boxed()
    }

    fn is_there<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<bool, StateError>> {
        ready(Ok(self.inner().objects.contains_key(key))).boxed()
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
