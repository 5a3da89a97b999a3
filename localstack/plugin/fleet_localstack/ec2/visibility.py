"""Read-after-write lag: what was just made is missing from Describe* for a while, by id and by filter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from localstack.aws.api import RequestContext

from ..errors import refuse
from ..operations import Parameters, Proceed, Reply, around, operation_of
from ..settings import SETTINGS
from ..world import Ages


@dataclass(frozen=True)
class Kind:
    """A kind of object whose readers lag behind its writers."""

    prefix: str
    create: str
    created: str  # the path of the new id in the reply of `create`
    describe: str
    listed: str  # the list in the reply of `describe`
    identifier: str
    not_found: str
    message: str


KINDS = (
    Kind("vpc-", "CreateVpc", "Vpc.VpcId", "DescribeVpcs", "Vpcs", "VpcId",
         "InvalidVpcID.NotFound", "The vpc ID '{}' does not exist"),
    Kind("subnet-", "CreateSubnet", "Subnet.SubnetId", "DescribeSubnets", "Subnets", "SubnetId",
         "InvalidSubnetID.NotFound", "The subnet ID '{}' does not exist"),
    Kind("igw-", "CreateInternetGateway", "InternetGateway.InternetGatewayId", "DescribeInternetGateways",
         "InternetGateways", "InternetGatewayId",
         "InvalidInternetGatewayID.NotFound", "The internetGateway ID '{}' does not exist"),
    Kind("nat-", "CreateNatGateway", "NatGateway.NatGatewayId", "DescribeNatGateways", "NatGateways", "NatGatewayId",
         "NatGatewayNotFound", "The Nat Gateway {} was not found"),
    Kind("eipalloc-", "AllocateAddress", "AllocationId", "DescribeAddresses", "Addresses", "AllocationId",
         "InvalidAllocationID.NotFound", "The allocation ID '{}' does not exist"),
    Kind("rtb-", "CreateRouteTable", "RouteTable.RouteTableId", "DescribeRouteTables", "RouteTables", "RouteTableId",
         "InvalidRouteTableID.NotFound", "The routeTable ID '{}' does not exist"),
    Kind("sg-", "CreateSecurityGroup", "GroupId", "DescribeSecurityGroups", "SecurityGroups", "GroupId",
         "InvalidGroup.NotFound", "The security group '{}' does not exist"),
)  # fmt: skip

_BY_CREATE = {kind.create: kind for kind in KINDS}
_BY_DESCRIBE = {kind.describe: kind for kind in KINDS}

AGES = Ages()


@around("ec2")
def lag(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    operation = operation_of(context)
    settings = SETTINGS.of(context.account_id)
    reading = operation.startswith("Describe")
    seconds = settings.ec2_visibility_lag_seconds if reading else settings.ec2_use_lag_seconds
    _refuse_hidden(context, request, seconds)
    reply = proceed()
    if operation in _BY_CREATE:
        AGES.mark(context.account_id, context.region, _at(reply, _BY_CREATE[operation].created))
    if operation in _BY_DESCRIBE:
        kind = _BY_DESCRIBE[operation]
        reply[kind.listed] = [
            item
            for item in reply.get(kind.listed) or []
            if not AGES.younger(seconds, context.account_id, context.region, item.get(kind.identifier, ""))
        ]
    return reply


def _refuse_hidden(context: RequestContext, request: Parameters, seconds: float) -> None:
    if seconds <= 0:
        return
    # Filters select; only what is named as a parameter has to exist.
    named = {name: value for name, value in request.items() if name not in ("Filter", "Filters", "TagSpecifications")}
    for text in _strings(named):
        if AGES.younger(seconds, context.account_id, context.region, text):
            kind = next(kind for kind in KINDS if text.startswith(kind.prefix))
            refuse(kind.not_found, kind.message.format(text))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _at(reply: Any, path: str) -> str:
    for name in path.split("."):
        reply = reply[name]
    return str(reply)
