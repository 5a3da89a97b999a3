"""Starts, finds and stops LocalStack as a process of its own, on loopback only."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import paths
from .install import STATIC_LIBRARIES, catalogue_of, ensure_installed
from .locking import exclusive

DEFAULT_PORT = 4566
START_SECONDS = 120
STOP_SECONDS = 5

ACCESS_KEY = "111111111111"  # in LocalStack an access key of twelve digits is the account
REGION = "us-west-2"


class EmulatorError(Exception):
    """The emulator could not be started or is not ours; the message says why."""


@dataclass(frozen=True)
class Emulator:
    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def up(port: int) -> Emulator:
    """The emulator on `port`, started if it is not there yet; 0 stands for a free port."""
    python = ensure_installed()
    if port == 0:
        return _up_on_free_port(python)
    with exclusive(paths.LOCAL / "emulators.lock"):
        return _running(port) or start(python, port, paths.emulator_home(port))


def _up_on_free_port(python: Path, attempts: int = 5) -> Emulator:
    """A free port may be taken by somebody else before the emulator binds it, so this tries again."""
    for remaining in reversed(range(attempts)):
        port = free_port()
        try:
            return start(python, port, paths.emulator_home(port))
        except EmulatorError:
            if remaining == 0:
                raise
    raise AssertionError("unreachable")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(python: Path, port: int, home: Path, scratch: Path | None = None) -> Emulator:
    """Starts an emulator whose whole state is in `home`, and returns when it answers.

    It removes `scratch` (`home`, if not given) by itself when it ends because its parent is gone.
    """
    if _port_taken(port):
        raise EmulatorError(f"port {port} of 127.0.0.1 is in use by something else")
    shutil.rmtree(home, ignore_errors=True)
    _link_catalogue(python, home)
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(python), "-m", "localstack.runtime.main"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=_environment(port, home, scratch or home),
            cwd=home,
            start_new_session=True,  # a Ctrl-C in the terminal must not reach it before those who use it
        )
    (home / "pid").write_text(f"{process.pid}\n")
    try:
        _wait_until_ready(process, port, home)
    except BaseException:
        _end(process.pid)
        raise
    return Emulator(port, process.pid)


def _link_catalogue(python: Path, home: Path) -> None:
    libraries = home / STATIC_LIBRARIES
    libraries.parent.mkdir(parents=True)
    libraries.symlink_to(catalogue_of(python.parent.parent), target_is_directory=True)


def stop(emulator: Emulator) -> None:
    _end(emulator.pid)


def down(port: int) -> bool:
    """Stops what `up` started on `port`; False if there is nothing."""
    with exclusive(paths.LOCAL / "emulators.lock"):
        running = _running(port)
        if running:
            _end(running.pid)
        shutil.rmtree(paths.emulator_home(port), ignore_errors=True)
    return running is not None


def request(url: str, method: str, path: str, body: Any = None) -> Any:
    """One call of the plug-in's own interface."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise EmulatorError(f"{method} {path} answered {answer.status}: {content[:500]!r}")
    return json.loads(content)


def _environment(port: int, home: Path, scratch: Path) -> dict[str, str]:
    # AWS_* of the caller would be taken for the emulator's own settings, and a token makes it ask its maker's server.
    dropped = ("AWS_", "LOCALSTACK_", "PYTHON")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return inherited | {
        # Where /.dockerenv exists it takes itself to be in its container, and empties the shared temporary folder.
        "OVERRIDE_IN_DOCKER": "0",
        "FILESYSTEM_ROOT": str(home),
        "FLEETCTL_LOCALSTACK_SCRATCH": str(scratch),
        # The default server ignores the host in GATEWAY_LISTEN and binds every interface.
        "GATEWAY_SERVER": "hypercorn",
        "GATEWAY_LISTEN": f"127.0.0.1:{port}",
        "PARITY_AWS_ACCESS_KEY_ID": "1",
        "SERVICES": "ec2,iam,sts,eks,s3,service-quotas",
        # No DNS server, no message to its maker, no download.
        "DNS_ADDRESS": "0",
        "DISABLE_EVENTS": "1",
        "SKIP_SSL_CERT_DOWNLOAD": "1",
    }


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, home: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise EmulatorError(f"the emulator ended with {process.returncode}:\n{_tail(home / 'log')}")
        if _pid_answering(port) == process.pid:
            return
        time.sleep(0.05)
    raise EmulatorError(f"the emulator did not answer within {START_SECONDS} s:\n{_tail(home / 'log')}")


def _tail(log: Path, lines: int = 20) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def _running(port: int) -> Emulator | None:
    """The emulator that `up` started on `port`, by its pid file, if it still lives."""
    try:
        pid = int((paths.emulator_home(port) / "pid").read_text())
    except (FileNotFoundError, ValueError):
        return None
    return Emulator(port, pid) if _is_emulator(pid) else None


def _is_emulator(pid: int) -> bool:
    """A pid file may be older than the last reboot: the process must be one of ours by its command line."""
    listing = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True)
    return "localstack.runtime.main" in listing.stdout


def _pid_answering(port: int) -> int | None:
    try:
        answer = request(f"http://127.0.0.1:{port}", "GET", "/_fleet/process")
    except (OSError, http.client.HTTPException, ValueError, EmulatorError):
        return None
    return int(answer["pid"])


def _port_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _end(pid: int) -> None:
    """Ends a process that may or may not be a child of this one.

    An orderly end takes LocalStack three seconds, to save what nobody keeps.
    """
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    if not _gone_within(pid, STOP_SECONDS):
        print(f"localstack: process {pid} does not end", file=sys.stderr)


def _gone_within(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.waitpid(pid, os.WNOHANG)  # a child of ours stays a zombie until it is waited for
        except ChildProcessError:
            pass
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False
