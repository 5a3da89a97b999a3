"""NAT gateways with the states that AWS has: pending, available or failed, deleting, deleted for a while, gone.

The engine's own gateways are available at once and never go. Here the engine only holds the network interface, the
address and the object that routes point to; everything else is in `NatGateway`.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, NoReturn

from localstack.aws.api import RequestContext
from moto.ec2.utils import add_tag_specification

from ..errors import refuse
from ..faults import FAULTS
from ..operations import Parameters, Proceed, Reply, around
from ..settings import SETTINGS
from ..world import CLOCK
from .engine import Engine, attached_gateway, engine_of, forget_tags
from .filters import matches
from .tokens import refuse_mismatch

LIVE = ("pending", "available", "deleting")


@dataclass
class Failure:
    code: str
    message: str


@dataclass
class NatGateway:
    backend: Engine
    engine_object: Any
    id: str
    subnet_id: str
    vpc_id: str
    allocation_id: str | None
    connectivity: str
    created: datetime.datetime
    request: Parameters
    state: str = "pending"
    holds_address: bool = False
    failure: Failure | None = None
    deleted: datetime.datetime | None = None

    def description(self) -> dict[str, Any]:
        described: dict[str, Any] = {
            "NatGatewayId": self.id,
            "SubnetId": self.subnet_id,
            "VpcId": self.vpc_id,
            "State": self.state,
            "ConnectivityType": self.connectivity,
            "CreateTime": self.created,
            "NatGatewayAddresses": [self._address()],
            "Tags": [{"Key": k, "Value": v} for k, v in self.backend.tags.get(self.id, {}).items()],
        }
        if self.deleted:
            described["DeleteTime"] = self.deleted
        if self.failure and self.state != "pending":
            described |= {"FailureCode": self.failure.code, "FailureMessage": self.failure.message}
        return described

    def _address(self) -> dict[str, Any]:
        status = {"pending": "associating", "failed": "failed"}.get(self.state, "succeeded")
        address: dict[str, Any] = {"IsPrimary": True, "Status": status}
        if self.allocation_id:
            address["AllocationId"] = self.allocation_id
        if self.state == "failed":
            return address
        interface = self.engine_object._eni
        address |= {"NetworkInterfaceId": interface.id, "PrivateIp": interface.private_ip_address}
        if self.holds_address:
            held = self.backend.address_by_allocation([self.allocation_id])[0]
            address |= {"PublicIp": held.public_ip, "AssociationId": held.association_id}
        return address

    def settle(self) -> None:
        """The end of creation."""
        if self.state != "pending":
            return
        self.state = "failed" if self.failure else "available"
        if self.failure:
            self._release()
            self._bury()

    def delete(self) -> None:
        if self.state == "deleting":
            return
        self.deleted = _now()
        if self.state == "failed":  # it holds nothing any more
            self.state = "deleted"
            return
        self.state = "deleting"
        seconds = SETTINGS.of(self.backend.account_id).nat_gateway_delete_seconds
        CLOCK.schedule(seconds, self._finish_deletion)

    def _finish_deletion(self) -> None:
        self.state = "deleted"
        self._release()
        self._bury()

    def _release(self) -> None:
        """Gives back the address and the network interface."""
        if self.holds_address:
            held = self.backend.address_by_allocation([self.allocation_id])[0]
            self.backend.disassociate_address(address=held.public_ip)
            self.holds_address = False
        self.backend.enis.pop(self.engine_object._eni.id, None)

    def _bury(self) -> None:
        seconds = SETTINGS.of(self.backend.account_id).nat_gateway_tombstone_seconds
        CLOCK.schedule(seconds, self._vanish)

    def _vanish(self) -> None:
        gateways_of(self.backend).pop(self.id, None)
        self.backend.nat_gateways.pop(self.id, None)
        forget_tags(self.backend, self.id)


_GATEWAYS: dict[tuple[str, str], dict[str, NatGateway]] = {}
_TOKENS: dict[tuple[str, str, str], NatGateway] = {}


def gateways_of(backend: Engine) -> dict[str, NatGateway]:
    return _GATEWAYS.setdefault((backend.account_id, backend.region_name), {})


def live_in(backend: Engine, *, subnet: str | None = None, vpc: str | None = None) -> list[NatGateway]:
    """The gateways in a subnet or VPC that still hold something there."""
    return [
        gateway
        for gateway in gateways_of(backend).values()
        if gateway.state in LIVE and subnet in (None, gateway.subnet_id) and vpc in (None, gateway.vpc_id)
    ]


def holder_of(backend: Engine, allocation_id: str) -> NatGateway | None:
    """The gateway that holds an address."""
    held = {gateway.allocation_id: gateway for gateway in gateways_of(backend).values() if gateway.holds_address}
    return held.get(allocation_id)


@around("ec2", "CreateNatGateway")
def create(context: RequestContext, request: Parameters, _proceed: Proceed) -> Reply:
    backend = engine_of(context)
    token = request.get("ClientToken")
    key = (context.account_id, context.region, token or "")
    if token and key in _TOKENS:
        if _TOKENS[key].request != request:
            refuse_mismatch()
        return {"NatGateway": _TOKENS[key].description(), "ClientToken": token}
    gateway = _new(backend, request)
    gateways_of(backend)[gateway.id] = gateway
    if token:
        _TOKENS[key] = gateway
    rule = FAULTS.outcome("ec2", "CreateNatGateway", context.account_id)
    if rule:
        gateway.failure = Failure(rule.failureCode, rule.failureMessage)
    CLOCK.schedule(SETTINGS.of(context.account_id).nat_gateway_create_seconds, gateway.settle)
    return {"NatGateway": gateway.description()} | ({"ClientToken": token} if token else {})


def _new(backend: Engine, request: Parameters) -> NatGateway:
    connectivity = request.get("ConnectivityType") or "public"
    allocation_id = request.get("AllocationId")
    subnet = backend.get_subnet(request["SubnetId"])
    if connectivity == "public" and not allocation_id:
        refuse("MissingParameter", "The request must include the AllocationId parameter. Add the required parameter "
               "and retry the request.")  # fmt: skip
    if connectivity == "private" and allocation_id:
        refuse("InvalidParameterCombination", "An allocation ID cannot be given for a private NAT gateway.")
    address = _address(backend, allocation_id) if allocation_id else None
    failure = _failure(backend, subnet.vpc_id, address) if address else None
    tags = add_tag_specification(request.get("TagSpecifications") or [])
    engine_object = backend.create_nat_gateway(subnet.id, None, tags, connectivity)
    gateway = NatGateway(
        backend=backend,
        engine_object=engine_object,
        id=engine_object.id,
        subnet_id=subnet.id,
        vpc_id=subnet.vpc_id,
        allocation_id=allocation_id,
        connectivity=connectivity,
        created=_now(),
        request=dict(request),
        failure=failure,
    )
    interface = engine_object._eni
    interface.description = f"Interface for NAT Gateway {gateway.id}"
    interface.interface_type = "nat_gateway"
    interface.requester_managed = True
    interface.status = "in-use"
    interface._group_set = []
    if address and not failure:
        backend.associate_address(eni=interface, allocation_id=allocation_id)
        gateway.holds_address = True
    return gateway


def _address(backend: Engine, allocation_id: str) -> Any:
    found = [address for address in backend.addresses if address.allocation_id == allocation_id]
    if not found:
        refuse("InvalidAllocationID.NotFound", f"The allocation ID '{allocation_id}' does not exist")
    return found[0]


def _failure(backend: Engine, vpc_id: str, address: Any) -> Failure | None:
    """What AWS finds out only after it has accepted the call."""
    if attached_gateway(backend, vpc_id) is None:
        return Failure("Gateway.NotAttached", f"Network {vpc_id} has no Internet gateway attached")
    if address.association_id:
        message = f"Elastic IP address {address.allocation_id} is already associated"
        return Failure("Resource.AlreadyAssociated", message)
    return None


@around("ec2", "DescribeNatGateways")
def describe(context: RequestContext, request: Parameters, _proceed: Proceed) -> Reply:
    gateways = gateways_of(engine_of(context))
    wanted = request.get("NatGatewayIds") or list(gateways)
    for identifier in wanted:
        if identifier not in gateways:
            _refuse_unknown(identifier)
    described = [gateways[identifier].description() for identifier in wanted]
    filters = request.get("Filter") or request.get("Filters") or []
    return {"NatGateways": [item for item in described if matches(item, filters, _FILTERS)]}


_FILTERS = {
    "nat-gateway-id": "NatGatewayId",
    "subnet-id": "SubnetId",
    "vpc-id": "VpcId",
    "state": "State",
}


@around("ec2", "DeleteNatGateway")
def delete(context: RequestContext, request: Parameters, _proceed: Proceed) -> Reply:
    gateway = gateways_of(engine_of(context)).get(request["NatGatewayId"])
    if gateway is None or gateway.state == "deleted":
        _refuse_unknown(request["NatGatewayId"])
    gateway.delete()
    return {"NatGatewayId": gateway.id}


def _refuse_unknown(identifier: str) -> NoReturn:
    refuse("NatGatewayNotFound", f"NatGateway {identifier} was not found")


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)
