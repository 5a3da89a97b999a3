use super::steps::policy_changes;
use super::*;
use crate::kinds::kind::Changeability;
use crate::kinds::shared::spec;
use crate::kinds::shared::tests::{complete, paths, places, subject};
use crate::kinds::tags;
use aws_sdk_eks::types::AccessScope;

const ADMIN: &str = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy";
const VIEW: &str = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy";

fn us() -> Subject {
    subject("eks.services.k8s.aws/v1alpha1", "AccessEntry")
}

fn wanted() -> Value {
    json!({
        "apiVersion": "eks.services.k8s.aws/v1alpha1", "kind": "AccessEntry",
        "metadata": {"name": "one", "namespace": "workload-cluster1"},
        "spec": {
            "clusterName": "workload-cluster1",
            "accessPolicies": [{"accessScope": {"type": "cluster"}, "policyARN": ADMIN}],
            "principalARN": "arn:aws:iam::111122223333:role/Admin",
            "type": "STANDARD",
        },
    })
}

fn entry(kind: &str) -> aws_sdk_eks::types::AccessEntry {
    aws_sdk_eks::types::AccessEntry::builder()
        .cluster_name("workload-cluster1")
        .principal_arn("arn:aws:iam::111122223333:role/Admin")
        .access_entry_arn("arn:aws:eks:us-west-2:111122223333:access-entry/workload-cluster1/role/111122223333/Admin/1")
        .r#type(kind)
        .username("arn:aws:sts::111122223333:assumed-role/Admin/{{SessionName}}")
        .set_kubernetes_groups(Some(Vec::new()))
        .build()
}

fn associated(arn: &str, scope: &str, namespaces: &[&str]) -> AssociatedAccessPolicy {
    let namespaces = namespaces.iter().map(|name| (*name).to_owned()).collect();
    let scope = AccessScope::builder().r#type(scope.into()).set_namespaces(Some(namespaces)).build();
    AssociatedAccessPolicy::builder().policy_arn(arn).access_scope(scope).build()
}

fn ours(policies: &[AssociatedAccessPolicy]) -> Observed {
    let mut found = observed(&us(), &entry("STANDARD"), policies);
    found.tags = tags::wanted(&us(), &wanted());
    found
}

fn changes(desired: &Value, observed: &Observed) -> Vec<FieldChange> {
    AccessEntry.compare(&us(), desired, observed, None)
}

#[test]
fn an_entry_with_its_policy_is_as_wanted() {
    let observed = ours(&[associated(ADMIN, "cluster", &[])]);
    assert_eq!(changes(&wanted(), &observed), []);
    assert_eq!(observed.id, "workload-cluster1|arn:aws:iam::111122223333:role/Admin");
    assert!(observed.status["ackResourceMetadata"]["arn"].is_string());
    assert!(spec::<EntrySpec>(&json!({ "spec": observed.spec })).is_ok());
}

#[test]
fn a_new_entry_lacks_its_policy_and_nothing_else() {
    let found = changes(&wanted(), &ours(&[]));
    assert_eq!(paths(&found), [format!("spec.accessPolicies[{ADMIN}]")]);
    let (removed, new) = policy_changes(&found).unwrap();
    assert!(removed.is_empty());
    assert_eq!(new[0].policy_arn.as_deref(), Some(ADMIN));
    assert_eq!(new[0].access_scope.as_ref().unwrap().r#type.as_deref(), Some("cluster"));
}

#[test]
fn a_policy_with_another_scope_is_associated_again() {
    let mut desired = wanted();
    desired["spec"]["accessPolicies"] =
        json!([{"policyARN": ADMIN, "accessScope": {"type": "namespace", "namespaces": ["b", "a"]}}]);
    assert_eq!(changes(&desired, &ours(&[associated(ADMIN, "namespace", &["a", "b"])])), []);
    let found = changes(&desired, &ours(&[associated(ADMIN, "cluster", &[]), associated(VIEW, "cluster", &[])]));
    let (removed, new) = policy_changes(&found).unwrap();
    assert_eq!(removed, [VIEW]);
    assert_eq!(new.len(), 1);
    assert_eq!(new[0].access_scope.as_ref().unwrap().namespaces.as_deref(), Some(&["b".to_owned(), "a".to_owned()][..]));
}

#[test]
fn policies_are_enforced_when_absent_and_user_names_are_not() {
    let mut desired = wanted();
    desired["spec"].as_object_mut().unwrap().remove("accessPolicies");
    assert_eq!(paths(&changes(&desired, &ours(&[associated(VIEW, "cluster", &[])]))), [format!("spec.accessPolicies[{VIEW}]")]);
    desired["spec"]["username"] = json!("admin");
    desired["spec"]["kubernetesGroups"] = json!(["viewers"]);
    let found = changes(&desired, &ours(&[]));
    assert_eq!(paths(&found), ["spec.username", "spec.kubernetesGroups"]);
    assert!(found.iter().all(|change| change.changeability == Changeability::InPlace));
}

#[test]
fn what_makes_an_entry_needs_another_one() {
    let mut desired = wanted();
    desired["spec"]["type"] = json!("EC2");
    desired["spec"]["principalARN"] = json!("arn:aws:iam::111122223333:role/Other");
    desired["spec"]["clusterName"] = json!("other");
    let found = changes(&desired, &ours(&[associated(ADMIN, "cluster", &[])]));
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|change| change.changeability == Changeability::Replacement && change.reason.is_some()));
}

#[test]
fn only_what_eks_makes_by_itself_is_taken_over() {
    let bare = |kind: &str, policies: &[AssociatedAccessPolicy]| observed(&us(), &entry(kind), policies);
    let creators = bare("STANDARD", &[associated(ADMIN, "cluster", &[])]);
    assert!(AccessEntry.adoptable_without_marks(&creators));
    assert!(AccessEntry.adoptable_without_marks(&bare("EC2", &[])));
    assert!(!AccessEntry.adoptable_without_marks(&bare("STANDARD", &[])));
    assert!(!AccessEntry.adoptable_without_marks(&bare("STANDARD", &[associated(VIEW, "cluster", &[])])));
    assert!(!AccessEntry.adoptable_without_marks(&bare("STANDARD", &[associated(ADMIN, "namespace", &["a"])])));
    let tagged = |key: &str| {
        let mut observed = creators.clone();
        observed.tags.insert(key.to_owned(), "x".to_owned());
        AccessEntry.adoptable_without_marks(&observed)
    };
    assert!(tagged("aws:eks:cluster-name"));
    assert!(!tagged("services.k8s.aws/namespace") && !tagged("fleetctl:lineage") && !tagged("team"));
}

#[test]
fn a_taken_over_entry_gets_our_marks() {
    let bare = observed(&us(), &entry("STANDARD"), &[associated(ADMIN, "cluster", &[])]);
    assert_eq!(
        paths(&changes(&wanted(), &bare)),
        ["spec.tags[fleetctl:address]", "spec.tags[fleetctl:instance]", "spec.tags[fleetctl:lineage]"]
    );
}

#[test]
fn the_arn_is_told_when_the_policies_are_associated() {
    let description = AccessEntry.description();
    assert_eq!(description.published_at("status.ackResourceMetadata.arn"), Production::Configured);
    assert_eq!(description.field("spec.clusterName").asks, Production::Ready);
    assert!(!description.field("spec.clusterRef").carried_out);
    assert_eq!(AccessEntry.goes_with().map(|with| with.path), Some("spec.clusterName"));
}

#[test]
fn values_that_eks_refuses_are_found() {
    assert_eq!(AccessEntry.impossible_values(&wanted()), []);
    let object = json!({"spec": {
        "clusterName": "",
        "principalARN": "arn:aws:sts::111122223333:assumed-role/x/y",
        "type": "EC2_LINUX",
        "kubernetesGroups": ["system:masters"],
        "accessPolicies": [{"policyARN": "AmazonEKSViewPolicy", "accessScope": {"type": "everything"}}],
        "tags": {"aws:x": ""},
    }});
    assert_eq!(
        places(&AccessEntry.impossible_values(&object)),
        [
            "spec.clusterName",
            "spec.principalARN",
            "spec.kubernetesGroups[0]",
            "spec.accessPolicies[0].policyARN",
            "spec.accessPolicies[0].accessScope.type",
            "spec",
            "spec.tags.aws:x",
        ]
    );
    let linked = json!({"spec": {"principalARN": "arn:aws:iam::111122223333:role/aws-service-role/eks.amazonaws.com/X"}});
    assert_eq!(places(&AccessEntry.impossible_values(&linked)), ["spec.principalARN"]);
}

#[test]
fn the_spec_reads_every_field_of_the_schema() {
    spec::<EntrySpec>(&complete(AccessEntry.description())).unwrap();
}
