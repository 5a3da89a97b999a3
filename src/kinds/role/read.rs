//! Reading a role.

use super::spec::RoleSpec;
use crate::aws::error::CallError;
use crate::aws::iam::Reader;
use crate::aws::pages::pages;
use crate::aws::tags::of_iam;
use crate::kinds::kind::{Observed, Readiness, Subject};
use crate::kinds::policy_document::decoded;
use crate::kinds::shared::{empty_answer, metadata, moment, present, tags_as_list, without_nulls};
use aws_sdk_iam::operation::get_role::builders::GetRoleInputBuilder;
use aws_sdk_iam::operation::get_role_policy::builders::GetRolePolicyInputBuilder;
use aws_sdk_iam::operation::list_attached_role_policies::builders::ListAttachedRolePoliciesInputBuilder;
use aws_sdk_iam::operation::list_role_policies::builders::ListRolePoliciesInputBuilder;
use aws_sdk_iam::operation::list_role_tags::builders::ListRoleTagsInputBuilder;
use aws_sdk_iam::types::Role;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The role of a name, with its policies and tags.
pub(super) async fn role(iam: &Reader, subject: &Subject, name: &str) -> Result<Option<Observed>, CallError> {
    let Some(answer) = present(iam.get_role(GetRoleInputBuilder::default().role_name(name)).await)? else {
        return Ok(None);
    };
    let role = answer.role.ok_or_else(|| empty_answer("iam", "GetRole"))?;
    // A role that goes away between two calls is not there.
    let (attached, inline, tags) = (attached_policies(iam, name), inline_policies(iam, name), tags(iam, &role));
    let policies = present(futures::try_join!(Box::pin(attached), Box::pin(inline), Box::pin(tags)))?;
    Ok(policies.map(|(attached, inline, tags)| {
        let spec = RoleSpec {
            policies: Some(attached),
            inline_policies: Some(inline).filter(|policies| !policies.is_empty()),
            ..spec_of(&role)
        };
        observed(subject, &role, &spec, tags)
    }))
}

/// The role of a name with its tags, without its policies.
pub(super) async fn bare_role(iam: &Reader, subject: &Subject, name: &str) -> Result<Option<Observed>, CallError> {
    let Some(answer) = present(iam.get_role(GetRoleInputBuilder::default().role_name(name)).await)? else {
        return Ok(None);
    };
    let role = answer.role.ok_or_else(|| empty_answer("iam", "GetRole"))?;
    let tags = present(tags(iam, &role).await)?;
    Ok(tags.map(|tags| observed(subject, &role, &spec_of(&role), tags)))
}

/// The ARNs of the managed policies that are attached.
pub(super) async fn attached_policies(iam: &Reader, name: &str) -> Result<Vec<String>, CallError> {
    let policies = pages(|marker| async {
        let input = ListAttachedRolePoliciesInputBuilder::default().role_name(name).set_marker(marker);
        let page = iam.list_attached_role_policies(input).await?;
        Ok((page.attached_policies.unwrap_or_default(), page.marker.filter(|_| page.is_truncated)))
    });
    Ok(policies.await?.into_iter().filter_map(|policy| policy.policy_arn).collect())
}

/// The names of the inline policies.
pub(super) async fn inline_policy_names(iam: &Reader, name: &str) -> Result<Vec<String>, CallError> {
    pages(|marker| async {
        let input = ListRolePoliciesInputBuilder::default().role_name(name).set_marker(marker);
        let page = iam.list_role_policies(input).await?;
        Ok((page.policy_names, page.marker.filter(|_| page.is_truncated)))
    })
    .await
}

async fn inline_policies(iam: &Reader, name: &str) -> Result<BTreeMap<String, String>, CallError> {
    let mut found = BTreeMap::new();
    for policy in inline_policy_names(iam, name).await? {
        let input = GetRolePolicyInputBuilder::default().role_name(name).policy_name(&policy);
        let document = iam.get_role_policy(input).await?.policy_document;
        found.insert(policy, decoded(&document).into_owned());
    }
    Ok(found)
}

/// `GetRole` answers with the tags; only a role that seems to have none is asked for them.
async fn tags(iam: &Reader, role: &Role) -> Result<BTreeMap<String, String>, CallError> {
    if !role.tags().is_empty() {
        return Ok(of_iam(role.tags()));
    }
    let tags = pages(|marker| async {
        let input = ListRoleTagsInputBuilder::default().role_name(&role.role_name).set_marker(marker);
        let page = iam.list_role_tags(input).await?;
        Ok((page.tags, page.marker.filter(|_| page.is_truncated)))
    });
    Ok(of_iam(&tags.await?))
}

pub(super) fn spec_of(role: &Role) -> RoleSpec {
    let boundary = role.permissions_boundary.as_ref();
    RoleSpec {
        name: Some(role.role_name.clone()),
        assume_role_policy_document: role.assume_role_policy_document.as_deref().map(|text| decoded(text).into_owned()),
        // IAM leaves an empty description out.
        description: Some(role.description.clone().unwrap_or_default()),
        max_session_duration: role.max_session_duration,
        path: Some(role.path.clone()),
        permissions_boundary: boundary.and_then(|boundary| boundary.permissions_boundary_arn.clone()),
        ..RoleSpec::default()
    }
}

/// The observed object. A role that is there can be used: what it takes until other services see it is their answer to
/// give.
pub(super) fn observed(subject: &Subject, role: &Role, spec: &RoleSpec, tags: BTreeMap<String, String>) -> Observed {
    let spec = RoleSpec { tags: tags_as_list(&tags), ..spec.clone() };
    Observed {
        id: role.role_name.clone(),
        spec: without_nulls(serde_json::to_value(spec).unwrap_or_default()),
        status: status(subject, role),
        tags,
        readiness: Readiness::Ready,
    }
}

/// `status` in ACK's shape.
pub(super) fn status(subject: &Subject, role: &Role) -> Value {
    let last_used = role.role_last_used.as_ref().filter(|used| used.last_used_date.is_some());
    without_nulls(json!({
        "ackResourceMetadata": metadata(subject, Some(&role.arn)),
        "roleID": role.role_id,
        "createDate": moment(&role.create_date),
        "roleLastUsed": last_used.map(|used| json!({
            "lastUsedDate": used.last_used_date.as_ref().and_then(moment),
            "region": used.region,
        })),
    }))
}
