//! Broken inputs: each is told with file, line and column before anything is called, and never ends in a panic.

use crate::support::World;
use crate::support::emulator::repository;
use std::fmt::Write as _;

/// Applies a broken document; gives what was said.
fn said(text: &str) -> String {
    let world = World::new();
    world.write("cluster.yaml", text);
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(4);
    assert_eq!(world.aws.calls(), [], "nothing is called");
    assert!(!refused.stderr.contains("panicked"), "{}", refused.stderr);
    refused.stderr
}

/// Applies with a broken definition of the VPC beside sound ones. Gives what was said, and the place of `at` in the broken
/// file.
fn said_of_definition(change: impl Fn(String) -> String, at: &str) -> (String, String) {
    let world = World::new();
    let sound = |file: &str| std::fs::read_to_string(repository().join("graphs").join(file)).unwrap();
    for file in ["eks-cluster-basic.yaml", "eks-cluster.yaml"] {
        world.write(&format!("broken/{file}"), &sound(file));
    }
    let broken = change(sound("vpc.yaml"));
    assert_ne!(broken, sound("vpc.yaml"), "the change applies");
    world.write("broken/vpc.yaml", &broken);
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--yes", "--graphs", "broken"]).expect(4);
    assert_eq!(world.aws.calls(), [], "nothing is called");
    assert!(!refused.stderr.contains("panicked"), "{}", refused.stderr);
    let before = &broken[..broken.find(at).expect("it is there")];
    let column = before.lines().last().map_or(0, str::len) + 1;
    (refused.stderr, format!("broken/vpc.yaml:{}:{column}", before.lines().count()))
}

fn instance(more: &str) -> String {
    format!(
        "apiVersion: kro.run/v1alpha1\nkind: EksCluster\nmetadata:\n  name: workload-cluster1\n  namespace: argocd\nspec:\n  \
         name: workload-cluster1\n  accountId: \"222222222222\"\n  managementAccountId: \"111111111111\"\n{more}"
    )
}

#[test]
fn a_duplicate_key_is_told_with_both_places() {
    let said = said(&instance("  tenant: a\n  tenant: b\n"));
    assert!(said.contains("cluster.yaml:11:3") && said.contains("tenant") && said.contains("10"), "{said}");
}

#[test]
fn a_tab_is_told() {
    let said = said(&instance("\ttenant: a\n"));
    assert!(said.contains("cluster.yaml:10:2") && said.contains("tabs disallowed"), "{said}");
}

#[test]
fn an_unknown_field_is_told_with_the_closest_one() {
    let said = said(&instance("  tennant: a\n"));
    assert!(said.contains("cluster.yaml:10:3") && said.contains("tennant") && said.contains("`tenant`"), "{said}");
}

#[test]
fn a_missing_name_is_told() {
    let said = said(&instance("").replace("  name: workload-cluster1\n  accountId", "  accountId"));
    assert!(said.contains("cluster.yaml:7:3") && said.contains("`spec.name` has neither a value nor a default"), "{said}");
    assert!(said.contains("add `spec.name`"), "{said}");
}

#[test]
fn a_number_for_text_is_told_to_be_quoted() {
    let said = said(&instance("  k8sVersion: 1.34\n"));
    assert!(said.contains("cluster.yaml:10:15") && said.contains("quote it: \"1.34\""), "{said}");
}

#[test]
#[ignore = "fails: the number is quoted as it was read, 1.3, and not as it was written"]
fn a_number_is_quoted_as_it_was_written() {
    let said = said(&instance("  k8sVersion: 1.30\n"));
    assert!(said.contains("quote it: \"1.30\""), "{said}");
}

#[test]
fn an_unknown_kind_is_told_with_the_closest_one() {
    let said = said(&instance("").replace("kind: EksCluster", "kind: EksClutser"));
    assert!(said.contains("cluster.yaml:2:7") && said.contains("`EksClutser`") && said.contains("`EksCluster`"), "{said}");
}

#[test]
fn a_cycle_is_told_with_its_members() {
    let change = |text: String| {
        text.replacen(
            "enableDNSSupport: true",
            "instanceTenancy: ${internetGateway.status.internetGatewayID}\n          enableDNSSupport: true",
            1,
        )
    };
    let (said, place) = said_of_definition(change, "id: vpc\n");
    assert!(said.contains(&place) && said.contains("vpc -> internetGateway -> vpc"), "{said}");
}

#[test]
fn an_unknown_id_in_an_expression_is_told_with_the_closest_one() {
    let (said, place) = said_of_definition(|text| text.replacen("${vpc.status.vpcID}", "${vcp.status.vpcID}", 1), "vcp.status");
    assert!(said.contains(&place) && said.contains("`vcp`") && said.contains("did you mean `vpc`?"), "{said}");
}

#[test]
fn an_expression_without_end_is_told() {
    let (said, place) =
        said_of_definition(|text| text.replacen("${vpc.status.vpcID}", "${vpc.status.vpcID", 1), "${vpc.status.vpcID\n");
    assert!(said.contains(&place) && said.contains("`${vpc.status.vpcID` has no closing `}`"), "{said}");
}

#[test]
fn a_syntax_error_of_cel_is_told() {
    let (said, place) = said_of_definition(|text| text.replacen("${vpc.status.vpcID}", "${vpc.status.}", 1), ".}");
    let (line, _) = place.rsplit_once(':').unwrap();
    assert!(said.contains(&format!("{line}:")) && said.contains("unexpected `.`"), "{said}");
}

#[test]
fn an_empty_file_is_told() {
    let said = said("");
    assert!(said.contains("cluster.yaml holds no document"), "{said}");
}

#[test]
fn a_file_of_fifty_megabytes_is_told_at_once() {
    let said = said(&"a: b\n".repeat(10 * 1024 * 1024));
    assert!(said.contains("cluster.yaml has 50 MiB") && said.len() < 10_000, "{}", said.len());
}

#[test]
fn an_alias_bomb_is_told() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for level in 1..10 {
        let below = vec![format!("*a{}", level - 1); 9].join(",");
        writeln!(bomb, "a{level}: &a{level} [{below}]").unwrap();
    }
    let said = said(&bomb);
    assert!(said.contains("cluster.yaml:6:10") && said.contains("once aliases are followed") && said.len() < 10_000, "{said}");
}

#[test]
fn a_nesting_of_ten_thousand_is_told() {
    let said = said(&format!("a: {}{}\n", "[".repeat(10_000), "]".repeat(10_000)));
    assert!(said.contains("cluster.yaml:1:") && said.contains("more than 100 levels") && said.len() < 30_000, "{}", said.len());
}
