//! A simulated AWS of several accounts. It outlives the processes that call it: each runs in a runtime of its own, and may
//! die at any call.

use super::faults::{Draws, Faults, Loss, When, what_of};
use super::objects::{Here, Holdings, Key, delta};
use super::wire::{Refusal, Request, moment, refuse};
use super::{ec2, eks, iam};
use crate::state::clock::Clock;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_types::sdk_config::TimeSource;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The key of the caller's own credentials.
pub(crate) const CALLERS_KEY: &str = "AKIAHUB";

/// A call that has arrived.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    pub(crate) service: String,
    pub(crate) operation: String,
    /// Whether it is one that changes something.
    pub(crate) changes: bool,
    pub(crate) fate: Fate,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Answered,
    Throttled,
    /// Carried out, without an answer.
    Lost,
    /// Lost on purpose: see [`super::faults::LostCall`].
    Struck,
    /// The process died before it was sent, or after it was carried out.
    Killed(When),
}

/// What a call has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// It was not looked at yet.
    None,
    Done,
    Refused,
}

/// A call, to whichever service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub(crate) service: &'a str,
    pub(crate) operation: &'a str,
    pub(crate) changes: bool,
    /// Everything that it says, for people.
    pub(crate) text: &'a str,
}

/// What the caller gets.
#[derive(Debug)]
pub(crate) enum Passed<T> {
    Answer(T),
    Throttled,
    /// Something went wrong within the service.
    Failed,
    Lost,
    /// No answer comes.
    Silence,
}

/// The simulation. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Aws(Arc<Mutex<Inner>>);

struct Inner {
    holdings: Holdings,
    faults: Faults,
    draws: Draws,
    start: DateTime<Utc>,
    /// What processes before this one took.
    elapsed: Duration,
    origin: Option<Instant>,
    changes: usize,
    log: Vec<Logged>,
    is_dead: bool,
    death: Option<oneshot::Sender<()>>,
    last_rites: Option<Box<dyn FnOnce() + Send>>,
    witness: Option<Witness>,
    /// At which call the sessions of all roles end.
    expire: Option<usize>,
    /// The same of the caller's own credentials.
    expire_caller: Option<usize>,
    /// Calls of this process by what they are: that arrived, and that were carried out.
    arrived: BTreeMap<String, usize>,
    carried_out: BTreeMap<String, usize>,
    /// What the call that was lost on purpose said.
    struck: Option<String>,
    under_way: usize,
    peak: usize,
}

/// Sees the world before and after each call that changes something and is carried out.
pub(crate) type Witness = Box<dyn FnMut(Sight<'_>) + Send>;

/// What a witness sees.
pub(crate) enum Sight<'a> {
    /// A call has arrived.
    Arrived(Aws),
    /// It was carried out.
    CarriedOut(Aws, Arrival<'a>),
}

impl fmt::Debug for Aws {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Aws").finish_non_exhaustive()
    }
}

impl Inner {
    fn now(&self) -> DateTime<Utc> {
        self.start + delta(self.elapsed + self.origin.map(|origin| origin.elapsed()).unwrap_or_default())
    }

    fn note(&mut self, arrival: &Arrival<'_>, fate: Fate) {
        let (service, operation) = (arrival.service.to_owned(), arrival.operation.to_owned());
        self.log.push(Logged { service, operation, changes: arrival.changes, fate });
    }

    /// The same world, without this process.
    fn fork(&self) -> Aws {
        let took = self.origin.map(|origin| origin.elapsed()).unwrap_or_default();
        Aws(Arc::new(Mutex::new(Self {
            holdings: self.holdings.clone(),
            faults: self.faults.clone(),
            draws: self.draws.clone(),
            start: self.start,
            elapsed: self.elapsed + took,
            origin: None,
            changes: 0,
            log: Vec::new(),
            is_dead: false,
            death: None,
            last_rites: None,
            witness: None,
            expire: None,
            expire_caller: None,
            arrived: BTreeMap::new(),
            carried_out: BTreeMap::new(),
            struck: None,
            under_way: 0,
            peak: 0,
        })))
    }

    fn is_killed(&self, when: When) -> bool {
        self.faults.kill.is_some_and(|kill| kill.at == self.changes && kill.when == when)
    }

    /// The end of a call that is to be lost now, before or after it took effect.
    fn strike<T>(&mut self, arrival: &Arrival<'_>, what: &str, effect: Effect) -> Option<Passed<T>> {
        let lost = self.faults.lost_call.clone()?;
        let counted = if effect == Effect::None { &self.arrived } else { &self.carried_out };
        let is_it = lost.what == what && lost.loss.takes_effect() == (effect != Effect::None);
        let is_first = is_it && effect != Effect::Refused && self.struck.is_none() && counted.get(what) == Some(&lost.number);
        let is_again = is_it && lost.loss == Loss::BrokenEachTime && self.struck.as_deref() == Some(arrival.text);
        if !is_first && !is_again {
            return None;
        }
        self.struck = Some(arrival.text.to_owned());
        self.note(arrival, Fate::Struck);
        Some(match lost.loss {
            Loss::Failed | Loss::NotServed => Passed::Failed,
            Loss::NoAnswer => Passed::Silence,
            Loss::Broken | Loss::BrokenEachTime | Loss::NeverArrived => Passed::Lost,
        })
    }

    fn show<'a>(&mut self, sight: impl FnOnce(&Self) -> Sight<'a>) {
        if let Some(mut witness) = self.witness.take() {
            witness(sight(self));
            self.witness = Some(witness);
        }
    }

    fn die(&mut self, arrival: &Arrival<'_>, when: When) {
        self.note(arrival, Fate::Killed(when));
        self.is_dead = true;
        if let Some(rites) = self.last_rites.take() {
            rites();
        }
        if let Some(death) = self.death.take() {
            let _ = death.send(());
        }
    }
}

impl Aws {
    /// Accounts without anything in them but for the roles that a hub and a workload account have.
    pub(crate) fn new(seed: u64, start: DateTime<Utc>) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            holdings: Holdings::new(seed),
            faults: Faults::default(),
            draws: Draws::new(seed),
            start,
            elapsed: Duration::ZERO,
            origin: None,
            changes: 0,
            log: Vec::new(),
            is_dead: false,
            death: None,
            last_rites: None,
            witness: None,
            expire: None,
            expire_caller: None,
            arrived: BTreeMap::new(),
            carried_out: BTreeMap::new(),
            struck: None,
            under_way: 0,
            peak: 0,
        })))
    }

    /// Another simulation that goes on from here.
    pub(crate) fn fork(&self) -> Self {
        self.inner().fork()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    /// A role that is there before anybody begins.
    pub(crate) fn seed_role(&self, account: &str, name: &str) {
        let mut inner = self.inner();
        let now = inner.now();
        let here = Here { account, region: "", now };
        let role = iam::role(account, name, "/", r#"{"Version":"2012-10-17","Statement":[]}"#, now);
        let role = inner.holdings.make(here, "role", name, role);
        (role.implicit, role.shown, role.usable, role.ready) = (true, now, now, now);
    }

    /// The caller's own credentials.
    pub(crate) fn seed_caller(&self, account: &str, arn: &str, expires: Option<DateTime<Utc>>) {
        let key = Key { account: account.to_owned(), arn: arn.to_owned(), expires };
        self.inner().holdings.keys.insert(CALLERS_KEY.to_owned(), key);
    }

    /// Ends the sessions of all assumed roles when so many further calls have arrived.
    pub(crate) fn expire_sessions_at(&self, calls: Option<usize>) {
        let mut inner = self.inner();
        inner.expire = calls.map(|calls| inner.log.len() + calls);
    }

    /// Ends the caller's own credentials when so many further calls have arrived.
    pub(crate) fn expire_caller_at(&self, calls: Option<usize>) {
        let mut inner = self.inner();
        inner.expire_caller = calls.map(|calls| inner.log.len() + calls);
    }

    /// How often this process, or the last one, changed something, by what it was (see [`what_of`]).
    pub(crate) fn carried_out(&self) -> BTreeMap<String, usize> {
        self.inner().carried_out.clone()
    }

    /// What the call said that was lost on purpose.
    pub(crate) fn struck(&self) -> Option<String> {
        self.inner().struck.clone()
    }

    /// Most calls that were under way at one time.
    pub(crate) fn peak(&self) -> usize {
        self.inner().peak
    }

    pub(crate) fn misbehave(&self, faults: Faults) {
        let mut inner = self.inner();
        (inner.holdings.lag, inner.holdings.propagation) = (faults.lag, faults.propagation);
        inner.holdings.lingers = faults.lingers;
        inner.struck = None;
        inner.faults = faults;
    }

    /// A process starts: on tokio's clock of this runtime. When it dies, `rites` is called at that very moment, and what is
    /// given here is answered.
    pub(crate) fn start(&self, rites: impl FnOnce() + Send + 'static) -> oneshot::Receiver<()> {
        let (death, died) = oneshot::channel();
        let mut inner = self.inner();
        (inner.origin, inner.changes, inner.is_dead) = (Some(Instant::now()), 0, false);
        inner.arrived.clear();
        inner.carried_out.clear();
        inner.under_way = 0;
        inner.death = Some(death);
        inner.last_rites = Some(Box::new(rites));
        died
    }

    /// From now on somebody looks on.
    pub(crate) fn witnessed(&self, witness: Witness) {
        self.inner().witness = Some(witness);
    }

    /// The process has ended: time goes on from here with the next one.
    pub(crate) fn end(&self) {
        let mut inner = self.inner();
        let took = inner.origin.take().map(|origin| origin.elapsed()).unwrap_or_default();
        inner.elapsed += took;
        inner.is_dead = true;
        inner.witness = None;
    }

    /// Time that passes while no process runs.
    pub(crate) fn sleep(&self, duration: Duration) {
        self.inner().elapsed += duration;
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.inner().now()
    }

    /// Seconds since the simulation began.
    pub(crate) fn seconds(&self) -> f64 {
        let inner = self.inner();
        (inner.now() - inner.start).as_seconds_f64()
    }

    pub(crate) fn clock(&self) -> Clock {
        let aws = self.clone();
        Arc::new(move || aws.now())
    }

    /// Mutating calls of this process so far.
    pub(crate) fn changes(&self) -> usize {
        self.inner().changes
    }

    pub(crate) fn log(&self) -> Vec<Logged> {
        self.inner().log.clone()
    }

    /// Looks at what is there.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Holdings, DateTime<Utc>) -> T) -> T {
        let mut inner = self.inner();
        let now = inner.now();
        eks::take_along(&mut inner.holdings, now);
        look(&inner.holdings, now)
    }

    /// Changes what is there, past everybody.
    pub(crate) fn meddle<T>(&self, change: impl FnOnce(&mut Holdings, DateTime<Utc>) -> T) -> T {
        let mut inner = self.inner();
        let now = inner.now();
        change(&mut inner.holdings, now)
    }

    /// Lets a call through, with everything that may happen to it on the way. A process that is dead gets no answer.
    pub(crate) async fn pass<T>(
        &self,
        arrival: Arrival<'_>,
        serve: impl FnOnce(&mut Holdings, DateTime<Utc>) -> T,
        is_refused: fn(&T) -> bool,
    ) -> Passed<T> {
        let label = format!("{}:{}", arrival.service, arrival.operation);
        let half = Duration::from_millis(25) + self.inner().draws.lag("latency", Duration::from_millis(120));
        {
            let mut inner = self.inner();
            inner.under_way += 1;
            inner.peak = inner.peak.max(inner.under_way);
        }
        tokio::time::sleep(half).await;
        let passed = self.carry_out(&arrival, &label, serve, is_refused);
        if passed.is_none() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(half).await;
        if self.inner().is_dead {
            std::future::pending::<()>().await;
        }
        self.inner().under_way -= 1;
        passed.unwrap_or(Passed::Lost)
    }

    /// `None`: the process is dead.
    fn carry_out<T>(
        &self,
        arrival: &Arrival<'_>,
        label: &str,
        serve: impl FnOnce(&mut Holdings, DateTime<Utc>) -> T,
        is_refused: fn(&T) -> bool,
    ) -> Option<Passed<T>> {
        let mut inner = self.inner();
        if inner.is_dead {
            return None;
        }
        if arrival.changes {
            inner.changes += 1;
            if inner.is_killed(When::Before) {
                inner.die(arrival, When::Before);
                return None;
            }
        }
        if inner.draws.next(&format!("{label} throttled")) < inner.faults.throttled {
            inner.note(arrival, Fate::Throttled);
            return Some(Passed::Throttled);
        }
        let now = inner.now();
        if inner.expire.is_some_and(|at| at <= inner.log.len()) {
            inner.expire = None;
            inner.holdings.keys.iter_mut().filter(|(key, _)| *key != CALLERS_KEY).for_each(|(_, key)| key.expires = Some(now));
        }
        if inner.expire_caller.is_some_and(|at| at <= inner.log.len()) {
            inner.expire_caller = None;
            inner.holdings.keys.get_mut(CALLERS_KEY).unwrap().expires = Some(now);
        }
        eks::take_along(&mut inner.holdings, now);
        let what = what_of(arrival.service, arrival.operation, arrival.text);
        if arrival.changes {
            *inner.arrived.entry(what.clone()).or_default() += 1;
            if let Some(passed) = inner.strike(arrival, &what, Effect::None) {
                return Some(passed);
            }
            inner.show(|inner| Sight::Arrived(inner.fork()));
        }
        let answer = serve(&mut inner.holdings, now);
        if arrival.changes && !is_refused(&answer) {
            inner.show(|inner| Sight::CarriedOut(inner.fork(), *arrival));
        }
        if arrival.changes {
            let effect = if is_refused(&answer) { Effect::Refused } else { Effect::Done };
            if effect == Effect::Done {
                *inner.carried_out.entry(what.clone()).or_default() += 1;
            }
            if let Some(passed) = inner.strike(arrival, &what, effect) {
                return Some(passed);
            }
        }
        if arrival.changes && inner.is_killed(When::After) {
            inner.die(arrival, When::After);
            return None;
        }
        if inner.draws.next(&format!("{label} lost")) < inner.faults.lost {
            inner.note(arrival, Fate::Lost);
            return Some(Passed::Lost);
        }
        inner.note(arrival, Fate::Answered);
        Some(Passed::Answer(answer))
    }
}

impl TimeSource for Aws {
    fn now(&self) -> SystemTime {
        Self::now(self).into()
    }
}

impl HttpConnector for Aws {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let aws = self.clone();
        HttpConnectorFuture::new(async move {
            let request = Request::read(&request);
            let arrival = Arrival {
                service: &request.service,
                operation: &request.operation,
                changes: request.changes(),
                text: &request.text,
            };
            match aws.pass(arrival, |holdings, now| serve(holdings, now, &request), Result::is_err).await {
                Passed::Answer(answer) => Ok(request.answer(answer)),
                Passed::Throttled => Ok(request.answer(throttled(&request.service))),
                Passed::Failed => Ok(request.answer(failed(&request.service))),
                Passed::Silence => std::future::pending().await,
                Passed::Lost => Err(ConnectorError::io("connection reset by peer".into())),
            }
        })
    }
}

impl HttpClient for Aws {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

fn throttled(service: &str) -> Result<Value, Refusal> {
    match service {
        "ec2" => refuse(503, "RequestLimitExceeded", "Request limit exceeded."),
        "eks" => refuse(429, "TooManyRequestsException", "Too Many Requests"),
        "servicequotas" => refuse(400, "TooManyRequestsException", "Too Many Requests"),
        _ => refuse(400, "Throttling", "Rate exceeded"),
    }
}

fn failed(service: &str) -> Result<Value, Refusal> {
    match service {
        "ec2" => refuse(500, "InternalError", "An internal error has occurred."),
        "eks" => refuse(500, "ServerException", "Internal server error"),
        _ => refuse(500, "ServiceFailure", "The request processing has failed because of an unknown error."),
    }
}

fn serve(holdings: &mut Holdings, now: DateTime<Utc>, request: &Request) -> Result<Value, Refusal> {
    let Some(key) = holdings.keys.get(&request.key).cloned() else {
        return refuse(403, "InvalidClientTokenId", "The security token included in the request is invalid.");
    };
    if key.expires.is_some_and(|expires| expires <= now) {
        let message = "The security token included in the request is expired";
        return match request.service.as_str() {
            "ec2" => refuse(400, "RequestExpired", "Request has expired."),
            "eks" => refuse(403, "ExpiredTokenException", message),
            _ => refuse(403, "ExpiredToken", message),
        };
    }
    let region = if request.service == "iam" { "" } else { request.region.as_str() };
    let here = Here { account: &key.account, region, now };
    match request.service.as_str() {
        "ec2" => ec2::serve(holdings, here, request),
        "iam" => iam::serve(holdings, here, request),
        "eks" => eks::serve(holdings, here, request, &key.arn),
        "sts" => sts(holdings, now, request, &key),
        "servicequotas" => Ok(json!({"Quota": {"QuotaCode": request.body["QuotaCode"], "Value": 1000.0}})),
        other => panic!("no service {other}"),
    }
}

/// Sessions last as long as they are asked for, an hour unless said otherwise.
fn sts(holdings: &mut Holdings, now: DateTime<Utc>, request: &Request, key: &Key) -> Result<Value, Refusal> {
    if request.operation == "GetCallerIdentity" {
        return Ok(json!({"Account": key.account, "Arn": key.arn, "UserId": "AIDA"}));
    }
    let arn = request.field("RoleArn");
    let account = arn.split(':').nth(4).unwrap_or_default().to_owned();
    let name = arn.rsplit('/').next().unwrap_or_default();
    if holdings.get(Here { account: &account, region: "", now }, "role", name).is_none() {
        return refuse(403, "AccessDenied", format!("not authorized to perform: sts:AssumeRole on resource: {arn}"));
    }
    let seconds = request.field("DurationSeconds").parse().unwrap_or(3600);
    let expires = now + delta(Duration::from_secs(seconds));
    holdings.last_id += 1;
    let session = format!("ASIA{:08}", holdings.last_id);
    let assumed = format!("arn:aws:sts::{account}:assumed-role/{name}/{}", request.field("RoleSessionName"));
    holdings.keys.insert(session.clone(), Key { account, arn: assumed.clone(), expires: Some(expires) });
    Ok(json!({
        "Credentials": {
            "AccessKeyId": session, "SecretAccessKey": "secret", "SessionToken": "token", "Expiration": moment(expires),
        },
        "AssumedRoleUser": {"AssumedRoleId": "AROA:session", "Arn": assumed},
    }))
}
