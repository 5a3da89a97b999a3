//! A benchmark at the clock of the recorded baseline (cluster 20 s, NAT gateway 10 s, add-on 10 s; deletion 10, 10, 5). It
//! prints and asserts nothing about time: `cargo test -- --ignored --nocapture benchmark`.

use crate::support::World;
use crate::support::proxy::Call;
use serde_json::json;
use std::time::Instant;

#[test]
#[ignore = "takes about a minute and a half; prints numbers"]
fn benchmark() {
    // The first apply warms the emulator, in accounts of its own.
    World::new().fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);

    let world = World::new();
    world.settings(&json!({
        "clusterCreateSeconds": 20.0, "clusterDeleteSeconds": 10.0, "addonCreateSeconds": 10.0, "addonDeleteSeconds": 5.0,
        "natGatewayCreateSeconds": 10.0, "natGatewayDeleteSeconds": 10.0,
    }));
    let started = Instant::now();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    say("apply", started, 30.0, &world);
    world.aws.forget();
    world.argocd.forget();
    let started = Instant::now();
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    say("destroy", started, 25.0, &world);
}

fn say(what: &str, started: Instant, waits: f64, world: &World) {
    let seconds = started.elapsed().as_secs_f64();
    println!("{what}: {seconds:.1} s over waits of {waits} s: {:.1} s more, ratio {:.2}", seconds - waits, seconds / waits);
    let (mutating, reading): (Vec<Call>, Vec<Call>) = world.aws.calls().into_iter().partition(Call::is_mutating);
    let refused: Vec<&Call> = mutating.iter().filter(|call| call.status >= 400).collect();
    // The closed list: EKS does not see a fresh role at once, and no call tells when it does.
    let outside = refused.iter().filter(|call| what != "apply" || call.operation != "POST /clusters").count();
    println!(
        "{what}: {} accepted mutating calls on AWS, {} refused ({outside} of them outside the closed list), {} on Argo CD, {} reading calls",
        mutating.len() - refused.len(),
        refused.len(),
        world.argocd.mutating().len(),
        reading.len()
    );
}
