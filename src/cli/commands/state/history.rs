//! `fleetctl state history`.

use super::{print, select, store};
use crate::cli::arguments::History;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::style::plural;
use crate::cli::table::table;
use crate::state::file::StateFile;
use crate::state::survey::{Survey, survey};
use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

/// The versions that are kept.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    key: String,
    versions: Vec<Version>,
    /// Entries of the journal since the newest of them.
    entries_since: usize,
}

/// A version, and what it changed.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    serial: u64,
    current: bool,
    /// When its youngest change was recorded.
    latest: Option<DateTime<Utc>>,
    writer: String,
    resources: usize,
    /// Addresses that it has and the version before it has not; of the oldest that is kept, null.
    added: Option<Vec<String>>,
    removed: Option<Vec<String>>,
    changed: Option<Vec<String>>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<String>,
}

/// Prints the versions, the newest first.
pub(super) async fn run(context: &Context, arguments: &History) -> Result<u8, CliError> {
    let store = store(context)?;
    let key = select::key(&*store, &arguments.name, arguments.namespace.as_deref()).await?;
    let survey = survey(&*store, &key).await?;
    if survey.file.is_none() && survey.versions.is_empty() {
        return Err(CliError::Usage(format!("nothing is recorded at {key} in {}", store.name())));
    }
    let versions = versions(&survey);
    let entries_since = survey.segments.iter().flat_map(|segment| &segment.entries).map(Vec::len).sum();
    let rows = versions.iter().map(row);
    let mut text = table(
        ["SERIAL", "YOUNGEST RESOURCE", "WRITTEN BY", "RESOURCES", "ADDED", "REMOVED", "CHANGED"],
        rows,
        context.printer.style(),
    );
    if entries_since > 0 {
        text =
            format!("{text}\n\nA journal of {} goes on from there.", plural(entries_since, "entry").replace("entrys", "entries"));
    }
    print(context, Kept { key, versions, entries_since }, &text);
    Ok(0)
}

/// All versions, each compared with the one before it.
fn versions(survey: &Survey) -> Vec<Version> {
    let current = survey.file.iter().map(|file| match file {
        Ok(state) => (state.serial, true, Ok(state)),
        Err(error) => (survey.versions.first().map_or(0, |version| version.serial + 1), true, Err(error)),
    });
    let previous = survey.versions.iter().map(|version| (version.serial, false, version.content.as_ref()));
    let all: Vec<_> = current.chain(previous).collect();
    let of = |(at, (serial, current, content)): (usize, &(u64, bool, Result<&StateFile, _>))| match content {
        Err(error) => Version { serial: *serial, current: *current, damaged: Some(format!("{error}")), ..Version::default() },
        Ok(state) => {
            let before = all[at + 1..].iter().find_map(|(_, _, content)| content.as_ref().ok());
            Version { serial: *serial, current: *current, ..version(state, before.copied()) }
        }
    };
    all.iter().enumerate().map(of).collect()
}

fn version(state: &StateFile, before: Option<&StateFile>) -> Version {
    let names = |these: &StateFile, is_meant: &dyn Fn(&crate::state::file::Record) -> bool| {
        these.resources.iter().filter(|record| is_meant(record)).map(|record| record.address.to_string()).collect::<Vec<_>>()
    };
    let is_changed = |before: &StateFile, record: &crate::state::file::Record| {
        before.record(&record.identity).is_some_and(|old| {
            old.address != record.address || old.applied != record.applied || old.phase != record.phase || old.id != record.id
        })
    };
    Version {
        latest: state.resources.iter().map(|record| record.since).max(),
        writer: state.writer.clone(),
        resources: state.resources.len(),
        added: before.map(|before| names(state, &|record| before.record(&record.identity).is_none())),
        removed: before.map(|before| names(before, &|record| state.record(&record.identity).is_none())),
        changed: before.map(|before| names(state, &|record| is_changed(before, record))),
        ..Version::default()
    }
}

fn row(version: &Version) -> [String; 7] {
    let serial = if version.current { format!("{} (current)", version.serial) } else { version.serial.to_string() };
    if version.damaged.is_some() {
        let [empty, a, b, c, d] = [const { String::new() }; 5];
        return [serial, "damaged".to_owned(), empty, a, b, c, d];
    }
    let latest = version.latest.map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true)).unwrap_or_default();
    let count = |names: &Option<Vec<String>>| names.as_ref().map_or_else(|| "-".to_owned(), |names| names.len().to_string());
    let [added, removed, changed] = [&version.added, &version.removed, &version.changed].map(count);
    [serial, latest, version.writer.clone(), version.resources.to_string(), added, removed, changed]
}
