//! `fleetctl import`.

use super::plan::waits;
use crate::cli::arguments::{Import as Arguments, Inputs};
use crate::cli::confirm::Questions;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::Versioned;
use crate::cli::launch;
use crate::cli::progress::Progress;
use crate::cli::project::Project;
use crate::cli::style::{Look, Style, clean};
use crate::engine::recovery::import::ImportReport;

/// Looks, shows, asks, and takes the object in.
pub(super) async fn run(context: &Context, arguments: &Arguments) -> Result<u8, CliError> {
    let printer = &context.printer;
    let questions = Questions::new(context, "import");
    questions.can_be_answered()?;
    let inputs = Inputs { files: Vec::new(), file: arguments.file.clone() };
    let project = Project::load(&context.settings, &inputs).await?;
    let progress = Progress::new(printer);
    progress.look();
    let engine = launch::engine(context, waits(printer)).await?;
    let works = engine.work(&project.documents, &project.definitions, &project.used).await?;
    let Arguments { address, id, confirm, .. } = arguments;
    let is_of = |instance: &str| address.strip_prefix(instance).is_some_and(|rest| rest.starts_with('/'));
    let root = |work: &crate::engine::work::Work| format!("{}/{}", work.key().kind, work.key().name);
    let Some(work) = works.into_iter().find(|work| is_of(&root(work))) else {
        return Err(CliError::Usage(format!("{address} is the address of no instance in these documents")));
    };
    let import = Box::pin(engine.import(work, address, id, confirm.as_deref() == Some(address))).await?;
    progress.finish();
    let report = import.report().clone();
    if !printer.is_json() {
        printer.text(&render(&report, printer.style()));
    }
    questions.whether(&format!("Record {id} as {address}?")).await?;
    import.write().await?;
    if printer.is_json() {
        printer.json(&Versioned::new(&report));
    } else {
        printer.result(&clean(&format!("Recorded {id} as {address}; plan shows what is left to do.")));
    }
    Ok(0)
}

/// What will be done.
fn render(report: &ImportReport, style: Style) -> String {
    let ImportReport { address, kind, account, region, id, .. } = report;
    let heading = format!("{address}: {kind} {id} in account {account}, region {region}");
    let mut lines = vec![style.paint(Look::Bold, clean(&heading))];
    lines.extend(report.marks.then(|| "it is given fleetctl's tags".to_owned()));
    if report.fields.is_empty() && report.impossible.is_empty() {
        lines.push("it is as the documents want it".to_owned());
    }
    let changes =
        report.fields.iter().map(|field| format!("the next apply changes {}: {} to {}", field.path, field.before, field.after));
    lines.extend(changes.map(|line| clean(&line)));
    lines.extend(report.impossible.iter().map(|text| style.paint(Look::Red, clean(&format!("no apply changes {text}")))));
    lines.join("\n")
}
