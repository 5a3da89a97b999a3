//! Opening state: for changing, with the lock; for reading, without.

use super::error::StateError;
use super::file::{InstanceKey, StateFile};
use super::journal::Journal;
use super::store::Store;
use std::sync::Arc;

/// An instance's state, open for changing. Dropping it releases the lock without folding.
#[derive(Debug)]
pub struct Session {}

/// Who opens a state: written into the lock for others to see.
#[derive(Debug, Clone)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Host name.
    pub host: String,
    /// User name.
    pub user: String,
    /// The command line, without secrets.
    pub command: String,
}

impl Session {
    /// Takes the lock, reads the file (or makes one with a new lineage), replays and folds the journal.
    pub async fn open(_store: Arc<dyn Store>, _instance: InstanceKey, _holder: Holder) -> Result<Self, StateError> {
        todo!()
    }

    /// The journal.
    pub fn journal(&self) -> Journal {
        todo!()
    }

    /// Folds the journal into the file and releases the lock.
    pub async fn close(self) -> Result<StateFile, StateError> {
        todo!()
    }
}

/// Reads an instance's state without lock, journal replayed in memory. `None` if there is none.
pub async fn read(_store: &dyn Store, _instance: &InstanceKey) -> Result<Option<StateFile>, StateError> {
    todo!()
}

/// Every state in a store.
pub async fn read_all(_store: &dyn Store) -> Result<Vec<StateFile>, StateError> {
    todo!()
}
