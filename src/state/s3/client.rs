//! The way to S3: where it is, and with what keys.

use super::location::Location;
use crate::state::error::StateError;
use futures::future::BoxFuture;
use object_store::aws::{AmazonS3Builder, AwsCredential, S3ConditionalPut, resolve_bucket_region};
use object_store::{ClientOptions, CredentialProvider, ObjectStore, RetryConfig};
use std::sync::Arc;
use std::time::Duration;

/// Access keys. They are in no log and no error.
pub struct Keys {
    /// `AKIA…`.
    pub id: String,
    /// The secret.
    pub secret: String,
    /// What goes with keys that end.
    pub token: Option<String>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keys").finish_non_exhaustive()
    }
}

/// Where keys come from. Asked before each call: it keeps them, and renews them before they end.
pub trait KeySource: Send + Sync + std::fmt::Debug {
    /// The keys, or why there are none.
    fn keys(&self) -> BoxFuture<'_, Result<Keys, String>>;
}

/// What is known of the way to S3.
#[derive(Debug, Clone)]
pub struct Way {
    /// The region that is set, if one is.
    pub region: Option<String>,
    /// The endpoint that is set, if one is.
    pub endpoint: Option<String>,
    /// Where keys come from.
    pub keys: Arc<dyn KeySource>,
}

/// There are no keys. The way in which a reason passes through the library.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NoKeys(pub(super) String);

#[derive(Debug)]
struct Provider(Arc<dyn KeySource>);

#[async_trait::async_trait]
impl CredentialProvider for Provider {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        match self.0.keys().await {
            Ok(Keys { id, secret, token }) => Ok(Arc::new(AwsCredential { key_id: id, secret_key: secret, token })),
            Err(reason) => Err(object_store::Error::Generic { store: "S3", source: Box::new(NoKeys(reason)) }),
        }
    }
}

/// Connecting, and an answer. A write that takes longer than this has an unclear outcome and is looked for.
const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(20);
/// Whoever answers where a bucket lies does so soon; where nobody does, the region that is set counts.
const REGION: Duration = Duration::from_secs(3);

/// The bucket. Without an endpoint its own region is asked for, since the region that is set is that of the fleet.
pub(super) async fn connect(location: &Location, way: Way) -> Result<Arc<dyn ObjectStore>, StateError> {
    let options = ClientOptions::new().with_connect_timeout(CONNECT).with_timeout(ANSWER);
    let failed =
        |reason: String| StateError::Store { action: "reach", key: location.to_string(), source: std::io::Error::other(reason) };
    // What is attempted again, and what is looked for before that, is decided by the store.
    let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(location.bucket())
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_credentials(Arc::new(Provider(way.keys)))
        .with_retry(retry);
    let is_plain = way.endpoint.as_deref().is_some_and(|endpoint| endpoint.to_ascii_lowercase().starts_with("http://"));
    let region = match (&way.endpoint, way.region) {
        (Some(_), region) => region.unwrap_or_else(|| "us-east-1".to_owned()),
        (None, region) => region_of(location, region).await.ok_or_else(|| {
            failed("nothing says in which region the bucket is, and S3 does not tell: set AWS_REGION".to_owned())
        })?,
    };
    if let Some(endpoint) = way.endpoint {
        builder = builder.with_endpoint(endpoint.trim_end_matches('/'));
    } else if region.starts_with("cn-") {
        builder = builder.with_endpoint(format!("https://s3.{region}.amazonaws.com.cn"));
    }
    let client = builder.with_region(region).with_client_options(options.with_allow_http(is_plain)).build();
    Ok(Arc::new(client.map_err(|error| failed(error.to_string()))?))
}

async fn region_of(location: &Location, set: Option<String>) -> Option<String> {
    let options = ClientOptions::new().with_connect_timeout(REGION).with_timeout(REGION);
    let asked = tokio::time::timeout(REGION, resolve_bucket_region(location.bucket(), &options)).await;
    asked.ok().and_then(Result::ok).or(set)
}
