//! EKS add-ons (ACK's `Addon`), found by their cluster and name.
//!
//! An add-on is made when its cluster is ACTIVE, and goes with it. What EKS could change of it (`UpdateAddon`) is not
//! carried out yet, but for its tags.

use super::catalog::{self, Facts};
use super::compare::{self, Absent, How, Rule, at};
use super::eks::{self, fresh_role};
use super::kind::{Cloud, FieldChange, GoesWith, Kind, Observed, Readers, Readiness, StepError, Subject, Typical};
use super::recorder::{Created, Recorder};
use super::shared::{
    create, create_asking, creation, empty_answer, fault, metadata, moment, only_known, present, removal, required, spec,
    tags_as_map, without_nulls,
};
use super::tags;
use super::values::{Checker, iam_arn, name, one_of};
use crate::aws::eks::Reader;
use crate::aws::error::CallError;
use crate::aws::tags::{of_eks, to_eks};
use crate::graph::catalog::{Field, ImpossibleValue, KindDescription, Production, Support};
use crate::state::file::Record;
use crate::state::journal::Permit;
use aws_sdk_eks::operation::create_addon::builders::CreateAddonInputBuilder;
use aws_sdk_eks::operation::delete_addon::builders::DeleteAddonInputBuilder;
use aws_sdk_eks::operation::describe_addon::builders::DescribeAddonInputBuilder;
use aws_sdk_eks::operation::describe_pod_identity_association::builders::DescribePodIdentityAssociationInputBuilder;
use aws_sdk_eks::types::{AddonHealth, AddonIssueCode, AddonPodIdentityAssociations, AddonStatus};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::Duration;

/// An EKS add-on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Addon;

/// `spec`, with ACK's field names. Fields that are not carried out are read, so that they are told from misspelt ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct AddonSpec {
    name: Option<String>,
    cluster_name: Option<String>,
    #[serde(skip_serializing)]
    cluster_ref: Option<Value>,
    addon_version: Option<String>,
    #[serde(skip_serializing)]
    client_request_token: Option<Value>,
    configuration_values: Option<String>,
    pod_identity_associations: Option<Vec<Association>>,
    resolve_conflicts: Option<String>,
    #[serde(rename = "serviceAccountRoleARN")]
    service_account_role_arn: Option<String>,
    #[serde(skip_serializing)]
    service_account_role_ref: Option<Value>,
    tags: Option<Value>,
}

/// A role for one of the add-on's service accounts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Association {
    service_account: Option<String>,
    #[serde(rename = "roleARN")]
    role_arn: Option<String>,
    #[serde(skip_serializing)]
    role_ref: Option<Value>,
}

const FIELDS: &[Field] = &[
    create("spec.name"),
    create_asking("spec.clusterName", Production::Ready),
    create("spec.addonVersion"),
    create("spec.configurationValues"),
    create("spec.podIdentityAssociations"),
    create("spec.resolveConflicts"),
    create("spec.serviceAccountRoleARN"),
    create("spec.tags"),
    only_known("spec.clientRequestToken"),
    only_known("spec.clusterRef"),
    only_known("spec.serviceAccountRoleRef"),
    only_known("spec.podIdentityAssociations[].roleRef"),
];

const FACTS: Facts = Facts {
    support: Support::CarriedOut,
    fields: FIELDS,
    published: &[],
    references: &[
        eks::CLUSTER_NAME,
        eks::CLUSTER_REF,
        eks::role_ref("spec.serviceAccountRoleRef.from.name"),
        eks::role_ref("spec.podIdentityAssociations[].roleRef.from.name"),
    ],
    implied: &[],
};

const UPDATE: &str = "fleetctl does not carry out updates of add-ons yet";

/// How fields are compared. ACK removes associations that the document does not have.
const RULES: &[Rule] = &[
    Rule::replacement("spec.name", How::Exact, "an add-on cannot be renamed"),
    Rule::replacement("spec.clusterName", How::Exact, "an add-on cannot move to another cluster"),
    Rule::not_carried_out("spec.addonVersion", How::Exact, UPDATE),
    Rule::not_carried_out("spec.configurationValues", How::Document, UPDATE),
    Rule::not_carried_out("spec.serviceAccountRoleARN", How::Exact, UPDATE),
    Rule::not_carried_out("spec.podIdentityAssociations", How::Keyed(&["serviceAccount"]), UPDATE).enforced(Absent::Nothing),
    Rule::in_place("spec.resolveConflicts", How::Ignored),
    Rule::in_place("spec.tags", How::Tags),
];

static DESCRIPTION: LazyLock<KindDescription> = LazyLock::new(|| catalog::describe_ack("Addon", &FACTS));

/// `CreateAddon` from a spec, without its token. `PRESERVE` is for updates only: nothing can be preserved of an add-on
/// that is not there, so it is `NONE`.
fn request(spec: &AddonSpec) -> Result<CreateAddonInputBuilder, StepError> {
    let associations = spec.pod_identity_associations.as_ref().map(|list| list.iter().map(association).collect());
    let resolve = spec.resolve_conflicts.as_deref().map(|resolve| if resolve == "PRESERVE" { "NONE" } else { resolve });
    Ok(CreateAddonInputBuilder::default()
        .cluster_name(required(spec.cluster_name.as_ref(), "spec.clusterName")?)
        .addon_name(required(spec.name.as_ref(), "spec.name")?)
        .set_addon_version(spec.addon_version.clone())
        .set_configuration_values(spec.configuration_values.clone())
        .set_service_account_role_arn(spec.service_account_role_arn.clone())
        .set_resolve_conflicts(resolve.map(Into::into))
        .set_pod_identity_associations(associations.transpose()?))
}

fn association(association: &Association) -> Result<AddonPodIdentityAssociations, StepError> {
    let account = required(association.service_account.as_ref(), "spec.podIdentityAssociations[].serviceAccount")?;
    let role = required(association.role_arn.as_ref(), "spec.podIdentityAssociations[].roleARN")?;
    let built = AddonPodIdentityAssociations::builder().service_account(account).role_arn(role).build();
    built.map_err(|error| StepError::Refused(fault("eks", "CreateAddon", "InvalidSpec", error.to_string())))
}

async fn make(cloud: &Cloud, recorder: &Recorder, subject: &Subject, desired: &Value) -> Result<(Record, Observed), StepError> {
    let wanted: AddonSpec = spec(desired).map_err(StepError::Refused)?;
    let tags = tags::wanted(subject, desired);
    let input = request(&wanted)?.set_tags(Some(to_eks(&tags)));
    let writer = &cloud.writers.eks;
    let make = |permit: Permit| {
        let input = input.clone().client_request_token(permit.token());
        async move {
            let answer = writer.create_addon(permit, input).await.map_err(fresh_role)?;
            answer.addon.ok_or_else(|| empty_answer("eks", "CreateAddon"))
        }
    };
    let created = |addon: &aws_sdk_eks::types::Addon| Created { id: id(addon), status: status(subject, addon) };
    let call = creation(subject, "CreateAddon", desired).with_token().patience(eks::patience(subject));
    let (addon, record) = recorder.create(call, make, created).await?;
    let associations = wanted.pod_identity_associations.unwrap_or_default();
    let mut observed = observed(subject, &addon, associations);
    observed.tags = tags;
    Ok((record, observed))
}

fn id(addon: &aws_sdk_eks::types::Addon) -> String {
    eks::id(addon.cluster_name().unwrap_or_default(), addon.addon_name().unwrap_or_default())
}

async fn look(reader: &Reader, subject: &Subject, cluster: &str, name: &str) -> Result<Option<Observed>, CallError> {
    let input = DescribeAddonInputBuilder::default().cluster_name(cluster).addon_name(name);
    let answer = present(reader.describe_addon(input).await)?;
    let Some(addon) = answer.and_then(|answer| answer.addon) else { return Ok(None) };
    let mut associations = Vec::new();
    for arn in addon.pod_identity_associations() {
        associations.extend(owned_association(reader, cluster, arn).await?);
    }
    Ok(Some(observed(subject, &addon, associations)))
}

/// The association of an ARN `…:podidentityassociation/<cluster>/<id>`. One that goes away meanwhile is not there.
async fn owned_association(reader: &Reader, cluster: &str, arn: &str) -> Result<Option<Association>, CallError> {
    let id = arn.rsplit('/').next().unwrap_or(arn);
    let input = DescribePodIdentityAssociationInputBuilder::default().cluster_name(cluster).association_id(id);
    let answer = present(reader.describe_pod_identity_association(input).await)?;
    Ok(answer.and_then(|answer| answer.association).map(|found| Association {
        service_account: found.service_account,
        role_arn: found.role_arn,
        role_ref: None,
    }))
}

fn observed(subject: &Subject, addon: &aws_sdk_eks::types::Addon, associations: Vec<Association>) -> Observed {
    let tags = of_eks(addon.tags());
    let spec = AddonSpec {
        name: addon.addon_name.clone(),
        cluster_name: addon.cluster_name.clone(),
        addon_version: addon.addon_version.clone(),
        configuration_values: addon.configuration_values.clone(),
        pod_identity_associations: Some(associations).filter(|list| !list.is_empty()),
        service_account_role_arn: addon.service_account_role_arn.clone(),
        tags: tags_as_map(&tags),
        ..AddonSpec::default()
    };
    Observed {
        id: id(addon),
        spec: without_nulls(serde_json::to_value(spec).unwrap_or_default()),
        status: status(subject, addon),
        tags,
        readiness: readiness(addon),
    }
}

fn readiness(addon: &aws_sdk_eks::types::Addon) -> Readiness {
    let failed = |state: &AddonStatus| {
        let issues = addon.health().map(AddonHealth::issues).unwrap_or_default();
        eks::failed(state.as_str(), issues.iter().map(|issue| (issue.code().map(AddonIssueCode::as_str), issue.message())))
    };
    match addon.status() {
        Some(AddonStatus::Active) => Readiness::Ready,
        Some(AddonStatus::Deleting) => Readiness::Deleting,
        Some(AddonStatus::Creating | AddonStatus::Updating) | None => {
            Readiness::Waiting(addon.status().map_or("CREATING", AddonStatus::as_str).to_owned())
        }
        Some(
            state @ (AddonStatus::CreateFailed | AddonStatus::Degraded | AddonStatus::DeleteFailed | AddonStatus::UpdateFailed),
        ) => failed(state),
        Some(other) => Readiness::Waiting(other.as_str().to_owned()),
    }
}

fn status(subject: &Subject, addon: &aws_sdk_eks::types::Addon) -> Value {
    let issues = addon.health().map(|health| {
        let issue = |issue: &aws_sdk_eks::types::AddonIssue| {
            json!({
                "code": issue.code().map(AddonIssueCode::as_str),
                "message": issue.message(),
                "resourceIDs": issue.resource_ids.as_ref(),
            })
        };
        json!({ "issues": health.issues().iter().map(issue).collect::<Vec<_>>() })
    });
    let marketplace = addon.marketplace_information();
    without_nulls(json!({
        "ackResourceMetadata": metadata(subject, addon.addon_arn()),
        "status": addon.status().map(AddonStatus::as_str),
        "health": issues,
        "marketplaceInformation": marketplace.map(|found| json!({
            "productID": found.product_id(),
            "productURL": found.product_url(),
        })),
        "owner": addon.owner(),
        "publisher": addon.publisher(),
        "createdAt": addon.created_at().and_then(moment),
        "modifiedAt": addon.modified_at().and_then(moment),
    }))
}

impl Kind for Addon {
    fn description(&self) -> &KindDescription {
        &DESCRIPTION
    }

    fn impossible_values(&self, object: &Value) -> Vec<ImpossibleValue> {
        const NAME: &str = "1 to 100 of A-Z, a-z, 0-9, - and _";
        let in_name = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
        Checker::new(object)
            .texts("spec.name", name(100, in_name, NAME))
            .texts("spec.clusterName", eks::cluster_name)
            .texts("spec.resolveConflicts", one_of(&["NONE", "OVERWRITE", "PRESERVE"]))
            .texts("spec.serviceAccountRoleARN", iam_arn(&["role/"]))
            .texts("spec.podIdentityAssociations[].roleARN", iam_arn(&["role/"]))
            .tags("spec.tags")
            .finish()
    }

    fn typical(&self) -> Typical {
        Typical { create: Duration::from_secs(45), delete: Duration::from_secs(45), limit: Duration::from_mins(20) }
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
        Box::pin(async move {
            let names = (at(desired, "spec.clusterName").as_str(), at(desired, "spec.name").as_str());
            let (Some(cluster), Some(name)) = names else { return Ok(None) };
            look(&readers.eks, subject, cluster, name).await
        })
    }

    fn read<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        Box::pin(async move {
            let (cluster, name) = eks::parts(&record.id)?;
            look(&readers.eks, subject, cluster, name).await
        })
    }

    fn create<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<(Record, Observed), StepError>> {
        Box::pin(make(cloud, recorder, subject, desired))
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
            let changes = compare::tag_changes(&tags::wanted(subject, desired), &observed.tags);
            eks::tags(cloud, recorder, subject, &observed.id, &observed.status, &changes).await
        })
    }

    /// The add-on's software goes too (`preserve` is not set).
    fn delete<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(async move {
            let (cluster, name) = eks::parts(&record.id).map_err(StepError::Refused)?;
            let writer = &cloud.writers.eks;
            let input = DeleteAddonInputBuilder::default().cluster_name(cluster).addon_name(name);
            let make = |permit| writer.delete_addon(permit, input.clone());
            recorder.delete(removal(subject, "DeleteAddon", &record.id), make).await
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
    use aws_sdk_eks::types::AddonIssue;

    fn us() -> Subject {
        subject("eks.services.k8s.aws/v1alpha1", "Addon")
    }

    fn wanted() -> Value {
        json!({
            "apiVersion": "eks.services.k8s.aws/v1alpha1", "kind": "Addon",
            "metadata": {"name": "eks-pod-identity-agent", "namespace": "workload-cluster1"},
            "spec": {
                "name": "eks-pod-identity-agent",
                "addonVersion": "v1.3.4-eksbuild.1",
                "clusterName": "workload-cluster1",
                "configurationValues": "{\"agent\": {\"additionalArgs\": {\"-b\": \"169.254.170.23\"}}}",
                "resolveConflicts": "PRESERVE",
            },
        })
    }

    fn there(state: AddonStatus) -> aws_sdk_eks::types::Addon {
        let issue = AddonIssue::builder().code("ConfigurationConflict".into()).message("in the way").build();
        aws_sdk_eks::types::Addon::builder()
            .addon_name("eks-pod-identity-agent")
            .cluster_name("workload-cluster1")
            .addon_version("v1.3.4-eksbuild.1")
            .addon_arn("arn:aws:eks:us-west-2:111122223333:addon/workload-cluster1/eks-pod-identity-agent/1")
            .configuration_values("agent:\n  additionalArgs:\n    -b: 169.254.170.23\n")
            .status(state)
            .health(AddonHealth::builder().issues(issue).build())
            .set_tags(Some(to_eks(&tags::wanted(&us(), &wanted()))))
            .build()
    }

    #[test]
    fn an_active_add_on_is_as_wanted() {
        let observed = observed(&us(), &there(AddonStatus::Active), Vec::new());
        assert_eq!(Addon.compare(&us(), &wanted(), &observed, None), []);
        assert_eq!((observed.id.as_str(), &observed.readiness), ("workload-cluster1|eks-pod-identity-agent", &Readiness::Ready));
        assert!(observed.status["ackResourceMetadata"]["arn"].is_string());
        assert_eq!(observed.status["status"], "ACTIVE");
    }

    #[test]
    fn failed_states_speak_in_the_words_of_eks() {
        for state in [AddonStatus::CreateFailed, AddonStatus::Degraded, AddonStatus::UpdateFailed, AddonStatus::DeleteFailed] {
            let failed =
                Readiness::Failed { code: "ConfigurationConflict".into(), message: "ConfigurationConflict: in the way".into() };
            assert_eq!(readiness(&there(state)), failed);
        }
        assert_eq!(readiness(&there(AddonStatus::Creating)), Readiness::Waiting("CREATING".into()));
        assert_eq!(readiness(&there(AddonStatus::Deleting)), Readiness::Deleting);
    }

    #[test]
    fn updates_are_refused_by_name() {
        let mut desired = wanted();
        desired["spec"]["addonVersion"] = json!("v1.3.5-eksbuild.1");
        desired["spec"]["configurationValues"] = json!("{}");
        let owned = Association {
            service_account: Some("agent".into()),
            role_arn: Some("arn:aws:iam::111122223333:role/x".into()),
            role_ref: None,
        };
        let observed = observed(&us(), &there(AddonStatus::Active), vec![owned]);
        let changes = Addon.compare(&us(), &desired, &observed, None);
        assert_eq!(paths(&changes), ["spec.addonVersion", "spec.configurationValues", "spec.podIdentityAssociations[agent]"]);
        assert!(changes.iter().all(|change| change.changeability == Changeability::NotCarriedOut && change.reason.is_some()));
    }

    #[test]
    fn nothing_can_be_preserved_of_what_is_not_there() {
        let request = |resolve: &str| {
            let mut desired = wanted();
            desired["spec"]["resolveConflicts"] = json!(resolve);
            let input = request(&spec(&desired).unwrap()).unwrap().build().unwrap();
            input.resolve_conflicts().unwrap().as_str().to_owned()
        };
        assert_eq!(request("PRESERVE"), "NONE");
        assert_eq!(request("OVERWRITE"), "OVERWRITE");
    }

    #[test]
    fn values_that_eks_refuses_are_found() {
        assert_eq!(Addon.impossible_values(&wanted()), []);
        let object = json!({"spec": {"name": "a b", "resolveConflicts": "MAYBE", "serviceAccountRoleARN": "x"}});
        assert_eq!(
            places(&Addon.impossible_values(&object)),
            ["spec.name", "spec.resolveConflicts", "spec.serviceAccountRoleARN"]
        );
    }

    #[test]
    fn it_waits_for_its_cluster() {
        let description = Addon.description();
        assert_eq!(description.field("spec.clusterName").asks, Production::Ready);
        assert!(!description.field("spec.clusterRef.from.name").carried_out);
        assert!(!description.field("spec.podIdentityAssociations[].roleRef").carried_out);
        assert!(description.field("spec.podIdentityAssociations[].roleARN").carried_out);
        assert_eq!(Addon.goes_with().map(|with| with.kind), Some("Cluster"));
    }

    #[test]
    fn the_spec_reads_every_field_of_the_schema() {
        spec::<AddonSpec>(&complete(Addon.description())).unwrap();
    }
}
