//! The form of results that was asked for, and whether the command has it.

use super::arguments::{Command, OutputFormat};
use super::error::CliError;
use super::settings::{Origin, Setting};

/// Refuses a form that the command does not have. A variable that asks for JSON everywhere is not held against commands
/// whose results are scripts and manual pages.
pub(super) fn check(output: &Setting<OutputFormat>, command: &Command) -> Result<(), CliError> {
    let form = output.value;
    let is_flag = matches!(output.origin, Origin::Flag(_));
    if command.forms().contains(&form) || (form == OutputFormat::Json && !is_flag) {
        return Ok(());
    }
    let asked = match &output.origin {
        Origin::Flag(_) => format!("-o {}", form.word()),
        _ => format!("{} ({})", form.word(), output.origin),
    };
    let forms: Vec<_> = command.forms().iter().map(|form| form.word()).collect();
    let name = command.name();
    Err(CliError::Usage(format!("`fleetctl {name}` has no form `{asked}`, only {}{}", listed(&forms), elsewhere(form))))
}

/// Which command has the form.
fn elsewhere(form: OutputFormat) -> String {
    let home = match form {
        OutputFormat::Dot | OutputFormat::Mermaid => "graph",
        OutputFormat::Markdown => "plan",
        OutputFormat::Text | OutputFormat::Json => return String::new(),
    };
    format!("; {} is a form of `fleetctl {home}`", form.word())
}

/// `text, json and dot`.
fn listed(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::arguments::Arguments;
    use clap::Parser;

    fn said(line: &str, form: OutputFormat, origin: Origin) -> String {
        let arguments = Arguments::try_parse_from(line.split(' ')).unwrap();
        check(&Setting { value: form, origin }, &arguments.command).map_or_else(|error| error.to_string(), |()| "fits".into())
    }

    #[test]
    fn forms_that_do_not_fit_are_refused_with_those_that_do() {
        let flag = || Origin::Flag("--output");
        let variable = || Origin::Environment("FLEETCTL_OUTPUT");
        let lines = [
            said("fleetctl graph x.yaml", OutputFormat::Dot, flag()),
            said("fleetctl plan x.yaml", OutputFormat::Markdown, flag()),
            said("fleetctl status", OutputFormat::Dot, flag()),
            said("fleetctl graph x.yaml", OutputFormat::Markdown, flag()),
            said("fleetctl apply x.yaml", OutputFormat::Mermaid, variable()),
            said("fleetctl completion bash", OutputFormat::Json, flag()),
            said("fleetctl completion bash", OutputFormat::Json, variable()),
            said("fleetctl token --cluster a --region b", OutputFormat::Json, variable()),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        fits
        fits
        `fleetctl status` has no form `-o dot`, only text and json; dot is a form of `fleetctl graph`
        `fleetctl graph` has no form `-o markdown`, only text, json, dot and mermaid; markdown is a form of `fleetctl plan`
        `fleetctl apply` has no form `mermaid (environment variable FLEETCTL_OUTPUT)`, only text and json; mermaid is a form of `fleetctl graph`
        `fleetctl completion` has no form `-o json`, only text
        fits
        fits
        ");
    }
}
