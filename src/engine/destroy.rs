//! Destroy: from the state alone.

mod users;

use self::users::Users;
use super::api::Engine;
use super::apply::{Site, context};
use super::context::{Context, Item};
use super::copies::{self, Copies};
use super::drain::{self, Drain};
use super::outcome::{Circumstances, Stopwatch};
use super::ownership::{self, FormerNames};
use super::plan::{Action, Applications, Change, Header, Plan, Summary, Target};
use super::recovery::unrecorded::{self, TakenIn};
use super::removal::{self, Doomed, Ended};
use super::report::{EngineError, Failure, RunReport};
use super::run::end;
use super::status::TO_BE_DELETED;
use super::stop::Stop;
use crate::graph::identity::Address;
use crate::kinds::compare::at;
use crate::kinds::kind::{Owner, Readiness};
use crate::state::file::{InstanceKey, Record, StateFile, Wait};
use crate::state::journal::Journal;
use crate::state::session::{self, Session};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::time::Instant;

/// What is said where there is nothing to go by.
const NOTHING_RECORDED: &str = "nothing is recorded, so nothing is removed; if something may be there all the same, \
`fleetctl destroy FILE` with its documents looks for it by its tags";

/// Beside what was imported, or found by its tags or name.
const TAKEN_OVER: &str = "it was there before this state took it over (imported, or found by its name or tags), and goes all the same; \
                          `fleetctl state rm` keeps it";

/// A destroy whose plan is made; the lock is held until it is run or dropped.
#[derive(Debug)]
pub struct Destroy {
    engine: Engine,
    session: Session,
    doomed: Vec<Doomed>,
    copies: Copies,
    former: Arc<FormerNames>,
    drain: Option<Drain>,
    plan: Plan,
}

/// Takes the lock, resolves what an earlier run left open, and plans. `None` if there is no state of that key.
pub(super) async fn open(engine: &Engine, key: &InstanceKey, drain: Option<Drain>) -> Result<Option<Destroy>, EngineError> {
    let Some(state) = session::read(engine.store.as_ref(), key).await? else { return Ok(None) };
    let site = Site::of(engine, key.clone()).await?;
    // Before the lock: every account is verified.
    for record in &state.resources {
        site.recorded_item(record, &state.lineage).await?;
    }
    let session =
        Session::open_with(engine.store.clone(), key.clone(), engine.settings.holder.clone(), engine.clock.clock()).await?;
    site.resolve_all(&context(engine, &session.journal(), &Stop::default())).await?;
    let taken = Box::pin(unrecorded::take_in(engine, &site, &session.journal())).await?;
    let state = session.journal().snapshot();
    let mut users = Users::default();
    let (_, former) =
        ownership::look_at_others(engine.store.as_ref(), key, Some(&state), |other| users.add(&state, other)).await?;
    let mut doomed = Vec::new();
    for record in &state.resources {
        doomed.push(site.doomed(site.recorded_item(record, &state.lineage).await?, record.clone()));
    }
    removal::sort(&mut doomed);
    let applications = drain::look(&doomed, drain.is_some()).await;
    let mut plan = plan(site.caller(), &state, &doomed, applications);
    let copies = Box::pin(copies::look(&site, Some(&state))).await?;
    copies::tell_destroy(&copies, &mut plan);
    tell(taken, doomed.is_empty(), &mut plan);
    users.refuse(&mut plan, &state);
    Ok(Some(Destroy { engine: engine.clone(), session, doomed, copies, former: Arc::new(former), drain, plan }))
}

/// Says what was not recorded until now, and what cannot be said where nothing is.
fn tell(taken: TakenIn, is_empty: bool, plan: &mut Plan) {
    for change in plan.changes.iter_mut().filter(|change| change.reason.is_none() && taken.addresses.contains(&change.address)) {
        change.reason = Some("it was not recorded, and bears the marks of this state".to_owned());
    }
    plan.warnings.extend(taken.warnings);
    if is_empty {
        plan.warnings.push(NOTHING_RECORDED.to_owned());
    }
}

impl Destroy {
    /// What will be done.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Does it, then looks whether anything is left. `confirmed` are the registrations on whose clusters Applications may
    /// live on. Errors mean that nothing was changed.
    pub async fn run(self, confirmed: &[String], stop: &Stop) -> Result<RunReport, EngineError> {
        if self.plan.is_refused() {
            return Err(EngineError::Refused(Box::new(self.plan)));
        }
        let started = Instant::now();
        let journal = self.session.journal();
        let (stopwatch, events) = Stopwatch::start(&self.engine.events, &self.engine.settings.argocd, &self.engine.clock);
        let former = Some(self.former.clone());
        let context = Context { events, former, ..context(&self.engine, &journal, stop) };
        let (kept, stopped) = if let Some(how) = &self.drain {
            drain::say_outlook(&context, &self.doomed);
            drain::drain_all(&context, &self.doomed, how).await
        } else {
            // Since the plan was made some may have come.
            drain::refuse(drain::unconfirmed(&self.doomed, confirmed).await)?;
            (Vec::new(), false)
        };
        let removed = if kept.is_empty() && !stopped {
            mark(&journal, &self.doomed).await?;
            // A copy may lie in what goes.
            let mut ended = Box::pin(copies::remove(&context, &self.copies)).await;
            ended.add(remove(&context, self.doomed, self.engine.settings.parallelism).await);
            ended
        } else {
            not_drained(self.doomed, kept)
        };
        let was_empty = self.plan.changes.is_empty();
        let state = if removed.failed.is_empty() && removed.not_reached.is_empty() { "DELETED" } else { "DELETING" };
        let mut report = RunReport {
            instance: self.plan.header.instance.clone(),
            end: end(&removed.failed, &removed.not_reached, stop.requested()),
            done: removed.done,
            failed: removed.failed,
            not_reached: removed.not_reached,
            // Where nothing was recorded, nobody knows what is there.
            status: if was_empty { json!({}) } else { json!({"state": state}) },
            seconds: started.elapsed().as_secs_f64(),
            circumstances: Circumstances::default(),
        };
        stopwatch.complete(&mut report, &self.plan, &journal.snapshot(), context.recorder.effective());
        if let Err(error) = self.session.close().await {
            report.not_closed(&error);
        }
        Ok(report)
    }
}

/// Records that everything is to go, so that whoever looks while some is left knows. The next apply takes the mark away.
async fn mark(journal: &Journal, doomed: &[Doomed]) -> Result<(), EngineError> {
    let now = journal.now();
    let marked = doomed.iter().map(|one| {
        let wait = Some(Wait { what: TO_BE_DELETED.to_owned(), update: None, since: now });
        journal.put(Record { wait, ..one.record.clone() })
    });
    futures::future::try_join_all(marked).await?;
    Ok(())
}

/// Removes everything, and looks whether anything is left.
async fn remove(context: &super::context::Context, doomed: Vec<Doomed>, parallelism: usize) -> Ended {
    let looked_at: Vec<_> = doomed.iter().map(|doomed| (doomed.item.clone(), doomed.record.clone())).collect();
    let mut removed = removal::remove_all(context, doomed, parallelism).await;
    let gone: BTreeSet<&Address> = removed.done.iter().map(|done| &done.address).collect();
    let gone: Vec<_> = looked_at.iter().filter(|(_, record)| gone.contains(&record.address)).collect();
    let leftovers = gone.iter().copied().filter(|one| may_have_a_copy(one, &gone)).map(left_behind);
    let leftovers = futures::future::join_all(leftovers).await.into_iter().flatten();
    let leftovers: Vec<Failure> = leftovers.collect();
    removed.failed.extend(leftovers);
    removed
}

/// Nothing was removed, because of what could not be drained, or because the run was stopped before it was.
fn not_drained(mut doomed: Vec<Doomed>, failed: Vec<Failure>) -> Ended {
    doomed.retain(|one| !failed.iter().any(|failure| failure.address == one.record.address));
    let reason = if failed.is_empty() { "the run was interrupted" } else { drain::NOT_DRAINED };
    Ended { failed, ..removal::postponed(doomed, reason) }
}

/// Whether a second copy of something that is gone could be there. Of a name there is only one object, and what is gone
/// took along what lived in it.
fn may_have_a_copy((item, record): &(Item, Record), gone: &[&(Item, Record)]) -> bool {
    let went_with = item.kind.goes_with().is_some_and(|with| {
        gone.iter().any(|(outer, other)| outer.kind_name() == with.kind && at(&record.applied, with.path) == other.id.as_str())
    });
    (item.kind.has_unique_id() || record.identity.is_secret()) && !went_with
}

/// What carries our marks although its record is gone: second copies that nobody recorded.
async fn left_behind((item, record): &(Item, Record)) -> Vec<Failure> {
    let failure = |reason: String| Failure::new(record.address.clone(), item.kind_name().to_owned(), reason);
    let not_looked = |error| vec![failure(format!("could not look whether anything is left: {error}"))];
    if item.kind.prefix_of_ids().is_some() {
        let copies = match item.kind.copies(&item.cloud.readers, &item.subject, &record.id).await {
            Ok(copies) => copies,
            Err(error) => return not_looked(error),
        };
        return copies.into_iter().map(|copy| failure(left(&copy.id, &copy.used_by))).collect();
    }
    match item.kind.find(&item.cloud.readers, &item.subject, &record.applied).await {
        Ok(Some(observed)) if observed.owner(&item.subject.marks) == Owner::Ours && observed.readiness != Readiness::Deleting => {
            vec![failure(left(&observed.id, &[]))]
        }
        Ok(_) => Vec::new(),
        Err(error) => not_looked(error),
    }
}

fn left(id: &str, used_by: &[String]) -> String {
    let used = if used_by.is_empty() { String::new() } else { format!(", and {} uses it", used_by.join(", ")) };
    format!("{id} is left over: it carries the tags of this state{used}")
}

fn plan(caller: &str, state: &StateFile, doomed: &[Doomed], applications: Vec<Applications>) -> Plan {
    let mut changes: Vec<Change> = doomed.iter().map(change).collect();
    drain::tell(&applications, &mut changes);
    let targets: BTreeSet<Target> = doomed
        .iter()
        .map(|doomed| Target {
            account: doomed.record.identity.account.clone(),
            region: doomed.record.identity.region.clone(),
            role: doomed.record.role.as_ref().map(|role| role.arn.clone()),
            because: "the state".to_owned(),
        })
        .collect();
    let header = Header {
        instance: Address::root(&state.instance.kind, &state.instance.name),
        caller: caller.to_owned(),
        targets: targets.into_iter().collect(),
        definitions_changed: None,
        definitions: state.definitions.clone().unwrap_or_default(),
        lineage: state.lineage.clone(),
        serial: state.serial,
    };
    Plan {
        header,
        summary: Summary::of(&changes),
        changes,
        not_carried_out: Vec::new(),
        open_calls: Vec::new(),
        applications,
        warnings: Vec::new(),
        checks: Vec::new(),
    }
}

fn change(doomed: &Doomed) -> Change {
    let Record { address, identity, id, .. } = &doomed.record;
    let unreached = doomed.unreachable.clone();
    let taken_over = doomed.record.adopted.then(|| TAKEN_OVER.to_owned());
    let reason = unreached.as_ref().map(|reason| format!("will not be reached: {reason}")).or(taken_over);
    Change { reason, unreached, id: Some(id.clone()), ..Change::new(Action::Delete, address, identity) }
}
