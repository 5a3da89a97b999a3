//! Tests of the recorder, on tokio's paused clock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::kind::{Marks, StepError, Subject};
use super::{Call, Created, Options, Recorder, RecorderEvent};
use crate::aws::error::{CallError, ErrorClass};
use crate::graph::identity::{Address, Identity};
use crate::state::clock;
use crate::state::error::StateError;
use crate::state::file::{InstanceKey, Phase, RoleUsed, StateFile, Verb};
use crate::state::journal::Permit;
use crate::state::memory::MemoryStore;
use crate::state::session::{Holder, Session};
use chrono::DateTime;
use serde_json::json;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};

struct Bench {
    session: Session,
    recorder: Recorder,
    subject: Subject,
    events: Arc<Mutex<Vec<RecorderEvent>>>,
    tokens: Mutex<Vec<String>>,
}

impl Bench {
    async fn new() -> Self {
        let instance = InstanceKey {
            api_version: "kro.run/v1alpha1".into(),
            kind: "EksCluster".into(),
            namespace: "argocd".into(),
            name: "c1".into(),
        };
        let holder = Holder { pid: 1, host: "h".into(), user: "u".into(), command: "apply".into() };
        let clock = clock::simulated(DateTime::from_timestamp(1_800_000_000, 0).unwrap());
        let session = Session::open_with(Arc::new(MemoryStore::new()), instance, holder, clock).await.unwrap();
        let events: Arc<Mutex<Vec<RecorderEvent>>> = Arc::default();
        let seen = events.clone();
        let observer = Arc::new(move |event| seen.lock().unwrap().push(event));
        let recorder = Recorder::new(session.journal(), Options::default(), observer);
        Self { session, recorder, subject: subject("subnet1", &["vpc"]), events, tokens: Mutex::default() }
    }

    fn change(&self) -> Call<'_> {
        Call::new(&self.subject, Verb::Change, "ModifySubnetAttribute").id("subnet-1")
    }

    /// A call that is answered with these classes in turn, and then carried out.
    async fn call(&self, call: Call<'_>, refusals: &[ErrorClass]) -> Result<u32, StepError> {
        let attempt = Cell::new(0);
        let make = |permit: Permit| {
            self.tokens.lock().unwrap().push(permit.token().to_owned());
            let number = attempt.replace(attempt.get() + 1);
            let refusal = refusals.get(number as usize).copied();
            async move { refusal.map_or(Ok(number + 1), |class| Err(error(class))) }
        };
        self.recorder.call(call, make).await
    }

    /// Makes an object that others depend on.
    async fn make(&self, name: &str) {
        let subject = subject(name, &[]);
        let call = Call::new(&subject, Verb::Create, "CreateVpc").applied(json!({}));
        let created = |id: &String| Created { id: id.clone(), status: json!({}) };
        self.recorder.create(call, |_| async { Ok("vpc-1".to_owned()) }, created).await.unwrap();
    }

    fn state(&self) -> StateFile {
        self.session.state()
    }
}

fn identity(name: &str) -> Identity {
    Identity {
        api_version: "ec2.services.k8s.aws/v1alpha1".into(),
        kind: "Subnet".into(),
        namespace: "argocd".into(),
        name: name.into(),
        account: "111122223333".into(),
        region: "eu-west-1".into(),
    }
}

fn subject(name: &str, dependencies: &[&str]) -> Subject {
    Subject {
        identity: identity(name),
        address: Address::root("EksCluster", "c1").child(name),
        partition: "aws".into(),
        role: Some(RoleUsed { arn: "arn:aws:iam::111122223333:role/hub".into(), external_id: Some("x".into()) }),
        marks: Marks { lineage: "l".into(), instance: "i".into(), address: "a".into() },
        default_tags: BTreeMap::new(),
        role_path: None,
        permissions_boundary: None,
        dependencies: dependencies.iter().map(|name| identity(name)).collect(),
    }
}

fn error(class: ErrorClass) -> CallError {
    CallError {
        service: "ec2",
        operation: "ModifySubnetAttribute",
        class,
        code: format!("{class:?}"),
        message: "no".into(),
        request_id: None,
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, StepError>, class: ErrorClass) {
    match result {
        Err(StepError::Refused(error)) if error.class == class => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_refused_counts() {
    let bench = Bench::new().await;
    bench.call(bench.change(), &[ErrorClass::Final]).await.unwrap_err();
    assert_eq!(bench.recorder.effective(), 0);
    bench.call(bench.change(), &[ErrorClass::Throttled]).await.unwrap();
    bench.call(bench.change(), &[ErrorClass::Unclear]).await.unwrap_err();
    assert_eq!(bench.recorder.clone().effective(), 2, "nobody knows of the second");
}

#[tokio::test(start_paused = true)]
async fn a_create_is_recorded() {
    let bench = Bench::new().await;
    let began = bench.session.journal().now();
    let applied = json!({"spec": {"cidrBlock": "10.0.0.0/24"}});
    let call = Call::new(&bench.subject, Verb::Create, "CreateSubnet").applied(applied.clone());
    let make = |permit: Permit| {
        let open = bench.state().open;
        assert_eq!((open.len(), open[0].entry, &*open[0].token), (1, permit.entry(), permit.token()));
        assert_eq!(open[0].applied, Some(applied.clone()));
        async {
            sleep(Duration::from_secs(3)).await;
            Ok("subnet-1")
        }
    };
    let created = |id: &&str| Created { id: (*id).to_owned(), status: json!({"subnetID": id}) };
    let (reply, record) = bench.recorder.create(call, make, created).await.unwrap();
    assert_eq!((reply, &*record.id, record.phase), ("subnet-1", "subnet-1", Phase::Created));
    // From the reply on: a call may wait long for the rate limit after its begin entry.
    assert_eq!((record.created_at, record.since), (began + Duration::from_secs(3), began + Duration::from_secs(3)));
    assert_eq!((&record.role, &record.dependencies), (&bench.subject.role, &bench.subject.dependencies));
    assert_eq!((&record.applied, &record.status), (&applied, &json!({"subnetID": "subnet-1"})));
    let state = bench.state();
    assert_eq!((state.resources, state.open), (vec![record], Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn throttling_is_repeated_with_a_new_token_each_time() {
    let bench = Bench::new().await;
    let attempts = bench.call(bench.change(), &[ErrorClass::Throttled; 7]).await.unwrap();
    assert_eq!(attempts, 8);
    let mut tokens = bench.tokens.lock().unwrap().clone();
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 8);
    assert_eq!((bench.state().last_entry, bench.state().open.len()), (8, 0));
    let events = bench.events.lock().unwrap().clone();
    assert_eq!(events.iter().map(|event| event.attempt).collect::<Vec<_>>(), (1..8).collect::<Vec<_>>());
    let first = &events[0];
    assert_eq!((first.operation, &*first.code, first.class), ("ModifySubnetAttribute", "Throttled", ErrorClass::Throttled));
    assert_eq!(first.address.as_str(), "EksCluster/c1/subnet1");
    assert!(first.delay <= Duration::from_secs(1) && events[6].delay <= Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn throttling_is_not_repeated_for_ever() {
    let bench = Bench::new().await;
    let began = Instant::now();
    refused(bench.call(bench.change(), &[ErrorClass::Throttled; 100]).await, ErrorClass::Throttled);
    assert!(bench.tokens.lock().unwrap().len() <= 8);
    assert!(began.elapsed() <= Duration::from_mins(2));
    assert!(bench.state().open.is_empty());
}

#[tokio::test(start_paused = true)]
async fn not_yet_is_repeated_while_there_is_patience() {
    let bench = Bench::new().await;
    let began = Instant::now();
    refused(bench.call(bench.change(), &[ErrorClass::NotYet; 1000]).await, ErrorClass::NotYet);
    assert_eq!(began.elapsed().as_secs(), 180);
    let delays: Vec<Duration> = bench.events.lock().unwrap().iter().map(|event| event.delay).collect();
    assert!(delays[0] <= Duration::from_millis(500) && delays[0] >= Duration::from_millis(375), "{delays:?}");
    assert!(delays.iter().all(|delay| *delay <= Duration::from_secs(10)));
    assert!((18..35).contains(&delays.len()), "{}", delays.len());

    let began = Instant::now();
    let call = bench.change().patience(Duration::from_secs(20));
    refused(bench.call(call, &[ErrorClass::NotYet; 1000]).await, ErrorClass::NotYet);
    assert_eq!(began.elapsed().as_secs(), 20);
    assert_eq!(bench.call(bench.change(), &[ErrorClass::NotYet, ErrorClass::Throttled]).await.unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn not_found_may_be_not_visible_yet_while_something_is_fresh() {
    let bench = Bench::new().await;
    let lost = [ErrorClass::NotFound; 1000];
    // Nothing that it needs was made here.
    refused(bench.call(bench.change(), &lost).await, ErrorClass::NotFound);
    assert_eq!(bench.tokens.lock().unwrap().len(), 1);

    bench.make("vpc").await;
    assert_eq!(bench.call(bench.change(), &lost[..3]).await.unwrap(), 4);
    refused(bench.call(bench.change().not_found_is_final(), &lost).await, ErrorClass::NotFound);
    assert_eq!(bench.tokens.lock().unwrap().len(), 1 + 4 + 1);
    let began = Instant::now();
    refused(bench.call(bench.change(), &lost).await, ErrorClass::NotFound);
    assert!(began.elapsed() <= Duration::from_mins(1) && began.elapsed() >= Duration::from_secs(40), "{:?}", began.elapsed());

    sleep(Duration::from_mins(1)).await;
    let began = Instant::now();
    refused(bench.call(bench.change(), &lost).await, ErrorClass::NotFound);
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn not_found_is_final_for_a_delete_and_success_for_the_helper() {
    let bench = Bench::new().await;
    bench.make("vpc").await;
    let call = || Call::new(&bench.subject, Verb::Delete, "DeleteSubnet").id("subnet-1");
    refused(bench.call(call(), &[ErrorClass::NotFound]).await, ErrorClass::NotFound);
    let gone = |_: Permit| async { Err::<(), _>(error(ErrorClass::NotFound)) };
    bench.recorder.delete(call(), gone).await.unwrap();
    let denied = |_: Permit| async { Err::<(), _>(error(ErrorClass::Denied)) };
    refused(bench.recorder.delete(call(), denied).await, ErrorClass::Denied);
    bench.recorder.delete(call(), |_| async { Ok(7) }).await.unwrap();
    assert!(bench.state().open.is_empty());
}

#[tokio::test(start_paused = true)]
async fn other_refusals_end_at_once() {
    let bench = Bench::new().await;
    bench.make("vpc").await;
    let classes = [ErrorClass::AlreadyExists, ErrorClass::Denied, ErrorClass::Quota, ErrorClass::Credentials, ErrorClass::Final];
    for class in classes {
        let before = bench.tokens.lock().unwrap().len();
        refused(bench.call(bench.change(), &[class]).await, class);
        assert_eq!(bench.tokens.lock().unwrap().len(), before + 1);
    }
    assert!(bench.state().open.is_empty());
    assert!(bench.events.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_leaves_the_entry_open() {
    let bench = Bench::new().await;
    let call = || Call::new(&bench.subject, Verb::Create, "CreateSubnet").applied(json!({}));
    let lost = bench.call(call(), &[ErrorClass::Throttled, ErrorClass::Unclear]).await.unwrap_err();
    assert_eq!(lost.to_string(), "the reply was lost: ec2 ModifySubnetAttribute: Unclear: no");
    assert!(matches!(lost, StepError::Unclear(_)));
    let open = bench.state().open;
    assert_eq!((open.len(), open[0].entry), (1, 2));
    let again = bench.call(call(), &[]).await.unwrap_err();
    assert!(matches!(again, StepError::State(StateError::Unresolved { entry: 2, .. })), "{again}");
}

#[tokio::test(start_paused = true)]
async fn a_call_with_a_client_token_is_made_again_with_the_same_one_when_its_reply_is_lost() {
    let bench = Bench::new().await;
    let call = || Call::new(&bench.subject, Verb::Change, "CreateNatGateway").applied(json!({})).with_token();
    assert_eq!(bench.call(call(), &[ErrorClass::Throttled, ErrorClass::Unclear, ErrorClass::Unclear]).await.unwrap(), 4);
    let tokens = bench.tokens.lock().unwrap().clone();
    // A refused call is another one; a lost one is the same.
    assert!(tokens[0] != tokens[1] && tokens[1] == tokens[2] && tokens[2] == tokens[3], "{tokens:?}");
    assert!(bench.state().open.is_empty());
}

/// What is refused the second time says nothing about the first: it has to be looked for.
#[tokio::test(start_paused = true)]
async fn a_refusal_after_a_lost_reply_leaves_the_entry_open() {
    let bench = Bench::new().await;
    let call = Call::new(&bench.subject, Verb::Change, "CreateCluster").applied(json!({})).with_token();
    let lost = bench.call(call, &[ErrorClass::Unclear, ErrorClass::AlreadyExists]).await.unwrap_err();
    assert!(matches!(lost, StepError::Unclear(_)), "{lost}");
    assert_eq!(bench.state().open.len(), 1);
    assert_eq!(bench.tokens.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_leaves_the_entry_open() {
    let bench = Bench::new().await;
    let never = |_: Permit| std::future::pending::<Result<(), CallError>>();
    let call = bench.recorder.call(bench.change(), never);
    tokio::time::timeout(Duration::from_secs(5), call).await.unwrap_err();
    assert_eq!(bench.state().open.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn stopping_begins_nothing_and_ends_pauses() {
    let bench = Bench::new().await;
    let stopper = bench.recorder.clone();
    let began = Instant::now();
    let waiting = bench.call(bench.change(), &[ErrorClass::NotYet; 1000]);
    let slow = bench.recorder.call(bench.change(), |_| async {
        sleep(Duration::from_mins(1)).await;
        Ok(())
    });
    let stop = async {
        sleep(Duration::from_secs(30)).await;
        stopper.stop();
        Instant::now()
    };
    let timed = async { (waiting.await, began.elapsed()) };
    let ((waited, ended), slow, _) = tokio::join!(timed, slow, stop);
    assert!(matches!(waited, Err(StepError::Stopped)));
    assert_eq!(ended.as_secs(), 30);
    slow.expect("a call under way is finished");
    assert!(matches!(bench.call(bench.change(), &[]).await, Err(StepError::Stopped)));
    assert!(bench.state().open.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_cannot_be_written_makes_no_call() {
    let bench = Bench::new().await;
    let Bench { session, recorder, subject, .. } = bench;
    session.close().await.unwrap();
    let make = |_: Permit| async { panic!("called without a record") };
    let error = recorder.call::<(), _, _>(Call::new(&subject, Verb::Delete, "DeleteSubnet"), make).await.unwrap_err();
    assert!(matches!(error, StepError::State(StateError::Closed { .. })));
}

/// Kinds box these futures: they must be `Send` even if what makes the call is not `Sync`.
#[test]
fn futures_can_be_sent() {
    fn sendable<T: Send>(_: &T) {}
    async fn calls(recorder: &Recorder, subject: &Subject) {
        let counter = Cell::new(0);
        let make = move |_: Permit| {
            counter.set(counter.get() + 1);
            async { Ok::<_, CallError>(1) }
        };
        let _ = recorder.call(Call::new(subject, Verb::Change, "Modify"), make).await;
        let make = |_: Permit| async { Ok::<_, CallError>(1) };
        let created = |_: &i32| Created { id: String::new(), status: json!({}) };
        let _ = recorder.create(Call::new(subject, Verb::Create, "Create"), make, created).await;
    }
    #[allow(dead_code)]
    fn check(recorder: &Recorder, subject: &Subject) {
        sendable(&calls(recorder, subject));
    }
}
