"""Rules that make calls fail: refused, carried out with the reply lost, slow, or ending in a failed state."""

from __future__ import annotations

import dataclasses
import threading
from dataclasses import dataclass, field
from typing import Any

BEFORE, AFTER = "before", "after"

# What each service says, in its own words, when it throttles: the code and status of a rule that gives none.
THROTTLED = {
    "ec2": ("RequestLimitExceeded", 503, "Request limit exceeded."),
    "eks": ("TooManyRequestsException", 429, "Too Many Requests"),
}
THROTTLED_ELSEWHERE = ("Throttling", 400, "Rate exceeded")


@dataclass
class Rule:
    """One rule; what it does not name, it matches.

    `skip` matching calls pass first, then `count` are hit (all, if None), or of those every `every`-th.
    """

    service: str | None = None
    operation: str | None = None
    account: str | None = None
    when: str = BEFORE
    skip: int = 0
    count: int | None = 1
    every: int = 1
    # A refusal (when = before) or the status of the lost reply (when = after). delay_ms alone only delays.
    code: str | None = None
    message: str | None = None
    status: int | None = None
    delay_ms: int = 0
    drop: bool = False
    # The call is accepted, and the object that it makes ends as failed.
    outcome: str | None = None
    failureCode: str = "InternalFailure"  # noqa: N815 (as the API names it)
    failureMessage: str = "Injected failure."  # noqa: N815
    seen: int = field(default=0, compare=False)
    hits: int = field(default=0, compare=False)

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Rule:
        names = {f.name for f in dataclasses.fields(cls)} - {"seen", "hits"}
        unknown = sorted(set(body) - names)
        if unknown:
            raise ValueError(f"unknown in a rule: {', '.join(unknown)}; known: {', '.join(sorted(names))}")
        rule = cls(**body)
        if rule.when not in (BEFORE, AFTER) or rule.outcome not in (None, "failed") or rule.every < 1:
            raise ValueError("when is before or after, outcome is failed or absent, every is 1 or more")
        return rule

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @property
    def only_delays(self) -> bool:
        return bool(self.delay_ms) and not (self.code or self.status or self.drop)

    def refusal(self, service: str) -> tuple[str, int, str]:
        """Code, status and message; by default the service's own throttling."""
        code, status, message = THROTTLED.get(service, THROTTLED_ELSEWHERE)
        if self.code:
            code, status, message = self.code, 400, "Injected fault."
        return code, self.status or status, self.message or message

    def take(self, service: str, operation: str, account: str) -> bool:
        """Counts a call that matches, and says whether it is hit."""
        wanted = ((self.service, service), (self.operation, operation), (self.account, account))
        if any(rule not in (None, actual) for rule, actual in wanted):
            return False
        self.seen += 1
        after_skip = self.seen - self.skip
        if after_skip < 1 or (after_skip - 1) % self.every or (self.count is not None and self.hits >= self.count):
            return False
        self.hits += 1
        return True


class Rules:
    """The rules in force. The first that hits decides."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Rule] = []

    def replace(self, rules: list[Rule]) -> None:
        with self._lock:
            self._rules = rules

    def add(self, rules: list[Rule]) -> None:
        with self._lock:
            self._rules = self._rules + rules

    def hit(self, when: str, service: str, operation: str, account: str) -> Rule | None:
        return self._first(service, operation, account, lambda rule: rule.when == when and not rule.outcome)

    def outcome(self, service: str, operation: str, account: str) -> Rule | None:
        """The rule that makes what this call creates end as failed, if there is one."""
        return self._first(service, operation, account, lambda rule: rule.outcome is not None)

    def to_json(self) -> list[dict[str, Any]]:
        with self._lock:
            return [rule.to_json() for rule in self._rules]

    def _first(self, service: str, operation: str, account: str, kind: Any) -> Rule | None:
        with self._lock:
            return next((r for r in self._rules if kind(r) and r.take(service, operation, account)), None)


FAULTS = Rules()
