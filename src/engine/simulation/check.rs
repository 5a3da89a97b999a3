//! The invariants: what is recorded is there, what is there is recorded, and nothing is there twice.

use super::Simulation;
use crate::aws::simulated::objects::Object;
use crate::aws::tags::{ADDRESS, ADDRESS_ANNOTATION, INSTANCE, LINEAGE, LINEAGE_ANNOTATION};
use crate::engine::plan::Action;
use crate::state::file::{Begin, Phase, Record, StateFile};
use std::collections::BTreeMap;

/// What is not as it should be.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Faulty {
    /// There, and in no record.
    pub(super) orphans: Vec<String>,
    /// Recorded, and not there.
    pub(super) phantoms: Vec<String>,
    /// There twice.
    pub(super) duplicates: Vec<String>,
}

impl Faulty {
    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// One thing that is there: its id as records have it, its address and lineage.
#[derive(Debug, Clone)]
struct Thing {
    id: String,
    kind: String,
    address: String,
    lineage: String,
    implicit: bool,
}

/// What is there, in Argo CD too.
fn things(simulation: &Simulation) -> Vec<Thing> {
    let tag = |object: &Object, key: &str| object.tags().get(key).cloned().unwrap_or_default();
    let mut things: Vec<Thing> = simulation.aws.look(|holdings, now| {
        let one = |object: &Object, implicit| Thing {
            id: object.id.clone(),
            kind: object.kind.to_owned(),
            address: tag(object, ADDRESS),
            lineage: tag(object, LINEAGE),
            implicit,
        };
        let made = holdings.present(now).map(|object| one(object, false));
        let beside =
            holdings.objects.iter().filter(|object| object.implicit && object.is_there(now)).map(|object| one(object, true));
        made.chain(beside).collect()
    });
    for cluster in &simulation.argocd.lock().unwrap().clusters {
        let text = |pointer: &str| cluster.pointer(pointer).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let annotation = |key: &str| text(&format!("/annotations/{}", key.replace('/', "~1")));
        things.push(Thing {
            id: text("/server"),
            kind: "registration".to_owned(),
            address: annotation(ADDRESS_ANNOTATION),
            lineage: annotation(LINEAGE_ANNOTATION),
            implicit: false,
        });
    }
    things
}

/// Compares cloud and states, object by object. `open` begin entries explain what is in no record.
pub(super) fn compare(simulation: &Simulation) -> Faulty {
    let (things, states) = (things(simulation), simulation.states());
    let mut faulty = Faulty::default();
    for thing in things.iter().filter(|thing| !thing.implicit) {
        let is_recorded = states.iter().any(|state| state.resources.iter().any(|record| record.id == thing.id));
        if !is_recorded && !states.iter().flat_map(|state| explained(state, thing)).any(|is| is) {
            faulty.orphans.push(format!("{} {} ({})", thing.kind, thing.id, thing.address));
        }
    }
    for state in &states {
        for record in &state.resources {
            let is_there = things.iter().any(|thing| thing.id == record.id);
            let is_going = is_going(state, record);
            if !is_there && !is_going {
                faulty.phantoms.push(format!("{} ({})", record.id, record.address));
            }
        }
    }
    let mut by_address: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for thing in things.iter().filter(|thing| !thing.address.is_empty()) {
        *by_address.entry((&thing.kind, &thing.lineage, &thing.address)).or_default() += 1;
    }
    let twice = by_address.iter().filter(|(_, count)| **count > 1);
    faulty.duplicates = twice.map(|((kind, _, address), count)| format!("{count} of {kind} {address}")).collect();
    faulty
}

/// Whether the state knows that a recorded object may be gone: its removal was begun, or that of the cluster it is in.
fn is_going(state: &StateFile, record: &Record) -> bool {
    let goes = |other: &Record| {
        let is_it = other.identity == record.identity || record.id.starts_with(&format!("{}|", other.id));
        let is_open = state.open.iter().any(|begin| begin.identity == other.identity);
        is_it && (other.phase == Phase::Deleting || is_open)
    };
    state.resources.iter().any(goes)
}

/// Whether open begin entries explain a thing.
fn explained<'a>(state: &'a StateFile, thing: &'a Thing) -> impl Iterator<Item = bool> + 'a {
    state.open.iter().map(move |begin: &Begin| begin.address.as_str() == thing.address && state.lineage == thing.lineage)
}

/// After an apply that is done: nothing is open, everything is compared, and there is nothing left to do.
pub(super) fn settled(simulation: &mut Simulation) -> Result<Faulty, String> {
    let faulty = compare(simulation);
    if let Some(open) = simulation.states().iter().find(|state| !state.open.is_empty()) {
        return Err(format!("open entries are left: {:?}", open.open));
    }
    for plan in simulation.plan().map_err(|error| error.to_string())? {
        if let Some(change) = plan.changes.iter().find(|change| change.action != Action::None) {
            return Err(format!("the next plan is not empty: {change:?}"));
        }
    }
    Ok(faulty)
}

/// After a destroy that is done: nothing is recorded of an instance, and nothing of it is there.
pub(super) fn vanished(simulation: &Simulation) -> Result<Faulty, String> {
    let states = simulation.states();
    if let Some(record) = states.iter().find_map(|state| state.resources.first()) {
        return Err(format!("still recorded: {} ({})", record.id, record.address));
    }
    let left = simulation.aws.look(|holdings, now| {
        let marked = |object: &&Object| object.is_there(now) && object.tags().contains_key(INSTANCE);
        holdings.present(now).filter(marked).map(|object| object.id.clone()).collect::<Vec<_>>()
    });
    if !left.is_empty() {
        return Err(format!("still there: {left:?}"));
    }
    Ok(compare(simulation))
}

/// Whether nothing is there that bears marks, seen or not.
pub(super) fn nothing_is_there(simulation: &Simulation) -> bool {
    things(simulation).iter().all(|thing| thing.lineage.is_empty())
}

#[test]
fn what_is_not_as_it_should_be_is_seen() {
    let mut simulation = Simulation::new(3, super::cluster("one", ""));
    simulation.apply().unwrap().unwrap();
    assert_eq!(settled(&mut simulation), Ok(Faulty::default()));
    simulation.aws.meddle(|holdings, now| {
        let mut copy = holdings.objects.iter().find(|object| object.kind == "vpc").unwrap().clone();
        copy.id = "vpc-copy".to_owned();
        holdings.objects.push(copy);
        let address = holdings.objects.iter_mut().find(|object| object.kind == "subnet").unwrap();
        address.gone = Some(now);
    });
    let faulty = compare(&simulation);
    assert_eq!(faulty.orphans, ["vpc vpc-copy (EksCluster/one/vpc/vpc)"]);
    assert_eq!(faulty.duplicates, ["2 of vpc EksCluster/one/vpc/vpc"]);
    assert_eq!(faulty.phantoms.len(), 1, "{faulty:?}");
    assert!(settled(&mut simulation).is_err() && vanished(&simulation).is_err());
}
