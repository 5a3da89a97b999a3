//! What lives on a cluster by Argo CD's doing, and switching it off before the cluster goes. A registration that goes first
//! leaves what its Applications made in AWS behind: load balancers, volumes.

use super::listing::{is_ours, reader, recorded, whose};
use super::steps::{ArgoCd, refused};
use crate::argocd::Cluster;
use crate::aws::error::{CallError, ErrorClass};
use crate::kinds::kind::{Cloud, Readers, StepError, Subject};
use crate::kinds::recorder::Recorder;
use crate::kinds::shared::change;
use crate::state::file::Record;
use std::collections::BTreeMap;

/// Labels that switch add-ons on and off begin so; `ApplicationSets` compare their values as texts.
const SWITCH: &str = "enable_";
/// Labels that are switches without that beginning.
const SWITCHES: [&str; 1] = ["workloads"];
const ON: &str = "true";
const OFF: &str = "false";

/// What lives on a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Living {
    /// The cluster's name in Argo CD.
    pub cluster: String,
    /// How many Applications; `None` where nobody has counted yet.
    pub count: Option<u64>,
    /// Their names, as far as the token may see them.
    pub names: Vec<String>,
}

/// How many Applications live on the cluster of a registration. `None`: it is not registered.
pub async fn count(readers: &Readers, subject: &Subject, record: &Record) -> Result<Option<Living>, CallError> {
    let clusters = reader(readers.argocd.as_ref())?.list_clusters().await?;
    let cluster = recorded(&clusters, &record.id, name_of(record), &subject.marks)?;
    Ok(cluster.map(living))
}

/// [`count`], with names: one more call, of which no answer is no error.
pub async fn list(readers: &Readers, subject: &Subject, record: &Record) -> Result<Option<Living>, CallError> {
    let argocd = reader(readers.argocd.as_ref())?;
    let clusters = argocd.list_clusters().await?;
    let Some(cluster) = recorded(&clusters, &record.id, name_of(record), &subject.marks)? else { return Ok(None) };
    let names = argocd.list_applications(cluster).await.unwrap_or_default();
    let seen = u64::try_from(names.len()).ok().filter(|seen| *seen > 0);
    let living = living(cluster);
    Ok(Some(Living { count: living.count.max(seen), names, ..living }))
}

fn living(cluster: &Cluster) -> Living {
    Living { cluster: cluster.name.clone(), count: cluster.info.applications(), names: Vec::new() }
}

fn name_of(record: &Record) -> &str {
    record.applied["stringData"]["name"].as_str().unwrap_or_default()
}

/// Switches off every label that switches something on, and sets `more` besides; labels are never removed, since a template
/// that misses one stops its `ApplicationSet` for every cluster.
pub async fn switch_off(
    cloud: &Cloud,
    recorder: &Recorder,
    subject: &Subject,
    record: &Record,
    more: &BTreeMap<String, String>,
) -> Result<(), StepError> {
    let argocd = ArgoCd::of(cloud, recorder, subject)?;
    let clusters = argocd.list().await?;
    let there = recorded(&clusters, &record.id, name_of(record), &subject.marks).map_err(refused)?;
    let Some(there) = there else { return Ok(()) };
    if !is_ours(there, &subject.marks) {
        return Err(StepError::NotOurs(whose(there, &subject.marks)));
    }
    let labels = switched(&there.labels, more);
    if labels == there.labels {
        return Ok(());
    }
    let cluster = Cluster { server: there.server.clone(), name: there.name.clone(), labels, ..Cluster::default() };
    let cluster = &cluster;
    let make = |permit| async move { argocd.writer.update_cluster(permit, cluster, &["labels"]).await };
    match recorder.call(change(subject, "UpdateCluster", &there.server).patience(argocd.patience()), make).await {
        Ok(_) => Ok(()),
        Err(StepError::Refused(error)) if error.class == ErrorClass::NotFound => Ok(()),
        Err(StepError::Refused(error)) => Err(StepError::Refused(cannot_switch(&error))),
        Err(error) => Err(error),
    }
}

/// Argo CD asks the cluster before it changes a label, so those of a cluster that is out of reach stay as they are.
fn cannot_switch(error: &CallError) -> CallError {
    let message = format!("its labels could not be switched off: {}", error.message);
    CallError { message, ..error.clone() }
}

fn switched(labels: &BTreeMap<String, String>, more: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let is_switch = |key: &str| key.starts_with(SWITCH) || SWITCHES.contains(&key);
    let off = |(key, value): (&String, &String)| {
        let value = if is_switch(key) && value == ON { OFF } else { value };
        (key.clone(), value.to_owned())
    };
    labels.iter().map(off).chain(more.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(labels: &[(&str, &str)]) -> BTreeMap<String, String> {
        labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn switches_are_turned_off_and_everything_else_stays() {
        let before = labels(&[
            ("enable_external_secrets", "true"),
            ("enable_odd", "yes"),
            ("enable_off", "false"),
            ("workloads", "true"),
            ("tenant", "true"),
            ("fleet_member", "spoke"),
            ("argocd.argoproj.io/auto-label-cluster-info", "true"),
        ]);
        let mut after = before.clone();
        after.extend(labels(&[("enable_external_secrets", "false"), ("workloads", "false"), ("fleet_member", "leaving")]));
        assert_eq!(switched(&before, &labels(&[("fleet_member", "leaving")])), after);
        assert_eq!(switched(&after, &BTreeMap::new()), after, "a second time changes nothing");
    }
}
