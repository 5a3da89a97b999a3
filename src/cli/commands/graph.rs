//! `fleetctl graph`.

use crate::cli::arguments::Graph;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::Versioned;
use crate::cli::launch::offline_settings;
use crate::cli::project::Project;
use crate::cli::render_graph::{GraphJson, render, render_dot};
use crate::engine::api::work_offline;

/// Prints the resources of instances, their order and their edges.
pub(super) async fn run(context: &Context, arguments: &Graph) -> Result<u8, CliError> {
    let project = Project::load(&context.settings, &arguments.inputs).await?;
    let works = work_offline(&project.documents, &project.definitions, &project.used, &offline_settings(context))?;
    let graph = GraphJson::of(&works);
    if context.printer.is_json() {
        context.printer.json(&Versioned::new(graph));
    } else if arguments.dot {
        context.printer.result(&render_dot(&graph));
    } else {
        context.printer.result(&render(&graph, context.printer.style(), context.printer.settings().verbosity));
    }
    Ok(0)
}
