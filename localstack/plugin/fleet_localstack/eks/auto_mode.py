"""The rules of EKS Auto Mode: three switches that go together, and what they ask of the rest."""

from __future__ import annotations

from ..errors import refuse
from .base import Request, invalid
from .store import Body

NODE_POOLS = {"system", "general-purpose"}


def check(compute: Body | None, storage: Body | None, load_balancing: Body | None) -> bool:
    """Whether Auto Mode is on; refuses when only some of its switches are."""
    switches = {
        bool((compute or {}).get("enabled")),
        bool(((storage or {}).get("blockStorage") or {}).get("enabled")),
        bool((load_balancing or {}).get("enabled")),
    }
    if len(switches) > 1:
        invalid(
            "For EKS Auto Mode, please ensure that all required configs, including computeConfig, "
            "kubernetesNetworkConfig, and blockStorage are all either fully enabled or fully disabled."
        )
    pools = (compute or {}).get("nodePools") or []
    if pools and not (compute or {}).get("nodeRoleArn"):
        invalid("When Compute Config nodeRoleArn is not null or empty, nodePool value(s) must be provided.")
    unknown = sorted(set(pools) - NODE_POOLS)
    if unknown:
        invalid(f"The specified node pool {unknown[0]} is not a built-in node pool")
    return True in switches


def check_surroundings(request: Request, authentication_mode: str) -> None:
    """What CreateCluster refuses together with Auto Mode."""
    if authentication_mode == "CONFIG_MAP":
        refuse("InvalidParameterException", "EKS Auto Mode requires authentication mode API or API_AND_CONFIG_MAP.")
    if request.get("bootstrapSelfManagedAddons"):
        invalid("When EKS Auto Mode is enabled, bootstrapSelfManagedAddons must be set to false")
