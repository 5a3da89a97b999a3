//! Facts, and the checks of a plan against them before anything is changed.
//!
//! [`wants`] says what a plan wants of its accounts, which gives the [`question`]s to ask; [`checks`] is a pure function of
//! wants and answers. A [`FactBook`] asks each question of an account and region once for all instances of a run. Nothing
//! here knows a definition: a cluster's version, an add-on's, the principal of an access entry are found by kind and field.

mod checks;
mod question;
#[cfg(test)]
mod tests;
mod wants;

pub(super) use self::question::{Answer, Answers, FactBook, Place, Question, Ways};
pub(super) use self::wants::{Stage, Wants};

use super::api::Engine;
use super::finding::Finding;
use super::plan::{Action, Change, Plan};
use super::work::Work;
use std::collections::{BTreeMap, BTreeSet};

/// Whether objects that stay as they are are looked at, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Breadth {
    /// What is made or changed.
    Changes,
    /// That, and how long the versions of clusters that stay are supported.
    Everything,
}

/// What stands in the way of plans of one run, or should be known about them; one list a plan. What cannot be read is said in
/// notes.
pub(super) async fn check(engine: &Engine, planned: &[(&Work, &Plan)], breadth: Breadth) -> Vec<Vec<Finding>> {
    let wants: Vec<Wants> = planned.iter().map(|(work, plan)| wants_of(work, plan)).collect();
    let questions: BTreeSet<Question> = wants.iter().flat_map(|wants| wants.questions(breadth)).collect();
    let works: Vec<&Work> = planned.iter().map(|(work, _)| *work).collect();
    let answers = engine.facts.answers(&Ways { sessions: &engine.sessions, works: &works }, questions).await;
    checks::all(&wants, &answers, engine.clock.now().date_naive())
}

fn wants_of(work: &Work, plan: &Plan) -> Wants {
    let changes: BTreeMap<&str, &Change> = plan.changes.iter().map(|change| (change.address.as_str(), change)).collect();
    let wants = Wants::of(work, |index, field| {
        let change = changes.get(work.graph.node(index).address.as_str());
        change.map_or(Stage::Kept, |change| stage(change, field))
    });
    if plan.header.is_of_unused_state() { wants.of_unused_state(work) } else { wants }
}

fn stage(change: &Change, field: &str) -> Stage {
    match change.action {
        Action::Create => Stage::New,
        Action::Replace => Stage::Anew,
        Action::Update if change.fields.iter().any(|difference| difference.path == field) => Stage::Changed,
        _ => Stage::Kept,
    }
}
