//! `RouteTable`: made in its VPC, then given its routes, which are told apart by their destination.

mod route;

use self::route::{Route, manageable};
use super::{Object, Read, Scene, SpecTag, created, observed, only, reference, tag_specification, there};
use crate::aws::ec2::Reader;
use crate::aws::error::ErrorClass;
use crate::aws::tags::{Tags, of_ec2};
use crate::graph::catalog::{Field, ImpossibleValue, KindDescription, Production, Reference, Step};
use crate::kinds::catalog::{Facts, describe_ack};
use crate::kinds::compare::{self, Absent, How, Rule, at};
use crate::kinds::kind::{FieldChange, Observed, Readiness, StepError, Subject, Typical};
use crate::kinds::shared::{configure, configure_asking, create, creation, empty_answer, metadata, only_known, required, spec};
use crate::kinds::tags;
use crate::kinds::values::{self, Checker};
use crate::state::file::Record;
use crate::state::journal::Permit;
use aws_sdk_ec2::operation::create_route_table::builders::CreateRouteTableInputBuilder;
use aws_sdk_ec2::operation::delete_route_table::builders::DeleteRouteTableInputBuilder;
use aws_sdk_ec2::operation::disassociate_route_table::builders::DisassociateRouteTableInputBuilder;
use aws_sdk_ec2::types::{
    PropagatingVgw, ResourceType, RouteTable as Ec2RouteTable, RouteTableAssociation, RouteTableAssociationStateCode,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::Duration;

/// Carries out `RouteTable`. Known to AWS by its id.
#[derive(Debug, Clone, Copy)]
pub struct RouteTable;

/// `spec`, as far as it is carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RouteTableSpec {
    /// The VPC it is in.
    #[serde(rename = "vpcID")]
    pub vpc_id: Option<String>,
    /// Routes. Enforced: absent is none, but for the local route and those of AWS.
    pub routes: Option<Vec<Route>>,
    /// Tags.
    pub tags: Option<Vec<SpecTag>>,
}

const FIELDS: &[Field] = &[
    create("spec.vpcID"),
    create("spec.tags"),
    configure("spec.routes"),
    // A route through a gateway that is not attached, or not available, is refused or goes nowhere.
    configure_asking("spec.routes[].gatewayID", Production::Configured),
    configure_asking("spec.routes[].natGatewayID", Production::Ready),
    only_known("spec.routes[].gatewayRef"),
    only_known("spec.routes[].natGatewayRef"),
    only_known("spec.routes[].transitGatewayRef"),
    only_known("spec.routes[].vpcEndpointRef"),
    only_known("spec.routes[].vpcPeeringConnectionRef"),
];

const REFERENCES: &[Reference] = &[
    reference("spec.vpcRef.from.name", "VPC", Step::Create, Production::Created),
    reference("spec.routes[].gatewayRef.from.name", "InternetGateway", Step::Configure, Production::Configured),
    reference("spec.routes[].natGatewayRef.from.name", "NATGateway", Step::Configure, Production::Ready),
];

const RULES: &[Rule] = &[
    Rule::replacement("spec.vpcID", How::Exact, "a route table cannot move to another VPC"),
    Rule::in_place("spec.routes", How::Keyed(route::DESTINATIONS)).enforced(Absent::Nothing),
    Rule::in_place("spec.tags", How::Tags),
];

static DESCRIPTION: LazyLock<KindDescription> = LazyLock::new(|| {
    let published = &[("status.routeStatuses", Production::Configured), ("status.associations", Production::Configured)];
    describe_ack("RouteTable", &Facts { fields: FIELDS, published, references: REFERENCES, ..Facts::default() })
});

fn observe(subject: &Subject, table: &Ec2RouteTable, tags: Tags) -> Observed {
    let routes: Vec<Route> = table.routes().iter().filter(|route| manageable(route)).map(Route::of).collect();
    let spec = json!({"vpcID": table.vpc_id(), "routes": routes});
    let status = json!({
        "ackResourceMetadata": metadata(subject, None),
        "routeTableID": table.route_table_id(),
        "ownerID": table.owner_id(),
        "associations": table.associations().iter().map(association).collect::<Vec<_>>(),
        "routeStatuses": table.routes().iter().map(route::status).collect::<Vec<_>>(),
        "propagatingVGWs": table.propagating_vgws().iter().map(gateway).collect::<Vec<_>>(),
    });
    observed(table.route_table_id().unwrap_or_default(), spec, status, tags, Readiness::Ready)
}

fn association(association: &RouteTableAssociation) -> Value {
    json!({
        "routeTableAssociationID": association.route_table_association_id(),
        "routeTableID": association.route_table_id(),
        "subnetID": association.subnet_id(),
        "gatewayID": association.gateway_id(),
        "main": association.main(),
        "associationState": association.association_state().map(|state| json!({
            "state": state.state().map(RouteTableAssociationStateCode::as_str),
            "statusMessage": state.status_message(),
        })),
    })
}

fn gateway(gateway: &PropagatingVgw) -> Value {
    json!({"gatewayID": gateway.gateway_id()})
}

/// What is wanted, without local routes: they are always there, and ACK takes them in a spec.
fn without_local(desired: &Value) -> Value {
    let mut wanted = desired.clone();
    if let Some(routes) = wanted.pointer_mut("/spec/routes").and_then(Value::as_array_mut) {
        routes.retain(|route| route["gatewayID"] != route::LOCAL);
    }
    wanted
}

/// Brings one route to what is wanted. A route of the same destination is replaced, not removed and made anew: traffic
/// does not stop.
async fn change_route(scene: Scene<'_>, table: &str, change: &FieldChange) -> Result<(), StepError> {
    let parse = |value: &Value| (!value.is_null()).then(|| serde_json::from_value::<Route>(value.clone()).ok()).flatten();
    match (parse(&change.before), parse(&change.after)) {
        (_, Some(wanted)) if change.before.is_null() => match create_route(scene, table, &wanted).await {
            Err(StepError::Refused(refused)) if refused.class == ErrorClass::AlreadyExists => {
                replace_route(scene, table, &wanted).await
            }
            done => done,
        },
        (_, Some(wanted)) => match replace_route(scene, table, &wanted).await {
            // It went away meanwhile.
            Err(StepError::Refused(refused)) if refused.code == "InvalidRoute.NotFound" => {
                create_route(scene, table, &wanted).await
            }
            done => done,
        },
        (Some(there), None) => {
            let input = there.deletion().route_table_id(table);
            scene.part_removal("DeleteRoute", table, |permit| scene.writer().delete_route(permit, input.clone())).await
        }
        (None, None) => Ok(()),
    }
}

async fn create_route(scene: Scene<'_>, table: &str, route: &Route) -> Result<(), StepError> {
    let input = route.creation().route_table_id(table);
    let make = |permit| scene.writer().create_route(permit, input.clone());
    scene.call("CreateRoute", table, make).await.map(drop)
}

async fn replace_route(scene: Scene<'_>, table: &str, route: &Route) -> Result<(), StepError> {
    let input = route.replacement().route_table_id(table);
    let make = |permit| scene.writer().replace_route(permit, input.clone());
    scene.call("ReplaceRoute", table, make).await.map(drop)
}

/// Subnets that are still associated with a table keep it; ours go before it, so these are others'.
async fn disassociate(scene: Scene<'_>, id: &str) -> Result<(), StepError> {
    let Some(table) = scene.reader().route_table(id).await.map_err(StepError::Refused)? else { return Ok(()) };
    let explicit = table.associations().iter().filter(|association| association.main() != Some(true));
    for association in explicit.filter_map(RouteTableAssociation::route_table_association_id) {
        let input = DisassociateRouteTableInputBuilder::default().association_id(association);
        let make = |permit| scene.writer().disassociate_route_table(permit, input.clone());
        scene.part_removal("DisassociateRouteTable", id, make).await?;
    }
    Ok(())
}

impl Object for RouteTable {
    const TYPICAL: Typical =
        Typical { create: Duration::from_secs(2), delete: Duration::from_secs(2), limit: Duration::from_mins(10) };

    fn description() -> &'static KindDescription {
        &DESCRIPTION
    }

    fn impossible_values(object: &Value) -> Vec<ImpossibleValue> {
        let id = values::id;
        Checker::new(object)
            .texts("spec.vpcID", id(&["vpc-"]))
            .texts("spec.routes[].destinationCIDRBlock", values::cidr(0, 32))
            .texts("spec.routes[].destinationIPv6CIDRBlock", values::ipv6_cidr)
            .texts("spec.routes[].destinationPrefixListID", id(&["pl-"]))
            .texts("spec.routes[].gatewayID", route::wrong_gateway)
            .texts("spec.routes[].natGatewayID", id(&["nat-"]))
            .texts("spec.routes[].transitGatewayID", id(&["tgw-"]))
            .texts("spec.routes[].vpcEndpointID", id(&["vpce-"]))
            .texts("spec.routes[].vpcPeeringConnectionID", id(&["pcx-"]))
            .texts("spec.routes[].carrierGatewayID", id(&["cagw-"]))
            .texts("spec.routes[].egressOnlyInternetGatewayID", id(&["eigw-"]))
            .texts("spec.routes[].instanceID", id(&["i-"]))
            .texts("spec.routes[].localGatewayID", id(&["lgw-"]))
            .texts("spec.routes[].networkInterfaceID", id(&["eni-"]))
            .values("spec.routes[]", route::wrong_route)
            .values("spec.routes", route::wrong_list)
            .tags("spec.tags")
            .finish()
    }

    fn differences(subject: &Subject, desired: &Value, observed: &Observed) -> Vec<FieldChange> {
        compare::object(RULES, subject, &without_local(desired), observed, None)
    }

    async fn read(reader: &Reader, subject: &Subject, record: &Record) -> Read {
        Ok(reader.route_table(&record.id).await?.map(|table| observe(subject, &table, of_ec2(table.tags()))))
    }

    async fn find(reader: &Reader, subject: &Subject) -> Read {
        let found = reader.route_tables_tagged(&subject.marks.lineage, &subject.marks.address).await?;
        let found = there(found, Ec2RouteTable::route_table_id, |id| async move { reader.route_table(&id).await }).await?;
        let table = only("RouteTable", found, Ec2RouteTable::route_table_id)?;
        Ok(table.map(|table| observe(subject, &table, of_ec2(table.tags()))))
    }

    async fn make(scene: Scene<'_>, desired: &Value) -> Result<(Record, Observed), StepError> {
        let subject = scene.subject;
        let vpc = at(desired, "spec.vpcID").as_str();
        let input = CreateRouteTableInputBuilder::default()
            .vpc_id(*required(vpc.as_ref(), "spec.vpcID")?)
            .tag_specifications(tag_specification(ResourceType::RouteTable, subject, desired));
        let make = |permit: Permit| {
            let input = input.clone().client_token(permit.token());
            async move {
                let answer = scene.writer().create_route_table(permit, input).await?;
                answer.route_table.ok_or_else(|| empty_answer("ec2", "CreateRouteTable"))
            }
        };
        let see = |table: &Ec2RouteTable| observe(subject, table, tags::wanted(subject, desired));
        let call = creation(subject, "CreateRouteTable", desired);
        let (table, record) = scene.recorder.create(call, make, |table| created(see(table))).await?;
        Ok((record, see(&table)))
    }

    /// New and changed routes first, then those that are not wanted go.
    async fn change(scene: Scene<'_>, desired: &Value, observed: &Observed, changes: &[FieldChange]) -> Result<(), StepError> {
        // Names of fields that nobody knows must not get lost on the way to a call.
        let _: RouteTableSpec = spec(desired).map_err(StepError::Refused)?;
        for change in changes.iter().filter(|change| change.path.starts_with("spec.routes[")) {
            change_route(scene, &observed.id, change).await?;
        }
        Ok(())
    }

    async fn remove(scene: Scene<'_>, id: &str) -> Result<(), StepError> {
        disassociate(scene, id).await?;
        let input = DeleteRouteTableInputBuilder::default().route_table_id(id);
        scene.removal("DeleteRouteTable", id, |permit| scene.writer().delete_route_table(permit, input.clone())).await
    }
}

#[cfg(test)]
mod tests;
