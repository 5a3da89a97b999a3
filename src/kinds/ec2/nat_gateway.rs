//! `NATGateway`: everything but its tags is settled when it is made.
//!
//! A gateway that was deleted stays visible for about an hour, in the state `deleted`: that counts as not there.

use super::{Object, Read, Scene, SpecTag, created, observed, only, reference, tag_specification};
use crate::aws::ec2::Reader;
use crate::aws::tags::{Tags, of_ec2};
use crate::graph::catalog::{Field, ImpliedEdge, ImpossibleValue, KindDescription, Production, Reference, Step};
use crate::kinds::catalog::{Facts, describe_ack};
use crate::kinds::compare::{self, How, Rule};
use crate::kinds::kind::{FieldChange, Observed, Readiness, StepError, Subject, Typical};
use crate::kinds::shared::{create, creation, empty_answer, metadata, moment, required, spec};
use crate::kinds::tags;
use crate::kinds::values::{self, Checker};
use crate::state::file::Record;
use crate::state::journal::Permit;
use aws_sdk_ec2::operation::create_nat_gateway::builders::CreateNatGatewayInputBuilder;
use aws_sdk_ec2::operation::delete_nat_gateway::builders::DeleteNatGatewayInputBuilder;
use aws_sdk_ec2::types::{
    ConnectivityType, NatGateway as Ec2NatGateway, NatGatewayAddress, NatGatewayState, ProvisionedBandwidth, ResourceType,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::Duration;

/// Carries out `NATGateway`. Known to AWS by its id.
#[derive(Debug, Clone, Copy)]
pub struct NatGateway;

/// `spec`, as far as it is carried out: gateways of one zone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NatGatewaySpec {
    /// The subnet it is in.
    #[serde(rename = "subnetID")]
    pub subnet_id: Option<String>,
    /// The address of a public gateway.
    #[serde(rename = "allocationID")]
    pub allocation_id: Option<String>,
    /// `public`, the default, or `private`.
    pub connectivity_type: Option<String>,
    /// Tags.
    pub tags: Option<Vec<SpecTag>>,
}

const FIELDS: &[Field] =
    &[create("spec.subnetID"), create("spec.allocationID"), create("spec.connectivityType"), create("spec.tags")];

const REFERENCES: &[Reference] = &[
    reference("spec.subnetRef.from.name", "Subnet", Step::Create, Production::Created),
    reference("spec.allocationRef.from.name", "ElasticIPAddress", Step::Create, Production::Created),
    reference("spec.vpcRef.from.name", "VPC", Step::Create, Production::Created),
];

const RULES: &[Rule] = &[
    Rule::replacement("spec.subnetID", How::Exact, "a NAT gateway cannot move to another subnet"),
    Rule::replacement("spec.allocationID", How::Exact, "the address of a NAT gateway cannot be changed"),
    Rule::replacement("spec.connectivityType", How::Exact, "the connectivity of a NAT gateway cannot be changed"),
    Rule::in_place("spec.tags", How::Tags),
];

const PUBLISHED: &[(&str, Production)] = &[
    ("status.state", Production::Ready),
    ("status.natGatewayAddresses", Production::Ready),
    ("status.provisionedBandwidth", Production::Ready),
];

static DESCRIPTION: LazyLock<KindDescription> = LazyLock::new(|| {
    let implied = &[ImpliedEdge::InternetGatewayOfVpc];
    let facts = Facts { fields: FIELDS, published: PUBLISHED, references: REFERENCES, implied, ..Facts::default() };
    describe_ack("NATGateway", &facts)
});

fn observe(subject: &Subject, gateway: &Ec2NatGateway, tags: Tags) -> Observed {
    let spec = json!({
        "subnetID": gateway.subnet_id(),
        "allocationID": allocation(gateway),
        "connectivityType": connectivity(gateway),
    });
    let status = json!({
        "ackResourceMetadata": metadata(subject, None),
        "natGatewayID": gateway.nat_gateway_id(),
        "vpcID": gateway.vpc_id(),
        "state": gateway.state().map(NatGatewayState::as_str),
        "natGatewayAddresses": gateway.nat_gateway_addresses().iter().map(address).collect::<Vec<_>>(),
        "createTime": gateway.create_time().and_then(moment),
        "deleteTime": gateway.delete_time().and_then(moment),
        "failureCode": gateway.failure_code(),
        "failureMessage": gateway.failure_message(),
        "provisionedBandwidth": gateway.provisioned_bandwidth().map(bandwidth),
    });
    observed(gateway.nat_gateway_id().unwrap_or_default(), spec, status, tags, readiness(gateway))
}

/// The first address's allocation: a gateway may have further addresses, which ACK does not know.
fn allocation(gateway: &Ec2NatGateway) -> Option<&str> {
    let addresses = gateway.nat_gateway_addresses();
    let first = addresses.iter().find(|address| address.is_primary() == Some(true)).or(addresses.first())?;
    first.allocation_id()
}

/// `public` or `private`; an answer without it, or with something else, is told by whether there is an address.
fn connectivity(gateway: &Ec2NatGateway) -> &'static str {
    match gateway.connectivity_type() {
        Some(ConnectivityType::Private) => "private",
        Some(ConnectivityType::Public) => "public",
        _ if allocation(gateway).is_none() => "private",
        _ => "public",
    }
}

fn address(address: &NatGatewayAddress) -> Value {
    json!({
        "allocationID": address.allocation_id(),
        "networkInterfaceID": address.network_interface_id(),
        "privateIP": address.private_ip(),
        "publicIP": address.public_ip(),
        "availabilityZone": address.availability_zone(),
        "availabilityZoneID": address.availability_zone_id(),
    })
}

fn bandwidth(bandwidth: &ProvisionedBandwidth) -> Value {
    json!({
        "provisionTime": bandwidth.provision_time().and_then(moment),
        "provisioned": bandwidth.provisioned(),
        "requestTime": bandwidth.request_time().and_then(moment),
        "requested": bandwidth.requested(),
        "status": bandwidth.status(),
    })
}

fn readiness(gateway: &Ec2NatGateway) -> Readiness {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    match gateway.state() {
        Some(NatGatewayState::Available) => Readiness::Ready,
        Some(NatGatewayState::Deleting | NatGatewayState::Deleted) => Readiness::Deleting,
        Some(NatGatewayState::Failed) => {
            Readiness::Failed { code: text(gateway.failure_code()), message: text(gateway.failure_message()) }
        }
        state => Readiness::Waiting(state.map_or("pending", NatGatewayState::as_str).to_owned()),
    }
}

/// The gateway that our marks mean: none that is going or gone, and a failed one only if there is no other.
fn meant(mut found: Vec<Ec2NatGateway>) -> Vec<Ec2NatGateway> {
    let in_state =
        |gateway: &Ec2NatGateway, states: &[NatGatewayState]| gateway.state().is_some_and(|state| states.contains(state));
    found.retain(|gateway| !in_state(gateway, &[NatGatewayState::Deleting, NatGatewayState::Deleted]));
    if found.iter().any(|gateway| !in_state(gateway, &[NatGatewayState::Failed])) {
        found.retain(|gateway| !in_state(gateway, &[NatGatewayState::Failed]));
    }
    found
}

impl Object for NatGateway {
    const TYPICAL: Typical =
        Typical { create: Duration::from_secs(100), delete: Duration::from_mins(1), limit: Duration::from_mins(15) };

    fn description() -> &'static KindDescription {
        &DESCRIPTION
    }

    fn impossible_values(object: &Value) -> Vec<ImpossibleValue> {
        Checker::new(object)
            .texts("spec.subnetID", values::id(&["subnet-"]))
            .texts("spec.allocationID", values::id(&["eipalloc-"]))
            .texts("spec.connectivityType", values::one_of(&["public", "private"]))
            .texts("spec.availabilityMode", values::one_of(&["zonal", "regional"]))
            .tags("spec.tags")
            .finish()
    }

    fn differences(subject: &Subject, desired: &Value, observed: &Observed) -> Vec<FieldChange> {
        compare::object(RULES, subject, desired, observed, None)
    }

    async fn read(reader: &Reader, subject: &Subject, record: &Record) -> Read {
        let gateway = reader.nat_gateway(&record.id).await?;
        let there = gateway.filter(|gateway| gateway.state() != Some(&NatGatewayState::Deleted));
        Ok(there.map(|gateway| observe(subject, &gateway, of_ec2(gateway.tags()))))
    }

    async fn find(reader: &Reader, subject: &Subject) -> Read {
        let found = reader.nat_gateways_tagged(&subject.marks.lineage, &subject.marks.address).await?;
        let gateway = only("NATGateway", meant(found), Ec2NatGateway::nat_gateway_id)?;
        Ok(gateway.map(|gateway| observe(subject, &gateway, of_ec2(gateway.tags()))))
    }

    async fn make(scene: Scene<'_>, desired: &Value) -> Result<(Record, Observed), StepError> {
        let subject = scene.subject;
        let wanted: NatGatewaySpec = spec(desired).map_err(StepError::Refused)?;
        let input = CreateNatGatewayInputBuilder::default()
            .subnet_id(required(wanted.subnet_id.as_ref(), "spec.subnetID")?)
            .set_allocation_id(wanted.allocation_id)
            .set_connectivity_type(wanted.connectivity_type.as_deref().map(ConnectivityType::from))
            .tag_specifications(tag_specification(ResourceType::Natgateway, subject, desired));
        let make = |permit: Permit| {
            let input = input.clone().client_token(permit.token());
            async move {
                let answer = scene.writer().create_nat_gateway(permit, input).await?;
                answer.nat_gateway.ok_or_else(|| empty_answer("ec2", "CreateNatGateway"))
            }
        };
        let see = |gateway: &Ec2NatGateway| observe(subject, gateway, tags::wanted(subject, desired));
        let call = creation(subject, "CreateNatGateway", desired).with_token();
        let (gateway, record) = scene.recorder.create(call, make, |gateway| created(see(gateway))).await?;
        Ok((record, see(&gateway)))
    }

    /// Nothing but tags can be changed.
    async fn change(_: Scene<'_>, _: &Value, _: &Observed, _: &[FieldChange]) -> Result<(), StepError> {
        Ok(())
    }

    async fn remove(scene: Scene<'_>, id: &str) -> Result<(), StepError> {
        let input = DeleteNatGatewayInputBuilder::default().nat_gateway_id(id);
        scene.removal("DeleteNatGateway", id, |permit| scene.writer().delete_nat_gateway(permit, input.clone())).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::ec2::tests::{changes, settled, subject};
    use crate::kinds::kind::Changeability;

    fn gateway(id: &str, state: &str) -> Ec2NatGateway {
        Ec2NatGateway::builder()
            .nat_gateway_id(id)
            .state(NatGatewayState::from(state))
            .subnet_id("subnet-1")
            .nat_gateway_addresses(NatGatewayAddress::builder().allocation_id("eipalloc-1").build())
            .failure_code("Gateway.NotAttached")
            .failure_message("Network vpc-1 has no Internet gateway attached")
            .build()
    }

    #[test]
    fn each_state_means_something() {
        let readiness = |state| observe(&subject(), &gateway("nat-1", state), Tags::new()).readiness;
        assert_eq!(readiness("pending"), Readiness::Waiting("pending".to_owned()));
        assert_eq!(readiness("available"), Readiness::Ready);
        assert_eq!(readiness("deleting"), Readiness::Deleting);
        let Readiness::Failed { code, message } = readiness("failed") else { panic!("failed") };
        assert_eq!(code, "Gateway.NotAttached");
        assert!(message.contains("vpc-1"));
    }

    #[test]
    fn everything_but_tags_needs_a_new_gateway() {
        let there = observe(&subject(), &gateway("nat-1", "available"), tags::wanted(&subject(), &json!({})));
        settled::<NatGateway>(&there);
        let same = json!({"spec": {"subnetID": "subnet-1", "allocationID": "eipalloc-1", "connectivityType": "public"}});
        assert_eq!(changes::<NatGateway>(&same, &there), []);
        let other = json!({"spec": {"subnetID": "subnet-2", "allocationID": "eipalloc-2"}});
        let replaced = |path: &str| (path.to_owned(), Changeability::Replacement);
        assert_eq!(changes::<NatGateway>(&other, &there), [replaced("spec.subnetID"), replaced("spec.allocationID")]);
    }

    #[test]
    fn what_is_going_is_not_meant_and_what_failed_only_alone() {
        let ids = |states: &[&str]| -> Vec<String> {
            let found = states.iter().map(|state| gateway(&format!("nat-{state}"), state)).collect();
            meant(found).into_iter().filter_map(|gateway| gateway.nat_gateway_id).collect()
        };
        assert_eq!(ids(&["deleted", "available", "failed", "deleting"]), ["nat-available"]);
        assert_eq!(ids(&["deleted", "failed"]), ["nat-failed"]);
        assert!(ids(&["deleted", "deleting"]).is_empty());
    }

    #[test]
    fn a_public_gateway_asks_for_the_attachment() {
        assert_eq!(DESCRIPTION.implied, [ImpliedEdge::InternetGatewayOfVpc]);
        assert_eq!(DESCRIPTION.published_at("status.natGatewayID"), Production::Created);
        assert_eq!(DESCRIPTION.published_at("status.state"), Production::Ready);
        assert!(!DESCRIPTION.field("spec.availabilityMode").carried_out);
        assert_eq!(DESCRIPTION.field("spec.allocationID").step, Step::Create);
    }
}
