"""The one lock around the simulated cloud, and its clock.

LocalStack serves every request in a thread of its own, and its EC2 engine was not made for that. Each call that reads
or changes the cloud holds `LOCK`. Transitions (a NAT gateway becomes available, a cluster is gone) are scheduled and
carried out by the first call that comes when they are due: nobody can see the difference, and no thread is needed.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable

LOCK = threading.RLock()

Transition = Callable[[], None]


class Clock:
    """Transitions in the order in which they are due."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Transition]] = []
        self._sequence = itertools.count()

    def schedule(self, seconds: float, transition: Transition) -> None:
        with LOCK:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._sequence), transition))

    def run_due(self) -> None:
        with LOCK:
            while self._due and self._due[0][0] <= time.monotonic():
                _, _, transition = heapq.heappop(self._due)
                transition()


CLOCK = Clock()


class Ages:
    """When objects were made or last changed, by account, region and name."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, ...], float] = {}

    def mark(self, *key: str) -> None:
        with LOCK:
            self._times[key] = time.monotonic()

    def forget(self, *key: str) -> None:
        with LOCK:
            self._times.pop(key, None)

    def younger(self, seconds: float, *key: str) -> bool:
        """Whether it is younger than that; what was never marked is old enough for everything."""
        with LOCK:
            marked = self._times.get(key)
            return marked is not None and time.monotonic() - marked < seconds
