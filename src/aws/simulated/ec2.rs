//! EC2: looking, tags, and VPCs with what is bound to nothing else. See [`super::ec2_network`] for what lives in VPCs.

use super::ec2_network as network;
use super::eks::holds;
use super::objects::{Here, Holdings, Object};
use super::wire::{Refusal, Request, fits, moment, refuse};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How long a NAT gateway takes to go.
pub(super) const NAT_GOES: TimeDelta = TimeDelta::seconds(45);

pub(super) fn serve(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    match request.operation.as_str() {
        "DescribeVpcs" => Ok(describe(holdings, here, request, "vpc", "vpcSet")),
        "DescribeSubnets" => Ok(describe(holdings, here, request, "subnet", "subnetSet")),
        "DescribeInternetGateways" => Ok(describe(holdings, here, request, "internet-gateway", "internetGatewaySet")),
        "DescribeNatGateways" => Ok(describe(holdings, here, request, "natgateway", "natGatewaySet")),
        "DescribeAddresses" => Ok(describe(holdings, here, request, "elastic-ip", "addressesSet")),
        "DescribeRouteTables" => Ok(describe(holdings, here, request, "route-table", "routeTableSet")),
        "DescribeTags" => Ok(describe_tags(holdings, here, request)),
        "DescribeNetworkInterfaces" => Ok(json!({"networkInterfaceSet": []})),
        "DescribeSecurityGroups" => Ok(json!({"securityGroupInfo": []})),
        "DescribeAccountAttributes" => Ok(json!({"accountAttributeSet": []})),
        "DescribeAvailabilityZones" => Ok(zones(here)),
        "DescribeVpcAttribute" => vpc_attribute(holdings, here, request),
        "CreateTags" | "DeleteTags" => tag(holdings, here, request),
        "CreateVpc" => Ok(create_vpc(holdings, here, request)),
        "ModifyVpcAttribute" => modify_vpc(holdings, here, request),
        "AssociateVpcCidrBlock" => associate_block(holdings, here, request),
        "DisassociateVpcCidrBlock" => disassociate_block(holdings, here, request),
        "DeleteVpc" => delete_vpc(holdings, here, request),
        "CreateInternetGateway" => Ok(create_gateway(holdings, here, request)),
        "AttachInternetGateway" => attach(holdings, here, request),
        "DetachInternetGateway" => detach(holdings, here, request),
        "DeleteInternetGateway" => delete_gateway(holdings, here, request),
        "AllocateAddress" => Ok(allocate(holdings, here, request)),
        "ReleaseAddress" => release(holdings, here, request),
        _ => network::serve(holdings, here, request),
    }
}

/// Tags of a create call.
pub(super) fn tag_set(request: &Request) -> Value {
    tag_list(request.pairs("TagSpecification.1.Tag"))
}

fn tag_list(tags: BTreeMap<String, String>) -> Value {
    tags.into_iter().map(|(key, value)| json!({"key": key, "value": value})).collect()
}

/// The object that a call needs, once such calls see it.
pub(super) fn needed<'a>(holdings: &'a mut Holdings, here: Here<'_>, kind: &str, id: &str) -> Result<&'a mut Object, Refusal> {
    match holdings.get_mut(here, kind, id).filter(|object| object.is_usable(here.now)) {
        Some(object) => Ok(object),
        None => refuse(400, not_found(kind), format!("The {kind} ID '{id}' does not exist")),
    }
}

fn not_found(kind: &str) -> &'static str {
    match kind {
        "vpc" => "InvalidVpcID.NotFound",
        "subnet" => "InvalidSubnetID.NotFound",
        "internet-gateway" => "InvalidInternetGatewayID.NotFound",
        "natgateway" => "NatGatewayNotFound",
        "elastic-ip" => "InvalidAllocationID.NotFound",
        _ => "InvalidRouteTableID.NotFound",
    }
}

fn describe(holdings: &Holdings, here: Here<'_>, request: &Request, kind: &str, set: &str) -> Value {
    let filters = request.filters();
    let by_tags = filters.iter().any(|(name, _)| name.starts_with("tag:"));
    let is_shown = |object: &&Object| if by_tags { object.is_shown_by_tags(here.now) } else { object.is_shown(here.now) };
    let rendered = holdings.ever(here, kind).filter(is_shown).map(|object| rendered(holdings, here, object));
    let found: Vec<Value> = rendered.filter(|body| filters.iter().all(|(name, patterns)| passes(body, name, patterns))).collect();
    json!({set: found})
}

fn passes(body: &Value, name: &str, patterns: &[String]) -> bool {
    let text = |field: &str| vec![body[field].as_str().unwrap_or_default()];
    let values: Vec<&str> = match name {
        "vpc-id" => text("vpcId"),
        "subnet-id" => text("subnetId"),
        "internet-gateway-id" => text("internetGatewayId"),
        "nat-gateway-id" => text("natGatewayId"),
        "allocation-id" => text("allocationId"),
        "route-table-id" => text("routeTableId"),
        "attachment.vpc-id" => {
            let attachments = body["attachmentSet"].as_array().into_iter().flatten();
            attachments.filter_map(|attachment| attachment["vpcId"].as_str()).collect()
        }
        "association.subnet-id" => {
            let associations = body["associationSet"].as_array().into_iter().flatten();
            associations.filter_map(|association| association["subnetId"].as_str()).collect()
        }
        _ => {
            let key = name.strip_prefix("tag:").unwrap_or_else(|| panic!("no filter {name}"));
            let tags = body["tagSet"].as_array().into_iter().flatten().filter(|tag| tag["key"] == key);
            tags.filter_map(|tag| tag["value"].as_str()).collect()
        }
    };
    values.iter().any(|value| patterns.iter().any(|pattern| fits(pattern, value)))
}

/// An object as it is answered now.
pub(super) fn rendered(holdings: &Holdings, here: Here<'_>, object: &Object) -> Value {
    let mut body = object.body.clone();
    body.as_object_mut().unwrap().remove("attributes");
    match object.kind {
        "natgateway" => {
            body["state"] = json!(nat_state(object, here.now));
            if object.body["failureCode"].is_string() && !object.is_ready(here.now) && object.deleted.is_none() {
                body["failureCode"] = Value::Null;
            }
            body["deleteTime"] = object.deleted.map_or(Value::Null, |deleted| json!(moment(deleted)));
        }
        "elastic-ip" => {
            if let Some(nat) = holder(holdings, here, &object.id) {
                body["associationId"] = json!(format!("eipassoc-{}", nat.id));
                body["networkInterfaceId"] = json!(format!("eni-{}", nat.id));
                body["networkInterfaceOwnerId"] = json!(here.account);
            }
        }
        _ => {}
    }
    body
}

/// The NAT gateway that holds an address.
pub(super) fn holder<'a>(holdings: &'a Holdings, here: Here<'a>, address: &'a str) -> Option<&'a Object> {
    let holds = |nat: &&Object| {
        nat.body["natGatewayAddressSet"][0]["allocationId"] == address
            && !matches!(nat_state(nat, here.now), "deleted" | "failed")
    };
    holdings.all(here, "natgateway").find(holds)
}

pub(super) fn nat_state(nat: &Object, now: DateTime<Utc>) -> &'static str {
    match nat.deleted {
        Some(deleted) if now >= deleted + NAT_GOES => "deleted",
        Some(_) => "deleting",
        None if now < nat.ready => "pending",
        None if nat.body["failureCode"].is_string() => "failed",
        None => "available",
    }
}

fn describe_tags(holdings: &Holdings, here: Here<'_>, request: &Request) -> Value {
    let filters = request.filters();
    let mut found = Vec::new();
    // Tags may be shown for a while after their object is gone.
    let of_ec2 = |object: &&Object| {
        object.account == here.account
            && object.region == here.region
            && object.body["tagSet"].is_array()
            && object.is_shown_by_tags(here.now)
    };
    for object in holdings.objects.iter().filter(of_ec2) {
        for (key, value) in object.tags() {
            let fits_filter = |(name, patterns): &(String, Vec<String>)| {
                let text = match name.as_str() {
                    "key" => &key,
                    "value" => &value,
                    "resource-id" => &object.id,
                    "resource-type" => object.kind,
                    other => panic!("no filter {other}"),
                };
                patterns.iter().any(|pattern| fits(pattern, text))
            };
            if filters.iter().all(fits_filter) {
                found.push(json!({"resourceId": object.id, "resourceType": object.kind, "key": key, "value": value}));
            }
        }
    }
    json!({"tagSet": found})
}

fn zones(here: Here<'_>) -> Value {
    let zone = |letter: &str| {
        let number = letter.as_bytes()[0] - b'a' + 1;
        json!({
            "zoneName": format!("{}{letter}", here.region), "zoneId": format!("usw2-az{number}"), "zoneState": "available",
            "zoneType": "availability-zone", "regionName": here.region,
        })
    };
    let zones = ["a", "b", "c", "d"].map(zone);
    json!({"availabilityZoneInfo": zones})
}

fn tag(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let id = request.field("ResourceId.1");
    let is_it = |object: &&mut Object| object.id == id && object.account == here.account && object.is_usable(here.now);
    let Some(object) = holdings.objects.iter_mut().find(is_it) else {
        return refuse(400, "InvalidID", format!("The ID '{id}' is not valid"));
    };
    let mut tags = object.tags();
    let given = request.pairs("Tag");
    if request.operation == "CreateTags" {
        tags.extend(given);
    } else {
        tags.retain(|key, _| !given.contains_key(key));
    }
    object.set_tags(tags);
    Ok(json!({"return": true}))
}

/// With a main route table, which is nobody's to delete.
fn create_vpc(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Value {
    let (id, table) = (holdings.id("vpc"), holdings.id("rtb"));
    let block = request.field("CidrBlock");
    let body = json!({
        "vpcId": id, "ownerId": here.account, "cidrBlock": block, "instanceTenancy": "default", "isDefault": false,
        "state": "available", "dhcpOptionsId": "dopt-1", "tagSet": tag_set(request),
        "cidrBlockAssociationSet": [
            {"associationId": format!("vpc-cidr-assoc-{id}"), "cidrBlock": block, "cidrBlockState": {"state": "associated"}},
        ],
        "attributes": {"EnableDnsSupport": true, "EnableDnsHostnames": false, "EnableNetworkAddressUsageMetrics": false},
    });
    let main = network::table(here, &table, &id, block, true, &json!([]));
    holdings.make(here, "route-table", &table, main).implicit = true;
    let vpc = holdings.make(here, "vpc", &id, body.clone());
    let mut body = vpc.body.clone();
    body.as_object_mut().unwrap().remove("attributes");
    body["state"] = json!("pending");
    json!({"vpc": body})
}

fn vpc_attribute(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let (id, name) = (request.field("VpcId"), request.field("Attribute"));
    let vpc = needed(holdings, here, "vpc", id)?;
    let key = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
    Ok(json!({"vpcId": id, name: {"value": vpc.body["attributes"][&key]}}))
}

fn modify_vpc(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let vpc = needed(holdings, here, "vpc", request.field("VpcId"))?;
    for name in ["EnableDnsSupport", "EnableDnsHostnames", "EnableNetworkAddressUsageMetrics"] {
        let value = request.field(&format!("{name}.Value"));
        if !value.is_empty() {
            vpc.body["attributes"][name] = json!(value == "true");
        }
    }
    Ok(json!({"return": true}))
}

fn associate_block(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let (id, block) = (holdings.id("vpc-cidr-assoc"), request.field("CidrBlock"));
    let vpc = needed(holdings, here, "vpc", request.field("VpcId"))?;
    let blocks = vpc.body["cidrBlockAssociationSet"].as_array_mut().unwrap();
    if blocks.iter().any(|one| one["cidrBlock"] == block) {
        return refuse(400, "InvalidVpc.Range", format!("The CIDR '{block}' conflicts with one of the VPC's own."));
    }
    let new = json!({"associationId": id, "cidrBlock": block, "cidrBlockState": {"state": "associated"}});
    blocks.push(new.clone());
    Ok(json!({"vpcId": vpc.id, "cidrBlockAssociation": new}))
}

fn disassociate_block(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let id = request.field("AssociationId");
    for vpc in holdings.objects.iter_mut().filter(|one| one.kind == "vpc" && one.account == here.account) {
        let blocks = vpc.body["cidrBlockAssociationSet"].as_array_mut().unwrap();
        if let Some(index) = blocks.iter().position(|one| one["associationId"] == id) {
            let gone = blocks.remove(index);
            return Ok(json!({"vpcId": vpc.id, "cidrBlockAssociation": gone}));
        }
    }
    refuse(
        400,
        "InvalidVpcCidrBlockAssociationIdError.NotFound",
        format!("The vpc CIDR block association ID '{id}' does not exist"),
    )
}

fn delete_vpc(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let id = request.field("VpcId");
    if holdings.get(here, "vpc", id).is_none() {
        return refuse(400, "InvalidVpcID.NotFound", format!("The vpc ID '{id}' does not exist"));
    }
    let within = |object: &&Object| {
        let lives = matches!(object.kind, "subnet" | "route-table") && object.text("vpcId") == id && !object.implicit;
        let attached = object.kind == "internet-gateway" && object.body["attachmentSet"][0]["vpcId"] == id;
        object.is_there(here.now) && (lives || attached)
    };
    if holdings.objects.iter().any(|object| within(&object)) || holds(holdings, here, "vpcId", id) {
        return refuse(400, "DependencyViolation", format!("The vpc '{id}' has dependencies and cannot be deleted."));
    }
    let tables: Vec<String> =
        holdings.all(here, "route-table").filter(|table| table.text("vpcId") == id).map(|table| table.id.clone()).collect();
    for table in &tables {
        holdings.remove(here, "route-table", table);
    }
    holdings.remove(here, "vpc", id);
    Ok(json!({"return": true}))
}

fn create_gateway(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Value {
    let id = holdings.id("igw");
    let body = json!({"internetGatewayId": id, "ownerId": here.account, "attachmentSet": [], "tagSet": tag_set(request)});
    let gateway = holdings.make(here, "internet-gateway", &id, body);
    json!({"internetGateway": gateway.body})
}

fn attach(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let (id, vpc) = (request.field("InternetGatewayId"), request.field("VpcId"));
    needed(holdings, here, "vpc", vpc)?;
    if holdings.all(here, "internet-gateway").any(|other| other.id != id && other.body["attachmentSet"][0]["vpcId"] == vpc) {
        let message = format!("Network {vpc} already has an internet gateway attached");
        return refuse(400, "InvalidParameterValue", message);
    }
    let gateway = needed(holdings, here, "internet-gateway", id)?;
    if !gateway.body["attachmentSet"].as_array().unwrap().is_empty() {
        return refuse(400, "Resource.AlreadyAssociated", format!("resource {id} is already attached to network {vpc}"));
    }
    gateway.body["attachmentSet"] = json!([{"vpcId": vpc, "state": "available"}]);
    Ok(json!({"return": true}))
}

/// Public addresses in use in the VPC hold its gateway.
fn detach(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let (id, vpc) = (request.field("InternetGatewayId"), request.field("VpcId"));
    let uses = |nat: &Object| nat.text("vpcId") == vpc && !matches!(nat_state(nat, here.now), "deleted" | "failed");
    if holdings.all(here, "natgateway").any(uses) {
        let message =
            format!("Network {vpc} has some mapped public address(es). Please unmap those before detaching the gateway.");
        return refuse(400, "DependencyViolation", message);
    }
    let Some(gateway) = holdings.get_mut(here, "internet-gateway", id) else {
        return refuse(400, "InvalidInternetGatewayID.NotFound", format!("The internetGateway ID '{id}' does not exist"));
    };
    if gateway.body["attachmentSet"][0]["vpcId"] != vpc {
        return refuse(400, "Gateway.NotAttached", format!("resource {id} is not attached to network {vpc}"));
    }
    gateway.body["attachmentSet"] = json!([]);
    Ok(json!({"return": true}))
}

fn delete_gateway(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let id = request.field("InternetGatewayId");
    let Some(gateway) = holdings.get(here, "internet-gateway", id) else {
        return refuse(400, "InvalidInternetGatewayID.NotFound", format!("The internetGateway ID '{id}' does not exist"));
    };
    if !gateway.body["attachmentSet"].as_array().unwrap().is_empty() {
        return refuse(400, "DependencyViolation", format!("The internetGateway '{id}' has dependencies and cannot be deleted."));
    }
    holdings.remove(here, "internet-gateway", id);
    Ok(json!({"return": true}))
}

fn allocate(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Value {
    let id = holdings.id("eipalloc");
    let number = holdings.last_id;
    let body = json!({
        "allocationId": id, "publicIp": format!("203.0.{}.{}", number / 256 % 256, number % 256), "domain": "vpc",
        "publicIpv4Pool": "amazon", "networkBorderGroup": here.region, "tagSet": tag_set(request),
    });
    let mut answer = holdings.make(here, "elastic-ip", &id, body).body.clone();
    answer.as_object_mut().unwrap().remove("tagSet");
    answer
}

fn release(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let id = request.field("AllocationId").to_owned();
    if holdings.get(here, "elastic-ip", &id).is_none() {
        return refuse(400, "InvalidAllocationID.NotFound", format!("The allocation ID '{id}' does not exist"));
    }
    if holder(holdings, here, &id).is_some() {
        if holdings.draws.next("words for a held address") < 0.5 {
            return refuse(400, "AuthFailure", "You do not have permission to access the specified resource.");
        }
        return refuse(400, "InvalidIPAddress.InUse", format!("Address {id} is in use."));
    }
    holdings.remove(here, "elastic-ip", &id);
    Ok(json!({"return": true}))
}
