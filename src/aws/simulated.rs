//! A simulated AWS below the real SDK: the connector answers in-process, on tokio's paused clock.
//!
//! [`Simulated`] is a function from calls to replies, for tests of single calls. [`account::Aws`] keeps the objects of several
//! accounts and behaves as AWS does, for whole runs.

pub(crate) mod account;
mod ec2;
mod ec2_network;
mod eks;
pub(crate) mod faults;
mod iam;
pub(crate) mod objects;
mod wire;

use super::cloud::Cloud;
use super::sessions::{Options, Sessions};
use crate::graph::identity::{Address, Identity};
use crate::state::file::{InstanceKey, Verb};
use crate::state::folder::FolderStore;
use crate::state::journal::{Intent, Permit};
use crate::state::session::{Holder, Session};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A call as it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// `ec2`, `sts`, …: from the signature's scope.
    pub(crate) service: String,
    /// The region of the signature's scope.
    pub(crate) region: String,
    /// `CreateVpc`; of EKS: `GET /clusters/x`.
    pub(crate) operation: String,
    /// Whose key signed it.
    pub(crate) key: String,
    /// The body, percent-encoding removed.
    pub(crate) body: String,
}

/// What the simulation does with a call.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Answers.
    Answer(u16, String),
    /// Takes the call and loses the reply.
    Lost,
    /// Refuses the connection.
    Refused,
    /// Never answers.
    Silence,
}

type Handler = dyn Fn(&Call) -> Reply + Send + Sync;

/// The simulation: a function from calls to replies, and the calls it has seen.
#[derive(Clone)]
pub(crate) struct Simulated {
    handler: Arc<Handler>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl fmt::Debug for Simulated {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Simulated").finish_non_exhaustive()
    }
}

impl Simulated {
    pub(crate) fn new(handler: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Self {
        Self { handler: Arc::new(handler), calls: Arc::default() }
    }

    /// The calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// How often an operation was called.
    pub(crate) fn count(&self, operation: &str) -> usize {
        self.calls().iter().filter(|call| call.operation == operation).count()
    }
}

/// An error in the wire format of EC2.
pub(crate) fn ec2_error(status: u16, code: &str, message: &str) -> Reply {
    Reply::Answer(
        status,
        format!(
            "<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors><RequestID>r-1</RequestID></Response>"
        ),
    )
}

/// An error in the wire format of STS and IAM.
pub(crate) fn query_error(status: u16, code: &str, message: &str) -> Reply {
    Reply::Answer(
        status,
        format!(
            "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error><RequestId>r-2</RequestId></ErrorResponse>"
        ),
    )
}

/// STS's answer to GetCallerIdentity.
pub(crate) fn identity(account: &str, arn: &str) -> Reply {
    Reply::Answer(
        200,
        format!(
            "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>{arn}</Arn><UserId>AIDA</UserId><Account>{account}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"
        ),
    )
}

/// STS's answer to AssumeRole.
pub(crate) fn session(key: &str, expires: &str) -> Reply {
    Reply::Answer(
        200,
        format!(
            "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>{expires}</Expiration></Credentials><AssumedRoleUser><AssumedRoleId>AROA:x</AssumedRoleId><Arn>arn:aws:sts::1:assumed-role/x/y</Arn></AssumedRoleUser></AssumeRoleResult></AssumeRoleResponse>"
        ),
    )
}

impl HttpConnector for Simulated {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let this = self.clone();
        HttpConnectorFuture::new(async move {
            tokio::time::sleep(Duration::from_millis(80)).await;
            let call = read(&request);
            this.calls.lock().unwrap().push(call.clone());
            match (this.handler)(&call) {
                Reply::Answer(status, body) => {
                    let mut response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body));
                    response.headers_mut().insert("x-amzn-requestid", "request-1");
                    Ok(response)
                }
                Reply::Lost => Err(ConnectorError::io("connection reset by peer".into())),
                Reply::Refused => Err(ConnectorError::io(Box::new(std::io::Error::from(std::io::ErrorKind::ConnectionRefused)))),
                Reply::Silence => std::future::pending().await,
            }
        })
    }
}

impl HttpClient for Simulated {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

fn read(request: &HttpRequest) -> Call {
    let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default()).into_owned();
    let body = percent_encoding::percent_decode_str(&body).decode_utf8_lossy().into_owned();
    let authorization = request.headers().get("authorization").unwrap_or_default().to_owned();
    let scope: Vec<&str> = authorization
        .split("Credential=")
        .nth(1)
        .and_then(|rest| rest.split(',').next())
        .unwrap_or_default()
        .split('/')
        .collect();
    let part = |index: usize| scope.get(index).copied().unwrap_or_default().to_owned();
    let action = body.split('&').find_map(|field| field.strip_prefix("Action=")).map(str::to_owned);
    let path =
        request.uri().split_once("://").map_or("", |(_, rest)| rest).split_once('/').map_or("", |(_, path)| path).to_owned();
    let operation = action.unwrap_or_else(|| format!("{} /{path}", request.method()));
    Call { service: part(3), region: part(2), operation, key: part(0), body }
}

/// A permit as the journal gives them.
pub(crate) async fn permit() -> Permit {
    let folder = tempfile::tempdir().unwrap();
    let key = InstanceKey { api_version: "kro.run/v1alpha1".into(), kind: "Vpc".into(), namespace: "n".into(), name: "a".into() };
    let holder = Holder { pid: 1, host: "host".into(), user: "me".into(), command: "test".into() };
    let state = Session::open(Arc::new(FolderStore::new(folder.path())), key, holder).await.unwrap();
    let identity = Identity {
        api_version: "ec2.services.k8s.aws/v1alpha1".into(),
        kind: "VPC".into(),
        namespace: "n".into(),
        name: "a".into(),
        account: "222222222222".into(),
        region: "us-west-2".into(),
    };
    let intent = Intent {
        identity,
        address: Address("Vpc/a/vpc".into()),
        role: None,
        verb: Verb::Create,
        operation: "CreateVpc",
        id: None,
        applied: None,
        dependencies: Vec::new(),
    };
    state.journal().begin(intent).await.unwrap()
}

/// Services of account 222222222222 that nobody answers.
pub(crate) async fn silent_cloud() -> Cloud {
    cloud_of(&Simulated::new(|call| match call.operation.as_str() {
        "GetCallerIdentity" => identity("222222222222", "arn:aws:iam::222222222222:user/me"),
        _ => Reply::Lost,
    }))
    .await
}

/// What reads EC2 of a simulated AWS, without a session.
pub(crate) fn ec2_of(aws: &Simulated) -> super::ec2::Reader {
    let config = aws_sdk_ec2::Config::builder()
        .region(aws_sdk_ec2::config::Region::new("us-west-2"))
        .behavior_version_latest()
        .credentials_provider(aws_credential_types::Credentials::new("AKIA", "secret", None, None, "test"))
        .http_client(aws.clone());
    super::ec2::Reader::new(aws_sdk_ec2::Client::from_conf(config.build()), super::limits::Limits::default())
}

/// Services of account 222222222222 of a simulated AWS.
pub(crate) async fn cloud_of(aws: &Simulated) -> Cloud {
    let credentials = aws_credential_types::Credentials::new("AKIA", "secret", None, None, "test");
    let base = aws_config::defaults(aws_config::BehaviorVersion::latest())
        .region(aws_config::Region::new("us-west-2"))
        .credentials_provider(credentials)
        .load()
        .await;
    let options = Options { connector: Some(SharedHttpClient::new(aws.clone())), ..Options::default() };
    Sessions::over(&base, options).target("222222222222", "us-west-2", None, "test").await.unwrap().cloud.clone()
}
