//! A destroy dies at each of its calls, and an apply follows: AWS still shows some of what is gone.

use super::check::{Faulty, settled};
use super::scenarios::text;
use super::{Photograph, Simulation, key_of};
use crate::aws::simulated::faults::Faults;
use crate::engine::report::End;
use std::sync::Mutex;
use std::time::Duration;

const STACK: usize = 16 << 20;

fn late() -> Faults {
    let seconds = Duration::from_secs;
    Faults { lag: seconds(6), propagation: seconds(8), lingers: seconds(20), ..Faults::default() }
}

/// What is wrong after an apply that follows.
fn apply(mut simulation: Simulation) -> Result<(), String> {
    let ended = simulation.apply().unwrap();
    let reports = ended.map_err(|error| error.to_string())?;
    if let Some(report) = reports.iter().find(|report| report.end != End::Done) {
        return Err(format!("{:?}: {:?}", report.end, report.failed));
    }
    match settled(&mut simulation)? {
        found if found == Faulty::default() => Ok(()),
        found => Err(format!("{found:?}")),
    }
}

#[test]
fn a_destroy_that_broke_off_is_taken_back_by_an_apply() {
    let mut simulation = Simulation::new(1, text("staging", "*", true));
    simulation.aws.misbehave(late());
    let reports = simulation.apply().unwrap().unwrap();
    assert_eq!(reports[0].end, End::Done, "{reports:?}");
    let (_, photographs) = simulation.photographed(|simulation| simulation.destroy_all(&[key_of("Spoke", "spoke1")]));
    assert!(photographs.len() >= 15, "{}", photographs.len());
    let worlds = photographs.into_iter().enumerate().flat_map(|(index, Photograph { operation, before, after, .. })| {
        let before = (index % 3 == 0).then(|| (format!("before {operation}"), before));
        before.into_iter().chain([(format!("after {operation}"), after)])
    });
    let (worlds, wrong) = (Mutex::new(worlds.collect::<Vec<_>>()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let thread = std::thread::Builder::new().stack_size(STACK);
            let each = || {
                loop {
                    let Some((when, world)) = worlds.lock().unwrap().pop() else { break };
                    let ended = apply(world);
                    wrong.lock().unwrap().extend(ended.err().map(|why| format!("{when}: {why}")));
                }
            };
            thread.spawn_scoped(scope, each).unwrap();
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Asked for by its tags, EC2 shows something that it no longer knows by its id.
#[test]
fn what_is_gone_is_left_behind_by_nobody_and_adopted_by_nobody() {
    for seed in 1..=3 {
        let mut simulation = Simulation::new(seed, text("staging", "*", true));
        simulation.aws.misbehave(Faults { lingers: Duration::from_secs(50), ..late() });
        let reports = simulation.apply().unwrap().unwrap();
        assert_eq!(reports[0].end, End::Done, "seed {seed}: {reports:?}");
        let reports = simulation.destroy_all(&[key_of("Spoke", "spoke1")]).unwrap().unwrap();
        assert_eq!(reports[0].end, End::Done, "seed {seed}: {:?}", reports[0].failed);
        assert_eq!(apply(simulation), Ok(()), "seed {seed}");
    }
}
