//! Deleting a role.

use super::read;
use crate::aws::error::CallError;
use crate::kinds::kind::{Cloud, StepError, Subject};
use crate::kinds::recorder::Recorder;
use crate::kinds::shared::{part_removal, present, removal};
use aws_sdk_iam::operation::delete_role::builders::DeleteRoleInputBuilder;
use aws_sdk_iam::operation::delete_role_policy::builders::DeleteRolePolicyInputBuilder;
use aws_sdk_iam::operation::detach_role_policy::builders::DetachRolePolicyInputBuilder;
use aws_sdk_iam::operation::list_instance_profiles_for_role::builders::ListInstanceProfilesForRoleInputBuilder;
use std::time::Duration;

/// IAM's code while something still holds the role.
const CONFLICT: &str = "DeleteConflict";

/// The instance profiles of a deleted cluster's nodes vanish within a few minutes.
const PATIENCE: Duration = Duration::from_mins(5);

/// Detaches its policies, deletes its inline policies, and deletes it. EKS Auto Mode makes instance profiles for a node
/// role, and they vanish some time after the cluster: that conflict passes; what is left then is named.
pub(super) async fn role(cloud: &Cloud, recorder: &Recorder, subject: &Subject, name: &str) -> Result<(), StepError> {
    let (reader, writer) = (&cloud.readers.iam, &cloud.writers.iam);
    let attached = present(read::attached_policies(reader, name).await).map_err(StepError::Refused)?;
    for policy in attached.unwrap_or_default() {
        let input = DetachRolePolicyInputBuilder::default().role_name(name).policy_arn(policy);
        let make = |permit| {
            let input = input.clone();
            async move { writer.detach_role_policy(permit, input).await }
        };
        recorder.delete(part_removal(subject, "DetachRolePolicy", name), make).await?;
    }
    let inline = present(read::inline_policy_names(reader, name).await).map_err(StepError::Refused)?;
    for policy in inline.unwrap_or_default() {
        let input = DeleteRolePolicyInputBuilder::default().role_name(name).policy_name(policy);
        let make = |permit| {
            let input = input.clone();
            async move { writer.delete_role_policy(permit, input).await }
        };
        recorder.delete(part_removal(subject, "DeleteRolePolicy", name), make).await?;
    }
    let make = |permit| writer.delete_role(permit, DeleteRoleInputBuilder::default().role_name(name));
    match recorder.delete(removal(subject, "DeleteRole", name).patience(PATIENCE), make).await {
        Err(StepError::Refused(error)) if is_conflict(&error) => Err(StepError::Refused(explained(cloud, name, error).await)),
        other => other,
    }
}

/// `DeleteConflictException` in the SDK's naming, `DeleteConflict` on the wire.
fn is_conflict(error: &CallError) -> bool {
    error.code.starts_with(CONFLICT)
}

/// The conflict, with what holds the role.
async fn explained(cloud: &Cloud, name: &str, error: CallError) -> CallError {
    let input = ListInstanceProfilesForRoleInputBuilder::default().role_name(name);
    // Reading is only to say more: if it fails, IAM's own words have to do.
    let profiles = match cloud.readers.iam.list_instance_profiles_for_role(input).await {
        Ok(answer) => answer.instance_profiles,
        Err(_) => return error,
    };
    let names: Vec<String> = profiles.into_iter().map(|profile| profile.instance_profile_name).collect();
    with_profiles(error, name, &names)
}

fn with_profiles(error: CallError, name: &str, profiles: &[String]) -> CallError {
    if profiles.is_empty() {
        return error;
    }
    let message = format!(
        "the role {name} is still in {} {}, which EKS or somebody else made: take the role out of \
         them (RemoveRoleFromInstanceProfile) and delete again. IAM says: {}",
        if profiles.len() == 1 { "the instance profile" } else { "the instance profiles" },
        profiles.join(", "),
        error.message
    );
    CallError { message, ..error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::shared::fault;

    #[test]
    fn a_conflict_names_what_is_left() {
        let error = fault("iam", "DeleteRole", "DeleteConflict", "must remove roles from instance profile first.".to_owned());
        assert!(is_conflict(&error));
        assert_eq!(with_profiles(error.clone(), "node", &[]), error);
        let named = with_profiles(error, "node", &["eks-1".to_owned(), "eks-2".to_owned()]);
        assert!(named.message.contains("node is still in the instance profiles eks-1, eks-2"), "{}", named.message);
        assert!(named.message.contains("must remove roles"), "{}", named.message);
    }
}
