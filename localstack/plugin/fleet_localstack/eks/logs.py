"""Control plane logging: a request names the types it changes, an answer names all of them."""

from __future__ import annotations

from .store import Body

TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")


def merged(current: Body | None, wanted: Body | None) -> Body:
    enabled: set[str] = set()
    for settings in (current, wanted):
        for setup in (settings or {}).get("clusterLogging") or []:
            types = set(setup.get("types") or [])
            enabled = enabled | types if setup.get("enabled") else enabled - types
    groups = (
        {"types": [name for name in TYPES if name in enabled], "enabled": True},
        {"types": [name for name in TYPES if name not in enabled], "enabled": False},
    )
    return {"clusterLogging": [group for group in groups if group["types"]]}
