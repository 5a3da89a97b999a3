//! `fleetctl state pull`.

use super::{select, store};
use crate::cli::arguments::Pull;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output_file::{self, Content};
use crate::cli::whole_file;
use crate::state::session::export;

/// Prints a state as it would stand in its file, journal included. The same in every form of output.
pub(super) async fn run(context: &Context, arguments: &Pull) -> Result<u8, CliError> {
    if let Some(path) = &arguments.out {
        output_file::check(path, Content::State, &context.settings.state.value)?;
    }
    let store = store(context)?;
    let state = select::state(&*store, &arguments.name, arguments.namespace.as_deref()).await?;
    let bytes = export(&state)?;
    let text = String::from_utf8_lossy(&bytes);
    match &arguments.out {
        None => context.printer.result(text.trim_end()),
        Some(path) => whole_file::replace(path, &text)
            .map_err(|error| CliError::Output(format!("{} cannot be written: {error}", path.display())))?,
    }
    Ok(0)
}
