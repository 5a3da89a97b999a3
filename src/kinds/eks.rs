//! What the kinds of EKS share: the reference to their cluster, ids of what lives in a cluster, failed states, and tags
//! by ARN.

use super::kind::{Cloud, FieldChange, GoesWith, Readiness, StepError, Subject};
use super::recorder::Recorder;
use super::shared::{change, fault, part_removal, passing, tag_changes};
use super::values::{Wrong, name};
use crate::aws::error::CallError;
use crate::aws::tags::to_eks;
use crate::graph::catalog::{Production, Reference, ReferenceTarget, Step};
use aws_sdk_eks::operation::tag_resource::builders::TagResourceInputBuilder;
use aws_sdk_eks::operation::untag_resource::builders::UntagResourceInputBuilder;
use serde_json::Value;
use std::time::Duration;

/// API group of ACK's EKS controller.
pub(super) const GROUP: &str = "eks.services.k8s.aws";

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

/// How long EKS may not see a role that a create call names. One that the graph makes is fresh, and IAM takes a while to
/// tell everybody; any other is most likely not there at all.
pub(super) fn patience(subject: &Subject) -> Duration {
    let fresh = subject.dependencies.iter().any(|needed| needed.kind == "Role");
    if fresh { Duration::from_mins(3) } else { Duration::from_secs(45) }
}

/// A role for pods that was made a moment ago: EKS does not see yet that its trust policy lets pods have it. (What it says
/// of roles for clusters is understood for all kinds.)
pub(super) fn fresh_role(error: CallError) -> CallError {
    passing(error, "InvalidParameterException", &["Trust policy"])
}

/// A name of a cluster that EKS takes: `^[0-9A-Za-z][A-Za-z0-9\-_]*$`, 1 to 100 characters.
pub(super) fn cluster_name(text: &str) -> Option<Wrong> {
    const EXPECTED: &str = "1 to 100 of A-Z, a-z, 0-9, - and _, beginning with a letter or digit";
    let allowed = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let odd_start = !text.starts_with(|character: char| character.is_ascii_alphanumeric());
    name(100, allowed, EXPECTED)(text)
        .or_else(|| odd_start.then(|| Wrong::new(format!("`{text}` cannot be a name here"), EXPECTED)))
}

/// Sets and removes tags by ARN: `TagResource`, then `UntagResource` with the keys that are not wanted at all.
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
    use crate::aws::error::ErrorClass;
    use crate::graph::identity::Identity;
    use crate::kinds::shared::tests::subject;

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
        assert_eq!(crate::kinds::kind::why_failed("AccessDenied", "AccessDenied: no; Other"), "AccessDenied: no; Other");
        assert_eq!(crate::kinds::kind::why_failed("AccessDenied", "no"), "AccessDenied: no");
        let none = failed("FAILED", std::iter::empty());
        assert_eq!(none, Readiness::Failed { code: "FAILED".into(), message: "EKS says FAILED and gives no reason".into() });
    }

    #[test]
    fn only_roles_of_the_graph_are_waited_for_long() {
        let mut subject = subject("eks.services.k8s.aws/v1alpha1", "Cluster");
        assert_eq!(patience(&subject), Duration::from_secs(45));
        subject.dependencies.push(Identity { kind: "Role".to_owned(), ..subject.identity.clone() });
        assert_eq!(patience(&subject), Duration::from_mins(3));
    }

    #[test]
    fn roles_for_pods_may_be_too_fresh() {
        let error = |message: &str| fault("eks", "CreateAddon", "InvalidParameterException", message.to_owned());
        assert_eq!(fresh_role(error("Trust policy of the role provided is invalid")).class, ErrorClass::NotYet);
        assert_eq!(fresh_role(error("Addon version specified is not supported")).class, ErrorClass::Final);
    }

    #[test]
    fn names_of_clusters_begin_with_a_letter_or_digit() {
        assert_eq!(cluster_name("workload-cluster_1"), None);
        for name in ["", "-a", "_a", "a.b", &"a".repeat(101)] {
            assert!(cluster_name(name).is_some(), "{name}");
        }
    }
}
