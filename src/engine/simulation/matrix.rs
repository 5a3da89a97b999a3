//! The crash matrix: a process dies at every call that changes something, before it is sent and after it took effect, and the
//! next one makes good of it.

use super::check::{Faulty, settled, vanished};
use super::{Photograph, Simulation, cluster, key_of};
use crate::aws::simulated::faults::{Faults, When};
use crate::engine::report::{End, EngineError, RunReport};
use crate::state::file::Begin;
use serde_json::json;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

const NAME: &str = "workload-cluster1";
/// Threads that share the rows.
const THREADS: usize = 2;

/// How late things are seen.
pub(super) fn late() -> Faults {
    let seconds = Duration::from_secs;
    Faults { lag: seconds(8), propagation: seconds(12), lingers: seconds(8), ..Faults::default() }
}

/// What is killed and done again.
pub(super) type Step = fn(&mut Simulation) -> Option<Result<Vec<RunReport>, EngineError>>;
/// What has to hold in the end.
pub(super) type Check = fn(&mut Simulation) -> Result<Faulty, String>;

/// One row of the table.
#[derive(Debug)]
struct Row {
    at: usize,
    when: When,
    operation: String,
    address: String,
    calls: usize,
    seconds: f64,
    outcome: Result<Faulty, String>,
}

/// What comes of one death.
fn row(
    mut simulation: Simulation,
    (at, when): (usize, When),
    (operation, text): (String, String),
    step: Step,
    check: Check,
) -> Row {
    let states = simulation.states();
    let is_it = |begin: &&Begin| {
        let id = begin.id.as_deref().map(|id| id.rsplit('|').next().unwrap_or_default());
        begin.operation == operation && (text.contains(begin.address.as_str()) || id.is_some_and(|id| text.contains(id)))
    };
    let address = states
        .iter()
        .flat_map(|state| &state.open)
        .rfind(is_it)
        .map_or_else(|| "?".to_owned(), |begin| begin.address.to_string());
    let began = simulation.aws.seconds();
    let ended = step(&mut simulation).unwrap();
    let (calls, seconds) = (simulation.aws.changes(), simulation.aws.seconds() - began);
    let outcome = match ended {
        Ok(reports) if reports.iter().all(|report| report.end == End::Done) => check(&mut simulation),
        Ok(reports) => Err(reports.iter().map(said).collect()),
        Err(error) => Err(error.to_string()),
    };
    Row { at, when, operation, address, calls, seconds, outcome }
}

pub(super) fn said(report: &RunReport) -> String {
    format!("{:?}: {:?} {:?}", report.end, report.failed, report.not_reached)
}

/// Every row, shared out to threads.
fn rows(photographs: Vec<Photograph>, step: Step, check: Check) -> Vec<Row> {
    let both = photographs.into_iter().enumerate().flat_map(|(index, Photograph { operation, text, before, after })| {
        let call = (operation, text);
        [(index + 1, When::Before, call.clone(), before), (index + 1, When::After, call, after)]
    });
    let (worlds, rows) = (Mutex::new(both.collect::<Vec<_>>()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let Some((at, when, call, world)) = worlds.lock().unwrap().pop() else { break };
                    let row = row(world, (at, when), call, step, check);
                    rows.lock().unwrap().push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|row| (row.at, row.when == When::After));
    rows
}

fn table(title: &str, rows: &[Row]) -> (String, usize) {
    let mut text = format!(
        "{title}\n{:>4}  {:<30} {:<58} {:<7} {:>6} {:>8}  orphans/phantoms/duplicates\n",
        "k", "operation", "address", "killed", "calls", "seconds"
    );
    let mut faulty = 0;
    for Row { at, when, operation, address, calls, seconds, outcome } in rows {
        let when = if *when == When::Before { "before" } else { "after" };
        let ends = match outcome {
            Ok(found) => format!("{}/{}/{}", found.orphans.len(), found.phantoms.len(), found.duplicates.len()),
            Err(_) => "FAILED".to_owned(),
        };
        writeln!(text, "{at:>4}  {operation:<30} {address:<58} {when:<7} {calls:>6} {seconds:>8.1}  {ends}").unwrap();
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
fn matrix(title: &str, from: &Simulation, step: Step, check: Check) {
    let mut whole = from.fork();
    whole.aws.misbehave(late());
    let (done, photographs) = whole.photographed(step);
    let reports = done.unwrap().unwrap();
    assert!(reports.iter().all(|report| report.end == End::Done), "{:?}", reports.iter().map(said).collect::<Vec<_>>());
    let found = check(&mut whole);
    assert_eq!(found, Ok(Faulty::default()), "without a death");
    assert!(!photographs.is_empty());
    made_good(title, photographs, step, check);
}

/// Goes on from each of these worlds, prints a table, and fails if a row is faulty.
#[expect(clippy::print_stdout, reason = "the table is what people want to see of these tests")]
pub(super) fn made_good(title: &str, photographs: Vec<Photograph>, step: Step, check: Check) {
    let rows = rows(photographs, step, check);
    let (text, faulty) = table(title, &rows);
    println!("{text}");
    assert_eq!(faulty, 0, "{text}");
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
    matrix(
        "destroy",
        &applied(),
        |simulation| simulation.destroy_all(&[key_of("EksCluster", NAME)]),
        |simulation| vanished(simulation),
    );
}

/// Other policies for a role of the graph, tags, an association's role, and a registration's labels.
const CHANGED: &str = "  tenant: tenant2\n  environment: production\n  domainName: other.example.com\n  secretsPattern: shared/*\n  \
                       workloads: \"true\"\n";

#[test]
fn an_update_is_made_good() {
    let mut simulation = applied();
    simulation.text = cluster(NAME, CHANGED);
    simulation.default_tags.insert("team".to_owned(), "fleet".to_owned());
    // Somebody took policies away and meddled with a role, an entry and the way out of a network.
    simulation.aws.meddle(|holdings, now| {
        for object in holdings.objects.iter_mut().filter(|object| object.is_there(now)) {
            match (object.kind, object.id.as_str()) {
                ("role", "workload-cluster1-cluster-role") => drop(object.body["attached"].as_array_mut().unwrap().pop()),
                ("entry", id) if id.ends_with("/Admin") => {
                    let policy = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy";
                    object.body["policies"] = json!([{"policyArn": policy, "accessScope": {"type": "cluster"}}]);
                }
                ("association", _) => {
                    object.body["roleArn"] = json!("arn:aws:iam::222222222222:role/workload-cluster1-cluster-role");
                }
                ("subnet", _) => object.body["mapPublicIpOnLaunch"] = json!(object.body["mapPublicIpOnLaunch"] == false),
                ("vpc", _) => object.body["attributes"]["EnableDnsHostnames"] = json!(false),
                _ => {}
            }
        }
    });
    matrix("update", &simulation, Simulation::apply, settled);
}

/// What an earlier process made is gone, and was made in the future by the clock of this one.
#[test]
fn a_clock_that_was_set_back_is_not_waited_for() {
    let mut simulation = applied();
    simulation.aws.sleep(Duration::from_mins(30));
    simulation.aws.meddle(|holdings, now| {
        let role = holdings.objects.iter_mut().find(|object| object.id == "workload-cluster1-cluster-role").unwrap();
        (role.deleted, role.gone) = (Some(now), Some(now));
    });
    simulation.skew = chrono::TimeDelta::hours(-12);
    let began = simulation.aws.seconds();
    let plans = simulation.plan().unwrap();
    assert!(plans[0].changes.iter().any(|change| change.kind == "Role" && change.id.is_none()), "{:?}", plans[0].summary);
    let took = simulation.aws.seconds() - began;
    assert!(took < simulation.window.as_secs_f64() + 10.0, "{took}");
}

/// What was made a moment ago is not there for long to see, and the next process's clock is ahead by more than that.
#[test]
fn a_clock_that_was_set_forward_makes_no_second_copy() {
    let slow = Faults { lag: Duration::from_secs(40), ..late() };
    let mut simulation = new();
    simulation.aws.misbehave(slow.clone());
    let (_, photographs) = simulation.photographed(Simulation::apply);
    let died = photographs.into_iter().find(|photograph| photograph.operation == "CreateSubnet").unwrap();
    let mut simulation = died.after;
    simulation.skew = chrono::TimeDelta::seconds(90);
    let reports = simulation.apply().unwrap().unwrap();
    assert_eq!(reports[0].end, End::Done, "{}", said(&reports[0]));
    assert_eq!(settled(&mut simulation), Ok(Faulty::default()));
}
