use super::*;
use crate::kinds::ec2::tests::{changes, settled, subject};
use crate::kinds::kind::Changeability;
use aws_sdk_ec2::types::{Route as Ec2Route, RouteOrigin};

fn route(destination: &str, origin: &str) -> aws_sdk_ec2::types::builders::RouteBuilder {
    Ec2Route::builder().destination_cidr_block(destination).origin(RouteOrigin::from(origin))
}

/// A table with the local route, a default route through a NAT gateway, the route of a gateway endpoint, and one that is
/// propagated.
fn table() -> Observed {
    let endpoint =
        Ec2Route::builder().destination_prefix_list_id("pl-1").gateway_id("vpce-1").origin(RouteOrigin::CreateRoute).build();
    let table = Ec2RouteTable::builder()
        .route_table_id("rtb-1")
        .vpc_id("vpc-1")
        .routes(route("10.0.0.0/16", "CreateRouteTable").gateway_id("local").build())
        .routes(route("0.0.0.0/0", "CreateRoute").nat_gateway_id("nat-1").build())
        .routes(endpoint)
        .routes(route("192.168.0.0/16", "EnableVgwRoutePropagation").gateway_id("vgw-1").build())
        .build();
    observe(&subject(), &table, tags::wanted(&subject(), &json!({})))
}

fn wanted(routes: &Value) -> Value {
    json!({"spec": {"vpcID": "vpc-1", "routes": routes}})
}

#[test]
fn routes_of_aws_are_left_alone() {
    assert_eq!(table().spec["routes"], json!([{"destinationCIDRBlock": "0.0.0.0/0", "natGatewayID": "nat-1"}]));
    settled::<RouteTable>(&table());
    assert_eq!(table().status["routeStatuses"].as_array().unwrap().len(), 4);
}

#[test]
fn order_and_local_routes_do_not_matter() {
    let same = json!([
        {"destinationCIDRBlock": "10.0.0.0/16", "gatewayID": "local"},
        {"destinationCIDRBlock": "0.0.0.0/0", "natGatewayID": "nat-1"},
    ]);
    assert_eq!(changes::<RouteTable>(&wanted(&same), &table()), []);
}

#[test]
fn routes_are_told_apart_by_destination() {
    let other = json!([
        {"destinationCIDRBlock": "0.0.0.0/0", "gatewayID": "igw-1"},
        {"destinationIPv6CIDRBlock": "::/0", "egressOnlyInternetGatewayID": "eigw-1"},
    ]);
    let in_place = |path: &str| (path.to_owned(), Changeability::InPlace);
    assert_eq!(
        changes::<RouteTable>(&wanted(&other), &table()),
        [in_place("spec.routes[0.0.0.0/0]"), in_place("spec.routes[::/0]")]
    );
    assert_eq!(changes::<RouteTable>(&wanted(&json!([])), &table()), [in_place("spec.routes[0.0.0.0/0]")]);
    let moved = json!({"spec": {"vpcID": "vpc-2", "routes": [{"destinationCIDRBlock": "0.0.0.0/0", "natGatewayID": "nat-1"}]}});
    assert_eq!(changes::<RouteTable>(&moved, &table()), [("spec.vpcID".to_owned(), Changeability::Replacement)]);
}

#[test]
fn an_instance_comes_with_its_interface() {
    let route = route("0.0.0.0/0", "CreateRoute").instance_id("i-1").network_interface_id("eni-1").build();
    let table = Ec2RouteTable::builder().route_table_id("rtb-1").vpc_id("vpc-1").routes(route).build();
    let there = observe(&subject(), &table, tags::wanted(&subject(), &json!({})));
    for target in [json!({"instanceID": "i-1"}), json!({"networkInterfaceID": "eni-1"})] {
        let mut wanted_route = json!({"destinationCIDRBlock": "0.0.0.0/0"});
        wanted_route.as_object_mut().unwrap().extend(target.as_object().unwrap().clone());
        assert_eq!(changes::<RouteTable>(&wanted(&json!([wanted_route])), &there), []);
    }
}

#[test]
fn every_field_of_a_route_reaches_the_calls() {
    let schema = crate::kinds::schemas::ack_kind("RouteTable").unwrap();
    let names: Vec<String> = crate::kinds::schemas::paths(&schema.spec)
        .into_keys()
        .filter_map(|path| path.strip_prefix("routes[].").map(str::to_owned))
        .filter(|name| !name.contains("Ref"))
        .collect();
    assert_eq!(names.len(), 14);
    for name in names {
        let route: Route = serde_json::from_value(json!({name.clone(): "x"})).unwrap();
        assert_eq!(serde_json::to_value(&route).unwrap(), json!({name.clone(): "x"}));
        let (creation, replacement) = (format!("{:?}", route.creation()), format!("{:?}", route.replacement()));
        assert_eq!(creation.matches("Some(\"x\")").count(), 1, "{name}");
        assert_eq!(replacement.matches("Some(\"x\")").count(), 1, "{name}");
    }
}

#[test]
fn what_a_route_asks_of_its_target() {
    let asks = |path: &str| (DESCRIPTION.field(path).step, DESCRIPTION.field(path).asks);
    assert_eq!(asks("spec.vpcID"), (Step::Create, Production::Created));
    assert_eq!(asks("spec.routes[].gatewayID"), (Step::Configure, Production::Configured));
    assert_eq!(asks("spec.routes[].natGatewayID"), (Step::Configure, Production::Ready));
    assert_eq!(asks("spec.routes[].transitGatewayID"), (Step::Configure, Production::Created));
    assert!(!DESCRIPTION.field("spec.routes[].gatewayRef.from.name").carried_out);
    assert!(!DESCRIPTION.field("spec.vpcRef.from.name").carried_out);
}

#[test]
fn impossible_routes_are_found() {
    let routes = json!([
        {"destinationCIDRBlock": "0.0.0.0/0", "natGatewayID": "nat-1"},
        {"destinationCIDRBlock": "10.0.0.1/8", "gatewayID": "local"},
        {"destinationIPv6CIDRBlock": "::1/0", "gatewayID": "nat-1"},
        {"destinationCIDRBlock": "10.1.0.0/16", "natGatewayID": "nat-1", "instanceID": "i-1"},
        {"destinationCIDRBlock": "0.0.0.0/0", "natGatewayID": ""},
    ]);
    let found = RouteTable::impossible_values(&wanted(&routes));
    let paths: Vec<&str> = found.iter().map(|wrong| wrong.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "spec.routes[1].destinationCIDRBlock",
            "spec.routes[2].destinationIPv6CIDRBlock",
            "spec.routes[2].gatewayID",
            "spec.routes[4].natGatewayID",
            "spec.routes[3]",
            "spec.routes",
        ]
    );
}
