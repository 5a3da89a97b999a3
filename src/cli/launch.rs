//! From settings to an engine.

use super::context::Context;
use super::environment::{ARGOCD_AUTH_TOKEN, ARGOCD_OPTS, ARGOCD_SERVER};
use super::error::CliError;
use crate::argocd::settings::{ArgoCdSettings, SettingsError};
use crate::argocd::{self};
use crate::aws::sessions::{Options, Sessions};
use crate::engine::api::{ArgoCd, Engine, EngineSettings};
use crate::engine::events::Events;
use crate::state::folder::FolderStore;
use crate::state::store::Store;
use aws_config::SdkConfig;
use std::sync::Arc;

/// The store that holds state.
pub fn store(context: &Context) -> Arc<dyn Store> {
    Arc::new(FolderStore::new(&context.settings.state.value))
}

/// An engine that can reach AWS and Argo CD. Calls nothing yet.
pub async fn engine(context: &Context, events: Events) -> Result<Engine, CliError> {
    let argocd = argocd(context)?;
    let sessions = Sessions::new(options(context, &argocd)?).await;
    let mut settings = settings(context, argocd);
    // A profile may name a region too.
    settings.region = settings.region.or_else(|| sessions.region().map(ToOwned::to_owned));
    Ok(Engine::new(Arc::new(sessions), store(context), settings, events))
}

/// An engine for what is recorded. It can reach nothing.
pub fn offline_engine(context: &Context) -> Engine {
    let sessions = Sessions::over(&SdkConfig::builder().build(), Options::default());
    Engine::new(Arc::new(sessions), store(context), offline_settings(context), Events::nowhere())
}

/// The engine's settings where nothing is reached.
pub fn offline_settings(context: &Context) -> EngineSettings {
    settings(context, ArgoCd::NotConfigured)
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

fn options(context: &Context, argocd: &ArgoCd) -> Result<Options, CliError> {
    let clients = match argocd {
        ArgoCd::Server(settings) => Some(argocd::connect(settings).map_err(usage)?),
        ArgoCd::NotConfigured | ArgoCd::None => None,
    };
    Ok(Options { accounts: context.settings.accounts(), argocd: clients, ..Options::default() })
}

fn usage(error: SettingsError) -> CliError {
    CliError::Usage(error.to_string())
}

/// Whether and how clusters are registered. `argocd: none` says that there is no Argo CD, whatever the environment holds.
fn argocd(context: &Context) -> Result<ArgoCd, CliError> {
    if context.settings.file.argocd_none.is_some() {
        return Ok(ArgoCd::None);
    }
    let Some(server) = context.environment.get(ARGOCD_SERVER) else { return Ok(ArgoCd::NotConfigured) };
    let Some(token) = context.environment.get(ARGOCD_AUTH_TOKEN) else {
        let message = format!("{ARGOCD_SERVER} is set and {ARGOCD_AUTH_TOKEN} is not: set both, or neither");
        return Err(CliError::Usage(message));
    };
    let options = context.environment.get(ARGOCD_OPTS).unwrap_or_default();
    ArgoCdSettings::parse(&server, &token, &options).map(ArgoCd::Server).map_err(usage)
}
