//! `fleetctl state`.

mod rebuild;

use crate::cli::arguments::State;
use crate::cli::context::Context;
use crate::cli::error::CliError;

/// Runs a command about states.
pub(super) async fn run(context: &Context, command: &State) -> Result<u8, CliError> {
    match command {
        State::Rebuild(arguments) => rebuild::run(context, arguments).await,
    }
}
