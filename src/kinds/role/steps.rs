//! Making a role, and bringing it to what is wanted: exactly the calls that are needed.

use super::spec::RoleSpec;
use super::{differences, read, with_settings};
use crate::aws::error::{CallError, ErrorClass};
use crate::aws::iam::Writer;
use crate::aws::tags::to_iam;
use crate::kinds::kind::{FieldChange, Observed, StepError, Subject};
use crate::kinds::recorder::{Created, Recorder};
use crate::kinds::shared::{change, creation, empty_answer, required, spec, tag_changes, touches};
use crate::kinds::tags;
use crate::state::file::Record;
use aws_sdk_iam::operation::attach_role_policy::builders::AttachRolePolicyInputBuilder;
use aws_sdk_iam::operation::create_role::builders::CreateRoleInputBuilder;
use aws_sdk_iam::operation::delete_role_permissions_boundary::builders::DeleteRolePermissionsBoundaryInputBuilder;
use aws_sdk_iam::operation::delete_role_policy::builders::DeleteRolePolicyInputBuilder;
use aws_sdk_iam::operation::detach_role_policy::builders::DetachRolePolicyInputBuilder;
use aws_sdk_iam::operation::put_role_permissions_boundary::builders::PutRolePermissionsBoundaryInputBuilder;
use aws_sdk_iam::operation::put_role_policy::builders::PutRolePolicyInputBuilder;
use aws_sdk_iam::operation::tag_role::builders::TagRoleInputBuilder;
use aws_sdk_iam::operation::untag_role::builders::UntagRoleInputBuilder;
use aws_sdk_iam::operation::update_assume_role_policy::builders::UpdateAssumeRolePolicyInputBuilder;
use aws_sdk_iam::operation::update_role::builders::UpdateRoleInputBuilder;
use serde_json::Value;

/// How long a session of a role lasts at most, where nobody says otherwise: seconds.
const ONE_HOUR: i32 = 3600;

/// `CreateRole`, with path, boundary and tags in the call.
pub(super) async fn create(
    iam: &Writer,
    recorder: &Recorder,
    subject: &Subject,
    desired: &Value,
) -> Result<(Record, Observed), StepError> {
    let mut wanted: RoleSpec = spec(&with_settings(subject, desired)).map_err(StepError::Refused)?;
    wanted.path = wanted.path.or_else(|| subject.role_path.clone());
    let tags = tags::wanted(subject, desired);
    let input = CreateRoleInputBuilder::default()
        .role_name(required(wanted.name.as_ref(), "spec.name")?)
        .assume_role_policy_document(required(wanted.assume_role_policy_document.as_ref(), "spec.assumeRolePolicyDocument")?)
        .set_description(wanted.description.clone())
        .set_max_session_duration(wanted.max_session_duration)
        .set_path(wanted.path.clone())
        .set_permissions_boundary(wanted.permissions_boundary.clone())
        .set_tags(Some(to_iam(&tags)));
    let call = creation(subject, "CreateRole", desired);
    let names_roles = subject.dependencies.iter().any(|needed| needed.kind == "Role");
    let make = |permit| {
        let input = input.clone();
        async move {
            let answer = iam.create_role(permit, input).await.map_err(|error| principal_unknown(error, names_roles))?;
            answer.role.ok_or_else(|| empty_answer("iam", "CreateRole"))
        }
    };
    let created = |role: &aws_sdk_iam::types::Role| Created { id: role.role_name.clone(), status: read::status(subject, role) };
    let (role, record) = recorder.create(call, make, created).await?;
    // What IAM accepted is there; its policies are not yet. What was not asked for has IAM's default.
    let told = read::spec_of(&role);
    let there = RoleSpec {
        description: wanted.description.or(told.description),
        max_session_duration: wanted.max_session_duration.or(told.max_session_duration).or(Some(ONE_HOUR)),
        path: wanted.path.or(told.path),
        policies: None,
        inline_policies: None,
        ..wanted
    };
    Ok((record, read::observed(subject, &role, &there, tags)))
}

/// A trust policy may name a role that was made a moment ago, which IAM refuses until it sees that role. Without such a
/// dependency it is a mistake, and waiting does not help.
fn principal_unknown(error: CallError, names_roles: bool) -> CallError {
    let misnamed = error.code.starts_with("MalformedPolicyDocument") && error.class == ErrorClass::NotYet;
    if misnamed && !names_roles { error.meaning(ErrorClass::Final) } else { error }
}

/// New policies before stale ones go, then inline policies, tags, boundary, trust policy, description and duration.
pub(super) async fn configure(
    iam: &Writer,
    recorder: &Recorder,
    subject: &Subject,
    desired: &Value,
    observed: &Observed,
) -> Result<(), StepError> {
    let changes = differences(subject, desired, observed);
    let step = Step { iam, recorder, subject, role: &observed.id };
    let wanted: RoleSpec = spec(&with_settings(subject, desired)).map_err(StepError::Refused)?;
    let there: RoleSpec = spec(&serde_json::json!({ "spec": observed.spec })).map_err(StepError::Refused)?;
    if touches(&changes, "spec.policies") {
        step.policies(&wanted.policies.clone().unwrap_or_default(), &there.policies.clone().unwrap_or_default()).await?;
    }
    step.inline_policies(&changes).await?;
    step.tags(&changes).await?;
    if touches(&changes, "spec.permissionsBoundary") {
        step.boundary(wanted.permissions_boundary.as_deref()).await?;
    }
    if let (true, Some(document)) = (touches(&changes, "spec.assumeRolePolicyDocument"), &wanted.assume_role_policy_document) {
        step.trust(document).await?;
    }
    if touches(&changes, "spec.description") || touches(&changes, "spec.maxSessionDuration") {
        step.attributes(wanted, there).await?;
    }
    Ok(())
}

/// Makes one call of IAM, recorded. The input is made anew for each attempt.
macro_rules! call {
    ($step:ident, $operation:literal, $method:ident, $input:expr) => {{
        let input = $input.role_name($step.role);
        let make = |permit| {
            let input = input.clone();
            async move { $step.iam.$method(permit, input).await }
        };
        $step.recorder.call(change($step.subject, $operation, $step.role), make).await.map(|_| ())
    }};
}

/// The role that is being changed.
struct Step<'a> {
    iam: &'a Writer,
    recorder: &'a Recorder,
    subject: &'a Subject,
    role: &'a str,
}

impl Step<'_> {
    async fn policies(&self, wanted: &[String], there: &[String]) -> Result<(), StepError> {
        for (index, policy) in wanted.iter().enumerate() {
            if !there.contains(policy) && !wanted[..index].contains(policy) {
                let input = AttachRolePolicyInputBuilder::default().policy_arn(policy);
                call!(self, "AttachRolePolicy", attach_role_policy, input)?;
            }
        }
        for policy in there.iter().filter(|policy| !wanted.contains(policy)) {
            let input = DetachRolePolicyInputBuilder::default().policy_arn(policy);
            call!(self, "DetachRolePolicy", detach_role_policy, input)?;
        }
        Ok(())
    }

    async fn inline_policies(&self, changes: &[FieldChange]) -> Result<(), StepError> {
        let named = changes.iter().filter_map(|change| {
            let name = change.path.strip_prefix("spec.inlinePolicies[")?.strip_suffix(']')?;
            Some((name, change.after.as_str()))
        });
        for (name, document) in named {
            if let Some(document) = document {
                let input = PutRolePolicyInputBuilder::default().policy_name(name).policy_document(document);
                call!(self, "PutRolePolicy", put_role_policy, input)?;
            } else {
                let input = DeleteRolePolicyInputBuilder::default().policy_name(name);
                call!(self, "DeleteRolePolicy", delete_role_policy, input)?;
            }
        }
        Ok(())
    }

    async fn tags(&self, changes: &[FieldChange]) -> Result<(), StepError> {
        let (set, remove) = tag_changes(changes);
        if !set.is_empty() {
            let input = TagRoleInputBuilder::default().set_tags(Some(to_iam(&set)));
            call!(self, "TagRole", tag_role, input)?;
        }
        if !remove.is_empty() {
            let input = UntagRoleInputBuilder::default().set_tag_keys(Some(remove));
            call!(self, "UntagRole", untag_role, input)?;
        }
        Ok(())
    }

    async fn boundary(&self, wanted: Option<&str>) -> Result<(), StepError> {
        if let Some(boundary) = wanted {
            let input = PutRolePermissionsBoundaryInputBuilder::default().permissions_boundary(boundary);
            call!(self, "PutRolePermissionsBoundary", put_role_permissions_boundary, input)
        } else {
            let input = DeleteRolePermissionsBoundaryInputBuilder::default();
            call!(self, "DeleteRolePermissionsBoundary", delete_role_permissions_boundary, input)
        }
    }

    async fn trust(&self, document: &str) -> Result<(), StepError> {
        let input = UpdateAssumeRolePolicyInputBuilder::default().policy_document(document);
        call!(self, "UpdateAssumeRolePolicy", update_assume_role_policy, input)
    }

    /// `UpdateRole` gives the default of one hour to a duration that it is not told, so both go along.
    async fn attributes(&self, wanted: RoleSpec, there: RoleSpec) -> Result<(), StepError> {
        let input = UpdateRoleInputBuilder::default()
            .set_description(wanted.description.or(there.description))
            .set_max_session_duration(wanted.max_session_duration.or(there.max_session_duration));
        call!(self, "UpdateRole", update_role, input)
    }
}
