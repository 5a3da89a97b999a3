"""Updates: one at a time for a cluster, add-on or node group, carried out by the clock."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

from localstack.aws.api import RequestContext, handler

from ..settings import SETTINGS
from ..world import CLOCK
from .base import Reply, Request, find_cluster, in_use, not_allowed, not_found, now, page
from .store import Body, Cluster, Resource, Update


def begin_cluster_update(cluster: Cluster, kind: str, parameters: Body, change: Callable[[], None]) -> Reply:
    """Starts an update of the cluster itself; `change` is carried out at its end."""
    if cluster.status == "UPDATING":
        in_use(f"Cannot perform operation because cluster {cluster.name} currently has an update in progress")
    if cluster.status != "ACTIVE":
        in_use(f"Cannot perform operation because cluster {cluster.name} is in {cluster.status} state")
    seconds = SETTINGS.of(cluster.account).cluster_update_seconds
    return _begin(cluster, cluster, Update(_body(kind, parameters)), seconds, change)


def begin_addon_update(cluster: Cluster, name: str, parameters: Body, change: Callable[[], None]) -> Reply:
    addon = cluster.addons[name]
    _refuse_while_busy(addon, "Addon")
    seconds = SETTINGS.of(cluster.account).addon_update_seconds
    update = Update(_body("AddonUpdate", parameters), addon=name)
    return _begin(cluster, addon, update, seconds, change)


def begin_nodegroup_update(
    cluster: Cluster, name: str, kind: str, parameters: Body, change: Callable[[], None]
) -> Reply:
    nodegroup = cluster.nodegroups[name]
    _refuse_while_busy(nodegroup, "Nodegroup")
    seconds = SETTINGS.of(cluster.account).cluster_update_seconds
    update = Update(_body(kind, parameters), nodegroup=name)
    return _begin(cluster, nodegroup, update, seconds, change)


def _refuse_while_busy(resource: Resource, what: str) -> None:
    if resource.status in ("CREATING", "UPDATING", "DELETING"):
        not_allowed(f"{what} cannot be updated as it is currently in {resource.status} state")


def _begin(cluster: Cluster, resource: Resource, update: Update, seconds: float, change: Callable[[], None]) -> Reply:
    cluster.updates[update.body["id"]] = update
    resource.status = "UPDATING"

    def finish() -> None:
        update.body["status"] = "Successful"
        if resource.status == "UPDATING":  # it may be DELETING by now
            resource.status = "ACTIVE"
            change()

    CLOCK.schedule(seconds, finish)
    return {"update": dict(update.body)}


def _body(kind: str, parameters: Body) -> Body:
    return {
        "id": str(uuid.uuid4()),
        "status": "InProgress",
        "type": kind,
        "params": [{"type": name, "value": _text(value)} for name, value in parameters.items()],
        "createdAt": now(),
        "errors": [],
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


class UpdateOperations:
    @handler("DescribeUpdate", expand=False)
    def describe_update(self, context: RequestContext, request: Request) -> Reply:
        cluster = find_cluster(context, request["name"])
        update = cluster.updates.get(request["updateId"])
        if update is None or (update.addon, update.nodegroup) != (
            request.get("addonName"),
            request.get("nodegroupName"),
        ):
            not_found(f"No update found for ID: {request['updateId']}")
        return {"update": update.body}

    @handler("ListUpdates", expand=False)
    def list_updates(self, context: RequestContext, request: Request) -> Reply:
        cluster = find_cluster(context, request["name"])
        wanted = (request.get("addonName"), request.get("nodegroupName"))
        found = [key for key, update in cluster.updates.items() if (update.addon, update.nodegroup) == wanted]
        return page(found, request, "updateIds")
