"""Plays the API server of an EKS cluster: one address over TLS, and EKS's way to find out who is asking.

A token is a call of sts:GetCallerIdentity, signed in advance for this cluster: it is made, and who it names is who asks.
Writes one line of JSON a request to the file LOG, and the port to the file READY once it listens.

usage: kubernetes_api.py CERTIFICATE KEY CLUSTER LOG READY
"""

import base64
import json
import os
import re
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PREFIX = "Bearer k8s-aws-v1."
# Whatever proxy the environment names is not for loopback.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def caller(authorization: str, cluster: str) -> str:
    """The ARN of who is asking; empty if the token is none."""
    if not authorization.startswith(PREFIX):
        return ""
    encoded = authorization.removeprefix(PREFIX)
    url = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    try:
        with OPENER.open(urllib.request.Request(url, headers={"x-k8s-aws-id": cluster}), timeout=30) as answer:
            found = re.search(r"<Arn>(.*?)</Arn>", answer.read().decode())
    except urllib.error.HTTPError:
        return ""
    return found[1] if found else ""


def handler(cluster: str, log: Path) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            authorization = self.headers.get("Authorization", "")
            arn = caller(authorization, cluster)
            with log.open("a") as lines:
                lines.write(json.dumps({"path": self.path, "authorization": authorization, "arn": arn}) + "\n")
            status, body = (200, {"major": "1", "minor": "34"}) if arn else (401, {"kind": "Status", "code": 401})
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def main(certificate: str, key: str, cluster: str, log: str, ready: str) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(cluster, Path(log)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    unfinished = Path(f"{ready}.tmp")
    unfinished.write_text(str(server.server_port))
    unfinished.rename(ready)
    server.serve_forever()


main(*sys.argv[1:])
