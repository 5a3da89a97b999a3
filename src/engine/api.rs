//! What the command line calls.

use super::events::Events;
use super::plan::Plan;
use super::report::{EngineError, InstanceStatus, RunReport};
use super::stop::Stop;
use super::work::Work;
use crate::argocd::settings::ArgoCdSettings;
pub use crate::aws::identity::AccountSettings;
use crate::aws::sessions::Sessions;
use crate::graph::definition::Definitions;
use crate::graph::documents::Documents;
use crate::state::file::{DefinitionsUsed, InstanceKey};
use crate::state::session::Holder;
use crate::state::store::Store;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What the engine is told once.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// Who takes locks.
    pub holder: Holder,
    /// Settings per account, by account id.
    pub accounts: BTreeMap<String, AccountSettings>,
    /// Tags for everything.
    pub default_tags: BTreeMap<String, String>,
    /// `rolePath`: path of IAM roles whose spec gives none.
    pub role_path: Option<String>,
    /// `permissionsBoundary`: boundary of IAM roles whose spec gives none.
    pub permissions_boundary: Option<String>,
    /// Region of objects that no annotation gives one (AWS_REGION).
    pub region: Option<String>,
    /// Argo CD.
    pub argocd: ArgoCd,
    /// Most steps at one time.
    pub parallelism: usize,
    /// Absence of an object that was just made counts after this long.
    pub visibility_window: Duration,
}

/// Whether and how clusters are registered.
#[derive(Debug, Clone)]
pub enum ArgoCd {
    /// With this server.
    Server(ArgoCdSettings),
    /// No server is configured: registrations are not reached, and the run is incomplete.
    NotConfigured,
    /// `argocd: none`: registrations are left out on purpose.
    None,
}

/// The engine.
#[derive(Debug)]
pub struct Engine {
    /// Sessions of all accounts.
    pub(super) sessions: Arc<Sessions>,
    /// Where state is.
    pub(super) store: Arc<dyn Store>,
    /// What it was told.
    pub(super) settings: EngineSettings,
    /// Where events go.
    pub(super) events: Events,
}

impl Engine {
    /// Makes an engine. Calls nothing.
    pub fn new(sessions: Arc<Sessions>, store: Arc<dyn Store>, settings: EngineSettings, events: Events) -> Self {
        Self { sessions, store, settings, events }
    }

    /// Expands every instance among the documents and places its resources. Calls only `sts:GetCallerIdentity`, and only
    /// where an account needs the caller's own.
    pub async fn work(
        &self,
        _documents: &Documents,
        _definitions: &Definitions,
        _used: &DefinitionsUsed,
    ) -> Result<Vec<Work>, EngineError> {
        todo!()
    }

    /// Plans without lock and without writing anything.
    pub async fn plan(&self, _work: &Work) -> Result<Plan, EngineError> {
        todo!()
    }

    /// Takes the lock, resolves what an earlier run left open, reads, and plans. Mutates nothing.
    pub async fn open_apply(&self, _work: Work) -> Result<Apply, EngineError> {
        todo!()
    }

    /// The same for destroy, from the state alone. `None` if there is no state of that key.
    pub async fn open_destroy(&self, _key: &InstanceKey) -> Result<Option<Destroy>, EngineError> {
        todo!()
    }

    /// What is recorded, without any call.
    pub async fn status(&self) -> Result<Vec<InstanceStatus>, EngineError> {
        todo!()
    }
}

/// An apply whose plan is made; the lock is held until it is run or dropped.
#[derive(Debug)]
pub struct Apply {}

impl Apply {
    /// What will be done.
    pub fn plan(&self) -> &Plan {
        todo!()
    }

    /// Does it. `confirmed` are the addresses whose removal or replacement was confirmed by name. Errors mean that
    /// nothing was changed.
    pub async fn run(self, _confirmed: &[String], _stop: &Stop) -> Result<RunReport, EngineError> {
        todo!()
    }
}

/// A destroy whose plan is made; the lock is held until it is run or dropped.
#[derive(Debug)]
pub struct Destroy {}

impl Destroy {
    /// What will be done.
    pub fn plan(&self) -> &Plan {
        todo!()
    }

    /// Does it.
    pub async fn run(self, _stop: &Stop) -> Result<RunReport, EngineError> {
        todo!()
    }
}

/// What `work` finds out about documents without any call: the same as [`Engine::work`], but accounts that only the
/// caller's identity would tell stay empty. For `validate` and `graph`.
pub fn work_offline(
    _documents: &Documents,
    _definitions: &Definitions,
    _used: &DefinitionsUsed,
    _settings: &EngineSettings,
) -> Result<Vec<Work>, EngineError> {
    todo!()
}
