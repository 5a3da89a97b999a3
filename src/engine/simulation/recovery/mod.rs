//! Recovery on the simulated AWS: states that are lost, objects that somebody made by hand, and what no state knows.

mod destroy;
mod import;
mod orphans;
mod rebuild;

use super::matrix::late;
use super::scenarios::{NAME, text};
use super::{DEFINITIONS, Simulation, documents, key_of, used};
use crate::aws::simulated::objects::Object;
use crate::engine::recovery::import::ImportReport;
use crate::engine::recovery::orphans::{OrphanReport, Place};
use crate::engine::recovery::rebuild::{Choice, RebuildReport};
use crate::engine::report::{End, EngineError};
use crate::state::file::Record;
use crate::state::memory::MemoryStore;

/// A spoke that is not there yet, on an AWS that shows everything late.
fn spoke(seed: u64) -> Simulation {
    let simulation = Simulation::new(seed, text("staging", "*", true));
    simulation.aws.misbehave(late());
    simulation
}

impl Simulation {
    /// The folder of the state is gone.
    fn lose_state(&mut self) {
        self.store = MemoryStore::new();
    }

    /// As the command does it: if one instance cannot be rebuilt, nothing is written.
    fn rebuild(&mut self, choice: &Choice) -> Option<Result<Vec<RebuildReport>, EngineError>> {
        let (documents, choice) = (documents(&self.text), choice.clone());
        self.run(|engine| {
            Box::pin(async move {
                let mut rebuilds = Vec::new();
                for work in engine.work(&documents, &DEFINITIONS, &used()).await? {
                    rebuilds.push(Box::pin(engine.rebuild(work, &choice)).await?);
                }
                let reports = rebuilds.iter().map(|rebuild| rebuild.report().clone()).collect();
                for rebuild in rebuilds {
                    rebuild.write().await?;
                }
                Ok(reports)
            })
        })
    }

    /// Imports into the first instance of the documents.
    fn import(&mut self, address: &str, id: &str) -> Option<Result<ImportReport, EngineError>> {
        self.import_as(address, id, false)
    }

    fn import_as(&mut self, address: &str, id: &str, confirmed: bool) -> Option<Result<ImportReport, EngineError>> {
        let (documents, address, id) = (documents(&self.text), address.to_owned(), id.to_owned());
        self.run(move |engine| {
            Box::pin(async move {
                let work = engine.work(&documents, &DEFINITIONS, &used()).await?.remove(0);
                let import = Box::pin(engine.import(work, &address, &id, confirmed)).await?;
                let report = import.report().clone();
                import.write().await?;
                Ok(report)
            })
        })
    }

    /// What bears marks and is in no state, and the other way round.
    fn orphans(&mut self) -> OrphanReport {
        let documents = documents(&self.text);
        let report = self.run(|engine| {
            Box::pin(async move {
                let works = engine.work(&documents, &DEFINITIONS, &used()).await?;
                let more: [Place; 0] = [];
                Box::pin(engine.orphans(&works, &more)).await
            })
        });
        report.unwrap().unwrap()
    }

    /// Applies to the end.
    fn apply_all(&mut self) {
        let reports = self.apply().unwrap().unwrap();
        assert!(
            reports.iter().all(|report| report.end == End::Done),
            "{:?}",
            reports.iter().map(super::matrix::said).collect::<Vec<_>>()
        );
    }

    fn destroy_spoke(&mut self) {
        let reports = self.destroy_all(&[key_of("Spoke", NAME)]).unwrap().unwrap();
        assert!(
            reports.iter().all(|report| report.end == End::Done),
            "{:?}",
            reports.iter().map(super::matrix::said).collect::<Vec<_>>()
        );
    }

    /// The records of the only state, or none.
    fn records(&self) -> Vec<Record> {
        self.states().into_iter().flat_map(|state| state.resources).collect()
    }

    /// The record of a resource.
    fn record(&self, name: &str) -> Record {
        let address = format!("Spoke/{NAME}/{name}");
        self.records().into_iter().find(|record| record.address.as_str() == address).unwrap()
    }

    /// Another object like the one of a record, made by whoever.
    fn copy(&self, of: &str, id: &str, change: impl FnOnce(&mut Object)) {
        self.aws.meddle(|holdings, _| {
            let mut copy = holdings.objects.iter().find(|object| object.id == of).unwrap().clone();
            id.clone_into(&mut copy.id);
            change(&mut copy);
            holdings.objects.push(copy);
        });
    }
}
