//! The run: carries a plan out. One coordinator owns all state; steps run beside it and report back.
//!
//! A step starts when the fields it needs are known and what it needs of others has been reached. Among steps that could
//! start, the one with the longest remaining path goes first. Waits take no slot. What fails stops its dependents and
//! nobody else.

mod expectation;
mod node;
mod priority;
mod steps;

pub(in crate::engine) use steps::{lost_each_time, trouble};

use super::context::{Context, Item, Trouble};
use super::events::Event;
use super::outcome::Circumstances;
use super::plan::Action;
use super::planner::Planned;
use super::removal::{self, Doomed, Ended, Order};
use super::report::{Done, End, Failure, NotReached, RunReport};
use super::work::Work;
use crate::engine::status::is_to_be_deleted;
use crate::graph::catalog::{Catalog, Production, Step};
use crate::graph::evaluation::{Evaluation, Included, Observation, Observations};
use crate::graph::expansion::NodeIndex;
use crate::graph::identity::{Address, Identity};
use node::{Node, Outcome, Stage};
use std::collections::BTreeMap;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// A run of one instance.
pub(super) struct Run<'a> {
    work: &'a Work,
    catalog: &'static dyn Catalog,
    context: Context,
    parallelism: usize,
    observations: Observations,
    nodes: BTreeMap<NodeIndex, Node>,
    /// What goes with what is replaced.
    order: Order,
    /// See [`Planned::superseded`].
    superseded: Vec<Identity>,
    fatal: Vec<Failure>,
    started: Instant,
}

impl<'a> Run<'a> {
    /// Prepares a run of a plan; `parts` are the resources of the graph as they were read.
    pub(super) fn new(
        work: &'a Work,
        catalog: &'static dyn Catalog,
        context: Context,
        parallelism: usize,
        planned: Planned,
        mut parts: BTreeMap<NodeIndex, Part>,
    ) -> Self {
        let mut nodes = BTreeMap::new();
        for (index, graph_node) in work.graph.resources() {
            let change = planned.plan.changes.iter().find(|change| change.address == graph_node.address);
            if let (Some(change), Some(part)) = (change, parts.remove(&index)) {
                nodes.insert(index, Node::new(change, part));
            }
        }
        priority::assign(&work.graph, &context, &mut nodes);
        let order = carry(&mut nodes);
        let Planned { mut observations, superseded, .. } = planned;
        // What has to go first is nobody's to build on.
        observations.retain(|index, _| nodes.get(index).is_none_or(|node| !node.stage.has_to_go()));
        Self {
            work,
            order,
            catalog,
            context,
            parallelism,
            observations,
            nodes,
            superseded,
            fatal: Vec::new(),
            started: Instant::now(),
        }
    }

    /// Carries the plan out; then removes what left the graph, if nothing failed.
    pub(super) async fn carry_out(mut self, doomed: Vec<Doomed>) -> RunReport {
        let removals = Removals { count: doomed.len(), takes: removal::usually(&self.context, &doomed) };
        let concerned = self.concerned();
        self.record().await;
        let mut running = JoinSet::new();
        let mut told = false;
        loop {
            let evaluation = self.work.evaluate(&self.observations, self.catalog);
            self.note_fatal(&evaluation);
            if self.fatal.is_empty() && self.context.goes_on() {
                self.start(&evaluation, &mut running);
            }
            self.say_outlook(concerned, &removals);
            if running.is_empty() {
                break;
            }
            tokio::select! {
                // Nobody ends these tasks but the runtime when it goes down.
                Some(joined) = running.join_next() => if let Ok(outcome) = joined {
                    self.settle(outcome).await;
                },
                () = self.context.stop.wait(), if !told => {
                    told = true;
                    self.context.recorder.stop();
                    self.context.events.say(Event::Stopping);
                }
            }
        }
        // Removals count on top of what is over.
        self.context.outlook.go_on_from(self.counts(concerned));
        self.conclude(doomed).await
    }

    /// Brings the state up to date before anything is called: what is adopted is recorded, what another resource stands
    /// for now is not recorded twice, and who needs whom follows the graph.
    async fn record(&mut self) {
        for node in self.nodes.values_mut() {
            let Some(record) = &mut node.record else { continue };
            let follows = record.dependencies == node.item.subject.dependencies;
            record.dependencies.clone_from(&node.item.subject.dependencies);
            let was_to_go = is_to_be_deleted(record);
            if was_to_go {
                record.wait = None;
            }
            if node.action != Action::Adopt && follows && !was_to_go {
                continue;
            }
            if let Err(error) = self.context.journal.put(record.clone()).await {
                node.stage = Stage::Failed(format!("the state could not be written: {error}").into());
            }
        }
        for identity in std::mem::take(&mut self.superseded) {
            if let Err(error) = self.context.journal.forget(&identity).await {
                let address = self.work.graph.node(NodeIndex(0)).address.clone();
                let reason = format!("the state could not be written: {error}");
                self.fatal.push(Failure::new(address, identity.kind, reason));
            }
        }
    }

    fn note_fatal(&mut self, evaluation: &Evaluation) {
        if !self.fatal.is_empty() {
            return;
        }
        let address = &self.work.graph.node(NodeIndex(0)).address;
        self.fatal = evaluation
            .errors
            .iter()
            .map(|diagnostic| {
                let reason = match &diagnostic.location {
                    Some(location) => format!("{location}: {}", diagnostic.message),
                    None => diagnostic.message.clone(),
                };
                Failure::new(address.clone(), self.work.graph.instance.kind.clone(), reason)
            })
            .collect();
    }

    /// Starts every step that can start: what was just made is finished first, so that no object stays without its policies
    /// while others take the slots; then the one with the longest remaining path.
    fn start(&mut self, evaluation: &Evaluation, running: &mut JoinSet<(NodeIndex, Outcome)>) {
        let mut candidates: Vec<_> =
            self.nodes.iter().filter(|(_, node)| node.stage.can_start()).map(|(index, _)| *index).collect();
        let urgency = |index: &NodeIndex| self.nodes.get(index).map(|node| (node.is_unfinished(), node.remaining()));
        candidates.sort_by_key(|index| std::cmp::Reverse(urgency(index)));
        for index in candidates {
            let slots = self.nodes.values().filter(|node| node.stage.takes_slot()).count();
            let waits = self.nodes.get(&index).is_some_and(|node| node.stage == Stage::Configured);
            if slots >= self.parallelism && !waits {
                continue;
            }
            self.start_one(index, evaluation, running);
        }
    }

    fn start_one(&mut self, index: NodeIndex, evaluation: &Evaluation, running: &mut JoinSet<(NodeIndex, Outcome)>) {
        let Some(stage) = self.nodes.get(&index).map(|node| node.stage.clone()) else { return };
        let desired = match stage {
            Stage::Absent => self.desired(index, evaluation, Step::Create),
            Stage::Present => self.desired(index, evaluation, Step::Configure),
            _ => Some(serde_json::Value::Null),
        };
        let longest = self.nodes.values().map(Node::remaining).max().unwrap_or_default();
        let (Some(desired), Some(node)) = (desired, self.nodes.get_mut(&index)) else { return };
        let spare = longest.saturating_sub(node.remaining());
        let context = self.context.clone();
        if let Some(future) = node.begin(context, desired, spare) {
            running.spawn(async move { (index, future.await) });
        }
    }

    /// The desired object, if everything that the step needs is there.
    fn desired(&self, index: NodeIndex, evaluation: &Evaluation, step: Step) -> Option<serde_json::Value> {
        let node = evaluation.node(index);
        if node.included != Included::Yes {
            return None;
        }
        self.waits_for(index, evaluation, step).is_none().then(|| node.desired.known_part())
    }

    /// What a step waits for. To configure an object that is there is to compare all of it, so that needs what its
    /// creation needed too: a field that is not known yet would look removed.
    fn waits_for(&self, index: NodeIndex, evaluation: &Evaluation, step: Step) -> Option<String> {
        let waits = |step| evaluation.step_waits_for(&self.work.graph, &self.observations, self.catalog, index, step);
        waits(Step::Create).or_else(|| if step == Step::Configure { waits(Step::Configure) } else { None })
    }

    /// Moves a resource on; when it is gone, also what went with it.
    async fn settle(&mut self, (index, outcome): (NodeIndex, Outcome)) {
        let is_gone = matches!(outcome, Outcome::Removed(Ok(())));
        self.move_on(index, outcome);
        let Some(node) = self.nodes.get(&index).filter(|_| is_gone) else { return };
        for carried in self.order.carried_by(&node.item.subject.identity) {
            let forgotten = self.context.journal.forget(&carried).await.map_err(Trouble::from);
            let found = self.nodes.iter().find(|(_, node)| node.item.subject.identity == carried).map(|(index, _)| *index);
            if let Some(index) = found {
                self.move_on(index, Outcome::Removed(forgotten));
            }
        }
    }

    fn move_on(&mut self, index: NodeIndex, outcome: Outcome) {
        let Some(node) = self.nodes.get_mut(&index) else { return };
        let reached = node.settle(outcome);
        if let Stage::Failed(reason) = &node.stage {
            self.context.events.say(Event::Failed {
                address: node.item.subject.address.clone(),
                kind: node.item.kind_name().to_owned(),
                reason: reason.text.clone(),
            });
        }
        match (reached, &node.observed) {
            (Some(reached), Some(observed)) => {
                let rendered = self.work.blank.node(index).desired.known_part();
                let object = super::object::observed_object(&rendered, observed, reached);
                self.observations.insert(index, Observation { object, reached });
            }
            (None, None) => {
                self.observations.remove(&index);
            }
            _ => {}
        }
    }

    async fn conclude(mut self, doomed: Vec<Doomed>) -> RunReport {
        let evaluation = self.work.evaluate(&self.observations, self.catalog);
        let mut ended = self.ended(&evaluation);
        let removed = match self.keeps_from_removing(&ended, &evaluation) {
            None => removal::remove_all(&self.context, doomed, self.parallelism).await,
            Some(reason) => removal::postponed(doomed, reason),
        };
        ended.add(removed);
        RunReport {
            instance: self.work.graph.node(NodeIndex(0)).address.clone(),
            end: end(&ended.failed, &ended.not_reached, self.context.stop.requested()),
            done: ended.done,
            failed: ended.failed,
            not_reached: ended.not_reached,
            status: evaluation.node(NodeIndex(0)).status.clone().unwrap_or_default(),
            seconds: self.started.elapsed().as_secs_f64(),
            circumstances: Circumstances::default(),
        }
    }

    /// How each resource of the graph ended.
    fn ended(&mut self, evaluation: &Evaluation) -> Ended {
        let mut ended = Ended { failed: std::mem::take(&mut self.fatal), ..Ended::default() };
        for (index, node) in &self.nodes {
            let (address, kind) = (node.item.subject.address.clone(), node.item.kind_name().to_owned());
            let because = self.failed_dependency(*index);
            let unfinished =
                |reason| NotReached { address: address.clone(), kind: kind.clone(), reason, because: because.clone() };
            match &node.stage {
                Stage::Ready if node.action != Action::None => {
                    let id = node.record.as_ref().map(|record| record.id.clone()).unwrap_or_default();
                    ended.done.push(Done { address, kind, id, action: node.action, seconds: None });
                }
                Stage::Ready => {}
                Stage::Failed(reason) => ended.failed.push(Failure::new(address, kind, reason.clone())),
                Stage::Unreachable(reason) => ended.not_reached.push(unfinished(reason.clone())),
                Stage::Absent if evaluation.is_excluded(*index) => {}
                _ => ended.not_reached.push(unfinished(self.why_not_reached(*index, evaluation))),
            }
        }
        ended
    }

    /// Why what left the graph is not removed yet: something that may still stand on it is not done.
    fn keeps_from_removing(&self, ended: &Ended, evaluation: &Evaluation) -> Option<&'static str> {
        let is_over = |(index, node): (&NodeIndex, &Node)| match &node.stage {
            Stage::Ready | Stage::Unreachable(_) => true,
            Stage::Absent => evaluation.is_excluded(*index),
            _ => false,
        };
        if let Some(reason) = self.context.why_not() {
            return Some(reason);
        }
        let all_over = ended.failed.is_empty() && self.nodes.iter().all(is_over);
        (!all_over).then_some("it goes when everything else is done, and that is not")
    }

    /// Because of what a resource was not finished: the failed resource it waits for, or what evaluation says.
    fn why_not_reached(&self, index: NodeIndex, evaluation: &Evaluation) -> String {
        if let Some(culprit) = self.failed_dependency(index) {
            return format!("{culprit} failed");
        }
        if let Some(reason) = self.context.why_not() {
            return reason.to_owned();
        }
        if evaluation.is_excluded(index) {
            return "its includeWhen no longer hold; apply again removes it".to_owned();
        }
        let step = if self.observations.contains_key(&index) { Step::Configure } else { Step::Create };
        self.waits_for(index, evaluation, step)
            .map_or_else(|| "nothing started it".to_owned(), |what| format!("it waits for {what}"))
    }

    fn failed_dependency(&self, index: NodeIndex) -> Option<Address> {
        let mut open = vec![index];
        let mut seen = std::collections::BTreeSet::new();
        while let Some(current) = open.pop() {
            for edge in self.work.graph.edges_from(current) {
                if !seen.insert(edge.to) {
                    continue;
                }
                match self.nodes.get(&edge.to) {
                    Some(Node { stage: Stage::Failed(_), item, .. }) => return Some(item.subject.address.clone()),
                    _ => open.push(edge.to),
                }
            }
        }
        None
    }
}

/// Marks what goes with something that has to go: it is not removed by itself.
fn carry(nodes: &mut BTreeMap<NodeIndex, Node>) -> Order {
    let doomed = nodes.values().filter(|node| node.stage == Stage::Doomed);
    let doomed: Vec<_> = doomed.filter_map(|node| Some((node.record.as_ref()?, node.item.kind.goes_with()))).collect();
    let order = Order::of(&doomed);
    for node in nodes.values_mut().filter(|node| node.stage == Stage::Doomed) {
        if order.carrier(&node.item.subject.identity).is_some() {
            node.stage = Stage::Carried;
        }
    }
    order
}

/// What is removed when everything else is done.
#[derive(Debug)]
struct Removals {
    count: usize,
    /// How long it usually takes.
    takes: std::time::Duration,
}

/// How a run ended: interrupted beats failed, and failed beats incomplete. An interruption that left nothing undone is none.
pub(in crate::engine) fn end(failed: &[Failure], not_reached: &[NotReached], stopped: bool) -> End {
    if stopped && !not_reached.is_empty() {
        End::Interrupted
    } else if !failed.is_empty() {
        End::Failed
    } else if !not_reached.is_empty() {
        End::Incomplete
    } else {
        End::Done
    }
}

/// One resource as a run takes it over from the refresh.
#[derive(Debug)]
pub(super) struct Part {
    /// The object, its kind, and the services that reach it.
    pub item: Item,
    /// What the state says (or will, for what is adopted).
    pub record: Option<crate::state::file::Record>,
    /// What AWS says.
    pub observed: Option<crate::kinds::kind::Observed>,
    /// Why it cannot be reached, if it cannot.
    pub unreachable: Option<String>,
}

impl Trouble {
    fn stage(self, otherwise: Stage) -> Stage {
        self.reason().map_or(otherwise, Stage::Failed)
    }
}

/// What a production of a stage is, for observations.
pub(in crate::engine) type Reached = Option<Production>;

#[cfg(test)]
mod tests;
