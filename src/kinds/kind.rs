//! The interface between the engine and the kinds.

use super::recorder::Recorder;
pub use crate::aws::cloud::{Cloud, Readers};
use crate::aws::error::CallError;
use crate::aws::tags;
pub use crate::aws::tags::{Marks, Owner};
use crate::graph::catalog::{ImpossibleValue, KindDescription};
use crate::graph::identity::{Address, Identity};
use crate::state::error::StateError;
use crate::state::file::{Record, RoleUsed};
use futures::future::BoxFuture;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// One object that a kind works on, and everything it needs for that.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The object.
    pub identity: Identity,
    /// Where it sits.
    pub address: Address,
    /// `aws`, `aws-cn`, `aws-us-gov`.
    pub partition: String,
    /// The role that reaches its account.
    pub role: Option<RoleUsed>,
    /// The marks that make it ours.
    pub marks: Marks,
    /// Tags that settings put on everything (a tag of the same key in the spec wins).
    pub default_tags: BTreeMap<String, String>,
    /// Settings for IAM roles: `rolePath`, `permissionsBoundary`, where the spec says nothing.
    pub role_path: Option<String>,
    /// See `role_path`.
    pub permissions_boundary: Option<String>,
    /// Identities that the record of this object depends on.
    pub dependencies: Vec<Identity>,
}

/// An object as AWS has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// What AWS knows it by (see [`Record::id`]).
    pub id: String,
    /// `spec` in ACK's shape, as read back. For the registration: `metadata` (labels, annotations), `stringData`.
    pub spec: Value,
    /// `status` in ACK's shape: `ackResourceMetadata`, the kind's own fields, without `conditions` (the engine adds
    /// those).
    pub status: Value,
    /// All tags (annotations for the registration), ours and others'.
    pub tags: BTreeMap<String, String>,
    /// How it is.
    pub readiness: Readiness,
}

impl Observed {
    /// Whose object this is.
    pub fn owner(&self, marks: &Marks) -> Owner {
        tags::owner(&self.tags, marks)
    }
}

/// How an object is, seen from AWS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Usable.
    Ready,
    /// On its way; the text is AWS's state: `CREATING`, `pending`.
    Waiting(String),
    /// It will never be ready by itself.
    Failed {
        /// AWS's code.
        code: String,
        /// AWS's message.
        message: String,
    },
    /// It is going away.
    Deleting,
}

/// A failure in one piece: AWS's code and message, the code once where the message begins with it.
pub fn why_failed(code: &str, message: &str) -> String {
    if message.starts_with(code) { message.to_owned() } else { format!("{code}: {message}") }
}

/// How one field of a live object may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changeability {
    /// By [`Kind::configure`].
    InPlace,
    /// Only by making a new object.
    Replacement,
    /// By making a new object, which nobody has to decide: what this one stands for was made anew, as the reason says.
    Follows,
    /// AWS could do it, but fleetctl does not carry it out yet.
    NotCarriedOut,
}

/// A difference between desired and observed.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange {
    /// `spec.tags[Name]`, `spec.version`.
    pub path: String,
    /// What is there.
    pub before: Value,
    /// What is wanted.
    pub after: Value,
    /// How it may be changed.
    pub changeability: Changeability,
    /// Why not in place, for the others: `the CIDR of a subnet cannot be changed`.
    pub reason: Option<&'static str>,
}

/// How long things usually take, before past runs are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Typical {
    /// From the create call until ready.
    pub create: Duration,
    /// From the delete call until gone.
    pub delete: Duration,
    /// After this long something is wrong: the wait ends with an error that says how to go on.
    pub limit: Duration,
}

/// Why a step did not get done.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// AWS refused, and repeating will not help (or was repeated long enough).
    #[error(transparent)]
    Refused(CallError),
    /// The reply was lost. The begin entry stays open; the engine looks before anything else is done to the object.
    #[error("the reply was lost: {0}")]
    Unclear(CallError),
    /// The object is somebody else's.
    #[error("{0}")]
    NotOurs(String),
    /// The journal could not be written. If it was the begin entry, nothing was called; if it was the end entry, the begin
    /// entry stays open and the next run looks what came of the call.
    #[error(transparent)]
    State(#[from] StateError),
    /// The run is being stopped: nothing new is called.
    #[error("stopped before the call was made")]
    Stopped,
}

/// What fleetctl does with objects of one kind. Everything is safe to repeat.
pub trait Kind: Send + Sync {
    /// What the graph language knows of it.
    fn description(&self) -> &KindDescription;

    /// See [`crate::graph::catalog::Catalog::impossible_values`].
    fn impossible_values(&self, object: &Value) -> Vec<ImpossibleValue>;

    /// How long things usually take.
    fn typical(&self) -> Typical;

    /// The differences that matter between what is wanted and what is there. Only what the user set counts, and what
    /// ACK enforces when absent (ack.md 0). `desired` is the rendered object with its known leaves; `applied` what this
    /// state last applied, for fields that AWS does not give back. Pure.
    fn compare(&self, subject: &Subject, desired: &Value, observed: &Observed, applied: Option<&Value>) -> Vec<FieldChange>;

    /// The object that `desired` would make, if it is there already: by name where names are unique, else by our
    /// lineage and address tags. At most one; `None` means that AWS knows none (absence counts by the visibility rule,
    /// which is the engine's).
    fn find<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>>;

    /// The object of a record. `None` when AWS says that it is not there (a deleted NAT gateway counts as not there).
    fn read<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>>;

    /// The object of a record that was just made or changed, while it comes up: like [`Kind::read`], but what AWS tells
    /// only by further calls may be taken from what the record says was applied. For waits, which ask often.
    fn watch<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        self.read(readers, subject, record)
    }

    /// The object of a record as far as one call tells: whether it is there, whose it is and how it is. Its spec may be
    /// incomplete. For removals.
    fn glance<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        self.watch(readers, subject, record)
    }

    /// Whether one call reads many objects of the kind, when they are asked for at one time.
    fn is_read_together(&self) -> bool {
        false
    }

    /// Makes the object: one call, tags with it. The record is in the journal when this returns; the observed object is
    /// what AWS's reply says.
    fn create<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<(Record, Observed), StepError>>;

    /// Makes the calls, and only those, that bring the object from what was observed to what is wanted. Right after
    /// `create` the engine passes what `create` returned as observed, without reading again.
    fn configure<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
        observed: &'a Observed,
    ) -> BoxFuture<'a, Result<(), StepError>>;

    /// The object once all calls of a `configure` right after `create` were accepted, where their replies leave nothing
    /// open; `observed` is what `create` returned. `None`: AWS has to be asked how it is. Pure.
    fn configured(&self, _subject: &Subject, _desired: &Value, _observed: &Observed) -> Option<Observed> {
        None
    }

    /// Sends the delete call (and those that must come before it: detach, disassociate). NotFound is success.
    fn delete<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StepError>>;

    /// Whether an object that bears nobody's marks may be taken over without being asked. Only for what AWS itself makes
    /// beside an object of ours: the access entry of a cluster's creator, and that of Auto Mode's nodes.
    fn adoptable_without_marks(&self, _observed: &Observed) -> bool {
        false
    }

    /// What may become of an object that is there already and bears nobody's marks.
    fn takeover(&self, _observed: &Observed) -> Takeover {
        Takeover::Refused(None)
    }

    /// Whether what AWS knows the object by is never given to another one (`vpc-…`, and not a name). Such an object is ours
    /// when its record says so, even where somebody has taken its tags away.
    fn has_unique_id(&self) -> bool {
        false
    }

    /// Whether [`Kind::find`] goes by our marks, because AWS knows no names of such objects.
    fn is_found_by_marks(&self) -> bool {
        false
    }

    /// What the ids of its objects begin with, for kinds of which there may be a second copy: those that AWS knows no names
    /// of.
    fn prefix_of_ids(&self) -> Option<&'static str> {
        None
    }

    /// Every object with our marks but the recorded one, with what uses it. What is on its way out is none.
    fn copies<'a>(
        &'a self,
        _readers: &'a Readers,
        _subject: &'a Subject,
        _recorded: &'a str,
    ) -> BoxFuture<'a, Result<Vec<SecondCopy>, CallError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// The object as the state may keep it: without write-only and secret fields.
    fn recordable(&self, desired: &Value) -> Value {
        desired.clone()
    }

    /// What of this very object fleetctl does not carry out, beside what the field table says. Called with the known
    /// leaves of a rendered object.
    fn not_carried_out(&self, _object: &Value) -> Vec<NotCarriedOut> {
        Vec::new()
    }

    /// Whether AWS takes the object away together with another one (an add-on with its cluster): kind and the path of
    /// the record's applied object that names it. Destroy does not delete it by itself then.
    fn goes_with(&self) -> Option<GoesWith> {
        None
    }
}

/// An object that bears the marks of a recorded one without being it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecondCopy {
    /// What AWS knows it by.
    pub id: String,
    /// What uses it: ids of AWS. None: nothing stands in the way of removing it.
    pub used_by: Vec<String>,
}

/// What may become of an object that is there already and bears nobody's marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Takeover {
    /// It is left alone. Why, and the way out, where there is more to say than that it is somebody else's.
    Refused(Option<String>),
    /// It may be taken over, by whoever confirms it by name.
    ByName,
}

/// What of an object is not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotCarriedOut {
    /// The object as a whole: the plan names it, and nothing is done.
    Object {
        /// Why.
        reason: String,
    },
    /// A value: the plan refuses it.
    Value {
        /// Path below the object: `stringData.server`.
        path: String,
        /// Why.
        reason: String,
    },
}

/// The object that takes another one away with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoesWith {
    /// Kind of the object that takes it away.
    pub kind: &'static str,
    /// Path below the applied object that holds that object's `spec.name`.
    pub path: &'static str,
}
