//! The journal: one durable begin entry before each mutating call, one durable end entry after it.

use super::error::StateError;
use super::file::{Begin, DefinitionsUsed, Record, RoleUsed, StateFile, Verb};
use crate::graph::identity::{Address, Identity};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One entry. What a segment of the journal holds, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "camelCase")]
pub enum Entry {
    /// A mutating call is about to be made.
    Begin(Begin),
    /// It is over.
    End {
        /// The begin entry's number.
        begin: u64,
        /// How it ended.
        outcome: Outcome,
        /// The record as it is now, if the call changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        record: Option<Box<Record>>,
    },
    /// A record as it is now.
    Put {
        /// The record.
        record: Box<Record>,
    },
    /// AWS said that the object is not there any more.
    Forget {
        /// The object.
        identity: Identity,
    },
    /// The definitions that this run uses.
    Definitions {
        /// The definitions.
        used: DefinitionsUsed,
    },
    /// How long a wait took.
    Duration {
        /// `Cluster.create`.
        what: String,
        /// Seconds.
        seconds: f64,
    },
}

/// How a mutating call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum Outcome {
    /// AWS carried it out.
    Succeeded,
    /// AWS refused it: nothing happened.
    Refused {
        /// AWS's error code.
        code: String,
        /// AWS's message.
        message: String,
    },
    /// The answer was lost; looking afterwards showed that it was carried out.
    FoundDone,
    /// The answer was lost; looking afterwards, when absence counts, showed that it was not carried out.
    FoundUndone,
}

/// The right to make one mutating call. Only the journal makes permits, after the begin entry is durable; the methods of
/// writers consume them.
#[derive(Debug)]
pub struct Permit {
    entry: u64,
    token: String,
}

impl Permit {
    /// Number of the begin entry.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// The client token of the begin entry, for calls that take one.
    pub fn token(&self) -> &str {
        &self.token
    }
}

/// What the caller says of a call that is about to be made.
#[derive(Debug, Clone)]
pub struct Intent {
    /// The object.
    pub identity: Identity,
    /// Where it sits.
    pub address: Address,
    /// The role that is used.
    pub role: Option<RoleUsed>,
    /// What the call does.
    pub verb: Verb,
    /// AWS's name of the call.
    pub operation: &'static str,
    /// The object's id, if it has one.
    pub id: Option<String>,
    /// For a create: the object as it is applied.
    pub applied: Option<Value>,
    /// For a create: what the record will depend on.
    pub dependencies: Vec<Identity>,
}

/// The journal of an open state. Cheap to clone; entries that arrive together share one durable write.
#[derive(Debug, Clone)]
pub struct Journal {}

impl Journal {
    /// Writes a begin entry and, once it is durable, gives the permit.
    pub async fn begin(&self, _intent: Intent) -> Result<Permit, StateError> {
        todo!()
    }

    /// Ends a begin entry.
    pub async fn end(&self, _entry: u64, _outcome: Outcome, _record: Option<Record>) -> Result<(), StateError> {
        todo!()
    }

    /// Records a resource as it is now.
    pub async fn put(&self, _record: Record) -> Result<(), StateError> {
        todo!()
    }

    /// Removes a record, after AWS said that the object is not there.
    pub async fn forget(&self, _identity: &Identity) -> Result<(), StateError> {
        todo!()
    }

    /// Records the definitions in use.
    pub async fn definitions(&self, _used: DefinitionsUsed) -> Result<(), StateError> {
        todo!()
    }

    /// Records how long a wait took.
    pub async fn duration(&self, _what: String, _seconds: f64) -> Result<(), StateError> {
        todo!()
    }

    /// The state as it is now, entries included.
    pub fn snapshot(&self) -> StateFile {
        todo!()
    }
}
