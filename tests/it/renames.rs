//! What happens to live objects when documents or definitions name them otherwise, or leave them out.

use crate::support::World;
use crate::support::emulator::repository;

fn applied() -> World {
    let mut world = World::new();
    world.use_shipped_graphs();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    world.aws.forget();
    world.argocd.forget();
    world
}

/// The shipped definitions, one text of one file changed.
fn graphs(world: &World, file: &str, from: &str, to: &str) {
    for name in ["vpc.yaml", "eks-cluster-basic.yaml", "eks-cluster.yaml"] {
        let text = std::fs::read_to_string(repository().join("graphs").join(name)).unwrap();
        let changed = if name == file { text.replace(from, to) } else { text.clone() };
        assert!(name != file || changed != text, "the change applies");
        world.write(&format!("own/{name}"), &changed);
    }
}

fn refused(world: &World, arguments: &[&str], says: &str) {
    let ended = world.fleetctl(arguments).expect(1);
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.contains(says), "{says}: {all}");
    assert_eq!(world.aws.mutating(), []);
    assert_eq!(world.argocd.mutating(), []);
}

#[test]
fn an_object_that_is_named_otherwise_in_the_graph_stays_and_is_recorded_once() {
    let world = applied();
    graphs(&world, "eks-cluster-basic.yaml", "-access-entry-admin", "-administrators");
    let apply = ["apply", "cluster.yaml", "--graphs", "own", "--yes"];
    let moved = world.fleetctl(&apply).expect(0);
    assert!(moved.stdout.contains("recorded until now as"), "{}", moved.stdout);
    assert!(world.aws.mutating().iter().all(|call| !call.operation.starts_with("DELETE")), "{:?}", world.aws.mutating());
    let state = world.state().to_string();
    assert!(state.contains("-administrators") && !state.contains("-access-entry-admin"), "{state}");
    let again = world.fleetctl(&apply).expect(0);
    assert!(again.stdout.contains("No changes"), "{}", again.stdout);
    world.fleetctl(&["destroy", "cluster.yaml", "--graphs", "own", "--yes"]).expect(0);
}

#[test]
fn another_region_or_name_is_refused() {
    let world = applied();
    let text = world.instance("workload-cluster1", "");
    world.write("cluster.yaml", &text.replace("region: us-west-2", "region: us-east-1"));
    refused(&world, &["apply", "cluster.yaml", "--yes"], "region changes from us-west-2 to us-east-1");
    world.write("cluster.yaml", &text.replace("spec:\n  name: workload-cluster1", "spec:\n  name: another"));
    refused(&world, &["apply", "cluster.yaml", "--yes"], "name changes from");
}

#[test]
fn a_vpc_is_not_taken_away_under_its_cluster() {
    let world = applied();
    let id = |name: &str| world.id(&format!("workload-cluster1-{name}"));
    let network = format!(
        "  vpc:\n    create: false\n    vpcId: {}\n    publicSubnet1Id: {}\n    publicSubnet2Id: {}\n    privateSubnet1Id: {}\n    \
         privateSubnet2Id: {}\n",
        id("vpc"),
        id("public-subnet1"),
        id("public-subnet2"),
        id("private-subnet1"),
        id("private-subnet2")
    );
    world.write("cluster.yaml", &world.instance("workload-cluster1", &network));
    let confirm = "EksCluster/workload-cluster1/vpc/vpc";
    refused(&world, &["apply", "cluster.yaml", "--yes", "--confirm", confirm], "still uses it");
}
