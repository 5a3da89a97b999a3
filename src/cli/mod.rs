//! The command line: arguments, settings, printer, progress and reports. The only code that knows a terminal or the
//! environment.
//!
//! The way through a command: [`arguments`] are what was typed; [`settings`] are what holds, with its origin; a file of
//! [`commands`] does the work through the engine and gives an exit code. [`error::CliError`] is what ends a command
//! before it has a report. Everything that is written goes through [`printer`].

pub mod arguments;
mod blocking;
mod carry_out;
pub mod commands;
pub mod confirm;
pub mod context;
pub mod definitions;
pub mod diagnostics;
pub mod environment;
pub mod error;
pub mod fit;
mod forms;
pub mod json;
mod json_drift;
mod kubeconfig;
pub mod launch;
mod line_diff;
mod live;
pub mod load;
pub mod logging;
mod output_file;
pub mod printer;
pub mod progress;
pub mod project;
mod render_checks;
pub mod render_drawing;
mod render_drift;
pub mod render_graph;
pub mod render_markdown;
pub mod render_plan;
mod render_plan_fields;
pub mod render_report;
mod screen;
pub mod settings;
pub mod signals;
pub mod style;
pub mod table;
pub mod targets;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod view;
mod whole_file;
pub mod written_plan;

use crate::state::s3::all_released;
use arguments::{Arguments, ColorChoice, OutputFormat};
use clap::Parser;
use clap::error::ErrorKind;
use context::{CommandLine, Context};
use environment::Environment;
use error::CliError;
use json::{ErrorJson, Failed, SummaryLine, Versioned};
use printer::{Printer, PrinterSettings};
use settings::Settings;
use signals::Signals;
use std::ffi::OsString;
use std::num::NonZero;
use std::time::Duration;
use style::Look;

/// Stack of the runtime's threads: expressions recurse.
const STACK_SIZE: usize = 8 << 20;

/// Most threads that compute. A run waits far more than it computes: more would only take memory.
const THREADS: usize = 4;

/// Most threads that wait for files, names and input. Without a limit a busy machine starts one for nearly each write.
const BLOCKING_THREADS: usize = 16;

/// How long the release of locks in S3 may take when a command is left.
const LOCKS: Duration = Duration::from_secs(3);

/// Does what the command line says, and returns the exit code.
pub fn main(arguments: &[OsString]) -> u8 {
    let printer = Printer::new(PrinterSettings::PLAIN);
    let (code, printer) = match Environment::of_process() {
        Ok(environment) => run(arguments, &environment, &printer),
        Err(error) => (report(&printer, None, &error), printer),
    };
    match printer.lost_results() {
        Some(message) => {
            printer.failure(&message);
            error::worst([code, 1])
        }
        None => code,
    }
}

/// The same with another environment and other streams; returns the printer too, since settings choose its form.
fn run(arguments: &[OsString], environment: &Environment, printer: &Printer) -> (u8, Printer) {
    let printer = printer.with(first_settings(arguments, environment));
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => return (unparsed(&error, arguments, &printer), printer),
    };
    let command = &parsed.command;
    let settings = match Settings::of_command(&parsed, environment) {
        Ok(settings) => settings,
        Err(error) => return (report(&printer, Some(command), &error), printer),
    };
    let printer = printer.with(settings.printer(environment));
    let started = logging::start(settings.verbosity.value, printer.settings().color_error, environment);
    let fits = forms::check(&settings.output, command);
    let context = |signals: Signals| Context {
        settings,
        environment: environment.clone(),
        printer: printer.clone(),
        signals,
        command_line: CommandLine::of(arguments),
    };
    let outcome =
        started.and(fits).and_then(|()| in_runtime(|signals| async { commands::run(&context(signals), command).await }));
    printer.close_screen();
    let code = outcome.unwrap_or_else(|error| report(&printer, Some(command), &error));
    (code, printer)
}

/// Runs a command until it is done or has to be left.
fn in_runtime<F>(command: impl FnOnce(Signals) -> F) -> Result<u8, CliError>
where
    F: Future<Output = Result<u8, CliError>>,
{
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(threads)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_stack_size(STACK_SIZE)
        .build()
        .map_err(|error| CliError::Output(format!("the system gives no threads: {error}")))?;
    let outcome = runtime.block_on(async {
        let signals = Signals::listen();
        tokio::select! {
            outcome = command(signals.clone()) => outcome,
            () = signals.leave() => Err(CliError::Interrupted(signals.what_was_left())),
        }
    });
    // What was left holds locks until its last write is over. There are none of a folder.
    let _ = runtime.block_on(async { tokio::time::timeout(LOCKS, all_released()).await });
    // A question that nobody has answered would be waited for otherwise.
    runtime.shutdown_background();
    outcome
}

/// What the printer has to know before the settings are read.
fn first_settings(arguments: &[OsString], environment: &Environment) -> PrinterSettings {
    let is_json = arguments::asks_for_json(arguments, environment.get(environment::OUTPUT));
    let format = if is_json { OutputFormat::Json } else { OutputFormat::Text };
    let no_color = environment.get(environment::NO_COLOR).is_some();
    PrinterSettings { format, ..PrinterSettings::PLAIN }.colored(ColorChoice::Auto, no_color)
}

/// Prints what clap says of a command line that it does not take: help and version are results, the rest are errors.
fn unparsed(error: &clap::Error, arguments: &[OsString], printer: &Printer) -> u8 {
    let text = |colored: bool| if colored { error.render().ansi().to_string() } else { error.render().to_string() };
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        printer.result(&text(printer.settings().color_out));
        return 0;
    }
    let usage = CliError::Usage(text(false).trim_start_matches("error: ").trim_end().to_owned());
    if printer.is_json() {
        let streams = arguments.iter().skip(1).any(|word| word == "apply" || word == "destroy");
        print_error(printer, streams.then_some("apply"), &usage);
    } else {
        printer.failure(&text(printer.settings().color_error));
    }
    usage.exit_code()
}

/// Reports what ended a command, and returns the exit code.
fn report(printer: &Printer, command: Option<&arguments::Command>, error: &CliError) -> u8 {
    if printer.is_json() {
        print_error(printer, command.filter(|command| command.streams()).map(arguments::Command::name), error);
    } else {
        print_error_text(printer, error);
    }
    error.exit_code()
}

/// An error as an object, or as the last line of a command that streams.
fn print_error(printer: &Printer, streaming: Option<&str>, error: &CliError) {
    match streaming {
        Some(command) => printer.json_line(&SummaryLine::failed(command, error)),
        None => printer.json(&Versioned::new(Failed { error: ErrorJson::from(error) })),
    }
}

fn print_error_text(printer: &Printer, error: &CliError) {
    if let CliError::Interrupted(_) = error {
        // Nothing went wrong.
        printer.failure(&printer.error_style().paint(Look::Yellow, error.to_string()));
        return;
    }
    let settings = printer.settings();
    let all = error.diagnostics();
    if !all.is_empty() {
        printer.failure(&diagnostics::render(&diagnostics::sorted(all.iter().copied()), settings.color_error));
    }
    printer.failure(&format!("{} {}", printer.error_style().paint(Look::Red, "error:"), style::clean(&error.to_string())));
}
