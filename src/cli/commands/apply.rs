//! `fleetctl apply`.

use crate::cli::arguments::{self, Inputs};
use crate::cli::carry_out::CarryOut;
use crate::cli::context::{CommandLine, Context};
use crate::cli::error::CliError;
use crate::cli::launch;
use crate::cli::live;
use crate::cli::progress::Progress;
use crate::cli::project::Project;
use crate::cli::written_plan::WrittenPlan;
use crate::engine::api::{Apply, Scope};
use crate::engine::report::EngineError;
use crate::engine::stop::Stop;
use futures::future::join_all;

/// Plans, shows, asks and carries out, all instances side by side.
pub(super) async fn run(context: &Context, arguments: &arguments::Apply) -> Result<u8, CliError> {
    let written = WrittenPlan::read(&arguments.inputs.all())?;
    if let Some(plan) = &written {
        if arguments.drift_only {
            let message = "--drift-only does not go with a written plan: give it the documents, apply the plan without it";
            return Err(CliError::Usage(message.to_owned()));
        }
        plan.check_inputs()?;
    }
    let scope = if arguments.drift_only { Scope::DriftOnly } else { Scope::Everything };
    let inputs = match &written {
        Some(plan) => Inputs { files: plan.inputs().to_vec(), file: Vec::new() },
        None => arguments.inputs.clone(),
    };
    let project = match Project::load(&context.settings, &inputs).await {
        Ok(project) => project,
        Err(error) => return Err(live::explained(context, error).await),
    };
    if let Some(plan) = &written {
        plan.check_documents(&project)?;
    }
    let carry_on = if written.is_some() { without_plan(context, arguments, &inputs) } else { context.command_line.clone() };
    let carry_out = CarryOut { context, command: "apply", progress: Progress::new(&context.printer), carry_on };
    carry_out.warn(&project.problems);
    carry_out.can_be_answered()?;
    carry_out.progress.look();
    let engine = launch::engine(context, carry_out.progress.events()).await?;
    let works = engine.work(&project.documents, &project.definitions, &project.used).await?;
    let opened = join_all(works.into_iter().map(|work| async {
        let instance = work.key().to_string();
        (instance, Box::pin(engine.open_apply(work, scope)).await)
    }));
    let mut applies = carry_out.all_opened(recorded(context, opened.await))?;
    engine.check_applies(&mut applies).await;
    carry_out.progress.finish();
    let plans: Vec<_> = applies.iter().map(Apply::plan).collect();
    let drifts: Vec<_> = applies.iter().filter_map(Apply::drift).collect();
    carry_out.show_drift(&drifts);
    carry_out.show_beyond(&drifts, &plans);
    if let Some(written) = &written {
        written.check_plans(&plans)?;
    }
    let confirmed = carry_out.ask("Carry this out?", &plans, &arguments.confirm).await?;
    let stop = Stop::default();
    let runs = applies.into_iter().map(|apply| (apply.plan().header.instance.to_string(), apply.run(&confirmed, &stop)));
    carry_out.run(runs, &stop).await
}

/// Without the instances of which nothing is recorded, where others are: of those nothing can have drifted.
fn recorded(
    context: &Context,
    mut opened: Vec<(String, Result<Apply, EngineError>)>,
) -> Vec<(String, Result<Apply, EngineError>)> {
    if opened.iter().any(|(_, result)| result.is_ok()) {
        opened.retain(|(_, result)| match result {
            Err(error @ EngineError::NothingApplied(_)) => {
                context.printer.note(&error.to_string());
                false
            }
            _ => true,
        });
    }
    opened
}

/// The command line with the documents instead of their written plan, which is out of date once a run has begun.
fn without_plan(context: &Context, arguments: &arguments::Apply, inputs: &Inputs) -> CommandLine {
    let plan = arguments.inputs.all().first().map(|path| path.display().to_string()).unwrap_or_default();
    let documents: Vec<_> = inputs.files.iter().map(|path| path.display().to_string()).collect();
    context.command_line.replacing(&plan, &documents)
}
