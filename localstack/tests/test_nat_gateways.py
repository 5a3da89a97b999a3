"""NAT gateways: their states, how they fail, and what they hold."""

from __future__ import annotations

import time

from .support import AwsTest, wait_for


class NatGateways(AwsTest):
    def setUp(self) -> None:
        super().setUp()
        self.network = self.vpc()
        self.zone = self.subnet(self.network)
        self.elastic = self.address()

    def describe(self, nat: str) -> dict[str, object]:
        found: dict[str, object] = self.ec2.describe_nat_gateways(NatGatewayIds=[nat])["NatGateways"][0]
        return found

    def test_pending_available_deleting_deleted_and_then_gone(self) -> None:
        self.set(natGatewayTombstoneSeconds=0.3)
        self.gateway(self.network)
        nat = self.nat(self.zone, self.elastic)
        self.assertEqual(self.nat_state(nat), "pending")
        wait_for(lambda: self.nat_state(nat) == "available")
        self.ec2.delete_nat_gateway(NatGatewayId=nat)
        self.assertEqual(self.nat_state(nat), "deleting")
        wait_for(lambda: self.nat_state(nat) == "deleted")
        time.sleep(0.35)
        with self.refused("NatGatewayNotFound"):
            self.nat_state(nat)

    def test_without_an_attached_internet_gateway_it_fails(self) -> None:
        nat = self.nat(self.zone, self.elastic)
        self.assertEqual(self.nat_state(nat), "pending")
        wait_for(lambda: self.nat_state(nat) == "failed")
        found = self.describe(nat)
        self.assertEqual(found["FailureCode"], "Gateway.NotAttached")
        self.assertIn("has no Internet gateway attached", str(found["FailureMessage"]))
        self.ec2.release_address(AllocationId=self.elastic)
        self.ec2.delete_nat_gateway(NatGatewayId=nat)
        self.assertEqual(self.nat_state(nat), "deleted")

    def test_with_an_address_that_another_one_holds_it_fails(self) -> None:
        self.gateway(self.network)
        first, second = (self.nat(self.zone, self.elastic) for _ in range(2))
        wait_for(lambda: self.nat_state(second) == "failed")
        self.assertEqual(self.describe(second)["FailureCode"], "Resource.AlreadyAssociated")
        self.assertEqual(self.nat_state(first), "available")

    def test_the_client_token_makes_it_the_same_gateway(self) -> None:
        self.gateway(self.network)
        request = {"SubnetId": self.zone, "AllocationId": self.elastic, "ClientToken": "once"}
        ids = {self.ec2.create_nat_gateway(**request)["NatGateway"]["NatGatewayId"] for _ in range(2)}
        self.assertEqual(len(ids), 1)
        with self.refused("IdempotentParameterMismatch"):
            self.ec2.create_nat_gateway(**(request | {"AllocationId": self.address()}))

    def test_the_address_is_associated_while_it_is_held_and_free_afterwards(self) -> None:
        self.gateway(self.network)
        nat = self.nat(self.zone, self.elastic)
        wait_for(lambda: self.nat_state(nat) == "available")
        association = self.address_description()["AssociationId"]
        with self.refused("InvalidIPAddress.InUse"):
            self.ec2.release_address(AllocationId=self.elastic)
        with self.refused("AuthFailure"):
            self.ec2.disassociate_address(AssociationId=association)
        self.ec2.delete_nat_gateway(NatGatewayId=nat)
        with self.refused("InvalidIPAddress.InUse"):
            self.ec2.release_address(AllocationId=self.elastic)
        wait_for(lambda: "AssociationId" not in self.address_description())
        self.ec2.release_address(AllocationId=self.elastic)

    def address_description(self) -> dict[str, object]:
        found: dict[str, object] = self.ec2.describe_addresses(AllocationIds=[self.elastic])["Addresses"][0]
        return found

    def test_filters_by_several_tags_state_vpc_and_subnet(self) -> None:
        self.gateway(self.network)
        tags = [{"Key": "fleet", "Value": "a"}, {"Key": "part", "Value": "nat"}]
        mine = self.ec2.create_nat_gateway(
            SubnetId=self.zone,
            AllocationId=self.elastic,
            TagSpecifications=[{"ResourceType": "natgateway", "Tags": tags}],
        )["NatGateway"]["NatGatewayId"]
        other = self.nat(self.zone, self.address())
        wait_for(lambda: self.nat_state(other) == "available")

        def found(**filters: str) -> set[str]:
            given = [{"Name": name.replace("__", ":").replace("_", "-"), "Values": [v]} for name, v in filters.items()]
            return {each["NatGatewayId"] for each in self.ec2.describe_nat_gateways(Filters=given)["NatGateways"]}

        self.assertEqual(found(tag__fleet="a", tag__part="nat"), {mine})
        self.assertEqual(found(tag__fleet="a", tag__part="other"), set())
        self.assertEqual(found(vpc_id=self.network, state="available"), {mine, other})
        self.assertEqual(found(subnet_id=self.zone, state="failed"), set())
        self.ec2.create_tags(Resources=[other], Tags=[{"Key": "fleet", "Value": "b"}])
        self.assertEqual(found(tag__fleet="b"), {other})

    def test_routes_lead_only_to_gateways_that_live(self) -> None:
        gateway = self.gateway(self.network)
        nat = self.nat(self.zone, self.elastic)
        table = self.ec2.create_route_table(VpcId=self.network)["RouteTable"]["RouteTableId"]
        route = {"RouteTableId": table, "DestinationCidrBlock": "0.0.0.0/0"}
        with self.refused("InvalidNatGatewayID.NotFound"):
            self.ec2.create_route(**route, NatGatewayId="nat-0123456789abcdef0")
        with self.refused("InvalidGatewayID.NotFound"):
            self.ec2.create_route(**route, GatewayId="igw-0123456789abcdef0")
        with self.refused("InvalidParameterValue", "belong to different networks"):
            self.ec2.create_route(**route, GatewayId=self.gateway())
        self.ec2.create_route(**route, NatGatewayId=nat)
        self.ec2.delete_nat_gateway(NatGatewayId=nat)
        with self.refused("InvalidNatGatewayID.NotFound"):
            self.ec2.replace_route(**route, NatGatewayId=nat)
        wait_for(lambda: self.nat_state(nat) == "deleted")
        routes = self.ec2.describe_route_tables(RouteTableIds=[table])["RouteTables"][0]["Routes"]
        self.assertEqual([r["State"] for r in routes if r.get("NatGatewayId") == nat], ["blackhole"])
        self.ec2.replace_route(**route, GatewayId=gateway)
