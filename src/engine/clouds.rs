//! The services of every account and region that a run touches.

use super::api::ArgoCd;
use super::report::EngineError;
use crate::argocd;
use crate::aws::sessions::Sessions;
use crate::graph::identity::Identity;
use crate::kinds::kind::Cloud;
use crate::state::file::RoleUsed;
use std::sync::Arc;

/// Hands out services; each account is verified before its first use.
#[derive(Debug, Clone)]
pub struct Clouds {
    sessions: Arc<Sessions>,
    argocd: Option<(argocd::Reader, argocd::Writer)>,
}

impl Clouds {
    /// Makes the Argo CD client, if a server is configured. Calls nothing.
    pub fn new(sessions: Arc<Sessions>, argocd: &ArgoCd) -> Result<Self, EngineError> {
        let argocd = match argocd {
            ArgoCd::Server(settings) => Some(argocd::clients(settings).map_err(|error| EngineError::ArgoCd(error.to_string()))?),
            ArgoCd::NotConfigured | ArgoCd::None => None,
        };
        Ok(Self { sessions, argocd })
    }

    /// Whether an Argo CD server is configured.
    pub fn has_argocd(&self) -> bool {
        self.argocd.is_some()
    }

    /// The Argo CD reader, if a server is configured.
    pub fn argocd_reader(&self) -> Option<&argocd::Reader> {
        self.argocd.as_ref().map(|(reader, _)| reader)
    }

    /// The services that reach an object. Its account is compared with what `sts:GetCallerIdentity` says first.
    pub async fn cloud(&self, identity: &Identity, role: Option<&RoleUsed>, instance: &str) -> Result<Cloud, EngineError> {
        let target = self
            .sessions
            .target(&identity.account, &identity.region, role, instance)
            .await
            .map_err(|error| EngineError::Identity(error.to_string()))?;
        let mut cloud = target.cloud();
        if let Some((reader, writer)) = &self.argocd {
            cloud.readers.argocd = Some(reader.clone());
            cloud.writers.argocd = Some(writer.clone());
        }
        Ok(cloud)
    }
}
