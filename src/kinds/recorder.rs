//! The recorder: makes a mutating call with a begin entry before it and an end entry after it, repeats definite
//! refusals, and leaves the entry open when the reply is lost.

use super::kind::{StepError, Subject};
use crate::aws::error::CallError;
use crate::state::file::{Record, Verb};
use crate::state::journal::Permit;
use serde_json::Value;

/// Makes recorded calls for one run.
#[derive(Debug, Clone)]
pub struct Recorder {}

/// A mutating call to be made.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The object.
    pub subject: &'a Subject,
    /// What it does.
    pub verb: Verb,
    /// AWS's name: `CreateVpc`.
    pub operation: &'static str,
    /// The object's id, if it has one.
    pub id: Option<String>,
    /// For a create: the object as applied, without write-only and secret fields.
    pub applied: Option<Value>,
}

impl Recorder {
    /// Makes a call that changes or removes an object. Throttling is repeated with backoff; `NotYet` for as long as the
    /// closed list of waits allows; everything else ends at once.
    pub async fn call<T, F, R>(&self, _call: Call<'_>, _make: F) -> Result<T, StepError>
    where
        F: Fn(Permit) -> R,
        R: Future<Output = Result<T, CallError>>,
    {
        todo!()
    }

    /// Makes a call that makes an object; the end entry carries its record.
    pub async fn create<T, F, R>(
        &self,
        _call: Call<'_>,
        _make: F,
        _record: impl Fn(&T) -> Created,
    ) -> Result<(T, Record), StepError>
    where
        F: Fn(Permit) -> R,
        R: Future<Output = Result<T, CallError>>,
    {
        todo!()
    }
}

/// What a create call gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    /// See [`Record::id`].
    pub id: String,
    /// `status` in ACK's shape.
    pub status: Value,
}
