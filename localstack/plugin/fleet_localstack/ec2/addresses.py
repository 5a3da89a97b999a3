"""Elastic IP addresses: not released or taken away while a NAT gateway or anything else holds them."""

from __future__ import annotations

from localstack.aws.api import RequestContext

from ..errors import refuse
from ..operations import Parameters, Proceed, Reply, around
from .engine import engine_of, forget_tags
from .nat_gateways import holder_of


@around("ec2", "ReleaseAddress")
def release(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    backend = engine_of(context)
    allocation_id = request.get("AllocationId")
    address = next((a for a in backend.addresses if allocation_id and a.allocation_id == allocation_id), None)
    if address and address.association_id:
        refuse("InvalidIPAddress.InUse", f"Address {address.public_ip} is in use.")
    reply = proceed()
    if allocation_id:
        forget_tags(backend, allocation_id)
    return reply


@around("ec2", "DisassociateAddress")
def disassociate(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    backend = engine_of(context)
    wanted = request.get("AssociationId")
    address = next((a for a in backend.addresses if wanted and a.association_id == wanted), None)
    if address and holder_of(backend, address.allocation_id):
        refuse("AuthFailure", "You do not have permission to access the specified resource.")
    return proceed()
