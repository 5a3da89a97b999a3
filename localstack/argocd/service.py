"""The cluster service: argocd-server's order of work, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .accounts import Session
from .applications import message
from .clusters import (
    REFRESH,
    UPDATABLE,
    Cluster,
    as_sent,
    check_metadata,
    pem_is_readable,
    readable_config,
    secret_name,
)
from .errors import Code, Refused, invalid, permission_denied
from .store import Info, Secret, Settings, Store, rfc3339
from .targets import IN_CLUSTER, Targets

HUB_VERSION = "1.36.3"


@dataclass(frozen=True)
class Identifier:
    """What a path names: a server, or with id.type=name a name."""

    value: str
    is_name: bool


class ClusterService:
    def __init__(self, store: Store, targets: Targets, settings: Settings) -> None:
        self._store = store
        self._targets = targets
        self._settings = settings

    def list_clusters(self, session: Session, server: str | None, name: str | None) -> dict[str, Any]:
        """All clusters that the caller may get; with a filter only the first that matches."""
        found = [secret.read() for secret in self._store.clusters()]
        visible = [cluster for cluster in found if session.account.may("get", cluster.rbac_object)]
        items = [self._reply(cluster) for cluster in visible]
        if self._has_in_cluster() and session.account.may("get", IN_CLUSTER):
            items += [] if any(item["server"] == IN_CLUSTER for item in items) else [self._in_cluster()]
        if server or name:
            wanted = [i for i in items if server in (None, "", i["server"]) and name in (None, "", i["name"])]
            items = wanted[:1]
        return {"metadata": {}, "items": items or None}

    def create(self, session: Session, cluster: Cluster, upsert: bool) -> dict[str, Any]:
        if not session.account.may("create", cluster.rbac_object):
            raise Refused(
                Code.PERMISSION_DENIED,
                f"permission denied: clusters, create, {cluster.rbac_object}, "
                f"sub: {session.account.name}, iat: {rfc3339(session.issued)}",
            )
        cluster.annotations.pop(REFRESH, None)
        if self._settings.hosted:
            _check_hosted(cluster)
        _check_rest_config(cluster, "error getting REST config")
        version = self._dial(cluster, "error getting server version")
        self._refuse_in_cluster(cluster)
        cluster.server = self._named_by_host(cluster.server)
        name = secret_name(cluster.server)
        check_metadata(name, cluster.labels, cluster.annotations)
        created = self._store.create(name, cluster)
        if created is None:
            existing = self._store.get(name)
            if existing is None:
                raise Refused(Code.ABORTED, f'secrets "{name}" was removed at the same time')
            if _is_equal(cluster, existing):
                created = existing
            elif not upsert:
                raise _different(cluster)
            else:
                return self._overwrite(session, existing, cluster)
        self._store.write_info(created.cluster.server, version)
        return self._reply(created.read())

    def applications(self, session: Session) -> dict[str, Any]:
        """The Applications that the caller may see; an account that may see none gets an empty list."""
        visible = self._store.applications() if session.account.sees_applications else []
        return {"metadata": {}, "items": [message(application) for application in visible] or None}

    def _has_in_cluster(self) -> bool:
        """The Argo CD that EKS hosts has no cluster of its own."""
        return self._settings.inCluster and not self._settings.hosted

    def _named_by_host(self, server: str) -> str:
        """What a hosted Argo CD makes of an ARN. Whether the real one changes it is not published."""
        changed = self._settings.hostedServer if self._settings.hosted and server.startswith("arn:") else None
        return changed or server

    def get(self, session: Session, identifier: Identifier) -> dict[str, Any]:
        if not identifier.is_name and identifier.value == IN_CLUSTER and self._has_in_cluster():
            if self._store.by_server(IN_CLUSTER) is None and session.account.may("get", IN_CLUSTER):
                return self._in_cluster()
        return self._reply(self._find(session, identifier, "get")[0].read())

    def update(
        self, session: Session, identifier: Identifier, body: Cluster, fields: list[str] | None
    ) -> dict[str, Any]:
        """Replaces a cluster, or with `fields` (updatedFields) only those of it."""
        stored = self._find(session, identifier, "update")[0]
        body.annotations.pop(REFRESH, None)
        wanted = body if fields is None else _with_fields(stored.read(), body, fields)
        if not session.account.may("update", wanted.rbac_object):
            raise permission_denied()
        return self._write(stored, wanted)

    def delete(self, session: Session, identifier: Identifier) -> dict[str, Any]:
        implicit = self._has_in_cluster() and identifier.value == IN_CLUSTER
        if implicit and self._store.by_server(IN_CLUSTER) is None:
            raise Refused(Code.NOT_FOUND, f'cluster "{IN_CLUSTER}" not found')
        found = self._find(session, identifier, "delete")
        # By name all of that name go, and only the first one's project was looked at.
        for secret in found if identifier.is_name else found[:1]:
            self._store.delete(secret)
        return {}

    def invalidate_cache(self, session: Session, identifier: Identifier) -> dict[str, Any]:
        stored = self._find(session, identifier, "update")[0]
        cluster = stored.read()
        cluster.annotations[REFRESH] = rfc3339(self._store.now())
        return self._reply(self._store.update(stored, cluster).read())

    def rotate_auth(self, session: Session, identifier: Identifier) -> dict[str, Any]:
        stored = self._find(session, identifier, "update")[0]
        if not stored.cluster.config.get("bearerToken"):
            raise invalid(f"Cluster '{stored.cluster.server}' does not use bearer token authentication")
        return {}

    def _find(self, session: Session, identifier: Identifier, action: str) -> list[Secret]:
        if identifier.is_name:
            found = self._store.by_name(identifier.value)
        else:
            secret = self._store.by_server(identifier.value)
            found = [secret] if secret else []
        if not found or not session.account.may(action, found[0].cluster.rbac_object):
            raise permission_denied()
        return found

    def _overwrite(self, session: Session, existing: Secret, cluster: Cluster) -> dict[str, Any]:
        """An upsert of something different: a full update, which needs the right to update."""
        for each in (existing.cluster, cluster):
            if not session.account.may("update", each.rbac_object):
                raise permission_denied()
        return self._write(existing, cluster)

    def _write(self, stored: Secret, cluster: Cluster) -> dict[str, Any]:
        _check_rest_config(cluster, "failed to get REST config")
        version = self._dial(cluster, "failed to get server version")
        # The server in the message decides which Secret is written, whatever the path said.
        trimmed = cluster.server.rstrip("/")
        goal = stored if stored.cluster.server == trimmed else self._store.by_server(trimmed)
        name = goal.name if goal else secret_name(cluster.server)
        check_metadata(name, cluster.labels, cluster.annotations)
        written = self._store.update(goal, cluster) if goal else self._store.create(name, cluster)
        if written is None:
            raise Refused(Code.ABORTED, f'secrets "{name}" already exists')
        self._store.write_info(written.cluster.server, version)
        return self._reply(written.read())

    def _dial(self, cluster: Cluster, prefix: str) -> str:
        try:
            return self._targets.version(cluster)
        except Refused as refusal:
            raise refusal.prefixed(prefix) from None

    def _refuse_in_cluster(self, cluster: Cluster) -> None:
        if cluster.server.rstrip("/") == IN_CLUSTER and not self._settings.inCluster:
            raise invalid("cannot register cluster: in-cluster has been disabled")

    def _reply(self, cluster: Cluster) -> dict[str, Any]:
        info = self._store.info(cluster.server)
        reply: dict[str, Any] = {
            "server": cluster.server,
            "name": cluster.name,
            "config": readable_config(cluster.config),
            **_state(info),
        }
        optional = {
            "namespaces": cluster.namespaces,
            "refreshRequestedAt": cluster.annotations.get(REFRESH),
            "project": cluster.project,
            "labels": cluster.labels,
            "annotations": cluster.annotations,
            "clusterResources": cluster.cluster_resources,
        }
        reply |= {name: value for name, value in optional.items() if value}
        if cluster.shard is not None:
            reply["shard"] = cluster.shard
        return reply

    def _in_cluster(self) -> dict[str, Any]:
        """The hub itself, which every installation has without a Secret."""
        state = _state(Info("Successful", "", HUB_VERSION, self._store.now()))
        config = readable_config({})
        return {"server": IN_CLUSTER, "name": "in-cluster", "config": config, **state}


def _check_hosted(cluster: Cluster) -> None:
    """What the guide of the hosted Argo CD asks for: a project, an EKS cluster, and no certificate beside an ARN."""
    if not cluster.project:
        raise invalid("a cluster belongs to exactly one project")
    if cluster.server == IN_CLUSTER:
        raise invalid(f"{IN_CLUSTER} is not supported")
    if cluster.server.startswith("arn:") and cluster.config.get("tlsClientConfig", {}).get("caData"):
        raise invalid("a cluster that is named by its ARN takes no certificate authority")


def _with_fields(stored: Cluster, body: Cluster, fields: list[str]) -> Cluster:
    """The stored cluster with some fields from the body. A refresh that was asked for survives."""
    refresh = stored.annotations.get(REFRESH)
    for name in fields:
        if name in UPDATABLE:
            setattr(stored, UPDATABLE[name], getattr(body, UPDATABLE[name]))
    if refresh:
        stored.annotations = stored.annotations | {REFRESH: refresh}
    return stored


def _state(info: Info | None) -> dict[str, Any]:
    """The connection state, at its two places in the message."""
    connection = {
        "status": info.status if info else "",
        "message": info.message if info else "",
        "attemptedAt": rfc3339(info.attempted) if info else None,
    }
    version = {"serverVersion": info.version} if info and info.version else {}
    return {
        "connectionState": connection,
        **version,
        "info": {
            "connectionState": connection,
            **version,
            "cacheInfo": _cache_info(info),
            "applicationsCount": info.applications if info else 0,
        },
    }


def _cache_info(info: Info | None) -> dict[str, Any]:
    if info is None or info.synced is None:
        return {}
    return {"lastCacheSyncTime": rfc3339(info.synced), "resourcesCount": "1", "apisCount": "1"}


def _check_rest_config(cluster: Cluster, prefix: str) -> None:
    tls = cluster.config.get("tlsClientConfig", {})
    authority, proxy = tls.get("caData"), cluster.config.get("proxyUrl", "")
    reason = None
    if authority and tls.get("insecure"):
        reason = "specifying a root certificates file with the insecure flag is not allowed"
    elif authority and not pem_is_readable(authority):
        reason = "unable to load root certificates: unable to parse bytes as PEM block"
    elif proxy and not proxy.startswith(("http://", "https://", "socks5://")):
        reason = f'failed to parse proxy url, unsupported scheme: "{proxy}"'
    if reason:
        raise Refused(Code.UNKNOWN, f"{prefix}: unable to apply K8s REST config defaults: {reason}")


def _is_equal(cluster: Cluster, existing: Secret) -> bool:
    """Argo CD's comparison: no project in it, and with any label or annotation nothing is ever equal."""
    stored = existing.cluster
    if cluster.labels or cluster.annotations or existing.read().labels or existing.read().annotations:
        return False
    return (
        (cluster.name or cluster.server) == stored.name
        and cluster.server == stored.server
        and cluster.namespaces == stored.namespaces
        and cluster.cluster_resources == stored.cluster_resources
        and (cluster.shard if cluster.shard is not None else -1) == (stored.shard if stored.shard is not None else -1)
        and as_sent(cluster.config) == as_sent(stored.config)
    )


def _different(cluster: Cluster) -> Refused:
    keys = ",".join(["ID", *(["Labels", *cluster.labels] if cluster.labels else []), "ObjectMeta", "Name"])
    return invalid(
        "existing cluster spec is different; use upsert flag to force update; "
        f'difference in keys "{keys},ObjectMeta,Namespace"'
    )
