//! State: the file of each top-level instance, its journal, its lock, and the store that holds them. The only code that
//! writes state.
//!
//! The journal is the truth since the last fold. [`session::Session`] opens an instance's state for changing: it takes
//! the lock, replays and folds the journal, and hands out the [`journal::Journal`]. [`session::read`] replays in memory,
//! takes no lock and writes nothing.

mod bounds;
mod checksum;
pub mod clock;
pub mod elsewhere;
pub mod error;
pub mod file;
pub mod folder;
pub mod hash;
pub mod journal;
mod keys;
pub mod lock;
#[cfg(test)]
pub mod memory;
mod migrate;
pub mod replay;
pub mod s3;
pub mod session;
pub mod store;
pub mod survey;
mod writer;

#[cfg(test)]
mod tests;
