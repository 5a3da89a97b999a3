//! What a report says beside how its objects ended: where that was, what there is now, and how long each object took.

use super::api::Engine;
use super::events::{Event, Events};
use super::plan::Plan;
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
}

/// An account and region.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// 12 digits.
    pub account: String,
    /// `us-west-2`.
    pub region: String,
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
        Self { started_at: DateTime::UNIX_EPOCH, ended_at: DateTime::UNIX_EPOCH, caller: String::new(), places, present, outputs }
    }
}

/// Listens to a run: when it began, and how long each object took, from the start of its first step to the end of its
/// last one.
#[derive(Debug, Clone)]
pub(super) struct Stopwatch {
    began: DateTime<Utc>,
    times: Arc<Mutex<BTreeMap<Address, (Instant, Instant)>>>,
    /// Where Argo CD is.
    argocd: Option<String>,
}

impl Stopwatch {
    /// Starts, and gives the events to listen to.
    pub(super) fn start(engine: &Engine) -> (Self, Events) {
        let argocd = engine.settings.argocd.server().map(str::to_owned);
        let stopwatch = Self { began: Utc::now(), times: Arc::default(), argocd };
        let (own, on) = (stopwatch.clone(), engine.events.clone());
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
        let now = Instant::now();
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.entry(address.clone()).or_insert((now, now)).1 = now;
    }

    fn took(&self, address: &Address) -> Option<f64> {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.get(address).map(|(first, last)| (*last - *first).as_secs_f64())
    }

    /// Completes a report with what the plan and the state know; the state as it is after the run.
    pub(super) fn complete(&self, report: &mut RunReport, plan: &Plan, state: &StateFile) {
        for done in &mut report.done {
            done.seconds = self.took(&done.address);
        }
        for failure in &mut report.failed {
            let record = state.resources.iter().find(|record| record.address == failure.address);
            let change = plan.changes.iter().find(|change| change.address == failure.address);
            let identity = record.map(|record| &record.identity).or_else(|| change.map(|change| &change.identity));
            failure.id = record.map(|record| record.id.clone()).or_else(|| change.and_then(|change| change.id.clone()));
            failure.place = identity.map(|identity| Place { account: identity.account.clone(), region: identity.region.clone() });
            failure.argocd = self.argocd.clone().filter(|_| identity.is_some_and(|identity| is_in_argocd(failure, identity)));
            if record.is_some_and(|record| record.phase == Phase::Failed) && failure.hint.is_none() {
                failure.hint = Some("it stays as it is until the next apply, which replaces it".to_owned());
            }
        }
        let places: BTreeSet<Place> = plan.header.targets.iter().map(place).collect();
        report.circumstances = Circumstances {
            started_at: self.began,
            ended_at: Utc::now(),
            caller: plan.header.caller.clone(),
            places: places.into_iter().collect(),
            present: state.resources.iter().map(present).collect(),
            outputs: state.resources.iter().flat_map(outputs).collect(),
        };
    }
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
    let charged = CHARGED.contains(&kind.as_str());
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
