//! What the command line calls.

use super::apply::open;
pub use super::apply::{Apply, Scope};
use super::clock::WallClock;
pub use super::destroy::Destroy;
pub use super::drain::Drain;
use super::drift::Recorded;
use super::drift::report::DriftReport;
use super::drift::sight::Viewer;
use super::events::Events;
use super::facts::{self, Breadth, FactBook};
use super::place::{expand_all, place_all};
use super::plan::Plan;
use super::preflight;
use super::report::{EngineError, InstanceStatus};
use super::status;
use super::work::Work;
use crate::argocd::settings::ArgoCdSettings;
pub use crate::aws::identity::AccountSettings;
use crate::aws::reading::ReaderSessions;
use crate::aws::sessions::Sessions;
use crate::graph::definition::Definitions;
use crate::graph::documents::Documents;
use crate::state::error::StateError;
use crate::state::file::{DefinitionsUsed, InstanceKey};
use crate::state::session::{self, Holder};
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
    /// Region of objects that no annotation gives one (`AWS_REGION`).
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

/// Why a registration is not reached.
pub(super) const NO_ARGOCD: &str = "no Argo CD server is configured: set ARGOCD_SERVER and ARGOCD_AUTH_TOKEN";
impl ArgoCd {
    /// The server's address, if there is one.
    pub(super) fn server(&self) -> Option<&str> {
        match self {
            Self::Server(settings) => Some(settings.server()),
            Self::NotConfigured | Self::None => None,
        }
    }
}

/// The engine.
#[derive(Debug, Clone)]
pub struct Engine {
    /// Sessions of all accounts.
    pub(super) sessions: Arc<Sessions>,
    /// Where state is.
    pub(super) store: Arc<dyn Store>,
    /// What it was told.
    pub(super) settings: Arc<EngineSettings>,
    /// Where events go.
    pub(super) events: Events,
    /// What was asked of accounts and regions, for all instances.
    pub(super) facts: Arc<FactBook>,
    /// What time it is.
    pub(super) clock: WallClock,
}

impl Engine {
    /// Makes an engine. Calls nothing.
    pub fn new(sessions: Arc<Sessions>, store: Arc<dyn Store>, settings: EngineSettings, events: Events) -> Self {
        Self { sessions, store, settings: Arc::new(settings), events, facts: Arc::default(), clock: WallClock::default() }
    }

    /// The same with another clock than the system's, for simulations.
    #[cfg(test)]
    pub(super) fn with_clock(self, clock: crate::state::clock::Clock) -> Self {
        Self { clock: WallClock::of(clock), ..self }
    }

    /// Expands every instance among the documents and places its resources. Calls only `sts:GetCallerIdentity`.
    pub async fn work(
        &self,
        documents: &Documents,
        definitions: &Definitions,
        used: &DefinitionsUsed,
    ) -> Result<Vec<Work>, EngineError> {
        // Documents are judged before anybody is asked, so that their faults need no credentials.
        let mut works = expand_all(documents, definitions, used)?;
        let caller = self.sessions.caller().await.map_err(super::clouds::caller_error)?;
        place_all(&mut works, documents, &self.settings, Some(&caller.account))?;
        Ok(works)
    }

    /// Plans without lock and without writing anything.
    pub async fn plan(&self, work: &Work) -> Result<Plan, EngineError> {
        let state = session::read(self.store.as_ref(), &work.key()).await?;
        let site = super::apply::Site::new(self, work).await?;
        let mut sighting = site.plan(work, state.as_ref()).await?;
        let warnings = preflight::warnings(work, &sighting, self.clock.now()).await;
        sighting.planned.plan.warnings.extend(warnings);
        sighting.tell_what_lives().await;
        Ok(sighting.planned.plan)
    }

    /// What has drifted, by readers alone: no lock, no writing, not even where the state lies. What cannot be read is in
    /// the report; an error means that nothing could be judged.
    pub async fn drift(&self, work: &Work) -> Result<DriftReport, EngineError> {
        let key = work.key();
        let state = session::read(self.store.as_ref(), &key).await?;
        let holding = session::holding(self.store.as_ref(), &key, &self.settings.holder.host).await?;
        let others = state.is_none() && !session::read_each(self.store.as_ref()).await?.is_empty();
        let sessions = ReaderSessions::of(self.sessions.clone());
        let viewer = Viewer { sessions, settings: &self.settings, events: &self.events, clock: &self.clock, instance: key };
        super::drift::drift(&viewer, work, &Recorded { state, holding, others }).await
    }

    /// Checks plans of one run against what is true of their accounts and regions, all together, and puts what was found
    /// into [`Plan::checks`]. A plan that is refused is not to be carried out. Reads only.
    pub async fn check(&self, planned: &mut [(&Work, Plan)]) {
        let pairs: Vec<_> = planned.iter().map(|(work, plan)| (*work, plan)).collect();
        let found = facts::check(self, &pairs, Breadth::Everything).await;
        for ((_, plan), findings) in planned.iter_mut().zip(found) {
            plan.checks = findings;
        }
    }

    /// The same for opened applies. What is refused makes each of them refuse to run; see [`Apply::run`].
    pub async fn check_applies(&self, applies: &mut [Apply]) {
        let pairs: Vec<_> = applies.iter().map(Apply::planned).collect();
        let found = facts::check(self, &pairs, Breadth::Changes).await;
        for (apply, findings) in applies.iter_mut().zip(found) {
            apply.found(findings);
        }
    }

    /// Takes the lock, resolves what an earlier run left open, reads, and plans. Mutates nothing.
    pub async fn open_apply(&self, work: Work, scope: Scope) -> Result<Apply, EngineError> {
        Box::pin(open(self, work, scope)).await
    }

    /// The same for destroy, from the state alone. `None` if there is no state of that key. With `drain`, what lives on a
    /// cluster by Argo CD's doing is removed first.
    pub async fn open_destroy(&self, key: &InstanceKey, drain: Option<Drain>) -> Result<Option<Destroy>, EngineError> {
        super::destroy::open(self, key, drain).await
    }

    /// What is recorded of every instance for which anything was ever done, without any call; and what is wrong with the states that cannot be read.
    pub async fn status(&self) -> Result<(Vec<InstanceStatus>, Vec<StateError>), EngineError> {
        let mut statuses = Vec::new();
        let mut unreadable = Vec::new();
        for (_, state) in session::read_each(self.store.as_ref()).await? {
            match state {
                Ok(state) if status::is_used(&state) => {
                    let host = &self.settings.holder.host;
                    let holding = session::holding(self.store.as_ref(), &state.instance, host).await?;
                    statuses.push(status::of(&state, holding));
                }
                Ok(_) => {}
                Err(error) => unreadable.push(error),
            }
        }
        Ok((statuses, unreadable))
    }
}

/// What [`Engine::work`] finds out without any call; accounts that only the caller's identity would tell stay empty. For
/// `validate` and `graph`.
pub fn work_offline(
    documents: &Documents,
    definitions: &Definitions,
    used: &DefinitionsUsed,
    settings: &EngineSettings,
) -> Result<Vec<Work>, EngineError> {
    let mut works = expand_all(documents, definitions, used)?;
    place_all(&mut works, documents, settings, None)?;
    Ok(works)
}
