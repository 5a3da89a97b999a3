"""An ordered log of the calls that arrived."""

from __future__ import annotations

import datetime
import itertools
import threading
from dataclasses import asdict, dataclass, field
from typing import Any

READING = ("version", "list", "get", "applications", "userinfo", "can-i", "account", "unknown")
SECRET = ("password", "bearertoken", "token", "keydata", "certdata", "env")


@dataclass
class Call:
    sequence: int
    time: str
    method: str
    path: str
    operation: str
    mutating: bool
    body: Any
    account: str | None = None
    status: int | None = None
    error: str | None = None
    fault: str | None = None
    unknownKeys: list[str] = field(default_factory=list)  # noqa: N815 (JSON)


class CallLog:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sequence = itertools.count(1)
        self._calls: list[Call] = []

    def begin(self, method: str, path: str, operation: str, body: Any) -> Call:
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        with self._lock:
            mutating = operation not in READING
            call = Call(next(self._sequence), now, method, path, operation, mutating, _without_secrets(body))
            self._calls.append(call)
        return call

    def clear(self) -> None:
        with self._lock:
            self._calls.clear()

    def to_json(self) -> list[dict[str, Any]]:
        with self._lock:
            return [asdict(call) for call in self._calls]


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: "***" if k.lower() in SECRET else _without_secrets(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    return value
