//! `fleetctl state …`.

mod doctor;
mod history;
mod list;
mod mv;
mod pull;
mod push;
mod rebuild;
mod rm;
mod select;
mod show;
mod unlock;

use crate::cli::arguments::State;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::Versioned;
use crate::cli::launch::{self, check_endpoints};
use crate::cli::style::clean;
use crate::state::store::Store;
use serde::Serialize;
use std::sync::Arc;

/// Runs a command.
pub(super) async fn run(context: &Context, command: &State) -> Result<u8, CliError> {
    match command {
        State::List(arguments) => list::run(context, arguments).await,
        State::Show(arguments) => show::run(context, arguments).await,
        State::Rm(arguments) => rm::run(context, arguments).await,
        State::Mv(arguments) => mv::run(context, arguments).await,
        State::Pull(arguments) => pull::run(context, arguments).await,
        State::Push(arguments) => push::run(context, arguments).await,
        State::History(arguments) => history::run(context, arguments).await,
        State::Doctor(arguments) => doctor::run(context, arguments).await,
        State::Rebuild(arguments) => rebuild::run(context, arguments).await,
        State::Unlock(arguments) => unlock::run(context, arguments).await,
    }
}

/// The store.
fn store(context: &Context) -> Result<Arc<dyn Store>, CliError> {
    check_endpoints(&context.environment)?;
    Ok(launch::store(context))
}

/// Prints a result in the form that is wanted.
fn print(context: &Context, result: impl Serialize, text: &str) {
    if context.printer.is_json() {
        context.printer.json(&Versioned::new(result));
    } else {
        context.printer.result(&clean(text));
    }
}

/// Shows people what a question is about.
fn show(context: &Context, text: &str) {
    if !context.printer.is_json() {
        context.printer.text(&clean(text));
    }
}

/// What a change of a state by hand came to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Changed {
    /// The key of the state in its store.
    key: String,
    /// Its serial now.
    serial: u64,
    /// What was changed.
    addresses: Vec<String>,
}
