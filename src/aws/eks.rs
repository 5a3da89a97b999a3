//! EKS, as far as fleetctl calls it.

use super::limits::Limits;
use super::operations::{reads, writes};

/// Reads EKS in one account and region.
#[derive(Debug, Clone)]
pub struct Reader {
    client: aws_sdk_eks::Client,
    limits: Limits,
}

/// Changes EKS in one account and region.
#[derive(Debug, Clone)]
pub struct Writer {
    client: aws_sdk_eks::Client,
    limits: Limits,
}

impl Reader {
    pub(super) fn new(client: aws_sdk_eks::Client, limits: Limits) -> Self {
        Self { client, limits }
    }
}

impl Writer {
    pub(super) fn new(client: aws_sdk_eks::Client, limits: Limits) -> Self {
        Self { client, limits }
    }
}

reads! { "eks", aws_sdk_eks,
    describe_access_entry(DescribeAccessEntryInputBuilder) -> DescribeAccessEntryOutput, "DescribeAccessEntry";
    describe_addon(DescribeAddonInputBuilder) -> DescribeAddonOutput, "DescribeAddon";
    describe_addon_versions(DescribeAddonVersionsInputBuilder) -> DescribeAddonVersionsOutput, "DescribeAddonVersions";
    describe_cluster(DescribeClusterInputBuilder) -> DescribeClusterOutput, "DescribeCluster";
    describe_cluster_versions(DescribeClusterVersionsInputBuilder) -> DescribeClusterVersionsOutput, "DescribeClusterVersions";
    describe_pod_identity_association(DescribePodIdentityAssociationInputBuilder) -> DescribePodIdentityAssociationOutput, "DescribePodIdentityAssociation";
    list_associated_access_policies(ListAssociatedAccessPoliciesInputBuilder) -> ListAssociatedAccessPoliciesOutput, "ListAssociatedAccessPolicies";
    list_nodegroups(ListNodegroupsInputBuilder) -> ListNodegroupsOutput, "ListNodegroups";
    list_pod_identity_associations(ListPodIdentityAssociationsInputBuilder) -> ListPodIdentityAssociationsOutput, "ListPodIdentityAssociations";
}

writes! { "eks", aws_sdk_eks,
    associate_access_policy(AssociateAccessPolicyInputBuilder) -> AssociateAccessPolicyOutput, "AssociateAccessPolicy";
    create_access_entry(CreateAccessEntryInputBuilder) -> CreateAccessEntryOutput, "CreateAccessEntry";
    create_addon(CreateAddonInputBuilder) -> CreateAddonOutput, "CreateAddon";
    create_cluster(CreateClusterInputBuilder) -> CreateClusterOutput, "CreateCluster";
    create_pod_identity_association(CreatePodIdentityAssociationInputBuilder) -> CreatePodIdentityAssociationOutput, "CreatePodIdentityAssociation";
    delete_access_entry(DeleteAccessEntryInputBuilder) -> DeleteAccessEntryOutput, "DeleteAccessEntry";
    delete_addon(DeleteAddonInputBuilder) -> DeleteAddonOutput, "DeleteAddon";
    delete_cluster(DeleteClusterInputBuilder) -> DeleteClusterOutput, "DeleteCluster";
    delete_pod_identity_association(DeletePodIdentityAssociationInputBuilder) -> DeletePodIdentityAssociationOutput, "DeletePodIdentityAssociation";
    disassociate_access_policy(DisassociateAccessPolicyInputBuilder) -> DisassociateAccessPolicyOutput, "DisassociateAccessPolicy";
    tag_resource(TagResourceInputBuilder) -> TagResourceOutput, "TagResource";
    untag_resource(UntagResourceInputBuilder) -> UntagResourceOutput, "UntagResource";
    update_access_entry(UpdateAccessEntryInputBuilder) -> UpdateAccessEntryOutput, "UpdateAccessEntry";
    update_pod_identity_association(UpdatePodIdentityAssociationInputBuilder) -> UpdatePodIdentityAssociationOutput, "UpdatePodIdentityAssociation";
}
