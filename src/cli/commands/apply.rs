//! `fleetctl apply`.

use crate::cli::arguments::{Apply, Inputs};
use crate::cli::carry_out::CarryOut;
use crate::cli::context::{CommandLine, Context};
use crate::cli::error::CliError;
use crate::cli::launch;
use crate::cli::progress::Progress;
use crate::cli::project::Project;
use crate::cli::written_plan::WrittenPlan;
use crate::engine::stop::Stop;
use futures::future::join_all;

/// Plans, shows, asks and carries out, all instances side by side.
pub(super) async fn run(context: &Context, arguments: &Apply) -> Result<u8, CliError> {
    let written = WrittenPlan::read(&arguments.inputs.all())?;
    if let Some(plan) = &written {
        plan.check_inputs()?;
    }
    let inputs = match &written {
        Some(plan) => Inputs { files: plan.inputs().to_vec(), file: Vec::new() },
        None => arguments.inputs.clone(),
    };
    let project = Project::load(&context.settings, &inputs).await?;
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
        (instance, Box::pin(engine.open_apply(work)).await)
    }));
    let applies = carry_out.all_opened(opened.await)?;
    let plans: Vec<_> = applies.iter().map(crate::engine::api::Apply::plan).collect();
    carry_out.show(&plans);
    if let Some(written) = &written {
        written.check_plans(&plans)?;
    }
    let confirmed = carry_out.ask("Carry this out?", &plans, &arguments.confirm).await?;
    let stop = Stop::default();
    let runs = applies.into_iter().map(|apply| (apply.plan().header.instance.to_string(), apply.run(&confirmed, &stop)));
    carry_out.run(runs, &stop).await
}

/// The command line with the documents instead of their written plan, which is out of date once a run has begun.
fn without_plan(context: &Context, arguments: &Apply, inputs: &Inputs) -> CommandLine {
    let plan = arguments.inputs.all().first().map(|path| path.display().to_string()).unwrap_or_default();
    let documents: Vec<_> = inputs.files.iter().map(|path| path.display().to_string()).collect();
    context.command_line.replacing(&plan, &documents)
}
