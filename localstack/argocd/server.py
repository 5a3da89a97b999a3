"""The HTTP side: keep-alive, content types, the order of the checks, faults, and the double's own interface."""

from __future__ import annotations

import dataclasses
import json
import socket
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from . import accounts, routes
from .accounts import Session
from .applications import ApplicationSet
from .calls import Call, CallLog
from .clusters import Cluster, decode, write_only_paths
from .errors import NilPointer, Refused, invalid
from .faults import AFTER, BEFORE, Rule, Rules
from .routes import NoRoute, Route
from .service import ClusterService, Identifier
from .store import Settings, Store
from .targets import Targets

VERSION = "v3.5.1"
HOSTED_VERSION = "v3.2.7+eks-1"
JSON = "application/json"

Query = dict[str, list[str]]


@dataclass
class Double:
    """Everything that one server has."""

    settings: Settings
    store: Store
    clusters: ClusterService
    faults: Rules
    calls: CallLog

    @classmethod
    def new(cls, settings: Settings, targets: Targets) -> Double:
        store = Store(settings)
        return cls(settings, store, ClusterService(store, targets, settings), Rules(), CallLog())


class Dropped(Exception):
    """The connection is to end without an answer."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], double: Double) -> None:
        self.double = double
        super().__init__(address, Handler)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def handle_any(self) -> None:
        path, _, query = self.path.partition("?")
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if path.startswith("/_double/"):
                status, reply = self._own(path.removeprefix("/_double/"), content)
                self._answer(status, JSON, json.dumps(reply).encode())
            else:
                self._argocd(path, query, content)
        except Dropped:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the call log has it all."""

    # ---- Argo CD's API

    def _argocd(self, path: str, query: str, content: bytes) -> None:
        double = self.server.double
        try:
            if double.settings.tls:
                raise self._to_https()
            route = routes.find(self.command, path, query)
        except NoRoute as miss:
            call = double.calls.begin(self.command, self.path, "unknown", None)
            call.status = miss.status
            self._answer(miss.status, miss.content_type, miss.body.encode(), miss.headers)
            return
        call = double.calls.begin(self.command, self.path, route.operation, _parsed_or_none(content))
        if self._fault(call, BEFORE):
            return
        status, content_type, reply = self._carry_out(call, route, parse_qs(query, keep_blank_values=True), content)
        call.status = status
        if status == 200 and self._fault(call, AFTER):
            return
        self._answer(status, content_type, reply)

    def _to_https(self) -> NoRoute:
        """What a server with TLS answers over plain HTTP."""
        location = f"https://{self.headers.get('Host')}{self.path}"
        body = f'<a href="{location}">Temporary Redirect</a>.\n\n'
        return NoRoute(307, body, "text/html; charset=utf-8", {"Location": location})

    def _carry_out(self, call: Call, route: Route, query: Query, content: bytes) -> tuple[int, str, bytes]:
        # Exactly this content type, without parameters, and also where there is no body.
        if self.command != "GET" and (self.headers.get("Content-Type") or "").lower() != JSON:
            return 415, "text/plain; charset=utf-8", b"Invalid content type\n"
        try:
            return 200, JSON, json.dumps(self._dispatch(call, route, query, content)).encode()
        except Refused as refusal:
            call.error = refusal.message
            body = {"error": refusal.message, "code": int(refusal.code), "message": refusal.message}
            return refusal.status, JSON, json.dumps(body).encode()

    def _dispatch(self, call: Call, route: Route, query: Query, content: bytes) -> Any:
        """Body and query are looked at before the token."""
        clusters = self.server.double.clusters
        match route.operation:
            case "version":
                return {"Version": HOSTED_VERSION if self.server.double.settings.hosted else VERSION}
            case "session":
                given = _parsed(content)
                return {"token": accounts.login(given.get("username", ""), given.get("password", ""))}
            case "logout":
                return {}
            case "userinfo":
                return self._userinfo()
            case "can-i":
                resource, action, target = route.arguments
                return {"value": "yes" if accounts.can_i(self._session(call), resource, action, target) else "no"}
            case "list":
                server, name = _first(query, "server"), _first(query, "name")
                return clusters.list_clusters(self._session(call), server, name)
            case "applications":
                return clusters.applications(self._session(call))
            case "create":
                upsert = _boolean(query, "upsert")
                body = self._cluster(call, content)
                return clusters.create(self._session(call), _present(body), upsert)
        identifier = Identifier(route.arguments[0], _first(query, "id.type") in ("name", "name_escaped"))
        match route.operation:
            case "get":
                return clusters.get(self._session(call), identifier)
            case "update":
                body = self._cluster(call, content)
                return clusters.update(self._session(call), identifier, _present(body), query.get("updatedFields"))
            case "delete":
                return clusters.delete(self._session(call), identifier)
            case "invalidate-cache":
                return clusters.invalidate_cache(self._session(call), identifier)
            case "rotate-auth":
                return clusters.rotate_auth(self._session(call), identifier)
        raise AssertionError(route.operation)

    def _session(self, call: Call) -> Session:
        session = accounts.authenticate(self.headers.get("Authorization"))
        call.account = session.account.name
        return session

    def _userinfo(self) -> dict[str, Any]:
        try:
            session = accounts.authenticate(self.headers.get("Authorization"))
        except Refused:
            return {}
        return {"loggedIn": True, "username": session.account.name, "iss": "argocd"}

    def _cluster(self, call: Call, content: bytes) -> Cluster | None:
        """The message in the body; None stands for none, which is noticed only later."""
        body = _parsed(content)
        if body is None:
            return None
        cluster, call.unknownKeys = decode(body)
        if call.unknownKeys and self.server.double.settings.strict:
            raise invalid(f"unknown keys, which Argo CD would ignore: {', '.join(call.unknownKeys)}")
        return cluster

    # ---- faults

    def _fault(self, call: Call, when: str) -> bool:
        """Applies the rule that hits, and says whether that was the answer."""
        rule = self.server.double.faults.hit(call.operation, when)
        if rule is None:
            return False
        call.fault = when
        time.sleep(rule.delay_ms / 1000)
        if rule.only_delays:
            return False
        if rule.drop or (when == AFTER and rule.status is None):
            raise Dropped
        self._answer(*_refusal(rule))
        if when == BEFORE:
            call.status = rule.status
        return True

    # ---- the double's own interface

    def _own(self, name: str, content: bytes) -> tuple[int, Any]:
        double = self.server.double
        try:
            match self.command, name:
                case ("GET" | "POST" | "DELETE", "faults"):
                    if self.command != "GET":
                        given = _parsed(content) or []
                        rules = given if isinstance(given, list) else [given]
                        double.faults.replace([Rule.from_json(rule) for rule in rules])
                    return 200, double.faults.to_json()
                case ("GET" | "DELETE", "calls"):
                    if self.command == "DELETE":
                        double.calls.clear()
                    return 200, double.calls.to_json()
                case ("GET" | "DELETE", "clusters"):
                    if self.command == "DELETE":
                        double.store.clear()
                    return 200, [_raw(secret) for secret in double.store.all()]
                case ("GET", "applications"):
                    names = [application.name for application in double.store.applications()]
                    return 200, {"applications": names, "leaked": double.store.sets.leaked()}
                case ("POST", "applicationSets"):
                    sets = [ApplicationSet.from_json(each) for each in _parsed(content) or []]
                    double.store.sets.replace(sets)
                    return 200, {}
                case ("POST", "secrets"):
                    return 200, self._foreign_secret(_parsed(content))
                case ("GET" | "POST", "settings"):
                    return 200, self._settings(_parsed(content) if self.command == "POST" else {})
        except (ValueError, TypeError, KeyError, Refused) as error:
            return 400, {"error": str(error)}
        return 404, {"error": f"no {self.command} /_double/{name}"}

    def _foreign_secret(self, body: dict[str, Any]) -> Any:
        """A Secret that somebody else makes in Argo CD's namespace."""
        data = body["stringData"]
        cluster, _ = decode({"config": json.loads(data.get("config") or "{}")})
        cluster.server, cluster.name, cluster.project = data["server"], data["name"], data.get("project", "")
        self.server.double.store.put_foreign(body, cluster)
        return {}

    def _settings(self, changes: dict[str, Any]) -> Any:
        settings, store = self.server.double.settings, self.server.double.store
        changes = dict(changes)
        if "skipSeconds" in changes:
            store.skip(float(changes.pop("skipSeconds")))
        if changes.pop("control", False):
            store.control()
        known = {field.name for field in dataclasses.fields(settings)}
        if set(changes) - known:
            raise ValueError(f"unknown settings: {', '.join(sorted(set(changes) - known))}")
        for name, value in changes.items():
            setattr(settings, name, value)
        return dataclasses.asdict(settings)

    def _answer(self, status: int, content_type: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if content_type == JSON:
            self.send_header("Grpc-Metadata-Content-Type", "application/grpc")
        self.end_headers()
        self.wfile.write(body)


def _refusal(rule: Rule) -> tuple[int, str, bytes]:
    status = rule.status or 500
    if rule.code is None and rule.text is None:
        return status, "text/html", f"<html><body><h1>{status}</h1></body></html>".encode()
    text = rule.text or "injected fault"
    if rule.code is None:
        return status, "text/plain; charset=utf-8", text.encode()
    return status, JSON, json.dumps({"error": text, "code": rule.code, "message": text}).encode()


def _raw(secret: Any) -> dict[str, Any]:
    """A Secret as it is stored, and which parts of it no reply shows."""
    data = dataclasses.asdict(secret.cluster)
    del data["labels"], data["annotations"]
    data["clusterResources"] = data.pop("cluster_resources")
    metadata = {"name": secret.name, "labels": secret.labels, "annotations": secret.annotations}
    return {**metadata, "data": data, "writeOnly": write_only_paths(secret.cluster.config)}


def _parsed(content: bytes) -> Any:
    """JSON by Go's rule: text after the value is ignored, and no text at all is no value."""
    text = content.decode("utf-8", "replace").lstrip()
    if not text:
        return None
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except ValueError as error:
        raise invalid(f"invalid JSON: {error}") from None


def _parsed_or_none(content: bytes) -> Any:
    try:
        return _parsed(content)
    except Refused:
        return None


def _present(cluster: Cluster | None) -> Cluster:
    if cluster is None:
        raise NilPointer
    return cluster


def _first(query: Query, name: str) -> str | None:
    return query[name][0] if name in query else None


def _boolean(query: Query, name: str) -> bool:
    value = _first(query, name)
    if value is None:
        return False
    if value.lower() not in ("1", "t", "true", "0", "f", "false"):
        raise invalid(f'strconv.ParseBool: parsing "{value}": invalid syntax')
    return value.lower() in ("1", "t", "true")
