//! A simulated EKS and IAM that keep what they are told, and a state to record calls in.

use crate::aws::sessions::{Options, Sessions};
use crate::aws::simulated::{Call, Reply, Simulated, identity, query_error};
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
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

pub(super) const ACCOUNT: &str = "222222222222";

/// Objects by path: `/clusters/x`, `/clusters/x/addons/y`, `/roles/x`.
type Objects = Arc<Mutex<BTreeMap<String, Value>>>;

/// The simulation, and what calls are recorded in.
pub(super) struct World {
    pub(super) aws: Simulated,
    pub(super) cloud: Cloud,
    pub(super) recorder: Recorder,
    pub(super) session: Session,
    pub(super) objects: Objects,
    _folder: tempfile::TempDir,
}

impl World {
    /// `first` may answer a call before the simulation does.
    pub(super) async fn new(first: impl Fn(&Call) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let objects = Objects::default();
        let kept = Arc::clone(&objects);
        let aws = Simulated::new(move |call| match call.operation.as_str() {
            "GetCallerIdentity" => identity(ACCOUNT, "arn:aws:iam::222222222222:user/me"),
            _ => first(call).unwrap_or_else(|| answer(&mut kept.lock().unwrap(), call)),
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
        Self { aws, cloud: target.cloud.clone(), recorder, session, objects, _folder: folder }
    }

    /// Makes an object and configures it, as the engine does right after.
    pub(super) async fn make(&self, kind: &dyn Kind, desired: &Value) -> Result<(Record, Observed), StepError> {
        let subject = of(kind, desired);
        let (record, observed) = kind.create(&self.cloud, &self.recorder, &subject, desired).await?;
        kind.configure(&self.cloud, &self.recorder, &subject, desired, &observed).await?;
        Ok((record, observed))
    }

    /// The calls that change something, in order.
    pub(super) fn changes(&self) -> Vec<Call> {
        let reads = ["GET ", "Get", "List"];
        self.aws.calls().into_iter().filter(|call| !reads.iter().any(|read| call.operation.starts_with(read))).collect()
    }

    /// Their names, in AWS's words.
    pub(super) fn names(&self) -> Vec<String> {
        self.changes().iter().map(|call| name(&call.operation).to_owned()).collect()
    }

    pub(super) fn insert(&self, path: &str, object: Value) {
        self.objects.lock().unwrap().insert(path.to_owned(), object);
    }
}

async fn open(folder: &std::path::Path) -> Session {
    let instance = InstanceKey {
        api_version: "kro.run/v1alpha1".into(),
        kind: "EksCluster".into(),
        namespace: "argocd".into(),
        name: "workload-cluster1".into(),
    };
    let holder = Holder { pid: 1, host: "here".into(), user: "me".into(), command: "test".into() };
    Session::open(Arc::new(FolderStore::new(folder)), instance, holder).await.unwrap()
}

/// The subject of an object.
pub(super) fn of(kind: &dyn Kind, desired: &Value) -> Subject {
    let description = kind.description();
    let mut subject = subject(&description.api_version, &description.kind);
    let name = desired["metadata"]["name"].as_str().unwrap().to_owned();
    subject.address = Address(format!("EksCluster/workload-cluster1/{name}"));
    subject.identity = Identity { name, account: ACCOUNT.into(), ..subject.identity };
    subject
}

/// AWS's name of a call of EKS.
pub(super) fn name(operation: &str) -> &str {
    let (method, path) = operation.split_once(' ').unwrap_or(("", operation));
    let segments: Vec<&str> = path.split('?').next().unwrap().split('/').skip(1).collect();
    match (method, segments.as_slice()) {
        ("POST", ["clusters"]) => "CreateCluster",
        ("DELETE", ["clusters", _]) => "DeleteCluster",
        ("POST", ["clusters", _, "addons"]) => "CreateAddon",
        ("DELETE", ["clusters", _, "addons", _]) => "DeleteAddon",
        ("POST", ["clusters", _, "access-entries"]) => "CreateAccessEntry",
        ("POST", ["clusters", _, "access-entries", _]) => "UpdateAccessEntry",
        ("DELETE", ["clusters", _, "access-entries", _]) => "DeleteAccessEntry",
        ("POST", ["clusters", _, "access-entries", _, "access-policies"]) => "AssociateAccessPolicy",
        ("DELETE", ["clusters", _, "access-entries", _, "access-policies", _]) => "DisassociateAccessPolicy",
        ("POST", ["clusters", _, "pod-identity-associations"]) => "CreatePodIdentityAssociation",
        ("POST", ["clusters", _, "pod-identity-associations", _]) => "UpdatePodIdentityAssociation",
        ("DELETE", ["clusters", _, "pod-identity-associations", _]) => "DeletePodIdentityAssociation",
        ("POST", ["tags", _]) => "TagResource",
        ("DELETE", ["tags", _]) => "UntagResource",
        _ => operation,
    }
}

/// An error in the wire format of EKS. (The SDK reads the code from the body too.)
pub(super) fn eks_error(status: u16, code: &str, message: &str) -> Reply {
    Reply::Answer(status, json!({"__type": code, "message": message}).to_string())
}

/// The field of a form body.
pub(super) fn field<'a>(call: &'a Call, name: &str) -> Option<&'a str> {
    call.body.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn answer(objects: &mut BTreeMap<String, Value>, call: &Call) -> Reply {
    match call.operation.split_once(' ') {
        Some((method, path)) => eks(objects, call, method, &decoded(path)),
        None => iam(objects, call),
    }
}

fn decoded(path: &str) -> String {
    percent_decode_str(path).decode_utf8().unwrap().into_owned()
}

/// The name that an object of a collection has in paths, and the word before it in answers.
fn keys(collection: &str) -> (&'static str, &'static str) {
    match collection {
        "clusters" => ("name", "cluster"),
        "addons" => ("addonName", "addon"),
        "access-entries" => ("principalArn", "accessEntry"),
        "pod-identity-associations" => ("associationId", "association"),
        other => panic!("{other}"),
    }
}

/// Collections that answer to GET with a list.
fn listing(objects: &BTreeMap<String, Value>, path: &str) -> Option<Value> {
    let below = |prefix: &str| -> Vec<Value> {
        objects.iter().filter(|(key, _)| key.starts_with(prefix)).map(|(_, value)| value.clone()).collect()
    };
    if path.ends_with("/access-policies") {
        return Some(json!({"associatedAccessPolicies": below(&format!("{path}/"))}));
    }
    if path.ends_with("/node-groups") {
        return Some(json!({"nodegroups": []}));
    }
    path.ends_with("/pod-identity-associations").then(|| json!({"associations": below(&format!("{path}/"))}))
}

fn eks(objects: &mut BTreeMap<String, Value>, call: &Call, method: &str, path: &str) -> Reply {
    let path = path.split('?').next().unwrap();
    let body: Map<String, Value> = serde_json::from_str(&call.body).unwrap_or_default();
    let collection = path.rsplit('/').next().unwrap();
    if path.starts_with("/tags/") {
        return Reply::Answer(200, "{}".to_owned());
    }
    match method {
        "GET" => match listing(objects, path) {
            Some(list) => Reply::Answer(200, list.to_string()),
            None => described(objects, path),
        },
        "DELETE" => match objects.remove(path) {
            Some(_) => Reply::Answer(200, "{}".to_owned()),
            None => eks_error(404, "ResourceNotFoundException", "not found"),
        },
        _ if collection == "access-policies" => {
            let arn = body["policyArn"].as_str().unwrap();
            objects.insert(format!("{path}/{arn}"), Value::Object(body.clone()));
            Reply::Answer(200, json!({"associatedAccessPolicy": body}).to_string())
        }
        _ => made(objects, path, collection, body),
    }
}

fn described(objects: &BTreeMap<String, Value>, path: &str) -> Reply {
    let Some(object) = objects.get(path) else { return eks_error(404, "ResourceNotFoundException", "not found") };
    // A principal's ARN has slashes: the collection is the last one that the path names.
    let named = ["pod-identity-associations", "access-entries", "addons", "clusters"];
    let collection = named.into_iter().find(|name| path.contains(&format!("/{name}/"))).unwrap();
    Reply::Answer(200, json!({keys(collection).1: object}).to_string())
}

/// Keeps what a create call sends, with what EKS adds.
fn made(objects: &mut BTreeMap<String, Value>, path: &str, collection: &str, mut body: Map<String, Value>) -> Reply {
    let (key, word) = keys(collection);
    body.remove("clientRequestToken");
    body.extend([("status".to_owned(), json!("ACTIVE")), ("createdAt".to_owned(), json!(1_700_000_000))]);
    body.entry("associationId").or_insert_with(|| json!("a-1"));
    if let Some(cluster) = path.strip_prefix("/clusters/").and_then(|rest| rest.split('/').next()) {
        body.insert("clusterName".to_owned(), json!(cluster));
    }
    let name = body[key].as_str().unwrap().to_owned();
    let arn = format!("arn:aws:eks:us-west-2:{ACCOUNT}:{word}/{name}");
    for field in ["arn", "addonArn", "accessEntryArn", "associationArn"] {
        body.insert(field.to_owned(), json!(arn));
    }
    if collection == "clusters" {
        body.insert("endpoint".to_owned(), json!("https://ABC.gr7.us-west-2.eks.amazonaws.com"));
        body.insert("certificateAuthority".to_owned(), json!({"data": "Q0E="}));
    }
    objects.insert(format!("{path}/{name}"), Value::Object(body.clone()));
    Reply::Answer(200, json!({word: body}).to_string())
}

fn iam(objects: &mut BTreeMap<String, Value>, call: &Call) -> Reply {
    let name = field(call, "RoleName").unwrap_or_default();
    let path = format!("/roles/{name}");
    if call.operation == "CreateRole" {
        objects
            .insert(path.clone(), json!({"trust": field(call, "AssumeRolePolicyDocument"), "tags": tags(call), "policies": []}));
    }
    let Some(role) = objects.get_mut(&path) else {
        return query_error(404, "NoSuchEntity", &format!("The role with name {name} cannot be found."));
    };
    let policies = role["policies"].as_array_mut().unwrap();
    let policy = json!(field(call, "PolicyArn"));
    match call.operation.as_str() {
        "AttachRolePolicy" => policies.push(policy),
        "DetachRolePolicy" => policies.retain(|one| *one != policy),
        "CreateRole" | "GetRole" => {
            let body = format!("<Role>{}</Role>", role_xml(name, role));
            return result(&call.operation, &body);
        }
        "ListAttachedRolePolicies" => {
            let one = |arn: &Value| format!("<member><PolicyArn>{}</PolicyArn></member>", arn.as_str().unwrap());
            let list: String = policies.iter().map(one).collect();
            return result(&call.operation, &format!("<AttachedPolicies>{list}</AttachedPolicies>"));
        }
        "ListRolePolicies" => return result(&call.operation, "<PolicyNames></PolicyNames>"),
        "DeleteRole" => drop(objects.remove(&path)),
        _ => {}
    }
    result(&call.operation, "")
}

fn result(operation: &str, body: &str) -> Reply {
    let text = format!("<{operation}Response><{operation}Result>{body}</{operation}Result></{operation}Response>");
    Reply::Answer(200, text)
}

fn tags(call: &Call) -> Value {
    let tag = |number: usize| {
        let part = |name: &str| field(call, &format!("Tags.member.{number}.{name}"));
        Some(json!({"key": part("Key")?, "value": part("Value")?}))
    };
    (1..).map_while(tag).collect()
}

/// As IAM answers: the trust policy is percent-encoded.
fn role_xml(name: &str, role: &Value) -> String {
    let trust = utf8_percent_encode(role["trust"].as_str().unwrap(), NON_ALPHANUMERIC);
    let tag = |tag: &Value| {
        format!("<member><Key>{}</Key><Value>{}</Value></member>", tag["key"].as_str().unwrap(), tag["value"].as_str().unwrap())
    };
    let tags: String = role["tags"].as_array().unwrap().iter().map(tag).collect();
    format!(
        "<Path>/</Path><RoleName>{name}</RoleName><RoleId>AROA1</RoleId><Arn>arn:aws:iam::{ACCOUNT}:role/{name}</Arn>\
         <CreateDate>2023-11-14T22:13:20Z</CreateDate><MaxSessionDuration>3600</MaxSessionDuration>\
         <AssumeRolePolicyDocument>{trust}</AssumeRolePolicyDocument><Tags>{tags}</Tags>"
    )
}
