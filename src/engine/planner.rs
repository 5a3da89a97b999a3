//! The planner: a pure function of documents, recorded, observed and facts. It reads no clock, no environment, no network.

mod guards;
mod leaves;
mod orphans;
#[cfg(test)]
pub(crate) mod tests;

pub(super) use self::leaves::joined;
use self::leaves::{Leaf, leaves};
use super::object::observed_object;
use super::plan::{Action, Change, FieldDifference, Header, NotCarriedOut, Plan, Summary};
use super::work::{Place, Work};
use crate::graph::catalog::{KindDescription, Production, Support};
use crate::graph::evaluation::{Evaluation, Observation, Observations};
use crate::graph::expansion::{Edge, NodeIndex};
use crate::graph::identity::{Address, Identity};
use crate::graph::path;
use crate::graph::tree::{Tree, value_at};
use crate::kinds::catalog::{self, KindCatalog};
use crate::kinds::compare;
use crate::kinds::kind::{
    Changeability, FieldChange, Kind, NotCarriedOut as NotCarriedOutValue, Observed, Owner, Readiness, Subject, Takeover,
    why_failed,
};
use crate::state::file::{Phase, Record};
use serde_json::Value;
use std::collections::BTreeMap;

/// Kinds whose removal or replacement has to be confirmed by name.
pub(super) const PRECIOUS: [&str; 3] = ["Cluster", "VPC", "Role"];

/// What to do about an object of another state.
const WAY_OUT: &str = "use the state folder that made it (--state), or another name; if that state is lost, `fleetctl state rebuild` \
                       makes it anew from what is there";

/// What was found out about one resource of the graph before planning.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The object and everything needed to work on it.
    pub subject: Subject,
    /// What the state says.
    pub record: Option<Record>,
    /// What AWS says. `None`: it is not there, and that counts.
    pub observed: Option<Observed>,
    /// It cannot be reached in this run, and why: no Argo CD server is configured.
    pub unreachable: Option<String>,
}

/// What the state records and the graph no longer has.
#[derive(Debug, Clone)]
pub struct Orphan {
    /// What the state says.
    pub record: Record,
    /// What AWS says. `None`: it is gone, or `unreachable`.
    pub observed: Option<Observed>,
    /// It cannot be reached in this run, and why.
    pub unreachable: Option<String>,
}

/// What is true of a target whatever we do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlaceFacts {
    /// Its availability zones by name, and whether EKS puts control planes there.
    pub zones: BTreeMap<String, bool>,
}

/// Everything that a plan is made of.
#[derive(Debug)]
pub struct PlanInput<'a> {
    /// The expanded instance with the places of its resources.
    pub work: &'a Work,
    /// Who, where, by which role.
    pub header: Header,
    /// By node of the graph.
    pub seen: &'a BTreeMap<NodeIndex, Seen>,
    /// Recorded, but not in the graph.
    pub orphans: &'a [Orphan],
    /// By account and region.
    pub facts: &'a BTreeMap<(String, String), PlaceFacts>,
    /// Calls that an earlier run left open, for people.
    pub open_calls: Vec<String>,
}

/// A plan, and the evaluation that it was made from.
#[derive(Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// What every node wants, given what was observed.
    pub evaluation: Evaluation,
    /// What was observed, as expressions read it.
    pub observations: Observations,
    /// Identities whose object another resource of the graph stands for now: only their records go.
    pub superseded: Vec<Identity>,
}

/// Makes the plan.
pub fn plan(input: PlanInput<'_>) -> Planned {
    let observations = observations(input.work, input.seen);
    let evaluation = input.work.evaluate(&observations, &KindCatalog);
    // What stays keeps its id whatever else is made anew.
    let foreseen = input.work.foresee(&settled(input.work, input.seen), &KindCatalog);
    let mut changes = Vec::new();
    let mut not_carried_out = Vec::new();
    let mut excluded = Vec::new();
    for index in &input.work.graph.order {
        if input.work.held_back.whole.contains(index) {
            continue;
        }
        if evaluation.is_excluded(*index) {
            excluded.extend(input.seen.get(index).and_then(recorded));
            continue;
        }
        let graph_node = input.work.graph.node(*index);
        let kind = catalog::kind(&graph_node.api_version, &graph_node.kind);
        match (input.work.place(*index), input.seen.get(index), kind) {
            (Some(place), Some(seen), Some(kind)) => {
                let facts = input.facts.get(&(place.identity.account.clone(), place.identity.region.clone()));
                let desired = &foreseen.node(*index).desired;
                let new_sources = new_sources(&input, *index);
                changes.push(Decision { kind, place, seen, desired, facts, new_sources }.decide());
            }
            _ => not_carried_out.extend(left_out(&input, *index)),
        }
    }
    follow_clusters(input.work, &mut changes);
    let superseded = orphans::settle(&input, &excluded, &evaluation, &mut changes);
    let summary = Summary::of(&changes);
    let plan = Plan {
        header: input.header,
        changes,
        not_carried_out,
        summary,
        open_calls: input.open_calls,
        applications: Vec::new(),
        warnings: Vec::new(),
        checks: Vec::new(),
    };
    Planned { plan, evaluation, observations, superseded }
}

/// A recorded resource that its includeWhen leave out.
fn recorded(seen: &Seen) -> Option<Orphan> {
    let record = seen.record.clone()?;
    Some(Orphan { record, observed: seen.observed.clone(), unreachable: seen.unreachable.clone() })
}

/// What expressions may read of what was observed.
pub fn observations(work: &Work, seen: &BTreeMap<NodeIndex, Seen>) -> Observations {
    observed_as(work, seen, &|seen, observed| reached(seen.record.as_ref(), observed))
}

/// The same once what an earlier run did not see to its end has come there: what AWS calls ready is.
fn settled(work: &Work, seen: &BTreeMap<NodeIndex, Seen>) -> Observations {
    observed_as(work, seen, &|_, observed| {
        reached(None, observed).map(|_| match observed.readiness {
            Readiness::Ready => Production::Ready,
            _ => Production::Configured,
        })
    })
}

fn observed_as(
    work: &Work,
    seen: &BTreeMap<NodeIndex, Seen>,
    reached: &dyn Fn(&Seen, &Observed) -> Option<Production>,
) -> Observations {
    let observe = |(index, seen): (&NodeIndex, &Seen)| {
        let observed = seen.observed.as_ref()?;
        let reached = reached(seen, observed)?;
        let rendered = work.blank.node(*index).desired.known_part();
        Some((*index, Observation { object: observed_object(&rendered, observed, reached), reached }))
    };
    // What settings leave out keeps nobody waiting.
    let leave_out = |index: &NodeIndex| {
        let object = work.blank.node(*index).desired.known_part();
        (*index, Observation { object, reached: Production::Ready })
    };
    seen.iter().filter_map(observe).chain(work.left_out.keys().map(leave_out)).collect()
}

/// What an observed object has reached: what the state says, but nothing that AWS denies. What has failed or is going
/// away will be another object soon.
fn reached(record: Option<&Record>, observed: &Observed) -> Option<Production> {
    let recorded = record.map_or(Some(Production::Created), |record| record.phase.reached())?;
    match observed.readiness {
        Readiness::Ready => Some(recorded),
        Readiness::Waiting(_) => Some(recorded.min(Production::Configured)),
        Readiness::Failed { .. } | Readiness::Deleting => None,
    }
}

/// One resource and what decides its action.
struct Decision<'a> {
    kind: &'a dyn Kind,
    place: &'a Place,
    seen: &'a Seen,
    desired: &'a Tree,
    facts: Option<&'a PlaceFacts>,
    /// What it reads of objects that are yet to be made.
    new_sources: Vec<(&'a Edge, &'a Address)>,
}

/// What a resource reads of others that are neither recorded nor there.
fn new_sources<'a>(input: &PlanInput<'a>, index: NodeIndex) -> Vec<(&'a Edge, &'a Address)> {
    let is_new = |edge: &&Edge| {
        let seen = input.seen.get(&edge.to);
        seen.is_some_and(|seen| seen.record.is_none() && seen.observed.is_none() && seen.unreachable.is_none())
    };
    let edges = input.work.graph.edges_from(index).filter(is_new);
    edges.map(|edge| (edge, &input.work.graph.node(edge.to).address)).collect()
}

impl Decision<'_> {
    fn decide(&self) -> Change {
        if let Some(reason) = &self.seen.unreachable {
            let change = match self.seen.record {
                None => self.creation(Some(format!("will not be reached: {reason}"))),
                Some(_) => Change { waits: true, unread: true, ..self.change(Action::None, Some(format!("not read: {reason}"))) },
            };
            return Change { unreached: Some(reason.clone()), ..change };
        }
        let known = self.desired.known_part();
        let mut refused = fields_not_carried_out(self.kind.description(), self.desired);
        refused.extend(self.kind.not_carried_out(&known).into_iter().map(|what| match what {
            NotCarriedOutValue::Object { reason } => reason,
            NotCarriedOutValue::Value { path, reason } => format!("{path} ({reason})"),
        }));
        if !refused.is_empty() {
            let verb = if refused.len() == 1 { "is" } else { "are" };
            let reason = format!("{} {verb} not carried out by fleetctl yet", refused.join(", "));
            return self.change(Action::Refused, Some(reason));
        }
        if let Some(reason) = self.denied_by_facts() {
            return self.change(Action::Refused, Some(reason));
        }
        match (&self.seen.record, &self.seen.observed) {
            (None, None) => self.creation(None),
            (Some(record), None) if record.phase == Phase::Deleting => self.creation(None),
            (Some(record), None) => self.creation(Some(format!("{} is gone: it was removed outside of fleetctl", record.id))),
            (Some(record), Some(observed)) => self.recorded(record, observed),
            (None, Some(observed)) => self.found(observed),
        }
    }

    /// What the target cannot hold whatever we do. An object that is there already has been accepted by AWS.
    fn denied_by_facts(&self) -> Option<String> {
        let zones = &self.facts.filter(|_| self.seen.observed.is_none())?.zones;
        let desired = self.desired.known_part();
        let zone = desired.pointer("/spec/availabilityZone")?.as_str()?;
        let names = || zones.keys().cloned().collect::<Vec<_>>().join(", ");
        match zones.get(zone) {
            Some(true) => None,
            Some(false) => Some(format!("EKS takes no subnets in {zone}; zones of this account and region: {}", names())),
            None => Some(format!("{zone} is no zone of this account and region, which has {}", names())),
        }
    }

    fn creation(&self, reason: Option<String>) -> Change {
        let fields = leaves(self.desired)
            .into_iter()
            .filter(|(path, leaf)| !path.starts_with("apiVersion") && !path.starts_with("kind") && !leaf.is_null())
            .map(|(path, leaf)| difference(path, Value::Null, leaf))
            .collect();
        Change { fields, id: None, ..self.change(Action::Create, reason) }
    }

    fn recorded(&self, record: &Record, observed: &Observed) -> Change {
        if let Owner::Other(owner) = observed.owner(&self.seen.subject.marks) {
            let reason = format!("{} now belongs to {owner}; {WAY_OUT}", observed.id);
            return self.change(Action::Refused, Some(reason));
        }
        if observed.owner(&self.seen.subject.marks) == Owner::Nobody && !self.is_ours_without_marks(observed) {
            return match self.kind.takeover(observed) {
                Takeover::Refused(reason) => self.change(Action::Refused, Some(reason.unwrap_or_else(|| nobodys(observed)))),
                Takeover::ByName => {
                    let compared = self.compared(observed, record.phase, Some(&record.applied), None);
                    by_name(compared, Action::Update, "somebody took our marks away: they are put back")
                }
            };
        }
        match &observed.readiness {
            Readiness::Failed { code, message } => self.replacement(format!("AWS says it failed: {}", why_failed(code, message))),
            Readiness::Deleting => self.replacement("it is being deleted".to_owned()),
            Readiness::Ready => self.compared(observed, record.phase, Some(&record.applied), None),
            Readiness::Waiting(state) => self.compared(observed, record.phase, Some(&record.applied), Some(state.clone())),
        }
    }

    /// A name may have been given to another object meanwhile; an id never is.
    fn is_ours_without_marks(&self, observed: &Observed) -> bool {
        self.kind.has_unique_id() || self.kind.adoptable_without_marks(observed)
    }

    fn replacement(&self, reason: String) -> Change {
        let by_name = PRECIOUS.contains(&self.place.identity.kind.as_str());
        Change { by_name, ..self.change(Action::Replace, Some(reason)) }
    }

    fn found(&self, observed: &Observed) -> Change {
        match observed.owner(&self.seen.subject.marks) {
            Owner::Ours => self.adoption(observed, "made by an earlier run of this state"),
            Owner::Nobody if self.kind.adoptable_without_marks(observed) => {
                self.adoption(observed, "made by AWS itself for the cluster's creator")
            }
            Owner::Nobody => match self.kind.takeover(observed) {
                Takeover::Refused(reason) => self.change(Action::Refused, Some(reason.unwrap_or_else(|| nobodys(observed)))),
                Takeover::ByName => {
                    let adopted = self.adoption(observed, "made by somebody else");
                    by_name(adopted, Action::Adopt, "it exists and bears nobody's marks: it is taken over")
                }
            },
            Owner::Other(owner) => {
                let reason = format!("{} exists and belongs to {owner}; {}", observed.id, WAY_OUT);
                self.change(Action::Refused, Some(reason))
            }
        }
    }

    fn adoption(&self, observed: &Observed, reason: &str) -> Change {
        let compared = self.compared(observed, Phase::Created, None, None);
        match compared.action {
            Action::Refused => compared,
            _ => Change { action: Action::Adopt, reason: Some(reason.to_owned()), ..compared },
        }
    }

    fn compared(&self, observed: &Observed, phase: Phase, applied: Option<&Value>, state: Option<String>) -> Change {
        let unknown = unknown_leaves(self.desired);
        let changes = differences(self.kind, &self.seen.subject, self.desired, observed, applied);
        if let Some(change) = most_refused(&changes) {
            let (action, reason) = match change.changeability {
                Changeability::Follows => (Action::Replace, change.reason.unwrap_or_default().to_owned()),
                _ => (Action::Refused, refusal(change)),
            };
            return self.with_fields(action, Some(reason), &changes, &[]);
        }
        if let Some((change, source)) = guards::moved_onto_new(self, observed, applied, &unknown) {
            let reason = guards::why_not_moved(&change, source);
            return self.with_fields(Action::Refused, Some(reason), &changes, &unknown);
        }
        if !changes.is_empty() || !unknown.is_empty() {
            return self.with_fields(Action::Update, None, &changes, &unknown);
        }
        match state {
            Some(state) => Change { waits: true, ..self.change(Action::None, Some(format!("AWS says {state}: waits"))) },
            None if phase != Phase::Ready => {
                Change { waits: true, ..self.change(Action::None, Some("an earlier run did not see it ready".to_owned())) }
            }
            None => self.change(Action::None, None),
        }
    }

    fn with_fields(
        &self,
        action: Action,
        reason: Option<String>,
        changes: &[FieldChange],
        unknown: &[(String, Leaf<'_>)],
    ) -> Change {
        let known = changes.iter().map(|change| FieldDifference {
            path: change.path.clone(),
            before: change.before.clone(),
            after: change.after.clone(),
            unknown: None,
        });
        let applied = self.seen.record.as_ref().map(|record| &record.applied);
        let before =
            |place: &str| applied.and_then(|applied| value_at(applied, &path::parse(place))).cloned().unwrap_or_default();
        let unknown = unknown.iter().map(|(path, leaf)| difference(path.clone(), before(path), *leaf));
        Change { fields: known.chain(unknown).collect(), ..self.change(action, reason) }
    }

    fn change(&self, action: Action, reason: Option<String>) -> Change {
        let id = self.seen.observed.as_ref().map(|observed| observed.id.clone());
        Change { reason, id, ..Change::new(action, &self.seen.subject.address, &self.place.identity) }
    }
}

fn unknown_leaves(desired: &Tree) -> Vec<(String, Leaf<'_>)> {
    leaves(desired).into_iter().filter(|(_, leaf)| matches!(leaf, Leaf::Unknown(_))).collect()
}

/// What is known to differ between what is wanted and what is there.
pub(super) fn differences(
    kind: &dyn Kind,
    subject: &Subject,
    desired: &Tree,
    observed: &Observed,
    applied: Option<&Value>,
) -> Vec<FieldChange> {
    let unknown = unknown_leaves(desired);
    let mut changes = kind.compare(subject, &desired.known_part(), observed, applied);
    // The known part lacks the unknown leaves, so their fields would look removed.
    changes.retain(|change| !unknown.iter().any(|(path, _)| compare::undecided(&change.path, path)));
    changes
}

/// A change that takes over what bears nobody's marks: it has to be confirmed by name, unless it is refused.
fn by_name(change: Change, action: Action, reason: &str) -> Change {
    if change.action != action {
        return change;
    }
    Change { by_name: true, reason: Some(reason.to_owned()), ..change }
}

/// Why an object without marks is refused.
fn nobodys(observed: &Observed) -> String {
    format!("{} exists and carries no fleetctl tags: it is somebody else's; remove it, or give yours another name", observed.id)
}

/// The change that decides where not all can be made in place: one that is refused goes before one that is followed.
pub(super) fn most_refused(changes: &[FieldChange]) -> Option<&FieldChange> {
    let not_in_place = changes.iter().filter(|change| change.changeability != Changeability::InPlace);
    not_in_place.min_by_key(|change| change.changeability == Changeability::Follows)
}

/// Why a change is refused, and the way out.
pub fn refusal(change: &FieldChange) -> String {
    let way_out = match change.changeability {
        Changeability::Replacement => "take the change back, or destroy and apply anew",
        Changeability::Follows => "apply again, which replaces it",
        Changeability::NotCarriedOut | Changeability::InPlace => "take the change back, or make it by hand and apply again",
    };
    format!("{}; {way_out}", why_impossible(change))
}

/// Which field it is, and why a change of it is refused.
pub(super) fn why_impossible(change: &FieldChange) -> String {
    format!("{}: {}", change.path, change.reason.unwrap_or("it cannot be changed in place"))
}

/// Paths of fields that are set but that fleetctl does not carry out.
fn fields_not_carried_out(description: &KindDescription, desired: &Tree) -> Vec<String> {
    leaves(desired)
        .into_iter()
        // An empty spec sets nothing.
        .filter(|(path, leaf)| !matches!(path.as_str(), "apiVersion" | "kind" | "spec") && !leaf.is_null())
        .filter(|(path, _)| !description.field(&path::any_item(path)).carried_out)
        .map(|(path, _)| path)
        .collect()
}

fn difference(path: String, before: Value, leaf: Leaf<'_>) -> FieldDifference {
    match leaf {
        Leaf::Known(value) => FieldDifference { path, before, after: value.clone(), unknown: None },
        Leaf::Unknown(expression) => FieldDifference { path, before, after: Value::Null, unknown: Some(expression.to_owned()) },
    }
}

/// What goes with a cluster that is made anew has to be made anew too: what AWS takes away with it, and its registration,
/// whose server cannot be changed.
fn follow_clusters(work: &Work, changes: &mut [Change]) {
    let clusters = |changes: &[Change], actions: &[Action]| -> Vec<Address> {
        let made_anew = changes.iter().filter(|change| change.kind == "Cluster" && actions.contains(&change.action));
        made_anew.map(|change| change.address.clone()).collect()
    };
    let replaced = clusters(changes, &[Action::Replace]);
    let made = clusters(changes, &[Action::Create, Action::Replace]);
    for change in changes.iter_mut().filter(|change| change.id.is_some()) {
        let gone = match catalog::kind(&change.identity.api_version, &change.kind).and_then(Kind::goes_with) {
            _ if change.identity.is_secret() => &made,
            Some(with) if with.kind == "Cluster" => &replaced,
            _ => continue,
        };
        let node = work.graph.resources().find(|(_, node)| node.address == change.address);
        let mut needed =
            node.iter().flat_map(|(index, _)| work.graph.edges_from(*index)).map(|edge| &work.graph.node(edge.to).address);
        if matches!(change.action, Action::Update | Action::None) && needed.any(|address| gone.contains(address)) {
            change.action = Action::Replace;
            change.waits = false;
            change.reason = Some("its cluster is made anew".to_owned());
        }
    }
}

/// A resource that has no place: known, but not carried out.
fn left_out(input: &PlanInput<'_>, index: NodeIndex) -> Option<NotCarriedOut> {
    let node = input.work.graph.node(index);
    let support = input.work.graph.describe(index, &KindCatalog)?.support;
    let reason = match support {
        Support::OnlyKnown => format!("fleetctl knows the kind {} but does not carry it out yet", node.kind),
        Support::CarriedOut => input.work.left_out.get(&index)?.clone(),
    };
    Some(NotCarriedOut { address: node.address.clone(), kind: node.kind.clone(), reason })
}
