"""Access entries: who may talk to a cluster, and with which access policies."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from localstack.aws.api import RequestContext, handler

from ..errors import refuse
from ..settings import SETTINGS
from ..world import Ages
from .base import Reply, Request, find_cluster, in_use, invalid, not_allowed, not_found, now, page, same_call
from .catalogue import ACCESS_POLICIES, POLICY_PREFIX
from .roles import check_principal
from .store import AccessEntry, Body, Cluster

CLUSTER_SCOPE = {"type": "cluster", "namespaces": []}
TYPES_WITH_POLICIES = ("STANDARD", "EC2")

AGES = Ages()


def require_active(cluster: Cluster) -> None:
    """Refuses access entries and pod identity associations while the cluster is not ACTIVE, as it is set."""
    code = SETTINGS.of(cluster.account).cluster_not_active_code
    if code and cluster.status in ("CREATING", "DELETING", "FAILED"):
        status = 409 if code == "ResourceInUseException" else 400
        refuse(code, f"Cluster '{cluster.name}' is not in ACTIVE status", status)


def make_entry(cluster: Cluster, principal: str, request: Request, policies: Iterable[str] = ()) -> AccessEntry:
    """Adds an entry without any check: those that EKS makes by itself come through here as well."""
    kind, _, name = principal.rpartition(":")[2].partition("/")
    account = principal.split(":")[4]
    entry = AccessEntry(
        body={
            "clusterName": cluster.name,
            "principalArn": principal,
            "kubernetesGroups": list(request.get("kubernetesGroups") or []),
            "accessEntryArn": cluster.arn(
                f"access-entry/{cluster.name}/{kind}/{account}/{name.rpartition('/')[2] or kind}/{uuid.uuid4()}"
            ),
            "createdAt": now(),
            "modifiedAt": now(),
            "tags": dict(request.get("tags") or {}),
            "username": request.get("username") or _username(principal, request.get("type")),
            "type": request.get("type") or "STANDARD",
        },
        token=request.get("clientRequestToken"),
    )
    for policy in policies:
        _associate(entry, POLICY_PREFIX + policy, CLUSTER_SCOPE)
    cluster.access_entries[principal] = entry
    AGES.mark(cluster.body["arn"], principal)
    return entry


def effective_entries(cluster: Cluster) -> dict[str, AccessEntry]:
    """The entries that the cluster itself already goes by."""
    seconds = SETTINGS.of(cluster.account).access_entry_propagation_seconds
    arn = cluster.body["arn"]
    return {key: entry for key, entry in cluster.access_entries.items() if not AGES.younger(seconds, arn, key)}


def _username(principal: str, kind: str | None) -> str:
    if kind not in (None, "STANDARD"):
        return "system:node:{{EC2PrivateDNSName}}"
    if ":role/" not in principal:
        return principal
    session = principal.replace(":iam::", ":sts::").replace(":role/", ":assumed-role/")
    return session + "/{{SessionName}}"


def _associate(entry: AccessEntry, policy: str, scope: Body) -> Body:
    earlier = entry.policies.get(policy)
    entry.policies[policy] = {
        "policyArn": policy,
        "accessScope": {"type": scope["type"], "namespaces": list(scope.get("namespaces") or [])},
        "associatedAt": earlier["associatedAt"] if earlier else now(),
        "modifiedAt": now(),
    }
    return entry.policies[policy]


def _entry(context: RequestContext, request: Request) -> AccessEntry:
    cluster = find_cluster(context, request["clusterName"])
    entry = cluster.access_entries.get(request["principalArn"])
    if entry is None:
        not_found(
            "The specified principalArn could not be found. "
            "You can view your available access entries with 'list-access-entries'."
        )
    return entry


class AccessEntryOperations:
    @handler("CreateAccessEntry", expand=False)
    def create_access_entry(self, context: RequestContext, request: Request) -> Reply:
        cluster = find_cluster(context, request["clusterName"])
        principal = request["principalArn"]
        existing = cluster.access_entries.get(principal)
        if existing and same_call(existing, request):
            return {"accessEntry": existing.body}
        require_active(cluster)
        if cluster.body["accessConfig"]["authenticationMode"] == "CONFIG_MAP":
            not_allowed(
                "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] "
                "to perform this operation."
            )
        if existing:
            in_use("The specified access entry resource is already in use on this cluster.")
        _check_groups(request)
        check_principal(principal)
        return {"accessEntry": make_entry(cluster, principal, request).body}

    @handler("DescribeAccessEntry", expand=False)
    def describe_access_entry(self, context: RequestContext, request: Request) -> Reply:
        return {"accessEntry": _entry(context, request).body}

    @handler("ListAccessEntries", expand=False)
    def list_access_entries(self, context: RequestContext, request: Request) -> Reply:
        cluster = find_cluster(context, request["clusterName"])
        policy = request.get("associatedPolicyArn")
        found = [key for key, entry in cluster.access_entries.items() if policy is None or policy in entry.policies]
        return page(sorted(found), request, "accessEntries")

    @handler("UpdateAccessEntry", expand=False)
    def update_access_entry(self, context: RequestContext, request: Request) -> Reply:
        entry = _entry(context, request)
        _check_groups(request)
        if request.get("kubernetesGroups") is not None:
            entry.body["kubernetesGroups"] = list(request["kubernetesGroups"])
        if request.get("username"):
            entry.body["username"] = request["username"]
        entry.body["modifiedAt"] = now()
        return {"accessEntry": entry.body}

    @handler("DeleteAccessEntry", expand=False)
    def delete_access_entry(self, context: RequestContext, request: Request) -> Reply:
        _entry(context, request)
        del find_cluster(context, request["clusterName"]).access_entries[request["principalArn"]]
        return {}

    @handler("AssociateAccessPolicy", expand=False)
    def associate_access_policy(self, context: RequestContext, request: Request) -> Reply:
        entry = _entry(context, request)
        policy, scope = request["policyArn"], request["accessScope"]
        if policy.removeprefix(POLICY_PREFIX) not in ACCESS_POLICIES:
            invalid("The policyArn parameter format is not valid")
        if entry.body["type"] not in TYPES_WITH_POLICIES:
            not_allowed(f"Access policies cannot be associated with access entries of type {entry.body['type']}")
        if (scope["type"] == "namespace") != bool(scope.get("namespaces")):
            invalid("The accessScope names namespaces exactly when its type is namespace")
        return _answer(request) | {"associatedAccessPolicy": _associate(entry, policy, scope)}

    @handler("DisassociateAccessPolicy", expand=False)
    def disassociate_access_policy(self, context: RequestContext, request: Request) -> Reply:
        if _entry(context, request).policies.pop(request["policyArn"], None) is None:
            not_found("The specified policyArn is not associated with the access entry")
        return {}

    @handler("ListAssociatedAccessPolicies", expand=False)
    def list_associated_access_policies(self, context: RequestContext, request: Request) -> Reply:
        policies = list(_entry(context, request).policies.values())
        return _answer(request) | page(policies, request, "associatedAccessPolicies")


def _answer(request: Request) -> dict[str, Any]:
    return {"clusterName": request["clusterName"], "principalArn": request["principalArn"]}


def _check_groups(request: Request) -> None:
    for group in request.get("kubernetesGroups") or []:
        if group.startswith("system:"):
            invalid(f"The kubernetes group name {group} is invalid, it cannot start with system:")
