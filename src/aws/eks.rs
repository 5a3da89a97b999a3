//! EKS, as far as fleetctl calls it.

use super::batch::Batch;
use super::error::{CallError, ErrorClass};
use super::limits::Limits;
use super::operations::{reads, writes};
use aws_sdk_eks::operation::describe_cluster::builders::DescribeClusterInputBuilder;
use aws_sdk_eks::types::Cluster;
use futures::future::join_all;
use std::collections::HashMap;

/// Reads EKS in one account and region. Clones share the looks at one cluster: those at one time become one call.
#[derive(Debug, Clone)]
pub struct Reader {
    client: aws_sdk_eks::Client,
    limits: Limits,
    clusters: Batch<Result<Cluster, CallError>>,
}

/// Changes EKS in one account and region.
#[derive(Debug, Clone)]
pub struct Writer {
    client: aws_sdk_eks::Client,
    limits: Limits,
}

impl Reader {
    pub(super) fn new(client: aws_sdk_eks::Client, limits: Limits) -> Self {
        Self { client, limits, clusters: Batch::default() }
    }

    /// The cluster of a name, or `None`. Asks at one time for the same cluster share a call.
    pub async fn cluster(&self, name: &str) -> Result<Option<Cluster>, CallError> {
        let reader = self.clone();
        let read = move |names: Vec<String>| async move {
            let one = |name: String| async {
                let input = DescribeClusterInputBuilder::default().name(&name);
                let found = match reader.describe_cluster(input).await {
                    Ok(answer) => answer.cluster.map(Ok),
                    Err(error) if error.class == ErrorClass::NotFound => None,
                    Err(error) => Some(Err(error)),
                };
                Some((name, found?))
            };
            Ok(join_all(names.into_iter().map(one)).await.into_iter().flatten().collect::<HashMap<_, _>>())
        };
        self.clusters.ask(name, read).await?.transpose()
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
    list_access_entries(ListAccessEntriesInputBuilder) -> ListAccessEntriesOutput, "ListAccessEntries";
    list_addons(ListAddonsInputBuilder) -> ListAddonsOutput, "ListAddons";
    list_associated_access_policies(ListAssociatedAccessPoliciesInputBuilder) -> ListAssociatedAccessPoliciesOutput, "ListAssociatedAccessPolicies";
    list_clusters(ListClustersInputBuilder) -> ListClustersOutput, "ListClusters";
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
