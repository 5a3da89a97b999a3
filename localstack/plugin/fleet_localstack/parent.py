"""Ends the emulator when the process that started it is gone, so that killed test runs leave nothing behind."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

INTERVAL = 0.5


def install() -> None:
    """Watches FLEETCTL_LOCALSTACK_PARENT, if it is set."""
    parent = os.environ.get("FLEETCTL_LOCALSTACK_PARENT")
    if parent:
        threading.Thread(target=_watch, args=(int(parent),), name="parent-watcher", daemon=True).start()


def _watch(parent: int) -> None:
    born = _start_time(parent)
    while _alive(parent) and _start_time(parent) == born:
        time.sleep(INTERVAL)
    scratch = os.environ.get("FLEETCTL_LOCALSTACK_SCRATCH")
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)  # nothing is worth an orderly end: nobody is there to see it


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _state(pid) != "Z"


def _state(pid: int) -> str | None:
    """The process state where /proc tells it; a zombie is as good as gone."""
    fields = _stat(pid)
    return fields[0] if fields else None


def _start_time(pid: int) -> str | None:
    """Tells a process from a later one with the same pid."""
    fields = _stat(pid)
    return fields[19] if fields else None


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text.rpartition(")")[2].split()  # the name before it may contain anything
