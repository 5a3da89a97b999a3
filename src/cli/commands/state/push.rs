//! `fleetctl state push`.

use super::{Changed, print, select, store};
use crate::cli::arguments::Push;
use crate::cli::blocking::blocking;
use crate::cli::confirm::Questions;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::load::read_text;
use crate::cli::style::plural;
use crate::graph::diagnostic::Diagnostic;
use crate::state::elsewhere;
use crate::state::error::StateError;
use crate::state::file::{InstanceKey, Record, StateFile};
use crate::state::journal::Entry;
use crate::state::lock::Holder;
use crate::state::session::{Late, Session, import, read_key, taken_back};
use crate::state::store::Store;
use crate::state::survey::{restore, survey};
use std::path::Path;
use std::sync::Arc;

/// Puts a state, or entries, into the store.
pub(super) async fn run(context: &Context, arguments: &Push) -> Result<u8, CliError> {
    let store = store(context)?;
    let holder = context.environment.holder(&context.command_line.to_string());
    match (&arguments.file, &arguments.entries) {
        (Some(file), _) => push_state(context, arguments, store, holder, file).await,
        (None, Some(file)) => push_entries(context, arguments, store, holder, file).await,
        (None, None) => Err(CliError::Usage("name a FILE with a state, or --entries FILE".to_owned())),
    }
}

async fn push_state(
    context: &Context,
    arguments: &Push,
    store: Arc<dyn Store>,
    holder: Holder,
    file: &Path,
) -> Result<u8, CliError> {
    let path = file.to_owned();
    let text = blocking(move || read_text(&path)).await.map_err(|problem| CliError::Documents(vec![problem]))?;
    let pushed = import(&file.display().to_string(), text.as_bytes())
        .map_err(|error| CliError::Documents(vec![Diagnostic::error("no-state", format!("{error}; nothing was changed"))]))?;
    let key = pushed.instance.store_key();
    let there = survey(&*store, &key).await?;
    let is_damaged = there.state.is_err();
    let newest = there.newest_whole().map(|(_, state)| state.clone());
    let known = match there.state {
        Ok(state) => state,
        Err(error @ (StateError::NewerVersion { .. } | StateError::OtherInstance { .. })) => return Err(error.into()),
        Err(_) => newest,
    };
    let known = known.as_ref().filter(|state| !state.is_blank());
    check(&pushed, known, is_damaged, arguments)?;
    check_elsewhere(&*store, &pushed).await?;
    let questions = Questions::new(context, "state push");
    let resources = plural(pushed.resources.len(), "resource");
    let over = match known {
        Some(known) => format!("serial {} with {}", known.serial, plural(known.resources.len(), "resource")),
        None => "nothing".to_owned(),
    };
    questions.whether(&format!("{key}: {over} is replaced by {resources}. Nothing changes on AWS.")).await?;
    let after = if is_damaged {
        restore(store, &key, &holder, Some(pushed)).await?.state
    } else {
        let session = Session::open(store, pushed.instance.clone(), holder).await?;
        let now = session.state();
        check(&pushed, Some(&now).filter(|state| !state.is_blank()), false, arguments)?;
        let after = session.replace(pushed).await?;
        session.close().await?;
        after
    };
    print_result(context, &after, Vec::new(), &resources);
    Ok(0)
}

/// Refuses what is not the next version of what is there.
fn check(pushed: &StateFile, known: Option<&StateFile>, is_damaged: bool, arguments: &Push) -> Result<(), CliError> {
    let name = name_of(&pushed.instance);
    if arguments.force.as_deref() == Some(name.as_str()) {
        return Ok(());
    }
    let Some(known) = known else { return Ok(()) };
    let refuse = |why: String| Err(CliError::Usage(format!("{why}; to put it there all the same: --force {name}")));
    if pushed.lineage != known.lineage {
        return refuse(format!("the state has lineage {}, the one that is there {}", pushed.lineage, known.lineage));
    }
    let version = |state: &StateFile| (state.serial, state.folded_segment);
    if version(pushed) < version(known) && !is_damaged {
        return refuse(format!("the state has serial {}, the one that is there is newer: {}", pushed.serial, known.serial));
    }
    if let Some(begin) = known.open.iter().find(|begin| !pushed.open.contains(begin)) {
        return refuse(format!("what came of {} for {} is not known yet: apply finds out", begin.operation, begin.address));
    }
    Ok(())
}

async fn push_entries(
    context: &Context,
    arguments: &Push,
    store: Arc<dyn Store>,
    holder: Holder,
    file: &Path,
) -> Result<u8, CliError> {
    let path = file.to_owned();
    let text = blocking(move || read_lines(&path)).await?;
    let entries = entries(&file.display().to_string(), &text)?;
    let name = arguments.to.as_deref().unwrap_or_default();
    let key = select::key(&*store, name, arguments.namespace.as_deref()).await;
    let state = match key {
        Ok(key) => read_key(&*store, &key).await?,
        Err(CliError::Usage(_)) if name.split('/').count() == 2 => None,
        Err(error) => return Err(error),
    };
    let Some(state) = state else { return Err(without_state(name, &store.name())) };
    check_home(&entries, &state.instance)?;
    let count = plural(entries.len(), "entry");
    Questions::new(context, "state push")
        .whether(&format!("Add {} to {}?", count.replace("entrys", "entries"), state.instance))
        .await?;
    let session = Session::open(store, state.instance.clone(), holder).await?;
    let (_, fates) = taken_back(session.state(), &entries);
    let taken = entries.iter().zip(&fates).filter(|(_, fate)| **fate == Late::Taken);
    let changed: Vec<String> = taken.filter_map(|(entry, _)| address(entry)).collect();
    let after = session.take_back(entries).await?;
    session.close().await?;
    let text = format!("{}: {}; serial {}.", after.instance, counted(&fates), after.serial);
    print(context, Changed { key: after.instance.store_key(), serial: after.serial, addresses: changed }, &text);
    Ok(0)
}

/// What became of the lines.
fn counted(fates: &[Late]) -> String {
    let count = |fate: Late| fates.iter().filter(|one| **one == fate).count();
    let [taken, known, obsolete] = [Late::Taken, Late::Known, Late::Obsolete].map(count);
    format!("of {}, {taken} taken, {known} in the state already, {obsolete} obsolete", plural(fates.len(), "line"))
}

/// Entries go on from a state: without it they are worth nothing.
fn without_state(name: &str, store: &str) -> CliError {
    CliError::Usage(format!(
        "nothing is recorded of {name} in {store}, and entries only go on from a state; if its state is lost: \
         `fleetctl state rebuild FILE…` finds what was made by its tags and names"
    ))
}

/// What a file or standard input holds.
fn read_lines(path: &Path) -> Result<String, CliError> {
    if path.as_os_str() != "-" {
        return read_text(path).map_err(|problem| CliError::Documents(vec![problem]));
    }
    std::io::read_to_string(std::io::stdin()).map_err(|error| CliError::Usage(format!("standard input cannot be read: {error}")))
}

/// The entries among the lines of what a run printed; other lines, which people read, are passed over.
fn entries(name: &str, text: &str) -> Result<Vec<Entry>, CliError> {
    let lines: Vec<(usize, &str)> =
        text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("{\"type\":")).collect();
    if lines.is_empty() {
        let message = format!("{name} holds no entries of a journal: lines that begin with {{\"type\":");
        return Err(CliError::Documents(vec![Diagnostic::error("no-entries", message)]));
    }
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str::<Entry>(line.trim()).map_err(|error| {
            let message = format!("{name}:{}: it is no entry of a journal: {error}; nothing was changed", number + 1);
            CliError::Documents(vec![Diagnostic::error("no-entries", message)])
        })
    };
    lines.into_iter().map(parse).collect()
}

/// The record that an entry holds.
fn record(entry: &Entry) -> Option<&Record> {
    match entry {
        Entry::End { record: Some(record), .. } | Entry::Put { record } => Some(record),
        _ => None,
    }
}

fn address(entry: &Entry) -> Option<String> {
    record(entry).map(|record| record.address.to_string())
}

/// Refuses entries about objects of another instance.
fn check_home(entries: &[Entry], instance: &InstanceKey) -> Result<(), CliError> {
    let root = format!("{}/", name_of(instance));
    let of_begin = |entry: &Entry| if let Entry::Begin(begin) = entry { Some(begin.address.to_string()) } else { None };
    let mut addresses = entries.iter().filter_map(|entry| address(entry).or_else(|| of_begin(entry)));
    match addresses.find(|address| !address.starts_with(&root)) {
        Some(strange) => Err(CliError::Usage(format!("{strange} is no object of {instance}: nothing was changed"))),
        None => Ok(()),
    }
}

/// Refuses a state of which another one of the store records something.
async fn check_elsewhere(store: &dyn Store, state: &StateFile) -> Result<(), CliError> {
    match elsewhere::check(store, state).await {
        Err(error @ StateError::RecordedTwice { .. }) => Err(CliError::Usage(format!("{error}; nothing was changed"))),
        checked => Ok(checked?),
    }
}

fn name_of(instance: &InstanceKey) -> String {
    format!("{}/{}", instance.kind, instance.name)
}

fn print_result(context: &Context, after: &StateFile, changed: Vec<String>, resources: &str) {
    let text = format!("{}: {resources} put in place; serial {}.", after.instance, after.serial);
    print(context, Changed { key: after.instance.store_key(), serial: after.serial, addresses: changed }, &text);
}

#[cfg(test)]
mod tests {
    use super::super::mv::tests::state;
    use super::*;
    use crate::graph::identity::Address;
    use crate::state::memory::MemoryStore;

    #[test]
    fn only_the_next_version_is_taken_unless_it_is_forced_by_name() {
        let here = state();
        let check = |pushed: &StateFile, is_damaged: bool, force: Option<&str>| {
            let arguments = Push { force: force.map(Into::into), ..Push::default() };
            super::check(pushed, Some(&here), is_damaged, &arguments).map_err(|error| error.to_string())
        };
        let older = StateFile { serial: 3, ..state() };
        let other = StateFile { lineage: "another".into(), ..state() };
        check(&here, false, None).unwrap();
        check(&StateFile { serial: 5, ..state() }, false, None).unwrap();
        let refused = check(&older, false, None).unwrap_err();
        assert_eq!(
            refused,
            "the state has serial 3, the one that is there is newer: 4; to put it there all the same: --force EksCluster/one"
        );
        assert!(check(&other, false, None).unwrap_err().contains("has lineage another, the one that is there ours"));
        assert!(check(&other, false, Some("EksCluster/two")).is_err());
        check(&other, false, Some("EksCluster/one")).unwrap();
        check(&older, true, None).unwrap();
    }

    #[test]
    fn entries_of_another_instance_are_refused() {
        let put = |address: &str| {
            let record = Record { address: Address(address.into()), ..state().resources[0].clone() };
            Entry::Put { record: Box::new(record) }
        };
        let check = |address: &str| check_home(&[put("EksCluster/one/a"), put(address)], &state().instance);
        check("EksCluster/one/vpc/vpc").unwrap();
        for strange in ["EksCluster/two/vpc/vpc", "EksCluster/one2/vpc", "VPC/one/vpc"] {
            let refused = check(strange).unwrap_err().to_string();
            assert_eq!(refused, format!("{strange} is no object of EksCluster/one in namespace argocd: nothing was changed"));
        }
    }

    #[tokio::test]
    async fn what_another_state_records_is_not_taken() {
        let store = MemoryStore::new();
        let bytes = crate::state::session::export(&state()).unwrap();
        store.put_if_absent(&state().instance.store_key(), &bytes).await.unwrap();
        check_elsewhere(&store, &state()).await.unwrap();
        let instance = InstanceKey { name: "two".into(), ..state().instance };
        let refused = check_elsewhere(&store, &StateFile { instance, ..state() }).await.unwrap_err();
        assert_eq!(refused.exit_code(), 4);
        assert!(refused.to_string().contains("2 objects of EksCluster/two in namespace argocd are recorded by EksCluster/one"));
    }

    #[test]
    fn what_became_of_each_line_is_said() {
        let record = |since: &str| {
            let mut record = state().resources[0].clone();
            record.since = since.parse().unwrap();
            Box::new(record)
        };
        let unknown = crate::graph::identity::Identity { name: "other".into(), ..state().resources[0].identity.clone() };
        let entries = [
            Entry::Put { record: record("2027-01-01T00:00:00Z") },
            Entry::Put { record: record("2027-01-01T00:00:00Z") },
            Entry::Put { record: record("2025-01-01T00:00:00Z") },
            Entry::Forget { identity: unknown },
        ];
        let (after, fates) = taken_back(state(), &entries);
        assert_eq!(after.resources[0].since, record("2027-01-01T00:00:00Z").since);
        assert_eq!(counted(&fates), "of 4 lines, 1 taken, 1 in the state already, 2 obsolete");
        assert!(without_state("EksCluster/one", "./state").to_string().contains("`fleetctl state rebuild FILE…`"));
    }

    #[test]
    fn entries_are_found_among_what_a_run_printed() {
        let line =
            r#"{"type":"forget","identity":{"apiVersion":"v1","kind":"K","namespace":"n","name":"a","account":"","region":""}}"#;
        let text = format!("EksCluster/one: failed\n  {line}\nmore\n");
        assert_eq!(entries("a.txt", &text).unwrap().len(), 1);
        let none = entries("a.txt", "nothing").unwrap_err().to_string();
        assert!(none.contains("the documents"), "{none}");
        assert!(entries("a.txt", "{\"type\":\"end\"}").is_err());
    }
}
