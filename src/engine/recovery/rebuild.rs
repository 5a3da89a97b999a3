//! Rebuild: a lost state, made anew from what bears its instance's marks.
//!
//! What the documents name is looked for as a plan does it, again and again until nothing more becomes known: the VPC's id
//! makes the subnets' specs known. What bears the instance's marks beside that was made for documents of an earlier day.
//! Nothing tells what was applied last. A field of which AWS says what the documents say counts as applied. Where the two
//! differ, what AWS says does: then a plan shows the difference as a change that waits, and drift is not claimed of anybody.

pub(super) mod records;

use self::records::{Beside, Home};
use super::listing::{Listed, Spot, list};
use crate::aws::tags;
use crate::engine::api::Engine;
use crate::engine::apply::Site;
use crate::engine::look::Patience;
use crate::engine::planner::{Seen, observations};
use crate::engine::refresh::{Reading, Unanswered, Wanted, refresh, seen_as};
use crate::engine::report::EngineError;
use crate::engine::stop::Stop;
use crate::engine::subject::marked;
use crate::engine::work::Work;
use crate::graph::evaluation::{Evaluation, evaluate};
use crate::graph::expansion::NodeIndex;
use crate::graph::identity::Address;
use crate::kinds::catalog::KindCatalog;
use crate::kinds::compare::at;
use crate::kinds::kind::{Observed, Owner, Takeover};
use crate::state::error::StateError;
use crate::state::file::{Phase, Record, StateFile};
use crate::state::session::{self, Session};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;

/// Pause between looks at what is not visible yet.
const PAUSE: Duration = Duration::from_secs(1);

/// What whoever rebuilds has chosen, where there is a choice.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// The lineage, where several have made objects.
    pub lineage: Option<String>,
    /// Ids of those to record, where several objects bear one address.
    pub keep: Vec<String>,
    /// Keys of states that cannot be read and are put aside.
    pub replace: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RebuildReport {
    /// Address of the instance.
    pub instance: Address,
    /// Its namespace.
    pub namespace: String,
    /// The lineage that its objects bear.
    pub lineage: String,
    /// What is recorded.
    pub found: Vec<Found>,
    /// What is there and is not recorded.
    pub not_taken: Vec<NotTaken>,
    /// What the documents name and is not there: the next apply makes it.
    pub missing: Vec<Address>,
    /// The key of the state that cannot be read and is put aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<String>,
}

/// An object that is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// Where it sits.
    pub address: Address,
    /// `VPC`.
    pub kind: String,
    /// 12 digits.
    pub account: String,
    /// `us-west-2`.
    pub region: String,
    /// What AWS knows it by.
    pub id: String,
    /// How it was found.
    pub how: How,
    /// The phase that is recorded.
    pub phase: Phase,
    /// Paths of what differs from the documents, which the next apply changes.
    pub differs: Vec<String>,
}

/// How an object was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum How {
    /// By its tags: AWS knows no names of such objects.
    Tags,
    /// By its name, and it bears our marks.
    Name,
    /// AWS made it for the cluster's creator, or for Auto Mode.
    ByAws,
    /// By its tags; the documents name it no more, so the next apply removes it.
    LeftDocuments,
}

impl How {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Tags => "by its tags",
            Self::Name => "by its name and marks",
            Self::ByAws => "made by AWS itself",
            Self::LeftDocuments => "by its tags; not in the documents",
        }
    }
}

/// An object that is there and is not recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotTaken {
    /// Where it sits, or says it does.
    pub address: String,
    /// Its kind.
    pub kind: String,
    /// What AWS knows it by.
    pub id: String,
    /// Why, and the way out.
    pub reason: String,
}

/// A state that can be written.
#[derive(Debug)]
pub struct Rebuild {
    engine: Engine,
    work: Work,
    records: Vec<Record>,
    report: RebuildReport,
}

impl Rebuild {
    /// What was found.
    pub fn report(&self) -> &RebuildReport {
        &self.report
    }

    /// Takes the lock and writes the state. Returns the keys under which a damaged one is kept.
    pub async fn write(self) -> Result<Vec<String>, EngineError> {
        let (store, holder) = (&self.engine.store, &self.engine.settings.holder);
        let key = self.work.key();
        let kept = match &self.report.set_aside {
            Some(_) => session::set_aside(store.as_ref(), &key, holder).await?,
            None => Vec::new(),
        };
        let clock = self.engine.clock.clock();
        let session = Session::rebuild(store.clone(), key, holder.clone(), clock, &self.report.lineage).await?;
        // In one write: half of it would be a state that nothing can be rebuilt over, and that does not know the rest.
        let before = session.state();
        // Its lineage was used: what bears it is to be looked for by its tags.
        let last_entry = before.last_entry.max(1);
        let definitions = Some(self.work.definitions);
        session.replace(StateFile { definitions, last_entry, resources: self.records, ..before }).await?;
        session.close().await?;
        Ok(kept)
    }
}

impl Engine {
    /// Looks for everything that bears an instance's marks, to make its state anew. Reads only; the result can be written.
    pub async fn rebuild(&self, work: Work, choice: &Choice) -> Result<Rebuild, EngineError> {
        let set_aside = self.replaceable(&work, choice).await?;
        let site = Site::new(self, &work).await?;
        let all = self.listed(&site, &work).await?;
        let lineage = lineage_of(&work, &all, choice)?;
        let (ours, others): (Vec<Listed>, Vec<Listed>) = all.into_iter().partition(|one| one.marked.lineage == lineage);
        let kept = one_an_address(&ours, choice)?;
        let mut look = Look::start(self, &site, &work, &lineage, &kept).await?;
        look.until_nothing_more(self).await?;
        let now = self.clock.now();
        let mut built = look.records(now);
        let places = work.places.iter().flatten().map(|place| (&place.identity, place.role.as_ref()));
        let beside = Beside {
            site: &site,
            root: work.graph.node(NodeIndex(0)).address.clone(),
            namespace: work.key().namespace,
            home: Home::among(places),
            lineage: &lineage,
            now,
        };
        built.left_documents(&beside, &ours).await?;
        for Listed { marked, .. } in &others {
            built.not_taken(marked, format!("it bears the lineage {}; fleetctl orphans says what can be done", marked.lineage));
        }
        let report = RebuildReport {
            instance: work.graph.node(NodeIndex(0)).address.clone(),
            namespace: work.graph.instance.namespace.clone(),
            lineage,
            found: built.found,
            not_taken: built.not_taken,
            missing: built.missing,
            set_aside,
        };
        let records = built.records.into_iter().map(|(record, _)| record).collect();
        Ok(Rebuild { engine: self.clone(), work, records, report })
    }

    /// What bears the instance's marks. What was made a moment ago may not be shown yet: that there is nothing counts only
    /// when the visibility window has passed.
    async fn listed(&self, site: &Site, work: &Work) -> Result<Vec<Listed>, EngineError> {
        let (started, window) = (Instant::now(), self.settings.visibility_window);
        loop {
            let listed = Box::pin(of_instance(site, work)).await?;
            if !listed.is_empty() || started.elapsed() >= window {
                return Ok(listed);
            }
            tokio::time::sleep(PAUSE.min(window)).await;
        }
    }

    /// Whether a state may be put where one is: nothing may be lost by it. The key of one that is put aside.
    async fn replaceable(&self, work: &Work, choice: &Choice) -> Result<Option<String>, EngineError> {
        let key = work.key();
        match session::read(self.store.as_ref(), &key).await {
            Ok(None) => Ok(None),
            Ok(Some(state)) if state.resources.is_empty() && state.open.is_empty() => Ok(None),
            Ok(Some(state)) if state.resources.is_empty() => Err(EngineError::Recovery(format!(
                "an earlier run has left calls of {key} open, and nothing is rebuilt over that: apply looks what came of them"
            ))),
            Ok(Some(state)) => Err(EngineError::Recovery(format!(
                "{} objects are recorded of {key} already, and nothing is rebuilt over that; plan shows whether it is right, and \
                 other instances are rebuilt by naming their documents alone",
                state.resources.len()
            ))),
            Err(StateError::Damaged { key, .. }) if choice.replace.contains(&key) => Ok(Some(key)),
            Err(error @ StateError::Damaged { .. }) => {
                let key = key.store_key();
                Err(EngineError::Recovery(format!("{error}\nto keep it aside and rebuild it: --replace {key}")))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What bears an instance's marks, in every account and region in which the documents have something.
pub(super) async fn of_instance(site: &Site, work: &Work) -> Result<Vec<Listed>, EngineError> {
    let mut spots: Vec<Spot> = Vec::new();
    for (index, place) in work.places.iter().enumerate() {
        let Some(place) = place else { continue };
        let identity = &place.identity;
        let is_there = |spot: &Spot| spot.account == identity.account && spot.region == identity.region;
        if !spots.iter().any(is_there) {
            let address = &work.graph.node(NodeIndex(index)).address;
            let item = site.item(identity, address, place.role.as_ref(), Vec::new(), "").await?;
            let readers = item.cloud.readers;
            let (account, region) = (identity.account.clone(), identity.region.clone());
            spots.push(Spot { account, region, role: place.role.clone(), readers });
        }
    }
    let mut listing = list(&spots, &clusters_of(work)).await;
    // Half of it would be a state that makes the other half again.
    if let Some(unread) = listing.unread.pop() {
        return Err(EngineError::of_read(unread.error));
    }
    let instance = tags::value(&marked(&work.key()));
    listing.found.retain(|one| one.marked.instance == instance && !one.marked.lineage.is_empty());
    Ok(listing.found)
}

/// The names of the clusters that the documents name: something of ours may live in one that is not ours.
pub(super) fn clusters_of(work: &Work) -> BTreeSet<String> {
    let placed = work.places.iter().enumerate().filter_map(|(index, place)| Some((NodeIndex(index), place.as_ref()?)));
    let named = placed.filter_map(|(index, place)| {
        let desired = work.blank.node(index).desired.known_part();
        let path = if place.identity.kind == "Cluster" { "spec.name" } else { "spec.clusterName" };
        at(&desired, path).as_str().map(str::to_owned)
    });
    named.collect()
}

/// The lineage that an instance's objects bear.
fn lineage_of(work: &Work, ours: &[Listed], choice: &Choice) -> Result<String, EngineError> {
    let mut lineages: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in ours {
        lineages.entry(&one.marked.lineage).or_default().push(&one.marked.id);
    }
    let shown = || {
        let lines = lineages.iter().map(|(lineage, ids)| format!("  {lineage}: {} ({})", ids.len(), ids.join(", ")));
        lines.collect::<Vec<_>>().join("\n")
    };
    let key = work.key();
    match (&choice.lineage, lineages.len()) {
        (_, 0) => Err(EngineError::Recovery(format!(
            "nothing bears the marks of {key} in the accounts and regions of its resources: there is nothing to rebuild"
        ))),
        (Some(chosen), _) if lineages.contains_key(chosen.as_str()) => Ok(chosen.clone()),
        (Some(chosen), _) => {
            Err(EngineError::Recovery(format!("nothing of {key} bears the lineage {chosen}; objects by lineage:\n{}", shown())))
        }
        (None, 1) => Ok(lineages.keys().next().copied().unwrap_or_default().to_owned()),
        (None, _) => Err(EngineError::Recovery(format!(
            "several states have made objects for {key}; choose one by --lineage. Objects by lineage:\n{}",
            shown()
        ))),
    }
}

/// Where several objects bear one address: the one that is kept, by address.
fn one_an_address(ours: &[Listed], choice: &Choice) -> Result<BTreeMap<String, String>, EngineError> {
    let mut by_address: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for Listed { marked, .. } in ours.iter().filter(|one| !one.marked.address.is_empty()) {
        by_address.entry((&marked.address, &marked.kind)).or_default().push(&marked.id);
    }
    let mut kept = BTreeMap::new();
    let mut open = Vec::new();
    for ((address, kind), ids) in by_address.into_iter().filter(|(_, ids)| ids.len() > 1) {
        let chosen: Vec<&&str> = ids.iter().filter(|id| choice.keep.iter().any(|keep| keep == *id)).collect();
        match chosen.as_slice() {
            [only] => drop(kept.insert(address.to_owned(), (**only).to_owned())),
            _ => open.push(format!("  {address} ({kind}): {}", ids.join(", "))),
        }
    }
    if open.is_empty() {
        return Ok(kept);
    }
    let open = open.join("\n");
    Err(EngineError::Recovery(format!("several objects bear one address; name the one to record by --keep ID:\n{open}")))
}

/// A look at everything that the documents name.
struct Look<'a> {
    work: &'a Work,
    wanted: Vec<Wanted>,
    seen: BTreeMap<NodeIndex, Seen>,
    /// What was looked for last, by node.
    asked: BTreeMap<NodeIndex, Value>,
    started: Instant,
}

impl<'a> Look<'a> {
    async fn start(
        engine: &Engine,
        site: &Site,
        work: &'a Work,
        lineage: &str,
        kept: &BTreeMap<String, String>,
    ) -> Result<Self, EngineError> {
        let started = Instant::now();
        // A state of which nothing is recorded yet, but whose lineage objects may bear.
        let mut state = StateFile::new(work.key());
        lineage.clone_into(&mut state.lineage);
        state.last_entry = 1;
        let mut wanted = site.wanted(work, Some(&state), lineage).await?;
        for one in &mut wanted {
            if let Some(id) = kept.get(&tags::value(one.item.subject.address.as_str())) {
                one.record = Some(records::provisional(&one.item, id, Value::Null, engine.clock.now()));
            }
        }
        let asked = wanted.iter().map(|one| (one.index, one.desired.clone())).collect();
        let (stop, events) = (Stop::default(), &engine.events);
        let patience = Patience { window: engine.settings.visibility_window, stop: &stop, events, clock: &engine.clock };
        let seen = refresh(&wanted, Reading { patience, unanswered: Unanswered::Stops }).await?;
        Ok(Self { work, wanted, seen, asked, started })
    }

    /// Looks for what is missing with what is known by now, until nothing more turns up; and, where anything is missing,
    /// until its absence counts: it may have been made a moment ago.
    async fn until_nothing_more(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let window = engine.settings.visibility_window;
        loop {
            self.record_provisionally(engine.clock.now());
            let evaluation = self.evaluation();
            if self.look_again(&evaluation, false).await? {
                continue;
            }
            if self.missing(&evaluation).is_empty() || self.started.elapsed() >= window {
                let errors = evaluation.errors;
                return if errors.is_empty() { Ok(()) } else { Err(EngineError::Documents(errors)) };
            }
            tokio::time::sleep(PAUSE.min(window)).await;
            self.look_again(&evaluation, true).await?;
        }
    }

    fn evaluation(&self) -> Evaluation {
        evaluate(&self.work.graph, &observations(self.work, &self.seen), &KindCatalog)
    }

    /// Looks once more for what has not been seen and, unless at `all`, would be looked for otherwise by now. Whether
    /// anything new was seen.
    async fn look_again(&mut self, evaluation: &Evaluation, all: bool) -> Result<bool, EngineError> {
        let mut again = Vec::new();
        for one in self.wanted.iter().filter(|one| one.unreachable.is_none() && one.record.is_none()) {
            let is_seen = self.seen.get(&one.index).is_some_and(|seen| seen.observed.is_some());
            let desired = evaluation.node(one.index).desired.known_part();
            let is_new = self.asked.get(&one.index) != Some(&desired);
            // A registration is told by its cluster's ARN, and until that is known by its name alone.
            let by_arn = one.item.subject.identity.is_secret() && is_new;
            if by_arn || (!is_seen && (is_new || all)) {
                self.asked.insert(one.index, desired.clone());
                again.push((one, desired, is_seen));
            }
        }
        let looks = again.iter().map(|(one, desired, _)| async move {
            let item = &one.item;
            item.kind.find(&item.cloud.readers, &item.subject, desired).await.map_err(EngineError::of_read)
        });
        let answers = futures::future::try_join_all(looks).await?;
        let mut news = false;
        for ((one, _, was_seen), observed) in again.into_iter().zip(answers) {
            news |= observed.is_some() && !was_seen;
            self.seen.insert(one.index, seen_as(one, Ok(observed)));
        }
        Ok(news)
    }

    /// What was seen and is ours counts as recorded while the rest is looked for, so that what others read of it is known.
    fn record_provisionally(&mut self, now: DateTime<Utc>) {
        for one in &self.wanted {
            let Some(seen) = self.seen.get_mut(&one.index) else { continue };
            let Some(observed) = &seen.observed else { continue };
            if records::is_taken(one, observed) {
                let phase = records::phase(observed);
                seen.record = Some(Record { phase, ..records::provisional(&one.item, &observed.id, one.desired.clone(), now) });
            }
        }
    }

    fn missing(&self, evaluation: &Evaluation) -> Vec<Address> {
        let is_missing = |one: &&Wanted| {
            let seen = self.seen.get(&one.index).is_some_and(|seen| seen.observed.is_some());
            !seen && one.unreachable.is_none() && !evaluation.is_excluded(one.index)
        };
        self.wanted.iter().filter(is_missing).map(|one| one.item.subject.address.clone()).collect()
    }

    /// A record for everything that is ours.
    fn records(self, now: DateTime<Utc>) -> records::Built {
        let evaluation = self.evaluation();
        let mut built = records::Built { missing: self.missing(&evaluation), ..records::Built::default() };
        for one in &self.wanted {
            let Some(seen) = self.seen.get(&one.index) else { continue };
            if let Some(reason) = &seen.unreachable {
                let (address, kind) = (one.item.subject.address.to_string(), one.item.kind_name().to_owned());
                built.not_taken.push(NotTaken { address, kind, id: String::new(), reason: format!("not read: {reason}") });
            } else if let Some(observed) = &seen.observed {
                built.take(one, observed, &evaluation.node(one.index).desired, now);
            }
        }
        built
    }
}

/// Why an object that the documents name is not recorded.
fn why_not(one: &Wanted, observed: &Observed, owner: &Owner) -> String {
    match (owner, one.item.kind.takeover(observed)) {
        (Owner::Other(owner), _) => format!("it belongs to {owner}"),
        (_, Takeover::Refused(Some(reason))) => reason,
        _ => {
            let (address, id) = (&one.item.subject.address, &observed.id);
            format!("it bears no marks, so it is nobody's; if it is yours: fleetctl import -f FILE {address} {id}")
        }
    }
}
