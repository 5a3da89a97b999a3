use super::read::{observed, status};
use super::spec::RoleSpec;
use super::*;
use crate::kinds::kind::Changeability;
use crate::kinds::shared::spec;
use crate::kinds::shared::tests::{complete, paths, places, subject};
use crate::kinds::tags;
use serde_json::json;

const TRUST: &str = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow",
    "Principal": {"Service": "eks.amazonaws.com"}, "Action": ["sts:AssumeRole", "sts:TagSession"]}]}"#;

fn us() -> Subject {
    subject("iam.services.k8s.aws/v1alpha1", "Role")
}

fn wanted() -> Value {
    json!({
        "apiVersion": "iam.services.k8s.aws/v1alpha1", "kind": "Role",
        "metadata": {"name": "one", "namespace": "workload-cluster1"},
        "spec": {
            "name": "workload-cluster1-cluster-role",
            "policies": ["arn:aws:iam::aws:policy/AmazonEKSClusterPolicy", "arn:aws:iam::aws:policy/AmazonEKSComputePolicy"],
            "assumeRolePolicyDocument": TRUST,
        },
    })
}

fn sdk_role() -> aws_sdk_iam::types::Role {
    aws_sdk_iam::types::Role::builder()
        .path("/")
        .role_name("workload-cluster1-cluster-role")
        .role_id("AROAEXAMPLE")
        .arn("arn:aws:iam::111122223333:role/workload-cluster1-cluster-role")
        .create_date(aws_smithy_types::DateTime::from_secs(1_700_000_000))
        .build()
        .unwrap()
}

/// The role as IAM has it: path and duration by default, the trust policy in other words.
fn there() -> Observed {
    let spec = RoleSpec {
        name: Some("workload-cluster1-cluster-role".into()),
        path: Some("/".into()),
        max_session_duration: Some(3600),
        assume_role_policy_document: Some(
            r#"{"Version":"2012-10-17","Statement":{"Action":["sts:TagSession","sts:AssumeRole"],"Effect":"Allow","Principal":{"Service":["eks.amazonaws.com"]}}}"#.into(),
        ),
        policies: Some(vec![
            "arn:aws:iam::aws:policy/AmazonEKSComputePolicy".into(),
            "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy".into(),
        ]),
        ..RoleSpec::default()
    };
    observed(&us(), &sdk_role(), &spec, tags::wanted(&us(), &wanted()))
}

fn changes(desired: &Value, observed: &Observed) -> Vec<FieldChange> {
    Role.compare(&us(), desired, observed, None)
}

#[test]
fn what_iam_says_in_other_words_is_no_difference() {
    assert_eq!(changes(&wanted(), &there()), []);
}

#[test]
fn a_new_role_lacks_its_policies_and_nothing_else() {
    let mut new = there();
    new.spec.as_object_mut().unwrap().remove("policies");
    assert_eq!(paths(&changes(&wanted(), &new)), ["spec.policies"]);
}

#[test]
fn policies_and_the_boundary_are_enforced_when_absent() {
    let mut desired = wanted();
    desired["spec"].as_object_mut().unwrap().remove("policies");
    let mut observed = there();
    observed.spec["permissionsBoundary"] = json!("arn:aws:iam::111122223333:policy/b");
    observed.spec["inlinePolicies"] = json!({"extra": TRUST});
    let changes = changes(&desired, &observed);
    assert_eq!(paths(&changes), ["spec.permissionsBoundary", "spec.policies", "spec.inlinePolicies[extra]"]);
    assert!(changes.iter().all(|change| change.changeability == Changeability::InPlace && change.after.is_null()));
}

#[test]
fn names_and_paths_need_a_new_role() {
    let mut desired = wanted();
    desired["spec"]["name"] = json!("other");
    desired["spec"]["path"] = json!("/teams/");
    desired["spec"]["description"] = json!("new");
    let changes = changes(&desired, &there());
    let kinds: Vec<_> = changes.iter().map(|change| (change.path.as_str(), change.changeability)).collect();
    assert_eq!(
        kinds,
        [
            ("spec.name", Changeability::Replacement),
            ("spec.path", Changeability::Replacement),
            ("spec.description", Changeability::InPlace)
        ]
    );
    assert!(changes[0].reason.is_some() && changes[1].reason.is_some());
}

#[test]
fn settings_give_the_boundary_where_the_spec_has_none() {
    let mut subject = us();
    subject.permissions_boundary = Some("arn:aws:iam::111122223333:policy/from-settings".into());
    let change = Role.compare(&subject, &wanted(), &there(), None);
    assert_eq!(paths(&change), ["spec.permissionsBoundary"]);
    assert_eq!(change[0].after, json!("arn:aws:iam::111122223333:policy/from-settings"));
    let mut desired = wanted();
    desired["spec"]["permissionsBoundary"] = json!("arn:aws:iam::111122223333:policy/own");
    assert_eq!(Role.compare(&subject, &desired, &there(), None)[0].after, json!("arn:aws:iam::111122223333:policy/own"));
}

#[test]
fn inline_policies_are_compared_by_meaning() {
    let mut desired = wanted();
    desired["spec"]["inlinePolicies"] = json!({"a": TRUST, "b": TRUST});
    let mut observed = there();
    observed.spec["inlinePolicies"] = json!({"a": TRUST.replace(' ', ""), "b": "{}"});
    assert_eq!(paths(&changes(&desired, &observed)), ["spec.inlinePolicies[b]"]);
}

#[test]
fn unknown_fields_of_a_spec_are_refused() {
    assert!(spec::<RoleSpec>(&wanted()).is_ok());
    let refs = json!({"spec": {"name": "x", "policyRefs": [{"from": {"name": "p"}}]}});
    assert!(spec::<RoleSpec>(&refs).is_ok());
    let error = spec::<RoleSpec>(&json!({"spec": {"rolename": "x"}})).unwrap_err();
    assert!(error.message.contains("rolename"), "{error}");
}

#[test]
fn the_status_has_acks_shape() {
    assert_eq!(
        status(&us(), &sdk_role()),
        json!({
            "ackResourceMetadata": {
                "arn": "arn:aws:iam::111122223333:role/workload-cluster1-cluster-role",
                "ownerAccountID": "111122223333", "region": "us-west-2", "partition": "aws",
            },
            "roleID": "AROAEXAMPLE",
            "createDate": "2023-11-14T22:13:20Z",
        })
    );
}

#[test]
fn the_arn_is_told_when_the_policies_are_attached() {
    let description = Role.description();
    assert_eq!(description.published_at("status.ackResourceMetadata.arn"), Production::Configured);
    assert_eq!(description.published_at("status.roleID"), Production::Created);
    assert!(!description.field("spec.policyRefs").carried_out);
    assert_eq!(description.field("spec.policies").step, Step::Configure);
}

#[test]
fn values_that_iam_refuses_are_found() {
    assert!(impossible_values(&wanted()).is_empty());
    let object = json!({"spec": {
        "name": "with space",
        "assumeRolePolicyDocument": "{",
        "inlinePolicies": {"a/b": TRUST, "c": "[]"},
        "path": "teams",
        "maxSessionDuration": 60,
        "description": "x".repeat(1001),
        "permissionsBoundary": "arn:aws:iam::111122223333:role/x",
        "policies": ["AmazonEKSClusterPolicy"],
        "tags": [{"key": "aws:a", "value": "b"}],
    }});
    assert_eq!(
        places(&impossible_values(&object)),
        [
            "spec.name",
            "spec.assumeRolePolicyDocument",
            "spec.path",
            "spec.maxSessionDuration",
            "spec.description",
            "spec.permissionsBoundary",
            "spec.policies[0]",
            "spec.tags[0]",
            "spec.inlinePolicies[a/b]",
            "spec.inlinePolicies[c]",
        ]
    );
}

#[test]
fn the_spec_reads_every_field_of_the_schema() {
    spec::<RoleSpec>(&complete(Role.description())).unwrap();
}
