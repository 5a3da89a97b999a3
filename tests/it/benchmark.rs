//! A benchmark at the clock of the recorded run of kro and ACK (cluster 20 s, NAT gateway 10 s, add-on 10 s; deletion 10,
//! 10, 5). It prints and asserts nothing about time: `cargo test --test it -- --ignored --nocapture benchmark`.

use crate::support::World;
use crate::support::calls::count;
use crate::support::measured::{Measured, measured, start_of_help};
use crate::support::proxy::Call;
use crate::support::world::upstream_graphs;
use serde_json::json;

/// What kro and ACK took for the same instance, at the same clock, on a machine of the same size: two recorded runs, one in
/// one account, one across two as here. See `docs/performance.md`.
struct Recorded {
    seconds: &'static str,
    accepted: u32,
    refused: &'static str,
    reading: &'static str,
}

const APPLY: Recorded = Recorded {
    seconds: "39.8, 39.6 until it says Ready; 69.6 until it has seen everything ready",
    accepted: 70,
    refused: "7, 9",
    reading: "149, 162",
};
const DESTROY: Recorded = Recorded { seconds: "76.0, 73.1", accepted: 33, refused: "44", reading: "109" };
const MEMORY: &str = "731 MiB in 6 processes";

#[test]
#[ignore = "takes about two minutes; prints numbers"]
fn benchmark() {
    // The first apply warms the emulator, in accounts of its own.
    World::new().fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);

    let world = World::new();
    world.settings(&json!({
        "clusterCreateSeconds": 20.0, "clusterDeleteSeconds": 10.0, "addonCreateSeconds": 10.0, "addonDeleteSeconds": 5.0,
        "natGatewayCreateSeconds": 10.0, "natGatewayDeleteSeconds": 10.0,
    }));
    let definitions = if upstream_graphs().is_some() { "upstream's, as in the record" } else { "built-in" };
    println!("definitions: {definitions}; kro and ACK: {MEMORY} right after Ready");
    println!("start: {}", start_of_help(&world));

    let apply = run(&world, "apply", &["apply", "cluster.yaml", "--yes"]);
    against(&apply, 30.0, &APPLY);
    let again = run(&world, "apply again", &["apply", "cluster.yaml", "--yes"]);
    assert_eq!(again.mutating, 0, "there is nothing to do");
    let plan = run(&world, "plan", &["plan", "cluster.yaml"]);
    assert_eq!(plan.mutating, 0, "a plan changes nothing");
    let destroy = run(&world, "destroy", &["destroy", "cluster.yaml", "--yes"]);
    against(&destroy, 25.0, &DESTROY);
}

/// What was counted while a command ran.
struct Counted {
    seconds: f64,
    mutating: usize,
}

fn run(world: &World, what: &str, arguments: &[&str]) -> Counted {
    world.aws.forget();
    world.argocd.forget();
    let Measured { seconds, memory } = measured(world, arguments);
    let (mutating, reading): (Vec<Call>, Vec<Call>) = world.aws.calls().into_iter().partition(Call::is_mutating);
    let refused: Vec<Call> = mutating.iter().filter(|call| call.status >= 400).cloned().collect();
    // The closed list: EKS does not see a fresh role at once, and no call tells when it does.
    let outside = refused.iter().filter(|call| what != "apply" || call.operation != "POST /clusters").count();
    println!("\n{what}: {seconds:.1} s; {memory}");
    println!(
        "  mutating calls: {} accepted, {} refused ({outside} of them outside the closed list); on Argo CD {}",
        mutating.len() - refused.len(),
        refused.len(),
        world.argocd.mutating().len(),
    );
    let by_operation: Vec<String> = count(&reading).iter().map(|(operation, times)| format!("{times} {operation}")).collect();
    println!("  reading calls: {}: {}", reading.len(), by_operation.join(", "));
    println!("  reading calls on Argo CD: {}", world.argocd.calls().len() - world.argocd.mutating().len());
    Counted { seconds, mutating: mutating.len() }
}

/// The waits alone, and the record.
fn against(counted: &Counted, waits: f64, recorded: &Recorded) {
    let seconds = counted.seconds;
    println!("  waits in a row {waits} s: {:.1} s more, ratio {:.2}", seconds - waits, seconds / waits);
    let Recorded { seconds, accepted, refused, reading } = recorded;
    println!("  kro and ACK: {seconds} s; mutating {accepted} accepted, {refused} refused; reading {reading}");
}
