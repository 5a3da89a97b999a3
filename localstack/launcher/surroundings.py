"""One run: an emulator and an Argo CD double of its own, a command against them, and everything down again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from . import emulator, paths
from .emulator import ACCESS_KEY, REGION, Emulator
from .install import ensure_installed

HUB = ACCESS_KEY
WORKLOAD = "222222222222"
EXTERNAL_ID = "fleetctl-local"  # as in fleetctl.yaml
CONTROLLER_ROLE = f"arn:aws:iam::{HUB}:role/hub-cluster-argocd-controller"


class SurroundingsError(Exception):
    """The Argo CD double could not be started; the message says why."""


@dataclass(frozen=True)
class Surroundings:
    home: Path
    emulator: Emulator
    argocd: dict[str, Any]

    def environment(self) -> dict[str, str]:
        return aws_environment(self.emulator.url) | {
            "ARGOCD_SERVER": f"127.0.0.1:{self.argocd['port']}",
            "ARGOCD_AUTH_TOKEN": self.argocd["tokens"]["fleet"],
            "ARGOCD_OPTS": "--plaintext",
            "FLEETCTL_CONFIG": str(paths.SETTINGS_FILE),
            "FLEETCTL_STATE": str(self.home / "state"),
        }


def aws_environment(url: str) -> dict[str, str]:
    """What points the AWS SDKs at the emulator."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def run(command: list[str]) -> int:
    """Runs `command` in surroundings of its own and returns its exit code."""
    python = ensure_installed()
    with _surroundings(python) as around:
        return _attend(command, around.environment())


def check(tests: list[str]) -> int:
    """This folder's own tests, with the environment's Python, which has boto3."""
    python = ensure_installed()
    chosen = tests or ["discover", "--start-directory", str(paths.TESTS), "--top-level-directory", str(paths.ROOT)]
    with _surroundings(python) as around:
        extra = {"PYTHONPATH": str(paths.ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        return _attend([str(python), "-m", "unittest", *chosen], around.environment() | extra)


@contextmanager
def _surroundings(python: Path) -> Iterator[Surroundings]:
    signal.signal(signal.SIGTERM, _raise_exit)
    signal.signal(signal.SIGHUP, _raise_exit)
    home = Path(tempfile.mkdtemp(prefix="fleetctl-localstack-"))
    try:
        with _emulator(python, home) as running:
            accounts = {"hub": HUB, "workload": WORKLOAD, "externalId": EXTERNAL_ID}
            emulator.request(running.url, "POST", "/_fleet/accounts", accounts)
            with _argocd(home, running) as argocd:
                yield Surroundings(home, running, argocd)
    finally:
        if os.environ.get("LOCALSTACK_KEEP") == "1":
            print(f"localstack: state and logs are kept in {home}", file=sys.stderr)
        else:
            shutil.rmtree(home, ignore_errors=True)


def _raise_exit(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


@contextmanager
def _emulator(python: Path, home: Path) -> Iterator[Emulator]:
    # Should this process be killed, the emulator ends by itself.
    os.environ["FLEETCTL_LOCALSTACK_PARENT"] = str(os.getpid())
    running = emulator.start(python, emulator.free_port(), home / "emulator", home)
    try:
        yield running
    finally:
        emulator.stop(running)


@contextmanager
def _argocd(home: Path, running: Emulator) -> Iterator[dict[str, Any]]:
    ready = home / "argocd.json"
    options = ["--port", "0", "--ready-file", str(ready), "--parent", str(os.getpid())]
    options += ["--emulator", running.url, "--role-arn", CONTROLLER_ROLE]
    with (home / "argocd.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(paths.ARGOCD), *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield _when_ready(process, ready, home / "argocd.log")
    finally:
        process.terminate()
        process.wait()


def _when_ready(process: subprocess.Popen[bytes], ready: Path, log: Path) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if ready.is_file():
            answer: dict[str, Any] = json.loads(ready.read_text())
            return answer
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise SurroundingsError(f"the Argo CD double did not start:\n{log.read_text(errors='replace')}")


def _attend(command: list[str], environment: dict[str, str]) -> int:
    """Runs the command in the foreground; a signal meant for us is the command's to act on first."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("AWS_PROFILE", "AWS_SESSION_TOKEN")}
    inherited.pop("FLEETCTL_LOCALSTACK_PARENT", None)
    try:
        child = subprocess.Popen(command, env=inherited | environment)
    except OSError as error:
        print(f"localstack: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127

    def forward(number: int, _frame: FrameType | None) -> None:
        # A terminal sends Ctrl-C to the whole foreground group; sent again, the command would take it for a second one.
        if number != signal.SIGINT or not _in_foreground():
            child.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, forward)
    code = child.wait()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # nothing may interrupt the taking down
    return code if code >= 0 else 128 - code


def _in_foreground() -> bool:
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
