//! `fleetctl token`: what kubectl calls. The token is its result; it is in no log.

use crate::aws::arn::{RoleArn, is_region};
use crate::aws::sessions::{Options, SessionError, Sessions};
use crate::aws::token::{Token as Signed, TokenRequest};
use crate::cli::arguments::Token;
use crate::cli::context::Context;
use crate::cli::environment::KUBERNETES_EXEC_INFO;
use crate::cli::error::CliError;
use crate::cli::launch::check_endpoints;
use crate::engine::api::AccountSettings;
use crate::engine::report::EngineError;
use crate::state::file::RoleUsed;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

/// The versions of kubectl's exec credentials, all of which have the same form of answer.
const VERSIONS: [&str; 2] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

/// Prints a token in the form that kubectl reads.
pub(super) async fn run(context: &Context, arguments: &Token) -> Result<u8, CliError> {
    let version = version(context.environment.get(KUBERNETES_EXEC_INFO))?;
    let request = request(arguments)?;
    check_endpoints(&context.environment)?;
    let sessions = Sessions::new(options(arguments)).await;
    let token = sessions.token(&request).await.map_err(failed)?;
    context.printer.json_line(&credential(version, &token));
    Ok(0)
}

fn request(arguments: &Token) -> Result<TokenRequest, CliError> {
    if !is_region(&arguments.region) {
        return Err(CliError::Usage(format!("`{}` is no region: write one like us-west-2", arguments.region)));
    }
    if let Some(arn) = arguments.role_arn.as_ref().filter(|arn| RoleArn::parse(arn).is_none()) {
        return Err(CliError::Usage(format!("`{arn}` is not the ARN of a role: arn:aws:iam::123456789012:role/NAME")));
    }
    let role = arguments.role_arn.as_ref();
    let role = role.map(|arn| RoleUsed { arn: arn.clone(), external_id: arguments.external_id.clone() });
    Ok(TokenRequest { cluster: arguments.cluster.clone(), region: arguments.region.clone(), role })
}

/// Roles are assumed through STS of the cluster's region.
fn options(arguments: &Token) -> Options {
    let account = arguments.role_arn.as_deref().and_then(RoleArn::parse).map(|role| role.account.to_owned());
    let settings = AccountSettings {
        session_name: arguments.session_name.clone(),
        sts_region: Some(arguments.region.clone()),
        ..AccountSettings::default()
    };
    Options { accounts: account.map(|account| (account, settings)).into_iter().collect(), impatient: true, ..Options::default() }
}

/// The version that kubectl asks for.
fn version(asked: Option<&str>) -> Result<&'static str, CliError> {
    let Some(asked) = asked else { return Ok(VERSIONS[0]) };
    let wrong = |what: &str| CliError::Usage(format!("{KUBERNETES_EXEC_INFO} {what}; it is set by kubectl"));
    let asked: Value = serde_json::from_str(asked).map_err(|_| wrong("holds no JSON"))?;
    let asked = asked["apiVersion"].as_str().unwrap_or_default();
    let known = VERSIONS.into_iter().find(|version| *version == asked);
    known.ok_or_else(|| wrong(&format!("asks for `{asked}`, and there is only {}", VERSIONS.join(" and "))))
}

fn credential(version: &str, token: &Signed) -> Value {
    let expires = token.expires.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    json!({
        "kind": "ExecCredential",
        "apiVersion": version,
        "spec": {},
        "status": {"expirationTimestamp": expires, "token": token.text.expose_secret()},
    })
}

fn failed(error: SessionError) -> CliError {
    match error {
        SessionError::Call(error) => EngineError::of_caller(error).into(),
        SessionError::Refused(refusal) => EngineError::Identity(refusal.to_string()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    #[test]
    fn kubectl_gets_the_version_that_it_asks_for() {
        let said = |asked: Option<&str>| version(asked).map_or_else(|error| error.to_string(), ToOwned::to_owned);
        let asking = |version: &str| json!({"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": false}});
        let lines = [
            said(None),
            said(Some(&asking(VERSIONS[0]).to_string())),
            said(Some(&asking(VERSIONS[1]).to_string())),
            said(Some(&asking("client.authentication.k8s.io/v1alpha1").to_string())),
            said(Some("nonsense")),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        client.authentication.k8s.io/v1
        client.authentication.k8s.io/v1
        client.authentication.k8s.io/v1beta1
        KUBERNETES_EXEC_INFO asks for `client.authentication.k8s.io/v1alpha1`, and there is only client.authentication.k8s.io/v1 and client.authentication.k8s.io/v1beta1; it is set by kubectl
        KUBERNETES_EXEC_INFO holds no JSON; it is set by kubectl
        ");
    }

    #[test]
    fn a_credential_has_the_form_that_kubectl_reads() {
        let token = Signed { text: "k8s-aws-v1.abc".into(), expires: DateTime::from_timestamp(1_800_000_000, 0).unwrap() };
        insta::assert_snapshot!(credential(VERSIONS[0], &token), @r#"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{},"status":{"expirationTimestamp":"2027-01-15T08:00:00Z","token":"k8s-aws-v1.abc"}}"#);
    }
}
