"""What is behind argocd-server: Secrets in Kubernetes, and cluster information in Redis."""

from __future__ import annotations

import copy
import datetime
import itertools
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from .applications import Application, Applications
from .clusters import MANAGED_BY, MANAGED_BY_ARGOCD, REFRESH, SECRET_TYPE, SYSTEM_ANNOTATIONS, Cluster, as_stored
from .errors import Code, Refused

NOT_MONITORED = "Cluster has no applications and is not being monitored."


@dataclass
class Secret:
    name: str
    labels: dict[str, str]
    annotations: dict[str, str]
    cluster: Cluster  # its data; without labels and annotations
    revision: int = 0

    @property
    def is_cluster(self) -> bool:
        return self.labels.get(SECRET_TYPE) == "cluster"

    def read(self) -> Cluster:
        """The cluster with the Secret's metadata, without what Argo CD keeps there for itself."""
        cluster = self.cluster.copied()
        cluster.labels = {k: v for k, v in self.labels.items() if k != SECRET_TYPE}
        cluster.annotations = {k: v for k, v in self.annotations.items() if k not in SYSTEM_ANNOTATIONS}
        return cluster


@dataclass
class Info:
    status: str
    message: str
    version: str
    attempted: float
    applications: int = 0
    synced: float | None = None  # when the application controller last looked through the cluster


@dataclass
class Settings:
    """What surrounds the server, changeable at run time."""

    inCluster: bool = True  # noqa: N815 (JSON, as all of these)
    redis: bool = True
    # The application controller: how long until it finds that no Application uses a cluster; None: it does not run.
    tickSeconds: float | None = 15.0  # noqa: N815
    infoSeconds: float = 600.0  # noqa: N815
    awsCredentials: bool = True  # noqa: N815
    hosted: bool = False  # the Argo CD that EKS hosts: clusters are named by ARN
    hostedServer: str | None = None  # noqa: N815 (what a hosted one makes of an ARN that it is given as server)
    tls: bool = False  # called over plain HTTP, it redirects
    strict: bool = False  # refuse keys that Argo CD ignores
    targets: dict[str, str] = field(default_factory=dict)  # the stub's behaviour by server


class Store:
    """The Secrets, by name. Writers give the revision that they read, as with Kubernetes itself."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.RLock()
        self._secrets: dict[str, Secret] = {}
        self._info: dict[str, Info] = {}
        self._revisions = itertools.count(1)
        self._skipped_seconds = 0.0
        self.sets = Applications()

    def now(self) -> float:
        return time.time() + self._skipped_seconds

    def skip(self, seconds: float) -> None:
        """Lets time pass at once."""
        self._skipped_seconds += seconds

    def clusters(self) -> list[Secret]:
        """Newest first: the order is arbitrary in Argo CD, and this one is not what a client would count on."""
        with self._lock:
            return [copy.deepcopy(secret) for secret in reversed(self._secrets.values()) if secret.is_cluster]

    def by_server(self, server: str) -> Secret | None:
        wanted = server.rstrip("/")
        return next((secret for secret in self.clusters() if secret.cluster.server == wanted), None)

    def by_name(self, name: str) -> list[Secret]:
        return [secret for secret in self.clusters() if secret.cluster.name == name]

    def get(self, name: str) -> Secret | None:
        with self._lock:
            return copy.deepcopy(self._secrets.get(name))

    def create(self, name: str, cluster: Cluster) -> Secret | None:
        """A new Secret, or None if there is one of that name."""
        with self._lock:
            if name in self._secrets:
                return None
            return self._put(name, cluster)

    def update(self, read: Secret, cluster: Cluster) -> Secret:
        """Replaces what was read; refused if somebody else has written since."""
        with self._lock:
            current = self._secrets.get(read.name)
            if current is None:
                raise Refused(Code.NOT_FOUND, f'secrets "{read.name}" not found')
            if current.revision != read.revision:
                raise Refused(
                    Code.ABORTED,
                    f'failed to update cluster in database: Operation cannot be fulfilled on secrets "{read.name}": '
                    "the object has been modified; please apply your changes to the latest version and try again",
                )
            return self._put(read.name, cluster)

    def put_foreign(self, body: dict[str, Any], cluster: Cluster) -> None:
        """A Secret that somebody else makes, with exactly this metadata."""
        metadata = body["metadata"]
        labels, annotations = dict(metadata.get("labels") or {}), dict(metadata.get("annotations") or {})
        with self._lock:
            revision = next(self._revisions)
            self._secrets[metadata["name"]] = Secret(metadata["name"], labels, annotations, cluster, revision)

    def delete(self, secret: Secret) -> None:
        """Removes what Argo CD made; what somebody else made only loses its label."""
        with self._lock:
            if secret.annotations.get(MANAGED_BY) == MANAGED_BY_ARGOCD:
                self._secrets.pop(secret.name, None)
            elif secret.name in self._secrets:
                self._secrets[secret.name].labels.pop(SECRET_TYPE, None)

    def clear(self) -> None:
        with self._lock:
            self._secrets.clear()
            self._info.clear()
        self.sets.clear()

    def all(self) -> list[Secret]:
        with self._lock:
            return copy.deepcopy(list(self._secrets.values()))

    def write_info(self, server: str, version: str) -> None:
        """Notes a connection that just worked."""
        if not self.settings.redis:
            message = "error setting cluster info in cache: dial tcp: connect: connection refused"
            raise Refused(Code.UNKNOWN, message)
        self._info[server] = Info("Successful", "", version, self.now())

    def control(self) -> None:
        """The application controller looks at every cluster."""
        for server, info in list(self._info.items()):
            self._info[server] = self._counted(server, max(info.attempted, self.now()))

    def applications(self) -> list[Application]:
        """All Applications that there are now."""
        return self.sets.look([secret.read() for secret in self.clusters()], self.now())

    def _counted(self, server: str, moment: float) -> Info:
        """What the application controller finds: without an Application it does not watch a cluster."""
        count = sum(application.server == server for application in self.applications())
        if count == 0:
            return Info("Unknown", NOT_MONITORED, "", moment)
        return Info("Successful", "", "v1.34.0", moment, count, moment)

    def info(self, server: str) -> Info | None:
        """The information on a cluster, as old as it is by now."""
        info = self._info.get(server)
        if info is None:
            return None
        age, tick = self.now() - info.attempted, self.settings.tickSeconds
        if tick is not None and age >= tick:
            return self._counted(server, self.now())
        return None if age >= self.settings.infoSeconds else info

    def _put(self, name: str, cluster: Cluster) -> Secret:
        data = cluster.copied()
        data.server = data.server.rstrip("/")
        data.name = data.name or data.server
        data.config = as_stored(data.config)
        data.labels, data.annotations = {}, {}
        labels = cluster.labels | {SECRET_TYPE: "cluster"}
        annotations = cluster.annotations | {MANAGED_BY: MANAGED_BY_ARGOCD}
        self._secrets[name] = Secret(name, labels, annotations, data, next(self._revisions))
        return copy.deepcopy(self._secrets[name])


def rfc3339(seconds: float) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


__all__ = ["REFRESH", "Info", "Secret", "Settings", "Store", "rfc3339"]
