//! The order of removals: what has to be gone before what, and what AWS takes away together with something else.

use crate::graph::identity::Identity;
use crate::kinds::compare::at;
use crate::kinds::kind::GoesWith;
use crate::state::file::Record;
use std::collections::{BTreeMap, BTreeSet};

/// The order of the removals of one run. Identities that are not removed in it keep nobody waiting.
#[derive(Debug, Default)]
pub(in crate::engine) struct Order {
    /// What has to be gone before the key can go.
    blockers: BTreeMap<Identity, BTreeSet<Identity>>,
    /// The object that takes the key away with it.
    carriers: BTreeMap<Identity, Identity>,
}

impl Order {
    /// The order of removing these objects. Each comes with what its kind says of the object that takes it away.
    pub(in crate::engine) fn of(doomed: &[(&Record, Option<GoesWith>)]) -> Self {
        let records: Records<'_> = doomed.iter().map(|(record, _)| (&record.identity, *record)).collect();
        let carriers = carriers(doomed, &records);
        let mut blockers: BTreeMap<Identity, BTreeSet<Identity>> = BTreeMap::new();
        for (identity, record) in &records {
            // What is needed outlives what needs it, but for what goes in the same instant.
            let needed = record.dependencies.iter().filter(|needed| carriers.get(identity) != Some(*needed));
            for needed in needed.filter(|needed| records.contains_key(needed)) {
                blockers.entry(needed.clone()).or_default().insert((*identity).clone());
            }
        }
        // What has to be gone before something that is carried has to be gone before its carrier.
        for (carried, carrier) in &carriers {
            let of_carried = blockers.get(carried).cloned().unwrap_or_default();
            let alone = of_carried.into_iter().filter(|blocker| carriers.get(blocker) != Some(carrier));
            blockers.entry(carrier.clone()).or_default().extend(alone);
        }
        Self { blockers, carriers }
    }

    /// The object that takes this one away with it.
    pub(in crate::engine) fn carrier(&self, identity: &Identity) -> Option<&Identity> {
        self.carriers.get(identity)
    }

    /// What an object takes away with it.
    pub(in crate::engine) fn carried_by(&self, carrier: &Identity) -> Vec<Identity> {
        self.carriers.iter().filter(|(_, of)| *of == carrier).map(|(carried, _)| carried.clone()).collect()
    }

    /// What has to be gone before an object can go.
    pub(super) fn blockers(&self, identity: &Identity) -> impl Iterator<Item = &Identity> {
        self.blockers.get(identity).into_iter().flatten()
    }

    /// Whether an object can be removed now: by itself, and nothing that is left stands before it.
    pub(super) fn is_free(&self, identity: &Identity, is_gone: impl Fn(&Identity) -> bool) -> bool {
        !self.carriers.contains_key(identity) && self.blockers.get(identity).is_none_or(|blockers| blockers.iter().all(is_gone))
    }

    /// Objects in the order in which they go: each after what has to be gone before it, what is carried after its carrier.
    /// What could never go (records that need each other) comes last.
    pub(super) fn sequence(&self, mut left: Vec<Identity>) -> Vec<Identity> {
        let mut sequence: Vec<Identity> = Vec::with_capacity(left.len());
        while let Some(next) = left.iter().position(|identity| self.is_free(identity, |other| !left.contains(other))) {
            let next = left.remove(next);
            let (carried, rest) = left.into_iter().partition(|identity| self.carriers.get(identity) == Some(&next));
            left = rest;
            sequence.push(next);
            sequence.extend::<Vec<Identity>>(carried);
        }
        sequence.extend(left);
        sequence
    }
}

/// The records of what is removed, by identity.
type Records<'a> = BTreeMap<&'a Identity, &'a Record>;

/// Carriers by what they carry.
fn carriers(doomed: &[(&Record, Option<GoesWith>)], records: &Records<'_>) -> BTreeMap<Identity, Identity> {
    let carried = |(record, goes_with): &(&Record, Option<GoesWith>)| {
        Some((record.identity.clone(), carrier(record, (*goes_with)?, records)?.clone()))
    };
    let mut carriers: BTreeMap<Identity, Identity> = doomed.iter().filter_map(carried).collect();
    // What stands between the two, needed by the carried and itself in need of the carrier, could never go: the role of an
    // add-on that trusts the issuer of the add-on's cluster. Then the carried goes by itself.
    while let Some(apart) = carriers.iter().find(|pair| are_apart(*pair, &carriers, records)).map(|(carried, _)| carried.clone())
    {
        carriers.remove(&apart);
    }
    carriers
}

/// The object that takes this one away with it.
fn carrier<'a>(record: &Record, goes_with: GoesWith, records: &Records<'a>) -> Option<&'a Identity> {
    let name = at(&record.applied, goes_with.path).as_str()?;
    let identity = &record.identity;
    let is_carrier = |other: &&&Record| {
        other.identity.kind == goes_with.kind
            && other.identity.account == identity.account
            && other.identity.region == identity.region
            && at(&other.applied, "spec.name").as_str() == Some(name)
    };
    records.values().find(is_carrier).map(|carrier| &carrier.identity)
}

/// Whether something stands between a carried object and its carrier.
fn are_apart((child, carrier): (&Identity, &Identity), carriers: &BTreeMap<Identity, Identity>, records: &Records<'_>) -> bool {
    let needed = records.get(child).map(|record| record.dependencies.as_slice()).unwrap_or_default();
    let mut between = needed.iter().filter(|needed| *needed != carrier && carriers.get(needed) != Some(carrier));
    between.any(|needed| needs(needed, carrier, records))
}

/// Whether an object needs another one, directly or not.
fn needs(from: &Identity, to: &Identity, records: &Records<'_>) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(current) = open.pop() {
        let needed = records.get(current).map(|record| record.dependencies.as_slice()).unwrap_or_default();
        if needed.contains(to) {
            return true;
        }
        open.extend(needed.iter().filter(|needed| seen.insert(*needed)));
    }
    false
}

#[cfg(test)]
mod tests;
