//! The store contract: what a folder and S3 implement. Nothing may assume that a store can append.

use super::error::StateError;
use super::hash::sha256;
use super::lock::{Holder, Holding, Seen};
use futures::future::BoxFuture;
use std::time::Duration;

/// An object of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What tells this version from others (an `ETag`).
    pub tag: String,
}

/// How long entries may wait for others to share their write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Linger {
    /// Begin entries, for which a call waits.
    pub begin: Duration,
    /// All others.
    pub other: Duration,
}

/// A place for state. Keys are relative paths with `/`; see [`check_key`]. Writes are durable and whole when they
/// return, and a reader never sees half an object. An error leaves open whether the write happened.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// The object, or `None`.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Stored>, StateError>>;

    /// Every key that starts with the prefix, sorted. Lock files, unfinished writes and hidden files are no objects.
    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StateError>>;

    /// Writes an object that must not exist. Error [`StateError::Conflict`] if it does. Returns the new tag.
    fn put_if_absent<'a>(&'a self, key: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<String, StateError>>;

    /// Replaces an object whose tag must be this one. Error [`StateError::Conflict`] if it is not. Returns the new tag.
    fn put_if_match<'a>(&'a self, key: &'a str, bytes: &'a [u8], tag: &'a str) -> BoxFuture<'a, Result<String, StateError>>;

    /// Removes an object that is no longer needed (a folded segment, an old version). No error if it is gone.
    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StateError>>;

    /// Removes objects that are no longer needed. No error if some are gone. Where it fails, some may be removed.
    fn remove_all<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<(), StateError>> {
        Box::pin(async move {
            for key in keys {
                self.remove(key).await?;
            }
            Ok(())
        })
    }

    /// Takes the lock that belongs to an object, which need not exist, without waiting. Whoever changes the object or
    /// its journal holds it; readers do not. Error [`StateError::Locked`], with the key as instance, if another has it.
    fn lock<'a>(&'a self, key: &'a str, holder: &'a Holder) -> BoxFuture<'a, Result<Box<dyn Lock>, StateError>>;

    /// Who says of themselves that they hold the lock that belongs to an object: for people to read. A holder that was
    /// killed still says so. Takes nothing and writes nothing; stores that cannot tell say nothing.
    fn holding<'a>(&'a self, _key: &'a str) -> BoxFuture<'a, Result<Option<Holding>, StateError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The lock that belongs to an object, for whoever thinks of breaking it. `None`: nobody has it, nor had it.
    fn look_at_lock<'a>(&'a self, _key: &'a str) -> BoxFuture<'a, Result<Option<Seen>, StateError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Takes a lock away from the holder that was seen, who notices before its next write. `false`: it is not that
    /// holder's any more. Only at somebody's explicit demand.
    fn break_lock<'a>(&'a self, _key: &'a str, _seen: &'a Seen) -> BoxFuture<'a, Result<bool, StateError>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// What is not as it should be in the place itself: unfinished writes, files that others may read. For people to read;
    /// stores that have no such things say nothing.
    fn untidy(&self) -> BoxFuture<'_, Result<Vec<String>, StateError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// How long entries may wait for others to share their write. Nothing where writes are cheap.
    fn linger(&self) -> Linger {
        Linger::default()
    }

    /// Whether an object is still there, where that is cheap to tell; elsewhere `true`. Asked before each write of the journal.
    fn is_there<'a>(&'a self, _key: &'a str) -> BoxFuture<'a, Result<bool, StateError>> {
        Box::pin(std::future::ready(Ok(true)))
    }

    /// What people know the store by: a path or a URL.
    fn name(&self) -> String;
}

/// A lock that is held. Dropping it releases it too, as far as that goes without waiting.
pub trait Lock: Send + Sync + std::fmt::Debug {
    /// Whether it is still ours: to be asked before each write that others must not make too. Error
    /// [`StateError::LockLost`], with the key as instance, if it is not; another error where that cannot be told.
    fn verify(&self) -> BoxFuture<'_, Result<(), StateError>>;

    /// Returns as soon as it is known, without anybody asking, that it is another's. Never, where only [`Lock::verify`] tells.
    fn lost(&self) -> BoxFuture<'_, StateError> {
        Box::pin(std::future::pending())
    }

    /// Releases it and waits until that is done. What is not ours any more is left alone.
    fn release(self: Box<Self>) -> BoxFuture<'static, Result<(), StateError>>;
}

/// The tag of an object in stores that have no tags of their own: SHA-256 of its bytes, hex.
pub fn tag_of(bytes: &[u8]) -> String {
    sha256(bytes)
}

/// Refuses keys that could leave the store, that it hides, or that belong to its locks. Error [`StateError::BadKey`].
pub fn check_key(key: &str) -> Result<(), StateError> {
    let refuse = |reason| Err(StateError::BadKey { key: key.to_owned(), reason });
    if std::path::Path::new(key).extension().is_some_and(|extension| extension == "lock") {
        return refuse("it ends in .lock, which is kept for locks");
    }
    for part in key.split('/') {
        if part.is_empty() {
            return refuse("a part of it is empty");
        }
        if part.starts_with('.') {
            return refuse("a part of it begins with a dot");
        }
        if part.contains(['\\', ':']) || part.contains(char::is_control) {
            return refuse("it contains a backslash, a colon or a control character");
        }
    }
    Ok(())
}
