//! The way to a state in S3: credentials, region and endpoint of the standard chain.

use super::error::{CallError, ErrorClass};
use super::sessions::provide;
use super::{clients, profile, refusals};
use crate::state::s3::{KeySource, Keys, Way};
use aws_config::{BehaviorVersion, SdkConfig};
use aws_credential_types::Credentials;
use aws_types::service_config::ServiceConfigKey;
use futures::future::{BoxFuture, FutureExt as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Credentials are renewed this long before they end.
const BUFFER: Duration = Duration::from_mins(5);

/// The way that environment and profile name. Calls nothing; credentials are loaded when they are asked for.
pub async fn way() -> Way {
    let config = aws_config::defaults(BehaviorVersion::latest())
        .http_client(clients::http())
        .retry_config(clients::identity_retry())
        .timeout_config(clients::read_timeouts())
        .load()
        .await;
    of_config(config)
}

fn of_config(config: SdkConfig) -> Way {
    let region = config.region().map(|region| region.as_ref().to_owned());
    // An endpoint that is set to nothing is refused before that where it matters.
    let is_some = |endpoint: &String| !endpoint.trim().is_empty();
    let endpoint = endpoint(&config).or_else(|| config.endpoint_url().map(ToOwned::to_owned)).filter(is_some);
    Way { region, endpoint, keys: Arc::new(Chain { config, kept: Mutex::default() }) }
}

/// `AWS_ENDPOINT_URL_S3`, or what the profile says of S3.
fn endpoint(config: &SdkConfig) -> Option<String> {
    let key = ServiceConfigKey::builder().service_id("s3").env("AWS_ENDPOINT_URL").profile("endpoint_url").build().ok()?;
    config.service_config()?.load_config(key)
}

/// The credentials of the standard chain, kept until they are about to end.
#[derive(Debug)]
struct Chain {
    config: SdkConfig,
    kept: Mutex<Option<Credentials>>,
}

impl Chain {
    fn kept(&self) -> Option<Credentials> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clone().filter(|kept| kept.expiry().is_none_or(|end| end > SystemTime::now() + BUFFER))
    }

    async fn load(&self) -> Result<Credentials, String> {
        if let Some(kept) = self.kept() {
            return Ok(kept);
        }
        match provide(&self.config).await {
            Ok(loaded) => {
                *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(loaded.clone());
                Ok(loaded)
            }
            Err(reason) => Err(explained(reason).await),
        }
    }
}

/// Why there are no credentials, in the words that are used of every call.
async fn explained(message: String) -> String {
    let is_missing =
        ["no credentials found", "no providers", "nothing to load them from"].iter().any(|part| message.contains(part));
    let code = if is_missing { "NoCredentials" } else { "InvalidCredentials" }.to_owned();
    let profile = if is_missing { profile::describe_real().await } else { String::new() };
    let class = ErrorClass::Credentials;
    let error = CallError { service: "s3", operation: "credentials", class, code, message, request_id: None };
    refusals::of_caller(error, &profile).message
}

impl KeySource for Chain {
    fn keys(&self) -> BoxFuture<'_, Result<Keys, String>> {
        async move {
            let loaded = self.load().await?;
            let token = loaded.session_token().map(ToOwned::to_owned);
            Ok(Keys { id: loaded.access_key_id().to_owned(), secret: loaded.secret_access_key().to_owned(), token })
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Credentials that end after some time, numbered.
    #[derive(Debug)]
    struct Ending(AtomicUsize, Duration);

    impl ProvideCredentials for Ending {
        fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
        where
            Self: 'a,
        {
            let number = self.0.fetch_add(1, Ordering::SeqCst);
            let end = SystemTime::now() + self.1;
            let loaded = Credentials::new(format!("key{number}"), "secret", Some("token".into()), Some(end), "test");
            future::ProvideCredentials::ready(Ok(loaded))
        }
    }

    async fn ids(lasting: Duration) -> Vec<String> {
        let provider = SharedCredentialsProvider::new(Ending(AtomicUsize::new(0), lasting));
        let way = of_config(SdkConfig::builder().credentials_provider(provider).build());
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(way.keys.keys().await.unwrap().id);
        }
        ids
    }

    #[tokio::test]
    async fn credentials_are_kept_and_renewed_before_they_end() {
        assert_eq!(ids(Duration::from_hours(1)).await, ["key0", "key0", "key0"]);
        assert_eq!(ids(Duration::from_mins(4)).await, ["key0", "key1", "key2"]);
    }

    #[tokio::test]
    async fn without_credentials_the_reason_is_said() {
        let keys = of_config(SdkConfig::builder().build()).keys.keys().await.unwrap_err();
        assert!(keys.starts_with("no AWS credentials found (") && keys.contains("aws sso login"), "{keys}");
    }
}
