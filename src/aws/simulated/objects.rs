//! What accounts hold.

use super::faults::Draws;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// One object of one account. `body` is as the service answers with it.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    /// `vpc`, `role`, `cluster`, …
    pub(crate) kind: &'static str,
    /// Its account.
    pub(crate) account: String,
    /// Its region; empty for IAM.
    pub(crate) region: String,
    /// Its id or name. Of what lives in a cluster: `cluster|name`.
    pub(crate) id: String,
    /// The rest.
    pub(crate) body: Value,
    /// When it was made.
    pub(crate) made: DateTime<Utc>,
    /// From when on it is shown.
    pub(crate) shown: DateTime<Utc>,
    /// From when on calls that need it see it.
    pub(crate) usable: DateTime<Utc>,
    /// From when on it is ready.
    pub(crate) ready: DateTime<Utc>,
    /// Until when something goes on with it that EKS does one at a time.
    pub(crate) busy: Option<DateTime<Utc>>,
    /// When its removal was asked for.
    pub(crate) deleted: Option<DateTime<Utc>>,
    /// When it is gone.
    pub(crate) gone: Option<DateTime<Utc>>,
    /// Until when it is still shown although it is gone.
    pub(crate) lingers: Option<DateTime<Utc>>,
    /// The same where it is asked for by its tags.
    pub(crate) lingers_by_tags: Option<DateTime<Utc>>,
    /// AWS made it beside another one, or it was there before.
    pub(crate) implicit: bool,
}

impl Object {
    /// Whether it is there.
    pub(crate) fn is_there(&self, now: DateTime<Utc>) -> bool {
        self.gone.is_none_or(|gone| now < gone)
    }

    pub(super) fn is_shown(&self, now: DateTime<Utc>) -> bool {
        now >= self.shown && (self.is_there(now) || self.lingers.is_some_and(|until| now < until))
    }

    pub(super) fn is_shown_by_tags(&self, now: DateTime<Utc>) -> bool {
        now >= self.shown && (self.is_there(now) || self.lingers_by_tags.is_some_and(|until| now < until))
    }

    pub(super) fn is_usable(&self, now: DateTime<Utc>) -> bool {
        self.is_there(now) && self.deleted.is_none() && now >= self.usable
    }

    pub(super) fn is_ready(&self, now: DateTime<Utc>) -> bool {
        self.deleted.is_none() && now >= self.ready
    }

    pub(super) fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_default()
    }

    /// Its tags, whichever service it is of.
    pub(crate) fn tags(&self) -> BTreeMap<String, String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match (&self.body["tagSet"], &self.body["tags"]) {
            (Value::Array(list), _) => list.iter().map(|tag| (text(&tag["key"]), text(&tag["value"]))).collect(),
            (_, Value::Object(map)) => map.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
            _ => BTreeMap::new(),
        }
    }

    pub(crate) fn set_tags(&mut self, tags: BTreeMap<String, String>) {
        if self.region.is_empty() || self.body["tags"].is_object() {
            self.body["tags"] = json!(tags);
        } else {
            self.body["tagSet"] = tags.into_iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
        }
    }
}

/// All accounts. A copy is a world of its own.
#[derive(Debug, Clone)]
pub(crate) struct Holdings {
    pub(crate) objects: Vec<Object>,
    /// Sessions by access key.
    pub(super) keys: BTreeMap<String, Key>,
    /// What was made by client token.
    pub(super) tokens: BTreeMap<String, String>,
    pub(super) last_id: u32,
    pub(super) draws: Draws,
    /// How late things are seen.
    pub(super) lag: Duration,
    pub(super) propagation: Duration,
    pub(super) lingers: Duration,
}

/// Whose key it is.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) account: String,
    /// As `GetCallerIdentity` has it.
    pub(super) arn: String,
    pub(super) expires: Option<DateTime<Utc>>,
}

/// Account and region of a call, and the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Here<'a> {
    pub(super) account: &'a str,
    pub(super) region: &'a str,
    pub(super) now: DateTime<Utc>,
}

impl Holdings {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            objects: Vec::new(),
            keys: BTreeMap::new(),
            tokens: BTreeMap::new(),
            last_id: 0,
            draws: Draws::new(seed),
            lag: Duration::ZERO,
            propagation: Duration::ZERO,
            lingers: Duration::ZERO,
        }
    }

    /// `vpc-0000000000000002a`.
    pub(super) fn id(&mut self, prefix: &str) -> String {
        self.last_id += 1;
        format!("{prefix}-{:017x}", self.last_id)
    }

    pub(super) fn make(&mut self, here: Here<'_>, kind: &'static str, id: &str, body: Value) -> &mut Object {
        let (lag, now) = (self.lag, here.now);
        let shown = now + delta(self.draws.lag(&format!("{kind} shown"), lag));
        let usable = now + delta(self.draws.lag(&format!("{kind} usable"), lag));
        let (account, region) = (here.account.to_owned(), here.region.to_owned());
        let (id, times) = (id.to_owned(), (now, shown, usable));
        self.objects.push(Object {
            kind,
            account,
            region,
            id,
            body,
            made: times.0,
            shown: times.1,
            usable: times.2,
            ready: now,
            busy: None,
            deleted: None,
            gone: None,
            lingers: None,
            lingers_by_tags: None,
            implicit: false,
        });
        let last = self.objects.len() - 1;
        &mut self.objects[last]
    }

    /// What is there of a kind, seen or not.
    pub(super) fn all<'a>(&'a self, here: Here<'a>, kind: &'a str) -> impl Iterator<Item = &'a Object> {
        let fits = move |object: &&Object| {
            object.kind == kind && object.account == here.account && object.region == here.region && object.is_there(here.now)
        };
        self.objects.iter().filter(fits)
    }

    pub(super) fn get(&self, here: Here<'_>, kind: &str, id: &str) -> Option<&Object> {
        self.objects.iter().find(|object| is(object, here, kind, id))
    }

    pub(super) fn get_mut(&mut self, here: Here<'_>, kind: &str, id: &str) -> Option<&mut Object> {
        self.objects.iter_mut().find(|object| is(object, here, kind, id))
    }

    /// Every object of a kind that there ever was.
    pub(super) fn ever<'a>(&'a self, here: Here<'a>, kind: &'a str) -> impl Iterator<Item = &'a Object> {
        let fits = move |object: &&Object| object.kind == kind && object.account == here.account && object.region == here.region;
        self.objects.iter().filter(fits)
    }

    /// Takes something away, at once; it may be shown for a while yet.
    pub(super) fn remove(&mut self, here: Here<'_>, kind: &str, id: &str) {
        let lingers = here.now + delta(self.draws.lag(&format!("{kind} lingers"), self.lingers));
        let by_tags = here.now + delta(self.draws.lag(&format!("{kind} lingers by tags"), self.lingers));
        if let Some(object) = self.get_mut(here, kind, id) {
            (object.lingers, object.lingers_by_tags) = (Some(lingers), Some(by_tags));
            object.deleted = Some(here.now);
            object.gone = Some(here.now);
        }
    }

    /// What is there of all accounts and was made by somebody.
    pub(crate) fn present(&self, now: DateTime<Utc>) -> impl Iterator<Item = &Object> {
        let is_over = move |object: &Object| object.kind == "natgateway" && super::ec2::nat_state(object, now) == "deleted";
        self.objects.iter().filter(move |object| object.is_there(now) && !object.implicit && !is_over(object))
    }
}

fn is(object: &Object, here: Here<'_>, kind: &str, id: &str) -> bool {
    object.id == id
        && object.kind == kind
        && object.account == here.account
        && object.region == here.region
        && object.is_there(here.now)
}

pub(super) fn delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}
