//! What would take something away from under what lives is refused, with the way out, and nothing is changed.

use crate::existing_vpc::{network, vpc};
use crate::support::World;
use crate::support::emulator::repository;

fn applied() -> World {
    let mut world = World::new();
    world.use_shipped_graphs();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    forget(&world);
    world
}

fn forget(world: &World) {
    world.aws.forget();
    world.argocd.forget();
}

/// Refused, with these words, and without a change.
fn refused(world: &World, arguments: &[&str], code: i32, says: &[&str]) {
    let ended = world.fleetctl(arguments).expect(code);
    let all = format!("{}{}", ended.stdout, ended.stderr);
    for words in says {
        assert!(all.contains(words), "{words}: {all}");
    }
    assert_eq!(world.aws.mutating(), []);
    assert_eq!(world.argocd.mutating(), []);
}

/// One live cluster, and everything that somebody may do to its documents and definitions.
#[test]
fn a_live_cluster_is_not_renamed_moved_or_orphaned_by_its_documents() {
    let world = applied();
    let text = world.instance("workload-cluster1", "");

    // Another name of the instance would be another owner of the same objects.
    let renamed = text.replacen("name: workload-cluster1", "name: another", 1);
    world.write("renamed.yaml", &renamed);
    let mv = "`fleetctl state mv EksCluster/workload-cluster1 EksCluster/another -n argocd`";
    refused(&world, &["apply", "renamed.yaml", "--yes"], 1, &["is recorded as an object of EksCluster/workload-cluster1", mv]);
    assert!(!world.folder.path().join("state/argocd/EksCluster.another.json").exists(), "nothing was recorded");

    // Another account is another cluster.
    world.write(
        "fleetctl.yaml",
        &format!("{}  \"{}\":\n    roleName: ack\n", world.fleetctl_yaml("externalId: fleetctl-test"), world.hub),
    );
    world.write(
        "moved.yaml",
        &text.replacen(&format!("accountId: \"{}\"", world.workload), &format!("accountId: \"{}\"", world.hub), 1),
    );
    let moved = world.fleetctl(&["apply", "moved.yaml", "--yes"]);
    assert_ne!(moved.code, Some(0), "{}", moved.stdout);
    assert_eq!(world.aws.mutating(), []);

    // The definition is gone or has another name.
    for name in ["vpc.yaml", "eks-cluster-basic.yaml"] {
        let text = std::fs::read_to_string(repository().join("graphs").join(name)).unwrap();
        world.write(&format!("without/{name}"), &text);
    }
    let gone = ["EksCluster/workload-cluster1 lives", "`fleetctl destroy EksCluster/workload-cluster1`"];
    refused(&world, &["plan", "cluster.yaml", "--graphs", "without"], 4, &gone);
    refused(&world, &["apply", "cluster.yaml", "--yes", "--graphs", "without"], 4, &gone);

    // Destroy goes by the state alone.
    world.fleetctl(&["destroy", "EksCluster/workload-cluster1", "--yes", "--graphs", "without"]).expect(0);
}

/// `vpc.create` from false to true: the cluster would come to stand in a network that is yet to be made.
#[test]
fn a_cluster_in_a_network_of_somebody_elses_gets_none_of_its_own() {
    let mut world = World::new();
    world.use_shipped_graphs();
    world.write("vpc.yaml", &vpc(&world));
    world.fleetctl(&["apply", "vpc.yaml", "--yes"]).expect(0);
    let given = format!("  vpc:\n    create: false\n{}", network(&world));
    world.write("cluster.yaml", &world.instance("workload-cluster1", &given));
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    forget(&world);
    world.write("cluster.yaml", &world.instance("workload-cluster1", ""));
    let says = ["spec.resourcesVPCConfig.subnetIDs: it would come from", "yet to be made", "take the change back"];
    refused(&world, &["plan", "cluster.yaml"], 1, &says);
    refused(&world, &["apply", "cluster.yaml", "--yes"], 1, &says);
}
