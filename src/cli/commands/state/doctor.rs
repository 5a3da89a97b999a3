//! `fleetctl state doctor`.

use super::{print, select, show, store};
use crate::cli::arguments::Doctor;
use crate::cli::confirm::Questions;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::style::plural;
use crate::graph::identity::Address;
use crate::state::error::StateError;
use crate::state::file::{Phase, Record, StateFile};
use crate::state::lock::{Life, Seen, ago};
use crate::state::session;
use crate::state::store::Store;
use crate::state::survey::{Survey, restore, survey};
use chrono::{SecondsFormat, Utc};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Findings {
    /// How many states were looked at.
    states: usize,
    findings: Vec<Finding>,
}

/// Something that is not as it should be.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    /// The key of the state; empty where it is about the store.
    key: String,
    /// Whether something has to be done. What is not wrong is worth knowing.
    wrong: bool,
    message: String,
}

/// What a restore has done.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Restored {
    key: String,
    /// The serial that it started from.
    from: u64,
    serial: u64,
    resources: usize,
    /// Where what was damaged is kept.
    aside: Vec<String>,
}

/// Looks, or restores. Exit code 1 where something is wrong.
pub(super) async fn run(context: &Context, arguments: &Doctor) -> Result<u8, CliError> {
    let store = store(context)?;
    let keys = match &arguments.name {
        Some(name) => vec![select::key(&*store, name, arguments.namespace.as_deref()).await?],
        None => session::keys(&*store).await?,
    };
    if arguments.restore {
        let key = keys.into_iter().next().unwrap_or_default();
        return put_right(context, store, key).await;
    }
    let mut findings = Vec::new();
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for key in &keys {
        let survey = match survey(&*store, key).await {
            Ok(survey) => survey,
            // What lies in the state's place cannot be read: that is for people to put right, and the others are looked at.
            Err(error @ StateError::Store { .. }) => {
                findings.push(Finding { key: key.clone(), wrong: true, message: error.to_string() });
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let seen = store.look_at_lock(key).await?;
        let mut found = of_state(&survey, seen.as_ref());
        findings.append(&mut found);
        if let Ok(Some(state)) = &survey.state {
            state.resources.iter().for_each(|record| owners.entry(object(record)).or_default().push(place(key, &record.address)));
        }
    }
    findings.extend(owners.into_iter().filter(|(_, places)| places.len() > 1).map(|(object, places)| Finding {
        key: String::new(),
        wrong: true,
        message: format!(
            "{object} is recorded more than once: {}; `fleetctl plan` of either says how one of them lets go",
            places.join(", ")
        ),
    }));
    let untidy = store.untidy().await?;
    findings.extend(untidy.into_iter().map(|message| Finding { key: String::new(), wrong: false, message }));
    let wrong = findings.iter().any(|finding| finding.wrong);
    let text = describe(keys.len(), &findings, &store.name());
    print(context, Findings { states: keys.len(), findings }, &text);
    Ok(u8::from(wrong))
}

/// What an object is known by, in its account and region.
fn object(record: &Record) -> String {
    let identity = &record.identity;
    format!("{} {} of {} in {}", identity.kind, record.id, identity.account, identity.region)
}

fn place(key: &str, address: &Address) -> String {
    format!("{address} ({key})")
}

fn of_state(survey: &Survey, seen: Option<&Seen>) -> Vec<Finding> {
    let finding = |wrong: bool, message: String| Finding { key: survey.key.clone(), wrong, message };
    let mut findings = Vec::new();
    match &survey.state {
        Err(error) => findings.push(finding(true, error.to_string())),
        Ok(Some(state)) => findings.extend(of_content(state).into_iter().map(|(wrong, message)| finding(wrong, message))),
        Ok(None) => {}
    }
    for version in &survey.versions {
        if let Err(error) = &version.content {
            findings.push(finding(false, format!("a previous version is not whole: {error}")));
        }
    }
    for segment in survey.segments.iter().filter(|_| survey.state.is_err()) {
        if let Err(error) = &segment.entries {
            findings.push(finding(true, error.to_string()));
        }
    }
    if !survey.leftover.is_empty() {
        let count = plural(survey.leftover.len(), "segment");
        findings
            .push(finding(false, format!("{count} of the journal that the file includes already: the next run removes them")));
    }
    findings.extend(
        survey
            .aside
            .iter()
            .map(|key| finding(false, format!("{key} was kept aside when it was damaged; nothing needs it any more"))),
    );
    findings.extend(survey.strange.iter().map(|key| finding(false, format!("{key} is nothing that fleetctl has made"))));
    findings.extend(seen.and_then(of_lock).map(|(wrong, message)| finding(wrong, message)));
    findings.dedup_by(|one, other| one.message == other.message);
    findings
}

fn of_lock(seen: &Seen) -> Option<(bool, String)> {
    let holding = seen.holding.as_ref().map_or_else(|| "somebody whose name cannot be read".to_owned(), ToString::to_string);
    let heard = seen.last_heard.map(|heard| format!("; last heard of {}", ago(heard, Utc::now()))).unwrap_or_default();
    match seen.life {
        Life::Dead => None,
        Life::Alive | Life::Fresh => Some((false, format!("it is locked by {holding}{heard}"))),
        Life::Unknown => Some((true, format!("it is locked by {holding}{heard}: `fleetctl state unlock` takes the lock away"))),
    }
}

fn of_content(state: &StateFile) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    for begin in &state.open {
        let at = begin.at.to_rfc3339_opts(SecondsFormat::Secs, true);
        let (operation, address) = (&begin.operation, &begin.address);
        found.push((
            false,
            format!("what came of {operation} for {address} at {at} is not known: the next apply or destroy finds out"),
        ));
    }
    for record in &state.resources {
        let (address, kind, id) = (&record.address, &record.identity.kind, &record.id);
        match record.phase {
            Phase::Failed => found.push((false, format!("{address} has failed: {kind} {id}; the next apply makes it anew"))),
            Phase::Deleting => found.push((false, format!("{address} is being deleted: {kind} {id}; destroy or apply goes on"))),
            Phase::Created | Phase::Configured | Phase::Ready => {}
        }
        for dependency in record.dependencies.iter().filter(|dependency| state.record(dependency).is_none()) {
            found.push((
                false,
                format!("{address} depends on {} {}, of which nothing is recorded", dependency.kind, dependency.name),
            ));
        }
    }
    let mut addresses: BTreeMap<&str, usize> = BTreeMap::new();
    state.resources.iter().for_each(|record| *addresses.entry(record.address.as_str()).or_default() += 1);
    for (address, count) in addresses.into_iter().filter(|(_, count)| *count > 1) {
        found.push((true, format!("{address} is recorded {count} times: `fleetctl state rm` or `state mv` puts it right")));
    }
    found
}

fn describe(states: usize, findings: &[Finding], store: &str) -> String {
    let looked = format!("{} in {store}", plural(states, "state"));
    if findings.is_empty() {
        return format!("{looked}: nothing is wrong.");
    }
    let lines = findings.iter().map(|finding| {
        let mark = if finding.wrong { "wrong" } else { "note " };
        let is_named = finding.key.is_empty() || finding.message.starts_with(&finding.key);
        let key = if is_named { String::new() } else { format!("{}: ", finding.key) };
        format!("  {mark}  {key}{}", finding.message)
    });
    let wrong = findings.iter().filter(|finding| finding.wrong).count();
    let said = if wrong == 0 { "nothing is wrong".to_owned() } else { format!("{wrong} to be put right") };
    format!("{looked}: {said}\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// What is wrong and what a restore does, without the command that is being carried out.
fn what_is_done(error: &str, name: &str) -> String {
    error.replace(&format!("`fleetctl state doctor {name} --restore` goes back"), "This goes back")
}

#[cfg(test)]
#[test]
fn a_restore_does_not_tell_to_give_the_same_command() {
    let error = "a is damaged: no JSON. `fleetctl state doctor EksCluster/a -n argocd --restore` goes back to serial 4";
    assert_eq!(what_is_done(error, "EksCluster/a -n argocd"), "a is damaged: no JSON. This goes back to serial 4");
}

async fn put_right(context: &Context, store: Arc<dyn Store>, key: String) -> Result<u8, CliError> {
    let survey = survey(&*store, &key).await?;
    let Err(error) = &survey.state else {
        return Err(CliError::Usage(format!(
            "{key} is whole: there is nothing to restore; `fleetctl state history` shows its versions"
        )));
    };
    show(context, &what_is_done(&error.to_string(), &survey.name));
    Questions::new(context, "state doctor").whether("Go back to what is whole?").await?;
    let holder = context.environment.holder(&context.command_line.to_string());
    let restored = restore(store, &key, &holder, None).await?;
    let (from, aside) = (restored.from, restored.aside);
    let state = restored.state;
    let kept = if aside.is_empty() { String::new() } else { format!(" What was damaged is kept as {}.", aside.join(", ")) };
    let text = format!(
        "{}: serial {from} and the journal are in place, as serial {} with {}.{kept} `fleetctl plan` shows what that state does not \
         know of.",
        state.instance,
        state.serial,
        plural(state.resources.len(), "resource")
    );
    print(context, Restored { key, from, serial: state.serial, resources: state.resources.len(), aside }, &text);
    Ok(0)
}
