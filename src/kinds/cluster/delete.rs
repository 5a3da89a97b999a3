//! Deleting a cluster.

use super::describe;
use crate::aws::error::{CallError, ErrorClass};
use crate::aws::pages::pages;
use crate::kinds::kind::{Cloud, StepError, Subject};
use crate::kinds::recorder::Recorder;
use crate::kinds::shared::{fault, present, removal};
use aws_sdk_eks::operation::delete_cluster::builders::DeleteClusterInputBuilder;
use aws_sdk_eks::operation::list_nodegroups::builders::ListNodegroupsInputBuilder;
use aws_sdk_eks::types::{Cluster, ClusterStatus};
use std::time::Duration;

/// An update that is under way ends within this time.
const PATIENCE: Duration = Duration::from_mins(15);

/// `DeleteCluster`, unless the cluster is protected or still has managed nodegroups. A cluster that is going away already
/// is left to it.
pub(super) async fn cluster(cloud: &Cloud, recorder: &Recorder, subject: &Subject, name: &str) -> Result<(), StepError> {
    let reader = &cloud.readers.eks;
    let Some(cluster) = describe(reader, name).await.map_err(StepError::Refused)? else { return Ok(()) };
    if cluster.status() == Some(&ClusterStatus::Deleting) {
        return Ok(());
    }
    let nodegroups = nodegroups(reader, name).await.map_err(StepError::Refused)?;
    if let Some(error) = hindrance(&cluster, &nodegroups) {
        return Err(StepError::Refused(error));
    }
    let writer = &cloud.writers.eks;
    let make = |permit| async move {
        let input = DeleteClusterInputBuilder::default().name(name);
        writer.delete_cluster(permit, input).await.map_err(attached)
    };
    recorder.delete(removal(subject, "DeleteCluster", name).patience(PATIENCE), make).await
}

/// `ResourceInUseException` passes when an operation is going on, and does not when something is attached to the cluster.
fn attached(error: CallError) -> CallError {
    let lasting = error.code == "ResourceInUseException"
        && ["attached", "Fargate", "fargate"].iter().any(|word| error.message.contains(word));
    if lasting { error.meaning(ErrorClass::Final) } else { error }
}

/// What stands in the way and does not pass by itself.
fn hindrance(cluster: &Cluster, nodegroups: &[String]) -> Option<CallError> {
    let name = cluster.name().unwrap_or_default();
    if cluster.deletion_protection() == Some(true) {
        let message = format!(
            "the cluster {name} has deletion protection; take it off (aws eks update-cluster-config --name {name} \
             --no-deletion-protection) and delete again"
        );
        return Some(fault("eks", "DeleteCluster", "DeletionProtection", message));
    }
    (!nodegroups.is_empty()).then(|| {
        let message = format!(
            "the cluster {name} still has managed nodegroups, which are not of this state: {}; delete them first",
            nodegroups.join(", ")
        );
        fault("eks", "DeleteCluster", "NodegroupsAttached", message)
    })
}

async fn nodegroups(eks: &crate::aws::eks::Reader, cluster: &str) -> Result<Vec<String>, CallError> {
    let found = pages(|token| async {
        let input = ListNodegroupsInputBuilder::default().cluster_name(cluster).set_next_token(token);
        let page = eks.list_nodegroups(input).await?;
        Ok((page.nodegroups.unwrap_or_default(), page.next_token))
    });
    Ok(present(found.await)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_attached_does_not_go_away_by_itself() {
        let error = |message: &str| {
            fault("eks", "DeleteCluster", "ResourceInUseException", message.to_owned()).meaning(ErrorClass::NotYet)
        };
        assert_eq!(attached(error("Cluster has nodegroups attached")).class, ErrorClass::Final);
        assert_eq!(attached(error("Cluster has Fargate profiles")).class, ErrorClass::Final);
        assert_eq!(attached(error("cluster one currently has an update in progress")).class, ErrorClass::NotYet);
    }

    #[test]
    fn protection_and_nodegroups_stand_in_the_way() {
        let free = Cluster::builder().name("one").build();
        assert_eq!(hindrance(&free, &[]), None);
        let found = hindrance(&free, &["a".to_owned(), "b".to_owned()]).unwrap();
        assert!(found.message.contains("a, b"), "{found}");
        let protected = Cluster::builder().name("one").deletion_protection(true).build();
        assert_eq!(hindrance(&protected, &["a".to_owned()]).unwrap().code, "DeletionProtection");
    }
}
