"""Who may do what: accounts, their tokens, and the rules on clusters."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from .errors import Code, Refused, invalid

KEY = secrets.token_bytes(32)
ACTIONS = ("get", "create", "update", "delete", "sync", "override", "action", "invoke")
RESOURCES = ("applications", "applicationsets", "clusters", "projects", "repositories", "certificates", "accounts",
             "gpgkeys", "logs", "exec", "extensions")  # fmt: skip
SESSION_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Account:
    """An account or project role, and what it may do with clusters."""

    subject: str
    actions: tuple[str, ...]
    objects: str = "*"
    password: str | None = None
    sees_applications: bool = False

    @property
    def name(self) -> str:
        return self.subject if self.subject.startswith("proj:") else self.subject.partition(":")[0]

    def may(self, action: str, target: str) -> bool:
        return action in self.actions and fnmatchcase(target, self.objects)


EVERYTHING = ("get", "create", "update", "delete")

ACCOUNTS = {
    "admin": Account("admin:login", EVERYTHING, password="admin", sees_applications=True),
    "fleet": Account("fleet:apiKey", EVERYTHING, password="fleet", sees_applications=True),
    "creator": Account("creator:apiKey", ("get", "create")),
    "nobody": Account("nobody:apiKey", ()),
    "role-team-a": Account("proj:team-a:ci", EVERYTHING, "team-a/*"),
}


@dataclass(frozen=True)
class Session:
    account: Account
    issued: int


def tokens() -> dict[str, str]:
    """A token of every account, one that has expired and one that is none."""
    valid = {name: issue(account.subject) for name, account in ACCOUNTS.items()}
    expired = issue(ACCOUNTS["fleet"].subject, expires=int(time.time()) - 3600)
    return valid | {"expired": expired, "garbage": "not-a-token"}


def issue(subject: str, expires: int | None = None) -> str:
    now = int(time.time())
    claims: dict[str, Any] = {"iss": "argocd", "sub": subject, "nbf": now, "iat": now, "jti": secrets.token_hex(8)}
    if expires is not None:
        claims["exp"] = expires
    signed = f"{_encoded({'alg': 'HS256', 'typ': 'JWT'})}.{_encoded(claims)}"
    return f"{signed}.{_signature(signed)}"


def login(username: str, password: str) -> str:
    account = ACCOUNTS.get(username)
    if account is None or account.password is None or account.password != password:
        raise Refused(Code.UNAUTHENTICATED, "Invalid username or password")
    return issue(f"{username}:login", int(time.time()) + SESSION_SECONDS)


def authenticate(authorization: str | None) -> Session:
    """The session of an Authorization header. The scheme is `Bearer`, in exactly this spelling."""
    token = (authorization or "").removeprefix("Bearer ")
    if token == authorization or token.count(".") != 2:
        raise Refused(Code.UNAUTHENTICATED, "no session information")
    signed, _, signature = token.rpartition(".")
    if not hmac.compare_digest(signature, _signature(signed)):
        raise _invalid_session("token signature is invalid: signature is invalid")
    claims = json.loads(base64.urlsafe_b64decode(signed.partition(".")[2] + "=="))
    if claims.get("exp", time.time() + 1) < time.time():
        raise _invalid_session("token has invalid claims: token is expired")
    by_name = {account.name: account for account in ACCOUNTS.values()}
    name = claims["sub"] if claims["sub"].startswith("proj:") else claims["sub"].partition(":")[0]
    return Session(by_name[name], claims["iat"])


def can_i(session: Session, resource: str, action: str, target: str) -> bool:
    if resource not in RESOURCES:
        raise invalid(f"{resource} is not a valid resource")
    if action not in ACTIONS:
        raise invalid(f"{action} is not a valid action")
    return resource == "clusters" and session.account.may(action, target)


def _invalid_session(reason: str) -> Refused:
    return Refused(Code.UNAUTHENTICATED, f"invalid session: {reason}")


def _encoded(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def _signature(signed: str) -> str:
    digest = hmac.new(KEY, signed.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
