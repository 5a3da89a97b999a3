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
    /// The lock was held and is another's by now. Nothing is begun and nothing is written any more.
    #[error("the lock of {instance} is lost: {reason}. Nothing more was begun; what was under way is looked up by the next run")]
    LockLost {
        /// The instance.
        instance: String,
        /// Who has it instead, as far as can be told.
        reason: String,
    },
    /// There are no credentials for the store, or it does not take them.
    #[error("no way into {store}: {reason}")]
    Credentials {
        /// The store.
        store: String,
        /// Why.
        reason: String,
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
    /// The file or a journal segment does not parse, or they do not fit together.
    #[error("{key} is damaged: {reason}")]
    Damaged {
        /// Key in the store.
        key: String,
        /// Why, and the way out.
        reason: String,
    },
    /// The file is that of another instance: two API groups that have the same kind, or a file that was moved.
    #[error("{key} holds the state of {found}, not of {expected}")]
    OtherInstance {
        /// Key in the store.
        key: String,
        /// The instance in the file.
        found: String,
        /// The instance that was asked for.
        expected: String,
    },
    /// Two states of the store record the same objects.
    #[error(
        "{} of {instance} {} recorded by {other} too ({first}{}): nothing is done with that before only one state has it. {way_out}",
        if *count == 1 { "one object".to_owned() } else { format!("{count} objects") },
        if *count == 1 { "is" } else { "are" },
        if *count == 1 { "" } else { ", …" }
    )]
    RecordedTwice {
        /// The instance.
        instance: String,
        /// The instance whose state records it too.
        other: String,
        /// How many objects.
        count: usize,
        /// The first of them.
        first: String,
        /// How one of the two lets go.
        way_out: String,
    },
    /// Somebody else wrote between our read and our write.
    #[error("{key} was changed by somebody else meanwhile")]
    Conflict {
        /// Key in the store.
        key: String,
    },
    /// A key that no store takes.
    #[error("{key:?} cannot be the name of a state: {reason}")]
    BadKey {
        /// The key.
        key: String,
        /// Why.
        reason: &'static str,
    },
    /// The store failed.
    #[error("cannot {action} {key}: {source}")]
    Store {
        /// What was being done: `read`, `write`, `lock`.
        action: &'static str,
        /// Key or path.
        key: String,
        /// Why.
        source: std::io::Error,
    },
    /// At the end of a run entries could not be written. [`super::session::Session::take_back`] takes them later.
    #[error("{source}; {} in no file", if entries.len() == 1 { "one entry of the journal is".to_owned() } else { format!("{} entries of the journal are", entries.len()) })]
    Unsaved {
        /// Why.
        source: Box<StateError>,
        /// The entries, one JSON object each.
        entries: Vec<String>,
    },
    /// The journal could not be written. No call is made from then on; the end of calls under way is still tried.
    #[error("the journal of {instance} cannot be written: {reason}")]
    Journal {
        /// The instance.
        instance: String,
        /// Why.
        reason: String,
    },
    /// An earlier call for the object has an unknown outcome; it must be looked up before this one can be made.
    #[error("{operation} is not called for {identity}: what came of the earlier {earlier} is not known yet (entry {entry})")]
    Unresolved {
        /// The object.
        identity: String,
        /// The call that was refused.
        operation: String,
        /// The call that is still open.
        earlier: String,
        /// The open begin entry.
        entry: u64,
    },
    /// The end of an entry that is not open: it was ended before, or never begun.
    #[error("entry {entry} is not open")]
    NotOpen {
        /// The entry.
        entry: u64,
    },
    /// The session is closed.
    #[error("the state of {instance} is closed")]
    Closed {
        /// The instance.
        instance: String,
    },
}

impl StateError {
    /// The key in the store of the state that cannot be read.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::NewerVersion { key, .. } | Self::Damaged { key, .. } | Self::OtherInstance { key, .. } => Some(key),
            _ => None,
        }
    }

    /// Whether it comes of a lock that is another's by now.
    pub fn is_lock_lost(&self) -> bool {
        match self {
            Self::LockLost { .. } => true,
            Self::Unsaved { source, .. } => source.is_lock_lost(),
            _ => false,
        }
    }

    /// A damaged object. Whoever reads a whole state adds the way out.
    pub(super) fn damaged(key: &str, reason: impl Into<String>) -> Self {
        Self::Damaged { key: key.to_owned(), reason: reason.into() }
    }
}
