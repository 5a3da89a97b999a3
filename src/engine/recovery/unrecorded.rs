//! What bears an instance's marks and stands in no record of its state: taken in before a destroy, so that nothing is left.
//!
//! A state knows less than there is after a part of it was lost: an older version was put in its place, segments of its journal
//! were damaged. Whoever destroys by it alone would leave the rest behind, and say that all is gone.

use super::listing::{Listed, Spot, list};
use super::rebuild::of_instance;
use super::rebuild::records::{Beside, Built, Home};
use crate::aws::error::{CallError, ErrorClass};
use crate::aws::tags;
use crate::engine::api::Engine;
use crate::engine::apply::Site;
use crate::engine::report::EngineError;
use crate::engine::subject::marked;
use crate::engine::work::Work;
use crate::graph::identity::Address;
use crate::kinds::kind::{Observed, Readiness};
use crate::kinds::marked;
use crate::state::file::{Record, StateFile};
use crate::state::journal::Journal;
use std::collections::{BTreeMap, BTreeSet};

/// What was taken in.
#[derive(Debug, Default)]
pub(in crate::engine) struct TakenIn {
    /// Addresses of what is recorded by now.
    pub(in crate::engine) addresses: BTreeSet<Address>,
    /// What is left alone, or could not be looked for, for people.
    pub(in crate::engine) warnings: Vec<String>,
}

/// Records everything that bears the marks of a state's instance, of its own lineage, where it has recorded something. First a
/// glance, one or two calls an account and region; only where that finds something, or a record is missing that others depend
/// on, is everything listed.
pub(in crate::engine) async fn take_in(engine: &Engine, site: &Site, journal: &Journal) -> Result<TakenIn, EngineError> {
    let state = journal.snapshot();
    let spots = spots(site, &state).await?;
    let mut taken = TakenIn::default();
    if spots.is_empty() || !is_suspicious(&spots, &state, &mut taken).await? {
        return Ok(taken);
    }
    let listing = Box::pin(list(&spots, &clusters(&state))).await;
    taken.warnings.extend(listing.unread.into_iter().map(|unread| not_looked(&unread.account, &unread.region, &unread.error)));
    let instance = tags::value(&marked(&state.instance));
    let ours = listing.found.into_iter().filter(|one| one.marked.instance == instance && one.marked.lineage == state.lineage);
    let unrecorded: Vec<Listed> = ours.filter(|one| is_unrecorded(&state, one)).collect();
    let places = state.resources.iter().map(|record| (&record.identity, record.role.as_ref()));
    let beside = Beside {
        site,
        root: Address::root(&state.instance.kind, &state.instance.name),
        namespace: state.instance.namespace.clone(),
        home: Home::among(places),
        lineage: &state.lineage,
        now: engine.clock.now(),
    };
    let known: BTreeMap<&str, &Record> = state.resources.iter().map(|record| (record.address.as_str(), record)).collect();
    let mut built = Built::over(state.resources.iter().map(|record| (record.clone(), as_applied(record))).collect());
    built.left_documents(&beside, &unrecorded).await?;
    for (record, _) in built.records {
        if known.get(record.address.as_str()).is_some_and(|known| known.dependencies == record.dependencies) {
            continue;
        }
        if !known.contains_key(record.address.as_str()) {
            taken.addresses.insert(record.address.clone());
        }
        journal.put(record).await?;
    }
    taken
        .warnings
        .extend(built.not_taken.into_iter().map(|one| format!("{} {} is left alone: {}", one.kind, one.id, one.reason)));
    Ok(taken)
}

impl Engine {
    /// Refuses to destroy by a state that has recorded nothing while objects bear the marks of the instance.
    pub async fn refuse_unrecorded(&self, work: &Work) -> Result<(), EngineError> {
        let site = Site::new(self, work).await?;
        let found = Box::pin(of_instance(&site, work)).await?;
        if found.is_empty() {
            return Ok(());
        }
        let ids: Vec<&str> = found.iter().map(|one| one.marked.id.as_str()).collect();
        Err(EngineError::Recovery(format!(
            "nothing is recorded of {}, but objects bear its marks: {}. `fleetctl state rebuild` with its documents records them, \
             and destroy removes them then",
            work.key(),
            ids.join(", ")
        )))
    }
}

/// Where the state has recorded something, once an account and region.
async fn spots(site: &Site, state: &StateFile) -> Result<Vec<Spot>, EngineError> {
    let mut spots: Vec<Spot> = Vec::new();
    for record in &state.resources {
        let (account, region) = (&record.identity.account, &record.identity.region);
        if spots.iter().any(|spot| spot.account == *account && spot.region == *region) {
            continue;
        }
        let readers = site.recorded_item(record, &state.lineage).await?.cloud.readers;
        spots.push(Spot { account: account.clone(), region: region.clone(), role: record.role.clone(), readers });
    }
    Ok(spots)
}

/// Whether the state may not know everything.
async fn is_suspicious(spots: &[Spot], state: &StateFile, taken: &mut TakenIn) -> Result<bool, EngineError> {
    let recorded: BTreeSet<_> = state.resources.iter().map(|record| &record.identity).collect();
    let depended_on = state.resources.iter().flat_map(|record| &record.dependencies);
    if depended_on
        .filter(|identity| crate::kinds::catalog::kind(&identity.api_version, &identity.kind).is_some())
        .any(|identity| !recorded.contains(identity))
    {
        return Ok(true);
    }
    let instance = marked(&state.instance);
    for (number, spot) in spots.iter().enumerate() {
        match glance(spot, &instance, state, number == 0).await {
            Ok(false) => {}
            Ok(true) => return Ok(true),
            Err(error) if error.class == ErrorClass::Denied => {
                taken.warnings.push(not_looked(&spot.account, &spot.region, &error));
            }
            Err(error) => return Err(EngineError::of_read(error)),
        }
    }
    Ok(false)
}

/// Whether something of EC2, a cluster or (once) a registration bears the instance's mark and is not recorded. Roles cannot be
/// asked for by their tags, and what lives in a cluster goes with it.
async fn glance(spot: &Spot, instance: &str, state: &StateFile, with_argocd: bool) -> Result<bool, CallError> {
    let is_recorded = |id: &str| state.resources.iter().any(|record| record.id == id);
    let readers = &spot.readers;
    if readers.ec2.marked_ids(instance).await?.iter().any(|id| !is_recorded(id)) {
        return Ok(true);
    }
    let value = tags::value(instance);
    let clusters = marked::of_eks_clusters_alone(readers, &|name| !is_recorded(name)).await?;
    if clusters.iter().any(|one| one.instance == value && one.lineage == state.lineage) {
        return Ok(true);
    }
    let registered = if with_argocd { marked::of_argocd(readers).await? } else { Vec::new() };
    Ok(registered.iter().any(|one| one.instance == value && one.lineage == state.lineage && !is_recorded(&one.id)))
}

/// Not recorded under its id. What bears the address of a record is a second copy of it, which is looked after elsewhere.
fn is_unrecorded(state: &StateFile, one: &Listed) -> bool {
    let is_it = |record: &Record| {
        record.identity.kind == one.marked.kind && record.id == one.marked.id
            || tags::value(record.address.as_str()) == one.marked.address
    };
    !state.resources.iter().any(is_it)
}

/// The names of the recorded clusters, and of those in which something recorded lives.
fn clusters(state: &StateFile) -> BTreeSet<String> {
    let named = state.resources.iter().filter_map(|record| {
        if record.identity.kind == "Cluster" {
            return Some(record.id.clone());
        }
        record.applied["spec"]["clusterName"].as_str().map(str::to_owned)
    });
    named.collect()
}

/// A recorded object as what was applied says it is.
fn as_applied(record: &Record) -> Observed {
    let spec = if record.identity.is_secret() { record.applied.clone() } else { record.applied["spec"].clone() };
    Observed { id: record.id.clone(), spec, status: record.status.clone(), tags: BTreeMap::new(), readiness: Readiness::Ready }
}

fn not_looked(account: &str, region: &str, error: &CallError) -> String {
    format!("what is not recorded was not looked for in {account} {region}: {error}")
}
