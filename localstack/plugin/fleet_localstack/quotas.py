"""Service quotas: what an account may have in a region, told by two services and kept by those that make things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from localstack.aws.api import RequestContext, handler

from .ec2.engine import engine_of
from .eks.store import clusters_of
from .errors import refuse
from .operations import Parameters, Proceed, Reply, around
from .settings import SETTINGS, Settings


@dataclass(frozen=True)
class Quota:
    service: str
    name: str
    value: Callable[[Settings], float]


QUOTAS = {
    "L-0263D0A3": Quota("ec2", "EC2-VPC Elastic IPs", lambda settings: settings.elastic_ip_quota),
    "L-F678F1CE": Quota("vpc", "VPCs per Region", lambda settings: settings.vpc_quota),
    "L-1194D53C": Quota("eks", "Clusters", lambda settings: settings.cluster_quota),
}
ADDRESS_ATTRIBUTES = ("max-elastic-ips", "vpc-max-elastic-ips")


class QuotaProvider:
    service = "service-quotas"
    version = "2019-06-24"

    @handler("GetServiceQuota", expand=False)
    def get_service_quota(self, context: RequestContext, request: dict[str, Any]) -> dict[str, Any]:
        code, service = request["QuotaCode"], request["ServiceCode"]
        quota = QUOTAS.get(code)
        if quota is None or quota.service != service:
            refuse("NoSuchResourceException", "The request failed because the specified quota does not exist.")
        return {
            "Quota": {
                "ServiceCode": service,
                "QuotaCode": code,
                "QuotaName": quota.name,
                "Value": quota.value(SETTINGS.of(context.account_id)),
                "Unit": "None",
                "Adjustable": True,
                "GlobalQuota": False,
            }
        }


@around("ec2", "DescribeAccountAttributes")
def account_attributes(context: RequestContext, _request: Parameters, proceed: Proceed) -> Reply:
    reply = proceed()
    value = str(int(SETTINGS.of(context.account_id).elastic_ip_quota))
    for attribute in reply["AccountAttributes"]:
        if attribute["AttributeName"] in ADDRESS_ATTRIBUTES:
            attribute["AttributeValues"] = [{"AttributeValue": value}]
    return reply


@around("ec2", "AllocateAddress")
def allocate_address(context: RequestContext, _request: Parameters, proceed: Proceed) -> Reply:
    if len(engine_of(context).addresses) >= SETTINGS.of(context.account_id).elastic_ip_quota:
        refuse("AddressLimitExceeded", "The maximum number of addresses has been reached.")
    return proceed()


@around("ec2", "CreateVpc")
def create_vpc(context: RequestContext, _request: Parameters, proceed: Proceed) -> Reply:
    if len(engine_of(context).vpcs) >= SETTINGS.of(context.account_id).vpc_quota:
        refuse("VpcLimitExceeded", "The maximum number of VPCs has been reached.")
    return proceed()


@around("eks", "CreateCluster")
def create_cluster(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    existing = clusters_of(context.account_id, context.region)
    if request["name"] not in existing and len(existing) >= SETTINGS.of(context.account_id).cluster_quota:
        refuse("ResourceLimitExceededException", "Cluster limit exceeded for account.")
    return proceed()
