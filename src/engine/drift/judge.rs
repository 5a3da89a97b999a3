//! What has drifted: a pure function of documents, recorded and observed.

use super::report::{Class, FieldDrift, Finding, Pending, Unreadable, Verdict};
use crate::engine::object::observed_object;
use crate::engine::plan::Action;
use crate::engine::planner::{Seen, joined, refusal};
use crate::engine::report::EngineError;
use crate::engine::work::{Work, at, differing, place_to_hold};
use crate::graph::catalog::Production;
use crate::graph::evaluation::{Evaluation, Observation, Observations, evaluate};
use crate::graph::expansion::NodeIndex;
use crate::graph::tree::Tree;
use crate::kinds::catalog::{self, KindCatalog};
use crate::kinds::compare;
use crate::kinds::kind::{
    Changeability, FieldChange, Kind, NotCarriedOut, Observed, Owner, Readiness, Subject, Takeover, why_failed,
};
use crate::kinds::news::{News, news};
use crate::state::file::{Phase, Record, StateFile};
use serde_json::Value;
use std::collections::BTreeMap;

/// Said of what has drifted and is not in the documents, or not under that name: putting back is not for it.
const NOT_IN_DOCUMENTS: &str = "it is recorded, and the documents name it no more, or otherwise: it is not put back";

/// Names under which the kinds keep AWS's word for how an object is.
const STATES: [&str; 2] = ["status", "state"];

/// What is known of the last apply.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) enum Knows<'a> {
    /// What the state says.
    State(&'a StateFile),
    /// Nothing: there is no state here.
    Nothing,
}

/// Everything that a verdict is made of.
#[derive(Debug)]
pub(in crate::engine) struct Input<'a> {
    /// The expanded instance with the places of its resources.
    pub(in crate::engine) work: &'a Work,
    /// By node of the graph.
    pub(in crate::engine) seen: &'a BTreeMap<NodeIndex, Seen>,
    /// What is recorded and stands in the graph no more, or under another name, account or region.
    pub(in crate::engine) left: &'a [Seen],
    /// What is known of the last apply.
    pub(in crate::engine) knows: Knows<'a>,
}

/// Says what has drifted.
pub(in crate::engine) fn judge(input: &Input<'_>) -> Result<Verdict, EngineError> {
    let evaluation = evaluate(&input.work.graph, &observations(input), &KindCatalog);
    if !evaluation.errors.is_empty() {
        return Err(EngineError::Documents(evaluation.errors));
    }
    let mut verdict = Verdict::default();
    for index in &input.work.graph.order {
        let Some(seen) = input.seen.get(index) else { continue };
        let identity = &seen.subject.identity;
        let Some(kind) = catalog::kind(&identity.api_version, &identity.kind) else { continue };
        let desired = &evaluation.node(*index).desired;
        let case = Case { kind, seen, desired, knows: input.knows };
        let excluded = evaluation.is_excluded(*index);
        if excluded || case.is_not_carried_out() {
            verdict.pending.extend(seen.record.as_ref().filter(|_| excluded).map(|_| case.pending(Action::Delete, Vec::new())));
            verdict.held_back.whole.insert(*index);
            continue;
        }
        verdict.add(*index, case.decide());
    }
    verdict.pending.extend(left(input, &evaluation));
    for seen in input.left {
        verdict.add_left(seen, input.knows);
    }
    Ok(verdict)
}

/// Whether something recorded is to be looked at although no resource of the graph is it.
pub(in crate::engine) fn has_left(work: &Work, record: &Record) -> bool {
    let placed = work.places.iter().flatten().any(|place| place.identity == record.identity);
    // What the settings leave out is nobody's business here.
    let left_out = record.identity.is_secret() && !work.left_out.is_empty();
    !placed && !left_out
}

/// What is recorded and stands in the graph no more: apply would remove it.
fn left(input: &Input<'_>, evaluation: &Evaluation) -> Vec<Pending> {
    let Knows::State(state) = input.knows else { return Vec::new() };
    let gone = state.resources.iter().filter(|record| has_left(input.work, record));
    let renamed = |record: &Record| {
        let node = input.work.graph.resources().find(|(_, node)| node.address == record.address);
        node.is_some_and(|(index, _)| !evaluation.is_excluded(index))
    };
    let pending = |record: &Record| Pending {
        address: record.address.clone(),
        kind: record.identity.kind.clone(),
        action: Action::Delete,
        fields: Vec::new(),
    };
    gone.filter(|record| !renamed(record)).map(pending).collect()
}

/// What expressions may read: what is there, and where that is of no use, what was there when it was last applied. So a
/// value that was read of an object that is gone is still the one that was applied.
fn observations(input: &Input<'_>) -> Observations {
    let rendered = |index: &NodeIndex| input.work.blank.node(*index).desired.known_part();
    let observe = |(index, seen): (&NodeIndex, &Seen)| {
        let observed = seen.observed.as_ref().filter(|observed| is_usable(observed));
        let reached = match (&seen.record, observed) {
            (Some(record), _) => record.phase.reached()?,
            (None, Some(Observed { readiness: Readiness::Ready, .. })) => Production::Ready,
            (None, Some(_)) => Production::Configured,
            (None, None) => return None,
        };
        let then = seen.record.as_ref().map(as_recorded);
        let object = observed_object(&rendered(index), observed.or(then.as_ref())?, reached);
        Some((*index, Observation { object, reached }))
    };
    let leave_out = |index: &NodeIndex| (*index, Observation { object: rendered(index), reached: Production::Ready });
    input.seen.iter().filter_map(observe).chain(input.work.left_out.keys().map(leave_out)).collect()
}

fn is_usable(observed: &Observed) -> bool {
    matches!(observed.readiness, Readiness::Ready | Readiness::Waiting(_))
}

/// The object of a record as it was when it was last applied.
fn as_recorded(record: &Record) -> Observed {
    Observed {
        id: record.id.clone(),
        spec: record.applied["spec"].clone(),
        status: record.status.clone(),
        tags: BTreeMap::new(),
        readiness: Readiness::Ready,
    }
}

/// What one resource comes to.
#[derive(Debug, Default)]
struct Outcome {
    findings: Vec<Finding>,
    pending: Option<Pending>,
    unread: Option<Unreadable>,
    /// It was never made: nothing of it may be done where only drift is put back.
    hold_whole: bool,
    /// Fields that the documents want changed, with what was applied last.
    hold_fields: BTreeMap<Vec<String>, Value>,
}

impl Verdict {
    fn add(&mut self, index: NodeIndex, outcome: Outcome) {
        self.objects += usize::from(outcome.unread.is_none());
        self.findings.extend(outcome.findings);
        self.pending.extend(outcome.pending);
        if let Some(unread) = outcome.unread {
            self.unread(unread);
        }
        if outcome.hold_whole {
            self.held_back.whole.insert(index);
        }
        if !outcome.hold_fields.is_empty() {
            self.held_back.fields.insert(index, outcome.hold_fields);
        }
    }
}

impl Verdict {
    /// What has left the graph is compared with what was applied last; the documents say nothing of it.
    fn add_left(&mut self, seen: &Seen, knows: Knows<'_>) {
        let identity = &seen.subject.identity;
        let Some(kind) = catalog::kind(&identity.api_version, &identity.kind) else { return };
        let Some(record) = &seen.record else { return };
        let desired = Tree::Known(record.applied.clone());
        let Outcome { mut findings, unread, .. } = Case { kind, seen, desired: &desired, knows }.decide();
        for finding in &mut findings {
            let left = (finding.class != Class::Info).then(|| NOT_IN_DOCUMENTS.to_owned());
            finding.reason = [finding.reason.take(), left].into_iter().flatten().reduce(|one, other| format!("{one}; {other}"));
            finding.fields.iter_mut().for_each(|field| field.desired = Value::Null);
        }
        if let Some(unread) = unread {
            self.unread(unread);
        }
        self.objects += usize::from(seen.unreachable.is_none());
        self.findings.extend(findings);
    }

    fn unread(&mut self, unread: Unreadable) {
        let same =
            |one: &&mut Unreadable| (&one.account, &one.region, &one.reason) == (&unread.account, &unread.region, &unread.reason);
        match self.unreadable.iter_mut().find(same) {
            Some(known) => known.addresses.extend(unread.addresses),
            None => self.unreadable.push(unread),
        }
    }
}

/// The differences of one object.
#[derive(Debug, Default)]
struct Compared {
    /// What was changed past fleetctl.
    changed: Vec<FieldDrift>,
    /// What the documents want by now.
    pending: Vec<FieldDrift>,
    /// Why something of the first cannot be put back.
    reasons: Vec<String>,
    /// See [`Outcome::hold_fields`].
    hold_fields: BTreeMap<Vec<String>, Value>,
}

impl Compared {
    /// Keeps a field as it was last applied.
    fn hold_back(&mut self, path: &str, record: &Record, desired: &Value) {
        let place = place_to_hold(path, &record.applied, desired);
        let then = at(&record.applied, &place).clone();
        self.hold_fields.insert(place, then);
    }
}

/// One resource and what decides what has become of it.
struct Case<'a> {
    kind: &'static dyn Kind,
    seen: &'a Seen,
    desired: &'a Tree,
    knows: Knows<'a>,
}

impl Case<'_> {
    /// A Secret that is no registration, and the like.
    fn is_not_carried_out(&self) -> bool {
        let reasons = self.kind.not_carried_out(&self.desired.known_part());
        reasons.iter().any(|reason| matches!(reason, NotCarriedOut::Object { .. }))
    }

    fn decide(&self) -> Outcome {
        match (&self.seen.record, &self.seen.unreachable, &self.seen.observed, self.knows) {
            (None, _, observed, Knows::State(_)) => {
                // An earlier run made it and was interrupted before that was recorded.
                let action = if observed.is_some() { Action::Adopt } else { Action::Create };
                Outcome { pending: Some(self.pending(action, Vec::new())), hold_whole: true, ..Outcome::default() }
            }
            (_, Some(reason), ..) => Outcome { unread: Some(self.unread(reason)), ..Outcome::default() },
            (Some(record), None, _, _) if record.phase == Phase::Deleting => {
                Outcome { pending: Some(self.pending(Action::Create, Vec::new())), hold_whole: true, ..Outcome::default() }
            }
            (Some(record), None, None, _) => self.out_of_use(record, self.missing(Some(&record.id))),
            (None, None, None, Knows::Nothing) => Outcome { findings: vec![self.missing(None)], ..Outcome::default() },
            (Some(record), None, Some(observed), _) => self.conflict(observed).unwrap_or_else(|| self.recorded(record, observed)),
            (None, None, Some(observed), Knows::Nothing) => self.conflict(observed).unwrap_or_else(|| self.found(observed)),
        }
    }

    fn missing(&self, id: Option<&String>) -> Finding {
        Finding { id: id.cloned(), ..self.finding(Class::Missing) }
    }

    /// It has to be made anew, as it was when it was last applied.
    fn out_of_use(&self, record: &Record, finding: Finding) -> Outcome {
        let known = self.kind.recordable(&self.desired.known_part());
        let unknowns = self.desired.unknowns();
        let mut outcome = Outcome { findings: vec![finding], ..Outcome::default() };
        let mut fields = Vec::new();
        for place in differing(&record.applied, &known) {
            let path = place.iter().fold(String::new(), |path, name| joined(&path, name));
            if unknowns.iter().any(|(unknown, _)| compare::undecided(&path, unknown)) {
                continue;
            }
            let (desired, applied) = (at(&known, &place).clone(), at(&record.applied, &place).clone());
            fields.push(FieldDrift { path, desired, applied: Some(applied.clone()), observed: Value::Null });
            outcome.hold_fields.insert(place, applied);
        }
        outcome.pending = (!fields.is_empty()).then(|| self.pending(Action::Update, fields));
        outcome
    }

    /// Several that stand in each other's way (registrations of one cluster): none of them can be compared. In the kind's
    /// own words, as in a plan.
    fn conflict(&self, observed: &Observed) -> Option<Outcome> {
        let is_nobodys = observed.owner(&self.seen.subject.marks) == Owner::Nobody;
        match self.kind.takeover(observed) {
            Takeover::Refused(Some(reason)) if is_nobodys => {
                let finding = Finding { reason: Some(reason), ..self.finding(Class::Changed) };
                Some(Outcome { findings: vec![finding], ..Outcome::default() })
            }
            _ => None,
        }
    }

    /// There is a record to compare with.
    fn recorded(&self, record: &Record, observed: &Observed) -> Outcome {
        let owner = observed.owner(&self.seen.subject.marks);
        let foreign = match owner {
            Owner::Other(owner) => Some(format!("it belongs to {owner} now")),
            Owner::Nobody if !self.kind.has_unique_id() && !self.kind.adoptable_without_marks(observed) => {
                Some("it carries no fleetctl tags any more: somebody has made it anew, or taken them away".to_owned())
            }
            Owner::Ours | Owner::Nobody => None,
        };
        if let Some(reason) = broken(observed) {
            let finding = Finding { reason: Some(reason), fields: state_field(observed, record), ..self.finding(Class::Changed) };
            return self.out_of_use(record, finding);
        }
        let Compared { changed, mut pending, mut reasons, hold_fields } = self.compared(record, observed);
        let mut outcome = Outcome { hold_fields, ..Outcome::default() };
        reasons.splice(0..0, foreign);
        if record.phase == Phase::Created {
            // It was never brought to what was wanted: that is nobody's doing outside.
            let told = |one: &FieldDrift| pending.iter().any(|other| other.path == one.path);
            let untold: Vec<FieldDrift> = changed.into_iter().filter(|one| !told(one)).collect();
            pending.extend(untold);
            outcome.pending = Some(self.pending(Action::Update, pending));
            return outcome;
        }
        if !pending.is_empty() {
            outcome.pending = Some(self.pending(Action::Update, pending));
        }
        if !changed.is_empty() || !reasons.is_empty() {
            let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
            outcome.findings.push(Finding { reason, fields: changed, ..self.finding(Class::Changed) });
        }
        outcome.findings.extend(self.news(observed, Some(record)));
        outcome
    }

    /// The differences, told apart.
    fn compared(&self, record: &Record, observed: &Observed) -> Compared {
        let applied = Some(&record.applied);
        let then = as_of(record, &self.seen.subject);
        let was = self.kind.compare(&then, &record.applied, observed, applied);
        let bare = self.kind.compare(&without_settings(then), &record.applied, observed, applied);
        let find = |changes: &[FieldChange], path: &str| changes.iter().find(|change| change.path == path).cloned();
        let known = self.desired.known_part();
        let recordable = self.kind.recordable(&known);
        let mut compared = Compared::default();
        for change in self.differences(observed, applied) {
            if let Some(then) = find(&was, &change.path) {
                // Only what was applied last is put back; what the documents want by now waits.
                let place = place_to_hold(&change.path, &record.applied, &known);
                if then.after != change.after && at(&record.applied, &place) != at(&recordable, &place) {
                    compared.hold_back(&change.path, record, &known);
                    compared.pending.push(field(change.clone(), Some(then.after.clone())));
                }
                compared.reasons.extend((then.changeability != Changeability::InPlace).then(|| refusal(&then)));
                // What comes of settings is not kept with what was applied.
                let applied = find(&bare, &change.path).map(|_| then.after);
                compared.changed.push(field(change, applied));
            } else {
                let applied = change.before.clone();
                compared.hold_back(&change.path, record, &known);
                compared.pending.push(field(change, Some(applied)));
            }
        }
        for (path, _) in self.desired.unknowns() {
            compared.hold_back(&path, record, &known);
        }
        compared
    }

    /// What differs between what is wanted and what is there, as far as the wish is known.
    fn differences(&self, observed: &Observed, applied: Option<&Value>) -> Vec<FieldChange> {
        let mut changes = self.kind.compare(&self.seen.subject, &self.desired.known_part(), observed, applied);
        let unknowns = self.desired.unknowns();
        changes.retain(|change| !unknowns.iter().any(|(path, _)| compare::undecided(&change.path, path)));
        changes
    }

    /// There is no state: it was found by its tags or its name.
    fn found(&self, observed: &Observed) -> Outcome {
        let owner = observed.owner(&self.seen.subject.marks);
        let mut reason = match owner {
            Owner::Ours => None,
            Owner::Nobody if self.kind.adoptable_without_marks(observed) => None,
            Owner::Nobody => Some("it carries no fleetctl tags: it may be somebody else's".to_owned()),
            Owner::Other(owner) => Some(format!("it belongs to {owner}")),
        };
        reason = broken(observed).or(reason);
        let of_marks = |path: &str| ["fleetctl:", "fleetctl/"].iter().any(|prefix| path.contains(&format!("[{prefix}")));
        // Which lineage would be right is not known where the object itself does not say.
        let differences = self.differences(observed, None).into_iter();
        let told = differences.filter(|change| reason.is_none() || !of_marks(&change.path));
        let fields: Vec<FieldDrift> = told.map(|change| field(change, None)).collect();
        let mut outcome = Outcome::default();
        if reason.is_some() || !fields.is_empty() {
            outcome.findings.push(Finding { reason, fields, ..self.finding(Class::Changed) });
        }
        outcome.findings.extend(self.news(observed, None));
        outcome
    }

    /// What AWS and others do to it by themselves.
    fn news(&self, observed: &Observed, record: Option<&Record>) -> Option<Finding> {
        let desired = self.desired.known_part();
        let tell = |News { path, before, now }: News| FieldDrift { path, desired: Value::Null, applied: before, observed: now };
        let mut fields: Vec<FieldDrift> =
            news(&desired, observed, record.map(|record| &record.status)).into_iter().map(tell).collect();
        let mut reason = None;
        if let (Readiness::Waiting(state), Some(record)) = (&observed.readiness, record)
            && record.phase == Phase::Ready
        {
            reason = Some(format!("AWS says {state}"));
            fields.extend(state_field(observed, record));
        }
        (reason.is_some() || !fields.is_empty()).then(|| Finding { reason, fields, ..self.finding(Class::Info) })
    }

    fn finding(&self, class: Class) -> Finding {
        let identity = &self.seen.subject.identity;
        Finding {
            address: self.seen.subject.address.clone(),
            kind: identity.kind.clone(),
            account: identity.account.clone(),
            region: identity.region.clone(),
            id: self.seen.observed.as_ref().map(|observed| observed.id.clone()),
            class,
            reason: None,
            fields: Vec::new(),
        }
    }

    fn pending(&self, action: Action, fields: Vec<FieldDrift>) -> Pending {
        let subject = &self.seen.subject;
        Pending { address: subject.address.clone(), kind: subject.identity.kind.clone(), action, fields }
    }

    fn unread(&self, reason: &str) -> Unreadable {
        let subject = &self.seen.subject;
        Unreadable {
            account: subject.identity.account.clone(),
            region: subject.identity.region.clone(),
            reason: reason.to_owned(),
            addresses: vec![subject.address.clone()],
        }
    }
}

/// AWS's word for how it is, then and now.
fn state_field(observed: &Observed, record: &Record) -> Vec<FieldDrift> {
    let name = STATES.into_iter().find(|name| observed.status[*name].is_string());
    let field = name.map(|name| FieldDrift {
        path: format!("status.{name}"),
        desired: Value::Null,
        applied: record.status.get(name).cloned(),
        observed: observed.status[name].clone(),
    });
    field.into_iter().collect()
}

/// Why an object is of no use.
fn broken(observed: &Observed) -> Option<String> {
    match &observed.readiness {
        Readiness::Failed { code, message } => Some(format!("AWS says it failed: {}", why_failed(code, message))),
        Readiness::Deleting => Some("it is being deleted".to_owned()),
        Readiness::Ready | Readiness::Waiting(_) => None,
    }
}

fn field(change: FieldChange, applied: Option<Value>) -> FieldDrift {
    FieldDrift { path: change.path, desired: change.after, applied, observed: change.before }
}

/// The object as it was called when it was last applied.
fn as_of(record: &Record, subject: &Subject) -> Subject {
    let mut then = subject.clone();
    then.marks.address = record.address.to_string();
    then
}

/// The object as it would be without what settings add to it.
fn without_settings(subject: Subject) -> Subject {
    Subject { default_tags: BTreeMap::new(), role_path: None, permissions_boundary: None, ..subject }
}
