//! Applications that live on a cluster that is to go: how many there are, and removing them first. When a registration goes
//! before them, Argo CD lets go of them, and what they made in AWS (load balancers, volumes) stays behind.

use super::context::{Context, Item, Trouble};
use super::events::{Event, StepName};
use super::look::passes;
use super::outlook::{Counts, Expected};
use super::pace::Pace;
use super::plan::{Applications, Change};
use super::removal::{self, Doomed};
use super::report::{EngineError, Failure};
use super::run::trouble;
use crate::aws::error::CallError;
use crate::kinds::registration::drain::{self, Living};
use crate::state::file::Record;
use futures::future::join_all;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// How long Applications usually take to go.
const USUALLY: Duration = Duration::from_mins(1);
/// What the last look takes at most.
const LAST_LOOK: Duration = Duration::from_secs(1);
/// How often a wait says again how it stands.
const SAY_AGAIN: Duration = Duration::from_secs(30);
/// How often labels are switched off whose reply was lost.
const ATTEMPTS: usize = 4;

/// Removing Applications before anything else goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drain {
    /// How long they may take; after it nothing is destroyed.
    pub timeout: Duration,
    /// Labels to be set beside the switches that are turned off.
    pub labels: BTreeMap<String, String>,
}

/// The registrations among what is to be removed that can be reached.
fn registrations(doomed: &[Doomed]) -> impl Iterator<Item = &Doomed> {
    doomed.iter().filter(|one| one.record.identity.is_secret() && one.unreachable.is_none())
}

/// What lives on the clusters whose registrations go.
pub(super) async fn look(doomed: &[Doomed], drained: bool) -> Vec<Applications> {
    let asked = registrations(doomed).map(|one| look_at(&one.item, &one.record, drained));
    join_all(asked).await.into_iter().flatten().collect()
}

/// What lives on the cluster of a registration. `None`: it is not registered, so nothing is there.
pub(super) async fn look_at(item: &Item, record: &Record, drained: bool) -> Option<Applications> {
    let address = record.address.clone();
    let unknown = |cluster, reason| Applications {
        address: address.clone(),
        cluster,
        count: None,
        names: Vec::new(),
        reason: Some(reason),
        drained,
    };
    match drain::list(&item.cloud.readers, &item.subject, record).await {
        Ok(None) => None,
        Ok(Some(Living { cluster, count: None, .. })) => Some(unknown(cluster, "Argo CD has not counted them yet".to_owned())),
        Ok(Some(Living { cluster, count, names })) => {
            Some(Applications { address, cluster, count, names, reason: None, drained })
        }
        Err(error) => Some(unknown(String::new(), format!("Argo CD could not be asked: {error}"))),
    }
}

/// Says beside a registration what lives on its cluster; what would stay behind has to be confirmed by name.
pub(super) fn tell(applications: &[Applications], changes: &mut [Change]) {
    for found in applications {
        let Some(change) = changes.iter_mut().find(|change| change.address == found.address) else { continue };
        change.by_name |= found.left_behind();
        change.reason = match found.count {
            Some(0) => continue,
            _ if found.drained => Some(format!("{found}; they are removed first")),
            Some(_) => Some(format!(
                "{found}; what they made in AWS (load balancers, volumes) would stay behind: `destroy --drain` removes them first"
            )),
            None => Some(found.to_string()),
        };
    }
}

/// Registrations on whose clusters Applications live now, and whose removal nobody has confirmed.
pub(super) async fn unconfirmed(doomed: &[Doomed], confirmed: &[String]) -> Vec<String> {
    let open = registrations(doomed).filter(|one| !confirmed.iter().any(|address| address == one.record.address.as_str()));
    let asked = open.map(|one| async move {
        // Whoever cannot be asked now refuses the removal too, and that comes before everything else.
        let found = drain::count(&one.item.cloud.readers, &one.item.subject, &one.record).await.ok()??;
        found.count.filter(|count| *count > 0).map(|_| one.record.address.to_string())
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// Switches everything off and waits until it is gone. What did not go, and whether the run was stopped.
pub(super) async fn drain_all(context: &Context, doomed: &[Doomed], how: &Drain) -> (Vec<Failure>, bool) {
    let drained = join_all(registrations(doomed).map(|one| async move { (one, drain_one(context, one, how).await) }));
    tokio::pin!(drained);
    let ended = tokio::select! {
        ended = &mut drained => ended,
        () = context.stop.wait() => {
            // Ends the pauses between repeated calls too.
            context.recorder.stop();
            context.events.say(Event::Stopping);
            drained.await
        }
    };
    let mut failed = Vec::new();
    let mut stopped = false;
    for (one, result) in ended {
        let Err(trouble) = result else { continue };
        let (address, kind) = (one.record.address.clone(), one.record.identity.kind.clone());
        match trouble.reason() {
            Some(reason) => {
                context.events.say(Event::Failed { address: address.clone(), kind: kind.clone(), reason: reason.text.clone() });
                failed.push(Failure::new(address, kind, reason));
            }
            None => stopped = true,
        }
    }
    (failed, stopped)
}

/// Says how far a destroy is before its first object goes.
pub(super) fn say_outlook(context: &Context, doomed: &[Doomed]) {
    let mut expected = Expected::now();
    if let Some(one) = registrations(doomed).next() {
        expected = expected.and(&one.record.address, USUALLY, false);
    }
    let expected = match doomed.first() {
        Some(first) => expected.and(&first.record.address, removal::usually(context, doomed), false),
        None => expected,
    };
    context.outlook.say(&context.events, Counts { objects: doomed.len(), done: 0, failed: 0 }, expected);
}

async fn drain_one(context: &Context, one: &Doomed, how: &Drain) -> Result<(), Trouble> {
    let Doomed { item, record, .. } = one;
    let readers = &item.cloud.readers;
    let since = Instant::now();
    let found = drain::count(readers, &item.subject, record).await.map_err(|error| cannot_ask(&error))?;
    if found.is_none_or(|living| living.count == Some(0)) {
        return Ok(());
    }
    let clock = context.started(item, StepName::Drain);
    switch_off(context, one, how).await?;
    let mut said: Option<(String, Instant)> = None;
    let pace = Pace { usual: USUALLY, spare: Duration::ZERO, in_step: None };
    loop {
        // An Argo CD that does not answer does not make the time longer.
        let left_to_wait = how.timeout.saturating_sub(since.elapsed()).max(LAST_LOOK);
        let counted = tokio::time::timeout(left_to_wait, drain::count(readers, &item.subject, record)).await;
        let state = match counted {
            Err(_) => "not answered in time".to_owned(),
            Ok(Ok(None)) => break,
            Ok(Ok(Some(living))) => match living.count {
                Some(0) => break,
                Some(1) => "1 Application left".to_owned(),
                Some(count) => format!("{count} Applications left"),
                None => "Applications not counted yet".to_owned(),
            },
            Ok(Err(error)) if passes(&error) => format!("not answered ({})", error.code),
            Ok(Err(error)) => return Err(cannot_ask(&error)),
        };
        if since.elapsed() >= how.timeout {
            return Err(Trouble::Failed(left(one, &state, since.elapsed()).await));
        }
        if said.as_ref().is_none_or(|(before, at)| *before != state || at.elapsed() > SAY_AGAIN) {
            context.waiting(item, &state, since.elapsed(), USUALLY);
            said = Some((state, Instant::now()));
        }
        let pause = pace.next(since.elapsed()).min(how.timeout.saturating_sub(since.elapsed()));
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = context.stop.wait() => return Err(Trouble::Stopped),
        }
    }
    context.finished(item, &clock, &record.id);
    Ok(())
}

async fn switch_off(context: &Context, one: &Doomed, how: &Drain) -> Result<(), Trouble> {
    let Doomed { item, record, .. } = one;
    let mut lost = None;
    for _ in 0..ATTEMPTS {
        match drain::switch_off(&item.cloud, &context.recorder, &item.subject, record, &how.labels).await {
            Ok(()) => return Ok(()),
            // It looks again which labels are on, and changes those.
            Err(crate::kinds::kind::StepError::Unclear(error)) => {
                lost = Some(error);
                super::resolve::resolve_open(context, item).await?;
            }
            Err(error) => return Err(trouble(error)),
        }
    }
    Err(super::run::lost_each_time("it is not known whether its labels are off", lost))
}

fn cannot_ask(error: &CallError) -> Trouble {
    Trouble::Failed(format!("Argo CD could not be asked what lives on the cluster: {error}"))
}

/// What is left when the time is over.
async fn left(one: &Doomed, state: &str, waited: Duration) -> String {
    let listing = drain::list(&one.item.cloud.readers, &one.item.subject, &one.record);
    let listed = tokio::time::timeout(LAST_LOOK, listing).await.ok().and_then(Result::ok).flatten();
    let names = listed.map(|living| living.names.join(", ")).filter(|names| !names.is_empty());
    let names = names.map(|names| format!(" ({names})")).unwrap_or_default();
    format!(
        "{state}{names} after {} seconds, and nothing was destroyed; its labels are switched off: the same command again goes \
         on waiting, --drain-timeout gives them longer, --drain-label KEY=VALUE sets another label by which they are chosen, \
         and --confirm {} destroys the cluster under them",
        waited.as_secs(),
        one.record.address
    )
}

/// What could not be asked, and what is left, keep everything else from being destroyed.
pub(super) const NOT_DRAINED: &str = "Applications still live on the cluster";

/// Those that were not confirmed stop everything.
pub(super) fn refuse(unconfirmed: Vec<String>) -> Result<(), EngineError> {
    if unconfirmed.is_empty() { Ok(()) } else { Err(EngineError::NotConfirmed(unconfirmed)) }
}
