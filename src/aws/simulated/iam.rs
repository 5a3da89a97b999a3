//! IAM: roles, known by their names.

use super::objects::{Here, Holdings, Object};
use super::wire::{Refusal, Request, moment, refuse};
use chrono::{DateTime, Utc};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

/// A role's body. Documents are kept as they were given.
pub(super) fn role(account: &str, name: &str, path: &str, trust: &str, now: DateTime<Utc>) -> Value {
    json!({
        "Path": path, "RoleName": name, "RoleId": format!("AROA{name}"), "Arn": format!("arn:aws:iam::{account}:role{path}{name}"),
        "CreateDate": moment(now), "AssumeRolePolicyDocument": trust, "MaxSessionDuration": 3600,
        "attached": [], "inline": {}, "tags": {},
    })
}

pub(super) fn serve(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let name = request.field("RoleName");
    if request.operation == "CreateRole" {
        return create(holdings, here, request);
    }
    if request.operation == "ListRoles" {
        let shown = holdings.all(here, "role").filter(|role| role.is_shown(here.now));
        let roles: Vec<Value> = shown.map(listed).collect();
        return Ok(json!({"Roles": roles, "IsTruncated": false}));
    }
    let unknown = || refuse(404, "NoSuchEntity", format!("The role with name {name} cannot be found."));
    // Reads show a role a while after it was made, and so do calls that change it.
    if !request.changes() {
        let shown = holdings.ever(here, "role").filter(|role| role.id == name && role.is_shown(here.now)).last();
        return shown.map_or_else(unknown, |role| read(role, request));
    }
    let Some(role) = holdings.get_mut(here, "role", name).filter(|role| role.is_usable(here.now)) else {
        return unknown();
    };
    if request.operation == "DeleteRole" {
        return delete(holdings, here, name);
    }
    change(role, request)?;
    Ok(json!({}))
}

fn read(role: &Object, request: &Request) -> Result<Value, Refusal> {
    match request.operation.as_str() {
        "GetRole" => Ok(json!({"Role": rendered(role)})),
        "ListRoleTags" => Ok(json!({"Tags": tags(role), "IsTruncated": false})),
        "ListAttachedRolePolicies" => {
            let attached = role.body["attached"].as_array().cloned().unwrap_or_default();
            let list: Vec<Value> = attached.iter().map(|arn| json!({"PolicyName": "policy", "PolicyArn": arn})).collect();
            Ok(json!({"AttachedPolicies": list, "IsTruncated": false}))
        }
        "ListRolePolicies" => {
            let names: Vec<&String> = role.body["inline"].as_object().into_iter().flat_map(Map::keys).collect();
            Ok(json!({"PolicyNames": names, "IsTruncated": false}))
        }
        "ListInstanceProfilesForRole" => Ok(json!({"InstanceProfiles": [], "IsTruncated": false})),
        "GetRolePolicy" => {
            let policy = request.field("PolicyName");
            match role.body["inline"][policy].as_str() {
                Some(text) => Ok(json!({"RoleName": role.id, "PolicyName": policy, "PolicyDocument": encoded(text)})),
                None => refuse(404, "NoSuchEntity", format!("The role policy with name {policy} cannot be found.")),
            }
        }
        other => panic!("no operation of IAM: {other}"),
    }
}

fn create(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let name = request.field("RoleName");
    if holdings.get(here, "role", name).is_some() {
        return refuse(409, "EntityAlreadyExists", format!("Role with name {name} already exists."));
    }
    let path = Some(request.field("Path")).filter(|path| !path.is_empty()).unwrap_or("/");
    let mut body = role(here.account, name, path, request.field("AssumeRolePolicyDocument"), here.now);
    body["tags"] = json!(request.pairs("Tags.member"));
    for (field, key) in [("Description", "Description"), ("PermissionsBoundary", "boundary")] {
        if !request.field(field).is_empty() {
            body[key] = json!(request.field(field));
        }
    }
    if let Ok(seconds) = request.field("MaxSessionDuration").parse::<u32>() {
        body["MaxSessionDuration"] = json!(seconds);
    }
    let propagation = holdings.propagation;
    let told = here.now + super::objects::delta(holdings.draws.lag("role propagation", propagation));
    let role = holdings.make(here, "role", name, body);
    // What other services need to know.
    role.ready = told;
    Ok(json!({"Role": rendered(role)}))
}

/// A role in use by something is not deleted: its policies, the instance profile that EKS made for the nodes of a cluster.
fn delete(holdings: &mut Holdings, here: Here<'_>, name: &str) -> Result<Value, Refusal> {
    let Some(role) = holdings.get(here, "role", name) else { return refuse(404, "NoSuchEntity", "gone") };
    let has = |field: &str| match &role.body[field] {
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => false,
    };
    if has("attached") || has("inline") {
        return refuse(409, "DeleteConflict", "Cannot delete entity, must detach all policies first.");
    }
    let arn = role.text("Arn").to_owned();
    let lingers = chrono::TimeDelta::seconds(20);
    let nodes = holdings.objects.iter().any(|object| {
        object.kind == "cluster"
            && object.body["computeConfig"]["nodeRoleArn"] == arn.as_str()
            && object.gone.is_none_or(|gone| here.now < gone + lingers)
    });
    if nodes {
        return refuse(409, "DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.");
    }
    holdings.remove(here, "role", name);
    Ok(json!({}))
}

fn change(role: &mut Object, request: &Request) -> Result<(), Refusal> {
    let (policy, arn) = (request.field("PolicyName"), request.field("PolicyArn"));
    let missing = |what: &str| refuse(404, "NoSuchEntity", format!("Policy {what} was not found."));
    match request.operation.as_str() {
        "AttachRolePolicy" => {
            let attached = role.body["attached"].as_array_mut().unwrap();
            if !attached.iter().any(|one| one == arn) {
                attached.push(json!(arn));
            }
        }
        "DetachRolePolicy" => {
            let attached = role.body["attached"].as_array_mut().unwrap();
            let before = attached.len();
            attached.retain(|one| one != arn);
            if attached.len() == before {
                return missing(arn);
            }
        }
        "PutRolePolicy" => role.body["inline"][policy] = json!(request.field("PolicyDocument")),
        "DeleteRolePolicy" => {
            if role.body["inline"].as_object_mut().unwrap().remove(policy).is_none() {
                return missing(policy);
            }
        }
        "TagRole" => {
            let mut tags = role.tags();
            tags.extend(request.pairs("Tags.member"));
            role.set_tags(tags);
        }
        "UntagRole" => {
            let mut tags = role.tags();
            let keys = request.list("TagKeys.member");
            tags.retain(|key, _| !keys.contains(key));
            role.set_tags(tags);
        }
        "UpdateAssumeRolePolicy" => role.body["AssumeRolePolicyDocument"] = json!(request.field("PolicyDocument")),
        "UpdateRole" => {
            role.body["Description"] = json!(request.field("Description"));
            role.body["MaxSessionDuration"] = json!(request.field("MaxSessionDuration").parse().unwrap_or(3600));
        }
        "PutRolePermissionsBoundary" => role.body["boundary"] = json!(request.field("PermissionsBoundary")),
        "DeleteRolePermissionsBoundary" => role.body["boundary"] = Value::Null,
        other => panic!("no operation of IAM: {other}"),
    }
    Ok(())
}

fn rendered(role: &Object) -> Value {
    let mut body = role.body.clone();
    let fields = body.as_object_mut().unwrap();
    for hidden in ["attached", "inline", "tags", "boundary"] {
        fields.remove(hidden);
    }
    body["AssumeRolePolicyDocument"] = json!(encoded(role.text("AssumeRolePolicyDocument")));
    body["Tags"] = tags(role);
    if let Some(boundary) = role.body["boundary"].as_str() {
        body["PermissionsBoundary"] = json!({"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": boundary});
    }
    body
}

/// A list does not tell tags.
fn listed(role: &Object) -> Value {
    let mut body = rendered(role);
    body.as_object_mut().unwrap().remove("Tags");
    body
}

fn tags(role: &Object) -> Value {
    role.tags().into_iter().map(|(key, value)| json!({"Key": key, "Value": value})).collect()
}

/// IAM percent-encodes documents.
fn encoded(document: &str) -> String {
    utf8_percent_encode(document, NON_ALPHANUMERIC).to_string()
}

/// Whether EKS may use a role for a service: it is there, trusts it, and EKS has been told. Else in its words why not.
pub(super) fn usable(holdings: &Holdings, here: Here<'_>, arn: &str, service: &str) -> bool {
    let account = arn.split(':').nth(4).unwrap_or_default();
    let name = arn.rsplit('/').next().unwrap_or_default();
    let role = holdings.get(Here { account, region: "", now: here.now }, "role", name);
    role.is_some_and(|role| {
        role.is_ready(here.now) && (service.is_empty() || role.text("AssumeRolePolicyDocument").contains(service))
    })
}
