//! The disk fails in mid-run, below the real binary: the run ends with what was done and why, and the next one goes on.

use crate::crash::expect_one_of_everything;
use crate::support::World;
use crate::support::skip::skipped;
use crate::support::world::Ended;
use std::path::Path;
use std::process::Command;

/// Mounts are made in a namespace of the test's own.
fn may_mount(test: &str) -> bool {
    let script = "mount -t tmpfs -o size=64k none /mnt && mount --bind /mnt /mnt && mount -o remount,bind,ro /mnt";
    let tried = Command::new("unshare").args(["-rm", "bash", "-c", script]).output();
    let why = match tried {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    skipped(test, &format!("nothing can be mounted here: {why}"));
    false
}

/// Runs a script in the world's folder, as root of a mount namespace of its own; `$PROGRAM` is the binary.
fn in_namespace(world: &World, script: &str) -> Ended {
    std::fs::create_dir_all(world.folder.path().join("state")).unwrap();
    let program = world.command(&[]).get_program().to_owned();
    let mut command = world.program(Path::new("unshare"), &["-rm", "bash", "-c", script]);
    Ended::of(command.env("PROGRAM", program).output().unwrap())
}

/// What is said of a run whose state could not be written.
fn check_said(ended: &Ended, reason: &str) {
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.contains(reason), "{all}");
    assert!(!all.contains("panicked") && !all.contains("a bug in fleetctl"), "{all}");
    assert!(all.contains("not reached"), "what was not begun is said: {all}");
    assert!(all.contains("Carry on with: fleetctl apply"), "{all}");
}

fn goes_on(world: &World) {
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    expect_one_of_everything(world);
}

#[test]
fn a_full_disk_ends_the_run_and_with_room_the_next_one_finishes() {
    if !may_mount("a_full_disk_ends_the_run_and_with_room_the_next_one_finishes") {
        return;
    }
    let world = World::new();
    let script =
        "mount -t tmpfs -o size=56k none state && \"$PROGRAM\" apply cluster.yaml --yes; code=$?; cp -a state kept; exit $code";
    let ended = in_namespace(&world, script).expect(1);
    check_said(&ended, "No space left on device");
    let folder = world.folder.path();
    std::fs::remove_dir(folder.join("state")).unwrap();
    std::fs::rename(folder.join("kept"), folder.join("state")).unwrap();
    goes_on(&world);
}

#[test]
fn a_disk_that_becomes_read_only_ends_the_run_and_the_next_one_finishes() {
    if !may_mount("a_disk_that_becomes_read_only_ends_the_run_and_the_next_one_finishes") {
        return;
    }
    let world = World::new();
    // The mount below cannot be made read-only while the lock file is open for writing, so another one goes on top of it. That
    // is busy while a file is being written.
    let script = "\"$PROGRAM\" apply cluster.yaml --yes & \
                  until [ -e state/argocd/EksCluster.workload-cluster1.journal/000000000009.json ]; do sleep 0.02; done; \
                  mount --bind state state; until mount -o remount,bind,ro state 2>/dev/null; do :; done; wait $!";
    let ended = in_namespace(&world, script).expect(1);
    check_said(&ended, "Read-only file system");
    goes_on(&world);
}

#[test]
fn a_state_folder_that_is_removed_in_mid_run_is_there_again_in_the_end() {
    let world = World::new();
    let child = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    world.wait_for("CreateVpc");
    let state = world.folder.path().join("state");
    // A write may come in between.
    while std::fs::remove_dir_all(&state).is_err() && state.exists() {}
    let ended = Ended::of(child.wait_with_output().unwrap()).expect(1);
    check_said(&ended, "was removed");
    goes_on(&world);
}
