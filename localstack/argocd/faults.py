"""Rules that make calls to the double fail, in the form of those of the local AWS."""

from __future__ import annotations

import dataclasses
import threading
from dataclasses import dataclass, field
from typing import Any

BEFORE, AFTER = "before", "after"


@dataclass
class Rule:
    """What it does not name, it matches. `skip` matching calls pass, then `count` are hit (all, if None)."""

    operation: str | None = None  # version, list, get, create, update, delete, invalidate-cache, ...
    when: str = BEFORE  # before: refused; after: carried out, and the reply is lost
    skip: int = 0
    count: int | None = 1
    status: int | None = None
    code: int | None = None  # gRPC's; without it and without text the answer is not Argo CD's but a load balancer's
    text: str | None = None
    delay_ms: int = 0
    drop: bool = False  # the connection ends without an answer
    seen: int = field(default=0, compare=False)
    hits: int = field(default=0, compare=False)

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Rule:
        unknown = sorted(set(body) - {f.name for f in dataclasses.fields(cls)} | set(body) & {"seen", "hits"})
        if unknown:
            raise ValueError(f"unknown in a rule: {', '.join(unknown)}")
        return cls(**body)

    @property
    def only_delays(self) -> bool:
        return bool(self.delay_ms) and self.status is None and not self.drop

    def take(self, operation: str, when: str) -> bool:
        if self.when != when or self.operation not in (None, operation):
            return False
        self.seen += 1
        if self.seen <= self.skip or (self.count is not None and self.hits >= self.count):
            return False
        self.hits += 1
        return True


class Rules:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Rule] = []

    def replace(self, rules: list[Rule]) -> None:
        with self._lock:
            self._rules = rules

    def hit(self, operation: str, when: str) -> Rule | None:
        with self._lock:
            return next((rule for rule in self._rules if rule.take(operation, when)), None)

    def to_json(self) -> list[dict[str, Any]]:
        with self._lock:
            return [dataclasses.asdict(rule) for rule in self._rules]
