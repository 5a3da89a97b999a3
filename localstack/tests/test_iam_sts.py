"""Roles, and who may assume them for how long."""

from __future__ import annotations

import json
import urllib.request

from .support import AwsTest, fleet, random_account

MANAGED_POLICIES = (
    "AmazonEKSClusterPolicy",
    "AmazonEKSComputePolicy",
    "AmazonEKSBlockStoragePolicy",
    "AmazonEKSLoadBalancingPolicy",
    "AmazonEKSNetworkingPolicy",
    "AmazonEKSWorkerNodeMinimalPolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
    "CloudWatchAgentServerPolicy",
    "SecretsManagerReadWrite",
)


class Roles(AwsTest):
    def test_the_managed_policies_of_eks_can_be_attached(self) -> None:
        self.role("r", "eks.amazonaws.com")
        arns = {f"arn:aws:iam::aws:policy/{name}" for name in MANAGED_POLICIES}
        for arn in arns:
            self.iam.attach_role_policy(RoleName="r", PolicyArn=arn)
        attached = self.iam.list_attached_role_policies(RoleName="r")["AttachedPolicies"]
        self.assertEqual({policy["PolicyArn"] for policy in attached}, arns)

    def test_a_role_with_policies_is_not_deleted(self) -> None:
        self.role("r", "eks.amazonaws.com")
        policy = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
        self.iam.attach_role_policy(RoleName="r", PolicyArn=policy)
        document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
        self.iam.put_role_policy(RoleName="r", PolicyName="inline", PolicyDocument=json.dumps(document))
        with self.refused("DeleteConflict"):
            self.iam.delete_role(RoleName="r")
        self.iam.detach_role_policy(RoleName="r", PolicyArn=policy)
        with self.refused("DeleteConflict"):
            self.iam.delete_role(RoleName="r")
        self.iam.delete_role_policy(RoleName="r", PolicyName="inline")
        self.iam.delete_role(RoleName="r")
        with self.refused("NoSuchEntity", status=404):
            self.iam.get_role(RoleName="r")


class AssumeRole(AwsTest):
    def setUp(self) -> None:
        super().setUp()
        self.workload = random_account()
        fleet("POST", "accounts", {"hub": self.account, "workload": self.workload, "externalId": "secret-word"})
        self.arn = f"arn:aws:iam::{self.workload}:role/ack"

    def assume(self, **more: object) -> dict[str, str]:
        request = {"RoleArn": self.arn, "RoleSessionName": "test", "ExternalId": "secret-word"} | more
        credentials: dict[str, str] = self.sts.assume_role(**request)["Credentials"]
        return credentials

    def test_the_session_is_the_roles_and_the_accounts(self) -> None:
        session = self.assume()
        sts = self.client("sts", session["AccessKeyId"], session["SessionToken"])
        identity = sts.get_caller_identity()
        self.assertEqual(identity["Account"], self.workload)
        self.assertEqual(identity["Arn"], f"arn:aws:sts::{self.workload}:assumed-role/ack/test")
        ec2 = self.client("ec2", session["AccessKeyId"], session["SessionToken"])
        self.assertEqual(ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["OwnerId"], self.workload)

    def test_a_call_that_was_signed_in_advance_is_the_signers(self) -> None:
        session = self.assume()
        sts = self.client("sts", session["AccessKeyId"], session["SessionToken"])
        signed = sts.generate_presigned_url("get_caller_identity", HttpMethod="GET")
        with urllib.request.urlopen(signed, timeout=30) as answer:
            self.assertIn(f"<Account>{self.workload}</Account>", answer.read().decode())

    def test_a_wrong_or_missing_external_id_is_denied(self) -> None:
        with self.refused("AccessDenied", "is not authorized to perform: sts:AssumeRole on resource", status=403):
            self.assume(ExternalId="another-word")
        with self.refused("AccessDenied"):
            self.sts.assume_role(RoleArn=self.arn, RoleSessionName="test")

    def test_a_role_that_does_not_exist_or_does_not_trust_is_denied(self) -> None:
        with self.refused("AccessDenied"):
            self.assume(RoleArn=f"arn:aws:iam::{self.workload}:role/nobody")
        with self.refused("AccessDenied"):
            self.assume(RoleArn=f"arn:aws:iam::{self.workload}:role/Admin")
        with self.refused("ValidationError"):
            self.assume(RoleArn="arn:aws:iam::12:role/ack-and-more")

    def test_a_session_is_not_longer_than_it_may_be(self) -> None:
        self.assume(DurationSeconds=12 * 3600)
        iam = self.client("iam", self.workload)
        iam.update_role(RoleName="ack", MaxSessionDuration=3600)
        with self.refused("ValidationError", "exceeds the MaxSessionDuration"):
            self.assume(DurationSeconds=7200)
        iam.update_role(RoleName="ack", MaxSessionDuration=7200)
        self.assume(DurationSeconds=7200)

    def test_a_chained_session_lasts_an_hour_at_most(self) -> None:
        session = self.assume()
        chained = self.client("sts", session["AccessKeyId"], session["SessionToken"])
        admin = {"RoleArn": f"arn:aws:iam::{self.workload}:role/Admin", "RoleSessionName": "test"}
        with self.refused("ValidationError", "role chaining"):
            chained.assume_role(**admin, DurationSeconds=7200)
        chained.assume_role(**admin, DurationSeconds=3600)

    def test_expired_credentials_are_refused_by_every_service_in_its_words(self) -> None:
        session = self.assume()
        key = session["AccessKeyId"]
        fleet("POST", "settings", {"expiredAccessKeys": [key]})
        try:
            with self.refused("ExpiredToken", status=403):
                self.client("sts", key).get_caller_identity()
            with self.refused("ExpiredToken", status=403):
                self.client("iam", key).list_roles()
            with self.refused("RequestExpired"):
                self.client("ec2", key).describe_vpcs()
            with self.refused("ExpiredTokenException", status=403):
                self.client("eks", key).list_clusters()
        finally:
            fleet("POST", "settings", {"expiredAccessKeys": []})
        self.client("sts", key).get_caller_identity()
