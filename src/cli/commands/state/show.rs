//! `fleetctl state show`.

use super::{print, select, store};
use crate::cli::arguments::Show;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::style::plural;
use crate::cli::table::table;
use crate::state::file::{Record, StateFile};
use chrono::SecondsFormat;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;

/// An instance.
#[derive(Debug, Serialize)]
struct Instance<'a> {
    state: &'a StateFile,
}

/// A resource.
#[derive(Debug, Serialize)]
struct Resource<'a> {
    resource: &'a Record,
}

/// Prints what is recorded.
pub(super) async fn run(context: &Context, arguments: &Show) -> Result<u8, CliError> {
    let store = store(context)?;
    let state = select::state(&*store, &arguments.name, arguments.namespace.as_deref()).await?;
    match &arguments.address {
        Some(address) => {
            let resource = select::record(&state, address)?;
            print(context, Resource { resource }, &of_record(resource));
        }
        None => print(context, Instance { state: &state }, &of_state(context, &state)),
    }
    Ok(0)
}

fn of_state(context: &Context, state: &StateFile) -> String {
    let StateFile { lineage, serial, writer, definitions, open, resources, .. } = state;
    let mut text = format!("{}\n  lineage      {lineage}\n  serial       {serial}\n  written by   {writer}", state.instance);
    // Writing to a text does not fail.
    if let Some(used) = definitions {
        let _ = write!(text, "\n  definitions  {}, sha256 {}", used.source, used.hash);
    }
    for begin in open {
        let at = begin.at.to_rfc3339_opts(SecondsFormat::Secs, true);
        let _ = write!(
            text,
            "\n  open call    {} for {} since {at}: the next run looks what came of it",
            begin.operation, begin.address
        );
    }
    let _ = write!(text, "\n  {}\n\n", plural(resources.len(), "resource"));
    let rows = resources.iter().map(|record| {
        let since = record.since.to_rfc3339_opts(SecondsFormat::Secs, true);
        let phase = format!("{:?}", record.phase).to_lowercase();
        [record.address.to_string(), record.identity.kind.clone(), record.id.clone(), phase, since]
    });
    text + &table(["ADDRESS", "KIND", "ID", "PHASE", "SINCE"], rows, context.printer.style())
}

/// A record with one field a line; what is nested as JSON.
fn of_record(record: &Record) -> String {
    let Ok(Value::Object(fields)) = serde_json::to_value(record) else { return String::new() };
    let lines = fields.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        Value::Object(_) | Value::Array(_) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            format!("{name}: {}", text.replace('\n', "\n  "))
        }
        other => format!("{name}: {other}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}
