//! `fleetctl version`.

use crate::cli::context::Context;
use crate::cli::json::Versioned;
use crate::state::file;
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    fleetctl: &'static str,
    state_version: u64,
}

/// Prints the version, and that of the state files it writes.
pub(super) fn run(context: &Context) -> u8 {
    let version = env!("CARGO_PKG_VERSION");
    if context.printer.is_json() {
        context.printer.json(&Versioned::new(Version { fleetctl: version, state_version: file::VERSION }));
    } else {
        context.printer.result(&format!("fleetctl {version}"));
    }
    0
}
