//! Rate limits: token buckets per account, region, service and action, lowered when AWS throttles.
//!
//! The buckets are `governor`'s, the clock under them is tokio's: `governor`'s own clock and its waiting go by real time,
//! which would stand still under a paused clock.

use super::error::{CallError, ErrorClass};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::FinalizerInterceptorContextRef;
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, Metadata};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;
use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A throttled action goes on at half its rate, down to this part of it.
const LOWEST: f64 = 1.0 / 32.0;
/// Refusals that come together count once.
const TOGETHER: Duration = Duration::from_secs(1);
/// After this long without a refusal the rate doubles again.
const RECOVERY: Duration = Duration::from_secs(10);

/// What AWS allows of an action: how many calls at once, and how many a second after that.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rate {
    burst: u32,
    per_second: f64,
}

impl Rate {
    /// EC2's numbers are those that AWS documents for its request token buckets (each action has its own). EKS and IAM
    /// document none; theirs are careful.
    fn of(service: &str, operation: &str) -> Self {
        let reads = ["Describe", "Get", "List"].iter().any(|verb| operation.starts_with(verb));
        let (burst, per_second) = match (service, reads) {
            ("ec2", true) => (100, 20.0),
            ("ec2", false) => (50, 5.0),
            ("iam", true) => (50, 15.0),
            ("iam", false) => (30, 5.0),
            (_, true) => (50, 10.0),
            (_, false) => (20, 2.0),
        };
        Self { burst, per_second }
    }

    /// The rate at a part of it. Once AWS has throttled, nobody knows what is left in its bucket: no bursts any more.
    fn quota(self, part: f64) -> Quota {
        let interval = Duration::from_secs_f64(1.0 / (self.per_second * part));
        let burst = if part < 1.0 { NonZeroU32::MIN } else { NonZeroU32::new(self.burst).unwrap_or(NonZeroU32::MIN) };
        // `None` only for an interval of zero.
        Quota::with_period(interval).unwrap_or(Quota::per_second(burst)).allow_burst(burst)
    }
}

/// Tokio's clock in the form that `governor` asks for.
#[derive(Debug, Clone, Copy)]
struct TokioClock {
    start: Instant,
}

impl Clock for TokioClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Duration>>;

/// The bucket of one action.
#[derive(Debug)]
struct Bucket {
    rate: Rate,
    clock: TokioClock,
    level: Mutex<Level>,
}

/// How a bucket stands.
#[derive(Debug)]
struct Level {
    part: f64,
    limiter: Arc<Limiter>,
    changed: Option<Instant>,
}

impl Bucket {
    fn new(rate: Rate) -> Self {
        let clock = TokioClock { start: Instant::now() };
        let limiter = Arc::new(RateLimiter::direct_with_clock(rate.quota(1.0), clock));
        Self { rate, clock, level: Mutex::new(Level { part: 1.0, limiter, changed: None }) }
    }

    fn level(&self) -> std::sync::MutexGuard<'_, Level> {
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn acquire(&self) {
        loop {
            // Asked anew after each wait: the rate may have been lowered meanwhile.
            let limiter = Arc::clone(&self.level().limiter);
            match limiter.check() {
                Ok(()) => return,
                Err(not_until) => tokio::time::sleep(not_until.wait_time_from(self.clock.now())).await,
            }
        }
    }

    fn lower(&self) {
        let mut level = self.level();
        if level.changed.is_none_or(|changed| changed.elapsed() >= TOGETHER) {
            let part = (level.part / 2.0).max(LOWEST);
            self.change(&mut level, part);
        }
    }

    fn recover(&self) {
        let mut level = self.level();
        if level.part < 1.0 && level.changed.is_none_or(|changed| changed.elapsed() >= RECOVERY) {
            let part = (level.part * 2.0).min(1.0);
            self.change(&mut level, part);
        }
    }

    fn change(&self, level: &mut Level, part: f64) {
        level.part = part;
        level.limiter = Arc::new(RateLimiter::direct_with_clock(self.rate.quota(part), self.clock));
        level.changed = Some(Instant::now());
    }
}

/// The limits of one account and region. Cheap to clone: clones share their buckets.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    buckets: Arc<Mutex<HashMap<String, Arc<Bucket>>>>,
}

impl Limits {
    /// Waits until a call may be made.
    pub async fn acquire(&self, service: &'static str, operation: &'static str) {
        self.bucket(service, operation).acquire().await;
    }

    /// Looks at the answer: throttling lowers the limit, success raises it again. Gives the answer back.
    pub fn settle<T>(
        &self,
        service: &'static str,
        operation: &'static str,
        answer: Result<T, CallError>,
    ) -> Result<T, CallError> {
        match &answer {
            Ok(_) => self.bucket(service, operation).recover(),
            Err(error) if error.class == ErrorClass::Throttled => self.bucket(service, operation).lower(),
            Err(_) => {}
        }
        answer
    }

    /// Watches the attempts that the SDK makes by itself.
    pub(super) fn watch(&self, service: &'static str) -> Watch {
        Watch { limits: self.clone(), service }
    }

    fn bucket(&self, service: &str, operation: &str) -> Arc<Bucket> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let key = format!("{service}:{operation}");
        Arc::clone(buckets.entry(key).or_insert_with(|| Arc::new(Bucket::new(Rate::of(service, operation)))))
    }
}

/// Lowers the limits when an attempt is throttled: the SDK repeats it by itself, and [`Limits::settle`] sees the last one
/// only.
#[derive(Debug)]
pub(super) struct Watch {
    limits: Limits,
    service: &'static str,
}

impl Intercept for Watch {
    fn name(&self) -> &'static str {
        "ThrottlingWatch"
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let (Some(response), Some(call)) = (context.response(), config.load::<Metadata>())
            && is_throttled(response)
        {
            self.limits.bucket(self.service, call.name()).lower();
        }
        Ok(())
    }
}

/// Whether a reply refuses for too many calls, in the wire format of any of the services.
fn is_throttled(response: &HttpResponse) -> bool {
    let status = response.status().as_u16();
    let says = |text: &str| text.contains("RequestLimitExceeded") || text.contains("Throttl") || text.contains("TooManyRequests");
    let header = response.headers().get("x-amzn-errortype").is_some_and(says);
    let body = || response.body().bytes().is_some_and(|body| says(&String::from_utf8_lossy(body)));
    status == 429 || (status >= 400 && (header || body()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::simulated::{Reply, Simulated, ec2_error};
    use std::sync::atomic::{AtomicU32, Ordering};

    fn throttled() -> Result<(), CallError> {
        Err(CallError {
            service: "ec2",
            operation: "CreateVpc",
            class: ErrorClass::Throttled,
            code: "RequestLimitExceeded".into(),
            message: String::new(),
            request_id: None,
        })
    }

    /// Seconds that some calls take together.
    async fn seconds(limits: &Limits, operation: &'static str, calls: u32) -> f64 {
        let start = Instant::now();
        for _ in 0..calls {
            limits.acquire("ec2", operation).await;
        }
        start.elapsed().as_secs_f64()
    }

    #[tokio::test(start_paused = true)]
    async fn a_small_run_does_not_wait() {
        let limits = Limits::default();
        assert!(seconds(&limits, "CreateSubnet", 50).await < 0.001);
        assert!(seconds(&limits, "DescribeVpcs", 100).await < 0.001);
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_run_keeps_the_rate() {
        let limits = Limits::default();
        let taken = seconds(&limits, "CreateSubnet", 100).await;
        assert!((9.5..=10.5).contains(&taken), "{taken}");
        assert!(seconds(&limits, "CreateRouteTable", 50).await < 0.001, "each action has its own bucket");
    }

    #[tokio::test(start_paused = true)]
    async fn throttling_halves_the_rate_and_calm_restores_it() {
        let limits = Limits::default();
        // Two refusals at one time count once.
        for _ in 0..2 {
            assert!(limits.settle("ec2", "CreateVpc", throttled()).is_err());
        }
        let taken = seconds(&limits, "CreateVpc", 11).await;
        assert!((3.9..=4.1).contains(&taken), "2.5 a second: {taken}");
        tokio::time::sleep(RECOVERY).await;
        assert!(limits.settle("ec2", "CreateVpc", Ok(())).is_ok());
        assert!(seconds(&limits, "CreateVpc", 50).await < 0.001, "full again");
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_never_falls_to_nothing() {
        let limits = Limits::default();
        for _ in 0..20 {
            tokio::time::sleep(TOGETHER).await;
            assert!(limits.settle("ec2", "CreateVpc", throttled()).is_err());
        }
        let taken = seconds(&limits, "CreateVpc", 2).await;
        assert!((6.0..=7.0).contains(&taken), "one in 6.4 seconds: {taken}");
    }

    #[tokio::test(start_paused = true)]
    async fn clones_share_their_buckets() {
        let limits = Limits::default();
        assert!(seconds(&limits, "CreateVpc", 50).await < 0.001);
        assert!(seconds(&limits.clone(), "CreateVpc", 1).await > 0.1);
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_of_the_sdk_are_seen() {
        let attempts = AtomicU32::new(0);
        let aws = Simulated::new(move |_| {
            if attempts.fetch_add(1, Ordering::SeqCst) == 0 {
                ec2_error(503, "RequestLimitExceeded", "Request limit exceeded.")
            } else {
                Reply::Answer(200, "<DescribeVpcsResponse/>".into())
            }
        });
        let limits = Limits::default();
        let config = aws_sdk_ec2::Config::builder()
            .region(aws_sdk_ec2::config::Region::new("us-west-2"))
            .behavior_version_latest()
            .credentials_provider(aws_credential_types::Credentials::new("AKIA", "secret", None, None, "test"))
            .http_client(aws.clone())
            .interceptor(limits.watch("ec2"));
        aws_sdk_ec2::Client::from_conf(config.build()).describe_vpcs().send().await.unwrap();
        assert_eq!(aws.count("DescribeVpcs"), 2);
        let taken = seconds(&limits, "DescribeVpcs", 11).await;
        assert!((0.9..=1.1).contains(&taken), "10 a second: {taken}");
    }
}
