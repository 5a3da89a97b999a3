//! `Subnet`: made from its VPC, block and zone; its attributes and its route table follow.
//!
//! A subnet has at most one route table of its own; without one the VPC's main table serves it. The association goes with
//! the subnet.

use super::obstacles::{self, Around};
use super::{Object, Read, Scene, SpecTag, after, boolean, created, list, observed, only, reference, tag_specification, there};
use crate::aws::ec2::Reader;
use crate::aws::error::{CallError, ErrorClass};
use crate::aws::tags::{Tags, of_ec2};
use crate::graph::catalog::{Field, ImpossibleValue, KindDescription, Production, Reference, Step};
use crate::kinds::catalog::{Facts, describe_ack};
use crate::kinds::compare::{self, Absent, How, Rule};
use crate::kinds::kind::{FieldChange, Observed, Readiness, StepError, Subject, Typical};
use crate::kinds::shared::{configure, create, creation, empty_answer, metadata, required, spec};
use crate::kinds::tags;
use crate::kinds::values::{self, Checker, Wrong};
use crate::state::file::Record;
use aws_sdk_ec2::operation::associate_route_table::builders::AssociateRouteTableInputBuilder;
use aws_sdk_ec2::operation::create_subnet::builders::CreateSubnetInputBuilder;
use aws_sdk_ec2::operation::delete_subnet::builders::DeleteSubnetInputBuilder;
use aws_sdk_ec2::operation::disassociate_route_table::builders::DisassociateRouteTableInputBuilder;
use aws_sdk_ec2::operation::modify_subnet_attribute::builders::ModifySubnetAttributeInputBuilder;
use aws_sdk_ec2::operation::replace_route_table_association::builders::ReplaceRouteTableAssociationInputBuilder;
use aws_sdk_ec2::types::{
    HostnameType, PrivateDnsNameOptionsOnLaunch, ResourceType, RouteTable, RouteTableAssociation, RouteTableAssociationStateCode,
    Subnet as Ec2Subnet, SubnetCidrBlockStateCode, SubnetIpv6CidrBlockAssociation, SubnetState,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::Duration;

/// Carries out `Subnet`. Known to AWS by its id.
#[derive(Debug, Clone, Copy)]
pub struct Subnet;

/// `spec`, as far as it is carried out. Booleans are enforced: absent is false.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SubnetSpec {
    /// The VPC it is in.
    #[serde(rename = "vpcID")]
    pub vpc_id: Option<String>,
    /// Its addresses, out of a block of the VPC.
    pub cidr_block: Option<String>,
    /// `us-west-2a`; AWS chooses when neither this nor the id is set.
    pub availability_zone: Option<String>,
    /// `usw2-az1`.
    #[serde(rename = "availabilityZoneID")]
    pub availability_zone_id: Option<String>,
    /// Whether network interfaces get a public address.
    #[serde(rename = "mapPublicIPOnLaunch")]
    pub map_public_ip_on_launch: Option<bool>,
    /// Whether network interfaces get an IPv6 address.
    #[serde(rename = "assignIPv6AddressOnCreation")]
    pub assign_ipv6_address_on_creation: Option<bool>,
    /// Whether names of IPv4 hosts get IPv6 addresses.
    #[serde(rename = "enableDNS64")]
    pub enable_dns64: Option<bool>,
    /// Whether names of instances get A records.
    #[serde(rename = "enableResourceNameDNSARecord")]
    pub enable_resource_name_dns_a_record: Option<bool>,
    /// Whether names of instances get AAAA records.
    #[serde(rename = "enableResourceNameDNSAAAARecord")]
    pub enable_resource_name_dns_aaaa_record: Option<bool>,
    /// `ip-name`, enforced when absent, or `resource-name`.
    pub hostname_type: Option<String>,
    /// At most one. Enforced: absent is none.
    pub route_tables: Option<Vec<String>>,
    /// Tags.
    pub tags: Option<Vec<SpecTag>>,
}

const FIELDS: &[Field] = &[
    create("spec.vpcID"),
    create("spec.cidrBlock"),
    create("spec.availabilityZone"),
    create("spec.availabilityZoneID"),
    create("spec.tags"),
    configure("spec.routeTables"),
    configure("spec.mapPublicIPOnLaunch"),
    configure("spec.assignIPv6AddressOnCreation"),
    configure("spec.enableDNS64"),
    configure("spec.enableResourceNameDNSARecord"),
    configure("spec.enableResourceNameDNSAAAARecord"),
    configure("spec.hostnameType"),
];

const REFERENCES: &[Reference] = &[
    reference("spec.vpcRef.from.name", "VPC", Step::Create, Production::Created),
    reference("spec.routeTableRefs[].from.name", "RouteTable", Step::Configure, Production::Created),
];

const RULES: &[Rule] = &[
    Rule::replacement("spec.vpcID", How::Exact, "a subnet cannot move to another VPC"),
    Rule::replacement("spec.cidrBlock", How::Exact, "the CIDR of a subnet cannot be changed"),
    Rule::replacement("spec.availabilityZone", How::Exact, "a subnet cannot move to another zone"),
    Rule::replacement("spec.availabilityZoneID", How::Exact, "a subnet cannot move to another zone"),
    Rule::in_place("spec.routeTables", How::Set).enforced(Absent::Nothing),
    Rule::in_place("spec.mapPublicIPOnLaunch", How::Exact).enforced(Absent::False),
    Rule::in_place("spec.assignIPv6AddressOnCreation", How::Exact).enforced(Absent::False),
    Rule::in_place("spec.enableDNS64", How::Exact).enforced(Absent::False),
    Rule::in_place("spec.enableResourceNameDNSARecord", How::Exact).enforced(Absent::False),
    Rule::in_place("spec.enableResourceNameDNSAAAARecord", How::Exact).enforced(Absent::False),
    Rule::in_place("spec.hostnameType", How::Exact).enforced(Absent::Text("ip-name")),
    Rule::in_place("spec.tags", How::Tags),
];

static DESCRIPTION: LazyLock<KindDescription> = LazyLock::new(|| {
    let published = &[("status.privateDNSNameOptionsOnLaunch", Production::Configured), ("status.state", Production::Ready)];
    describe_ack("Subnet", &Facts { fields: FIELDS, published, references: REFERENCES, ..Facts::default() })
});

/// A subnet, and the association with the route table that is its own.
fn observe(subject: &Subject, subnet: &Ec2Subnet, own: Option<&RouteTableAssociation>, tags: Tags) -> Observed {
    let options = subnet.private_dns_name_options_on_launch();
    let hostname_type = options.and_then(|options| options.hostname_type()).map(HostnameType::as_str);
    let a = options.and_then(PrivateDnsNameOptionsOnLaunch::enable_resource_name_dns_a_record);
    let aaaa = options.and_then(PrivateDnsNameOptionsOnLaunch::enable_resource_name_dns_aaaa_record);
    let spec = json!({
        "vpcID": subnet.vpc_id(),
        "cidrBlock": subnet.cidr_block(),
        "availabilityZone": subnet.availability_zone(),
        "availabilityZoneID": subnet.availability_zone_id(),
        "mapPublicIPOnLaunch": subnet.map_public_ip_on_launch(),
        "assignIPv6AddressOnCreation": subnet.assign_ipv6_address_on_creation(),
        "enableDNS64": subnet.enable_dns64(),
        "enableResourceNameDNSARecord": a,
        "enableResourceNameDNSAAAARecord": aaaa,
        "hostnameType": hostname_type,
        "routeTables": own.and_then(RouteTableAssociation::route_table_id).map(|table| vec![table]),
    });
    let status = json!({
        "ackResourceMetadata": metadata(subject, subnet.subnet_arn()),
        "subnetID": subnet.subnet_id(),
        "state": subnet.state().map(SubnetState::as_str),
        "ownerID": subnet.owner_id(),
        "availableIPAddressCount": subnet.available_ip_address_count(),
        "defaultForAZ": subnet.default_for_az(),
        "enableLniAtDeviceIndex": subnet.enable_lni_at_device_index(),
        "mapCustomerOwnedIPOnLaunch": subnet.map_customer_owned_ip_on_launch(),
        "ipv6CIDRBlockAssociationSet": subnet.ipv6_cidr_block_association_set().iter().map(ipv6).collect::<Vec<_>>(),
        "privateDNSNameOptionsOnLaunch": options.map(|_| json!({
            "enableResourceNameDNSARecord": a,
            "enableResourceNameDNSAAAARecord": aaaa,
            "hostnameType": hostname_type,
        })),
    });
    observed(subnet.subnet_id().unwrap_or_default(), spec, status, tags, readiness(subnet, own))
}

fn ipv6(association: &SubnetIpv6CidrBlockAssociation) -> Value {
    json!({
        "associationID": association.association_id(),
        "ipv6CIDRBlock": association.ipv6_cidr_block(),
        "ipv6CIDRBlockState": association.ipv6_cidr_block_state().map(|state| json!({
            "state": state.state().map(SubnetCidrBlockStateCode::as_str),
            "statusMessage": state.status_message(),
        })),
    })
}

fn readiness(subnet: &Ec2Subnet, own: Option<&RouteTableAssociation>) -> Readiness {
    let association = own.and_then(|association| association.association_state()).and_then(|state| state.state());
    match (subnet.state(), association) {
        (Some(SubnetState::Available), None | Some(RouteTableAssociationStateCode::Associated)) => Readiness::Ready,
        (Some(SubnetState::Available), Some(state)) => Readiness::Waiting(state.as_str().to_owned()),
        (state, _) => Readiness::Waiting(state.map_or("pending", SubnetState::as_str).to_owned()),
    }
}

/// The association of a subnet in its own table, if it stands.
fn association<'a>(table: &'a RouteTable, subnet: &str) -> Option<&'a RouteTableAssociation> {
    let gone = |one: &&RouteTableAssociation| {
        let state = one.association_state().and_then(|state| state.state());
        matches!(
            state,
            Some(
                RouteTableAssociationStateCode::Disassociating
                    | RouteTableAssociationStateCode::Disassociated
                    | RouteTableAssociationStateCode::Failed
            )
        )
    };
    table.associations().iter().find(|one| one.subnet_id() == Some(subnet) && !gone(one))
}

async fn own(reader: &Reader, subnet: &str) -> Result<Option<RouteTableAssociation>, CallError> {
    let table = reader.route_table_of_subnet(subnet).await?;
    Ok(table.and_then(|table| association(&table, subnet).cloned()))
}

async fn complete(reader: &Reader, subject: &Subject, subnet: Option<Ec2Subnet>) -> Read {
    let Some(subnet) = subnet else { return Ok(None) };
    let own = own(reader, subnet.subnet_id().unwrap_or_default()).await?;
    Ok(Some(observe(subject, &subnet, own.as_ref(), of_ec2(subnet.tags()))))
}

/// The attributes to be changed, one a call: EC2 takes no more.
fn attribute_inputs(changes: &[FieldChange]) -> Vec<ModifySubnetAttributeInputBuilder> {
    let on = |path: &str| after(changes, path).and_then(Value::as_bool).map(boolean);
    let input = ModifySubnetAttributeInputBuilder::default;
    let inputs = [
        on("spec.mapPublicIPOnLaunch").map(|on| input().map_public_ip_on_launch(on)),
        on("spec.assignIPv6AddressOnCreation").map(|on| input().assign_ipv6_address_on_creation(on)),
        on("spec.enableDNS64").map(|on| input().enable_dns64(on)),
        on("spec.enableResourceNameDNSARecord").map(|on| input().enable_resource_name_dns_a_record_on_launch(on)),
        on("spec.enableResourceNameDNSAAAARecord").map(|on| input().enable_resource_name_dns_aaaa_record_on_launch(on)),
        after(changes, "spec.hostnameType")
            .and_then(Value::as_str)
            .map(|name| input().private_dns_hostname_type_on_launch(HostnameType::from(name))),
    ];
    inputs.into_iter().flatten().collect()
}

/// Gives a subnet its route table, in place of another one without a gap in between.
async fn route_by(scene: Scene<'_>, observed: &Observed, wanted: Option<&str>) -> Result<(), StepError> {
    let subnet = observed.id.as_str();
    let has_own = !list(&observed.spec["routeTables"]).is_empty();
    let own = if has_own { own(scene.reader(), subnet).await.map_err(StepError::Refused)? } else { None };
    match (own, wanted) {
        (Some(own), Some(wanted)) => replace_association(scene, subnet, &own, wanted).await,
        (Some(own), None) => {
            let input = DisassociateRouteTableInputBuilder::default().set_association_id(own.route_table_association_id);
            let make = |permit| scene.writer().disassociate_route_table(permit, input.clone());
            scene.part_removal("DisassociateRouteTable", subnet, make).await
        }
        (None, Some(wanted)) => match associate(scene, subnet, wanted).await {
            Err(StepError::Refused(refused)) if refused.class == ErrorClass::AlreadyExists => {
                match self::own(scene.reader(), subnet).await.map_err(StepError::Refused)? {
                    Some(own) => replace_association(scene, subnet, &own, wanted).await,
                    None => Err(StepError::Refused(refused)),
                }
            }
            done => done,
        },
        (None, None) => Ok(()),
    }
}

async fn associate(scene: Scene<'_>, subnet: &str, table: &str) -> Result<(), StepError> {
    let input = AssociateRouteTableInputBuilder::default().subnet_id(subnet).route_table_id(table);
    let make = |permit| scene.writer().associate_route_table(permit, input.clone());
    scene.call("AssociateRouteTable", subnet, make).await.map(drop)
}

/// Moves a subnet to another table; that it is there already is success.
async fn replace_association(scene: Scene<'_>, subnet: &str, own: &RouteTableAssociation, table: &str) -> Result<(), StepError> {
    if own.route_table_id() == Some(table) {
        return Ok(());
    }
    let input = ReplaceRouteTableAssociationInputBuilder::default()
        .set_association_id(own.route_table_association_id.clone())
        .route_table_id(table);
    let make = |permit| scene.writer().replace_route_table_association(permit, input.clone());
    scene.call("ReplaceRouteTableAssociation", subnet, make).await.map(drop)
}

/// More than one route table.
fn wrong_tables(tables: &Value) -> Option<Wrong> {
    let several = tables.as_array().is_some_and(|tables| tables.len() > 1);
    several.then(|| Wrong::new("a subnet has one route table, not several", "a list of one"))
}

impl Object for Subnet {
    const TYPICAL: Typical =
        Typical { create: Duration::from_secs(2), delete: Duration::from_secs(2), limit: Duration::from_mins(20) };

    fn description() -> &'static KindDescription {
        &DESCRIPTION
    }

    fn impossible_values(object: &Value) -> Vec<ImpossibleValue> {
        Checker::new(object)
            .texts("spec.vpcID", values::id(&["vpc-"]))
            .texts("spec.cidrBlock", values::cidr(16, 28))
            .texts("spec.availabilityZone", values::zone(values::region(object)))
            .texts("spec.hostnameType", values::one_of(&["ip-name", "resource-name"]))
            .texts("spec.routeTables[]", values::id(&["rtb-"]))
            .values("spec.routeTables", wrong_tables)
            .tags("spec.tags")
            .finish()
    }

    fn differences(subject: &Subject, desired: &Value, observed: &Observed) -> Vec<FieldChange> {
        compare::object(RULES, subject, desired, observed, None)
    }

    async fn read(reader: &Reader, subject: &Subject, record: &Record) -> Read {
        // Both at one time: that of a subnet which is not there is nobody's.
        let (subnet, own) = tokio::try_join!(reader.subnet(&record.id), own(reader, &record.id))?;
        Ok(subnet.map(|subnet| observe(subject, &subnet, own.as_ref(), of_ec2(subnet.tags()))))
    }

    async fn glance(reader: &Reader, subject: &Subject, record: &Record) -> Read {
        Ok(reader.subnet(&record.id).await?.map(|subnet| observe(subject, &subnet, None, of_ec2(subnet.tags()))))
    }

    async fn find(reader: &Reader, subject: &Subject) -> Read {
        let found = reader.subnets_tagged(&subject.marks.lineage, &subject.marks.address).await?;
        let found = there(found, Ec2Subnet::subnet_id, |id| async move { reader.subnet(&id).await }).await?;
        complete(reader, subject, only("Subnet", found, Ec2Subnet::subnet_id)?).await
    }

    async fn make(scene: Scene<'_>, desired: &Value) -> Result<(Record, Observed), StepError> {
        let subject = scene.subject;
        let wanted: SubnetSpec = spec(desired).map_err(StepError::Refused)?;
        let input = CreateSubnetInputBuilder::default()
            .vpc_id(required(wanted.vpc_id.as_ref(), "spec.vpcID")?)
            .cidr_block(required(wanted.cidr_block.as_ref(), "spec.cidrBlock")?)
            .set_availability_zone(wanted.availability_zone)
            .set_availability_zone_id(wanted.availability_zone_id)
            .tag_specifications(tag_specification(ResourceType::Subnet, subject, desired));
        let make = |permit| {
            let input = input.clone();
            async move {
                let answer = scene.writer().create_subnet(permit, input).await?;
                answer.subnet.ok_or_else(|| empty_answer("ec2", "CreateSubnet"))
            }
        };
        let see = |subnet: &Ec2Subnet| observe(subject, subnet, None, tags::wanted(subject, desired));
        let call = creation(subject, "CreateSubnet", desired);
        let (subnet, record) = scene.recorder.create(call, make, |subnet| created(see(subnet))).await?;
        Ok((record, see(&subnet)))
    }

    async fn change(scene: Scene<'_>, _desired: &Value, observed: &Observed, changes: &[FieldChange]) -> Result<(), StepError> {
        if let Some(tables) = after(changes, "spec.routeTables") {
            route_by(scene, observed, list(tables).first().copied()).await?;
        }
        for input in attribute_inputs(changes) {
            let input = input.subnet_id(&observed.id);
            let make = |permit| scene.writer().modify_subnet_attribute(permit, input.clone());
            scene.call("ModifySubnetAttribute", &observed.id, make).await?;
        }
        Ok(())
    }

    async fn remove(scene: Scene<'_>, id: &str) -> Result<(), StepError> {
        let input = DeleteSubnetInputBuilder::default().subnet_id(id);
        match scene.removal("DeleteSubnet", id, |permit| scene.writer().delete_subnet(permit, input.clone())).await {
            Err(error) => Err(obstacles::named(scene.reader(), Around::Subnet(id), error).await),
            done => done,
        }
    }
}

#[cfg(test)]
mod tests;
