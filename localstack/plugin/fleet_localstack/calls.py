"""An ordered log of the API calls that arrived, for tests that ask what a program did."""

from __future__ import annotations

import datetime
import itertools
import threading
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

CAPACITY = 20_000
READING = ("Describe", "List", "Get", "Lookup", "Search", "Simulate", "AssumeRole", "Decode")
SECRET = ("secret", "password", "sessiontoken", "privatekey", "tokencode", "samlassertion", "webidentitytoken")


@dataclass
class Call:
    sequence: int
    time: str
    service: str
    operation: str
    account: str
    region: str
    accessKeyId: str | None  # noqa: N815 (JSON)
    mutating: bool
    parameters: Any
    status: int | None = None  # None while it is being carried out
    error: str | None = None
    fault: str | None = None  # before or after, where a fault rule hit it


class CallLog:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sequence = itertools.count(1)
        self._calls: deque[Call] = deque(maxlen=CAPACITY)

    def begin(
        self, service: str, operation: str, account: str, region: str, access_key: str | None, parameters: Any
    ) -> Call:
        """Logs a call on its arrival, which is what gives the order."""
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        mutating = not operation.startswith(READING)
        shown = _without_secrets(parameters)
        with self._lock:
            sequence = next(self._sequence)
            call = Call(sequence, now, service, operation, account, region, access_key, mutating, shown)
            self._calls.append(call)
        return call

    def clear(self, account: str | None) -> None:
        with self._lock:
            kept = [call for call in self._calls if account not in (None, call.account)]
            self._calls = deque(kept, maxlen=CAPACITY)

    def to_json(self, account: str | None) -> list[dict[str, Any]]:
        with self._lock:
            return [asdict(call) for call in self._calls if account in (None, call.account)]


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: "***" if _is_secret(k) else _without_secrets(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in SECRET)


CALLS = CallLog()
