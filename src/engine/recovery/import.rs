//! Import: an object that is there and is nobody's becomes an instance's resource.
//!
//! It gets the marks first, by recorded calls, and is recorded then. A run that is killed in between leaves an object with
//! our marks, which the next apply adopts.

use super::rebuild::{of_instance, records};
use crate::engine::api::Engine;
use crate::engine::apply::{Site, context};
use crate::engine::context::Item;
use crate::engine::drift::is_used;
use crate::engine::plan::FieldDifference;
use crate::engine::report::EngineError;
use crate::engine::stop::Stop;
use crate::engine::work::Work;
use crate::graph::identity::Address;
use crate::kinds::kind::{Changeability, Observed, Owner, Subject};
use crate::state::file::{Record, StateFile};
use crate::state::session::{self, Session};
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

    /// Takes the lock, gives the object its marks, and records it.
    pub async fn write(self) -> Result<(), EngineError> {
        let (store, holder, key) = (self.engine.store.clone(), self.engine.settings.holder.clone(), self.work.key());
        let session = if self.is_new {
            Session::rebuild(store, key, holder, &self.lineage).await?
        } else {
            Session::open(store, key, holder).await?
        };
        let journal = session.journal();
        let Self { item, observed, record, .. } = self;
        if journal.view(|state| state.lineage != self.lineage || state.record(&record.identity).is_some()) {
            return Err(refused("the state was changed by another run meanwhile: import again"));
        }
        if self.report.marks {
            let context = context(&self.engine, &journal, &Stop::default());
            let (subject, own) = (marking(&item), as_it_is(&item, &observed));
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
        if state.as_ref().is_some_and(|state| !state.open.is_empty()) {
            return Err(refused("an earlier run left calls open: apply first, which looks what came of them"));
        }
        let site = Site::new(self, &work).await?;
        if state.is_none() && !Box::pin(of_instance(&site, &work)).await?.is_empty() {
            return Err(refused(format!(
                "nothing is recorded of {key}, but objects bear its marks: `fleetctl state rebuild` first"
            )));
        }
        let lineage = state.as_ref().map_or_else(|| StateFile::new(key.clone()).lineage, |state| state.lineage.clone());
        let Some(one) = site
            .wanted(&work, state.as_ref(), &lineage)
            .await?
            .into_iter()
            .find(|one| one.item.subject.address.as_str() == address)
        else {
            return Err(refused(format!(
                "no resource that is carried out has the address {address}; `fleetctl graph` lists them"
            )));
        };
        if let Some(record) = &one.record {
            return Err(refused(format!("{address} is recorded already: it is {}", record.id)));
        }
        if let Some(reason) = one.unreachable {
            return Err(refused(reason));
        }
        self.nobody_else_has(&one.item, id).await?;
        let planned = Box::pin(site.plan(&work, state.as_ref())).await?.planned;
        let desired = &planned.evaluation.node(one.index).desired;
        let item = one.item;
        let look = records::provisional(&item, id, desired.known_part());
        let observed = item.kind.read(&item.cloud.readers, &item.subject, &look).await.map_err(EngineError::of_read)?;
        let identity = &item.subject.identity;
        let Some(observed) = observed.filter(|observed| observed.id == id) else {
            let (kind, account, region) = (&identity.kind, &identity.account, &identity.region);
            return Err(refused(format!(
                "there is no {kind} {id} in account {account}, region {region}, where {address} belongs"
            )));
        };
        let owner = observed.owner(&item.subject.marks);
        if let Owner::Other(owner) = &owner {
            return Err(refused(format!("{id} belongs to {owner}: it is not taken from there")));
        }
        let marks = owner == Owner::Nobody;
        if marks {
            only_marks(&item, &observed)?;
        }
        let (record, changes) = records::record_of(&item, &observed, desired);
        let (fields, impossible): (Vec<_>, Vec<_>) =
            changes.iter().partition(|change| change.changeability == Changeability::InPlace);
        let impossible: Vec<String> = impossible.into_iter().map(crate::engine::planner::refusal).collect();
        if !impossible.is_empty() && !confirmed {
            let list = impossible.join("\n  ");
            return Err(refused(format!(
                "{id} differs from the documents where no apply can change it:\n  {list}\nto import it all the same: --confirm {address}"
            )));
        }
        let report = ImportReport {
            address: item.subject.address.clone(),
            kind: identity.kind.clone(),
            account: identity.account.clone(),
            region: identity.region.clone(),
            id: observed.id.clone(),
            marks,
            fields: fields.into_iter().filter(|change| !is_mark(&change.path)).map(difference).collect(),
            impossible,
        };
        let record = Record { adopted: true, ..record };
        Ok(Import { engine: self.clone(), work, is_new: state.is_none(), lineage, item, observed, record, report })
    }

    /// Refuses what a state of this store has.
    async fn nobody_else_has(&self, item: &Item, id: &str) -> Result<(), EngineError> {
        let identity = &item.subject.identity;
        for (key, state) in session::read_each(self.store.as_ref()).await? {
            let is_it = |record: &&Record| {
                let (own, other) = (&record.identity, identity);
                record.id == id && own.kind == other.kind && own.account == other.account && own.region == other.region
            };
            if let Some(record) = state.ok().and_then(|state| state.resources.iter().find(is_it).cloned()) {
                return Err(refused(format!("{id} is recorded already, as {} in {key}", record.address)));
            }
        }
        Ok(())
    }
}

fn difference(change: &crate::kinds::kind::FieldChange) -> FieldDifference {
    FieldDifference { path: change.path.clone(), before: change.before.clone(), after: change.after.clone(), unknown: None }
}

fn is_mark(path: &str) -> bool {
    path.contains("[fleetctl:") || path.contains("[fleetctl/")
}

/// Makes sure that giving the marks changes nothing else.
fn only_marks(item: &Item, observed: &Observed) -> Result<(), EngineError> {
    let changes = item.kind.compare(&marking(item), &as_it_is(item, observed), observed, None);
    match changes.iter().find(|change| !is_mark(&change.path)) {
        None => Ok(()),
        Some(other) => {
            Err(refused(format!("{} cannot be given its tags without {} being changed as well", observed.id, other.path)))
        }
    }
}
