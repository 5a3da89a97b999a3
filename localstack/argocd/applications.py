"""Applications: what ApplicationSets with a cluster generator make of the clusters' labels, and what becomes of it."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .clusters import Cluster


@dataclass(frozen=True)
class ApplicationSet:
    """Makes an Application `<name>-<cluster>` for every cluster whose labels are as the selector says."""

    name: str
    selector: dict[str, str] = field(default_factory=dict)
    # How long an Application takes to go once its cluster is selected no more; None: it never goes.
    goneSeconds: float | None = 0.0  # noqa: N815 (JSON)

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> ApplicationSet:
        unknown = sorted(set(body) - {f.name for f in dataclasses.fields(cls)})
        if unknown:
            raise ValueError(f"unknown in an ApplicationSet: {', '.join(unknown)}")
        return cls(**body)

    def selects(self, cluster: Cluster) -> bool:
        return all(cluster.labels.get(key) == value for key, value in self.selector.items())


@dataclass
class Application:
    name: str
    cluster: str
    server: str
    leaving_since: float | None = None


class Applications:
    """Looks at the clusters whenever it is asked: the real controllers take some seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sets: list[ApplicationSet] = []
        self._living: dict[tuple[str, str], Application] = {}
        self._leaked: list[str] = []

    def replace(self, sets: list[ApplicationSet]) -> None:
        with self._lock:
            self._sets = sets

    def clear(self) -> None:
        with self._lock:
            self._living.clear()
            self._leaked.clear()

    def look(self, clusters: Iterable[Cluster], now: float) -> list[Application]:
        """The Applications that there are, given the clusters that there are."""
        there = {cluster.server: cluster for cluster in clusters}
        with self._lock:
            for each in self._sets:
                for cluster in there.values():
                    self._reconcile(each, cluster, now)
            for key, application in list(self._living.items()):
                if application.server not in there:
                    # Its destination is gone: it goes too, and what it made on the cluster stays there.
                    self._leaked.append(self._living.pop(key).name)
            return list(self._living.values())

    def _reconcile(self, each: ApplicationSet, cluster: Cluster, now: float) -> None:
        key = (each.name, cluster.server)
        living = self._living.get(key)
        if each.selects(cluster):
            self._living[key] = Application(f"{each.name}-{cluster.name}", cluster.name, cluster.server)
        elif living:
            living.leaving_since = now if living.leaving_since is None else living.leaving_since
            if each.goneSeconds is not None and now - living.leaving_since >= each.goneSeconds:
                del self._living[key]

    def leaked(self) -> list[str]:
        with self._lock:
            return list(self._leaked)


def message(application: Application) -> dict[str, Any]:
    """An Application as the API lists it, as far as clients of clusters need it."""
    return {"metadata": {"name": application.name}, "spec": {"destination": {"name": application.cluster}}}
