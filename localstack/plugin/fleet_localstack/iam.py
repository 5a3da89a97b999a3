"""IAM as others see it: a new role is not visible at once, and services do not believe in it for a while.

Works on the API alone, as LocalStack's own IAM differs from release to release.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from localstack.aws.api import RequestContext
from localstack.aws.connect import connect_to

from .errors import refuse
from .operations import Parameters, Proceed, Reply, around
from .settings import SETTINGS
from .world import Ages

ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::(\d{12}):role/(?:.*/)?([\w+=,.@-]+)")
REGION = "us-east-1"  # IAM has no region; LocalStack's clients want one

CHANGES_OF_A_ROLE = (
    "UpdateAssumeRolePolicy",
    "AttachRolePolicy",
    "DetachRolePolicy",
    "PutRolePolicy",
    "DeleteRolePolicy",
)

CREATED = Ages()
CHANGED = Ages()


@dataclass(frozen=True)
class Role:
    arn: str
    trust: dict[str, Any]
    max_session_seconds: int
    account: str
    name: str

    def trusts_service(self, service: str) -> bool:
        return any(
            statement.get("Effect") == "Allow" and service in as_list(_principals(statement).get("Service"))
            for statement in as_list(self.trust.get("Statement"))
        )

    @property
    def propagated(self) -> bool:
        """Whether other services see the role, and see it as it is now."""
        seconds = SETTINGS.of(self.account).role_propagation_seconds
        return not CHANGED.younger(seconds, self.account, self.name)


def find_role(arn: str) -> Role | None:
    """The role of that ARN in its own account."""
    match = ROLE_ARN.fullmatch(arn)
    if not match:
        return None
    account, name = match.groups()
    client = iam(account)
    try:
        role = client.get_role(RoleName=name)["Role"]
    except client.exceptions.NoSuchEntityException:
        return None
    if role["Arn"] != arn:
        return None
    trust = role["AssumeRolePolicyDocument"]
    parsed = json.loads(unquote(trust)) if isinstance(trust, str) else trust
    return Role(role["Arn"], parsed, role.get("MaxSessionDuration") or 3600, account, name)


def iam(account: str) -> Any:
    return connect_to(aws_access_key_id=account, region_name=REGION).iam


def as_list(value: Any) -> list[Any]:
    """Policy documents give one or several in the same place."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _principals(statement: dict[str, Any]) -> dict[str, Any]:
    principal = statement.get("Principal")
    return principal if isinstance(principal, dict) else {"AWS": principal} if principal else {}


@around("iam", "CreateRole")
def create_role(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    reply = proceed()
    key = (context.account_id, request["RoleName"])
    CREATED.mark(*key)
    CHANGED.mark(*key)
    return reply


@around("iam", *CHANGES_OF_A_ROLE)
def change_role(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    reply = proceed()
    CHANGED.mark(context.account_id, request["RoleName"])
    return reply


@around("iam", "GetRole")
def get_role(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    if _hidden(context.account_id, request["RoleName"]):
        name = request["RoleName"]
        refuse("NoSuchEntity", f"The role with name {name} cannot be found.", 404)
    return proceed()


@around("iam", "ListRoles")
def list_roles(context: RequestContext, _request: Parameters, proceed: Proceed) -> Reply:
    reply = proceed()
    reply["Roles"] = [role for role in reply["Roles"] if not _hidden(context.account_id, role["RoleName"])]
    return reply


def _hidden(account: str, name: str) -> bool:
    return CREATED.younger(SETTINGS.of(account).iam_visibility_lag_seconds, account, name)
