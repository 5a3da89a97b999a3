"""Managed node groups, as far as a cluster's life depends on them: no instance is started."""

from __future__ import annotations

import uuid

from localstack.aws.api import RequestContext, handler

from ..settings import SETTINGS
from ..world import CLOCK
from .base import Reply, Request, find_cluster, in_use, not_allowed, not_found, now, page, same_call, without_none
from .roles import EC2, check_service_role
from .store import Cluster, Resource
from .updates import begin_nodegroup_update


class NodegroupOperations:
    @handler("CreateNodegroup", expand=False)
    def create_nodegroup(self, context: RequestContext, request: Request) -> Reply:
        cluster, name = find_cluster(context, request["clusterName"]), request["nodegroupName"]
        existing = cluster.nodegroups.get(name)
        if existing and same_call(existing, request):
            return {"nodegroup": existing.body}
        if cluster.status not in ("ACTIVE", "UPDATING"):
            not_allowed(f"Cluster '{cluster.name}' is not in ACTIVE status")
        if existing:
            in_use(f"NodeGroup already exists with name {name} and cluster name {cluster.name}")
        check_service_role(request["nodeRole"], cluster.account, EC2)
        nodegroup = _make(cluster, name, request)
        CLOCK.schedule(SETTINGS.of(cluster.account).nodegroup_create_seconds, lambda: _activate(nodegroup))
        return {"nodegroup": nodegroup.body}

    @handler("DescribeNodegroup", expand=False)
    def describe_nodegroup(self, context: RequestContext, request: Request) -> Reply:
        return {"nodegroup": _nodegroup(context, request)[1].body}

    @handler("ListNodegroups", expand=False)
    def list_nodegroups(self, context: RequestContext, request: Request) -> Reply:
        return page(sorted(find_cluster(context, request["clusterName"]).nodegroups), request, "nodegroups")

    @handler("UpdateNodegroupConfig", expand=False)
    def update_nodegroup_config(self, context: RequestContext, request: Request) -> Reply:
        cluster, nodegroup = _nodegroup(context, request)

        def change() -> None:
            labels = request.get("labels") or {}
            kept = {k: v for k, v in nodegroup.body["labels"].items() if k not in (labels.get("removeLabels") or [])}
            nodegroup.body["labels"] = kept | dict(labels.get("addOrUpdateLabels") or {})
            nodegroup.body["scalingConfig"] |= request.get("scalingConfig") or {}
            nodegroup.body["updateConfig"] = request.get("updateConfig") or nodegroup.body["updateConfig"]

        return begin_nodegroup_update(cluster, request["nodegroupName"], "ConfigUpdate", {}, change)

    @handler("UpdateNodegroupVersion", expand=False)
    def update_nodegroup_version(self, context: RequestContext, request: Request) -> Reply:
        cluster, nodegroup = _nodegroup(context, request)
        version = {"version": request.get("version") or cluster.body["version"]}

        def change() -> None:
            nodegroup.body.update(version)

        parameters = {"Version": version["version"]}
        return begin_nodegroup_update(cluster, request["nodegroupName"], "VersionUpdate", parameters, change)

    @handler("DeleteNodegroup", expand=False)
    def delete_nodegroup(self, context: RequestContext, request: Request) -> Reply:
        cluster, nodegroup = _nodegroup(context, request)
        if nodegroup.status != "DELETING":
            nodegroup.status = "DELETING"
            seconds = SETTINGS.of(cluster.account).nodegroup_delete_seconds
            CLOCK.schedule(seconds, lambda: _remove(cluster, request["nodegroupName"]))
        return {"nodegroup": nodegroup.body}


def _nodegroup(context: RequestContext, request: Request) -> tuple[Cluster, Resource]:
    cluster = find_cluster(context, request["clusterName"])
    nodegroup = cluster.nodegroups.get(request["nodegroupName"])
    if nodegroup is None:
        not_found(f"No node group found for name: {request['nodegroupName']}.")
    return cluster, nodegroup


def _make(cluster: Cluster, name: str, request: Request) -> Resource:
    version = request.get("version") or cluster.body["version"]
    body = {
        "nodegroupName": name,
        "nodegroupArn": cluster.arn(f"nodegroup/{cluster.name}/{name}/{uuid.uuid4()}"),
        "clusterName": cluster.name,
        "version": version,
        "releaseVersion": request.get("releaseVersion") or f"{version}.0-20260101",
        "createdAt": now(),
        "modifiedAt": now(),
        "status": "CREATING",
        "capacityType": request.get("capacityType") or "ON_DEMAND",
        "scalingConfig": dict(request.get("scalingConfig") or {"minSize": 1, "maxSize": 2, "desiredSize": 2}),
        "instanceTypes": request.get("instanceTypes") or ["t3.medium"],
        "subnets": request["subnets"],
        "amiType": request.get("amiType") or "AL2023_x86_64_STANDARD",
        "nodeRole": request["nodeRole"],
        "labels": dict(request.get("labels") or {}),
        "taints": request.get("taints") or [],
        "diskSize": request.get("diskSize") or 20,
        "health": {"issues": []},
        "updateConfig": request.get("updateConfig") or {"maxUnavailable": 1},
        "launchTemplate": request.get("launchTemplate"),
        "tags": dict(request.get("tags") or {}),
    }
    cluster.nodegroups[name] = Resource(without_none(body), token=request.get("clientRequestToken"))
    return cluster.nodegroups[name]


def _remove(cluster: Cluster, name: str) -> None:
    cluster.nodegroups.pop(name, None)


def _activate(nodegroup: Resource) -> None:
    if nodegroup.status == "CREATING":
        nodegroup.status = "ACTIVE"
        group = f"eks-{nodegroup.body['nodegroupName']}-{uuid.uuid4()}"
        nodegroup.body["resources"] = {"autoScalingGroups": [{"name": group}]}
