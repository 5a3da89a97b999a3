//! Refresh: reads what is there, before planning. It changes nothing.

use super::context::Item;
use super::look::{Depth, Patience, look_until_sure};
use super::planner::{Orphan, Seen, observations};
use super::removal::Doomed;
use super::report::EngineError;
use super::work::Work;
use crate::aws::error::CallError;
use crate::graph::evaluation::evaluate;
use crate::graph::expansion::NodeIndex;
use crate::graph::identity::Identity;
use crate::kinds::catalog::KindCatalog;
use crate::kinds::compare::at;
use crate::kinds::kind::{Observed, Subject};
use crate::state::file::Record;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::Value;
use std::collections::BTreeMap;

/// Most objects that are read at one time. What is asked for at one time shares calls; rates are limited elsewhere.
const CONCURRENT: usize = 64;

/// What becomes of a read that Argo CD does not answer, or refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// Nothing is read any further: what cannot be read cannot be carried out.
    Stops,
    /// The object is shown as not read; everything of AWS is shown beside it.
    IsShown,
}

/// How everything is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading<'a> {
    /// How a look goes on until its answer counts.
    pub(super) patience: Patience<'a>,
    /// What becomes of reads that Argo CD does not answer.
    pub(super) unanswered: Unanswered,
}

impl Reading<'_> {
    /// What was observed, or why Argo CD did not tell, where that is shown.
    pub(super) fn answer(
        self,
        found: Result<Option<Observed>, CallError>,
    ) -> Result<Result<Option<Observed>, String>, CallError> {
        match found {
            Ok(observed) => Ok(Ok(observed)),
            Err(error) if error.service == "argocd" && self.unanswered == Unanswered::IsShown => Ok(Err(unanswered(&error))),
            Err(error) => Err(error),
        }
    }
}

/// Why a registration was not read.
fn unanswered(error: &CallError) -> String {
    format!("Argo CD could not be read: {}: {}: {}", error.operation, error.code, error.message)
}

/// A resource of the graph that is to be looked at.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The node.
    pub index: NodeIndex,
    /// The object, its kind, and the services that reach it.
    pub item: Item,
    /// What the state says.
    pub record: Option<Record>,
    /// The object as far as it is known without observing anything: names, and what `find` needs.
    pub desired: Value,
    /// Why it cannot be reached, if it cannot.
    pub unreachable: Option<String>,
    /// The lineage was made just now: nothing can carry it.
    pub never_used: bool,
}

/// Looks at every resource of the graph.
pub(super) async fn refresh(wanted: &[Wanted], reading: Reading<'_>) -> Result<BTreeMap<NodeIndex, Seen>, EngineError> {
    // What is not recorded and lives in something of the graph is looked for when that is there.
    let (within, others): (Vec<_>, Vec<_>) = wanted.iter().partition(|one| one.record.is_none() && outer(one, wanted).is_some());
    let mut seen = see_all(others, reading).await?;
    let is_there = |one: &Wanted| seen.get(&one.index).is_some_and(|seen| seen.observed.is_some());
    let (within, absent): (Vec<_>, Vec<_>) = within.into_iter().partition(|one| outer(one, wanted).is_some_and(is_there));
    let within = see_all(within, reading).await?;
    seen.extend(absent.into_iter().map(|one| (one.index, seen_as(one, Ok(None)))));
    seen.extend(within);
    Ok(seen)
}

async fn see_all(wanted: Vec<&Wanted>, reading: Reading<'_>) -> Result<BTreeMap<NodeIndex, Seen>, EngineError> {
    stream::iter(wanted)
        .map(|one| see(one, reading))
        .buffer_unordered(CONCURRENT)
        .map_err(EngineError::of_read)
        .try_collect()
        .await
}

/// The object of the graph that a resource lives in: the cluster of an add-on.
fn outer<'a>(inner: &Wanted, wanted: &'a [Wanted]) -> Option<&'a Wanted> {
    let with = inner.item.kind.goes_with()?;
    let name = at(&inner.desired, with.path).as_str()?;
    let place = |one: &Wanted| {
        let Identity { account, region, .. } = &one.item.subject.identity;
        (account.clone(), region.clone())
    };
    wanted.iter().find(|one| {
        one.item.kind_name() == with.kind
            && at(&one.desired, "spec.name").as_str() == Some(name)
            && one.unreachable.is_none()
            && place(one) == place(inner)
    })
}

async fn see(wanted: &Wanted, reading: Reading<'_>) -> Result<(NodeIndex, Seen), CallError> {
    let Item { kind, cloud, .. } = &wanted.item;
    let observed = match (&wanted.unreachable, &wanted.record) {
        (Some(_), _) => Ok(None),
        (None, Some(record)) => look_until_sure(wanted.item.view(), record, reading.patience, Depth::Whole).await,
        (None, None) => kind.find(&cloud.readers, &searched(wanted), &wanted.desired).await,
    };
    Ok((wanted.index, seen_as(wanted, reading.answer(observed)?)))
}

/// What was seen of a resource, or why it could not be read.
pub(super) fn seen_as(wanted: &Wanted, observed: Result<Option<Observed>, String>) -> Seen {
    let (observed, unread) = observed.map_or_else(|reason| (None, Some(reason)), |observed| (observed, None));
    Seen {
        subject: wanted.item.subject.clone(),
        record: wanted.record.clone(),
        observed,
        unreachable: wanted.unreachable.clone().or(unread),
    }
}

/// Looks again for registrations that are not recorded, once the cluster that they are for is known: they are told by its
/// ARN, and until then by their name alone.
pub(super) async fn look_again(
    work: &Work,
    wanted: &[Wanted],
    seen: &mut BTreeMap<NodeIndex, Seen>,
    reading: Reading<'_>,
) -> Result<(), EngineError> {
    let was_read = |one: &Wanted| seen.get(&one.index).is_some_and(|seen| seen.unreachable.is_none());
    let is_open = |one: &&Wanted| one.item.subject.identity.is_secret() && one.record.is_none() && was_read(one);
    let open: Vec<&Wanted> = wanted.iter().filter(is_open).collect();
    if open.is_empty() {
        return Ok(());
    }
    let evaluation = evaluate(&work.graph, &observations(work, seen), &KindCatalog);
    for one in open {
        let desired = evaluation.node(one.index).desired.known_part();
        let server = "/stringData/server";
        if desired.pointer(server) == one.desired.pointer(server) {
            continue;
        }
        let Item { kind, cloud, .. } = &one.item;
        let found = kind.find(&cloud.readers, &searched(one), &desired).await;
        seen.insert(one.index, seen_as(one, reading.answer(found).map_err(EngineError::of_read)?));
    }
    Ok(())
}

/// Kinds without names are found by their tags; an empty lineage tells them that there is nothing to search for.
fn searched(wanted: &Wanted) -> Subject {
    let mut subject = wanted.item.subject.clone();
    if wanted.never_used {
        subject.marks.lineage.clear();
    }
    subject
}

/// Looks at what is recorded and has left the graph.
pub(super) async fn refresh_orphans(doomed: &[Doomed], reading: Reading<'_>) -> Result<Vec<Orphan>, EngineError> {
    stream::iter(doomed)
        .map(|Doomed { item, record, unreachable }| async {
            let found = match unreachable {
                Some(_) => Ok(None),
                None => look_until_sure(item.view(), record, reading.patience, Depth::Glance).await,
            };
            let (observed, unreachable) = match reading.answer(found)? {
                Ok(observed) => (observed, unreachable.clone()),
                Err(reason) => (None, Some(reason)),
            };
            Ok(Orphan { record: record.clone(), observed, unreachable })
        })
        .buffered(CONCURRENT)
        .map_err(EngineError::of_read)
        .try_collect()
        .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::simulated::{Call, Reply, Simulated, cloud_of, identity};
    use crate::engine::clock::WallClock;
    use crate::engine::events::Events;
    use crate::engine::planner::tests::Scene;
    use crate::engine::stop::Stop;
    use crate::kinds::catalog::kind;
    use serde_json::json;
    use std::time::Duration;

    const EKS: &str = "eks.services.k8s.aws/v1alpha1";

    /// An EKS that has the cluster or not; everything else is not there.
    fn eks(has_cluster: bool) -> Simulated {
        let missing = json!({"__type": "ResourceNotFoundException", "message": "not found"}).to_string();
        let cluster = json!({"cluster": {"name": "one", "status": "ACTIVE"}}).to_string();
        Simulated::new(move |call: &Call| match call.operation.as_str() {
            "GetCallerIdentity" => identity("222222222222", "arn:aws:iam::222222222222:user/me"),
            "GET /clusters/one" if has_cluster => Reply::Answer(200, cluster.clone()),
            _ => Reply::Answer(404, missing.clone()),
        })
    }

    async fn wanted(aws: &Simulated) -> Vec<Wanted> {
        let cloud = cloud_of(aws).await;
        let subject = Scene::new("").seen("vpc").subject.clone();
        let objects = [
            ("Addon", json!({"spec": {"name": "dns", "clusterName": "one"}})),
            ("Cluster", json!({"spec": {"name": "one"}})),
            ("Addon", json!({"spec": {"name": "dns", "clusterName": "another"}})),
        ];
        let one = |(number, (name, desired)): (usize, (&str, Value))| {
            let mut subject = subject.clone();
            name.clone_into(&mut subject.identity.kind);
            let item = Item { kind: kind(EKS, name).unwrap(), subject, cloud: cloud.clone() };
            Wanted { index: NodeIndex(number), item, record: None, desired, unreachable: None, never_used: true }
        };
        objects.into_iter().enumerate().map(one).collect()
    }

    /// Which paths of EKS were asked for, and what is there.
    async fn seen(has_cluster: bool) -> (Vec<String>, Vec<bool>) {
        let aws = eks(has_cluster);
        let wanted = wanted(&aws).await;
        let (stop, events, clock) = (Stop::default(), Events::nowhere(), WallClock::default());
        let patience = Patience { window: Duration::ZERO, stop: &stop, events: &events, clock: &clock };
        let reading = Reading { patience, unanswered: Unanswered::Stops };
        let seen = refresh(&wanted, reading).await.unwrap();
        let mut asked: Vec<String> = aws.calls().into_iter().map(|call| call.operation).collect();
        asked.retain(|operation| operation.starts_with("GET"));
        asked.sort_unstable();
        (asked, seen.values().map(|seen| seen.observed.is_some()).collect())
    }

    #[test]
    fn what_argo_cd_does_not_answer_is_shown_where_nothing_is_carried_out() {
        let (stop, events, clock) = (Stop::default(), Events::nowhere(), WallClock::default());
        let patience = Patience { window: Duration::ZERO, stop: &stop, events: &events, clock: &clock };
        let answer = |unanswered, service| {
            let error = CallError {
                service,
                operation: "ListClusters",
                class: crate::aws::error::ErrorClass::NotYet,
                code: "Unreachable".into(),
                message: "connection refused".into(),
                request_id: None,
            };
            Reading { patience, unanswered }.answer(Err(error))
        };
        let shown = answer(Unanswered::IsShown, "argocd").unwrap().unwrap_err();
        assert_eq!(shown, "Argo CD could not be read: ListClusters: Unreachable: connection refused");
        assert!(answer(Unanswered::Stops, "argocd").is_err(), "an apply");
        assert!(answer(Unanswered::IsShown, "eks").is_err(), "AWS");
    }

    #[tokio::test(start_paused = true)]
    async fn what_lives_in_something_is_looked_for_when_that_is_there() {
        let another = "GET /clusters/another/addons/dns".to_owned();
        let (asked, there) = seen(false).await;
        assert_eq!(asked, [another.clone(), "GET /clusters/one".to_owned()]);
        assert_eq!(there, [false, false, false]);
        let (asked, there) = seen(true).await;
        assert_eq!(asked, [another, "GET /clusters/one".to_owned(), "GET /clusters/one/addons/dns".to_owned()]);
        assert_eq!(there, [false, true, false]);
    }
}
