//! Making an access entry, and bringing it to what is wanted.

use super::{AccessPolicy, EntrySpec, POLICIES, RULES, id, observed, status};
use crate::aws::eks::Writer;
use crate::aws::error::CallError;
use crate::aws::tags::to_eks;
use crate::kinds::kind::{Cloud, FieldChange, Observed, StepError, Subject};
use crate::kinds::recorder::{Created, Recorder};
use crate::kinds::shared::{change, creation, empty_answer, part_removal, required, spec, touches};
use crate::kinds::{compare, eks, tags};
use crate::state::file::Record;
use crate::state::journal::Permit;
use aws_sdk_eks::operation::associate_access_policy::builders::AssociateAccessPolicyInputBuilder;
use aws_sdk_eks::operation::create_access_entry::builders::CreateAccessEntryInputBuilder;
use aws_sdk_eks::operation::disassociate_access_policy::builders::DisassociateAccessPolicyInputBuilder;
use aws_sdk_eks::operation::update_access_entry::builders::UpdateAccessEntryInputBuilder;
use aws_sdk_eks::types::AccessScope;
use serde_json::{Value, json};

/// `CreateAccessEntry`, with a client token.
pub(super) async fn create(
    writer: &Writer,
    recorder: &Recorder,
    subject: &Subject,
    desired: &Value,
) -> Result<(Record, Observed), StepError> {
    let wanted: EntrySpec = spec(desired).map_err(StepError::Refused)?;
    let tags = tags::wanted(subject, desired);
    let input = CreateAccessEntryInputBuilder::default()
        .cluster_name(required(wanted.cluster_name.as_ref(), "spec.clusterName")?)
        .principal_arn(required(wanted.principal_arn.as_ref(), "spec.principalARN")?)
        .set_type(wanted.r#type.clone())
        .set_username(wanted.username.clone())
        .set_kubernetes_groups(wanted.kubernetes_groups.clone())
        .set_tags(Some(to_eks(&tags)));
    let make = |permit: Permit| {
        let input = input.clone().client_request_token(permit.token());
        async move {
            let answer = writer.create_access_entry(permit, input).await?;
            answer.access_entry.ok_or_else(|| empty_answer("eks", "CreateAccessEntry"))
        }
    };
    let created = |entry: &aws_sdk_eks::types::AccessEntry| Created { id: id(entry), status: status(subject, entry) };
    let call = creation(subject, "CreateAccessEntry", desired).with_token().patience(eks::patience(subject));
    let principal = wanted.principal_arn.as_deref().unwrap_or_default();
    let answer = recorder.create(call, make, created).await;
    let (entry, record) = answer.map_err(|error| unknown_principal(error, principal))?;
    let mut observed = observed(subject, &entry, &[]);
    observed.tags = tags;
    Ok((record, observed))
}

/// EKS does not say which principal it does not know.
fn unknown_principal(error: StepError, principal: &str) -> StepError {
    match error {
        StepError::Refused(error) if error.message.contains("invalid principal") => {
            let message = format!("{} (IAM has no {principal}, or EKS does not see it yet)", error.message);
            StepError::Refused(CallError { message, ..error })
        }
        other => other,
    }
}

/// Access policies, then groups and user name, then tags.
pub(super) async fn configure(
    cloud: &Cloud,
    recorder: &Recorder,
    subject: &Subject,
    desired: &Value,
    observed: &Observed,
) -> Result<(), StepError> {
    let changes = compare::object(RULES, subject, desired, observed, None);
    let (cluster, principal) = eks::parts(&observed.id).map_err(StepError::Refused)?;
    let entry = Entry { writer: &cloud.writers.eks, recorder, subject, id: &observed.id, cluster, principal };
    entry.policies(&changes).await?;
    if touches(&changes, "spec.username") || touches(&changes, "spec.kubernetesGroups") {
        let wanted: EntrySpec = spec(desired).map_err(StepError::Refused)?;
        let there: EntrySpec = spec(&json!({ "spec": observed.spec })).map_err(StepError::Refused)?;
        entry.update(wanted, there).await?;
    }
    eks::tags(cloud, recorder, subject, &observed.id, &observed.status, &changes).await
}

/// The entry that is being changed.
struct Entry<'a> {
    writer: &'a Writer,
    recorder: &'a Recorder,
    subject: &'a Subject,
    id: &'a str,
    cluster: &'a str,
    principal: &'a str,
}

impl Entry<'_> {
    /// New and re-scoped policies first: associating a policy again overwrites its scope, so nobody loses access in
    /// between.
    async fn policies(&self, changes: &[FieldChange]) -> Result<(), StepError> {
        let (removed, associated) = policy_changes(changes)?;
        for policy in &associated {
            self.associate(policy).await?;
        }
        for arn in removed {
            self.disassociate(&arn).await?;
        }
        Ok(())
    }

    async fn associate(&self, policy: &AccessPolicy) -> Result<(), StepError> {
        let scope = policy.access_scope.clone().unwrap_or_default();
        let scope =
            AccessScope::builder().set_type(scope.r#type.as_deref().map(Into::into)).set_namespaces(scope.namespaces).build();
        let input = AssociateAccessPolicyInputBuilder::default()
            .cluster_name(self.cluster)
            .principal_arn(self.principal)
            .policy_arn(required(policy.policy_arn.as_ref(), "spec.accessPolicies[].policyARN")?)
            .access_scope(scope);
        let make = |permit| self.writer.associate_access_policy(permit, input.clone());
        self.recorder.call(change(self.subject, "AssociateAccessPolicy", self.id), make).await.map(drop)
    }

    async fn disassociate(&self, arn: &str) -> Result<(), StepError> {
        let input = DisassociateAccessPolicyInputBuilder::default()
            .cluster_name(self.cluster)
            .principal_arn(self.principal)
            .policy_arn(arn);
        let make = |permit| self.writer.disassociate_access_policy(permit, input.clone());
        self.recorder.delete(part_removal(self.subject, "DisassociateAccessPolicy", self.id), make).await
    }

    /// Groups that the document does not give are sent as they are; a user name that it does not give is EKS's.
    async fn update(&self, wanted: EntrySpec, there: EntrySpec) -> Result<(), StepError> {
        let input = UpdateAccessEntryInputBuilder::default()
            .cluster_name(self.cluster)
            .principal_arn(self.principal)
            .set_kubernetes_groups(wanted.kubernetes_groups.or(there.kubernetes_groups))
            .set_username(wanted.username);
        let make = |permit: Permit| {
            let input = input.clone().client_request_token(permit.token());
            self.writer.update_access_entry(permit, input)
        };
        self.recorder.call(change(self.subject, "UpdateAccessEntry", self.id), make).await.map(drop)
    }
}

/// ARNs of policies to take away, and policies to associate, in the document's order.
pub(super) fn policy_changes(changes: &[FieldChange]) -> Result<(Vec<String>, Vec<AccessPolicy>), StepError> {
    let (mut removed, mut associated) = (Vec::new(), Vec::new());
    for change in changes.iter().filter(|change| change.path.starts_with(POLICIES)) {
        if change.after.is_null() {
            removed.extend(change.before["policyARN"].as_str().map(str::to_owned));
        } else {
            associated.push(spec(&json!({ "spec": change.after })).map_err(StepError::Refused)?);
        }
    }
    Ok((removed, associated))
}
