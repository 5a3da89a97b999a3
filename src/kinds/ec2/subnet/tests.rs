use super::*;
use crate::kinds::ec2::tests::{changes, settled, subject};
use crate::kinds::kind::Changeability;
use aws_sdk_ec2::types::RouteTableAssociationState;

fn subnet() -> aws_sdk_ec2::types::builders::SubnetBuilder {
    let options = PrivateDnsNameOptionsOnLaunch::builder()
        .hostname_type(HostnameType::IpName)
        .enable_resource_name_dns_a_record(false)
        .enable_resource_name_dns_aaaa_record(false)
        .build();
    Ec2Subnet::builder()
        .subnet_id("subnet-1")
        .vpc_id("vpc-1")
        .cidr_block("10.0.1.0/24")
        .availability_zone("us-west-2a")
        .map_public_ip_on_launch(false)
        .private_dns_name_options_on_launch(options)
        .state(SubnetState::Available)
}

fn own_table(state: RouteTableAssociationStateCode) -> RouteTableAssociation {
    RouteTableAssociation::builder()
        .route_table_association_id("rtbassoc-1")
        .route_table_id("rtb-1")
        .subnet_id("subnet-1")
        .association_state(RouteTableAssociationState::builder().state(state).build())
        .build()
}

fn there(subnet: &Ec2Subnet, own: Option<&RouteTableAssociation>) -> Observed {
    observe(&subject(), subnet, own, tags::wanted(&subject(), &json!({})))
}

fn wanted(more: &Value) -> Value {
    let mut spec = json!({"vpcID": "vpc-1", "cidrBlock": "10.0.1.0/24", "availabilityZone": "us-west-2a"});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "spec": spec })
}

fn in_place(path: &str) -> (String, Changeability) {
    (path.to_owned(), Changeability::InPlace)
}

#[test]
fn a_new_private_subnet_needs_its_table_and_nothing_else() {
    let new = there(&subnet().build(), None);
    assert_eq!(changes::<Subnet>(&wanted(&json!({"routeTables": ["rtb-1"]})), &new), [in_place("spec.routeTables")]);
    assert_eq!(changes::<Subnet>(&wanted(&json!({})), &new), []);
}

#[test]
fn a_reply_without_attributes_needs_no_calls() {
    let bare = Ec2Subnet::builder().subnet_id("subnet-1").vpc_id("vpc-1").cidr_block("10.0.1.0/24").build();
    let wanted = json!({"spec": {"vpcID": "vpc-1", "mapPublicIPOnLaunch": false, "hostnameType": "ip-name"}});
    assert_eq!(changes::<Subnet>(&wanted, &there(&bare, None)), []);
}

#[test]
fn attributes_are_set_one_a_call_and_taken_back_when_absent() {
    let public = there(&subnet().map_public_ip_on_launch(true).enable_dns64(true).build(), None);
    assert_eq!(
        changes::<Subnet>(&wanted(&json!({})), &public),
        [in_place("spec.mapPublicIPOnLaunch"), in_place("spec.enableDNS64")]
    );
    let changes = Subnet::differences(
        &subject(),
        &wanted(&json!({"mapPublicIPOnLaunch": true, "hostnameType": "resource-name", "enableResourceNameDNSARecord": true})),
        &there(&subnet().build(), None),
    );
    let inputs: Vec<_> = attribute_inputs(&changes).into_iter().map(|input| input.build().unwrap()).collect();
    assert_eq!(inputs.len(), 3);
    assert_eq!(inputs[0].map_public_ip_on_launch().and_then(aws_sdk_ec2::types::AttributeBooleanValue::value), Some(true));
    assert_eq!(inputs[2].private_dns_hostname_type_on_launch(), Some(&HostnameType::ResourceName));
}

#[test]
fn the_own_table_counts_and_is_waited_for() {
    let associated = own_table(RouteTableAssociationStateCode::Associated);
    let subnet = subnet().build();
    assert_eq!(changes::<Subnet>(&wanted(&json!({"routeTables": ["rtb-1"]})), &there(&subnet, Some(&associated))), []);
    for tables in [json!({"routeTables": ["rtb-2"]}), json!({}), json!({"routeTables": []})] {
        assert_eq!(changes::<Subnet>(&wanted(&tables), &there(&subnet, Some(&associated))), [in_place("spec.routeTables")]);
    }
    settled::<Subnet>(&there(&subnet, Some(&associated)));
    assert_eq!(there(&subnet, Some(&associated)).readiness, Readiness::Ready);
    let associating = own_table(RouteTableAssociationStateCode::Associating);
    assert_eq!(there(&subnet, Some(&associating)).readiness, Readiness::Waiting("associating".to_owned()));
}

#[test]
fn an_association_that_is_going_does_not_count() {
    let table = |state| RouteTable::builder().route_table_id("rtb-1").associations(own_table(state)).build();
    let stands = |state| association(&table(state), "subnet-1").is_some();
    assert!(stands(RouteTableAssociationStateCode::Associated));
    assert!(stands(RouteTableAssociationStateCode::Associating));
    assert!(!stands(RouteTableAssociationStateCode::Disassociating));
    assert!(!stands(RouteTableAssociationStateCode::Disassociated));
    assert!(association(&table(RouteTableAssociationStateCode::Associated), "subnet-2").is_none());
}

#[test]
fn place_and_block_need_a_new_subnet() {
    let other = json!({"spec": {"vpcID": "vpc-2", "cidrBlock": "10.0.9.0/24", "availabilityZone": "us-west-2b"}});
    let found = Subnet::differences(&subject(), &other, &there(&subnet().build(), None));
    assert!(found.iter().all(|change| change.changeability == Changeability::Replacement && change.reason.is_some()));
    let paths: Vec<&str> = found.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["spec.vpcID", "spec.cidrBlock", "spec.availabilityZone"]);
}

#[test]
fn the_subnet_stands_before_its_table() {
    assert_eq!(DESCRIPTION.field("spec.vpcID").step, Step::Create);
    for path in ["spec.routeTables", "spec.routeTables[]", "spec.mapPublicIPOnLaunch"] {
        assert_eq!(DESCRIPTION.field(path).step, Step::Configure);
        assert_eq!(DESCRIPTION.field(path).asks, Production::Created);
        assert!(DESCRIPTION.field(path).carried_out);
    }
    for path in ["spec.ipv6CIDRBlock", "spec.outpostARN", "spec.vpcRef.from.name", "spec.routeTableRefs[].from.name"] {
        assert!(!DESCRIPTION.field(path).carried_out);
    }
}

#[test]
fn impossible_values_are_found() {
    let object = json!({
        "metadata": {"annotations": {"services.k8s.aws/region": "us-west-2"}},
        "spec": {
            "vpcID": "", "cidrBlock": "10.0.1.5/24", "availabilityZone": "eu-west-1a", "hostnameType": "name",
            "routeTables": ["rtb-1", "subnet-1"], "tags": [{"key": "aws:x", "value": "y"}],
        },
    });
    let found = Subnet::impossible_values(&object);
    let paths: Vec<&str> = found.iter().map(|wrong| wrong.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "spec.vpcID",
            "spec.cidrBlock",
            "spec.availabilityZone",
            "spec.hostnameType",
            "spec.routeTables[1]",
            "spec.routeTables",
            "spec.tags[0]",
        ]
    );
    assert_eq!(found[1].expected, "10.0.1.0/24");
}
