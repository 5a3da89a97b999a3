//! Random scenarios: applies, destroys, changes past fleetctl, and everything that may go wrong meanwhile. What a seed leads to
//! is the same each time, but for the jitter of pauses. One that fails prints a test that does it again.

use super::check::{compare, settled, vanished};
use super::{HUB, Simulation, WORKLOAD, apply, documents, key_of};
use crate::aws::simulated::account::Logged;
use crate::aws::simulated::faults::{Draws, Faults, Kill, When};
use crate::engine::report::{End, EngineError, RunReport};
use crate::state::error::StateError;
use chrono::TimeDelta;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

pub(super) const NAME: &str = "spoke1";
/// Scenarios in a usual run, and what else says how many: `1000`, or the seeds `600..700`.
const USUALLY: u64 = 40;
const HOW_MANY: &str = "FLEETCTL_SCENARIOS";
const STEPS: usize = 6;
const STACK: usize = 16 << 20;
/// Applies after which everything has to be done once nothing goes wrong any more: what had failed is replaced by the second,
/// which may meet what the first one removes.
const PATIENCE: usize = 4;

/// Something that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Apply,
    Destroy,
    /// Other documents.
    Document,
    /// Somebody removes something.
    Remove,
    /// Somebody changes something.
    Meddle,
    /// Two processes at once.
    Both,
    /// Somebody has EKS update the cluster.
    Busy,
    /// Hours or days pass.
    Wait,
}

/// One scenario under way.
struct Scenario {
    simulation: Simulation,
    draws: Draws,
    /// What somebody removed.
    removed: BTreeSet<String>,
    /// What happened so far.
    story: String,
}

/// A `Spoke`: one object of each kind.
pub(super) fn text(environment: &str, secrets: &str, pods: bool) -> String {
    spoke(NAME, NAME, &format!("  environment: {environment}\n  secrets: \"{secrets}\"\n  pods: {pods}\n"))
}

/// A `Spoke` whose objects bear a name of their own; `more` are further lines of its spec.
pub(super) fn spoke(instance: &str, name: &str, more: &str) -> String {
    format!(
        "apiVersion: kro.run/v1alpha1\nkind: Spoke\nmetadata:\n  name: {instance}\n  namespace: argocd\n  annotations: \
         {{services.k8s.aws/region: us-west-2}}\nspec:\n  name: {name}\n  accountId: \"{WORKLOAD}\"\n  managementAccountId: \
         \"{HUB}\"\n{more}"
    )
}

impl Scenario {
    fn new(seed: u64) -> Self {
        let simulation = Simulation::new(seed, text("staging", "*", true));
        Self { simulation, draws: Draws::new(seed), removed: BTreeSet::new(), story: String::new() }
    }

    fn run(&mut self) -> Result<(), String> {
        for _ in 0..STEPS {
            let step = self.step();
            write!(self.story, "{step:?}").unwrap();
            self.misbehave();
            self.take(step)?;
            self.story.push('\n');
            self.invariants()?;
        }
        self.conclude()
    }

    fn step(&mut self) -> Step {
        let steps = [
            Step::Apply,
            Step::Apply,
            Step::Apply,
            Step::Destroy,
            Step::Document,
            Step::Remove,
            Step::Meddle,
            Step::Both,
            Step::Busy,
            Step::Wait,
        ];
        steps[self.draws.below("step", steps.len())]
    }

    /// What goes wrong with the next process.
    fn misbehave(&mut self) {
        let draws = &mut self.draws;
        let at = 1 + draws.below("kill at", 60);
        let when = if draws.next("kill when") < 0.5 { When::Before } else { When::After };
        let kill = (draws.next("kill") < 0.5).then_some(Kill { at, when });
        let some = |is: bool, part: f64| if is { part } else { 0.0 };
        let faults = Faults {
            throttled: some(draws.next("throttles") < 0.4, 0.08),
            lost: some(draws.next("losses") < 0.4, 0.03),
            lag: Duration::from_secs(6),
            propagation: Duration::from_secs(8),
            lingers: Duration::from_secs(6),
            kill,
            lost_call: None,
        };
        // The machine's clock is not the cloud's, and is set now and then.
        let seconds = if draws.next("clock") < 0.3 { i64::try_from(draws.below("jump", 240)).unwrap() - 120 } else { 0 };
        self.simulation.skew = TimeDelta::seconds(seconds);
        let expires = (draws.next("sessions") < 0.15).then(|| 10 + draws.below("expire at", 120));
        self.simulation.aws.expire_sessions_at(expires);
        // The caller's own were renewed meanwhile, and may end again.
        let caller = (draws.next("caller") < 0.1).then(|| 1 + draws.below("caller ends at", 160));
        self.simulation.renew_caller();
        self.simulation.aws.expire_caller_at(caller);
        write!(self.story, " {faults:?} skew {seconds} s, sessions end at {expires:?}, the caller's at {caller:?}:").unwrap();
        self.simulation.aws.misbehave(faults);
    }

    fn take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Apply => {
                let ended = self.simulation.apply();
                self.tell(ended.as_ref());
            }
            Step::Destroy => {
                let ended = self.destroy();
                self.tell(ended.as_ref());
            }
            Step::Document => {
                let environment = ["staging", "production"][self.draws.below("environment", 2)];
                let secrets = ["*", "shared"][self.draws.below("secrets", 2)];
                self.simulation.text = text(environment, secrets, self.draws.next("pods") < 0.5);
            }
            Step::Remove => self.remove(),
            Step::Meddle => self.meddle(),
            Step::Both => self.both()?,
            Step::Busy => self.busy(),
            Step::Wait => {
                let minutes = self.draws.below("minutes", 3000);
                self.simulation.aws.sleep(Duration::from_mins(u64::try_from(minutes).unwrap()));
            }
        }
        Ok(())
    }

    fn destroy(&mut self) -> Option<Result<Vec<RunReport>, EngineError>> {
        self.simulation.destroy_all(&[key_of("Spoke", NAME)])
    }

    fn tell(&mut self, ended: Option<&Result<Vec<RunReport>, EngineError>>) {
        let said = match ended {
            None => "died".to_owned(),
            Some(Ok(reports)) => {
                let one = |report: &RunReport| {
                    let reasons: Vec<String> =
                        report.failed.iter().map(|failure| format!("{}: {}", failure.address, failure.reason)).collect();
                    format!("{:?} {reasons:?}", report.end)
                };
                reports.iter().map(one).collect::<Vec<_>>().join("; ")
            }
            Some(Err(error)) => format!("{error}"),
        };
        write!(self.story, " {said}").unwrap();
    }

    /// The second process is told who is at work, and changes nothing.
    fn both(&mut self) -> Result<(), String> {
        let documents = documents(&self.simulation.text);
        let other = self.simulation.engine();
        let outcome = self.simulation.run(|engine| {
            Box::pin(async move {
                let works = engine.work(&documents, &super::DEFINITIONS, &super::used()).await?;
                let opened = engine.open_apply(works.into_iter().next().unwrap(), super::Scope::Everything).await?;
                let second = apply(&other, &documents).await.map(|_| ());
                let report = opened.run(&[], &super::Stop::default()).await;
                Ok::<_, EngineError>((second, report))
            })
        });
        match outcome {
            Some(Ok((Ok(()), _))) => Err("two processes were at it at once".to_owned()),
            Some(Ok((Err(EngineError::State(StateError::Locked { .. })), report))) => {
                self.tell(Some(&report.map(|report| vec![report])));
                Ok(())
            }
            Some(Ok((Err(error), _))) => {
                write!(self.story, " the second: {error}").unwrap();
                Ok(())
            }
            Some(Err(error)) => {
                self.tell(Some(&Err(error)));
                Ok(())
            }
            None => {
                self.tell(None);
                Ok(())
            }
        }
    }

    /// Something that nothing else stands on goes.
    fn remove(&mut self) {
        let kinds = ["addon", "entry", "association", "natgateway", "role", "registration", "cluster"];
        let kind = kinds[self.draws.below("removed", kinds.len())];
        if kind == "registration" {
            let gone = std::mem::take(&mut self.simulation.argocd.lock().unwrap().clusters);
            self.removed.extend(gone.iter().filter_map(|cluster| Some(cluster["server"].as_str()?.to_owned())));
            return;
        }
        let gone = self.simulation.aws.meddle(|holdings, now| {
            let fits = |object: &&mut crate::aws::simulated::objects::Object| {
                object.kind == kind
                    && object.is_there(now)
                    && object.deleted.is_none()
                    && !object.implicit
                    && (kind != "role" || object.id.ends_with("-pods"))
            };
            let object = holdings.objects.iter_mut().find(fits)?;
            object.deleted = Some(now);
            object.gone = Some(match kind {
                "natgateway" => now + TimeDelta::hours(1),
                "cluster" => now + TimeDelta::minutes(2),
                _ => now,
            });
            let mut gone = vec![object.id.clone()];
            // A cluster takes along what lives in it.
            let within = format!("{}|", gone[0]);
            gone.extend(holdings.objects.iter().filter(|one| one.id.starts_with(&within)).map(|one| one.id.clone()));
            Some(gone)
        });
        write!(self.story, " {gone:?}").unwrap();
        self.removed.extend(gone.into_iter().flatten());
    }

    /// For some minutes EKS refuses to change the cluster and what lives in it.
    fn busy(&mut self) {
        let minutes = 1 + self.draws.below("busy", 8);
        self.simulation.aws.meddle(|holdings, now| {
            let clusters = holdings.objects.iter_mut().filter(|object| object.kind == "cluster" && object.is_there(now));
            clusters.for_each(|cluster| cluster.busy = Some(now + TimeDelta::minutes(i64::try_from(minutes).unwrap())));
        });
    }

    /// Somebody changes what fleetctl has made.
    fn meddle(&mut self) {
        let which = self.draws.below("meddled", 5);
        self.simulation.aws.meddle(|holdings, now| {
            for object in holdings.objects.iter_mut().filter(|object| object.is_there(now) && !object.implicit) {
                match (which, object.kind) {
                    (0, "role") => object.body["attached"] = json!(["arn:aws:iam::aws:policy/ReadOnlyAccess"]),
                    (1, "entry") => object.body["policies"] = json!([]),
                    (2, "vpc") => object.body["attributes"]["EnableDnsHostnames"] = json!(false),
                    (3, "route-table") => object.body["routeSet"].as_array_mut().unwrap().truncate(1),
                    (4, "subnet" | "cluster") => {
                        let mut tags = object.tags();
                        tags.insert("somebody".to_owned(), "else".to_owned());
                        object.set_tags(tags);
                    }
                    _ => {}
                }
            }
        });
    }

    /// Whatever happened: every record's object is there or is known to be gone, what is there is explained, nothing is there
    /// twice.
    fn invariants(&self) -> Result<(), String> {
        let mut faulty = compare(&self.simulation);
        faulty.phantoms.retain(|phantom| !self.removed.iter().any(|id| phantom.starts_with(id.as_str())));
        if faulty.is_none() { Ok(()) } else { Err(format!("{faulty:?}")) }
    }

    /// Once nothing goes wrong any more, an apply leads to what is wanted, and a destroy to nothing.
    fn conclude(&mut self) -> Result<(), String> {
        self.simulation.skew = TimeDelta::zero();
        self.simulation.aws.expire_sessions_at(None);
        self.simulation.aws.expire_caller_at(None);
        self.simulation.renew_caller();
        self.simulation.aws.misbehave(Faults {
            lag: Duration::from_secs(3),
            lingers: Duration::from_secs(3),
            ..Faults::default()
        });
        self.simulation.aws.sleep(Duration::from_mins(2));
        self.until_done("apply", Simulation::apply)?;
        let faulty = settled(&mut self.simulation)?;
        if !faulty.is_none() {
            return Err(format!("{faulty:?}"));
        }
        self.until_done("destroy", |simulation| simulation.destroy_all(&[key_of("Spoke", NAME)]))?;
        let faulty = vanished(&self.simulation)?;
        if faulty.is_none() { Ok(()) } else { Err(format!("{faulty:?}")) }
    }

    fn last_calls(&self) -> String {
        let log = self.simulation.aws.log();
        let one = |call: &Logged| format!("{} {}: {:?}", call.service, call.operation, call.fate);
        log[log.len().saturating_sub(20)..].iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn until_done(
        &mut self,
        what: &str,
        step: impl Fn(&mut Simulation) -> Option<Result<Vec<RunReport>, EngineError>>,
    ) -> Result<(), String> {
        for _ in 0..PATIENCE {
            write!(self.story, "at last {what}:").unwrap();
            let ended = step(&mut self.simulation);
            self.tell(ended.as_ref());
            self.story.push('\n');
            if let Some(Ok(reports)) = &ended
                && reports.iter().all(|report| report.end == End::Done)
            {
                return Ok(());
            }
        }
        Err(format!("{what} never gets done"))
    }
}

/// Runs a scenario again.
fn replay(seed: u64) {
    if let Err(wrong) = scenario(seed) {
        panic!("{wrong}");
    }
}

fn scenario(seed: u64) -> Result<(), String> {
    let mut scenario = Scenario::new(seed);
    scenario.run().map_err(|wrong| {
        let again = format!("#[test]\nfn scenario_{seed}() {{\n    replay({seed});\n}}");
        format!("seed {seed}: {wrong}\n{}\nThe last calls: {}\nAgain:\n{again}\n", scenario.story, scenario.last_calls())
    })
}

#[test]
#[expect(clippy::print_stdout, reason = "how many there were is what people want to see")]
fn whatever_happens_nothing_is_lost_left_or_there_twice() {
    let chosen = std::env::var(HOW_MANY).unwrap_or_else(|_| USUALLY.to_string());
    let (first, last) = chosen.split_once("..").unwrap_or(("0", &chosen));
    let seeds = first.parse::<u64>().unwrap()..last.parse().unwrap();
    let count = seeds.end - seeds.start;
    let (next, wrong) = (Mutex::new(seeds), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            // Futures of unoptimized builds are large.
            let thread = std::thread::Builder::new().stack_size(STACK);
            let work = || {
                loop {
                    let Some(seed) = next.lock().unwrap().next() else { break };
                    if std::env::var_os(HOW_MANY).is_some() {
                        println!("seed {seed}");
                    }
                    let ended = scenario(seed);
                    wrong.lock().unwrap().extend(ended.err());
                }
            };
            thread.spawn_scoped(scope, work).unwrap();
        }
    });
    let wrong = wrong.into_inner().unwrap();
    println!("{count} scenarios, {} of them went wrong", wrong.len());
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The clock of the second process is ahead: what the first one made seems older than it is.
#[test]
fn scenario_0() {
    replay(0);
}

/// The connection breaks while a role is assumed.
#[test]
fn scenario_641() {
    replay(641);
}

/// A cluster is made anew by a run that fails before its registration is replaced.
#[test]
fn scenario_1545() {
    replay(1545);
}
