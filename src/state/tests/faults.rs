//! A store in memory that remembers what it looked like after every write, and fails when told to.

use super::Portable;
use crate::state::error::StateError;
use crate::state::lock::Holder;
use crate::state::memory::MemoryStore;
use crate::state::store::{Linger, Lock, Store, Stored};
use futures::future::{BoxFuture, ready};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

pub(super) type Objects = BTreeMap<String, Vec<u8>>;

/// How a write fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// Nothing was written.
    Undone,
    /// It was written, but the store said that it was not.
    Done,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Faulty<S: Portable = MemoryStore> {
    pub(super) inner: S,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Debug, Default)]
struct Plan {
    writes: usize,
    /// The first and the last write that fail, and how.
    failing: Option<(usize, usize, Failure)>,
    history: Vec<Objects>,
}

impl<S: Portable> Faulty<S> {
    /// A store whose writes fail from one to another; the first write is number 0.
    pub(super) fn failing(first: usize, last: usize, how: Failure) -> Self {
        let plan = Plan { failing: Some((first, last, how)), ..Plan::default() };
        Self { inner: S::default(), plan: Arc::new(Mutex::new(plan)) }
    }

    /// [`Faulty::failing`] over a store that is there already.
    pub(super) fn over(inner: S, first: usize, last: usize, how: Failure) -> Self {
        Self { inner, ..Self::failing(first, last, how) }
    }

    /// A store with these objects that never fails.
    pub(super) fn with(objects: Objects) -> Self {
        Self { inner: S::with(objects), plan: Arc::default() }
    }

    /// How many writes there were.
    pub(super) fn writes(&self) -> usize {
        self.plan.lock().unwrap().writes
    }

    /// A store that goes on failing does not answer reads either, once it has begun.
    fn is_down(&self) -> bool {
        let plan = self.plan.lock().unwrap();
        plan.failing.is_some_and(|(first, last, _)| last == usize::MAX && plan.writes > first)
    }

    /// How many writes were carried out.
    pub(super) fn carried_out(&self) -> usize {
        self.plan.lock().unwrap().history.len()
    }

    /// What the store looked like after each write.
    pub(super) fn history(&self) -> Vec<Objects> {
        self.plan.lock().unwrap().history.clone()
    }

    async fn write<T>(&self, write: BoxFuture<'_, Result<T, StateError>>) -> Result<T, StateError> {
        let failure = {
            let mut plan = self.plan.lock().unwrap();
            plan.writes += 1;
            let number = plan.writes - 1;
            plan.failing.filter(|(first, last, _)| (*first..=*last).contains(&number)).map(|(_, _, how)| how)
        };
        // Other tasks go on while a write is under way.
        tokio::task::yield_now().await;
        if failure == Some(Failure::Undone) {
            return Err(failed("write"));
        }
        let written = write.await;
        self.plan.lock().unwrap().history.push(self.inner.objects());
        if failure == Some(Failure::Done) { Err(failed("write")) } else { written }
    }
}

fn failed(action: &'static str) -> StateError {
    StateError::Store { action, key: "store".into(), source: io::Error::from(io::ErrorKind::StorageFull) }
}

impl<S: Portable> Portable for Faulty<S> {
    fn objects(&self) -> Objects {
        self.inner.objects()
    }

    fn with(objects: Objects) -> Self {
        Faulty::with(objects)
    }
}

impl<S: Portable> Store for Faulty<S> {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Stored>, StateError>> {
        if self.is_down() { Box::pin(ready(Err(failed("read")))) } else { self.inner.get(key) }
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StateError>> {
        if self.is_down() { Box::pin(ready(Err(failed("read")))) } else { self.inner.list(prefix) }
    }

    fn put_if_absent<'a>(&'a self, key: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<String, StateError>> {
        Box::pin(self.write(Box::pin(async move { self.inner.put_if_absent(key, bytes).await })))
    }

    fn put_if_match<'a>(&'a self, key: &'a str, bytes: &'a [u8], tag: &'a str) -> BoxFuture<'a, Result<String, StateError>> {
        Box::pin(self.write(Box::pin(async move { self.inner.put_if_match(key, bytes, tag).await })))
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StateError>> {
        Box::pin(self.write(Box::pin(async move { self.inner.remove(key).await })))
    }

    fn lock<'a>(&'a self, key: &'a str, holder: &'a Holder) -> BoxFuture<'a, Result<Box<dyn Lock>, StateError>> {
        self.inner.lock(key, holder)
    }

    fn linger(&self) -> Linger {
        self.inner.linger()
    }

    fn name(&self) -> String {
        self.inner.name()
    }
}
