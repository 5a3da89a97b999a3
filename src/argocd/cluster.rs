//! A cluster as Argo CD's API has it.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A cluster as Argo CD's API has it, as far as fleetctl uses it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// The API endpoint; the identity.
    pub server: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its project; empty for none.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// The namespaces that are managed; empty for all.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Whether objects without a namespace are managed where `namespaces` are named.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "std::ops::Not::not")]
    pub cluster_resources: bool,
    /// The shard of the controller; `None` lets Argo CD choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<i64>,
    /// Labels, without Argo CD's own.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations, without Argo CD's own.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// How to reach it: `awsAuthConfig`, `tlsClientConfig`, …. Secret fields are never read back.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub config: Value,
    /// What Argo CD sees of it: read only.
    #[serde(default, deserialize_with = "or_default", skip_serializing)]
    pub info: Info,
}

/// What Argo CD sees of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// `v1.33.1`; empty until Argo CD watches it.
    #[serde(default, deserialize_with = "or_default")]
    pub server_version: String,
    /// How many Applications it has.
    #[serde(default, deserialize_with = "or_default")]
    pub applications_count: i64,
    /// How the connection is.
    #[serde(default, deserialize_with = "or_default")]
    pub connection_state: ConnectionState,
}

/// How Argo CD's connection to a cluster is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionState {
    /// `Successful`, `Failed`, `Unknown` (no Application needs it), or empty.
    #[serde(default, deserialize_with = "or_default")]
    pub status: String,
    /// Why.
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
}

/// Go writes `null` where there is nothing.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The answer to a list.
#[derive(Debug, Deserialize)]
pub(super) struct ClusterList {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) items: Vec<Cluster>,
}

/// Fields that `updatedFields` may name. Argo CD ignores others without a word.
const UPDATABLE: [&str; 8] = ["name", "project", "namespaces", "clusterResources", "shard", "labels", "annotations", "config"];

/// The first of these fields that Argo CD would ignore.
pub(super) fn not_updatable<'a>(fields: &[&'a str]) -> Option<&'a str> {
    fields.iter().copied().find(|field| !UPDATABLE.contains(field))
}

impl Cluster {
    /// The same, as it is sent: Argo CD derives a Secret's name from the raw server, so a slash at its end would make
    /// another one.
    pub(super) fn to_be_sent(&self) -> Self {
        Self { server: self.server.trim_end_matches('/').to_owned(), ..self.clone() }
    }
}
