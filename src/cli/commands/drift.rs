//! `fleetctl drift`.

use super::plan::waits;
use crate::cli::arguments::Inputs;
use crate::cli::context::Context;
use crate::cli::diagnostics;
use crate::cli::error::{CliError, worst};
use crate::cli::json::Versioned;
use crate::cli::json_drift::Drifts;
use crate::cli::progress::Progress;
use crate::cli::project::Project;
use crate::cli::{launch, print_error_text, render_drift};
use crate::engine::drift::report::DriftReport;
use futures::future::join_all;

/// Looks for drift in every instance and shows it. An instance that cannot be judged does not hide the others.
pub(super) async fn run(context: &Context, inputs: &Inputs) -> Result<u8, CliError> {
    let project = Project::load(&context.settings, inputs).await?;
    let printer = &context.printer;
    if !project.problems.is_empty() && !printer.is_json() {
        printer.note(&diagnostics::render(&diagnostics::sorted(&project.problems), printer.settings().color_error));
    }
    let progress = Progress::new(printer);
    progress.look();
    let engine = launch::engine(context, waits(printer)).await?;
    let works = engine.work(&project.documents, &project.definitions, &project.used).await?;
    let looked = join_all(works.iter().map(|work| async { (work.key().to_string(), engine.drift(work).await) })).await;
    progress.finish();
    let mut reports = Vec::new();
    let mut errors = Vec::new();
    for (instance, result) in looked {
        match result {
            Ok(report) => reports.push(report),
            Err(error) => errors.push(CliError::of(instance, error)),
        }
    }
    show(context, &reports, &errors);
    Ok(exit_code(&reports, &errors))
}

fn show(context: &Context, reports: &[DriftReport], errors: &[CliError]) {
    let printer = &context.printer;
    let all: Vec<&DriftReport> = reports.iter().collect();
    if printer.is_json() {
        printer.json(&Versioned::new(Drifts::of(&all, errors)));
        return;
    }
    let texts = reports.iter().map(|report| render_drift::render(report, printer.style(), printer.settings().verbosity));
    let texts: Vec<String> = texts.collect();
    if !texts.is_empty() {
        printer.result(&texts.join("\n"));
    }
    if let Some(way_out) = render_drift::way_out(&all, &put_back(context), printer.style()) {
        printer.result(&format!("\n{way_out}"));
    }
    for error in errors {
        print_error_text(printer, error);
    }
}

/// The command that puts everything back.
fn put_back(context: &Context) -> String {
    context.command_line.replacing_first("drift", &["apply".to_owned(), "--drift-only".to_owned()]).to_string()
}

/// Failed beats incomplete, incomplete beats drift.
fn exit_code(reports: &[DriftReport], errors: &[CliError]) -> u8 {
    worst(reports.iter().map(DriftReport::exit_code).chain(errors.iter().map(CliError::exit_code)))
}
