"""Routes only to what exists, one explicit association to a subnet, and tables that go when nothing needs them."""

from __future__ import annotations

from typing import Any

from localstack.aws.api import RequestContext

from ..errors import refuse
from ..operations import Parameters, Proceed, Reply, around
from .engine import Engine, attached_gateway, dependency_violation, engine_of, forget_tags
from .nat_gateways import gateways_of


@around("ec2", "CreateRoute", "ReplaceRoute")
def change_route(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    backend = engine_of(context)
    table = backend.get_route_table(request["RouteTableId"])
    gateway_id, nat_id = request.get("GatewayId"), request.get("NatGatewayId")
    if gateway_id and gateway_id.startswith("igw-"):
        _check_gateway(backend, table, gateway_id)
    if nat_id:
        gateway = gateways_of(backend).get(nat_id)
        if gateway is None or gateway.state in ("failed", "deleting", "deleted"):
            refuse("InvalidNatGatewayID.NotFound", f"The natGateway ID '{nat_id}' does not exist")
    return proceed()


def _check_gateway(backend: Engine, table: Any, gateway_id: str) -> None:
    gateway = backend.internet_gateways.get(gateway_id)
    if gateway is None:
        refuse("InvalidGatewayID.NotFound", f"The gateway ID '{gateway_id}' does not exist")
    if gateway.vpc is None or gateway.vpc.id != table.vpc_id:
        message = f"route table {table.id} and network gateway {gateway_id} belong to different networks"
        refuse("InvalidParameterValue", message)


@around("ec2", "AssociateRouteTable")
def associate(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    backend = engine_of(context)
    table = backend.get_route_table(request["RouteTableId"])
    subnet_id = request.get("SubnetId")
    if subnet_id:
        subnet = backend.get_subnet(subnet_id)
        if subnet.vpc_id != table.vpc_id:
            message = f"Route table {table.id} and subnet {subnet_id} belong to different networks"
            refuse("InvalidParameterValue", message)
        if any(subnet_id in other.associations.values() for other in list(backend.route_tables.values())):
            message = f"the specified association for route table {table.id} conflicts with an existing association"
            refuse("Resource.AlreadyAssociated", message)
    return proceed()


@around("ec2", "DeleteRouteTable")
def delete(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    backend = engine_of(context)
    table = backend.get_route_table(request["RouteTableId"])
    if table.main_association_id or table.associations:
        dependency_violation("routeTable", table.id)
    reply = proceed()
    forget_tags(backend, table.id)
    return reply


@around("ec2", "DescribeRouteTables")
def describe(context: RequestContext, _request: Parameters, proceed: Proceed) -> Reply:
    backend = engine_of(context)
    reply = proceed()
    for table in reply.get("RouteTables") or []:
        for route in table.get("Routes") or []:
            if _leads_nowhere(backend, table["VpcId"], route):
                route["State"] = "blackhole"
    return reply


def _leads_nowhere(backend: Engine, vpc_id: str, route: dict[str, Any]) -> bool:
    nat_id, gateway_id = route.get("NatGatewayId"), route.get("GatewayId") or ""
    if nat_id:
        gateway = gateways_of(backend).get(nat_id)
        return gateway is None or gateway.state in ("failed", "deleted")
    if gateway_id.startswith("igw-"):
        attached = attached_gateway(backend, vpc_id)
        return attached is None or attached.id != gateway_id
    return False
