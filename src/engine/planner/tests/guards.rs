//! What lives is not moved, nor what it uses taken away.

use super::*;

/// `vpc.create` from false to true: the network was somebody else's, and would be a new one under what lives in it.
#[test]
fn what_lives_is_not_moved_onto_what_is_yet_to_be_made() {
    let mut scene = Scene::finished("");
    let vpc = scene.seen("vpc");
    (vpc.record, vpc.observed) = (None, None);
    assert_eq!(
        scene.change("subnet"),
        "Refused: spec.vpcID: it would come from Network/one/vpc, which is yet to be made, under an object that lives: a subnet \
         cannot move to another VPC; take the change back, or destroy and apply anew [spec.vpcID: null → (vpc.status.vpcID)]"
    );
    assert!(scene.plan().plan.is_refused());
    // What was removed outside of fleetctl is made again, and what stood on it is looked at then.
    let mut scene = Scene::finished("");
    scene.seen("vpc").observed = None;
    assert!(scene.change("subnet").starts_with("Update"), "{}", scene.change("subnet"));
}

/// A gateway of the graph, and the one that stays although its field says nothing about the other.
const GATEWAYS: &str = r"
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: network.kro.run}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Network
    spec:
      accountId: string | required=true
  resources:
    - id: internet
      template:
        apiVersion: ec2.services.k8s.aws/v1alpha1
        kind: InternetGateway
        metadata: {name: internet}
        spec: {vpc: vpc-1}
    - id: nat
      template:
        apiVersion: ec2.services.k8s.aws/v1alpha1
        kind: NATGateway
        metadata: {name: nat}
        spec: {subnetID: subnet-1}
";

#[test]
fn what_a_live_object_uses_is_not_removed_even_where_the_documents_do_not_say_so() {
    let nat = json!({"subnetID": "subnet-1", "allocationID": "eipalloc-1", "connectivityType": "public"});
    let mut scene = Scene::of(GATEWAYS, "")
        .there("internet", observed("igw-1", json!({"vpc": "vpc-1"}), json!({})))
        .there("nat", observed("nat-1", nat, json!({})))
        .recorded("internet", "igw-1", Phase::Ready)
        .recorded("nat", "nat-1", Phase::Ready);
    // The internet gateway leaves the graph; the NAT gateway, which names only a subnet, needs it.
    let internet = scene.seen("internet").record.clone().unwrap();
    scene.seen("nat").record.as_mut().unwrap().dependencies = vec![internet.identity.clone()];
    let old = |mut record: Record, id: &str| {
        record.address = Address(format!("Network/one/old-{id}"));
        Orphan { record, observed: Some(observed(id, json!({}), json!({}))), unreachable: None }
    };
    scene.orphans.push(old(internet.clone(), "igw-1"));
    // Its address leaves it, about which the documents of the NAT gateway say nothing any more.
    let mut gone = scene.seen("nat").record.clone().unwrap();
    (gone.identity.kind, gone.identity.name, gone.id) = ("ElasticIPAddress".into(), "gone".into(), "eipalloc-1".into());
    scene.orphans.push(old(gone, "eipalloc-1"));
    let index = scene.work.graph.find("Network/one/internet").unwrap();
    scene.seen.remove(&index);
    scene.work.places[index.0] = None;
    let removed = |scene: &Scene, id: &str| scene.change(&format!("old-{id}"));
    let still = |user: &str| format!("Refused: it left the graph, but Network/one/{user} still uses it; take the change back");
    assert!(removed(&scene, "igw-1").starts_with(&still("nat")), "{}", removed(&scene, "igw-1"));
    assert!(removed(&scene, "eipalloc-1").starts_with(&still("nat")), "{}", removed(&scene, "eipalloc-1"));
    // What nobody uses goes.
    scene.seen("nat").record.as_mut().unwrap().dependencies.clear();
    assert_eq!(removed(&scene, "igw-1"), "Delete: it left the graph");
}

#[test]
fn another_account_is_another_object() {
    let mut scene = Scene::finished("").renamed("vpc");
    scene.orphans[0].record.identity.account = "333333333333".into();
    scene.seen("vpc").observed = None;
    let change = scene.change("vpc");
    assert!(change.starts_with("Refused: its account changes from 333333333333 to 222222222222"), "{change}");
    assert!(change.contains("take the change back, or destroy and apply anew"), "{change}");
}

/// A nested network with a gateway beside the subnet, and a second subnet that reads both through its status.
const NESTED: &str = r#"
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: inner.kro.run}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Inner
    spec: {accountId: string | required=true}
    status: {vpcID: "${vpc.status.vpcID}", gatewayID: "${internet.status.internetGatewayID}"}
  resources:
    - id: vpc
      template:
        apiVersion: ec2.services.k8s.aws/v1alpha1
        kind: VPC
        metadata: {name: main}
        spec: {cidrBlocks: [10.0.0.0/16]}
    - id: internet
      template:
        apiVersion: ec2.services.k8s.aws/v1alpha1
        kind: InternetGateway
        metadata: {name: internet}
        spec: {vpc: "${vpc.status.vpcID}"}
---
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: network.kro.run}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Network
    spec: {accountId: string | required=true}
  resources:
    - id: inner
      template:
        apiVersion: kro.run/v1alpha1
        kind: Inner
        metadata: {name: inner}
        spec: {accountId: "${schema.spec.accountId}"}
    - id: subnet
      template:
        apiVersion: ec2.services.k8s.aws/v1alpha1
        kind: Subnet
        metadata: {name: subnet}
        spec: {vpcID: "${inner.status.vpcID}", cidrBlock: 10.0.0.0/24, availabilityZone: us-west-2a}
"#;

/// The gate of the network is closed while its gateway is missing; its VPC stays, and so does what reads the VPC's id.
#[test]
fn what_reads_the_id_of_what_stays_is_no_change() {
    let subnet = json!({"vpcID": "vpc-1", "cidrBlock": "10.0.0.0/24", "availabilityZone": "us-west-2a"});
    let scene = |phase| {
        Scene::of(NESTED, "")
            .there("inner/vpc", vpc())
            .recorded("inner/vpc", "vpc-1", phase)
            .recorded("inner/internet", "igw-1", Phase::Ready)
            .there("subnet", observed("subnet-1", subnet.clone(), json!({"subnetID": "subnet-1"})))
            .recorded("subnet", "subnet-1", Phase::Ready)
    };
    assert!(scene(Phase::Ready).change("inner/internet").starts_with("Create"));
    assert_eq!(scene(Phase::Ready).change("subnet"), "None");
    assert_eq!(scene(Phase::Created).change("subnet"), "None", "an earlier run did not see the VPC ready");
    let mut gone = scene(Phase::Ready);
    gone.seen("inner/vpc").observed = None;
    assert!(gone.change("subnet").starts_with("Update [spec.vpcID"), "{}", gone.change("subnet"));
}
