//! What to say when STS does not let us into an account, and the way out.

use super::codes::is_credentials;
use super::error::{CallError, ErrorClass};
use super::identity::Refusal;
use super::sessions::Caller;
use crate::state::file::RoleUsed;

/// The base credentials do not work, or STS could not be asked with them. `profile` is what there is to be said of the
/// profile in use, where no credentials were found.
pub(super) fn of_caller(error: CallError, profile: &str) -> CallError {
    let never_asked = error.operation == "credentials";
    let (code, hint) = match (error.code.as_str(), error.class) {
        ("NoCredentials", _) => {
            let message = format!("no AWS credentials found ({}): {SIGN_IN}", missing(&error.message, profile));
            return CallError { class: ErrorClass::Credentials, message, ..error };
        }
        ("ExpiredToken" | "ExpiredTokenException" | "RequestExpired", _) => {
            ("ExpiredToken", "the AWS credentials have expired: get new ones, for instance with `aws sso login`")
        }
        (_, ErrorClass::NotYet | ErrorClass::Unclear) => {
            ("Unreachable", "STS could not be reached: check the network, proxies and AWS_ENDPOINT_URL")
        }
        (_, ErrorClass::Throttled) => return error,
        (_, _) if never_asked => {
            let message =
                format!("the AWS credentials could not be loaded ({}): {SIGN_IN}", error.message.trim_end_matches([':', ' ']));
            return CallError { class: ErrorClass::Credentials, message, ..error };
        }
        (code, _) => {
            let message = format!("AWS does not accept the credentials: {}", error.message);
            return CallError { class: ErrorClass::Credentials, code: code.to_owned(), message, ..error };
        }
    };
    let message = if error.message.is_empty() { hint.to_owned() } else { format!("{hint} ({})", error.message) };
    CallError { class: ErrorClass::Credentials, code: code.to_owned(), message, ..error }
}

/// The ways to credentials.
const SIGN_IN: &str = "set AWS_PROFILE, sign in with `aws sso login`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";

/// What is missing. The SDK lists everything that it has tried; only a profile that another one names is not said otherwise.
fn missing(message: &str, profile: &str) -> String {
    let referenced = message.split_once("could not find source profile ").map(|(_, rest)| rest);
    match referenced.and_then(|rest| rest.lines().next()).and_then(|rest| rest.split_once(" referenced from ")) {
        Some((missing, by)) if !by.starts_with("the root profile") => {
            format!("the profile `{}` refers to the profile `{missing}`, which does not exist", by.trim_end_matches(')'))
        }
        _ => profile.to_owned(),
    }
}

/// Whether STS refused the role itself, and not the credentials with which it was asked.
pub(super) fn is_of_role(error: &CallError) -> bool {
    error.operation == "AssumeRole" && error.class == ErrorClass::Credentials && !is_credentials(&error.code)
}

/// STS does not give a session of the role.
pub(super) fn of_role(role: &RoleUsed, account: &str, caller: Option<&Caller>, error: &CallError) -> Refusal {
    let who = caller.map_or("the caller", |caller| caller.arn.as_str());
    let with = match &role.external_id {
        Some(id) => format!("with external id `{id}`"),
        None => "without an external id".to_owned(),
    };
    let reason = format!("STS refuses the role {} to {who} ({with}): {}: {}", role.arn, error.code, error.message);
    Refusal::sts(reason, way_out(role, account, who, error))
}

fn way_out(role: &RoleUsed, account: &str, who: &str, error: &CallError) -> String {
    if error.code.contains("RegionDisabled") {
        return format!(
            "STS is not active in that region for account {account}: set accounts.{account}.stsRegion in fleetctl.yaml"
        );
    }
    if error.message.contains("DurationSeconds") {
        return format!(
            "set accounts.{account}.duration in fleetctl.yaml to no more than the role allows (1h where roles are chained)"
        );
    }
    let condition = match &role.external_id {
        Some(id) => format!("on the condition that sts:ExternalId is `{id}`"),
        None => format!("and must not ask for sts:ExternalId, unless accounts.{account}.externalId in fleetctl.yaml gives it"),
    };
    format!(
        "the role must exist, its trust policy must allow sts:AssumeRole to {who} {condition}, and the policies of {who} must allow sts:AssumeRole on it"
    )
}

/// STS names another account than the one that was meant.
pub(super) fn of_account(role: Option<&RoleUsed>, account: &str, caller: &Caller) -> Refusal {
    match role {
        Some(role) => Refusal::sts(
            format!("the role {} leads into account {}, but account {account} was expected", role.arn, caller.account),
            "nothing was changed there; correct the role or the account",
        ),
        None => Refusal::sts(
            format!(
                "the caller's credentials ({}) are of account {}, but account {account} was expected",
                caller.arn, caller.account
            ),
            format!(
                "write an IAMRoleSelector, or set roleName or roleArn under accounts.{account} in fleetctl.yaml, or use credentials of account {account}"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(operation: &'static str, code: &str, message: &str) -> String {
        let (code, message) = (code.to_owned(), message.to_owned());
        let class = ErrorClass::Credentials;
        of_caller(CallError { service: "sts", operation, class, code, message, request_id: None }, "nothing is set").message
    }

    #[test]
    fn only_what_aws_was_asked_is_blamed_on_aws() {
        let attempted = "no credentials found in chain. Attempted:\n  Profile: profile `nope` was not defined: could not find source profile nope referenced from c\n  Other: x";
        let root = attempted.replace("from c", "from the root profile");
        let lines = [
            told("credentials", "NoCredentials", "no credentials found in chain"),
            told("credentials", "NoCredentials", attempted),
            told("credentials", "NoCredentials", &root),
            told("credentials", "InvalidCredentials", "failed to load the cached SSO token"),
            told("GetCallerIdentity", "InvalidClientTokenId", "the token is invalid"),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        no AWS credentials found (nothing is set): set AWS_PROFILE, sign in with `aws sso login`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
        no AWS credentials found (the profile `c` refers to the profile `nope`, which does not exist): set AWS_PROFILE, sign in with `aws sso login`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
        no AWS credentials found (nothing is set): set AWS_PROFILE, sign in with `aws sso login`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
        the AWS credentials could not be loaded (failed to load the cached SSO token): set AWS_PROFILE, sign in with `aws sso login`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
        AWS does not accept the credentials: the token is invalid
        ");
    }
}
