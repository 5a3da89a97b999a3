//! Fail closed on identity.

use crate::support::World;
use crate::support::calls::count;
use crate::support::emulator::Emulator;
use serde_json::json;

fn refused(world: &World, code: i32, says: &[&str]) {
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(code);
    let all = format!("{}{}", refused.stdout, refused.stderr);
    for text in says {
        assert!(all.contains(text), "{text}: {all}");
    }
    assert_eq!(world.aws.mutating(), []);
    assert_eq!(world.argocd.mutating(), []);
    assert!(!world.folder.path().join("state").exists(), "no state is made");
}

#[test]
fn one_account_with_plain_credentials_needs_no_selector() {
    let world = World::new();
    world.write("fleetctl.yaml", "{}\n");
    let text = world
        .instance("workload-cluster1", "")
        .replace(&format!("accountId: \"{}\"", world.workload), &format!("accountId: \"{}\"", world.hub));
    Emulator::shared().post("/_fleet/accounts", &json!({"hub": world.hub, "workload": world.hub, "externalId": null}));
    world.write("cluster.yaml", &text);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert!(world.aws.calls().iter().all(|call| call.operation != "AssumeRole"));
    assert_eq!(world.inventory(&world.hub)["eks"][0]["status"], "ACTIVE");
    let records = world.state()["resources"].take();
    assert!(records.as_array().unwrap().iter().all(|record| record["identity"]["account"] == json!(world.hub)), "{records}");
}

#[test]
fn a_role_without_its_external_id_is_refused() {
    let world = World::new();
    world.write("fleetctl.yaml", &world.fleetctl_yaml(""));
    refused(&world, 6, &["role/ack", "external"]);
}

#[test]
fn no_way_into_the_account_is_refused() {
    let world = World::new();
    world.write("fleetctl.yaml", "{}\n");
    refused(&world, 6, &[&world.workload, "IAMRoleSelector"]);
}

fn selector(name: &str, account: &str) -> String {
    format!(
        "---\napiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata:\n  name: {name}\nspec:\n  \
         arn: arn:aws:iam::{account}:role/ack\n  namespaceSelector:\n    names: [workload-cluster1]\n"
    )
}

#[test]
fn one_selector_leads_into_the_account() {
    let world = World::new();
    world.write("fleetctl.yaml", &format!("accounts:\n  \"{}\":\n    externalId: fleetctl-test\n", world.workload));
    world.write("cluster.yaml", &format!("{}{}", world.instance("workload-cluster1", ""), selector("one", &world.workload)));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    world.fleetctl(&["destroy", "EksCluster/workload-cluster1", "--yes"]).expect(0);
}

#[test]
fn two_selectors_are_refused() {
    let world = World::new();
    let text = format!(
        "{}{}{}",
        world.instance("workload-cluster1", ""),
        selector("one", &world.workload),
        selector("two", &world.workload)
    );
    world.write("cluster.yaml", &text);
    refused(&world, 4, &["one", "two", "IAMRoleSelector"]);
}

#[test]
fn an_account_other_than_the_selectors_is_refused() {
    let world = World::new();
    world.write("cluster.yaml", &format!("{}{}", world.instance("workload-cluster1", ""), selector("one", "999999999999")));
    refused(&world, 4, &["999999999999", &world.workload]);
}

#[test]
fn a_role_of_another_account_in_the_settings_is_refused() {
    let world = World::new();
    let settings = format!("accounts:\n  \"{}\":\n    roleArn: arn:aws:iam::{}:role/ack\n", world.workload, world.hub);
    world.write("fleetctl.yaml", &settings);
    refused(&world, 4, &[&world.hub, &world.workload]);
}

#[test]
fn expired_credentials_are_refused() {
    let world = World::new();
    Emulator::shared().post("/_fleet/settings", &json!({"expiredAccessKeys": [world.hub]}));
    refused(&world, 6, &["expired"]);
}

#[test]
fn the_creators_own_access_entry_is_adopted() {
    let world = World::new();
    // The assumed role is the very one that the graph makes an administrator.
    world.write("cluster.yaml", &world.instance("workload-cluster1", "").replace("adminRoleName: Admin", "adminRoleName: ack"));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let entries = "eks:POST /clusters/*/access-entries";
    let accepted: Vec<_> = world.aws.mutating().into_iter().filter(|call| call.status < 400).collect();
    assert_eq!(count(&accepted).get(entries), Some(&1), "Argo CD's entry is made, the creator's is there");
    let state = world.state();
    let records = state["resources"].as_array().unwrap();
    let record = records.iter().find(|record| record["address"].as_str().unwrap().ends_with("/accessEntryAdmin")).unwrap();
    assert_eq!((&record["adopted"], &record["phase"]), (&json!(true), &json!("ready")), "{record}");
    let entry = &world.inventory(&world.workload)["eks"][0]["accessEntries"][format!("arn:aws:iam::{}:role/ack", world.workload)];
    assert_eq!(entry["policies"], json!(["arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"]));
    world.aws.forget();
    let again = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert!(again.stdout.contains("No changes"), "{}", again.stdout);
    assert_eq!(world.aws.mutating(), []);
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
}
