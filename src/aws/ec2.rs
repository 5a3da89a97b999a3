//! EC2, as far as fleetctl calls it.

use super::limits::Limits;
use super::lookups::Lookups;
use super::operations::{reads, writes};

/// Reads EC2 in one account and region. Clones share the calls of single lookups: those at one time become one.
#[derive(Debug, Clone)]
pub struct Reader {
    client: aws_sdk_ec2::Client,
    limits: Limits,
    pub(super) lookups: Lookups,
}

/// Changes EC2 in one account and region.
#[derive(Debug, Clone)]
pub struct Writer {
    client: aws_sdk_ec2::Client,
    limits: Limits,
}

impl Reader {
    pub(super) fn new(client: aws_sdk_ec2::Client, limits: Limits) -> Self {
        Self { client, limits, lookups: Lookups::default() }
    }
}

impl Writer {
    pub(super) fn new(client: aws_sdk_ec2::Client, limits: Limits) -> Self {
        Self { client, limits }
    }
}

reads! { "ec2", aws_sdk_ec2,
    describe_account_attributes(DescribeAccountAttributesInputBuilder) -> DescribeAccountAttributesOutput, "DescribeAccountAttributes";
    describe_addresses(DescribeAddressesInputBuilder) -> DescribeAddressesOutput, "DescribeAddresses";
    describe_availability_zones(DescribeAvailabilityZonesInputBuilder) -> DescribeAvailabilityZonesOutput, "DescribeAvailabilityZones";
    describe_internet_gateways(DescribeInternetGatewaysInputBuilder) -> DescribeInternetGatewaysOutput, "DescribeInternetGateways";
    describe_nat_gateways(DescribeNatGatewaysInputBuilder) -> DescribeNatGatewaysOutput, "DescribeNatGateways";
    describe_network_interfaces(DescribeNetworkInterfacesInputBuilder) -> DescribeNetworkInterfacesOutput, "DescribeNetworkInterfaces";
    describe_route_tables(DescribeRouteTablesInputBuilder) -> DescribeRouteTablesOutput, "DescribeRouteTables";
    describe_security_groups(DescribeSecurityGroupsInputBuilder) -> DescribeSecurityGroupsOutput, "DescribeSecurityGroups";
    describe_subnets(DescribeSubnetsInputBuilder) -> DescribeSubnetsOutput, "DescribeSubnets";
    describe_tags(DescribeTagsInputBuilder) -> DescribeTagsOutput, "DescribeTags";
    describe_vpc_attribute(DescribeVpcAttributeInputBuilder) -> DescribeVpcAttributeOutput, "DescribeVpcAttribute";
    describe_vpcs(DescribeVpcsInputBuilder) -> DescribeVpcsOutput, "DescribeVpcs";
}

writes! { "ec2", aws_sdk_ec2,
    allocate_address(AllocateAddressInputBuilder) -> AllocateAddressOutput, "AllocateAddress";
    associate_route_table(AssociateRouteTableInputBuilder) -> AssociateRouteTableOutput, "AssociateRouteTable";
    associate_vpc_cidr_block(AssociateVpcCidrBlockInputBuilder) -> AssociateVpcCidrBlockOutput, "AssociateVpcCidrBlock";
    attach_internet_gateway(AttachInternetGatewayInputBuilder) -> AttachInternetGatewayOutput, "AttachInternetGateway";
    create_internet_gateway(CreateInternetGatewayInputBuilder) -> CreateInternetGatewayOutput, "CreateInternetGateway";
    create_nat_gateway(CreateNatGatewayInputBuilder) -> CreateNatGatewayOutput, "CreateNatGateway";
    create_route(CreateRouteInputBuilder) -> CreateRouteOutput, "CreateRoute";
    create_route_table(CreateRouteTableInputBuilder) -> CreateRouteTableOutput, "CreateRouteTable";
    create_subnet(CreateSubnetInputBuilder) -> CreateSubnetOutput, "CreateSubnet";
    create_tags(CreateTagsInputBuilder) -> CreateTagsOutput, "CreateTags";
    create_vpc(CreateVpcInputBuilder) -> CreateVpcOutput, "CreateVpc";
    delete_internet_gateway(DeleteInternetGatewayInputBuilder) -> DeleteInternetGatewayOutput, "DeleteInternetGateway";
    delete_nat_gateway(DeleteNatGatewayInputBuilder) -> DeleteNatGatewayOutput, "DeleteNatGateway";
    delete_route(DeleteRouteInputBuilder) -> DeleteRouteOutput, "DeleteRoute";
    delete_route_table(DeleteRouteTableInputBuilder) -> DeleteRouteTableOutput, "DeleteRouteTable";
    delete_subnet(DeleteSubnetInputBuilder) -> DeleteSubnetOutput, "DeleteSubnet";
    delete_tags(DeleteTagsInputBuilder) -> DeleteTagsOutput, "DeleteTags";
    delete_vpc(DeleteVpcInputBuilder) -> DeleteVpcOutput, "DeleteVpc";
    detach_internet_gateway(DetachInternetGatewayInputBuilder) -> DetachInternetGatewayOutput, "DetachInternetGateway";
    disassociate_route_table(DisassociateRouteTableInputBuilder) -> DisassociateRouteTableOutput, "DisassociateRouteTable";
    disassociate_vpc_cidr_block(DisassociateVpcCidrBlockInputBuilder) -> DisassociateVpcCidrBlockOutput, "DisassociateVpcCidrBlock";
    modify_subnet_attribute(ModifySubnetAttributeInputBuilder) -> ModifySubnetAttributeOutput, "ModifySubnetAttribute";
    modify_vpc_attribute(ModifyVpcAttributeInputBuilder) -> ModifyVpcAttributeOutput, "ModifyVpcAttribute";
    release_address(ReleaseAddressInputBuilder) -> ReleaseAddressOutput, "ReleaseAddress";
    replace_route(ReplaceRouteInputBuilder) -> ReplaceRouteOutput, "ReplaceRoute";
    replace_route_table_association(ReplaceRouteTableAssociationInputBuilder) -> ReplaceRouteTableAssociationOutput, "ReplaceRouteTableAssociation";
}
