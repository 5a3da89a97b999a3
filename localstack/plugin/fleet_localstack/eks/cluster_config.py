"""UpdateClusterConfig and UpdateClusterVersion: one kind of change in a call, one update at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from localstack.aws.api import RequestContext, handler

from . import auto_mode, network
from .access_entries import make_entry
from .base import Reply, Request, find_cluster, invalid
from .catalogue import PLATFORM_VERSION, VERSIONS
from .logs import merged
from .roles import EC2, check_service_role
from .store import Body, Cluster
from .updates import begin_cluster_update

MODES = ("CONFIG_MAP", "API_AND_CONFIG_MAP", "API")
ENDPOINT_ACCESS = ("endpointPublicAccess", "endpointPrivateAccess", "publicAccessCidrs")
VPC_MEMBERS = ("subnetIds", "securityGroupIds")

Change = tuple[str, Body]  # the type of the update, and the members of the cluster that it replaces


class ClusterConfigOperations:
    @handler("UpdateClusterConfig", expand=False)
    def update_cluster_config(self, context: RequestContext, request: Request) -> Reply:
        cluster = find_cluster(context, request["name"])
        found = [planned for plan in _PLANS if (planned := plan(context, cluster, request))]
        if len(found) != 1:
            invalid("Only one type of update can be allowed." if found else "No update is specified.")
        kind, members = found[0]
        if all(cluster.body[name] == value for name, value in members.items()):
            _no_changes(cluster, kind)

        def change() -> None:
            cluster.body |= members
            if kind == "AutoModeUpdate":
                _make_node_entry(cluster)

        return begin_cluster_update(cluster, kind, members, change)

    @handler("UpdateClusterVersion", expand=False)
    def update_cluster_version(self, context: RequestContext, request: Request) -> Reply:
        cluster, version = find_cluster(context, request["name"]), request["version"]
        if version not in VERSIONS:
            invalid(f"unsupported Kubernetes version {version}")
        hops = VERSIONS.index(version) - VERSIONS.index(cluster.body["version"])
        if hops == 0:
            invalid(f"Cluster is already at version {version}")
        if hops != 1:
            invalid(f"Unsupported Kubernetes minor version update from {cluster.body['version']} to {version}")

        def change() -> None:
            cluster.body["version"] = version

        parameters = {"Version": version, "PlatformVersion": PLATFORM_VERSION}
        return begin_cluster_update(cluster, "VersionUpdate", parameters, change)

    @handler("AssociateEncryptionConfig", expand=False)
    def associate_encryption_config(self, context: RequestContext, request: Request) -> Reply:
        cluster = find_cluster(context, request["clusterName"])
        if cluster.body["encryptionConfig"]:
            invalid("Cluster already has an encryption config")
        members = {"encryptionConfig": request["encryptionConfig"]}
        return begin_cluster_update(cluster, "AssociateEncryptionConfig", members, lambda: cluster.body.update(members))


def _no_changes(cluster: Cluster, kind: str) -> None:
    if kind == "LoggingUpdate":
        invalid("No changes needed for the logging config provided")
    invalid(f"Cluster {cluster.name} is already at the desired configuration")


def _endpoint_access(_context: RequestContext, cluster: Cluster, request: Request) -> Change | None:
    return _vpc_config(cluster, request, ENDPOINT_ACCESS, "EndpointAccessUpdate")


def _subnets_and_groups(context: RequestContext, cluster: Cluster, request: Request) -> Change | None:
    change = _vpc_config(cluster, request, VPC_MEMBERS, "VpcConfigUpdate")
    if change:
        network.subnets(context, change[1]["resourcesVpcConfig"]["subnetIds"])
    return change


def _vpc_config(cluster: Cluster, request: Request, names: tuple[str, ...], kind: str) -> Change | None:
    given = request.get("resourcesVpcConfig") or {}
    wanted = {name: given[name] for name in names if given.get(name) is not None}
    return (kind, {"resourcesVpcConfig": cluster.body["resourcesVpcConfig"] | wanted}) if wanted else None


def _logging(_context: RequestContext, cluster: Cluster, request: Request) -> Change | None:
    wanted = request.get("logging")
    return ("LoggingUpdate", {"logging": merged(cluster.body["logging"], wanted)}) if wanted else None


def _access(_context: RequestContext, cluster: Cluster, request: Request) -> Change | None:
    wanted = request.get("accessConfig")
    if not wanted:
        return None
    current, mode = cluster.body["accessConfig"], wanted.get("authenticationMode")
    if mode and MODES.index(mode) < MODES.index(current["authenticationMode"]):
        invalid(f"Unsupported authentication mode update from {current['authenticationMode']} to {mode}")
    return "AccessConfigUpdate", {"accessConfig": current | wanted}


def _auto_mode(context: RequestContext, cluster: Cluster, request: Request) -> Change | None:
    compute, storage = request.get("computeConfig"), request.get("storageConfig")
    balancing = (request.get("kubernetesNetworkConfig") or {}).get("elasticLoadBalancing")
    if not (compute or storage or balancing):
        return None
    body = cluster.body
    wanted = {
        "computeConfig": body["computeConfig"] | (compute or {}),
        "storageConfig": storage or body["storageConfig"],
        "kubernetesNetworkConfig": body["kubernetesNetworkConfig"]
        | ({"elasticLoadBalancing": balancing} if balancing else {}),
    }
    load_balancing = wanted["kubernetesNetworkConfig"]["elasticLoadBalancing"]
    auto_mode.check(wanted["computeConfig"], wanted["storageConfig"], load_balancing)
    role, old = wanted["computeConfig"].get("nodeRoleArn"), body["computeConfig"].get("nodeRoleArn")
    if role and role != old:
        if old:
            invalid("The nodeRoleArn of computeConfig cannot be changed")
        check_service_role(role, context.account_id, EC2)
    return "AutoModeUpdate", wanted


def _make_node_entry(cluster: Cluster) -> None:
    role = cluster.body["computeConfig"].get("nodeRoleArn")
    if role and role not in cluster.access_entries:
        make_entry(cluster, role, {"type": "EC2"}, ["AmazonEKSAutoNodePolicy"])


def _member(name: str, kind: str) -> Callable[[RequestContext, Cluster, Request], Change | None]:
    """A change that replaces one member, or the parts of it that are given."""

    def plan(_context: RequestContext, cluster: Cluster, request: Request) -> Change | None:
        wanted: Any = request.get(name)
        if wanted is None:
            return None
        current = cluster.body.get(name)
        return kind, {name: current | wanted if isinstance(current, dict) else wanted}

    return plan


_PLANS: tuple[Callable[[RequestContext, Cluster, Request], Change | None], ...] = (
    _endpoint_access,
    _subnets_and_groups,
    _logging,
    _access,
    _auto_mode,
    _member("upgradePolicy", "UpgradePolicyUpdate"),
    _member("zonalShiftConfig", "ZonalShiftConfigUpdate"),
    _member("deletionProtection", "DeletionProtectionUpdate"),
)
