//! `fleetctl kubeconfig`.

use crate::aws::arn::RoleArn;
use crate::cli::arguments::Kubeconfig;
use crate::cli::blocking::blocking;
use crate::cli::context::Context;
use crate::cli::environment::{self, Environment};
use crate::cli::error::CliError;
use crate::cli::json::Versioned;
use crate::cli::kubeconfig::{Entry, Exec, merged, place, update, yaml};
use crate::cli::launch::{self, offline_engine};
use crate::cli::style::clean;
use crate::cli::targets::{is_key_of, unknown};
use crate::engine::clusters::{Access, RecordedCluster};
use crate::engine::events::Events;
use crate::graph::diagnostic::{SourceFile, closest};
use crate::state::file::{Phase, RoleUsed};
use serde::Serialize;
use std::path::Path;

/// What was written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    kubeconfig: String,
    context: &'a str,
    cluster: &'a str,
    server: &'a str,
    current: bool,
}

/// Puts a recorded cluster into a kubeconfig, or prints one with it alone.
pub(super) async fn run(context: &Context, arguments: &Kubeconfig) -> Result<u8, CliError> {
    let engine = offline_engine(context);
    let (clusters, unreadable) = engine.clusters().await?;
    let store = context.settings.state.value.to_string();
    let cluster = match choose(&clusters, arguments) {
        Ok(cluster) => cluster,
        // A state that cannot be read may hold what was asked for.
        Err(Missing::Unknown) if !unreadable.is_empty() => {
            let is_meant = |key: &str| !arguments.name.contains('/') || is_key_of(key, &arguments.name);
            let meant = unreadable.into_iter().find(|error| error.key().is_some_and(is_meant));
            return Err(meant.map_or_else(|| not_found(&clusters, &[], arguments, &store), CliError::from));
        }
        Err(Missing::Unknown) => {
            let instances: Vec<_> = engine.status().await?.0.into_iter().map(|one| (one.kind, one.name)).collect();
            return Err(not_found(&clusters, &instances, arguments, &store));
        }
        Err(Missing::Several(message)) => return Err(CliError::Usage(message)),
    };
    let access = access(context, cluster).await?;
    let entry = entry(context, arguments, cluster, access)?;
    if arguments.stdout {
        print_alone(context, &entry)?;
        return Ok(0);
    }
    let path = place(arguments.kubeconfig.as_deref(), &context.environment)?;
    let (target, put, keep) = (path.clone(), entry.clone(), arguments.keep_context);
    blocking(move || write(&target, &put, keep)).await?;
    report(context, arguments, &entry, &path);
    Ok(0)
}

/// Why no cluster was chosen.
#[derive(Debug, PartialEq, Eq)]
enum Missing {
    /// None is named so.
    Unknown,
    /// Several are; the message lists them.
    Several(String),
}

/// The cluster that the command line names.
fn choose<'a>(clusters: &'a [RecordedCluster], arguments: &Kubeconfig) -> Result<&'a RecordedCluster, Missing> {
    let is_named = |cluster: &&RecordedCluster| match arguments.name.split_once('/') {
        Some((kind, name)) => cluster.instance.kind.eq_ignore_ascii_case(kind) && cluster.instance.name == name,
        None => cluster.name == arguments.name,
    };
    let in_namespace = |cluster: &&RecordedCluster| {
        arguments.namespace.as_ref().is_none_or(|namespace| *namespace == cluster.instance.namespace)
    };
    let is_meant = |cluster: &&RecordedCluster| {
        let arn = cluster.access.as_ref().map(|access| access.arn.as_str());
        arguments.cluster.as_deref().is_none_or(|wanted| cluster.name == wanted || arn == Some(wanted))
    };
    let found: Vec<_> = clusters.iter().filter(is_named).filter(in_namespace).filter(is_meant).collect();
    match found[..] {
        [] => Err(Missing::Unknown),
        [one] => Ok(one),
        _ => {
            let lines: Vec<_> = found.iter().map(|cluster| format!("  {}", told_apart(cluster))).collect();
            Err(Missing::Several(format!("`{}` names several clusters; choose one:\n{}", arguments.name, lines.join("\n"))))
        }
    }
}

/// `EksCluster/one --namespace argocd --cluster one`, and where that is.
fn told_apart(cluster: &RecordedCluster) -> String {
    let RecordedCluster { instance, name, account, region, access, .. } = cluster;
    let name = access.as_ref().map_or(name, |access| &access.arn);
    let namespace = &instance.namespace;
    format!("{}/{} --namespace {namespace} --cluster {name}  ({account}, {region})", instance.kind, instance.name)
}

/// What is said of a name that leads to no cluster.
fn not_found(clusters: &[RecordedCluster], instances: &[(String, String)], arguments: &Kubeconfig, store: &str) -> CliError {
    let name = &arguments.name;
    // A name alone is enough to be found: then a namespace or a cluster that was given is at fault.
    let alone = Kubeconfig { namespace: None, cluster: None, ..arguments.clone() };
    let message = match (choose(clusters, &alone), name.split_once('/')) {
        (Ok(cluster), _) => format!("`{name}` names no cluster there; there is {}", told_apart(cluster)),
        (Err(Missing::Several(message)), _) => message,
        (Err(Missing::Unknown), Some((kind, instance)))
            if instances.iter().any(|(its_kind, its_name)| its_kind.eq_ignore_ascii_case(kind) && its_name == instance) =>
        {
            format!("{name} is recorded, but no EKS cluster of it: run `fleetctl apply` first")
        }
        (Err(Missing::Unknown), Some(_)) => {
            let names: Vec<_> = instances.iter().map(|(kind, name)| (kind.as_str(), name.as_str())).collect();
            unknown(name, &names, store)
        }
        (Err(Missing::Unknown), None) => {
            let near = closest(name, clusters.iter().map(|cluster| cluster.name.as_str()));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            format!("no cluster `{name}` is recorded in {store}{near}")
        }
    };
    CliError::Usage(message)
}

/// How to reach a cluster: as recorded, else as EKS says.
async fn access(context: &Context, cluster: &RecordedCluster) -> Result<Access, CliError> {
    let not_there = |why: &str| CliError::NotReady(format!("the cluster {} {why}", cluster.name));
    if cluster.phase == Phase::Deleting {
        return Err(not_there("is being deleted"));
    }
    if let Some(access) = &cluster.access {
        return Ok(access.clone());
    }
    let engine = launch::engine(context, Events::nowhere()).await?;
    let read = engine.read_access(cluster).await?;
    read.ok_or_else(|| not_there("has no address yet: EKS is still making it, or it is gone; see `fleetctl status`"))
}

fn entry(context: &Context, arguments: &Kubeconfig, cluster: &RecordedCluster, access: Access) -> Result<Entry, CliError> {
    let role = match &arguments.role_arn {
        Some(arn) if RoleArn::parse(arn).is_none() => {
            let message = format!("`{arn}` is not the ARN of a role: arn:aws:iam::123456789012:role/NAME");
            return Err(CliError::Usage(message));
        }
        // The external id goes with the role that is recorded.
        Some(arn) => {
            let recorded = cluster.role.clone().filter(|role| role.arn == *arn);
            Some(recorded.unwrap_or_else(|| RoleUsed { arn: arn.clone(), external_id: None }))
        }
        None => cluster.role.clone(),
    };
    let accounts = context.settings.accounts();
    let account = role.as_ref().and_then(|role| RoleArn::parse(&role.arn)).and_then(|role| accounts.get(role.account));
    let session = account.and_then(|account| account.session_name.clone());
    // The state does not hold it, the settings do.
    let external_id = account.and_then(|account| account.external_id.clone());
    let role = role.clone().map(|role| RoleUsed { external_id: role.external_id.or(external_id), ..role });
    let exec = Exec {
        command: own_name(std::env::current_exe().ok().as_deref(), &context.environment),
        arguments: token_arguments(cluster, role.as_ref(), session.as_deref()),
        profile: context.environment.get(environment::AWS_PROFILE).map(ToOwned::to_owned),
    };
    Ok(Entry {
        context: arguments.context.clone().unwrap_or_else(|| access.arn.clone()),
        arn: access.arn,
        server: access.endpoint,
        certificate_authority: access.certificate_authority,
        exec,
    })
}

/// What `fleetctl token` is called with.
fn token_arguments(cluster: &RecordedCluster, role: Option<&RoleUsed>, session: Option<&str>) -> Vec<String> {
    let named = |flag: &str, value: &str| [flag.to_owned(), value.to_owned()];
    let mut arguments = vec!["token".to_owned()];
    arguments.extend(named("--cluster", &cluster.name));
    arguments.extend(named("--region", &cluster.region));
    if let Some(role) = role {
        arguments.extend(named("--role-arn", &role.arn));
        arguments.extend(role.external_id.iter().flat_map(|id| named("--external-id", id)));
        arguments.extend(session.into_iter().flat_map(|name| named("--session-name", name)));
    }
    arguments
}

/// `fleetctl`, where PATH leads to this program by that name; otherwise its whole path.
fn own_name(program: Option<&Path>, environment: &Environment) -> String {
    let name = "fleetctl";
    let paths = environment.get(environment::PATH).map(std::env::split_paths).into_iter().flatten();
    let found = paths.map(|folder| folder.join(name)).find(|path| path.is_file()).and_then(|path| path.canonicalize().ok());
    let own = program.and_then(|path| path.canonicalize().ok());
    match own {
        Some(own) if found.as_ref() != Some(&own) => own.display().to_string(),
        _ => name.to_owned(),
    }
}

fn print_alone(context: &Context, entry: &Entry) -> Result<(), CliError> {
    let value = merged(&SourceFile::new("", ""), entry, false).map_err(CliError::Kubeconfig)?;
    if context.printer.is_json() {
        context.printer.json(&value);
    } else {
        context.printer.result(&yaml(&value).map_err(CliError::Output)?);
    }
    Ok(())
}

/// Puts the entry into the file. A file that says the same already is not written, so that its comments stay.
fn write(path: &Path, entry: &Entry, keep_current: bool) -> Result<(), CliError> {
    update(path, |text| {
        let file = SourceFile::new(path.display().to_string(), text);
        let value = merged(&file, entry, keep_current).map_err(CliError::Kubeconfig)?;
        let now = crate::graph::yaml::parse(&file).map_err(CliError::Kubeconfig)?;
        if now.first().is_some_and(|now| now.to_json() == value) {
            return Ok(None);
        }
        yaml(&value).map(Some).map_err(CliError::Output)
    })
}

fn report(context: &Context, arguments: &Kubeconfig, entry: &Entry, path: &Path) {
    let current = !arguments.keep_context;
    if context.printer.is_json() {
        let kubeconfig = path.display().to_string();
        let Entry { context: name, arn, server, .. } = entry;
        context.printer.json(&Versioned::new(Written { kubeconfig, context: name, cluster: arn, server, current }));
        return;
    }
    let is = if current { "is now the current context of" } else { "is in" };
    context.printer.result(&clean(&format!("{} {is} {}", entry.context, path.display())));
}

#[cfg(test)]
mod tests;
