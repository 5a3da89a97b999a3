//! One cluster from nothing to registered, across two accounts; and the same again.

use crate::support::World;
use crate::support::aws::{Account, encoded};
use crate::support::calls::{count, services_in_order};
use crate::support::emulator::Emulator;
use crate::support::world::upstream_graphs;
use serde_json::{Value, json};
use std::time::Duration;

/// What the graph needs: 44 calls on AWS (the 45 that were measured of the original, but for one that switches on what is
/// on) and one on Argo CD.
fn needed() -> Vec<(&'static str, usize)> {
    let secrets = upstream_graphs().map_or(("iam:PutRolePolicy", 1), |_| ("iam:AttachRolePolicy", 1));
    vec![
        secrets,
        ("ec2:AllocateAddress", 2),
        ("ec2:AssociateRouteTable", 4),
        ("ec2:AttachInternetGateway", 1),
        ("ec2:CreateInternetGateway", 1),
        ("ec2:CreateNatGateway", 2),
        ("ec2:CreateRoute", 3),
        ("ec2:CreateRouteTable", 3),
        ("ec2:CreateSubnet", 4),
        ("ec2:CreateVpc", 1),
        ("ec2:ModifySubnetAttribute", 2),
        ("ec2:ModifyVpcAttribute", 1),
        ("eks:POST /clusters", 1),
        ("eks:POST /clusters/*/access-entries", 2),
        ("eks:POST /clusters/*/access-entries/*/access-policies", 2),
        ("eks:POST /clusters/*/addons", 1),
        ("eks:POST /clusters/*/pod-identity-associations", 1),
        ("iam:AttachRolePolicy", 9),
        ("iam:CreateRole", 3),
    ]
}

#[test]
fn a_cluster_comes_up_from_nothing_and_the_same_again_changes_nothing() {
    let world = World::new();
    // Slower than the cluster: the routes through the gateways come late, and the registration reads nothing of them.
    world.settings(&json!({"natGatewayCreateSeconds": 6.0}));
    let hub_before = world.inventory(&world.hub);

    let applied = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert!(applied.stderr.contains("EksCluster/workload-cluster1"), "{}", applied.stderr);

    expect_everything_is_there(&world);
    assert_eq!(world.inventory(&world.hub), hub_before, "nothing in the hub account");

    let refused: Vec<_> = world.aws.mutating().into_iter().filter(|call| call.status >= 400).collect();
    // The closed list: EKS does not see a fresh role at once, and no call tells when it does.
    assert!(refused.iter().all(|call| call.operation == "POST /clusters"), "{refused:?}");
    let accepted: Vec<_> = world.aws.mutating().into_iter().filter(|call| call.status < 400).collect();
    let mut expected = std::collections::BTreeMap::new();
    for (name, times) in needed() {
        *expected.entry(name.to_owned()).or_default() += times;
    }
    assert_eq!(count(&accepted), expected);
    let order = services_in_order(&world.aws.mutating(), &world.argocd.mutating());
    assert_eq!(order, ["AWS", "Argo CD"], "the registration is the last change");
    assert_eq!(count(&world.argocd.mutating()).into_iter().collect::<Vec<_>>(), [("argocd:POST /api/v1/clusters".to_owned(), 1)]);
    expect_no_change_by_the_emulators_log(&world.hub);

    world.aws.forget();
    world.argocd.forget();
    let again = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert!(again.stdout.contains("No changes"), "{}", again.stdout);
    assert_eq!(world.aws.mutating(), []);
    assert_eq!(world.argocd.mutating(), []);

    let planned = world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
    assert!(planned.stdout.contains("No changes"), "{}", planned.stdout);
    assert_eq!(world.aws.mutating(), []);
}

/// Whoever the caller was: nothing was changed in this account.
fn expect_no_change_by_the_emulators_log(account: &str) {
    let log = Emulator::shared().get(&format!("/_fleet/calls?account={account}"));
    let changes: Vec<&Value> = log.as_array().unwrap().iter().filter(|call| call["mutating"] == true).collect();
    assert!(changes.is_empty(), "{changes:?}");
}

fn expect_everything_is_there(world: &World) {
    let inventory = world.inventory(&world.workload);
    let text = inventory.to_string();
    for tag in ["fleetctl:lineage", "fleetctl:address", "fleetctl:instance"] {
        assert!(text.contains(tag), "{tag}");
    }
    let state = world.state();
    let kinds = |kind: &str| -> Vec<Value> {
        state["resources"].as_array().unwrap().iter().filter(|record| record["identity"]["kind"] == kind).cloned().collect()
    };
    for (kind, number) in [
        ("VPC", 1),
        ("Subnet", 4),
        ("InternetGateway", 1),
        ("NATGateway", 2),
        ("ElasticIPAddress", 2),
        ("RouteTable", 3),
        ("Role", 3),
        ("Cluster", 1),
        ("Addon", 1),
        ("AccessEntry", 2),
        ("PodIdentityAssociation", 1),
        ("Secret", 1),
    ] {
        let found = kinds(kind);
        assert_eq!(found.len(), number, "{kind}");
        assert!(found.iter().all(|record| record["phase"] == "ready"), "{kind}: {found:?}");
        assert!(found.iter().all(|record| record["identity"]["account"] == json!(world.workload)), "{kind}");
    }
    let registered = world.registered();
    let text = registered.to_string();
    assert!(
        text.contains("workload-cluster1") && text.contains("enable_external_secrets") && text.contains("aws_vpc_id"),
        "{text}"
    );
}

#[test]
fn machine_output_of_apply_is_one_event_a_line_and_a_summary() {
    let world = World::new();
    let applied = world.fleetctl(&["apply", "cluster.yaml", "--yes", "-o", "json"]).expect(0);
    for line in applied.stdout.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert!(event["event"].is_string(), "{line}");
    }
    let summary = applied.summary();
    assert_eq!(summary["event"], "summary");
    assert_eq!(summary["exit"], 0);
}

#[test]
fn registration_is_the_last_change_and_is_updated_in_place() {
    let world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    world.argocd.forget();
    world.aws.forget();
    world.write("cluster.yaml", &world.instance("workload-cluster1", "").replace("tenant: tenant1", "tenant: tenant2"));
    let planned = world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(2);
    assert!(planned.stdout.contains("tenant1") && planned.stdout.contains("tenant2"), "{}", planned.stdout);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert!(world.registered().to_string().contains("tenant2"));
    let changed = count(&world.aws.mutating());
    // The tenant is a tag of the cluster as well.
    assert!(changed.keys().all(|call| call.contains("/tags/")), "{changed:?}");
    let argocd = world.argocd.mutating();
    assert_eq!(argocd.len(), 1);
    assert!(argocd[0].operation.starts_with("PUT "), "{argocd:?}");
    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
}

#[test]
fn a_change_that_is_not_carried_out_is_refused_by_name_and_nothing_is_changed() {
    let world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    world.aws.forget();
    let text = world.instance("workload-cluster1", "").replace("\"1.34\"", "\"1.35\"").replace("tenant1", "tenant2");
    world.write("cluster.yaml", &text);
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(1);
    let all = format!("{}{}", refused.stdout, refused.stderr);
    assert!(all.contains("spec.version"), "{all}");
    assert_eq!(world.aws.mutating(), []);
    assert_eq!(world.argocd.mutating().len(), 1, "only the first registration");
}

#[test]
fn without_an_argocd_server_the_cluster_is_built_and_a_later_apply_registers_it() {
    let mut world = World::new();
    world.set("ARGOCD_SERVER", "");
    let built = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(3);
    let all = format!("{}{}", built.stdout, built.stderr);
    assert!(all.contains("ARGOCD_SERVER") && all.contains("argocdSecret"), "{all}");
    assert_eq!(world.argocd.mutating(), []);
    world.aws.forget();
    let url = world.argocd.url.trim_start_matches("http://").to_owned();
    world.set("ARGOCD_SERVER", &url);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.aws.mutating(), []);
    assert_eq!(world.argocd.mutating().len(), 1);
}

#[test]
fn argocd_none_leaves_the_registration_out() {
    let mut world = World::new();
    world.set("ARGOCD_SERVER", "");
    world.write("fleetctl.yaml", &format!("{}argocd: none\n", world.fleetctl_yaml("externalId: fleetctl-test")));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let again = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert!(again.stdout.contains("No changes"), "{}", again.stdout);
}

#[test]
fn a_written_plan_is_applied_and_refused_once_it_is_out_of_date() {
    let world = World::new();
    world.fleetctl(&["plan", "cluster.yaml", "--out", "plan.json"]).expect(0);
    assert_eq!(world.aws.mutating(), []);
    world.fleetctl(&["apply", "plan.json", "--yes"]).expect(0);
    world.aws.forget();
    let late = world.fleetctl(&["apply", "plan.json", "--yes"]).expect(1);
    assert!(format!("{}{}", late.stdout, late.stderr).contains("out of date"), "{late:?}");
    assert_eq!(world.aws.mutating(), []);
}

/// Argo CD's access entry was removed by hand: it is made again, and the registration follows with the new one's ARN.
#[test]
fn an_update_waits_for_what_it_reads() {
    let world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let principal = format!("arn:aws:iam::{}:role/hub-cluster-argocd-controller", world.hub);
    let entry = format!("/clusters/workload-cluster1/access-entries/{}", encoded(&principal));
    Account(&world.workload).remove_of_eks(&entry);
    // Absence counts by the end of the visibility window.
    std::thread::sleep(Duration::from_secs(5));
    world.aws.forget();
    world.argocd.forget();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let made = Account(&world.workload).eks(&entry);
    assert_eq!(world.registered()[0]["annotations"]["access_entry_arn"], made["accessEntry"]["accessEntryArn"]);
    assert_eq!(services_in_order(&world.aws.mutating(), &world.argocd.mutating()), ["AWS", "Argo CD"]);
    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
}

/// Two instances that make the same objects: each would find what the other has just made.
#[test]
fn two_instances_of_the_same_objects_are_refused_before_any_change() {
    let world = World::new();
    let other = world.instance("workload-cluster1", "").replacen("name: workload-cluster1", "name: other", 1);
    world.write("cluster.yaml", &format!("{}---\n{other}", world.instance("workload-cluster1", "")));
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes"]);
    assert_eq!(world.aws.mutating(), [], "{}", refused.stdout);
    assert_ne!(refused.code, Some(0));
}
