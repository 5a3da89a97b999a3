//! What a report says beside how its objects ended: where that was, what there is now, and how long each object took.

use super::api::ArgoCd;
use super::clock::WallClock;
use super::events::{Event, Events, StepName};
use super::plan::{Action, Plan};
use super::planner::PRECIOUS;
use super::report::{Failure, RunReport};
use crate::graph::identity::{Address, Identity};
use crate::state::file::{Phase, Record, StateFile};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// Kinds for which AWS charges by the hour from the moment they exist, used or not.
const CHARGED: [&str; 3] = ["Cluster", "NATGateway", "ElasticIPAddress"];

/// The circumstances of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Circumstances {
    /// When the run began.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
    /// Who ran it: the ARN of the caller.
    pub caller: String,
    /// The accounts and regions.
    pub places: Vec<Place>,
    /// What is recorded after the run.
    pub present: Vec<Present>,
    /// What people ask for first: the cluster's endpoint and version, the VPC, the registration.
    pub outputs: Vec<Output>,
    /// How many calls that change something were carried out, or may have been.
    pub calls: usize,
    /// What was made in this run and did not become ready.
    pub unfinished: Vec<Address>,
    /// What has failed and has to be confirmed by name for the next apply to replace it.
    pub to_confirm: Vec<Address>,
    /// Whether the lock was lost: what came of calls and waits under way is not known then, nor what others did since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lock_lost: bool,
    /// Entries of the journal that could not be written, one JSON object each. `state push --entries` takes them back in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsaved: Vec<String>,
}

/// An account and region.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// 12 digits.
    pub account: String,
    /// `us-west-2`.
    pub region: String,
}

impl Place {
    /// Where an object is.
    pub(super) fn of(identity: &Identity) -> Self {
        Self { account: identity.account.clone(), region: identity.region.clone() }
    }
}

/// An object that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Present {
    /// Where it sits.
    pub address: Address,
    /// Its kind.
    pub kind: String,
    /// What AWS knows it by.
    pub id: String,
    /// Whether AWS charges for it by the hour while it exists.
    pub charged: bool,
}

/// Something that people want to know of what was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The object.
    pub address: Address,
    /// Its kind.
    pub kind: String,
    /// What it is: `endpoint`.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

impl Default for Circumstances {
    fn default() -> Self {
        let (places, present, outputs) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            started_at: DateTime::UNIX_EPOCH,
            ended_at: DateTime::UNIX_EPOCH,
            caller: String::new(),
            places,
            present,
            outputs,
            calls: 0,
            unfinished: Vec::new(),
            to_confirm: Vec::new(),
            lock_lost: false,
            unsaved: Vec::new(),
        }
    }
}

/// Listens to a run: when it began, and how long each object took, from the start of its first step to the end of its
/// last one.
#[derive(Debug, Clone)]
pub(super) struct Stopwatch {
    began: DateTime<Utc>,
    clock: WallClock,
    times: Arc<Mutex<BTreeMap<Address, (Instant, Instant)>>>,
    made: Arc<Mutex<BTreeSet<Address>>>,
    /// Where Argo CD is.
    argocd: Option<String>,
}

impl Stopwatch {
    /// Starts, and gives the events to listen to.
    pub(super) fn start(events: &Events, argocd: &ArgoCd, clock: &WallClock) -> (Self, Events) {
        let argocd = argocd.server().map(str::to_owned);
        let stopwatch = Self { began: clock.now(), clock: clock.clone(), times: Arc::default(), made: Arc::default(), argocd };
        let (own, on) = (stopwatch.clone(), events.clone());
        let events = Events::to(move |event| {
            own.hear(&event);
            on.say(event);
        });
        (stopwatch, events)
    }

    fn hear(&self, event: &Event) {
        let (Event::Started { address, .. } | Event::Finished { address, .. } | Event::Waiting { address, .. }) = event else {
            return;
        };
        if matches!(event, Event::Finished { step: StepName::Create, .. }) {
            self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(address.clone());
        }
        let now = Instant::now();
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.entry(address.clone()).or_insert((now, now)).1 = now;
    }

    fn took(&self, address: &Address) -> Option<f64> {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.get(address).map(|(first, last)| (*last - *first).as_secs_f64())
    }

    /// Completes a report with what the plan and the state know; the state as it is after the run, in which so many calls
    /// were not refused.
    pub(super) fn complete(&self, report: &mut RunReport, plan: &Plan, state: &StateFile, calls: usize) {
        for done in &mut report.done {
            done.seconds = self.took(&done.address);
        }
        for failure in &mut report.failed {
            let record = state.resources.iter().find(|record| record.address == failure.address);
            let change = plan.changes.iter().find(|change| change.address == failure.address);
            let identity = record.map(|record| &record.identity).or_else(|| change.map(|change| &change.identity));
            failure.id = record.map(|record| record.id.clone()).or_else(|| change.and_then(|change| change.id.clone()));
            failure.place = identity.map(Place::of);
            failure.argocd = self.argocd.clone().filter(|_| identity.is_some_and(|identity| is_in_argocd(failure, identity)));
            if failure.hint.is_none() {
                failure.hint = record.filter(|record| is_replaced_next(record, plan)).map(replaced_next);
            }
        }
        let mut unfinished = self.made.lock().unwrap_or_else(PoisonError::into_inner).clone();
        unfinished.retain(|address| !report.done.iter().any(|done| done.address == *address));
        let to_confirm = state.resources.iter().filter(|record| is_replaced_next(record, plan) && is_precious(record));
        let places: BTreeSet<Place> = plan.header.targets.iter().map(place).collect();
        report.circumstances = Circumstances {
            started_at: self.began,
            ended_at: self.clock.now(),
            caller: plan.header.caller.clone(),
            places: places.into_iter().collect(),
            present: state.resources.iter().map(present).collect(),
            outputs: state.resources.iter().flat_map(outputs).collect(),
            calls,
            unfinished: unfinished.into_iter().collect(),
            to_confirm: to_confirm.map(|record| record.address.clone()).collect(),
            lock_lost: false,
            unsaved: Vec::new(),
        };
    }
}

/// Whether the next apply replaces it: it has failed, and is not what this run was to remove.
fn is_replaced_next(record: &Record, plan: &Plan) -> bool {
    let is_removed = plan.changes.iter().any(|change| change.address == record.address && change.action == Action::Delete);
    record.phase == Phase::Failed && !is_removed
}

fn is_precious(record: &Record) -> bool {
    PRECIOUS.contains(&record.identity.kind.as_str())
}

fn replaced_next(record: &Record) -> String {
    let stays = "it stays as it is until the next apply, which replaces it";
    if is_precious(record) { format!("{stays} if that is confirmed: --confirm {}", record.address) } else { stays.to_owned() }
}

/// Whether something failed in Argo CD, not in the account of the cluster that is registered.
fn is_in_argocd(failure: &Failure, identity: &Identity) -> bool {
    identity.is_secret() && failure.answer.as_ref().is_none_or(|answer| answer.service == "argocd")
}

fn place(target: &super::plan::Target) -> Place {
    Place { account: target.account.clone(), region: target.region.clone() }
}

fn present(record: &Record) -> Present {
    let kind = record.identity.kind.clone();
    // A NAT gateway that failed costs nothing; a cluster that failed may.
    let is_free = kind == "NATGateway" && record.phase == Phase::Failed;
    let charged = CHARGED.contains(&kind.as_str()) && !is_free;
    Present { address: record.address.clone(), kind, id: record.id.clone(), charged }
}

fn outputs(record: &Record) -> Vec<Output> {
    let (applied, status) = (&record.applied, &record.status);
    let found: Vec<(&'static str, Option<&Value>)> = match record.identity.kind.as_str() {
        "Cluster" => vec![
            ("cluster", applied.pointer("/spec/name")),
            ("arn", status.pointer("/ackResourceMetadata/arn")),
            ("endpoint", status.pointer("/endpoint")),
            ("version", applied.pointer("/spec/version")),
        ],
        "VPC" => vec![("vpc", status.pointer("/vpcID")), ("cidr", status.pointer("/cidrBlockAssociationSet/0/cidrBlock"))],
        "ElasticIPAddress" => vec![("publicAddress", status.pointer("/publicIP"))],
        "Secret" => vec![("registration", applied.pointer("/stringData/name")), ("server", status.pointer("/server"))],
        _ => Vec::new(),
    };
    let output = |(name, value): (&'static str, Option<&Value>)| {
        let value = value?.as_str().filter(|value| !value.is_empty())?.to_owned();
        Some(Output { address: record.address.clone(), kind: record.identity.kind.clone(), name, value })
    };
    found.into_iter().filter_map(output).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plan::Change;
    use crate::engine::plan::{Header, Summary};
    use crate::engine::report::{End, Failure};
    use crate::graph::identity::Identity;
    use crate::state::file::InstanceKey;
    use serde_json::json;

    fn record(path: &str, kind: &str, phase: Phase) -> Record {
        let identity = Identity {
            api_version: "v1".into(),
            kind: kind.into(),
            namespace: "demo".into(),
            name: path.into(),
            account: "222222222222".into(),
            region: "us-west-2".into(),
        };
        let (since, created_at) = (Utc::now(), Utc::now());
        Record {
            identity,
            address: Address(format!("EksCluster/demo/{path}")),
            role: None,
            id: format!("id-{path}"),
            phase,
            applied: json!({}),
            status: json!({}),
            dependencies: Vec::new(),
            adopted: false,
            since,
            created_at,
            wait: None,
        }
    }

    fn completed(action: Action) -> RunReport {
        let instance =
            InstanceKey { api_version: "v1".into(), kind: "EksCluster".into(), namespace: "argocd".into(), name: "demo".into() };
        let mut state = StateFile::new(instance);
        state.resources = vec![
            record("cluster", "Cluster", Phase::Failed),
            record("nat1", "NATGateway", Phase::Failed),
            record("nat2", "NATGateway", Phase::Ready),
        ];
        let instance = Address::root("EksCluster", "demo");
        let changes: Vec<_> = state.resources.iter().map(|one| Change::new(action, &one.address, &one.identity)).collect();
        let plan = Plan {
            header: Header {
                instance: instance.clone(),
                caller: String::new(),
                targets: Vec::new(),
                definitions_changed: None,
                definitions: crate::state::file::DefinitionsUsed::default(),
                lineage: String::new(),
                serial: 0,
            },
            summary: Summary::of(&changes),
            changes,
            not_carried_out: Vec::new(),
            open_calls: Vec::new(),
            applications: Vec::new(),
            warnings: Vec::new(),
            checks: Vec::new(),
        };
        let (stopwatch, events) = Stopwatch::start(&Events::nowhere(), &ArgoCd::None, &WallClock::default());
        let (done, failed, not_reached, circumstances) = (Vec::new(), Vec::new(), Vec::new(), Circumstances::default());
        let (end, status, seconds) = (End::Failed, json!({}), 1.0);
        let mut report = RunReport { instance, end, done, failed, not_reached, status, seconds, circumstances };
        for one in &state.resources[..2] {
            let (address, kind) = (one.address.clone(), one.identity.kind.clone());
            let (step, id, seconds) = (StepName::Create, one.id.clone(), 1.0);
            events.say(Event::Finished { address: address.clone(), kind: kind.clone(), step, id, seconds });
            report.failed.push(Failure::new(address, kind, "no".to_owned()));
        }
        stopwatch.complete(&mut report, &plan, &state, 2);
        report
    }

    #[test]
    fn what_failed_late_was_made_and_the_next_apply_may_want_its_name() {
        let report = completed(Action::Create);
        let cluster = Address("EksCluster/demo/cluster".into());
        assert_eq!(report.circumstances.unfinished.len(), 2);
        assert_eq!(report.circumstances.to_confirm, [cluster]);
        let hints: Vec<_> = report.failed.iter().filter_map(|failure| failure.hint.as_deref()).collect();
        insta::assert_snapshot!(hints.join("\n"), @"
        it stays as it is until the next apply, which replaces it if that is confirmed: --confirm EksCluster/demo/cluster
        it stays as it is until the next apply, which replaces it
        ");
        let charged: Vec<_> = report.circumstances.present.iter().map(|one| one.charged).collect();
        assert_eq!(charged, [true, false, true], "a NAT gateway that failed costs nothing");
    }

    #[test]
    fn a_removal_replaces_nothing() {
        let report = completed(Action::Delete);
        assert!(report.circumstances.to_confirm.is_empty());
        assert!(report.failed.iter().all(|failure| failure.hint.is_none()));
    }
}
