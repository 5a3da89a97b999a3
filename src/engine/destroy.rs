//! Destroy: from the state alone.

use super::api::Engine;
use super::apply::{Site, context};
use super::context::Context;
use super::outcome::{Circumstances, Stopwatch};
use super::plan::{Action, Change, Header, Plan, Summary, Target};
use super::removal::{self, Doomed};
use super::report::{EngineError, Failure, RunReport};
use super::run::end;
use super::stop::Stop;
use crate::graph::identity::Address;
use crate::kinds::kind::{Owner, Readiness};
use crate::state::file::{InstanceKey, Record, StateFile};
use crate::state::session::{self, Session};
use serde_json::json;
use std::collections::BTreeSet;
use tokio::time::Instant;

/// A destroy whose plan is made; the lock is held until it is run or dropped.
#[derive(Debug)]
pub struct Destroy {
    engine: Engine,
    session: Session,
    doomed: Vec<Doomed>,
    plan: Plan,
}

/// Takes the lock, resolves what an earlier run left open, and plans. `None` if there is no state of that key.
pub(super) async fn open(engine: &Engine, key: &InstanceKey) -> Result<Option<Destroy>, EngineError> {
    let Some(state) = session::read(engine.store.as_ref(), key).await? else { return Ok(None) };
    let site = Site::of(engine, key.clone()).await?;
    // Before the lock: every account is verified.
    for record in &state.resources {
        site.recorded_item(record, &state.lineage).await?;
    }
    let session = Session::open(engine.store.clone(), key.clone(), engine.settings.holder.clone()).await?;
    site.resolve_all(&context(engine, &session.journal(), &Stop::default())).await?;
    let state = session.journal().snapshot();
    let mut doomed = Vec::new();
    for record in &state.resources {
        doomed.push(site.doomed(site.recorded_item(record, &state.lineage).await?, record.clone()));
    }
    removal::sort(&mut doomed);
    let plan = plan(site.caller(), &state, &doomed);
    Ok(Some(Destroy { engine: engine.clone(), session, doomed, plan }))
}

impl Destroy {
    /// What will be done.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Does it, then looks whether anything is left.
    pub async fn run(self, stop: &Stop) -> Result<RunReport, EngineError> {
        let started = Instant::now();
        let journal = self.session.journal();
        let (stopwatch, events) = Stopwatch::start(&self.engine.events);
        let context = Context { events, ..context(&self.engine, &journal, stop) };
        let looked_at: Vec<_> = self.doomed.iter().map(|doomed| (doomed.item.clone(), doomed.record.clone())).collect();
        let mut removed = removal::remove_all(&context, self.doomed, self.engine.settings.parallelism).await;
        let gone: BTreeSet<&Address> = removed.done.iter().map(|done| &done.address).collect();
        let leftovers = looked_at.iter().filter(|(_, record)| gone.contains(&record.address)).map(left_behind);
        let leftovers: Vec<Failure> = futures::future::join_all(leftovers).await.into_iter().flatten().collect();
        removed.failed.extend(leftovers);
        let state = if removed.failed.is_empty() && removed.not_reached.is_empty() { "DELETED" } else { "DELETING" };
        let mut report = RunReport {
            instance: self.plan.header.instance.clone(),
            end: end(&removed.failed, &removed.not_reached, stop.requested()),
            done: removed.done,
            failed: removed.failed,
            not_reached: removed.not_reached,
            status: json!({"state": state}),
            seconds: started.elapsed().as_secs_f64(),
            circumstances: Circumstances::default(),
        };
        stopwatch.complete(&mut report, &self.plan, &journal.snapshot());
        if let Err(error) = self.session.close().await {
            report.not_closed(&error);
        }
        Ok(report)
    }
}

/// Something that carries our marks although its record is gone: a second copy that nobody recorded.
async fn left_behind((item, record): &(super::context::Item, Record)) -> Option<Failure> {
    let failure = |reason: String| Failure::new(record.address.clone(), item.kind_name().to_owned(), reason);
    match item.kind.find(&item.cloud.readers, &item.subject, &record.applied).await {
        Ok(Some(observed)) if observed.owner(&item.subject.marks) == Owner::Ours && observed.readiness != Readiness::Deleting => {
            Some(failure(format!("{} is left over: it carries the tags of this state", observed.id)))
        }
        Ok(_) => None,
        Err(error) => Some(failure(format!("could not look whether anything is left: {error}"))),
    }
}

fn plan(caller: &str, state: &StateFile, doomed: &[Doomed]) -> Plan {
    let changes: Vec<Change> = doomed.iter().map(change).collect();
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
    Plan { header, summary: Summary::of(&changes), changes, not_carried_out: Vec::new(), open_calls: Vec::new() }
}

fn change(doomed: &Doomed) -> Change {
    let Record { address, identity, id, .. } = &doomed.record;
    let unreached = doomed.unreachable.clone();
    let reason = unreached.as_ref().map(|reason| format!("will not be reached: {reason}"));
    Change { reason, unreached, id: Some(id.clone()), ..Change::new(Action::Delete, address, identity) }
}
