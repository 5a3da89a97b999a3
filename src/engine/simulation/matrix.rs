//! The crash matrix: a process dies at every call that changes something, before it is sent and after it took effect, and the
//! next one makes good of it.

use super::check::{Faulty, settled, vanished};
use super::{Simulation, cluster};
use crate::aws::simulated::account::Fate;
use crate::aws::simulated::faults::{Faults, Kill, When};
use crate::engine::report::{End, EngineError, RunReport};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const NAME: &str = "workload-cluster1";
/// Threads that share the rows.
const THREADS: usize = 4;

/// How late things are seen.
fn late() -> Faults {
    Faults { lag: Duration::from_secs(8), propagation: Duration::from_secs(12), ..Faults::default() }
}

/// What is killed and done again.
type Step = fn(&mut Simulation) -> Option<Result<Vec<RunReport>, EngineError>>;
/// What has to hold in the end.
type Check = fn(&mut Simulation) -> Result<Faulty, String>;

/// One row of the table.
#[derive(Debug)]
struct Row {
    kill: Kill,
    operation: String,
    address: String,
    calls: usize,
    seconds: f64,
    outcome: Result<Faulty, String>,
}

/// One death and what came of it; `None` if there is no such call.
fn row(from: &Simulation, step: Step, check: Check, kill: Kill) -> Option<Row> {
    let mut simulation = from.fork();
    simulation.aws.misbehave(Faults { kill: Some(kill), ..late() });
    if step(&mut simulation).is_some() {
        return None;
    }
    let log = simulation.aws.log();
    let died = log.iter().rfind(|call| matches!(call.fate, Fate::Killed(_))).unwrap();
    let operation = died.operation.clone();
    let states = simulation.states();
    let open = states.iter().flat_map(|state| &state.open).filter(|begin| begin.operation == operation);
    let address = open.last().map_or_else(|| "?".to_owned(), |begin| begin.address.to_string());
    simulation.aws.misbehave(late());
    let began = simulation.aws.seconds();
    let ended = step(&mut simulation).unwrap();
    let (calls, seconds) = (simulation.aws.changes(), simulation.aws.seconds() - began);
    let outcome = match ended {
        Ok(reports) if reports.iter().all(|report| report.end == End::Done) => check(&mut simulation),
        Ok(reports) => Err(reports.iter().map(said).collect()),
        Err(error) => Err(error.to_string()),
    };
    Some(Row { kill, operation, address, calls, seconds, outcome })
}

fn said(report: &RunReport) -> String {
    format!("{:?}: {:?} {:?}", report.end, report.failed, report.not_reached)
}

/// Every row, shared out to threads.
fn rows(from: &Simulation, step: Step, check: Check, calls: usize) -> Vec<Row> {
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::SeqCst);
                    if index >= calls * 2 {
                        break;
                    }
                    let when = if index.is_multiple_of(2) { When::Before } else { When::After };
                    let found = row(from, step, check, Kill { at: index / 2 + 1, when });
                    rows.lock().unwrap().extend(found.map(|row| (index, row)));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn table(title: &str, rows: &[Row]) -> (String, usize) {
    let mut text = format!(
        "{title}\n{:>4}  {:<30} {:<58} {:<7} {:>6} {:>8}  orphans/phantoms/duplicates\n",
        "k", "operation", "address", "killed", "calls", "seconds"
    );
    let mut faulty = 0;
    for Row { kill, operation, address, calls, seconds, outcome } in rows {
        let when = if kill.when == When::Before { "before" } else { "after" };
        let ends = match outcome {
            Ok(found) => format!("{}/{}/{}", found.orphans.len(), found.phantoms.len(), found.duplicates.len()),
            Err(_) => "FAILED".to_owned(),
        };
        writeln!(text, "{:>4}  {operation:<30} {address:<58} {when:<7} {calls:>6} {seconds:>8.1}  {ends}", kill.at).unwrap();
        match outcome {
            Ok(found) if found.is_none() => continue,
            wrong => writeln!(text, "      {wrong:?}").unwrap(),
        }
        faulty += 1;
    }
    writeln!(text, "{} rows, {faulty} of them faulty", rows.len()).unwrap();
    (text, faulty)
}

/// Runs a matrix, prints its table, and fails if a row is faulty or missing.
#[expect(clippy::print_stdout, reason = "the table is what people want to see of this test")]
fn matrix(title: &str, from: &Simulation, step: Step, check: Check) {
    let mut whole = from.fork();
    whole.aws.misbehave(late());
    let reports = step(&mut whole).unwrap().unwrap();
    assert!(reports.iter().all(|report| report.end == End::Done), "{:?}", reports.iter().map(said).collect::<Vec<_>>());
    let calls = whole.aws.changes();
    let rows = rows(from, step, check, calls);
    let (text, faulty) = table(title, &rows);
    println!("{text}");
    assert_eq!(faulty, 0, "{text}");
    // Refusals that are repeated make the number of calls differ a little from run to run.
    assert!(rows.len() + 8 > calls * 2, "{} rows for {calls} calls", rows.len());
}

fn new() -> Simulation {
    Simulation::new(1, cluster(NAME, ""))
}

/// A cluster that is up.
fn applied() -> Simulation {
    let mut simulation = new();
    simulation.aws.misbehave(late());
    let reports = simulation.apply().unwrap().unwrap();
    assert_eq!(reports[0].end, End::Done, "{}", said(&reports[0]));
    simulation
}

#[test]
fn an_apply_is_made_good() {
    matrix("apply", &new(), Simulation::apply, settled);
}

#[test]
fn a_destroy_is_made_good() {
    matrix("destroy", &applied(), |simulation| simulation.destroy(&[NAME]), |simulation| vanished(simulation));
}
