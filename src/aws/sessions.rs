//! Sessions: one per role and external id, refreshed before it ends; readers and writers per account and region.
//!
//! Nothing is handed out for an account before `sts:GetCallerIdentity` has named that very account.

use super::cloud::{Cloud, Readers, Writers};
use super::error::CallError;
use super::identity::{AccountSettings, Refusal};
use super::limits::Limits;
use super::{arn, clients, profile, refusals};
use crate::state::file::RoleUsed;
use aws_config::identity::IdentityCache;
use aws_config::sts::AssumeRoleProvider;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sdk_ec2::operation::describe_availability_zones::builders::DescribeAvailabilityZonesInputBuilder;
use aws_sdk_sts::operation::get_caller_identity::builders::GetCallerIdentityInputBuilder;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::OnceCell;

/// More roles than this on one identity cache would push each other out.
const PARTITIONS: usize = 1024;
/// Credentials are renewed this long before they end: no long call starts on dying keys.
const BUFFER: Duration = Duration::from_mins(5);
/// Getting credentials may take a sign-in helper, or STS throttling us.
const LOADING: Duration = Duration::from_mins(1);
/// Where STS is asked when nobody names a region.
const FALLBACK_REGION: &str = "us-east-1";

/// What sessions are made with.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What carries requests: the network unless a test puts a simulated AWS here.
    pub connector: Option<SharedHttpClient>,
    /// Settings by account.
    pub accounts: BTreeMap<String, AccountSettings>,
    /// Argo CD, when a server is configured.
    pub argocd: Option<(crate::argocd::Reader, crate::argocd::Writer)>,
    /// Whether somebody waits for every call: what does not answer is given up soon.
    pub impatient: bool,
}

/// Who STS says we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// `arn:aws:sts::123456789012:assumed-role/admin/me`.
    pub arn: String,
    /// Its account.
    pub account: String,
    /// `aws`, `aws-cn`, `aws-us-gov`.
    pub partition: String,
}

/// Why there is no way to an account.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// STS could not be asked, or our own credentials do not work.
    #[error(transparent)]
    Call(#[from] CallError),
    /// STS refuses the role, or it is another account's.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// What makes a session another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SessionKey {
    role: RoleUsed,
    name: String,
    duration: Option<Duration>,
    sts_region: String,
}

/// A session whose caller is known.
#[derive(Debug)]
struct Session {
    config: SdkConfig,
    caller: Caller,
}

/// What makes a target another one.
type TargetKey = (String, String, Option<SessionKey>);

/// All sessions of a run.
#[derive(Debug)]
pub struct Sessions {
    base: SdkConfig,
    options: Options,
    caller: OnceCell<Caller>,
    roles: Mutex<HashMap<SessionKey, Arc<OnceCell<Arc<Session>>>>>,
    targets: Mutex<HashMap<TargetKey, Arc<Target>>>,
    limits: Mutex<HashMap<(String, String), Limits>>,
}

impl Sessions {
    /// Loads the standard chain of credentials, region and endpoints. Calls nothing.
    pub async fn new(options: Options) -> Self {
        let base = aws_config::defaults(BehaviorVersion::latest())
            .http_client(options.connector.clone().unwrap_or_else(clients::http))
            .retry_config(if options.impatient { clients::identity_retry() } else { clients::read_retry() })
            .timeout_config(clients::read_timeouts())
            .load()
            .await;
        Self::over(&base, options)
    }

    /// The same over a configuration that [`aws_config::defaults`] has loaded otherwise: credentials, region and clock are
    /// its own.
    pub fn over(base: &SdkConfig, options: Options) -> Self {
        let cache = IdentityCache::lazy().max_partitions(PARTITIONS).buffer_time(BUFFER).load_timeout(LOADING).build();
        let mut builder = base.to_builder().identity_cache(cache);
        if let Some(connector) = &options.connector {
            builder.set_http_client(Some(connector.clone()));
        }
        Self {
            base: builder.build(),
            options,
            caller: OnceCell::new(),
            roles: Mutex::default(),
            targets: Mutex::default(),
            limits: Mutex::default(),
        }
    }

    /// Sessions that reach nothing, for what needs no AWS.
    pub fn none() -> Self {
        Self::over(&SdkConfig::builder().build(), Options::default())
    }

    /// The region of the standard chain: `AWS_REGION`, or the profile's.
    pub fn region(&self) -> Option<&str> {
        self.base.region().map(AsRef::as_ref)
    }

    /// Who the base credentials belong to. Asked once. Without usable credentials the class is
    /// [`super::error::ErrorClass::Credentials`] and the code says what is wrong: `NoCredentials`, `ExpiredToken`, `Unreachable`, or
    /// STS's own.
    pub async fn caller(&self) -> Result<Caller, CallError> {
        let ask = || async {
            match identity(&self.sts_base()).await {
                Ok(caller) => {
                    tracing::info!(arn = caller.arn, "caller");
                    Ok(caller)
                }
                Err(error) => Err(refused(error).await),
            }
        };
        self.caller.get_or_try_init(ask).await.cloned()
    }

    /// Readers and writers for an account and region, through a role or with the base credentials, after STS has
    /// confirmed the account. Made once; `instance` names the session in CloudTrail.
    pub async fn target(
        &self,
        account: &str,
        region: &str,
        role: Option<&RoleUsed>,
        instance: &str,
    ) -> Result<Arc<Target>, SessionError> {
        let settings = self.options.accounts.get(account);
        let key = role.map(|role| self.session_key(role, settings, instance));
        let target_key = (account.to_owned(), region.to_owned(), key);
        if let Some(target) = self.targets().get(&target_key) {
            return Ok(Arc::clone(target));
        }
        let (config, caller) = match &target_key.2 {
            Some(key) => {
                let session = self.session(key, account).await?;
                (session.config.clone(), session.caller.clone())
            }
            None => (self.base.clone(), self.caller().await?),
        };
        if caller.account != account {
            return Err(refusals::of_account(role, account, &caller).into());
        }
        let target = Arc::new(self.build(account, region, &config, caller));
        Ok(Arc::clone(self.targets().entry(target_key).or_insert(target)))
    }

    fn targets(&self) -> std::sync::MutexGuard<'_, HashMap<TargetKey, Arc<Target>>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The base configuration with a region for STS, which needs one.
    fn sts_base(&self) -> SdkConfig {
        let region = self.region().unwrap_or(FALLBACK_REGION).to_owned();
        self.base.to_builder().region(Region::new(region)).build()
    }

    fn session_key(&self, role: &RoleUsed, settings: Option<&AccountSettings>, instance: &str) -> SessionKey {
        let name = settings.and_then(|settings| settings.session_name.clone());
        let sts_region = settings.and_then(|settings| settings.sts_region.as_deref()).or(self.region());
        // A role that comes from a state has none: what is recorded is shown and pasted.
        let external_id = role.external_id.clone().or_else(|| settings.and_then(|settings| settings.external_id.clone()));
        SessionKey {
            role: RoleUsed { external_id, ..role.clone() },
            name: session_name(&name.unwrap_or_else(|| format!("fleetctl-{instance}"))),
            duration: settings.and_then(|settings| settings.duration),
            sts_region: sts_region.unwrap_or(FALLBACK_REGION).to_owned(),
        }
    }

    /// The session of a role: assumed, and asked who it is, once for all regions.
    async fn session(&self, key: &SessionKey, account: &str) -> Result<Arc<Session>, SessionError> {
        let cell = {
            let mut roles = self.roles.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(roles.entry(key.clone()).or_default())
        };
        let session = cell.get_or_try_init(|| self.assume(key, account)).await?;
        Ok(Arc::clone(session))
    }

    /// The configuration of a role. Nothing is called before somebody asks for its credentials.
    async fn of_role(&self, key: &SessionKey) -> SdkConfig {
        let region = Region::new(key.sts_region.clone());
        let mut provider = AssumeRoleProvider::builder(&key.role.arn).session_name(&key.name).region(region.clone());
        if let Some(external_id) = &key.role.external_id {
            provider = provider.external_id(external_id);
        }
        if let Some(duration) = key.duration {
            provider = provider.session_length(duration);
        }
        let provider = SharedCredentialsProvider::new(provider.configure(&self.base).build().await);
        self.base.to_builder().region(region).credentials_provider(provider).build()
    }

    /// The credentials of a role, or those of the standard chain, and the configuration that they belong to. Who they are
    /// is not asked: a role's ARN names its account.
    pub(super) async fn credentials(
        &self,
        role: Option<&RoleUsed>,
        instance: &str,
    ) -> Result<(SdkConfig, Credentials), SessionError> {
        let account = role.and_then(|role| arn::RoleArn::parse(&role.arn)).map(|role| role.account).unwrap_or_default();
        let key = role.map(|role| self.session_key(role, self.options.accounts.get(account), instance));
        let config = match &key {
            Some(key) => self.of_role(key).await,
            None => self.sts_base(),
        };
        let reason = match provide(&config).await {
            Ok(credentials) => return Ok((config, credentials)),
            Err(reason) => reason,
        };
        // Asking who we are fails for the same reason, and there are words for that.
        match &key {
            Some(key) => drop(self.session(key, account).await?),
            None => drop(self.caller().await?),
        }
        Err(SessionError::Call(CallError {
            service: "sts",
            operation: "credentials",
            class: super::error::ErrorClass::Credentials,
            code: "NoCredentials".to_owned(),
            message: format!("the AWS credentials could not be loaded: {reason}"),
            request_id: None,
        }))
    }

    async fn assume(&self, key: &SessionKey, account: &str) -> Result<Arc<Session>, SessionError> {
        let config = self.of_role(key).await;
        match identity(&config).await {
            Ok(caller) => {
                tracing::info!(role = key.role.arn, session = key.name, sts_region = key.sts_region, "assumed");
                Ok(Arc::new(Session { config, caller }))
            }
            Err(error) if refusals::is_of_role(&error) => {
                let caller = self.caller().await.ok();
                Err(refusals::of_role(&key.role, account, caller.as_ref(), &error).into())
            }
            // The base credentials are at fault, or the network.
            Err(error) => Err(refused(error).await.into()),
        }
    }

    fn build(&self, account: &str, region: &str, config: &SdkConfig, caller: Caller) -> Target {
        let config = config.to_builder().region(Region::new(region.to_owned())).build();
        let place = format!("{account}-{region}");
        let limits = self.limits(account, region);
        let (ec2_reader, ec2_writer) = clients::ec2(&config, &limits, &place);
        let (eks_reader, eks_writer) = clients::eks(&config, &limits, &place);
        // IAM is one for all regions of an account.
        let (iam_reader, iam_writer) = clients::iam(&config, &self.limits(account, ""), account);
        let (argocd_reader, argocd_writer) = self.options.argocd.clone().unzip();
        let quotas = clients::quotas(&config, &limits, &place);
        let readers = Readers { ec2: ec2_reader, eks: eks_reader, iam: iam_reader, quotas, argocd: argocd_reader };
        let writers = Writers { ec2: ec2_writer, eks: eks_writer, iam: iam_writer, argocd: argocd_writer };
        Target {
            account: account.to_owned(),
            region: region.to_owned(),
            caller,
            cloud: Cloud { readers, writers },
            facts: OnceCell::new(),
        }
    }

    /// The limits of a place: roles and sessions share them.
    fn limits(&self, account: &str, region: &str) -> Limits {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.entry((account.to_owned(), region.to_owned())).or_default().clone()
    }
}

/// The credentials of a configuration.
pub(super) async fn provide(config: &SdkConfig) -> Result<Credentials, String> {
    let provider = config.credentials_provider().ok_or("there is nothing to load them from")?;
    match tokio::time::timeout(LOADING, provider.provide_credentials()).await {
        Ok(answer) => answer.map_err(|error| super::error::text(&error)),
        Err(_) => Err(format!("that took longer than {} s", LOADING.as_secs())),
    }
}

/// What to say of an error of our own credentials.
async fn refused(error: CallError) -> CallError {
    let profile = if error.code == "NoCredentials" { profile::describe_real().await } else { String::new() };
    refusals::of_caller(error, &profile)
}

/// An account and region that STS has confirmed.
#[derive(Debug)]
pub struct Target {
    /// The account.
    pub account: String,
    /// The region.
    pub region: String,
    /// Who we are there.
    pub caller: Caller,
    /// What reads and changes it.
    pub cloud: Cloud,
    facts: OnceCell<Facts>,
}

/// What is true of an account and region whatever we do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Who we are there: an ARN.
    pub caller: String,
    /// The account.
    pub account: String,
    /// The region.
    pub region: String,
    /// `aws`, `aws-cn`, `aws-us-gov`.
    pub partition: String,
    /// `amazonaws.com`.
    pub dns_suffix: String,
    /// Its availability zones, by name; no local zones.
    pub zones: Vec<Zone>,
}

/// An availability zone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Zone {
    /// `us-west-2a`.
    pub name: String,
    /// `usw2-az1`: the same for all accounts.
    pub id: String,
    /// Whether EKS puts control planes there.
    pub hosts_eks: bool,
}

/// Zones in which EKS takes no subnets of a control plane.
const ZONES_WITHOUT_EKS: [&str; 3] = ["use1-az3", "usw1-az2", "cac1-az3"];

impl Target {
    /// The facts. Asked once.
    pub async fn facts(&self) -> Result<&Facts, CallError> {
        self.facts.get_or_try_init(|| self.read_facts()).await
    }

    async fn read_facts(&self) -> Result<Facts, CallError> {
        let reply = self.cloud.readers.ec2.describe_availability_zones(DescribeAvailabilityZonesInputBuilder::default()).await?;
        let mut zones: Vec<Zone> = reply.availability_zones().iter().filter_map(zone).collect();
        zones.sort();
        Ok(Facts {
            caller: self.caller.arn.clone(),
            account: self.account.clone(),
            region: self.region.clone(),
            partition: self.caller.partition.clone(),
            dns_suffix: arn::dns_suffix(&self.caller.partition).to_owned(),
            zones,
        })
    }
}

/// Whether EKS takes subnets of a control plane in the zone of an id.
pub(super) fn hosts_eks(zone_id: &str) -> bool {
    !ZONES_WITHOUT_EKS.contains(&zone_id)
}

fn zone(zone: &aws_sdk_ec2::types::AvailabilityZone) -> Option<Zone> {
    if zone.zone_type().is_some_and(|kind| kind != "availability-zone") {
        return None;
    }
    let id = zone.zone_id().unwrap_or_default();
    Some(Zone { name: zone.zone_name()?.to_owned(), id: id.to_owned(), hosts_eks: hosts_eks(id) })
}

/// Who the credentials of a configuration belong to.
async fn identity(config: &SdkConfig) -> Result<Caller, CallError> {
    let reply = clients::sts(config).get_caller_identity(GetCallerIdentityInputBuilder::default()).await?;
    let arn = reply.arn.unwrap_or_default();
    let partition = arn::partition_of_arn(&arn).unwrap_or("aws").to_owned();
    Ok(Caller { account: reply.account.unwrap_or_default(), partition, arn })
}

/// A session name as STS takes it: up to 64 letters, digits and `+=,.@_-`.
fn session_name(text: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "+=,.@_-".contains(letter);
    text.chars().map(|letter| if fits(letter) { letter } else { '-' }).take(64).collect()
}

#[cfg(test)]
mod tests;
