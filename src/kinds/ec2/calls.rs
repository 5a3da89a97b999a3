//! Tests of the calls that the kinds make, over a simulated EC2 that answers each call by itself.

use super::elastic_ip_address::ElasticIpAddress;
use super::internet_gateway::InternetGateway;
use super::nat_gateway::NatGateway;
use super::route_table::RouteTable;
use super::subnet::Subnet;
use super::vpc::Vpc;
use crate::aws::sessions::{Options, Sessions};
use crate::aws::simulated::{Call, Reply, Simulated, ec2_error, identity};
use crate::graph::identity::{Address, Identity};
use crate::kinds::kind::{Cloud, Kind, Observed, StepError, Subject};
use crate::kinds::recorder::Recorder;
use crate::kinds::shared::tests::subject;
use crate::state::file::{InstanceKey, Record};
use crate::state::folder::FolderStore;
use crate::state::session::{Holder, Session};
use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const ACCOUNT: &str = "111122223333";

/// A simulated EC2, and a state to record calls in.
struct World {
    aws: Simulated,
    cloud: Cloud,
    recorder: Recorder,
    session: Session,
    _folder: tempfile::TempDir,
}

impl World {
    async fn new(answer: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Self {
        let aws = Simulated::new(move |call| match call.operation.as_str() {
            "GetCallerIdentity" => identity(ACCOUNT, "arn:aws:iam::111122223333:user/me"),
            _ => answer(call),
        });
        let base = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new("us-west-2"))
            .credentials_provider(Credentials::new("AKIA", "secret", None, None, "test"))
            .load()
            .await;
        let connector = SharedHttpClient::new(aws.clone());
        let sessions = Sessions::over(&base, Options { connector: Some(connector), ..Options::default() });
        let target = sessions.target(ACCOUNT, "us-west-2", None, "test").await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let session = open(folder.path()).await;
        let recorder = Recorder::new(session.journal(), crate::kinds::recorder::Options::default(), Arc::new(|_| ()));
        Self { aws, cloud: target.cloud.clone(), recorder, session, _folder: folder }
    }

    /// Makes an object and configures it, as the engine does right after.
    async fn make(&self, kind: &dyn Kind, name: &str, spec: &Value) -> (Record, Observed) {
        let subject = named(kind, name);
        let desired = json!({"apiVersion": "ec2.services.k8s.aws/v1alpha1", "spec": spec});
        let (record, observed) = kind.create(&self.cloud, &self.recorder, &subject, &desired).await.unwrap();
        kind.configure(&self.cloud, &self.recorder, &subject, &desired, &observed).await.unwrap();
        (record, observed)
    }

    async fn delete(&self, kind: &dyn Kind, record: &Record) -> Result<(), StepError> {
        kind.delete(&self.cloud, &self.recorder, &named(kind, &record.identity.name), record).await
    }

    /// The calls that change something, in order.
    fn changes(&self) -> Vec<String> {
        let operations = self.aws.calls().into_iter().map(|call| call.operation);
        operations.filter(|name| !name.starts_with("Describe") && name != "GetCallerIdentity").collect()
    }
}

async fn open(folder: &std::path::Path) -> Session {
    let instance = InstanceKey {
        api_version: "kro.run/v1alpha1".into(),
        kind: "Vpc".into(),
        namespace: "argocd".into(),
        name: "test".into(),
    };
    let holder = Holder { pid: 1, host: "here".into(), user: "me".into(), command: "test".into() };
    Session::open(Arc::new(FolderStore::new(folder)), instance, holder).await.unwrap()
}

fn named(kind: &dyn Kind, name: &str) -> Subject {
    let description = kind.description();
    let mut subject = subject(&description.api_version, &description.kind);
    subject.identity = Identity { name: name.to_owned(), ..subject.identity };
    subject.address = Address(format!("Vpc/test/{name}"));
    subject
}

fn ok(operation: &str, body: &str) -> Reply {
    Reply::Answer(200, format!("<{operation}Response>{body}</{operation}Response>"))
}

/// A field of a call's body.
fn field<'a>(call: &'a Call, name: &str) -> Option<&'a str> {
    call.body.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// What a new VPC answers: bare objects, as the API has them right after the call.
fn fresh(call: &Call) -> Reply {
    let vpc = field(call, "VpcId").unwrap_or_default();
    let body = match call.operation.as_str() {
        "CreateVpc" => "<vpc><vpcId>vpc-1</vpcId><state>pending</state><cidrBlock>10.0.0.0/16</cidrBlock></vpc>".to_owned(),
        "CreateInternetGateway" => "<internetGateway><internetGatewayId>igw-1</internetGatewayId></internetGateway>".to_owned(),
        "AllocateAddress" => "<allocationId>eipalloc-1</allocationId><publicIp>203.0.113.7</publicIp>".to_owned(),
        "CreateRouteTable" => {
            let local = "<item><destinationCidrBlock>10.0.0.0/16</destinationCidrBlock><gatewayId>local</gatewayId><origin>CreateRouteTable</origin></item>";
            format!("<routeTable><routeTableId>rtb-1</routeTableId><vpcId>{vpc}</vpcId><routeSet>{local}</routeSet></routeTable>")
        }
        "CreateSubnet" => {
            let block = field(call, "CidrBlock").unwrap_or_default();
            format!("<subnet><subnetId>subnet-1</subnetId><vpcId>{vpc}</vpcId><cidrBlock>{block}</cidrBlock></subnet>")
        }
        "CreateNatGateway" => "<natGateway><natGatewayId>nat-1</natGatewayId><state>pending</state></natGateway>".to_owned(),
        _ => "<return>true</return>".to_owned(),
    };
    ok(&call.operation, &body)
}

/// The whole Vpc graph takes the calls that kro and ACK were seen to need, but for one: they set `enableDNSSupport` on a
/// VPC that has it.
#[tokio::test(start_paused = true)]
async fn the_vpc_graph_takes_the_calls_that_change_something() {
    let world = World::new(fresh).await;
    let vpc = json!({"cidrBlocks": ["10.0.0.0/16"], "enableDNSSupport": true, "enableDNSHostnames": true});
    world.make(&Vpc, "vpc", &vpc).await;
    world.make(&InternetGateway, "igw", &json!({"vpc": "vpc-1"})).await;
    let route = |target: &str, id: &str| json!({"vpcID": "vpc-1", "routes": [{"destinationCIDRBlock": "0.0.0.0/0", target: id}]});
    world.make(&RouteTable, "public", &route("gatewayID", "igw-1")).await;
    for number in ["1", "2"] {
        let subnet = |block: &str, public: Option<bool>| json!({"vpcID": "vpc-1", "cidrBlock": block, "mapPublicIPOnLaunch": public, "routeTables": ["rtb-1"]});
        world.make(&Subnet, &format!("public{number}"), &subnet("10.0.1.0/24", Some(true))).await;
        world.make(&Subnet, &format!("private{number}"), &subnet("10.0.2.0/24", None)).await;
        world.make(&ElasticIpAddress, &format!("eip{number}"), &json!({})).await;
        let nat = json!({"subnetID": "subnet-1", "allocationID": "eipalloc-1"});
        world.make(&NatGateway, &format!("nat{number}"), &nat).await;
        world.make(&RouteTable, &format!("private{number}"), &route("natGatewayID", "nat-1")).await;
    }
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    world.changes().into_iter().for_each(|name| *counts.entry(format!("ec2:{name}")).or_default() += 1);
    let seen: Value = serde_json::from_str(include_str!("../../../tests/conformance/ack-end-state.json")).unwrap();
    let accepted = seen["meta"]["accepted"].as_object().unwrap();
    let mut needed: BTreeMap<String, u64> = accepted
        .iter()
        .filter(|(name, _)| name.starts_with("ec2:"))
        .map(|(name, count)| (name.clone(), count.as_u64().unwrap()))
        .collect();
    *needed.get_mut("ec2:ModifySubnetAttribute").unwrap() -= 22;
    *needed.get_mut("ec2:ModifyVpcAttribute").unwrap() -= 1;
    assert_eq!(counts, needed);
    assert_eq!(world.changes().len(), 24);
    // Nothing had to be read for it, and every call has its record.
    assert!(!world.aws.calls().iter().any(|call| call.operation.starts_with("Describe")));
    assert_eq!(world.session.state().last_entry, 24);
}

#[tokio::test(start_paused = true)]
async fn tags_and_marks_go_with_the_create_call() {
    let world = World::new(fresh).await;
    world.make(&Vpc, "vpc", &json!({"cidrBlocks": ["10.0.0.0/16"], "tags": [{"key": "Name", "value": "x"}]})).await;
    let call = world.aws.calls().into_iter().find(|call| call.operation == "CreateVpc").unwrap();
    assert_eq!(field(&call, "TagSpecification.1.ResourceType"), Some("vpc"));
    let tags: Vec<_> = (1..=4).map(|number| field(&call, &format!("TagSpecification.1.Tag.{number}.Key"))).collect();
    assert_eq!(tags, [Some("Name"), Some("fleetctl:address"), Some("fleetctl:instance"), Some("fleetctl:lineage")]);
    assert_eq!(world.changes(), ["CreateVpc"]);
}

#[tokio::test(start_paused = true)]
async fn calls_with_a_client_token_carry_the_record_s() {
    let world = World::new(fresh).await;
    world.make(&NatGateway, "nat", &json!({"subnetID": "subnet-1", "allocationID": "eipalloc-1"})).await;
    let call = world.aws.calls().into_iter().find(|call| call.operation == "CreateNatGateway").unwrap();
    assert!(field(&call, "ClientToken").is_some_and(|token| token.len() > 20));
}

#[tokio::test(start_paused = true)]
async fn a_route_that_is_there_is_replaced() {
    let world = World::new(|call| match call.operation.as_str() {
        "CreateRoute" => ec2_error(400, "RouteAlreadyExists", "The route identified by 0.0.0.0/0 already exists."),
        _ => fresh(call),
    })
    .await;
    let spec = json!({"vpcID": "vpc-1", "routes": [{"destinationCIDRBlock": "0.0.0.0/0", "gatewayID": "igw-1"}]});
    world.make(&RouteTable, "table", &spec).await;
    assert_eq!(world.changes(), ["CreateRouteTable", "CreateRoute", "ReplaceRoute"]);
}

/// EC2 as it is when an earlier call got through: the gateway is attached, the subnet has another table.
fn halfway(call: &Call) -> Reply {
    let taken = |message| ec2_error(400, "Resource.AlreadyAssociated", message);
    match call.operation.as_str() {
        "AttachInternetGateway" => taken("resource igw-1 is already attached to network vpc-1"),
        "AssociateRouteTable" => taken("the specified association for route table rtb-1 conflicts"),
        "DescribeInternetGateways" => {
            let attachment = "<item><vpcId>vpc-1</vpcId><state>available</state></item>";
            let gateway =
                format!("<item><internetGatewayId>igw-1</internetGatewayId><attachmentSet>{attachment}</attachmentSet></item>");
            ok(&call.operation, &format!("<internetGatewaySet>{gateway}</internetGatewaySet>"))
        }
        "DescribeRouteTables" => {
            let association = "<item><routeTableAssociationId>rtbassoc-1</routeTableAssociationId><routeTableId>rtb-2</routeTableId><subnetId>subnet-1</subnetId></item>";
            let table = format!("<item><routeTableId>rtb-2</routeTableId><associationSet>{association}</associationSet></item>");
            ok(&call.operation, &format!("<routeTableSet>{table}</routeTableSet>"))
        }
        _ => fresh(call),
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_attached_already_is_success() {
    let world = World::new(halfway).await;
    world.make(&InternetGateway, "igw", &json!({"vpc": "vpc-1"})).await;
    assert_eq!(world.changes(), ["CreateInternetGateway", "AttachInternetGateway"]);
}

#[tokio::test(start_paused = true)]
async fn another_attachment_is_an_error() {
    let world = World::new(halfway).await;
    let subject = named(&InternetGateway, "igw");
    let desired = json!({"spec": {"vpc": "vpc-2"}});
    let (_, made) = InternetGateway.create(&world.cloud, &world.recorder, &subject, &desired).await.unwrap();
    let outcome = InternetGateway.configure(&world.cloud, &world.recorder, &subject, &desired, &made).await;
    assert!(matches!(outcome, Err(StepError::Refused(refused)) if refused.code == "Resource.AlreadyAssociated"));
}

#[tokio::test(start_paused = true)]
async fn a_subnet_with_another_table_is_moved() {
    let world = World::new(halfway).await;
    world.make(&Subnet, "subnet", &json!({"vpcID": "vpc-1", "cidrBlock": "10.0.1.0/24", "routeTables": ["rtb-1"]})).await;
    assert_eq!(world.changes(), ["CreateSubnet", "AssociateRouteTable", "ReplaceRouteTableAssociation"]);
    let call = world.aws.calls().pop().unwrap();
    assert_eq!((field(&call, "AssociationId"), field(&call, "RouteTableId")), (Some("rtbassoc-1"), Some("rtb-1")));
}

#[tokio::test(start_paused = true)]
async fn what_stands_in_the_way_is_named_after_patience() {
    let world = World::new(|call| match call.operation.as_str() {
        "DeleteSubnet" => ec2_error(400, "DependencyViolation", "The subnet 'subnet-1' has dependencies and cannot be deleted."),
        "DescribeNetworkInterfaces" => {
            let interface = "<item><networkInterfaceId>eni-1</networkInterfaceId><description>ELB app/shop/1</description><requesterId>amazon-elb</requesterId></item>";
            ok(&call.operation, &format!("<networkInterfaceSet>{interface}</networkInterfaceSet>"))
        }
        _ => fresh(call),
    })
    .await;
    let (record, _) = world.make(&Subnet, "subnet", &json!({"vpcID": "vpc-1", "cidrBlock": "10.0.1.0/24"})).await;
    let began = tokio::time::Instant::now();
    let Err(StepError::Refused(refused)) = world.delete(&Subnet, &record).await else { panic!("refused") };
    assert!(refused.message.ends_with("in the way: network interface eni-1 (ELB app/shop/1, of amazon-elb)"), "{refused}");
    assert!(began.elapsed() >= super::DELETE_PATIENCE);
    assert!(world.aws.count("DeleteSubnet") > 10);
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_is_deleted() {
    let world = World::new(|call| match call.operation.as_str() {
        "DeleteVpc" => ec2_error(400, "InvalidVpcID.NotFound", "The vpc ID 'vpc-1' does not exist"),
        "ReleaseAddress" => ec2_error(400, "InvalidAllocationID.NotFound", "The allocation ID does not exist"),
        "DeleteNatGateway" => ec2_error(400, "NatGatewayNotFound", "The Nat Gateway nat-1 was not found"),
        "DetachInternetGateway" => ec2_error(400, "Gateway.NotAttached", "resource igw-1 is not attached"),
        "DeleteRouteTable" => ec2_error(400, "InvalidRouteTableID.NotFound", "The routeTable ID 'rtb-1' does not exist"),
        _ => halfway(call),
    })
    .await;
    let (vpc, _) = world.make(&Vpc, "vpc", &json!({"cidrBlocks": ["10.0.0.0/16"]})).await;
    world.delete(&Vpc, &vpc).await.unwrap();
    let (address, _) = world.make(&ElasticIpAddress, "eip", &json!({})).await;
    world.delete(&ElasticIpAddress, &address).await.unwrap();
    let (nat, _) = world.make(&NatGateway, "nat", &json!({"subnetID": "subnet-1", "allocationID": "eipalloc-1"})).await;
    world.delete(&NatGateway, &nat).await.unwrap();
    let (gateway, _) = world.make(&InternetGateway, "igw", &json!({"vpc": "vpc-1"})).await;
    world.delete(&InternetGateway, &gateway).await.unwrap();
    let (table, _) = world.make(&RouteTable, "table", &json!({"vpcID": "vpc-1"})).await;
    world.delete(&RouteTable, &table).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_vpc_that_comes_up_is_one_call_and_a_look_at_it_four() {
    let world = World::new(|call| match call.operation.as_str() {
        "DescribeVpcs" => ok(&call.operation, "<vpcSet><item><vpcId>vpc-1</vpcId><state>available</state></item></vpcSet>"),
        "DescribeVpcAttribute" => ok(&call.operation, "<enableDnsHostnames><value>false</value></enableDnsHostnames>"),
        _ => fresh(call),
    })
    .await;
    let spec = json!({"cidrBlocks": ["10.0.0.0/16"], "enableDNSHostnames": true});
    let (record, _) = world.make(&Vpc, "vpc", &spec).await;
    let subject = named(&Vpc, "vpc");
    let watched = Vpc.watch(&world.cloud.readers, &subject, &record).await.unwrap().unwrap();
    assert_eq!(watched.spec["enableDNSHostnames"], true, "as it was applied a moment ago");
    assert_eq!(world.aws.count("DescribeVpcAttribute"), 0);
    let read = Vpc.read(&world.cloud.readers, &subject, &record).await.unwrap().unwrap();
    assert_eq!(read.spec["enableDNSHostnames"], false, "as EC2 has it");
    assert_eq!((world.aws.count("DescribeVpcs"), world.aws.count("DescribeVpcAttribute")), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn without_a_lineage_nothing_is_searched_for() {
    let world = World::new(fresh).await;
    let mut subject = named(&Vpc, "vpc");
    subject.marks.lineage.clear();
    assert_eq!(Vpc.find(&world.cloud.readers, &subject, &json!({})).await, Ok(None));
    assert_eq!(world.aws.count("DescribeVpcs"), 0);
}

#[tokio::test(start_paused = true)]
async fn marks_that_are_searched_for_at_one_time_are_one_call() {
    let item = |id: &str, address: &str| {
        let tag = |key: &str, value: &str| format!("<item><key>{key}</key><value>{value}</value></item>");
        let tags = tag("fleetctl:lineage", "5f0c") + &tag("fleetctl:address", address);
        format!("<item><subnetId>{id}</subnetId><state>available</state><tagSet>{tags}</tagSet></item>")
    };
    let subnets = item("subnet-1", "Vpc/one/a") + &item("subnet-2", "Vpc/one/b");
    let world = World::new(move |call| match call.operation.as_str() {
        "DescribeSubnets" => ok(&call.operation, &format!("<subnetSet>{subnets}</subnetSet>")),
        _ => ok(&call.operation, ""),
    })
    .await;
    let subjects = ["a", "b", "c"].map(|name| {
        let mut subject = named(&Subnet, name);
        subject.marks.address = format!("Vpc/one/{name}");
        subject
    });
    let finds = subjects.iter().map(|subject| Subnet.find(&world.cloud.readers, subject, &Value::Null));
    let found = futures::future::join_all(finds).await;
    let ids: Vec<_> = found.into_iter().map(|found| found.unwrap().map(|found| found.id)).collect();
    assert_eq!(ids, [Some("subnet-1".to_owned()), Some("subnet-2".to_owned()), None]);
    // Those that were found are looked at by their ids, in one call too.
    assert_eq!(world.aws.count("DescribeSubnets"), 2);
}
