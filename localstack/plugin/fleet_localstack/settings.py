"""How slow and how strict the emulator is, for all accounts or for one, changeable while it runs."""

from __future__ import annotations

import dataclasses
import os
import threading
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Durations are seconds, quotas are numbers. The defaults of durations are small, but not zero, so that nothing is there at once by accident."""

    cluster_create_seconds: float = 1.0
    cluster_delete_seconds: float = 1.0
    cluster_update_seconds: float = 0.5
    nodegroup_create_seconds: float = 0.5
    nodegroup_delete_seconds: float = 0.5
    addon_create_seconds: float = 0.5
    addon_update_seconds: float = 0.5
    addon_delete_seconds: float = 0.5
    nat_gateway_create_seconds: float = 0.5
    nat_gateway_delete_seconds: float = 0.5
    # AWS shows a deleted or failed NAT gateway for about an hour.
    nat_gateway_tombstone_seconds: float = 3600.0
    vpc_pending_seconds: float = 0.5
    # How long a new object is left out of Describe* and Get*, List* (IAM roles).
    ec2_visibility_lag_seconds: float = 0.3
    iam_visibility_lag_seconds: float = 0.3
    # How long other calls that name a new EC2 object are refused as if it did not exist.
    ec2_use_lag_seconds: float = 0.0
    # How long EKS refuses a role after its creation or the last change of its trust or permissions.
    role_propagation_seconds: float = 0.5
    # How long a new access entry is unknown to the cluster itself, and so to Argo CD.
    access_entry_propagation_seconds: float = 0.5
    # How many an account may have in a region. So many that only who sets them meets them.
    elastic_ip_quota: float = 10_000.0
    vpc_quota: float = 10_000.0
    cluster_quota: float = 10_000.0
    # What CreateAccessEntry and CreatePodIdentityAssociation answer while the cluster is not ACTIVE; "" lets them pass.
    cluster_not_active_code: str = "InvalidRequestException"

    def changed(self, changes: dict[str, Any]) -> Settings:
        """These settings with some replaced, given by their JSON names."""
        fields = {json_name(field.name): field for field in dataclasses.fields(self)}
        unknown = sorted(set(changes) - set(fields))
        if unknown:
            raise ValueError(f"unknown settings: {', '.join(unknown)}; known: {', '.join(sorted(fields))}")
        return dataclasses.replace(self, **{fields[name].name: _value(fields[name], v) for name, v in changes.items()})

    def to_json(self) -> dict[str, Any]:
        return {json_name(name): value for name, value in dataclasses.asdict(self).items()}

    @classmethod
    def from_environment(cls) -> Settings:
        """The defaults, each replaceable: clusterCreateSeconds is FLEETCTL_LOCALSTACK_CLUSTER_CREATE_SECONDS."""
        named = {field.name: f"FLEETCTL_LOCALSTACK_{field.name.upper()}" for field in dataclasses.fields(cls)}
        given = {json_name(name): os.environ[env] for name, env in named.items() if env in os.environ}
        return cls().changed(given)


class SettingsRegistry:
    """The settings of every account: its own changes over the common ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._common = Settings.from_environment()
        self._changes: dict[str, dict[str, Any]] = {}
        self._expired_access_keys: frozenset[str] = frozenset()

    def of(self, account: str) -> Settings:
        with self._lock:
            return self._common.changed(self._changes.get(account, {}))

    def change(self, request: dict[str, Any]) -> None:
        """Applies the body of POST /_fleet/settings."""
        changes = dict(request)
        account = changes.pop("account", None)
        expired = changes.pop("expiredAccessKeys", None)
        with self._lock:
            if account is None:
                self._common = self._common.changed(changes)
            else:
                own = self._changes.get(account, {}) | changes
                self._common.changed(own)  # refuses what is unknown before anything is kept
                self._changes[account] = own
            if expired is not None:
                self._expired_access_keys = frozenset(expired)

    def is_expired(self, access_key: str) -> bool:
        return access_key in self._expired_access_keys

    def to_json(self) -> dict[str, Any]:
        with self._lock:
            return {
                "default": self._common.to_json(),
                "accounts": {a: self._common.changed(c).to_json() for a, c in self._changes.items()},
                "expiredAccessKeys": sorted(self._expired_access_keys),
            }


def json_name(name: str) -> str:
    """clusterCreateSeconds for cluster_create_seconds."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _value(field: dataclasses.Field[Any], value: Any) -> Any:
    if isinstance(field.default, str):
        return str(value)
    number = float(value)
    if number < 0:
        raise ValueError(f"{json_name(field.name)} is negative")
    return number


SETTINGS = SettingsRegistry()
