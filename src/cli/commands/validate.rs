//! `fleetctl validate`.

use crate::cli::arguments::Inputs;
use crate::cli::context::Context;
use crate::cli::diagnostics::{DiagnosticJson, count, render, sorted};
use crate::cli::error::CliError;
use crate::cli::json::{Validation, Versioned};
use crate::cli::launch::offline_settings;
use crate::cli::project::{Project, has_errors};
use crate::cli::style::{Look, plural};
use crate::engine::api::work_offline;
use crate::engine::report::EngineError;
use crate::graph::diagnostic::Diagnostic;

/// Checks documents and definitions; 4 if there is an error.
pub(super) async fn run(context: &Context, inputs: &Inputs) -> Result<u8, CliError> {
    let mut project = Project::load_with_problems(&context.settings, inputs).await;
    // Expanding what does not load would say the same things again, in other words.
    if !has_errors(&project.problems) && !project.documents.instances.is_empty() {
        let found = check_instances(context, &project);
        project.problems.extend(found);
    }
    let problems = sorted(&project.problems);
    if context.printer.is_json() {
        let diagnostics = problems.iter().map(|problem| DiagnosticJson::from(*problem)).collect();
        context.printer.json(&Versioned::new(Validation { diagnostics }));
    } else {
        print_text(context, &project, &problems);
    }
    Ok(if has_errors(&project.problems) { 4 } else { 0 })
}

/// What is wrong with the instances once they are expanded.
fn check_instances(context: &Context, project: &Project) -> Vec<Diagnostic> {
    let settings = offline_settings(context);
    match work_offline(&project.documents, &project.definitions, &project.used, &settings) {
        Ok(_) => Vec::new(),
        Err(EngineError::Documents(problems)) => problems,
        Err(EngineError::Selector(reason)) => vec![Diagnostic::error("selector", reason)],
        Err(error) => vec![Diagnostic::error("engine", error.to_string())],
    }
}

fn print_text(context: &Context, project: &Project, problems: &[&Diagnostic]) {
    let (printer, style) = (&context.printer, context.printer.style());
    if !problems.is_empty() {
        printer.result(&render(problems, printer.settings().color_out));
    }
    let found = count(problems);
    let line = if has_errors(&project.problems) {
        style.paint(Look::Red, found)
    } else {
        let warnings = if found.is_empty() { String::new() } else { format!(" ({found})") };
        format!("{}{warnings}", style.paint(Look::Green, format!("valid: {}", contents(project))))
    };
    printer.result(&line);
}

/// `1 instance, 2 role selectors`.
fn contents(project: &Project) -> String {
    let documents = &project.documents;
    let counts = [
        (documents.instances.len(), "instance"),
        (documents.definitions.len(), "graph definition"),
        (documents.selectors.len(), "role selector"),
        (documents.namespaces.len(), "namespace"),
    ];
    counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| plural(count, noun)).collect::<Vec<_>>().join(", ")
}
