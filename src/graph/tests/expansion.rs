//! Whole graphs: nodes, edges, order, and what is wrong with an instance.

use super::*;
use crate::graph::catalog::{Production, Step};
use crate::graph::evaluation::{Included, Observations, evaluate};
use crate::graph::expansion::Edge;
use std::collections::BTreeSet;

/// Edges as lines.
fn lines(graph: &Graph) -> Vec<String> {
    let line = |edge: &Edge| {
        let reads = if edge.reads.is_empty() { String::new() } else { format!(" reads {}", edge.reads) };
        let implied = if edge.implied { " (implied)" } else { "" };
        format!(
            "{} -> {}: {} of {:?}{reads}, asks {:?}, `{}`{implied}",
            short(graph, edge.from),
            short(graph, edge.to),
            edge.field,
            edge.step,
            edge.production,
            edge.expression.trim(),
        )
    };
    graph.edges.iter().map(line).collect()
}

fn needs(graph: &Graph, address: &str) -> BTreeSet<String> {
    let index = graph.find(&format!("{}/{address}", graph.nodes[0].address)).unwrap();
    graph.needs(index).into_iter().map(|needed| short(graph, needed).to_owned()).collect()
}

fn order(graph: &Graph) -> Vec<&str> {
    graph.order.iter().map(|index| short(graph, *index)).collect()
}

fn categories(problems: &[Diagnostic]) -> Vec<&'static str> {
    problems.iter().map(|problem| problem.category).collect()
}

#[test]
fn every_edge_of_the_shipped_definitions() {
    insta::assert_snapshot!("shipped", lines(&graph(INSTANCE, &own())).join("\n"));
}

#[test]
fn every_edge_of_kros_definitions() {
    let Some(definitions) = upstream() else { return };
    insta::assert_snapshot!("upstream", lines(&graph(INSTANCE, &definitions)).join("\n"));
}

#[test]
fn an_edge_runs_from_the_field_that_is_read() {
    let both = [Some(own()), upstream()];
    for definitions in both.iter().flatten() {
        let graph = graph(INSTANCE, definitions);
        assert!(needs(&graph, "eksWithVpc/clusterRole").is_empty(), "a role reads only the name");
        assert!(needs(&graph, "eksWithVpc/externalSecretsRole").is_empty());
        assert!(needs(&graph, "vpc/eip1").is_empty());
        let cluster = needs(&graph, "eksWithVpc/ekscluster");
        assert_eq!(cluster.len(), 13 + 2, "everything that the gate of the network needs, and two roles: {cluster:?}");
        let registration = needs(&graph, "eksWithVpc/argocdSecret");
        assert_eq!(registration.len(), 13 + 8, "everything else: {registration:?}");
    }
}

#[test]
fn nodes_of_the_recorded_instance() {
    let graph = graph(INSTANCE, &own());
    assert_eq!(graph.nodes.len(), 1 + 3 + 13 + 9 + 9);
    assert_eq!(graph.nodes[0].address.as_str(), "EksCluster/workload-cluster1");
    assert!(graph.find("EksCluster/workload-cluster1/vpc/natGateway1").is_some());
    assert_eq!(graph.resources().count(), 13 + 9 + 9);
    let order = order(&graph);
    assert_eq!(order.len(), 31);
    let place = |address: &str| order.iter().position(|known| *known == address).unwrap();
    for edge in &graph.edges {
        assert!(place(short(&graph, edge.to)) < place(short(&graph, edge.from)));
    }
    let waves: Vec<Vec<&str>> =
        graph.delete_waves.iter().map(|wave| wave.iter().map(|index| short(&graph, *index)).collect()).collect();
    assert!(waves[0].contains(&"eksWithVpc/argocdSecret"), "the registration goes first");
    assert_eq!(waves.last().unwrap(), &["vpc/vpc"]);
}

#[test]
fn what_a_field_asks_decides_the_production() {
    let graph = graph(INSTANCE, &own());
    let edge = |from: &str, field: &str, to: &str| {
        let all = graph.edges.iter();
        all.filter(|edge| short(&graph, edge.from) == from && short(&graph, edge.to) == to && edge.field == field)
            .map(|edge| (edge.step, edge.production, edge.implied))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        edge("vpc/privateRoutetable1", "spec.routes[].natGatewayID", "vpc/natGateway1"),
        [(Step::Configure, Production::Ready, false)]
    );
    assert_eq!(
        edge("vpc/publicSubnet1", "spec.routeTables[]", "vpc/publicRoutetable"),
        [(Step::Configure, Production::Created, false)]
    );
    assert_eq!(edge("vpc/natGateway2", "spec.subnetID", "vpc/internetGateway"), [(Step::Create, Production::Configured, true)]);
    assert_eq!(
        edge("eksWithVpc/ekscluster", "spec.roleARN", "eksWithVpc/clusterRole"),
        [(Step::Create, Production::Configured, false)]
    );
    assert_eq!(
        edge("eksWithVpc/accessEntry", "spec.clusterName", "eksWithVpc/ekscluster"),
        [(Step::Create, Production::Created, false), (Step::Create, Production::Ready, true)]
    );
}

#[test]
fn a_cluster_in_a_network_that_is_there() {
    let block = "    create: false\n    vpcId: vpc-1\n    privateSubnet1Id: subnet-1\n    privateSubnet2Id: subnet-2\n";
    for definitions in [Some(own()), upstream()].iter().flatten() {
        let graph = graph(&with_vpc(block), definitions);
        let evaluation = evaluate(&graph, &Observations::new(), catalog());
        for (index, node) in graph.nodes.iter().enumerate() {
            let address = short(&graph, NodeIndex(index));
            let expected = address.is_empty() || address.starts_with("eksExistingVpc");
            assert_eq!(evaluation.nodes[index].included == Included::Yes, expected, "{}", node.address);
        }
        assert_eq!(needs(&graph, "eksExistingVpc/ekscluster").len(), 2);
        assert_eq!(needs(&graph, "eksExistingVpc/argocdSecret").len(), 8);
    }
}

#[test]
fn a_network_that_is_there_needs_its_ids() {
    for definitions in [Some(own()), upstream()].iter().flatten() {
        let problems = problems(&with_vpc("    create: false\n    vpcId: vpc-1\n"), definitions);
        assert_eq!(categories(&problems), ["impossible-value", "impossible-value"], "{}", shown(&problems));
        let text = shown(&problems);
        assert!(text.contains("spec.resourcesVPCConfig.subnetIDs[0]"), "{text}");
        assert!(text.contains("`spec.vpc.privateSubnet2Id`"), "{text}");
        assert!(text.starts_with("instance.yaml:"), "{text}");
    }
}

#[test]
fn a_broken_cidr_is_found_at_its_input() {
    let problems = problems(&INSTANCE.replace("10.0.11.0/24", "10.0.11.0/240"), &own());
    assert_eq!(categories(&problems), ["impossible-value"], "{}", shown(&problems));
    let location = problems[0].location.as_ref().unwrap();
    assert_eq!(location.text(), "10.0.11.0/240");
}

#[test]
fn what_many_objects_make_of_one_input_is_one_problem() {
    let problems = problems(&INSTANCE.replace("10.0.0.0/16", "10.0.0.0/160"), &own());
    assert_eq!(categories(&problems), ["impossible-value"], "{}", shown(&problems));
}

#[test]
fn subnets_lie_inside_of_their_vpc_and_apart() {
    let outside = problems(&INSTANCE.replace("10.0.11.0/24", "10.9.11.0/24"), &own());
    assert_eq!(categories(&outside), ["impossible-value"], "{}", shown(&outside));
    assert_eq!(outside[0].location.as_ref().unwrap().text(), "10.9.11.0/24");
    assert!(outside[0].message.contains("lies outside of the VPC, which has 10.0.0.0/16"), "{}", shown(&outside));
    let overlapping = problems(&INSTANCE.replace("10.0.11.0/24", "10.0.0.0/19"), &own());
    assert!(shown(&overlapping).contains("overlaps with 10.0."), "{}", shown(&overlapping));
}

#[test]
fn inputs_that_nobody_gives_are_named_with_their_readers() {
    for definitions in [Some(own()), upstream()].iter().flatten() {
        let text = INSTANCE.replace("  accountId: \"222222222222\"\n", "");
        let problems = problems(&text, definitions);
        assert_eq!(categories(&problems), ["missing-input"], "{}", shown(&problems));
        let text = shown(&problems);
        assert!(text.contains("`spec.accountId`"), "{text}");
        assert!(text.contains("eksWithVpc/accessEntryAdmin (spec.principalARN)"), "{text}");
        assert!(!text.contains("eksExistingVpc"), "what is excluded reads nothing: {text}");
        assert!(text.starts_with("instance.yaml:10:"), "at the spec: {text}");
    }
}

#[test]
fn every_missing_input_of_a_text_is_named() {
    let text = INSTANCE.replace("  name: workload-cluster1\n  tenant", "  tenant").replace("  managementAccountId", "  #");
    let found = problems(&text, &own());
    assert_eq!(categories(&found), ["missing-input", "missing-input"], "{}", shown(&found));
    assert!(found[0].message.starts_with("`spec.name`"), "{}", found[0].message);
    assert!(found[0].message.ends_with("more"), "{}", found[0].message);
    assert!(found[1].message.starts_with("`spec.managementAccountId`"), "{}", found[1].message);
    let both = case(
        "  - id: a
    template: {apiVersion: test/v1, kind: Thing, metadata: {name: a}, spec: '${b.status.id}-${schema.spec.other}-${schema.spec.third}'}
  - id: b
    template: {apiVersion: test/v1, kind: Thing, metadata: {name: b}}
",
    );
    let found = problems(CASE, &both);
    let fields: Vec<&str> = found.iter().filter_map(|problem| problem.message.split('`').nth(1)).collect();
    assert_eq!(fields, ["spec.other", "spec.third"], "{}", shown(&found));
}

#[test]
fn an_input_inside_of_a_subtree_that_is_handed_on_is_named_whole() {
    let without = "  - id: inner
    template:
      apiVersion: kro.run/v1alpha1
      kind: Inner
      metadata: {name: inner}
      spec: {options: '${schema.spec.options}'}
";
    let inner = THING.replace("kind: Case", "kind: Inner").replace("flag: boolean | default=true", "options: {size: string}");
    let outer = THING.replace("flag: boolean | default=true", "options: {size: string}");
    let thing =
        "  - id: a\n    template: {apiVersion: test/v1, kind: Thing, metadata: {name: a}, spec: '${schema.spec.options.size}'}\n";
    let definitions = definitions(&[("outer.yaml", &format!("{outer}{without}")), ("inner.yaml", &format!("{inner}{thing}"))]);
    let found = problems(&CASE.replace("name: demo", "name: demo, options: {}"), &definitions);
    assert_eq!(categories(&found), ["missing-input"], "{}", shown(&found));
    assert!(found[0].message.contains("`spec.options.size`"), "{}", found[0].message);
    assert!(found[0].location.as_ref().unwrap().file.name == "instance.yaml");
}

#[test]
fn inputs_that_nothing_reads_are_not_missed() {
    let unread = OWN[0].1.replace("      tenant: string |", "      unread: string\n      tenant: string |");
    assert_ne!(unread, OWN[0].1);
    assert_eq!(graph(INSTANCE, &definitions(&[("a.yaml", &unread), OWN[1], OWN[2]])).nodes.len(), 35);
}

/// What the definitions that ship declare, they read: an input, or the mapping that it is in.
#[test]
fn every_input_of_the_shipped_definitions_is_read() {
    for (name, text) in OWN {
        let (schema, rest) = text.split_once("    spec:\n").unwrap().1.split_once("  resources:\n").unwrap();
        let schema = schema.split("    status:\n").next().unwrap();
        let mut path: Vec<&str> = Vec::new();
        for line in schema.lines().filter(|line| !line.trim_start().starts_with('#') && line.starts_with("      ")) {
            let (key, value) = line.trim().split_once(':').unwrap();
            path.truncate((line.len() - line.trim_start().len() - 6) / 2);
            path.push(key);
            let is_read = (1..=path.len()).any(|length| {
                let whole = format!("schema.spec.{}", path[..length].join("."));
                rest.match_indices(&whole).any(|(at, _)| {
                    !rest[at + whole.len()..].starts_with(|next: char| next.is_alphanumeric() || "_.".contains(next))
                })
            });
            assert!(value.is_empty() || is_read, "{name}: {path:?} is declared and not read");
        }
    }
}

const THING: &str = "\
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: thing}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Case
    spec: {name: string, other: string, third: string, list: '[]string', flag: boolean | default=true}
  resources:
";

/// A definition with these resources.
fn case(resources: &str) -> Definitions {
    definitions(&[("case.yaml", &format!("{THING}{resources}"))])
}

const CASE: &str = "apiVersion: kro.run/v1alpha1\nkind: Case\nmetadata: {name: x}\nspec: {name: demo}\n";

#[test]
fn an_optional_input_is_not_missed() {
    let definitions = case(
        "  - id: a
    template:
      apiVersion: test/v1
      kind: Thing
      metadata: {name: a}
      spec:
        first: \"${has(schema.spec.other) ? schema.spec.other : 'none'}\"
        second: ${schema.spec.?other.orValue('none')}
        third: '${schema.spec.flag ? schema.spec.name : schema.spec.other}'
",
    );
    let graph = graph(CASE, &definitions);
    let evaluation = evaluate(&graph, &Observations::new(), catalog());
    let spec = at(&graph, &evaluation, "a").desired.known().unwrap()["spec"].clone();
    assert_eq!(spec, serde_json::json!({"first": "none", "second": "none", "third": "demo"}));
}

#[test]
fn two_nodes_cannot_be_one_object() {
    let thing = |id: &str, condition: &str| {
        format!(
            "  - id: {id}\n    includeWhen: ['${{{condition}}}']\n    template: {{apiVersion: test/v1, kind: Thing, metadata: {{name: same}}}}\n"
        )
    };
    let both = case(&format!("{}{}", thing("a", "schema.spec.flag"), thing("b", "schema.spec.flag")));
    let found = problems(CASE, &both);
    assert_eq!(categories(&found), ["duplicate-identity"], "{}", shown(&found));
    assert!(found[0].message.contains("Case/x/a") && found[0].message.contains("Case/x/b"));
    let either = case(&format!("{}{}", thing("a", "schema.spec.flag"), thing("b", "!schema.spec.flag")));
    assert_eq!(graph(CASE, &either).nodes.len(), 3);
}

#[test]
fn for_each_is_refused_by_name() {
    let definitions = case(
        "  - id: a
    forEach: [{x: '${schema.spec.list}'}]
    template: {apiVersion: test/v1, kind: Thing, metadata: {name: 'a-${x}'}}
  - id: b
    externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
",
    );
    let found = problems(CASE, &definitions);
    assert_eq!(categories(&found), ["not-carried-out", "not-carried-out"]);
    assert!(found[0].message.contains("forEach is not carried out yet"));
    assert!(found[1].message.contains("externalRef is not carried out yet"));
}

#[test]
fn references_by_name_make_edges() {
    let definitions = case(
        "  - id: table
    template:
      apiVersion: ec2.services.k8s.aws/v1alpha1
      kind: RouteTable
      metadata: {name: '${schema.spec.name}-table'}
      spec: {vpcRef: {from: {name: '${schema.spec.name}-vpc'}}}
  - id: subnet
    template:
      apiVersion: ec2.services.k8s.aws/v1alpha1
      kind: Subnet
      metadata: {name: subnet}
      spec:
        cidrBlock: 10.0.1.0/24
        vpcRef: {from: {name: demo-vpc}}
        routeTableRefs: [{from: {name: demo-table}}, {from: {name: demo-table, namespace: elsewhere}}]
  - id: gateway
    template:
      apiVersion: ec2.services.k8s.aws/v1alpha1
      kind: InternetGateway
      metadata: {name: gateway}
      spec: {vpcRef: {from: {name: demo-vpc}}}
  - id: nat
    template:
      apiVersion: ec2.services.k8s.aws/v1alpha1
      kind: NATGateway
      metadata: {name: nat}
      spec: {subnetRef: {from: {name: subnet}}}
  - id: vpc
    template:
      apiVersion: ec2.services.k8s.aws/v1alpha1
      kind: VPC
      metadata: {name: demo-vpc}
      spec: {cidrBlocks: [10.0.0.0/16]}
",
    );
    let graph = graph(CASE, &definitions);
    assert_eq!(
        lines(&graph),
        [
            "table -> vpc: spec.vpcRef.from.name of Create, asks Created, `spec.vpcRef.from.name` (implied)",
            "subnet -> table: spec.routeTableRefs[].from.name of Configure, asks Created, `spec.routeTableRefs[].from.name` (implied)",
            "subnet -> vpc: spec.vpcRef.from.name of Create, asks Created, `spec.vpcRef.from.name` (implied)",
            "gateway -> vpc: spec.vpcRef.from.name of Configure, asks Created, `spec.vpcRef.from.name` (implied)",
            "nat -> subnet: spec.subnetRef.from.name of Create, asks Created, `spec.subnetRef.from.name` (implied)",
            "nat -> gateway: spec.subnetID of Create, asks Configured, `internet gateway of the subnet's VPC` (implied)",
        ]
    );
    assert_eq!(order(&graph), ["vpc", "table", "subnet", "gateway", "nat"]);
}

#[test]
fn a_cycle_through_an_implied_edge_names_its_members() {
    let definitions = case(
        "  - id: cluster
    template:
      apiVersion: eks.services.k8s.aws/v1alpha1
      kind: Cluster
      metadata: {name: c, annotations: {entry: '${entry.status.ackResourceMetadata.arn}'}}
      spec: {name: '${schema.spec.name}', roleARN: 'arn:aws:iam::222222222222:role/r', resourcesVPCConfig: {subnetIDs: [subnet-1]}}
  - id: entry
    template:
      apiVersion: eks.services.k8s.aws/v1alpha1
      kind: AccessEntry
      metadata: {name: e}
      spec: {clusterName: demo, principalARN: 'arn:aws:iam::222222222222:role/r'}
",
    );
    let found = problems(CASE, &definitions);
    assert_eq!(categories(&found), ["cycle"], "{}", shown(&found));
    assert!(found[0].message.ends_with("Case/x/cluster -> Case/x/entry -> Case/x/cluster"), "{}", found[0].message);
    assert!(found[0].suggestion.as_ref().unwrap().contains("spec.clusterName"), "{:?}", found[0].suggestion);
}

#[test]
fn a_condition_that_reads_a_resource_makes_an_edge() {
    let definitions = case(
        "  - id: a
    includeWhen: ['${b.status.on == true}']
    template: {apiVersion: test/v1, kind: Thing, metadata: {name: a}}
  - id: b
    readyWhen: ['${b.status.ok == true}']
    template: {apiVersion: test/v1, kind: Thing, metadata: {name: b}}
",
    );
    let graph = graph(CASE, &definitions);
    assert_eq!(lines(&graph), ["a -> b: includeWhen of Create reads status.on, asks Created, `b.status.on == true`"]);
    assert_eq!(order(&graph), ["b", "a"]);
}
