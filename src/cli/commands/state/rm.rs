//! `fleetctl state rm`.

use super::{Changed, print, select, show, store};
use crate::cli::arguments::Rm;
use crate::cli::confirm::Questions;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::style::plural;
use crate::graph::identity::Identity;
use crate::state::file::{Record, StateFile};
use crate::state::session::Session;

/// Shows what will be forgotten, asks, and forgets it.
pub(super) async fn run(context: &Context, arguments: &Rm) -> Result<u8, CliError> {
    let store = store(context)?;
    let state = select::state(&*store, &arguments.name, arguments.namespace.as_deref()).await?;
    let doomed = chosen(&state, arguments)?;
    let questions = Questions::new(context, "state rm");
    show(context, &describe(&state, &doomed));
    questions.whether(&format!("Forget {}? Nothing is deleted on AWS.", plural(doomed.len(), "resource"))).await?;
    let holder = context.environment.holder(&context.command_line.to_string());
    let session = Session::open(store, state.instance.clone(), holder).await?;
    // Under the lock: somebody may have changed it since it was shown.
    let now = session.state();
    let doomed = chosen(&now, arguments)?;
    let identities: Vec<Identity> = doomed.iter().map(|record| record.identity.clone()).collect();
    let changed = doomed.iter().map(|record| record.address.to_string()).collect();
    let after = session.replace(without(now, &identities)).await?;
    session.close().await?;
    let text = format!("{} forgotten; serial {}.", plural(identities.len(), "resource"), after.serial);
    print(context, Changed { key: after.instance.store_key(), serial: after.serial, addresses: changed }, &text);
    Ok(0)
}

/// The records at the addresses. Of those about which a call is open, each has to be confirmed by name.
fn chosen(state: &StateFile, arguments: &Rm) -> Result<Vec<Record>, CliError> {
    let mut records: Vec<Record> = Vec::new();
    for address in &arguments.addresses {
        let record = select::record(state, address)?;
        let open = state.open_entries(&record.identity).next();
        let is_confirmed = arguments.confirm.iter().any(|one| *one == *address || *one == record.address.as_str());
        if let Some(begin) = open.filter(|_| !is_confirmed) {
            return Err(CliError::NeedsConfirmation(format!(
                "what came of {} for {address} is not known yet: apply or destroy finds out. To forget it all the same, confirm \
                 by name: --confirm {address}; nothing was changed",
                begin.operation
            )));
        }
        if !records.iter().any(|known| known.identity == record.identity) {
            records.push(record.clone());
        }
    }
    Ok(records)
}

fn describe(state: &StateFile, doomed: &[Record]) -> String {
    let lines = doomed.iter().map(|record| {
        let needs = |other: &&Record| other.dependencies.contains(&record.identity) && !doomed.contains(other);
        let needed: Vec<&str> = state.resources.iter().filter(needs).map(|other| other.address.as_str()).collect();
        let by = if needed.is_empty() { String::new() } else { format!("\n      needed by {}", needed.join(", ")) };
        format!("  - {}  {} {}{by}", record.address, record.identity.kind, record.id)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A state that knows nothing of some objects any more.
fn without(mut state: StateFile, doomed: &[Identity]) -> StateFile {
    state.resources.retain(|record| !doomed.contains(&record.identity));
    state.open.retain(|begin| !doomed.contains(&begin.identity));
    for record in &mut state.resources {
        record.dependencies.retain(|dependency| !doomed.contains(dependency));
    }
    state
}
