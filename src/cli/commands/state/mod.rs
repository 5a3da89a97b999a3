//! `fleetctl state …`.

mod unlock;

use crate::cli::arguments::State;
use crate::cli::context::Context;
use crate::cli::error::CliError;

/// Runs a command.
pub(super) async fn run(context: &Context, command: &State) -> Result<u8, CliError> {
    match command {
        State::Unlock(arguments) => unlock::run(context, arguments).await,
    }
}
