//! What fleetctl makes, beside the golden record of what kro and ACK made of the same instance: every call that was needed,
//! every object at the end, and the registration. Where fleetctl differs on purpose the difference stands here, with its
//! reason; a difference that is no longer one fails, too.

use crate::support::World;
use crate::support::aws::{Account, encoded, items};
use crate::support::emulator::{Emulator, repository};
use crate::support::golden::{Bindings, canonical};
use crate::support::shipped::as_shipped;
use crate::support::world::upstream_graphs;
use serde_json::{Map, Value, json};
use std::path::Path;

const NAME: &str = "workload-cluster1";

/// Calls of the record that fleetctl does not make.
struct LeftOut {
    action: &'static str,
    is_meant: fn(&Value) -> bool,
    times: usize,
    reason: &'static str,
}

const CALLS_LEFT_OUT: [LeftOut; 3] = [
    LeftOut { action: "ModifySubnetAttribute", is_meant: sets_what_is_set, times: 22, reason: "sets what AWS has by default" },
    LeftOut { action: "UpdateRole", is_meant: |_| true, times: 3, reason: "names the role and changes nothing" },
    LeftOut {
        action: "ModifyVpcAttribute",
        is_meant: |params| params.get("EnableDnsSupport").is_some(),
        times: 1,
        reason: "a new VPC has DNS support; not in the record's list of needless calls, but needless as well",
    },
];

fn sets_what_is_set(params: &Value) -> bool {
    params["MapPublicIpOnLaunch"]["Value"] != "true"
}

/// Objects of the record that are not compared: made by AWS, not by the graph, and the emulator makes them more as AWS does
/// since the record.
const MADE_BY_AWS: [&str; 3] = ["NetworkAcls", "NetworkInterfaces", "SecurityGroups"];

/// What the emulator answers otherwise than when the record was made: before, now, how often, and why.
const EMULATOR_SINCE: [(&str, &str, usize, &str); 6] = [
    (r#""ConnectivityType":"None""#, r#""ConnectivityType":"public""#, 2, "a gateway with a public address is public"),
    (
        r#""NatGatewayAddresses":[{"#,
        r#""NatGatewayAddresses":[{"IsPrimary":true,"Status":"succeeded","#,
        2,
        "AWS says so of each address",
    ),
    (
        "role/<account>/hub-cluster-argocd-controller/",
        "role/<hub-account>/hub-cluster-argocd-controller/",
        2,
        "an access entry's ARN names its principal's own account",
    ),
    (
        "arn:aws:sts::<account>:assumed-role/workload-cluster1-cluster-node-role/{{SessionName}}",
        "system:node:{{EC2PrivateDNSName}}",
        1,
        "nodes of Auto Mode are named by their host name",
    ),
    (r#""associationArn":"#, r#""disableSessionTags":false,"associationArn":"#, 1, "EKS always says so of an association"),
    (r#""addonArn":"#, r#""owner":"aws","publisher":"eks","addonArn":"#, 1, "EKS names who an add-on is from"),
];

/// What Argo CD itself, fleetctl and kro write beside the Secret of the graph.
const ARGOCD_OWN: &str = "managed-by";
const FLEETCTL_OWN: [&str; 4] = ["fleetctl/address", "fleetctl/config-hash", "fleetctl/instance", "fleetctl/lineage"];
const KRO_OWN: [&str; 4] = ["kro.run/", "internal.kro.run/", "applyset.kubernetes.io/", "app.kubernetes.io/managed-by"];

struct Record {
    whole: Value,
    ack_tags: Vec<String>,
}

impl Record {
    fn read() -> Self {
        let text = std::fs::read_to_string(repository().join("tests/conformance/ack-end-state.json")).unwrap();
        let mut compact = serde_json::from_str::<Value>(&text).unwrap().to_string();
        for (before, now, times, reason) in EMULATOR_SINCE {
            assert_eq!(compact.matches(before).count(), times, "{before}: {reason}");
            compact = compact.replace(before, now);
        }
        let whole: Value = serde_json::from_str(&compact).unwrap();
        let tags = whole["meta"]["ackTagKeys"].as_array().unwrap();
        let ack_tags = tags.iter().map(|key| key.as_str().unwrap().to_owned()).collect();
        Self { whole, ack_tags }
    }

    fn pattern(&self, value: &Value) -> Value {
        owned(canonical(value), &self.ack_tags)
    }

    fn patterns(&self, list: &Value) -> Vec<Value> {
        list.as_array().unwrap().iter().map(|value| self.pattern(value)).collect()
    }

    /// Accepted calls, without those that fleetctl has no need of.
    fn needed_calls(&self) -> Vec<Value> {
        let mut calls = self.whole["mutatingCalls"].as_array().unwrap().clone();
        calls.retain(|call| call.get("refused").is_none());
        for LeftOut { action, is_meant, times, reason } in CALLS_LEFT_OUT {
            let before = calls.len();
            calls.retain(|call| call["action"] != action || !is_meant(&call["params"]));
            assert_eq!(before - calls.len(), times, "{action}: {reason}");
        }
        calls.iter().map(|call| self.pattern(&call_of(&call["service"], &call["action"], &with_path(call)))).collect()
    }
}

fn call_of(service: &Value, action: &Value, params: &Value) -> Value {
    json!({"service": service, "action": action, "params": params})
}

/// The parameters of a recorded call, with those that stand in its path.
fn with_path(call: &Value) -> Value {
    let mut params = call["params"].clone();
    if let Some(path) = call["path"].as_str()
        && let Some(path) = path.strip_prefix("POST /clusters/")
    {
        let (cluster, below) = path.split_once('/').unwrap();
        params["clusterName"] = json!(cluster);
        if let Some(principal) = below.strip_prefix("access-entries/").and_then(|rest| rest.strip_suffix("/access-policies")) {
            params["principalArn"] = json!(principal);
        }
    }
    params
}

/// The tags by which a tool knows its objects become one mark, if all of them are there.
fn owned(value: Value, keys: &[String]) -> Value {
    match value {
        Value::Array(mut list) => {
            let is_one = |tag: &Value| tag["key"].as_str().is_some_and(|key| keys.iter().any(|known| known == key));
            if list.iter().filter(|tag| is_one(tag)).count() == keys.len() {
                list.retain(|tag| !is_one(tag));
                list.push(json!({"key": "owned", "value": "by the tool"}));
            }
            list.into_iter().map(|item| owned(item, keys)).collect()
        }
        Value::Object(mut entries) => {
            if keys.iter().all(|key| entries.contains_key(key)) {
                entries.retain(|key, _| !keys.contains(key));
                entries.insert("owned".to_owned(), json!("by the tool"));
            }
            entries.into_iter().map(|(key, below)| (key, owned(below, keys))).collect()
        }
        other => other,
    }
}

fn object(value: &Value) -> Value {
    owned(canonical(value), &["fleetctl:lineage", "fleetctl:address", "fleetctl:instance"].map(str::to_owned))
}

/// Everything in the VPC of the cluster, as `Describe` calls list it.
fn ec2_objects(account: Account<'_>, list: &str) -> Vec<Value> {
    let (action, set) = match list {
        "Addresses" => ("DescribeAddresses", "addressesSet"),
        "InternetGateways" => ("DescribeInternetGateways", "internetGatewaySet"),
        "NatGateways" => ("DescribeNatGateways", "natGatewaySet"),
        "RouteTables" => ("DescribeRouteTables", "routeTableSet"),
        "Subnets" => ("DescribeSubnets", "subnetSet"),
        "VpcEndpoints" => ("DescribeVpcEndpoints", "vpcEndpointSet"),
        "Vpcs" => ("DescribeVpcs", "vpcSet"),
        other => panic!("a list that is not known here: {other}"),
    };
    let default = default_vpc(account);
    let mut objects = account.listed(action, set);
    objects.retain(|object| object["vpcId"] != default.as_str() && object["attachmentSet"]["item"]["vpcId"] != default.as_str());
    if list == "Vpcs" {
        for vpc in &mut objects {
            add_attributes(account, vpc);
        }
    }
    objects
}

fn default_vpc(account: Account<'_>) -> String {
    let vpcs = account.listed("DescribeVpcs", "vpcSet");
    let default = vpcs.iter().find(|vpc| vpc["isDefault"] == "true").expect("every account has a default VPC");
    default["vpcId"].as_str().unwrap().to_owned()
}

fn add_attributes(account: Account<'_>, vpc: &mut Value) {
    let id = vpc["vpcId"].as_str().unwrap().to_owned();
    for attribute in ["enableDnsSupport", "enableDnsHostnames"] {
        let mut answer = account.ec2("DescribeVpcAttribute", &[("VpcId", &id), ("Attribute", attribute)]);
        vpc[attribute] = answer[attribute]["value"].take();
    }
}

/// What IAM lists, without what was there before.
fn iam_objects(account: Account<'_>, list: &str) -> Vec<Value> {
    let listed = |action, found: &str, parameters: &[_]| items(account.iam(action, parameters)[found].take());
    match list {
        "Roles" => roles(account),
        "InstanceProfiles" => listed("ListInstanceProfiles", "InstanceProfiles", &[]),
        "LocalPolicies" => listed("ListPolicies", "Policies", &[("Scope", "Local")]),
        "OpenIDConnectProviders" => listed("ListOpenIDConnectProviders", "OpenIDConnectProviderList", &[]),
        other => panic!("a list that is not known here: {other}"),
    }
}

/// Roles with their policies, without those that were there before.
fn roles(account: Account<'_>) -> Vec<Value> {
    let listed = items(account.iam("ListRoles", &[])["Roles"].take());
    let names = listed.iter().map(|role| role["RoleName"].as_str().unwrap()).filter(|name| name.starts_with(NAME));
    let role = |name: &str| {
        let of_role = [("RoleName", name)];
        let mut role = account.iam("GetRole", &of_role)["Role"].take();
        role["AttachedPolicies"] = account.iam("ListAttachedRolePolicies", &of_role)["AttachedPolicies"].take();
        role["InlinePolicies"] = account.iam("ListRolePolicies", &of_role)["PolicyNames"].take();
        role
    };
    names.map(role).collect()
}

/// The cluster with everything on it.
fn cluster(account: Account<'_>) -> Value {
    let path = format!("/clusters/{NAME}");
    let mut cluster = account.eks(&path)["cluster"].take();
    let below = |list: &str, found: &str, one: &str| -> Vec<Value> {
        let listed = account.eks(&format!("{path}/{list}"))[found].take();
        let each = |item: &Value| {
            let id = item.as_str().or(item["associationId"].as_str()).unwrap();
            let path = format!("{path}/{list}/{}", encoded(id));
            let mut object = account.eks(&path)[one].take();
            if one == "accessEntry" {
                object["associatedAccessPolicies"] =
                    account.eks(&format!("{path}/access-policies"))["associatedAccessPolicies"].take();
            }
            object
        };
        listed.as_array().unwrap().iter().map(each).collect()
    };
    cluster["accessEntries"] = below("access-entries", "accessEntries", "accessEntry").into();
    cluster["addons"] = below("addons", "addons", "addon").into();
    cluster["podIdentityAssociations"] = below("pod-identity-associations", "associations", "association").into();
    cluster["nodegroups"] = account.eks(&format!("{path}/node-groups"))["nodegroups"].take();
    cluster["updates"] = account.eks(&format!("{path}/updates"))["updateIds"].take();
    cluster
}

/// Accepted calls that change something, as the emulator logged them.
fn calls(account: &str) -> Vec<Value> {
    let log = Emulator::shared().get(&format!("/_fleet/calls?account={account}"));
    let accepted = |call: &&Value| call["mutating"] == true && call["status"].as_u64().is_some_and(|status| status < 400);
    let accepted = log.as_array().unwrap().iter().filter(accepted);
    accepted.map(|call| object(&call_of(&call["service"], &call["operation"], &call["parameters"]))).collect()
}

/// Every difference that is allowed here stands in the documentation, with its reason.
#[test]
fn every_difference_is_explained() {
    let text = std::fs::read_to_string(repository().join("docs/end-state.md")).unwrap();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let left_out = CALLS_LEFT_OUT.iter().flat_map(|call| [call.action, call.reason]);
    let since = EMULATOR_SINCE.iter().map(|(_, _, _, reason)| *reason);
    let mut said = left_out.chain(since).chain(MADE_BY_AWS).chain(FLEETCTL_OWN).chain(KRO_OWN).chain([ARGOCD_OWN]);
    assert_eq!(said.find(|what| !words.contains(what)), None);
    let tags = Record::read().ack_tags;
    assert_eq!(tags.iter().find(|tag| !words.contains(*tag)), None);
}

#[test]
fn everything_is_as_kro_and_ack_make_it_of_the_definitions_that_ship() {
    compare(&repository().join("graphs"), as_shipped);
}

#[test]
fn everything_is_as_kro_and_ack_make_it_of_upstreams_definitions() {
    match upstream_graphs() {
        Some(graphs) => compare(&graphs, |_| ()),
        None => println!("skipped: FLEETCTL_UPSTREAM_DATA is not set"),
    }
}

/// `differ` brings the record to what the definitions make otherwise on purpose.
fn compare(graphs: &Path, differ: fn(&mut Value)) {
    let world = World::new();
    let instance = std::fs::read_to_string(repository().join("tests/conformance/ack-end-state-instance.yaml")).unwrap();
    world.write("cluster.yaml", &instance.replace("222222222222", &world.workload).replace("111111111111", &world.hub));
    Emulator::shared().request(reqwest::Method::DELETE, &format!("/_fleet/calls?account={}", world.workload), None);
    world.fleetctl(&["apply", "cluster.yaml", "--yes", "--graphs", graphs.to_str().unwrap()]).expect(0);

    let mut record = Record::read();
    differ(&mut record.whole);
    let mut bindings = Bindings::of(&[("<account>", &world.workload), ("<hub-account>", &world.hub)]);
    let account = Account(&world.workload);
    let mut wrong = Vec::new();
    let end = &record.whole["endState"];
    for list in order_of_lists(&end["ec2"]) {
        let patterns = record.patterns(&end["ec2"][list]);
        let objects: Vec<Value> = ec2_objects(account, list).iter().map(object).collect();
        wrong.extend(bindings.pair(list, &patterns, &objects));
    }
    for list in end["iam"].as_object().unwrap().keys() {
        let mut patterns = record.patterns(&end["iam"][list]);
        patterns.retain(|found| found["rolename"].as_str().is_none_or(|name| name.starts_with(NAME)));
        let objects: Vec<Value> = iam_objects(account, list).iter().map(object).collect();
        wrong.extend(bindings.pair(list, &patterns, &objects));
    }
    wrong.extend(bindings.pair("cluster", &record.patterns(&end["eks"]["Clusters"]), &[object(&cluster(account))]));
    wrong.extend(bindings.pair("call", &record.needed_calls(), &calls(&world.workload)));
    wrong.extend(registration(&world, &record, &mut bindings, &cluster(account)));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lists whose objects are known by something that others refer to come first.
fn order_of_lists(ec2: &Value) -> Vec<&str> {
    let mut lists: Vec<&str> = ec2.as_object().unwrap().keys().map(String::as_str).collect();
    let rank =
        |list: &str| ["Vpcs", "Subnets", "Addresses", "InternetGateways", "NatGateways"].iter().position(|known| *known == list);
    lists.retain(|list| !MADE_BY_AWS.contains(list));
    lists.sort_by_key(|list| rank(list).unwrap_or(usize::MAX));
    lists
}

/// The Secret of the record, as a cluster of Argo CD: https endpoint, authority and AWS's authentication in place of the ARN.
fn registration(world: &World, record: &Record, bindings: &mut Bindings, cluster: &Value) -> Vec<String> {
    let secret = &record.whole["argocdSecret"];
    let data = &secret["data (decoded)"];
    let arn = format!("arn:aws:eks:us-west-2:<account>:cluster/{NAME}");
    assert_eq!(data["server"], arn, "the record names the cluster by its ARN");
    let (endpoint, authority) = (&cluster["endpoint"], &cluster["certificateAuthority"]["data"]);
    assert!(endpoint.as_str().unwrap().starts_with("https://") && !authority.as_str().unwrap().is_empty());
    let pattern = json!({
        "labels": without(&secret["labels"], |key| KRO_OWN.iter().any(|own| key.starts_with(own))),
        "annotations": without(&secret["annotations"], |key| KRO_OWN.iter().any(|own| key.starts_with(own))),
        "name": data["name"],
        "project": data["project"],
        "server": endpoint,
        "config": {"awsAuthConfig": {"clusterName": NAME}, "tlsClientConfig": {"caData": authority}},
        "limits": [[], null, false],
    });
    let registered = world.registered();
    let see = |stored: &Value| {
        let data = &stored["data"];
        json!({
            "labels": stored["labels"],
            "annotations": without(&stored["annotations"], |key| key == ARGOCD_OWN || FLEETCTL_OWN.contains(&key)),
            "name": data["name"],
            "project": data["project"],
            "server": data["server"],
            "config": data["config"],
            "limits": [data["namespaces"], data["shard"], data["clusterResources"]],
        })
    };
    let clusters: Vec<Value> = registered.as_array().unwrap().iter().map(see).collect();
    bindings.pair("registration", &[pattern], &clusters)
}

fn without(entries: &Value, left_out: impl Fn(&str) -> bool) -> Map<String, Value> {
    let entries = entries.as_object().unwrap().iter();
    entries.filter(|(key, _)| !left_out(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}
