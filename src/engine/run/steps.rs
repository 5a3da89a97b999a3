//! The steps of one object: create, configure, wait until ready.

use crate::aws::error::{CallError, ErrorClass};
use crate::engine::context::{Context, Item, Trouble, Usually};
use crate::engine::events::{Event, StepName};
use crate::engine::look::{Depth, Presence, look, look_until_sure, passes};
use crate::engine::pace::Pace;
use crate::engine::planner::{most_refused, refusal};
use crate::engine::resolve::resolve_open;
use crate::kinds::kind::{Observed, Owner, Readiness, StepError, why_failed};
use crate::state::file::{Phase, Record, Wait};
use chrono::{DateTime, Utc};
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// How often a step whose reply was lost is begun anew.
const ATTEMPTS: usize = 4;
/// A wait for an object that was made; how long those take is remembered.
pub(super) const COMING_UP: &str = "ready";
/// A wait for an object that was changed.
const UPDATE: &str = "update";
/// How often a wait says again how it stands.
const SAY_AGAIN: Duration = Duration::from_secs(30);

/// Makes the object. When the reply is lost it is looked for before anything else is done.
pub(super) async fn create(context: &Context, item: &Item, desired: &Value) -> Result<(Record, Observed), Trouble> {
    let clock = context.started(item, StepName::Create);
    let mut lost = None;
    for _ in 0..ATTEMPTS {
        match item.kind.create(&item.cloud, &context.recorder, &item.subject, desired).await {
            Ok((record, observed)) => {
                context.finished(item, &clock, &record.id);
                return Ok((record, observed));
            }
            Err(StepError::Unclear(error)) => {
                lost = Some(error);
                if let Some((record, observed)) = resolve_open(context, item).await? {
                    context.finished(item, &clock, &record.id);
                    return Ok((record, observed));
                }
            }
            Err(StepError::Refused(refused)) if refused.class == ErrorClass::AlreadyExists => {
                let (record, observed) = adopt(context, item, desired, refused).await?;
                context.finished(item, &clock, &record.id);
                return Ok((record, observed));
            }
            Err(error) => return Err(trouble(error)),
        }
    }
    Err(lost_each_time("the object was never made", lost))
}

/// Takes over what AWS itself made beside an object of ours: the access entry of a cluster's creator. Anything else that
/// is there already is somebody else's.
async fn adopt(context: &Context, item: &Item, desired: &Value, refused: CallError) -> Result<(Record, Observed), Trouble> {
    let found = item.kind.find(&item.cloud.readers, &item.subject, desired).await?;
    let Some(observed) = found
        .filter(|observed| observed.owner(&item.subject.marks) == Owner::Nobody && item.kind.adoptable_without_marks(observed))
    else {
        return Err(refused.into());
    };
    let record = item.adopted(&observed, desired, context.wall.now());
    context.journal.put(record.clone()).await?;
    Ok((record, observed))
}

/// Brings the object from what was observed to what is wanted, and records it as configured.
pub(super) async fn configure(
    context: &Context,
    item: &Item,
    desired: &Value,
    record: Record,
    observed: Observed,
    fresh: bool,
) -> Result<Configured, Trouble> {
    // The cluster of a registration may have come up only in this run, and have another server than the one that is registered.
    let observed = if item.subject.identity.is_secret() && !fresh {
        // What was taken in before its cluster was known has no server recorded.
        let applied = item.kind.recordable(desired);
        read_again(context, item, &Record { applied, ..record.clone() }).await?
    } else {
        observed
    };
    let changes = item.kind.compare(&item.subject, desired, &observed, Some(&record.applied));
    if let (Some(change), false) = (most_refused(&changes), fresh) {
        // An input became known only now and asks for what the plan did not show.
        return Err(Trouble::Failed(refusal(change)));
    }
    let (observed, open) = if changes.is_empty() {
        (observed, false)
    } else {
        let observed = change(context, item, desired, &record, observed).await?;
        let known = if fresh { item.kind.configured(&item.subject, desired, &observed) } else { None };
        known.map_or((observed, true), |known| (known, false))
    };
    let record = Record {
        address: item.subject.address.clone(),
        role: item.subject.role.clone(),
        phase: Phase::Configured,
        applied: item.kind.recordable(desired),
        dependencies: item.subject.dependencies.clone(),
        since: context.wall.now(),
        wait: Some(wait_after(&record, !changes.is_empty(), context.wall.now())),
        ..record
    };
    context.journal.put(record.clone()).await?;
    Ok(Configured { record, observed, changed: !changes.is_empty(), open })
}

/// The wait that begins when an object is as wanted. One that an earlier run began goes on if nothing was changed since.
fn wait_after(record: &Record, changed: bool, now: DateTime<Utc>) -> Wait {
    match &record.wait {
        Some(begun) if !changed && record.phase == Phase::Configured => begun.clone(),
        begun => {
            let comes_up = record.phase == Phase::Created || begun.as_ref().is_some_and(|wait| wait.what == COMING_UP);
            let what = if comes_up { COMING_UP } else { UPDATE };
            Wait { what: what.to_owned(), update: None, since: now }
        }
    }
}

/// What `configure` comes to.
#[derive(Debug)]
pub(super) struct Configured {
    pub(super) record: Record,
    pub(super) observed: Observed,
    pub(super) changed: bool,
    /// What was observed is not what is there now.
    pub(super) open: bool,
}

/// What a wait knows when it begins.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) record: Record,
    pub(super) observed: Observed,
    /// It was made in this run.
    pub(super) fresh: bool,
    /// See [`Configured::open`].
    pub(super) open: bool,
    /// See [`Pace::spare`].
    pub(super) spare: Duration,
}

async fn change(context: &Context, item: &Item, desired: &Value, record: &Record, first: Observed) -> Result<Observed, Trouble> {
    let clock = context.started(item, StepName::Configure);
    let mut observed = first;
    let mut lost = None;
    for _ in 0..ATTEMPTS {
        match item.kind.configure(&item.cloud, &context.recorder, &item.subject, desired, &observed).await {
            Ok(()) => {
                context.finished(item, &clock, &record.id);
                return Ok(observed);
            }
            Err(StepError::Unclear(error)) => {
                lost = Some(error);
                resolve_open(context, item).await?;
                observed = read_again(context, item, record).await?;
            }
            Err(error) => return Err(trouble(error)),
        }
    }
    Err(lost_each_time("it is not known whether it was changed", lost))
}

/// A call whose reply was lost again and again; the last thing that was heard.
pub(in crate::engine) fn lost_each_time(what: &str, last: Option<CallError>) -> Trouble {
    let last = last.map(|error| format!("; the last: {error}")).unwrap_or_default();
    Trouble::Failed(format!("no clear answer {ATTEMPTS} times, {what}{last}"))
}

async fn read_again(context: &Context, item: &Item, record: &Record) -> Result<Observed, Trouble> {
    match look_until_sure(item.view(), record, context.patience(), Depth::Whole).await? {
        Some(observed) => Ok(observed),
        None if context.stop.requested() => Err(Trouble::Stopped),
        None => Err(Trouble::Failed(format!("{} is gone", record.id))),
    }
}

/// Waits until AWS says that the object is usable, and records it as ready. What the last reply said counts: it is not
/// asked for again. The wait takes no slot.
pub(super) async fn wait_ready(context: &Context, item: &Item, begun: Begun) -> Result<(Record, Observed), Trouble> {
    let Begun { record, observed, fresh, open, spare } = begun;
    if !open && observed.readiness == Readiness::Ready {
        return ready(context, item, record, observed, None).await;
    }
    let since = Instant::now();
    let already = record.wait.as_ref().and_then(|wait| (context.wall.now() - wait.since).to_std().ok()).unwrap_or_default();
    let usually = context.usually(item, Usually::Create);
    let pace = Pace { usual: usually, spare, in_step: context.in_step(item) };
    let limit = item.kind.typical().limit;
    let mut said: Option<(String, Instant)> = None;
    let mut pause = if fresh { pace.first() } else { Duration::ZERO };
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = context.ends() => return Err(Trouble::Stopped),
        }
        // An answer may be slow: what it says was true when it was asked for.
        let asked = since.elapsed();
        let state = match look(item.view(), &record, context.patience(), Depth::Watch).await {
            Err(error) if passes(&error) => format!("not answered ({})", error.code),
            Err(error) => return Err(error.into()),
            Ok(Presence::NotVisibleYet(_)) if asked >= context.window => {
                // Whatever clock it was made by: it was made before this wait began.
                return Err(fail(context, record, "it is gone").await);
            }
            Ok(Presence::Absent) => return Err(fail(context, record, "it is gone").await),
            Ok(Presence::NotVisibleYet(_)) => "not visible yet".to_owned(),
            Ok(Presence::Present(observed)) => match observed.readiness.clone() {
                Readiness::Ready => {
                    // What is ready at the first look says nothing about how long it took.
                    let took = said.map(|_| already + since.elapsed());
                    return ready(context, item, record, *observed, took).await;
                }
                Readiness::Failed { code, message } => return Err(fail(context, record, &why_failed(&code, &message)).await),
                Readiness::Deleting => return Err(fail(context, record, "it is being deleted").await),
                Readiness::Waiting(state) => state,
            },
        };
        let waited = already + since.elapsed();
        if since.elapsed() > limit {
            let minutes = waited.as_secs() / 60;
            return Err(Trouble::Failed(format!("still {state} after {minutes} minutes; apply again goes on waiting")));
        }
        if said.as_ref().is_none_or(|(before, at)| *before != state || at.elapsed() > SAY_AGAIN) {
            context.waiting(item, &state, waited, usually);
            said = Some((state, Instant::now()));
        }
        pause = pace.next(waited);
    }
}

/// Records the object as ready; `took` is how long it was waited for, if that was seen.
async fn ready(
    context: &Context,
    item: &Item,
    record: Record,
    observed: Observed,
    took: Option<Duration>,
) -> Result<(Record, Observed), Trouble> {
    let came_up = record.wait.as_ref().is_some_and(|wait| wait.what == COMING_UP);
    let record = Record { phase: Phase::Ready, status: observed.status.clone(), since: context.wall.now(), wait: None, ..record };
    context.journal.put(record.clone()).await?;
    let took = took.unwrap_or_default();
    if came_up {
        context.remember(item, Usually::Create, took).await?;
    }
    context.events.say(Event::Finished {
        address: item.subject.address.clone(),
        kind: item.kind_name().to_owned(),
        step: StepName::Wait,
        id: record.id.clone(),
        seconds: took.as_secs_f64(),
    });
    Ok((record, observed))
}

async fn fail(context: &Context, record: Record, reason: &str) -> Trouble {
    let id = record.id.clone();
    let record = Record { phase: Phase::Failed, since: context.wall.now(), wait: None, ..record };
    match context.journal.put(record).await {
        Ok(()) => Trouble::Failed(format!("{id}: {reason}")),
        Err(error) => error.into(),
    }
}

/// What a step error means for the run.
pub(in crate::engine) fn trouble(error: StepError) -> Trouble {
    match error {
        StepError::Stopped => Trouble::Stopped,
        StepError::Refused(error) => error.into(),
        other => Trouble::Failed(other.to_string()),
    }
}
