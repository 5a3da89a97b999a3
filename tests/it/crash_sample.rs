//! The crash matrix, as a sample of real processes: `kill -9` at every fifth call that changes something, before it is sent
//! and after it took effect; then the same command again, to the end. Cloud and state are compared object by object.

use crate::destroy::without_deleted;
use crate::support::World;
use crate::support::proxy::Moment;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Cases that run side by side.
const WORKERS: usize = 4;
/// The sample: call 1, and each that comes so many later.
const EVERY: usize = 5;

/// What is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Apply,
    /// Other tags on everything, and another policy.
    Update,
    Destroy,
}

impl Phase {
    fn arguments(self) -> [&'static str; 3] {
        [if self == Self::Destroy { "destroy" } else { "apply" }, "cluster.yaml", "--yes"]
    }

    /// A world in which the command can be given.
    fn world(self) -> World {
        let mut world = World::new();
        if self == Self::Update {
            world.use_shipped_graphs();
        }
        world.settings(&json!({
            "clusterCreateSeconds": 1.0, "clusterDeleteSeconds": 0.5, "addonCreateSeconds": 0.3, "addonDeleteSeconds": 0.3,
            "natGatewayCreateSeconds": 0.5, "natGatewayDeleteSeconds": 0.5, "ec2VisibilityLagSeconds": 1.0,
            "iamVisibilityLagSeconds": 0.5, "rolePropagationSeconds": 0.5,
        }));
        if self != Self::Apply {
            world.fleetctl(&Self::Apply.arguments()).expect(0);
        }
        if self == Self::Update {
            let settings = format!("defaultTags:\n  team: other\n{}", world.fleetctl_yaml("externalId: fleetctl-test"));
            world.write("fleetctl.yaml", &settings);
            world.write("cluster.yaml", &world.instance("workload-cluster1", "  secretsPattern: other/*\n"));
        }
        world.aws.forget();
        world
    }

    /// How many calls it makes that change something, when nothing happens to it. Those that are refused at first, because a
    /// role is not known everywhere yet, are not always as many: what every run makes is counted.
    fn calls(self) -> usize {
        let world = self.world();
        world.fleetctl(&self.arguments()).expect(0);
        world.aws.mutating().iter().filter(|call| call.status < 400).count()
    }
}

/// One cell of the matrix.
#[derive(Debug, Clone, Copy)]
struct Case {
    phase: Phase,
    call: usize,
    moment: Moment,
}

/// What was found in the end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    orphans: Vec<String>,
    phantoms: Vec<String>,
    duplicates: Vec<String>,
    /// The plan afterwards says that there is something to do.
    unsettled: bool,
}

impl Case {
    fn run(self) -> (String, Found) {
        let world = self.phase.world();
        let before = without_deleted(world.inventory(&world.workload));
        world.aws.trap_at(self.call, self.moment);
        let mut child = world.spawn(&self.phase.arguments());
        let operation = world.aws.sprung_at(&mut child).unwrap_or_else(|problem| panic!("{self:?}: {problem}"));
        child.kill().unwrap();
        child.wait().unwrap();
        world.fleetctl(&self.phase.arguments()).expect(0);
        let mut found = compare(&without_deleted(world.inventory(&world.workload)), &world.state());
        if self.phase == Phase::Destroy {
            assert_ne!(without_deleted(world.inventory(&world.workload)), before);
            assert_eq!((world.registered(), &world.state()["resources"]), (json!([]), &json!([])));
        } else {
            assert_eq!(world.registered().as_array().unwrap().len(), 1);
            found.unsettled = world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).code != Some(0);
        }
        (operation, found)
    }
}

/// Objects by the address in their tags, against records by their address.
fn compare(inventory: &Value, state: &Value) -> Found {
    let mut there: BTreeMap<String, usize> = BTreeMap::new();
    addresses(inventory, &mut there);
    let records = state["resources"].as_array().unwrap().iter();
    let recorded: Vec<String> = records
        .filter(|record| record["identity"]["kind"] != "Secret")
        .map(|record| record["address"].as_str().unwrap().to_owned())
        .collect();
    Found {
        orphans: there.keys().filter(|address| !recorded.contains(address)).cloned().collect(),
        phantoms: recorded.iter().filter(|address| !there.contains_key(*address)).cloned().collect(),
        duplicates: there.iter().filter(|(_, count)| **count > 1).map(|(address, _)| address.clone()).collect(),
        unsettled: false,
    }
}

fn addresses(value: &Value, found: &mut BTreeMap<String, usize>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| addresses(item, found)),
        Value::Object(entries) => {
            if let Some(address) = entries.get("fleetctl:address").and_then(Value::as_str) {
                *found.entry(address.to_owned()).or_default() += 1;
            }
            entries.values().for_each(|entry| addresses(entry, found));
        }
        _ => {}
    }
}

fn sample(phase: Phase) -> Vec<Case> {
    let calls = (1..=phase.calls()).step_by(EVERY);
    calls.flat_map(|call| [Moment::Before, Moment::After].map(|moment| Case { phase, call, moment })).collect()
}

fn killed(phase: Phase) {
    let cases = sample(phase);
    let (waiting, table) = (Mutex::new(cases.iter()), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let Some(case) = waiting.lock().unwrap().next() else { break };
                    let ended = case.run();
                    table.lock().unwrap().insert((case.call, format!("{:?}", case.moment)), ended);
                }
            });
        }
    });
    let table = table.into_inner().unwrap();
    println!("{phase:?}: killed at every fifth call of those that change something");
    println!("{:>4}  {:<6}  {:<44}  orphans  phantoms  duplicates  plan afterwards", "call", "when", "operation");
    for ((call, moment), (operation, found)) in &table {
        let Found { orphans, phantoms, duplicates, unsettled } = found;
        let plan = if *unsettled { "not empty" } else { "empty" };
        let counts = (orphans.len(), phantoms.len(), duplicates.len());
        println!("{call:>4}  {moment:<6}  {operation:<44}  {:>7}  {:>8}  {:>10}  {plan}", counts.0, counts.1, counts.2);
    }
    let bad: Vec<_> = table.iter().filter(|(_, (_, found))| *found != Found::default()).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    assert_eq!(table.len(), cases.len());
}

#[test]
fn an_apply_that_is_killed_at_every_fifth_call_is_finished_by_the_next() {
    killed(Phase::Apply);
}

#[test]
fn an_update_that_is_killed_at_every_fifth_call_is_finished_by_the_next() {
    killed(Phase::Update);
}

#[test]
fn a_destroy_that_is_killed_at_every_fifth_call_is_finished_by_the_next() {
    killed(Phase::Destroy);
}
