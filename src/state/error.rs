//! What can go wrong with state.

/// What can go wrong with state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Somebody else holds the lock.
    #[error("the state of {instance} is locked by {holder}")]
    Locked {
        /// The instance.
        instance: String,
        /// The holder: pid, host, user, command, since when.
        holder: String,
    },
    /// The file was written by a newer fleetctl.
    #[error("{key} has version {found}, this fleetctl reads up to {known}: use a newer fleetctl")]
    NewerVersion {
        /// Key in the store.
        key: String,
        /// Version found.
        found: u64,
        /// Newest version this program reads.
        known: u64,
    },
    /// The file or a journal segment does not parse.
    #[error("{key} is damaged: {reason}")]
    Damaged {
        /// Key in the store.
        key: String,
        /// Why.
        reason: String,
    },
    /// Somebody else wrote between our read and our write.
    #[error("{key} was changed by somebody else meanwhile")]
    Conflict {
        /// Key in the store.
        key: String,
    },
    /// The store failed.
    #[error("{key}: {source}")]
    Store {
        /// Key or path.
        key: String,
        /// Why.
        source: std::io::Error,
    },
}
