//! What is true of an account and region whatever we do, in words of our own: versions, quotas, what is used, networks that
//! are there. Zones are in [`super::sessions::Target::facts`].

use super::cloud::Readers;
use super::ec2;
use super::error::{CallError, ErrorClass};
use super::pages::pages;
use super::sessions::hosts_eks;
use aws_sdk_ec2::operation::describe_account_attributes::builders::DescribeAccountAttributesInputBuilder;
use aws_sdk_ec2::operation::describe_addresses::builders::DescribeAddressesInputBuilder;
use aws_sdk_ec2::operation::describe_subnets::builders::DescribeSubnetsInputBuilder;
use aws_sdk_ec2::operation::describe_vpc_attribute::builders::DescribeVpcAttributeInputBuilder;
use aws_sdk_ec2::operation::describe_vpcs::builders::DescribeVpcsInputBuilder;
use aws_sdk_ec2::types::{AccountAttributeName, Filter, Tag, VpcAttributeName};
use aws_sdk_eks::operation::describe_addon_versions::builders::DescribeAddonVersionsInputBuilder;
use aws_sdk_eks::operation::describe_cluster_versions::builders::DescribeClusterVersionsInputBuilder;
use aws_sdk_eks::types::VersionStatus;
use aws_sdk_iam::operation::get_role::builders::GetRoleInputBuilder;
use aws_sdk_servicequotas::operation::get_service_quota::builders::GetServiceQuotaInputBuilder;
use chrono::{DateTime, NaiveDate};
use futures::future::{try_join, try_join_all};
use std::collections::BTreeMap;

/// A Kubernetes version that EKS has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterVersion {
    /// `1.34`.
    pub version: String,
    /// Whether only extended support is left.
    pub extended: bool,
    /// The last day of standard support.
    pub standard_until: Option<NaiveDate>,
    /// The last day of extended support.
    pub extended_until: Option<NaiveDate>,
}

/// Something of which an account may have so many in a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quota {
    /// Elastic IP addresses for use in a VPC.
    ElasticIpAddresses,
    /// VPCs.
    Vpcs,
}

impl Quota {
    /// What Service Quotas knows it by: service and code.
    pub fn code(self) -> (&'static str, &'static str) {
        match self {
            Self::ElasticIpAddresses => ("ec2", "L-0263D0A3"),
            Self::Vpcs => ("vpc", "L-F678F1CE"),
        }
    }
}

/// Subnets that are there, and their VPCs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Network {
    /// Those of the subnets asked for that exist, by id.
    pub subnets: BTreeMap<String, Subnet>,
    /// The VPCs that they are in, and those asked for, as far as they exist, by id.
    pub vpcs: BTreeMap<String, Vpc>,
}

/// A subnet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subnet {
    /// Its VPC.
    pub vpc: String,
    /// `us-west-2a`.
    pub zone: String,
    /// Whether EKS takes subnets there.
    pub hosts_eks: bool,
    /// IPv4 addresses that nobody has.
    pub free_addresses: i32,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
}

/// A VPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vpc {
    /// `enableDnsSupport`.
    pub dns_support: bool,
    /// `enableDnsHostnames`.
    pub dns_hostnames: bool,
}

/// The Kubernetes versions that EKS makes clusters of, as it lists them: the newest first.
pub async fn cluster_versions(readers: &Readers) -> Result<Vec<ClusterVersion>, CallError> {
    pages(|token| async {
        let input = DescribeClusterVersionsInputBuilder::default().set_next_token(token);
        let page = readers.eks.describe_cluster_versions(input).await?;
        let versions = page.cluster_versions.unwrap_or_default();
        Ok((versions.into_iter().filter_map(cluster_version).collect(), page.next_token))
    })
    .await
}

fn cluster_version(found: aws_sdk_eks::types::ClusterVersionInformation) -> Option<ClusterVersion> {
    // Outposts have a list of their own.
    let elsewhere = found.cluster_type.as_deref().is_some_and(|kind| kind != "eks");
    if elsewhere || found.version_status == Some(VersionStatus::Unsupported) {
        return None;
    }
    Some(ClusterVersion {
        version: found.cluster_version?,
        extended: found.version_status == Some(VersionStatus::ExtendedSupport),
        standard_until: found.end_of_standard_support_date.and_then(day),
        extended_until: found.end_of_extended_support_date.and_then(day),
    })
}

fn day(moment: aws_sdk_eks::primitives::DateTime) -> Option<NaiveDate> {
    DateTime::from_timestamp(moment.secs(), 0).map(|moment| moment.date_naive())
}

/// The versions of an add-on, the newest first; only those that go with a Kubernetes version, if one is given.
pub async fn addon_versions(readers: &Readers, addon: &str, kubernetes: Option<&str>) -> Result<Vec<String>, CallError> {
    let addons = pages(|token| async {
        let input = DescribeAddonVersionsInputBuilder::default()
            .addon_name(addon)
            .set_kubernetes_version(kubernetes.map(str::to_owned))
            .set_next_token(token);
        let page = readers.eks.describe_addon_versions(input).await?;
        Ok((page.addons.unwrap_or_default(), page.next_token))
    })
    .await?;
    let versions = addons.into_iter().flat_map(|addon| addon.addon_versions.unwrap_or_default());
    Ok(versions.filter_map(|version| version.addon_version).collect())
}

/// How many of something an account has in a region, as far as they count for the quota.
pub async fn used(readers: &Readers, quota: Quota) -> Result<u64, CallError> {
    let count = match quota {
        Quota::ElasticIpAddresses => {
            let found = readers.ec2.describe_addresses(DescribeAddressesInputBuilder::default()).await?;
            found.addresses().iter().filter(|address| is_amazons(address)).count()
        }
        Quota::Vpcs => all_vpcs(&readers.ec2, Vec::new()).await?.len(),
    };
    Ok(u64::try_from(count).unwrap_or(u64::MAX))
}

/// Addresses that a customer has brought along are not counted.
fn is_amazons(address: &aws_sdk_ec2::types::Address) -> bool {
    address.public_ipv4_pool().is_none_or(|pool| pool.is_empty() || pool == "amazon")
}

/// How many of something an account may have in a region. Who may not read Service Quotas may still be told by EC2 about
/// addresses.
pub async fn quota(readers: &Readers, quota: Quota) -> Result<u64, CallError> {
    let (service, code) = quota.code();
    let input = GetServiceQuotaInputBuilder::default().service_code(service).quota_code(code);
    let refused = match readers.quotas.get_service_quota(input).await {
        Ok(answer) => return answer.quota.and_then(|quota| whole(quota.value?)).ok_or_else(|| nothing(code)),
        Err(error) => error,
    };
    if quota != Quota::ElasticIpAddresses || refused.class != ErrorClass::Denied {
        return Err(refused);
    }
    address_attribute(&readers.ec2).await.ok().flatten().ok_or(refused)
}

async fn address_attribute(ec2: &ec2::Reader) -> Result<Option<u64>, CallError> {
    const NAME: &str = "vpc-max-elastic-ips";
    let input = DescribeAccountAttributesInputBuilder::default().attribute_names(AccountAttributeName::from(NAME));
    let answer = ec2.describe_account_attributes(input).await?;
    let attribute = answer.account_attributes().iter().find(|attribute| attribute.attribute_name() == Some(NAME));
    let value = attribute.and_then(|attribute| attribute.attribute_values().first()?.attribute_value());
    Ok(value.and_then(|value| value.parse().ok()))
}

/// Quotas are whole numbers that travel as doubles.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
fn whole(value: f64) -> Option<u64> {
    (0.0..=1e15).contains(&value).then_some(value as u64)
}

fn nothing(code: &str) -> CallError {
    CallError {
        service: "servicequotas",
        operation: "GetServiceQuota",
        class: ErrorClass::Final,
        code: "NoValue".to_owned(),
        message: format!("the answer holds no value of {code}"),
        request_id: None,
    }
}

/// Subnets by their ids, and the VPCs that they are in.
pub async fn network(readers: &Readers, subnets: &[String], vpcs: &[String]) -> Result<Network, CallError> {
    let subnets = find_subnets(&readers.ec2, subnets).await?;
    let mut wanted: Vec<String> = subnets.values().map(|subnet| subnet.vpc.clone()).chain(vpcs.iter().cloned()).collect();
    wanted.sort();
    wanted.dedup();
    let vpcs = if wanted.is_empty() { Vec::new() } else { all_vpcs(&readers.ec2, wanted).await? };
    let vpcs = try_join_all(vpcs.into_iter().map(|id| attributes(&readers.ec2, id))).await?;
    Ok(Network { subnets, vpcs: vpcs.into_iter().collect() })
}

async fn find_subnets(ec2: &ec2::Reader, ids: &[String]) -> Result<BTreeMap<String, Subnet>, CallError> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    // As a filter: an id that AWS does not know is left out, and fails nothing.
    let filter = Filter::builder().name("subnet-id").set_values(Some(ids.to_vec())).build();
    let found = pages(|token| async {
        let input = DescribeSubnetsInputBuilder::default().filters(filter.clone()).set_next_token(token);
        let page = ec2.describe_subnets(input).await?;
        Ok((page.subnets.unwrap_or_default(), page.next_token))
    })
    .await?;
    Ok(found.iter().filter_map(subnet).collect())
}

fn subnet(found: &aws_sdk_ec2::types::Subnet) -> Option<(String, Subnet)> {
    let tag = |tag: &Tag| Some((tag.key()?.to_owned(), tag.value().unwrap_or_default().to_owned()));
    let subnet = Subnet {
        vpc: found.vpc_id()?.to_owned(),
        zone: found.availability_zone().unwrap_or_default().to_owned(),
        hosts_eks: hosts_eks(found.availability_zone_id().unwrap_or_default()),
        free_addresses: found.available_ip_address_count().unwrap_or_default(),
        tags: found.tags().iter().filter_map(tag).collect(),
    };
    Some((found.subnet_id()?.to_owned(), subnet))
}

/// The ids of all VPCs, or of those among `ids`.
async fn all_vpcs(ec2: &ec2::Reader, ids: Vec<String>) -> Result<Vec<String>, CallError> {
    let filter = (!ids.is_empty()).then(|| vec![Filter::builder().name("vpc-id").set_values(Some(ids)).build()]);
    let found = pages(|token| async {
        let input = DescribeVpcsInputBuilder::default().set_filters(filter.clone()).set_next_token(token);
        let page = ec2.describe_vpcs(input).await?;
        Ok((page.vpcs.unwrap_or_default(), page.next_token))
    })
    .await?;
    Ok(found.into_iter().filter_map(|vpc| vpc.vpc_id).collect())
}

async fn attributes(ec2: &ec2::Reader, id: String) -> Result<(String, Vpc), CallError> {
    let ask =
        |attribute| ec2.describe_vpc_attribute(DescribeVpcAttributeInputBuilder::default().vpc_id(&id).attribute(attribute));
    let (support, hostnames) =
        try_join(ask(VpcAttributeName::EnableDnsSupport), ask(VpcAttributeName::EnableDnsHostnames)).await?;
    let vpc = Vpc {
        dns_support: support.enable_dns_support.and_then(|value| value.value).unwrap_or_default(),
        dns_hostnames: hostnames.enable_dns_hostnames.and_then(|value| value.value).unwrap_or_default(),
    };
    Ok((id, vpc))
}

/// Whether a role is there.
pub async fn role_exists(readers: &Readers, name: &str) -> Result<bool, CallError> {
    match readers.iam.get_role(GetRoleInputBuilder::default().role_name(name)).await {
        Ok(_) => Ok(true),
        Err(error) if error.class == ErrorClass::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_eks::primitives::DateTime;
    use aws_sdk_eks::types::ClusterVersionInformation;

    fn information(kind: &str, status: VersionStatus) -> ClusterVersionInformation {
        ClusterVersionInformation::builder()
            .cluster_version("1.31")
            .cluster_type(kind)
            .version_status(status)
            .end_of_standard_support_date(DateTime::from_secs(1_764_115_200))
            .build()
    }

    #[test]
    fn versions_that_eks_makes_no_cluster_of_are_left_out() {
        let extended = cluster_version(information("eks", VersionStatus::ExtendedSupport)).unwrap();
        assert_eq!((extended.version.as_str(), extended.extended), ("1.31", true));
        assert_eq!((extended.standard_until, extended.extended_until), (NaiveDate::from_ymd_opt(2025, 11, 26), None));
        assert!(!cluster_version(information("eks", VersionStatus::StandardSupport)).unwrap().extended);
        assert_eq!(cluster_version(information("eks", VersionStatus::Unsupported)), None);
        assert_eq!(cluster_version(information("eks-local-outposts", VersionStatus::StandardSupport)), None);
    }

    #[test]
    fn addresses_that_a_customer_has_brought_along_do_not_count() {
        let address =
            |pool: Option<&str>| aws_sdk_ec2::types::Address::builder().set_public_ipv4_pool(pool.map(str::to_owned)).build();
        assert!(is_amazons(&address(None)) && is_amazons(&address(Some("amazon"))));
        assert!(!is_amazons(&address(Some("ipv4pool-ec2-012345"))));
    }

    #[test]
    fn quotas_are_whole_numbers() {
        assert_eq!([5.0, 0.0, -1.0, f64::NAN, 1e300].map(whole), [Some(5), Some(0), None, None, None]);
    }
}
