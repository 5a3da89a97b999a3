//! Who else owns an object: other instances of one run, and other states of the store.
//!
//! An object belongs to one state. Two instances own one object when something of theirs has the same identity, or the same
//! name where AWS knows objects by their names.

use super::plan::{Action, Change, Plan, Summary};
use super::planner::Planned;
use super::subject::marked;
use super::work::Work;
use crate::aws::tags::{self, Marks, Tags};
use crate::graph::identity::Identity;
use crate::kinds::compare::at;
use crate::state::elsewhere::{check_two, move_command, visit_others};
use crate::state::error::StateError;
use crate::state::file::{InstanceKey, StateFile};
use crate::state::store::Store;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What AWS knows a kind of object by: the paths of what is named, and whether its names are those of one region.
const NAMED: [(&str, &[&str], bool); 5] = [
    ("Role", &["spec.name"], false),
    ("Cluster", &["spec.name"], true),
    ("Addon", &["spec.clusterName", "spec.name"], true),
    ("AccessEntry", &["spec.clusterName", "spec.principalARN"], true),
    ("PodIdentityAssociation", &["spec.clusterName", "spec.namespace", "spec.serviceAccount"], true),
];

/// What AWS knows an object by, for kinds whose names can be taken only once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AwsName {
    kind: &'static str,
    account: String,
    region: Option<String>,
    name: String,
}

impl AwsName {
    /// The name of an object, if its kind has names and all of it is known.
    pub(super) fn of(identity: &Identity, object: &Value) -> Option<Self> {
        let (kind, paths, is_regional) = NAMED.into_iter().find(|(kind, ..)| *kind == identity.kind)?;
        let parts: Option<Vec<&str>> = paths.iter().map(|path| at(object, path).as_str().filter(|it| !it.is_empty())).collect();
        let region = is_regional.then(|| identity.region.clone());
        Some(Self { kind, account: identity.account.clone(), region, name: parts?.join("/") })
    }
}

impl std::fmt::Display for AwsName {
    /// `Role workload-cluster1-cluster-role (222222222222)`.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, account, region, name } = self;
        write!(formatter, "{kind} {name} ({account}")?;
        region.iter().try_for_each(|region| write!(formatter, ", {region}"))?;
        formatter.write_str(")")
    }
}

/// What other states of the store have recorded.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    identities: BTreeMap<Identity, InstanceKey>,
    names: BTreeMap<AwsName, InstanceKey>,
}

/// Names that an instance had before: those of states of its lineage that record none of what it records. `state mv` leaves
/// such a state behind.
#[derive(Debug, Default)]
pub(super) struct FormerNames(BTreeSet<String>);

impl FormerNames {
    /// The instance that an object's tags name, if it is another one than ours, by whatever name ours went.
    pub(super) fn stranger<'a>(&self, tags: &'a Tags, marks: &Marks) -> Option<&'a str> {
        marks.other_instance(tags).filter(|named| !self.0.contains(*named))
    }
}

/// Looks at every other state of the store, one after the other. Error [`StateError::RecordedTwice`] if one of them records what
/// this state records: whatever is done by the one is done to the other. `also` sees each of them, too.
pub(super) async fn look_at_others(
    store: &dyn Store,
    instance: &InstanceKey,
    own: Option<&StateFile>,
    mut also: impl FnMut(&StateFile),
) -> Result<(Recorded, FormerNames), StateError> {
    let (mut recorded, mut former) = (Recorded::default(), FormerNames::default());
    visit_others(store, instance, |other| {
        if let Some(own) = own {
            check_two(own, &other)?;
            if own.lineage == other.lineage {
                former.0.insert(tags::value(&marked(&other.instance)));
            }
        }
        recorded.add(&other);
        also(&other);
        Ok(())
    })
    .await?;
    Ok((recorded, former))
}

impl Recorded {
    fn add(&mut self, state: &StateFile) {
        for record in &state.resources {
            self.identities.insert(record.identity.clone(), state.instance.clone());
            if let Some(name) = AwsName::of(&record.identity, &record.applied) {
                self.names.insert(name, state.instance.clone());
            }
        }
    }

    fn owner(&self, identity: &Identity, object: &Value) -> Option<(String, &InstanceKey)> {
        let by_name = || {
            let name = AwsName::of(identity, object)?;
            self.names.get(&name).map(|owner| (name.to_string(), owner))
        };
        self.identities.get(identity).map(|owner| (identity.to_string(), owner)).or_else(by_name)
    }
}

/// Whether a plan takes anything on that might be another instance's.
pub(super) fn takes_on(plan: &Plan) -> bool {
    plan.changes.iter().any(takes)
}

fn takes(change: &Change) -> bool {
    matches!(change.action, Action::Create | Action::Adopt | Action::Refused)
}

/// Refuses what another state of the store has recorded. What this state has recorded itself was decided before.
pub(super) fn refuse(planned: &mut Planned, work: &Work, own: Option<&StateFile>, others: &Recorded) {
    let instance = work.key();
    for change in planned.plan.changes.iter_mut().filter(|change| takes(change)) {
        if own.is_some_and(|state| state.record(&change.identity).is_some()) {
            continue;
        }
        let Some(index) = work.graph.find(change.address.as_str()) else { continue };
        let object = planned.evaluation.node(index).desired.known_part();
        if let Some((what, owner)) = others.owner(&change.identity, &object) {
            change.action = Action::Refused;
            change.reason = Some(reason(&what, owner, &instance));
        }
    }
    planned.plan.summary = Summary::of(&planned.plan.changes);
}

fn reason(what: &str, owner: &InstanceKey, instance: &InstanceKey) -> String {
    format!(
        "{what} is recorded as an object of {owner}: {instance} cannot own it too; if it is the same instance under a new name: \
         `{}`, else give the objects of {}/{} other names",
        move_command(owner, instance),
        instance.kind,
        instance.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::planner::tests::Scene;
    use crate::state::file::Phase;
    use crate::state::memory::MemoryStore;

    /// A state of another instance that has recorded one of the scene's resources.
    fn other(scene: &mut Scene, id: &str, change: impl Fn(&mut crate::state::file::Record)) -> StateFile {
        let key = InstanceKey { name: "before".into(), ..scene.work.key() };
        let mut state = StateFile::new(key);
        let subject = scene.seen(id).subject.clone();
        let mut record = crate::engine::planner::tests::record(&subject, "id", Phase::Ready);
        change(&mut record);
        state.resources.push(record);
        state
    }

    fn reasons(scene: &Scene, others: &[StateFile]) -> Vec<String> {
        let mut planned = scene.plan();
        let mut recorded = Recorded::default();
        for other in others {
            recorded.add(other);
        }
        refuse(&mut planned, &scene.work, None, &recorded);
        assert_eq!(planned.plan.summary, Summary::of(&planned.plan.changes));
        let refused = planned.plan.changes.into_iter().filter(|change| change.action == Action::Refused);
        refused.filter_map(|change| change.reason).collect()
    }

    #[test]
    fn what_another_state_has_recorded_is_refused_with_both_names() {
        let mut scene = Scene::new("");
        let state = other(&mut scene, "vpc", |_| {});
        assert_eq!(
            reasons(&scene, &[state]),
            [
                "VPC argocd/main (222222222222, us-west-2) is recorded as an object of Network/before in namespace argocd: Network/one in \
                 namespace argocd cannot own it too; if it is the same instance under a new name: `fleetctl state mv Network/before \
                 Network/one -n argocd`, else give the objects of Network/one other names"
            ]
        );
    }

    #[test]
    fn the_way_out_for_another_namespace_names_both() {
        let there = InstanceKey {
            api_version: "kro.run/v1alpha1".into(),
            kind: "EksCluster".into(),
            namespace: "argocd".into(),
            name: "one".into(),
        };
        let here = InstanceKey { namespace: "other".into(), ..there.clone() };
        let text = reason("VPC argocd/main", &there, &here);
        assert!(text.contains("`fleetctl state mv EksCluster/one EksCluster/one -n argocd --to-namespace other`"), "{text}");
    }

    #[test]
    fn one_name_in_aws_is_one_object_whatever_it_is_called_in_the_documents() {
        let mut scene = Scene::new("");
        let renamed = |name: &'static str, region: &'static str| {
            move |record: &mut crate::state::file::Record| {
                record.identity.name = "otherwise".into();
                record.identity.region = region.into();
                record.applied = serde_json::json!({"spec": {"name": name}});
            }
        };
        // A role is the same in all regions.
        let same = other(&mut scene, "role", renamed("role", "eu-west-1"));
        let found = reasons(&scene, &[same]);
        assert!(found.len() == 1 && found[0].starts_with("Role role (222222222222) is recorded"), "{found:?}");
        let another = other(&mut scene, "role", renamed("another", "us-west-2"));
        assert_eq!(reasons(&scene, &[another]), Vec::<String>::new());
    }

    async fn store_of(states: &[&StateFile]) -> MemoryStore {
        let store = MemoryStore::new();
        for state in states {
            let bytes = crate::state::session::export(state).unwrap();
            store.put_if_absent(&state.instance.store_key(), &bytes).await.unwrap();
        }
        store
    }

    #[tokio::test]
    async fn a_state_of_its_own_is_no_other() {
        let mut scene = Scene::new("");
        let mut state = other(&mut scene, "vpc", |_| {});
        state.instance = scene.work.key();
        let store = store_of(&[&state]).await;
        let (recorded, _) = look_at_others(&store, &state.instance, Some(&state), |_| {}).await.unwrap();
        assert!(recorded.identities.is_empty() && recorded.names.is_empty());
    }

    #[tokio::test]
    async fn what_two_states_record_is_refused_with_the_way_out() {
        let mut scene = Scene::new("");
        let one = other(&mut scene, "vpc", |_| {});
        let copy = StateFile { instance: InstanceKey { name: "copy".into(), ..one.instance.clone() }, ..one.clone() };
        let store = store_of(&[&one, &copy]).await;
        let refused = look_at_others(&store, &copy.instance, Some(&copy), |_| {}).await.unwrap_err().to_string();
        assert_eq!(
            refused,
            "one object of Network/copy in namespace argocd is recorded by Network/before in namespace argocd too (VPC id): nothing is \
             done with that before only one state has it. a `state mv` broke off, or the state was copied: `fleetctl state mv \
             Network/before Network/copy -n argocd` goes on with it, or `fleetctl state mv Network/copy Network/before -n argocd` if \
             they are to be there"
        );
        let another = StateFile { lineage: "another".into(), ..copy };
        let store = store_of(&[&one, &another]).await;
        let refused = look_at_others(&store, &one.instance, Some(&one), |_| {}).await.unwrap_err().to_string();
        assert!(
            refused.ends_with("`fleetctl state rm ADDRESS` lets go of them in the state that should not have them"),
            "{refused}"
        );
    }

    #[tokio::test]
    async fn a_name_that_was_moved_away_from_is_no_strangers() {
        let mut scene = Scene::new("");
        let now = other(&mut scene, "vpc", |_| {});
        let named = |name: &str, lineage: &str| {
            let state = StateFile::new(InstanceKey { name: name.into(), ..now.instance.clone() });
            StateFile { lineage: lineage.into(), ..state }
        };
        let store = store_of(&[&now, &named("moved", &now.lineage), &named("unlike", "another")]).await;
        let (_, former) = look_at_others(&store, &now.instance, Some(&now), |_| {}).await.unwrap();
        let marks = Marks { lineage: now.lineage.clone(), instance: marked(&now.instance), address: "a".into() };
        let stranger = |name: &str| {
            let tags = Tags::from([(tags::INSTANCE.to_owned(), format!("argocd/Network/{name}"))]);
            former.stranger(&tags, &marks).map(str::to_owned)
        };
        assert_eq!((stranger("before"), stranger("moved")), (None, None));
        assert_eq!(stranger("unlike").as_deref(), Some("argocd/Network/unlike"));
        assert_eq!(stranger("elsewhere").as_deref(), Some("argocd/Network/elsewhere"));
        assert_eq!(former.stranger(&Tags::new(), &marks), None);
    }
}
