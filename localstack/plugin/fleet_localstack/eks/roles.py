"""Whether EKS may use a role: it exists, it trusts the service, and IAM has told EKS about it."""

from __future__ import annotations

from ..iam import find_role
from .base import invalid

EKS = "eks.amazonaws.com"
EC2 = "ec2.amazonaws.com"
PODS = "pods.eks.amazonaws.com"


def check_service_role(arn: str, account: str, service: str) -> None:
    """Refuses a role that `service` cannot assume, in the words of CreateCluster."""
    if not _usable(arn, account, service):
        invalid(
            f"Role with arn: {arn}, could not be assumed because it does not exist or the trusted entity is not correct"
        )


def check_pod_role(arn: str, account: str) -> None:
    if not _usable(arn, account, PODS):
        invalid(f"Trust policy of role {arn} does not allow {PODS} to assume it, or the role does not exist")


def _usable(arn: str, account: str, service: str) -> bool:
    role = find_role(arn)
    return role is not None and role.account == account and role.trusts_service(service) and role.propagated


def check_principal(arn: str) -> None:
    """Refuses an access entry's principal that IAM does not know (yet). Only roles are looked up."""
    if ":assumed-role/" in arn or not arn.startswith("arn:"):
        invalid("The specified principalArn is invalid: invalid principal.")
    if ":role/" in arn:
        role = find_role(arn)
        if role is None or not role.propagated:
            invalid("The specified principalArn is invalid: invalid principal.")
