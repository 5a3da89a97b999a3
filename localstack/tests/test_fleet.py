"""The emulator's own interface: faults, the call log, settings, accounts."""

from __future__ import annotations

import time
import urllib.error
from typing import Any

from botocore.exceptions import ClientError, ConnectionClosedError

from .support import AwsTest, fleet, wait_for


class Faults(AwsTest):
    def tearDown(self) -> None:
        fleet("DELETE", "faults")

    def fault(self, **rule: Any) -> None:
        fleet("POST", "faults", [{"account": self.account} | rule])

    def hits(self) -> int:
        return int(fleet("GET", "faults")[0]["hits"])

    def vpcs(self) -> int:
        return len(self.ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["false"]}])["Vpcs"])

    def test_throttling_speaks_each_services_language(self) -> None:
        self.fault(count=None)
        with self.refused("RequestLimitExceeded", status=503):
            self.ec2.describe_vpcs()
        with self.refused("Throttling", status=400):
            self.iam.list_roles()
        with self.refused("Throttling", status=400):
            self.sts.get_caller_identity()
        with self.refused("TooManyRequestsException", status=429):
            self.eks.list_clusters()
        self.assertEqual(self.hits(), 4)

    def test_skip_count_and_every(self) -> None:
        self.fault(operation="DescribeVpcs", skip=1, every=2, count=2, code="InternalError", status=500)
        outcomes = []
        for _ in range(7):
            try:
                self.ec2.describe_vpcs()
                outcomes.append("ok")
            except ClientError as error:
                outcomes.append(error.response["Error"]["Code"])
        self.assertEqual(outcomes, ["ok", "InternalError", "ok", "InternalError", "ok", "ok", "ok"])

    def test_a_refused_call_changes_nothing(self) -> None:
        self.fault(operation="CreateVpc")
        with self.refused("RequestLimitExceeded"):
            self.vpc()
        self.assertEqual(self.vpcs(), 0)

    def test_a_lost_reply_comes_after_the_change(self) -> None:
        self.fault(operation="CreateVpc", when="after")
        with self.assertRaises(ClientError):
            self.vpc()
        self.assertEqual(self.vpcs(), 1)

    def test_a_dropped_connection_gives_no_answer_at_all(self) -> None:
        self.fault(operation="CreateVpc", when="after", drop=True)
        with self.assertRaises(ConnectionClosedError):
            self.vpc()
        self.assertEqual(self.vpcs(), 1)
        self.fault(operation="CreateVpc", when="before", drop=True)
        with self.assertRaises(ConnectionClosedError):
            self.vpc()
        self.assertEqual(self.vpcs(), 1)

    def test_a_delay_only_delays(self) -> None:
        self.fault(operation="CreateVpc", delay_ms=200)
        begun = time.monotonic()
        self.vpc()
        self.assertGreater(time.monotonic() - begun, 0.2)

    def test_a_gateway_and_an_addon_can_be_made_to_fail(self) -> None:
        failed = {"outcome": "failed", "failureCode": "InternalError", "failureMessage": "out of luck"}
        self.fault(operation="CreateNatGateway", **failed)
        vpc = self.vpc()
        self.gateway(vpc)
        nat = self.nat(self.subnet(vpc), self.address())
        wait_for(lambda: self.nat_state(nat) == "failed")
        self.fault(operation="CreateAddon", **failed)
        # The fault's own network is in the way of another one with the same ranges only for people.
        self.active_cluster()
        addon = {"clusterName": "workload", "addonName": "metrics-server"}
        self.eks.create_addon(**addon)
        wait_for(lambda: self.eks.describe_addon(**addon)["addon"]["status"] == "CREATE_FAILED")
        issues = self.eks.describe_addon(**addon)["addon"]["health"]["issues"]
        self.assertEqual(issues[0]["message"], "out of luck")

    def test_rules_are_added_and_misspelt_ones_are_refused(self) -> None:
        self.fault(operation="CreateVpc")
        self.assertEqual(len(fleet("POST", "faults?add=1", {"account": self.account})), 2)
        with self.assertRaises(urllib.error.HTTPError):
            fleet("POST", "faults", [{"opreation": "CreateVpc"}])


class Interface(AwsTest):
    def test_the_log_has_the_calls_in_order_with_outcome_and_parameters(self) -> None:
        self.vpc()
        with self.refused("NoSuchEntity"):
            self.iam.get_role(RoleName="missing")
        log = fleet("GET", f"calls?account={self.account}")
        self.assertEqual([call["operation"] for call in log], ["CreateVpc", "GetRole"])
        self.assertEqual([call["mutating"] for call in log], [True, False])
        self.assertEqual([call["status"] for call in log], [200, 404])
        self.assertEqual([call["error"] for call in log], [None, "NoSuchEntity"])
        self.assertEqual(log[0]["parameters"]["CidrBlock"], "10.0.0.0/16")
        fleet("DELETE", f"calls?account={self.account}")
        self.assertEqual(fleet("GET", f"calls?account={self.account}"), [])

    def test_settings_of_one_account_leave_the_others_alone(self) -> None:
        self.set(clusterCreateSeconds=42)
        settings = fleet("GET", "settings")
        self.assertEqual(settings["accounts"][self.account]["clusterCreateSeconds"], 42)
        self.assertNotEqual(settings["default"]["clusterCreateSeconds"], 42)
        with self.assertRaises(urllib.error.HTTPError):
            self.set(clusterCreateSecond=42)

    def test_accounts_are_seeded_as_if_long_ago_and_as_often_as_one_likes(self) -> None:
        self.set(iamVisibilityLagSeconds=60, rolePropagationSeconds=60)
        for _ in range(2):
            fleet("POST", "accounts", {"hub": "111111111111", "workload": self.account, "externalId": None})
        self.iam.get_role(RoleName="ack")
        self.assertEqual([role["name"] for role in self.inventory()["iam"]["roles"]], ["Admin", "ack"])

    def test_the_inventory_shows_what_was_made(self) -> None:
        vpc = self.vpc()
        self.ec2.create_tags(Resources=[vpc], Tags=[{"Key": "Name", "Value": "main"}])
        regional = self.inventory()["ec2"]["us-west-2"]
        found = {item["id"]: item for item in regional["vpcs"]}
        self.assertEqual(found[vpc]["name"], "main")
        tables = [table for table in regional["routeTables"] if table["vpc"] == vpc]
        self.assertEqual([(table["main"], table["routes"]) for table in tables], [(True, {"10.0.0.0/16": "local"})])
