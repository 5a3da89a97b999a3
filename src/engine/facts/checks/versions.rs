//! Kubernetes versions and versions of add-ons.

use super::{Facts, refused, warning};
use crate::aws::facts::ClusterVersion;
use crate::engine::facts::Stage;
use crate::engine::facts::question::{Answer, Question};
use crate::engine::facts::wants::{Addon, Cluster};
use crate::engine::finding::Finding;
use chrono::{NaiveDate, TimeDelta};

/// Support that ends within so many days ends soon.
const SOON: TimeDelta = TimeDelta::days(60);
/// So many versions of an add-on are named.
const NAMED: usize = 8;

/// Whether EKS has the version, and for how long.
pub(super) fn cluster(cluster: &Cluster, facts: &mut Facts<'_>, found: &mut Vec<Finding>) {
    let Some(version) = &cluster.version else { return };
    let question = Question::ClusterVersions(cluster.object.place());
    let answer = facts.answer(&question, &cluster.object, "Kubernetes versions", found);
    let Some(Answer::ClusterVersions(versions)) = answer else { return };
    match versions.iter().find(|known| known.version == *version) {
        Some(known) => found.extend(support(cluster, known, versions, facts.today)),
        // A cluster that is there has been accepted; EKS will update it by itself.
        None if cluster.stage == Stage::Kept => {}
        None => {
            let text = format!("EKS has no Kubernetes {version} in {}", cluster.object.identity.region);
            found.push(refused(&cluster.object, text).way_out(format!("give one of {}", names(versions))));
        }
    }
}

fn support(cluster: &Cluster, known: &ClusterVersion, versions: &[ClusterVersion], today: NaiveDate) -> Option<Finding> {
    let version = &known.version;
    let text = if known.extended {
        let since = known.standard_until.map(|day| format!(" since {day}")).unwrap_or_default();
        let until = known.extended_until.map(|day| format!("; on {day} EKS updates the cluster by itself")).unwrap_or_default();
        format!("Kubernetes {version} is in extended support{since}, for which AWS charges more{until}")
    } else {
        let day = known.standard_until.filter(|day| *day - today <= SOON)?;
        format!("standard support of Kubernetes {version} ends on {day}; AWS charges more for extended support")
    };
    let newer: Vec<ClusterVersion> = versions.iter().filter(|other| !other.extended && *other != known).cloned().collect();
    let finding = warning(&cluster.object, text);
    Some(if newer.is_empty() { finding } else { finding.way_out(format!("in standard support: {}", names(&newer))) })
}

fn names(versions: &[ClusterVersion]) -> String {
    versions.iter().map(|version| version.version.as_str()).collect::<Vec<_>>().join(", ")
}

/// Whether the version of an add-on goes with the Kubernetes version.
pub(super) fn addon(addon: &Addon, facts: &mut Facts<'_>, found: &mut Vec<Finding>) {
    if !kubernetes_exists(addon, facts) {
        // That is said of the cluster.
        return;
    }
    let answer = facts.answer(&addon.question(), &addon.object, &format!("versions of {}", addon.name), found);
    let Some(Answer::AddonVersions(versions)) = answer else { return };
    if versions.contains(&addon.version) {
        return;
    }
    let with = addon.kubernetes.as_ref().map(|version| format!(" for Kubernetes {version}")).unwrap_or_default();
    let text = format!("there is no {} {}{with}", addon.name, addon.version);
    let way_out = match versions.len() {
        0 => "EKS offers none at all there: leave the add-on out".to_owned(),
        count => {
            let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
            let named = versions.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            format!("give none, for the one that EKS has chosen, or one of {named}{more}")
        }
    };
    found.push(refused(&addon.object, text).way_out(way_out));
}

fn kubernetes_exists(addon: &Addon, facts: &Facts<'_>) -> bool {
    let Some(wanted) = &addon.kubernetes else { return true };
    match facts.answers.get(&Question::ClusterVersions(addon.object.place())) {
        Some(Ok(Answer::ClusterVersions(versions))) => versions.iter().any(|known| known.version == *wanted),
        _ => true,
    }
}
