//! Lost replies: each call that changes something has its reply lost, in each way there is, while the process goes on.

use super::check::{Faulty, settled, vanished};
use super::{HUB, Simulation, WORKLOAD, key_of};
use crate::aws::operations_that_change;
use crate::aws::simulated::faults::{Faults, Loss, LostCall, what_of};
use crate::engine::report::{End, EngineError, RunReport};
use crate::state::file::Record;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

const NAME: &str = "every1";
/// Set to anything: each call in each way. Otherwise one of each operation and kind, in one or two of the ways.
const ALL: &str = "FLEETCTL_LOST";
const STACK: usize = 16 << 20;
/// Runs after which everything is done.
const RUNS: usize = 3;

fn late() -> Faults {
    let seconds = Duration::from_secs;
    Faults { lag: seconds(8), propagation: seconds(12), lingers: seconds(8), ..Faults::default() }
}

fn text(changed: bool) -> String {
    format!(
        "apiVersion: kro.run/v1alpha1\nkind: Every\nmetadata:\n  name: {NAME}\n  namespace: argocd\n  annotations: \
         {{services.k8s.aws/region: us-west-2}}\nspec:\n  name: {NAME}\n  accountId: \"{WORKLOAD}\"\n  managementAccountId: \
         \"{HUB}\"\n  changed: {changed}\n"
    )
}

/// What is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Apply,
    Update,
    Destroy,
}

impl Command {
    fn run(self, simulation: &mut Simulation) -> Result<Vec<RunReport>, EngineError> {
        let ended = match self {
            Self::Apply | Self::Update => simulation.apply(),
            Self::Destroy => simulation.destroy_all(&[key_of("Every", NAME)]),
        };
        ended.unwrap()
    }

    fn check(self, simulation: &mut Simulation) -> Result<Faulty, String> {
        match self {
            Self::Apply | Self::Update => settled(simulation),
            Self::Destroy => vanished(simulation),
        }
    }
}

/// One row of the table.
#[derive(Debug)]
struct Row {
    command: Command,
    call: LostCall,
    address: String,
    runs: usize,
    outcome: Result<Faulty, String>,
}

/// Runs a command, loses the reply to one call, and runs it again until it is done.
fn row(from: &Simulation, command: Command, call: LostCall) -> Row {
    let mut simulation = from.fork();
    let before = simulation.states();
    simulation.aws.misbehave(Faults { lost_call: Some(call.clone()), ..late() });
    let mut ended = command.run(&mut simulation);
    let struck = simulation.aws.struck();
    simulation.aws.misbehave(late());
    let (mut runs, mut complaints) = (1, Vec::new());
    while !is_done(&ended) && runs < RUNS {
        complaints.extend(complaint(&call, &ended));
        ended = command.run(&mut simulation);
        runs += 1;
    }
    let states: Vec<_> = before.into_iter().chain(simulation.states()).collect();
    let records = || states.iter().flat_map(|state| &state.resources);
    let text = struck.clone().unwrap_or_default();
    // The longest name that it says is the one that it is about.
    let said_of = |record: &Record| {
        let parts = [record.address.as_str(), record.id.rsplit('|').next().unwrap_or_default()];
        parts.iter().filter(|part| !part.is_empty() && text.contains(**part)).map(|part| part.len()).max()
    };
    let about = records().filter_map(|record| Some((said_of(record)?, record))).max_by_key(|(length, _)| *length);
    let address = about.map_or_else(|| "?".to_owned(), |(_, record)| record.address.to_string());
    let outcome = match ended {
        _ if struck.is_none() => Err("no such call was made".to_owned()),
        _ if !complaints.is_empty() => Err(complaints.join(", ")),
        // What is clear in the end is made good by the run itself.
        Ok(_) if runs > 1 && call.loss != Loss::BrokenEachTime => Err(format!("it took {runs} runs")),
        Ok(reports) if reports.iter().all(|report| report.end == End::Done) => command.check(&mut simulation),
        Ok(reports) => Err(reports.iter().map(said).collect()),
        Err(error) => Err(error.to_string()),
    };
    Row { command, call, address, runs, outcome }
}

fn is_done(ended: &Result<Vec<RunReport>, EngineError>) -> bool {
    ended.as_ref().is_ok_and(|reports| reports.iter().all(|report| report.end == End::Done))
}

/// A run that did not get done names the call that it got no answer to.
fn complaint(call: &LostCall, ended: &Result<Vec<RunReport>, EngineError>) -> Option<String> {
    let said = match ended {
        Ok(reports) => reports.iter().map(said).collect(),
        Err(error) => error.to_string(),
    };
    let operation = call.what.split([':', ' ']).nth(1).unwrap_or_default();
    (!said.contains(operation)).then(|| format!("the report does not say what happened: {said}"))
}

fn said(report: &RunReport) -> String {
    format!("{:?}: {:?}", report.end, report.failed)
}

/// The calls that a command makes when nothing is lost, by what they are.
fn calls(from: &Simulation, command: Command) -> BTreeMap<String, usize> {
    let mut whole = from.fork();
    whole.aws.misbehave(late());
    let reports = command.run(&mut whole).unwrap();
    assert!(reports.iter().all(|report| report.end == End::Done), "{command:?}: {reports:?}");
    let calls = whole.aws.carried_out();
    assert_eq!(command.check(&mut whole), Ok(Faulty::default()), "{command:?} without a loss");
    calls
}

/// What is lost: of each operation and kind one call, in one way of the six, so that all of them come up, and in two where it makes
/// something; or all.
fn chosen(calls: &BTreeMap<String, usize>) -> Vec<LostCall> {
    let all = std::env::var_os(ALL).is_some();
    let mut chosen = Vec::new();
    for (index, (what, count)) in calls.iter().enumerate() {
        for (way, loss) in Loss::ALL.into_iter().enumerate() {
            let makes = what.contains(":Create") && !what.contains("Tags") || what.contains(":Allocate");
            let is_chosen = index % 6 == way || (makes && (index + 2) % 6 == way);
            let numbers = if all { 1..=*count } else { 1..=usize::from(is_chosen) };
            chosen.extend(numbers.map(|number| LostCall { what: what.clone(), number, loss }));
        }
    }
    chosen
}

/// A world in which everything is there.
fn made() -> Simulation {
    let mut simulation = Simulation::new(1, text(false));
    simulation.aws.misbehave(late());
    simulation.default_tags.insert("team".to_owned(), "fleet".to_owned());
    let ended = Command::Apply.run(&mut simulation);
    assert!(is_done(&ended), "{ended:?}");
    simulation
}

/// The same, with other documents and after somebody has meddled: an apply makes what calls it has not made yet.
fn to_be_changed(made: &Simulation) -> Simulation {
    let mut simulation = made.fork();
    simulation.text = text(true);
    simulation.default_tags = [("owner".to_owned(), "fleet".to_owned())].into();
    simulation.aws.meddle(|holdings, now| {
        let find = |kind: &str, end: &str| {
            let fits = |object: &&crate::aws::simulated::objects::Object| {
                object.kind == kind && object.is_there(now) && object.tags().values().any(|value| value.ends_with(end))
            };
            holdings.objects.iter().find(fits).unwrap().id.clone()
        };
        let ids = (
            find("subnet", "/spare"),
            find("route-table", "/outward"),
            find("route-table", "/inward"),
            find("internet-gateway", "/gateway"),
        );
        let (spare, outward, inward, gateway) = ids;
        for object in &mut holdings.objects {
            if object.id == outward {
                let association = json!({
                    "routeTableAssociationId": "rtbassoc-somebody", "routeTableId": outward, "subnetId": spare, "main": false,
                    "associationState": {"state": "associated"},
                });
                object.body["associationSet"].as_array_mut().unwrap().push(association);
            }
            if object.id == inward {
                let routes = object.body["routeSet"].as_array_mut().unwrap();
                let route = routes.iter_mut().find(|route| route["natGatewayId"].is_string()).unwrap();
                route.as_object_mut().unwrap().remove("natGatewayId");
                route["gatewayId"] = json!(gateway);
            }
            if object.kind == "role" && object.id == format!("{NAME}-other-pods") {
                object.body["boundary"] = json!("arn:aws:iam::aws:policy/ReadOnlyAccess");
                object.body["inline"]["somebody"] = json!(r#"{"Version": "2012-10-17", "Statement": []}"#);
            }
        }
    });
    simulation
}

fn rows(work: Vec<(&Simulation, Command, LostCall)>) -> Vec<Row> {
    let (work, rows) = (Mutex::new(work), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            // Futures of unoptimized builds are large.
            let thread = std::thread::Builder::new().stack_size(STACK);
            let each = || {
                loop {
                    let Some((from, command, call)) = work.lock().unwrap().pop() else { break };
                    let row = row(from, command, call);
                    rows.lock().unwrap().push(row);
                }
            };
            thread.spawn_scoped(scope, each).unwrap();
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by(|a, b| {
        (a.command as u8, &a.call.what, a.call.number, a.call.loss).cmp(&(
            b.command as u8,
            &b.call.what,
            b.call.number,
            b.call.loss,
        ))
    });
    rows
}

fn table(rows: &[Row]) -> (String, usize) {
    let mut text = format!(
        "{:<8} {:<40} {:>3} {:<14} {:<30} runs  orphans/phantoms/duplicates\n",
        "command", "operation", "k", "lost", "address"
    );
    let mut faulty = 0;
    for Row { command, call, address, runs, outcome } in rows {
        let ends = match outcome {
            Ok(found) => format!("{}/{}/{}", found.orphans.len(), found.phantoms.len(), found.duplicates.len()),
            Err(_) => "FAILED".to_owned(),
        };
        let (command, loss) = (format!("{command:?}"), format!("{:?}", call.loss));
        writeln!(text, "{command:<8} {:<40} {:>3} {loss:<14} {address:<30} {runs:>4}  {ends}", call.what, call.number).unwrap();
        match outcome {
            Ok(found) if found.is_none() => continue,
            wrong => writeln!(text, "      {wrong:?}").unwrap(),
        }
        faulty += 1;
    }
    writeln!(text, "{} rows, {faulty} of them faulty", rows.len()).unwrap();
    (text, faulty)
}

/// Every operation that changes something, and every kind where several have it.
fn everything() -> BTreeSet<String> {
    let ec2 = ["vpc-1", "subnet-1", "igw-1", "rtb-1", "nat-1", "eipalloc-1"];
    let eks = [":cluster/x", ":addon/x", ":access-entry/x", ":podidentityassociation/x"];
    let mut all = BTreeSet::new();
    for (service, operation) in operations_that_change() {
        let of: &[&str] = match operation {
            "CreateTags" | "DeleteTags" => &ec2,
            "TagResource" | "UntagResource" => &eks,
            _ => &[""],
        };
        all.extend(of.iter().map(|text| what_of(service, operation, text)));
    }
    let registrations = ["CreateCluster", "UpdateCluster", "DeleteCluster"];
    all.extend(registrations.map(|operation| what_of("argocd", operation, "")));
    all
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is what people want to see of this test")]
fn whichever_reply_is_lost_the_run_makes_good_of_it() {
    let made = made();
    let (new, changed) =
        (Simulation { default_tags: made.default_tags.clone(), ..Simulation::new(1, text(false)) }, to_be_changed(&made));
    let starts = [(&new, Command::Apply), (&changed, Command::Update), (&made, Command::Destroy)];
    let work = starts
        .into_iter()
        .flat_map(|(from, command)| chosen(&calls(from, command)).into_iter().map(move |call| (from, command, call)));
    let work: Vec<_> = work.collect();
    let covered: BTreeSet<String> = work.iter().map(|(_, _, call)| call.what.clone()).collect();
    assert_eq!(everything().symmetric_difference(&covered).collect::<Vec<_>>(), Vec::<&String>::new(), "not tried, or not known");
    let ways: BTreeSet<Loss> = work.iter().map(|(_, _, call)| call.loss).collect();
    assert_eq!(ways.len(), Loss::ALL.len());
    let (text, faulty) = table(&rows(work));
    println!("{text}");
    assert_eq!(faulty, 0, "{text}");
}
