"""Refusals, with the gRPC codes that Argo CD's gateway translates to HTTP."""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    INTERNAL = 13
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


HTTP_STATUS = {
    Code.UNKNOWN: 500,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.UNAUTHENTICATED: 401,
}


class Refused(Exception):
    """A refusal in Argo CD's own form."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        return HTTP_STATUS[self.code]

    def prefixed(self, prefix: str) -> Refused:
        return Refused(self.code, f"{prefix}: {self.message}")


class NilPointer(Refused):
    """What an absent body leads to: a recovered panic."""

    def __init__(self) -> None:
        super().__init__(Code.INTERNAL, "runtime error: invalid memory address or nil pointer dereference")


def permission_denied() -> Refused:
    """Also the answer for a cluster that does not exist, so that nobody can find out which do."""
    return Refused(Code.PERMISSION_DENIED, "permission denied")


def invalid(message: str) -> Refused:
    return Refused(Code.INVALID_ARGUMENT, message)
