"""Pod identity associations: which role the pods of a service account get."""

from __future__ import annotations

import secrets
import string

from localstack.aws.api import RequestContext, handler

from .access_entries import require_active
from .base import Reply, Request, find_cluster, in_use, not_found, now, page, same_call, without_none
from .roles import check_pod_role
from .store import Cluster, Resource

SUMMARY = ("clusterName", "namespace", "serviceAccount", "associationArn", "associationId", "ownerArn")


def make_association(cluster: Cluster, request: Request, owner: str | None = None) -> Resource:
    """Adds an association; `owner` is the ARN of the add-on that it belongs to."""
    namespace, account = request["namespace"], request["serviceAccount"]
    for existing in cluster.associations.values():
        if (existing.body["namespace"], existing.body["serviceAccount"]) == (namespace, account):
            if same_call(existing, request):
                return existing
            in_use(f"Association already exists: {existing.body['associationId']}")
    check_pod_role(request["roleArn"], cluster.account)
    identifier = "a-" + "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(17))
    association = Resource(
        without_none(
            {
                "clusterName": cluster.name,
                "namespace": namespace,
                "serviceAccount": account,
                "roleArn": request["roleArn"],
                "targetRoleArn": request.get("targetRoleArn"),
                "disableSessionTags": bool(request.get("disableSessionTags")),
                "associationArn": cluster.arn(f"podidentityassociation/{cluster.name}/{identifier}"),
                "associationId": identifier,
                "tags": dict(request.get("tags") or {}),
                "createdAt": now(),
                "modifiedAt": now(),
                "ownerArn": owner,
            }
        ),
        token=request.get("clientRequestToken"),
    )
    cluster.associations[identifier] = association
    return association


def _association(context: RequestContext, request: Request) -> tuple[Cluster, Resource]:
    cluster = find_cluster(context, request["clusterName"])
    association = cluster.associations.get(request["associationId"])
    if association is None:
        not_found(f"Association not found: {request['associationId']}")
    return cluster, association


class PodIdentityOperations:
    @handler("CreatePodIdentityAssociation", expand=False)
    def create_pod_identity_association(self, context: RequestContext, request: Request) -> Reply:
        cluster = find_cluster(context, request["clusterName"])
        require_active(cluster)
        return {"association": make_association(cluster, request).body}

    @handler("DescribePodIdentityAssociation", expand=False)
    def describe_pod_identity_association(self, context: RequestContext, request: Request) -> Reply:
        return {"association": _association(context, request)[1].body}

    @handler("ListPodIdentityAssociations", expand=False)
    def list_pod_identity_associations(self, context: RequestContext, request: Request) -> Reply:
        cluster = find_cluster(context, request["clusterName"])
        found = [
            {name: association.body[name] for name in SUMMARY if name in association.body}
            for association in cluster.associations.values()
            if request.get("namespace") in (None, association.body["namespace"])
            and request.get("serviceAccount") in (None, association.body["serviceAccount"])
        ]
        return page(found, request, "associations")

    @handler("UpdatePodIdentityAssociation", expand=False)
    def update_pod_identity_association(self, context: RequestContext, request: Request) -> Reply:
        cluster, association = _association(context, request)
        if request.get("roleArn"):
            check_pod_role(request["roleArn"], cluster.account)
            association.body["roleArn"] = request["roleArn"]
        if request.get("targetRoleArn") is not None:
            association.body["targetRoleArn"] = request["targetRoleArn"]
        if request.get("disableSessionTags") is not None:
            association.body["disableSessionTags"] = request["disableSessionTags"]
        association.body["modifiedAt"] = now()
        return {"association": association.body}

    @handler("DeletePodIdentityAssociation", expand=False)
    def delete_pod_identity_association(self, context: RequestContext, request: Request) -> Reply:
        cluster, association = _association(context, request)
        del cluster.associations[request["associationId"]]
        return {"association": association.body}
