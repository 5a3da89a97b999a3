//! Second copies: objects that bear the marks of a recorded object without being it. A create call whose reply was lost, and
//! which AWS showed only after its absence had counted, leaves one.

use super::obstacles::{filter, interfaces};
use crate::aws::ec2::Reader;
use crate::aws::error::CallError;
use crate::kinds::kind::{SecondCopy, Subject};
use aws_sdk_ec2::operation::describe_internet_gateways::builders::DescribeInternetGatewaysInputBuilder;
use aws_sdk_ec2::operation::describe_route_tables::builders::DescribeRouteTablesInputBuilder;
use aws_sdk_ec2::operation::describe_subnets::builders::DescribeSubnetsInputBuilder;
use aws_sdk_ec2::types::{NatGateway, NatGatewayState, RouteTable};
use futures::future::try_join_all;

/// Ids of the objects of a kind begin with this.
pub(super) fn prefix(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "VPC" => "vpc-",
        "Subnet" => "subnet-",
        "InternetGateway" => "igw-",
        "ElasticIPAddress" => "eipalloc-",
        "NATGateway" => "nat-",
        "RouteTable" => "rtb-",
        _ => return None,
    })
}

/// Every object with the marks of a subject but the recorded one, and what uses it.
pub(super) async fn of(reader: &Reader, subject: &Subject, recorded: &str) -> Result<Vec<SecondCopy>, CallError> {
    let (lineage, address) = (subject.marks.lineage.as_str(), subject.marks.address.as_str());
    let mut copies = Vec::new();
    match subject.identity.kind.as_str() {
        "VPC" => {
            for id in ids(reader.vpcs_tagged(lineage, address).await?, |it| it.vpc_id, recorded) {
                copies.push(SecondCopy { used_by: in_vpc(reader, &id).await?, id });
            }
        }
        "Subnet" => {
            for id in ids(reader.subnets_tagged(lineage, address).await?, |it| it.subnet_id, recorded) {
                let used_by = interfaces(reader, "subnet-id", &id).await?;
                let used_by = used_by.into_iter().filter_map(|it| it.network_interface_id).collect();
                copies.push(SecondCopy { id, used_by });
            }
        }
        "InternetGateway" => {
            for gateway in reader.internet_gateways_tagged(lineage, address).await? {
                let used_by = gateway.attachments().iter().filter_map(|it| it.vpc_id().map(ToOwned::to_owned)).collect();
                copies.extend(gateway.internet_gateway_id.map(|id| SecondCopy { id, used_by }));
            }
        }
        "ElasticIPAddress" => {
            for address in reader.addresses_tagged(lineage, address).await? {
                let used_by = address.association_id.into_iter().chain(address.network_interface_id);
                let used_by = used_by.filter(|id| !id.is_empty()).collect();
                copies.extend(address.allocation_id.map(|id| SecondCopy { id, used_by }));
            }
        }
        "RouteTable" => {
            for table in reader.route_tables_tagged(lineage, address).await? {
                let used_by = table.associations().iter().map(|it| it.subnet_id().unwrap_or("its VPC").to_owned()).collect();
                copies.extend(table.route_table_id.map(|id| SecondCopy { id, used_by }));
            }
        }
        "NATGateway" => {
            for gateway in reader.nat_gateways_tagged(lineage, address).await?.into_iter().filter(is_there) {
                let used_by = routes_to(reader, &gateway).await?;
                copies.extend(gateway.nat_gateway_id.map(|id| SecondCopy { id, used_by }));
            }
        }
        _ => {}
    }
    copies.retain(|copy| copy.id != recorded);
    let kind = subject.identity.kind.as_str();
    let gone = try_join_all(copies.iter().map(|copy| is_gone(reader, kind, &copy.id))).await?;
    Ok(copies.into_iter().zip(gone).filter(|(_, gone)| !gone).map(|(copy, _)| copy).collect())
}

/// Whether an object that was found by its tags is gone: asked for by tags, EC2 shows it for a while longer.
pub(in crate::kinds) async fn is_gone(reader: &Reader, kind: &str, id: &str) -> Result<bool, CallError> {
    Ok(match kind {
        "VPC" => reader.vpc(id).await?.is_none(),
        "Subnet" => reader.subnet(id).await?.is_none(),
        "InternetGateway" => reader.internet_gateway(id).await?.is_none(),
        "ElasticIPAddress" => reader.address(id).await?.is_none(),
        "RouteTable" => reader.route_table(id).await?.is_none(),
        "NATGateway" => {
            let is_over =
                |gateway: &NatGateway| matches!(gateway.state, Some(NatGatewayState::Deleted | NatGatewayState::Deleting));
            reader.nat_gateway(id).await?.is_none_or(|gateway| is_over(&gateway))
        }
        // Of no kind that is known here: its tags are all that is known.
        _ => false,
    })
}

fn ids<T>(found: Vec<T>, id: impl Fn(T) -> Option<String>, recorded: &str) -> Vec<String> {
    found.into_iter().filter_map(id).filter(|id| id != recorded).collect()
}

/// AWS shows a NAT gateway for an hour after it is gone.
fn is_there(gateway: &NatGateway) -> bool {
    !matches!(gateway.state(), Some(NatGatewayState::Deleted | NatGatewayState::Deleting | NatGatewayState::Failed))
}

/// What is in a VPC but for what AWS makes with it.
async fn in_vpc(reader: &Reader, vpc: &str) -> Result<Vec<String>, CallError> {
    let subnets = DescribeSubnetsInputBuilder::default().filters(filter("vpc-id", vpc));
    let gateways = DescribeInternetGatewaysInputBuilder::default().filters(filter("attachment.vpc-id", vpc));
    let tables = DescribeRouteTablesInputBuilder::default().filters(filter("vpc-id", vpc));
    let (subnets, gateways, tables, interfaces) = futures::try_join!(
        Box::pin(reader.describe_subnets(subnets)),
        Box::pin(reader.describe_internet_gateways(gateways)),
        Box::pin(reader.describe_route_tables(tables)),
        Box::pin(interfaces(reader, "vpc-id", vpc)),
    )?;
    let is_main = |table: &RouteTable| table.associations().iter().any(|it| it.main() == Some(true));
    let subnets = subnets.subnets.unwrap_or_default().into_iter().filter_map(|it| it.subnet_id);
    let gateways = gateways.internet_gateways.unwrap_or_default().into_iter().filter_map(|it| it.internet_gateway_id);
    let tables = tables.route_tables.unwrap_or_default().into_iter().filter(|it| !is_main(it)).filter_map(|it| it.route_table_id);
    let interfaces = interfaces.into_iter().filter_map(|it| it.network_interface_id);
    Ok(subnets.chain(gateways).chain(tables).chain(interfaces).collect())
}

/// The route tables that lead to a NAT gateway.
async fn routes_to(reader: &Reader, gateway: &NatGateway) -> Result<Vec<String>, CallError> {
    let vpc = gateway.vpc_id().unwrap_or_default();
    let input = DescribeRouteTablesInputBuilder::default().filters(filter("vpc-id", vpc));
    let tables = reader.describe_route_tables(input).await?.route_tables.unwrap_or_default();
    let leads = |table: &RouteTable| table.routes().iter().any(|route| route.nat_gateway_id() == gateway.nat_gateway_id());
    Ok(tables.into_iter().filter(leads).filter_map(|table| table.route_table_id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::simulated::{Call, Reply, Simulated, ec2_of};

    /// Two VPCs with our marks; what else there is, is said by `used`.
    async fn found(used: &'static str) -> Vec<SecondCopy> {
        let aws = Simulated::new(move |call: &Call| {
            let tag = |key: &str, value: &str| format!("<item><key>fleetctl:{key}</key><value>{value}</value></item>");
            let marks = tag("lineage", "5f0c") + &tag("address", "EksCluster/workload-cluster1/basic/one");
            let vpc = |id: &str| format!("<item><vpcId>{id}</vpcId><tagSet>{marks}</tagSet></item>");
            let (name, items) = match call.operation.as_str() {
                "DescribeVpcs" => ("vpcSet", vpc("vpc-1") + &vpc("vpc-2")),
                "DescribeSubnets" => ("subnetSet", used.to_owned()),
                "DescribeRouteTables" => (
                    "routeTableSet",
                    "<item><routeTableId>rtb-1</routeTableId><associationSet><item><main>true</main></item></associationSet></item>".into(),
                ),
                _ => ("none", String::new()),
            };
            let operation = &call.operation;
            Reply::Answer(200, format!("<{operation}Response><{name}>{items}</{name}></{operation}Response>"))
        });
        of(&ec2_of(&aws), &crate::kinds::ec2::tests::subject(), "vpc-1").await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_vpc_is_told_with_what_uses_it() {
        let copy = |used_by: Vec<String>| vec![SecondCopy { id: "vpc-2".into(), used_by }];
        assert_eq!(found("").await, copy(Vec::new()), "its main route table goes with it");
        assert_eq!(found("<item><subnetId>subnet-9</subnetId></item>").await, copy(vec!["subnet-9".into()]));
    }
}
