//! `fleetctl state unlock`.

use super::select;
use crate::cli::arguments::Unlock;
use crate::cli::confirm::Questions;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::Versioned;
use crate::cli::launch::{self, check_endpoints};
use crate::cli::style::clean;
use crate::state::error::StateError;
use crate::state::lock::{Holding, Life, Seen, ago};
use crate::state::store::Store;
use chrono::{DateTime, Utc};
use serde::Serialize;

/// What came of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Unlocked {
    /// The key of the state in its store.
    key: String,
    /// The store.
    store: String,
    /// Who had the lock; null if nobody did, or if that could not be read.
    holder: Option<Holding>,
    /// When the holder was heard of last; null where holders are not heard of.
    last_heard: Option<DateTime<Utc>>,
    /// Whether the lock was taken away.
    #[serde(rename = "unlocked")]
    is_done: bool,
    /// The same in words.
    #[serde(skip)]
    text: String,
}

/// Shows the holder, asks, and takes the lock away.
pub(super) async fn run(context: &Context, arguments: &Unlock) -> Result<u8, CliError> {
    check_endpoints(&context.environment)?;
    let store = launch::store(context);
    let key = select::key(&*store, &arguments.name, arguments.namespace.as_deref()).await.map_err(with_hint)?;
    let seen = store.look_at_lock(&key).await?;
    let unlocked = match &seen {
        Some(seen) if seen.life != Life::Dead => taken_away(context, arguments, &*store, &key, seen).await?,
        _ => nothing_to_do(&*store, key, seen.as_ref()),
    };
    if context.printer.is_json() {
        context.printer.json(&Versioned::new(unlocked));
    } else {
        context.printer.result(&format!("{}\n", clean(&unlocked.text)));
    }
    Ok(0)
}

/// A lock may be there before anything is recorded.
fn with_hint(error: CliError) -> CliError {
    match error {
        CliError::Usage(text) => CliError::Usage(format!("{text}; where a lock is all there is, name its namespace with -n")),
        error => error,
    }
}

fn nothing_to_do(store: &dyn Store, key: String, seen: Option<&Seen>) -> Unlocked {
    let text = match seen.and_then(|seen| seen.holding.as_ref()) {
        Some(holding) => format!("{key} needs no unlock: {holding} is gone, and its lock went with it."),
        None => format!("{key} is not locked."),
    };
    Unlocked { store: store.name(), key, holder: None, last_heard: None, is_done: false, text }
}

async fn taken_away(
    context: &Context,
    arguments: &Unlock,
    store: &dyn Store,
    key: &str,
    seen: &Seen,
) -> Result<Unlocked, CliError> {
    let questions = Questions::new(context, "state unlock");
    let holder = describe(seen, Utc::now());
    let host = context.environment.holder("").host;
    if seen.life == Life::Alive && is_here(seen, &host) {
        let holder = format!("{holder}. It is alive: end it, and its lock goes with it");
        return Err(StateError::Locked { instance: key.to_owned(), holder }.into());
    }
    match name_of_the_living(seen, &host) {
        Some(name) if arguments.confirm.as_deref() == Some(name.as_str()) => {}
        Some(name) => {
            let question =
                format!("{key} is locked by {holder}.\nIt seems to be alive, and begins nothing more without its lock.");
            let hint = format!("{key} is locked by {holder}. It seems to be alive: confirm by name, with --confirm {name}");
            questions.by_typing(&question, &name, hint).await?;
        }
        None => questions.whether(&format!("{key} is locked by {holder}.\nTake the lock away?")).await?,
    }
    if !store.break_lock(key, seen).await? {
        let holder = "another holder than the one that was shown, or by nobody any more: look again".to_owned();
        return Err(StateError::Locked { instance: key.to_owned(), holder }.into());
    }
    let text = format!("{key} is unlocked. It was locked by {holder}.");
    let (holder, last_heard) = (seen.holding.clone(), seen.last_heard);
    Ok(Unlocked { key: key.to_owned(), store: store.name(), holder, last_heard, is_done: true, text })
}

/// `HOST:PID` of a holder that has to be confirmed by name.
fn name_of_the_living(seen: &Seen, host: &str) -> Option<String> {
    let holding = seen.holding.as_ref();
    let lives = matches!(seen.life, Life::Alive | Life::Fresh) || is_here(seen, host);
    let name = || holding.map_or_else(|| "unknown".to_owned(), |held| format!("{}:{}", held.holder.host, held.holder.pid));
    lives.then(name)
}

/// Whether a process of its number is there, on this very host.
fn is_here(seen: &Seen, host: &str) -> bool {
    seen.holding.as_ref().is_some_and(|holding| holding.holder.host == host && holding.may_last(host))
}

fn describe(seen: &Seen, now: DateTime<Utc>) -> String {
    let holder = seen.holding.as_ref().map_or_else(|| "somebody whose name cannot be read".to_owned(), ToString::to_string);
    match seen.last_heard {
        Some(heard) => format!("{holder}; last heard of {}", ago(heard, now)),
        None => holder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::lock::Holder;

    fn holding(host: &str, pid: u32) -> Holding {
        Holding::from_now(&Holder { pid, host: host.into(), user: "ann".into(), command: "fleetctl apply".into() })
    }

    #[test]
    fn only_the_living_are_confirmed_by_name() {
        let name = |life, host: &str, pid| {
            let seen = Seen::of(Some(holding(host, pid)), life);
            name_of_the_living(&seen, "here")
        };
        let me = std::process::id();
        assert_eq!(name(Life::Fresh, "there", 7).as_deref(), Some("there:7"));
        assert_eq!(name(Life::Alive, "here", 7).as_deref(), Some("here:7"));
        assert_eq!(name(Life::Unknown, "there", 7), None);
        assert_eq!(name(Life::Unknown, "here", me), Some(format!("here:{me}")));
        // A holder in a folder whose process is on this host is not unlocked at all.
        assert!(is_here(&Seen::of(Some(holding("here", me)), Life::Alive), "here"));
        assert!(!is_here(&Seen::of(Some(holding("there", me)), Life::Alive), "here"));
    }
}
