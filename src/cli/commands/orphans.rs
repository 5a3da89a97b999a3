//! `fleetctl orphans`.

use super::plan::waits;
use crate::cli::arguments::{Inputs, Orphans};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::Versioned;
use crate::cli::launch;
use crate::cli::progress::Progress;
use crate::cli::project::Project;
use crate::cli::style::{Look, Style, clean, plural};
use crate::cli::table::table;
use crate::engine::recovery::orphans::{OrphanReport, Orphaned, Place};
use std::collections::BTreeMap;

/// Looks and shows.
pub(super) async fn run(context: &Context, arguments: &Orphans) -> Result<u8, CliError> {
    let printer = &context.printer;
    let places = places(arguments, context.settings.region.value.as_deref())?;
    let inputs = Inputs { files: arguments.files.clone(), file: arguments.file.clone() };
    let project = if inputs.all().is_empty() { None } else { Some(Project::load(&context.settings, &inputs).await?) };
    let progress = Progress::new(printer);
    progress.look();
    let engine = launch::engine(context, waits(printer)).await?;
    let works = match &project {
        Some(project) => engine.work(&project.documents, &project.definitions, &project.used).await?,
        None => Vec::new(),
    };
    let report = Box::pin(engine.orphans(&works, &places)).await?;
    progress.finish();
    if printer.is_json() {
        printer.json(&Versioned::new(&report));
    } else {
        printer.result(&render(&report, printer.style()));
    }
    Ok(report.exit_code())
}

/// Every account with every region that is named.
fn places(arguments: &Orphans, region: Option<&str>) -> Result<Vec<Place>, CliError> {
    let mut regions = arguments.region.clone();
    if regions.is_empty() {
        regions.extend(region.map(str::to_owned));
    }
    if !arguments.account.is_empty() && regions.is_empty() {
        return Err(CliError::Usage("--account needs --region where AWS_REGION is not set".to_owned()));
    }
    let of_account = |account: &String| {
        let place = |region: &String| Place { account: account.clone(), region: region.clone() };
        regions.iter().map(place).collect::<Vec<_>>()
    };
    Ok(arguments.account.iter().flat_map(of_account).collect())
}

/// What was found, by instance and lineage.
fn render(report: &OrphanReport, style: Style) -> String {
    let mut groups: BTreeMap<(&str, &str), Vec<&Orphaned>> = BTreeMap::new();
    for orphan in &report.orphans {
        groups.entry((&orphan.instance, &orphan.lineage)).or_default().push(orphan);
    }
    let mut parts: Vec<String> =
        groups.iter().map(|((instance, lineage), orphans)| group(instance, lineage, orphans, style)).collect();
    let unread = report.unreadable.iter().map(|one| {
        let place = if one.account.is_empty() { String::new() } else { format!("{} {}: ", one.account, one.region) };
        style.paint(Look::Yellow, clean(&format!("not read: {place}{}", one.reason)))
    });
    let unread: Vec<String> = unread.collect();
    parts.extend((!unread.is_empty()).then(|| unread.join("\n")));
    let looked = format!("{} and {} compared", plural(report.states, "state"), plural(report.places, "place"));
    parts.push(match report.orphans.len() {
        0 if report.places == 0 => {
            "Nothing was looked into: no state here records anything. Name documents, or --account and --region.".to_owned()
        }
        0 => format!("No orphans: {looked}."),
        count => format!("{}: {looked}. Nothing was changed.", plural(count, "orphan")),
    });
    parts.join("\n\n")
}

fn group(instance: &str, lineage: &str, orphans: &[&Orphaned], style: Style) -> String {
    let instance = if instance.is_empty() { "no instance" } else { instance };
    let known = if orphans.iter().any(|orphan| orphan.lineage_known) { "a state here has it" } else { "no state here has it" };
    let lineage = if lineage.is_empty() { "no lineage".to_owned() } else { format!("lineage {lineage} ({known})") };
    let rows = orphans.iter().map(|orphan| {
        let place = format!("{} {}", orphan.account, orphan.region);
        let address = orphan.address.clone();
        [address, orphan.kind.clone(), orphan.id.clone(), place, orphan.why.words().to_owned()].map(|cell| clean(&cell))
    });
    let mut lines = vec![style.paint(Look::Bold, clean(&format!("{instance}: {lineage}")))];
    lines.push(table(["ADDRESS", "KIND", "ID", "WHERE", "WHY"], rows, style));
    lines.extend(orphans.iter().map(|orphan| clean(&format!("{}: {}", orphan.id, orphan.way_out))));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::recovery::orphans::Why;

    #[test]
    fn orphans_are_grouped_and_come_with_a_way_out() {
        let orphan = |id: &str, why| Orphaned {
            instance: "argocd/EksCluster/one".into(),
            lineage: "5f0c".into(),
            lineage_known: why != Why::NoState,
            address: "EksCluster/one/vpc/vpc".into(),
            kind: "VPC".into(),
            id: id.into(),
            account: "222222222222".into(),
            region: "us-west-2".into(),
            why,
            recorded_id: (why == Why::Duplicate).then(|| "vpc-1".to_owned()),
            way_out: "remove it".into(),
        };
        let mut report = OrphanReport { states: 2, places: 1, ..OrphanReport::default() };
        let none = render(&report, Style::new(false));
        assert_eq!(none, "No orphans: 2 states and 1 place compared.");
        assert_eq!(report.exit_code(), 0);
        let nowhere = render(&OrphanReport { states: 1, ..OrphanReport::default() }, Style::new(false));
        assert!(nowhere.starts_with("Nothing was looked into"), "{nowhere}");
        report.orphans = vec![orphan("vpc-2", Why::Duplicate), orphan("vpc-3", Why::Gone)];
        assert_eq!(report.exit_code(), 2);
        let text = render(&report, Style::new(false));
        assert!(text.contains("vpc-2: remove it") && text.contains("lineage 5f0c (a state here has it)"), "{text}");
    }
}
