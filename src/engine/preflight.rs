//! Whether Argo CD can be used, before anything is changed that would be in vain.

use super::apply::Sighting;
use super::context::Item;
use super::plan::{Action, Change};
use super::report::EngineError;
use super::work::Work;
use crate::argocd::preflight::{Planned, Problem, preflight};
use crate::graph::expansion::NodeIndex;
use crate::graph::identity::Address;
use crate::kinds::registration::bridge::missing_keys;
use chrono::{DateTime, TimeDelta, Utc};
use std::collections::BTreeMap;

/// What is said of a plan that has not read Argo CD although it is configured.
const UNREAD: &str = "Argo CD could not be read, so this plan is not complete: an apply stops at that before it changes anything; \
                      `argocd: none` in fleetctl.yaml leaves registrations out";

/// Asks Argo CD, if the plan registers something. What stands in the way for certain stops everything; the rest are
/// warnings.
pub(super) async fn check(work: &Work, sighting: &Sighting, now: DateTime<Utc>) -> Result<Vec<String>, EngineError> {
    let (fatal, warnings): (Vec<_>, Vec<_>) = problems(work, sighting, now).await?.into_iter().partition(|problem| problem.fatal);
    if fatal.is_empty() {
        return Ok(warnings.into_iter().map(|problem| problem.text).collect());
    }
    let fatal: Vec<_> = fatal.into_iter().map(|problem| problem.text).collect();
    Err(EngineError::ArgoCd(fatal.join("; ")))
}

/// The same for a plan, which nothing stops.
pub(super) async fn warnings(work: &Work, sighting: &Sighting, now: DateTime<Utc>) -> Vec<String> {
    let mut warnings = match problems(work, sighting, now).await {
        Ok(problems) => problems.into_iter().map(|problem| problem.text).collect(),
        Err(error) => vec![format!("it is not known whether Argo CD will take the registration: {error}")],
    };
    if sighting.is_unread() {
        warnings.push(UNREAD.to_owned());
    }
    warnings
}

async fn problems(work: &Work, sighting: &Sighting, now: DateTime<Utc>) -> Result<Vec<Problem>, EngineError> {
    let changes = &sighting.planned.plan.changes;
    let registrations: Vec<_> = sighting.items.iter().filter(|(_, item)| registers(item, changes)).collect();
    let missing = registrations.iter().filter_map(|(index, item)| {
        let missing = missing_keys(&sighting.planned.evaluation.node(**index).desired);
        (!missing.is_empty()).then(|| Problem { fatal: false, text: lacks(&item.subject.address, &missing) })
    });
    let missing: Vec<Problem> = missing.collect();
    // What could not be read needs no second question.
    let is_unread = |item: &Item| changes.iter().any(|change| change.unread && change.address == item.subject.address);
    let registrations: Vec<_> = registrations.into_iter().filter(|(_, item)| !is_unread(item)).collect();
    let Some(reader) = registrations.first().and_then(|(_, item)| item.cloud.readers.argocd.as_ref()) else {
        return Ok(missing);
    };
    let objects: Vec<_> =
        registrations.iter().map(|(index, item)| (work.blank.node(**index).desired.known_part(), *item)).collect();
    let planned: Vec<Planned<'_>> = objects
        .iter()
        .map(|(object, item)| Planned {
            name: object.pointer("/stringData/name").and_then(serde_json::Value::as_str).unwrap_or_default(),
            server: changes.iter().find(|change| change.address == item.subject.address).and_then(|change| change.id.as_deref()),
            project: object.pointer("/stringData/project").and_then(serde_json::Value::as_str).unwrap_or_default(),
            marks: &item.subject.marks,
        })
        .collect();
    let found = preflight(reader, &planned, now, lasts(&sighting.items, changes)).await.map_err(EngineError::of_read)?;
    Ok(found.problems.into_iter().chain(missing).collect())
}

fn lacks(address: &Address, missing: &[String]) -> String {
    format!(
        "{address} has no {}: an ApplicationSet with `missingkey=error` that reads one of them stops for every cluster, not for \
         this one alone",
        missing.join(", ")
    )
}

fn registers(item: &Item, changes: &[Change]) -> bool {
    item.subject.identity.is_secret()
        && changes
            .iter()
            .any(|change| change.address == item.subject.address && !matches!(change.action, Action::None | Action::Refused))
}

/// How long the run may take: the usual time of each kind that is going to be made, one after the other.
fn lasts(items: &BTreeMap<NodeIndex, Item>, changes: &[Change]) -> TimeDelta {
    let made =
        |item: &Item| changes.iter().any(|change| change.address == item.subject.address && change.action == Action::Create);
    let by_kind: BTreeMap<&str, std::time::Duration> =
        items.values().filter(|item| made(item)).map(|item| (item.kind_name(), item.kind.typical().create)).collect();
    TimeDelta::from_std(by_kind.values().sum()).unwrap_or(TimeDelta::MAX)
}
