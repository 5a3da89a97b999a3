//! The Argo CD client: clusters over its REST API.

pub mod settings;

use crate::aws::error::CallError;
use crate::state::journal::Permit;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Reads clusters.
#[derive(Debug, Clone)]
pub struct Reader {}

/// Changes clusters.
#[derive(Debug, Clone)]
pub struct Writer {}

/// A cluster as Argo CD's API has it, as far as fleetctl uses it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// The API endpoint; the identity.
    pub server: String,
    /// Its name.
    pub name: String,
    /// Its project; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// Labels, without Argo CD's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations, without Argo CD's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// How to reach it: `awsAuthConfig`, `tlsClientConfig`, ….
    #[serde(default)]
    pub config: Value,
}

impl Reader {
    /// Every cluster the token may see.
    pub async fn list_clusters(&self) -> Result<Vec<Cluster>, CallError> {
        todo!()
    }
}

impl Writer {
    /// `POST /api/v1/clusters?upsert=true`.
    pub async fn create_cluster(&self, _permit: Permit, _cluster: &Cluster) -> Result<Cluster, CallError> {
        todo!()
    }

    /// `PUT /api/v1/clusters/{server}` with `updatedFields`.
    pub async fn update_cluster(
        &self,
        _permit: Permit,
        _cluster: &Cluster,
        _updated_fields: &[&str],
    ) -> Result<Cluster, CallError> {
        todo!()
    }

    /// `DELETE /api/v1/clusters/{server}`.
    pub async fn delete_cluster(&self, _permit: Permit, _server: &str) -> Result<(), CallError> {
        todo!()
    }
}
