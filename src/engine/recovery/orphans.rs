//! Orphans: what bears fleetctl's marks and is in no state of the store, and what is in a state and not there. Looks with
//! readers alone; takes no lock, writes nothing.

use super::listing::{Listed, Spot, list};
use super::rebuild::clusters_of;
use crate::aws::error::CallError;
use crate::aws::identity::Question;
use crate::aws::reading::ReaderSessions;
use crate::aws::sessions::SessionError;
use crate::aws::tags;
use crate::engine::api::{ArgoCd, Engine, NO_ARGOCD};
use crate::engine::look::{Depth, Patience, View, look_until_sure};
use crate::engine::report::EngineError;
use crate::engine::stop::Stop;
use crate::engine::subject::{Common, known_kind, marked};
use crate::engine::work::Work;
use crate::kinds::kind::Readers;
use crate::state::file::{Phase, Record, RoleUsed, StateFile, Verb};
use crate::state::session;
use futures::stream::{self, StreamExt as _};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Most reads at one time.
const CONCURRENT: usize = 16;

/// An account and region to be looked into beside those of states and documents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// 12 digits.
    pub account: String,
    /// `us-west-2`.
    pub region: String,
}

/// What was found.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrphanReport {
    /// One entry an object, by instance and lineage.
    pub orphans: Vec<Orphaned>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
    /// How many states were compared.
    pub states: usize,
    /// How many accounts and regions were looked into.
    pub places: usize,
}

impl OrphanReport {
    /// Incomplete beats found; 2 as for drift.
    pub fn exit_code(&self) -> u8 {
        match (self.unreadable.is_empty(), self.orphans.is_empty()) {
            (false, _) => 3,
            (true, false) => 2,
            (true, true) => 0,
        }
    }
}

/// An object without a state, or a record without an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Orphaned {
    /// `argocd/EksCluster/workload-cluster1`; empty where the mark is missing.
    pub instance: String,
    /// Empty where the mark is missing.
    pub lineage: String,
    /// Whether a state of this store has that lineage.
    pub lineage_known: bool,
    /// Where it sits; empty where the mark is missing.
    pub address: String,
    /// Its kind.
    pub kind: String,
    /// What AWS knows it by.
    pub id: String,
    /// 12 digits; empty for a registration that no state has.
    pub account: String,
    /// `us-west-2`; see `account`.
    pub region: String,
    /// Why it is one.
    pub why: Why,
    /// For a second object of one address: the id that the state has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_id: Option<String>,
    /// What can be done about it.
    pub way_out: String,
}

/// Why something is an orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Why {
    /// No state of this store has its lineage.
    NoState,
    /// A state has its lineage, but not it.
    NotRecorded,
    /// It bears lineage and address of another object too.
    Duplicate,
    /// It is recorded and not there.
    Gone,
}

impl Why {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoState => "no state here has its lineage",
            Self::NotRecorded => "its state does not know it",
            Self::Duplicate => "a second object of one address",
            Self::Gone => "recorded, but not there",
        }
    }
}

/// What could not be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unreadable {
    /// 12 digits; empty for a state.
    pub account: String,
    /// `us-west-2`; empty for a state.
    pub region: String,
    /// Why.
    pub reason: String,
}

impl Engine {
    /// Compares every state of the store with what is there, in the accounts and regions of states, documents and `more`.
    pub async fn orphans(&self, works: &[Work], more: &[Place]) -> Result<OrphanReport, EngineError> {
        let mut report = OrphanReport::default();
        let mut doors = Doors::new(self);
        let before = self.states(&mut report).await?;
        let spots = doors.spots(&before, works, more, &mut report).await?;
        let listing = list(&spots, &clusters(&before, works)).await;
        // What was made meanwhile is recorded by now; what was removed meanwhile was recorded then.
        let mut unused = OrphanReport::default();
        let after = self.states(&mut unused).await?;
        let unlisted = listing.unread.into_iter();
        report.unreadable.extend(unlisted.map(|one| Unreadable {
            account: one.account,
            region: one.region,
            reason: told(&one.error),
        }));
        report.orphans = unrecorded(&listing.found, &before, &after);
        self.phantoms(&after, &mut doors, &mut report).await;
        (report.states, report.places) = (after.len(), spots.len());
        report.orphans.sort();
        report.unreadable.sort();
        report.unreadable.dedup();
        Ok(report)
    }

    async fn states(&self, report: &mut OrphanReport) -> Result<Vec<StateFile>, EngineError> {
        let mut states = Vec::new();
        for (_, state) in session::read_each(self.store.as_ref()).await? {
            match state {
                Ok(state) => states.push(state),
                Err(error) => report.unreadable.push(Unreadable {
                    account: String::new(),
                    region: String::new(),
                    reason: format!("{error}; what it records may show as orphaned here"),
                }),
            }
        }
        Ok(states)
    }

    /// What is recorded and not there.
    async fn phantoms(&self, states: &[StateFile], doors: &mut Doors<'_>, report: &mut OrphanReport) {
        let mut looks = Vec::new();
        for (state, record) in states.iter().flat_map(|state| state.resources.iter().map(move |record| (state, record))) {
            // One that is on its way out may be gone; what a call that is open has done to it, the next run finds out.
            let is_under_way = state.open.iter().any(|begin| begin.identity == record.identity);
            if record.phase == Phase::Deleting || is_under_way {
                continue;
            }
            match (record.identity.is_secret(), &self.settings.argocd) {
                (true, ArgoCd::None) => continue,
                (true, ArgoCd::NotConfigured) => {
                    report.unreadable.push(unreadable_record(record, NO_ARGOCD));
                    continue;
                }
                _ => {}
            }
            // A place that cannot be opened was reported when it was to be listed.
            if let Ok((readers, partition)) = doors.of_record(record, &state.instance.name).await {
                looks.push((state, record, readers, partition));
            }
        }
        let looks = stream::iter(looks).map(|(state, record, readers, partition)| async move {
            (state, record, self.is_there(state, record, &readers, &partition).await)
        });
        for (state, record, is_there) in looks.buffer_unordered(CONCURRENT).collect::<Vec<_>>().await {
            match is_there {
                Ok(true) => {}
                Ok(false) => report.orphans.push(gone(state, record)),
                Err(reason) => report.unreadable.push(unreadable_record(record, &reason)),
            }
        }
    }

    async fn is_there(&self, state: &StateFile, record: &Record, readers: &Readers, partition: &str) -> Result<bool, String> {
        let kind = known_kind(&record.identity, &state.instance).map_err(|error| error.to_string())?;
        let common = Common { settings: &self.settings, instance: &state.instance, lineage: &state.lineage, partition };
        let subject = common.subject(&record.identity, &record.address, record.role.as_ref(), Vec::new());
        let (stop, events) = (Stop::default(), &self.events);
        let patience = Patience { window: self.settings.visibility_window, stop: &stop, events, clock: &self.clock };
        let view = View { kind, readers, subject: &subject };
        let seen = look_until_sure(view, record, patience, Depth::Glance).await.map_err(|error| told(&error))?;
        Ok(seen.is_some())
    }
}

/// The clusters in which something of a state or of the documents lives: these need not bear marks themselves.
fn clusters(states: &[StateFile], works: &[Work]) -> BTreeSet<String> {
    let records = states.iter().flat_map(|state| &state.resources);
    let recorded = records.filter_map(|record| match record.identity.kind.as_str() {
        "Cluster" => Some(record.id.clone()),
        _ => record.id.split_once('|').map(|(cluster, _)| cluster.to_owned()),
    });
    recorded.chain(works.iter().flat_map(clusters_of)).collect()
}

fn gone(state: &StateFile, record: &Record) -> Orphaned {
    Orphaned {
        instance: marked(&state.instance),
        lineage: state.lineage.clone(),
        lineage_known: true,
        address: record.address.to_string(),
        kind: record.identity.kind.clone(),
        id: record.id.clone(),
        account: record.identity.account.clone(),
        region: record.identity.region.clone(),
        why: Why::Gone,
        recorded_id: None,
        way_out: "fleetctl apply makes it again; fleetctl drift shows what else has changed".to_owned(),
    }
}

fn unreadable_record(record: &Record, reason: &str) -> Unreadable {
    let (account, region) = (record.identity.account.clone(), record.identity.region.clone());
    Unreadable { account, region, reason: format!("{}: {reason}", record.address) }
}

/// What bears marks and no state has. Pure.
fn unrecorded(found: &[Listed], before: &[StateFile], after: &[StateFile]) -> Vec<Orphaned> {
    let mut of_address: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    let key = |one: &'_ Listed| (one.marked.lineage.clone(), one.marked.kind.clone(), one.marked.address.clone());
    for Listed { marked, .. } in found.iter().filter(|one| !one.marked.address.is_empty()) {
        *of_address.entry((&marked.lineage, &marked.kind, &marked.address)).or_default() += 1;
    }
    let mut orphans = Vec::new();
    for one in found {
        let marked = &one.marked;
        let of_lineage =
            |states: &[StateFile]| states.iter().filter(|state| state.lineage == marked.lineage).cloned().collect::<Vec<_>>();
        let states: Vec<StateFile> = of_lineage(before).into_iter().chain(of_lineage(after)).collect();
        let records = || states.iter().flat_map(|state| &state.resources).filter(|record| record.identity.kind == marked.kind);
        if records().any(|record| is_record_of(record, one)) || states.iter().any(|state| is_under_way(state, one)) {
            continue;
        }
        let recorded_id =
            records().find(|record| tags::value(record.address.as_str()) == marked.address).map(|record| record.id.clone());
        let (lineage, kind, address) = key(one);
        let is_double = of_address.get(&(lineage.as_str(), kind.as_str(), address.as_str())).is_some_and(|count| *count > 1);
        let why = match (states.is_empty(), is_double || recorded_id.is_some()) {
            (_, true) => Why::Duplicate,
            (true, false) => Why::NoState,
            (false, false) => Why::NotRecorded,
        };
        let instance_known =
            after.iter().any(|state| tags::value(&crate::engine::subject::marked(&state.instance)) == marked.instance);
        orphans.push(Orphaned {
            instance: marked.instance.clone(),
            lineage: marked.lineage.clone(),
            lineage_known: !states.is_empty(),
            address: marked.address.clone(),
            kind: marked.kind.clone(),
            id: marked.id.clone(),
            account: one.account.clone(),
            region: one.region.clone(),
            why,
            way_out: way_out(one, why, instance_known, recorded_id.as_deref()),
            recorded_id,
        });
    }
    orphans
}

/// Whether a record is that of an object. Roles are found whatever the region.
fn is_record_of(record: &Record, one: &Listed) -> bool {
    let identity = &record.identity;
    let same_place = identity.account == one.account && (identity.kind == "Role" || identity.region == one.region);
    record.id == one.marked.id && (same_place || identity.is_secret())
}

/// Whether a call that may have made it is open: the next apply looks what came of it.
fn is_under_way(state: &StateFile, one: &Listed) -> bool {
    state.open.iter().any(|begin| {
        begin.verb == Verb::Create
            && begin.identity.kind == one.marked.kind
            && tags::value(begin.address.as_str()) == one.marked.address
    })
}

/// What can be done. Nothing is removed by fleetctl that no state knows.
fn way_out(one: &Listed, why: Why, instance_known: bool, recorded_id: Option<&str>) -> String {
    let removal = removal(one);
    match (why, recorded_id) {
        (Why::NoState, _) if !instance_known => {
            format!("if its state is lost: fleetctl state rebuild FILE; if nobody needs it: {removal}")
        }
        (Why::NoState, _) => format!("the instance has a state of another lineage here; if nobody needs it: {removal}"),
        (Why::Duplicate, Some(recorded)) => format!("the state knows {recorded}; if nobody needs this one: {removal}"),
        (Why::Duplicate, None) => {
            let id = &one.marked.id;
            format!("fleetctl state rebuild FILE --keep {id} to keep it; if nobody needs it: {removal}")
        }
        (Why::NotRecorded, _) => {
            format!("where the documents name its address, fleetctl apply takes it in; if nobody needs it: {removal}")
        }
        (Why::Gone, _) => removal,
    }
}

/// How it is removed by hand.
fn removal(one: &Listed) -> String {
    let (id, region) = (&one.marked.id, &one.region);
    let (cluster, name) = id.split_once('|').unwrap_or(("", id));
    match one.marked.kind.as_str() {
        "VPC" => format!("aws ec2 delete-vpc --region {region} --vpc-id {id}"),
        "Subnet" => format!("aws ec2 delete-subnet --region {region} --subnet-id {id}"),
        "InternetGateway" => format!("aws ec2 delete-internet-gateway --region {region} --internet-gateway-id {id}"),
        "NATGateway" => format!("aws ec2 delete-nat-gateway --region {region} --nat-gateway-id {id}"),
        "ElasticIPAddress" => format!("aws ec2 release-address --region {region} --allocation-id {id}"),
        "RouteTable" => format!("aws ec2 delete-route-table --region {region} --route-table-id {id}"),
        "Role" => format!("aws iam delete-role --role-name {id}"),
        "Cluster" => format!("aws eks delete-cluster --region {region} --name {id}"),
        "Addon" => format!("aws eks delete-addon --region {region} --cluster-name {cluster} --addon-name {name}"),
        "AccessEntry" => format!("aws eks delete-access-entry --region {region} --cluster-name {cluster} --principal-arn {name}"),
        "PodIdentityAssociation" => {
            format!("aws eks delete-pod-identity-association --region {region} --cluster-name {cluster} --association-id {name}")
        }
        "Secret" => format!("argocd cluster rm {id}"),
        _ => format!("remove {id} by hand"),
    }
}

/// A failed read without what differs each time.
fn told(error: &CallError) -> String {
    format!("{} {}: {}: {}", error.service, error.operation, error.code, error.message)
}

type DoorKey = (String, String, Option<RoleUsed>);

/// The ways into accounts and regions, each tried once; readers and nothing else.
struct Doors<'a> {
    engine: &'a Engine,
    sessions: ReaderSessions,
    opened: BTreeMap<DoorKey, Result<(Readers, String), String>>,
}

impl<'a> Doors<'a> {
    fn new(engine: &'a Engine) -> Self {
        Self { engine, sessions: ReaderSessions::of(engine.sessions.clone()), opened: BTreeMap::new() }
    }

    async fn open(&mut self, (account, region, role): DoorKey, name: &str) -> Result<(Readers, String), String> {
        let key = (account, region, role);
        if let Some(known) = self.opened.get(&key) {
            return known.clone();
        }
        let answer = self.sessions.readers(&key.0, &key.1, key.2.as_ref(), name).await;
        let answer = answer.map(|(readers, caller)| (readers, caller.partition)).map_err(|error| match error {
            SessionError::Call(error) => told(&error),
            SessionError::Refused(refusal) => refusal.to_string(),
        });
        self.opened.insert(key, answer.clone());
        answer
    }

    async fn of_record(&mut self, record: &Record, name: &str) -> Result<(Readers, String), String> {
        let identity = &record.identity;
        self.open((identity.account.clone(), identity.region.clone(), record.role.clone()), name).await
    }

    /// Every account and region, each by the first role that is named for it.
    async fn spots(
        &mut self,
        states: &[StateFile],
        works: &[Work],
        more: &[Place],
        report: &mut OrphanReport,
    ) -> Result<Vec<Spot>, EngineError> {
        let mut ways: Vec<(DoorKey, String)> = Vec::new();
        for state in states {
            ways.extend(
                state.resources.iter().map(|record| (door(&record.identity, record.role.as_ref()), state.instance.name.clone())),
            );
        }
        for work in works {
            let name = work.key().name;
            ways.extend(work.places.iter().flatten().map(|place| (door(&place.identity, place.role.as_ref()), name.clone())));
        }
        for place in more {
            ways.push((self.by_settings(place).await?, "orphans".to_owned()));
        }
        let mut tried = BTreeSet::new();
        let mut spots = Vec::new();
        for (key, name) in ways {
            if !tried.insert((key.0.clone(), key.1.clone())) {
                continue;
            }
            let (account, region, role) = key.clone();
            match self.open(key, &name).await {
                Ok((readers, _)) => spots.push(Spot { account, region, role, readers }),
                Err(reason) => report.unreadable.push(Unreadable { account, region, reason }),
            }
        }
        Ok(spots)
    }

    /// The role that settings name for an account, or the caller's own credentials.
    async fn by_settings(&self, place: &Place) -> Result<DoorKey, EngineError> {
        let caller = self.engine.sessions.caller().await.map_err(EngineError::of_caller)?;
        let question = Question {
            api_version: "",
            kind: "account",
            namespace: "",
            name: &place.account,
            labels: &BTreeMap::new(),
            namespace_document: None,
            account: Some(&place.account),
            region: &place.region,
            selectors: &[],
            settings: &self.engine.settings.accounts,
            caller: Some(&caller.account),
        };
        let choice = question.choose().map_err(|refusal| EngineError::Identity(refusal.to_string()))?;
        Ok((choice.account, place.region.clone(), choice.role))
    }
}

fn door(identity: &crate::graph::identity::Identity, role: Option<&RoleUsed>) -> DoorKey {
    (identity.account.clone(), identity.region.clone(), role.cloned())
}
