//! Whose account: which role reaches the account of an object, and which region it is in (DESIGN: fail closed on
//! identity). Pure: what STS says is checked in [`super::sessions`].

use super::arn::{self, RoleArn};
use crate::graph::documents::{Namespace, ResourceType, RoleSelector};
use crate::state::file::RoleUsed;
use indexmap::IndexMap;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Annotation of an object that names its region.
pub const REGION: &str = "services.k8s.aws/region";
/// Annotation of a namespace that names the region of its objects.
pub const DEFAULT_REGION: &str = "services.k8s.aws/default-region";
/// Annotation of a namespace that names the account of its objects.
pub const OWNER_ACCOUNT: &str = "services.k8s.aws/owner-account-id";
/// Label that Kubernetes itself puts on every namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Why an object has no account, role or region, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {way_out}")]
pub struct Refusal {
    /// What is wrong, with names.
    pub reason: String,
    /// What to do about it.
    pub way_out: String,
    /// Whether documents and settings alone show it (exit 4); otherwise STS says it (exit 6).
    pub offline: bool,
}

impl Refusal {
    /// Documents or settings are at fault.
    pub fn offline(reason: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self { reason: reason.into(), way_out: way_out.into(), offline: true }
    }

    /// STS says so.
    pub fn sts(reason: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self { reason: reason.into(), way_out: way_out.into(), offline: false }
    }
}

/// Settings of one account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountSettings {
    /// The role's ARN; or else see `role_name`.
    pub role_arn: Option<String>,
    /// The role's name (with path, if it has one) in that account.
    pub role_name: Option<String>,
    /// External id of that role, whoever names it.
    pub external_id: Option<String>,
    /// Session name; default `fleetctl-<instance>`.
    pub session_name: Option<String>,
    /// Length of a session.
    pub duration: Option<Duration>,
    /// Region in which STS is called; default: the caller's.
    pub sts_region: Option<String>,
}

/// A rendered object, and what is known of where it may go.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// `ec2.services.k8s.aws/v1alpha1`.
    pub api_version: &'a str,
    /// `VPC`.
    pub kind: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its labels: see [`labels`].
    pub labels: &'a BTreeMap<String, String>,
    /// The document of its namespace, if there is one.
    pub namespace_document: Option<&'a Namespace>,
    /// The account that its top-level instance names.
    pub account: Option<&'a str>,
    /// Its region: see [`region`].
    pub region: &'a str,
    /// All selectors.
    pub selectors: &'a [RoleSelector],
    /// Settings by account.
    pub settings: &'a BTreeMap<String, AccountSettings>,
    /// The caller's own account, once STS has told it.
    pub caller: Option<&'a str>,
}

/// Where an object goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Its account.
    pub account: String,
    /// The role that reaches it; `None` for the caller's own credentials.
    pub role: Option<RoleUsed>,
    /// Where that comes from.
    pub source: Source,
}

/// What chose a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The IAMRoleSelector of this name.
    Selector(String),
    /// The settings of the account.
    Settings,
    /// Nothing: the caller's own credentials.
    Caller,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Selector(name) => write!(formatter, "IAMRoleSelector {name}"),
            Self::Settings => formatter.write_str("settings"),
            Self::Caller => formatter.write_str("the caller's own credentials"),
        }
    }
}

impl Question<'_> {
    /// The account of the object and the role that reaches it: by the one selector that matches; else by the settings of
    /// the account; else the caller's own credentials, for the caller's own account only.
    ///
    /// Without `caller` (nothing has been asked yet) an account that only the caller could reach is taken to be the
    /// caller's: [`super::sessions::Sessions::target`] refuses it if it is not.
    pub fn choose(&self) -> Result<Choice, Refusal> {
        let declared = self.declared_account()?;
        let matching: Vec<&RoleSelector> = self.selectors.iter().filter(|selector| self.matches(selector)).collect();
        match matching.as_slice() {
            [] => self.without_selector(declared),
            [selector] => self.by_selector(selector, declared),
            several => Err(self.several(several)),
        }
    }

    /// The account that documents name: the instance's, or that of the namespace (ACK's older way).
    fn declared_account(&self) -> Result<Option<&str>, Refusal> {
        let annotation = self
            .namespace_document
            .and_then(|namespace| namespace.annotations.get(OWNER_ACCOUNT))
            .map(String::as_str)
            .filter(|account| !account.is_empty());
        let instance = self.account.filter(|account| !account.is_empty());
        for account in [instance, annotation].into_iter().flatten() {
            if !arn::is_account(account) {
                return Err(Refusal::offline(
                    format!("{self} is to go into account `{account}`, which is no account id"),
                    "an account id has 12 digits; quote it in YAML, so that a leading zero stays",
                ));
            }
        }
        match (instance, annotation) {
            (Some(instance), Some(annotation)) if instance != annotation => Err(Refusal::offline(
                format!(
                    "{self} is to go into account {instance}, but its namespace {} is annotated {OWNER_ACCOUNT}: {annotation}",
                    self.namespace
                ),
                "make the two equal, or remove the annotation",
            )),
            _ => Ok(instance.or(annotation)),
        }
    }

    /// ACK's rule: three selectors, all of which must match; an absent or empty one matches everything.
    fn matches(&self, selector: &RoleSelector) -> bool {
        self.namespace_matches(selector)
            && self.type_matches(selector)
            && contains(&selector.resource_labels, |key| self.labels.get(key).map(String::as_str))
    }

    fn namespace_matches(&self, selector: &RoleSelector) -> bool {
        let named = selector.namespaces.is_empty() || selector.namespaces.iter().any(|name| name == self.namespace);
        named
            && contains(&selector.namespace_labels, |key| {
                let written = self.namespace_document.and_then(|namespace| namespace.labels.get(key)).map(String::as_str);
                if key == NAMESPACE_NAME { Some(self.namespace) } else { written }
            })
    }

    fn type_matches(&self, selector: &RoleSelector) -> bool {
        let (group, version) = self.api_version.rsplit_once('/').unwrap_or(("", self.api_version));
        let fits = |wanted: &str, is: &str| wanted.is_empty() || wanted == is;
        let matches =
            |wanted: &ResourceType| fits(&wanted.group, group) && fits(&wanted.version, version) && fits(&wanted.kind, self.kind);
        selector.resource_types.is_empty() || selector.resource_types.iter().any(matches)
    }

    fn by_selector(&self, selector: &RoleSelector, declared: Option<&str>) -> Result<Choice, Refusal> {
        let name = &selector.name;
        let role = RoleArn::parse(&selector.arn).ok_or_else(|| {
            Refusal::offline(
                format!("the arn of IAMRoleSelector {name}, `{}`, is no ARN of a role", selector.arn),
                "write it as arn:aws:iam::<account id>:role/<name>",
            )
        })?;
        if let Some(declared) = declared.filter(|declared| *declared != role.account) {
            return Err(Refusal::offline(
                format!(
                    "{self} is to go into account {declared}, but IAMRoleSelector {name} leads into account {} ({})",
                    role.account, selector.arn
                ),
                format!("correct the account, or let a selector with a role of account {declared} match"),
            ));
        }
        Ok(self.choice(role.account, selector.arn.clone(), Source::Selector(name.clone())))
    }

    fn without_selector(&self, declared: Option<&str>) -> Result<Choice, Refusal> {
        let Some(account) = declared.or(self.caller) else {
            return Err(Refusal::offline(
                format!("{self} has no account: its instance names none, and no IAMRoleSelector matches it"),
                "set the instance's accountId, or write an IAMRoleSelector for its namespace",
            ));
        };
        let settings = self.settings.get(account);
        if let Some(arn) = settings.and_then(|settings| settings.role_arn.as_deref()) {
            return self.by_settings(account, arn);
        }
        if let Some(name) = settings.and_then(|settings| settings.role_name.as_deref()) {
            let arn = format!("arn:{}:iam::{account}:role/{}", arn::partition_of(self.region), name.trim_start_matches('/'));
            return Ok(self.choice(account, arn, Source::Settings));
        }
        match self.caller {
            Some(caller) if caller != account => Err(Refusal::sts(
                format!(
                    "there is no way into account {account} for {self}: the caller is in account {caller}, and nothing names a role there"
                ),
                format!(
                    "write an IAMRoleSelector that matches it, or set roleName or roleArn under accounts.{account} in fleetctl.yaml, or use credentials of account {account}"
                ),
            )),
            _ => Ok(Choice { account: account.to_owned(), role: None, source: Source::Caller }),
        }
    }

    fn by_settings(&self, account: &str, arn: &str) -> Result<Choice, Refusal> {
        let problem = match RoleArn::parse(arn) {
            None => "is no ARN of a role".to_owned(),
            Some(role) if role.account != account => format!("is a role of account {}", role.account),
            Some(_) => return Ok(self.choice(account, arn.to_owned(), Source::Settings)),
        };
        Err(Refusal::offline(
            format!("the settings of account {account} have roleArn `{arn}`, which {problem}"),
            format!("write it as arn:{}:iam::{account}:role/<name>", arn::partition_of(self.region)),
        ))
    }

    fn choice(&self, account: &str, arn: String, source: Source) -> Choice {
        let external_id = self.settings.get(account).and_then(|settings| settings.external_id.clone());
        Choice { account: account.to_owned(), role: Some(RoleUsed { arn, external_id }), source }
    }

    fn several(&self, selectors: &[&RoleSelector]) -> Refusal {
        let names: Vec<&str> = selectors.iter().map(|selector| selector.name.as_str()).collect();
        Refusal::offline(
            format!("{} IAMRoleSelectors match {self}: {}", names.len(), names.join(", ")),
            "none is preferred, not even with equal ARNs: narrow them until one matches",
        )
    }
}

impl fmt::Display for Question<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// Whether every wanted label is there.
fn contains<'a>(wanted: &IndexMap<String, String>, find: impl Fn(&str) -> Option<&'a str>) -> bool {
    wanted.iter().all(|(key, value)| find(key) == Some(value))
}

/// The labels of a rendered object.
pub fn labels(object: &Value) -> BTreeMap<String, String> {
    object.pointer("/metadata/labels").map(super::tags::of_spec).unwrap_or_default()
}

/// The region of an object: its own annotation, else the default of its namespace, else `default` (`AWS_REGION`).
pub fn region(object: &Value, namespace: Option<&Namespace>, default: Option<&str>) -> Result<String, Refusal> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let own = object.pointer("/metadata/annotations").and_then(|annotations| annotations.get(REGION)).and_then(Value::as_str);
    let of_namespace = namespace.and_then(|namespace| namespace.annotations.get(DEFAULT_REGION)).map(String::as_str);
    let who = format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
    let Some(region) = [own, of_namespace, default].into_iter().flatten().find(|region| !region.is_empty()) else {
        return Err(Refusal::offline(
            format!("{who} has no region: neither it nor its namespace names one"),
            format!("set its annotation {REGION}, the annotation {DEFAULT_REGION} of its namespace, or AWS_REGION"),
        ));
    };
    if arn::is_region(region) {
        return Ok(region.to_owned());
    }
    Err(Refusal::offline(format!("{who} is to go into region `{region}`, which is no region"), "write it like us-west-2"))
}

#[cfg(test)]
mod tests;
