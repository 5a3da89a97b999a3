//! A state that was copied: what two states record is touched by neither, and what is marked as another instance's stays.

use super::{Simulation, cluster, key_of};
use crate::engine::plan::Action;
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

/// A cluster of one state stands in the network of another.
#[test]
fn what_another_state_uses_is_not_destroyed_before_that() {
    let mut simulation = Simulation::new(9, cluster("one", ""));
    simulation.apply().unwrap().unwrap();
    let one = simulation.states().remove(0);
    let id = |name: &str| one.resources.iter().find(|record| record.address.as_str().ends_with(name)).unwrap().id.clone();
    let network = format!(
        "  vpc:\n    create: false\n    vpcId: {}\n    publicSubnet1Id: {}\n    publicSubnet2Id: {}\n    privateSubnet1Id: {}\n    \
         privateSubnet2Id: {}\n",
        id("/vpc/vpc"),
        id("/publicSubnet1"),
        id("/publicSubnet2"),
        id("/privateSubnet1"),
        id("/privateSubnet2"),
    );
    simulation.text = cluster("guest", &network);
    simulation.apply().unwrap().unwrap();
    let refused = simulation.destroy_all(std::slice::from_ref(&one.instance)).unwrap().unwrap_err();
    let EngineError::Refused(plan) = refused else { panic!("{refused}") };
    let reasons: Vec<&str> = plan
        .changes
        .iter()
        .filter(|change| change.action == Action::Refused)
        .filter_map(|change| change.reason.as_deref())
        .collect();
    assert!(reasons.iter().any(|reason| reason.contains("is used by EksCluster/guest/")), "{reasons:?}");
    assert_eq!(simulation.aws.changes(), 0, "nothing was deleted");
    for name in ["guest", "one"] {
        let report = simulation.destroy_all(&[key_of("EksCluster", name)]).unwrap().unwrap().remove(0);
        assert_eq!(report.end, End::Done, "{report:#?}");
    }
}

/// From its first delete until an apply begins, nobody takes what a destroy has left for a whole instance.
#[test]
fn a_destroy_that_broke_off_is_told_until_an_apply_begins() {
    let mut simulation = Simulation::new(10, cluster("one", ""));
    simulation.apply().unwrap().unwrap();
    let one = key_of("EksCluster", "one");
    let (_, photographs) = simulation.photographed(|simulation| simulation.destroy_all(std::slice::from_ref(&one)));
    let state = |simulation: &Simulation| crate::engine::status::of(&simulation.states()[0], None).state;
    for photograph in photographs.into_iter().step_by(5) {
        let mut died = photograph.before;
        assert_eq!(state(&died), "DELETING", "{}", photograph.operation);
        died.apply().unwrap().unwrap();
        assert_eq!(state(&died), "ACTIVE", "{}", photograph.operation);
        assert!(died.states()[0].resources.iter().all(|record| record.wait.is_none()));
    }
}
