"""What the Argo CD double needs to know of a cluster to decide whether it would answer."""

from __future__ import annotations

from typing import Any

from .eks.access_entries import effective_entries
from .eks.store import all_clusters
from .world import LOCK


def by_endpoint(endpoint: str) -> dict[str, Any] | None:
    """The cluster with that API server endpoint (or that ARN), in whatever account and region."""
    wanted = endpoint.rstrip("/")
    with LOCK:
        for cluster in all_clusters():
            if wanted in (cluster.body.get("endpoint"), cluster.body["arn"]):
                return {
                    "name": cluster.name,
                    "endpoint": cluster.body.get("endpoint"),
                    "arn": cluster.body["arn"],
                    "account": cluster.account,
                    "region": cluster.region,
                    "status": cluster.status,
                    "version": cluster.body["version"],
                    "certificateAuthority": cluster.body["certificateAuthority"].get("data"),
                    "accessEntries": {arn: sorted(e.policies) for arn, e in effective_entries(cluster).items()},
                }
    return None
