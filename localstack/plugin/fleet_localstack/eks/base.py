"""What all EKS operations share: finding things, pages, times."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any, NoReturn

from localstack.aws.api import RequestContext

from ..errors import refuse
from .store import Body, Cluster, Resource, clusters_of

Request = dict[str, Any]
Reply = dict[str, Any]

PAGE = 100


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


def find_cluster(context: RequestContext, name: str) -> Cluster:
    cluster = clusters_of(context.account_id, context.region).get(name)
    if cluster is None:
        not_found(f"No cluster found for name: {name}.")
    return cluster


def not_found(message: str) -> NoReturn:
    refuse("ResourceNotFoundException", message, 404)


def invalid(message: str) -> NoReturn:
    refuse("InvalidParameterException", message)


def in_use(message: str) -> NoReturn:
    refuse("ResourceInUseException", message, 409)


def not_allowed(message: str) -> NoReturn:
    refuse("InvalidRequestException", message)


def same_call(existing: Resource, request: Request) -> bool:
    """Whether a create call is a repetition of the one that made `existing`."""
    token = request.get("clientRequestToken")
    return bool(token) and token == existing.token


def without_none(body: Body) -> Body:
    return {name: value for name, value in body.items() if value is not None}


def page(names: Iterable[Any], request: Request, member: str) -> Reply:
    """One page of a list; the token is the position of the next."""
    items = list(names)
    start = int(request.get("nextToken") or 0)
    end = start + int(request.get("maxResults") or PAGE)
    reply: Reply = {member: items[start:end]}
    if end < len(items):
        reply["nextToken"] = str(end)
    return reply
