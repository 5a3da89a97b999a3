//! `fleetctl completion`.

use crate::cli::arguments::{Arguments, Completion};
use crate::cli::context::Context;
use clap::CommandFactory as _;

/// Prints the script of a shell.
pub(super) fn run(context: &Context, arguments: &Completion) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "fleetctl", &mut script);
    context.printer.result(&String::from_utf8_lossy(&script));
    0
}
