"""The clusters that Argo CD dials before it stores anything: those of the local EKS, or a stub's."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from .clusters import Cluster
from .errors import Code, Refused
from .store import Settings

IN_CLUSTER = "https://kubernetes.default.svc"
STUB_VERSION = "v1.31.4"


class Targets(Protocol):
    """Answers GET /version of a cluster with its version, or raises what Argo CD makes of the refusal."""

    def version(self, cluster: Cluster) -> str: ...


def dial_checks(cluster: Cluster, settings: Settings) -> None:
    """What goes wrong before anything is sent."""
    server = cluster.server
    if server.startswith("arn:") and not settings.hosted:
        head, _, _ = server.partition("/")
        bad_port = head.removeprefix("arn")
        message = f'failed to create discovery client: parse "http://{server}": invalid port "{bad_port}" after host'
        raise Refused(Code.UNKNOWN, message)
    if not server:
        raise _unreachable("http://localhost", "dial tcp 127.0.0.1:80: connect: connection refused")


class EmulatorTargets:
    """A cluster answers if the local EKS has it, and it knows the role that Argo CD comes with."""

    def __init__(self, emulator: str, role: str | None, settings: Settings) -> None:
        self._emulator = emulator.rstrip("/")
        self._role = role
        self._settings = settings

    def version(self, cluster: Cluster) -> str:
        dial_checks(cluster, self._settings)
        target = self._find(self._dialled(cluster))
        if target is None:
            host = urlsplit(cluster.server).hostname
            raise _unreachable(cluster.server, f"dial tcp: lookup {host}: no such host")
        if target["status"] not in ("ACTIVE", "UPDATING"):
            raise _unreachable(cluster.server, "dial tcp: connect: connection refused")
        self._check_certificate(cluster, target)
        self._check_identity(cluster, target)
        return f"v{target['version']}.0"

    def _dialled(self, cluster: Cluster) -> str:
        """A hosted Argo CD finds the cluster by its ARN, whatever it calls the server."""
        named = str(cluster.config.get("awsAuthConfig", {}).get("clusterName", ""))
        return named if self._settings.hosted and named.startswith("arn:") else cluster.server

    def _find(self, server: str) -> dict[str, Any] | None:
        url = f"{self._emulator}/_fleet/target?endpoint={quote(server, safe='')}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                found: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise
        return found

    def _check_certificate(self, cluster: Cluster, target: dict[str, Any]) -> None:
        tls = cluster.config.get("tlsClientConfig", {})
        by_arn = self._settings.hosted and not tls.get("caData") and not cluster.server.startswith(target["endpoint"])
        if by_arn:
            return
        if not tls.get("insecure") and tls.get("caData") != target["certificateAuthority"]:
            message = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
            raise _unreachable(cluster.server, message)

    def _check_identity(self, cluster: Cluster, target: dict[str, Any]) -> None:
        aws = cluster.config.get("awsAuthConfig")
        if self._settings.hosted:
            self._check_capability(aws, target)
            return
        if not aws:
            raise _asked_for_credentials()
        role = aws.get("roleARN") or self._role
        if not self._settings.awsCredentials or not role:
            raise _no_credentials(cluster.server)
        if aws.get("clusterName") != target["name"] or role not in target["accessEntries"]:
            raise _asked_for_credentials()

    def _check_capability(self, aws: dict[str, Any] | None, target: dict[str, Any]) -> None:
        """A hosted Argo CD has its capability's role, and is told the cluster by its ARN, or not at all."""
        if aws and (aws.get("clusterName") != target["arn"] or aws.get("roleARN")):
            raise _asked_for_credentials()
        if self._role not in target["accessEntries"]:
            raise _asked_for_credentials()


class StubTargets:
    """Every cluster answers, but for those in the settings: 401, 403, refused, badca, hang, anonymous401."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def version(self, cluster: Cluster) -> str:
        dial_checks(cluster, self._settings)
        time.sleep(0.02)  # long enough for calls at the same time to meet
        if cluster.config.get("awsAuthConfig") and not self._settings.awsCredentials:
            raise _no_credentials(cluster.server)
        behaviour = self._settings.targets.get(cluster.server.rstrip("/"), "ok")
        has_token = bool(cluster.config.get("awsAuthConfig") or cluster.config.get("bearerToken"))
        if behaviour == "401" or (behaviour == "anonymous401" and not has_token):
            raise _asked_for_credentials()
        if behaviour == "403":
            raise Refused(Code.PERMISSION_DENIED, "failed to get server version: unknown")
        if behaviour == "badca":
            message = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
            raise _unreachable(cluster.server, message)
        if behaviour == "hang":
            raise _timed_out(cluster.server, "net/http: request canceled")
        if behaviour == "refused" or re.match(r"https://(127\.0\.0\.1|localhost)\b", cluster.server):
            address = urlsplit(cluster.server).netloc
            raise _unreachable(cluster.server, f"dial tcp {address}: connect: connection refused")
        return STUB_VERSION


def _unreachable(server: str, reason: str) -> Refused:
    return Refused(Code.UNKNOWN, f'failed to get server version: Get "{server}/version?timeout=32s": {reason}')


def _timed_out(server: str, reason: str) -> Refused:
    waited = "(Client.Timeout exceeded while awaiting headers)"
    message = f'failed to get server version: Get "{server}/version?timeout=32s": {reason} {waited}'
    return Refused(Code.DEADLINE_EXCEEDED, message)


def _no_credentials(server: str) -> Refused:
    return _timed_out(server, "getting credentials: exec: executable argocd-k8s-auth failed with exit code 20")


def _asked_for_credentials() -> Refused:
    message = "failed to get server version: the server has asked for the client to provide credentials"
    return Refused(Code.UNAUTHENTICATED, message)
