"""ClientToken: a repeated call answers with the object of the first; the same token with other parameters is refused."""

from __future__ import annotations

import copy
from typing import Any

from localstack.aws.api import RequestContext

from ..errors import refuse
from ..operations import Parameters, Proceed, Reply, around, operation_of

# CreateNatGateway answers with the gateway as it is now, so it keeps its own tokens.
OPERATIONS = ("CreateRouteTable", "CreateVpcEndpoint", "CreateLaunchTemplate", "CreateEgressOnlyInternetGateway")

_REPLIES: dict[tuple[str, str, str, str], tuple[Any, Any]] = {}


@around("ec2", *OPERATIONS)
def client_token(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    token = request.get("ClientToken")
    if not token:
        return proceed()
    key = (context.account_id, context.region, operation_of(context), token)
    if key not in _REPLIES:
        _REPLIES[key] = (copy.deepcopy(request), copy.deepcopy(proceed()))
    first_request, reply = _REPLIES[key]
    if first_request != request:
        refuse_mismatch()
    return copy.deepcopy(reply)


def refuse_mismatch() -> None:
    refuse(
        "IdempotentParameterMismatch",
        "The client token you have provided is associated with a resource with different parameters.",
    )
