//! EKS pod identity associations (ACK's `PodIdentityAssociation`), found by cluster, namespace and service account.
//!
//! An association is made when its cluster is ACTIVE, is usable when it is there, and goes with its cluster. There is at
//! most one for a service account.

use super::catalog::{self, Facts};
use super::compare::{self, How, Rule, at};
use super::eks::{self, fresh_role};
use super::kind::{Cloud, FieldChange, GoesWith, Kind, Observed, Readers, Readiness, StepError, Subject, Typical};
use super::recorder::{Created, Recorder};
use super::shared::{
    change, create, create_asking, creation, empty_answer, metadata, moment, only_known, present, removal, required, spec,
    tags_as_map, touches, without_nulls,
};
use super::values::{Checker, Wrong, iam_arn, name};
use super::{policy_document, tags};
use crate::aws::eks::{Reader, Writer};
use crate::aws::error::CallError;
use crate::aws::pages::pages;
use crate::aws::tags::{of_eks, to_eks};
use crate::graph::catalog::{Field, ImpossibleValue, KindDescription, Production, Support};
use crate::state::file::Record;
use crate::state::journal::Permit;
use aws_sdk_eks::operation::create_pod_identity_association::builders::CreatePodIdentityAssociationInputBuilder;
use aws_sdk_eks::operation::delete_pod_identity_association::builders::DeletePodIdentityAssociationInputBuilder;
use aws_sdk_eks::operation::describe_pod_identity_association::builders::DescribePodIdentityAssociationInputBuilder;
use aws_sdk_eks::operation::list_pod_identity_associations::builders::ListPodIdentityAssociationsInputBuilder;
use aws_sdk_eks::operation::update_pod_identity_association::builders::UpdatePodIdentityAssociationInputBuilder;
use aws_sdk_eks::types::PodIdentityAssociation as Association;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::Duration;

/// An EKS pod identity association.
#[derive(Debug, Clone, Copy, Default)]
pub struct PodIdentityAssociation;

/// `spec`, with ACK's field names. Fields that are not carried out are read, so that they are told from misspelt ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct AssociationSpec {
    #[serde(skip_serializing)]
    client_request_token: Option<Value>,
    cluster_name: Option<String>,
    #[serde(skip_serializing)]
    cluster_ref: Option<Value>,
    disable_session_tags: Option<bool>,
    namespace: Option<String>,
    policy: Option<String>,
    #[serde(rename = "roleARN")]
    role_arn: Option<String>,
    #[serde(skip_serializing)]
    role_ref: Option<Value>,
    service_account: Option<String>,
    tags: Option<Value>,
    #[serde(rename = "targetRoleARN")]
    target_role_arn: Option<String>,
    #[serde(skip_serializing)]
    target_role_ref: Option<Value>,
}

const FIELDS: &[Field] = &[
    create_asking("spec.clusterName", Production::Ready),
    create("spec.namespace"),
    create("spec.serviceAccount"),
    create("spec.roleARN"),
    create("spec.targetRoleARN"),
    create("spec.disableSessionTags"),
    create("spec.policy"),
    create("spec.tags"),
    only_known("spec.clientRequestToken"),
    only_known("spec.clusterRef"),
    only_known("spec.roleRef"),
    only_known("spec.targetRoleRef"),
];

const FACTS: Facts = Facts {
    support: Support::CarriedOut,
    fields: FIELDS,
    published: &[],
    references: &[
        eks::CLUSTER_NAME,
        eks::CLUSTER_REF,
        eks::role_ref("spec.roleRef.from.name"),
        eks::role_ref("spec.targetRoleRef.from.name"),
    ],
    implied: &[],
};

/// What `UpdatePodIdentityAssociation` changes.
const UPDATED: [&str; 4] = ["spec.roleARN", "spec.targetRoleARN", "spec.disableSessionTags", "spec.policy"];

const RULES: &[Rule] = &[
    Rule::replacement("spec.clusterName", How::Exact, "an association cannot move to another cluster"),
    Rule::replacement("spec.namespace", How::Exact, "the namespace of an association cannot be changed"),
    Rule::replacement("spec.serviceAccount", How::Exact, "the service account of an association cannot be changed"),
    Rule::in_place("spec.roleARN", How::Exact),
    Rule::in_place("spec.targetRoleARN", How::Exact),
    Rule::in_place("spec.disableSessionTags", How::Exact),
    Rule::in_place("spec.policy", How::Policy),
    Rule::in_place("spec.tags", How::Tags),
];

static DESCRIPTION: LazyLock<KindDescription> = LazyLock::new(|| catalog::describe_ack("PodIdentityAssociation", &FACTS));

async fn describe(reader: &Reader, subject: &Subject, cluster: &str, id: &str) -> Result<Option<Observed>, CallError> {
    let input = DescribePodIdentityAssociationInputBuilder::default().cluster_name(cluster).association_id(id);
    let answer = present(reader.describe_pod_identity_association(input).await)?;
    Ok(answer.and_then(|answer| answer.association).map(|association| observed(subject, &association)))
}

/// The association of a service account: listed, as there is no call that gives it by name, and described for its tags.
async fn find(
    reader: &Reader,
    subject: &Subject,
    cluster: &str,
    namespace: &str,
    account: &str,
) -> Result<Option<Observed>, CallError> {
    let listed = pages(|token| async {
        let input = ListPodIdentityAssociationsInputBuilder::default()
            .cluster_name(cluster)
            .namespace(namespace)
            .service_account(account)
            .set_next_token(token);
        let page = reader.list_pod_identity_associations(input).await?;
        Ok((page.associations.unwrap_or_default(), page.next_token))
    });
    let listed = present(listed.await)?.unwrap_or_default();
    let mut found = listed
        .into_iter()
        .filter(|association| association.namespace() == Some(namespace) && association.service_account() == Some(account));
    match found.next().and_then(|association| association.association_id) {
        Some(id) => describe(reader, subject, cluster, &id).await,
        None => Ok(None),
    }
}

fn observed(subject: &Subject, association: &Association) -> Observed {
    let tags = of_eks(association.tags());
    let spec = AssociationSpec {
        cluster_name: association.cluster_name.clone(),
        disable_session_tags: Some(association.disable_session_tags().unwrap_or_default()),
        namespace: association.namespace.clone(),
        policy: association.policy.clone(),
        role_arn: association.role_arn.clone(),
        service_account: association.service_account.clone(),
        tags: tags_as_map(&tags),
        target_role_arn: association.target_role_arn.clone().filter(|arn| !arn.is_empty()),
        ..AssociationSpec::default()
    };
    Observed {
        id: id(association),
        spec: without_nulls(serde_json::to_value(spec).unwrap_or_default()),
        status: status(subject, association),
        tags,
        readiness: Readiness::Ready,
    }
}

fn id(association: &Association) -> String {
    eks::id(association.cluster_name().unwrap_or_default(), association.association_id().unwrap_or_default())
}

fn status(subject: &Subject, association: &Association) -> Value {
    without_nulls(json!({
        "ackResourceMetadata": metadata(subject, association.association_arn()),
        "associationARN": association.association_arn(),
        "associationID": association.association_id(),
        "externalID": association.external_id(),
        "ownerARN": association.owner_arn(),
        "createdAt": association.created_at().and_then(moment),
        "modifiedAt": association.modified_at().and_then(moment),
    }))
}

/// `CreatePodIdentityAssociation`, with a client token.
async fn make(writer: &Writer, recorder: &Recorder, subject: &Subject, desired: &Value) -> Result<(Record, Observed), StepError> {
    let wanted: AssociationSpec = spec(desired).map_err(StepError::Refused)?;
    let tags = tags::wanted(subject, desired);
    let input = CreatePodIdentityAssociationInputBuilder::default()
        .cluster_name(required(wanted.cluster_name.as_ref(), "spec.clusterName")?)
        .namespace(required(wanted.namespace.as_ref(), "spec.namespace")?)
        .service_account(required(wanted.service_account.as_ref(), "spec.serviceAccount")?)
        .role_arn(required(wanted.role_arn.as_ref(), "spec.roleARN")?)
        .set_target_role_arn(wanted.target_role_arn.clone())
        .set_disable_session_tags(wanted.disable_session_tags)
        .set_policy(wanted.policy.clone())
        .set_tags(Some(to_eks(&tags)));
    let make = |permit: Permit| {
        let input = input.clone().client_request_token(permit.token());
        async move {
            let answer = writer.create_pod_identity_association(permit, input).await.map_err(fresh_role)?;
            answer.association.ok_or_else(|| empty_answer("eks", "CreatePodIdentityAssociation"))
        }
    };
    let created = |association: &Association| Created { id: id(association), status: status(subject, association) };
    let call = creation(subject, "CreatePodIdentityAssociation", desired).with_token().patience(eks::patience(subject));
    let (association, record) = recorder.create(call, make, created).await?;
    let mut observed = observed(subject, &association);
    observed.tags = tags;
    Ok((record, observed))
}

/// `UpdatePodIdentityAssociation` with what the document sets.
async fn update(writer: &Writer, recorder: &Recorder, subject: &Subject, desired: &Value, id: &str) -> Result<(), StepError> {
    let wanted: AssociationSpec = spec(desired).map_err(StepError::Refused)?;
    let (cluster, association) = eks::parts(id).map_err(StepError::Refused)?;
    let input = UpdatePodIdentityAssociationInputBuilder::default()
        .cluster_name(cluster)
        .association_id(association)
        .set_role_arn(wanted.role_arn)
        .set_target_role_arn(wanted.target_role_arn)
        .set_disable_session_tags(wanted.disable_session_tags)
        .set_policy(wanted.policy);
    let make = |permit: Permit| {
        let input = input.clone().client_request_token(permit.token());
        async move { writer.update_pod_identity_association(permit, input).await.map_err(fresh_role) }
    };
    recorder.call(change(subject, "UpdatePodIdentityAssociation", id), make).await.map(drop)
}

impl Kind for PodIdentityAssociation {
    fn has_unique_id(&self) -> bool {
        true
    }

    fn description(&self) -> &KindDescription {
        &DESCRIPTION
    }

    fn impossible_values(&self, object: &Value) -> Vec<ImpossibleValue> {
        const LABEL: &str = "1 to 63 of a-z, 0-9 and -";
        const ACCOUNT: &str = "1 to 253 of a-z, 0-9, - and .";
        let in_label = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-';
        let in_account = move |character: char| in_label(character) || character == '.';
        let document = |text: &str| policy_document::fault(text).map(|fault| Wrong::new(fault, "a policy document in JSON"));
        Checker::new(object)
            .texts("spec.clusterName", eks::cluster_name)
            .texts("spec.namespace", name(63, in_label, LABEL))
            .texts("spec.serviceAccount", name(253, in_account, ACCOUNT))
            .texts("spec.roleARN", iam_arn(&["role/"]))
            .texts("spec.targetRoleARN", iam_arn(&["role/"]))
            .texts("spec.policy", document)
            .tags("spec.tags")
            .finish()
    }

    fn typical(&self) -> Typical {
        Typical { create: Duration::from_secs(2), delete: Duration::from_secs(2), limit: Duration::from_mins(5) }
    }

    fn compare(&self, subject: &Subject, desired: &Value, observed: &Observed, applied: Option<&Value>) -> Vec<FieldChange> {
        compare::object(RULES, subject, desired, observed, applied)
    }

    fn find<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        let text = |path| at(desired, path).as_str();
        let names = (text("spec.clusterName"), text("spec.namespace"), text("spec.serviceAccount"));
        Box::pin(async move {
            let (Some(cluster), Some(namespace), Some(account)) = names else { return Ok(None) };
            find(&readers.eks, subject, cluster, namespace, account).await
        })
    }

    fn read<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        Box::pin(async move {
            let (cluster, id) = eks::parts(&record.id)?;
            describe(&readers.eks, subject, cluster, id).await
        })
    }

    fn create<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<(Record, Observed), StepError>> {
        Box::pin(make(&cloud.writers.eks, recorder, subject, desired))
    }

    fn configure<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
        observed: &'a Observed,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(async move {
            let changes = compare::object(RULES, subject, desired, observed, None);
            if UPDATED.iter().any(|path| touches(&changes, path)) {
                update(&cloud.writers.eks, recorder, subject, desired, &observed.id).await?;
            }
            eks::tags(cloud, recorder, subject, &observed.id, &observed.status, &changes).await
        })
    }

    fn delete<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(async move {
            let (cluster, id) = eks::parts(&record.id).map_err(StepError::Refused)?;
            let writer = &cloud.writers.eks;
            let input = DeletePodIdentityAssociationInputBuilder::default().cluster_name(cluster).association_id(id);
            let make = |permit| writer.delete_pod_identity_association(permit, input.clone());
            recorder.delete(removal(subject, "DeletePodIdentityAssociation", &record.id), make).await
        })
    }

    fn goes_with(&self) -> Option<GoesWith> {
        Some(eks::WITH_CLUSTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::kind::Changeability;
    use crate::kinds::shared::tests::{complete, paths, places, subject};

    fn us() -> Subject {
        subject("eks.services.k8s.aws/v1alpha1", "PodIdentityAssociation")
    }

    fn wanted() -> Value {
        json!({
            "apiVersion": "eks.services.k8s.aws/v1alpha1", "kind": "PodIdentityAssociation",
            "metadata": {"name": "workload-cluster1-external-secrets", "namespace": "workload-cluster1"},
            "spec": {
                "clusterName": "workload-cluster1",
                "namespace": "argocd",
                "roleARN": "arn:aws:iam::111122223333:role/workload-cluster1-external-secrets-role",
                "serviceAccount": "external-secrets-sa",
                "tags": {"environment": "staging", "managedBy": "ACK", "application": "external-secrets"},
            },
        })
    }

    fn there() -> Observed {
        let association = Association::builder()
            .cluster_name("workload-cluster1")
            .namespace("argocd")
            .service_account("external-secrets-sa")
            .role_arn("arn:aws:iam::111122223333:role/workload-cluster1-external-secrets-role")
            .association_arn("arn:aws:eks:us-west-2:111122223333:podidentityassociation/workload-cluster1/a-1")
            .association_id("a-1")
            .set_tags(Some(to_eks(&tags::wanted(&us(), &wanted()))))
            .build();
        observed(&us(), &association)
    }

    #[test]
    fn an_association_is_as_wanted() {
        assert_eq!(PodIdentityAssociation.compare(&us(), &wanted(), &there(), None), []);
        assert_eq!(there().id, "workload-cluster1|a-1");
        assert_eq!(there().status["associationID"], "a-1");
        assert_eq!(there().status["ackResourceMetadata"]["arn"], there().status["associationARN"]);
        assert!(spec::<AssociationSpec>(&json!({"spec": there().spec})).is_ok());
    }

    #[test]
    fn roles_change_in_place_and_what_is_associated_does_not() {
        let mut desired = wanted();
        desired["spec"]["roleARN"] = json!("arn:aws:iam::111122223333:role/other");
        desired["spec"]["disableSessionTags"] = json!(true);
        desired["spec"]["namespace"] = json!("other");
        desired["spec"]["serviceAccount"] = json!("other");
        let changes = PodIdentityAssociation.compare(&us(), &desired, &there(), None);
        let found: Vec<_> = changes.iter().map(|change| (change.path.as_str(), change.changeability)).collect();
        assert_eq!(
            found,
            [
                ("spec.namespace", Changeability::Replacement),
                ("spec.roleARN", Changeability::InPlace),
                ("spec.serviceAccount", Changeability::Replacement),
                ("spec.disableSessionTags", Changeability::InPlace),
            ]
        );
        desired = wanted();
        desired["spec"]["disableSessionTags"] = json!(false);
        assert_eq!(paths(&PodIdentityAssociation.compare(&us(), &desired, &there(), None)), Vec::<&str>::new());
    }

    #[test]
    fn values_that_eks_refuses_are_found() {
        assert_eq!(PodIdentityAssociation.impossible_values(&wanted()), []);
        let object = json!({"spec": {
            "namespace": "Argo CD", "serviceAccount": "", "roleARN": "x", "policy": "{", "tags": {"": ""},
        }});
        assert_eq!(
            places(&PodIdentityAssociation.impossible_values(&object)),
            ["spec.namespace", "spec.serviceAccount", "spec.roleARN", "spec.policy", "spec.tags."]
        );
    }

    #[test]
    fn it_waits_for_its_cluster() {
        let description = PodIdentityAssociation.description();
        assert_eq!(description.field("spec.clusterName").asks, Production::Ready);
        assert!(!description.field("spec.roleRef.from.name").carried_out);
        assert_eq!(PodIdentityAssociation.goes_with().map(|with| with.kind), Some("Cluster"));
    }

    #[test]
    fn the_spec_reads_every_field_of_the_schema() {
        spec::<AssociationSpec>(&complete(PodIdentityAssociation.description())).unwrap();
    }
}
