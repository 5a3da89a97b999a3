//! Where the definitions that ship differ from those that the golden record was made with, each with its reason.

use serde_json::{Value, json};

/// What External Secrets may read.
const MAY_READ: &str = r#"{"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow",
     "Action": ["secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue", "secretsmanager:ListSecretVersionIds"],
     "Resource": ["arn:aws:secretsmanager:us-west-2:<account>:secret:workload-cluster1/*",
                  "arn:aws:secretsmanager:us-west-2:<account>:secret:*argocd-secret-??????"]},
    {"Effect": "Allow", "Action": ["secretsmanager:BatchGetSecretValue", "secretsmanager:ListSecrets"], "Resource": "*"}]}"#;

/// Brings a record to what the definitions that ship make of its instance.
pub(crate) fn as_shipped(record: &mut Value) {
    let cluster = &mut record["endState"]["eks"]["Clusters"][0];
    // No version is given: EKS chooses the one that goes with the Kubernetes version.
    replace(&mut cluster["addons"][0]["addonVersion"], &json!("v1.3.4-eksbuild.1"), json!("v1.3.8-eksbuild.2"));
    // The association is where the input says that External Secrets runs.
    replace(&mut cluster["podIdentityAssociations"][0]["namespace"], &json!("argocd"), json!("external-secrets"));
    let roles = record["endState"]["iam"]["Roles"].as_array_mut().unwrap();
    let role = roles.iter_mut().find(|role| role["RoleName"] == "workload-cluster1-external-secrets-role").unwrap();
    // It reads secrets of the cluster and the fleet, in place of reading and writing all.
    assert_eq!(role["AttachedPolicies"].as_array().unwrap().len(), 1);
    role["AttachedPolicies"] = json!([]);
    role["InlinePolicies"] = json!(["read-secrets"]);
    for call in record["mutatingCalls"].as_array_mut().unwrap() {
        of_call(call);
    }
    let annotations = record["argocdSecret"]["annotations"].as_object_mut().unwrap();
    // What the record's definitions declare and do not hand on.
    annotations.insert("aws_worker_subnet_ids".into(), json!("<subnet-private-1>,<subnet-private-2>"));
    annotations.insert("aws_public_subnet_ids".into(), json!("<subnet-public-1>,<subnet-public-2>"));
    annotations.insert("domain_name".into(), json!(""));
}

fn of_call(call: &mut Value) {
    let is_secrets = call["params"]["PolicyArn"].as_str().is_some_and(|arn| arn.ends_with("/SecretsManagerReadWrite"));
    match call["action"].as_str().unwrap() {
        "AttachRolePolicy" if is_secrets => {
            call["action"] = json!("PutRolePolicy");
            let role = call["params"]["RoleName"].take();
            call["params"] = json!({"RoleName": role, "PolicyName": "read-secrets", "PolicyDocument": MAY_READ});
        }
        "CreateAddon" => drop(call["params"].as_object_mut().unwrap().remove("addonVersion").unwrap()),
        // From where the endpoint may be used is an input, so it is said.
        "CreateCluster" => call["params"]["resourcesVpcConfig"]["publicAccessCidrs"] = json!(["0.0.0.0/0"]),
        "CreatePodIdentityAssociation" => call["params"]["namespace"] = json!("external-secrets"),
        _ => {}
    }
}

/// A difference that is no longer one fails.
fn replace(value: &mut Value, before: &Value, now: Value) {
    assert_eq!(value, before);
    *value = now;
}
