//! Destroying by a state that does not know everything.

use super::{NAME, Simulation, spoke};
use crate::aws::simulated::account::Logged;
use crate::engine::plan::Plan;
use crate::engine::report::EngineError;
use crate::engine::simulation::check::{Faulty, vanished};
use crate::engine::simulation::{DEFINITIONS, documents, key_of, used};
use crate::state::file::{Record, StateFile};
use crate::state::lock::Holder;
use crate::state::session::Session;
use std::sync::Arc;

/// A spoke of which the state knows only some.
fn forgetful(seed: u64, is_known: impl Fn(&Record) -> bool) -> Simulation {
    let mut simulation = spoke(seed);
    simulation.apply_all();
    simulation.aws.sleep(std::time::Duration::from_mins(20));
    forget(&simulation, is_known);
    simulation
}

fn forget(simulation: &Simulation, is_known: impl Fn(&Record) -> bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Arc::new(simulation.store.clone());
        let holder = Holder { pid: 1, host: "host".into(), user: "me".into(), command: "test".into() };
        let session = Session::open(store, key_of("Spoke", NAME), holder).await.unwrap();
        let mut state: StateFile = session.state();
        state.resources.retain(is_known);
        session.replace(state).await.unwrap();
        session.close().await.unwrap();
    });
}

impl Simulation {
    fn plan_of_destroy(&mut self) -> Plan {
        let key = key_of("Spoke", NAME);
        let plan = self.run(|engine| {
            Box::pin(async move { Ok::<_, EngineError>(engine.open_destroy(&key, None).await?.unwrap().plan().clone()) })
        });
        plan.unwrap().unwrap()
    }
}

/// An older version of the file was put in its place, or segments of the journal are gone.
#[test]
fn whatever_a_state_has_forgotten_goes_too() {
    let addresses: Vec<String> = {
        let mut whole = spoke(30);
        whole.apply_all();
        whole.records().into_iter().map(|record| record.address.to_string()).collect()
    };
    for forgotten in &addresses {
        let mut simulation = forgetful(30, |record| record.address.as_str() != forgotten);
        simulation.destroy_spoke();
        assert_eq!(vanished(&simulation), Ok(Faulty::default()), "{forgotten}");
    }
    for known in &addresses {
        let mut simulation = forgetful(30, |record| record.address.as_str() == known);
        simulation.destroy_spoke();
        assert_eq!(vanished(&simulation), Ok(Faulty::default()), "only {known} was known");
    }
}

#[test]
fn what_was_forgotten_is_shown_and_recorded_before_it_goes() {
    let forgotten = |record: &Record| ["Cluster", "Role", "Subnet"].contains(&record.identity.kind.as_str());
    let mut simulation = forgetful(31, |record| !forgotten(record));
    let known = simulation.records().len();
    let plan = simulation.plan_of_destroy();
    let told = plan
        .changes
        .iter()
        .filter(|change| change.reason.as_deref() == Some("it was not recorded, and bears the marks of this state"));
    let told = told.count();
    assert!(told >= 3, "{plan:?}");
    assert_eq!(simulation.records().len(), known + told);
    simulation.destroy_spoke();
    assert_eq!(vanished(&simulation), Ok(Faulty::default()));
}

/// What a state knows is not listed again: that would be a call for each role of an account.
#[test]
fn a_state_that_knows_everything_costs_a_glance() {
    let mut simulation = forgetful(32, |_| true);
    let before = simulation.aws.log().len();
    simulation.plan_of_destroy();
    let log = simulation.aws.log();
    let count = |service: &str, operation: &str| {
        log[before..]
            .iter()
            .filter(|call: &&Logged| (call.service.as_str(), call.operation.as_str()) == (service, operation))
            .count()
    };
    let listed = [("iam", "ListRoles"), ("eks", "ListAddons"), ("eks", "ListClusters"), ("eks", "DescribeCluster")];
    assert_eq!(listed.map(|(service, operation)| count(service, operation)), [0, 0, 1, 0]);
}

/// Where nothing is recorded, nobody says that all is gone.
#[test]
fn where_nothing_is_recorded_the_documents_are_needed() {
    let mut simulation = forgetful(33, |_| false);
    let plan = simulation.plan_of_destroy();
    assert!(
        plan.changes.is_empty() && plan.warnings.iter().any(|warning| warning.contains("`fleetctl destroy FILE`")),
        "{plan:?}"
    );
    let reports = simulation.destroy_all(&[key_of("Spoke", NAME)]).unwrap().unwrap();
    assert!(reports[0].status["state"].is_null(), "{:?}", reports[0].status);
    let documents = documents(&simulation.text);
    let refused = simulation.run(|engine| {
        Box::pin(async move {
            let works = engine.work(&documents, &DEFINITIONS, &used()).await?;
            engine.refuse_unrecorded(&works[0]).await
        })
    });
    let refused = refused.unwrap().unwrap_err().to_string();
    assert!(refused.contains("objects bear its marks: ") && refused.contains("vpc-"), "{refused}");
}
