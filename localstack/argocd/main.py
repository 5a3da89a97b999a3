"""The command line of the double."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from . import accounts
from .server import Double, Server
from .store import Settings
from .targets import EmulatorTargets, StubTargets, Targets


def main() -> int:
    options = _options()
    settings = Settings(strict=options.strict)
    targets: Targets = StubTargets(settings)
    if options.emulator:
        targets = EmulatorTargets(options.emulator, options.role_arn, settings)
    server = Server(("127.0.0.1", options.port), Double.new(settings, targets))
    port = server.server_address[1]
    print(f"listening {port}", flush=True)
    if options.ready_file:
        _write_at_once(options.ready_file, json.dumps({"port": port, "tokens": accounts.tokens()}))
    if options.parent:
        threading.Thread(target=_end_with, args=(options.parent,), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        pass
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="argocd", description="A double of Argo CD's cluster API, on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=0, help="0 (the default) takes a free one")
    parser.add_argument("--ready-file", type=Path, help="where to write port and tokens, as JSON, when it listens")
    parser.add_argument("--parent", type=int, metavar="PID", help="end when that process is gone")
    parser.add_argument("--role-arn", help="the role that Argo CD itself has, as far as AWS is concerned")
    parser.add_argument("--strict", action="store_true", help="refuse keys in bodies that Argo CD would ignore")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--emulator", metavar="URL", help="clusters answer as the EKS of this local AWS has them")
    kind.add_argument("--target-stub", action="store_true", help="every cluster answers, but as /_double/settings says")
    return parser.parse_args()


def _write_at_once(path: Path, text: str) -> None:
    """Whoever waits for the file finds it whole."""
    draft = path.with_name(path.name + ".draft")
    draft.write_text(text)
    draft.replace(path)


def _end_with(parent: int) -> None:
    while _alive(parent):
        time.sleep(0.5)
    os._exit(0)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state != "Z"
