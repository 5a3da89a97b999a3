//! `fleetctl destroy`.

use crate::cli::arguments::{Destroy, Inputs};
use crate::cli::carry_out::{CarryOut, changed};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::launch;
use crate::cli::load::STDIN;
use crate::cli::progress::Progress;
use crate::cli::project::Project;
use crate::cli::settings::file::parse_duration;
use crate::cli::style::plural;
use crate::cli::targets::{self, Recorded};
use crate::engine::api::{Drain, Engine};
use crate::engine::plan::Plan;
use crate::engine::stop::Stop;
use crate::state::file::InstanceKey;
use crate::state::session::read_each;
use crate::state::store::Store;
use futures::future::join_all;
use std::path::PathBuf;
use std::time::Duration;

/// How long Applications may take to go.
const DRAIN_TIMEOUT: Duration = Duration::from_mins(10);

/// Plans from the state, shows, asks and carries out, all instances side by side.
pub(super) async fn run(context: &Context, arguments: &Destroy) -> Result<u8, CliError> {
    let store = launch::store(context);
    let mut recorded = recorded(&*store).await?;
    let keys = targets::keys(arguments, &mut recorded).await?;
    // One that is to be destroyed is named when it is opened.
    for (_, error) in recorded.unreadable.iter().filter(|(key, _)| !keys.iter().any(|named| named.store_key() == *key)) {
        context.printer.failure(&format!("warning: {error}"));
    }
    let progress = Progress::new(&context.printer);
    let carry_out = CarryOut { context, command: "destroy", progress, carry_on: context.command_line.clone() };
    carry_out.can_be_answered()?;
    let drain = drain(arguments)?;
    carry_out.progress.look();
    let engine = launch::engine(context, carry_out.progress.events()).await?;
    recorded.empty.retain(|key| keys.contains(key));
    refuse_lost(context, &engine, targets::documents(arguments), &recorded.empty).await?;
    let opened = join_all(keys.iter().map(|key| async { (key.to_string(), engine.open_destroy(key, drain.clone()).await) }));
    // What was recorded a moment ago and is not any more is destroyed.
    let destroys: Vec<_> = carry_out.all_opened(opened.await)?.into_iter().flatten().collect();
    carry_out.progress.finish();
    let plans: Vec<_> = destroys.iter().map(crate::engine::api::Destroy::plan).collect();
    carry_out.show(&plans);
    let instances = plans.iter().map(|plan| plan.header.instance.to_string()).collect::<Vec<_>>().join(", ");
    let question = format!("Destroy {}, {} in all{}?", instances, plural(changed(&plans), "object"), living(&plans));
    let confirmed = carry_out.ask(&question, &plans, &arguments.confirm).await?;
    let stop = Stop::default();
    let runs = destroys.into_iter().map(|destroy| (destroy.plan().header.instance.to_string(), destroy.run(&confirmed, &stop)));
    carry_out.run(runs, &stop).await
}

/// A state that has recorded nothing cannot tell what is there; its documents can, as far as they are sound.
async fn refuse_lost(context: &Context, engine: &Engine, documents: Vec<PathBuf>, keys: &[InstanceKey]) -> Result<(), CliError> {
    if keys.is_empty() || documents.is_empty() || documents.iter().any(|path| path.as_os_str() == STDIN) {
        return Ok(());
    }
    let inputs = Inputs { files: documents, file: Vec::new() };
    let project = match Project::load(&context.settings, &inputs).await {
        Ok(project) => project,
        Err(error) => {
            context.printer.failure(&format!("warning: what is not recorded was not looked for: {error}"));
            return Ok(());
        }
    };
    let works = engine.work(&project.documents, &project.definitions, &project.used).await?;
    for work in works.iter().filter(|work| keys.contains(&work.key())) {
        engine.refuse_unrecorded(work).await.map_err(|error| CliError::of(work.key().to_string(), error))?;
    }
    Ok(())
}

/// How Applications are removed first, if they are.
fn drain(arguments: &Destroy) -> Result<Option<Drain>, CliError> {
    let timeout = match &arguments.drain_timeout {
        Some(text) => {
            let wrong = |expected| CliError::Usage(format!("--drain-timeout is {expected}, not `{text}`"));
            parse_duration(text).map_err(wrong)?
        }
        None => DRAIN_TIMEOUT,
    };
    Ok(arguments.drain.then(|| Drain { timeout, labels: arguments.drain_label.iter().cloned().collect() }))
}

/// That something lives on the clusters, as part of the question; the plans say what.
fn living(plans: &[&Plan]) -> String {
    let counts: Vec<Option<u64>> = plans.iter().flat_map(|plan| &plan.applications).map(|found| found.count).collect();
    match counts.iter().flatten().sum() {
        _ if counts.contains(&None) => ", where Applications may live".to_owned(),
        0 => String::new(),
        1 => ", where 1 Application lives".to_owned(),
        count => format!(", where {count} Applications live"),
    }
}

/// What is recorded. A state that cannot be read does not keep others from being destroyed.
async fn recorded(store: &dyn Store) -> Result<Recorded, CliError> {
    let mut recorded = Recorded { store: store.name(), ..Recorded::default() };
    for (key, state) in read_each(store).await? {
        match state {
            Ok(state) => {
                if state.resources.is_empty() && state.open.is_empty() {
                    recorded.empty.push(state.instance.clone());
                }
                recorded.keys.push(state.instance);
            }
            Err(error) => recorded.unreadable.push((key, error)),
        }
    }
    Ok(recorded)
}
