//! Questions about accounts and regions, and their answers. Each is asked once.

use crate::aws::error::CallError;
use crate::aws::facts::{self, ClusterVersion, Network, Quota};
use crate::aws::sessions::{Sessions, Target};
pub(in crate::engine) use crate::engine::outcome::Place;
use crate::engine::work::Work;
use crate::graph::identity::Identity;
use crate::state::file::RoleUsed;
use futures::future::join_all;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;

/// Something that can be asked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::engine) enum Question {
    /// Zones, and whether EKS is there.
    Zones(Place),
    /// The Kubernetes versions that EKS has.
    ClusterVersions(Place),
    /// The versions of an add-on that go with a Kubernetes version.
    AddonVersions { place: Place, addon: String, kubernetes: Option<String> },
    /// How many there may be.
    Quota(Place, Quota),
    /// How many there are.
    Used(Place, Quota),
    /// Subnets and VPCs that are there.
    Network { place: Place, subnets: Vec<String>, vpcs: Vec<String> },
    /// Whether a role of an account is there.
    Role { account: String, name: String },
    /// The ids of objects that bear an instance's mark.
    Marked { place: Place, instance: String },
}

/// What came of a question.
#[derive(Debug, Clone)]
pub(in crate::engine) enum Answer {
    /// By name.
    Zones(BTreeMap<String, bool>),
    ClusterVersions(Vec<ClusterVersion>),
    AddonVersions(Vec<String>),
    Count(u64),
    Network(Network),
    Exists(bool),
    Ids(Vec<String>),
}

/// What came of each question. Those that nobody could be asked are missing: no way leads into the account.
pub(in crate::engine) type Answers = BTreeMap<Question, Result<Answer, CallError>>;

/// The ways into the accounts of a run.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Ways<'a> {
    pub sessions: &'a Sessions,
    pub works: &'a [&'a Work],
}

impl Ways<'_> {
    /// What reaches an account: as the run itself does, or with the caller's own credentials if it is the caller's own.
    async fn target(&self, account: &str, region: Option<&str>) -> Option<Arc<Target>> {
        let fits = |identity: &Identity| identity.account == account && region.is_none_or(|region| region == identity.region);
        let placed = self.works.iter().find_map(|work| {
            let place = work.places.iter().flatten().find(|place| fits(&place.identity))?;
            Some((place.identity.region.clone(), place.role.clone(), work.graph.instance.name.clone()))
        });
        let (region, role, instance): (String, Option<RoleUsed>, String) = match placed {
            Some(placed) => placed,
            None if self.sessions.caller().await.ok()?.account == account => {
                let elsewhere = self.works.iter().find_map(|work| work.places.iter().flatten().next());
                (elsewhere?.identity.region.clone(), None, String::new())
            }
            None => return None,
        };
        self.sessions.target(account, &region, role.as_ref(), &instance).await.ok()
    }
}

impl Question {
    fn account(&self) -> (&str, Option<&str>) {
        match self {
            Self::Zones(place)
            | Self::ClusterVersions(place)
            | Self::Quota(place, _)
            | Self::Used(place, _)
            | Self::AddonVersions { place, .. }
            | Self::Marked { place, .. }
            | Self::Network { place, .. } => (&place.account, Some(&place.region)),
            Self::Role { account, .. } => (account, None),
        }
    }

    async fn ask(&self, target: &Target) -> Result<Answer, CallError> {
        let readers = &target.cloud.readers;
        match self {
            Self::Zones(_) => {
                let zones = &target.facts().await?.zones;
                Ok(Answer::Zones(zones.iter().map(|zone| (zone.name.clone(), zone.hosts_eks)).collect()))
            }
            Self::ClusterVersions(_) => facts::cluster_versions(readers).await.map(Answer::ClusterVersions),
            Self::AddonVersions { addon, kubernetes, .. } => {
                facts::addon_versions(readers, addon, kubernetes.as_deref()).await.map(Answer::AddonVersions)
            }
            Self::Quota(_, quota) => facts::quota(readers, *quota).await.map(Answer::Count),
            Self::Used(_, quota) => facts::used(readers, *quota).await.map(Answer::Count),
            Self::Network { subnets, vpcs, .. } => facts::network(readers, subnets, vpcs).await.map(Answer::Network),
            Self::Role { name, .. } => facts::role_exists(readers, name).await.map(Answer::Exists),
            Self::Marked { instance, .. } => readers.ec2.objects_of(instance).await.map(Answer::Ids),
        }
    }
}

type Cell = Arc<OnceCell<Option<Result<Answer, CallError>>>>;

/// What was asked so far. Shared by all instances of a run.
#[derive(Debug, Default)]
pub(in crate::engine) struct FactBook {
    cells: Mutex<HashMap<Question, Cell>>,
}

impl FactBook {
    /// The answers, all asked at one time; what was asked before is not asked again.
    pub(in crate::engine) async fn answers(&self, ways: &Ways<'_>, questions: BTreeSet<Question>) -> Answers {
        let asked = questions.into_iter().map(|question| async {
            let answer = self.answer(ways, &question).await;
            Some((question, answer?))
        });
        join_all(asked).await.into_iter().flatten().collect()
    }

    async fn answer(&self, ways: &Ways<'_>, question: &Question) -> Option<Result<Answer, CallError>> {
        let cell = {
            let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(cells.entry(question.clone()).or_default())
        };
        let ask = || async {
            let (account, region) = question.account();
            let target = ways.target(account, region).await?;
            Some(question.ask(&target).await)
        };
        cell.get_or_init(ask).await.clone()
    }
}
