//! Runs of a small graph with a kind that makes its objects out of nothing.

use super::*;
use crate::aws::error::{CallError, ErrorClass};
use crate::aws::simulated::silent_cloud;
use crate::aws::tags::Tags;
use crate::engine::clock::WallClock;
use crate::engine::events::Events;
use crate::engine::outlook::Outlook;
use crate::engine::planner::tests::{Scene, marks, record};
use crate::engine::stop::Stop;
use crate::graph::catalog::{ImpossibleValue, KindDescription};
use crate::kinds::catalog::KindCatalog;
use crate::kinds::kind::{Cloud, FieldChange, GoesWith, Kind, Observed, Readers, Readiness, StepError, Subject, Typical};
use crate::kinds::recorder::{Call, Created, Options, Recorder};
use crate::state::file::{InstanceKey, Phase, Record, Verb};
use crate::state::memory::{MemoryStore, Trouble as StoreTrouble};
use crate::state::session::{Holder, Session};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

static CATALOG: KindCatalog = KindCatalog;

/// A kind whose objects are there when they are made and ready after a while.
#[derive(Default)]
struct Fake {
    /// Objects by name, with the time when they are ready.
    objects: Mutex<BTreeMap<String, (Tags, Instant)>>,
    /// Names of objects that take so long to be ready.
    slow: BTreeMap<&'static str, Duration>,
    /// Names of objects whose making panics.
    panics: BTreeSet<&'static str>,
    /// Names of objects whose making is carried out, but without an answer.
    lost: BTreeSet<&'static str>,
    /// `status.state` of everything.
    state: &'static str,
    /// What its objects go with.
    goes_with: Option<GoesWith>,
    /// How often something was read.
    reads: Mutex<usize>,
}

impl Fake {
    fn observed(&self, name: &str, spec: &Value) -> Option<Observed> {
        let (tags, ready) = self.objects.lock().unwrap().get(name)?.clone();
        let is_ready = ready <= Instant::now();
        Some(Observed {
            id: name.to_owned(),
            spec: spec["spec"].clone(),
            status: json!({"vpcID": name, "subnetID": name, "state": self.state}),
            tags,
            readiness: if is_ready { Readiness::Ready } else { Readiness::Waiting("pending".into()) },
        })
    }

    fn put(&self, name: &str, lineage: &str) {
        let ready = Instant::now() + self.slow.get(name).copied().unwrap_or_default();
        self.objects.lock().unwrap().insert(name.to_owned(), (marks(lineage).tags(), ready));
    }

    fn names(&self) -> Vec<String> {
        self.objects.lock().unwrap().keys().cloned().collect()
    }
}

fn lost_reply() -> CallError {
    CallError {
        service: "fake",
        operation: "CreateFake",
        class: ErrorClass::Unclear,
        code: "ConnectionLost".into(),
        message: String::new(),
        request_id: None,
    }
}

impl Kind for Fake {
    fn description(&self) -> &KindDescription {
        crate::kinds::catalog::kind("ec2.services.k8s.aws/v1alpha1", "VPC").unwrap().description()
    }

    fn impossible_values(&self, _: &Value) -> Vec<ImpossibleValue> {
        Vec::new()
    }

    fn typical(&self) -> Typical {
        Typical { create: Duration::from_secs(1), delete: Duration::from_secs(1), limit: Duration::from_mins(1) }
    }

    fn compare(&self, _: &Subject, _: &Value, _: &Observed, _: Option<&Value>) -> Vec<FieldChange> {
        Vec::new()
    }

    fn find<'a>(
        &'a self,
        _: &'a Readers,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        Box::pin(async { Ok(self.observed(&subject.identity.name, desired)) })
    }

    fn read<'a>(
        &'a self,
        _: &'a Readers,
        _: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        *self.reads.lock().unwrap() += 1;
        Box::pin(async { Ok(self.observed(&record.id, &record.applied)) })
    }

    fn create<'a>(
        &'a self,
        _: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<(Record, Observed), StepError>> {
        let name = subject.identity.name.as_str();
        Box::pin(async move {
            let make = |_permit| async move {
                assert!(!self.panics.contains(name), "as the test wants it");
                self.put(name, "ours");
                if self.lost.contains(name) { Err(lost_reply()) } else { Ok(()) }
            };
            let created = |(): &()| Created { id: name.to_owned(), status: json!({}) };
            let call = Call::new(subject, Verb::Create, "CreateFake").applied(desired.clone());
            let ((), record) = recorder.create(call, make, created).await?;
            Ok((record, self.observed(name, desired).unwrap()))
        })
    }

    fn configure<'a>(
        &'a self,
        _: &'a Cloud,
        _: &'a Recorder,
        _: &'a Subject,
        _: &'a Value,
        _: &'a Observed,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(async { Ok(()) })
    }

    fn delete<'a>(
        &'a self,
        _: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(async {
            let make = |_permit| async {
                self.objects.lock().unwrap().remove(&record.id);
                Ok(())
            };
            recorder.delete(Call::new(subject, Verb::Delete, "DeleteFake").id(&record.id), make).await
        })
    }

    fn goes_with(&self) -> Option<GoesWith> {
        self.goes_with
    }
}

/// Replaces what a test names, whatever the planner says.
fn replacing(mut planned: Planned, replaced: &[&str]) -> Planned {
    for change in &mut planned.plan.changes {
        if replaced.iter().any(|name| change.address.as_str().ends_with(name)) {
            change.action = Action::Replace;
        }
    }
    planned
}

/// A run and what it is made in.
struct Bench {
    scene: Scene,
    fake: &'static Fake,
    session: Session,
    store: MemoryStore,
    stop: Stop,
    doomed: Vec<Record>,
    replaced: &'static [&'static str],
    events: Events,
}

impl Bench {
    async fn new(scene: Scene, fake: Fake) -> Self {
        let instance = InstanceKey {
            api_version: "kro.run/v1alpha1".into(),
            kind: "Network".into(),
            namespace: "argocd".into(),
            name: "one".into(),
        };
        let holder = Holder { pid: 1, host: String::new(), user: String::new(), command: String::new() };
        let store = MemoryStore::new();
        let session = Session::open(Arc::new(store.clone()), instance, holder).await.unwrap();
        let (fake, stop, events) = (Box::leak(Box::new(fake)), Stop::default(), Events::nowhere());
        Self { scene, fake, session, store, stop, doomed: Vec::new(), replaced: &[], events }
    }

    /// Something that left the graph, and whose it is now.
    async fn orphan(mut self, name: &str, lineage: &str, adopted: bool) -> Self {
        let subject = self.scene.seen("subnet").subject.clone();
        let mut record = Record { adopted, ..record(&subject, name, Phase::Ready) };
        record.identity.name = name.into();
        record.address = crate::graph::identity::Address(format!("Network/one/{name}"));
        self.fake.put(name, lineage);
        self.session.journal().put(record.clone()).await.unwrap();
        self.doomed.push(record);
        self
    }

    async fn run(&self) -> RunReport {
        let cloud = silent_cloud().await;
        let journal = self.session.journal();
        let context = Context {
            former: None,
            recorder: Recorder::new(journal.clone(), Options::default(), Arc::new(|_| ())),
            journal,
            events: self.events.clone(),
            stop: self.stop.clone(),
            window: Duration::ZERO,
            wall: WallClock::default(),
            clock: Instant::now(),
            durations: Arc::default(),
            outlook: Outlook::of(Address::root("Network", "one")),
        };
        let item = |subject: Subject| Item { kind: self.fake, subject, cloud: cloud.clone() };
        let part = |(index, seen): (&NodeIndex, &crate::engine::planner::Seen)| {
            let (record, observed) = (seen.record.clone(), seen.observed.clone());
            (*index, Part { item: item(seen.subject.clone()), record, observed, unreachable: None })
        };
        let parts = self.scene.seen.iter().map(part).collect();
        let doomed = self.doomed.iter().map(|record| {
            let subject = self.scene.seen.values().next().unwrap().subject.clone();
            let subject = Subject { identity: record.identity.clone(), address: record.address.clone(), ..subject };
            Doomed { item: item(subject), record: record.clone(), unreachable: None }
        });
        let planned = replacing(self.scene.plan(), self.replaced);
        Run::new(&self.scene.work, &CATALOG, context, 2, planned, parts).carry_out(doomed.collect()).await
    }

    fn recorded(&self) -> Vec<String> {
        self.session.state().resources.iter().map(|record| format!("{} {:?}", record.identity.name, record.phase)).collect()
    }
}

/// A report in lines.
fn lines(report: &RunReport) -> Vec<String> {
    let short = |address: &crate::graph::identity::Address| address.as_str().replace("Network/one/", "");
    let mut lines = vec![format!("{:?}", report.end)];
    lines.extend(report.done.iter().map(|done| format!("{:?} {}", done.action, short(&done.address))));
    lines.extend(report.failed.iter().map(|failed| format!("failed {}: {}", short(&failed.address), failed.reason)));
    lines.extend(report.not_reached.iter().map(|other| format!("not reached {}: {}", short(&other.address), other.reason)));
    lines
}

fn available() -> Fake {
    Fake { state: "available", ..Fake::default() }
}

fn new_scene() -> Scene {
    Scene::new("").without_registration()
}

#[tokio::test(start_paused = true)]
async fn everything_is_made_and_recorded_as_ready() {
    let bench = Bench::new(new_scene(), available()).await;
    assert_eq!(lines(&bench.run().await), ["Done", "Create vpc", "Create subnet", "Create role"]);
    assert_eq!(bench.recorded(), ["main Ready", "subnet Ready", "role Ready"]);
    assert!(bench.session.state().open.is_empty());
    assert_eq!(*bench.fake.reads.lock().unwrap(), 0, "the replies said that they are ready");
}

/// What a run says of how far it is: done, failed, objects, what it waits for, seconds left.
async fn outlook(mut bench: Bench) -> Vec<String> {
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    bench.events = Events::to(move |event| {
        if let Event::Progress { objects, done, failed, seconds_left, waits_for, .. } = event {
            let on = waits_for.map(|address| address.to_string()).unwrap_or_default().replace("Network/one/", "");
            heard.lock().unwrap().push(format!("{done}+{failed} of {objects}, {on} {seconds_left:.1}"));
        }
    });
    Box::pin(bench.run()).await;
    said.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn how_far_it_is_and_when_it_ends_is_said_whenever_it_changes() {
    // The VPC has to be ready before the others begin: two calls and two waits of a second.
    let all_well = outlook(Bench::new(new_scene(), available()).await).await;
    assert_eq!(all_well.first().unwrap(), "0+0 of 3, vpc 2.4");
    assert_eq!(all_well.last().unwrap(), "3+0 of 3,  0.0");
    // What cannot come any more is not waited for.
    let failing = outlook(Bench::new(new_scene(), Fake { panics: BTreeSet::from(["main"]), ..available() }).await).await;
    assert_eq!(failing.last().unwrap(), "0+1 of 3,  0.0");
    // What left the graph counts, and its removal comes last.
    let removing = outlook(Bench::new(new_scene(), available()).await.orphan("old", "ours", false).await).await;
    assert_eq!(removing.first().unwrap(), "0+0 of 4, vpc 3.4");
    assert_eq!(removing.last().unwrap(), "4+0 of 4,  0.0");
}

#[tokio::test(start_paused = true)]
async fn what_is_left_out_in_the_end_is_no_failure() {
    let bench = Bench::new(new_scene(), Fake { state: "otherwise", ..Fake::default() }).await;
    assert_eq!(lines(&bench.run().await), ["Done", "Create vpc", "Create subnet"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_panics_fails_its_object_and_what_needs_it() {
    let bench = Bench::new(new_scene(), Fake { panics: BTreeSet::from(["subnet"]), ..available() }).await;
    let expected = [
        "Failed",
        "Create vpc",
        "Create role",
        "failed subnet: the step broke off, which is a bug in fleetctl: please report it",
    ];
    assert_eq!(lines(&bench.run().await), expected);
    assert_eq!(bench.session.state().open.len(), 1, "nobody knows what came of the call");
    let bench = Bench::new(new_scene(), Fake { panics: BTreeSet::from(["main"]), ..available() }).await;
    let report = lines(&bench.run().await);
    assert_eq!(report[2..], ["not reached subnet: Network/one/vpc failed", "not reached role: Network/one/vpc failed"]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_was_lost_is_looked_for() {
    let bench = Bench::new(new_scene(), Fake { lost: BTreeSet::from(["main"]), ..available() }).await;
    assert_eq!(lines(&bench.run().await), ["Done", "Create vpc", "Create subnet", "Create role"]);
    assert!(bench.session.state().open.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_the_object_is_ready_and_is_remembered() {
    let slow = BTreeMap::from([("main", Duration::from_secs(40))]);
    let bench = Bench::new(new_scene(), Fake { slow, ..available() }).await;
    assert_eq!(bench.run().await.end, End::Done);
    let durations = bench.session.state().durations;
    assert!((40.0..45.0).contains(&durations["VPC.create"]), "{durations:?}");
    let reads = *bench.fake.reads.lock().unwrap();
    assert!((15..60).contains(&reads), "{reads}");
    assert!(!durations.contains_key("Subnet.create"), "{durations:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_goes_on_for_too_long_fails_and_is_taken_up_again() {
    let slow = BTreeMap::from([("subnet", Duration::from_mins(10))]);
    let bench = Bench::new(new_scene(), Fake { slow, ..available() }).await.orphan("old", "ours", false).await;
    let expected = [
        "Failed",
        "Create vpc",
        "Create role",
        "failed subnet: still pending after 1 minutes; apply again goes on waiting",
        "not reached old: it goes when everything else is done, and that is not",
    ];
    assert_eq!(lines(&bench.run().await), expected);
    assert!(bench.recorded().contains(&"subnet Configured".to_owned()), "{:?}", bench.recorded());
}

#[tokio::test(start_paused = true)]
async fn what_left_the_graph_is_removed_when_all_else_is_done() {
    let bench = Bench::new(Scene::finished(""), available()).await.orphan("old", "ours", false).await;
    assert_eq!(lines(&bench.run().await), ["Done", "Delete old"]);
    assert!(bench.fake.names().is_empty());
    assert!(bench.recorded().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_replaced_takes_along_what_goes_with_it() {
    let goes_with = Some(GoesWith { kind: "VPC", path: "spec.vpcName" });
    let mut scene = Scene::finished("");
    scene.seen("vpc").record.as_mut().unwrap().applied = json!({"spec": {"name": "main"}});
    scene.seen("subnet").record.as_mut().unwrap().applied = json!({"spec": {"vpcName": "main"}});
    let bench = Bench { replaced: &["/vpc", "/subnet"], ..Bench::new(scene, Fake { goes_with, ..available() }).await };
    for id in ["vpc-1", "subnet-1", "role"] {
        bench.fake.put(id, "ours");
    }
    assert_eq!(lines(&bench.run().await), ["Done", "Replace vpc", "Replace subnet"]);
    assert_eq!(bench.fake.names(), ["main", "role", "subnet", "subnet-1"], "nobody removed subnet-1 by itself");
    assert_eq!(bench.recorded(), ["main Ready", "subnet Ready"]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_run_does_not_end_as_done() {
    let bench = Bench::new(Scene::finished(""), available()).await.orphan("old", "ours", false).await;
    bench.stop.request();
    assert_eq!(lines(&bench.run().await), ["Interrupted", "not reached old: the run was interrupted"]);
    assert_eq!(bench.fake.names(), ["old"]);
    let bench = Bench::new(new_scene(), available()).await;
    bench.stop.request();
    let report = bench.run().await;
    assert_eq!((report.end, report.not_reached.len()), (End::Interrupted, 3));
}

#[tokio::test(start_paused = true)]
async fn what_belongs_to_others_by_now_is_not_deleted() {
    for (lineage, adopted) in [("theirs", false), ("theirs", true)] {
        let bench = Bench::new(Scene::finished(""), available()).await.orphan("old", lineage, adopted).await;
        let report = lines(&bench.run().await);
        assert_eq!(report, ["Failed", "failed old: old now belongs to argocd/Network/one, lineage theirs: it is not deleted"]);
        assert_eq!(bench.fake.names(), ["old"]);
    }
}

/// The disk fails after each write: what is under way ends, nothing else is called, and what no file holds is in the report.
#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_written_starts_nothing_and_reports_what_no_file_holds() {
    let mut unsaved = 0;
    for writes in 0..20 {
        let slow = BTreeMap::from([("subnet", Duration::from_secs(40))]);
        let bench = Bench::new(new_scene(), Fake { slow, ..available() }).await.orphan("old", "ours", false).await;
        bench.store.trouble(StoreTrouble { failing: Some((writes, std::io::ErrorKind::StorageFull)), ..StoreTrouble::default() });
        let mut report = bench.run().await;
        let open = bench.session.state().open.len();
        let made = bench.fake.names();
        let (store, instance) = (bench.store.clone(), bench.session.state().instance);
        let closed = bench.session.close().await;
        if report.end == End::Done {
            assert!(writes > 8, "{writes}");
            break;
        }
        let said = lines(&report).join("\n");
        let unwritten = "the journal of Network/one in namespace argocd cannot be written";
        assert!(said.starts_with("Failed") && said.contains(unwritten), "{said}");
        if !said.contains("failed old: ") {
            assert!(said.contains("not reached old: the state could not be written any more"), "{said}");
            assert!(made.contains(&"old".to_owned()), "nothing is deleted then");
        }
        let error = closed.unwrap_err();
        report.not_closed(&error);
        let lines = &report.circumstances.unsaved;
        unsaved += lines.len();
        assert!(open >= lines.iter().filter(|line| line.contains("\"type\":\"end\"")).count());

        // With room on the disk again: each object that was made is known, or looked for because its call is open.
        store.trouble(StoreTrouble::default());
        let holder = Holder { pid: 1, host: String::new(), user: String::new(), command: String::new() };
        let session = Session::open(Arc::new(store), instance, holder).await.unwrap();
        let entries = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let state = session.take_back(entries).await.unwrap();
        let known = |name: &String| state.resources.iter().any(|record| record.identity.name == *name);
        assert!(made.iter().all(known), "{made:?} {:?}", state.resources);
        assert!(state.open.iter().all(|begin| !made.contains(&begin.identity.name)), "{:?}", state.open);
    }
    assert!(unsaved > 3, "{unsaved}");
}

#[test]
fn interrupted_beats_failed_beats_incomplete() {
    let address = crate::graph::identity::Address("a".into());
    let failed = [Failure::new(address.clone(), String::new(), String::new())];
    let left = [NotReached { address, kind: String::new(), reason: String::new(), because: None }];
    assert_eq!(end(&failed, &left, true), End::Interrupted);
    assert_eq!(end(&failed, &left, false), End::Failed);
    assert_eq!(end(&failed, &[], true), End::Failed);
    assert_eq!(end(&[], &left, true), End::Interrupted);
    assert_eq!(end(&[], &left, false), End::Incomplete);
    assert_eq!(end(&[], &[], true), End::Done);
}
