//! What is wrong with definitions, where, and what to write instead.

use super::*;

/// Loads one definition with these resources.
fn load(resources: &str) -> Vec<Diagnostic> {
    let head = "apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: c}\nspec:\n  schema:\n    \
                apiVersion: v1alpha1\n    kind: Case\n    spec: {name: string, count: integer, sizes: '[]string'}\n";
    load_all(&[("case.yaml", &format!("{head}  resources:\n{resources}"))]).1
}

fn load_all(texts: &[(&str, &str)]) -> (Definitions, Vec<Diagnostic>) {
    let documents: Vec<Node> = texts.iter().flat_map(|(name, text)| parse(name, text)).collect();
    Definitions::load(&documents, catalog())
}

/// Category, the text that the diagnostic stands at, and what it suggests.
fn findings(problems: &[Diagnostic]) -> Vec<(&str, &str, &str)> {
    problems
        .iter()
        .map(|problem| {
            let location = problem.location.as_ref().expect("a place");
            let first = location.text().lines().next().unwrap_or_default();
            (problem.category, first, problem.suggestion.as_deref().unwrap_or_default())
        })
        .collect()
}

const VPC: &str = "  - id: vpc
    template:
      apiVersion: ec2.services.k8s.aws/v1alpha1
      kind: VPC
      metadata: {name: v}
      spec: {cidrBlocks: [10.0.0.0/16]}
";

#[test]
fn the_definitions_in_use_have_no_problem() {
    let own = own();
    let kinds: Vec<&String> = own.by_kind.keys().collect();
    assert_eq!(kinds, ["EksClusterBasic", "Vpc", "EksCluster"], "kinds that others use come first");
    upstream();
}

#[test]
fn unknown_fields_come_with_what_was_meant() {
    let problems = load(&format!(
        "{VPC}  - id: subnet
    readywhen: ['${{true}}']
    template:
      apiVersion: ec2.services.k8s.aws/v1alpha1
      kind: Subnet
      metadata: {{name: s, label: {{a: b}}}}
      spec: {{cidrBlock: 10.0.1.0/24, vpcId: '${{vpc.status.vpcId}}', tags: [{{key: a, val: b}}]}}
"
    ));
    assert_eq!(
        findings(&problems),
        [
            ("unknown-field", "readywhen", "did you mean `readyWhen`?"),
            ("unknown-field", "label", "did you mean `labels`?"),
            ("unknown-field", "vpcId", "did you mean `vpcID`?"),
            ("cel-type", "vpc.status.vpcId", "did you mean `vpcID`?"),
            ("unknown-field", "val", "did you mean `value`?"),
        ],
        "{}",
        shown(&problems)
    );
}

#[test]
fn literals_have_the_type_that_is_declared() {
    let problems = load(
        "  - id: cluster
    template:
      apiVersion: eks.services.k8s.aws/v1alpha1
      kind: Cluster
      metadata: {name: c}
      spec:
        name: c
        version: 1.34
        roleARN: [a]
        computeConfig: {enabled: 'true'}
        resourcesVPCConfig: {subnetIDs: subnet-1}
        tags: {owner: 1, empty: null}
",
    );
    assert_eq!(
        findings(&problems),
        [
            ("literal-type", "1.34", "quote it: `\"1.34\"`"),
            ("literal-type", "[", ""),
            ("literal-type", "'true'", ""),
            ("literal-type", "subnet-1", "a list: `[\"subnet-1\"]`"),
            ("literal-type", "1", "quote it: `\"1\"`"),
        ],
        "{}",
        shown(&problems)
    );
}

#[test]
fn expressions_that_are_plain_paths_are_typed() {
    let problems = load(&format!(
        "{VPC}  - id: subnet
    includeWhen: ['${{schema.spec.count}}']
    template:
      apiVersion: ec2.services.k8s.aws/v1alpha1
      kind: Subnet
      metadata: {{name: 's-${{schema.spec.count}}'}}
      spec: {{cidrBlock: '${{schema.spec.sizes}}', mapPublicIPOnLaunch: '${{schema.spec.name}}', routeTables: '${{schema.spec.sizes}}'}}
  - id: other
    includeWhen: ['${{\"yes\"}}', '${{schema.spec.count > 1}}']
    template:
      apiVersion: ec2.services.k8s.aws/v1alpha1
      kind: VPC
      metadata: {{name: '${{schema.spec.name == \"a\"}}'}}
      spec: {{cidrBlocks: '${{[schema.spec.name]}}', enableDNSSupport: '${{1 + 1}}'}}
"
    ));
    assert_eq!(
        findings(&problems),
        [
            ("must-return-bool", "schema.spec.count", ""),
            ("cel-type", "schema.spec.count", "`string(schema.spec.count)`"),
            ("type-mismatch", "schema.spec.sizes", ""),
            ("type-mismatch", "schema.spec.name", ""),
            ("must-return-bool", "\"yes\"", ""),
            ("type-mismatch", "schema.spec.name == \"a\"", ""),
            ("type-mismatch", "1 + 1", ""),
        ],
        "{}",
        shown(&problems)
    );
}

#[test]
fn identifiers_are_known() {
    let problems = load(&format!(
        "{VPC}  - id: subnet
    readyWhen: ['${{vpc.status.state == \"available\"}}']
    template:
      apiVersion: ec2.services.k8s.aws/v1alpha1
      kind: Subnet
      metadata: {{name: '${{each.name}}'}}
      spec: {{vpcID: '${{vcp.status.vpcID}}', cidrBlock: '${{subnet.spec.cidrBlock}}', availabilityZone: '${{schema.sepc.name}}'}}
"
    ));
    let expected = [
        ("unknown-identifier", "vpc.status.state == \"available\"", ""),
        ("unknown-identifier", "each.name", ""),
        ("unknown-identifier", "vcp.status.vpcID", "did you mean `vpc`?"),
        ("self-reference", "subnet.spec.cidrBlock", ""),
        ("cel-type", "schema.sepc.name", "did you mean `spec`?"),
    ];
    assert_eq!(findings(&problems), expected, "{}", shown(&problems));
}

#[test]
fn kinds_are_known() {
    let entry = |id: &str, api_version: &str, kind: &str| {
        format!("  - id: {id}\n    template: {{apiVersion: {api_version}, kind: {kind}, metadata: {{name: x}}}}\n")
    };
    let problems = load(&format!(
        "{}{}{}{}",
        entry("a", "ec2.services.k8s.aws/v1alpha1", "NatGateway"),
        entry("b", "ec2.services.k8s.aws/v1", "VPC"),
        entry("c", "example.com/v1", "Sprocket"),
        entry("d", "a/b/c", "vpc!"),
    ));
    assert_eq!(
        findings(&problems),
        [
            ("schema-not-found", "NatGateway", "did you mean `NATGateway`?"),
            ("schema-not-found", "VPC", "`apiVersion: ec2.services.k8s.aws/v1alpha1`"),
            ("schema-not-found", "Sprocket", ""),
            ("structure", "a/b/c", ""),
            ("naming", "vpc!", ""),
        ],
        "{}",
        shown(&problems)
    );
}

#[test]
fn entries_have_the_fields_that_go_together() {
    let problems = load(
        "  - id: both
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
    externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  - id: neither
  - template: {apiVersion: v1, kind: ConfigMap}
  - id: neither
    includeWhen: ['x ${true}', true]
    template: text
  - id: reference
    externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, selector: {}}}
",
    );
    let categories: Vec<&str> = findings(&problems).into_iter().map(|(category, ..)| category).collect();
    assert_eq!(
        categories,
        [
            "field-combination",
            "field-combination",
            "structure",
            "structure",
            "duplicate-id",
            "cel-type",
            "not-standalone",
            "structure",
            "field-combination",
        ],
        "{}",
        shown(&problems)
    );
}

#[test]
fn metadata_is_checked() {
    let problems = load(
        "  - id: a
    template: {apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: b}}
  - id: b
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {kro.run/owned: 'x'}}}
",
    );
    assert_eq!(findings(&problems), [("structure", "b", ""), ("reserved-metadata", "kro.run/owned", "")]);
}

#[test]
fn objects_of_a_cluster_scoped_instance_name_their_namespace() {
    let thing = |id: &str, namespace: &str| {
        format!(
            "  - id: {id}\n    template: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: '${{schema.metadata.{namespace}}}'}}}}\n"
        )
    };
    let head = using("Case", "test/v1, kind: Thing", "{}");
    let (head, _) = head.split_once("  resources:\n").unwrap();
    let text =
        format!("{head}  resources:\n{}", thing("child", "namespace")).replace("kind: Case", "kind: Case\n    scope: Cluster");
    let (_, problems) = load_all(&[("case.yaml", &text)]);
    let found: Vec<&str> = findings(&problems).into_iter().map(|(category, ..)| category).collect();
    assert_eq!(found, ["structure", "cel-type"], "{}", shown(&problems));
}

#[test]
fn literals_that_aws_could_never_accept() {
    let problems = load(&VPC.replace("[10.0.0.0/16]", "['${schema.spec.name}', 10.0.0.0/33]"));
    assert_eq!(findings(&problems), [("impossible-value", "10.0.0.0/33", "a CIDR block such as 10.0.0.0/16")]);
}

#[test]
fn the_envelope_is_checked() {
    let (definitions, problems) = load_all(&[(
        "old.yaml",
        "apiVersion: kro.run/v1alpha1
kind: ResourceGroup
metadata: {name: x}
spec:
  schema: {apiVersion: kro.run/v1, kind: podIdentity, scope: Global, statsu: {}}
  resources: []
---
kind: ResourceGraphDefinition
metadata: {name: yes}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: z}
",
    )]);
    assert!(definitions.by_kind.is_empty());
    assert_eq!(
        findings(&problems),
        [
            ("structure", "ResourceGroup", "`kind: ResourceGraphDefinition`"),
            ("structure", "kro.run/v1", "a version without a group, such as `v1alpha1`"),
            ("naming", "podIdentity", ""),
            ("structure", "Global", "`Namespaced` or `Cluster`"),
            ("unknown-field", "statsu", "did you mean `status`?"),
            ("structure", "", "`apiVersion: kro.run/v1alpha1`"),
            ("structure", "", ""),
            ("structure", "yes", "quote it"),
        ],
        "{}",
        shown(&problems)
    );
}

/// A definition of a kind that uses another one.
fn using(kind: &str, used: &str, spec: &str) -> String {
    format!(
        "apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {{name: {kind}}}
spec:
  schema:
    apiVersion: v1alpha1
    kind: {kind}
    spec: {{size: 'integer | default=1', deep: {{name: string}}}}
    status: {{id: '${{child.metadata.name}}'}}
  resources:
  - id: child
    template: {{apiVersion: {used}, metadata: {{name: x}}, spec: {spec}}}
"
    )
}

#[test]
fn nested_kinds_are_checked_against_their_definition() {
    let inner = using("Inner", "test/v1, kind: Thing", "{}");
    let outer = using("Outer", "'kro.run/v1alpha1', kind: Inner", "{size: 'big', deep: {nam: x}, other: 1}");
    let (_, problems) = load_all(&[("outer.yaml", &outer), ("inner.yaml", &inner)]);
    let expected =
        [("literal-type", "'big'", ""), ("unknown-field", "nam", "did you mean `name`?"), ("unknown-field", "other", "")];
    assert_eq!(findings(&problems), expected, "{}", shown(&problems));
    let reading = using("Outer", "'kro.run/v1alpha1', kind: Inner", "{}").replace("child.metadata.name", "child.status.ids");
    let (_, problems) = load_all(&[("outer.yaml", &reading), ("inner.yaml", &inner)]);
    assert_eq!(findings(&problems), [("cel-type", "child.status.ids", "did you mean `id`?")]);
}

#[test]
fn definitions_may_not_use_one_another_in_a_circle() {
    let first = using("First", "'kro.run/v1alpha1', kind: Second", "{}");
    let second = using("Second", "'kro.run/v1alpha1', kind: First", "{}");
    let (definitions, problems) = load_all(&[("a.yaml", &first), ("b.yaml", &second)]);
    assert!(definitions.by_kind.is_empty());
    let cycles: Vec<&Diagnostic> = problems.iter().filter(|problem| problem.category == "cycle").collect();
    assert_eq!(cycles.len(), 2, "{}", shown(&problems));
    assert!(cycles[0].message.ends_with("First -> Second -> First"));
}

#[test]
fn one_kind_is_defined_once_whatever_its_case() {
    let (definitions, problems) = load_all(&[
        ("a.yaml", &using("EksCluster", "test/v1, kind: Thing", "{}")),
        ("b.yaml", &using("EKSCluster", "test/v1, kind: Thing", "{}")),
    ]);
    assert_eq!(definitions.by_kind.keys().collect::<Vec<_>>(), ["EksCluster"]);
    assert_eq!(problems.iter().map(|problem| problem.category).collect::<Vec<_>>(), ["ownership-conflict"]);
    assert!(problems[0].message.contains("a.yaml:1"), "{}", problems[0].message);
}

#[test]
fn a_faulty_definition_is_left_out_and_named_when_it_is_missed() {
    let inner = using("Inner", "test/v1, kind: Thin", "{}");
    let outer = using("Outer", "'kro.run/v1alpha1', kind: Inner", "{}");
    let (definitions, problems) = load_all(&[("outer.yaml", &outer), ("inner.yaml", &inner)]);
    assert_eq!(problems.len(), 1, "the user of a faulty definition is not at fault: {}", shown(&problems));
    let text = "apiVersion: kro.run/v1alpha1\nkind: Outer\nmetadata: {name: x}\nspec: {}\n";
    let missed = super::problems(text, &definitions);
    assert_eq!(missed[0].category, "schema-not-found", "{}", shown(&missed));
}

#[test]
fn status_fields_read_something() {
    let head = using("Case", "test/v1, kind: Thing", "{}");
    let status = "{a: literal, b: '${1 + 1}', c: {d: '${schema.spec.size}', e: 1}, f: '${nobody.x}', conditions: []}";
    let (_, problems) = load_all(&[("case.yaml", &head.replace("{id: '${child.metadata.name}'}", status))]);
    assert_eq!(
        findings(&problems),
        [
            ("status-without-expression", "literal", ""),
            ("status-constant", "'${1 + 1}'", ""),
            ("status-without-expression", "1", ""),
            ("unknown-identifier", "nobody.x", ""),
            ("not-carried-out", "conditions", ""),
        ],
        "{}",
        shown(&problems)
    );
}
