//! `fleetctl config show`.

use crate::cli::context::Context;
use crate::cli::definitions;
use crate::cli::environment::{self, Environment};
use crate::cli::json::Versioned;
use crate::cli::settings::file::Located;
use crate::cli::settings::{Origin, Setting, Settings};
use crate::cli::style::clean;
use crate::cli::table::table;
use clap::ValueEnum;
use serde::Serialize;
use std::fmt::Display;
use std::path::PathBuf;

#[derive(Debug, Serialize)]
struct Rows {
    settings: Vec<Row>,
}

/// A setting, its value and where that comes from.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    value: Option<String>,
    origin: String,
}

/// Prints every setting and where its value comes from.
pub(super) fn run(context: &Context) -> u8 {
    let rows = rows(&context.settings, &context.environment);
    if context.printer.is_json() {
        context.printer.json(&Versioned::new(Rows { settings: rows }));
        return 0;
    }
    let cells = rows
        .into_iter()
        .map(|row| [row.name, row.value.unwrap_or_else(|| "(not set)".into()), row.origin].map(|cell| clean(&cell)));
    context.printer.result(&table(["SETTING", "VALUE", "ORIGIN"], cells, context.printer.style()));
    0
}

fn rows(settings: &Settings, environment: &Environment) -> Vec<Row> {
    let mut rows = own_rows(settings);
    rows.extend(file_rows(settings));
    rows.extend(argocd_rows(settings, environment));
    rows.extend(aws_rows(environment));
    rows
}

/// Settings that a flag or a variable of fleetctl's own can give.
fn own_rows(settings: &Settings) -> Vec<Row> {
    let path = |setting: &Setting<Option<PathBuf>>, otherwise: Option<&str>| Setting {
        value: setting.value.as_ref().map(|path| path.display().to_string()).or(otherwise.map(Into::into)),
        origin: setting.origin.clone(),
    };
    let graphs = definitions::source(settings.graphs.value.as_deref());
    vec![
        optional("config", &path(&settings.config, None)),
        optional("graphs", &path(&settings.graphs, Some(graphs.as_str()))),
        row("state", &settings.state.value, &settings.state.origin),
        row("output", &choice(&settings.output.value), &settings.output.origin),
        row("yes", &settings.yes.value, &settings.yes.origin),
        row("quiet", &settings.quiet.value, &settings.quiet.origin),
        row("verbose", &settings.verbosity.value, &settings.verbosity.origin),
        row("color", &choice(&settings.color.value), &settings.color.origin),
        row("parallelism", &settings.parallelism.value, &settings.parallelism.origin),
        row("visibilityWindow", &format!("{}s", settings.visibility_window.value.as_secs()), &settings.visibility_window.origin),
        optional("region", &settings.region),
    ]
}

/// Settings that only the file can give.
fn file_rows(settings: &Settings) -> Vec<Row> {
    let file = &settings.file;
    let given = |name: String, value: &Located<String>| row(&name, &value.value, &Origin::File(value.location.clone()));
    let mut rows: Vec<Row> = [("rolePath", &file.role_path), ("permissionsBoundary", &file.permissions_boundary)]
        .into_iter()
        .filter_map(|(name, value)| Some(given(name.into(), value.as_ref()?)))
        .collect();
    rows.extend(file.default_tags.iter().map(|(key, value)| given(format!("defaultTags.{key}"), value)));
    rows.extend(file.account_values.iter().map(|(account, key, value)| given(format!("accounts.{account}.{key}"), value)));
    rows
}

/// Argo CD. Token and options, which may hold one, are never shown.
fn argocd_rows(settings: &Settings, environment: &Environment) -> Vec<Row> {
    let kind = row("argocd", &choice(&settings.argocd.value), &settings.argocd.origin);
    let given = settings.file.argocd.values.iter();
    let given = given.map(|(key, value)| row(&format!("argocd.{key}"), &value.value, &Origin::File(value.location.clone())));
    let server = variable("argocd.server", environment, environment::ARGOCD_SERVER);
    let server = Row { value: server.value.map(|server| without_password(&server)), ..server };
    let hidden = |name, variable_name| {
        let shown = variable(name, environment, variable_name);
        Row { value: shown.value.map(|_| "(set)".into()), ..shown }
    };
    let token = hidden("argocd.token", environment::ARGOCD_AUTH_TOKEN);
    let reached = [server, token, hidden("argocd.options", environment::ARGOCD_OPTS)];
    std::iter::once(kind).chain(given).chain(reached).collect()
}

/// What the AWS SDK reads for itself.
fn aws_rows(environment: &Environment) -> Vec<Row> {
    let mut rows = vec![variable("aws.profile", environment, environment::AWS_PROFILE)];
    let endpoints = [
        ("aws.endpoint", environment::AWS_ENDPOINT_URL),
        ("aws.endpoint.ec2", environment::AWS_ENDPOINT_URL_EC2),
        ("aws.endpoint.eks", environment::AWS_ENDPOINT_URL_EKS),
        ("aws.endpoint.iam", environment::AWS_ENDPOINT_URL_IAM),
        ("aws.endpoint.s3", environment::AWS_ENDPOINT_URL_S3),
        ("aws.endpoint.sts", environment::AWS_ENDPOINT_URL_STS),
    ];
    let set = endpoints.into_iter().map(|(name, key)| variable(name, environment, key)).filter(|row| row.value.is_some());
    rows.extend(set.map(|row| Row { value: row.value.map(|url| without_password(&url)), ..row }));
    rows
}

fn row(name: &str, value: &dyn Display, origin: &Origin) -> Row {
    Row { name: name.into(), value: Some(value.to_string()), origin: origin.to_string() }
}

fn optional(name: &str, setting: &Setting<Option<String>>) -> Row {
    Row { name: name.into(), value: setting.value.clone(), origin: setting.origin.to_string() }
}

fn variable(name: &str, environment: &Environment, variable: &'static str) -> Row {
    let value = environment.get(variable).map(ToOwned::to_owned);
    let origin = if value.is_some() { Origin::Environment(variable) } else { Origin::Default };
    optional(name, &Setting { value, origin })
}

fn choice(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// A URL without the user and password that it may hold.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    match rest.rsplit_once('@') {
        Some((_, host)) if scheme.is_empty() => format!("…@{host}"),
        Some((_, host)) => format!("{scheme}://…@{host}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::arguments::Common;
    use crate::cli::style::Style;

    #[test]
    fn every_value_has_an_origin_and_no_secret_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("fleetctl.yaml");
        let text = "accounts:\n  \"222222222222\":\n    roleName: ack\n    duration: 1h\ndefaultTags:\n  team: platform\n";
        std::fs::write(&config, text).unwrap();
        let environment = Environment::of(&[
            ("FLEETCTL_STATE", "/var/fleet"),
            ("AWS_REGION", "us-west-2"),
            ("ARGOCD_SERVER", "user:very-secret@argocd.example.com"),
            ("ARGOCD_AUTH_TOKEN", "very-secret"),
            ("ARGOCD_OPTS", "--auth-token very-secret"),
            ("AWS_ENDPOINT_URL", "http://user:very-secret@127.0.0.1:4566"),
        ]);
        let flags = Common { parallelism: Some(8), config: Some(config), ..Common::default() };
        let settings = Settings::load(&flags, &environment).unwrap();
        let cells = rows(&settings, &environment).into_iter().map(|row| [row.name, row.value.unwrap_or_default(), row.origin]);
        let text = table(["SETTING", "VALUE", "ORIGIN"], cells, Style::new(false));
        assert!(!text.contains("very-secret"), "{text}");
        insta::assert_snapshot!(text.replace(&folder.path().display().to_string(), "DIR"), @"
        SETTING                         VALUE                          ORIGIN
        config                          DIR/fleetctl.yaml  --config
        graphs                          graphs                         default
        state                           /var/fleet                     environment variable FLEETCTL_STATE
        output                          text                           default
        yes                             false                          default
        quiet                           false                          default
        verbose                         0                              default
        color                           auto                           default
        parallelism                     8                              --parallelism
        visibilityWindow                60s                            default
        region                          us-west-2                      environment variable AWS_REGION
        defaultTags.team                platform                       DIR/fleetctl.yaml:6
        accounts.222222222222.roleName  ack                            DIR/fleetctl.yaml:3
        accounts.222222222222.duration  1h                             DIR/fleetctl.yaml:4
        argocd                          auto                           default
        argocd.server                   …@argocd.example.com           environment variable ARGOCD_SERVER
        argocd.token                    (set)                          environment variable ARGOCD_AUTH_TOKEN
        argocd.options                  (set)                          environment variable ARGOCD_OPTS
        aws.profile                                                    default
        aws.endpoint                    http://…@127.0.0.1:4566        environment variable AWS_ENDPOINT_URL
        ");
    }
}
