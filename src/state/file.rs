//! The state of one top-level instance, as the program sees it and as it stands in the file.
//!
//! These structs are the format. Unknown fields are refused: an older program that dropped a field it does not know
//! would lose data when it writes the file back. So every new field raises [`VERSION`]; see `migrate.rs`.

use crate::graph::catalog::Production;
use crate::graph::identity::{Address, Identity};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The newest version of the file format that this program reads and writes.
pub const VERSION: u64 = 2;

/// The state of one top-level instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StateFile {
    /// Version of the format.
    pub version: u64,
    /// Random, made with the file, kept for ever: tells our objects from those of other states.
    pub lineage: String,
    /// Grows by one with each fold that changed something.
    pub serial: u64,
    /// `fleetctl 0.1.0`.
    pub writer: String,
    /// The instance.
    pub instance: InstanceKey,
    /// The definitions that the last apply used.
    pub definitions: Option<DefinitionsUsed>,
    /// Number of the last journal segment that this state includes. Never repeats, so that with the lineage it names one
    /// version of the state exactly, folded or not.
    pub folded_segment: u64,
    /// Number of the last begin entry.
    pub last_entry: u64,
    /// Resources by identity, in the order they were first recorded.
    pub resources: Vec<Record>,
    /// Begin entries without an end.
    pub open: Vec<Begin>,
    /// Seconds that past waits took, by `Kind.create` or `Kind.delete`.
    #[serde(default)]
    pub durations: BTreeMap<String, f64>,
}

/// The key of a top-level instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstanceKey {
    /// `kro.run/v1alpha1`.
    pub api_version: String,
    /// `EksCluster`.
    pub kind: String,
    /// `argocd`.
    pub namespace: String,
    /// `workload-cluster1`.
    pub name: String,
}

impl InstanceKey {
    /// The key of its state file in the store: `argocd/EksCluster.workload-cluster1.json`.
    pub fn store_key(&self) -> String {
        let namespace = if self.namespace.is_empty() { NO_NAMESPACE } else { &self.namespace };
        format!("{namespace}/{}.{}.json", self.kind, self.name)
    }
}

/// Folder of instances that have no namespace. No namespace can have this name: `_` is not allowed in them.
const NO_NAMESPACE: &str = "_cluster";

impl std::fmt::Display for InstanceKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{} in namespace {}", self.kind, self.name, self.namespace)
    }
}

/// The definitions that were used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DefinitionsUsed {
    /// `built-in`, or the folder.
    pub source: String,
    /// SHA-256 over the definitions' meaning, hex.
    pub hash: String,
}

/// What is recorded of one resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    /// The key.
    pub identity: Identity,
    /// Where it sits; may change without the identity changing.
    pub address: Address,
    /// The role that reaches its account; `None` for the caller's own credentials.
    pub role: Option<RoleUsed>,
    /// What AWS knows it by: `vpc-0a1b…`, a role's name, `cluster|principal`. The kind says which.
    pub id: String,
    /// How far it came.
    pub phase: Phase,
    /// The object as last applied (apiVersion, kind, metadata, spec), without write-only and secret fields.
    pub applied: Value,
    /// `status` as last observed, in ACK's shape.
    pub status: Value,
    /// Identities that this resource needs: it is deleted before them.
    pub dependencies: Vec<Identity>,
    /// Tags or names were found on AWS instead of being made by this state.
    #[serde(default)]
    pub adopted: bool,
    /// Since when it is in this phase.
    pub since: DateTime<Utc>,
    /// When its create call was answered; absence does not count until the visibility window after it has passed.
    pub created_at: DateTime<Utc>,
    /// What is waited for on AWS, so that the next run goes on waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
}

/// How far a resource came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It has its id.
    Created,
    /// It is attached, associated, its policies are in place.
    Configured,
    /// AWS says it is usable.
    Ready,
    /// AWS says it failed.
    Failed,
    /// Its delete call was accepted.
    Deleting,
}

impl Phase {
    /// What the resource has made available.
    pub fn reached(self) -> Option<Production> {
        match self {
            Self::Created | Self::Failed => Some(Production::Created),
            Self::Configured => Some(Production::Configured),
            Self::Ready => Some(Production::Ready),
            Self::Deleting => None,
        }
    }
}

/// The role that reached an account.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleUsed {
    /// The role's ARN.
    pub arn: String,
    /// The external id that its trust policy asks for. The settings give it; it is not recorded, since states and journal lines
    /// are shown and pasted. Older versions recorded it: it is read, and left out by the next write.
    #[serde(default, skip_serializing)]
    pub external_id: Option<String>,
}

/// A wait that may outlive the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wait {
    /// What is waited for: `ready`, `deleted`, `update`.
    pub what: String,
    /// The update's id, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<String>,
    /// Since when.
    pub since: DateTime<Utc>,
}

/// A mutating call that is about to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Begin {
    /// Number of the entry, unique in the state.
    pub entry: u64,
    /// When.
    pub at: DateTime<Utc>,
    /// The object it is about.
    pub identity: Identity,
    /// Where it sits.
    pub address: Address,
    /// The role that is used.
    pub role: Option<RoleUsed>,
    /// What the call does to the object.
    pub verb: Verb,
    /// AWS's name of the call: `CreateVpc`.
    pub operation: String,
    /// Random client token, used again only to resolve this entry.
    pub token: String,
    /// The id of the object, if it has one already; otherwise it is found by the tags of `address` or by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// For a create: the object as it is applied, without write-only and secret fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<Value>,
    /// For a create: what the record will depend on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Identity>,
}

/// What a mutating call does to its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// It makes the object.
    Create,
    /// It changes it, and may be repeated.
    Change,
    /// It removes it, and may be repeated.
    Delete,
}

impl StateFile {
    /// An empty state with a lineage of its own.
    pub fn new(instance: InstanceKey) -> Self {
        Self {
            version: VERSION,
            lineage: uuid::Uuid::new_v4().to_string(),
            serial: 0,
            writer: writer(),
            instance,
            definitions: None,
            folded_segment: 0,
            last_entry: 0,
            resources: Vec::new(),
            open: Vec::new(),
            durations: BTreeMap::new(),
        }
    }

    /// Whether two states say the same, bookkeeping (serial, writer, numbers) aside.
    pub fn same_content(&self, other: &Self) -> bool {
        self.lineage == other.lineage
            && self.instance == other.instance
            && self.definitions == other.definitions
            && self.resources == other.resources
            && self.open == other.open
            && self.durations == other.durations
    }

    /// Whether nothing was ever recorded. A file is made with the first lock, before anything is known of what will be done.
    pub fn is_blank(&self) -> bool {
        self.definitions.is_none() && self.last_entry == 0 && self.resources.is_empty() && self.open.is_empty()
    }

    /// The open begin entries of an identity.
    pub fn open_entries<'a>(&'a self, identity: &'a Identity) -> impl Iterator<Item = &'a Begin> {
        self.open.iter().filter(move |begin| &begin.identity == identity)
    }

    /// The record of an identity.
    pub fn record(&self, identity: &Identity) -> Option<&Record> {
        self.resources.iter().find(|record| &record.identity == identity)
    }
}

/// What this program writes into `writer`.
pub fn writer() -> String {
    format!("fleetctl {}", env!("CARGO_PKG_VERSION"))
}
