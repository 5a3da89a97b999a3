//! Sessions for whoever only looks: they give readers and nothing else.

use super::cloud::Readers;
use super::sessions::{Caller, SessionError, Sessions};
use crate::state::file::RoleUsed;
use std::sync::Arc;

/// Sessions that give readers and nothing else: there is no way from here to a writer.
///
/// ```
/// async fn ask(sessions: &fleetctl::aws::reading::ReaderSessions) {
///     let _ = sessions.readers("222222222222", "us-west-2", None, "workload-cluster1").await;
/// }
/// ```
///
/// ```compile_fail,E0599
/// async fn ask(sessions: &fleetctl::aws::reading::ReaderSessions) {
///     let _ = sessions.target("222222222222", "us-west-2", None, "workload-cluster1").await;
/// }
/// ```
#[derive(Debug, Clone)]
pub struct ReaderSessions(Arc<Sessions>);

impl ReaderSessions {
    /// The same sessions without what changes.
    pub fn of(sessions: Arc<Sessions>) -> Self {
        Self(sessions)
    }

    /// What reads an account and region, and who we are there: see [`Sessions::target`].
    pub async fn readers(
        &self,
        account: &str,
        region: &str,
        role: Option<&RoleUsed>,
        instance: &str,
    ) -> Result<(Readers, Caller), SessionError> {
        let target = self.0.target(account, region, role, instance).await?;
        Ok((target.cloud.readers.clone(), target.caller.clone()))
    }
}
