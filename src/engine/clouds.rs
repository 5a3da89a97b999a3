//! The services of every account and region that a run touches.

use super::report::EngineError;
use crate::aws::error::{CallError, ErrorClass};
use crate::aws::sessions::{SessionError, Sessions, Target};
use crate::graph::identity::Identity;
use crate::state::file::RoleUsed;
use std::sync::Arc;

/// The services that reach an object. Its account is compared with what `sts:GetCallerIdentity` says first.
pub(super) async fn target(
    sessions: &Sessions,
    identity: &Identity,
    role: Option<&RoleUsed>,
    instance: &str,
) -> Result<Arc<Target>, EngineError> {
    sessions.target(&identity.account, &identity.region, role, instance).await.map_err(|error| match error {
        SessionError::Call(error) => caller_error(error),
        SessionError::Refused(refusal) if refusal.offline => EngineError::Selector(refusal.to_string()),
        SessionError::Refused(refusal) => EngineError::Identity(refusal.to_string()),
    })
}

/// Credentials that do not work end with another exit code than a network that does not.
pub(super) fn caller_error(error: CallError) -> EngineError {
    match error.class {
        // Without credentials nobody was asked: there is no call to name.
        ErrorClass::Credentials if error.operation == "credentials" => EngineError::Identity(error.message),
        ErrorClass::Credentials | ErrorClass::Denied => EngineError::Identity(error.to_string()),
        _ => EngineError::Read(error),
    }
}
