//! What AWS (and Argo CD) answer when they do not do what was asked.

use super::codes::Refused;
use super::redact::redact;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sts::operation::assume_role::AssumeRoleError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::{ErrorMetadata, ProvideErrorMetadata};
use aws_types::request_id::RequestId;
use std::error::Error;
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
pub fn translate<E>(service: &'static str, operation: &'static str, error: &SdkError<E, HttpResponse>) -> CallError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    match error {
        SdkError::ServiceError(refused) if refused.err().meta().code().is_some() => {
            refusal(service, operation, refused.err().meta(), refused.raw().status().as_u16())
        }
        // No code: an answer that the SDK cannot read, whatever its status.
        SdkError::ServiceError(reply) => unreadable(service, operation, reply.raw().status().as_u16(), error),
        // The SDK could not make the request: nothing was sent.
        SdkError::ConstructionFailure(_) => failure(service, operation, ErrorClass::Final, "InvalidRequest", error),
        SdkError::TimeoutError(_) => failure(service, operation, ErrorClass::Unclear, "Timeout", error),
        SdkError::ResponseError(reply) => unreadable(service, operation, reply.raw().status().as_u16(), error),
        _ => credentials(error).unwrap_or_else(|| undelivered(service, operation, error)),
    }
}

/// AWS answered with an error.
fn refusal(service: &'static str, operation: &'static str, meta: &ErrorMetadata, status: u16) -> CallError {
    let code = meta.code().unwrap_or_default();
    let message = meta.message().unwrap_or_default();
    let refused = Refused { operation, code, message, status };
    let message = match refused.quota() {
        Some(quota) => format!("{} (quota: {quota})", redact(message)),
        None => redact(message),
    };
    CallError {
        service,
        operation,
        class: refused.class(),
        code: code.to_owned(),
        message,
        request_id: meta.request_id().map(str::to_owned),
    }
}

/// An answer that is not AWS's. A gateway that refuses has passed nothing on.
fn unreadable(service: &'static str, operation: &'static str, status: u16, error: &(dyn Error + 'static)) -> CallError {
    if (400..500).contains(&status) {
        failure(service, operation, ErrorClass::Final, &format!("HTTP {status}"), error)
    } else {
        failure(service, operation, ErrorClass::Unclear, "UnreadableReply", error)
    }
}

/// The connection failed: before the request was sent, or nobody knows when.
fn undelivered(service: &'static str, operation: &'static str, error: &(dyn Error + 'static)) -> CallError {
    if never_connected(error) {
        return failure(service, operation, ErrorClass::NotYet, "Unreachable", error);
    }
    failure(service, operation, ErrorClass::Unclear, "ConnectionLost", error)
}

/// Whether no connection was made: refused, unknown host, no answer to the handshake.
pub(crate) fn never_connected(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|cause| {
        let client = cause.downcast_ref().is_some_and(hyper_util::client::legacy::Error::is_connect);
        let refused =
            cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused);
        client || refused
    })
}

/// No usable credentials: the call was not made. What STS said counts more than what the SDK makes of it.
fn credentials(error: &(dyn Error + 'static)) -> Option<CallError> {
    // Below the error, not the error itself: that of an AssumeRole whose connection failed comes here too.
    let mut causes = chain(error).skip(1);
    if let Some(refused) = causes.find_map(<dyn Error>::downcast_ref::<SdkError<AssumeRoleError, HttpResponse>>) {
        return Some(assume_role(refused));
    }
    let text = text(error);
    let cause = chain(error).find_map(<dyn Error>::downcast_ref::<CredentialsError>);
    let (class, code) = match cause {
        Some(cause) if never_connected(cause) && !text.contains("IMDS") => (ErrorClass::NotYet, "Unreachable"),
        Some(_) if text.contains("expired") => (ErrorClass::Credentials, "ExpiredToken"),
        Some(CredentialsError::CredentialsNotLoaded(_)) => (ErrorClass::Credentials, "NoCredentials"),
        // The machine's metadata is asked last, when nothing else had any.
        Some(_) if text.contains("IMDS") => (ErrorClass::Credentials, "NoCredentials"),
        Some(_) => (ErrorClass::Credentials, "InvalidCredentials"),
        // The SDK has no types for these two.
        None if text.contains("no identity resolver") => (ErrorClass::Credentials, "NoCredentials"),
        None if text.contains("identity resolver timed out") => (ErrorClass::NotYet, "Unreachable"),
        None => return None,
    };
    let cause = cause.map_or(error, |cause| cause);
    Some(failure("sts", "credentials", class, code, cause))
}

/// STS did not give a session of the role: in any case the call that was to be made with it was not made.
fn assume_role(error: &SdkError<AssumeRoleError, HttpResponse>) -> CallError {
    let refused = translate("sts", "AssumeRole", error);
    let class = match refused.class {
        ErrorClass::Throttled => ErrorClass::Throttled,
        ErrorClass::Unclear | ErrorClass::NotYet => ErrorClass::NotYet,
        _ => ErrorClass::Credentials,
    };
    refused.meaning(class)
}

fn failure(
    service: &'static str,
    operation: &'static str,
    class: ErrorClass,
    code: &str,
    error: &(dyn Error + 'static),
) -> CallError {
    CallError { service, operation, class, code: code.to_owned(), message: redact(&text(error)), request_id: None }
}

/// An error and its causes.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let cause: &'a (dyn Error + 'static) = *error;
        cause.source()
    })
}

/// An error and its causes as one line; a cause that only repeats what was said is left out.
pub(crate) fn text(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for cause in chain(error).map(ToString::to_string) {
        if text.contains(&cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::simulated::{Reply, Simulated, ec2_error};
    use aws_sdk_ec2::config::timeout::TimeoutConfig;
    use aws_smithy_http_client::tls;
    use aws_smithy_types::retry::RetryConfig;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn config() -> aws_sdk_ec2::config::Builder {
        aws_sdk_ec2::Config::builder()
            .region(aws_sdk_ec2::config::Region::new("us-west-2"))
            .behavior_version_latest()
            .retry_config(RetryConfig::disabled())
            .credentials_provider(aws_credential_types::Credentials::new("AKIA", "secret", None, None, "test"))
    }

    async fn create_vpc(config: aws_sdk_ec2::config::Builder) -> CallError {
        let client = aws_sdk_ec2::Client::from_conf(config.build());
        let error = client.create_vpc().cidr_block("10.0.0.0/16").send().await.unwrap_err();
        translate("ec2", "CreateVpc", &error)
    }

    async fn simulated(reply: Reply) -> CallError {
        let timeouts = TimeoutConfig::builder().operation_attempt_timeout(Duration::from_mins(1)).build();
        create_vpc(config().http_client(Simulated::new(move |_| reply.clone())).timeout_config(timeouts)).await
    }

    /// The SDK's own HTTP client against an address.
    async fn real(url: &str) -> CallError {
        let provider = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::AwsLc);
        let http = aws_smithy_http_client::Builder::new().tls_provider(provider).build_https();
        create_vpc(config().endpoint_url(url).http_client(http)).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_keeps_code_message_and_request_id() {
        let error = simulated(ec2_error(400, "VpcLimitExceeded", "The maximum number of VPCs has been reached.")).await;
        assert_eq!(error.class, ErrorClass::Quota);
        assert_eq!(error.code, "VpcLimitExceeded");
        assert_eq!(error.message, "The maximum number of VPCs has been reached. (quota: VPCs per Region)");
        assert_eq!(error.request_id.as_deref(), Some("request-1"));
        assert_eq!(error.to_string(), format!("ec2 CreateVpc: VpcLimitExceeded: {}", error.message));
    }

    #[test]
    fn a_role_that_could_not_be_asked_for_is_asked_for_again() {
        let lost = aws_smithy_runtime_api::client::result::ConnectorError::io("connection reset by peer".into());
        let error = assume_role(&SdkError::dispatch_failure(lost));
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::NotYet, "ConnectionLost"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_reply_and_silence_are_unclear() {
        assert_eq!(simulated(Reply::Lost).await.class, ErrorClass::Unclear);
        let silence = simulated(Reply::Silence).await;
        assert_eq!((silence.class, silence.code.as_str()), (ErrorClass::Unclear, "Timeout"));
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_are_not_aws_s() {
        let html = "<html>bad gateway</html>".to_owned();
        assert_eq!(simulated(Reply::Answer(502, html.clone())).await.class, ErrorClass::Unclear);
        assert_eq!(simulated(Reply::Answer(200, "not XML".into())).await.class, ErrorClass::Unclear);
        let refused = simulated(Reply::Answer(407, html)).await;
        assert_eq!((refused.class, refused.code.as_str()), (ErrorClass::Final, "HTTP 407"));
    }

    #[tokio::test]
    async fn a_connection_that_was_never_made_is_definite() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        for url in [format!("http://127.0.0.1:{port}"), "http://no-such-host.invalid".to_owned()] {
            let error = real(&url).await;
            assert_eq!((error.class, error.code.as_str()), (ErrorClass::NotYet, "Unreachable"), "{url}: {error}");
        }
    }

    #[tokio::test]
    async fn a_failed_handshake_is_definite() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        });
        let error = real(&url).await;
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::NotYet, "Unreachable"), "{error}");
    }

    #[tokio::test]
    async fn a_connection_that_ends_after_the_request_is_unclear() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await.unwrap();
        });
        let error = real(&url).await;
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Unclear, "ConnectionLost"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn missing_credentials_are_told_apart() {
        #[derive(Debug)]
        struct Nothing;
        impl aws_credential_types::provider::ProvideCredentials for Nothing {
            fn provide_credentials<'a>(&'a self) -> aws_credential_types::provider::future::ProvideCredentials<'a>
            where
                Self: 'a,
            {
                let nothing = CredentialsError::not_loaded("no providers in chain provided credentials");
                aws_credential_types::provider::future::ProvideCredentials::ready(Err(nothing))
            }
        }
        let http = Simulated::new(|_| Reply::Lost);
        let error = create_vpc(config().credentials_provider(Nothing).http_client(http.clone())).await;
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Credentials, "NoCredentials"), "{error}");
        assert!(http.calls().is_empty());
    }

    #[test]
    fn causes_become_one_line_without_repetition() {
        let inner = CredentialsError::not_loaded("nothing found");
        let outer = CredentialsError::provider_error(inner);
        let line = text(&outer);
        assert!(line.contains("nothing found"), "{line}");
        assert_eq!(line.matches("nothing found").count(), 1, "{line}");
    }
}
