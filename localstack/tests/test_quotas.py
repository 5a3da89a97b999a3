"""Quotas, and what EKS says of its versions."""

from __future__ import annotations

import datetime

from .support import AwsTest


class Quotas(AwsTest):
    def value(self, service: str, code: str) -> float:
        found = self.client("service-quotas").get_service_quota(ServiceCode=service, QuotaCode=code)
        return float(found["Quota"]["Value"])

    def test_quotas_are_told_and_kept(self) -> None:
        self.set(elasticIpQuota=1, vpcQuota=2, clusterQuota=0)
        self.assertEqual(self.value("ec2", "L-0263D0A3"), 1)
        self.assertEqual(self.value("vpc", "L-F678F1CE"), 2)
        attributes = self.ec2.describe_account_attributes()["AccountAttributes"]
        values = {each["AttributeName"]: each["AttributeValues"] for each in attributes}
        self.assertEqual(values["vpc-max-elastic-ips"], [{"AttributeValue": "1"}])
        self.address()
        with self.refused("AddressLimitExceeded"):
            self.address()
        self.vpc()  # the default VPC counts too
        with self.refused("VpcLimitExceeded"):
            self.vpc()
        with self.refused("ResourceLimitExceededException"):
            self.eks.create_cluster(name="c", roleArn="arn:aws:iam::1:role/r", resourcesVpcConfig={})

    def test_without_a_setting_nobody_meets_them(self) -> None:
        self.assertEqual(self.value("eks", "L-1194D53C"), 10_000)
        with self.refused("NoSuchResourceException"):
            self.value("ec2", "L-F678F1CE")


class Versions(AwsTest):
    def test_versions_have_dates_and_a_status(self) -> None:
        found = {each["clusterVersion"]: each for each in self.eks.describe_cluster_versions()["clusterVersions"]}
        today = datetime.datetime.now(datetime.timezone.utc)
        self.assertEqual(found["1.31"]["versionStatus"], "EXTENDED_SUPPORT")
        self.assertLess(found["1.31"]["endOfStandardSupportDate"], today)
        self.assertEqual(found["1.34"]["versionStatus"], "STANDARD_SUPPORT")
        self.assertGreater(found["1.34"]["endOfStandardSupportDate"], today)
        self.assertNotIn("1.30", found)
        everything = self.eks.describe_cluster_versions(includeAll=True)["clusterVersions"]
        self.assertIn("UNSUPPORTED", {each["versionStatus"] for each in everything})

    def test_addon_versions_go_with_kubernetes_versions(self) -> None:
        def versions(kubernetes: str) -> list[str]:
            found = self.eks.describe_addon_versions(addonName="eks-pod-identity-agent", kubernetesVersion=kubernetes)
            return [each["addonVersion"] for addon in found["addons"] for each in addon["addonVersions"]]

        self.assertIn("v1.2.0-eksbuild.1", versions("1.32"))
        self.assertNotIn("v1.2.0-eksbuild.1", versions("1.34"))
        self.assertEqual(versions("1.99"), [])

    def test_free_addresses_are_counted(self) -> None:
        vpc = self.vpc()
        made = self.ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/28")["Subnet"]
        self.assertEqual(made["AvailableIpAddressCount"], 11)
        self.ec2.create_network_interface(SubnetId=made["SubnetId"])
        found = self.ec2.describe_subnets(SubnetIds=[made["SubnetId"]])["Subnets"][0]
        self.assertEqual(found["AvailableIpAddressCount"], 10)
