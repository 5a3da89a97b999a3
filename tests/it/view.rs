//! What a run looks like: on a terminal, without colours, on one that cannot move its cursor, quiet.

use crate::support::World;
use crate::support::terminal::on_terminal;
use serde_json::json;

const APPLY: [&str; 3] = ["apply", "cluster.yaml", "--yes"];

#[test]
fn on_a_terminal_what_goes_on_is_drawn_and_nothing_of_it_stays() {
    let world = World::new();
    // The first look at a cluster comes after two seconds: it has to be on its way then, and at some looks more.
    world.settings(&json!({"clusterCreateSeconds": 6.0}));
    let run = on_terminal(&world, (24, 80), &APPLY, &[]);
    assert_eq!(run.code, Some(0), "{}", run.screen);
    // While it went on: how far it is, the expected end by AWS's typical times, what it hangs on.
    for said in ["of 22 done", "to go (typical of AWS, not measured here yet)", "> Cluster", "CREATING", "of about 10m"] {
        assert!(run.written.contains(said), "{said}: {}", run.written);
    }
    // In the end: a line an object, and the report; the rest is gone.
    let ready = run.screen.lines().filter(|line| line.starts_with("ready ")).count();
    assert_eq!(ready, 22, "{}", run.screen);
    assert!(run.screen.contains("EksCluster/workload-cluster1: done in"), "{}", run.screen);
    for gone in ["to go", "so far", "Reading what is there", "CREATING"] {
        assert!(!run.screen.contains(gone), "{gone}: {}", run.screen);
    }
    assert!(run.too_wide.is_empty(), "{:?}", run.too_wide);

    // What was measured is what is expected from now on, and colours are a matter of taste.
    let removed = on_terminal(&world, (24, 40), &["destroy", "EksCluster/workload-cluster1", "--yes"], &[("NO_COLOR", "1")]);
    assert_eq!(removed.code, Some(0), "{}", removed.screen);
    assert!(removed.written.contains("to go") && !removed.screen.contains("to go"), "{}", removed.screen);
    assert!(removed.too_wide.is_empty(), "{:?}", removed.too_wide);
    let colours = regex::Regex::new(r"\x1b\[[0-9;]*m").unwrap();
    assert!(colours.is_match(&run.written) && !colours.is_match(&removed.written), "{}", removed.written);
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_gets_lines() {
    let world = World::new();
    world.write("fleetctl.yaml", &format!("argocd: none\n{}", world.fleetctl_yaml("externalId: fleetctl-test")));
    let run = on_terminal(&world, (24, 80), &APPLY, &[("TERM", "dumb")]);
    assert_eq!(run.code, Some(0), "{}", run.screen);
    assert!(!run.written.contains('\u{1b}'), "{}", run.written);
    assert!(run.written.contains("EksCluster/workload-cluster1/vpc/vpc  VPC  create …"), "{}", run.written);
    assert!(run.written.contains("0 of 21 done, about 11m to go"), "{}", run.written);
}

#[test]
fn quiet_says_failures_and_the_end_and_nothing_else() {
    let world = World::new();
    let message = "Performing this operation would exceed the limit";
    let rule = json!({"service": "ec2", "operation": "CreateNatGateway", "code": "NatGatewayLimitExceeded", "message": message,
        "status": 400, "count": null});
    world.faults(&[rule]);
    let run = world.fleetctl(&["apply", "cluster.yaml", "--yes", "--quiet"]).expect(1);
    assert_eq!(run.stderr.lines().count(), 2, "one a gateway: {}", run.stderr);
    assert!(run.stderr.lines().all(|line| line.contains("NatGatewayLimitExceeded")), "{}", run.stderr);
    assert!(run.stdout.starts_with("EksCluster/workload-cluster1: failed after"), "{}", run.stdout);
    for said in
        ["call            ec2 CreateNatGateway", message, "request id", "what may help   ask Service Quotas", "AWS charges for"]
    {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    // The same value for programs.
    let summary = world.fleetctl(&["apply", "cluster.yaml", "--yes", "-o", "json"]).expect(1).summary();
    let failed = &summary["instances"][0]["failed"][0];
    assert_eq!(failed["answer"]["code"], "NatGatewayLimitExceeded");
    assert_eq!((&failed["account"], &failed["region"]), (&json!(world.workload), &json!("us-west-2")));
    let not_reached = summary["instances"][0]["notReached"].as_array().unwrap();
    assert!(not_reached.iter().any(|object| object["because"] == failed["address"]), "{summary}");
}

#[test]
fn an_interrupt_before_the_run_says_that_nothing_was_changed() {
    let world = World::new();
    // Reading takes so long that the signal comes before the run.
    world.faults(&[json!({"service": "sts", "operation": "GetCallerIdentity", "delay_ms": 20_000, "count": null})]);
    let child = world.spawn(&APPLY);
    world.wait_for("AssumeRole");
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let ended = crate::support::world::Ended::of(child.wait_with_output().unwrap()).expect(130);
    assert!(ended.stderr.contains("Interrupted: nothing was changed."), "{}", ended.stderr);
    assert_eq!(world.aws.mutating(), []);
}
