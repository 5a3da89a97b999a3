//! Two instances of one definition, applied by two processes at one time, in one account.

use super::check::{Faulty, compare, settled, vanished};
use super::scenarios::spoke;
use super::{Simulation, apply, documents, key_of};
use crate::aws::simulated::faults::Faults;
use crate::engine::report::{End, EngineError, RunReport};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Runs two applies at one time, each in an engine of its own.
fn both(simulation: &mut Simulation, texts: [&str; 2]) -> [Result<Vec<RunReport>, EngineError>; 2] {
    let (first, second) = (documents(texts[0]), documents(texts[1]));
    let other = simulation.engine();
    let ended = simulation
        .run(|engine| Box::pin(async move { tokio::join!(Box::pin(apply(&engine, &first)), Box::pin(apply(&other, &second))) }));
    ended.unwrap().into()
}

fn is_done(ended: &Result<Vec<RunReport>, EngineError>) -> bool {
    ended.as_ref().is_ok_and(|reports| reports.iter().all(|report| report.end == End::Done))
}

fn world(seed: u64, faults: Faults) -> Simulation {
    let simulation = Simulation::new(seed, String::new());
    let seconds = Duration::from_secs;
    simulation.aws.misbehave(Faults { lag: seconds(6), propagation: seconds(8), lingers: seconds(6), ..faults });
    simulation
}

#[test]
fn neighbours_do_not_interfere() {
    let texts = [spoke("spoke1", "spoke1", ""), spoke("spoke2", "spoke2", "")];
    let mut simulation = world(2, Faults { throttled: 0.05, lost: 0.02, ..Faults::default() });
    let ended = both(&mut simulation, [&texts[0], &texts[1]]);
    assert!(ended.iter().all(is_done), "{ended:?}");
    simulation.text = texts.join("---\n");
    assert_eq!(settled(&mut simulation), Ok(Faulty::default()));
    // One goes, the other stays as it is.
    let gone = simulation.destroy_all(&[key_of("Spoke", "spoke1")]).unwrap();
    assert!(is_done(&gone), "{gone:?}");
    simulation.text.clone_from(&texts[1]);
    assert_eq!(settled(&mut simulation), Ok(Faulty::default()));
    let gone = simulation.destroy_all(&[key_of("Spoke", "spoke2")]).unwrap();
    assert!(is_done(&gone), "{gone:?}");
    assert_eq!(vanished(&simulation), Ok(Faulty::default()));
}

/// Both want the same cluster and the same roles: who comes first keeps what it made, and the other is refused.
#[test]
fn what_two_would_own_belongs_to_one() {
    for seed in 1..=4 {
        let texts = [spoke("spoke1", "shared", ""), spoke("spoke2", "shared", "")];
        let mut simulation = world(seed, Faults::default());
        let ended = both(&mut simulation, [&texts[0], &texts[1]]);
        assert!(!ended.iter().all(is_done), "{ended:?}");
        assert_eq!(compare(&simulation), Faulty::default(), "seed {seed}: {ended:?}");
        let mut owners: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for state in simulation.states() {
            for record in &state.resources {
                owners.entry(record.id.clone()).or_default().insert(state.lineage.clone());
            }
        }
        assert!(owners.values().all(|owners| owners.len() == 1), "seed {seed}: {owners:?}");
        let refused = ended.iter().map(|ended| match ended {
            Ok(reports) => format!("{:?}", reports.iter().map(|report| &report.failed).collect::<Vec<_>>()),
            Err(error) => error.to_string(),
        });
        let said: String = refused.collect();
        assert!(said.contains("already exists") || said.contains("belongs to"), "seed {seed}: {said}");
        let gone = simulation.destroy_all(&[key_of("Spoke", "spoke1"), key_of("Spoke", "spoke2")]).unwrap();
        assert!(is_done(&gone), "seed {seed}: {gone:?}");
        assert_eq!(vanished(&simulation), Ok(Faulty::default()), "seed {seed}");
    }
}
