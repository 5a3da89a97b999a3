"""What EKS offers: Kubernetes versions, add-ons, access policies."""

from __future__ import annotations

import datetime

from localstack.aws.api import RequestContext, handler

from .base import Reply, Request, find_cluster, not_found, now, page

# Days until standard support ends, and extended support. They move with the day, so that no version ages in tests: one is
# in extended support, one ends soon.
SUPPORT = {
    "1.30": (-430, -65),
    "1.31": (-60, 305),
    "1.32": (30, 395),
    "1.33": (200, 565),
    "1.34": (330, 695),
    "1.35": (450, 815),
}
VERSIONS = tuple(version for version, (_, extended) in SUPPORT.items() if extended > 0)
DEFAULT_VERSION = "1.34"
PLATFORM_VERSION = "eks.9"

# Name, newest version, the one before, type. Both go with every Kubernetes version.
ADDONS = {
    "vpc-cni": ("v1.20.0-eksbuild.1", "v1.19.6-eksbuild.7", "networking"),
    "coredns": ("v1.12.1-eksbuild.2", "v1.11.4-eksbuild.14", "networking"),
    "kube-proxy": ("v1.33.0-eksbuild.2", "v1.32.5-eksbuild.2", "networking"),
    "eks-pod-identity-agent": ("v1.3.8-eksbuild.2", "v1.3.4-eksbuild.1", "security"),
    "aws-ebs-csi-driver": ("v1.45.0-eksbuild.2", "v1.44.0-eksbuild.1", "storage"),
    "aws-efs-csi-driver": ("v2.1.9-eksbuild.1", "v2.1.8-eksbuild.1", "storage"),
    "metrics-server": ("v0.8.0-eksbuild.1", "v0.7.2-eksbuild.4", "observability"),
    "amazon-cloudwatch-observability": ("v4.2.0-eksbuild.1", "v4.1.0-eksbuild.1", "observability"),
}

# Versions that go only with Kubernetes versions up to one.
OLD_ADDONS = {"eks-pod-identity-agent": {"v1.2.0-eksbuild.1": "1.32"}}

POLICY_PREFIX = "arn:aws:eks::aws:cluster-access-policy/"
ACCESS_POLICIES = (
    "AmazonEKSAdminPolicy",
    "AmazonEKSAdminViewPolicy",
    "AmazonEKSAutoNodePolicy",
    "AmazonEKSClusterAdminPolicy",
    "AmazonEKSEditPolicy",
    "AmazonEKSViewPolicy",
)


class CatalogueOperations:
    @handler("DescribeClusterVersions", expand=False)
    def describe_cluster_versions(self, context: RequestContext, request: Request) -> Reply:
        known = list(SUPPORT) if request.get("includeAll") else VERSIONS
        wanted = request.get("clusterVersions") or known
        offered = [
            _version(version)
            for version in reversed(known)
            if version in wanted and (version == DEFAULT_VERSION or not request.get("defaultOnly"))
        ]
        return page(offered, request, "clusterVersions")

    @handler("DescribeAddonVersions", expand=False)
    def describe_addon_versions(self, context: RequestContext, request: Request) -> Reply:
        only = request.get("addonName")
        wanted = request.get("kubernetesVersion")
        kubernetes = [version for version in VERSIONS if wanted in (None, version)]
        offered = [_offer(name, kubernetes) for name in ADDONS if kubernetes and only in (None, name)]
        return page(offered, request, "addons")

    @handler("DescribeAddonConfiguration", expand=False)
    def describe_addon_configuration(self, context: RequestContext, request: Request) -> Reply:
        name, version = request["addonName"], request["addonVersion"]
        if version not in versions_of(name):
            not_found(f"Addon version specified is not supported: {name} {version}")
        return {"addonName": name, "addonVersion": version, "configurationSchema": "{}"}

    @handler("ListAccessPolicies", expand=False)
    def list_access_policies(self, context: RequestContext, request: Request) -> Reply:
        return {"accessPolicies": [{"name": name, "arn": POLICY_PREFIX + name} for name in ACCESS_POLICIES]}

    @handler("ListInsights", expand=False)
    def list_insights(self, context: RequestContext, request: Request) -> Reply:
        find_cluster(context, request["clusterName"])
        return {"insights": []}


def versions_of(name: str, kubernetes: str | None = None) -> list[str]:
    """The versions of an add-on, newest first; only those that go with a Kubernetes version, if one is given."""
    old = OLD_ADDONS.get(name, {})
    fitting = [version for version, newest in old.items() if kubernetes is None or _number(kubernetes) <= _number(newest)]
    return [*ADDONS.get(name, ())[:2], *fitting]


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _version(version: str) -> Reply:
    standard, extended = SUPPORT[version]
    status = "STANDARD_SUPPORT" if standard > 0 else "EXTENDED_SUPPORT" if extended > 0 else "UNSUPPORTED"
    return {
        "clusterVersion": version,
        "clusterType": "eks",
        "defaultPlatformVersion": PLATFORM_VERSION,
        "defaultVersion": version == DEFAULT_VERSION,
        "endOfStandardSupportDate": now() + datetime.timedelta(days=standard),
        "endOfExtendedSupportDate": now() + datetime.timedelta(days=extended),
        "status": status.lower().replace("_", "-"),
        "versionStatus": status,
    }


def _offer(name: str, kubernetes: list[str]) -> Reply:
    newest, _, kind = ADDONS[name]
    going_with = {version: [k for k in kubernetes if version in versions_of(name, k)] for version in versions_of(name)}
    return {
        "addonName": name,
        "type": kind,
        "owner": "aws",
        "publisher": "eks",
        "addonVersions": [
            {
                "addonVersion": version,
                "architecture": ["amd64", "arm64"],
                "computeTypes": ["ec2", "auto"],
                "compatibilities": [
                    {"clusterVersion": each, "platformVersions": ["*"], "defaultVersion": version == newest}
                    for each in compatible
                ],
            }
            for version, compatible in going_with.items()
            if compatible
        ],
    }
