#!/usr/bin/env python3
"""Replays recorded exchanges against the double, and says where it answers differently.

    replay.py [FILE] [--group GROUP]...

The exchanges were recorded from a real argocd-server. Within a group they are replayed in order from an empty server.
Compared are the status, the content type and the body, but for times and for the texts of errors.
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
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.file.read_text().splitlines() if line.strip()]
    groups: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if "group" in line and (not options.group or line["group"] in options.group):
            groups.setdefault(line["group"], []).append(line)
    unknown = set(options.group or ()) - set(groups)
    if unknown:
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    with _double() as double:
        results = [_replay_group(double, name, group) for name, group in groups.items()]
    return 0 if all(results) else 1


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


def _replay_group(double: Double, name: str, lines: list[dict[str, Any]]) -> bool:
    double.own("DELETE", "clusters")
    as_recorded = {"inCluster": False, "redis": True, "awsCredentials": True, "targets": {}, "tickSeconds": None}
    double.own("POST", "settings", as_recorded)
    targets: dict[str, str] = {}
    exchanges = right = 0
    for line in lines:
        if "setup" in line:
            _set_up(double, line, targets)
            continue
        if "<host>" in json.dumps(line["response"]):
            continue  # the redirect from HTTP to HTTPS: the double has no TLS
        exchanges += 1
        difference = _replay(double, line)
        right += difference is None
        if difference:
            print(f"mismatch {line['id']}: {difference}")
    print(f"{name}: {right} of {exchanges}")
    return right == exchanges


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


def _replay(double: Double, line: dict[str, Any]) -> str | None:
    given = line.get("given", "")
    double.own("POST", "settings", {"awsCredentials": "without usable AWS credentials" not in given})
    request = _filled(line["request"], double)
    call = (request["method"], request["path"], request["headers"], request["body"])
    if "at once" in given:  # one of the losers of several calls: any of ours will do
        with ThreadPoolExecutor(PARALLEL) as pool:
            answers = [future.result() for future in [pool.submit(double.call, *call) for _ in range(PARALLEL)]]
        differences = [_difference(answer, line, double) for answer in answers]
        return None if None in differences else differences[0]
    return _difference(double.call(*call), line, double)


def _filled(value: Any, double: Double) -> Any:
    text = json.dumps(value)
    for name, token in double.tokens.items():
        text = text.replace(f"<token:{name}>", token)
    return json.loads(text.replace("<caData>", CA_DATA))


def _difference(answer: tuple[int, dict[str, str], Any], line: dict[str, Any], double: Double) -> str | None:
    status, headers, text = answer
    expected = line["response"]
    if status != expected["status"]:
        return f"status {status}, not {expected['status']}: {text[:300]}"
    if headers.get("content-type") != expected["content_type"]:
        return f"content type {headers.get('content-type')}, not {expected['content_type']}"
    if "location" in expected and headers.get("location") != expected["location"]:
        return f"location {headers.get('location')}, not {expected['location']}"
    body = json.loads(text) if expected["content_type"] == "application/json" else text
    if _comparable(body) != _comparable(_filled(expected["body"], double)):
        return f"body {json.dumps(_comparable(body))}, not {json.dumps(_comparable(expected['body']))}"
    return _secret_difference(line, double)


def _comparable(body: Any) -> Any:
    """Without what changes from run to run: times, the order of lists, and the texts of errors."""
    if isinstance(body, dict):
        if set(body) == {"error", "code", "message"}:
            return {"code": body["code"], "same": body["error"] == body["message"]}
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
