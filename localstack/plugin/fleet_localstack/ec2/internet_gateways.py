"""Internet gateways: one to a VPC, and not detached while public addresses are mapped in it."""

from __future__ import annotations

from localstack.aws.api import RequestContext

from ..errors import refuse
from ..operations import Parameters, Proceed, Reply, around
from .engine import attached_gateway, dependency_violation, engine_of, forget_tags, interfaces_in


@around("ec2", "AttachInternetGateway")
def attach(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    backend = engine_of(context)
    vpc = backend.get_vpc(request["VpcId"])
    gateway = backend.get_internet_gateway(request["InternetGatewayId"])
    if gateway.vpc:
        refuse("Resource.AlreadyAssociated", f"resource {gateway.id} is already attached to network {gateway.vpc.id}")
    if attached_gateway(backend, vpc.id):
        refuse("InvalidParameterValue", f"Network {vpc.id} already has an internet gateway attached")
    return proceed()


@around("ec2", "DetachInternetGateway")
def detach(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    vpc_id = request["VpcId"]
    mapped = [i for i in interfaces_in(engine_of(context), vpc=vpc_id) if i.public_ip]
    if mapped:
        refuse(
            "DependencyViolation",
            f"Network {vpc_id} has some mapped public address(es). "
            "Please unmap those public address(es) before detaching the gateway.",
        )
    return proceed()


@around("ec2", "DeleteInternetGateway")
def delete(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    backend = engine_of(context)
    gateway = backend.get_internet_gateway(request["InternetGatewayId"])
    if gateway.vpc:
        dependency_violation("internetGateway", gateway.id)
    reply = proceed()
    forget_tags(backend, gateway.id)
    return reply
