//! What stands in the way of a delete: network interfaces and security groups that others left, by name and owner.

use crate::aws::ec2::Reader;
use crate::aws::error::CallError;
use crate::kinds::kind::StepError;
use aws_sdk_ec2::operation::describe_network_interfaces::builders::DescribeNetworkInterfacesInputBuilder;
use aws_sdk_ec2::operation::describe_security_groups::builders::DescribeSecurityGroupsInputBuilder;
use aws_sdk_ec2::operation::describe_subnets::builders::DescribeSubnetsInputBuilder;
use aws_sdk_ec2::types::{Filter, NetworkInterface, SecurityGroup};

/// More than this many are not listed.
const LISTED: usize = 10;

/// What a delete was refused for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Around<'a> {
    /// Whatever is in this VPC.
    Vpc(&'a str),
    /// Network interfaces in this subnet.
    Subnet(&'a str),
    /// Network interfaces with public addresses in this VPC: they hold its internet gateway.
    PublicAddresses(&'a str),
}

/// Adds to the refusal of a delete what stands in its way. Other errors, and obstacles that cannot be read, are passed
/// on as they are.
pub(super) async fn named(reader: &Reader, around: Around<'_>, error: StepError) -> StepError {
    match error {
        StepError::Refused(refused) if refused.code == "DependencyViolation" => {
            let found = find(reader, around).await.unwrap_or_default();
            StepError::Refused(with_obstacles(refused, &found))
        }
        other => other,
    }
}

fn with_obstacles(mut refused: CallError, found: &[String]) -> CallError {
    if !found.is_empty() {
        let more = found.len().saturating_sub(LISTED);
        let mut list = found.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
        if more > 0 {
            list = format!("{list} and {more} more");
        }
        refused.message = format!("{}; in the way: {list}", refused.message.trim_end_matches('.'));
    }
    refused
}

async fn find(reader: &Reader, around: Around<'_>) -> Result<Vec<String>, CallError> {
    match around {
        Around::Subnet(subnet) => Ok(interfaces(reader, "subnet-id", subnet).await?.iter().map(interface).collect()),
        Around::PublicAddresses(vpc) => {
            let all = interfaces(reader, "vpc-id", vpc).await?;
            let public = |one: &&NetworkInterface| one.association().is_some_and(|address| address.public_ip().is_some());
            Ok(all.iter().filter(public).map(interface).collect())
        }
        Around::Vpc(vpc) => {
            let mut found: Vec<String> = interfaces(reader, "vpc-id", vpc).await?.iter().map(interface).collect();
            let input = DescribeSecurityGroupsInputBuilder::default().filters(filter("vpc-id", vpc));
            let groups = reader.describe_security_groups(input).await?;
            // The default group goes with its VPC.
            found.extend(groups.security_groups().iter().filter(|one| one.group_name() != Some("default")).map(group));
            let input = DescribeSubnetsInputBuilder::default().filters(filter("vpc-id", vpc));
            let subnets = reader.describe_subnets(input).await?;
            found.extend(subnets.subnets().iter().filter_map(|subnet| Some(format!("subnet {}", subnet.subnet_id()?))));
            Ok(found)
        }
    }
}

pub(super) async fn interfaces(reader: &Reader, name: &str, id: &str) -> Result<Vec<NetworkInterface>, CallError> {
    let input = DescribeNetworkInterfacesInputBuilder::default().filters(filter(name, id));
    Ok(reader.describe_network_interfaces(input).await?.network_interfaces.unwrap_or_default())
}

pub(super) fn filter(name: &str, value: &str) -> Filter {
    Filter::builder().name(name).values(value).build()
}

/// `network interface eni-1 (ELB app/x, of amazon-elb)`.
fn interface(interface: &NetworkInterface) -> String {
    let id = interface.network_interface_id().unwrap_or("without id");
    let description = interface.description().filter(|text| !text.is_empty());
    let instance = interface.attachment().and_then(|attachment| attachment.instance_id());
    let what = description.map(str::to_owned).or_else(|| Some(format!("of instance {}", instance?)));
    let owner = interface.requester_id().or(interface.owner_id()).map(|owner| format!("of {owner}"));
    let details: Vec<String> = what.into_iter().chain(owner).collect();
    if details.is_empty() {
        format!("network interface {id}")
    } else {
        format!("network interface {id} ({})", details.join(", "))
    }
}

/// `security group sg-1 (k8s-elb-x)`.
fn group(group: &SecurityGroup) -> String {
    let (id, name) = (group.group_id().unwrap_or("without id"), group.group_name().unwrap_or("without name"));
    format!("security group {id} ({name})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::shared::fault;
    use aws_sdk_ec2::types::NetworkInterfaceAttachment;

    #[test]
    fn obstacles_are_named_with_their_owner() {
        let load_balancer = NetworkInterface::builder()
            .network_interface_id("eni-1")
            .description("ELB app/shop/1")
            .requester_id("amazon-elb")
            .owner_id("111122223333")
            .build();
        assert_eq!(interface(&load_balancer), "network interface eni-1 (ELB app/shop/1, of amazon-elb)");
        let node = NetworkInterface::builder()
            .network_interface_id("eni-2")
            .description("")
            .owner_id("111122223333")
            .attachment(NetworkInterfaceAttachment::builder().instance_id("i-1").build())
            .build();
        assert_eq!(interface(&node), "network interface eni-2 (of instance i-1, of 111122223333)");
        let left = SecurityGroup::builder().group_id("sg-1").group_name("k8s-elb-x").build();
        assert_eq!(group(&left), "security group sg-1 (k8s-elb-x)");
    }

    #[test]
    fn long_lists_are_cut() {
        let refused = || fault("ec2", "DeleteVpc", "DependencyViolation", "The VPC has dependencies.".to_owned());
        let found: Vec<String> = (0..12).map(|number| number.to_string()).collect();
        let message = with_obstacles(refused(), &found).message;
        assert_eq!(message, "The VPC has dependencies; in the way: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more");
        assert_eq!(with_obstacles(refused(), &[]).message, refused().message);
    }
}
