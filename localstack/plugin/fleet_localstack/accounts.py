"""The roles that an operator has made before fleetctl is run for the first time."""

from __future__ import annotations

import json
from typing import Any

from .iam import iam

WORKLOAD_ROLE = "ack"
ADMIN_ROLE = "Admin"
CONTROLLER_ROLE = "hub-cluster-argocd-controller"
MAX_SESSION_SECONDS = 12 * 3600


def seed(hub: str, workload: str, external_id: str | None) -> dict[str, Any]:
    """Makes the roles, or brings them to this form. They are made as if long ago: no lag applies to them."""
    trust_hub = _trust({"AWS": f"arn:aws:iam::{hub}:root"})
    if external_id:
        trust_hub["Statement"][0]["Condition"] = {"StringEquals": {"sts:ExternalId": external_id}}
    pods = _trust({"Service": "pods.eks.amazonaws.com"}, "sts:AssumeRole", "sts:TagSession")
    return {
        "roles": [
            _role(workload, WORKLOAD_ROLE, trust_hub),
            _role(workload, ADMIN_ROLE, _trust({"AWS": f"arn:aws:iam::{workload}:root"})),
            _role(hub, CONTROLLER_ROLE, pods),
        ]
    }


def _trust(principal: dict[str, str], *actions: str) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Principal": principal, "Action": list(actions) or ["sts:AssumeRole"]}
    return {"Version": "2012-10-17", "Statement": [statement]}


def _role(account: str, name: str, trust: dict[str, Any]) -> str:
    client, document = iam(account), json.dumps(trust)
    try:
        client.create_role(RoleName=name, AssumeRolePolicyDocument=document, MaxSessionDuration=MAX_SESSION_SECONDS)
    except client.exceptions.EntityAlreadyExistsException:
        client.update_assume_role_policy(RoleName=name, PolicyDocument=document)
        client.update_role(RoleName=name, MaxSessionDuration=MAX_SESSION_SECONDS)
    return f"arn:aws:iam::{account}:role/{name}"
