//! Whole runs of the engine on a simulated AWS and Argo CD: crashes at every call, random scenarios, many resources.
//!
//! A *run* is a process: a runtime of its own on a paused clock. One that dies at a call is dropped with everything that was
//! under way, and what it wrote to the store since that call does not count. The next one goes on from the same cloud and the
//! same store; time never goes back.

mod check;
mod lost;
mod matrix;
mod neighbours;
mod others;
mod recovery;
mod scale;
mod scenarios;
mod taken_back;

use super::api::{AccountSettings, ArgoCd as Registering, Engine, EngineSettings};
use super::apply::{Apply, Scope};
use super::events::Events;
use super::plan::Plan;
use super::report::{EngineError, RunReport};
use super::stop::Stop;
use crate::argocd::connect_simulated;
use crate::argocd::settings::ArgoCdSettings;
use crate::argocd::simulated::{ArgoCd, Link};
use crate::aws::sessions::{Options, Sessions};
use crate::aws::simulated::account::{Arrival, Aws, CALLERS_KEY, Passed, Sight};
use crate::aws::simulated::objects::Holdings;
use crate::graph::definition::Definitions;
use crate::graph::diagnostic::SourceFile;
use crate::graph::documents::Documents;
use crate::graph::yaml;
use crate::kinds::catalog::KindCatalog;
use crate::state::clock::Clock;
use crate::state::file::{DefinitionsUsed, InstanceKey, StateFile};
use crate::state::memory::MemoryStore;
use crate::state::session::{self, Holder};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_types::SdkConfig;
use aws_types::region::Region;
use aws_types::sdk_config::SharedTimeSource;
use chrono::{DateTime, TimeDelta, Utc};
use futures::future::{LocalBoxFuture, join_all};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

const HUB: &str = "111111111111";
const WORKLOAD: &str = "222222222222";
const REGION: &str = "us-west-2";

/// The definitions that ship.
static DEFINITIONS: LazyLock<Definitions> = LazyLock::new(|| {
    let texts = [
        include_str!("../../../graphs/eks-cluster.yaml"),
        include_str!("../../../graphs/eks-cluster-basic.yaml"),
        include_str!("../../../graphs/vpc.yaml"),
        include_str!("spoke.yaml"),
        include_str!("every.yaml"),
    ];
    let nodes: Vec<_> = texts.iter().flat_map(|text| yaml::parse(&SourceFile::new("graph.yaml", *text)).unwrap()).collect();
    let (definitions, problems) = Definitions::load(&nodes, &KindCatalog);
    assert!(problems.is_empty(), "{problems:?}");
    definitions
});

/// An `EksCluster`; `more` are further lines of its spec.
fn cluster(name: &str, more: &str) -> String {
    format!(
        "apiVersion: kro.run/v1alpha1\nkind: EksCluster\nmetadata: {{name: {name}, namespace: argocd}}\nspec:\n  name: {name}\n  \
         accountId: \"{WORKLOAD}\"\n  managementAccountId: \"{HUB}\"\n{more}"
    )
}

fn key_of(kind: &str, name: &str) -> InstanceKey {
    let (api_version, kind) = ("kro.run/v1alpha1".to_owned(), kind.to_owned());
    InstanceKey { api_version, kind, namespace: "argocd".to_owned(), name: name.to_owned() }
}

fn documents(text: &str) -> Documents {
    let nodes = yaml::parse(&SourceFile::new("documents.yaml", text)).unwrap();
    let (documents, problems) = Documents::load(&nodes, &DEFINITIONS);
    assert!(problems.is_empty(), "{problems:?}");
    documents
}

/// What a store holds.
type Objects = BTreeMap<String, Vec<u8>>;

/// The world around one call that changed something.
struct Photograph {
    operation: String,
    /// Everything that the call says.
    text: String,
    /// A process that was about to make the call.
    before: Simulation,
    /// It took effect, and nobody has heard of it.
    after: Simulation,
}

/// A cloud, an Argo CD, and a store: what outlives processes.
struct Simulation {
    aws: Aws,
    argocd: Arc<Mutex<ArgoCd>>,
    store: MemoryStore,
    /// What the documents say.
    text: String,
    default_tags: BTreeMap<String, String>,
    parallelism: usize,
    window: Duration,
    /// How far the clock of the machine is ahead of the cloud's.
    skew: TimeDelta,
}

impl Simulation {
    fn new(seed: u64, text: String) -> Self {
        let start: DateTime<Utc> = "2026-03-01T08:00:00Z".parse().unwrap();
        let aws = Aws::new(seed, start);
        aws.seed_role(WORKLOAD, "ack");
        aws.seed_role(WORKLOAD, "Admin");
        aws.seed_role(HUB, "hub-cluster-argocd-controller");
        let (argocd, store) = (Arc::default(), MemoryStore::new());
        let (default_tags, window) = (BTreeMap::new(), Duration::from_mins(1));
        let simulation = Self { aws, argocd, store, text, default_tags, parallelism: 10, window, skew: TimeDelta::zero() };
        simulation.renew_caller();
        simulation
    }

    /// Whoever calls has credentials that do not end by themselves.
    fn renew_caller(&self) {
        self.aws.seed_caller(HUB, &format!("arn:aws:iam::{HUB}:user/me"), None);
    }

    /// Another simulation that goes on from here. Between processes only.
    fn fork(&self) -> Self {
        Self {
            aws: self.aws.fork(),
            argocd: Arc::new(Mutex::new(self.argocd.lock().unwrap().clone())),
            store: MemoryStore::with(self.store.objects()),
            text: self.text.clone(),
            default_tags: self.default_tags.clone(),
            ..*self
        }
    }

    /// Runs a process, and gives the world as it would be if it had died before or after each call that it made to change
    /// something.
    fn photographed<T>(&mut self, step: impl FnOnce(&mut Self) -> T) -> (T, Vec<Photograph>) {
        let photographs: Arc<Mutex<Vec<Photograph>>> = Arc::default();
        let (kept, argocd, store) = (photographs.clone(), self.argocd.clone(), self.store.clone());
        let empty = self.fork();
        let mut before = None;
        self.aws.witnessed(Box::new(move |sight| {
            let world = |aws, clusters: ArgoCd| {
                let mut world = empty.fork();
                world.aws = aws;
                world.store = MemoryStore::with(store.objects());
                world.argocd = Arc::new(Mutex::new(clusters));
                world
            };
            let clusters = argocd.lock().unwrap().clone();
            match sight {
                Sight::Arrived(aws) => before = Some(world(aws, clusters)),
                Sight::CarriedOut(aws, arrival) => {
                    let (operation, text) = (arrival.operation.to_owned(), arrival.text.to_owned());
                    let after = world(aws, clusters);
                    kept.lock().unwrap().extend(before.take().map(|before| Photograph { operation, text, before, after }));
                }
            }
        }));
        let done = step(self);
        (done, std::mem::take(&mut *photographs.lock().unwrap()))
    }

    /// The way to Argo CD: its calls go wrong as those to AWS do.
    fn link(&self) -> Link {
        let (aws, argocd) = (self.aws.clone(), self.argocd.clone());
        Link::new(move |sent| {
            let (aws, argocd) = (aws.clone(), argocd.clone());
            Box::pin(async move {
                let text = sent.body.to_string();
                let arrival = Arrival { service: "argocd", operation: sent.operation(), changes: sent.changes(), text: &text };
                let serve = |holdings: &mut Holdings, now: DateTime<Utc>| {
                    argocd.lock().unwrap().answer(&sent, |server| reaches(holdings, now, server))
                };
                let refused = |answer: &(u16, String)| answer.0 >= 400;
                match aws.pass(arrival, serve, refused).await {
                    Passed::Answer(answer) => Some(answer),
                    Passed::Throttled => Some((429, "{\"message\": \"slow down\", \"code\": 8}".to_owned())),
                    Passed::Failed => Some((500, "{\"message\": \"internal error\", \"code\": 13}".to_owned())),
                    // Its client's own limit is one of real time.
                    Passed::Lost | Passed::Silence => None,
                }
            })
        })
    }

    /// A program that has just started.
    fn engine(&self) -> Engine {
        let registering = ArgoCdSettings::parse("argocd.example.com", "token", "").unwrap();
        let base = SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::latest())
            .region(Region::new(REGION))
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new(CALLERS_KEY, "secret", None, None, "test")))
            .time_source(SharedTimeSource::new(self.aws.clone()))
            .build();
        let options = Options {
            connector: Some(SharedHttpClient::new(self.aws.clone())),
            argocd: Some(connect_simulated(&registering, self.link())),
            ..Options::default()
        };
        let account = AccountSettings { role_name: Some("ack".to_owned()), ..AccountSettings::default() };
        let settings = EngineSettings {
            holder: Holder { pid: 1, host: "host".into(), user: "me".into(), command: "fleetctl".into() },
            accounts: BTreeMap::from([(WORKLOAD.to_owned(), account)]),
            default_tags: self.default_tags.clone(),
            role_path: None,
            permissions_boundary: None,
            region: Some(REGION.to_owned()),
            argocd: Registering::Server(registering),
            parallelism: self.parallelism,
            visibility_window: self.window,
        };
        let sessions = Arc::new(Sessions::over(&base, options));
        Engine::new(sessions, Arc::new(self.store.clone()), settings, Events::nowhere()).with_clock(self.clock())
    }

    fn clock(&self) -> Clock {
        let (cloud, skew) = (self.aws.clock(), self.skew);
        Arc::new(move || cloud() + skew)
    }

    /// Runs a process to its end. `None`: it died.
    fn run<T>(&mut self, work: impl FnOnce(Engine) -> LocalBoxFuture<'static, T>) -> Option<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let left: Arc<Mutex<Option<Objects>>> = Arc::default();
        let (store, kept) = (self.store.clone(), left.clone());
        let done = runtime.block_on(async {
            let died = self.aws.start(move || *kept.lock().unwrap() = Some(store.objects()));
            let work = work(self.engine());
            let done = tokio::select! {
                biased;
                Ok(()) = died => None,
                done = work => Some(done),
            };
            self.aws.end();
            done
        });
        drop(runtime);
        // What it wrote after its death does not count, and its locks are nobody's.
        let objects = left.lock().unwrap().take();
        self.store = MemoryStore::with(objects.unwrap_or_else(|| self.store.objects()));
        done
    }

    fn apply(&mut self) -> Option<Result<Vec<RunReport>, EngineError>> {
        let documents = documents(&self.text);
        self.run(|engine| Box::pin(async move { apply(&engine, &documents).await }))
    }

    /// What an apply would do.
    fn plan(&mut self) -> Result<Vec<Plan>, EngineError> {
        let documents = documents(&self.text);
        let plans = self.run(|engine| {
            Box::pin(async move {
                let works = engine.work(&documents, &DEFINITIONS, &used()).await?;
                let mut plans = Vec::new();
                for work in &works {
                    plans.push(engine.plan(work).await?);
                }
                Ok::<_, EngineError>(plans)
            })
        });
        plans.unwrap()
    }

    fn destroy_all(&mut self, keys: &[InstanceKey]) -> Option<Result<Vec<RunReport>, EngineError>> {
        let keys = keys.to_vec();
        self.run(|engine| Box::pin(async move { destroy(&engine, &keys).await }))
    }

    /// What the store says, read as anybody would.
    fn states(&self) -> Vec<StateFile> {
        let states = futures::executor::block_on(session::read_each(&self.store)).unwrap();
        states.into_iter().map(|(_, state)| state.unwrap()).collect()
    }
}

fn used() -> DefinitionsUsed {
    DefinitionsUsed::default()
}

/// As the command does it: all are opened and checked together, then run together.
async fn apply(engine: &Engine, documents: &Documents) -> Result<Vec<RunReport>, EngineError> {
    let works = engine.work(documents, &DEFINITIONS, &used()).await?;
    let opened = join_all(works.into_iter().map(|work| engine.open_apply(work, Scope::Everything))).await;
    let mut applies = opened.into_iter().collect::<Result<Vec<Apply>, _>>()?;
    engine.check_applies(&mut applies).await;
    let stop = Stop::default();
    let confirmed: Vec<String> =
        applies.iter().flat_map(|apply| apply.plan().changes.iter().map(|change| change.address.to_string())).collect();
    let runs = applies.into_iter().map(|apply| apply.run(&confirmed, &stop));
    join_all(runs).await.into_iter().collect()
}

async fn destroy(engine: &Engine, keys: &[InstanceKey]) -> Result<Vec<RunReport>, EngineError> {
    let stop = Stop::default();
    let mut reports = Vec::new();
    for key in keys {
        if let Some(destroy) = engine.open_destroy(key, None).await? {
            reports.push(destroy.run(&[], &stop).await?);
        }
    }
    Ok(reports)
}

/// Whether Argo CD gets into the cluster of a server: the access entry of its role is there, since a while.
fn reaches(holdings: &Holdings, now: DateTime<Utc>, server: &str) -> bool {
    let issuer = server.strip_prefix("https://").and_then(|rest| rest.split('.').next()).unwrap_or_default();
    let entry = |object: &&crate::aws::simulated::objects::Object| {
        object.kind == "entry"
            && object.is_there(now)
            && object.id.ends_with("/hub-cluster-argocd-controller")
            && now >= object.made + TimeDelta::seconds(3)
    };
    !issuer.is_empty() && holdings.objects.iter().any(|object| entry(&object))
}
