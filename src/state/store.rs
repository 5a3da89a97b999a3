//! The store contract: what a folder implements now and S3 can later. Nothing may assume that a store can append.

use super::error::StateError;
use super::hash::sha256;
use super::lock::{Holder, Holding};
use futures::future::BoxFuture;

/// An object of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What tells this version from others (an `ETag`).
    pub tag: String,
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

    /// Takes the lock that belongs to an object, which need not exist, without waiting. Whoever changes the object or
    /// its journal holds it; readers do not. Error [`StateError::Locked`], with the key as instance, if another has it.
    fn lock<'a>(&'a self, key: &'a str, holder: &'a Holder) -> BoxFuture<'a, Result<Box<dyn Lock>, StateError>>;

    /// Who says of themselves that they hold the lock that belongs to an object: for people to read. A holder that was
    /// killed still says so. Takes nothing and writes nothing; stores that cannot tell say nothing.
    fn holding<'a>(&'a self, _key: &'a str) -> BoxFuture<'a, Result<Option<Holding>, StateError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// What people know the store by: a path or a URL.
    fn name(&self) -> String;
}

/// A lock that is held. Dropping it releases it too, as far as that goes without waiting.
pub trait Lock: Send + Sync + std::fmt::Debug {
    /// Releases it and waits until that is done.
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
