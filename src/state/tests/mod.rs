//! Tests of state.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod contract;
mod crash;
mod damage;
mod disk;
mod faults;
mod folder;
mod format;
mod journal;
mod process;
mod reading;
mod script;
mod strange;
pub(super) mod syscalls;

use super::error::StateError;
use super::file::{InstanceKey, Phase, Record, RoleUsed, StateFile, Verb};
use super::journal::{Intent, Outcome};
use super::memory::MemoryStore;
use super::s3::S3Store;
use super::session::{Holder, Session};
use super::store::Store;
use crate::graph::identity::{Address, Identity};
use chrono::DateTime;
use faults::Objects;
use futures::FutureExt as _;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn instance() -> InstanceKey {
    InstanceKey {
        api_version: "kro.run/v1alpha1".into(),
        kind: "EksCluster".into(),
        namespace: "argocd".into(),
        name: "workload-cluster1".into(),
    }
}

fn holder() -> Holder {
    Holder { pid: 4242, host: "laptop".into(), user: "ann".into(), command: "fleetctl apply cluster.yaml".into() }
}

async fn open(store: &(impl Store + Clone + 'static)) -> Session {
    open_in(&(Arc::new(store.clone()) as Arc<dyn Store>)).await
}

/// Opens a state as soon as whoever had it before has let go.
async fn open_in(store: &Arc<dyn Store>) -> Session {
    for _ in 0..1000 {
        match Session::open(store.clone(), instance(), holder()).await {
            Err(StateError::Locked { .. }) => tokio::time::sleep(Duration::from_millis(1)).await,
            session => return session.unwrap(),
        }
    }
    panic!("the lock is not released");
}

/// A store whose objects can be taken out and put back.
trait Portable: Store + Clone + Default + 'static {
    /// Every object but locks.
    fn objects(&self) -> Objects;

    /// A store with these objects, unlocked.
    fn with(objects: Objects) -> Self;
}

impl Portable for MemoryStore {
    fn objects(&self) -> Objects {
        MemoryStore::objects(self)
    }

    fn with(objects: Objects) -> Self {
        MemoryStore::with(objects)
    }
}

impl Default for S3Store {
    fn default() -> Self {
        Self::over("s3://fleet-state/team", Arc::new(object_store::memory::InMemory::new()))
    }
}

/// Nothing is waited for in a bucket that is in memory.
impl Portable for S3Store {
    fn objects(&self) -> Objects {
        let all = async {
            let mut objects = Objects::new();
            for key in self.list("").await.unwrap() {
                objects.insert(key.clone(), self.get(&key).await.unwrap().unwrap().bytes);
            }
            objects
        };
        all.now_or_never().unwrap()
    }

    fn with(objects: Objects) -> Self {
        let store = Self::default();
        for (key, bytes) in objects {
            store.put_if_absent(&key, &bytes).now_or_never().unwrap().unwrap();
        }
        store
    }
}

fn identity(name: &str) -> Identity {
    Identity {
        api_version: "ec2.services.k8s.aws/v1alpha1".into(),
        kind: "VPC".into(),
        namespace: "argocd".into(),
        name: name.into(),
        account: "111122223333".into(),
        region: "eu-west-1".into(),
    }
}

pub(super) fn intent(name: &str, verb: Verb) -> Intent {
    let operation = match verb {
        Verb::Create => "CreateVpc",
        Verb::Change => "ModifyVpcAttribute",
        Verb::Delete => "DeleteVpc",
    };
    Intent {
        identity: identity(name),
        address: Address::root("EksCluster", "workload-cluster1").child(name),
        role: Some(RoleUsed { arn: "arn:aws:iam::111122223333:role/hub".into(), external_id: None }),
        verb,
        operation,
        id: (verb != Verb::Create).then(|| format!("vpc-{name}")),
        applied: (verb == Verb::Create).then(|| json!({"spec": {"cidrBlocks": ["10.0.0.0/16"]}})),
        dependencies: Vec::new(),
    }
}

pub(super) fn record(name: &str, round: u32) -> Record {
    let at = DateTime::from_timestamp(1_800_000_000 + i64::from(round), 0).unwrap();
    Record {
        identity: identity(name),
        address: Address::root("EksCluster", "workload-cluster1").child(name),
        role: None,
        id: format!("vpc-{name}-{round}"),
        phase: Phase::Created,
        applied: json!({"kind": "VPC", "spec": {"z": 1, "cidrBlocks": ["10.0.0.0/16"], "a": null}}),
        status: json!({"vpcID": format!("vpc-{name}-{round}")}),
        dependencies: vec![identity("other")],
        adopted: false,
        since: at,
        created_at: at,
        wait: None,
    }
}

fn refused() -> Outcome {
    Outcome::Refused { code: "RequestLimitExceeded".into(), message: "slow down".into() }
}

/// Makes a VPC the way the recorder does.
async fn make(session: &Session, name: &str) -> u64 {
    let journal = session.journal();
    let entry = journal.begin(intent(name, Verb::Create)).await.unwrap().entry();
    journal.end(entry, Outcome::Succeeded, Some(record(name, 0))).await.unwrap();
    entry
}

async fn read(store: &dyn Store) -> StateFile {
    super::session::read(store, &instance()).await.unwrap().unwrap()
}
