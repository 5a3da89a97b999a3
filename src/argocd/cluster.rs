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
    /// What the application controller keeps of it.
    #[serde(default, deserialize_with = "or_default")]
    pub cache_info: CacheInfo,
}

/// What the application controller keeps of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheInfo {
    /// When it last looked through the cluster; empty if never.
    #[serde(default, deserialize_with = "or_default")]
    pub last_cache_sync_time: String,
}

impl Info {
    /// How many Applications live on the cluster; `None` if nobody has counted. Argo CD's server itself writes a count of
    /// zero when a cluster is registered or changed: only the application controller counts, some ten seconds later.
    pub fn applications(&self) -> Option<u64> {
        let count = u64::try_from(self.applications_count).unwrap_or_default();
        let by_server = self.connection_state.status == "Successful" && self.cache_info.last_cache_sync_time.is_empty();
        let counted = count > 0 || !(by_server || self.connection_state.status.is_empty());
        counted.then_some(count)
    }
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
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_count_that_nobody_made_is_not_zero() {
        let count = |info: Value| serde_json::from_value::<Info>(info).unwrap().applications();
        let state = |status: &str| json!({"status": status, "message": "", "attemptedAt": null});
        assert_eq!(count(json!({"connectionState": state(""), "applicationsCount": 0})), None, "nobody looks at it");
        assert_eq!(count(json!({"connectionState": state("Successful"), "cacheInfo": {}})), None, "the server's own note");
        let synced = json!({"lastCacheSyncTime": "2026-11-30T20:00:00Z"});
        assert_eq!(count(json!({"connectionState": state("Successful"), "cacheInfo": synced})), Some(0));
        assert_eq!(count(json!({"connectionState": state("Unknown"), "applicationsCount": 0})), Some(0));
        assert_eq!(count(json!({"connectionState": state("Failed"), "applicationsCount": 2})), Some(2));
    }
}
