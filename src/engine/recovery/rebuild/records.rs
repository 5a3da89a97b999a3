//! Records of what was found.

use super::{Found, How, NotTaken, why_not};
use crate::engine::apply::Site;
use crate::engine::context::Item;
use crate::engine::planner::differences;
use crate::engine::recovery::listing::Listed;
use crate::engine::refresh::Wanted;
use crate::engine::report::EngineError;
use crate::engine::work::{Work, at, place_to_hold};
use crate::graph::catalog::Step;
use crate::graph::expansion::NodeIndex;
use crate::graph::identity::{Address, Identity};
use crate::graph::path;
use crate::graph::tree::Tree;
use crate::kinds::catalog::kinds;
use crate::kinds::kind::{FieldChange, Kind, Observed, Owner, Readiness};
use crate::state::file::{Phase, Record};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

/// Where the kinds keep the time at which AWS made an object.
const MADE_AT: [&str; 3] = ["createdAt", "createDate", "createTime"];

/// What becomes of what was seen.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// Records, with what was observed.
    pub(super) records: Vec<(Record, Observed)>,
    pub(super) found: Vec<Found>,
    pub(super) not_taken: Vec<NotTaken>,
    pub(super) missing: Vec<Address>,
}

/// A record of which nothing but the id is known.
pub(in crate::engine::recovery) fn provisional(item: &Item, id: &str, applied: Value) -> Record {
    let now = Utc::now();
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
    // Registrations that stand in each other's way.
    let conflict = one.item.subject.identity.is_secret() && matches!(observed.readiness, Readiness::Failed { .. });
    let owner = observed.owner(&one.item.subject.marks);
    !conflict && (owner == Owner::Ours || owner == Owner::Nobody && one.item.kind.adoptable_without_marks(observed))
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
pub(in crate::engine::recovery) fn record_of(item: &Item, observed: &Observed, desired: &Tree) -> (Record, Vec<FieldChange>) {
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
        created_at: made_at(&observed.status),
        ..provisional(item, &observed.id, applied)
    };
    (record, changes)
}

impl Built {
    /// Records something that the documents name, or says why not.
    pub(super) fn take(&mut self, one: &Wanted, observed: &Observed, desired: &Tree) {
        let Item { kind, subject, .. } = &one.item;
        let owner = observed.owner(&subject.marks);
        if !is_taken(one, observed) {
            self.not_taken.push(NotTaken {
                address: subject.address.to_string(),
                kind: one.item.kind_name().to_owned(),
                id: observed.id.clone(),
                reason: why_not(observed, &owner, &subject.address),
            });
            return;
        }
        let adopted = owner == Owner::Nobody;
        let how = match owner {
            Owner::Nobody => How::ByAws,
            _ if kind.is_found_by_marks() => How::Tags,
            _ => How::Name,
        };
        let (record, changes) = record_of(&one.item, observed, desired);
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
    pub(super) async fn left_documents(
        &mut self,
        site: &Site,
        work: &Work,
        lineage: &str,
        ours: &[Listed],
    ) -> Result<(), EngineError> {
        let named: Vec<(String, String)> =
            self.records.iter().map(|(record, _)| key(&record.identity.kind, &record.id)).collect();
        let placed: Vec<String> =
            self.records.iter().map(|(record, _)| crate::aws::tags::value(record.address.as_str())).collect();
        let first_new = self.records.len();
        for one in ours.iter().filter(|one| !named.contains(&key(&one.marked.kind, &one.marked.id))) {
            let reason = match self.left_one(site, work, lineage, one, &placed).await? {
                Ok(()) => continue,
                Err(reason) => reason,
            };
            let marked = &one.marked;
            let (address, kind, id) = (marked.address.clone(), marked.kind.clone(), marked.id.clone());
            if !self.not_taken.iter().any(|other| other.id == id && other.kind == kind) {
                self.not_taken.push(NotTaken { address, kind, id, reason });
            }
        }
        self.connect(first_new);
        Ok(())
    }

    async fn left_one(
        &mut self,
        site: &Site,
        work: &Work,
        lineage: &str,
        one: &Listed,
        placed: &[String],
    ) -> Result<Result<(), String>, EngineError> {
        let marked = &one.marked;
        if placed.contains(&marked.address) {
            return Ok(Err("another object bears its address and is recorded: remove it by hand".to_owned()));
        }
        let of_kind = kinds().find(|kind| kind.description().kind == marked.kind).filter(|_| marked.kind != "Secret");
        let root = &work.graph.node(NodeIndex(0)).address;
        let within = marked.address.strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let Some(kind) = of_kind.filter(|_| within) else {
            return Ok(Err(
                "it bears the instance's marks, but what it is to the instance cannot be told: look after it by hand".into(),
            ));
        };
        let identity = Identity {
            api_version: kind.description().api_version.clone(),
            kind: marked.kind.clone(),
            namespace: work.key().namespace,
            name: marked.id.clone(),
            account: one.account.clone(),
            region: one.region.clone(),
        };
        let address = Address(marked.address.clone());
        let item = site.item(&identity, &address, one.role.as_ref(), Vec::new(), lineage).await?;
        let record = provisional(&item, &marked.id, Value::Null);
        let observed = match kind.read(&item.cloud.readers, &item.subject, &record).await {
            Ok(Some(observed)) if observed.owner(&item.subject.marks) == Owner::Ours => observed,
            Ok(_) => return Ok(Err("it bears the instance's marks, but it could not be found by its id".to_owned())),
            Err(error) => return Ok(Err(format!("it bears the instance's marks, but it could not be read: {error}"))),
        };
        let applied = json!({
            "apiVersion": identity.api_version, "kind": identity.kind,
            "metadata": {"name": identity.name, "namespace": identity.namespace}, "spec": observed.spec,
        });
        let record = Record {
            phase: phase(&observed),
            applied: kind.recordable(&applied),
            status: observed.status.clone(),
            created_at: made_at(&observed.status),
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

fn holds(value: &Value, is_it: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_it(text),
        Value::Array(items) => items.iter().any(|item| holds(item, is_it)),
        Value::Object(entries) => entries.values().any(|entry| holds(entry, is_it)),
        _ => false,
    }
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
fn made_at(status: &Value) -> DateTime<Utc> {
    let told = MADE_AT.iter().find_map(|name| status.get(name)?.as_str());
    let told = told.and_then(|text| DateTime::parse_from_rfc3339(text).ok());
    told.map_or_else(Utc::now, |told| told.with_timezone(&Utc))
}
