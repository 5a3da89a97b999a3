//! The local AWS where Python is too old for the newest `LocalStack`: the older, pinned one, in an apply and a destroy.

use crate::support::emulator::{Emulator, repository};
use crate::support::skip::skipped;
use crate::support::world::Ended;
use std::process::Command;

const NAME: &str = "the_older_localstack_carries_an_apply_and_a_destroy";
const OLDER: &str = "4.13.1";

/// A Python that the newest `LocalStack` does not run on, and that can make environments.
fn old_python() -> Option<&'static str> {
    let works = |python: &&str| {
        let probe = "import ensurepip, sys, venv; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))";
        Command::new(python).args(["-c", probe]).output().is_ok_and(|output| output.status.success())
    };
    ["python3.11", "python3.12", "/usr/bin/python3.11", "/usr/bin/python3.12", "python3"].into_iter().find(works)
}

#[test]
fn the_older_localstack_carries_an_apply_and_a_destroy() {
    let Some(python) = old_python() else { return skipped(NAME, "there is no Python 3.11 or 3.12 with the venv module") };
    // Whatever is installed is used from then on: the newest comes first.
    Emulator::shared();
    let health =
        "import os, urllib.request as r; print(r.urlopen(os.environ['AWS_ENDPOINT_URL'] + '/_localstack/health').read())";
    let script = format!(
        "set -e; {python} -c \"{health}\"; \"$FLEETCTL\" apply examples/workload-cluster1.yaml --yes; \
         \"$FLEETCTL\" destroy EksCluster/workload-cluster1 --yes; \"$FLEETCTL\" status"
    );
    let output = Command::new(repository().join("localstack/run"))
        .args(["sh", "-c", &script])
        .current_dir(repository())
        .env("FLEETCTL_LOCALSTACK_PYTHON", python)
        .env("FLEETCTL", env!("CARGO_BIN_EXE_fleetctl"))
        .env("FLEETCTL_VISIBILITY_WINDOW", "4")
        .output()
        .unwrap();
    let is_installed = repository().join(format!("localstack/.local/venv-{OLDER}/packages.stamp")).exists();
    if !output.status.success() && !is_installed {
        return skipped(NAME, &format!("LocalStack {OLDER} could not be installed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let ended = Ended::of(output).expect(0);
    assert!(ended.stdout.contains(&format!("\"{OLDER}")), "the older one runs: {}", ended.stdout);
    assert!(ended.stdout.contains("EksCluster/workload-cluster1 in namespace argocd: DELETED"), "{}", ended.stdout);
}
