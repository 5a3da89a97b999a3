"""AssumeRole as strict as AWS: the role exists, trusts the caller, and the session is not longer than it may be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from localstack.aws.api import RequestContext
from localstack.aws.connect import connect_to

from .errors import refuse
from .gateway import access_key_of
from .iam import ROLE_ARN, as_list, find_role
from .operations import Parameters, Proceed, Reply, around

ASSUMED_ROLE = re.compile(r"arn:(aws[a-z-]*):sts::(\d{12}):assumed-role/([^/]+)/(.+)")
DEFAULT_SECONDS = 3600
CHAINED_SECONDS = 3600
SHORTEST_SECONDS = 900


@dataclass(frozen=True)
class Caller:
    account: str
    arn: str

    @property
    def role(self) -> str | None:
        """The role behind a session, as a principal names it."""
        match = ASSUMED_ROLE.fullmatch(self.arn)
        return f"arn:{match[1]}:iam::{match[2]}:role/{match[3]}" if match else None

    @property
    def principal(self) -> str:
        """What an EKS access entry for this caller names."""
        return self.role or self.arn

    def is_principal(self, principal: str) -> bool:
        root = f"arn:aws:iam::{self.account}:root"
        return principal in ("*", self.account, root, self.arn, self.role)


def caller_of(context: RequestContext) -> Caller:
    key = access_key_of(context) or context.account_id
    identity = connect_to(aws_access_key_id=key, region_name=context.region).sts.get_caller_identity()
    return Caller(identity["Account"], identity["Arn"])


@around("sts", "AssumeRole")
def assume_role(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    arn = request["RoleArn"]
    if not ROLE_ARN.fullmatch(arn):
        _invalid(f"{arn} is invalid")
    caller = caller_of(context)
    role = find_role(arn)
    statements = as_list(role.trust.get("Statement")) if role else []
    if not any(_admits(statement, caller, request) for statement in statements):
        message = f"User: {caller.arn} is not authorized to perform: sts:AssumeRole on resource: {arn}"
        refuse("AccessDenied", message, 403)
    assert role is not None
    _check_duration(request.get("DurationSeconds") or DEFAULT_SECONDS, role.max_session_seconds, bool(caller.role))
    return proceed()


def _check_duration(seconds: int, longest: int, chained: bool) -> None:
    if seconds < SHORTEST_SECONDS:
        _invalid(
            f"1 validation error detected: Value '{seconds}' at 'durationSeconds' failed to satisfy constraint: "
            f"Member must have value greater than or equal to {SHORTEST_SECONDS}"
        )
    if chained and seconds > CHAINED_SECONDS:
        _invalid("The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.")
    if seconds > longest:
        _invalid("The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")


def _invalid(message: str) -> None:
    refuse("ValidationError", message)


def _admits(statement: dict[str, Any], caller: Caller, request: Parameters) -> bool:
    """Whether a statement of a trust policy lets the caller in; what it says beyond that is not understood here."""
    principal = statement.get("Principal")
    named = principal.get("AWS") if isinstance(principal, dict) else principal
    return (
        statement.get("Effect") == "Allow"
        and any(fnmatchcase("sts:AssumeRole", action) for action in as_list(statement.get("Action")))
        and any(caller.is_principal(each) for each in as_list(named))
        and all(_holds(name, keys, request) for name, keys in (statement.get("Condition") or {}).items())
    )


def _holds(operator: str, conditions: dict[str, Any], request: Parameters) -> bool:
    """A condition on the external id; an unknown one does not hold, as nothing says that it does."""
    for key, wanted in conditions.items():
        given = request.get("ExternalId") if key.lower() == "sts:externalid" else None
        if given is None:
            return False
        if operator == "StringEquals" and given not in as_list(wanted):
            return False
        if operator == "StringLike" and not any(fnmatchcase(given, pattern) for pattern in as_list(wanted)):
            return False
        if operator not in ("StringEquals", "StringLike"):
            return False
    return True
