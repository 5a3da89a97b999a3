//! The store contract: what a folder implements now and S3 can later. Nothing may assume that a store can append.

use super::error::StateError;
use futures::future::BoxFuture;

/// An object of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What tells this version from others (an ETag).
    pub tag: String,
}

/// A place for state. Keys are relative paths with `/`. Writes are durable when they return.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// The object, or `None`.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Stored>, StateError>>;

    /// Every key that starts with the prefix, sorted.
    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StateError>>;

    /// Writes an object that must not exist. Error [`StateError::Conflict`] if it does. Returns the new tag.
    fn put_if_absent<'a>(&'a self, key: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<String, StateError>>;

    /// Replaces an object whose tag must be this one. Error [`StateError::Conflict`] if it is not. Returns the new tag.
    fn put_if_match<'a>(&'a self, key: &'a str, bytes: &'a [u8], tag: &'a str) -> BoxFuture<'a, Result<String, StateError>>;

    /// Removes an object that is no longer needed (a folded segment, an old version). No error if it is gone.
    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StateError>>;

    /// What people know the store by: a path or a URL.
    fn name(&self) -> String;
}
