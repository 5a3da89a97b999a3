//! `fleetctl state rebuild`.

use crate::cli::arguments::Rebuild as Arguments;
use crate::cli::commands::plan::waits;
use crate::cli::confirm::Questions;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::Versioned;
use crate::cli::launch;
use crate::cli::progress::Progress;
use crate::cli::project::Project;
use crate::cli::style::{Look, Style, clean, plural};
use crate::cli::table::table;
use crate::engine::recovery::rebuild::{Choice, Found, Rebuild, RebuildReport};
use futures::future::join_all;
use serde::Serialize;

/// `-o json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rebuilt<'a> {
    instances: Vec<&'a RebuildReport>,
    /// Keys under which states that could not be read are kept.
    kept: Vec<String>,
}

/// Looks, shows, asks and writes. When one instance cannot be rebuilt, nothing is written.
pub(super) async fn run(context: &Context, arguments: &Arguments) -> Result<u8, CliError> {
    let printer = &context.printer;
    let questions = Questions::new(context, "state rebuild");
    questions.can_be_answered()?;
    let project = Project::load(&context.settings, &arguments.inputs).await?;
    let progress = Progress::new(printer);
    progress.look();
    let engine = launch::engine(context, waits(printer)).await?;
    let works = engine.work(&project.documents, &project.definitions, &project.used).await?;
    let Arguments { lineage, keep, replace, .. } = arguments;
    let choice = Choice { lineage: lineage.clone(), keep: keep.clone(), replace: replace.clone() };
    let looks = works.into_iter().map(|work| async { (work.key().to_string(), Box::pin(engine.rebuild(work, &choice)).await) });
    let looked = join_all(looks).await;
    progress.finish();
    let rebuilds = all(looked)?;
    let reports: Vec<RebuildReport> = rebuilds.iter().map(|rebuild| rebuild.report().clone()).collect();
    if !printer.is_json() {
        let texts: Vec<String> = reports.iter().map(|report| render(report, printer.style())).collect();
        printer.text(&texts.join("\n\n"));
    }
    let objects = reports.iter().map(|report| report.found.len()).sum();
    let names = reports.iter().map(|report| report.instance.to_string()).collect::<Vec<_>>().join(", ");
    questions.whether(&format!("Record {} of {names}?", plural(objects, "object"))).await?;
    let mut kept = Vec::new();
    for rebuild in rebuilds {
        let instance = rebuild.report().instance.to_string();
        kept.extend(rebuild.write().await.map_err(|error| CliError::of(instance, error))?);
    }
    if printer.is_json() {
        printer.json(&Versioned::new(Rebuilt { instances: reports.iter().collect(), kept }));
        return Ok(0);
    }
    printer.result(&format!("Recorded {} of {names}; plan shows what is left to do.", plural(objects, "object")));
    for key in kept {
        printer.result(&format!("kept aside: {key}"));
    }
    Ok(0)
}

fn all(looked: Vec<(String, Result<Rebuild, crate::engine::report::EngineError>)>) -> Result<Vec<Rebuild>, CliError> {
    let mut rebuilds = Vec::new();
    let mut errors = Vec::new();
    for (instance, result) in looked {
        match result {
            Ok(rebuild) => rebuilds.push(rebuild),
            Err(error) => errors.push(CliError::of(instance, error)),
        }
    }
    if errors.is_empty() { Ok(rebuilds) } else { Err(CliError::join(errors)) }
}

/// What was found, as a table.
fn render(report: &RebuildReport, style: Style) -> String {
    let heading = format!("{} in namespace {}: lineage {}", report.instance, report.namespace, report.lineage);
    let mut parts = vec![style.paint(Look::Bold, clean(&heading))];
    let rows = report.found.iter().map(|found| {
        let address = found.address.as_str();
        [address.to_owned(), found.kind.clone(), found.id.clone(), how(found)].map(|cell| clean(&cell))
    });
    if !report.found.is_empty() {
        parts.push(table(["ADDRESS", "KIND", "ID", "HOW IT WAS FOUND"], rows, style));
    }
    let not_taken = report.not_taken.iter().map(|one| {
        let id = if one.id.is_empty() { String::new() } else { format!(" {}", one.id) };
        clean(&format!("not recorded: {} {}{id}: {}", one.kind, one.address, one.reason))
    });
    parts.extend(not_taken);
    parts.extend(report.missing.iter().map(|address| clean(&format!("not there, the next apply makes it: {address}"))));
    parts.extend(report.set_aside.iter().map(|key| clean(&format!("cannot be read, will be kept aside: {key}"))));
    parts.join("\n")
}

fn how(found: &Found) -> String {
    if found.differs.is_empty() {
        return found.how.words().to_owned();
    }
    format!("{}; differs from the documents: {}", found.how.words(), found.differs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::recovery::rebuild::{How, NotTaken};
    use crate::graph::identity::Address;
    use crate::state::file::Phase;

    #[test]
    fn what_was_found_is_a_table_and_what_was_not_taken_is_named() {
        let found = |id: &str, how, differs: &[&str]| Found {
            address: Address(format!("EksCluster/one/vpc/{id}")),
            kind: "VPC".into(),
            account: "222222222222".into(),
            region: "us-west-2".into(),
            id: format!("vpc-{id}"),
            how,
            phase: Phase::Ready,
            differs: differs.iter().map(|path| (*path).to_owned()).collect(),
        };
        let report = RebuildReport {
            instance: Address("EksCluster/one".into()),
            namespace: "argocd".into(),
            lineage: "5f0c".into(),
            found: vec![
                found("a", How::Tags, &[]),
                found("b", How::LeftDocuments, &[]),
                found("c", How::Name, &["spec.tags[x]"]),
            ],
            not_taken: vec![NotTaken {
                address: "EksCluster/one/role".into(),
                kind: "Role".into(),
                id: "one".into(),
                reason: "it belongs to lineage 77aa".into(),
            }],
            missing: vec![Address("EksCluster/one/eks".into())],
            set_aside: Some("argocd/EksCluster.one.json".into()),
        };
        let text = render(&report, Style::new(false));
        for line in [
            "EksCluster/one in namespace argocd: lineage 5f0c",
            "EksCluster/one/vpc/b  VPC   vpc-b  by its tags; not in the documents",
            "by its name and marks; differs from the documents: spec.tags[x]",
            "not recorded: Role EksCluster/one/role one: it belongs to lineage 77aa",
            "not there, the next apply makes it: EksCluster/one/eks",
            "cannot be read, will be kept aside: argocd/EksCluster.one.json",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
