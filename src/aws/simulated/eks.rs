//! EKS: clusters and what lives in them. It is consistent at once, but for what IAM tells it.

use super::iam::usable;
use super::objects::{Here, Holdings, Object, delta};
use super::wire::{Refusal, Request, fits, refuse};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How long a cluster takes to come and to go, and an add-on.
const CLUSTER: (u64, u64) = (240, 120);
const ADDON: (u64, u64) = (25, 10);

pub(super) fn serve(holdings: &mut Holdings, here: Here<'_>, request: &Request, caller: &str) -> Result<Value, Refusal> {
    let name = |index: usize| request.names.get(index).map_or("", String::as_str);
    let (cluster, id) = (name(0), format!("{}|{}", name(0), name(1)));
    if let Some(answer) = catalogue(request) {
        return Ok(answer);
    }
    match request.operation.as_str() {
        "ListClusters" => {
            let names: Vec<&str> = holdings.all(here, "cluster").map(|cluster| cluster.id.as_str()).collect();
            return Ok(json!({"clusters": names}));
        }
        "CreateCluster" => return create_cluster(holdings, here, request, caller),
        "TagResource" | "UntagResource" => return tag(holdings, here, request),
        _ => {}
    }
    let Some(found) = holdings.get_mut(here, "cluster", cluster) else {
        return refuse(404, "ResourceNotFoundException", format!("No cluster found for name: {cluster}."));
    };
    match request.operation.as_str() {
        "DescribeCluster" => return Ok(json!({"cluster": rendered_cluster(found, here.now)})),
        "DeleteCluster" => return delete_cluster(found, here.now),
        "ListNodegroups" => return Ok(json!({"nodegroups": []})),
        _ => {}
    }
    let status = state(found, here.now);
    if request.changes() && status == "UPDATING" {
        return refuse(409, "ResourceInUseException", format!("Cluster {cluster} currently has an update in progress"));
    }
    if request.changes() && status != "ACTIVE" {
        let message = format!("Cluster {cluster} is not in ACTIVE status, its status is {status}");
        return refuse(400, "InvalidRequestException", message);
    }
    match request.operation.as_str() {
        "CreateAddon" => create_addon(holdings, here, request),
        "DescribeAddon" => {
            let addon = child(holdings, here, "addon", &id)?;
            Ok(json!({"addon": rendered(addon, &state(addon, here.now))}))
        }
        "DeleteAddon" => {
            child(holdings, here, "addon", &id)?;
            let addon = holdings.get_mut(here, "addon", &id).unwrap();
            addon.deleted.get_or_insert(here.now);
            addon.gone.get_or_insert(here.now + delta(Duration::from_secs(ADDON.1)));
            Ok(json!({"addon": rendered(addon, "DELETING")}))
        }
        "CreateAccessEntry" => create_entry(holdings, here, request),
        "CreatePodIdentityAssociation" => create_association(holdings, here, request),
        "ListAddons" => Ok(json!({"addons": names_within(holdings, here, "addon", cluster)})),
        "ListAccessEntries" => Ok(json!({"accessEntries": names_within(holdings, here, "entry", cluster)})),
        "ListPodIdentityAssociations" => {
            let all = holdings.all(here, "association").filter(|one| one.text("clusterName") == cluster);
            let wanted = |one: &&Object| {
                ["namespace", "serviceAccount"]
                    .iter()
                    .all(|field| matches!(request.field(field), "") || one.text(field) == request.field(field))
            };
            let list: Vec<Value> = all.filter(wanted).map(summary).collect();
            Ok(json!({"associations": list}))
        }
        other => existing(holdings, here, request, other, &id),
    }
}

/// Calls on access entries and associations that are there.
fn existing(holdings: &mut Holdings, here: Here<'_>, request: &Request, operation: &str, id: &str) -> Result<Value, Refusal> {
    let kind = if operation.contains("PodIdentity") { "association" } else { "entry" };
    child(holdings, here, kind, id)?;
    let object = holdings.get_mut(here, kind, id).unwrap();
    let word = if kind == "entry" { "accessEntry" } else { "association" };
    match operation {
        "DescribeAccessEntry" | "DescribePodIdentityAssociation" => {}
        "DeleteAccessEntry" | "DeletePodIdentityAssociation" => {
            (object.deleted, object.gone) = (Some(here.now), Some(here.now));
        }
        "UpdateAccessEntry" | "UpdatePodIdentityAssociation" => {
            if let Some(role) = request.body["roleArn"].as_str().map(str::to_owned) {
                pod_role(holdings, here, &role)?;
            }
            let object = holdings.get_mut(here, kind, id).unwrap();
            for (field, value) in
                request.body.as_object().into_iter().flatten().filter(|(field, _)| *field != "clientRequestToken")
            {
                object.body[field] = value.clone();
            }
            return Ok(json!({word: rendered_child(object)}));
        }
        "ListAssociatedAccessPolicies" => return Ok(json!({"associatedAccessPolicies": object.body["policies"]})),
        "AssociateAccessPolicy" => {
            let policies = object.body["policies"].as_array_mut().unwrap();
            policies.retain(|policy| policy["policyArn"] != request.body["policyArn"]);
            policies.push(json!({"policyArn": request.body["policyArn"], "accessScope": request.body["accessScope"]}));
            return Ok(json!({"clusterName": request.names[0], "associatedAccessPolicy": policies.last()}));
        }
        "DisassociateAccessPolicy" => {
            let policies = object.body["policies"].as_array_mut().unwrap();
            let before = policies.len();
            policies.retain(|policy| policy["policyArn"] != request.names[2].as_str());
            if policies.len() == before {
                return refuse(404, "ResourceNotFoundException", "The associated access policy could not be found.");
            }
            return Ok(json!({}));
        }
        other => panic!("no operation of EKS: {other}"),
    }
    Ok(json!({word: rendered_child(object)}))
}

/// What lives in a cluster, by the names that EKS lists.
fn names_within<'a>(holdings: &'a Holdings, here: Here<'a>, kind: &'a str, cluster: &str) -> Vec<&'a str> {
    let all = holdings.all(here, kind).filter_map(|one| one.id.split_once('|'));
    all.filter(|(within, _)| *within == cluster).map(|(_, name)| name).collect()
}

/// What is not going away.
fn child<'a>(holdings: &'a Holdings, here: Here<'a>, kind: &'a str, id: &str) -> Result<&'a Object, Refusal> {
    match holdings.get(here, kind, id) {
        Some(object) => Ok(object),
        None => refuse(404, "ResourceNotFoundException", format!("No {kind}: {id} found.")),
    }
}

fn by_token(holdings: &Holdings, here: Here<'_>, request: &Request) -> (String, Option<String>) {
    let token = request.body["clientRequestToken"].as_str().unwrap_or_default();
    let key = format!("{}:{}:{}:{token}", here.account, here.region, request.operation);
    let found = holdings.tokens.get(&key).cloned();
    (key, found)
}

fn create_cluster(holdings: &mut Holdings, here: Here<'_>, request: &Request, caller: &str) -> Result<Value, Refusal> {
    let name = request.body["name"].as_str().unwrap_or_default().to_owned();
    let (token, earlier) = by_token(holdings, here, request);
    if let Some(there) = holdings.get(here, "cluster", &name) {
        if earlier.as_deref() == Some(&name) {
            return Ok(json!({"cluster": rendered_cluster(there, here.now)}));
        }
        return refuse(409, "ResourceInUseException", format!("Cluster already exists with name: {name}"));
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (role, nodes) = (text(&request.body["roleArn"]), text(&request.body["computeConfig"]["nodeRoleArn"]));
    cluster_role(holdings, here, &role, "eks.amazonaws.com")?;
    cluster_role(holdings, here, &nodes, "ec2.amazonaws.com")?;
    let subnets: Vec<String> =
        request.body["resourcesVpcConfig"]["subnetIds"].as_array().into_iter().flatten().map(text).collect();
    let Some(vpc) = subnets.first().and_then(|id| Some(holdings.get(here, "subnet", id)?.text("vpcId").to_owned())) else {
        return refuse(400, "InvalidParameterException", "The subnet ID does not exist");
    };
    let mut body = request.body.clone();
    let arn = format!("arn:aws:eks:{}:{}:cluster/{name}", here.region, here.account);
    let fields = body.as_object_mut().unwrap();
    fields.remove("clientRequestToken");
    fields.insert("arn".into(), json!(arn));
    fields.insert("createdAt".into(), json!(here.now.timestamp()));
    fields.insert("platformVersion".into(), json!("eks.1"));
    fields.entry("tags").or_insert_with(|| json!({}));
    body["resourcesVpcConfig"]["vpcId"] = json!(vpc);
    body["resourcesVpcConfig"]["clusterSecurityGroupId"] = json!(holdings.id("sg"));
    let bootstrap = body["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] != false;
    let takes = seconds(holdings, "cluster create", CLUSTER.0);
    let cluster = holdings.make(here, "cluster", &name, body);
    at_once(cluster, here.now, takes);
    let answer = rendered_cluster(cluster, here.now);
    holdings.tokens.insert(token, name.clone());
    if bootstrap {
        let policy = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy";
        let policies = json!([{"policyArn": policy, "accessScope": {"type": "cluster", "namespaces": []}}]);
        implicit_entry(holdings, here, &name, &principal(caller), "STANDARD", &policies);
    }
    if !nodes.is_empty() {
        implicit_entry(holdings, here, &name, &nodes, "EC2", &json!([]));
    }
    Ok(json!({"cluster": answer}))
}

/// The role or user that a session is of.
fn principal(caller: &str) -> String {
    match caller.split_once(":assumed-role/") {
        Some((front, rest)) => {
            format!("{}:role/{}", front.replace(":sts:", ":iam:"), rest.split('/').next().unwrap_or_default())
        }
        None => caller.to_owned(),
    }
}

fn implicit_entry(holdings: &mut Holdings, here: Here<'_>, cluster: &str, principal: &str, kind: &str, policies: &Value) {
    let body = entry(here, cluster, principal, kind, policies);
    let made = holdings.make(here, "entry", &format!("{cluster}|{principal}"), body);
    made.implicit = true;
    at_once(made, here.now, Duration::ZERO);
}

fn entry(here: Here<'_>, cluster: &str, principal: &str, kind: &str, policies: &Value) -> Value {
    json!({
        "clusterName": cluster, "principalArn": principal, "type": kind, "username": principal, "kubernetesGroups": [],
        "accessEntryArn": format!("arn:aws:eks:{}:{}:access-entry/{cluster}/{principal}", here.region, here.account),
        "createdAt": here.now.timestamp(), "tags": {}, "policies": policies,
    })
}

/// EKS has several ways to say that it does not see a role, or not its policies.
fn cluster_role(holdings: &mut Holdings, here: Here<'_>, arn: &str, service: &str) -> Result<(), Refusal> {
    if arn.is_empty() {
        return Ok(());
    }
    if usable(holdings, here, arn, service) {
        return Ok(());
    }
    let texts = [
        format!("Role with arn: {arn}, could not be assumed because it does not exist or the trusted entity is not correct"),
        format!("The provided role doesn't have the Amazon EKS Managed Policies associated with it. Role: {arn}"),
        format!("Error in role params: {arn}"),
        format!("The role {arn} does not have permission to assume"),
    ];
    let text = texts[holdings.draws.below("words for a fresh role", texts.len())].clone();
    refuse(400, "InvalidParameterException", text)
}

fn pod_role(holdings: &Holdings, here: Here<'_>, arn: &str) -> Result<(), Refusal> {
    if usable(holdings, here, arn, "pods.eks.amazonaws.com") {
        return Ok(());
    }
    refuse(
        400,
        "InvalidParameterException",
        format!("Trust policy of role {arn} does not allow pods.eks.amazonaws.com to assume it"),
    )
}

fn create_addon(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let (cluster, name) = (request.names[0].clone(), request.body["addonName"].as_str().unwrap_or_default().to_owned());
    let id = format!("{cluster}|{name}");
    if let Some(there) = holdings.get(here, "addon", &id) {
        let (_, earlier) = by_token(holdings, here, request);
        if earlier.as_deref() == Some(&id) {
            return Ok(json!({"addon": rendered(there, &state(there, here.now))}));
        }
        return refuse(409, "ResourceInUseException", "Addon already exists.");
    }
    let mut body = own(request, &cluster);
    body["addonArn"] = json!(format!("arn:aws:eks:{}:{}:addon/{cluster}/{name}/1", here.region, here.account));
    body["createdAt"] = json!(here.now.timestamp());
    if body["addonVersion"].is_null() {
        body["addonVersion"] = json!("v1.3.8-eksbuild.2");
    }
    let takes = seconds(holdings, "addon create", ADDON.0);
    let answer = {
        let addon = holdings.make(here, "addon", &id, body);
        at_once(addon, here.now, takes);
        rendered(addon, "CREATING")
    };
    let (token, _) = by_token(holdings, here, request);
    holdings.tokens.insert(token, id);
    Ok(json!({"addon": answer}))
}

fn create_entry(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let (cluster, principal) = (request.names[0].clone(), request.body["principalArn"].as_str().unwrap_or_default().to_owned());
    let id = format!("{cluster}|{principal}");
    if holdings.get(here, "entry", &id).is_some() {
        return refuse(409, "ResourceInUseException", "The specified access entry resource is already in use on this cluster.");
    }
    if !usable(holdings, here, &principal, "") {
        return refuse(400, "InvalidParameterException", "The specified principalArn is invalid: invalid principal.");
    }
    let kind = request.body["type"].as_str().unwrap_or("STANDARD");
    let mut body = entry(here, &cluster, &principal, kind, &json!([]));
    for field in ["username", "kubernetesGroups", "tags"] {
        if !request.body[field].is_null() {
            body[field] = request.body[field].clone();
        }
    }
    let entry = holdings.make(here, "entry", &id, body);
    at_once(entry, here.now, Duration::ZERO);
    Ok(json!({"accessEntry": rendered_child(entry)}))
}

fn create_association(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let cluster = request.names[0].clone();
    let text = |field: &str| request.body[field].as_str().unwrap_or_default().to_owned();
    pod_role(holdings, here, &text("roleArn"))?;
    let same = |one: &&Object| {
        one.text("clusterName") == cluster && ["namespace", "serviceAccount"].iter().all(|field| one.text(field) == text(field))
    };
    if holdings.all(here, "association").any(|one| same(&one)) {
        return refuse(409, "ResourceInUseException", "Association already exists: a-1");
    }
    let id = holdings.id("a");
    let mut body = own(request, &cluster);
    body["associationId"] = json!(id);
    body["associationArn"] = json!(format!("arn:aws:eks:{}:{}:podidentityassociation/{cluster}/{id}", here.region, here.account));
    body["createdAt"] = json!(here.now.timestamp());
    let association = holdings.make(here, "association", &format!("{cluster}|{id}"), body);
    at_once(association, here.now, Duration::ZERO);
    Ok(json!({"association": rendered_child(association)}))
}

/// What a create call sends, of a cluster.
fn own(request: &Request, cluster: &str) -> Value {
    let mut body: Map<String, Value> = request.body.as_object().cloned().unwrap_or_default();
    body.remove("clientRequestToken");
    body.insert("clusterName".into(), json!(cluster));
    body.entry("tags").or_insert_with(|| json!({}));
    Value::Object(body)
}

/// EKS shows at once what it has.
fn at_once(object: &mut Object, now: DateTime<Utc>, takes: Duration) {
    (object.shown, object.usable, object.ready) = (now, now, now + delta(takes));
}

/// Around this many seconds.
fn seconds(holdings: &mut Holdings, label: &str, about: u64) -> Duration {
    Duration::from_secs(about).mul_f64(0.8 + 0.4 * holdings.draws.next(label))
}

/// A cluster takes along what lives in it.
fn delete_cluster(cluster: &mut Object, now: DateTime<Utc>) -> Result<Value, Refusal> {
    match state(cluster, now).as_str() {
        "ACTIVE" => {}
        "DELETING" => return Ok(json!({"cluster": rendered_cluster(cluster, now)})),
        status => {
            let message = format!("Cluster is in status {status}: an operation is in progress");
            return refuse(409, "ResourceInUseException", message);
        }
    }
    cluster.deleted = Some(now);
    cluster.gone = Some(now + delta(Duration::from_secs(CLUSTER.1)));
    Ok(json!({"cluster": rendered_cluster(cluster, now)}))
}

/// When a cluster is gone, so is what lived in it. Asked before each call.
pub(super) fn take_along(holdings: &mut Holdings, now: DateTime<Utc>) {
    let gone = |object: &&Object| object.kind == "cluster" && object.gone.is_some_and(|gone| gone <= now);
    let clusters: Vec<(String, String, String, Option<DateTime<Utc>>)> = holdings
        .objects
        .iter()
        .filter(gone)
        .map(|cluster| (cluster.account.clone(), cluster.region.clone(), cluster.id.clone(), cluster.gone))
        .collect();
    for (account, region, name, when) in clusters {
        let lives = |object: &&mut Object| {
            matches!(object.kind, "addon" | "entry" | "association")
                && object.account == account
                && object.region == region
                && object.gone.is_none()
                && object.text("clusterName") == name
                && when.is_some_and(|when| object.made <= when)
        };
        holdings.objects.iter_mut().filter(lives).for_each(|object| (object.deleted, object.gone) = (when, when));
    }
}

/// Whether something of a cluster sits in a subnet or a VPC.
pub(super) fn holds(holdings: &Holdings, here: Here<'_>, field: &str, id: &str) -> bool {
    holdings.all(here, "cluster").any(|cluster| {
        let place = &cluster.body["resourcesVpcConfig"][field];
        place == id || place.as_array().is_some_and(|list| list.iter().any(|one| one == id))
    })
}

fn state(object: &Object, now: DateTime<Utc>) -> String {
    let state = if object.deleted.is_some() {
        "DELETING"
    } else if now >= object.ready && object.busy.is_some_and(|until| now < until) {
        "UPDATING"
    } else if now >= object.ready {
        "ACTIVE"
    } else {
        "CREATING"
    };
    state.to_owned()
}

fn rendered(object: &Object, status: &str) -> Value {
    let mut body = object.body.clone();
    body["status"] = json!(status);
    body
}

fn rendered_child(object: &Object) -> Value {
    let mut body = object.body.clone();
    body.as_object_mut().unwrap().remove("policies");
    body
}

fn summary(association: &Object) -> Value {
    let field = |name: &str| association.body[name].clone();
    json!({
        "clusterName": field("clusterName"), "namespace": field("namespace"), "serviceAccount": field("serviceAccount"),
        "associationArn": field("associationArn"), "associationId": field("associationId"),
    })
}

/// Endpoint, authority and issuer are there with ACTIVE.
fn rendered_cluster(cluster: &Object, now: DateTime<Utc>) -> Value {
    let mut body = rendered(cluster, &state(cluster, now));
    if now >= cluster.ready {
        let id = &cluster.text("arn").bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let id = format!("{id:08X}{:08X}", cluster.made.timestamp());
        body["endpoint"] = json!(format!("https://{id}.gr7.{}.eks.amazonaws.com", cluster.region));
        body["certificateAuthority"] = json!({"data": "Q0E="});
        body["identity"] = json!({"oidc": {"issuer": format!("https://oidc.eks.{}.amazonaws.com/id/{id}", cluster.region)}});
    }
    body
}

fn tag(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let arn = request.names[0].as_str();
    let is_it = |object: &&mut Object| {
        let arns = ["arn", "addonArn", "accessEntryArn", "associationArn"];
        object.is_there(here.now) && object.account == here.account && arns.iter().any(|field| object.text(field) == arn)
    };
    let Some(object) = holdings.objects.iter_mut().find(is_it) else {
        return refuse(404, "NotFoundException", format!("Resource {arn} not found"));
    };
    let mut tags = object.tags();
    if request.operation == "TagResource" {
        let new = request.body["tags"].as_object().cloned().unwrap_or_default();
        tags.extend(new.into_iter().map(|(key, value)| (key, value.as_str().unwrap_or_default().to_owned())));
    } else {
        let keys = request.list("tagKeys");
        tags.retain(|key, _| !keys.contains(key));
    }
    object.set_tags(tags);
    Ok(json!({}))
}

/// What EKS has to offer.
fn catalogue(request: &Request) -> Option<Value> {
    match request.operation.as_str() {
        "DescribeClusterVersions" => {
            let version = |version: &str| {
                json!({
                    "clusterVersion": version, "clusterType": "eks", "versionStatus": "STANDARD_SUPPORT",
                    "endOfStandardSupportDate": 1_893_456_000, "endOfExtendedSupportDate": 1_924_992_000,
                })
            };
            let versions = ["1.35", "1.34", "1.33"].map(version);
            Some(json!({"clusterVersions": versions}))
        }
        "DescribeAddonVersions" => {
            let versions = ["v1.3.8-eksbuild.2", "v1.3.4-eksbuild.1"].map(|version| json!({"addonVersion": version}));
            let name = request.field("addonName");
            let is_known = fits("eks-pod-identity-*", name);
            Some(
                json!({"addons": is_known.then(|| json!({"addonName": name, "addonVersions": versions})).into_iter().collect::<Vec<_>>()}),
            )
        }
        _ => None,
    }
}
