"""Everything that exists in an account, to be compared before and after."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moto.ec2.models import ec2_backends

from .ec2.engine import Engine, engine
from .ec2.nat_gateways import gateways_of
from .eks.store import Cluster, all_clusters
from .iam import iam
from .world import LOCK

HOME_REGION = "us-west-2"

Item = dict[str, Any]


def of(account: str, regions: Iterable[str] = ()) -> dict[str, Any]:
    """The inventory of an account in all regions that were used, the home region, and `regions`.

    A region gets its default VPC when it is first looked at; it is looked at here, so that it is always there.
    """
    roles = _roles(account)
    with LOCK:
        used = {*ec2_backends[account].keys(), HOME_REGION, *regions}
        return {
            "account": account,
            "iam": {"roles": roles},
            "ec2": {region: _ec2(engine(account, region)) for region in sorted(used)},
            "eks": [_cluster(cluster) for cluster in all_clusters(account)],
        }


def _roles(account: str) -> list[Item]:
    client = iam(account)
    names = [role["RoleName"] for page in client.get_paginator("list_roles").paginate() for role in page["Roles"]]
    return [_role(client, name) for name in sorted(names)]


def _role(client: Any, name: str) -> Item:
    role = client.get_role(RoleName=name)["Role"]
    attached = client.list_attached_role_policies(RoleName=name)["AttachedPolicies"]
    return {
        "id": role["Arn"],
        "name": name,
        "path": role["Path"],
        "maxSessionDuration": role.get("MaxSessionDuration"),
        "trust": role["AssumeRolePolicyDocument"],
        "attachedPolicies": sorted(policy["PolicyArn"] for policy in attached),
        "inlinePolicies": sorted(client.list_role_policies(RoleName=name)["PolicyNames"]),
        "tags": {tag["Key"]: tag["Value"] for tag in role.get("Tags") or []},
    }


def _ec2(backend: Engine) -> dict[str, list[Item]]:
    subnets = [subnet for zone in backend.subnets.values() for subnet in zone.values()]
    groups = [group for of_vpc in backend.groups.values() for group in of_vpc.values()]
    gateways = [gateway for gateway in gateways_of(backend).values() if gateway.state != "deleted"]
    return {
        "vpcs": _items(backend, backend.vpcs.values(), _vpc),
        "subnets": _items(backend, subnets, _subnet),
        "internetGateways": _items(backend, backend.internet_gateways.values(), _internet_gateway),
        "natGateways": _items(backend, gateways, _nat_gateway),
        "addresses": _items(backend, backend.addresses, _address),
        "routeTables": _items(backend, backend.route_tables.values(), _route_table),
        "networkInterfaces": _items(backend, backend.enis.values(), _interface),
        "securityGroups": _items(backend, groups, _group),
        "networkAcls": _items(backend, backend.network_acls.values(), _acl),
        "vpcEndpoints": _items(backend, backend.vpc_end_points.values(), _endpoint),
    }


def _items(backend: Engine, objects: Iterable[Any], details: Any) -> list[Item]:
    items = []
    for each in objects:
        tags = dict(backend.tags.get(each.id) or {})
        items.append({"id": each.id, "name": tags.get("Name"), "tags": tags, **details(each)})
    return sorted(items, key=lambda item: str(item["id"]))


def _vpc(vpc: Any) -> Item:
    return {
        "cidr": vpc.cidr_block,
        "default": bool(vpc.is_default),
        "dnsSupport": _flag(vpc.enable_dns_support),
        "dnsHostnames": _flag(vpc.enable_dns_hostnames),
    }


def _flag(value: Any) -> bool:
    """The engine keeps what the query said: a string or a boolean."""
    return str(value).lower() == "true"


def _subnet(subnet: Any) -> Item:
    return {
        "vpc": subnet.vpc_id,
        "cidr": subnet.cidr_block,
        "zone": subnet.availability_zone,
        "mapPublicIpOnLaunch": _flag(subnet.map_public_ip_on_launch),
    }


def _internet_gateway(gateway: Any) -> Item:
    return {"vpc": gateway.vpc.id if gateway.vpc else None}


def _nat_gateway(gateway: Any) -> Item:
    return {
        "vpc": gateway.vpc_id,
        "subnet": gateway.subnet_id,
        "state": gateway.state,
        "allocation": gateway.allocation_id,
        "failureCode": gateway.failure.code if gateway.failure and gateway.state == "failed" else None,
    }


def _address(address: Any) -> Item:
    return {"publicIp": address.public_ip, "association": address.association_id}


def _route_table(table: Any) -> Item:
    routes = {route.destination_cidr_block or route.destination_ipv6_cidr_block: _goal(route)
              for route in table.routes.values()}  # fmt: skip
    return {
        "vpc": table.vpc_id,
        "main": bool(table.main_association_id),
        "subnets": sorted(table.associations.values()),
        "routes": routes,
    }


def _goal(route: Any) -> str:
    for goal in (route.nat_gateway, route.gateway, route.interface, route.vpc_pcx, route.transit_gateway):
        if goal is not None:
            return str(goal.id)
    return "local" if route.local else "other"


def _interface(interface: Any) -> Item:
    return {
        "vpc": interface.subnet.vpc_id,
        "subnet": interface.subnet.id,
        "description": interface.description,
        "publicIp": interface.public_ip,
    }


def _group(group: Any) -> Item:
    return {"vpc": group.vpc_id, "groupName": group.name, "description": group.description}


def _acl(acl: Any) -> Item:
    return {"vpc": acl.vpc_id, "default": acl.default}


def _endpoint(endpoint: Any) -> Item:
    return {"vpc": endpoint.vpc_id, "state": endpoint.state}


def _cluster(cluster: Cluster) -> Item:
    body = cluster.body
    entries = cluster.access_entries.items()
    return {
        "id": body["arn"],
        "name": cluster.name,
        "region": cluster.region,
        "status": cluster.status,
        "version": body["version"],
        "endpoint": body.get("endpoint"),
        "tags": body["tags"],
        "addons": {name: {"status": a.status, "version": a.body["addonVersion"], "tags": a.tags}
                   for name, a in cluster.addons.items()},
        "nodegroups": {name: {"status": n.status, "tags": n.tags} for name, n in cluster.nodegroups.items()},
        "accessEntries": {arn: {"type": e.body["type"], "groups": e.body["kubernetesGroups"],
                                "policies": sorted(e.policies), "tags": e.tags} for arn, e in entries},
        "podIdentityAssociations": {
            key: {"namespace": a.body["namespace"], "serviceAccount": a.body["serviceAccount"],
                  "role": a.body["roleArn"], "tags": a.tags}
            for key, a in cluster.associations.items()
        },
    }  # fmt: skip
