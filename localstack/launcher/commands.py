"""`up`, `down`, `run` and `check`."""

from __future__ import annotations

import sys

from . import emulator, surroundings
from .emulator import DEFAULT_PORT, EmulatorError
from .install import InstallError

USAGE = "usage: up [PORT] | down [PORT] | run COMMAND... | check [TEST...]"


def main(arguments: list[str]) -> int:
    try:
        match arguments:
            case ["up", *rest] if len(rest) <= 1:
                return _up(_port(rest))
            case ["down", *rest] if len(rest) <= 1:
                return _down(_port(rest))
            case ["run", *command] if command:
                return surroundings.run(command)
            case ["check", *tests]:
                return surroundings.check(tests)
    except (EmulatorError, InstallError, surroundings.SurroundingsError) as error:
        print(f"localstack: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(USAGE, file=sys.stderr)
    return 2


def _port(arguments: list[str]) -> int:
    if not arguments:
        return DEFAULT_PORT
    if not arguments[0].isdigit() or int(arguments[0]) > 65535:
        raise EmulatorError(f"not a port: {arguments[0]}")
    return int(arguments[0])


def _up(port: int) -> int:
    running = emulator.up(port)
    for name, value in surroundings.aws_environment(running.url).items():
        print(f"export {name}={value}")
    print("unset AWS_PROFILE AWS_SESSION_TOKEN")
    return 0


def _down(port: int) -> int:
    if not emulator.down(port):
        print(f"localstack: nothing of ours on port {port}", file=sys.stderr)
    return 0
