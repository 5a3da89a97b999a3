//! Registering a cluster, changing its registration, and taking it away.

use super::listing::{absent, choose, is_ours, not_configured, of_server, recorded, trimmed, whose};
use super::secret::{ClusterArn, Wanted, without_secrets};
use super::state::{carried_over, differences, observed, wanted_annotations};
use super::target::{self, CONFIG_HASH, Target};
use crate::argocd::{Cluster, Reader, Writer};
use crate::aws::error::{CallError, ErrorClass};
use crate::kinds::kind::{Changeability, Cloud, Observed, StepError, Subject};
use crate::kinds::recorder::{Call, Created, Recorder};
use crate::kinds::shared::{change, creation, fault, removal, required, touches};
use crate::state::file::Record;
use serde_json::Value;
use std::time::Duration;

/// Argo CD answers reads from a cache, which may be behind another replica's writes.
const READ_BACK: (u32, Duration) = (5, Duration::from_secs(1));

/// Argo CD, and whose registration it is about.
pub(super) struct ArgoCd<'a> {
    reader: &'a Reader,
    pub(super) writer: &'a Writer,
    recorder: &'a Recorder,
    subject: &'a Subject,
}

impl<'a> ArgoCd<'a> {
    pub(super) fn of(cloud: &'a Cloud, recorder: &'a Recorder, subject: &'a Subject) -> Result<Self, StepError> {
        match (&cloud.readers.argocd, &cloud.writers.argocd) {
            (Some(reader), Some(writer)) => Ok(Self { reader, writer, recorder, subject }),
            _ => Err(StepError::Refused(not_configured("CreateCluster"))),
        }
    }

    /// How long it may be refused by a cluster whose access entry is not effective yet.
    pub(super) fn patience(&self) -> Duration {
        self.reader.registering().patience
    }

    pub(super) async fn list(&self) -> Result<Vec<Cluster>, StepError> {
        self.reader.list_clusters().await.map_err(StepError::Refused)
    }
}

/// Lists first. No such server: `POST`. Ours (the reply to an earlier `POST` was lost): `PUT`. Anybody else's: refused.
pub(super) async fn create(
    cloud: &Cloud,
    recorder: &Recorder,
    subject: &Subject,
    desired: &Value,
) -> Result<(Record, Observed), StepError> {
    let argocd = ArgoCd::of(cloud, recorder, subject)?;
    let wanted = Wanted::of(desired);
    let arn = required(wanted.server.as_ref(), "stringData.server (the ARN of an EKS cluster)")?;
    required(Some(&wanted.name).filter(|name| !name.is_empty()), "stringData.name")?;
    let target = read_target(cloud, argocd.reader, subject, arn).await?;
    let mut gone = false;
    let (record, cluster) = loop {
        let clusters = argocd.list().await?;
        let there = choose(&clusters, Some(&target), &wanted.name, &subject.marks).map_err(refused)?;
        match there {
            Some(there) => allowed(there, &target, subject)?,
            None => absent(argocd.reader, &target.project(&wanted.project), target.server()).await.map_err(refused)?,
        }
        let cluster = registration(subject, &wanted, &target, there);
        match argocd.register(desired, &cluster, &target, there.is_some()).await {
            // Somebody removed it between list and write: it is looked for again, once.
            Err(StepError::Refused(error)) if error.class == ErrorClass::NotFound && !gone => gone = true,
            done => break (done?, cluster),
        }
    };
    // It is registered and recorded: when it cannot be read back, what was sent has to do.
    let found = argocd.read_back(&record.id, |_| true).await.ok().flatten().unwrap_or(cluster);
    Ok((record, observed(&found, &arn.arn, Some(&target))))
}

/// A refusal of Argo CD's, or of our own.
pub(super) fn refused(error: impl Into<CallError>) -> StepError {
    StepError::Refused(error.into())
}

/// Whether what is there may be written over.
fn allowed(there: &Cluster, target: &Target, subject: &Subject) -> Result<(), StepError> {
    if !is_ours(there, &subject.marks) {
        return Err(StepError::NotOurs(whose(there, &subject.marks)));
    }
    if !target.is_hosted() && trimmed(&there.server) != target.server() {
        let message = format!(
            "Argo CD still has our registration {} at {}, where the cluster is no more; it is at {}",
            there.name,
            there.server,
            target.server()
        );
        return Err(StepError::Refused(fault("argocd", "ListClusters", "OldServer", message)));
    }
    Ok(())
}

async fn read_target(cloud: &Cloud, argocd: &Reader, subject: &Subject, arn: &ClusterArn) -> Result<Target, StepError> {
    let found = target::read(&cloud.readers, argocd, subject, arn).await.map_err(StepError::Refused)?;
    found.ok_or_else(|| {
        let message = format!("the cluster {} has no endpoint and certificate authority yet", arn.name);
        StepError::Refused(fault("eks", "DescribeCluster", "ClusterNotReady", message))
    })
}

/// The whole registration, with everything that `ApplicationSets` read: it is never registered first and labelled later.
pub(super) fn registration(subject: &Subject, wanted: &Wanted, target: &Target, there: Option<&Cluster>) -> Cluster {
    let kept = |map: fn(&Cluster) -> &std::collections::BTreeMap<String, String>| {
        there.map(|cluster| serde_json::json!(map(cluster))).unwrap_or_default()
    };
    let mut annotations = carried_over(wanted_annotations(subject, wanted), &kept(|cluster| &cluster.annotations));
    annotations.extend(target.hash().map(|hash| (CONFIG_HASH.to_owned(), hash)));
    Cluster {
        server: there.map_or(target.server(), |there| trimmed(&there.server)).to_owned(),
        name: wanted.name.clone(),
        project: target.project(&wanted.project),
        labels: carried_over(wanted.labels.clone(), &kept(|cluster| &cluster.labels)),
        annotations,
        config: target.config(),
        ..Cluster::default()
    }
}

impl ArgoCd<'_> {
    async fn register(&self, desired: &Value, cluster: &Cluster, target: &Target, there: bool) -> Result<Record, StepError> {
        let applied = without_secrets(desired);
        let call = |operation| -> Call<'_> { creation(self.subject, operation, &applied).patience(self.patience()) };
        let created = |answer: &Cluster| {
            let server = if answer.server.is_empty() { &cluster.server } else { &answer.server };
            Created { id: trimmed(server).to_owned(), status: serde_json::json!({ "server": trimmed(server) }) }
        };
        let (_, record) = if there {
            // A registration by ARN needs no configuration, and may have none.
            let with_config: &[&str] = &["labels", "annotations", "project", "config"];
            let fields = if target.hash().is_some() { with_config } else { &with_config[..3] };
            let make = |permit| async move { self.writer.update_cluster(permit, cluster, fields).await };
            self.recorder.create(call("UpdateCluster"), make, created).await?
        } else {
            let make = |permit| self.writer.create_cluster(permit, cluster);
            self.recorder.create(call("CreateCluster"), make, created).await?
        };
        Ok(record)
    }

    /// The cluster of a server, as soon as it is as it should be; else as it is in the end.
    async fn read_back(&self, server: &str, settled: impl Fn(&Cluster) -> bool) -> Result<Option<Cluster>, StepError> {
        let (attempts, pause) = READ_BACK;
        let mut found = None;
        for attempt in 1..=attempts {
            let clusters = self.list().await?;
            found = of_server(&clusters, server).map_err(refused)?.cloned();
            if found.as_ref().is_some_and(&settled) {
                break;
            }
            if attempt < attempts {
                tokio::time::sleep(pause).await;
            }
        }
        Ok(found)
    }
}

/// `PUT` with exactly the fields that differ; what is written is read back.
pub(super) async fn configure(
    cloud: &Cloud,
    recorder: &Recorder,
    subject: &Subject,
    desired: &Value,
    there: &Observed,
) -> Result<(), StepError> {
    let fields = updated_fields(subject, desired, there);
    if fields.is_empty() {
        return Ok(());
    }
    let argocd = ArgoCd::of(cloud, recorder, subject)?;
    let wanted = Wanted::of(desired);
    let target = match &wanted.server {
        Some(arn) if fields.contains(&"config") => Some(read_target(cloud, argocd.reader, subject, arn).await?),
        _ => None,
    };
    let cluster = update(subject, &wanted, there, target.as_ref());
    let call = change(subject, "UpdateCluster", &there.id).patience(argocd.patience());
    let (cluster, fields) = (&cluster, &fields);
    let make = |permit| async move { argocd.writer.update_cluster(permit, cluster, fields).await };
    recorder.call(call, make).await?;
    let server = there.spec["stringData"]["server"].as_str().unwrap_or_default();
    let left = |found: &Cluster| updated_fields(subject, desired, &observed(found, server, target.as_ref()));
    let found = argocd.read_back(&there.id, |found| left(found).is_empty()).await?;
    let left = found.as_ref().map(left).unwrap_or_default();
    if left.is_empty() { Ok(()) } else { Err(StepError::Refused(not_as_written(&there.id, &left))) }
}

/// Argo CD took the call and did something else.
fn not_as_written(server: &str, fields: &[&str]) -> CallError {
    let message = format!("Argo CD took the change of {server}, but still differs in: {}", fields.join(", "));
    fault("argocd", "UpdateCluster", "NotAsWritten", message)
}

/// Argo CD's names of the fields that have to be written. The hash of a configuration is an annotation.
pub(super) fn updated_fields(subject: &Subject, desired: &Value, there: &Observed) -> Vec<&'static str> {
    let mut changes = differences(subject, desired, there);
    changes.retain(|change| change.changeability == Changeability::InPlace);
    let config = touches(&changes, "config");
    let all = [
        ("labels", touches(&changes, "metadata.labels")),
        ("annotations", touches(&changes, "metadata.annotations") || config),
        ("project", touches(&changes, "stringData.project")),
        ("config", config),
    ];
    all.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect()
}

/// The cluster as it is to be. Without a target its configuration stays as it is, and is not sent.
pub(super) fn update(subject: &Subject, wanted: &Wanted, there: &Observed, target: Option<&Target>) -> Cluster {
    let (metadata, texts) = (&there.spec["metadata"], &there.spec["stringData"]);
    let text = |wanted: &str, key: &str| {
        if wanted.is_empty() { texts[key].as_str().unwrap_or_default().to_owned() } else { wanted.to_owned() }
    };
    let mut annotations = carried_over(wanted_annotations(subject, wanted), &metadata["annotations"]);
    let hash = target.and_then(Target::hash).or_else(|| metadata["annotations"][CONFIG_HASH].as_str().map(str::to_owned));
    annotations.extend(hash.map(|hash| (CONFIG_HASH.to_owned(), hash)));
    Cluster {
        server: there.id.clone(),
        name: text(&wanted.name, "name"),
        project: text(&wanted.project, "project"),
        labels: carried_over(wanted.labels.clone(), &metadata["labels"]),
        annotations,
        config: target.map(Target::config).unwrap_or_default(),
        ..Cluster::default()
    }
}

/// `DELETE` by server, as names are not unique. What is not listed is gone.
pub(super) async fn delete(cloud: &Cloud, recorder: &Recorder, subject: &Subject, record: &Record) -> Result<(), StepError> {
    let argocd = ArgoCd::of(cloud, recorder, subject)?;
    let name = record.applied["stringData"]["name"].as_str().unwrap_or_default();
    let clusters = argocd.list().await?;
    let there = recorded(&clusters, &record.id, name, &subject.marks).map_err(refused)?;
    let Some(there) = there else {
        let project = record.applied["stringData"]["project"].as_str().unwrap_or_default();
        return absent(argocd.reader, project, &record.id).await.map_err(refused);
    };
    if !is_ours(there, &subject.marks) {
        return Err(StepError::NotOurs(whose(there, &subject.marks)));
    }
    let make = |permit| argocd.writer.delete_cluster(permit, there);
    recorder.delete(removal(subject, "DeleteCluster", trimmed(&there.server)), make).await
}
