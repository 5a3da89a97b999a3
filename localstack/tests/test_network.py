"""VPCs, subnets, internet gateways and route tables: what depends on what, and what is really kept."""

from __future__ import annotations

from .support import AwsTest, wait_for


class Dependencies(AwsTest):
    def test_a_vpc_is_pending_first(self) -> None:
        self.set(vpcPendingSeconds=0.2)
        vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]
        self.assertEqual(vpc["State"], "pending")
        describe = self.ec2.describe_vpcs
        self.assertEqual(describe(VpcIds=[vpc["VpcId"]])["Vpcs"][0]["State"], "pending")
        wait_for(lambda: describe(VpcIds=[vpc["VpcId"]])["Vpcs"][0]["State"] == "available")

    def test_a_vpc_goes_only_when_nothing_is_left_inside(self) -> None:
        before = self.inventory()
        vpc = self.vpc()
        subnet, gateway = self.subnet(vpc), self.gateway(vpc)
        table = self.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
        group = self.ec2.create_security_group(GroupName="g", Description="g", VpcId=vpc)["GroupId"]
        for remove in (
            lambda: self.ec2.delete_subnet(SubnetId=subnet),
            lambda: self.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc),
            lambda: self.ec2.delete_route_table(RouteTableId=table),
            lambda: self.ec2.delete_security_group(GroupId=group),
        ):
            with self.refused("DependencyViolation"):
                self.ec2.delete_vpc(VpcId=vpc)
            remove()
        self.ec2.delete_vpc(VpcId=vpc)
        self.ec2.delete_internet_gateway(InternetGatewayId=gateway)
        self.assertEqual(self.inventory(), before)

    def test_a_gateway_stays_attached_while_public_addresses_are_mapped(self) -> None:
        vpc = self.vpc()
        subnet, gateway = self.subnet(vpc), self.gateway(vpc)
        nat = self.nat(subnet, self.address())
        with self.refused("DependencyViolation", "mapped public address"):
            self.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
        with self.refused("DependencyViolation"):
            self.ec2.delete_subnet(SubnetId=subnet)
        self.ec2.delete_nat_gateway(NatGatewayId=nat)
        wait_for(lambda: self.nat_state(nat) == "deleted")
        self.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
        self.ec2.delete_subnet(SubnetId=subnet)

    def test_one_gateway_to_a_vpc_and_one_vpc_to_a_gateway(self) -> None:
        first, second = self.vpc(), self.vpc()
        gateway = self.gateway(first)
        with self.refused("Resource.AlreadyAssociated"):
            self.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=second)
        with self.refused("InvalidParameterValue", "already has an internet gateway attached"):
            self.gateway(first)
        with self.refused("DependencyViolation"):
            self.ec2.delete_internet_gateway(InternetGatewayId=gateway)

    def test_a_subnet_has_one_explicit_association_which_goes_with_it(self) -> None:
        vpc = self.vpc()
        subnet = self.subnet(vpc)
        first, second = (self.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"] for _ in range(2))
        self.ec2.associate_route_table(RouteTableId=first, SubnetId=subnet)
        with self.refused("Resource.AlreadyAssociated"):
            self.ec2.associate_route_table(RouteTableId=second, SubnetId=subnet)
        with self.refused("DependencyViolation"):
            self.ec2.delete_route_table(RouteTableId=first)
        self.ec2.delete_subnet(SubnetId=subnet)
        self.ec2.delete_route_table(RouteTableId=first)

    def test_the_main_route_table_stays(self) -> None:
        vpc = self.vpc()
        tables = self.ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["RouteTables"]
        with self.refused("DependencyViolation"):
            self.ec2.delete_route_table(RouteTableId=tables[0]["RouteTableId"])

    def test_a_subnet_is_in_a_zone_of_its_region(self) -> None:
        with self.refused("InvalidParameterValue", "availabilityZone"):
            self.ec2.create_subnet(VpcId=self.vpc(), CidrBlock="10.0.0.0/24", AvailabilityZone="us-east-1a")

    def test_a_route_table_is_made_once_for_a_client_token(self) -> None:
        vpc = self.vpc()
        made = {
            self.ec2.create_route_table(VpcId=vpc, ClientToken="once")["RouteTable"]["RouteTableId"] for _ in range(2)
        }
        self.assertEqual(len(made), 1)


class Attributes(AwsTest):
    def test_subnet_attributes_are_kept(self) -> None:
        subnet = self.subnet(self.vpc())

        def described() -> dict[str, object]:
            found: dict[str, object] = self.ec2.describe_subnets(SubnetIds=[subnet])["Subnets"][0]
            return found

        self.assertFalse(described()["MapPublicIpOnLaunch"])
        self.ec2.modify_subnet_attribute(SubnetId=subnet, MapPublicIpOnLaunch={"Value": True})
        self.assertTrue(described()["MapPublicIpOnLaunch"])
        self.ec2.modify_subnet_attribute(SubnetId=subnet, EnableDns64={"Value": True})
        self.assertTrue(described()["EnableDns64"])
        self.ec2.modify_subnet_attribute(SubnetId=subnet, PrivateDnsHostnameTypeOnLaunch="resource-name")
        self.ec2.modify_subnet_attribute(SubnetId=subnet, EnableResourceNameDnsARecordOnLaunch={"Value": True})
        expected = {
            "HostnameType": "resource-name",
            "EnableResourceNameDnsARecord": True,
            "EnableResourceNameDnsAAAARecord": False,
        }
        self.assertEqual(described()["PrivateDnsNameOptionsOnLaunch"], expected)

    def test_vpc_attributes_are_kept(self) -> None:
        vpc = self.vpc()

        def attribute(name: str) -> bool:
            answer = self.ec2.describe_vpc_attribute(VpcId=vpc, Attribute=name[0].lower() + name[1:])
            return bool(answer[name]["Value"])

        self.assertTrue(attribute("EnableDnsSupport"))
        self.assertFalse(attribute("EnableDnsHostnames"))
        self.ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
        self.assertTrue(attribute("EnableDnsHostnames"))
        self.ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": False})
        self.ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsSupport={"Value": False})
        self.assertFalse(attribute("EnableDnsHostnames"))
        self.assertFalse(attribute("EnableDnsSupport"))

    def test_every_kind_is_found_by_several_tags(self) -> None:
        vpc = self.vpc()
        parts = {
            "subnets": self.subnet(vpc),
            "internet_gateways": self.gateway(),
            "addresses": self.address(),
            "route_tables": self.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"],
            "security_groups": self.ec2.create_security_group(GroupName="g", Description="g", VpcId=vpc)["GroupId"],
            "vpcs": vpc,
        }
        tags = [{"Key": "fleetctl:lineage", "Value": "a/b"}, {"Key": "fleetctl:address", "Value": "x"}]
        self.ec2.create_tags(Resources=list(parts.values()), Tags=tags)
        for kind, identifier in parts.items():
            for value, expected in (("x", 1), ("y", 0)):
                filters = [
                    {"Name": "tag:fleetctl:lineage", "Values": ["a/b"]},
                    {"Name": "tag:fleetctl:address", "Values": [value]},
                ]
                reply = getattr(self.ec2, f"describe_{kind}")(Filters=filters)
                found = next(item for name, item in reply.items() if name != "ResponseMetadata")
                with self.subTest(kind, value=value):
                    self.assertEqual(len(found), expected)
                    self.assertTrue(expected == 0 or identifier in found[0].values())

    def test_a_dry_run_changes_nothing(self) -> None:
        before = self.inventory()
        with self.refused("DryRunOperation", status=412):
            self.ec2.create_vpc(CidrBlock="10.0.0.0/16", DryRun=True)
        self.assertEqual(self.inventory(), before)


class SecurityGroups(AwsTest):
    def test_a_group_stays_while_a_rule_of_another_names_it(self) -> None:
        vpc = self.vpc()
        first, second = (
            self.ec2.create_security_group(GroupName=name, Description="d", VpcId=vpc)["GroupId"] for name in "ab"
        )
        rule = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "UserIdGroupPairs": [{"GroupId": first}]}
        self.ec2.authorize_security_group_ingress(GroupId=second, IpPermissions=[rule])
        with self.refused("DependencyViolation"):
            self.ec2.delete_security_group(GroupId=first)
        self.ec2.delete_security_group(GroupId=second)
        self.ec2.delete_security_group(GroupId=first)

    def test_the_default_group_stays(self) -> None:
        filters = [{"Name": "vpc-id", "Values": [self.vpc()]}]
        group = self.ec2.describe_security_groups(Filters=filters)["SecurityGroups"][0]["GroupId"]
        with self.refused("CannotDelete"):
            self.ec2.delete_security_group(GroupId=group)
