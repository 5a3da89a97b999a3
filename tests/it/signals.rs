//! Signals, closed terminals and readers that go away: the run drains, and the next one carries on.

use crate::crash::expect_one_of_everything;
use crate::support::World;
use crate::support::terminal::on_terminal;
use crate::support::world::Ended;
use serde_json::json;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

const APPLY: [&str; 3] = ["apply", "cluster.yaml", "--yes"];

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

fn ended(child: Child) -> Ended {
    Ended::of(child.wait_with_output().unwrap())
}

/// What was interrupted left nothing open and no lock, and is carried on by the next apply.
fn carries_on(world: &World) {
    world.fleetctl(&APPLY).expect(0);
    expect_one_of_everything(world);
}

#[test]
fn the_first_signal_drains_in_apply_and_destroy_whichever_it_is() {
    let world = World::new();
    world.settings(&json!({"clusterCreateSeconds": 8.0, "clusterDeleteSeconds": 8.0}));
    // A terminal that is closed sends SIGHUP; this one comes while the cluster is waited for.
    let child = world.spawn(&APPLY);
    world.wait_for("POST /clusters");
    signal(&child, "-HUP");
    let stopped = ended(child).expect(130);
    assert!(stopped.stderr.contains("Stopping: nothing new is started"), "{}", stopped.stderr);
    assert_eq!(world.state()["open"], json!([]), "nothing is left open");
    carries_on(&world);

    let child = world.spawn(&["destroy", "cluster.yaml", "--yes"]);
    world.wait_for("DELETE /clusters/*");
    signal(&child, "-TERM");
    ended(child).expect(130);
    assert_eq!(world.state()["open"], json!([]), "nothing is left open");
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.state()["resources"], json!([]));
}

#[test]
fn the_second_signal_leaves_at_once_and_the_next_run_takes_the_lock_over() {
    let world = World::new();
    world.faults(&[json!({"service": "iam", "operation": "CreateRole", "delay_ms": 8_000, "count": 4})]);
    let child = world.spawn(&APPLY);
    world.wait_for("CreateVpc");
    std::thread::sleep(std::time::Duration::from_secs(1));
    signal(&child, "-INT");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let asked = std::time::Instant::now();
    signal(&child, "-INT");
    ended(child).expect(130);
    assert!(asked.elapsed().as_secs() < 5, "it did not wait for the calls");
    // Those go on by themselves. A role is found by its name.
    std::thread::sleep(std::time::Duration::from_secs(8));
    carries_on(&world);
}

/// `fleetctl apply … 2>&1 | head -1`: nobody reads any more what is said.
#[test]
fn a_reader_that_goes_away_is_a_first_signal() {
    let world = World::new();
    world.settings(&json!({"clusterCreateSeconds": 8.0}));
    let mut child =
        world.command(&[&APPLY[..], &["-o", "json"]].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("CreateVpc") && !line.contains("\"finished\"") {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it went on");
    }
    drop(lines);
    let stopped = ended(child).expect(130);
    assert!(!stopped.stderr.contains("internal error"), "{}", stopped.stderr);
    assert_eq!(world.state()["open"], json!([]), "nothing is left open");
    carries_on(&world);
}

#[test]
fn what_only_looks_leaves_at_the_first_signal() {
    let world = World::new();
    world.faults(&[json!({"service": "iam", "operation": "GetRole", "delay_ms": 20_000, "count": null})]);
    for command in ["plan", "drift"] {
        world.aws.forget();
        let asked = std::time::Instant::now();
        let child = world.spawn(&[command, "cluster.yaml"]);
        world.wait_for("AssumeRole");
        signal(&child, "-HUP");
        ended(child).expect(130);
        assert!(asked.elapsed().as_secs() < 15, "{command} waited");
    }
    assert_eq!(world.aws.mutating(), []);
}

/// The window is closed: while a question is asked nothing has begun, and a run drains.
#[test]
fn a_terminal_that_is_closed_is_a_first_signal() {
    let world = World::new();
    world.settings(&json!({"clusterCreateSeconds": 8.0}));
    let asked = on_terminal(&world, (40, 120), &["apply", "cluster.yaml"], &[("TERMINAL_CLOSE_AFTER", "Carry this out?")]);
    // The end of the input may be heard before the signal: then it is an answer, and not yes.
    assert!(matches!(asked.code, Some(1 | 130)), "{:?}: {}", asked.code, asked.written);
    assert_eq!(world.aws.mutating(), []);

    let closed = on_terminal(&world, (40, 120), &APPLY, &[("TERMINAL_CLOSE_AFTER", "CREATING")]);
    assert_eq!(closed.code, Some(130), "{}", closed.written);
    assert_eq!(world.state()["open"], json!([]), "nothing is left open");
    carries_on(&world);
}
