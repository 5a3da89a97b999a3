"""What exists in EKS. Bodies are in the shapes of the API, as Describe* answers them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]


@dataclass
class Resource:
    body: Body
    token: str | None = None

    @property
    def status(self) -> str:
        return str(self.body["status"])

    @status.setter
    def status(self, value: str) -> None:
        self.body["status"] = value

    @property
    def tags(self) -> dict[str, str]:
        tags: dict[str, str] = self.body.setdefault("tags", {})
        return tags


@dataclass
class AccessEntry(Resource):
    policies: dict[str, Body] = field(default_factory=dict)  # by the policy's ARN


@dataclass
class Update:
    body: Body
    addon: str | None = None
    nodegroup: str | None = None


@dataclass
class Cluster(Resource):
    account: str = ""
    region: str = ""
    security_group: str = ""
    interfaces: list[str] = field(default_factory=list)
    addons: dict[str, Resource] = field(default_factory=dict)
    nodegroups: dict[str, Resource] = field(default_factory=dict)
    access_entries: dict[str, AccessEntry] = field(default_factory=dict)  # by principal ARN
    associations: dict[str, Resource] = field(default_factory=dict)  # by association id
    updates: dict[str, Update] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.body["name"])

    def arn(self, rest: str) -> str:
        return f"arn:aws:eks:{self.region}:{self.account}:{rest}"

    def tagged(self) -> Iterator[tuple[str, Resource]]:
        """Everything of this cluster that has tags, by its ARN."""
        yield self.body["arn"], self
        members = (
            ("addonArn", self.addons),
            ("nodegroupArn", self.nodegroups),
            ("accessEntryArn", self.access_entries),
            ("associationArn", self.associations),
        )
        for name, resources in members:
            for resource in resources.values():
                yield resource.body[name], resource


_CLUSTERS: dict[tuple[str, str], dict[str, Cluster]] = {}


def clusters_of(account: str, region: str) -> dict[str, Cluster]:
    return _CLUSTERS.setdefault((account, region), {})


def all_clusters(account: str | None = None) -> list[Cluster]:
    return [c for (owner, _), found in _CLUSTERS.items() if account in (None, owner) for c in found.values()]
