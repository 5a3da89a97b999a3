"""Read-after-write lag of EC2 and IAM, and roles that other services do not believe in yet."""

from __future__ import annotations

from .support import AwsTest, auto_mode, trust, wait_for

TAGS = [{"Key": "fleet", "Value": "one"}, {"Key": "address", "Value": "vpc"}]


class Ec2Lag(AwsTest):
    settings = {"ec2VisibilityLagSeconds": 0.3}

    def test_a_new_vpc_is_missing_by_id_and_by_filter_until_the_lag_has_passed(self) -> None:
        vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=[{"ResourceType": "vpc", "Tags": TAGS}])[
            "Vpc"
        ]["VpcId"]
        by_tag = [{"Name": "tag:fleet", "Values": ["one"]}, {"Name": "tag:address", "Values": ["vpc"]}]
        with self.refused("InvalidVpcID.NotFound"):
            self.ec2.describe_vpcs(VpcIds=[vpc])
        self.assertEqual(self.ec2.describe_vpcs(Filters=by_tag)["Vpcs"], [])
        found = wait_for(lambda: self.ec2.describe_vpcs(Filters=by_tag)["Vpcs"])
        self.assertEqual([each["VpcId"] for each in found], [vpc])
        self.ec2.describe_vpcs(VpcIds=[vpc])

    def test_every_kind_lags_with_its_own_code(self) -> None:
        vpc = self.vpc()
        subnet, gateway, address = self.subnet(vpc), self.gateway(vpc), self.address()
        nat = self.nat(subnet, address)
        table = self.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
        expected = (
            ("InvalidSubnetID.NotFound", lambda: self.ec2.describe_subnets(SubnetIds=[subnet])),
            ("InvalidInternetGatewayID.NotFound", lambda: self.ec2.describe_internet_gateways(InternetGatewayIds=[gateway])),
            ("InvalidAllocationID.NotFound", lambda: self.ec2.describe_addresses(AllocationIds=[address])),
            ("NatGatewayNotFound", lambda: self.ec2.describe_nat_gateways(NatGatewayIds=[nat])),
            ("InvalidRouteTableID.NotFound", lambda: self.ec2.describe_route_tables(RouteTableIds=[table])),
        )  # fmt: skip
        for code, describe in expected:
            with self.subTest(code), self.refused(code):
                describe()
        for code, describe in expected:
            with self.subTest(code):
                wait_for(describe)

    def test_calls_that_use_a_new_object_are_refused_only_when_that_is_set(self) -> None:
        self.subnet(self.vpc())
        self.set(ec2UseLagSeconds=0.3)
        vpc = self.vpc()
        with self.refused("InvalidVpcID.NotFound"):
            self.subnet(vpc, 1)
        wait_for(lambda: self.subnet(vpc, 1))


class IamLag(AwsTest):
    settings = {"iamVisibilityLagSeconds": 0.3, "rolePropagationSeconds": 0.3}

    def test_a_new_role_is_missing_from_get_and_list(self) -> None:
        self.role("new", "eks.amazonaws.com")
        with self.refused("NoSuchEntity"):
            self.iam.get_role(RoleName="new")
        self.assertNotIn("new", [role["RoleName"] for role in self.iam.list_roles()["Roles"]])
        wait_for(lambda: self.iam.get_role(RoleName="new"))
        self.assertIn("new", [role["RoleName"] for role in self.iam.list_roles()["Roles"]])

    def test_eks_does_not_believe_in_a_fresh_role(self) -> None:
        vpc = self.vpc()
        subnets = [self.subnet(vpc, number) for number in range(2)]
        role, nodes = self.role("cluster", "eks.amazonaws.com"), self.role("nodes", "ec2.amazonaws.com")
        request = auto_mode("workload", role, nodes, subnets)
        with self.refused("InvalidParameterException", "could not be assumed because it does not exist"):
            self.eks.create_cluster(**request)
        wait_for(lambda: self.eks.create_cluster(**request))

    def test_a_change_of_trust_or_policies_starts_the_time_anew(self) -> None:
        vpc = self.vpc()
        subnets = [self.subnet(vpc, number) for number in range(2)]
        role, nodes = self.role("cluster", "ec2.amazonaws.com"), self.role("nodes", "ec2.amazonaws.com")
        wait_for(lambda: self.iam.get_role(RoleName="nodes"))
        request = auto_mode("workload", role, nodes, subnets)
        self.set(rolePropagationSeconds=0)
        with self.refused("InvalidParameterException", "the trusted entity is not correct"):
            self.eks.create_cluster(**request)
        self.set(rolePropagationSeconds=0.3)
        self.iam.update_assume_role_policy(RoleName="cluster", PolicyDocument=trust("eks.amazonaws.com"))
        with self.refused("InvalidParameterException", "could not be assumed"):
            self.eks.create_cluster(**request)
        wait_for(lambda: self.eks.create_cluster(**request))
