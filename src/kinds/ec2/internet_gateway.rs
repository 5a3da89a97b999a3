//! `InternetGateway`: made on its own, then attached to its VPC, which publishes the attachment.

use super::obstacles::{self, Around};
use super::{Object, Read, Scene, after, created, observed, only, reference, tag_specification, there};
use crate::aws::ec2::Reader;
use crate::aws::error::ErrorClass;
use crate::aws::tags::{Tags, of_ec2};
use crate::graph::catalog::{Field, ImpossibleValue, KindDescription, Production, Reference, Step};
use crate::kinds::catalog::{Facts, describe_ack};
use crate::kinds::compare::{self, Absent, How, Rule};
use crate::kinds::kind::{FieldChange, Observed, Readiness, StepError, Subject, Typical};
use crate::kinds::shared::{configure, create, creation, empty_answer, metadata};
use crate::kinds::tags;
use crate::kinds::values::{self, Checker};
use crate::state::file::Record;
use aws_sdk_ec2::operation::attach_internet_gateway::builders::AttachInternetGatewayInputBuilder;
use aws_sdk_ec2::operation::create_internet_gateway::builders::CreateInternetGatewayInputBuilder;
use aws_sdk_ec2::operation::delete_internet_gateway::builders::DeleteInternetGatewayInputBuilder;
use aws_sdk_ec2::operation::detach_internet_gateway::builders::DetachInternetGatewayInputBuilder;
use aws_sdk_ec2::types::{AttachmentStatus, InternetGateway as Ec2InternetGateway, InternetGatewayAttachment, ResourceType};
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::Duration;

/// Carries out `InternetGateway`. Known to AWS by its id.
#[derive(Debug, Clone, Copy)]
pub struct InternetGateway;

const FIELDS: &[Field] = &[create("spec.tags"), configure("spec.vpc")];

const REFERENCES: &[Reference] = &[
    reference("spec.vpcRef.from.name", "VPC", Step::Configure, Production::Created),
    reference("spec.routeTableRefs[].from.name", "RouteTable", Step::Configure, Production::Created),
];

const RULES: &[Rule] =
    &[Rule::in_place("spec.vpc", How::Exact).enforced(Absent::Nothing), Rule::in_place("spec.tags", How::Tags)];

static DESCRIPTION: LazyLock<KindDescription> = LazyLock::new(|| {
    let published = &[("status.attachments", Production::Configured)];
    describe_ack("InternetGateway", &Facts { fields: FIELDS, published, references: REFERENCES, ..Facts::default() })
});

/// The VPC that a gateway is attached to, or is being attached to.
fn vpc(gateway: &Ec2InternetGateway) -> Option<&str> {
    let going =
        |one: &&InternetGatewayAttachment| matches!(one.state(), Some(AttachmentStatus::Detached | AttachmentStatus::Detaching));
    gateway.attachments().iter().find(|one| !going(one))?.vpc_id()
}

fn observe(subject: &Subject, gateway: &Ec2InternetGateway, tags: Tags) -> Observed {
    let attachments: Vec<Value> = gateway
        .attachments()
        .iter()
        .map(|one| json!({"state": one.state().map(AttachmentStatus::as_str), "vpcID": one.vpc_id()}))
        .collect();
    let status = json!({
        "ackResourceMetadata": metadata(subject, None),
        "internetGatewayID": gateway.internet_gateway_id(),
        "ownerID": gateway.owner_id(),
        "attachments": attachments,
    });
    let spec = json!({"vpc": vpc(gateway)});
    observed(gateway.internet_gateway_id().unwrap_or_default(), spec, status, tags, readiness(gateway))
}

/// EC2 calls the state of an attached internet gateway `available`; `attached` is that of other attachments.
fn readiness(gateway: &Ec2InternetGateway) -> Readiness {
    let passing = |state: &&AttachmentStatus| matches!(state, AttachmentStatus::Attaching | AttachmentStatus::Detaching);
    match gateway.attachments().iter().filter_map(InternetGatewayAttachment::state).find(passing) {
        Some(state) => Readiness::Waiting(state.as_str().to_owned()),
        None => Readiness::Ready,
    }
}

/// Attaches a gateway. That it is attached to this very VPC already is success.
async fn attach(scene: Scene<'_>, id: &str, wanted: &str) -> Result<(), StepError> {
    let input = AttachInternetGatewayInputBuilder::default().internet_gateway_id(id).vpc_id(wanted);
    let make = |permit| scene.writer().attach_internet_gateway(permit, input.clone());
    match scene.call("AttachInternetGateway", id, make).await {
        Err(StepError::Refused(refused)) if refused.class == ErrorClass::AlreadyExists => {
            let gateway = scene.reader().internet_gateway(id).await.map_err(StepError::Refused)?;
            let done = gateway.is_some_and(|gateway| vpc(&gateway) == Some(wanted));
            if done { Ok(()) } else { Err(StepError::Refused(refused)) }
        }
        done => done.map(drop),
    }
}

/// Detaches a gateway. Public addresses in use in the VPC hold it.
async fn detach(scene: Scene<'_>, id: &str, from: &str) -> Result<(), StepError> {
    let input = DetachInternetGatewayInputBuilder::default().internet_gateway_id(id).vpc_id(from);
    let make = |permit| scene.writer().detach_internet_gateway(permit, input.clone());
    match scene.part_removal("DetachInternetGateway", id, make).await {
        Err(error) => Err(obstacles::named(scene.reader(), Around::PublicAddresses(from), error).await),
        done => done,
    }
}

impl Object for InternetGateway {
    const TYPICAL: Typical =
        Typical { create: Duration::from_secs(2), delete: Duration::from_secs(2), limit: Duration::from_mins(20) };

    fn description() -> &'static KindDescription {
        &DESCRIPTION
    }

    fn impossible_values(object: &Value) -> Vec<ImpossibleValue> {
        Checker::new(object).texts("spec.vpc", values::id(&["vpc-"])).tags("spec.tags").finish()
    }

    fn differences(subject: &Subject, desired: &Value, observed: &Observed) -> Vec<FieldChange> {
        compare::object(RULES, subject, desired, observed, None)
    }

    async fn read(reader: &Reader, subject: &Subject, record: &Record) -> Read {
        Ok(reader.internet_gateway(&record.id).await?.map(|gateway| observe(subject, &gateway, of_ec2(gateway.tags()))))
    }

    async fn find(reader: &Reader, subject: &Subject) -> Read {
        let found = reader.internet_gateways_tagged(&subject.marks.lineage, &subject.marks.address).await?;
        let found =
            there(found, Ec2InternetGateway::internet_gateway_id, |id| async move { reader.internet_gateway(&id).await }).await?;
        let gateway = only("InternetGateway", found, Ec2InternetGateway::internet_gateway_id)?;
        Ok(gateway.map(|gateway| observe(subject, &gateway, of_ec2(gateway.tags()))))
    }

    async fn make(scene: Scene<'_>, desired: &Value) -> Result<(Record, Observed), StepError> {
        let subject = scene.subject;
        let input = CreateInternetGatewayInputBuilder::default().tag_specifications(tag_specification(
            ResourceType::InternetGateway,
            subject,
            desired,
        ));
        let make = |permit| {
            let input = input.clone();
            async move {
                let answer = scene.writer().create_internet_gateway(permit, input).await?;
                answer.internet_gateway.ok_or_else(|| empty_answer("ec2", "CreateInternetGateway"))
            }
        };
        let see = |gateway: &Ec2InternetGateway| observe(subject, gateway, tags::wanted(subject, desired));
        let call = creation(subject, "CreateInternetGateway", desired);
        let (gateway, record) = scene.recorder.create(call, make, |gateway| created(see(gateway))).await?;
        Ok((record, see(&gateway)))
    }

    async fn change(scene: Scene<'_>, _desired: &Value, observed: &Observed, changes: &[FieldChange]) -> Result<(), StepError> {
        let Some(wanted) = after(changes, "spec.vpc") else { return Ok(()) };
        if let Some(from) = observed.spec["vpc"].as_str() {
            detach(scene, &observed.id, from).await?;
        }
        match wanted.as_str() {
            Some(wanted) => attach(scene, &observed.id, wanted).await,
            None => Ok(()),
        }
    }

    async fn remove(scene: Scene<'_>, id: &str) -> Result<(), StepError> {
        let gateway = scene.reader().internet_gateway(id).await.map_err(StepError::Refused)?;
        if let Some(from) = gateway.as_ref().and_then(vpc) {
            detach(scene, id, from).await?;
        }
        let input = DeleteInternetGatewayInputBuilder::default().internet_gateway_id(id);
        scene.removal("DeleteInternetGateway", id, |permit| scene.writer().delete_internet_gateway(permit, input.clone())).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::ec2::tests::{changes, settled, subject};
    use crate::kinds::kind::Changeability;

    fn gateway(state: Option<&str>) -> Observed {
        let attachment =
            |state| InternetGatewayAttachment::builder().state(AttachmentStatus::from(state)).vpc_id("vpc-1").build();
        let gateway = Ec2InternetGateway::builder()
            .internet_gateway_id("igw-1")
            .set_attachments(Some(state.map(attachment).into_iter().collect()))
            .build();
        observe(&subject(), &gateway, tags::wanted(&subject(), &json!({})))
    }

    #[test]
    fn an_attachment_is_published_and_counts() {
        let there = gateway(Some("available"));
        assert_eq!(there.status["attachments"], json!([{"state": "available", "vpcID": "vpc-1"}]));
        assert_eq!(there.readiness, Readiness::Ready);
        settled::<InternetGateway>(&there);
        assert_eq!(changes::<InternetGateway>(&json!({"spec": {"vpc": "vpc-1"}}), &there), []);
        assert_eq!(gateway(Some("attaching")).readiness, Readiness::Waiting("attaching".to_owned()));
    }

    #[test]
    fn a_gateway_moves_and_comes_off_in_place() {
        let moved = [("spec.vpc".to_owned(), Changeability::InPlace)];
        assert_eq!(changes::<InternetGateway>(&json!({"spec": {"vpc": "vpc-2"}}), &gateway(Some("available"))), moved);
        assert_eq!(changes::<InternetGateway>(&json!({"spec": {}}), &gateway(Some("available"))), moved);
        assert_eq!(changes::<InternetGateway>(&json!({"spec": {"vpc": "vpc-1"}}), &gateway(None)), moved);
        assert_eq!(changes::<InternetGateway>(&json!({"spec": {"vpc": "vpc-1"}}), &gateway(Some("detaching"))), moved);
    }

    #[test]
    fn a_vpc_has_an_id() {
        let found = |vpc: &str| InternetGateway::impossible_values(&json!({"spec": {"vpc": vpc}}));
        assert!(found("vpc-0a1b").is_empty());
        assert_eq!(found("")[0].path, "spec.vpc");
        assert_eq!(found("subnet-1")[0].expected, "an id like vpc-…");
    }
}
