//! `VPC`.
//!
//! A new VPC has DNS support and no DNS hostnames (EC2 API, `ModifyVpcAttribute`), so that a usual one needs two calls.
//! Its first CIDR block stays; others are associated and disassociated. The rules of its default security group are not
//! looked at: `disallowSecurityGroupDefaultRules` is not carried out, `status.securityGroupDefaultRulesExist` not given.

use super::obstacles::{self, Around};
use super::{Object, Read, Scene, SpecTag, after, boolean, created, list, observed, only, tag_specification, there};
use crate::aws::ec2::Reader;
use crate::aws::error::{CallError, ErrorClass};
use crate::aws::tags::{Tags, of_ec2};
use crate::graph::catalog::{Field, ImpossibleValue, KindDescription, Production};
use crate::kinds::catalog::{Facts, describe_ack};
use crate::kinds::compare::{self, Absent, How, Rule, at};
use crate::kinds::kind::{Changeability, FieldChange, Observed, Readiness, StepError, Subject, Typical};
use crate::kinds::shared::{configure, create, creation, empty_answer, metadata, required, spec};
use crate::kinds::tags;
use crate::kinds::values::{self, Checker};
use crate::state::file::Record;
use aws_sdk_ec2::operation::associate_vpc_cidr_block::builders::AssociateVpcCidrBlockInputBuilder;
use aws_sdk_ec2::operation::create_vpc::builders::CreateVpcInputBuilder;
use aws_sdk_ec2::operation::delete_vpc::builders::DeleteVpcInputBuilder;
use aws_sdk_ec2::operation::describe_vpc_attribute::builders::DescribeVpcAttributeInputBuilder;
use aws_sdk_ec2::operation::disassociate_vpc_cidr_block::builders::DisassociateVpcCidrBlockInputBuilder;
use aws_sdk_ec2::operation::modify_vpc_attribute::builders::ModifyVpcAttributeInputBuilder;
use aws_sdk_ec2::types::{
    ResourceType, Tenancy, Vpc as Ec2Vpc, VpcAttributeName, VpcCidrBlockAssociation, VpcCidrBlockStateCode,
    VpcIpv6CidrBlockAssociation, VpcState,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::Duration;

/// Carries out `VPC`. Known to AWS by its id.
#[derive(Debug, Clone, Copy)]
pub struct Vpc;

/// `spec`, as far as it is carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct VpcSpec {
    /// The first one is `CreateVpc`'s; the others are associated afterwards.
    pub cidr_blocks: Option<Vec<String>>,
    /// Enforced: absent is false.
    #[serde(rename = "enableDNSHostnames")]
    pub enable_dns_hostnames: Option<bool>,
    /// Enforced: absent is true.
    #[serde(rename = "enableDNSSupport")]
    pub enable_dns_support: Option<bool>,
    /// Left as it is when absent.
    pub enable_network_address_usage_metrics: Option<bool>,
    /// `default` or `dedicated`.
    pub instance_tenancy: Option<String>,
    /// Tags.
    pub tags: Option<Vec<SpecTag>>,
}

const FIELDS: &[Field] = &[
    create("spec.cidrBlocks"),
    create("spec.instanceTenancy"),
    create("spec.tags"),
    configure("spec.enableDNSHostnames"),
    configure("spec.enableDNSSupport"),
    configure("spec.enableNetworkAddressUsageMetrics"),
];

const RULES: &[Rule] = &[
    Rule::in_place("spec.cidrBlocks", How::Set),
    Rule::in_place("spec.enableDNSSupport", How::Exact).enforced(Absent::True),
    Rule::in_place("spec.enableDNSHostnames", How::Exact).enforced(Absent::False),
    Rule::in_place("spec.enableNetworkAddressUsageMetrics", How::Exact),
    Rule::replacement("spec.instanceTenancy", How::Exact, "the tenancy of a VPC cannot be changed"),
    Rule::in_place("spec.tags", How::Tags),
];

const FIRST_BLOCK: &str = "the first CIDR block of a VPC cannot be changed";

static DESCRIPTION: LazyLock<KindDescription> = LazyLock::new(|| {
    let published = &[("status.cidrBlockAssociationSet", Production::Configured), ("status.state", Production::Ready)];
    describe_ack("VPC", &Facts { fields: FIELDS, published, ..Facts::default() })
});

/// The attributes that `DescribeVpcs` leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Attributes {
    support: bool,
    hostnames: bool,
    metrics: bool,
}

/// Those of a VPC that was just made.
const NEW: Attributes = Attributes { support: true, hostnames: false, metrics: false };

/// They are asked for one by one.
async fn attributes(reader: &Reader, id: &str) -> Result<Attributes, CallError> {
    let input = |name| DescribeVpcAttributeInputBuilder::default().vpc_id(id).attribute(name);
    let ask = |name| Box::pin(reader.describe_vpc_attribute(input(name)));
    let (support, hostnames, metrics) = tokio::try_join!(
        ask(VpcAttributeName::EnableDnsSupport),
        ask(VpcAttributeName::EnableDnsHostnames),
        ask(VpcAttributeName::EnableNetworkAddressUsageMetrics),
    )?;
    Ok(Attributes {
        support: support.enable_dns_support.and_then(|attribute| attribute.value).unwrap_or(NEW.support),
        hostnames: hostnames.enable_dns_hostnames.and_then(|attribute| attribute.value).unwrap_or(NEW.hostnames),
        metrics: metrics.enable_network_address_usage_metrics.and_then(|attribute| attribute.value).unwrap_or(NEW.metrics),
    })
}

/// Those of a VPC whose attributes were all set, or never touched.
fn applied(record: &Record) -> Attributes {
    let on = |path: &str, new| at(&record.applied, path).as_bool().unwrap_or(new);
    Attributes {
        support: on("spec.enableDNSSupport", NEW.support),
        hostnames: on("spec.enableDNSHostnames", NEW.hostnames),
        metrics: on("spec.enableNetworkAddressUsageMetrics", NEW.metrics),
    }
}

/// A VPC with its attributes. `None` when it went away between the calls.
async fn complete(reader: &Reader, subject: &Subject, vpc: Option<Ec2Vpc>) -> Result<Option<Observed>, CallError> {
    let Some(vpc) = vpc else { return Ok(None) };
    match attributes(reader, vpc.vpc_id().unwrap_or_default()).await {
        Ok(attributes) => Ok(Some(observe(subject, &vpc, attributes, of_ec2(vpc.tags())))),
        Err(error) if error.class == ErrorClass::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn observe(subject: &Subject, vpc: &Ec2Vpc, attributes: Attributes, tags: Tags) -> Observed {
    let spec = json!({
        "cidrBlocks": blocks(vpc),
        "enableDNSSupport": attributes.support,
        "enableDNSHostnames": attributes.hostnames,
        "enableNetworkAddressUsageMetrics": attributes.metrics,
        "instanceTenancy": vpc.instance_tenancy().map(Tenancy::as_str),
    });
    let status = json!({
        "ackResourceMetadata": metadata(subject, None),
        "vpcID": vpc.vpc_id(),
        "state": vpc.state().map(VpcState::as_str),
        "ownerID": vpc.owner_id(),
        "isDefault": vpc.is_default(),
        "dhcpOptionsID": vpc.dhcp_options_id(),
        "cidrBlockAssociationSet": vpc.cidr_block_association_set().iter().map(association).collect::<Vec<_>>(),
        "ipv6CIDRBlockAssociationSet": vpc.ipv6_cidr_block_association_set().iter().map(ipv6).collect::<Vec<_>>(),
    });
    observed(vpc.vpc_id().unwrap_or_default(), spec, status, tags, readiness(vpc))
}

/// The blocks of a VPC, the first one first. AWS keeps rows of blocks that are gone or were refused for a while.
fn blocks(vpc: &Ec2Vpc) -> Vec<&str> {
    let first = vpc.cidr_block();
    let others = vpc.cidr_block_association_set().iter().filter(|one| is_there(one)).filter_map(|one| one.cidr_block());
    first.into_iter().chain(others.filter(|block| Some(*block) != first)).collect()
}

fn state(association: &VpcCidrBlockAssociation) -> Option<&VpcCidrBlockStateCode> {
    association.cidr_block_state().and_then(|state| state.state())
}

fn is_there(association: &VpcCidrBlockAssociation) -> bool {
    matches!(state(association), None | Some(VpcCidrBlockStateCode::Associated | VpcCidrBlockStateCode::Associating))
}

fn association(association: &VpcCidrBlockAssociation) -> Value {
    json!({
        "associationID": association.association_id(),
        "cidrBlock": association.cidr_block(),
        "cidrBlockState": association.cidr_block_state().map(|state| json!({
            "state": state.state().map(VpcCidrBlockStateCode::as_str),
            "statusMessage": state.status_message(),
        })),
    })
}

fn ipv6(association: &VpcIpv6CidrBlockAssociation) -> Value {
    json!({
        "associationID": association.association_id(),
        "ipv6CIDRBlock": association.ipv6_cidr_block(),
        "ipv6CIDRBlockState": association.ipv6_cidr_block_state().map(|state| json!({
            "state": state.state().map(VpcCidrBlockStateCode::as_str),
            "statusMessage": state.status_message(),
        })),
        "ipv6Pool": association.ipv6_pool(),
        "networkBorderGroup": association.network_border_group(),
    })
}

fn readiness(vpc: &Ec2Vpc) -> Readiness {
    let passing = |one: &&VpcCidrBlockAssociation| {
        matches!(state(one), Some(VpcCidrBlockStateCode::Associating | VpcCidrBlockStateCode::Disassociating))
    };
    match vpc.state() {
        Some(VpcState::Available) => match vpc.cidr_block_association_set().iter().find(passing) {
            Some(one) => Readiness::Waiting(state(one).map_or("associating", VpcCidrBlockStateCode::as_str).to_owned()),
            None => Readiness::Ready,
        },
        state => Readiness::Waiting(state.map_or("pending", VpcState::as_str).to_owned()),
    }
}

/// Changes the blocks: those that are not wanted go first, then the others come. The first one stays.
async fn change_blocks(scene: Scene<'_>, observed: &Observed, wanted: &[&str]) -> Result<(), StepError> {
    let there = list(&observed.spec["cidrBlocks"]);
    let writer = scene.writer();
    for block in there.iter().skip(1).filter(|block| !wanted.contains(block)) {
        let Some(association) = association_of(observed, block) else { continue };
        let input = DisassociateVpcCidrBlockInputBuilder::default().association_id(association);
        let make = |permit| writer.disassociate_vpc_cidr_block(permit, input.clone());
        scene.part_removal("DisassociateVpcCidrBlock", &observed.id, make).await?;
    }
    for block in wanted.iter().filter(|block| !there.contains(block)) {
        let input = AssociateVpcCidrBlockInputBuilder::default().vpc_id(&observed.id).cidr_block(*block);
        let make = |permit| writer.associate_vpc_cidr_block(permit, input.clone());
        scene.call("AssociateVpcCidrBlock", &observed.id, make).await?;
    }
    Ok(())
}

/// The association of a block that is there.
fn association_of<'a>(observed: &'a Observed, block: &str) -> Option<&'a str> {
    let gone = ["disassociating", "disassociated", "failing", "failed"];
    let associations = observed.status["cidrBlockAssociationSet"].as_array()?;
    associations
        .iter()
        .filter(|one| one["cidrBlock"] == block)
        .find(|one| !at(one, "cidrBlockState.state").as_str().is_some_and(|state| gone.contains(&state)))
        .and_then(|one| one["associationID"].as_str())
}

/// The attributes to be changed, one a call: EC2 takes no more. Hostnames need support, so support goes on before and off
/// after them.
fn attribute_inputs(changes: &[FieldChange]) -> Vec<ModifyVpcAttributeInputBuilder> {
    let wanted = |path: &str| after(changes, path).and_then(Value::as_bool);
    let input = ModifyVpcAttributeInputBuilder::default;
    let support = wanted("spec.enableDNSSupport").map(|on| (on, input().enable_dns_support(boolean(on))));
    let hostnames = wanted("spec.enableDNSHostnames").map(|on| input().enable_dns_hostnames(boolean(on)));
    let metrics =
        wanted("spec.enableNetworkAddressUsageMetrics").map(|on| input().enable_network_address_usage_metrics(boolean(on)));
    let on = support.clone().filter(|(on, _)| *on).map(|(_, input)| input);
    let off = support.filter(|(on, _)| !*on).map(|(_, input)| input);
    [on, hostnames, off, metrics].into_iter().flatten().collect()
}

impl Object for Vpc {
    const TYPICAL: Typical =
        Typical { create: Duration::from_secs(2), delete: Duration::from_secs(2), limit: Duration::from_mins(10) };

    fn description() -> &'static KindDescription {
        &DESCRIPTION
    }

    fn impossible_values(object: &Value) -> Vec<ImpossibleValue> {
        Checker::new(object)
            .texts("spec.cidrBlocks[]", values::cidr(16, 28))
            .texts("spec.instanceTenancy", values::one_of(&["default", "dedicated"]))
            .tags("spec.tags")
            .finish()
    }

    /// Whether the blocks can be changed depends on whether the first one stays.
    fn differences(subject: &Subject, desired: &Value, observed: &Observed) -> Vec<FieldChange> {
        let mut changes = compare::object(RULES, subject, desired, observed, None);
        let first = list(&observed.spec["cidrBlocks"]).first().copied();
        let stays = first.is_none_or(|first| list(at(desired, "spec.cidrBlocks")).contains(&first));
        for change in changes.iter_mut().filter(|change| change.path == "spec.cidrBlocks" && !stays) {
            change.changeability = Changeability::Replacement;
            change.reason = Some(FIRST_BLOCK);
        }
        changes
    }

    async fn read(reader: &Reader, subject: &Subject, record: &Record) -> Read {
        complete(reader, subject, reader.vpc(&record.id).await?).await
    }

    async fn watch(reader: &Reader, subject: &Subject, record: &Record) -> Read {
        let vpc = reader.vpc(&record.id).await?;
        Ok(vpc.map(|vpc| observe(subject, &vpc, applied(record), of_ec2(vpc.tags()))))
    }

    async fn find(reader: &Reader, subject: &Subject) -> Read {
        let found = reader.vpcs_tagged(&subject.marks.lineage, &subject.marks.address).await?;
        let found = there(found, Ec2Vpc::vpc_id, |id| async move { reader.vpc(&id).await }).await?;
        complete(reader, subject, only("VPC", found, Ec2Vpc::vpc_id)?).await
    }

    async fn make(scene: Scene<'_>, desired: &Value) -> Result<(Record, Observed), StepError> {
        let subject = scene.subject;
        let wanted: VpcSpec = spec(desired).map_err(StepError::Refused)?;
        let block = wanted.cidr_blocks.as_ref().and_then(|blocks| blocks.first());
        let input = CreateVpcInputBuilder::default()
            .cidr_block(required(block, "spec.cidrBlocks")?)
            .set_instance_tenancy(wanted.instance_tenancy.as_deref().map(Tenancy::from))
            .tag_specifications(tag_specification(ResourceType::Vpc, subject, desired));
        let make = |permit| {
            let input = input.clone();
            async move { scene.writer().create_vpc(permit, input).await?.vpc.ok_or_else(|| empty_answer("ec2", "CreateVpc")) }
        };
        let see = |vpc: &Ec2Vpc| observe(subject, vpc, NEW, tags::wanted(subject, desired));
        let call = creation(subject, "CreateVpc", desired);
        let (vpc, record) = scene.recorder.create(call, make, |vpc| created(see(vpc))).await?;
        Ok((record, see(&vpc)))
    }

    async fn change(scene: Scene<'_>, _desired: &Value, observed: &Observed, changes: &[FieldChange]) -> Result<(), StepError> {
        if let Some(blocks) = after(changes, "spec.cidrBlocks") {
            change_blocks(scene, observed, &list(blocks)).await?;
        }
        for input in attribute_inputs(changes) {
            let input = input.vpc_id(&observed.id);
            let make = |permit| scene.writer().modify_vpc_attribute(permit, input.clone());
            scene.call("ModifyVpcAttribute", &observed.id, make).await?;
        }
        Ok(())
    }

    async fn remove(scene: Scene<'_>, id: &str) -> Result<(), StepError> {
        let input = DeleteVpcInputBuilder::default().vpc_id(id);
        match scene.removal("DeleteVpc", id, |permit| scene.writer().delete_vpc(permit, input.clone())).await {
            Err(error) => Err(obstacles::named(scene.reader(), Around::Vpc(id), error).await),
            done => done,
        }
    }
}

#[cfg(test)]
mod tests;
