//! What the kinds of EKS share: the reference to their cluster, ids of what lives in a cluster, tags by ARN, and what
//! EKS's errors mean for a create call.

use super::kind::{Cloud, FieldChange, GoesWith, Readiness, StepError, Subject};
use super::recorder::Recorder;
use super::shared::{change, fault, part_removal, tag_changes};
use crate::aws::error::{CallError, ErrorClass};
use crate::aws::tags::to_eks;
use crate::graph::catalog::{Production, Reference, ReferenceTarget, Step};
use aws_sdk_eks::operation::tag_resource::builders::TagResourceInputBuilder;
use aws_sdk_eks::operation::untag_resource::builders::UntagResourceInputBuilder;
use serde_json::Value;

/// API group of ACK's EKS controller.
pub(super) const GROUP: &str = "eks.services.k8s.aws";

/// EKS's code for parameters that it does not take, among them roles that it does not see yet.
pub(super) const INVALID_PARAMETER: &str = "InvalidParameterException";

/// `clusterName` is a Cluster's `spec.name`; what lives in a cluster can be made when that one is ACTIVE.
pub(super) const CLUSTER_NAME: Reference = Reference {
    path: "spec.clusterName",
    kind: "Cluster",
    group: GROUP,
    target: ReferenceTarget::SpecName,
    step: Step::Create,
    asks: Production::Ready,
};

/// `clusterRef` is a Cluster's `metadata.name`.
pub(super) const CLUSTER_REF: Reference =
    Reference { path: "spec.clusterRef.from.name", target: ReferenceTarget::MetadataName, ..CLUSTER_NAME };

/// A reference to a Role by `metadata.name`.
pub(super) const fn role_ref(path: &'static str) -> Reference {
    Reference {
        path,
        kind: "Role",
        group: "iam.services.k8s.aws",
        target: ReferenceTarget::MetadataName,
        step: Step::Create,
        asks: Production::Configured,
    }
}

/// What lives in a cluster goes with it.
pub(super) const WITH_CLUSTER: GoesWith = GoesWith { kind: "Cluster", path: "spec.clusterName" };

/// The id of what lives in a cluster: `cluster|name`. Names of clusters hold no `|`.
pub(super) fn id(cluster: &str, name: &str) -> String {
    format!("{cluster}|{name}")
}

/// Cluster and name of an id.
pub(super) fn parts(id: &str) -> Result<(&str, &str), CallError> {
    id.split_once('|')
        .ok_or_else(|| fault("eks", "ReadRecord", "InvalidId", format!("the recorded id `{id}` is not of the form cluster|name")))
}

/// A failed state with EKS's own words: the first health issue's code and every issue's message; the state itself where
/// EKS gives no issue.
pub(super) fn failed<'a>(state: &str, issues: impl Iterator<Item = (Option<&'a str>, Option<&'a str>)>) -> Readiness {
    let issues: Vec<_> = issues.collect();
    let code = issues.iter().find_map(|(code, _)| *code).unwrap_or(state).to_owned();
    let messages: Vec<String> = issues
        .iter()
        .filter_map(|(code, message)| match (code, message) {
            (Some(code), Some(message)) => Some(format!("{code}: {message}")),
            (code, message) => message.or(*code).map(str::to_owned),
        })
        .collect();
    let message = if messages.is_empty() { format!("EKS says {state} and gives no reason") } else { messages.join("; ") };
    Readiness::Failed { code, message }
}

/// What a create call's error means: `ResourceInUseException` says that an object of that name is there (elsewhere it
/// says that something else is going on).
pub(super) fn create_error(error: CallError) -> CallError {
    if error.code == "ResourceInUseException" { error.meaning(ErrorClass::AlreadyExists) } else { error }
}

/// Sets and removes tags by ARN: TagResource, then UntagResource with the keys that are not wanted at all.
pub(super) async fn tags(
    cloud: &Cloud,
    recorder: &Recorder,
    subject: &Subject,
    id: &str,
    status: &Value,
    changes: &[FieldChange],
) -> Result<(), StepError> {
    let (set, remove) = tag_changes(changes);
    if set.is_empty() && remove.is_empty() {
        return Ok(());
    }
    let eks = &cloud.writers.eks;
    let arn = arn(status).map_err(StepError::Refused)?;
    if !set.is_empty() {
        let input = TagResourceInputBuilder::default().resource_arn(arn).set_tags(Some(to_eks(&set)));
        let make = |permit| {
            let input = input.clone();
            async move { eks.tag_resource(permit, input).await }
        };
        recorder.call(change(subject, "TagResource", id), make).await?;
    }
    if !remove.is_empty() {
        let input = UntagResourceInputBuilder::default().resource_arn(arn).set_tag_keys(Some(remove));
        let make = |permit| {
            let input = input.clone();
            async move { eks.untag_resource(permit, input).await }
        };
        recorder.delete(part_removal(subject, "UntagResource", id), make).await?;
    }
    Ok(())
}

/// `ackResourceMetadata.arn` of an observed status.
fn arn(status: &Value) -> Result<&str, CallError> {
    status["ackResourceMetadata"]["arn"]
        .as_str()
        .ok_or_else(|| fault("eks", "TagResource", "NoArn", "EKS gave no ARN of the object".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_apart() {
        let principal = "arn:aws:iam::111122223333:role/teams/x";
        assert_eq!(parts(&id("one", principal)).unwrap(), ("one", principal));
        assert!(parts("one").is_err());
    }

    #[test]
    fn failures_speak_in_the_words_of_eks() {
        let one = failed("CREATE_FAILED", [(Some("AccessDenied"), Some("no")), (Some("Other"), None)].into_iter());
        assert_eq!(one, Readiness::Failed { code: "AccessDenied".into(), message: "AccessDenied: no; Other".into() });
        let none = failed("FAILED", std::iter::empty());
        assert_eq!(none, Readiness::Failed { code: "FAILED".into(), message: "EKS says FAILED and gives no reason".into() });
    }

    #[test]
    fn a_name_in_use_is_there_already() {
        let error = |code: &str| fault("eks", "CreateCluster", code, String::new());
        assert_eq!(create_error(error("ResourceInUseException")).class, ErrorClass::AlreadyExists);
        assert_eq!(create_error(error("InvalidParameterException")).class, ErrorClass::Final);
    }
}
