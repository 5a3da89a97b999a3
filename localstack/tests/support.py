"""Clients, accounts and waiting, for all tests."""

from __future__ import annotations

import json
import os
import random
import time
import unittest
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import get_session

REGION = "us-west-2"
ENDPOINT = os.environ["AWS_ENDPOINT_URL"]
ONE_ATTEMPT = Config(retries={"total_max_attempts": 1}, read_timeout=20)

# Nothing lags and transitions are short, but for what a test sets itself.
QUICK = {
    "clusterCreateSeconds": 0.1,
    "clusterDeleteSeconds": 0.1,
    "clusterUpdateSeconds": 0.1,
    "nodegroupCreateSeconds": 0.1,
    "nodegroupDeleteSeconds": 0.1,
    "addonCreateSeconds": 0.1,
    "addonUpdateSeconds": 0.1,
    "addonDeleteSeconds": 0.1,
    "natGatewayCreateSeconds": 0.1,
    "natGatewayDeleteSeconds": 0.1,
    "vpcPendingSeconds": 0,
    "ec2VisibilityLagSeconds": 0,
    "iamVisibilityLagSeconds": 0,
    "rolePropagationSeconds": 0,
    "accessEntryPropagationSeconds": 0,
}

SESSION = get_session()  # one for all clients: it keeps the models that it has read

T = TypeVar("T")


def fleet(method: str, path: str, body: Any = None) -> Any:
    """One call of the emulator's own interface."""
    return call(f"{ENDPOINT}/_fleet/{path}", method, body)


def call(url: str, method: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, headers or {}, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def random_account() -> str:
    return str(random.randrange(10**11, 10**12))


def trust(service: str) -> str:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": ["sts:AssumeRole", "sts:TagSession"]}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def wait_for(condition: Callable[[], T], seconds: float = 10) -> T:
    """Polls until the condition gives something true. A refusal counts as not yet."""
    deadline = time.monotonic() + seconds
    last: T | ClientError | None = None
    while time.monotonic() < deadline:
        try:
            last = condition()
            if last:
                return last
        except ClientError as error:
            last = error
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s; the last answer was {last}")


class AwsTest(unittest.TestCase):
    """A test with an account of its own."""

    settings: dict[str, Any] = {}

    def setUp(self) -> None:
        self.account = random_account()
        self.set(**(QUICK | self.settings))

    ec2 = cached_property(lambda self: self.client("ec2"))
    iam = cached_property(lambda self: self.client("iam"))
    sts = cached_property(lambda self: self.client("sts"))
    eks = cached_property(lambda self: self.client("eks"))

    def client(self, service: str, key: str | None = None, token: str | None = None) -> Any:
        return SESSION.create_client(
            service,
            region_name=REGION,
            endpoint_url=ENDPOINT,
            aws_access_key_id=key or self.account,
            aws_secret_access_key="test",
            aws_session_token=token,
            config=ONE_ATTEMPT,
        )

    def set(self, **changes: Any) -> None:
        fleet("POST", "settings", {"account": self.account} | changes)

    @contextmanager
    def refused(self, code: str, text: str = "", status: int | None = None) -> Iterator[None]:
        """Expects a refusal with this code and text in it."""
        with self.assertRaises(ClientError) as caught:
            yield
        error = caught.exception.response
        self.assertEqual(error["Error"]["Code"], code, error["Error"])
        self.assertIn(text, error["Error"]["Message"])
        if status:
            self.assertEqual(error["ResponseMetadata"]["HTTPStatusCode"], status)

    def inventory(self) -> Any:
        return fleet("GET", f"inventory?account={self.account}")

    # ---- what many tests start with

    def vpc(self) -> str:
        return str(self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"])

    def subnet(self, vpc: str, number: int = 0) -> str:
        zone = REGION + "abc"[number]
        made = self.ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=zone)
        return str(made["Subnet"]["SubnetId"])

    def gateway(self, vpc: str | None = None) -> str:
        made = str(self.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"])
        if vpc:
            self.ec2.attach_internet_gateway(InternetGatewayId=made, VpcId=vpc)
        return made

    def address(self) -> str:
        return str(self.ec2.allocate_address(Domain="vpc")["AllocationId"])

    def nat(self, subnet: str, address: str) -> str:
        made = self.ec2.create_nat_gateway(SubnetId=subnet, AllocationId=address)
        return str(made["NatGateway"]["NatGatewayId"])

    def nat_state(self, nat: str) -> str:
        return str(self.ec2.describe_nat_gateways(NatGatewayIds=[nat])["NatGateways"][0]["State"])

    def role(self, name: str, service: str) -> str:
        return str(self.iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust(service))["Role"]["Arn"])

    def active_cluster(self, name: str = "workload", **more: Any) -> Any:
        """An Auto Mode cluster with all that it needs, once it is ACTIVE."""
        vpc = self.vpc()
        subnets = [self.subnet(vpc, number) for number in range(2)]
        role = self.role(f"{name}-cluster", "eks.amazonaws.com")
        nodes = self.role(f"{name}-nodes", "ec2.amazonaws.com")
        self.eks.create_cluster(**(auto_mode(name, role, nodes, subnets) | more))
        return wait_for(lambda: self.cluster_when(name, "ACTIVE"))

    def cluster_when(self, name: str, status: str) -> Any:
        cluster = self.eks.describe_cluster(name=name)["cluster"]
        return cluster if cluster["status"] == status else None


def auto_mode(name: str, role: str, node_role: str, subnets: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "roleArn": role,
        "resourcesVpcConfig": {"subnetIds": subnets},
        "accessConfig": {"authenticationMode": "API"},
        "computeConfig": {"enabled": True, "nodePools": ["system"], "nodeRoleArn": node_role},
        "storageConfig": {"blockStorage": {"enabled": True}},
        "kubernetesNetworkConfig": {"elasticLoadBalancing": {"enabled": True}},
    }
