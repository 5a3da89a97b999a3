"""What a cluster has in its VPC: the cluster security group and the network interfaces of the control plane."""

from __future__ import annotations

import secrets
from typing import Any

from localstack.aws.api import RequestContext
from moto.core.exceptions import RESTError

from ..ec2.engine import Engine, engine, engine_of, forget_tags
from ..errors import refuse
from .base import invalid
from .store import Cluster

SECURITY_GROUP_DESCRIPTION = (
    "EKS created security group applied to ENI that is attached to EKS Control Plane master nodes, "
    "as well as any managed workloads."
)

# Zones are known to everybody by their id only; their names differ from account to account.
ZONES_WITHOUT_EKS = ("use1-az3", "usw1-az2", "cac1-az3")


def subnets(context: RequestContext, identifiers: list[str]) -> list[Any]:
    """The cluster's subnets; they have to exist, in one VPC, in two availability zones."""
    backend = engine_of(context)
    found = []
    for identifier in identifiers:
        try:
            found.append(backend.get_subnet(identifier))
        except RESTError:
            invalid(f"The subnet ID '{identifier}' does not exist")
    for subnet in found:
        if subnet.availability_zone_id in ZONES_WITHOUT_EKS:
            zone = subnet.availability_zone
            message = f"Cannot create cluster because {zone}, the targeted availability zone, does not host EKS"
            refuse("UnsupportedAvailabilityZoneException", message)
    if len({subnet.vpc_id for subnet in found}) > 1:
        invalid("Subnets specified must belong to the same VPC")
    if len({subnet.availability_zone for subnet in found}) < 2:
        invalid("Subnets specified must be in at least two different AZs")
    return found


def attach(cluster: Cluster, in_subnets: list[Any]) -> None:
    """Makes the security group, which lets its members talk to each other, and two interfaces."""
    backend = engine(cluster.account, cluster.region)
    tags = {"Name": f"eks-cluster-sg-{cluster.name}", f"kubernetes.io/cluster/{cluster.name}": "owned"}
    tags["aws:eks:cluster-name"] = cluster.name
    group = backend.create_security_group(
        name=f"eks-cluster-sg-{cluster.name}-{secrets.randbelow(10**9)}",
        description=SECURITY_GROUP_DESCRIPTION,
        vpc_id=in_subnets[0].vpc_id,
        tags=tags,
    )
    backend.authorize_security_group_ingress(
        group_name_or_id=group.id,
        ip_protocol="-1",
        from_port=None,
        to_port=None,
        ip_ranges=[],
        source_groups=[{"GroupId": group.id}],
        vpc_id=group.vpc_id,
    )
    cluster.security_group = group.id
    zones = {subnet.availability_zone: subnet for subnet in reversed(in_subnets)}
    cluster.interfaces = [_interface(backend, subnet, group.id, cluster.name) for subnet in list(zones.values())[:2]]


def _interface(backend: Engine, subnet: Any, group: str, cluster: str) -> str:
    interface = backend.create_network_interface(subnet, None, group_ids=[group], description=f"Amazon EKS {cluster}")
    interface.requester_managed = True
    interface.status = "in-use"
    return str(interface.id)


def detach(cluster: Cluster) -> None:
    """Takes away what `attach` made."""
    backend = engine(cluster.account, cluster.region)
    for interface in cluster.interfaces:
        backend.enis.pop(interface, None)
    for groups in backend.groups.values():
        groups.pop(cluster.security_group, None)
    forget_tags(backend, cluster.security_group)
