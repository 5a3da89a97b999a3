//! The recorder: makes a mutating call with a begin entry before it and an end entry after it, repeats definite
//! refusals, and leaves the entry open when the reply is lost.

use super::kind::{StepError, Subject};
use crate::aws::error::{CallError, ErrorClass};
use crate::graph::identity::Address;
use crate::state::file::{Phase, Record, StateFile, Verb};
use crate::state::journal::{Intent, Journal, Outcome, Permit};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Makes recorded calls for one run. Clones belong together: stopping one stops all.
///
/// When a call's future is dropped after the begin entry was written, the entry stays open, which is right: nobody knows
/// whether the call was carried out.
#[derive(Clone)]
pub struct Recorder {
    journal: Journal,
    options: Options,
    observer: Observer,
    shared: Arc<Shared>,
}

/// What clones share.
struct Shared {
    stopped: watch::Sender<bool>,
    effective: AtomicUsize,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { journal, options, .. } = self;
        formatter.debug_struct("Recorder").field("journal", journal).field("options", options).finish_non_exhaustive()
    }
}

/// How long definite refusals are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How often a call is made that AWS throttles, the first time included.
    pub throttled_attempts: u32,
    /// How long after AWS first throttled it a call is made again.
    pub throttled_limit: Duration,
    /// How long after it was made an object may not be visible yet to calls that need it. For as long, `NotFound` is
    /// taken for `NotYet`.
    pub visibility_window: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { throttled_attempts: 8, throttled_limit: Duration::from_mins(2), visibility_window: Duration::from_mins(1) }
    }
}

/// Is told of every call that is going to be repeated. Must not wait.
pub type Observer = Arc<dyn Fn(RecorderEvent) + Send + Sync>;

/// A call was refused and is going to be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecorderEvent {
    /// Where the object sits.
    pub address: Address,
    /// `CreateVpc`.
    pub operation: &'static str,
    /// What the refusal means: `Throttled`, `NotYet` or `NotFound`.
    pub class: ErrorClass,
    /// AWS's code.
    pub code: String,
    /// AWS's message.
    pub message: String,
    /// The attempt that was refused; the first is 1.
    pub attempt: u32,
    /// How long from now until the next.
    pub delay: Duration,
}

/// A mutating call to be made.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The object.
    pub subject: &'a Subject,
    /// What it does.
    pub verb: Verb,
    /// AWS's name: `CreateVpc`.
    pub operation: &'static str,
    /// The object's id, if it has one.
    pub id: Option<String>,
    /// For a create: the object as applied, without write-only and secret fields.
    pub applied: Option<Value>,
    /// How long after the first attempt the call is repeated when AWS says `NotYet`.
    pub patience: Duration,
    /// What `NotFound` means for a create or a change; for a delete it is always final.
    pub not_found: NotFound,
    /// It carries the permit's client token: after a lost reply the very same call may be made again.
    pub has_token: bool,
}

/// What `NotFound` means in reply to a call that makes or changes an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFound {
    /// While the object or one of its dependencies is fresh it may only be invisible yet: the call is repeated within
    /// [`Options::visibility_window`].
    MayBeFresh,
    /// It is what AWS says.
    Final,
}

impl<'a> Call<'a> {
    /// A call with three minutes of patience.
    pub fn new(subject: &'a Subject, verb: Verb, operation: &'static str) -> Self {
        let patience = Duration::from_mins(3);
        Self { subject, verb, operation, id: None, applied: None, patience, not_found: NotFound::MayBeFresh, has_token: false }
    }

    /// The same call, for an object that has this id.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// The same call, with the object as applied, without write-only and secret fields.
    #[must_use]
    pub fn applied(self, applied: Value) -> Self {
        Self { applied: Some(applied), ..self }
    }

    /// The same call with another patience.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The same call, which carries the permit's client token.
    #[must_use]
    pub fn with_token(self) -> Self {
        Self { has_token: true, ..self }
    }

    /// The same call, but `NotFound` is never taken for `NotYet`.
    #[must_use]
    pub fn not_found_is_final(self) -> Self {
        Self { not_found: NotFound::Final, ..self }
    }

    fn intent(&self) -> Intent {
        let create = self.verb == Verb::Create;
        Intent {
            identity: self.subject.identity.clone(),
            address: self.subject.address.clone(),
            role: self.subject.role.clone(),
            verb: self.verb,
            operation: self.operation,
            id: self.id.clone(),
            applied: self.applied.clone().filter(|_| create),
            dependencies: if create { self.subject.dependencies.clone() } else { Vec::new() },
        }
    }

    fn record(&self, created: Created, at: DateTime<Utc>) -> Record {
        Record {
            identity: self.subject.identity.clone(),
            address: self.subject.address.clone(),
            role: self.subject.role.clone(),
            id: created.id,
            phase: Phase::Created,
            applied: self.applied.clone().unwrap_or_default(),
            status: created.status,
            dependencies: self.subject.dependencies.clone(),
            adopted: false,
            since: at,
            created_at: at,
            wait: None,
        }
    }
}

/// What a create call gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    /// See [`Record::id`].
    pub id: String,
    /// `status` in ACK's shape.
    pub status: Value,
}

impl Recorder {
    /// A recorder that writes to this journal.
    pub fn new(journal: Journal, options: Options, observer: Observer) -> Self {
        let shared = Shared { stopped: watch::Sender::new(false), effective: AtomicUsize::new(0) };
        Self { journal, options, observer, shared: Arc::new(shared) }
    }

    /// Lets no new call begin, and ends the pauses between repeated ones; they give [`StepError::Stopped`]. Calls under
    /// way are not touched.
    pub fn stop(&self) {
        self.shared.stopped.send_replace(true);
    }

    /// How many calls were carried out so far, or may have been: those that were not refused.
    pub fn effective(&self) -> usize {
        self.shared.effective.load(Ordering::SeqCst)
    }

    /// Makes a call that changes or removes an object. Throttling is repeated with backoff, `NotYet` as long as the call
    /// has patience, `NotFound` as [`NotFound`] says; everything else ends at once. Every attempt has a begin entry and a
    /// token of its own.
    ///
    /// Errors: [`StepError::Refused`] with the last refusal, [`StepError::Unclear`], [`StepError::Stopped`],
    /// [`StepError::State`].
    pub async fn call<T, F, R>(&self, call: Call<'_>, make: F) -> Result<T, StepError>
    where
        F: Fn(Permit) -> R,
        R: Future<Output = Result<T, CallError>>,
    {
        self.repeat(&call, make, |reply| (None, reply)).await
    }

    /// [`Recorder::call`] for a call after which the object is not there: `NotFound` is success.
    pub async fn delete<T, F, R>(&self, call: Call<'_>, make: F) -> Result<(), StepError>
    where
        F: Fn(Permit) -> R,
        R: Future<Output = Result<T, CallError>>,
    {
        match self.call(call, make).await {
            Err(StepError::Refused(error)) if error.class == ErrorClass::NotFound => Ok(()),
            done => done.map(drop),
        }
    }

    /// Makes a call that makes an object; the end entry carries its record, in phase `Created`. Errors as those of
    /// [`Recorder::call`].
    pub async fn create<T, F, R>(&self, call: Call<'_>, make: F, record: impl Fn(&T) -> Created) -> Result<(T, Record), StepError>
    where
        F: Fn(Permit) -> R,
        R: Future<Output = Result<T, CallError>>,
    {
        let finish = |reply: T| {
            let record = call.record(record(&reply), self.journal.now());
            (Some(record.clone()), (reply, record))
        };
        self.repeat(&call, make, finish).await
    }

    async fn repeat<T, O, F, R>(
        &self,
        call: &Call<'_>,
        make: F,
        finish: impl Fn(T) -> (Option<Record>, O),
    ) -> Result<O, StepError>
    where
        F: Fn(Permit) -> R,
        R: Future<Output = Result<T, CallError>>,
    {
        let mut attempts = Attempts::new();
        loop {
            let permit = self.begin(call).await?;
            let entry = permit.entry();
            let (operation, address) = (call.operation, call.subject.address.as_str());
            tracing::info!(entry, operation, address, "begin");
            let mut lost = Lost::of(call, &permit);
            let mut sent = make(permit);
            let answer = loop {
                let (permit, pause) = match lost.settle(sent.await) {
                    Ok(answer) => break answer,
                    Err(again) => again,
                };
                if !self.pause(pause).await
                    && let Some(error) = lost.first.take()
                {
                    break Err(error);
                }
                tracing::info!(entry, operation, address, "again with the same token");
                sent = make(permit);
            };
            match answer {
                Ok(reply) => {
                    self.count();
                    tracing::info!(entry, operation, address, outcome = "succeeded", "end");
                    let (record, done) = finish(reply);
                    self.journal.end(entry, Outcome::Succeeded, record).await?;
                    return Ok(done);
                }
                Err(error) if !error.is_definite() => {
                    self.count();
                    tracing::info!(entry, operation, address, outcome = "unclear", code = error.code, "end");
                    return Err(StepError::Unclear(error));
                }
                Err(error) => self.refused(call, entry, error, &mut attempts).await?,
            }
        }
    }

    /// Waits; false: the run was stopped before.
    async fn pause(&self, pause: Duration) -> bool {
        let mut stopped = self.shared.stopped.subscribe();
        tokio::select! {
            () = tokio::time::sleep(pause) => true,
            _ = stopped.wait_for(|stopped| *stopped) => false,
        }
    }

    fn count(&self) {
        self.shared.effective.fetch_add(1, Ordering::SeqCst);
    }

    async fn begin(&self, call: &Call<'_>) -> Result<Permit, StepError> {
        if *self.shared.stopped.borrow() {
            return Err(StepError::Stopped);
        }
        Ok(self.journal.begin(call.intent()).await?)
    }

    /// Ends the entry of a refused call, and waits until it is time for the next attempt.
    async fn refused(&self, call: &Call<'_>, entry: u64, error: CallError, attempts: &mut Attempts) -> Result<(), StepError> {
        // The message stays out of the log: the report shows it, and it may quote what was sent.
        let (operation, address) = (call.operation, call.subject.address.as_str());
        tracing::info!(entry, operation, address, outcome = "refused", code = error.code, "end");
        let outcome = Outcome::Refused { code: error.code.clone(), message: error.message.clone() };
        self.journal.end(entry, outcome, None).await?;
        let Some(delay) = attempts.refused(self.answer(call, error.class)) else { return Err(StepError::Refused(error)) };
        (self.observer)(RecorderEvent {
            address: call.subject.address.clone(),
            operation: call.operation,
            class: error.class,
            code: error.code,
            message: error.message,
            attempt: attempts.made,
            delay,
        });
        if self.pause(delay).await { Ok(()) } else { Err(StepError::Stopped) }
    }

    /// What to do about a refusal.
    fn answer(&self, call: &Call<'_>, class: ErrorClass) -> Answer {
        let Options { throttled_attempts, throttled_limit, visibility_window } = self.options;
        match class {
            ErrorClass::Throttled => Answer::Slower { attempts: throttled_attempts, limit: throttled_limit },
            ErrorClass::NotYet => Answer::Later { limit: call.patience },
            ErrorClass::NotFound if self.may_be_fresh(call) => Answer::Later { limit: visibility_window },
            _ => Answer::GiveUp,
        }
    }

    fn may_be_fresh(&self, call: &Call<'_>) -> bool {
        let applies = call.verb != Verb::Delete && call.not_found == NotFound::MayBeFresh;
        let window = TimeDelta::from_std(self.options.visibility_window).unwrap_or(TimeDelta::MAX);
        let now = self.journal.now();
        applies && self.journal.view(|state| freshest(state, call.subject)).is_some_and(|made| now - made < window)
    }
}

/// When the youngest of an object and its dependencies was made.
fn freshest(state: &StateFile, subject: &Subject) -> Option<DateTime<Utc>> {
    let identities = std::iter::once(&subject.identity).chain(&subject.dependencies);
    identities.filter_map(|identity| state.record(identity)).map(|record| record.created_at).max()
}

/// What is left to be tried of a call whose reply was lost. One that carries a client token is made again with the same one
/// and the same arguments: AWS answers with what the first has made, or makes it now. Whatever else it answers leaves open
/// what came of the first.
struct Lost {
    again: Vec<(Permit, Duration)>,
    first: Option<CallError>,
}

impl Lost {
    fn of(call: &Call<'_>, permit: &Permit) -> Self {
        let pauses = LOST.into_iter().rev().filter(|_| call.has_token);
        Self { again: pauses.map(|pause| (permit.again(), pause)).collect(), first: None }
    }

    /// What the call comes to, or how it is made again.
    fn settle<T>(&mut self, answer: Result<T, CallError>) -> Result<Result<T, CallError>, (Permit, Duration)> {
        let error = match answer {
            Ok(reply) => return Ok(Ok(reply)),
            Err(error) => error,
        };
        let (is_definite, lost) = (error.is_definite(), self.first.take());
        let error = lost.unwrap_or(error);
        match self.again.pop().filter(|_| !is_definite) {
            None => Ok(Err(error)),
            Some(again) => {
                self.first = Some(error);
                Err(again)
            }
        }
    }
}

/// What to do about a refusal.
#[derive(Debug, Clone, Copy)]
enum Answer {
    /// Make fewer calls: back off exponentially, anywhere up to the ceiling, so that callers spread.
    Slower {
        attempts: u32,
        limit: Duration,
    },
    /// Look again after a while, up to the limit.
    Later {
        limit: Duration,
    },
    GiveUp,
}

/// Pauses before a call is made again that carries a client token and whose reply was lost.
const LOST: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// Pause after the first throttled attempt, and the longest; each ceiling is twice the one before.
const SLOWER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Pause after the first attempt that came too early, and the longest; each is half as long again as the one before.
const LATER: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// How a call went so far.
struct Attempts {
    began: Instant,
    made: u32,
    throttled: u32,
    throttled_since: Option<Instant>,
    early: u32,
}

impl Attempts {
    fn new() -> Self {
        Self { began: Instant::now(), made: 0, throttled: 0, throttled_since: None, early: 0 }
    }

    /// Counts a refused attempt. The pause before the next, or `None` if there is to be none.
    fn refused(&mut self, answer: Answer) -> Option<Duration> {
        self.made += 1;
        let (pause, since, limit) = match answer {
            Answer::GiveUp => return None,
            Answer::Slower { attempts, limit } => {
                self.throttled += 1;
                if self.throttled >= attempts {
                    return None;
                }
                let since = *self.throttled_since.get_or_insert_with(Instant::now);
                (ceiling(SLOWER, 2.0, self.throttled).mul_f64(rand::random_range(0.0..=1.0)), since, limit)
            }
            Answer::Later { limit } => {
                self.early += 1;
                (ceiling(LATER, 1.5, self.early).mul_f64(rand::random_range(0.75..=1.0)), self.began, limit)
            }
        };
        // The last attempt is made when the limit is reached, not a pause before it.
        let left = limit.saturating_sub(since.elapsed());
        (!left.is_zero()).then(|| pause.min(left))
    }
}

fn ceiling((first, longest): (Duration, Duration), factor: f64, attempt: u32) -> Duration {
    let exponent = i32::try_from(attempt.saturating_sub(1).min(32)).unwrap_or(32);
    longest.min(first.mul_f64(factor.powi(exponent)))
}

#[cfg(test)]
mod tests;
