//! What others change by hand is seen by the next plan and put right by the next apply.

use crate::crash::expect_one_of_everything;
use crate::support::World;
use crate::support::aws::Account;
use crate::support::calls::count;
use crate::support::world::upstream_graphs;
use std::time::Duration;

fn applied() -> World {
    let world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    world.aws.forget();
    world.argocd.forget();
    world
}

/// The plan shows all of these, the apply puts them right, and then there is nothing left to do.
fn put_right(world: &World, shows: &[&str]) {
    let planned = world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(2);
    for text in shows {
        assert!(planned.stdout.contains(text), "{text}: {}", planned.stdout);
    }
    assert_eq!(world.aws.mutating(), [], "a plan changes nothing");
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    expect_one_of_everything(world);
    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
}

#[test]
fn a_route_a_policy_and_an_access_entry_come_back() {
    let world = applied();
    let table = world.id("workload-cluster1-public-routetable");
    let form = format!("Action=DeleteRoute&Version=2016-11-15&RouteTableId={table}&DestinationCidrBlock=0.0.0.0%2F0");
    world.by_hand("ec2", "POST", "/", &form);
    let policy = "arn%3Aaws%3Aiam%3A%3Aaws%3Apolicy%2FAmazonSSMManagedInstanceCore";
    let form =
        format!("Action=DetachRolePolicy&Version=2010-05-08&RoleName=workload-cluster1-cluster-node-role&PolicyArn={policy}");
    world.by_hand("iam", "POST", "/", &form);
    let principal = format!("arn%3Aaws%3Aiam%3A%3A{}%3Arole%2FAdmin", world.workload);
    world.by_hand("eks", "DELETE", &format!("/clusters/workload-cluster1/access-entries/{principal}"), "");
    put_right(&world, &["spec.routes", "AmazonSSMManagedInstanceCore", "accessEntryAdmin"]);
    let changed: Vec<_> = count(&world.aws.mutating()).into_iter().collect();
    let expected = [
        ("ec2:CreateRoute".to_owned(), 1),
        ("eks:POST /clusters/*/access-entries".to_owned(), 1),
        ("eks:POST /clusters/*/access-entries/*/access-policies".to_owned(), 1),
        ("iam:AttachRolePolicy".to_owned(), 1),
    ];
    assert_eq!(changed, expected);
}

/// An inline policy is compared by what it means: a rewritten one is no difference, a wider one is.
#[test]
fn an_inline_policy_that_was_widened_is_put_right() {
    if upstream_graphs().is_some() {
        println!("skipped: upstream's definitions have no inline policy");
        return;
    }
    let world = applied();
    let role = [("RoleName", "workload-cluster1-external-secrets-role"), ("PolicyName", "read-secrets")];
    let policy = || Account(&world.workload).iam("GetRolePolicy", &role)["PolicyDocument"].take();
    let put = |document: &str| {
        let with = [role[0], role[1], ("PolicyDocument", document)];
        Account(&world.workload).iam("PutRolePolicy", &with);
    };
    let text = policy().as_str().map(|text| percent_encoding::percent_decode_str(text).decode_utf8().unwrap().into_owned());
    let text = text.unwrap_or_else(|| policy().to_string());
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    document["Statement"].as_array_mut().unwrap().reverse();
    put(&document.to_string());
    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
    document["Statement"][1]["Resource"] = serde_json::json!("*");
    put(&document.to_string());
    put_right(&world, &["spec.inlinePolicies[read-secrets]"]);
    assert_eq!(count(&world.aws.mutating()).into_iter().collect::<Vec<_>>(), [("iam:PutRolePolicy".to_owned(), 1)]);
}

#[test]
fn a_nat_gateway_that_was_removed_is_made_anew_and_its_route_follows() {
    let world = applied();
    let gateway = world.id("workload-cluster1-nat-gateway1");
    world.by_hand("ec2", "POST", "/", &format!("Action=DeleteNatGateway&Version=2016-11-15&NatGatewayId={gateway}"));
    std::thread::sleep(Duration::from_secs(5));
    put_right(&world, &["natGateway1", "removed outside", "spec.routes[0].natGatewayID"]);
    assert_ne!(world.id("workload-cluster1-nat-gateway1"), gateway);
}

#[test]
fn a_cluster_that_was_removed_is_made_anew_with_what_it_held_and_registered_again() {
    let world = applied();
    world.by_hand("eks", "DELETE", "/clusters/workload-cluster1", "");
    std::thread::sleep(Duration::from_secs(5));
    put_right(&world, &["ekscluster", "podIdentityAddon", "its cluster is made anew"]);
    let argocd = count(&world.argocd.mutating());
    assert_eq!(argocd.values().sum::<usize>(), 2, "deregistered and registered: {argocd:?}");
}

#[test]
fn a_role_that_somebody_else_made_under_our_name_is_refused_and_never_deleted() {
    let world = applied();
    let name = "workload-cluster1-external-secrets-role";
    let role = |action: &str, more: &str| {
        world.by_hand("iam", "POST", "/", &format!("Action={action}&Version=2010-05-08&RoleName={name}{more}"));
    };
    match upstream_graphs() {
        Some(_) => role("DetachRolePolicy", "&PolicyArn=arn%3Aaws%3Aiam%3A%3Aaws%3Apolicy%2FSecretsManagerReadWrite"),
        None => role("DeleteRolePolicy", "&PolicyName=read-secrets"),
    }
    role("DeleteRole", "");
    let trust = "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%5B%5D%7D";
    role("CreateRole", &format!("&AssumeRolePolicyDocument={trust}&Tags.member.1.Key=owner&Tags.member.1.Value=somebody"));
    std::thread::sleep(Duration::from_secs(1));
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(1);
    assert!(refused.stdout.contains("somebody else's"), "{}", refused.stdout);
    assert_eq!(world.aws.mutating(), []);
    let kept = world.fleetctl(&["destroy", "cluster.yaml", "--yes"]).expect(1);
    assert!(format!("{}{}", kept.stdout, kept.stderr).contains(name));
    assert!(world.inventory(&world.workload).to_string().contains("somebody"), "the role is still there");
}
