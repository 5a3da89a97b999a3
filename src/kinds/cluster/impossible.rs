//! Values of a Cluster that EKS could never accept.

use super::LOG_TYPES;
use crate::graph::catalog::ImpossibleValue;
use crate::kinds::compare::at;
use crate::kinds::eks;
use crate::kinds::values::{Checker, Wrong, cidr, iam_arn, id, one_of};
use ipnet::IpNet;
use serde_json::Value;

/// What is impossible in the known leaves of an object.
pub(super) fn values(object: &Value) -> Vec<ImpossibleValue> {
    let mut found = Checker::new(object)
        .texts("spec.name", eks::cluster_name)
        .texts("spec.version", version)
        .texts("spec.roleARN", iam_arn(&["role/"]))
        .texts("spec.resourcesVPCConfig.subnetIDs[]", id(&["subnet-"]))
        .texts("spec.resourcesVPCConfig.securityGroupIDs[]", id(&["sg-"]))
        .texts("spec.resourcesVPCConfig.publicAccessCIDRs[]", network)
        .values("spec.resourcesVPCConfig", reachable)
        .texts("spec.accessConfig.authenticationMode", one_of(&["API", "API_AND_CONFIG_MAP", "CONFIG_MAP"]))
        .texts("spec.computeConfig.nodePools[]", one_of(&["system", "general-purpose"]))
        .texts("spec.computeConfig.nodeRoleARN", iam_arn(&["role/"]))
        .texts("spec.kubernetesNetworkConfig.ipFamily", one_of(&["ipv4", "ipv6"]))
        .texts("spec.kubernetesNetworkConfig.serviceIPv4CIDR", cidr(12, 24))
        .texts("spec.logging.clusterLogging[].types[]", one_of(&LOG_TYPES))
        .texts("spec.upgradePolicy.supportType", one_of(&["STANDARD", "EXTENDED"]))
        .texts("spec.encryptionConfig[].resources[]", one_of(&["secrets"]))
        .values("spec", auto_mode)
        .tags("spec.tags")
        .finish();
    found.extend(access_of_auto_mode(object));
    found
}

fn version(text: &str) -> Option<Wrong> {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let fits = text.split_once('.').is_some_and(|(major, minor)| number(major) && number(minor));
    (!fits).then(|| Wrong::new(format!("`{text}` is not a version of EKS"), "a version like 1.34"))
}

fn network(text: &str) -> Option<Wrong> {
    text.parse::<IpNet>().err().map(|_| Wrong::new(format!("`{text}` is not a CIDR block"), "a block like 203.0.113.0/24"))
}

/// A cluster whose endpoint nobody can reach.
fn reachable(config: &Value) -> Option<Wrong> {
    let off = |name: &str| config.get(name) == Some(&Value::Bool(false));
    (off("endpointPublicAccess") && off("endpointPrivateAccess"))
        .then(|| Wrong::new("the endpoint has neither public nor private access", "at least one of them"))
}

/// Auto Mode's three switches belong together (EKS API, `CreateCluster`).
fn auto_mode(spec: &Value) -> Option<Wrong> {
    const SWITCHES: [&str; 3] =
        ["computeConfig.enabled", "storageConfig.blockStorage.enabled", "kubernetesNetworkConfig.elasticLoadBalancing.enabled"];
    let switches: Vec<bool> = SWITCHES.iter().filter_map(|path| at(spec, path).as_bool()).collect();
    let on = switches.contains(&true);
    if on && switches.contains(&false) {
        let message = format!("EKS Auto Mode is half on: {} have to be all true or all false", SWITCHES.join(", "));
        return Some(Wrong::new(message, "three times true, or three times false"));
    }
    let addons = at(spec, "bootstrapSelfManagedAddons") == &Value::Bool(true);
    (on && addons).then(|| Wrong::new("EKS Auto Mode does not go with bootstrapSelfManagedAddons", "false, or nothing"))
}

/// Auto Mode's nodes come in by access entries.
fn access_of_auto_mode(object: &Value) -> Option<ImpossibleValue> {
    let on = at(object, "spec.computeConfig.enabled") == &Value::Bool(true);
    let path = "spec.accessConfig.authenticationMode";
    (on && at(object, path).as_str() == Some("CONFIG_MAP")).then(|| ImpossibleValue {
        path: path.to_owned(),
        message: "EKS Auto Mode needs access entries, which CONFIG_MAP does not have".to_owned(),
        expected: "API or API_AND_CONFIG_MAP".to_owned(),
    })
}
