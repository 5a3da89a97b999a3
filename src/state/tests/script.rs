//! Random runs: what a run asks of the journal, several things at a time.

use super::{intent, record, refused};
use crate::state::file::{DefinitionsUsed, Verb};
use crate::state::journal::{Journal, Outcome};
use futures::future::join_all;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};
use std::sync::Mutex;

/// Something that is asked of the journal.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// A call for an object, which ends like this; `None` leaves the entry open.
    Call(usize, Verb, Option<End>),
    Put(usize, u32),
    Forget(usize),
    Definitions(u8),
    Duration(f64),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Succeeded(u32),
    Refused,
}

/// Rounds of acts; those of a round are asked for at the same time.
pub(super) type Script = Vec<Vec<Act>>;

const NAMES: [&str; 5] = ["vpc", "subnet1", "subnet2", "natGateway1", "routeTable"];

pub(super) fn scripts() -> impl Strategy<Value = Script> {
    prop::collection::vec(prop::collection::vec(acts(), 1..6), 1..8)
}

fn acts() -> impl Strategy<Value = Act> {
    let verbs = prop_oneof![Just(Verb::Create), Just(Verb::Change), Just(Verb::Delete)];
    let ends = prop_oneof![
        4 => any::<u32>().prop_map(|round| Some(End::Succeeded(round))),
        2 => Just(Some(End::Refused)),
        1 => Just(None),
    ];
    prop_oneof![
        6 => (0..NAMES.len(), verbs, ends).prop_map(|(name, verb, end)| Act::Call(name, verb, end)),
        1 => (0..NAMES.len(), any::<u32>()).prop_map(|(name, round)| Act::Put(name, round)),
        1 => (0..NAMES.len()).prop_map(Act::Forget),
        1 => any::<u8>().prop_map(Act::Definitions),
        1 => (0.0..2000.0).prop_map(Act::Duration),
    ]
}

/// What somebody was told, with a time: how many writes the store had seen by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fact {
    /// A permit was handed out.
    Permit(u64),
    /// The end of an entry was asked for.
    Ending(u64),
    /// The end of an entry is durable.
    Ended(u64),
}

/// Plays a script. Errors are what a run would meet too: it goes on with something else.
pub(super) async fn play(journal: &Journal, script: &Script, time: impl Fn() -> usize) -> Vec<(Fact, usize)> {
    let facts = Mutex::new(Vec::new());
    let tell = |fact| facts.lock().unwrap().push((fact, time()));
    for round in script {
        join_all(round.iter().map(|act| perform(journal, act, &tell))).await;
    }
    facts.into_inner().unwrap()
}

async fn perform(journal: &Journal, act: &Act, tell: &impl Fn(Fact)) {
    let done = match act {
        Act::Call(name, verb, end) => return call(journal, NAMES[*name], *verb, *end, tell).await,
        Act::Put(name, round) => journal.put(record(NAMES[*name], *round)).await,
        Act::Forget(name) => journal.forget(&record(NAMES[*name], 0).identity).await,
        Act::Definitions(hash) => {
            let used = DefinitionsUsed { source: "built-in".into(), hash: hash.to_string() };
            journal.definitions(used).await
        }
        Act::Duration(seconds) => journal.duration("VPC.create".into(), *seconds).await,
    };
    drop(done);
}

async fn call(journal: &Journal, name: &str, verb: Verb, end: Option<End>, tell: &impl Fn(Fact)) {
    let Ok(permit) = journal.begin(intent(name, verb)).await else { return };
    let entry = permit.entry();
    tell(Fact::Permit(entry));
    let (outcome, made) = match end {
        None => return,
        Some(End::Refused) => (refused(), None),
        Some(End::Succeeded(round)) => (Outcome::Succeeded, (verb != Verb::Delete).then(|| record(name, round))),
    };
    tell(Fact::Ending(entry));
    if journal.end(entry, outcome, made).await.is_ok() {
        tell(Fact::Ended(entry));
    }
}
