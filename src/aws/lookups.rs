//! Single objects of EC2, by id or by the tags that mark them as ours.
//!
//! Asks by id are coalesced (see [`super::batch`]) and sent as *filters*: an id that AWS does not know gives no answer
//! instead of failing the whole call, so absence is `None`, never an error.

use super::batch::{Batch, FILTER_VALUES, pages};
use super::ec2::Reader;
use super::error::CallError;
use super::tags;
use aws_sdk_ec2::types::{Address, Filter, InternetGateway, NatGateway, RouteTable, Subnet, Tag, Vpc};
use std::collections::HashMap;

/// The asks of one reader and its clones.
#[derive(Debug, Clone, Default)]
pub(super) struct Lookups {
    vpcs: Batch<Vpc>,
    subnets: Batch<Subnet>,
    internet_gateways: Batch<InternetGateway>,
    nat_gateways: Batch<NatGateway>,
    addresses: Batch<Address>,
    route_tables: Batch<RouteTable>,
    subnet_route_tables: Batch<RouteTable>,
}

/// A filter by several values.
fn filter(name: &str, values: &[String]) -> Filter {
    Filter::builder().name(name).set_values(Some(values.to_vec())).build()
}

/// Filters by lineage and address tag. AWS reads `*`, `?` and `\` in values as patterns.
fn marked(lineage: &str, address: &str) -> Vec<Filter> {
    [(tags::LINEAGE, lineage), (tags::ADDRESS, &tags::value(address))]
        .map(|(key, value)| {
            let literal = value.replace('\\', r"\\").replace('*', r"\*").replace('?', r"\?");
            filter(&format!("tag:{key}"), &[literal])
        })
        .to_vec()
}

/// Whether an object bears the tags that were asked for: never trust a filter with somebody else's object.
fn bears(object: &[Tag], lineage: &str, address: &str) -> bool {
    let has = |key: &str, value: &str| object.iter().any(|tag| tag.key() == Some(key) && tag.value() == Some(value));
    has(tags::LINEAGE, lineage) && has(tags::ADDRESS, &tags::value(address))
}

/// For one kind: the listing by filter, the coalesced lookup by id, the lookup by tags.
macro_rules! lookups {
    ($($object:ident, $list:ident: $describe:ident($input:ident, $filters:ident $(, $token:ident)?), $one:ident: $name:literal = $id:ident, $tagged:ident;)+) => {
        impl Reader {
            $(
                async fn $list(&self, filters: Vec<Filter>) -> Result<Vec<$object>, CallError> {
                    pages(|_token| async {
                        let input = aws_sdk_ec2::operation::$describe::builders::$input::default()
                            .$filters(Some(filters.clone()))$(.$token(_token))?;
                        let output = self.$describe(input).await?;
                        let next = lookups!(@next output $(, $token)?);
                        Ok((output.$list.unwrap_or_default(), next))
                    })
                    .await
                }

                #[doc = concat!("The ", stringify!($object), " with this id, or `None`. Asks at one time share a call by the filter `", $name, "`.")]
                pub async fn $one(&self, id: &str) -> Result<Option<$object>, CallError> {
                    let reader = self.clone();
                    let read = move |ids: Vec<String>| async move {
                        let mut found = HashMap::new();
                        for some in ids.chunks(FILTER_VALUES) {
                            let objects = reader.$list(vec![filter($name, some)]).await?;
                            found.extend(objects.into_iter().filter_map(|object| Some((object.$id.clone()?, object))));
                        }
                        Ok(found)
                    };
                    self.lookups.$list.ask(id, read).await
                }

                #[doc = concat!("Every ", stringify!($object), " with this lineage and this address (not hashed) in its tags.")]
                pub async fn $tagged(&self, lineage: &str, address: &str) -> Result<Vec<$object>, CallError> {
                    let mut objects = self.$list(marked(lineage, address)).await?;
                    objects.retain(|object| bears(object.tags(), lineage, address));
                    Ok(objects)
                }
            )+
        }
    };
    (@next $output:ident) => { None };
    (@next $output:ident, $token:ident) => { $output.next_token };
}

lookups! {
    Vpc, vpcs: describe_vpcs(DescribeVpcsInputBuilder, set_filters, set_next_token),
        vpc: "vpc-id" = vpc_id, vpcs_tagged;
    Subnet, subnets: describe_subnets(DescribeSubnetsInputBuilder, set_filters, set_next_token),
        subnet: "subnet-id" = subnet_id, subnets_tagged;
    InternetGateway, internet_gateways: describe_internet_gateways(DescribeInternetGatewaysInputBuilder, set_filters, set_next_token),
        internet_gateway: "internet-gateway-id" = internet_gateway_id, internet_gateways_tagged;
    NatGateway, nat_gateways: describe_nat_gateways(DescribeNatGatewaysInputBuilder, set_filter, set_next_token),
        nat_gateway: "nat-gateway-id" = nat_gateway_id, nat_gateways_tagged;
    Address, addresses: describe_addresses(DescribeAddressesInputBuilder, set_filters),
        address: "allocation-id" = allocation_id, addresses_tagged;
    RouteTable, route_tables: describe_route_tables(DescribeRouteTablesInputBuilder, set_filters, set_next_token),
        route_table: "route-table-id" = route_table_id, route_tables_tagged;
}

impl Reader {
    /// The route table that is associated with a subnet itself, or `None` where the VPC's main table serves it. Asks at
    /// one time share a call by the filter `association.subnet-id`.
    pub async fn route_table_of_subnet(&self, subnet: &str) -> Result<Option<RouteTable>, CallError> {
        let reader = self.clone();
        let read = move |subnets: Vec<String>| async move {
            let mut found = HashMap::new();
            for some in subnets.chunks(FILTER_VALUES) {
                for table in reader.route_tables(vec![filter("association.subnet-id", some)]).await? {
                    let subnets = table.associations().iter().filter_map(|association| association.subnet_id.clone());
                    found.extend(subnets.map(|subnet| (subnet, table.clone())));
                }
            }
            Ok(found)
        };
        self.lookups.subnet_route_tables.ask(subnet, read).await
    }
}
