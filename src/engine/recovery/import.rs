//! Import: an object that is there and is nobody's becomes an instance's resource.
//!
//! It gets the marks first, by recorded calls, and is recorded then. After a run that is killed in between, the same import
//! finishes what is missing; an object that has our marks by then is adopted by the next apply, too.

mod form;

use super::rebuild::{of_instance, records};
use crate::engine::api::Engine;
use crate::engine::apply::{Site, context};
use crate::engine::context::Item;
use crate::engine::drift::is_used;
use crate::engine::plan::FieldDifference;
use crate::engine::planner::why_impossible;
use crate::engine::refresh::Wanted;
use crate::engine::report::EngineError;
use crate::engine::stop::Stop;
use crate::engine::work::Work;
use crate::graph::identity::Address;
use crate::graph::tree::Tree;
use crate::kinds::kind::{Changeability, FieldChange, Observed, Owner, Readiness, Subject, Takeover, why_failed};
use crate::state::file::{Record, StateFile, Verb};
use crate::state::session::{self, Session};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};

/// What an import does.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// Where it will sit.
    pub address: Address,
    /// `VPC`.
    pub kind: String,
    /// 12 digits.
    pub account: String,
    /// `us-west-2`.
    pub region: String,
    /// What AWS knows it by.
    pub id: String,
    /// Whether it has to be given the marks; false where it bears them.
    pub marks: bool,
    /// What the next apply changes of it.
    pub fields: Vec<FieldDifference>,
    /// Paths of what no apply changes: it would have to be made anew.
    pub impossible: Vec<String>,
}

/// An import that can be carried out.
#[derive(Debug)]
pub struct Import {
    engine: Engine,
    site: Site,
    work: Work,
    /// Whether a state is there already.
    is_new: bool,
    lineage: String,
    item: Item,
    observed: Observed,
    record: Record,
    report: ImportReport,
}

impl Import {
    /// What will be done.
    pub fn report(&self) -> &ImportReport {
        &self.report
    }

    /// Takes the lock, looks what came of calls that an earlier run left open, gives the object its marks, and records it.
    pub async fn write(self) -> Result<(), EngineError> {
        let (store, holder, key) = (self.engine.store.clone(), self.engine.settings.holder.clone(), self.work.key());
        let clock = self.engine.clock.clock();
        let session = if self.is_new {
            Session::rebuild(store, key, holder, clock, &self.lineage).await?
        } else {
            Session::open_with(store, key, holder, clock).await?
        };
        let journal = session.journal();
        let context = context(&self.engine, &journal, &Stop::default());
        self.site.resolve_all(&context).await?;
        let Self { item, observed, record, .. } = self;
        if journal.view(|state| state.lineage != self.lineage || state.record(&record.identity).is_some()) {
            return Err(refused("the state was changed by another run meanwhile: import again"));
        }
        still_as_seen(&item, &observed, &record).await?;
        if self.report.marks {
            let (subject, own, observed) = (marking(&item), as_it_is(&item, &observed), alone(&item, &observed));
            let marking = item.kind.configure(&item.cloud, &context.recorder, &subject, &own, &observed).await;
            marking.map_err(|error| refused(format!("{} could not be given its tags: {error}", observed.id)))?;
        }
        journal.put(record).await?;
        session.close().await?;
        Ok(())
    }
}

fn refused(text: impl Into<String>) -> EngineError {
    EngineError::Recovery(text.into())
}

/// Whoever was asked may have taken their time: what somebody else has marked meanwhile is theirs.
async fn still_as_seen(item: &Item, observed: &Observed, record: &Record) -> Result<(), EngineError> {
    let now = item.kind.glance(&item.cloud.readers, &item.subject, record).await.map_err(EngineError::of_read)?;
    if now.is_some_and(|now| now.tags == observed.tags) {
        return Ok(());
    }
    Err(refused(format!("{} was changed by somebody meanwhile: import again", observed.id)))
}

/// The object for whoever gives it the marks and nothing else.
fn marking(item: &Item) -> Subject {
    Subject { default_tags: std::collections::BTreeMap::new(), ..item.subject.clone() }
}

/// The object as it is, as if the documents wanted just that.
fn as_it_is(item: &Item, observed: &Observed) -> Value {
    let identity = &item.subject.identity;
    let mut own = records::object(identity.is_secret(), observed);
    if own["metadata"].is_null() {
        own["metadata"] = json!({"name": identity.name, "namespace": identity.namespace});
    }
    own
}

impl Engine {
    /// Looks at an object that is to be imported. Reads only; the result can be carried out. `confirmed`: also where fields
    /// differ that can be changed only by making it anew.
    pub async fn import(&self, work: Work, address: &str, id: &str, confirmed: bool) -> Result<Import, EngineError> {
        let key = work.key();
        let state = session::read(self.store.as_ref(), &key).await?.filter(is_used);
        let site = Site::new(self, &work).await?;
        if state.is_none() && !Box::pin(of_instance(&site, &work)).await?.is_empty() {
            return Err(refused(format!(
                "nothing is recorded of {key}, but objects bear its marks: `fleetctl state rebuild` first"
            )));
        }
        let lineage = state.as_ref().map_or_else(|| StateFile::new(key.clone()).lineage, |state| state.lineage.clone());
        let one = wanted_at(&site, &work, state.as_ref(), &lineage, address).await?;
        let item = one.item;
        let id = form::checked(item.kind_name(), id).map_err(refused)?;
        self.nobody_else_has(&item, id).await?;
        let planned = Box::pin(site.plan(&work, state.as_ref())).await?.planned;
        let node = planned.evaluation.node(one.index);
        if planned.evaluation.is_excluded(one.index) {
            return Err(refused(format!(
                "{address} is left out by its includeWhen: the next apply would remove what is imported"
            )));
        }
        let desired = &node.desired;
        let now = self.clock.now();
        let look = records::provisional(&item, id, desired.known_part(), now);
        let observed = item.kind.read(&item.cloud.readers, &item.subject, &look).await.map_err(EngineError::of_read)?;
        let identity = &item.subject.identity;
        // Registrations that stand in each other's way: whichever was asked for.
        if let Some(reason) = observed.as_ref().and_then(|observed| in_the_way(&item, observed)) {
            return Err(refused(reason));
        }
        let Some(observed) = observed.filter(|observed| observed.id == id) else {
            let (kind, account, region) = (&identity.kind, &identity.account, &identity.region);
            return Err(refused(format!(
                "there is no {kind} {id} in account {account}, region {region}, where {address} belongs; what was made a moment ago may not \
                 be visible yet"
            )));
        };
        can_be_taken(&item, &observed)?;
        let (record, report) = taken(&item, &observed, desired, now, confirmed)?;
        Ok(Import { engine: self.clone(), site, work, is_new: state.is_none(), lineage, item, observed, record, report })
    }

    /// Refuses what a state of this store has.
    async fn nobody_else_has(&self, item: &Item, id: &str) -> Result<(), EngineError> {
        let identity = &item.subject.identity;
        for (key, state) in session::read_each(self.store.as_ref()).await? {
            let is_it = |record: &&Record| {
                let (own, other) = (&record.identity, identity);
                let same_region = own.region == other.region || own.kind == "Role";
                let same_place = own.account == other.account && same_region || own.is_secret();
                record.id == id && own.kind == other.kind && same_place
            };
            if let Some(record) = state.ok().and_then(|state| state.resources.iter().find(is_it).cloned()) {
                return Err(refused(format!("{id} is recorded already, as {} in {key}", record.address)));
            }
        }
        Ok(())
    }
}

/// The resource of an address, as long as something may be imported as it.
async fn wanted_at(
    site: &Site,
    work: &Work,
    state: Option<&StateFile>,
    lineage: &str,
    address: &str,
) -> Result<Wanted, EngineError> {
    let wanted = site.wanted(work, state, lineage).await?;
    let Some(one) = wanted.into_iter().find(|one| one.item.subject.address.as_str() == address) else {
        return Err(refused(no_such(work, address)));
    };
    if let Some(record) = &one.record {
        return Err(refused(format!("{address} is recorded already: it is {}", record.id)));
    }
    let mut open = state.map(|state| state.open.iter()).into_iter().flatten();
    if open.any(|begin| begin.identity == one.item.subject.identity && begin.verb == Verb::Create) {
        return Err(refused(format!(
            "an earlier run has begun to make {address}, and what came of it is not known: apply first, which looks"
        )));
    }
    if let Some(reason) = &one.unreachable {
        return Err(refused(reason.clone()));
    }
    Ok(one)
}

fn left_out(address: &str) -> String {
    format!("{address} is left out by its includeWhen: the next apply would remove what is imported")
}

/// Why nothing can be imported as an address.
fn no_such(work: &Work, address: &str) -> String {
    match work.graph.find(address) {
        Some(index) if work.blank.is_excluded(index) => left_out(address),
        Some(_) => format!("{address} is no object that fleetctl carries out, so nothing can be imported as it"),
        None => format!("no resource that is carried out has the address {address}; `fleetctl graph` lists them"),
    }
}

/// Why an object that is nobody's can be taken by nobody either.
fn in_the_way(item: &Item, observed: &Observed) -> Option<String> {
    match item.kind.takeover(observed) {
        Takeover::Refused(reason) if observed.owner(&item.subject.marks) == Owner::Nobody => reason,
        _ => None,
    }
}

/// Refuses what is somebody else's, what is on its way out, and what is of no use.
fn can_be_taken(item: &Item, observed: &Observed) -> Result<(), EngineError> {
    let (id, marks) = (&observed.id, &item.subject.marks);
    match observed.owner(marks) {
        Owner::Ours => {}
        Owner::Other(owner) => return Err(refused(format!("{id} belongs to {owner}: it is not taken from there"))),
        Owner::Nobody => {
            if let Some(other) = marks.other_instance(&observed.tags) {
                return Err(refused(format!("{id} bears the mark of {other}: it is not taken from there")));
            }
        }
    }
    match &observed.readiness {
        Readiness::Deleting => Err(refused(format!("{id} is being deleted"))),
        Readiness::Failed { code, message } => {
            let why = why_failed(code, message);
            Err(refused(format!("{id} has failed ({why}) and will never be of use: remove it, and apply makes another one")))
        }
        Readiness::Ready | Readiness::Waiting(_) => Ok(()),
    }
}

/// The record of an object that may be taken, and what becomes of it.
fn taken(
    item: &Item,
    observed: &Observed,
    desired: &Tree,
    now: DateTime<Utc>,
    confirmed: bool,
) -> Result<(Record, ImportReport), EngineError> {
    let (id, identity, address) = (&observed.id, &item.subject.identity, &item.subject.address);
    let marks = !item.subject.marks.are_on(&observed.tags);
    if marks {
        only_marks(item, observed)?;
    }
    let (record, changes) = records::record_of(item, observed, desired, now);
    let (fields, impossible): (Vec<_>, Vec<_>) =
        changes.iter().partition(|change| change.changeability == Changeability::InPlace);
    let impossible: Vec<String> = impossible.into_iter().map(differs).collect();
    if !impossible.is_empty() && !confirmed {
        let list = impossible.join("\n  ");
        return Err(refused(format!(
            "{id} differs from the documents where no apply can change it:\n  {list}\nto import it all the same: --confirm {address}"
        )));
    }
    let report = ImportReport {
        address: address.clone(),
        kind: identity.kind.clone(),
        account: identity.account.clone(),
        region: identity.region.clone(),
        id: id.clone(),
        marks,
        fields: fields.into_iter().filter(|change| !is_mark(&change.path)).map(difference).collect(),
        impossible,
    };
    Ok((Record { adopted: true, ..record }, report))
}

/// A field in which the object is other than the documents say, and in which no apply can change it. The object was there first: the
/// documents have to follow it.
fn differs(change: &FieldChange) -> String {
    let (is, says) = (&change.before, &change.after);
    format!(
        "{} (it is {is}, the documents say {says}); have the documents say what it is, or do not import it",
        why_impossible(change)
    )
}

fn difference(change: &FieldChange) -> FieldDifference {
    FieldDifference { path: change.path.clone(), before: change.before.clone(), after: change.after.clone(), unknown: None }
}

fn is_mark(path: &str) -> bool {
    path.contains("[fleetctl:") || path.contains("[fleetctl/")
}

/// The object without what it is compared with beside the documents: nobody but fleetctl leaves the hash by which the
/// configuration of a registration is compared with its cluster. The next apply does that.
fn alone(item: &Item, observed: &Observed) -> Observed {
    let mut alone = observed.clone();
    if let Some(status) = alone.status.as_object_mut().filter(|_| item.subject.identity.is_secret()) {
        status.remove("cluster");
    }
    alone
}

/// Makes sure that giving the marks changes nothing else.
fn only_marks(item: &Item, observed: &Observed) -> Result<(), EngineError> {
    let changes = item.kind.compare(&marking(item), &as_it_is(item, observed), &alone(item, observed), None);
    match changes.iter().find(|change| !is_mark(&change.path)) {
        None => Ok(()),
        Some(other) => {
            Err(refused(format!("{} cannot be given its tags without {} being changed as well", observed.id, other.path)))
        }
    }
}
