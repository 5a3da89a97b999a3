"""VPCs and subnets: pending at first, and deleted only when nothing is left inside."""

from __future__ import annotations

from typing import Any

from localstack.aws.api import RequestContext

from ..errors import refuse
from ..operations import Parameters, Proceed, Reply, around
from ..settings import SETTINGS
from ..world import CLOCK
from .engine import (
    Engine,
    attached_gateway,
    dependency_violation,
    engine_of,
    forget_tags,
    interfaces_in,
    live_endpoints,
)
from .nat_gateways import live_in


@around("ec2", "CreateVpc")
def create_vpc(context: RequestContext, _request: Parameters, proceed: Proceed) -> Reply:
    reply = proceed()
    seconds = SETTINGS.of(context.account_id).vpc_pending_seconds
    if seconds > 0:
        vpc = engine_of(context).vpcs[reply["Vpc"]["VpcId"]]
        vpc.state = reply["Vpc"]["State"] = "pending"
        CLOCK.schedule(seconds, lambda: setattr(vpc, "state", "available"))
    return reply


@around("ec2", "DeleteVpc")
def delete_vpc(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    backend = engine_of(context)
    vpc_id = backend.get_vpc(request["VpcId"]).id
    if _occupied(backend, vpc_id):
        dependency_violation("vpc", vpc_id)
    own = _own_objects(backend, vpc_id)
    reply = proceed()
    for identifier in own:
        # The engine forgets to remove the default network ACL.
        backend.network_acls.pop(identifier, None)
        forget_tags(backend, identifier)
    backend.groups.pop(vpc_id, None)
    return reply


def _occupied(backend: Engine, vpc_id: str) -> bool:
    """Whether anything is in a VPC that did not come with it."""
    return bool(
        _in(vpc_id, [subnet for zone in backend.subnets.values() for subnet in zone.values()])
        or attached_gateway(backend, vpc_id)
        or [table for table in _in(vpc_id, backend.route_tables.values()) if not table.main_association_id]
        or [group for group in backend.groups[vpc_id].values() if group.name != "default"]
        or [acl for acl in _in(vpc_id, backend.network_acls.values()) if not acl.default]
        or interfaces_in(backend, vpc=vpc_id)
        or live_in(backend, vpc=vpc_id)
        or live_endpoints(backend, vpc_id)
    )


def _own_objects(backend: Engine, vpc_id: str) -> list[str]:
    """The ids of a VPC and of what goes with it: main route table, default group, default network ACL."""
    parts = [*backend.route_tables.values(), *backend.groups[vpc_id].values(), *backend.network_acls.values()]
    return [vpc_id, *(part.id for part in _in(vpc_id, parts))]


def _in(vpc_id: str, objects: Any) -> list[Any]:
    return [each for each in list(objects) if each.vpc_id == vpc_id]


@around("ec2", "CreateSubnet")
def create_subnet(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    zone = request.get("AvailabilityZone") or context.region
    if not zone.startswith(context.region):  # the engine would take a zone of any region
        refuse("InvalidParameterValue", f"Value ({zone}) for parameter availabilityZone is invalid.")
    reply = proceed()
    # AWS always answers with these; the engine only after they have been set.
    subnet = engine_of(context).get_subnet(reply["Subnet"]["SubnetId"])
    subnet.enable_dns64 = False
    defaults = {"EnableResourceNameDnsARecord": False, "EnableResourceNameDnsAAAARecord": False}
    hostname = getattr(subnet, "private_dns_name_options_on_launch", None) or {"HostnameType": "ip-name"}
    subnet.private_dns_name_options_on_launch = defaults | hostname
    # The engine takes the first subnet of a zone for a default one.
    subnet.default_for_az = subnet.map_public_ip_on_launch = False
    reply["Subnet"] |= {
        "DefaultForAz": False,
        "MapPublicIpOnLaunch": False,
        "EnableDns64": False,
        "PrivateDnsNameOptionsOnLaunch": subnet.private_dns_name_options_on_launch,
    }
    return reply


# What the engine accepts and forgets, and where LocalStack shows it from.
_HOSTNAME_OPTIONS = {
    "PrivateDnsHostnameTypeOnLaunch": "HostnameType",
    "EnableResourceNameDnsARecordOnLaunch": "EnableResourceNameDnsARecord",
    "EnableResourceNameDnsAAAARecordOnLaunch": "EnableResourceNameDnsAAAARecord",
}


@around("ec2", "ModifySubnetAttribute")
def modify_subnet(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    _one_attribute(request, "SubnetId")
    subnet = engine_of(context).get_subnet(request["SubnetId"])
    reply = proceed()
    for name, value in request.items():
        plain = value.get("Value") if isinstance(value, dict) else value
        if name == "EnableDns64":
            subnet.enable_dns64 = plain
        if name in _HOSTNAME_OPTIONS:
            options = subnet.private_dns_name_options_on_launch
            subnet.private_dns_name_options_on_launch = options | {_HOSTNAME_OPTIONS[name]: plain}
    return reply


@around("ec2", "ModifyVpcAttribute")
def modify_vpc(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    _one_attribute(request, "VpcId")
    engine_of(context).get_vpc(request["VpcId"])
    return proceed()


def _one_attribute(request: Parameters, identifier: str) -> None:
    """AWS changes one attribute in a call."""
    if len([name for name in request if name not in (identifier, "DryRun")]) > 1:
        refuse("InvalidParameterCombination", "Only one attribute can be modified at a time")


@around("ec2", "DeleteSubnet")
def delete_subnet(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    backend = engine_of(context)
    subnet = backend.get_subnet(request["SubnetId"])
    endpoints = [e for e in live_endpoints(backend, subnet.vpc_id) if subnet.id in (e.subnet_ids or [])]
    if interfaces_in(backend, subnet=subnet.id) or live_in(backend, subnet=subnet.id) or endpoints:
        dependency_violation("subnet", subnet.id)
    reply = proceed()
    # The explicit association goes with the subnet; the engine keeps it, and the table could never be deleted.
    for table in backend.route_tables.values():
        for association in [key for key, target in table.associations.items() if target == subnet.id]:
            del table.associations[association]
    for acl in backend.network_acls.values():
        for association in [key for key, item in acl.associations.items() if item.subnet_id == subnet.id]:
            del acl.associations[association]
    forget_tags(backend, subnet.id)
    return reply
