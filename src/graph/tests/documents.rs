//! User documents: instances, selectors, namespaces.

use super::*;
use serde_json::json;

fn load(text: &str) -> (Documents, Vec<Diagnostic>) {
    Documents::load(&parse("user.yaml", text), &own())
}

/// Category, the text that the diagnostic stands at, and what it suggests.
fn findings(problems: &[Diagnostic]) -> Vec<(&str, &str, &str)> {
    problems
        .iter()
        .map(|problem| {
            let text = problem.location.as_ref().expect("a place").text();
            (problem.category, text.lines().next().unwrap_or_default(), problem.suggestion.as_deref().unwrap_or_default())
        })
        .collect()
}

#[test]
fn an_instance_gets_its_defaults() {
    let (documents, problems) = load(INSTANCE);
    assert!(problems.is_empty(), "{}", shown(&problems));
    let instance = &documents.instances[0];
    assert_eq!((instance.namespace.as_str(), instance.name.as_str()), ("argocd", "workload-cluster1"));
    assert_eq!(instance.object["spec"]["gitops"]["addonsRepoPath"], "bootstrap");
    assert_eq!(instance.object["spec"]["addons"]["enable_external_secrets"], "true");
    assert_eq!(instance.object["spec"]["domainName"], "", "an empty text is a value");
    assert_eq!(instance.object["metadata"]["namespace"], "argocd");
}

const HEAD: &str = "apiVersion: kro.run/v1alpha1\nkind: EksCluster\nmetadata: {name: x}\n";

#[test]
fn an_instance_without_namespace_is_in_the_default_one() {
    let (documents, problems) = load(HEAD);
    assert!(problems.is_empty(), "{}", shown(&problems));
    assert_eq!(documents.instances[0].namespace, "default");
    assert_eq!(documents.instances[0].object["spec"]["vpc"]["create"], json!(true));
}

#[test]
fn values_of_the_wrong_kind_are_found_where_they_stand() {
    let (documents, problems) = load(&format!(
        "{HEAD}spec:\n  k8sVersion: 1.34\n  accountId: 222222222222\n  regoin: us-west-2\n  vpc:\n    create: 'yes'\n    vpcCdir: 10.0.0.0/16\n"
    ));
    assert!(documents.instances.is_empty());
    let mut found = findings(&problems);
    found.sort_unstable();
    let places: Vec<(&str, &str)> = found.iter().map(|(category, text, _)| (*category, *text)).collect();
    assert_eq!(
        places,
        [
            ("type", "'yes'"),
            ("type", "1.34"),
            ("type", "222222222222"),
            ("unknown-field", "regoin"),
            ("unknown-field", "vpcCdir"),
        ],
        "{}",
        shown(&problems)
    );
    let suggestions = shown(&problems);
    for expected in ["\"1.34\"", "region", "vpcCidr"] {
        assert!(suggestions.contains(expected), "{expected}: {suggestions}");
    }
}

#[test]
fn envelopes_are_checked() {
    let (_, problems) = load(
        "apiVersion: kro.run/v1\nkind: EksCluster\nmetadata: {name: a}\n---
apiVersion: kro.run/v1alpha1\nkind: EKSCluster\nmetadata: {name: a}\n---
kind: EksCluster\n---
just text\n---
apiVersion: kro.run/v1alpha1\nkind: EksCluster\nmetadata: {name: Not_a_name, labels: {a: 1}, namespace: 5}\nspecs: {}\n---
apiVersion: kro.run/v1alpha1\nkind: EksCluster\nspec: {}\n",
    );
    assert_eq!(
        findings(&problems),
        [
            ("schema-not-found", "kro.run/v1", "`apiVersion: kro.run/v1alpha1`"),
            ("schema-not-found", "EKSCluster", "did you mean `EksCluster`?"),
            ("structure", "", ""),
            ("structure", "just text", ""),
            ("naming", "Not_a_name", ""),
            ("type", "1", "quote it: `\"1\"`"),
            ("type", "5", "quote it: `\"5\"`"),
            ("unknown-field", "specs", "did you mean `spec`?"),
            ("required", "", ""),
        ],
        "{}",
        shown(&problems)
    );
}

#[test]
fn one_identity_is_written_once() {
    let (documents, problems) = load(&format!("{HEAD}---\n{HEAD}---\n{}", HEAD.replace("name: x", "name: x, namespace: other")));
    assert_eq!(documents.instances.len(), 3);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].category, "duplicate-identity");
    assert!(
        problems[0].message.contains("default/x") && problems[0].message.contains("user.yaml:1:1"),
        "{}",
        problems[0].message
    );
}

#[test]
fn definitions_among_the_documents_are_collected() {
    let (documents, problems) = load(OWN[2].1);
    assert!(problems.is_empty());
    assert_eq!((documents.definitions.len(), documents.instances.len()), (1, 0));
}

#[test]
fn selectors_and_namespaces_are_read() {
    let (documents, problems) = load(
        "apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: workload-cluster1-namespace-config}
spec:
  arn: arn:aws:iam::222222222222:role/ack
  namespaceSelector:
    names: [workload-cluster1]
    labelSelector: {matchLabels: {team: a}}
  resourceTypeSelector:
  - {group: eks.services.k8s.aws, version: '', kind: Cluster}
  resourceLabelSelector: {matchLabels: {tier: gold}}
---
apiVersion: v1
kind: Namespace
metadata:
  name: workload-cluster1
  labels: {team: a}
  annotations: {services.k8s.aws/default-region: eu-west-1}
",
    );
    assert!(problems.is_empty(), "{}", shown(&problems));
    let selector = &documents.selectors[0];
    assert_eq!(selector.arn, "arn:aws:iam::222222222222:role/ack");
    assert_eq!(selector.namespaces, ["workload-cluster1"]);
    assert_eq!(selector.namespace_labels["team"], "a");
    assert_eq!(selector.resource_types[0].kind, "Cluster");
    assert_eq!(selector.resource_labels["tier"], "gold");
    let namespace = &documents.namespaces["workload-cluster1"];
    assert_eq!(namespace.annotations["services.k8s.aws/default-region"], "eu-west-1");
}

#[test]
fn selectors_that_ack_would_ignore_are_errors() {
    let (documents, problems) = load(
        "apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: a}
spec:
  arn: arn:aws:iam::22222222222:role/ack
  namespaceSelector:
    names: [one, '', one]
    labelSelector: {matchExpressions: []}
  resourceTypeSelector:
  - {group: '', version: '', kind: ''}
  - {group: a, version: v1, kind: ''}
  - {group: a, version: v1, kind: ''}
  - {group: b, kind: 1}
  resourceLabelSelector: {matchLabels: {'': x, y: 1}}
---
apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: b}
spec:
  namespaceSelector: {}
",
    );
    assert!(documents.selectors.is_empty());
    let categories: Vec<&str> = findings(&problems).into_iter().map(|(category, ..)| category).collect();
    assert_eq!(
        categories,
        [
            "pattern",
            "structure",
            "structure",
            "unknown-field",
            "structure",
            "structure",
            "required",
            "type",
            "structure",
            "type",
            "required",
            "required",
        ],
        "{}",
        shown(&problems)
    );
}
