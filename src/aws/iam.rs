//! IAM, as far as fleetctl calls it.

use super::limits::Limits;
use super::operations::{reads, writes};

/// Reads IAM in one account.
#[derive(Debug, Clone)]
pub struct Reader {
    client: aws_sdk_iam::Client,
    limits: Limits,
}

/// Changes IAM in one account.
#[derive(Debug, Clone)]
pub struct Writer {
    client: aws_sdk_iam::Client,
    limits: Limits,
}

impl Reader {
    pub(super) fn new(client: aws_sdk_iam::Client, limits: Limits) -> Self {
        Self { client, limits }
    }
}

impl Writer {
    pub(super) fn new(client: aws_sdk_iam::Client, limits: Limits) -> Self {
        Self { client, limits }
    }
}

reads! { "iam", aws_sdk_iam,
    get_role(GetRoleInputBuilder) -> GetRoleOutput, "GetRole";
    get_role_policy(GetRolePolicyInputBuilder) -> GetRolePolicyOutput, "GetRolePolicy";
    list_attached_role_policies(ListAttachedRolePoliciesInputBuilder) -> ListAttachedRolePoliciesOutput, "ListAttachedRolePolicies";
    list_instance_profiles_for_role(ListInstanceProfilesForRoleInputBuilder) -> ListInstanceProfilesForRoleOutput, "ListInstanceProfilesForRole";
    list_role_policies(ListRolePoliciesInputBuilder) -> ListRolePoliciesOutput, "ListRolePolicies";
    list_role_tags(ListRoleTagsInputBuilder) -> ListRoleTagsOutput, "ListRoleTags";
    list_roles(ListRolesInputBuilder) -> ListRolesOutput, "ListRoles";
}

writes! { "iam", aws_sdk_iam,
    attach_role_policy(AttachRolePolicyInputBuilder) -> AttachRolePolicyOutput, "AttachRolePolicy";
    create_role(CreateRoleInputBuilder) -> CreateRoleOutput, "CreateRole";
    delete_role(DeleteRoleInputBuilder) -> DeleteRoleOutput, "DeleteRole";
    delete_role_permissions_boundary(DeleteRolePermissionsBoundaryInputBuilder) -> DeleteRolePermissionsBoundaryOutput, "DeleteRolePermissionsBoundary";
    delete_role_policy(DeleteRolePolicyInputBuilder) -> DeleteRolePolicyOutput, "DeleteRolePolicy";
    detach_role_policy(DetachRolePolicyInputBuilder) -> DetachRolePolicyOutput, "DetachRolePolicy";
    put_role_permissions_boundary(PutRolePermissionsBoundaryInputBuilder) -> PutRolePermissionsBoundaryOutput, "PutRolePermissionsBoundary";
    put_role_policy(PutRolePolicyInputBuilder) -> PutRolePolicyOutput, "PutRolePolicy";
    tag_role(TagRoleInputBuilder) -> TagRoleOutput, "TagRole";
    untag_role(UntagRoleInputBuilder) -> UntagRoleOutput, "UntagRole";
    update_assume_role_policy(UpdateAssumeRolePolicyInputBuilder) -> UpdateAssumeRolePolicyOutput, "UpdateAssumeRolePolicy";
    update_role(UpdateRoleInputBuilder) -> UpdateRoleOutput, "UpdateRole";
}
