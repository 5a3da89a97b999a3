//! Tokens for the Kubernetes API of a cluster, as EKS takes them: a call of `sts:GetCallerIdentity`, signed in advance,
//! which the cluster makes to find out who is asking. It is bound to the cluster by a header that is signed too.

use super::error::{CallError, ErrorClass};
use super::sessions::{SessionError, Sessions};
use crate::state::file::RoleUsed;
use aws_config::SdkConfig;
use aws_credential_types::Credentials;
use aws_sdk_sts::config::endpoint::{DefaultResolver, Params, ResolveEndpoint as _};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_types::service_config::ServiceConfigKey;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, SubsecRound as _, Utc};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::SecretString;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

/// What a token begins with.
const PREFIX: &str = "k8s-aws-v1.";
/// The header that binds a token to its cluster.
const CLUSTER_HEADER: &str = "x-k8s-aws-id";
const QUERY: &str = "Action=GetCallerIdentity&Version=2011-06-15";
/// What the signature says of its own life. EKS goes by the time of signing instead, and takes 15 minutes.
const EXPIRES: Duration = Duration::from_mins(1);
/// How long a token is used: a minute less than EKS takes it.
const USED: Duration = Duration::from_mins(14);

/// What a query leaves as it is.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Which token is wanted.
#[derive(Debug, Clone)]
pub struct TokenRequest {
    /// The name that EKS has for the cluster.
    pub cluster: String,
    /// The cluster's region, whose STS is named in the token.
    pub region: String,
    /// The role that the token is for; `None` for the caller's own credentials.
    pub role: Option<RoleUsed>,
}

/// A token, and until when it is good. Whoever has it is the caller to that cluster for that long.
#[derive(Debug)]
pub struct Token {
    /// `k8s-aws-v1.…`.
    pub text: SecretString,
    /// When to get another one.
    pub expires: DateTime<Utc>,
}

impl Sessions {
    /// A token. Without a role this calls nothing that the credentials themselves do not need.
    pub async fn token(&self, request: &TokenRequest) -> Result<Token, SessionError> {
        let (config, credentials) = self.credentials(request.role.as_ref(), &request.cluster).await?;
        let endpoint = endpoint(&config, &request.region).await.map_err(|reason| unsigned(&reason))?;
        let now = config.time_source().map_or_else(SystemTime::now, |time| time.now());
        let url = presign(&endpoint, request, &credentials, now).map_err(|reason| unsigned(&reason))?;
        let text = SecretString::from(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(url)));
        Ok(Token { text, expires: expires(now, credentials.expiry()) })
    }
}

/// A token lives no longer than the credentials that signed it.
fn expires(now: SystemTime, credentials: Option<SystemTime>) -> DateTime<Utc> {
    let end = now + USED;
    DateTime::<Utc>::from(credentials.map_or(end, |credentials| credentials.min(end))).trunc_subsecs(0)
}

/// Where STS of a region is, by the SDK's own rules: `AWS_ENDPOINT_URL_STS`, profiles, partitions.
async fn endpoint(config: &SdkConfig, region: &str) -> Result<String, String> {
    let key = ServiceConfigKey::builder().service_id("STS").env("AWS_ENDPOINT_URL").profile("endpoint_url").build();
    let of_service = key.ok().and_then(|key| config.service_config()?.load_config(key));
    let parameters = Params::builder()
        .region(region)
        .set_use_fips(config.use_fips())
        .set_use_dual_stack(config.use_dual_stack())
        .set_endpoint(of_service.or_else(|| config.endpoint_url().map(ToOwned::to_owned)))
        .build()
        .map_err(|error| error.to_string())?;
    let endpoint = DefaultResolver::new().resolve_endpoint(&parameters).await.map_err(|error| error.to_string())?;
    Ok(endpoint.url().trim_end_matches('/').to_owned())
}

/// The address of the signed call.
fn presign(endpoint: &str, request: &TokenRequest, credentials: &Credentials, now: SystemTime) -> Result<String, String> {
    let mut settings = SigningSettings::default();
    settings.expires_in = Some(EXPIRES);
    settings.signature_location = SignatureLocation::QueryParams;
    let identity = credentials.clone().into();
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region(&request.region)
        .name("sts")
        .time(now)
        .settings(settings)
        .build()
        .map_err(|error| error.to_string())?
        .into();
    let mut url = format!("{endpoint}/?{QUERY}");
    let headers = [(CLUSTER_HEADER, request.cluster.as_str())];
    let call = SignableRequest::new("GET", url.clone(), headers.into_iter(), SignableBody::Bytes(b""));
    let signed = call.and_then(|call| sign(call, &parameters)).map_err(|error| error.to_string())?;
    for (name, value) in signed.output().params() {
        // Writing to a String cannot fail.
        let _ = write!(url, "&{name}={}", utf8_percent_encode(value, UNRESERVED));
    }
    Ok(url)
}

fn unsigned(reason: &str) -> SessionError {
    SessionError::Call(CallError {
        service: "sts",
        operation: "GetCallerIdentity",
        class: ErrorClass::Final,
        code: "NotSigned".to_owned(),
        message: format!("the token could not be signed: {reason}"),
        request_id: None,
    })
}

#[cfg(test)]
mod tests;
