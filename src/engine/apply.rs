//! Apply: open (lock, resolve, read, plan), then run.

use super::api::{ArgoCd, Engine, NO_ARGOCD};
use super::clouds;
use super::context::{Context, Item};
use super::copies::{self, Copies};
use super::drain;
use super::drift;
use super::drift::report::DriftReport;
use super::facts::{self, Answer, Breadth, Place as Where, Question, Stage, Wants, Ways};
use super::finding::Finding;
use super::look::Patience;
use super::outcome::Stopwatch;
use super::outlook::Outlook;
use super::ownership;
use super::plan::{Action, Change, Header, Plan, Target};
use super::planner::{self, Orphan, PlaceFacts, PlanInput, Planned, Seen};
use super::refresh::{Reading, Unanswered, Wanted, look_again, refresh, refresh_orphans};
use super::removal::Doomed;
use super::report::{EngineError, RunReport};
use super::resolve::resolve;
use super::run::{Part, Run};
use super::stop::Stop;
use super::subject::{Common, known_kind};
use super::work::{HeldBack, Place, Work};
use crate::aws::sessions;
use crate::graph::expansion::NodeIndex;
use crate::graph::identity::{Address, Identity};
use crate::kinds::catalog::KindCatalog;
use crate::kinds::recorder::{self, Recorder};
use crate::state::file::{Begin, InstanceKey, Record, RoleUsed, StateFile};
use crate::state::journal::Journal;
use crate::state::session::{self, Session};
use chrono::{DateTime, Utc};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::time::Instant;

/// The kinds, as evaluation sees them.
static CATALOG: KindCatalog = KindCatalog;

/// An apply whose plan is made; the lock is held until it is run or dropped.
#[derive(Debug)]
pub struct Apply {
    engine: Engine,
    work: Work,
    session: Session,
    sighting: Sighting,
    /// What is put back, where that is all.
    drift: Option<DriftReport>,
}

/// How much of the difference between documents and AWS an apply carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All of it.
    Everything,
    /// What was changed past fleetctl since the last apply. What the documents have brought since then stays undone.
    DriftOnly,
}

/// Everything that was read, and the plan that it leads to.
#[derive(Debug)]
pub(super) struct Sighting {
    pub(super) planned: Planned,
    seen: BTreeMap<NodeIndex, Seen>,
    pub(super) items: BTreeMap<NodeIndex, Item>,
    doomed: Vec<Doomed>,
    copies: Copies,
    has_argocd: bool,
}

/// What was read for a plan.
#[derive(Debug)]
struct Looked {
    wanted: Vec<Wanted>,
    doomed: Vec<Doomed>,
    seen: BTreeMap<NodeIndex, Seen>,
    orphans: Vec<Orphan>,
    copies: Copies,
    started: Instant,
}

impl Sighting {
    /// Whether Argo CD is configured and something of it could not be read.
    pub(super) fn is_unread(&self) -> bool {
        self.has_argocd && !self.planned.plan.is_complete()
    }

    /// Says what lives on clusters whose registration leaves Argo CD.
    pub(super) async fn tell_what_lives(&mut self) {
        let plan = &mut self.planned.plan;
        let leaves = |one: &&Doomed| {
            plan.changes.iter().any(|change| change.address == one.record.address && change.action == Action::Delete)
        };
        let mut applications = Vec::new();
        for one in self.doomed.iter().filter(|one| one.record.identity.is_secret() && one.unreachable.is_none()).filter(leaves) {
            applications.extend(drain::look_at(&one.item, &one.record, false).await);
        }
        drain::tell(&applications, &mut plan.changes);
        plan.applications = applications;
    }
}

/// Takes the lock, resolves what an earlier run left open, reads, and plans.
pub(super) async fn open(engine: &Engine, mut work: Work, scope: Scope) -> Result<Apply, EngineError> {
    if scope == Scope::DriftOnly {
        // Before the lock: nothing is put back without a state.
        let state = session::read(engine.store.as_ref(), &work.key()).await?;
        if !state.as_ref().is_some_and(drift::is_used) {
            return Err(EngineError::NothingApplied(work.key().to_string()));
        }
    }
    // Before the lock: whoever cannot reach the accounts leaves no trace.
    let site = Site::new(engine, &work).await?;
    let session =
        Session::open_with(engine.store.clone(), work.key(), engine.settings.holder.clone(), engine.clock.clock()).await?;
    let context = context(engine, &session.journal(), &Stop::default());
    site.resolve_all(&context).await?;
    let state = session.journal().snapshot();
    let looked = site.look(&work, Some(&state), Unanswered::Stops).await?;
    let drift = match scope {
        Scope::Everything => None,
        Scope::DriftOnly => Some(hold_back(&mut work, &looked, &state)?),
    };
    let mut sighting = site.planned(&work, Some(&state), looked).await?;
    let warnings = super::preflight::check(&work, &sighting, engine.clock.now()).await?;
    sighting.planned.plan.warnings.extend(warnings);
    sighting.tell_what_lives().await;
    Ok(Apply { engine: engine.clone(), work, session, sighting, drift })
}

/// Judges what has drifted, and has everything else stay as it is.
fn hold_back(work: &mut Work, looked: &Looked, state: &StateFile) -> Result<DriftReport, EngineError> {
    // These are only glanced at here: whether they are there is all that is known.
    let is_missing = |(_, orphan): &(&Doomed, &Orphan)| orphan.observed.is_none() && orphan.unreachable.is_none();
    let missing = looked.doomed.iter().zip(&looked.orphans).filter(is_missing);
    let gone = |(doomed, orphan): (&Doomed, &Orphan)| Seen {
        subject: doomed.item.subject.clone(),
        record: Some(orphan.record.clone()),
        observed: None,
        unreachable: None,
    };
    let left: Vec<Seen> = missing.map(gone).collect();
    let input = drift::judge::Input { work, seen: &looked.seen, left: &left, knows: drift::judge::Knows::State(state) };
    let mut verdict = drift::judge::judge(&input)?;
    let held_back = HeldBack { drift_only: true, ..std::mem::take(&mut verdict.held_back) };
    let report = DriftReport::new(work, verdict, true, Vec::new(), looked.started.elapsed());
    work.held_back = held_back;
    Ok(report)
}

impl Apply {
    /// What will be done.
    pub fn plan(&self) -> &Plan {
        &self.sighting.planned.plan
    }

    /// What has drifted, where only that is put back.
    pub fn drift(&self) -> Option<&DriftReport> {
        self.drift.as_ref()
    }

    /// What is to be done, and what of.
    pub(super) fn planned(&self) -> (&Work, &Plan) {
        (&self.work, &self.sighting.planned.plan)
    }

    /// Takes what the checks have found.
    pub(super) fn found(&mut self, findings: Vec<Finding>) {
        self.sighting.planned.plan.checks = findings;
    }

    /// Does it. `confirmed` are the addresses whose removal or replacement was confirmed by name. Errors mean that
    /// nothing was changed.
    pub async fn run(self, confirmed: &[String], stop: &Stop) -> Result<RunReport, EngineError> {
        let plan = self.plan();
        if plan.is_refused() {
            return Err(EngineError::Refused(Box::new(plan.clone())));
        }
        let unconfirmed = plan.unconfirmed(confirmed);
        if !unconfirmed.is_empty() {
            return Err(EngineError::NotConfirmed(unconfirmed));
        }
        let journal = self.session.journal();
        if self.drift.is_none() {
            journal.definitions(self.work.definitions.clone()).await?;
        }
        let (stopwatch, events) = Stopwatch::start(&self.engine.events, &self.engine.settings.argocd, &self.engine.clock);
        let context = Context { events, ..context(&self.engine, &journal, stop) };
        let plan = plan.clone();
        let Sighting { planned, seen, items, doomed, copies, .. } = self.sighting;
        let mut parts = parts(&self.work, &planned.plan, seen, items, self.engine.clock.now());
        take_addresses(&journal, &mut parts).await?;
        let recorder = context.recorder.clone();
        let copying = context.clone();
        let run = Run::new(&self.work, &CATALOG, context, self.engine.settings.parallelism, planned, parts);
        let removed = Box::pin(copies::remove(&copying, &copies)).await;
        let mut report = run.carry_out(doomed).await;
        report.add(removed);
        stopwatch.complete(&mut report, &plan, &journal.snapshot(), recorder.effective());
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
    now: DateTime<Utc>,
) -> BTreeMap<NodeIndex, Part> {
    let mut parts = BTreeMap::new();
    for (index, seen) in seen {
        let Some(item) = items.remove(&index) else { continue };
        let address = &work.graph.node(index).address;
        let adopted = plan.changes.iter().any(|change| change.address == *address && change.action == Action::Adopt);
        let record = match (&seen.observed, adopted) {
            (Some(observed), true) => Some(item.adopted(observed, &work.blank.node(index).desired.known_part(), now)),
            _ => seen.record,
        };
        parts.insert(index, Part { item, record, observed: seen.observed, unreachable: seen.unreachable });
    }
    parts
}

/// What is recorded under an address that it does not have any more gets the one that the documents give it.
async fn take_addresses(journal: &Journal, parts: &mut BTreeMap<NodeIndex, Part>) -> Result<(), EngineError> {
    for part in parts.values_mut() {
        let address = &part.item.subject.address;
        let Some(record) = part.record.as_mut().filter(|record| record.address != *address) else { continue };
        record.address = address.clone();
        if journal.view(|state| state.record(&record.identity).is_some()) {
            journal.put(record.clone()).await?;
        }
    }
    Ok(())
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
        wall: engine.clock.clone(),
        clock: Instant::now(),
        outlook: Outlook::of(Address::root(&state.instance.kind, &state.instance.name)),
        durations: Arc::new(state.durations),
        former: None,
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
        let target = self.target(identity, role).await?;
        let (settings, partition) = (&*self.engine.settings, target.caller.partition.as_str());
        let common = Common { settings, instance: &self.instance, lineage, partition };
        let subject = common.subject(identity, address, role, dependencies);
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

    /// Reads everything and plans. Where Argo CD does not answer, what is there is not read, and everything else is
    /// planned.
    pub(super) async fn plan(&self, work: &Work, state: Option<&StateFile>) -> Result<Sighting, EngineError> {
        let looked = self.look(work, state, Unanswered::IsShown).await?;
        self.planned(work, state, looked).await
    }

    /// Reads everything.
    async fn look(&self, work: &Work, state: Option<&StateFile>, unanswered: Unanswered) -> Result<Looked, EngineError> {
        let started = Instant::now();
        let lineage = state.map(|state| state.lineage.clone()).unwrap_or_default();
        let wanted = self.wanted(work, state, &lineage).await?;
        let window = self.engine.settings.visibility_window;
        let doomed = self.orphaned(work, state, &lineage).await?;
        let (stop, events) = (Stop::default(), &self.engine.events);
        let reading = Reading { patience: Patience { window, stop: &stop, events, clock: &self.engine.clock }, unanswered };
        // What will have to be known of the accounts is asked meanwhile.
        let asked = async {
            self.answers(work, assumed(work, &wanted)).await;
            Ok(())
        };
        let (read, read_orphans) = (refresh(&wanted, reading), refresh_orphans(&doomed, reading));
        let (mut seen, orphans, copies, ()) = tokio::try_join!(read, read_orphans, Box::pin(copies::look(self, state)), asked)?;
        look_again(work, &wanted, &mut seen, reading).await?;
        Ok(Looked { wanted, doomed, seen, orphans, copies, started })
    }

    /// Plans with what was read.
    async fn planned(&self, work: &Work, state: Option<&StateFile>, looked: Looked) -> Result<Sighting, EngineError> {
        let Looked { wanted, mut doomed, seen, mut orphans, mut copies, .. } = looked;
        let facts = self.facts(work, &seen).await?;
        let drift_only = work.held_back.drift_only;
        if drift_only {
            // What has left the graph stays: that is for an apply of everything.
            doomed.clear();
            orphans.clear();
            copies = Copies::default();
        }
        let input = PlanInput {
            work,
            facts: &facts,
            header: self.header(work, state),
            seen: &seen,
            orphans: &orphans,
            open_calls: state.map(|state| open_calls(&state.open)).unwrap_or_default(),
        };
        let mut planned = planner::plan(input);
        self.refuse_what_others_own(work, state, &mut planned).await?;
        copies::tell(&copies, &mut planned.plan);
        let is_unread =
            |one: &&Wanted| one.unreachable.is_none() && seen.get(&one.index).is_some_and(|seen| seen.unreachable.is_some());
        let unread: Vec<&Address> = wanted.iter().filter(is_unread).map(|one| &one.item.subject.address).collect();
        planned.plan.changes.iter_mut().filter(|change| unread.contains(&&change.address)).for_each(Change::mark_unread);
        if !planned.evaluation.errors.is_empty() {
            return Err(EngineError::Documents(planned.evaluation.errors));
        }
        doomed.retain(|one| !planned.superseded.contains(&one.record.identity));
        let mut items = BTreeMap::new();
        for Wanted { index, item, record, .. } in wanted {
            match record {
                Some(_) if work.held_back.whole.contains(&index) => {}
                Some(record) if planned.evaluation.is_excluded(index) => doomed.push(self.doomed(item, record)),
                _ => drop(items.insert(index, item)),
            }
        }
        Ok(Sighting { planned, seen, items, doomed, copies, has_argocd: self.has_argocd() })
    }

    /// Refuses what another state of the store has recorded. The others are read only if there is something to take on, or to
    /// be taken for ours.
    async fn refuse_what_others_own(
        &self,
        work: &Work,
        state: Option<&StateFile>,
        planned: &mut Planned,
    ) -> Result<(), EngineError> {
        let takes_on = ownership::takes_on(&planned.plan);
        if !takes_on && state.is_none_or(|state| state.resources.is_empty()) {
            return Ok(());
        }
        let (recorded, _) = ownership::look_at_others(self.engine.store.as_ref(), &work.key(), state, |_| {}).await?;
        if takes_on {
            ownership::refuse(planned, work, state, &recorded);
        }
        Ok(())
    }

    /// What is true of every account and region in which a subnet is to be made.
    async fn facts(
        &self,
        work: &Work,
        seen: &BTreeMap<NodeIndex, Seen>,
    ) -> Result<BTreeMap<(String, String), PlaceFacts>, EngineError> {
        let absent = seen.values().filter(|seen| seen.observed.is_none()).map(|seen| &seen.subject.identity);
        let mut facts = BTreeMap::new();
        for (question, answer) in self.answers(work, zones_for(absent)).await {
            if let (Question::Zones(Where { account, region }), Answer::Zones(zones)) =
                (question, answer.map_err(EngineError::Read)?)
            {
                facts.insert((account, region), PlaceFacts { zones });
            }
        }
        Ok(facts)
    }

    /// Asks; nothing is asked twice in one run.
    async fn answers(&self, work: &Work, questions: BTreeSet<Question>) -> facts::Answers {
        self.engine.facts.answers(&Ways { sessions: &self.engine.sessions, works: &[work] }, questions).await
    }

    /// Something to be removed.
    pub(super) fn doomed(&self, item: Item, record: Record) -> Doomed {
        let unreachable = (record.identity.is_secret() && !self.has_argocd()).then(|| NO_ARGOCD.to_owned());
        Doomed { item, record, unreachable }
    }

    /// What is to be looked at, given what the state says.
    pub(super) async fn wanted(&self, work: &Work, state: Option<&StateFile>, lineage: &str) -> Result<Vec<Wanted>, EngineError> {
        // Nothing can carry a lineage that was made just now, so tags need not be searched.
        let never_used = !state.is_some_and(drift::is_used);
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
        let used = state.filter(|state| drift::is_used(state));
        Header {
            instance: work.graph.node(NodeIndex(0)).address.clone(),
            caller: self.caller.clone(),
            targets: targets.into_iter().collect(),
            definitions_changed: recorded
                .filter(|recorded| recorded.hash != work.definitions.hash)
                .map(|recorded| (recorded, work.definitions.clone())),
            definitions: work.definitions.clone(),
            lineage: used.map(|state| state.lineage.clone()).unwrap_or_default(),
            serial: state.map(|state| state.serial).unwrap_or_default(),
        }
    }

    /// The caller's ARN.
    pub(super) fn caller(&self) -> &str {
        &self.caller
    }
}

/// The questions about what will be made if everything that is not recorded is not there.
fn assumed(work: &Work, wanted: &[Wanted]) -> BTreeSet<Question> {
    let unrecorded: BTreeMap<NodeIndex, &Identity> =
        wanted.iter().filter(|one| one.record.is_none()).map(|one| (one.index, &one.item.subject.identity)).collect();
    let stage = |index: NodeIndex, _: &str| if unrecorded.contains_key(&index) { Stage::New } else { Stage::Kept };
    let wants = Wants::of(work, stage);
    let never_used = wanted.iter().all(|one| one.never_used);
    let wants = if never_used { wants.of_unused_state(work) } else { wants };
    let mut questions = wants.questions(Breadth::Changes);
    questions.extend(zones_for(unrecorded.into_values()));
    questions
}

/// The zones of every place in which one of these is a subnet.
fn zones_for<'a>(objects: impl Iterator<Item = &'a Identity>) -> BTreeSet<Question> {
    objects.filter(|identity| identity.kind == "Subnet").map(|identity| Question::Zones(Where::of(identity))).collect()
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
