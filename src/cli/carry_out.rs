//! What apply and destroy have in common: show the plans, ask, run all instances side by side, report.

use super::confirm::Questions;
use super::context::{CommandLine, Context};
use super::diagnostics;
use super::error::{CliError, worst};
use super::json::{PlanLine, SummaryLine, Versioned};
use super::json_drift::DriftLine;
use super::progress::Progress;
use super::render_drift;
use super::render_plan;
use super::render_report;
use super::style::{Look, clean};
use crate::engine::drift::report::DriftReport;
use crate::engine::plan::{Action, Change, Plan};
use crate::engine::report::{EngineError, RunReport};
use crate::engine::stop::Stop;
use crate::graph::diagnostic::Diagnostic;
use crate::graph::identity::Address;
use futures::future::join_all;

/// A command that changes something.
#[derive(Debug)]
pub(super) struct CarryOut<'a> {
    /// What it was given.
    pub(super) context: &'a Context,
    /// `apply` or `destroy`.
    pub(super) command: &'static str,
    /// Where events go.
    pub(super) progress: Progress,
    /// The command line that carries on after an interruption or a failure.
    pub(super) carry_on: CommandLine,
}

impl CarryOut<'_> {
    /// See [`Questions::can_be_answered`].
    pub(super) fn can_be_answered(&self) -> Result<(), CliError> {
        Questions::new(self.context, self.command).can_be_answered()
    }

    /// Warnings about the documents.
    pub(super) fn warn(&self, problems: &[Diagnostic]) {
        let printer = &self.context.printer;
        if !problems.is_empty() && !printer.is_json() {
            printer.note(&diagnostics::render(&diagnostics::sorted(problems), printer.settings().color_error));
        }
    }

    /// What could be opened. When one instance cannot, nothing at all is changed.
    pub(super) fn all_opened<T>(&self, opened: Vec<(String, Result<T, EngineError>)>) -> Result<Vec<T>, CliError> {
        let mut errors = Vec::new();
        let mut runs = Vec::new();
        for (instance, result) in opened {
            match result {
                Ok(run) => runs.push(run),
                Err(error) => {
                    if let EngineError::Refused(plan) = &error {
                        self.show(&[plan]);
                    }
                    errors.push(CliError::of(instance, error));
                }
            }
        }
        if errors.is_empty() { Ok(runs) } else { Err(CliError::join(errors)) }
    }

    /// Shows what has drifted.
    pub(super) fn show_drift(&self, drifts: &[&DriftReport]) {
        let printer = &self.context.printer;
        if drifts.is_empty() {
            return;
        }
        if printer.is_json() {
            printer.json_line(&Versioned::new(DriftLine::of(drifts)));
            return;
        }
        for drift in drifts {
            printer.result(&render_drift::render(drift, printer.style(), printer.settings().verbosity));
        }
    }

    /// Shows plans for what has drifted. For people what was shown as drift is not shown again, unless they have to know
    /// more.
    pub(super) fn show_beyond(&self, drifts: &[&DriftReport], plans: &[&Plan]) {
        let printer = &self.context.printer;
        let is_quiet = printer.settings().quiet && self.context.settings.yes.value;
        if drifts.is_empty() || printer.is_json() || is_quiet || printer.settings().verbosity > 0 {
            return self.show(plans);
        }
        for plan in plans {
            let drift = drifts.iter().find(|drift| drift.instance == plan.header.instance);
            if drift.is_some_and(|drift| is_all_drift(plan, drift)) {
                let text = format!("{}: {}", plan.header.instance, render_plan::summary(plan));
                printer.text(&printer.style().paint(Look::Bold, clean(&text)));
            } else {
                self.show(&[plan]);
            }
        }
    }

    /// Shows plans.
    pub(super) fn show(&self, plans: &[&Plan]) {
        let printer = &self.context.printer;
        if printer.is_json() {
            printer.json_line(&Versioned::new(PlanLine::of(plans)));
            return;
        }
        let is_refused = plans.iter().any(|plan| plan.is_refused());
        // With --yes nobody is asked about it.
        if printer.settings().quiet && self.context.settings.yes.value && !is_refused {
            return;
        }
        for plan in plans {
            printer.text(&render_plan::render(plan, printer.style(), printer.settings().verbosity));
        }
    }

    /// Refuses plans with refused changes, and asks about the others. Returns what was confirmed by name.
    pub(super) async fn ask(&self, question: &str, plans: &[&Plan], confirmed: &[String]) -> Result<Vec<String>, CliError> {
        if let Some(plan) = plans.iter().find(|plan| plan.is_refused()) {
            let error = EngineError::Refused(Box::new((*plan).clone()));
            return Err(CliError::of(plan.header.instance.to_string(), error));
        }
        let questions = Questions::new(self.context, self.command);
        if plans.iter().any(|plan| !plan.is_empty()) {
            questions.whether(question).await?;
        }
        questions.by_name(plans, confirmed).await
    }

    /// Runs what was opened, reports, and returns the exit code.
    pub(super) async fn run<F>(&self, runs: impl IntoIterator<Item = (String, F)>, stop: &Stop) -> Result<u8, CliError>
    where
        F: Future<Output = Result<RunReport, EngineError>>,
    {
        self.progress.restart();
        let guard = self.context.signals.guard(stop.clone(), self.on_interrupt());
        let all = join_all(runs.into_iter().map(|(instance, run)| async { (instance, run.await) }));
        let ended = stopping(all, self.context.printer.unread(), stop).await;
        drop(guard);
        self.progress.finish();
        let mut reports = Vec::new();
        let mut errors = Vec::new();
        for (instance, result) in ended {
            match result {
                Ok(report) => reports.push(report),
                Err(error) => errors.push(CliError::of(instance, error)),
            }
        }
        Ok(self.report(&reports, errors))
    }

    fn report(&self, reports: &[RunReport], errors: Vec<CliError>) -> u8 {
        let exit = worst(reports.iter().map(|report| report.end.exit_code()).chain(errors.iter().map(CliError::exit_code)));
        let to_confirm = reports.iter().flat_map(|report| &report.circumstances.to_confirm);
        let carry_on = self.carry_on.confirming(to_confirm.map(Address::as_str)).to_string();
        let printer = &self.context.printer;
        let error = (!errors.is_empty()).then(|| CliError::join(errors));
        if printer.is_json() {
            printer.json_line(&SummaryLine::of(self.command, reports, &carry_on, error.as_ref(), exit));
            return exit;
        }
        let columns = printer.settings().columns;
        printer.result(&render_report::render(reports, &carry_on, printer.style(), columns));
        if let Some(error) = error {
            super::print_error_text(printer, &error);
        }
        // As they are: these lines go back in.
        reports.iter().flat_map(|report| &report.circumstances.unsaved).for_each(|entry| printer.failure(entry));
        exit
    }

    /// What the user is told at the first Ctrl-C. How to carry on is said in the end.
    fn on_interrupt(&self) -> impl FnOnce() + Send + 'static {
        let progress = self.progress.clone();
        let text = "Stopping: nothing new is started, running calls finish and are recorded. Ctrl-C again leaves at once.";
        let text = self.context.printer.error_style().paint(Look::Yellow, text);
        move || progress.note(&text)
    }
}

/// Carries out to the end. When nobody reads any more what is said, the run is asked to stop.
async fn stopping<T>(all: impl Future<Output = T>, unread: impl Future<Output = ()>, stop: &Stop) -> T {
    tokio::pin!(all);
    tokio::select! {
        ended = &mut all => return ended,
        () = unread => stop.request(),
    }
    all.await
}

/// Whether a plan says nothing that a drift does not say.
fn is_all_drift(plan: &Plan, drift: &DriftReport) -> bool {
    let is_said = |change: &Change| {
        let is_found = drift.findings.iter().any(|finding| finding.address == change.address);
        let is_unsaid = change.by_name || change.waits || change.unreached.is_some();
        change.action == Action::None && !change.waits || is_found && !is_unsaid
    };
    let Plan { open_calls, warnings, checks, applications, .. } = plan;
    let is_bare = open_calls.is_empty() && warnings.is_empty() && checks.is_empty() && applications.is_empty();
    is_bare && !plan.is_refused() && plan.changes.iter().all(is_said)
}

/// How many objects plans change.
pub(super) fn changed(plans: &[&Plan]) -> usize {
    plans.iter().flat_map(|plan| &plan.changes).filter(|change| change.action != Action::None).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::arguments::OutputFormat;
    use crate::cli::printer::{Captured, PrinterSettings};
    use crate::cli::testing::{change, context, drift, plan, report};
    use crate::engine::finding::{Finding, Severity};
    use crate::engine::report::End;
    use serde_json::Value;
    use std::ffi::OsString;

    fn ended(format: OutputFormat, end: End) -> (u8, Captured) {
        let (context, out, _) = context(format);
        let carry_on = CommandLine::of(&["fleetctl", "apply", "a.yaml"].map(OsString::from));
        let carry_out = CarryOut { context: &context, command: "apply", progress: Progress::new(&context.printer), carry_on };
        (carry_out.report(&[report(end)], Vec::new()), out)
    }

    #[test]
    fn text_json_and_exit_code_say_the_same() {
        let expected = [
            (End::Done, 0, "done in", "done"),
            (End::Failed, 1, "failed after", "failed"),
            (End::Incomplete, 3, "incomplete after", "incomplete"),
            (End::Interrupted, 130, "interrupted after", "interrupted"),
        ];
        for (end, code, in_text, in_json) in expected {
            let (text_code, text) = ended(OutputFormat::Text, end);
            let (json_code, json) = ended(OutputFormat::Json, end);
            let last: Value = serde_json::from_str(json.text().lines().last().unwrap()).unwrap();
            assert_eq!((text_code, json_code, last["exit"].as_u64()), (code, code, Some(code.into())));
            assert!(text.text().contains(in_text), "{}", text.text());
            assert_eq!(last["instances"][0]["end"], in_json);
            assert_eq!(text.text().contains("fleetctl apply a.yaml"), code != 0);
            assert_eq!(last["carryOn"].as_str(), (code != 0).then_some("fleetctl apply a.yaml"));
        }
    }

    #[test]
    fn an_instance_that_changed_nothing_does_not_hide_the_others() {
        let (context, out, _) = context(OutputFormat::Json);
        let carry_on = CommandLine::of(&[]);
        let carry_out = CarryOut { context: &context, command: "apply", progress: Progress::new(&context.printer), carry_on };
        let error = CliError::of("EksCluster/other", EngineError::ArgoCd("no".into()));
        let code = carry_out.report(&[report(End::Done)], vec![error]);
        let last: Value = serde_json::from_str(&out.text()).unwrap();
        assert_eq!((code, &last["error"]["code"], &last["instances"][0]["end"]), (1, &"argocd".into(), &"done".into()));
    }

    #[test]
    fn a_plan_that_says_no_more_than_its_drift_is_one_line() {
        let (context, out, _) = context(OutputFormat::Text);
        let carry_on = CommandLine::of(&[]);
        let carry_out = CarryOut { context: &context, command: "apply", progress: Progress::new(&context.printer), carry_on };
        let mut plan = plan(vec![change(Action::Update, "vpc/table", "RouteTable"), change(Action::None, "vpc/vpc", "VPC")]);
        carry_out.show_beyond(&[&drift()], &[&plan]);
        assert_eq!(out.text(), "EksCluster/demo: Plan: 1 to update, 1 unchanged.\n");
        plan.changes[0].by_name = true;
        carry_out.show_beyond(&[&drift()], &[&plan]);
        assert!(out.text().contains("has to be confirmed by name"), "{}", out.text());
    }

    #[test]
    fn the_command_that_carries_on_confirms_what_has_to_be() {
        let (context, out, _) = context(OutputFormat::Text);
        let carry_on = CommandLine::of(&["fleetctl", "apply", "a.yaml"].map(OsString::from));
        let carry_out = CarryOut { context: &context, command: "apply", progress: Progress::new(&context.printer), carry_on };
        let mut report = report(End::Failed);
        report.circumstances.to_confirm = vec![Address("EksCluster/demo/cluster".into())];
        carry_out.report(&[report], Vec::new());
        let last = "Carry on with: fleetctl apply a.yaml --confirm EksCluster/demo/cluster\n";
        assert!(out.text().ends_with(last), "{}", out.text());
    }

    #[test]
    fn when_one_instance_cannot_be_opened_none_is_run() {
        let (context, _, _) = context(OutputFormat::Text);
        let carry_on = CommandLine::of(&[]);
        let carry_out = CarryOut { context: &context, command: "apply", progress: Progress::new(&context.printer), carry_on };
        let opened = vec![("a".into(), Ok(1)), ("b".into(), Err(EngineError::Identity("no credentials".into())))];
        assert_eq!(carry_out.all_opened(opened).unwrap_err().to_string(), "b: no credentials");
    }
    /// Whatever is refused is shown, also where nobody is asked.
    #[test]
    fn what_the_checks_refuse_is_shown_to_the_quiet_too() {
        let (mut context, out, _) = context(OutputFormat::Text);
        context.printer = context.printer.with(PrinterSettings { quiet: true, ..PrinterSettings::PLAIN });
        context.settings.yes.value = true;
        let carry_out = CarryOut {
            context: &context,
            command: "apply",
            progress: Progress::new(&context.printer),
            carry_on: CommandLine::of(&[]),
        };
        let create = change(Action::Create, "eks/cluster", "Cluster");
        let mut plan = plan(vec![create.clone()]);
        carry_out.show(&[&plan]);
        assert_eq!(out.text(), "");
        plan.checks.push(Finding::new(Severity::Refused, &create.address, &create.identity, "EKS has no Kubernetes 1.99"));
        carry_out.show(&[&plan]);
        assert!(out.text().contains("EKS has no Kubernetes 1.99"), "{}", out.text());
    }
}
