#!/usr/bin/env python3
"""Replays recorded exchanges against the double, and says where it answers differently.

    replay.py [FILE] [--group GROUP]... [--swagger FILE]

The exchanges were recorded from a real argocd-server. Within a group they are replayed in order from an empty server.
Compared are the status, the content type and the body, but for times; of the texts of errors, the phrases by which clients
tell them apart. With --swagger the names of all fields and query keys have to be those of Argo CD's own description, but
for the exchanges that are about other names.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from argocd.swagger import Interface  # noqa: E402 (from beside this file, however it is started)

RECORDED = HERE.parent.parent / "tests" / "conformance" / "argocd-exchanges.jsonl"

# The stub takes whatever looks like a certificate.
CA_DATA = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n").decode()
PARALLEL = 12

# How a setup line describes the behaviour of a target, and the stub's word for it.
BEHAVIOURS = {
    "unless a Bearer header": "anonymous401",
    "with 401": "401",
    "with 403": "403",
    "another CA": "badca",
    "never answers": "hang",
}

# By these phrases clients tell Argo CD's own refusals from those of a cluster, and what passes from what does not.
PHRASES = (
    "invalid session",
    "no session information",
    "Invalid username or password",
    "permission denied",
    "server version",
    "getting credentials",
    "the server has asked for the client to provide credentials",
    "REST config",
    "failed to create discovery client",
    "x509:",
    "PEM block",
    "error setting cluster info in cache",
    "existing cluster spec is different",
    "is invalid: metadata",
)

# Exchanges that are about names which Argo CD does not know.
OTHER_NAMES = frozenset({"u-misspelt-query-is-full-put"})


@dataclass
class Double:
    port: int
    tokens: dict[str, str]

    def call(self, method: str, path: str, headers: dict[str, str], body: Any) -> tuple[int, dict[str, str], Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            content = None if body in (None, "") else json.dumps(body).encode()
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()

    def own(self, method: str, name: str, body: Any = None) -> Any:
        return json.loads(self.call(method, f"/_double/{name}", {}, body)[2])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=RECORDED)
    parser.add_argument("--group", action="append", help="only this group; may be given several times")
    parser.add_argument("--swagger", type=Path, help="Argo CD's description of its interface")
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.file.read_text().splitlines() if line.strip()]
    groups: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if "group" in line and (not options.group or line["group"] in options.group):
            groups.setdefault(line["group"], []).append(line)
    unknown = set(options.group or ()) - set(groups)
    if unknown:
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    interface = Interface(options.swagger) if options.swagger else None
    with _double() as double:
        results = [_replay_group(double, name, group, interface) for name, group in groups.items()]
    right, exchanges = (sum(column) for column in zip(*results, strict=True))
    print(f"all: {right} of {exchanges}{', names of fields checked' if interface else ''}")
    return 0 if right == exchanges > 0 else 1


@contextmanager
def _double() -> Iterator[Double]:
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        command = [sys.executable, str(HERE), "--target-stub", "--ready-file", str(ready)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            while not ready.exists():
                if process.poll() is not None:
                    raise SystemExit("the double did not start")
                time.sleep(0.02)
            yield Double(**json.loads(ready.read_text()))
        finally:
            process.terminate()
            process.wait()


def _replay_group(
    double: Double, name: str, lines: list[dict[str, Any]], interface: Interface | None
) -> tuple[int, int]:
    """How many exchanges of a group were answered as recorded, and how many there are."""
    double.own("DELETE", "clusters")
    as_recorded = {"inCluster": False, "redis": True, "awsCredentials": True, "targets": {}, "tickSeconds": None, "tls": False}
    double.own("POST", "settings", as_recorded)
    targets: dict[str, str] = {}
    exchanges = right = 0
    for line in lines:
        if "setup" in line:
            _set_up(double, line, targets)
            continue
        exchanges += 1
        difference = _replay(double, line, interface)
        right += difference is None
        if difference:
            print(f"mismatch {line['id']}: {difference}")
    print(f"{name}: {right} of {exchanges}")
    return right, exchanges


def _set_up(double: Double, line: dict[str, Any], targets: dict[str, str]) -> None:
    setup = line["setup"]
    what = setup["what"]
    if what == "target":
        targets[setup["server"]] = next(word for text, word in BEHAVIOURS.items() if text in setup["target"])
        double.own("POST", "settings", {"targets": targets})
    elif "cluster.inClusterEnabled" in what:
        double.own("POST", "settings", {"inCluster": "is removed" in what})
    elif what.startswith("Redis"):
        double.own("POST", "settings", {"redis": what == "Redis is back"})
    elif "11 minutes pass" in what:
        double.own("POST", "settings", {"skipSeconds": 660})
    elif "application controller writes" in what:
        double.own("POST", "settings", {"control": True})
    elif "Secret" in what:
        if "secret" in setup:
            _FOREIGN.update(setup["secret"])
        double.own("DELETE", "clusters")
        double.own("POST", "secrets", _filled(_FOREIGN, double))
    else:
        raise SystemExit(f"setup {line['id']} is not understood: {what}")


_FOREIGN: dict[str, Any] = {}  # the foreign Secret that later lines make anew


def _replay(double: Double, line: dict[str, Any], interface: Interface | None) -> str | None:
    given = line.get("given", "")
    without_credentials, tls = "without usable AWS credentials" in given, "started with TLS" in given
    double.own("POST", "settings", {"awsCredentials": not without_credentials, "tls": tls})
    request = _filled(line["request"], double)
    call = (request["method"], request["path"], request["headers"], request["body"])
    if "at once" in given:  # one of the losers of several calls: any of ours will do
        with ThreadPoolExecutor(PARALLEL) as pool:
            answers = [future.result() for future in [pool.submit(double.call, *call) for _ in range(PARALLEL)]]
        differences = [_difference(answer, line, double) for answer in answers]
        return None if None in differences else differences[0]
    answer = double.call(*call)
    return _difference(answer, line, double) or (interface and _other_names(interface, line, request, answer))


def _other_names(
    interface: Interface, line: dict[str, Any], request: dict[str, Any], answer: tuple[int, dict[str, str], Any]
) -> str | None:
    """Names of fields that Argo CD's own description does not know."""
    method, path, status = request["method"], request["path"], answer[0]
    unknown = interface.unknown_in_request(method, path, request["body"])
    if bool(unknown) != (line["id"] in OTHER_NAMES):
        return f"the request has unknown names: {', '.join(unknown) or 'none, although it should'}"
    if answer[1].get("content-type") != "application/json":
        return None
    unknown = interface.unknown_in_response(method, path, status, json.loads(answer[2]))
    return f"the answer has unknown names: {', '.join(unknown)}" if unknown else None


def _filled(value: Any, double: Double) -> Any:
    text = json.dumps(value)
    for name, token in double.tokens.items():
        text = text.replace(f"<token:{name}>", token)
    return json.loads(text.replace("<caData>", CA_DATA).replace("<host>", f"127.0.0.1:{double.port}"))


def _difference(answer: tuple[int, dict[str, str], Any], line: dict[str, Any], double: Double) -> str | None:
    status, headers, text = answer
    expected = line["response"]
    if status != expected["status"]:
        return f"status {status}, not {expected['status']}: {text[:300]}"
    if headers.get("content-type") != expected["content_type"]:
        return f"content type {headers.get('content-type')}, not {expected['content_type']}"
    if "location" in expected and headers.get("location") != _filled(expected["location"], double):
        return f"location {headers.get('location')}, not {expected['location']}"
    body = json.loads(text) if expected["content_type"] == "application/json" else text
    if _comparable(body) != _comparable(_filled(expected["body"], double)):
        return f"body {json.dumps(_comparable(body))}, not {json.dumps(_comparable(expected['body']))}"
    return _secret_difference(line, double)


def _comparable(body: Any) -> Any:
    """Without what changes from run to run: times, the order of lists, and all but the telling phrases of errors."""
    if isinstance(body, dict):
        if set(body) == {"error", "code", "message"}:
            phrases = [phrase for phrase in PHRASES if phrase in body["message"]]
            return {"code": body["code"], "same": body["error"] == body["message"], "phrases": phrases}
        return {key: "<time>" if _is_time(key, value) else _comparable(value) for key, value in body.items()}
    if isinstance(body, list):
        return sorted((_comparable(item) for item in body), key=json.dumps)
    return body


def _is_time(key: str, value: Any) -> bool:
    return bool(value) and key in ("attemptedAt", "refreshRequestedAt", "argocd.argoproj.io/refresh")


def _secret_difference(line: dict[str, Any], double: Double) -> str | None:
    if "secret_after" not in line:
        return None
    found = [{k: secret[k] for k in ("name", "labels", "annotations")} for secret in double.own("GET", "clusters")]
    wanted = [line["secret_after"]] if line["secret_after"] else []
    return None if found == wanted else f"Secrets {found}, not {wanted}"


if __name__ == "__main__":
    sys.exit(main())
