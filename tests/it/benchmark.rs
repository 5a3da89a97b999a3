//! A benchmark at the clock of the recorded baseline (cluster 20 s, NAT gateway 10 s, add-on 10 s; deletion 10, 10, 5). It
//! prints and asserts nothing about time: `cargo test -- --ignored --nocapture benchmark`.

use crate::support::World;
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
    let apply = started.elapsed().as_secs_f64();
    let calls = world.aws.calls();
    let (mutating, reading): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.is_mutating());
    let refused = mutating.iter().filter(|call| call.status >= 400).count();
    println!("apply: {apply:.1} s over waits of 30 s: {:.1} s more, ratio {:.2}", apply - 30.0, apply / 30.0);
    println!(
        "apply: {} mutating calls on AWS ({} refused), {} on Argo CD, {} reading calls",
        mutating.len(),
        refused,
        world.argocd.mutating().len(),
        reading.len()
    );
    world.aws.forget();
    let started = Instant::now();
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    let destroy = started.elapsed().as_secs_f64();
    let mutating = world.aws.mutating();
    let refused = mutating.iter().filter(|call| call.status >= 400).count();
    println!("destroy: {destroy:.1} s over waits of 25 s: {:.1} s more, ratio {:.2}", destroy - 25.0, destroy / 25.0);
    println!("destroy: {} mutating calls on AWS, {refused} refused", mutating.len());
}
