//! Records of what was found.

use super::{Found, How, NotTaken, why_not};
use crate::engine::apply::Site;
use crate::engine::context::Item;
use crate::engine::copies::holds;
use crate::engine::planner::differences;
use crate::engine::recovery::listing::Listed;
use crate::engine::refresh::Wanted;
use crate::engine::report::EngineError;
use crate::engine::work::{at, place_to_hold};
use crate::graph::catalog::Step;
use crate::graph::identity::{Address, Identity};
use crate::graph::path;
use crate::graph::tree::Tree;
use crate::kinds::catalog::kinds;
use crate::kinds::kind::{FieldChange, Kind, Observed, Owner, Readiness};
use crate::kinds::marked::Marked;
use crate::state::file::{Phase, Record, RoleUsed};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

/// Where the kinds keep the time at which AWS made an object.
const MADE_AT: [&str; 3] = ["createdAt", "createDate", "createTime"];

/// Where what no document names belongs.
#[derive(Debug)]
pub(in crate::engine::recovery) struct Beside<'a> {
    pub(in crate::engine::recovery) site: &'a Site,
    /// The instance's own address.
    pub(in crate::engine::recovery) root: Address,
    pub(in crate::engine::recovery) namespace: String,
    /// Argo CD is in no account: its registrations count to this one.
    pub(in crate::engine::recovery) home: Option<Home>,
    pub(in crate::engine::recovery) lineage: &'a str,
    pub(in crate::engine::recovery) now: DateTime<Utc>,
}

/// An account and region, and the role that reaches them.
#[derive(Debug, Clone)]
pub(in crate::engine::recovery) struct Home {
    account: String,
    region: String,
    role: Option<RoleUsed>,
}

impl Home {
    /// That of the registration, or of the cluster, or of anything.
    pub(in crate::engine::recovery) fn among<'a>(
        places: impl Iterator<Item = (&'a Identity, Option<&'a RoleUsed>)>,
    ) -> Option<Self> {
        let rank = |kind: &str| ["Secret", "Cluster"].iter().position(|first| *first == kind).unwrap_or(2);
        let (identity, role) = places.min_by_key(|(identity, _)| rank(&identity.kind))?;
        Some(Self { account: identity.account.clone(), region: identity.region.clone(), role: role.cloned() })
    }
}

impl Beside<'_> {
    /// The kind of an object of the instance, and an identity for it; `None` where its marks do not tell.
    fn identity(&self, one: &Listed) -> Option<(&'static dyn Kind, Identity)> {
        let marked = &one.marked;
        marked.address.strip_prefix(self.root.as_str()).filter(|rest| rest.starts_with('/'))?;
        let kind = kinds().find(|kind| kind.description().kind == marked.kind)?;
        let mut identity = Identity {
            api_version: kind.description().api_version.clone(),
            kind: marked.kind.clone(),
            namespace: self.namespace.clone(),
            name: marked.id.clone(),
            account: one.account.clone(),
            region: one.region.clone(),
        };
        if identity.is_secret() {
            let home = self.home.as_ref()?;
            (identity.account, identity.region) = (home.account.clone(), home.region.clone());
        }
        Some((kind, identity))
    }
}

/// What becomes of what was seen.
#[derive(Debug, Default)]
pub(in crate::engine::recovery) struct Built {
    /// Records, with what was observed.
    pub(in crate::engine::recovery) records: Vec<(Record, Observed)>,
    pub(super) found: Vec<Found>,
    pub(in crate::engine::recovery) not_taken: Vec<NotTaken>,
    pub(super) missing: Vec<Address>,
}

/// A record of which nothing but the id is known.
pub(in crate::engine::recovery) fn provisional(item: &Item, id: &str, applied: Value, now: DateTime<Utc>) -> Record {
    Record {
        identity: item.subject.identity.clone(),
        address: item.subject.address.clone(),
        role: item.subject.role.clone(),
        id: id.to_owned(),
        phase: Phase::Created,
        applied,
        status: Value::Null,
        dependencies: item.subject.dependencies.clone(),
        adopted: false,
        since: now,
        created_at: now,
        wait: None,
    }
}

/// Whether something that the documents name is recorded: it is ours, or AWS made it for us.
pub(super) fn is_taken(one: &Wanted, observed: &Observed) -> bool {
    let owner = observed.owner(&one.item.subject.marks);
    owner == Owner::Ours || owner == Owner::Nobody && one.item.kind.adoptable_without_marks(observed)
}

/// How far an object came, as far as AWS tells.
pub(super) fn phase(observed: &Observed) -> Phase {
    match observed.readiness {
        Readiness::Ready => Phase::Ready,
        Readiness::Waiting(_) => Phase::Created,
        Readiness::Failed { .. } => Phase::Failed,
        Readiness::Deleting => Phase::Deleting,
    }
}

/// An object that was made, and whose later steps were perhaps never carried out, is not ready, whatever AWS says.
fn settled(phase: Phase, kind: &dyn Kind, desired: &Tree, changes: &[FieldChange]) -> Phase {
    let is_configured = |change: &FieldChange| kind.description().field(&path::any_item(&change.path)).step == Step::Configure;
    let is_half_made = !desired.is_known() || changes.iter().any(is_configured);
    if phase == Phase::Ready && is_half_made { Phase::Created } else { phase }
}

/// A record of something that is there, and how it differs from what is wanted. Where it does, what is there counts as
/// applied.
pub(in crate::engine::recovery) fn record_of(
    item: &Item,
    observed: &Observed,
    desired: &Tree,
    now: DateTime<Utc>,
) -> (Record, Vec<FieldChange>) {
    let Item { kind, subject, .. } = item;
    let mut applied = kind.recordable(&desired.known_part());
    let changes = differences(*kind, subject, desired, observed, Some(&applied));
    let there = object(subject.identity.is_secret(), observed);
    for change in &changes {
        let place = place_to_hold(&change.path, &applied, &there);
        put(&mut applied, &place, at(&there, &place).clone());
    }
    let record = Record {
        phase: settled(phase(observed), *kind, desired, &changes),
        status: observed.status.clone(),
        created_at: made_at(&observed.status).unwrap_or(now),
        ..provisional(item, &observed.id, applied, now)
    };
    (record, changes)
}

impl Built {
    /// What comes beside these.
    pub(in crate::engine::recovery) fn over(records: Vec<(Record, Observed)>) -> Self {
        Self { records, ..Self::default() }
    }

    /// Records something that the documents name, or says why not.
    pub(super) fn take(&mut self, one: &Wanted, observed: &Observed, desired: &Tree, now: DateTime<Utc>) {
        let Item { kind, subject, .. } = &one.item;
        let owner = observed.owner(&subject.marks);
        if !is_taken(one, observed) {
            self.not_taken.push(NotTaken {
                address: subject.address.to_string(),
                kind: one.item.kind_name().to_owned(),
                id: observed.id.clone(),
                reason: why_not(one, observed, &owner),
            });
            return;
        }
        let adopted = owner == Owner::Nobody;
        let how = match owner {
            Owner::Nobody => How::ByAws,
            _ if kind.is_found_by_marks() => How::Tags,
            _ => How::Name,
        };
        let (record, changes) = record_of(&one.item, observed, desired, now);
        let record = Record { adopted, ..record };
        let differs = changes.into_iter().map(|change| change.path).collect();
        self.add(record, observed.clone(), how, differs);
    }

    fn add(&mut self, record: Record, observed: Observed, how: How, differs: Vec<String>) {
        self.found.push(Found {
            address: record.address.clone(),
            kind: record.identity.kind.clone(),
            account: record.identity.account.clone(),
            region: record.identity.region.clone(),
            id: record.id.clone(),
            how,
            phase: record.phase,
            differs,
        });
        self.records.push((record, observed));
    }

    /// Records what bears the instance's marks and stands in its documents no more, as far as it can be told what it is:
    /// the next apply removes it.
    pub(in crate::engine::recovery) async fn left_documents(
        &mut self,
        place: &Beside<'_>,
        ours: &[Listed],
    ) -> Result<(), EngineError> {
        let named: Vec<(String, String)> =
            self.records.iter().map(|(record, _)| key(&record.identity.kind, &record.id)).collect();
        let placed: Vec<String> =
            self.records.iter().map(|(record, _)| crate::aws::tags::value(record.address.as_str())).collect();
        let first_new = self.records.len();
        for one in ours.iter().filter(|one| !named.contains(&key(&one.marked.kind, &one.marked.id))) {
            match self.left_one(place, one, &placed).await? {
                Ok(()) => {}
                Err(reason) => self.not_taken(&one.marked, reason),
            }
        }
        self.connect(first_new);
        Ok(())
    }

    /// What is there and is not recorded. What was said of it before counts.
    pub(super) fn not_taken(&mut self, marked: &Marked, reason: String) {
        let (address, kind, id) = (marked.address.clone(), marked.kind.clone(), marked.id.clone());
        if !self.not_taken.iter().any(|other| other.id == id && other.kind == kind) {
            self.not_taken.push(NotTaken { address, kind, id, reason });
        }
    }

    async fn left_one(&mut self, place: &Beside<'_>, one: &Listed, placed: &[String]) -> Result<Result<(), String>, EngineError> {
        let marked = &one.marked;
        if placed.contains(&marked.address) {
            return Ok(Err("another object bears its address and is recorded: remove it by hand".to_owned()));
        }
        let Some((kind, identity)) = place.identity(one) else {
            return Ok(Err(
                "it bears the instance's marks, but what it is to the instance cannot be told: look after it by hand".into(),
            ));
        };
        let role = if identity.is_secret() { place.home.as_ref().and_then(|home| home.role.as_ref()) } else { one.role.as_ref() };
        let address = Address(marked.address.clone());
        let item = place.site.item(&identity, &address, role, Vec::new(), place.lineage).await?;
        let record = provisional(&item, &marked.id, Value::Null, place.now);
        let observed = match kind.read(&item.cloud.readers, &item.subject, &record).await {
            Ok(Some(observed)) if observed.owner(&item.subject.marks) == Owner::Ours => observed,
            Ok(_) => return Ok(Err("it bears the instance's marks, but it could not be found by its id".to_owned())),
            Err(error) => return Ok(Err(format!("it bears the instance's marks, but it could not be read: {error}"))),
        };
        let mut applied = object(identity.is_secret(), &observed);
        applied["apiVersion"] = json!(identity.api_version);
        applied["kind"] = json!(identity.kind);
        applied["metadata"]["name"] = json!(identity.name);
        applied["metadata"]["namespace"] = json!(identity.namespace);
        let record = Record {
            phase: phase(&observed),
            applied: kind.recordable(&applied),
            status: observed.status.clone(),
            created_at: made_at(&observed.status).unwrap_or(place.now),
            ..record
        };
        self.add(record, observed, How::LeftDocuments, Vec::new());
        Ok(Ok(()))
    }

    /// Dependencies of and upon what stands in no graph: told by the ids and ARNs that specs hold.
    fn connect(&mut self, first_new: usize) {
        let mut edges = Vec::new();
        for (user, (_, observed)) in self.records.iter().enumerate() {
            for (used, (record, _)) in self.records.iter().enumerate() {
                let concerns_new = user >= first_new || used >= first_new;
                if user != used && concerns_new && mentions(&observed.spec, record) {
                    edges.push((user, record.identity.clone()));
                }
            }
        }
        for (user, identity) in edges {
            let Some((record, _)) = self.records.get_mut(user) else { continue };
            if !record.dependencies.contains(&identity) {
                record.dependencies.push(identity);
            }
        }
    }
}

fn key(kind: &str, id: &str) -> (String, String) {
    (kind.to_owned(), id.to_owned())
}

/// Whether a spec holds what others know an object by.
fn mentions(spec: &Value, record: &Record) -> bool {
    let arn = record.status.pointer("/ackResourceMetadata/arn").and_then(Value::as_str);
    let by_id = record.identity.kind != "Role" && record.identity.kind != "Cluster";
    let of_cluster = record.identity.kind == "Cluster" && spec.get("clusterName").and_then(Value::as_str) == Some(&record.id);
    of_cluster || holds(spec, &|text| arn == Some(text) || by_id && text == record.id)
}

/// What is there, in the shape of what is applied.
pub(in crate::engine::recovery) fn object(is_secret: bool, observed: &Observed) -> Value {
    if is_secret { observed.spec.clone() } else { json!({"spec": observed.spec}) }
}

/// Puts a value at a path, name by name; null takes away what is there.
fn put(object: &mut Value, path: &[String], value: Value) {
    let Some((name, rest)) = path.split_first() else {
        *object = value;
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Some(fields) = object.as_object_mut() else { return };
    if rest.is_empty() && value.is_null() {
        fields.remove(name);
    } else {
        put(fields.entry(name.clone()).or_insert(Value::Null), rest, value);
    }
}

/// When AWS made an object, where it says so.
fn made_at(status: &Value) -> Option<DateTime<Utc>> {
    let told = MADE_AT.iter().find_map(|name| status.get(name)?.as_str());
    Some(DateTime::parse_from_rfc3339(told?).ok()?.with_timezone(&Utc))
}
