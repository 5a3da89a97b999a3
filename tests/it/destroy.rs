//! Destroy, from the state alone.

use crate::crash::expect_one_of_everything;
use crate::support::World;
use crate::support::calls::services_in_order;
use serde_json::Value;

/// An inventory without what AWS keeps showing for a while: NAT gateways that are deleted.
pub(crate) fn without_deleted(mut inventory: Value) -> Value {
    strip(&mut inventory);
    inventory
}

fn strip(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.retain(|item| item["state"] != "deleted" && item["State"] != "deleted");
            items.iter_mut().for_each(strip);
        }
        Value::Object(entries) => entries.values_mut().for_each(strip),
        _ => {}
    }
}

#[test]
fn destroy_takes_everything_away_and_apply_works_again() {
    let world = World::new();
    let before = (without_deleted(world.inventory(&world.workload)), without_deleted(world.inventory(&world.hub)));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    world.aws.forget();
    world.argocd.forget();

    // From the state alone: the document is gone.
    std::fs::remove_file(world.folder.path().join("cluster.yaml")).unwrap();
    world.fleetctl(&["destroy", "EksCluster/workload-cluster1", "--yes"]).expect(0);
    let after = (without_deleted(world.inventory(&world.workload)), without_deleted(world.inventory(&world.hub)));
    assert_eq!(after, before);
    assert_eq!(world.argocd.mutating().len(), 1);
    let order = services_in_order(&world.aws.mutating(), &world.argocd.mutating());
    assert_eq!(order, ["Argo CD", "AWS"], "the registration goes first");
    assert!(!world.registered().to_string().contains("workload-cluster1"));
    let refused: Vec<_> = world.aws.mutating().into_iter().filter(|call| call.status >= 400).collect();
    assert_eq!(refused, []);
    // What AWS takes away with the cluster is not deleted one by one.
    assert!(world.aws.mutating().iter().all(|call| !call.operation.contains("addons")), "{:?}", world.aws.mutating());
    assert_eq!(world.state()["resources"].as_array().unwrap().len(), 0);

    world.aws.forget();
    world.argocd.forget();
    let again = world.fleetctl(&["destroy", "EksCluster/workload-cluster1", "--yes"]).expect(0);
    assert!(again.stdout.to_lowercase().contains("nothing"), "{}", again.stdout);
    assert_eq!(world.aws.mutating(), []);
    assert_eq!(world.argocd.mutating(), []);

    world.write("cluster.yaml", &world.instance("workload-cluster1", ""));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    expect_one_of_everything(&world);
}

#[test]
fn destroy_asks_unless_told_yes() {
    let world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    world.aws.forget();
    let refused = world.fleetctl(&["destroy", "cluster.yaml"]).expect(4);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    assert_eq!(world.aws.mutating(), []);
}
