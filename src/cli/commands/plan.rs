//! `fleetctl plan`.

use crate::cli::arguments::{OutputFormat, Plan};
use crate::cli::context::Context;
use crate::cli::diagnostics;
use crate::cli::error::{CliError, worst};
use crate::cli::json::{Plans, Versioned};
use crate::cli::output_file::{self, Content};
use crate::cli::printer::Printer;
use crate::cli::progress::Progress;
use crate::cli::project::Project;
use crate::cli::written_plan::WrittenPlan;
use crate::cli::{launch, live, print_error_text, render_markdown, render_plan};
use crate::engine::events::{Event, Events};
use crate::engine::plan;
use futures::future::join_all;

/// Plans every instance and shows it. An instance that cannot be planned does not hide the others.
pub(super) async fn run(context: &Context, arguments: &Plan) -> Result<u8, CliError> {
    if let Some(path) = &arguments.out {
        output_file::check(path, Content::Plan, &context.settings.state.value)?;
    }
    let project = match Project::load(&context.settings, &arguments.inputs).await {
        Ok(project) => project,
        Err(error) => return Err(live::explained(context, error).await),
    };
    let printer = &context.printer;
    if !project.problems.is_empty() && !printer.is_json() {
        printer.note(&diagnostics::render(&diagnostics::sorted(&project.problems), printer.settings().color_error));
    }
    let progress = Progress::new(printer);
    progress.look();
    let engine = launch::engine(context, waits(printer)).await?;
    let works = engine.work(&project.documents, &project.definitions, &project.used).await?;
    let engine = &engine;
    let planned = join_all(works.iter().map(|work| async move { (work, engine.plan(work).await) })).await;
    let mut plans = Vec::new();
    let mut errors = Vec::new();
    for (work, result) in planned {
        match result {
            Ok(plan) => plans.push((work, plan)),
            Err(error) => errors.push(CliError::of(work.key().to_string(), error)),
        }
    }
    engine.check(&mut plans).await;
    progress.finish();
    let plans: Vec<plan::Plan> = plans.into_iter().map(|(_, plan)| plan).collect();
    show(context, &plans, &errors);
    let code = exit_code(&plans, &errors, arguments.detailed_exitcode);
    match &arguments.out {
        Some(path) if matches!(code, 0 | 2) => {
            WrittenPlan::new(arguments.inputs.all(), &project, plans)?.write(path)?;
            printer.note(&format!("Written to {0}. Carry it out with: fleetctl apply {0}", path.display()));
        }
        Some(path) => printer.failure(&format!("{} was not written: {}", path.display(), why_not_written(code))),
        None => {}
    }
    Ok(code)
}

/// A plan may have to wait until the absence of something that was just made counts: that is said beside the plan.
pub(super) fn waits(printer: &Printer) -> Events {
    let printer = printer.clone();
    Events::to(move |event| {
        if let Event::Waiting { address, kind, usually_seconds, .. } = event {
            printer.note(&format!("{address}  {kind}  is not to be seen; its absence counts in {usually_seconds:.0} s"));
        }
    })
}

fn show(context: &Context, plans: &[plan::Plan], errors: &[CliError]) {
    let printer = &context.printer;
    if printer.is_json() {
        let plans: Vec<_> = plans.iter().collect();
        printer.json(&Versioned::new(Plans::of(&plans, errors)));
        return;
    }
    if printer.settings().format == OutputFormat::Markdown {
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        printer.result(&render_markdown::render(plans, &errors));
    }
    for plan in plans.iter().filter(|_| printer.settings().format == OutputFormat::Text) {
        printer.text(&render_plan::render(plan, printer.style(), printer.settings().verbosity));
    }
    for error in errors {
        print_error_text(printer, error);
    }
}

fn why_not_written(code: u8) -> &'static str {
    match code {
        3 => "the plan is not complete, and what could not be read may ask for more; plan again when it can be read",
        _ => "the plan cannot be carried out",
    }
}

/// A plan that apply would refuse has failed; one that could not read everything is incomplete.
fn exit_code(plans: &[plan::Plan], errors: &[CliError], detailed: bool) -> u8 {
    let of_plan = |plan: &plan::Plan| match plan {
        plan if plan.is_refused() => 1,
        plan if !plan.is_complete() => 3,
        plan if detailed && render_plan::has_changes(plan) => 2,
        _ => 0,
    };
    worst(plans.iter().map(of_plan).chain(errors.iter().map(CliError::exit_code)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testing::{change, plan};
    use crate::engine::plan::Action;

    #[test]
    fn the_exit_code_says_whether_there_are_changes_only_when_asked() {
        let create = plan(vec![change(Action::Create, "vpc/vpc", "VPC")]);
        let nothing = plan(vec![change(Action::None, "vpc/vpc", "VPC")]);
        let refused = plan(vec![change(Action::Refused, "vpc/vpc", "VPC")]);
        assert_eq!(exit_code(std::slice::from_ref(&create), &[], true), 2);
        assert_eq!(exit_code(std::slice::from_ref(&create), &[], false), 0);
        let mut unread = nothing.clone();
        unread.changes[0].unread = true;
        assert_eq!(exit_code(&[nothing], &[], true), 0);
        assert_eq!(exit_code(&[create.clone(), unread], &[], true), 3);
        assert_eq!(exit_code(&[create.clone(), refused], &[], true), 1);
        assert_eq!(exit_code(&[create], &[CliError::Usage("no".into())], true), 4);
    }
}
