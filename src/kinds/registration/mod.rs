//! The registration of a cluster with Argo CD: a Secret labelled `argocd.argoproj.io/secret-type: cluster` in a graph,
//! carried out over Argo CD's API and never written to Kubernetes. Other Secrets are named and left alone.
//!
//! The Secret's `server` is the cluster's ARN, as the Argo CD of EKS has it. A self-managed Argo CD takes the endpoint, the
//! certificate authority and the cluster's name for tokens: those come from the cluster as EKS has it. Which of the two
//! Argo CD is, settings say, or its version. Registrations are
//! told from others by annotations with our marks, and are listed and chosen by server before anything is written, because
//! Argo CD would make a second one of the same server without a word.

pub mod bridge;
pub mod drain;
mod listing;
mod secret;
mod state;
mod steps;
mod target;

use self::secret::{ClusterArn, Wanted, is_registration};
use super::catalog::{self, Facts};
use super::kind::{Cloud, FieldChange, Kind, NotCarriedOut, Observed, Readers, StepError, Subject, Takeover, Typical};
use super::recorder::Recorder;
use super::schemas;
use super::shared::{create, create_asking, only_known};
use crate::aws::error::CallError;
use crate::graph::catalog::{Field, ImpliedEdge, ImpossibleValue, KindDescription, Production, Support};
use crate::state::file::Record;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::LazyLock;
use std::time::Duration;

/// A registration with Argo CD.
#[derive(Debug, Clone, Copy, Default)]
pub struct Registration;

const FIELDS: &[Field] = &[
    create("type"),
    create("stringData.name"),
    create("stringData.project"),
    create_asking("stringData.server", Production::Ready),
    only_known("stringData"),
    only_known("data"),
    only_known("immutable"),
];

static DESCRIPTION: LazyLock<KindDescription> = LazyLock::new(|| {
    let known = schemas::core_kind("Secret");
    let description = known.map(|known| catalog::core_description(known, Support::CarriedOut, FIELDS));
    let description = description.unwrap_or_else(|| catalog::describe_ack("Secret", &Facts::default()));
    KindDescription { implied: &[ImpliedEdge::AfterEverything], ..description }
});

async fn find(readers: &Readers, subject: &Subject, desired: &Value) -> Result<Option<Observed>, CallError> {
    let wanted = Wanted::of(desired);
    if wanted.name.is_empty() {
        return Ok(None);
    }
    let argocd = listing::reader(readers.argocd.as_ref())?;
    let mut target = match &wanted.server {
        Some(arn) => target::read(readers, argocd, subject, arn).await?,
        None => None,
    };
    let clusters = argocd.list_clusters().await?;
    let cluster = match listing::choose(&clusters, target.as_ref(), &wanted.name, &subject.marks) {
        Ok(Some(cluster)) => cluster,
        Ok(None) => {
            if let Some(target) = &target {
                listing::absent(argocd, &target.project(&wanted.project), target.server()).await?;
            }
            return Ok(None);
        }
        Err(conflict) => return Ok(Some(state::conflict(conflict))),
    };
    // Where the ARN is not known yet, the registration itself says which cluster it is for.
    let arn = wanted.server.or_else(|| cluster_of(cluster, subject));
    if let (None, Some(arn)) = (&target, &arn) {
        target = target::read(readers, argocd, subject, arn).await?;
    }
    let is_target = target.as_ref().is_some_and(|target| target.is_hosted() || listing::is_of(cluster, target));
    let stands_for = arn.as_ref().filter(|_| is_target).map_or(cluster.server.as_str(), |arn| arn.arn.as_str());
    Ok(Some(state::observed(cluster, stands_for, target.as_ref())))
}

/// The ARN of the cluster that a registration names in its `awsAuthConfig` (by name: in the account and region where it
/// belongs), or as its server.
fn cluster_of(cluster: &crate::argocd::Cluster, subject: &Subject) -> Option<ClusterArn> {
    let name = cluster.config["awsAuthConfig"]["clusterName"].as_str();
    let identity = &subject.identity;
    let arn = |name| format!("arn:{}:eks:{}:{}:cluster/{name}", subject.partition, identity.region, identity.account);
    let by_arn = name.and_then(ClusterArn::parse).or_else(|| ClusterArn::parse(&cluster.server));
    by_arn.or_else(|| ClusterArn::parse(&arn(name?)))
}

async fn read(readers: &Readers, subject: &Subject, record: &Record) -> Result<Option<Observed>, CallError> {
    let argocd = listing::reader(readers.argocd.as_ref())?;
    let target = async {
        match ClusterArn::parse(recorded_server(record)) {
            Some(arn) => target::read(readers, argocd, subject, &arn).await,
            None => Ok(None),
        }
    };
    // The cluster first: whoever else reads it now shares the call.
    let (target, clusters) = tokio::join!(target, argocd.list_clusters());
    seen(argocd, &clusters?, subject, record, target?.as_ref()).await
}

/// The `server` that was wanted when the record was made.
fn recorded_server(record: &Record) -> &str {
    record.applied["stringData"]["server"].as_str().unwrap_or(&record.id)
}

/// A record's registration, among all clusters of Argo CD.
async fn seen(
    argocd: &crate::argocd::Reader,
    clusters: &[crate::argocd::Cluster],
    subject: &Subject,
    record: &Record,
    target: Option<&target::Target>,
) -> Result<Option<Observed>, CallError> {
    let text = |key: &str| record.applied["stringData"][key].as_str().unwrap_or_default();
    let chosen = match target {
        Some(target) => listing::choose(clusters, Some(target), text("name"), &subject.marks),
        None => Ok(None),
    };
    let found = match chosen {
        Ok(None) => listing::recorded(clusters, &record.id, text("name"), &subject.marks),
        chosen => chosen,
    };
    match found {
        Ok(Some(cluster)) => Ok(Some(state::observed(cluster, recorded_server(record), target))),
        Ok(None) => {
            listing::absent(argocd, text("project"), &record.id).await?;
            Ok(None)
        }
        Err(conflict) => Ok(Some(state::conflict(conflict))),
    }
}

/// What of this Secret is not carried out.
fn not_carried_out(object: &Value) -> Vec<NotCarriedOut> {
    if !is_registration(object) {
        let label = secret::SECRET_TYPE;
        let reason = format!("fleetctl carries out only Secrets that are labelled {label}: cluster");
        return vec![NotCarriedOut::Object { reason }];
    }
    let server = object["stringData"]["server"].as_str().filter(|server| ClusterArn::parse(server).is_none());
    let value = server.map(|server| NotCarriedOut::Value {
        path: "stringData.server".to_owned(),
        reason: format!("`{server}` is not the ARN of an EKS cluster, and other servers are not carried out"),
    });
    value.into_iter().collect()
}

impl Kind for Registration {
    fn description(&self) -> &KindDescription {
        &DESCRIPTION
    }

    fn impossible_values(&self, object: &Value) -> Vec<ImpossibleValue> {
        secret::impossible_values(object)
    }

    fn typical(&self) -> Typical {
        Typical { create: Duration::from_secs(5), delete: Duration::from_secs(2), limit: Duration::from_mins(5) }
    }

    fn compare(&self, subject: &Subject, desired: &Value, observed: &Observed, _applied: Option<&Value>) -> Vec<FieldChange> {
        state::differences(subject, desired, observed)
    }

    fn find<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        Box::pin(find(readers, subject, desired))
    }

    fn read<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        Box::pin(read(readers, subject, record))
    }

    fn create<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<(Record, Observed), StepError>> {
        Box::pin(steps::create(cloud, recorder, subject, desired))
    }

    fn configure<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
        observed: &'a Observed,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(steps::configure(cloud, recorder, subject, desired, observed))
    }

    fn delete<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(steps::delete(cloud, recorder, subject, record))
    }

    fn takeover(&self, observed: &Observed) -> Takeover {
        state::takeover(observed)
    }

    fn recordable(&self, desired: &Value) -> Value {
        secret::without_secrets(desired)
    }

    fn not_carried_out(&self, object: &Value) -> Vec<NotCarriedOut> {
        not_carried_out(object)
    }
}

#[cfg(test)]
mod tests;
