//! Many resources at once, on an AWS that throttles and loses replies.

use super::check::settled;
use super::{Simulation, cluster};
use crate::aws::simulated::account::Fate;
use crate::aws::simulated::faults::Faults;
use crate::engine::report::End;
use std::time::Duration;

const CLUSTERS: usize = 23;
/// Runs after which everything is done: what got no clear answer too often is taken up by the next.
const RUNS: usize = 5;

#[test]
#[expect(clippy::print_stdout, reason = "the figures are what people want to see of this test")]
fn five_hundred_resources_converge_and_nothing_is_there_twice() {
    let documents: Vec<String> = (1..=CLUSTERS).map(|number| cluster(&format!("cluster{number}"), "")).collect();
    let mut simulation = Simulation::new(7, documents.join("---\n"));
    simulation.parallelism = 50;
    let (lag, propagation) = (Duration::from_secs(4), Duration::from_secs(8));
    simulation.aws.misbehave(Faults { throttled: 0.1, lost: 0.02, lag, propagation, ..Faults::default() });
    let mut runs = 0;
    loop {
        runs += 1;
        let ended = simulation.apply().unwrap();
        if let Ok(reports) = &ended
            && reports.iter().all(|report| report.end == End::Done)
        {
            break;
        }
        assert!(runs < RUNS, "{ended:?}");
    }
    let seconds = simulation.aws.seconds();
    let log = simulation.aws.log();
    let count = |fate| log.iter().filter(|call| call.fate == fate).count();
    let changes = log.iter().filter(|call| call.changes).count();
    let objects: usize = simulation.states().iter().map(|state| state.resources.len()).sum();
    println!(
        "{objects} resources in {runs} runs and {seconds:.0} simulated seconds: {} calls ({changes} of them to change something, \
         {} under way at one time), {} throttled, {} replies lost",
        log.len(),
        simulation.aws.peak(),
        count(Fate::Throttled),
        count(Fate::Lost),
    );
    assert!(objects >= 500, "{objects}");
    simulation.aws.misbehave(Faults::default());
    assert_eq!(settled(&mut simulation), Ok(super::check::Faulty::default()));
}
