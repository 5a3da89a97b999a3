//! A state that was copied: what two states record is touched by neither, and what is marked as another instance's stays.

use super::{Simulation, cluster, key_of};
use crate::engine::report::{End, EngineError};
use crate::state::error::StateError;
use crate::state::file::StateFile;
use crate::state::memory::MemoryStore;
use crate::state::session::export;

fn store_of(states: &[&StateFile]) -> MemoryStore {
    MemoryStore::with(states.iter().map(|state| (state.instance.store_key(), export(state).unwrap())).collect())
}

fn is_recorded_twice<T>(ended: &Result<T, EngineError>) -> bool {
    matches!(ended, Err(EngineError::State(StateError::RecordedTwice { .. })))
}

#[test]
fn what_two_states_record_is_touched_by_neither() {
    let mut simulation = Simulation::new(7, cluster("one", ""));
    simulation.apply().unwrap().unwrap();
    let one = simulation.states().remove(0);
    let two = StateFile { instance: key_of("EksCluster", "two"), ..one.clone() };
    simulation.store = store_of(&[&one, &two]);
    assert!(is_recorded_twice(&simulation.plan()));
    assert!(is_recorded_twice(&simulation.apply().unwrap()));
    for key in [&one.instance, &two.instance] {
        assert!(is_recorded_twice(&simulation.destroy_all(std::slice::from_ref(key)).unwrap()));
    }
}

#[test]
fn what_is_marked_as_another_instances_is_not_destroyed_unless_it_was_moved() {
    let mut simulation = Simulation::new(8, cluster("one", ""));
    simulation.apply().unwrap().unwrap();
    let one = simulation.states().remove(0);
    let two = StateFile { instance: key_of("EksCluster", "two"), ..one.clone() };
    // The state of `one` is in another store.
    simulation.store = store_of(&[&two]);
    let report = simulation.destroy_all(std::slice::from_ref(&two.instance)).unwrap().unwrap().remove(0);
    assert_eq!((report.end, report.done.len()), (End::Failed, 0), "{report:#?}");
    let reasons = report.failed.iter().map(|failure| failure.reason.as_str());
    let names = "carries the tags of argocd/EksCluster/one, not of argocd/EksCluster/two: it is not deleted";
    assert!(reasons.clone().count() > 0 && reasons.clone().all(|reason| reason.contains(names)), "{report:#?}");
    assert_eq!(simulation.states()[0].resources.len(), one.resources.len());
    // `state mv` leaves a state behind.
    let left = StateFile { resources: Vec::new(), ..one };
    simulation.store = store_of(&[&left, &two]);
    let report = simulation.destroy_all(std::slice::from_ref(&two.instance)).unwrap().unwrap().remove(0);
    assert_eq!((report.end, report.done.len()), (End::Done, two.resources.len()), "{report:#?}");
}
