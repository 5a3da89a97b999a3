//! One route: its destination, its target, and the calls that make, replace and remove it.

use crate::kinds::values::{Wrong, id};
use aws_sdk_ec2::operation::create_route::builders::CreateRouteInputBuilder;
use aws_sdk_ec2::operation::delete_route::builders::DeleteRouteInputBuilder;
use aws_sdk_ec2::operation::replace_route::builders::ReplaceRouteInputBuilder;
use aws_sdk_ec2::types::{Route as Ec2Route, RouteOrigin, RouteState};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The fields that tell routes apart: one of them is set.
pub(super) const DESTINATIONS: &[&str] = &["destinationCIDRBlock", "destinationIPv6CIDRBlock", "destinationPrefixListID"];

/// The gateway of the route that every table has.
pub(super) const LOCAL: &str = "local";

/// One of `spec.routes`: one destination, one target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Route {
    /// IPv4 block.
    #[serde(rename = "destinationCIDRBlock", skip_serializing_if = "Option::is_none")]
    pub destination_cidr_block: Option<String>,
    /// IPv6 block.
    #[serde(rename = "destinationIPv6CIDRBlock", skip_serializing_if = "Option::is_none")]
    pub destination_ipv6_cidr_block: Option<String>,
    /// Prefix list.
    #[serde(rename = "destinationPrefixListID", skip_serializing_if = "Option::is_none")]
    pub destination_prefix_list_id: Option<String>,
    /// Carrier gateway.
    #[serde(rename = "carrierGatewayID", skip_serializing_if = "Option::is_none")]
    pub carrier_gateway_id: Option<String>,
    /// Core network of a cloud WAN.
    #[serde(rename = "coreNetworkARN", skip_serializing_if = "Option::is_none")]
    pub core_network_arn: Option<String>,
    /// Egress-only internet gateway.
    #[serde(rename = "egressOnlyInternetGatewayID", skip_serializing_if = "Option::is_none")]
    pub egress_only_internet_gateway_id: Option<String>,
    /// Internet gateway or virtual private gateway.
    #[serde(rename = "gatewayID", skip_serializing_if = "Option::is_none")]
    pub gateway_id: Option<String>,
    /// Instance.
    #[serde(rename = "instanceID", skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// Local gateway.
    #[serde(rename = "localGatewayID", skip_serializing_if = "Option::is_none")]
    pub local_gateway_id: Option<String>,
    /// NAT gateway.
    #[serde(rename = "natGatewayID", skip_serializing_if = "Option::is_none")]
    pub nat_gateway_id: Option<String>,
    /// Network interface.
    #[serde(rename = "networkInterfaceID", skip_serializing_if = "Option::is_none")]
    pub network_interface_id: Option<String>,
    /// Transit gateway.
    #[serde(rename = "transitGatewayID", skip_serializing_if = "Option::is_none")]
    pub transit_gateway_id: Option<String>,
    /// Gateway load balancer endpoint.
    #[serde(rename = "vpcEndpointID", skip_serializing_if = "Option::is_none")]
    pub vpc_endpoint_id: Option<String>,
    /// Peering connection.
    #[serde(rename = "vpcPeeringConnectionID", skip_serializing_if = "Option::is_none")]
    pub vpc_peering_connection_id: Option<String>,
}

impl Route {
    /// A route as AWS has it. AWS answers a VPC endpoint as the gateway.
    pub(super) fn of(route: &Ec2Route) -> Self {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let gateway = route.gateway_id();
        let is_endpoint = |gateway: &&str| gateway.starts_with("vpce-");
        Self {
            destination_cidr_block: text(route.destination_cidr_block()),
            destination_ipv6_cidr_block: text(route.destination_ipv6_cidr_block()),
            destination_prefix_list_id: text(route.destination_prefix_list_id()),
            carrier_gateway_id: text(route.carrier_gateway_id()),
            core_network_arn: text(route.core_network_arn()),
            egress_only_internet_gateway_id: text(route.egress_only_internet_gateway_id()),
            gateway_id: text(gateway.filter(|gateway| !is_endpoint(gateway))),
            instance_id: text(route.instance_id()),
            local_gateway_id: text(route.local_gateway_id()),
            nat_gateway_id: text(route.nat_gateway_id()),
            network_interface_id: text(route.network_interface_id()),
            transit_gateway_id: text(route.transit_gateway_id()),
            vpc_endpoint_id: text(gateway.filter(is_endpoint)),
            vpc_peering_connection_id: text(route.vpc_peering_connection_id()),
        }
    }

    /// `CreateRoute`, without the table.
    pub(super) fn creation(&self) -> CreateRouteInputBuilder {
        CreateRouteInputBuilder::default()
            .set_destination_cidr_block(self.destination_cidr_block.clone())
            .set_destination_ipv6_cidr_block(self.destination_ipv6_cidr_block.clone())
            .set_destination_prefix_list_id(self.destination_prefix_list_id.clone())
            .set_carrier_gateway_id(self.carrier_gateway_id.clone())
            .set_core_network_arn(self.core_network_arn.clone())
            .set_egress_only_internet_gateway_id(self.egress_only_internet_gateway_id.clone())
            .set_gateway_id(self.gateway_id.clone())
            .set_instance_id(self.instance_id.clone())
            .set_local_gateway_id(self.local_gateway_id.clone())
            .set_nat_gateway_id(self.nat_gateway_id.clone())
            .set_network_interface_id(self.network_interface_id.clone())
            .set_transit_gateway_id(self.transit_gateway_id.clone())
            .set_vpc_endpoint_id(self.vpc_endpoint_id.clone())
            .set_vpc_peering_connection_id(self.vpc_peering_connection_id.clone())
    }

    /// `ReplaceRoute`, without the table.
    pub(super) fn replacement(&self) -> ReplaceRouteInputBuilder {
        ReplaceRouteInputBuilder::default()
            .set_destination_cidr_block(self.destination_cidr_block.clone())
            .set_destination_ipv6_cidr_block(self.destination_ipv6_cidr_block.clone())
            .set_destination_prefix_list_id(self.destination_prefix_list_id.clone())
            .set_carrier_gateway_id(self.carrier_gateway_id.clone())
            .set_core_network_arn(self.core_network_arn.clone())
            .set_egress_only_internet_gateway_id(self.egress_only_internet_gateway_id.clone())
            .set_gateway_id(self.gateway_id.clone())
            .set_instance_id(self.instance_id.clone())
            .set_local_gateway_id(self.local_gateway_id.clone())
            .set_nat_gateway_id(self.nat_gateway_id.clone())
            .set_network_interface_id(self.network_interface_id.clone())
            .set_transit_gateway_id(self.transit_gateway_id.clone())
            .set_vpc_endpoint_id(self.vpc_endpoint_id.clone())
            .set_vpc_peering_connection_id(self.vpc_peering_connection_id.clone())
    }

    /// `DeleteRoute`, without the table.
    pub(super) fn deletion(&self) -> DeleteRouteInputBuilder {
        DeleteRouteInputBuilder::default()
            .set_destination_cidr_block(self.destination_cidr_block.clone())
            .set_destination_ipv6_cidr_block(self.destination_ipv6_cidr_block.clone())
            .set_destination_prefix_list_id(self.destination_prefix_list_id.clone())
    }
}

/// Whether a route of a table is anybody's to change: it was made by a call, and is not that of a gateway endpoint, which
/// EC2 keeps itself (`DeleteRoute` refuses them). Routes that are propagated or come with the table are not.
pub(super) fn manageable(route: &Ec2Route) -> bool {
    let by_call = matches!(route.origin(), None | Some(RouteOrigin::CreateRoute));
    let local = route.gateway_id() == Some(LOCAL);
    let endpoint =
        route.destination_prefix_list_id().is_some() && route.gateway_id().is_some_and(|gateway| gateway.starts_with("vpce-"));
    by_call && !local && !endpoint
}

/// One of `status.routeStatuses`.
pub(super) fn status(route: &Ec2Route) -> Value {
    json!({
        "carrierGatewayID": route.carrier_gateway_id(),
        "coreNetworkARN": route.core_network_arn(),
        "destinationCIDRBlock": route.destination_cidr_block(),
        "destinationIPv6CIDRBlock": route.destination_ipv6_cidr_block(),
        "destinationPrefixListID": route.destination_prefix_list_id(),
        "egressOnlyInternetGatewayID": route.egress_only_internet_gateway_id(),
        "gatewayID": route.gateway_id(),
        "instanceID": route.instance_id(),
        "instanceOwnerID": route.instance_owner_id(),
        "localGatewayID": route.local_gateway_id(),
        "natGatewayID": route.nat_gateway_id(),
        "networkInterfaceID": route.network_interface_id(),
        "origin": route.origin().map(RouteOrigin::as_str),
        "state": route.state().map(RouteState::as_str),
        "transitGatewayID": route.transit_gateway_id(),
        "vpcPeeringConnectionID": route.vpc_peering_connection_id(),
    })
}

/// A gateway that is neither an internet gateway nor a virtual private one, nor `local`.
pub(super) fn wrong_gateway(text: &str) -> Option<Wrong> {
    if text == LOCAL {
        return None;
    }
    id(&["igw-", "vgw-", "vpce-"])(text)
}

/// A route with more than one destination, or more than one target.
pub(super) fn wrong_route(route: &Value) -> Option<Wrong> {
    let known = |name: &str, value: &Value| !value.is_null() && !name.ends_with("Ref");
    let fields = route.as_object()?.iter().filter(|(name, value)| known(name, value)).map(|(name, _)| name.as_str());
    let (destinations, targets): (Vec<&str>, Vec<&str>) = fields.partition(|name| DESTINATIONS.contains(name));
    let several = |what: &str, names: &[&str]| {
        (names.len() > 1)
            .then(|| Wrong::new(format!("a route has one {what}, not {}", names.join(" and ")), format!("one {what}")))
    };
    several("destination", &destinations).or_else(|| several("target", &targets))
}

/// Two routes with the same destination.
pub(super) fn wrong_list(routes: &Value) -> Option<Wrong> {
    let mut seen = BTreeSet::new();
    let destination = |route: &Value| DESTINATIONS.iter().find_map(|name| route.get(*name)?.as_str().map(str::to_owned));
    let twice = routes.as_array()?.iter().filter_map(destination).find(|destination| !seen.insert(destination.clone()))?;
    Some(Wrong::new(format!("two routes lead to {twice}"), "one route for each destination"))
}
