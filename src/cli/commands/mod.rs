//! The commands, one file each. Each gets its settings resolved, prints its results and returns its exit code.

mod apply;
mod completion;
mod config_show;
mod destroy;
mod drift;
mod graph;
mod import;
mod kubeconfig;
mod man;
mod orphans;
mod plan;
mod state;
mod status;
mod token;
mod validate;
mod version;

use super::arguments::{Command, Config};
use super::context::Context;
use super::error::CliError;

/// Runs a command.
pub async fn run(context: &Context, command: &Command) -> Result<u8, CliError> {
    match command {
        Command::Validate(inputs) => validate::run(context, inputs).await,
        Command::Plan(arguments) => plan::run(context, arguments).await,
        Command::Apply(arguments) => apply::run(context, arguments).await,
        Command::Destroy(arguments) => destroy::run(context, arguments).await,
        Command::Drift(inputs) => drift::run(context, inputs).await,
        Command::Status(arguments) => status::run(context, arguments).await,
        Command::Graph(arguments) => graph::run(context, arguments).await,
        Command::Kubeconfig(arguments) => kubeconfig::run(context, arguments).await,
        Command::Token(arguments) => token::run(context, arguments).await,
        Command::Completion(arguments) => Ok(completion::run(context, arguments)),
        Command::Man(arguments) => man::run(context, arguments).await,
        Command::State(command) => state::run(context, command).await,
        Command::Import(arguments) => import::run(context, arguments).await,
        Command::Orphans(arguments) => orphans::run(context, arguments).await,
        Command::Config(Config::Show) => Ok(config_show::run(context)),
        Command::Version => Ok(version::run(context)),
    }
}
