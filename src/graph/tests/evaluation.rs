//! Evaluation while resources appear.

use super::cloud::Cloud;
use super::*;
use crate::graph::catalog::{Production, Step};
use crate::graph::evaluation::{Included, Observation, Observations, evaluate};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const NETWORK: [&str; 13] = [
    "vpc/vpc",
    "vpc/internetGateway",
    "vpc/publicRoutetable",
    "vpc/publicSubnet1",
    "vpc/publicSubnet2",
    "vpc/eip1",
    "vpc/eip2",
    "vpc/natGateway1",
    "vpc/natGateway2",
    "vpc/privateRoutetable1",
    "vpc/privateRoutetable2",
    "vpc/privateSubnet1",
    "vpc/privateSubnet2",
];

fn both() -> Vec<Definitions> {
    [Some(own()), upstream()].into_iter().flatten().collect()
}

/// The unknown fields of a resource.
fn unknown(cloud: &Cloud<'_>, address: &str) -> Vec<String> {
    let evaluation = cloud.evaluate();
    let desired = &at(cloud.graph, &evaluation, address).desired;
    desired.unknowns().into_iter().map(|(path, _)| path).collect()
}

#[test]
fn before_anything_exists() {
    for definitions in both() {
        let graph = graph(INSTANCE, &definitions);
        let cloud = Cloud::new(&graph);
        let evaluation = cloud.evaluate();
        let free = |step: Step| -> Vec<&str> {
            let waits = |index| evaluation.step_waits_for(&graph, &cloud.observations, catalog(), index, step);
            graph.order.iter().filter(|index| waits(**index).is_none()).map(|index| short(&graph, *index)).collect()
        };
        let mut first = free(Step::Create);
        first.sort_unstable();
        let expected = [
            "eksWithVpc/clusterRole",
            "eksWithVpc/externalSecretsRole",
            "eksWithVpc/nodeRole",
            "vpc/eip1",
            "vpc/eip2",
            "vpc/internetGateway",
            "vpc/vpc",
        ];
        assert_eq!(first, expected, "roles do not wait for the network");
        let vpc = at(&graph, &evaluation, "vpc/vpc").desired.known().unwrap();
        assert_eq!(vpc["metadata"]["name"], "workload-cluster1-vpc");
        assert_eq!(vpc["spec"]["cidrBlocks"], json!(["10.0.0.0/16"]));
        let entry = &at(&graph, &evaluation, "eksWithVpc/accessEntry").desired;
        let entry = entry.known().expect("names are answered from the cluster's template");
        assert_eq!(entry["spec"]["clusterName"], "workload-cluster1");
        assert_eq!(entry["spec"]["principalARN"], "arn:aws:iam::111111111111:role/hub-cluster-argocd-controller");
        let waits = cloud.waits_for("eksWithVpc/accessEntry", Step::Create).unwrap();
        assert!(waits.contains("eksWithVpc/ekscluster"), "but it waits for the cluster: {waits}");
    }
}

#[test]
fn subnet_ids_come_when_the_whole_network_exists() {
    for definitions in both() {
        let graph = graph(INSTANCE, &definitions);
        let mut cloud = Cloud::new(&graph);
        for role in ["eksWithVpc/clusterRole", "eksWithVpc/nodeRole"] {
            cloud.reach(role, Production::Configured);
        }
        for (count, address) in NETWORK.into_iter().enumerate() {
            let ids = ["spec.resourcesVPCConfig.subnetIDs[0]", "spec.resourcesVPCConfig.subnetIDs[1]"];
            assert_eq!(unknown(&cloud, "eksWithVpc/ekscluster"), ids, "after {count} objects");
            let waits = cloud.waits_for("eksWithVpc/ekscluster", Step::Create);
            assert_eq!(waits.as_deref(), Some("EksCluster/workload-cluster1/vpc is ready"));
            cloud.reach(address, Production::Created);
        }
        let evaluation = cloud.evaluate();
        assert!(at(&graph, &evaluation, "vpc").gate_open);
        let cluster = at(&graph, &evaluation, "eksWithVpc/ekscluster").desired.known().unwrap();
        let ids = json!(["subnet-privateSubnet1", "subnet-privateSubnet2"]);
        assert_eq!(cluster["spec"]["resourcesVPCConfig"]["subnetIDs"], ids);
        assert_eq!(cloud.waits_for("eksWithVpc/ekscluster", Step::Create), None);
        let status = at(&graph, &evaluation, "vpc").status.clone().unwrap();
        assert_eq!((&status["vpcID"], &status["state"]), (&json!("vpc-vpc"), &json!("ACTIVE")));
    }
}

#[test]
fn roles_are_used_when_their_policies_are_attached() {
    let graph = graph(INSTANCE, &own());
    let mut cloud = Cloud::new(&graph);
    cloud.reach("eksWithVpc/clusterRole", Production::Created);
    assert!(unknown(&cloud, "eksWithVpc/ekscluster").contains(&"spec.roleARN".to_owned()));
    cloud.reach("eksWithVpc/clusterRole", Production::Configured);
    assert!(!unknown(&cloud, "eksWithVpc/ekscluster").contains(&"spec.roleARN".to_owned()));
}

#[test]
fn a_route_asks_its_nat_gateway_to_be_ready_and_the_table_does_not() {
    for definitions in both() {
        let graph = graph(INSTANCE, &definitions);
        let mut cloud = Cloud::new(&graph);
        cloud.reach("vpc/vpc", Production::Created);
        assert_eq!(cloud.waits_for("vpc/privateRoutetable1", Step::Create), None);
        for address in ["vpc/eip1", "vpc/publicSubnet1"] {
            cloud.reach(address, Production::Ready);
        }
        let waits = cloud.waits_for("vpc/natGateway1", Step::Create).unwrap();
        assert_eq!(waits, "EksCluster/workload-cluster1/vpc/internetGateway is configured");
        cloud.reach("vpc/internetGateway", Production::Created);
        assert_eq!(cloud.waits_for("vpc/natGateway1", Step::Create), Some(waits));
        cloud.reach("vpc/internetGateway", Production::Configured);
        assert_eq!(cloud.waits_for("vpc/natGateway1", Step::Create), None);
        cloud.reach("vpc/natGateway1", Production::Created);
        let waits = cloud.waits_for("vpc/privateRoutetable1", Step::Configure).unwrap();
        assert_eq!(waits, "EksCluster/workload-cluster1/vpc/natGateway1 is ready on AWS");
        cloud.reach("vpc/natGateway1", Production::Ready);
        assert_eq!(cloud.waits_for("vpc/privateRoutetable1", Step::Configure), None);
    }
}

#[test]
fn what_enters_the_cluster_waits_until_it_is_active() {
    for definitions in both() {
        let graph = graph(INSTANCE, &definitions);
        let mut cloud = Cloud::new(&graph);
        let children = ["podIdentityAddon", "accessEntry", "accessEntryAdmin", "externalSecretsPodIdentityAssociation"]
            .map(|id| format!("eksWithVpc/{id}"));
        cloud.reach("eksWithVpc/externalSecretsRole", Production::Ready);
        cloud.reach("eksWithVpc/ekscluster", Production::Created);
        for address in &children {
            assert!(cloud.waits_for(address, Step::Create).is_some(), "{address}");
        }
        cloud.reach("eksWithVpc/ekscluster", Production::Ready);
        for address in &children {
            assert_eq!(cloud.waits_for(address, Step::Create), None, "{address}");
        }
    }
}

#[test]
fn everything_comes_up_and_the_registration_comes_last() {
    for definitions in both() {
        let graph = graph(INSTANCE, &definitions);
        let mut cloud = Cloud::new(&graph);
        let order = cloud.settle(Production::Ready);
        assert_eq!(order.len(), 13 + 9, "{order:?}");
        assert_eq!(order.last().map(String::as_str), Some("eksWithVpc/argocdSecret"));
        let evaluation = cloud.evaluate();
        for (index, node) in graph.nodes.iter().enumerate() {
            let evaluation = &evaluation.nodes[index];
            match evaluation.included {
                Included::Yes => assert!(evaluation.gate_open && evaluation.desired.is_known(), "{}", node.address),
                _ => assert!(node.address.as_str().contains("eksExistingVpc") && !evaluation.gate_open),
            }
        }
        assert_eq!(evaluation.nodes[0].status.as_ref().unwrap()["state"], "ACTIVE");
    }
}

/// What AWS gets to see: rendered objects without what only kro and Argo CD read, policy documents by meaning.
fn on_aws(definitions: &Definitions, text: &str) -> Vec<(String, Value)> {
    let graph = graph(text, definitions);
    let mut cloud = Cloud::new(&graph);
    cloud.settle(Production::Ready);
    let evaluation = cloud.evaluate();
    let resources = graph.resources().filter(|(index, _)| !evaluation.is_excluded(*index));
    let mut objects: Vec<(String, Value)> = resources
        .map(|(index, node)| {
            let mut object = evaluation.node(index).desired.known().unwrap().clone();
            let metadata = object["metadata"].as_object_mut().unwrap();
            if node.kind != "Secret" {
                metadata["annotations"].as_object_mut().unwrap().retain(|key, _| key == "services.k8s.aws/region");
            }
            if let Some(document) = object["spec"].get_mut("assumeRolePolicyDocument") {
                *document = serde_json::from_str(document.as_str().unwrap()).unwrap();
            }
            (short(&graph, index).to_owned(), object)
        })
        .collect();
    objects.sort_by(|left, right| left.0.cmp(&right.0));
    objects
}

/// Brings an object of kro's definitions to what is meant to be otherwise in ours, with what our object says where the
/// reason is in graphs/README.md.
fn as_shipped(address: &str, object: &mut Value, own: &Value) {
    let changed = match address.rsplit('/').next().unwrap() {
        "podIdentityAddon" => [("/spec/addonVersion", json!("v1.3.4-eksbuild.1"))].to_vec(),
        "ekscluster" => [("/spec/resourcesVPCConfig/publicAccessCIDRs", Value::Null)].to_vec(),
        "externalSecretsPodIdentityAssociation" => [("/spec/namespace", json!("argocd"))].to_vec(),
        "externalSecretsRole" => [
            ("/spec/policies", json!(["arn:aws:iam::aws:policy/SecretsManagerReadWrite"])),
            ("/spec/inlinePolicies", Value::Null),
        ]
        .to_vec(),
        "argocdSecret" => [
            ("/metadata/annotations/aws_public_subnet_ids", Value::Null),
            ("/metadata/annotations/aws_worker_subnet_ids", Value::Null),
            ("/metadata/annotations/domain_name", Value::Null),
        ]
        .to_vec(),
        _ => Vec::new(),
    };
    for (pointer, before) in changed {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = object.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        let was = parent.remove(key).unwrap_or_default();
        assert_eq!(was, before, "{address} {pointer}");
        parent.extend(own.pointer(pointer).map(|now| (key.to_owned(), now.clone())));
        assert_ne!(own.pointer(pointer), Some(&before), "{address} {pointer} is no difference any more");
    }
}

#[test]
fn the_shipped_definitions_give_what_kros_give_but_for_what_is_meant() {
    let Some(upstream) = upstream() else { return };
    let existing =
        with_vpc("    create: false\n    vpcId: vpc-1\n    privateSubnet1Id: subnet-1\n    privateSubnet2Id: subnet-2\n");
    for text in [INSTANCE, &existing] {
        for (own, mut upstream) in on_aws(&own(), text).into_iter().zip(on_aws(&upstream, text)) {
            as_shipped(&own.0, &mut upstream.1, &own.1);
            assert_eq!(own, upstream);
        }
    }
}

#[test]
fn what_varies_by_place_can_be_chosen() {
    let chosen = INSTANCE
        .replace("  vpc:\n", "  vpc:\n    zone2: us-west-2d\n")
        .replace("  workloads:", "  aws_partition: aws-cn\n  hubRoleName: hub\n  endpointPublicAccess: false\n  workloads:");
    let graph = graph(&chosen, &own());
    let evaluation = evaluate(&graph, &Observations::new(), catalog());
    let field = |address: &str, path: &str| {
        let object = at(&graph, &evaluation, address).desired.known_part();
        object.pointer(path).cloned().unwrap_or_default()
    };
    assert_eq!(field("vpc/publicSubnet1", "/spec/availabilityZone"), "us-west-2a");
    assert_eq!(field("vpc/privateSubnet2", "/spec/availabilityZone"), "us-west-2d");
    assert_eq!(field("eksWithVpc/accessEntry", "/spec/principalARN"), "arn:aws-cn:iam::111111111111:role/hub");
    assert_eq!(field("eksWithVpc/ekscluster", "/spec/resourcesVPCConfig/endpointPublicAccess"), false);
    assert_eq!(field("eksWithVpc/ekscluster", "/spec/resourcesVPCConfig/endpointPrivateAccess"), true);
    assert_eq!(
        field("eksWithVpc/ekscluster", "/spec/resourcesVPCConfig/publicAccessCIDRs"),
        Value::Null,
        "there is no public access"
    );
    assert_eq!(field("eksWithVpc/podIdentityAddon", "/spec/addonVersion"), Value::Null, "EKS chooses");
}

/// The secrets that External Secrets may read.
fn readable(suffix: &str, pattern: &str) -> Vec<String> {
    let line = "  fleetSecretManagerSecretNameSuffix: argocd-secret\n";
    assert!(INSTANCE.contains(line));
    let text =
        INSTANCE.replace(line, &format!("  fleetSecretManagerSecretNameSuffix: '{suffix}'\n  secretsPattern: '{pattern}'\n"));
    let graph = graph(&text, &own());
    let evaluation = evaluate(&graph, &Observations::new(), catalog());
    let role = at(&graph, &evaluation, "eksWithVpc/externalSecretsRole").desired.known_part();
    let document = role.pointer("/spec/inlinePolicies/read-secrets").and_then(Value::as_str).unwrap();
    let document: Value = serde_json::from_str(document).unwrap();
    let arns = document["Statement"][0]["Resource"].as_array().unwrap().iter();
    arns.map(|arn| {
        arn.as_str().unwrap().strip_prefix("arn:aws:secretsmanager:us-west-2:222222222222:secret:").unwrap().to_owned()
    })
    .collect()
}

#[test]
fn external_secrets_may_read_the_clusters_and_the_fleets_secrets() {
    assert_eq!(readable("argocd-secret", ""), ["workload-cluster1/*", "*argocd-secret-??????"]);
    assert_eq!(readable("argocd-secret", "team-*"), ["team-*", "*argocd-secret-??????"]);
    assert_eq!(readable("", ""), ["workload-cluster1/*", "workload-cluster1/*"], "an empty ending opens nothing more");
}

const CASE: &str = "apiVersion: kro.run/v1alpha1\nkind: Case\nmetadata: {name: x, namespace: ns}\nspec: {name: demo}\n";

/// A definition of `Case` with this status block and these resources.
fn case(status: &str, resources: &str) -> Definitions {
    let head = "apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: c}\nspec:\n  schema:\n    \
                apiVersion: v1alpha1\n    kind: Case\n    spec: {name: string, zero: integer | default=0}\n";
    definitions(&[("case.yaml", &format!("{head}    status: {status}\n  resources:\n{resources}"))])
}

fn thing(id: &str, rest: &str) -> String {
    format!("  - id: {id}\n    template: {{apiVersion: test/v1, kind: Thing, metadata: {{name: {id}}}, {rest}}}\n")
}

fn observe(graph: &Graph, objects: &[(&str, Value)]) -> Observations {
    let observation = |object: &Value| Observation { object: object.clone(), reached: Production::Ready };
    objects.iter().map(|(id, object)| (graph.find(&format!("Case/x/{id}")).unwrap(), observation(object))).collect()
}

#[test]
fn siblings_are_read_as_they_are_observed() {
    let definitions = case(
        "{}",
        &format!("{}{}", thing("a", "spec: {size: 1}"), thing("b", "spec: {size: '${a.spec.size}', id: '${a.status.id}'}")),
    );
    let graph = graph(CASE, &definitions);
    let before = evaluate(&graph, &Observations::new(), catalog());
    let part = at(&graph, &before, "b").desired.known_part();
    assert_eq!(part["spec"], json!({"size": 1}), "from the template");
    assert_eq!(part["metadata"]["namespace"], "ns", "the instance's namespace");
    let seen = observe(&graph, &[("a", json!({"metadata": {"name": "a"}, "spec": {"size": 2}}))]);
    let after = evaluate(&graph, &seen, catalog());
    let desired = &at(&graph, &after, "b").desired;
    assert_eq!(desired.known_part()["spec"], json!({"size": 2}), "from the object");
    assert_eq!(desired.unknowns()[0].1.waits_for, "a.status.id", "a ready object may lack a field");
}

#[test]
fn values_of_users_are_data() {
    let definitions = case("{}", &thing("a", "spec: {text: '${schema.spec.name}'}"));
    let graph = graph(&CASE.replace("{name: demo}", "{name: '${1 + 1}'}"), &definitions);
    let evaluation = evaluate(&graph, &Observations::new(), catalog());
    assert_eq!(at(&graph, &evaluation, "a").desired.known().unwrap()["spec"]["text"], "${1 + 1}");
}

#[test]
fn an_expression_that_can_never_have_a_value_is_an_error_with_a_place() {
    let definitions = case("{}", &thing("a", "spec: {x: '${1 / schema.spec.zero}'}"));
    let found = problems(CASE, &definitions);
    assert_eq!(found.iter().map(|problem| problem.category).collect::<Vec<_>>(), ["fatal"], "{}", shown(&found));
    assert_eq!(found[0].location.as_ref().unwrap().text(), "1 / schema.spec.zero");
}

#[test]
fn errors_that_appear_later_are_found_by_evaluation() {
    let definitions = case("{}", &format!("{}{}", thing("a", "spec: {}"), thing("b", "spec: {x: '${1 / a.status.n}'}")));
    let graph = graph(CASE, &definitions);
    let seen = observe(&graph, &[("a", json!({"status": {"n": 0}}))]);
    let evaluation = evaluate(&graph, &seen, catalog());
    assert_eq!(evaluation.errors.len(), 1);
    assert_eq!(evaluation.nodes[0].status.as_ref().unwrap()["state"], "ERROR");
}

#[test]
fn exclusion_is_contagious() {
    let on = "    includeWhen: ['${a.status.on}']\n";
    let definitions = case(
        "{}",
        &format!(
            "{}{}{on}{}",
            thing("a", "spec: {}"),
            thing("b", "spec: {}"),
            thing("c", "spec: {x: '${b.status.?y.orValue(1)}'}")
        ),
    );
    let graph = graph(CASE, &definitions);
    let included = |on: Option<bool>| {
        let objects = on.map(|on| ("a", json!({"status": {"on": on}})));
        let evaluation = evaluate(&graph, &observe(&graph, objects.as_slice()), catalog());
        ["b", "c"].map(|id| at(&graph, &evaluation, id).included.clone())
    };
    assert!(matches!(included(None), [Included::Unknown(_), Included::Unknown(_)]));
    assert!(matches!(included(Some(false)), [Included::No(_), Included::No(_)]));
    assert_eq!(included(Some(true)), [Included::Yes, Included::Yes]);
}

#[test]
fn a_gate_closes_values_and_steps() {
    let ready = "    readyWhen: ['${a.status.ok == true}']\n";
    let definitions = case(
        "{id: '${a.status.id}'}",
        &format!("{}{ready}{}", thing("a", "spec: {}"), thing("b", "spec: {name: '${a.metadata.name}', id: '${a.status.id}'}")),
    );
    let graph = graph(CASE, &definitions);
    let look = |ok: bool| {
        let seen = observe(&graph, &[("a", json!({"metadata": {"name": "a"}, "status": {"id": "i", "ok": ok}}))]);
        let evaluation = evaluate(&graph, &seen, catalog());
        let index = graph.find("Case/x/b").unwrap();
        let waits = evaluation.step_waits_for(&graph, &seen, catalog(), index, Step::Configure);
        let spec = at(&graph, &evaluation, "b").desired.known_part()["spec"].clone();
        (spec, waits, evaluation.nodes[0].status.as_ref().unwrap()["id"].clone())
    };
    let (spec, waits, status) = look(false);
    assert_eq!(spec, json!({"name": "a"}), "metadata is shown, status is not");
    assert_eq!(waits.as_deref(), Some("Case/x/a is ready"));
    assert_eq!(status, "i", "status blocks do not wait for gates");
    let (spec, waits, _) = look(true);
    assert_eq!((spec, waits), (json!({"name": "a", "id": "i"}), None));
}

#[test]
fn what_is_not_carried_out_counts_as_there() {
    let definitions = case(
        "{}",
        "  - id: account
    template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: sa}}
  - id: a
    template: {apiVersion: test/v1, kind: Thing, metadata: {name: a}, spec: {account: '${account.metadata.name}'}}
",
    );
    let graph = graph(CASE, &definitions);
    let evaluation = evaluate(&graph, &Observations::new(), catalog());
    assert!(at(&graph, &evaluation, "account").gate_open);
    let index = graph.find("Case/x/a").unwrap();
    assert_eq!(evaluation.step_waits_for(&graph, &Observations::new(), catalog(), index, Step::Configure), None);
}

#[test]
fn evaluation_is_fast_enough_to_be_called_often() {
    let graph = graph(INSTANCE, &own());
    let mut cloud = Cloud::new(&graph);
    cloud.settle(Production::Ready);
    let fastest = (0..20)
        .map(|_| {
            let start = Instant::now();
            cloud.evaluate();
            start.elapsed()
        })
        .min()
        .unwrap();
    // Some 2 ms in a debug build; the limit only catches a change of kind.
    assert!(fastest < Duration::from_millis(50), "{fastest:?}");
}
