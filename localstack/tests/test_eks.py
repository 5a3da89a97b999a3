"""Clusters and what belongs to them."""

from __future__ import annotations

import base64
import ssl
from typing import Any

from cryptography import x509

from .support import AwsTest, auto_mode, fleet, random_account, wait_for

POLICIES = "arn:aws:eks::aws:cluster-access-policy/"
ADMIN = POLICIES + "AmazonEKSClusterAdminPolicy"


class Clusters(AwsTest):
    def prepared(self, zones: int = 2) -> dict[str, Any]:
        vpc = self.vpc()
        subnets = [self.subnet(vpc, number) for number in range(zones)]
        roles = self.role("cluster", "eks.amazonaws.com"), self.role("nodes", "ec2.amazonaws.com")
        return auto_mode("workload", *roles, subnets)

    def test_creating_active_deleting_gone_and_nothing_is_left(self) -> None:
        before = self.inventory()
        request = self.prepared()
        created = self.eks.create_cluster(**request)["cluster"]
        self.assertEqual(created["status"], "CREATING")
        self.assertNotIn("endpoint", created)
        cluster = wait_for(lambda: self.cluster_when("workload", "ACTIVE"))
        self.assertRegex(cluster["endpoint"], r"^https://[0-9A-F]{32}\.gr7\.us-west-2\.eks\.amazonaws\.com$")
        vpc = cluster["resourcesVpcConfig"]["vpcId"]
        with self.refused("DependencyViolation"):
            self.ec2.delete_subnet(SubnetId=request["resourcesVpcConfig"]["subnetIds"][0])
        self.assertEqual(self.eks.delete_cluster(name="workload")["cluster"]["status"], "DELETING")
        wait_for(lambda: not self.eks.list_clusters()["clusters"])
        with self.refused("ResourceNotFoundException", "No cluster found for name: workload.", status=404):
            self.eks.describe_cluster(name="workload")
        for subnet in request["resourcesVpcConfig"]["subnetIds"]:
            self.ec2.delete_subnet(SubnetId=subnet)
        self.ec2.delete_vpc(VpcId=vpc)
        for role in ("cluster", "nodes"):
            self.iam.delete_role(RoleName=role)
        self.assertEqual(self.inventory(), before)

    def test_every_cluster_has_a_certificate_authority_of_its_own(self) -> None:
        request = self.prepared()
        for name in ("first", "second"):
            self.eks.create_cluster(**(request | {"name": name}))
        found = [
            wait_for(lambda name=name: self.cluster_when(name, "ACTIVE"))["certificateAuthority"]["data"]
            for name in ("first", "second")
        ]
        self.assertNotEqual(*found)
        for data in found:
            ssl.create_default_context(cadata=base64.b64decode(data).decode())

    def test_who_plays_an_api_server_gets_a_certificate_of_that_authority(self) -> None:
        cluster = self.active_cluster()
        signed = fleet("GET", f"certificate?endpoint={cluster['endpoint']}")
        authority = x509.load_pem_x509_certificate(base64.b64decode(cluster["certificateAuthority"]["data"]))
        x509.load_pem_x509_certificate(signed["certificate"].encode()).verify_directly_issued_by(authority)
        self.assertIn("PRIVATE KEY", signed["key"])

    def test_the_security_group_lets_its_members_talk_to_each_other(self) -> None:
        group = self.active_cluster()["resourcesVpcConfig"]["clusterSecurityGroupId"]
        found = self.ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]
        sources = [pair["GroupId"] for rule in found["IpPermissions"] for pair in rule["UserIdGroupPairs"]]
        self.assertEqual(sources, [group])
        self.assertIn({"Key": "aws:eks:cluster-name", "Value": "workload"}, found["Tags"])

    def test_the_switches_of_auto_mode_go_together(self) -> None:
        request = self.prepared() | {"storageConfig": {"blockStorage": {"enabled": False}}}
        with self.refused("InvalidParameterException", "either fully enabled or fully disabled"):
            self.eks.create_cluster(**request)
        with self.refused("InvalidParameterException", "bootstrapSelfManagedAddons"):
            self.eks.create_cluster(**self_managed(self.ready_request()))

    def ready_request(self) -> dict[str, Any]:
        subnets = [subnet["SubnetId"] for subnet in self.ec2.describe_subnets()["Subnets"]][:2]
        arn = f"arn:aws:iam::{self.account}:role/"
        return auto_mode("workload", arn + "cluster", arn + "nodes", subnets)

    def test_subnets_have_to_exist_and_be_in_two_zones(self) -> None:
        with self.refused("InvalidParameterException", "at least two different AZs"):
            self.eks.create_cluster(**self.prepared(zones=1))
        request = self.ready_request()
        request["resourcesVpcConfig"]["subnetIds"] = ["subnet-0123456789abcdef0"]
        with self.refused("InvalidParameterException", "does not exist"):
            self.eks.create_cluster(**request)

    def test_a_repeated_call_is_the_same_cluster_and_another_one_is_refused(self) -> None:
        request = self.prepared() | {"clientRequestToken": "once"}
        first, second = (self.eks.create_cluster(**request)["cluster"]["arn"] for _ in range(2))
        self.assertEqual(first, second)
        with self.refused("ResourceInUseException", "Cluster already exists with name: workload", status=409):
            self.eks.create_cluster(**(request | {"clientRequestToken": "twice"}))

    def test_a_failed_cluster_can_be_deleted(self) -> None:
        rule = {"operation": "CreateCluster", "account": self.account, "outcome": "failed", "failureMessage": "no"}
        fleet("POST", "faults?add=1", rule)
        self.eks.create_cluster(**self.prepared())
        failed = wait_for(lambda: self.cluster_when("workload", "FAILED"))
        self.assertEqual(failed["health"]["issues"][0]["message"], "no")
        self.eks.delete_cluster(name="workload")
        wait_for(lambda: not self.eks.list_clusters()["clusters"])


def self_managed(request: dict[str, Any]) -> dict[str, Any]:
    return request | {"bootstrapSelfManagedAddons": True}


class Updates(AwsTest):
    def test_one_update_at_a_time(self) -> None:
        self.active_cluster()
        update = self.eks.update_cluster_config(name="workload", logging=logging("audit"))["update"]
        with self.refused("ResourceInUseException", "update in progress", status=409):
            self.eks.update_cluster_config(name="workload", deletionProtection=True)
        with self.refused("ResourceInUseException", "update in progress"):
            self.eks.delete_cluster(name="workload")

        def status() -> str:
            found = self.eks.describe_update(name="workload", updateId=update["id"])
            return str(found["update"]["status"])

        self.assertEqual(status(), "InProgress")
        wait_for(lambda: status() == "Successful")
        enabled = [s for s in self.cluster_when("workload", "ACTIVE")["logging"]["clusterLogging"] if s["enabled"]]
        self.assertEqual(enabled, [{"enabled": True, "types": ["audit"]}])
        with self.refused("InvalidParameterException", "No changes needed"):
            self.eks.update_cluster_config(name="workload", logging=logging("audit"))

    def test_one_kind_of_change_in_a_call(self) -> None:
        self.active_cluster()
        with self.refused("InvalidParameterException", "Only one type of update can be allowed"):
            self.eks.update_cluster_config(name="workload", logging=logging("audit"), deletionProtection=True)

    def test_a_protected_cluster_is_not_deleted(self) -> None:
        self.active_cluster(deletionProtection=True)
        with self.refused("InvalidRequestException", "deletion protection"):
            self.eks.delete_cluster(name="workload")
        self.eks.update_cluster_config(name="workload", deletionProtection=False)
        wait_for(lambda: self.cluster_when("workload", "ACTIVE"))
        self.eks.delete_cluster(name="workload")

    def test_versions_rise_one_by_one(self) -> None:
        self.active_cluster(version="1.32")
        with self.refused("InvalidParameterException", "Unsupported Kubernetes minor version update"):
            self.eks.update_cluster_version(name="workload", version="1.34")
        self.eks.update_cluster_version(name="workload", version="1.33")
        wait_for(lambda: self.eks.describe_cluster(name="workload")["cluster"]["version"] == "1.33")


def logging(*types: str) -> dict[str, Any]:
    return {"clusterLogging": [{"types": list(types), "enabled": True}]}


class Members(AwsTest):
    def test_members_are_refused_while_the_cluster_is_creating(self) -> None:
        self.set(clusterCreateSeconds=0.5)
        pods = self.role("pods", "pods.eks.amazonaws.com")
        vpc = self.vpc()
        roles = self.role("cluster", "eks.amazonaws.com"), self.role("nodes", "ec2.amazonaws.com")
        self.eks.create_cluster(**auto_mode("workload", *roles, [self.subnet(vpc, n) for n in range(2)]))
        association = {"clusterName": "workload", "namespace": "n", "serviceAccount": "s", "roleArn": pods}
        for create in (
            lambda: self.eks.create_access_entry(clusterName="workload", principalArn=pods),
            lambda: self.eks.create_pod_identity_association(**association),
            lambda: self.eks.create_addon(clusterName="workload", addonName="eks-pod-identity-agent"),
        ):
            with self.refused("InvalidRequestException", "is not in ACTIVE status"):
                create()
        self.set(clusterNotActiveCode="ResourceInUseException")
        with self.refused("ResourceInUseException", status=409):
            self.eks.create_access_entry(clusterName="workload", principalArn=pods)
        self.set(clusterNotActiveCode="")
        self.eks.create_access_entry(clusterName="workload", principalArn=pods)

    def test_eks_makes_the_creators_entry_and_the_nodes(self) -> None:
        self.active_cluster()
        entries = self.eks.list_access_entries(clusterName="workload")["accessEntries"]
        creator, nodes = f"arn:aws:iam::{self.account}:root", f"arn:aws:iam::{self.account}:role/workload-nodes"
        self.assertEqual(entries, sorted([creator, nodes]))
        found = self.eks.describe_access_entry(clusterName="workload", principalArn=nodes)["accessEntry"]
        self.assertEqual(found["type"], "EC2")
        with self.refused("ResourceInUseException", status=409):
            self.eks.create_access_entry(clusterName="workload", principalArn=creator)

    def test_an_entry_needs_a_principal_that_exists_also_in_another_account(self) -> None:
        self.active_cluster()
        hub = random_account()
        arn = f"arn:aws:iam::{hub}:role/hub-cluster-argocd-controller"
        with self.refused("InvalidParameterException", "The specified principalArn is invalid: invalid principal."):
            self.eks.create_access_entry(clusterName="workload", principalArn=arn)
        fleet("POST", "accounts", {"hub": hub, "workload": self.account})
        request = {"clusterName": "workload", "principalArn": arn}
        first, second = (
            self.eks.create_access_entry(**request, clientRequestToken="once")["accessEntry"]["accessEntryArn"]
            for _ in range(2)
        )
        self.assertEqual(first, second)
        self.eks.associate_access_policy(**request, policyArn=ADMIN, accessScope={"type": "cluster"})
        listed = self.eks.list_associated_access_policies(**request)["associatedAccessPolicies"]
        self.assertEqual([policy["policyArn"] for policy in listed], [ADMIN])
        with self.refused("InvalidParameterException"):
            self.eks.associate_access_policy(
                **request, policyArn=POLICIES + "NoSuchPolicy", accessScope={"type": "cluster"}
            )

    def test_a_pod_role_has_to_trust_the_pods_service(self) -> None:
        self.active_cluster()
        wrong, right = self.role("wrong", "ec2.amazonaws.com"), self.role("right", "pods.eks.amazonaws.com")
        request = {"clusterName": "workload", "namespace": "n", "serviceAccount": "s"}
        for arn in (wrong, f"arn:aws:iam::{self.account}:role/missing"):
            with self.refused("InvalidParameterException"):
                self.eks.create_pod_identity_association(**request, roleArn=arn)
        made = self.eks.create_pod_identity_association(**request, roleArn=right)["association"]["associationId"]
        with self.refused("ResourceInUseException", made):
            self.eks.create_pod_identity_association(**request, roleArn=right)
        self.eks.delete_pod_identity_association(clusterName="workload", associationId=made)

    def test_an_addon_comes_and_goes_with_its_associations(self) -> None:
        self.active_cluster()
        role = self.role("csi", "pods.eks.amazonaws.com")
        addon = {"clusterName": "workload", "addonName": "aws-ebs-csi-driver"}
        associations = [{"serviceAccount": "ebs-csi-controller-sa", "roleArn": role}]
        self.eks.create_addon(**addon, podIdentityAssociations=associations)
        with self.refused("ResourceInUseException", status=409):
            self.eks.create_addon(**addon)
        wait_for(lambda: self.eks.describe_addon(**addon)["addon"]["status"] == "ACTIVE")
        listed = self.eks.list_pod_identity_associations(clusterName="workload")["associations"]
        self.assertEqual(len(listed), 1)
        update = self.eks.update_addon(**addon, configurationValues="{}")["update"]
        with self.refused("InvalidRequestException", "UPDATING"):
            self.eks.update_addon(**addon, configurationValues="{}")
        reference = {"name": "workload", "addonName": addon["addonName"], "updateId": update["id"]}
        wait_for(lambda: self.eks.describe_update(**reference)["update"]["status"] == "Successful")
        self.eks.delete_addon(**addon)
        wait_for(lambda: not self.eks.list_addons(clusterName="workload")["addons"])
        self.assertEqual(self.eks.list_pod_identity_associations(clusterName="workload")["associations"], [])

    def test_a_cluster_with_nodegroups_stays_and_takes_everything_else_with_it(self) -> None:
        cluster = self.active_cluster()
        self.eks.create_addon(clusterName="workload", addonName="metrics-server")
        group = {"clusterName": "workload", "nodegroupName": "group"}
        subnets = cluster["resourcesVpcConfig"]["subnetIds"]
        nodes = f"arn:aws:iam::{self.account}:role/workload-nodes"
        self.eks.create_nodegroup(**group, subnets=subnets, nodeRole=nodes)
        wait_for(lambda: self.eks.describe_nodegroup(**group)["nodegroup"]["status"] == "ACTIVE")
        with self.refused("ResourceInUseException", "nodegroups attached"):
            self.eks.delete_cluster(name="workload")
        self.eks.delete_nodegroup(**group)
        wait_for(lambda: not self.eks.list_nodegroups(clusterName="workload")["nodegroups"])
        self.eks.delete_cluster(name="workload")
        wait_for(lambda: not self.eks.list_clusters()["clusters"])
        with self.refused("ResourceNotFoundException", status=404):
            self.eks.list_addons(clusterName="workload")
        self.assertEqual(self.inventory()["eks"], [])

    def test_tags_by_arn(self) -> None:
        arn = self.active_cluster()["arn"]
        self.eks.tag_resource(resourceArn=arn, tags={"a": "1", "b": "2"})
        self.eks.untag_resource(resourceArn=arn, tagKeys=["a"])
        self.assertEqual(self.eks.list_tags_for_resource(resourceArn=arn)["tags"], {"b": "2"})
        self.assertEqual(self.eks.describe_cluster(name="workload")["cluster"]["tags"], {"b": "2"})
