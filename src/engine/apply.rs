//! Apply: open (lock, resolve, read, plan), then run.

use super::api::{ArgoCd, Engine};
use super::clouds;
use super::context::{Context, Item};
use super::look::Patience;
use super::outcome::Stopwatch;
use super::outlook::Outlook;
use super::plan::{Action, Header, Plan, Target};
use super::planner::{self, PlaceFacts, PlanInput, Planned, Seen};
use super::refresh::{Wanted, refresh, refresh_orphans};
use super::removal::Doomed;
use super::report::{EngineError, RunReport};
use super::resolve::resolve;
use super::run::{Part, Run};
use super::stop::Stop;
use super::work::{Place, Work};
use crate::aws::sessions;
use crate::graph::expansion::NodeIndex;
use crate::graph::identity::{Address, Identity};
use crate::kinds::catalog::{self, KindCatalog};
use crate::kinds::kind::{Kind, Marks, Subject};
use crate::kinds::recorder::{self, Recorder};
use crate::state::error::StateError;
use crate::state::file::{Begin, InstanceKey, Record, RoleUsed, StateFile};
use crate::state::journal::Journal;
use crate::state::session::Session;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The kinds, as evaluation sees them.
static CATALOG: KindCatalog = KindCatalog;

/// Why a registration is not reached.
const NO_ARGOCD: &str = "no Argo CD server is configured: set ARGOCD_SERVER and ARGOCD_AUTH_TOKEN";

/// An apply whose plan is made; the lock is held until it is run or dropped.
#[derive(Debug)]
pub struct Apply {
    engine: Engine,
    work: Work,
    session: Session,
    sighting: Sighting,
}

/// Everything that was read, and the plan that it leads to.
#[derive(Debug)]
pub(super) struct Sighting {
    pub(super) planned: Planned,
    seen: BTreeMap<NodeIndex, Seen>,
    pub(super) items: BTreeMap<NodeIndex, Item>,
    doomed: Vec<Doomed>,
}

/// Takes the lock, resolves what an earlier run left open, reads, and plans.
pub(super) async fn open(engine: &Engine, work: Work) -> Result<Apply, EngineError> {
    // Before the lock: whoever cannot reach the accounts leaves no trace.
    let site = Site::new(engine, &work).await?;
    let session = Session::open(engine.store.clone(), work.key(), engine.settings.holder.clone()).await?;
    let context = context(engine, &session.journal(), &Stop::default());
    site.resolve_all(&context).await?;
    let state = session.journal().snapshot();
    let sighting = site.plan(&work, Some(&state)).await?;
    super::preflight::check(&work, &sighting).await?;
    Ok(Apply { engine: engine.clone(), work, session, sighting })
}

impl Apply {
    /// What will be done.
    pub fn plan(&self) -> &Plan {
        &self.sighting.planned.plan
    }

    /// Does it. `confirmed` are the addresses whose removal or replacement was confirmed by name. Errors mean that
    /// nothing was changed.
    pub async fn run(self, confirmed: &[String], stop: &Stop) -> Result<RunReport, EngineError> {
        let plan = self.plan();
        if plan.summary.refused > 0 {
            return Err(EngineError::Refused(Box::new(plan.clone())));
        }
        let unconfirmed = plan.unconfirmed(confirmed);
        if !unconfirmed.is_empty() {
            return Err(EngineError::NotConfirmed(unconfirmed));
        }
        let journal = self.session.journal();
        journal.definitions(self.work.definitions.clone()).await?;
        let (stopwatch, events) = Stopwatch::start(&self.engine.events);
        let context = Context { events, ..context(&self.engine, &journal, stop) };
        let plan = plan.clone();
        let Sighting { planned, seen, items, doomed } = self.sighting;
        let parts = parts(&self.work, &planned.plan, seen, items);
        let run = Run::new(&self.work, &CATALOG, context, self.engine.settings.parallelism, planned, parts);
        let mut report = run.carry_out(doomed).await;
        stopwatch.complete(&mut report, &plan, &journal.snapshot());
        if let Err(error) = self.session.close().await {
            report.not_closed(&error);
        }
        Ok(report)
    }
}

/// What the run takes over of each resource; what is adopted gets its record here.
fn parts(
    work: &Work,
    plan: &Plan,
    seen: BTreeMap<NodeIndex, Seen>,
    mut items: BTreeMap<NodeIndex, Item>,
) -> BTreeMap<NodeIndex, Part> {
    let mut parts = BTreeMap::new();
    for (index, seen) in seen {
        let Some(item) = items.remove(&index) else { continue };
        let address = &work.graph.node(index).address;
        let adopted = plan.changes.iter().any(|change| change.address == *address && change.action == Action::Adopt);
        let record = match (&seen.observed, adopted) {
            (Some(observed), true) => Some(item.adopted(observed, &work.blank.node(index).desired.known_part())),
            _ => seen.record,
        };
        parts.insert(index, Part { item, record, observed: seen.observed, unreachable: seen.unreachable });
    }
    parts
}

/// What steps share, in one run.
pub(super) fn context(engine: &Engine, journal: &Journal, stop: &Stop) -> Context {
    let window = engine.settings.visibility_window;
    let options = recorder::Options { visibility_window: window, ..recorder::Options::default() };
    let events = engine.events.clone();
    let recorder = Recorder::new(journal.clone(), options, Arc::new(move |event| events.say(event.into())));
    let state = journal.snapshot();
    Context {
        recorder,
        journal: journal.clone(),
        events: engine.events.clone(),
        stop: stop.clone(),
        window,
        outlook: Outlook::of(Address::root(&state.instance.kind, &state.instance.name)),
        durations: Arc::new(state.durations),
    }
}

/// The services of one instance, and what makes its objects ours.
#[derive(Debug)]
pub(super) struct Site {
    engine: Engine,
    caller: String,
    instance: InstanceKey,
}

impl Site {
    /// Verifies every account that the work touches.
    pub(super) async fn new(engine: &Engine, work: &Work) -> Result<Self, EngineError> {
        let site = Self::of(engine, work.key()).await?;
        for place in work.places.iter().flatten() {
            // Sessions ask once for an account, region and role.
            site.target(&place.identity, place.role.as_ref()).await?;
        }
        Ok(site)
    }

    /// The same without work, for destroy.
    pub(super) async fn of(engine: &Engine, instance: InstanceKey) -> Result<Self, EngineError> {
        let caller = engine.sessions.caller().await.map_err(clouds::caller_error)?;
        Ok(Self { engine: engine.clone(), caller: caller.arn, instance })
    }

    async fn target(&self, identity: &Identity, role: Option<&RoleUsed>) -> Result<Arc<sessions::Target>, EngineError> {
        clouds::target(&self.engine.sessions, identity, role, &self.instance.name).await
    }

    fn has_argocd(&self) -> bool {
        matches!(self.engine.settings.argocd, ArgoCd::Server(_))
    }

    /// An object with everything needed to work on it.
    pub(super) async fn item(
        &self,
        identity: &Identity,
        address: &Address,
        role: Option<&RoleUsed>,
        dependencies: Vec<Identity>,
        lineage: &str,
    ) -> Result<Item, EngineError> {
        let settings = &self.engine.settings;
        let target = self.target(identity, role).await?;
        let key = &self.instance;
        let marks = Marks {
            lineage: lineage.to_owned(),
            instance: format!("{}/{}/{}", key.namespace, key.kind, key.name),
            address: address.to_string(),
        };
        let subject = Subject {
            identity: identity.clone(),
            address: address.clone(),
            partition: target.caller.partition.clone(),
            role: role.cloned(),
            marks,
            default_tags: settings.default_tags.clone(),
            role_path: settings.role_path.clone(),
            permissions_boundary: settings.permissions_boundary.clone(),
            dependencies,
        };
        Ok(Item { kind: known_kind(identity, &self.instance)?, subject, cloud: target.cloud.clone() })
    }

    /// An object of the state.
    pub(super) async fn recorded_item(&self, record: &Record, lineage: &str) -> Result<Item, EngineError> {
        let dependencies = record.dependencies.clone();
        self.item(&record.identity, &record.address, record.role.as_ref(), dependencies, lineage).await
    }

    /// Resolves every call that an earlier run left open.
    pub(super) async fn resolve_all(&self, context: &Context) -> Result<(), EngineError> {
        let state = context.journal.snapshot();
        let resolving = state.open.iter().map(|begin| self.resolve_one(context, begin, &state.lineage));
        futures::future::try_join_all(resolving).await?;
        Ok(())
    }

    async fn resolve_one(&self, context: &Context, begin: &Begin, lineage: &str) -> Result<(), EngineError> {
        let item = self.item(&begin.identity, &begin.address, begin.role.as_ref(), begin.dependencies.clone(), lineage).await?;
        match resolve(context, &item, begin).await {
            Ok(_) => Ok(()),
            Err(trouble) => {
                let reason = trouble.reason().map_or_else(|| "interrupted".to_owned(), |reason| reason.text);
                Err(EngineError::Unresolved(reason))
            }
        }
    }

    /// Reads everything and plans.
    pub(super) async fn plan(&self, work: &Work, state: Option<&StateFile>) -> Result<Sighting, EngineError> {
        let lineage = state.map(|state| state.lineage.clone()).unwrap_or_default();
        let wanted = self.wanted(work, state, &lineage).await?;
        let window = self.engine.settings.visibility_window;
        let mut doomed = self.orphaned(work, state, &lineage).await?;
        let patience = Patience { window, stop: &Stop::default(), events: &self.engine.events };
        let (seen, orphans) = tokio::try_join!(refresh(&wanted, patience), refresh_orphans(&doomed, patience))?;
        let facts = self.facts(work).await?;
        let input = PlanInput {
            work,
            facts: &facts,
            header: self.header(work, state),
            seen: &seen,
            orphans: &orphans,
            open_calls: state.map(|state| open_calls(&state.open)).unwrap_or_default(),
        };
        let planned = planner::plan(input);
        if !planned.evaluation.errors.is_empty() {
            return Err(EngineError::Documents(planned.evaluation.errors));
        }
        doomed.retain(|one| !planned.superseded.contains(&one.record.identity));
        let mut items = BTreeMap::new();
        for Wanted { index, item, record, .. } in wanted {
            match record {
                Some(record) if planned.evaluation.is_excluded(index) => doomed.push(self.doomed(item, record)),
                _ => drop(items.insert(index, item)),
            }
        }
        Ok(Sighting { planned, seen, items, doomed })
    }

    /// What is true of every account and region in which a subnet is wanted.
    async fn facts(&self, work: &Work) -> Result<BTreeMap<(String, String), PlaceFacts>, EngineError> {
        let mut facts = BTreeMap::new();
        for place in work.places.iter().flatten().filter(|place| place.identity.kind == "Subnet") {
            let key = (place.identity.account.clone(), place.identity.region.clone());
            if facts.contains_key(&key) {
                continue;
            }
            let target = self.target(&place.identity, place.role.as_ref()).await?;
            let found = target.facts().await.map_err(EngineError::Read)?;
            let zones = found.zones.iter().map(|zone| (zone.name.clone(), zone.hosts_eks)).collect();
            facts.insert(key, PlaceFacts { zones });
        }
        Ok(facts)
    }

    /// Something to be removed.
    pub(super) fn doomed(&self, item: Item, record: Record) -> Doomed {
        let unreachable = (record.identity.is_secret() && !self.has_argocd()).then(|| NO_ARGOCD.to_owned());
        Doomed { item, record, unreachable }
    }

    async fn wanted(&self, work: &Work, state: Option<&StateFile>, lineage: &str) -> Result<Vec<Wanted>, EngineError> {
        // Nothing can carry a lineage that was made just now, so tags need not be searched.
        let never_used = state.is_none_or(|state| state.last_entry == 0 && state.resources.is_empty());
        let mut wanted = Vec::new();
        for (index, place) in work.places.iter().enumerate() {
            let Some(place) = place else { continue };
            let index = NodeIndex(index);
            let address = &work.graph.node(index).address;
            let item = self.item(&place.identity, address, place.role.as_ref(), dependencies(work, index), lineage).await?;
            wanted.push(Wanted {
                index,
                unreachable: self.unreachable(place),
                record: state.and_then(|state| state.record(&place.identity)).cloned(),
                desired: work.blank.node(index).desired.known_part(),
                never_used,
                item,
            });
        }
        Ok(wanted)
    }

    fn unreachable(&self, place: &Place) -> Option<String> {
        let missing = place.identity.is_secret() && !self.has_argocd();
        missing.then(|| format!("{NO_ARGOCD}, or `argocd: none` in fleetctl.yaml"))
    }

    /// What is recorded and has left the graph.
    async fn orphaned(&self, work: &Work, state: Option<&StateFile>, lineage: &str) -> Result<Vec<Doomed>, EngineError> {
        let mut orphaned = Vec::new();
        for record in state.map(|state| state.resources.as_slice()).unwrap_or_default() {
            let placed = work.places.iter().flatten().any(|place| place.identity == record.identity);
            let left_out = record.identity.is_secret() && matches!(self.engine.settings.argocd, ArgoCd::None);
            if !placed && !left_out {
                orphaned.push(self.doomed(self.recorded_item(record, lineage).await?, record.clone()));
            }
        }
        Ok(orphaned)
    }

    fn header(&self, work: &Work, state: Option<&StateFile>) -> Header {
        let targets: BTreeSet<Target> = work.places.iter().flatten().map(target).collect();
        let recorded = state.and_then(|state| state.definitions.clone());
        Header {
            instance: work.graph.node(NodeIndex(0)).address.clone(),
            caller: self.caller.clone(),
            targets: targets.into_iter().collect(),
            definitions_changed: recorded
                .filter(|recorded| recorded.hash != work.definitions.hash)
                .map(|recorded| (recorded, work.definitions.clone())),
            definitions: work.definitions.clone(),
            lineage: state.map(|state| state.lineage.clone()).unwrap_or_default(),
            serial: state.map(|state| state.serial).unwrap_or_default(),
        }
    }

    /// The caller's ARN.
    pub(super) fn caller(&self) -> &str {
        &self.caller
    }
}

/// The kind of something recorded or placed.
fn known_kind(identity: &Identity, instance: &InstanceKey) -> Result<&'static dyn Kind, EngineError> {
    catalog::kind(&identity.api_version, &identity.kind).ok_or_else(|| {
        let reason = format!("it records a {} ({}), which this fleetctl does not carry out", identity.kind, identity.api_version);
        EngineError::State(StateError::Damaged { key: instance.store_key(), reason })
    })
}

/// What a resource's record depends on: what its edges lead to.
fn dependencies(work: &Work, index: NodeIndex) -> Vec<Identity> {
    let identities: BTreeSet<&Identity> =
        work.graph.edges_from(index).filter_map(|edge| work.place(edge.to)).map(|place| &place.identity).collect();
    identities.into_iter().cloned().collect()
}

fn target(place: &Place) -> Target {
    Target {
        account: place.identity.account.clone(),
        region: place.identity.region.clone(),
        role: place.role.as_ref().map(|role| role.arn.clone()),
        because: place.because.clone(),
    }
}

fn open_calls(open: &[Begin]) -> Vec<String> {
    open.iter().map(|begin| format!("{} of {}", begin.operation, begin.address)).collect()
}
