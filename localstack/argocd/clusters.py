"""The cluster message: as it is sent, as it is stored in a Secret, and as it is read back."""

from __future__ import annotations

import base64
import binascii
import copy
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from .errors import invalid

SECRET_TYPE = "argocd.argoproj.io/secret-type"
MANAGED_BY = "managed-by"
MANAGED_BY_ARGOCD = "argocd.argoproj.io"
REFRESH = "argocd.argoproj.io/refresh"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SYSTEM_ANNOTATIONS = (MANAGED_BY, LAST_APPLIED)

LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

# The members of the message and of its parts, for decoding by Go's rule that letter case does not matter.
STRING, BOOL, INT, BYTES, STRINGS, MAP, ANY = "string", "bool", "int", "bytes", "strings", "map", "any"
Shape = dict[str, Any]
TLS: Shape = {"insecure": BOOL, "serverName": STRING, "caData": BYTES, "certData": BYTES, "keyData": BYTES}
AWS: Shape = {"clusterName": STRING, "roleARN": STRING, "profile": STRING}
CONFIG: Shape = {
    "username": STRING,
    "password": STRING,
    "bearerToken": STRING,
    "tlsClientConfig": TLS,
    "awsAuthConfig": AWS,
    "execProviderConfig": ANY,
    "disableCompression": BOOL,
    "proxyUrl": STRING,
}
CLUSTER: Shape = {
    "server": STRING,
    "name": STRING,
    "config": CONFIG,
    "namespaces": STRINGS,
    "refreshRequestedAt": ANY,
    "info": ANY,
    "shard": INT,
    "clusterResources": BOOL,
    "project": STRING,
    "labels": MAP,
    "annotations": MAP,
    "connectionState": ANY,
    "serverVersion": ANY,
}

# What can be written and never read back.
WRITE_ONLY = ("username", "password", "bearerToken", "execProviderConfig")
WRITE_ONLY_TLS = ("caData", "certData", "keyData")


@dataclass
class Cluster:
    """A cluster as argocd-server holds it in memory."""

    server: str = ""
    name: str = ""
    project: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    namespaces: list[str] = field(default_factory=list)
    shard: int | None = None
    cluster_resources: bool = False
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)

    @property
    def rbac_object(self) -> str:
        return f"{self.project}/{self.server}" if self.project else self.server

    def copied(self) -> Cluster:
        return copy.deepcopy(self)


# The values of updatedFields, and the fields that they stand for; others are ignored.
UPDATABLE = {
    "name": "name",
    "project": "project",
    "config": "config",
    "namespaces": "namespaces",
    "shard": "shard",
    "clusterResources": "cluster_resources",
    "labels": "labels",
    "annotations": "annotations",
}


def decode(body: Any) -> tuple[Cluster, list[str]]:
    """The message in a request body, and the keys that Argo CD would ignore."""
    unknown: list[str] = []
    given = _decoded(body, CLUSTER, "", unknown)
    cluster = Cluster(
        server=given.get("server", ""),
        name=given.get("name", ""),
        project=given.get("project", ""),
        config=given.get("config", {}),
        namespaces=given.get("namespaces", []),
        shard=given.get("shard"),
        cluster_resources=given.get("clusterResources", False),
        labels=given.get("labels", {}),
        annotations=given.get("annotations", {}),
    )
    return cluster, unknown


def _decoded(value: Any, shape: Shape, path: str, unknown: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid(f"json: cannot unmarshal {type(value).__name__} into Go value at {path or '.'}")
    names = {name.lower(): name for name in shape}
    result: dict[str, Any] = {}
    for key, item in value.items():
        name = names.get(key.lower())
        if name is None:
            unknown.append(f"{path}{key}")
        elif item is not None:
            kind = shape[name]
            where = f"{path}{name}"
            nested = isinstance(kind, dict)
            result[name] = _decoded(item, kind, where + ".", unknown) if nested else _scalar(item, kind, where)
    return result


def _scalar(value: Any, kind: str, path: str) -> Any:
    if kind == MAP and isinstance(value, dict):
        return {key: _scalar("" if item is None else item, STRING, f"{path}.{key}") for key, item in value.items()}
    if kind == STRINGS and isinstance(value, list):
        return [_scalar(item, STRING, path) for item in value]
    if kind == BYTES and isinstance(value, str):
        return _base64(value)
    expected = {STRING: str, BOOL: bool, INT: int, ANY: object}.get(kind)
    if expected is None or not isinstance(value, expected) or (kind == INT and isinstance(value, bool)):
        raise invalid(f"json: cannot unmarshal {type(value).__name__} into Go struct field .{path} of type {kind}")
    return value


def _base64(value: str) -> str:
    """Standard, padded base64; line breaks are allowed."""
    compact = value.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(compact, validate=True)
    except binascii.Error:
        bad = re.search(r"[^A-Za-z0-9+/=]", compact)
        position = bad.start() if bad else len(compact)
        raise invalid(f"illegal base64 data at input byte {position}") from None
    return compact


def pem_is_readable(data: str) -> bool:
    return b"-----BEGIN CERTIFICATE-----" in base64.b64decode(data)


def secret_name(server: str) -> str:
    """The name of a new Secret: host and FNV-1a hash of the server exactly as it was sent."""
    digest = 0x811C9DC5
    for byte in server.encode():
        digest = ((digest ^ byte) * 0x01000193) & 0xFFFFFFFF
    host = (urlsplit(server).hostname or "") if "://" in server else ""
    return f"cluster-{host.lower()}-{digest}"


def check_metadata(name: str, labels: dict[str, str], annotations: dict[str, str]) -> None:
    """What Kubernetes would refuse in the Secret's metadata."""
    if LAST_APPLIED in annotations:
        raise invalid(f"error creating cluster: annotation {LAST_APPLIED} must not be set")
    if not DNS_SUBDOMAIN.fullmatch(name):
        raise invalid(f'error creating cluster: Secret "{name}" is invalid: metadata.name: Invalid value: "{name}"')
    for value in labels.values():
        if len(value) > 63 or not LABEL_VALUE.fullmatch(value):
            raise invalid(
                f'error creating cluster: Secret "{name}" is invalid: metadata.labels: Invalid value: "{value}": '
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "
                "must start and end with an alphanumeric character"
            )


def readable_config(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration without its secrets, as replies show it."""
    tls = config.get("tlsClientConfig", {})
    shown: dict[str, Any] = {"tlsClientConfig": {"insecure": tls.get("insecure", False)}}
    if tls.get("serverName"):
        shown["tlsClientConfig"]["serverName"] = tls["serverName"]
    for name in ("awsAuthConfig", "disableCompression", "proxyUrl"):
        if config.get(name):
            shown[name] = config[name]
    return shown


def write_only_paths(config: dict[str, Any]) -> list[str]:
    """Where a stored configuration has something that no reply shows."""
    tls = config.get("tlsClientConfig", {})
    return [f"config.{name}" for name in WRITE_ONLY if config.get(name)] + [
        f"config.tlsClientConfig.{name}" for name in WRITE_ONLY_TLS if tls.get(name)
    ]


def as_sent(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration for comparison: what is unset is left out, but bytes that are there and empty are not unset."""
    compact: dict[str, Any] = {}
    for name, value in config.items():
        is_tls = name == "tlsClientConfig"
        kept = {k: v for k, v in value.items() if v or k in WRITE_ONLY_TLS} if is_tls else value
        if kept:
            compact[name] = kept
    return compact


def as_stored(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration after a round through the Secret, where empty bytes are lost."""
    compact = as_sent(config)
    if "tlsClientConfig" in compact:
        compact["tlsClientConfig"] = {k: v for k, v in compact["tlsClientConfig"].items() if v}
    return {name: value for name, value in compact.items() if value}
