//! `fleetctl state list`.

use super::{print, select, store};
use crate::cli::arguments::List;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::table::table;
use crate::engine::report::End;
use crate::state::file::{Phase, StateFile};
use serde::Serialize;

/// What is recorded.
#[derive(Debug, Serialize)]
struct Resources {
    resources: Vec<Resource>,
}

/// A recorded resource.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    address: String,
    namespace: String,
    kind: String,
    id: String,
    phase: Phase,
    account: String,
    region: String,
}

/// Prints one line a resource. A state that cannot be read does not hide the others.
pub(super) async fn run(context: &Context, arguments: &List) -> Result<u8, CliError> {
    let store = store(context)?;
    let (states, unreadable) = select::states(&*store, &arguments.names, arguments.namespace.as_deref()).await?;
    for error in &unreadable {
        context.printer.failure(&format!("not read: {error}"));
    }
    let resources: Vec<Resource> = states.iter().flat_map(of).collect();
    let text = if resources.is_empty() {
        format!("Nothing is recorded in {}.", store.name())
    } else {
        let rows = resources.iter().map(|one| {
            let phase = format!("{:?}", one.phase).to_lowercase();
            [one.address.clone(), one.kind.clone(), one.id.clone(), phase, one.account.clone(), one.region.clone()]
        });
        table(["ADDRESS", "KIND", "ID", "PHASE", "ACCOUNT", "REGION"], rows, context.printer.style())
    };
    print(context, Resources { resources }, &text);
    Ok(if unreadable.is_empty() { 0 } else { End::Incomplete.exit_code() })
}

fn of(state: &StateFile) -> impl Iterator<Item = Resource> {
    let namespace = &state.instance.namespace;
    state.resources.iter().map(move |record| Resource {
        address: record.address.to_string(),
        namespace: namespace.clone(),
        kind: record.identity.kind.clone(),
        id: record.id.clone(),
        phase: record.phase,
        account: record.identity.account.clone(),
        region: record.identity.region.clone(),
    })
}
