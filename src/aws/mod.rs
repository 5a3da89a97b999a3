//! AWS: sessions, readers and writers, rate limits, error translation, tags.
//!
//! Each service has a *reader* and a *writer*: structs with one inherent method per operation used; the SDK client
//! inside is private. Readers keep the SDK's standard retry. Writers make one attempt, and each of their methods
//! consumes a [`Permit`](crate::state::journal::Permit): a change without a record does not compile.

pub mod arn;
mod batch;
mod clients;
pub mod cloud;
mod codes;
pub mod ec2;
pub mod eks;
pub mod error;
pub mod facts;
pub mod iam;
pub mod identity;
pub mod limits;
mod lineages;
mod lookups;
mod operations;
pub mod pages;
mod profile;
pub mod reading;
pub(crate) mod redact;
mod refusals;
pub mod servicequotas;
pub mod sessions;
#[cfg(test)]
pub(crate) mod simulated;
pub mod state_bucket;
pub mod sts;
pub mod tags;
pub mod token;

/// Service and name of each operation that changes something.
#[cfg(test)]
pub(crate) fn operations_that_change() -> impl Iterator<Item = (&'static str, &'static str)> {
    [ec2::Writer::OPERATIONS, eks::Writer::OPERATIONS, iam::Writer::OPERATIONS].into_iter().flatten().copied()
}
