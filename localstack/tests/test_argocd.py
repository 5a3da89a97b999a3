"""The Argo CD double in front of the local EKS. How it answers otherwise is checked by argocd/replay.py."""

from __future__ import annotations

import http.client
import os
import unittest
import urllib.error
from typing import Any
from urllib.parse import quote

from .support import AwsTest, call, fleet, wait_for

SERVER = f"http://{os.environ['ARGOCD_SERVER']}"
HEADERS = {"Authorization": f"Bearer {os.environ['ARGOCD_AUTH_TOKEN']}", "Content-Type": "application/json"}
CONTROLLER = "arn:aws:iam::111111111111:role/hub-cluster-argocd-controller"


def argocd(method: str, path: str, body: Any = None) -> Any:
    return call(SERVER + path, method, body, HEADERS)


class ArgoCdTest(AwsTest):
    """A cluster, and an Argo CD that has none."""

    def setUp(self) -> None:
        super().setUp()
        argocd("DELETE", "/_double/clusters")
        argocd("DELETE", "/_double/faults")
        argocd("DELETE", "/_double/calls")
        self.cluster = self.active_cluster()

    def message(self, **config: Any) -> dict[str, Any]:
        tls = {"caData": self.cluster["certificateAuthority"]["data"]}
        aws = {"clusterName": "workload"}
        return {
            "server": self.cluster["endpoint"],
            "name": "workload",
            "project": "default",
            "labels": {"tenant": "one"},
            "config": {"awsAuthConfig": aws, "tlsClientConfig": tls} | config,
        }

    def let_in(self) -> None:
        self.eks.create_access_entry(clusterName="workload", principalArn=CONTROLLER)

    def refusal(self, status: int, text: str, body: dict[str, Any]) -> None:
        with self.assertRaises(urllib.error.HTTPError) as caught:
            argocd("POST", "/api/v1/clusters?upsert=true", body)
        self.assertEqual(caught.exception.code, status)
        self.assertIn(text, caught.exception.read().decode())


class Registration(ArgoCdTest):
    def test_a_cluster_is_registered_when_it_lets_argocd_in(self) -> None:
        self.refusal(401, "the server has asked for the client to provide credentials", self.message())
        self.let_in()
        made = argocd("POST", "/api/v1/clusters?upsert=true", self.message())
        self.assertEqual(made["connectionState"]["status"], "Successful")
        self.assertNotIn("caData", str(made))
        raw = argocd("GET", "/_double/clusters")[0]
        self.assertEqual(raw["writeOnly"], ["config.tlsClientConfig.caData"])
        self.assertEqual(raw["data"]["config"], self.message()["config"])

    def test_a_wrong_authority_name_or_role_or_none_is_refused(self) -> None:
        self.let_in()
        other = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="
        self.refusal(
            500, "x509: certificate signed by unknown authority", self.message(tlsClientConfig={"caData": other})
        )
        self.refusal(401, "credentials", self.message(awsAuthConfig={"clusterName": "another"}))
        stranger = {"clusterName": "workload", "roleARN": "arn:aws:iam::111111111111:role/stranger"}
        self.refusal(401, "credentials", self.message(awsAuthConfig=stranger))
        self.refusal(401, "credentials", self.message(awsAuthConfig=None))
        self.refusal(500, "no such host", self.message() | {"server": "https://NONE.gr7.us-west-2.eks.amazonaws.com"})

    def test_a_new_access_entry_takes_a_moment(self) -> None:
        self.set(accessEntryPropagationSeconds=0.3)
        self.let_in()
        self.refusal(401, "credentials", self.message())
        self.set(accessEntryPropagationSeconds=0)
        argocd("POST", "/api/v1/clusters", self.message())

    def test_labels_of_an_unreachable_cluster_cannot_be_changed_but_it_can_be_deleted(self) -> None:
        self.let_in()
        argocd("POST", "/api/v1/clusters", self.message())
        self.eks.delete_access_entry(clusterName="workload", principalArn=CONTROLLER)
        path = f"/api/v1/clusters/{quote(self.cluster['endpoint'], safe='')}"
        with self.assertRaises(urllib.error.HTTPError) as caught:
            argocd("PUT", path + "?updatedFields=labels", {"labels": {"tenant": "two"}})
        self.assertEqual(caught.exception.code, 401)
        argocd("DELETE", path)
        self.assertEqual(argocd("GET", "/_double/clusters"), [])

    def test_a_reply_can_be_lost_after_the_write(self) -> None:
        self.let_in()
        argocd("POST", "/_double/faults", [{"operation": "create", "when": "after", "drop": True}])
        with self.assertRaises((http.client.RemoteDisconnected, urllib.error.URLError, ConnectionResetError)):
            argocd("POST", "/api/v1/clusters", self.message())
        self.assertEqual(len(argocd("GET", "/_double/clusters")), 1)

    def test_calls_can_be_refused_and_are_logged(self) -> None:
        argocd("POST", "/_double/faults", [{"operation": "list", "status": 502, "count": 1}])
        with self.assertRaises(urllib.error.HTTPError) as caught:
            argocd("GET", "/api/v1/clusters")
        self.assertEqual(caught.exception.code, 502)
        self.assertEqual(caught.exception.headers["Content-Type"], "text/html")
        argocd("GET", "/api/v1/clusters")
        self.refusal(401, "credentials", self.message(username="u", password="secret"))
        log = argocd("GET", "/_double/calls")
        self.assertEqual([entry["operation"] for entry in log], ["list", "list", "create"])
        self.assertEqual([entry["status"] for entry in log], [502, 200, 401])
        self.assertEqual([entry["mutating"] for entry in log], [False, False, True])
        self.assertNotIn("secret", str(log))


class Hosted(ArgoCdTest):
    """The Argo CD that EKS hosts takes a cluster's ARN, and has none of its own."""

    def setUp(self) -> None:
        super().setUp()
        argocd("POST", "/_double/settings", {"hosted": True})
        self.addCleanup(argocd, "POST", "/_double/settings", {"hosted": False, "hostedServer": None})
        self.arn = self.cluster["arn"]

    def by_arn(self, **more: Any) -> dict[str, Any]:
        config = {"awsAuthConfig": {"clusterName": self.arn}}
        return {"server": self.arn, "name": "workload", "project": "default", "config": config} | more

    def test_it_says_so_and_lists_no_cluster_of_its_own(self) -> None:
        self.assertIn("+eks-", argocd("GET", "/api/version")["Version"])
        self.assertIsNone(argocd("GET", "/api/v1/clusters")["items"])

    def test_a_cluster_is_registered_by_its_arn_with_or_without_a_configuration(self) -> None:
        self.refusal(401, "credentials", self.by_arn())
        self.let_in()
        for body in (self.by_arn(), self.by_arn(config={})):
            argocd("DELETE", "/_double/clusters")
            self.assertEqual(argocd("POST", "/api/v1/clusters", body)["server"], self.arn)
        argocd("POST", "/_double/settings", {"hostedServer": "https://other"})
        argocd("DELETE", "/_double/clusters")
        self.assertEqual(argocd("POST", "/api/v1/clusters", self.by_arn())["server"], "https://other")

    def test_a_cluster_is_registered_as_the_command_line_does_it(self) -> None:
        self.let_in()
        message = self.message(awsAuthConfig={"clusterName": self.arn})
        self.assertEqual(argocd("POST", "/api/v1/clusters", message)["server"], self.cluster["endpoint"])

    def test_a_name_instead_of_the_arn_no_project_or_an_authority_beside_the_arn_are_refused(self) -> None:
        self.let_in()
        self.refusal(401, "credentials", self.message())
        self.refusal(400, "project", self.by_arn(project=""))
        tls = {"caData": self.cluster["certificateAuthority"]["data"]}
        self.refusal(400, "authority", self.by_arn(config={"tlsClientConfig": tls}))

    def test_a_self_managed_one_takes_no_arn(self) -> None:
        self.let_in()
        argocd("POST", "/_double/settings", {"hosted": False})
        self.refusal(500, "failed to create discovery client", self.by_arn())


class Living(ArgoCdTest):
    """Applications come and go with the labels of their clusters."""

    def test_they_are_counted_go_when_their_label_does_and_leak_with_their_cluster(self) -> None:
        self.addCleanup(argocd, "POST", "/_double/applicationSets", [])
        argocd("POST", "/_double/applicationSets", [{"name": "addon", "selector": {"tenant": "one"}, "goneSeconds": 60}])
        self.let_in()
        made = argocd("POST", "/api/v1/clusters", self.message())
        self.assertEqual(made["info"]["applicationsCount"], 0, "the server does not count")
        argocd("POST", "/_double/settings", {"control": True})
        info = argocd("GET", "/api/v1/clusters?name=workload")["items"][0]["info"]
        self.assertEqual((info["applicationsCount"], info["connectionState"]["status"]), (1, "Successful"))
        self.assertEqual(self.applications(), ["addon-workload"])
        path = f"/api/v1/clusters/{quote(self.cluster['endpoint'], safe='')}"
        argocd("PUT", path + "?updatedFields=labels", {"labels": {"tenant": "two"}})
        self.assertEqual(self.applications(), ["addon-workload"], "it takes its time")
        argocd("POST", "/_double/settings", {"skipSeconds": 61})
        self.assertEqual(self.applications(), [])
        argocd("PUT", path + "?updatedFields=labels", {"labels": {"tenant": "one"}})
        self.assertEqual(self.applications(), ["addon-workload"])
        argocd("DELETE", path)
        self.assertEqual(argocd("GET", "/_double/applications"), {"applications": [], "leaked": ["addon-workload"]})

    def applications(self) -> list[str]:
        items = argocd("GET", "/api/v1/applications")["items"] or []
        return [item["metadata"]["name"] for item in items]


class Target(AwsTest):
    def test_the_emulator_tells_what_a_target_needs(self) -> None:
        cluster = self.active_cluster()
        endpoint = quote(cluster["endpoint"], safe="")
        target = wait_for(lambda: fleet("GET", f"target?endpoint={endpoint}"))
        self.assertEqual(target["name"], "workload")
        self.assertEqual(target["certificateAuthority"], cluster["certificateAuthority"]["data"])
        self.assertIn(f"arn:aws:iam::{self.account}:root", target["accessEntries"])


if __name__ == "__main__":
    unittest.main()
