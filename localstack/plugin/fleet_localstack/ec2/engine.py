"""Direct access to LocalStack's EC2 engine, and the refusals that several modules share."""

from __future__ import annotations

from typing import Any, NoReturn

from localstack.aws.api import RequestContext
from moto.ec2.models import ec2_backends

from ..errors import refuse

# An `EC2Backend` of moto, whose annotations do not say what it really takes and holds.
Engine = Any


def engine_of(context: RequestContext) -> Engine:
    return engine(context.account_id, context.region)


def engine(account: str, region: str) -> Engine:
    return ec2_backends[account][region]


def dependency_violation(kind: str, identifier: str) -> NoReturn:
    refuse("DependencyViolation", f"The {kind} '{identifier}' has dependencies and cannot be deleted.")


def interfaces_in(backend: Engine, *, subnet: str | None = None, vpc: str | None = None) -> list[Any]:
    """The network interfaces in a subnet or VPC."""
    return [
        interface
        for interface in list(backend.enis.values())
        if subnet in (None, interface.subnet.id) and vpc in (None, interface.subnet.vpc_id)
    ]


def live_endpoints(backend: Engine, vpc: str) -> list[Any]:
    endpoints = list(backend.vpc_end_points.values())
    return [endpoint for endpoint in endpoints if endpoint.vpc_id == vpc and endpoint.state != "deleted"]


def forget_tags(backend: Engine, identifier: str) -> None:
    """The engine keeps the tags of what is deleted, and DescribeTags would go on to show them."""
    backend.tags.pop(identifier, None)


def attached_gateway(backend: Engine, vpc: str) -> Any | None:
    """The internet gateway attached to a VPC."""
    gateways = list(backend.internet_gateways.values())
    return next((gateway for gateway in gateways if gateway.vpc and gateway.vpc.id == vpc), None)
