"""From a raw path to an operation, with the peculiarities of Go's router and of grpc-gateway v1."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from urllib.parse import unquote, unquote_plus

PREFIX = "/api/v1"
ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class Route:
    operation: str
    arguments: tuple[str, ...] = ()


@dataclass
class NoRoute(Exception):
    """An answer that comes from the router and is not JSON."""

    status: int
    body: str
    content_type: str = "text/plain; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)


def find(method: str, path: str, query: str) -> Route:
    if ESCAPE.search(path):
        raise NoRoute(400, "400 Bad Request")
    _redirect_unclean(method, path, query)
    if path == "/api/version":
        return _by_method(method, {"GET": Route("version")})
    if path == f"{PREFIX}/session":
        return _by_method(method, {"POST": Route("session"), "DELETE": Route("logout")})
    if path == f"{PREFIX}/session/userinfo":
        return _by_method(method, {"GET": Route("userinfo")})
    if path.startswith(f"{PREFIX}/account/can-i/"):
        parts = tuple(unquote(path.removeprefix(f"{PREFIX}/account/can-i/")).split("/", 2))
        if len(parts) == 3:
            return _by_method(method, {"GET": Route("can-i", parts)})
    if path == f"{PREFIX}/applications":
        return _by_method(method, {"GET": Route("applications")})
    if path == f"{PREFIX}/clusters":
        return _by_method(method, {"GET": Route("list"), "POST": Route("create")})
    if path.startswith(f"{PREFIX}/clusters/"):
        return _cluster(method, path.removeprefix(f"{PREFIX}/clusters/"))
    raise NoRoute(404, "Not Found\n")


def _redirect_unclean(method: str, path: str, query: str) -> None:
    """Go's router sends a path with empty or dotted segments to its clean form."""
    clean = posixpath.normpath(path) + ("/" if path.endswith("/") and path != "/" else "")
    if "//" not in path and clean == path:
        return
    location = re.sub("/+", "/", clean) + (f"?{query}" if query else "")
    body = f'<a href="{location}">Temporary Redirect</a>.\n\n' if method == "GET" else ""
    raise NoRoute(307, body, "text/html; charset=utf-8", {"Location": location})


def _cluster(method: str, rest: str) -> Route:
    raw, slash, action = rest.partition("/")
    if not slash:
        # A bare colon starts a "verb" for grpc-gateway, and there is none.
        if ":" in raw or not raw:
            raise NoRoute(404, "Not Found\n")
        methods = {"GET": "get", "PUT": "update", "DELETE": "delete"}
        return _by_method(method, {name: Route(operation, (_value(raw),)) for name, operation in methods.items()})
    if action in ("invalidate-cache", "rotate-auth"):
        return _by_method(method, {"POST": Route(action, (_value(raw),))})
    raise NoRoute(404, "Not Found\n")


def _value(raw: str) -> str:
    """Unescaped as often as the server does: once as a query, and once more if something is left to unescape."""
    once = unquote_plus(raw)
    return unquote(once) if re.search(r"%[0-9A-Fa-f]{2}", once) else once


def _by_method(method: str, routes: dict[str, Route]) -> Route:
    if method not in routes:
        raise NoRoute(405, "Method Not Allowed\n")
    return routes[method]
