//! Single objects of EC2, by id or by the tags that mark them as ours.
//!
//! Asks are coalesced (see [`super::batch`]) and sent as *filters*: an id that AWS does not know gives no answer
//! instead of failing the whole call, so absence is `None`, never an error.

use super::batch::{Batch, FILTER_VALUES};
use super::ec2::Reader;
use super::error::CallError;
use super::pages::pages;
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
    vpcs_tagged: Batch<Vec<Vpc>>,
    subnets_tagged: Batch<Vec<Subnet>>,
    internet_gateways_tagged: Batch<Vec<InternetGateway>>,
    nat_gateways_tagged: Batch<Vec<NatGateway>>,
    addresses_tagged: Batch<Vec<Address>>,
    route_tables_tagged: Batch<Vec<RouteTable>>,
}

/// A filter by several values.
fn filter(name: &str, values: &[String]) -> Filter {
    Filter::builder().name(name).set_values(Some(values.to_vec())).build()
}

/// Lineage and address, as one key of a batch. Neither holds a line break.
fn mark(lineage: &str, address: &str) -> String {
    format!("{lineage}\n{address}")
}

fn parts(mark: &str) -> (&str, &str) {
    mark.split_once('\n').unwrap_or((mark, ""))
}

/// Filters by lineage and address tag: what bears any of these marks, and perhaps more.
fn marked(marks: &[String]) -> Vec<Filter> {
    // AWS reads `*`, `?` and `\` in values as patterns.
    let literal = |value: &str| value.replace('\\', r"\\").replace('*', r"\*").replace('?', r"\?");
    let mut lineages: Vec<String> = marks.iter().map(|mark| literal(parts(mark).0)).collect();
    lineages.sort_unstable();
    lineages.dedup();
    let addresses: Vec<String> = marks.iter().map(|mark| literal(&tags::value(parts(mark).1))).collect();
    vec![filter(&format!("tag:{}", tags::LINEAGE), &lineages), filter(&format!("tag:{}", tags::ADDRESS), &addresses)]
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

                #[doc = concat!("Every ", stringify!($object), " with this lineage and this address (not hashed) in its tags. Asks at one time share a call.")]
                pub async fn $tagged(&self, lineage: &str, address: &str) -> Result<Vec<$object>, CallError> {
                    let reader = self.clone();
                    let read = move |marks: Vec<String>| async move {
                        let mut found: HashMap<String, Vec<$object>> = HashMap::new();
                        for some in marks.chunks(FILTER_VALUES) {
                            let objects = reader.$list(marked(some)).await?;
                            for mark in some {
                                let (lineage, address) = parts(mark);
                                let ours = objects.iter().filter(|object| bears(object.tags(), lineage, address));
                                found.insert(mark.clone(), ours.cloned().collect());
                            }
                        }
                        Ok(found)
                    };
                    Ok(self.lookups.$tagged.ask(&mark(lineage, address), read).await?.unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::simulated::{Call, Reply, Simulated, ec2_error, ec2_of};
    use futures::future::join_all;

    fn ok(body: &str) -> Reply {
        Reply::Answer(200, body.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn many_ids_are_one_call_and_a_missing_one_is_none() {
        let aws = Simulated::new(|call: &Call| {
            for part in ["Filter.1.Name=vpc-id", "Filter.1.Value.1=vpc-1", "Filter.1.Value.2=vpc-2", "Filter.1.Value.3=vpc-3"] {
                assert!(call.body.contains(part), "{}", call.body);
            }
            ok(
                "<DescribeVpcsResponse><vpcSet><item><vpcId>vpc-1</vpcId></item><item><vpcId>vpc-3</vpcId></item></vpcSet></DescribeVpcsResponse>",
            )
        });
        let reader = ec2_of(&aws);
        let found = join_all(["vpc-1", "vpc-2", "vpc-3"].map(|id| reader.vpc(id))).await;
        let ids: Vec<_> = found.into_iter().map(|vpc| vpc.unwrap().and_then(|vpc| vpc.vpc_id)).collect();
        assert_eq!(ids, [Some("vpc-1".into()), None, Some("vpc-3".into())]);
        assert_eq!(aws.count("DescribeVpcs"), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn all_pages_are_read() {
        let aws = Simulated::new(|call: &Call| {
            if call.body.contains("NextToken=more") {
                ok(
                    "<DescribeNatGatewaysResponse><natGatewaySet><item><natGatewayId>nat-2</natGatewayId></item></natGatewaySet></DescribeNatGatewaysResponse>",
                )
            } else {
                ok(
                    "<DescribeNatGatewaysResponse><natGatewaySet><item><natGatewayId>nat-1</natGatewayId></item></natGatewaySet><nextToken>more</nextToken></DescribeNatGatewaysResponse>",
                )
            }
        });
        let reader = ec2_of(&aws);
        let (one, two) = tokio::join!(reader.nat_gateway("nat-1"), reader.nat_gateway("nat-2"));
        assert!(one.unwrap().is_some() && two.unwrap().is_some());
        assert_eq!(aws.count("DescribeNatGateways"), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_goes_to_all() {
        let aws = Simulated::new(|_: &Call| ec2_error(403, "UnauthorizedOperation", "no"));
        let reader = ec2_of(&aws);
        let (one, two) = tokio::join!(reader.subnet("subnet-1"), reader.subnet("subnet-2"));
        assert_eq!(one.clone().unwrap_err().code, "UnauthorizedOperation");
        assert_eq!(one.unwrap_err(), two.unwrap_err());
        assert_eq!(aws.count("DescribeSubnets"), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn objects_are_found_by_our_tags_only() {
        let aws = Simulated::new(|call: &Call| {
            assert!(call.body.contains("Filter.1.Name=tag:fleetctl:lineage"), "{}", call.body);
            assert!(call.body.contains("Filter.2.Value.1=EksCluster/a/vpc/eip"), "{}", call.body);
            // An AWS that ignores filters: the second belongs to somebody else.
            let item = |id: &str, lineage: &str| {
                format!(
                    "<item><allocationId>{id}</allocationId><tagSet><item><key>fleetctl:lineage</key><value>{lineage}</value></item><item><key>fleetctl:address</key><value>EksCluster/a/vpc/eip</value></item></tagSet></item>"
                )
            };
            ok(&format!(
                "<DescribeAddressesResponse><addressesSet>{}{}</addressesSet></DescribeAddressesResponse>",
                item("eipalloc-1", "ours"),
                item("eipalloc-2", "theirs")
            ))
        });
        let found = ec2_of(&aws).addresses_tagged("ours", "EksCluster/a/vpc/eip").await.unwrap();
        assert_eq!(found.iter().map(|address| address.allocation_id().unwrap()).collect::<Vec<_>>(), ["eipalloc-1"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_subnet_leads_to_its_route_table() {
        let aws = Simulated::new(|call: &Call| {
            assert!(call.body.contains("Filter.1.Name=association.subnet-id"), "{}", call.body);
            ok(
                "<DescribeRouteTablesResponse><routeTableSet><item><routeTableId>rtb-1</routeTableId><associationSet><item><subnetId>subnet-1</subnetId></item><item><subnetId>subnet-2</subnetId></item></associationSet></item></routeTableSet></DescribeRouteTablesResponse>",
            )
        });
        let reader = ec2_of(&aws);
        let tables = join_all(["subnet-1", "subnet-2", "subnet-3"].map(|id| reader.route_table_of_subnet(id))).await;
        let ids: Vec<_> = tables.into_iter().map(|table| table.unwrap().and_then(|table| table.route_table_id)).collect();
        assert_eq!(ids, [Some("rtb-1".into()), Some("rtb-1".into()), None]);
        assert_eq!(aws.count("DescribeRouteTables"), 1);
    }

    #[test]
    fn patterns_in_values_are_taken_literally() {
        let filters = marked(&[mark("a*b", "x?y\\z")]);
        assert_eq!(filters[0].values(), [r"a\*b"]);
        assert_eq!(filters[1].values(), [r"x\?y\\z"]);
    }
}
