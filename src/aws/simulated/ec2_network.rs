//! EC2: what lives in VPCs.

use super::ec2::{NAT_GOES, holder, nat_state, needed, rendered, tag_set};
use super::eks::holds;
use super::objects::{Here, Holdings, Object, delta};
use super::wire::{Refusal, Request, moment, refuse};
use chrono::TimeDelta;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a NAT gateway takes to come.
const NAT_COMES: u64 = 60;
/// How long one that is gone is shown.
const NAT_SHOWN: TimeDelta = TimeDelta::hours(1);

pub(super) fn serve(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    match request.operation.as_str() {
        "CreateSubnet" => create_subnet(holdings, here, request),
        "ModifySubnetAttribute" => modify_subnet(holdings, here, request),
        "DeleteSubnet" => delete_subnet(holdings, here, request),
        "CreateRouteTable" => create_table(holdings, here, request),
        "DeleteRouteTable" => delete_table(holdings, here, request),
        "AssociateRouteTable" => associate(holdings, here, request),
        "ReplaceRouteTableAssociation" => {
            let (subnet, _) = disassociate(holdings, here, request)?;
            let table = request.field("RouteTableId").to_owned();
            let association = add_association(holdings, here, &table, &subnet)?;
            Ok(json!({"newAssociationId": association, "associationState": {"state": "associated"}}))
        }
        "DisassociateRouteTable" => disassociate(holdings, here, request).map(|_| json!({"return": true})),
        "CreateRoute" => create_route(holdings, here, request),
        "ReplaceRoute" | "DeleteRoute" => change_route(holdings, here, request),
        "CreateNatGateway" => create_nat(holdings, here, request),
        "DeleteNatGateway" => delete_nat(holdings, here, request),
        other => panic!("no operation of EC2: {other}"),
    }
}

fn create_subnet(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let (vpc, block) = (request.field("VpcId"), request.field("CidrBlock"));
    needed(holdings, here, "vpc", vpc)?;
    if holdings.all(here, "subnet").any(|other| other.text("vpcId") == vpc && other.text("cidrBlock") == block) {
        return refuse(400, "InvalidSubnet.Conflict", format!("The CIDR '{block}' conflicts with another subnet"));
    }
    let id = holdings.id("subnet");
    let zone = request.field("AvailabilityZone");
    let number = zone.bytes().last().map_or(1, |letter| letter.saturating_sub(b'a') + 1);
    let body = json!({
        "subnetId": id, "vpcId": vpc, "cidrBlock": block, "availabilityZone": zone, "ownerId": here.account,
        "availabilityZoneId": format!("usw2-az{number}"), "state": "available", "availableIpAddressCount": 251,
        "defaultForAz": false, "mapPublicIpOnLaunch": false, "assignIpv6AddressOnCreation": false, "enableDns64": false,
        "subnetArn": format!("arn:aws:ec2:{}:{}:subnet/{id}", here.region, here.account),
        "privateDnsNameOptionsOnLaunch": {
            "hostnameType": "ip-name", "enableResourceNameDnsARecord": false, "enableResourceNameDnsAAAARecord": false,
        },
        "tagSet": tag_set(request),
    });
    Ok(json!({"subnet": holdings.make(here, "subnet", &id, body).body}))
}

fn modify_subnet(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let subnet = needed(holdings, here, "subnet", request.field("SubnetId"))?;
    for (name, field) in [("MapPublicIpOnLaunch", "mapPublicIpOnLaunch"), ("EnableDns64", "enableDns64")] {
        let value = request.field(&format!("{name}.Value"));
        if !value.is_empty() {
            subnet.body[field] = json!(value == "true");
        }
    }
    Ok(json!({"return": true}))
}

fn delete_subnet(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let id = request.field("SubnetId");
    if holdings.get(here, "subnet", id).is_none() {
        return refuse(400, "InvalidSubnetID.NotFound", format!("The subnet ID '{id}' does not exist"));
    }
    let nat = |nat: &Object| nat.text("subnetId") == id && !matches!(nat_state(nat, here.now), "deleted" | "failed");
    if holdings.all(here, "natgateway").any(nat) || holds(holdings, here, "subnetIds", id) {
        return refuse(400, "DependencyViolation", format!("The subnet '{id}' has dependencies and cannot be deleted."));
    }
    for table in holdings.objects.iter_mut().filter(|object| object.kind == "route-table") {
        table.body["associationSet"].as_array_mut().unwrap().retain(|association| association["subnetId"] != id);
    }
    holdings.remove(here, "subnet", id);
    Ok(json!({"return": true}))
}

pub(super) fn table(here: Here<'_>, id: &str, vpc: &str, block: &str, main: bool, tags: &Value) -> Value {
    let own = json!([{
        "routeTableAssociationId": format!("rtbassoc-{id}"), "routeTableId": id, "main": true,
        "associationState": {"state": "associated"},
    }]);
    json!({
        "routeTableId": id, "vpcId": vpc, "ownerId": here.account, "propagatingVgwSet": [], "tagSet": tags,
        "associationSet": if main { own } else { json!([]) },
        "routeSet": [
            {"destinationCidrBlock": block, "gatewayId": "local", "state": "active", "origin": "CreateRouteTable"},
        ],
    })
}

fn create_table(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let token = format!("{}:{}:CreateRouteTable:{}", here.account, here.region, request.field("ClientToken"));
    if let Some(there) = holdings.tokens.get(&token).and_then(|id| holdings.get(here, "route-table", id)) {
        return Ok(json!({"routeTable": there.body}));
    }
    let vpc = request.field("VpcId");
    let block = needed(holdings, here, "vpc", vpc)?.text("cidrBlock").to_owned();
    let id = holdings.id("rtb");
    let body = table(here, &id, vpc, &block, false, &tag_set(request));
    holdings.tokens.insert(token, id.clone());
    Ok(json!({"routeTable": holdings.make(here, "route-table", &id, body).body}))
}

fn delete_table(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let id = request.field("RouteTableId");
    let Some(table) = holdings.get(here, "route-table", id) else {
        return refuse(400, "InvalidRouteTableID.NotFound", format!("The routeTable ID '{id}' does not exist"));
    };
    if !table.body["associationSet"].as_array().unwrap().is_empty() {
        return refuse(400, "DependencyViolation", format!("The routeTable '{id}' has dependencies and cannot be deleted."));
    }
    holdings.remove(here, "route-table", id);
    Ok(json!({"return": true}))
}

fn associate(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let (table, subnet) = (request.field("RouteTableId").to_owned(), request.field("SubnetId").to_owned());
    needed(holdings, here, "subnet", &subnet)?;
    let own = |table: &Object| {
        table.body["associationSet"].as_array().is_some_and(|list| list.iter().any(|one| one["subnetId"] == subnet.as_str()))
    };
    if holdings.all(here, "route-table").any(own) {
        let message = format!("the specified association for route table {table} conflicts with an existing association");
        return refuse(400, "Resource.AlreadyAssociated", message);
    }
    let association = add_association(holdings, here, &table, &subnet)?;
    Ok(json!({"associationId": association, "associationState": {"state": "associated"}}))
}

fn add_association(holdings: &mut Holdings, here: Here<'_>, table: &str, subnet: &str) -> Result<String, Refusal> {
    let id = holdings.id("rtbassoc");
    let table = needed(holdings, here, "route-table", table)?;
    let association = json!({
        "routeTableAssociationId": id, "routeTableId": table.id, "subnetId": subnet, "main": false,
        "associationState": {"state": "associated"},
    });
    table.body["associationSet"].as_array_mut().unwrap().push(association);
    Ok(id)
}

/// The subnet and the table that an association was of.
fn disassociate(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<(String, String), Refusal> {
    let id = request.field("AssociationId");
    for table in holdings.objects.iter_mut().filter(|one| one.kind == "route-table" && one.account == here.account) {
        let associations = table.body["associationSet"].as_array_mut().unwrap();
        if let Some(index) = associations.iter().position(|one| one["routeTableAssociationId"] == id && one["main"] == false) {
            let association = associations.remove(index);
            return Ok((association["subnetId"].as_str().unwrap().to_owned(), table.id.clone()));
        }
    }
    refuse(400, "InvalidAssociationID.NotFound", format!("The association ID '{id}' does not exist"))
}

/// A route as it is wanted; its target has to be there.
fn route(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let mut route = json!({
        "destinationCidrBlock": request.field("DestinationCidrBlock"), "state": "active", "origin": "CreateRoute",
    });
    let (gateway, nat) = (request.field("GatewayId"), request.field("NatGatewayId"));
    if !gateway.is_empty() {
        let vpc = needed(holdings, here, "route-table", request.field("RouteTableId"))?.text("vpcId").to_owned();
        if needed(holdings, here, "internet-gateway", gateway)?.body["attachmentSet"][0]["vpcId"] != vpc.as_str() {
            let message = format!("route table and network gateway {gateway} belong to different networks");
            return refuse(400, "InvalidParameterValue", message);
        }
        route["gatewayId"] = json!(gateway);
    }
    if !nat.is_empty() {
        if holdings.get(here, "natgateway", nat).is_none_or(|nat| nat_state(nat, here.now) != "available") {
            return refuse(400, "InvalidNatGatewayID.NotFound", format!("The natGateway ID '{nat}' does not exist"));
        }
        route["natGatewayId"] = json!(nat);
    }
    Ok(route)
}

fn create_route(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let destination = request.field("DestinationCidrBlock");
    let table = needed(holdings, here, "route-table", request.field("RouteTableId"))?;
    if table.body["routeSet"].as_array().unwrap().iter().any(|route| route["destinationCidrBlock"] == destination) {
        return refuse(400, "RouteAlreadyExists", format!("The route identified by {destination} already exists."));
    }
    let route = route(holdings, here, request)?;
    let table = needed(holdings, here, "route-table", request.field("RouteTableId"))?;
    table.body["routeSet"].as_array_mut().unwrap().push(route);
    Ok(json!({"return": true}))
}

fn change_route(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let destination = request.field("DestinationCidrBlock");
    let wanted = if request.operation == "ReplaceRoute" { Some(route(holdings, here, request)?) } else { None };
    let table = needed(holdings, here, "route-table", request.field("RouteTableId"))?;
    let routes = table.body["routeSet"].as_array_mut().unwrap();
    let before = routes.len();
    routes.retain(|route| route["destinationCidrBlock"] != destination);
    if routes.len() == before {
        return refuse(400, "InvalidRoute.NotFound", format!("no route with destination-cidr-block {destination}"));
    }
    routes.extend(wanted);
    Ok(json!({"return": true}))
}

/// Without an internet gateway, or with an address that is used already, it is made and fails.
fn create_nat(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let token = format!("{}:{}:CreateNatGateway:{}", here.account, here.region, request.field("ClientToken"));
    if let Some(there) = holdings.tokens.get(&token).and_then(|id| holdings.get(here, "natgateway", id)) {
        return Ok(json!({"natGateway": rendered(holdings, here, there)}));
    }
    let (subnet, address) = (request.field("SubnetId"), request.field("AllocationId"));
    let vpc = needed(holdings, here, "subnet", subnet)?.text("vpcId").to_owned();
    let ip = needed(holdings, here, "elastic-ip", address)?.text("publicIp").to_owned();
    let has_gateway = holdings.all(here, "internet-gateway").any(|one| one.body["attachmentSet"][0]["vpcId"] == vpc.as_str());
    let failure = match (has_gateway, holder(holdings, here, address)) {
        (false, _) => json!("Gateway.NotAttached"),
        (true, Some(_)) => json!("Resource.AlreadyAssociated"),
        (true, None) => Value::Null,
    };
    let id = holdings.id("nat");
    let body = json!({
        "natGatewayId": id, "subnetId": subnet, "vpcId": vpc, "connectivityType": "public", "createTime": moment(here.now),
        "failureCode": failure, "tagSet": tag_set(request),
        "natGatewayAddressSet": [{"allocationId": address, "publicIp": ip, "isPrimary": true, "networkInterfaceId": format!("eni-{id}")}],
    });
    let takes = Duration::from_secs(NAT_COMES).mul_f64(0.8 + 0.4 * holdings.draws.next("nat gateway"));
    holdings.tokens.insert(token, id.clone());
    holdings.make(here, "natgateway", &id, body).ready = here.now + delta(takes);
    let there = holdings.get(here, "natgateway", &id).unwrap();
    Ok(json!({"natGateway": rendered(holdings, here, there)}))
}

fn delete_nat(holdings: &mut Holdings, here: Here<'_>, request: &Request) -> Result<Value, Refusal> {
    let id = request.field("NatGatewayId");
    let Some(nat) = holdings.get_mut(here, "natgateway", id).filter(|nat| nat_state(nat, here.now) != "deleted") else {
        return refuse(400, "NatGatewayNotFound", format!("The Nat Gateway {id} was not found"));
    };
    nat.deleted.get_or_insert(here.now);
    nat.gone.get_or_insert(here.now + NAT_GOES + NAT_SHOWN);
    Ok(json!({"natGatewayId": id}))
}
