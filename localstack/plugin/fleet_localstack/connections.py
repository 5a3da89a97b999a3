"""Closing a client's connection without any answer, which no HTTP framework offers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hypercorn.asyncio.tcp_server import TCPServer
from localstack.http import Request
from localstack.utils.patch import Patch

Peer = tuple[str, int]

_OPEN: dict[Peer, tuple[asyncio.AbstractEventLoop, asyncio.StreamWriter]] = {}


def install() -> None:
    """From now on, connections are remembered by their client's address."""

    async def run(original: Callable[..., Any], self: TCPServer) -> None:
        address = self.writer.get_extra_info("peername")
        peer = (str(address[0]), int(address[1])) if address else None
        if peer:
            _OPEN[peer] = (self.loop, self.writer)
        try:
            await original(self)
        finally:
            if peer:
                _OPEN.pop(peer, None)

    Patch.function(TCPServer.run, run).apply()


def drop(request: Request) -> bool:
    """Resets the connection that a request came on; False if it is not known."""
    environ = request.environ
    connection = _OPEN.get((str(environ.get("REMOTE_ADDR")), int(environ.get("REMOTE_PORT") or 0)))
    if connection is None:
        return False
    loop, writer = connection
    loop.call_soon_threadsafe(writer.transport.abort)
    return True
