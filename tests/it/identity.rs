//! Fail closed on identity.

use crate::support::World;
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
    let again = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert!(again.stdout.contains("No changes"), "{}", again.stdout);
    world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(0);
}
