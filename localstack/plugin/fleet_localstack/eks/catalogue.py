"""What EKS offers: Kubernetes versions, add-ons, access policies."""

from __future__ import annotations

from localstack.aws.api import RequestContext, handler

from .base import Reply, Request, find_cluster, not_found

VERSIONS = ("1.31", "1.32", "1.33", "1.34", "1.35")
DEFAULT_VERSION = "1.34"
PLATFORM_VERSION = "eks.9"

# Name, newest version, the one before, type.
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
        wanted = request.get("clusterVersions") or VERSIONS
        offered = [
            {
                "clusterVersion": version,
                "clusterType": "eks",
                "defaultPlatformVersion": PLATFORM_VERSION,
                "defaultVersion": version == DEFAULT_VERSION,
                "status": "standard-support",
                "versionStatus": "STANDARD_SUPPORT",
            }
            for version in VERSIONS
            if version in wanted and (version == DEFAULT_VERSION or not request.get("defaultOnly"))
        ]
        return {"clusterVersions": offered}

    @handler("DescribeAddonVersions", expand=False)
    def describe_addon_versions(self, context: RequestContext, request: Request) -> Reply:
        only = request.get("addonName")
        kubernetes = [request["kubernetesVersion"]] if request.get("kubernetesVersion") else list(VERSIONS)
        return {"addons": [_offer(name, kubernetes) for name in ADDONS if only in (None, name)]}

    @handler("DescribeAddonConfiguration", expand=False)
    def describe_addon_configuration(self, context: RequestContext, request: Request) -> Reply:
        name, version = request["addonName"], request["addonVersion"]
        if version not in ADDONS.get(name, ())[:2]:
            not_found(f"Addon version specified is not supported: {name} {version}")
        return {"addonName": name, "addonVersion": version, "configurationSchema": "{}"}

    @handler("ListAccessPolicies", expand=False)
    def list_access_policies(self, context: RequestContext, request: Request) -> Reply:
        return {"accessPolicies": [{"name": name, "arn": POLICY_PREFIX + name} for name in ACCESS_POLICIES]}

    @handler("ListInsights", expand=False)
    def list_insights(self, context: RequestContext, request: Request) -> Reply:
        find_cluster(context, request["clusterName"])
        return {"insights": []}


def _offer(name: str, kubernetes: list[str]) -> Reply:
    newest, older, kind = ADDONS[name]
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
                    for each in kubernetes
                ],
            }
            for version in (newest, older)
        ],
    }
