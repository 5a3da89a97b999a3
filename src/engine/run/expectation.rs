//! When a run is expected to end: the longest path through what is still to be done, less what has passed.

use super::Run;
use super::node::{Node, Stage};
use super::priority::CALL;
use super::steps::COMING_UP;
use crate::engine::context::{Context, Usually};
use crate::engine::outlook::{Counts, Expected};
use crate::graph::catalog::{Production, Step};
use crate::graph::expansion::NodeIndex;
use crate::state::file::{Phase, Record};
use std::collections::BTreeMap;
use std::time::Duration;

/// When a resource reaches something; `None`: never, something before it failed.
type When = Option<Expected<NodeIndex>>;

#[derive(Debug, Clone)]
struct Times {
    created: When,
    configured: When,
    ready: When,
}

impl Times {
    fn all(when: When) -> Self {
        Self { created: when.clone(), configured: when.clone(), ready: when }
    }

    fn of(&self, production: Production) -> When {
        match production {
            Production::Created => self.created.clone(),
            Production::Configured => self.configured.clone(),
            Production::Ready => self.ready.clone(),
        }
    }
}

impl Run<'_> {
    /// Resources that this run has to do with. Asked before it begins.
    pub(super) fn concerned(&self) -> usize {
        self.nodes.values().filter(|node| !matches!(node.stage, Stage::Ready | Stage::Unreachable(_))).count()
    }

    /// Says how far the run is; `concerned` as it was at the beginning.
    pub(super) fn say_outlook(&self, concerned: usize, removals: &super::Removals) {
        let counts = Counts { objects: concerned + removals.count, ..self.counts(concerned) };
        let mut expected = self.expected();
        if removals.count > 0 {
            expected = expected.and(&NodeIndex(0), removals.takes, false);
        }
        let address = |index: NodeIndex| self.work.graph.node(index).address.clone();
        self.context.outlook.say(&self.context.events, counts, expected.of(address));
    }

    /// How many of the resources are over.
    pub(super) fn counts(&self, concerned: usize) -> Counts {
        let open = |node: &&Node| !matches!(node.stage, Stage::Ready | Stage::Unreachable(_));
        let failed = self.nodes.values().filter(|node| matches!(node.stage, Stage::Failed(_))).count();
        let done = concerned.saturating_sub(self.nodes.values().filter(open).count());
        Counts { objects: concerned, done, failed }
    }

    fn expected(&self) -> Expected<NodeIndex> {
        let mut times: BTreeMap<NodeIndex, Times> = BTreeMap::new();
        for index in &self.work.graph.order {
            let found = self.times(*index, &times);
            times.insert(*index, found);
        }
        times.into_values().filter_map(|times| times.ready).fold(Expected::now(), Expected::later)
    }

    fn times(&self, index: NodeIndex, known: &BTreeMap<NodeIndex, Times>) -> Times {
        let inputs = |step: Step| {
            let edges = self.work.graph.edges_from(index).filter(|edge| edge.step == step);
            edges
                .map(|edge| known.get(&edge.to).map_or_else(|| Some(Expected::now()), |times| times.of(edge.production)))
                .try_fold(Expected::now(), |latest, when| Some(latest.later(when?)))
        };
        let (create, configure) = (inputs(Step::Create), inputs(Step::Configure));
        let Some(node) = self.nodes.get(&index) else { return Times::all(both(create, configure)) };
        let usual = self.context.usually(&node.item, Usually::Create);
        let measured = self.context.is_measured(&node.item, Usually::Create);
        let soon = |when: When| Some(when?.and(&index, CALL, false));
        let here = || Some(Expected::now());
        match &node.stage {
            Stage::Ready => Times::all(here()),
            Stage::Failed(_) | Stage::Unreachable(_) | Stage::Stopped => {
                let created = node.observed.as_ref().and_then(|_| here());
                Times { created, configured: None, ready: None }
            }
            Stage::Configured | Stage::Waiting => {
                let (left, measured) = left(node, &self.context);
                Times { created: here(), configured: here(), ready: Some(Expected::now().and(&index, left, measured)) }
            }
            Stage::Present | Stage::Busy if node.observed.is_some() => {
                let configured = soon(configure);
                let takes = if node.record.as_ref().is_some_and(comes_up) { usual } else { CALL };
                let ready = both(Some(Expected::now().and(&index, takes, measured)), configured.clone());
                Times { created: here(), configured, ready }
            }
            stage => {
                let away = if stage.has_to_go() { self.context.usually(&node.item, Usually::Delete) } else { Duration::ZERO };
                let begins = create.map(|when| when.and(&index, away + CALL, measured));
                let configured = soon(both(begins.clone(), configure));
                let up = begins.as_ref().map(|when| when.and(&index, usual, measured));
                Times { created: begins, configured: configured.clone(), ready: both(up, configured) }
            }
        }
    }
}

/// What is left of a wait. One for a change of what was ready is not known in advance, and short.
fn left(node: &Node, context: &Context) -> (Duration, bool) {
    let Some(record) = node.record.as_ref().filter(|record| comes_up(record)) else { return (CALL, false) };
    let since = record.wait.as_ref().map_or(record.since, |wait| wait.since);
    let waited = (context.wall.now() - since).to_std().unwrap_or_default();
    let usual = context.usually(&node.item, Usually::Create);
    (usual.saturating_sub(waited), context.is_measured(&node.item, Usually::Create))
}

/// Whether an object comes up for the first time; else it was ready once.
fn comes_up(record: &Record) -> bool {
    record.wait.as_ref().map_or(record.phase == Phase::Created, |wait| wait.what == COMING_UP)
}

fn both(one: When, other: When) -> When {
    Some(one?.later(other?))
}
