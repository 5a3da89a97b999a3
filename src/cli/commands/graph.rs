//! `fleetctl graph`.

use crate::cli::arguments::{Graph, OutputFormat};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::Versioned;
use crate::cli::launch::offline_settings;
use crate::cli::project::Project;
use crate::cli::render_drawing::{dot, mermaid};
use crate::cli::render_graph::{GraphJson, render};
use crate::engine::api::work_offline;

/// Prints the resources of instances, their order and their edges.
pub(super) async fn run(context: &Context, arguments: &Graph) -> Result<u8, CliError> {
    let project = Project::load(&context.settings, &arguments.inputs).await?;
    let works = work_offline(&project.documents, &project.definitions, &project.used, &offline_settings(context))?;
    let graph = GraphJson::of(&works);
    let printer = &context.printer;
    let settings = printer.settings();
    match settings.format {
        OutputFormat::Json => printer.json(&Versioned::new(graph)),
        OutputFormat::Dot => printer.result(&dot(&graph, settings.verbosity)),
        OutputFormat::Mermaid => printer.result(&mermaid(&graph, settings.verbosity)),
        OutputFormat::Text | OutputFormat::Markdown => printer.result(&render(&graph, printer.style(), settings.verbosity)),
    }
    Ok(0)
}
