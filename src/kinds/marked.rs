//! Everything in an account and region that bears fleetctl's marks, whoever has made it: for whoever has no state to tell,
//! and for whoever compares states with what is there. Readers alone.

use super::ec2::copies::is_gone;
use super::eks;
use super::shared::present;
use crate::aws::cloud::Readers;
use crate::aws::error::CallError;
use crate::aws::pages::pages;
use crate::aws::tags::{
    ADDRESS, ADDRESS_ANNOTATION, INSTANCE, INSTANCE_ANNOTATION, LINEAGE, LINEAGE_ANNOTATION, Tags, of_eks, of_iam,
};
use aws_sdk_eks::operation::describe_access_entry::builders::DescribeAccessEntryInputBuilder;
use aws_sdk_eks::operation::describe_addon::builders::DescribeAddonInputBuilder;
use aws_sdk_eks::operation::describe_pod_identity_association::builders::DescribePodIdentityAssociationInputBuilder;
use aws_sdk_eks::operation::list_access_entries::builders::ListAccessEntriesInputBuilder;
use aws_sdk_eks::operation::list_addons::builders::ListAddonsInputBuilder;
use aws_sdk_eks::operation::list_clusters::builders::ListClustersInputBuilder;
use aws_sdk_eks::operation::list_pod_identity_associations::builders::ListPodIdentityAssociationsInputBuilder;
use aws_sdk_iam::operation::list_role_tags::builders::ListRoleTagsInputBuilder;
use aws_sdk_iam::operation::list_roles::builders::ListRolesInputBuilder;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use std::collections::BTreeSet;

/// Most reads at one time; rates are limited elsewhere.
const CONCURRENT: usize = 8;

/// Paths of roles that nobody but AWS can make.
const PATHS_OF_AWS: [&str; 2] = ["/aws-service-role/", "/aws-reserved/"];

/// An object that bears a mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Marked {
    /// The kind, or AWS's word for the type of what is of no kind that is known here.
    pub kind: String,
    /// As a record of the kind has it.
    pub id: String,
    /// `fleetctl:lineage`; empty where only other marks are left.
    pub lineage: String,
    /// `fleetctl:instance`; empty where it is missing.
    pub instance: String,
    /// `fleetctl:address`; empty where it is missing.
    pub address: String,
}

impl Marked {
    fn of(kind: &str, id: &str, tags: &Tags) -> Option<Self> {
        let mark = |keys: [&str; 2]| keys.iter().find_map(|key| tags.get(*key)).cloned();
        let (lineage, instance) = (mark([LINEAGE, LINEAGE_ANNOTATION]), mark([INSTANCE, INSTANCE_ANNOTATION]));
        let address = mark([ADDRESS, ADDRESS_ANNOTATION]);
        if lineage.is_none() && instance.is_none() && address.is_none() {
            return None;
        }
        let [lineage, instance, address] = [lineage, instance, address].map(Option::unwrap_or_default);
        Some(Self { kind: kind.to_owned(), id: id.to_owned(), lineage, instance, address })
    }
}

/// What ids of EC2 begin with, and our kinds.
const EC2_IDS: [(&str, &str); 6] = [
    ("vpc-", "VPC"),
    ("subnet-", "Subnet"),
    ("igw-", "InternetGateway"),
    ("nat-", "NATGateway"),
    ("eipalloc-", "ElasticIPAddress"),
    ("rtb-", "RouteTable"),
];

/// What of EC2 bears marks in a region. AWS shows tags for a while after their object is gone, and NAT gateways that are gone
/// for an hour: these are left out.
pub async fn of_ec2(readers: &Readers) -> Result<Vec<Marked>, CallError> {
    let objects = readers.ec2.marked_objects().await?;
    let marked = stream::iter(&objects).map(|(id, (kind, tags))| async move {
        let name = EC2_IDS.iter().find(|(beginning, _)| id.starts_with(beginning)).map_or(kind.as_str(), |(_, name)| name);
        let lingers = is_gone(&readers.ec2, name, id).await?;
        Ok::<_, CallError>(Marked::of(name, id, tags).filter(|_| !lingers))
    });
    // At one time, so that those of a kind share a call.
    let marked: Vec<Option<Marked>> = marked.buffered(objects.len().max(1)).try_collect().await?;
    Ok(marked.into_iter().flatten().collect())
}

/// The roles of an account that bear marks.
pub async fn of_iam_roles(readers: &Readers) -> Result<Vec<Marked>, CallError> {
    let roles = pages(|marker| async {
        let page = readers.iam.list_roles(ListRolesInputBuilder::default().set_marker(marker)).await?;
        Ok((page.roles, page.marker.filter(|_| page.is_truncated)))
    });
    let mut names: Vec<String> = Vec::new();
    for role in roles.await? {
        if !PATHS_OF_AWS.iter().any(|path| role.path.starts_with(path)) {
            names.push(role.role_name);
        }
    }
    let marked = stream::iter(names).map(|name| async move {
        // A list of roles does not tell their tags.
        let tags = present(role_tags(readers, &name).await)?.unwrap_or_default();
        Ok::<_, CallError>(Marked::of("Role", &name, &tags))
    });
    let marked: Vec<Option<Marked>> = marked.buffered(CONCURRENT).try_collect().await?;
    Ok(marked.into_iter().flatten().collect())
}

async fn role_tags(readers: &Readers, name: &str) -> Result<Tags, CallError> {
    let tags = pages(|marker| async {
        let page = readers.iam.list_role_tags(ListRoleTagsInputBuilder::default().role_name(name).set_marker(marker)).await?;
        Ok((page.tags, page.marker.filter(|_| page.is_truncated)))
    });
    Ok(of_iam(&tags.await?))
}

/// What of EKS bears marks in a region: clusters, and what lives in those that bear marks or are named.
pub async fn of_eks_clusters(readers: &Readers, named: &BTreeSet<String>) -> Result<Vec<Marked>, CallError> {
    let mut all = Vec::new();
    for name in cluster_names(readers).await? {
        let Some(cluster) = readers.eks.cluster(&name).await? else { continue };
        let marked = Marked::of("Cluster", &name, &of_eks(cluster.tags()));
        if marked.is_some() || named.contains(&name) {
            all.extend(marked);
            let within = tokio::try_join!(addons(readers, &name), entries(readers, &name), associations(readers, &name))?;
            all.extend(within.0.into_iter().chain(within.1).chain(within.2));
        }
    }
    Ok(all)
}

/// The clusters of a region that bear marks, without what lives in them; only those whose name `is_of_interest` are read.
pub async fn of_eks_clusters_alone(
    readers: &Readers,
    is_of_interest: &(dyn Fn(&str) -> bool + Sync),
) -> Result<Vec<Marked>, CallError> {
    let names = cluster_names(readers).await?;
    let marked = stream::iter(names.into_iter().filter(|name| is_of_interest(name))).map(|name| async move {
        let cluster = readers.eks.cluster(&name).await?;
        Ok(cluster.and_then(|cluster| Marked::of("Cluster", &name, &of_eks(cluster.tags()))))
    });
    flat(marked.buffered(CONCURRENT).try_collect().await)
}

async fn cluster_names(readers: &Readers) -> Result<Vec<String>, CallError> {
    pages(|token| async {
        let page = readers.eks.list_clusters(ListClustersInputBuilder::default().set_next_token(token)).await?;
        Ok((page.clusters.unwrap_or_default(), page.next_token))
    })
    .await
}

async fn addons(readers: &Readers, cluster: &str) -> Result<Vec<Marked>, CallError> {
    let names = pages(|token| async {
        let input = ListAddonsInputBuilder::default().cluster_name(cluster).set_next_token(token);
        let page = present(readers.eks.list_addons(input).await)?;
        Ok(page.map(|page| (page.addons.unwrap_or_default(), page.next_token)).unwrap_or_default())
    });
    let marked = stream::iter(names.await?).map(|name| async move {
        let input = DescribeAddonInputBuilder::default().cluster_name(cluster).addon_name(&name);
        let addon = present(readers.eks.describe_addon(input).await)?.and_then(|answer| answer.addon);
        Ok(addon.and_then(|addon| Marked::of("Addon", &eks::id(cluster, &name), &of_eks(addon.tags()))))
    });
    flat(marked.buffered(CONCURRENT).try_collect().await)
}

async fn entries(readers: &Readers, cluster: &str) -> Result<Vec<Marked>, CallError> {
    let principals = pages(|token| async {
        let input = ListAccessEntriesInputBuilder::default().cluster_name(cluster).set_next_token(token);
        let page = present(readers.eks.list_access_entries(input).await)?;
        Ok(page.map(|page| (page.access_entries.unwrap_or_default(), page.next_token)).unwrap_or_default())
    });
    let marked = stream::iter(principals.await?).map(|principal| async move {
        let input = DescribeAccessEntryInputBuilder::default().cluster_name(cluster).principal_arn(&principal);
        let entry = present(readers.eks.describe_access_entry(input).await)?.and_then(|answer| answer.access_entry);
        Ok(entry.and_then(|entry| Marked::of("AccessEntry", &eks::id(cluster, &principal), &of_eks(entry.tags()))))
    });
    flat(marked.buffered(CONCURRENT).try_collect().await)
}

async fn associations(readers: &Readers, cluster: &str) -> Result<Vec<Marked>, CallError> {
    let ids = pages(|token| async {
        let input = ListPodIdentityAssociationsInputBuilder::default().cluster_name(cluster).set_next_token(token);
        let page = present(readers.eks.list_pod_identity_associations(input).await)?;
        Ok(page.map(|page| (page.associations.unwrap_or_default(), page.next_token)).unwrap_or_default())
    });
    let ids = ids.await?.into_iter().filter_map(|association| association.association_id);
    let marked = stream::iter(ids).map(|id| async move {
        let input = DescribePodIdentityAssociationInputBuilder::default().cluster_name(cluster).association_id(&id);
        let found = present(readers.eks.describe_pod_identity_association(input).await)?.and_then(|answer| answer.association);
        Ok(found.and_then(|found| Marked::of("PodIdentityAssociation", &eks::id(cluster, &id), &of_eks(found.tags()))))
    });
    flat(marked.buffered(CONCURRENT).try_collect().await)
}

fn flat(marked: Result<Vec<Option<Marked>>, CallError>) -> Result<Vec<Marked>, CallError> {
    Ok(marked?.into_iter().flatten().collect())
}

/// The registrations with Argo CD that bear marks; none without an Argo CD.
pub async fn of_argocd(readers: &Readers) -> Result<Vec<Marked>, CallError> {
    let Some(argocd) = &readers.argocd else { return Ok(Vec::new()) };
    let clusters = argocd.list_clusters().await?;
    Ok(clusters
        .iter()
        .filter_map(|cluster| Marked::of("Secret", cluster.server.trim_end_matches('/'), &cluster.annotations))
        .collect())
}
