//! EKS access entries (ACK's `AccessEntry`), found by their cluster and principal.
//!
//! An entry is made when its cluster is ACTIVE; its access policies follow at once, and only then its ARN is told: who
//! reads it wants access. Entries go with their cluster.
//!
//! EKS makes entries by itself: for the principal that made the cluster, and for the node role of Auto Mode. They bear no
//! tags; when the graph wants an entry for that very principal, it is taken over ([`Kind::adoptable_without_marks`]).

mod steps;

use super::catalog::{self, Facts};
use super::compare::{self, Absent, How, Rule, at};
use super::eks;
use super::kind::{Cloud, FieldChange, GoesWith, Kind, Observed, Readers, Readiness, StepError, Subject, Typical};
use super::recorder::Recorder;
use super::shared::{
    as_wanted, configure, create, create_asking, metadata, moment, only_known, present, removal, tags_as_map, without_nulls,
};
use super::values::{Checker, Wrong, iam_arn, one_of};
use crate::aws::eks::Reader;
use crate::aws::error::CallError;
use crate::aws::pages::pages;
use crate::aws::tags::of_eks;
use crate::graph::catalog::{Field, ImpossibleValue, KindDescription, Production, Support};
use crate::state::file::Record;
use aws_sdk_eks::operation::delete_access_entry::builders::DeleteAccessEntryInputBuilder;
use aws_sdk_eks::operation::describe_access_entry::builders::DescribeAccessEntryInputBuilder;
use aws_sdk_eks::operation::list_associated_access_policies::builders::ListAssociatedAccessPoliciesInputBuilder;
use aws_sdk_eks::types::AssociatedAccessPolicy;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::Duration;

/// An EKS access entry.
#[derive(Debug, Clone, Copy, Default)]
pub struct AccessEntry;

/// `spec`, with ACK's field names. Fields that are not carried out are read, so that they are told from misspelt ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct EntrySpec {
    cluster_name: Option<String>,
    #[serde(skip_serializing)]
    cluster_ref: Option<Value>,
    #[serde(rename = "principalARN")]
    principal_arn: Option<String>,
    r#type: Option<String>,
    username: Option<String>,
    kubernetes_groups: Option<Vec<String>>,
    access_policies: Option<Vec<AccessPolicy>>,
    tags: Option<Value>,
}

/// An access policy, and where it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct AccessPolicy {
    #[serde(rename = "policyARN")]
    policy_arn: Option<String>,
    access_scope: Option<Scope>,
}

/// The whole cluster, or some of its namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Scope {
    r#type: Option<String>,
    namespaces: Option<Vec<String>>,
}

const FIELDS: &[Field] = &[
    create_asking("spec.clusterName", Production::Ready),
    create("spec.principalARN"),
    create("spec.type"),
    create("spec.username"),
    create("spec.kubernetesGroups"),
    create("spec.tags"),
    configure("spec.accessPolicies"),
    only_known("spec.clusterRef"),
];

const FACTS: Facts = Facts {
    support: Support::CarriedOut,
    fields: FIELDS,
    published: &[("status.ackResourceMetadata.arn", Production::Configured)],
    references: &[eks::CLUSTER_NAME, eks::CLUSTER_REF],
    implied: &[],
};

const POLICIES: &str = "spec.accessPolicies";

/// How fields are compared. ACK takes access policies away that the document does not have; a user name that the document
/// does not give is EKS's to choose.
const RULES: &[Rule] = &[
    Rule::replacement("spec.clusterName", How::Exact, "an access entry cannot move to another cluster"),
    Rule::replacement("spec.principalARN", How::Exact, "an access entry cannot be given to another principal"),
    Rule::replacement("spec.type", How::Exact, "the type of an access entry cannot be changed"),
    Rule::in_place("spec.username", How::Exact),
    Rule::in_place("spec.kubernetesGroups", How::Set),
    Rule::in_place(POLICIES, How::Keyed(&["policyARN"])).enforced(Absent::Nothing),
    Rule::in_place("spec.tags", How::Tags),
];

/// The types of entries that take access policies (EKS user guide).
const WITH_POLICIES: [&str; 2] = ["STANDARD", "EC2"];

/// The policy that EKS associates for the principal that made a cluster.
const CREATORS_POLICY: &str = ":cluster-access-policy/AmazonEKSClusterAdminPolicy";

static DESCRIPTION: LazyLock<KindDescription> = LazyLock::new(|| catalog::describe_ack("AccessEntry", &FACTS));

async fn look(reader: &Reader, subject: &Subject, cluster: &str, principal: &str) -> Result<Option<Observed>, CallError> {
    let input = DescribeAccessEntryInputBuilder::default().cluster_name(cluster).principal_arn(principal);
    let answer = present(reader.describe_access_entry(input).await)?;
    let Some(entry) = answer.and_then(|answer| answer.access_entry) else { return Ok(None) };
    // An entry that goes away between the calls is not there.
    let policies = present(policies(reader, cluster, principal).await)?;
    Ok(policies.map(|policies| observed(subject, &entry, &policies)))
}

async fn policies(reader: &Reader, cluster: &str, principal: &str) -> Result<Vec<AssociatedAccessPolicy>, CallError> {
    pages(|token| async {
        let input = ListAssociatedAccessPoliciesInputBuilder::default()
            .cluster_name(cluster)
            .principal_arn(principal)
            .set_next_token(token);
        let page = reader.list_associated_access_policies(input).await?;
        Ok((page.associated_access_policies.unwrap_or_default(), page.next_token))
    })
    .await
}

fn policy(policy: &AssociatedAccessPolicy) -> AccessPolicy {
    let scope = policy.access_scope().map(|scope| Scope {
        r#type: scope.r#type().map(|kind| kind.as_str().to_owned()),
        namespaces: scope.namespaces.clone().filter(|names| !names.is_empty()),
    });
    AccessPolicy { policy_arn: policy.policy_arn.clone(), access_scope: scope }
}

fn observed(subject: &Subject, entry: &aws_sdk_eks::types::AccessEntry, policies: &[AssociatedAccessPolicy]) -> Observed {
    let tags = of_eks(entry.tags());
    let spec = EntrySpec {
        cluster_name: entry.cluster_name.clone(),
        cluster_ref: None,
        principal_arn: entry.principal_arn.clone(),
        r#type: entry.r#type.clone(),
        username: entry.username.clone(),
        kubernetes_groups: entry.kubernetes_groups.clone().filter(|groups| !groups.is_empty()),
        access_policies: Some(policies.iter().map(policy).collect::<Vec<_>>()).filter(|list| !list.is_empty()),
        tags: tags_as_map(&tags),
    };
    Observed {
        id: id(entry),
        spec: without_nulls(serde_json::to_value(spec).unwrap_or_default()),
        status: status(subject, entry),
        tags,
        readiness: Readiness::Ready,
    }
}

fn id(entry: &aws_sdk_eks::types::AccessEntry) -> String {
    eks::id(entry.cluster_name().unwrap_or_default(), entry.principal_arn().unwrap_or_default())
}

fn status(subject: &Subject, entry: &aws_sdk_eks::types::AccessEntry) -> Value {
    without_nulls(json!({
        "ackResourceMetadata": metadata(subject, entry.access_entry_arn()),
        "createdAt": entry.created_at().and_then(moment),
        "modifiedAt": entry.modified_at().and_then(moment),
    }))
}

/// Whether EKS may have made the entry by itself. Those bear no tags; the creator's has the policy for the whole cluster
/// and nothing else, a node role's is of a node type.
fn made_by_eks(observed: &Observed) -> bool {
    let bare = observed.tags.keys().all(|key| key.starts_with("aws:"));
    let kind = at(&observed.spec, "type").as_str().unwrap_or("STANDARD");
    let policies = at(&observed.spec, "accessPolicies").as_array().map(Vec::as_slice).unwrap_or_default();
    let creators = match policies {
        [only] => {
            only["policyARN"].as_str().is_some_and(|arn| arn.ends_with(CREATORS_POLICY))
                && only["accessScope"]["type"].as_str() == Some("cluster")
                && at(&observed.spec, "kubernetesGroups").is_null()
        }
        _ => false,
    };
    bare && (kind != "STANDARD" || creators)
}

impl Kind for AccessEntry {
    fn description(&self) -> &KindDescription {
        &DESCRIPTION
    }

    fn impossible_values(&self, object: &Value) -> Vec<ImpossibleValue> {
        Checker::new(object)
            .texts("spec.clusterName", eks::cluster_name)
            .texts("spec.principalARN", principal)
            .texts("spec.type", one_of(TYPES))
            .texts("spec.kubernetesGroups[]", group)
            .texts("spec.accessPolicies[].policyARN", access_policy)
            .texts("spec.accessPolicies[].accessScope.type", one_of(&["cluster", "namespace"]))
            .values("spec", policies_fit_the_type)
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
        Box::pin(async move {
            let names = (at(desired, "spec.clusterName").as_str(), at(desired, "spec.principalARN").as_str());
            let (Some(cluster), Some(principal)) = names else { return Ok(None) };
            look(&readers.eks, subject, cluster, principal).await
        })
    }

    fn read<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        Box::pin(async move {
            let (cluster, principal) = eks::parts(&record.id)?;
            look(&readers.eks, subject, cluster, principal).await
        })
    }

    fn create<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<(Record, Observed), StepError>> {
        Box::pin(steps::create(&cloud.writers.eks, recorder, subject, desired))
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

    fn configured(&self, _subject: &Subject, desired: &Value, observed: &Observed) -> Option<Observed> {
        Some(as_wanted(desired, observed))
    }

    /// The access policies go with the entry.
    fn delete<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(async move {
            let (cluster, principal) = eks::parts(&record.id).map_err(StepError::Refused)?;
            let writer = &cloud.writers.eks;
            let input = DeleteAccessEntryInputBuilder::default().cluster_name(cluster).principal_arn(principal);
            let make = |permit| writer.delete_access_entry(permit, input.clone());
            recorder.delete(removal(subject, "DeleteAccessEntry", &record.id), make).await
        })
    }

    fn adoptable_without_marks(&self, observed: &Observed) -> bool {
        made_by_eks(observed)
    }

    fn goes_with(&self) -> Option<GoesWith> {
        Some(eks::WITH_CLUSTER)
    }
}

/// The types that EKS knows (EKS API, `CreateAccessEntry`).
const TYPES: &[&str] = &["STANDARD", "EC2", "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX", "HYBRID_LINUX", "HYPERPOD_LINUX"];

/// A role or user of IAM. EKS takes no service-linked roles.
fn principal(arn: &str) -> Option<Wrong> {
    let linked = arn.contains(":role/aws-service-role/");
    iam_arn(&["role/", "user/"])(arn)
        .or_else(|| linked.then(|| Wrong::new(format!("`{arn}` is a service-linked role"), "another role, or a user")))
}

fn group(name: &str) -> Option<Wrong> {
    name.starts_with("system:")
        .then(|| Wrong::new(format!("EKS does not take the group `{name}`"), "a group that does not begin with system:"))
}

fn access_policy(arn: &str) -> Option<Wrong> {
    let fits = arn.starts_with("arn:aws") && arn.contains(":eks::aws:cluster-access-policy/");
    (!fits).then(|| {
        let message = format!("`{arn}` is not the ARN of an access policy");
        Wrong::new(message, "arn:aws:eks::aws:cluster-access-policy/…")
    })
}

/// Access policies are for principals, not for nodes; a scope names namespaces exactly when it is of that type.
fn policies_fit_the_type(spec: &Value) -> Option<Wrong> {
    let policies = spec["accessPolicies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let kind = spec["type"].as_str().unwrap_or("STANDARD");
    if !policies.is_empty() && !WITH_POLICIES.contains(&kind) {
        return Some(Wrong::new(format!("an access entry of type {kind} takes no access policies"), "type STANDARD or EC2"));
    }
    policies.iter().find_map(|policy| {
        let scope = &policy["accessScope"];
        let named = scope["namespaces"].as_array().is_some_and(|names| !names.is_empty());
        (scope["type"].as_str() == Some("cluster") && named)
            .then(|| Wrong::new("a scope of type cluster names namespaces", "type namespace, or no namespaces"))
    })
}

#[cfg(test)]
mod tests;
