"""What happens to every API call before and after its service: the clock, the log, credentials, faults, DryRun."""

from __future__ import annotations

import time
from typing import Any

from localstack.aws import handlers
from localstack.aws.api import RequestContext
from localstack.http import Response
from localstack.utils.aws.request_context import extract_access_key_id_from_auth_header

from . import connections
from .calls import CALLS, Call
from .errors import refuse
from .faults import AFTER, BEFORE, FAULTS, Rule
from .settings import SETTINGS
from .world import CLOCK

# What a service says to credentials whose time is over. EC2 has a code of its own.
EXPIRED = {
    "ec2": ("RequestExpired", 400, "Request has expired."),
    "eks": ("ExpiredTokenException", 403, "The security token included in the request is expired"),
}
EXPIRED_ELSEWHERE = ("ExpiredToken", 403, "The security token included in the request is expired")

_CALL = "fleet_call"  # the attribute of LocalStack's context that carries the log entry to the reply


def install() -> None:
    """Called from LocalStack's chain of handlers, around the service itself."""
    handlers.preprocess_request.append(_take_query_signature)
    handlers.serve_custom_service_request_handlers.append(_before)
    handlers.run_custom_response_handlers.append(_after)


def access_key_of(context: RequestContext) -> str | None:
    # Some clients write header names in small letters, which a plain dict would not find.
    authorization = context.request.headers.get("Authorization", "")
    return extract_access_key_id_from_auth_header({"Authorization": authorization})


def _take_query_signature(chain: Any, context: Any, response: Response) -> None:
    """A call that was signed in advance says in its query who signed it; LocalStack looks in the header alone."""
    given = context.request.args
    if "X-Amz-Credential" in given and not context.request.headers.get("Authorization"):
        parts = (("Credential", "X-Amz-Credential"), ("SignedHeaders", "X-Amz-SignedHeaders"), ("Signature", "X-Amz-Signature"))
        told = ", ".join(f"{name}={given.get(key, '')}" for name, key in parts)
        context.request.headers["Authorization"] = f"{given.get('X-Amz-Algorithm', '')} {told}"


def _before(chain: Any, context: Any, response: Response) -> None:
    if context.is_internal_call or not context.service_operation:
        return
    CLOCK.run_due()
    service, operation = context.service_operation
    access_key = access_key_of(context)
    parameters = context.service_request
    call = CALLS.begin(service, operation, context.account_id, context.region, access_key, parameters)
    setattr(context, _CALL, call)
    if access_key and SETTINGS.is_expired(access_key):
        code, status, message = EXPIRED.get(service, EXPIRED_ELSEWHERE)
        refuse(code, message, status)
    _apply_before(call, FAULTS.hit(BEFORE, service, operation, context.account_id), context)
    if service == "ec2" and (parameters or {}).get("DryRun"):
        refuse("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)


def _apply_before(call: Call, rule: Rule | None, context: RequestContext) -> None:
    if rule is None:
        return
    call.fault = BEFORE
    time.sleep(rule.delay_ms / 1000)
    if rule.drop:
        connections.drop(context.request)
    if not rule.only_delays:
        code, status, message = rule.refusal(call.service)
        refuse(code, message, status)


def _after(chain: Any, context: Any, response: Response) -> None:
    call: Call | None = getattr(context, _CALL, None)
    if call is None:
        return
    # The log says what became of the call, not what its client got to see.
    call.status = response.status_code
    call.error = getattr(context.service_exception, "code", None)
    if call.error:
        return
    rule = FAULTS.hit(AFTER, call.service, call.operation, call.account)
    if rule is not None:
        call.fault = AFTER
        _lose(rule, context, response)


def _lose(rule: Rule, context: RequestContext, response: Response) -> None:
    time.sleep(rule.delay_ms / 1000)
    if rule.drop:
        connections.drop(context.request)
    if not rule.only_delays:
        response.status_code = rule.status or 500
        response.set_data(b"")
