//! The journal: one durable begin entry before each mutating call, one durable end entry after it.

use super::clock::Clock;
use super::error::StateError;
use super::file::{Begin, DefinitionsUsed, InstanceKey, Record, RoleUsed, StateFile, Verb};
use super::writer::{Draft, Request};
use crate::graph::identity::{Address, Identity};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// One entry. What a segment of the journal holds, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
pub enum Entry {
    /// A mutating call is about to be made.
    Begin(Box<Begin>),
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
    /// Only for a begin entry that is durable.
    pub(super) fn of(begin: &Begin) -> Self {
        Self { entry: begin.entry, token: begin.token.clone() }
    }

    /// The right to make the same call once more, with the same client token: AWS takes the two for one. Only for calls that
    /// carry the token.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { entry: self.entry, token: self.token.clone() }
    }

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

/// The journal of an open state. Cheap to clone; entries that arrive while a durable write is under way share the next.
///
/// Every method returns when its entry is durable. Errors: [`StateError::Journal`] if it could not be written (after the
/// first such error nothing is begun any more), [`StateError::Closed`] after the session ended.
#[derive(Clone)]
pub struct Journal {
    instance: Arc<InstanceKey>,
    requests: mpsc::UnboundedSender<Request>,
    state: watch::Receiver<Arc<StateFile>>,
    is_open: watch::Receiver<bool>,
    clock: Clock,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Journal").field("instance", &self.instance).finish_non_exhaustive()
    }
}

impl Journal {
    pub(super) fn new(
        instance: InstanceKey,
        requests: mpsc::UnboundedSender<Request>,
        (state, is_open): (watch::Receiver<Arc<StateFile>>, watch::Receiver<bool>),
        clock: Clock,
    ) -> Self {
        Self { instance: Arc::new(instance), requests, state, is_open, clock }
    }

    /// Writes a begin entry and, once it is durable, gives the permit. Error [`StateError::Unresolved`] while an earlier
    /// create for the object is open, and for a create while anything for the object is: what may have been made must be
    /// looked up first. Changes and deletes of an object, which may be repeated, can be open side by side.
    pub async fn begin(&self, intent: Intent) -> Result<Permit, StateError> {
        self.write(Draft::Begin(Box::new(intent))).await?.ok_or_else(|| self.closed())
    }

    /// Ends a begin entry. Error [`StateError::NotOpen`] if it is not open.
    pub async fn end(&self, entry: u64, outcome: Outcome, record: Option<Record>) -> Result<(), StateError> {
        self.entry(Entry::End { begin: entry, outcome, record: record.map(Box::new) }).await
    }

    /// Records a resource as it is now.
    pub async fn put(&self, record: Record) -> Result<(), StateError> {
        self.entry(Entry::Put { record: Box::new(record) }).await
    }

    /// Removes a record, after AWS said that the object is not there.
    pub async fn forget(&self, identity: &Identity) -> Result<(), StateError> {
        self.entry(Entry::Forget { identity: identity.clone() }).await
    }

    /// Records the definitions in use.
    pub async fn definitions(&self, used: DefinitionsUsed) -> Result<(), StateError> {
        self.entry(Entry::Definitions { used }).await
    }

    /// Records how long a wait took, to the millisecond. What is no length of time is not recorded.
    pub async fn duration(&self, what: String, seconds: f64) -> Result<(), StateError> {
        if !seconds.is_finite() || seconds < 0.0 {
            return Ok(());
        }
        self.entry(Entry::Duration { what, seconds: (seconds * 1000.0).round() / 1000.0 }).await
    }

    /// The state as it is now, entries included.
    pub fn snapshot(&self) -> StateFile {
        self.view(StateFile::clone)
    }

    /// Looks at the state as it is now, entries included, without copying it.
    pub fn view<T>(&self, look: impl FnOnce(&StateFile) -> T) -> T {
        // Not under the channel's lock: a look that reads the state once more would wait for the writer, and it for us.
        let state = self.state.borrow().clone();
        look(&state)
    }

    /// Whether anything is begun any more: not after an entry could not be written.
    pub fn is_open(&self) -> bool {
        *self.is_open.borrow()
    }

    /// Returns when nothing is begun any more.
    pub async fn wait_closed(&self) {
        // An error means that the writer has ended, which comes to the same.
        let _ = self.is_open.clone().wait_for(|is_open| !is_open).await;
    }

    /// The time, by the clock that the session was opened with.
    pub fn now(&self) -> DateTime<Utc> {
        (self.clock)()
    }

    async fn entry(&self, entry: Entry) -> Result<(), StateError> {
        self.write(Draft::Entry(entry)).await.map(|_| ())
    }

    async fn write(&self, draft: Draft) -> Result<Option<Permit>, StateError> {
        let (reply, written) = oneshot::channel();
        self.requests.send(Request::Write { draft, reply }).map_err(|_| self.closed())?;
        written.await.unwrap_or_else(|_| Err(self.closed()))
    }

    fn closed(&self) -> StateError {
        StateError::Closed { instance: self.instance.to_string() }
    }
}
