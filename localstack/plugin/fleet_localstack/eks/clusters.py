"""Clusters: created, described, deleted. What changes them later is in `cluster_config`."""

from __future__ import annotations

import re
import secrets
from typing import Any

from localstack.aws.api import RequestContext, handler

from ..faults import FAULTS
from ..settings import SETTINGS
from ..sts import caller_of
from ..world import CLOCK
from . import auto_mode, network
from .access_entries import make_entry
from .base import Reply, Request, find_cluster, in_use, invalid, not_allowed, now, page, same_call
from .catalogue import DEFAULT_VERSION, PLATFORM_VERSION, VERSIONS
from .certificates import certificate_authority
from .logs import merged
from .roles import EC2, EKS, check_service_role
from .store import Body, Cluster, clusters_of

NAME = re.compile(r"[0-9A-Za-z][A-Za-z0-9\-_]{0,99}")


class ClusterOperations:
    @handler("CreateCluster", expand=False)
    def create_cluster(self, context: RequestContext, request: Request) -> Reply:
        clusters, name = clusters_of(context.account_id, context.region), request["name"]
        existing = clusters.get(name)
        if existing and same_call(existing, request):
            return {"cluster": existing.body}
        _check_names(request)
        if existing:
            in_use(f"Cluster already exists with name: {name}")
        in_subnets = _check(context, request)
        cluster = Cluster(
            _body(context, request),
            request.get("clientRequestToken"),
            account=context.account_id,
            region=context.region,
        )
        network.attach(cluster, in_subnets)
        cluster.body["resourcesVpcConfig"] |= {
            "clusterSecurityGroupId": cluster.security_group,
            "vpcId": in_subnets[0].vpc_id,
        }
        clusters[name] = cluster
        _make_entries(cluster, caller_of(context).principal)
        _start(cluster)
        return {"cluster": cluster.body}

    @handler("DescribeCluster", expand=False)
    def describe_cluster(self, context: RequestContext, request: Request) -> Reply:
        return {"cluster": find_cluster(context, request["name"]).body}

    @handler("ListClusters", expand=False)
    def list_clusters(self, context: RequestContext, request: Request) -> Reply:
        return page(sorted(clusters_of(context.account_id, context.region)), request, "clusters")

    @handler("DeleteCluster", expand=False)
    def delete_cluster(self, context: RequestContext, request: Request) -> Reply:
        cluster = find_cluster(context, request["name"])
        if cluster.status == "DELETING":
            return {"cluster": cluster.body}
        if cluster.status in ("CREATING", "UPDATING"):
            in_use(f"Cannot delete because cluster {cluster.name} currently has an update in progress")
        if cluster.body["deletionProtection"]:
            not_allowed(f"Cluster {cluster.name} cannot be deleted because deletion protection is enabled.")
        if cluster.nodegroups:
            in_use("Cluster has nodegroups attached")
        cluster.status = "DELETING"
        CLOCK.schedule(SETTINGS.of(cluster.account).cluster_delete_seconds, lambda: _remove(cluster))
        return {"cluster": cluster.body}


def _check_names(request: Request) -> None:
    if not NAME.fullmatch(request["name"]):
        invalid(f"The cluster name {request['name']} is invalid")
    version = request.get("version")
    if version and version not in VERSIONS:
        invalid(f"unsupported Kubernetes version {version}")


def _check(context: RequestContext, request: Request) -> list[Any]:
    """Refuses what AWS refuses at once, and returns the subnets."""
    balancing = (request.get("kubernetesNetworkConfig") or {}).get("elasticLoadBalancing")
    if auto_mode.check(request.get("computeConfig"), request.get("storageConfig"), balancing):
        auto_mode.check_surroundings(request, _authentication_mode(request))
    in_subnets = network.subnets(context, list(request["resourcesVpcConfig"].get("subnetIds") or []))
    check_service_role(request["roleArn"], context.account_id, EKS)
    node_role = (request.get("computeConfig") or {}).get("nodeRoleArn")
    if node_role:
        check_service_role(node_role, context.account_id, EC2)
    return in_subnets


def _authentication_mode(request: Request) -> str:
    return str((request.get("accessConfig") or {}).get("authenticationMode") or "CONFIG_MAP")


def _body(context: RequestContext, request: Request) -> Body:
    name = request["name"]
    access = request.get("accessConfig") or {}
    bootstrap = access.get("bootstrapClusterCreatorAdminPermissions")
    return {
        "name": name,
        "arn": f"arn:aws:eks:{context.region}:{context.account_id}:cluster/{name}",
        "createdAt": now(),
        "version": request.get("version") or DEFAULT_VERSION,
        "roleArn": request["roleArn"],
        "resourcesVpcConfig": _vpc_config(request["resourcesVpcConfig"]),
        "kubernetesNetworkConfig": _network_config(request.get("kubernetesNetworkConfig") or {}),
        "logging": merged(None, request.get("logging")),
        "status": "CREATING",
        "certificateAuthority": {},
        "platformVersion": PLATFORM_VERSION,
        "tags": dict(request.get("tags") or {}),
        "encryptionConfig": list(request.get("encryptionConfig") or []),
        "health": {"issues": []},
        "accessConfig": {
            "authenticationMode": _authentication_mode(request),
            "bootstrapClusterCreatorAdminPermissions": True if bootstrap is None else bootstrap,
        },
        "upgradePolicy": request.get("upgradePolicy") or {"supportType": "EXTENDED"},
        "zonalShiftConfig": request.get("zonalShiftConfig") or {"enabled": False},
        "computeConfig": request.get("computeConfig") or {"enabled": False},
        "storageConfig": request.get("storageConfig") or {"blockStorage": {"enabled": False}},
        "deletionProtection": bool(request.get("deletionProtection")),
    }


def _vpc_config(given: Body) -> Body:
    return {
        "subnetIds": list(given.get("subnetIds") or []),
        "securityGroupIds": list(given.get("securityGroupIds") or []),
        "endpointPublicAccess": given.get("endpointPublicAccess", True),
        "endpointPrivateAccess": given.get("endpointPrivateAccess", False),
        "publicAccessCidrs": list(given.get("publicAccessCidrs") or ["0.0.0.0/0"]),
    }


def _network_config(given: Body) -> Body:
    return {
        "serviceIpv4Cidr": given.get("serviceIpv4Cidr") or "10.100.0.0/16",
        "ipFamily": given.get("ipFamily") or "ipv4",
        "elasticLoadBalancing": given.get("elasticLoadBalancing") or {"enabled": False},
    }


def _make_entries(cluster: Cluster, creator: str) -> None:
    """The access entries that EKS makes by itself: the creator's, and Auto Mode's nodes'."""
    if cluster.body["accessConfig"]["authenticationMode"] == "CONFIG_MAP":
        return
    if cluster.body["accessConfig"]["bootstrapClusterCreatorAdminPermissions"]:
        make_entry(cluster, creator, {}, ["AmazonEKSClusterAdminPolicy"])
    compute = cluster.body["computeConfig"]
    if compute.get("enabled") and compute.get("nodeRoleArn"):
        make_entry(cluster, compute["nodeRoleArn"], {"type": "EC2"}, ["AmazonEKSAutoNodePolicy"])


def _start(cluster: Cluster) -> None:
    rule = FAULTS.outcome("eks", "CreateCluster", cluster.account)

    def finish() -> None:
        if rule:
            cluster.status = "FAILED"
            cluster.body["health"] = {"issues": [{"code": rule.failureCode, "message": rule.failureMessage}]}
            return
        identifier = secrets.token_hex(16).upper()
        host = f"{identifier}.gr7.{cluster.region}.eks.amazonaws.com"
        issuer = f"https://oidc.eks.{cluster.region}.amazonaws.com/id/{identifier}"
        cluster.status = "ACTIVE"
        cluster.body |= {
            "endpoint": f"https://{host}",
            "certificateAuthority": {"data": certificate_authority()},
            "identity": {"oidc": {"issuer": issuer}},
        }

    CLOCK.schedule(SETTINGS.of(cluster.account).cluster_create_seconds, finish)


def _remove(cluster: Cluster) -> None:
    """The end of deletion. Add-ons, access entries and associations go with the cluster."""
    network.detach(cluster)
    clusters_of(cluster.account, cluster.region).pop(cluster.name, None)
