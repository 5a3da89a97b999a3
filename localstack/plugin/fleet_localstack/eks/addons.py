"""Add-ons: made on an ACTIVE cluster only, with the pod identity associations that they own."""

from __future__ import annotations

import uuid
from typing import Any

from localstack.aws.api import RequestContext, handler

from ..faults import FAULTS
from ..settings import SETTINGS
from ..world import CLOCK
from .base import (
    Reply,
    Request,
    find_cluster,
    in_use,
    invalid,
    not_allowed,
    not_found,
    now,
    page,
    same_call,
    without_none,
)
from .catalogue import ADDONS, versions_of
from .pod_identity import make_association
from .roles import check_pod_role
from .store import Cluster, Resource
from .updates import begin_addon_update

NAMESPACE = "kube-system"
CHANGEABLE = ("addonVersion", "configurationValues", "serviceAccountRoleArn")


class AddonOperations:
    @handler("CreateAddon", expand=False)
    def create_addon(self, context: RequestContext, request: Request) -> Reply:
        cluster, name = find_cluster(context, request["clusterName"]), request["addonName"]
        existing = cluster.addons.get(name)
        if existing and same_call(existing, request):
            return {"addon": existing.body}
        if cluster.status not in ("ACTIVE", "UPDATING"):
            not_allowed(f"Cluster '{cluster.name}' is not in ACTIVE status")
        if existing:
            in_use("Addon already exists.")
        _check(cluster, name, request)
        if request.get("resolveConflicts") == "PRESERVE":
            invalid("The resolveConflicts value PRESERVE is not supported for CreateAddon")
        addon = _make(cluster, name, request)
        _start(addon, cluster)
        return {"addon": addon.body}

    @handler("DescribeAddon", expand=False)
    def describe_addon(self, context: RequestContext, request: Request) -> Reply:
        return {"addon": _addon(context, request)[1].body}

    @handler("ListAddons", expand=False)
    def list_addons(self, context: RequestContext, request: Request) -> Reply:
        return page(sorted(find_cluster(context, request["clusterName"]).addons), request, "addons")

    @handler("UpdateAddon", expand=False)
    def update_addon(self, context: RequestContext, request: Request) -> Reply:
        cluster, addon = _addon(context, request)
        _check(cluster, request["addonName"], request)
        changes = {name: request[name] for name in CHANGEABLE if request.get(name) is not None}
        wanted = request.get("podIdentityAssociations")
        for each in wanted or []:
            check_pod_role(each["roleArn"], cluster.account)

        def change() -> None:
            addon.body.update(changes, modifiedAt=now(), health={"issues": []})
            if wanted is not None:
                _remove_associations(cluster, addon)
                _add_associations(cluster, addon, wanted)

        return begin_addon_update(cluster, request["addonName"], changes, change)

    @handler("DeleteAddon", expand=False)
    def delete_addon(self, context: RequestContext, request: Request) -> Reply:
        cluster, addon = _addon(context, request)
        if addon.status != "DELETING":
            addon.status = "DELETING"
            seconds = SETTINGS.of(cluster.account).addon_delete_seconds
            CLOCK.schedule(seconds, lambda: _remove(cluster, request["addonName"], addon))
        return {"addon": addon.body}


def _addon(context: RequestContext, request: Request) -> tuple[Cluster, Resource]:
    cluster = find_cluster(context, request["clusterName"])
    addon = cluster.addons.get(request["addonName"])
    if addon is None:
        not_found(f"No addon: {request['addonName']} found in cluster: {cluster.name}")
    return cluster, addon


def _check(cluster: Cluster, name: str, request: Request) -> None:
    if name not in ADDONS:
        invalid(f"Addon {name} specified is not supported")
    version = request.get("addonVersion")
    if version and version not in versions_of(name, cluster.body["version"]):
        invalid("Addon version specified is not supported")


def _make(cluster: Cluster, name: str, request: Request) -> Resource:
    addon = Resource(
        without_none(
            {
                "addonName": name,
                "clusterName": cluster.name,
                "status": "CREATING",
                "addonVersion": request.get("addonVersion") or ADDONS[name][0],
                "health": {"issues": []},
                "addonArn": cluster.arn(f"addon/{cluster.name}/{name}/{uuid.uuid4()}"),
                "createdAt": now(),
                "modifiedAt": now(),
                "serviceAccountRoleArn": request.get("serviceAccountRoleArn"),
                "tags": dict(request.get("tags") or {}),
                "configurationValues": request.get("configurationValues"),
                "podIdentityAssociations": [],
                "owner": "aws",
                "publisher": "eks",
            }
        ),
        token=request.get("clientRequestToken"),
    )
    _add_associations(cluster, addon, request.get("podIdentityAssociations") or [])
    cluster.addons[name] = addon
    return addon


def _start(addon: Resource, cluster: Cluster) -> None:
    rule = FAULTS.outcome("eks", "CreateAddon", cluster.account)

    def finish() -> None:
        if addon.status != "CREATING":
            return
        addon.status = "CREATE_FAILED" if rule else "ACTIVE"
        if rule:
            addon.body["health"] = {"issues": [{"code": rule.failureCode, "message": rule.failureMessage}]}

    CLOCK.schedule(SETTINGS.of(cluster.account).addon_create_seconds, finish)


def _add_associations(cluster: Cluster, addon: Resource, wanted: list[Any]) -> None:
    owned = [
        make_association(cluster, {"namespace": NAMESPACE, **each}, owner=addon.body["addonArn"]) for each in wanted
    ]
    addon.body["podIdentityAssociations"] = [association.body["associationArn"] for association in owned]


def _remove_associations(cluster: Cluster, addon: Resource) -> None:
    owner = addon.body["addonArn"]
    for key in [k for k, association in cluster.associations.items() if association.body.get("ownerArn") == owner]:
        del cluster.associations[key]


def _remove(cluster: Cluster, name: str, addon: Resource) -> None:
    if cluster.addons.get(name) is addon:
        del cluster.addons[name]
        _remove_associations(cluster, addon)
