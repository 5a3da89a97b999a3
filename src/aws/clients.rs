//! Clients per account and region: how readers and writers retry, and how long they wait.

use super::limits::Limits;
use super::{ec2, eks, iam, servicequotas, sts};
use aws_config::SdkConfig;
use aws_sdk_ec2::config::retry::RetryPartition;
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::{Builder, ConnectorBuilder};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use std::time::Duration;

/// Attempts of a reader.
const ATTEMPTS: u32 = 8;
/// Attempts of a look at the identity: whoever has no network should hear it soon.
const IDENTITY_ATTEMPTS: u32 = 3;
/// Attempts of a look at a quota: it is worth little waiting, a plan can do without.
const QUOTA_ATTEMPTS: u32 = 3;
const CONNECT: Duration = Duration::from_secs(5);
const READ: Duration = Duration::from_secs(30);
/// Longer than any write takes: a timeout leaves it unclear whether the write was carried out.
const WRITE: Duration = Duration::from_mins(2);
/// AWS ends idle connections; a write on one that is just ending is lost.
const IDLE: Duration = Duration::from_secs(20);

/// The HTTP client that all clients share: one pool of connections, proxies by the environment as the SDK has it.
pub(super) fn http() -> SharedHttpClient {
    Builder::new().pool_idle_timeout(IDLE).build_with_connector_fn(|settings, components| {
        let mut connector = ConnectorBuilder::default().tls_provider(Provider::Rustls(CryptoMode::AwsLc));
        connector.set_connector_settings(settings.cloned());
        if let Some(components) = components {
            connector.set_sleep_impl(components.sleep_impl());
        }
        connector.set_proxy_config(Some(ProxyConfig::from_env()));
        connector.build()
    })
}

/// The retry of readers, and of STS inside the provider that assumes roles.
pub(super) fn read_retry() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(ATTEMPTS)
}

/// The retry of a look at the identity.
pub(super) fn identity_retry() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(IDENTITY_ATTEMPTS)
}

/// The timeouts of reads. The connect timeout is the same everywhere: clients share connections only then.
pub(super) fn read_timeouts() -> TimeoutConfig {
    TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(READ).build()
}

fn write_timeouts() -> TimeoutConfig {
    TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(WRITE).build()
}

/// A service's reader and writer over one configuration. Retries are paid from a purse of the account and region: one
/// account's throttling takes no retries from the others.
macro_rules! pair {
    ($sdk:ident, $module:ident, $service:literal, $config:expr, $limits:expr, $place:expr) => {{
        let builder = || $sdk::config::Builder::from($config);
        let partition = RetryPartition::new(format!(concat!($service, "-{}"), $place));
        let read = builder()
            .retry_config(read_retry())
            .retry_partition(partition)
            .timeout_config(read_timeouts())
            .interceptor($limits.watch($service));
        let write = builder().retry_config(RetryConfig::disabled()).timeout_config(write_timeouts());
        let reader = $module::Reader::new($sdk::Client::from_conf(read.build()), $limits.clone());
        let writer = $module::Writer::new($sdk::Client::from_conf(write.build()), $limits.clone());
        (reader, writer)
    }};
}

/// EC2 in one account and region (`place`).
pub(super) fn ec2(config: &SdkConfig, limits: &Limits, place: &str) -> (ec2::Reader, ec2::Writer) {
    pair!(aws_sdk_ec2, ec2, "ec2", config, limits, place)
}

/// EKS in one account and region.
pub(super) fn eks(config: &SdkConfig, limits: &Limits, place: &str) -> (eks::Reader, eks::Writer) {
    pair!(aws_sdk_eks, eks, "eks", config, limits, place)
}

/// IAM in one account.
pub(super) fn iam(config: &SdkConfig, limits: &Limits, place: &str) -> (iam::Reader, iam::Writer) {
    pair!(aws_sdk_iam, iam, "iam", config, limits, place)
}

/// Service Quotas in one account and region.
pub(super) fn quotas(config: &SdkConfig, limits: &Limits, place: &str) -> servicequotas::Reader {
    let builder = aws_sdk_servicequotas::config::Builder::from(config)
        .retry_config(RetryConfig::standard().with_max_attempts(QUOTA_ATTEMPTS))
        .retry_partition(RetryPartition::new(format!("servicequotas-{place}")))
        .timeout_config(read_timeouts())
        .interceptor(limits.watch("servicequotas"));
    servicequotas::Reader::new(aws_sdk_servicequotas::Client::from_conf(builder.build()), limits.clone())
}

/// STS.
pub(super) fn sts(config: &SdkConfig) -> sts::Reader {
    let builder = aws_sdk_sts::config::Builder::from(config).retry_config(identity_retry()).timeout_config(read_timeouts());
    sts::Reader::new(aws_sdk_sts::Client::from_conf(builder.build()), Limits::default())
}
