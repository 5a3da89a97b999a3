//! From settings to an engine.

use super::arguments::ArgoCdKind;
use super::context::Context;
use super::environment::{ARGOCD_AUTH_TOKEN, ARGOCD_OPTS, ARGOCD_SERVER, Environment};
use super::error::CliError;
use super::settings::Settings;
use super::settings::place::Place;
use crate::argocd::settings::ArgoCdSettings;
use crate::argocd::{Reader, Writer, connect};
use crate::aws::sessions::{Options, Sessions};
use crate::aws::state_bucket;
use crate::engine::api::{ArgoCd, Engine, EngineSettings};
use crate::engine::events::Events;
use crate::state::folder::FolderStore;
use crate::state::s3::S3Store;
use crate::state::store::Store;
use std::sync::Arc;

/// The store that holds state. What S3 needs is loaded at its first use.
pub fn store(context: &Context) -> Arc<dyn Store> {
    match &context.settings.state.value {
        Place::Folder(folder) => Arc::new(FolderStore::new(folder)),
        Place::Bucket(location) => Arc::new(S3Store::new(location.clone(), Arc::new(|| Box::pin(state_bucket::way())))),
    }
}

/// An engine that can reach AWS and Argo CD. Calls nothing yet.
pub async fn engine(context: &Context, events: Events) -> Result<Engine, CliError> {
    check_endpoints(&context.environment)?;
    let argocd = argocd(&context.settings, &context.environment)?;
    let options = Options { accounts: context.settings.accounts(), argocd: clients(&argocd)?, ..Options::default() };
    let sessions = Sessions::new(options).await;
    let mut settings = settings(context, argocd);
    // A profile may name a region too.
    settings.region = settings.region.or_else(|| sessions.region().map(ToOwned::to_owned));
    Ok(Engine::new(Arc::new(sessions), store(context), settings, events))
}

/// Refuses endpoints that are set to nothing.
pub fn check_endpoints(environment: &Environment) -> Result<(), CliError> {
    let empty = environment.empty_endpoints();
    if empty.is_empty() {
        return Ok(());
    }
    Err(CliError::Usage(format!("{} is set to nothing: unset it, or give it an address", empty.join(", "))))
}

/// An engine for what is recorded. It can reach nothing.
pub fn offline_engine(context: &Context) -> Engine {
    Engine::new(Arc::new(Sessions::none()), store(context), offline_settings(context), Events::nowhere())
}

/// The engine's settings where nothing is reached.
pub fn offline_settings(context: &Context) -> EngineSettings {
    let none = context.settings.argocd.value == ArgoCdKind::None;
    settings(context, if none { ArgoCd::None } else { ArgoCd::NotConfigured })
}

fn settings(context: &Context, argocd: ArgoCd) -> EngineSettings {
    let settings = &context.settings;
    EngineSettings {
        holder: context.environment.holder(&context.command_line.to_string()),
        accounts: settings.accounts(),
        default_tags: settings.default_tags(),
        role_path: settings.file.role_path.as_ref().map(|path| path.value.clone()),
        permissions_boundary: settings.file.permissions_boundary.as_ref().map(|arn| arn.value.clone()),
        region: settings.region.value.clone(),
        argocd,
        parallelism: settings.parallelism.value,
        visibility_window: settings.visibility_window.value,
    }
}

/// Whether and how clusters are registered. `none` says that there is no Argo CD, whatever the environment holds.
fn argocd(settings: &Settings, environment: &Environment) -> Result<ArgoCd, CliError> {
    let kind = settings.argocd.value;
    if kind == ArgoCdKind::None {
        return Ok(ArgoCd::None);
    }
    let get = |name| environment.get(name).unwrap_or_default();
    let (server, token, options) = (get(ARGOCD_SERVER), get(ARGOCD_AUTH_TOKEN), get(ARGOCD_OPTS));
    let is_server = |word: &str| word == "--server" || word.starts_with("--server=");
    if server.is_empty() && !options.split_whitespace().any(is_server) {
        return Ok(ArgoCd::NotConfigured);
    }
    let reached = ArgoCdSettings::parse(server, token, options).map_err(|error| CliError::Usage(error.to_string()))?;
    Ok(ArgoCd::Server(reached.registering(settings.file.argocd.registering(kind))))
}

/// Reader and writer of Argo CD, where there is one.
fn clients(argocd: &ArgoCd) -> Result<Option<(Reader, Writer)>, CliError> {
    match argocd {
        ArgoCd::Server(settings) => connect(settings).map(Some).map_err(|error| CliError::Usage(error.to_string())),
        ArgoCd::NotConfigured | ArgoCd::None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::arguments::Common;

    fn chosen(file: &str, environment: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("fleetctl.yaml");
        std::fs::write(&config, file).unwrap();
        let environment = Environment::of(environment);
        let settings = Settings::load(&Common { config: Some(config), ..Common::default() }, &environment).unwrap();
        match argocd(&settings, &environment) {
            Ok(ArgoCd::Server(settings)) => settings.server().to_owned(),
            Ok(ArgoCd::NotConfigured) => "not configured".into(),
            Ok(ArgoCd::None) => "none".into(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn argo_cd_is_chosen_by_settings_and_environment() {
        let server = ("ARGOCD_SERVER", "argocd.example.com");
        let token = ("ARGOCD_AUTH_TOKEN", "token");
        let lines = [
            chosen("", &[]),
            chosen("", &[token]),
            chosen("", &[server, token]),
            chosen("", &[server]),
            chosen("", &[token, ("ARGOCD_OPTS", "--server localhost:8080 --plaintext")]),
            chosen("argocd: none", &[server, token]),
            chosen("argocd: none", &[server, token, ("FLEETCTL_ARGOCD", "hosted")]),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        not configured
        not configured
        https://argocd.example.com
        ARGOCD_AUTH_TOKEN is empty
        http://localhost:8080
        none
        https://argocd.example.com
        ");
    }
}
