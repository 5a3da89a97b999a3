//! Tests of the client against a small server.

use super::super::preflight::{Planned, preflight};
use super::*;
use crate::aws::simulated::permit;
use crate::aws::tags::Marks;
use chrono::{TimeDelta, Utc};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const SERVER: &str = "https://ABC.gr7.us-west-2.eks.amazonaws.com";
const ENCODED: &str = "/api/v1/clusters/https%3A%2F%2FABC%2Egr7%2Eus%2Dwest%2D2%2Eeks%2Eamazonaws%2Ecom";

/// A request as it arrives: its first line, headers in lower case, body.
#[derive(Debug, Clone)]
struct Request {
    line: String,
    headers: String,
    body: String,
}

/// What a server answers: status and body. Status 0 drops the connection instead.
type Reply = (u16, String);

/// A server that answers by the request's first line.
struct Server {
    address: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    async fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read(&mut stream).await;
                let (status, body) = answer(&request.line);
                seen.lock().unwrap().push(request);
                if status != 0 {
                    let head = format!(
                        "HTTP/1.1 {status} X\r\nSet-Cookie: argocd.token=x\r\nLocation: https://h/api\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                        body.len()
                    );
                    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
                }
            }
        });
        Self { address, requests }
    }

    fn connect(&self) -> (Reader, Writer) {
        connect(&ArgoCdSettings::parse(&self.address, "token", "--plaintext -H 'X-Access: hidden'").unwrap()).unwrap()
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read(stream: &mut TcpStream) -> Request {
    let mut text = String::new();
    loop {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await.unwrap();
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let (line, headers) = head.split_once("\r\n").unwrap();
        let headers = headers.to_lowercase();
        let length = headers.lines().find_map(|header| header.strip_prefix("content-length: ")).unwrap_or("0");
        if body.len() >= length.parse().unwrap() {
            return Request { line: line.to_owned(), headers, body: body.to_owned() };
        }
    }
}

fn ok(body: &serde_json::Value) -> Reply {
    (200, body.to_string())
}

fn refused(status: u16, code: u32, message: &str) -> Reply {
    (status, json!({"error": message, "code": code, "message": message}).to_string())
}

fn cluster() -> Cluster {
    Cluster {
        server: format!("{SERVER}/"),
        name: "a".into(),
        project: "default".into(),
        labels: BTreeMap::from([("environment".into(), "prod".into())]),
        config: json!({"awsAuthConfig": {"clusterName": "a"}}),
        ..Cluster::default()
    }
}

#[tokio::test]
async fn clusters_are_listed_with_what_go_leaves_out() {
    let server = Server::start(|_| {
        ok(&json!({"metadata": {}, "items": [
            {"server": "https://kubernetes.default.svc", "name": "in-cluster", "config": {"tlsClientConfig": {"insecure": false}},
             "connectionState": {"status": "Unknown", "attemptedAt": null}, "info": {"connectionState": {"status": "Unknown", "message": null, "attemptedAt": null}, "cacheInfo": {}}},
            {"server": SERVER, "name": "a", "labels": null, "annotations": {"x": "y"}, "shard": 1, "namespaces": null, "unknown": 1,
             "info": {"serverVersion": "v1.33.1", "applicationsCount": 3}}]}))
    })
    .await;
    let clusters = server.connect().0.list_clusters().await.unwrap();
    assert_eq!(clusters.len(), 2);
    assert_eq!(clusters[0].info.connection_state.status, "Unknown");
    assert_eq!((clusters[1].shard, clusters[1].info.applications_count, clusters[1].labels.len()), (Some(1), 3, 0));
    let request = &server.requests()[0];
    assert_eq!(request.line, "GET /api/v1/clusters HTTP/1.1");
    assert!(request.headers.contains("authorization: bearer token") && request.headers.contains("x-access: hidden"));
    assert!(!request.headers.contains("content-type"));
    let server = Server::start(|_| ok(&json!({"metadata": {}, "items": null}))).await;
    assert_eq!(server.connect().0.list_clusters().await.unwrap(), []);
}

#[tokio::test]
async fn a_create_sends_the_whole_cluster() {
    let server = Server::start(|_| ok(&json!({"server": SERVER, "name": "a", "config": {}}))).await;
    let made = server.connect().1.create_cluster(permit().await, &cluster()).await.unwrap();
    assert_eq!(made.server, SERVER);
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /api/v1/clusters?upsert=true HTTP/1.1");
    assert!(request.headers.lines().any(|header| header == "content-type: application/json"), "{}", request.headers);
    let sent: serde_json::Value = serde_json::from_str(&request.body).unwrap();
    let wanted = json!({"server": SERVER, "name": "a", "project": "default", "labels": {"environment": "prod"}, "config": {"awsAuthConfig": {"clusterName": "a"}}});
    assert_eq!(sent, wanted);
}

#[tokio::test]
async fn an_update_names_its_fields() {
    let server = Server::start(|_| ok(&json!({"server": SERVER, "name": "a"}))).await;
    let writer = server.connect().1;
    writer.update_cluster(permit().await, &cluster(), &["labels", "annotations"]).await.unwrap();
    assert_eq!(server.requests()[0].line, format!("PUT {ENCODED}?updatedFields=labels&updatedFields=annotations HTTP/1.1"));
    for fields in [&[][..], &["label"][..]] {
        let error = writer.update_cluster(permit().await, &cluster(), fields).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::Final);
    }
    assert_eq!(server.requests().len(), 1, "a misuse is never sent");
}

#[tokio::test]
async fn a_delete_is_json_without_a_body_and_sends_no_cookie() {
    let server = Server::start(|_| ok(&json!({}))).await;
    let writer = server.connect().1;
    for _ in 0..2 {
        writer.delete_cluster(permit().await, &cluster()).await.unwrap();
    }
    let request = &server.requests()[1];
    assert_eq!((request.line.as_str(), request.body.as_str()), (format!("DELETE {ENCODED} HTTP/1.1").as_str(), ""));
    assert!(request.headers.lines().any(|header| header == "content-type: application/json"), "{}", request.headers);
    assert!(!request.headers.contains("cookie"));
}

#[tokio::test]
async fn a_denied_cluster_that_the_list_lacks_is_not_there() {
    let rows = [
        (json!(null), "yes", ErrorClass::NotFound),
        (json!(null), "no", ErrorClass::Denied),
        (json!([{"server": SERVER, "name": "a"}]), "yes", ErrorClass::Denied),
    ];
    for (items, allowed, class) in rows {
        let server = Server::start(move |line| match line.split_once(' ').unwrap() {
            ("DELETE", _) => refused(403, 7, "permission denied"),
            (_, path) if path.starts_with("/api/v1/account/can-i/clusters/get/default%2Fhttps%3A%2F%2FABC%2Egr7") => {
                ok(&json!({"value": allowed}))
            }
            _ => ok(&json!({"items": items})),
        })
        .await;
        let error = server.connect().1.delete_cluster(permit().await, &cluster()).await.unwrap_err();
        assert_eq!(error.class, class, "{allowed}");
    }
}

#[tokio::test]
async fn a_write_is_made_once_and_a_lost_reply_is_unclear() {
    let server = Server::start(|_| (0, String::new())).await;
    let error = server.connect().1.create_cluster(permit().await, &cluster()).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Unclear, "ConnectionLost"), "{error}");
    assert_eq!(server.requests().len(), 1);
    let server = Server::start(|_| (502, "<html>".into())).await;
    let error = server.connect().1.create_cluster(permit().await, &cluster()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unclear);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_definite() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let (_, writer) = connect(&ArgoCdSettings::parse(&address, "secret-token", "--plaintext").unwrap()).unwrap();
    let error = writer.create_cluster(permit().await, &cluster()).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::NotYet, "Unreachable"), "{error}");
    assert!(!error.to_string().contains("secret-token"));
    assert!(error.message.contains("ARGOCD_SERVER"), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_leads_to_plaintext() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    let (_, writer) = connect(&ArgoCdSettings::parse(&address, "token", "").unwrap()).unwrap();
    let error = writer.create_cluster(permit().await, &cluster()).await.unwrap_err();
    assert!(error.message.contains("ARGOCD_OPTS=--plaintext"), "{error}");
}

#[tokio::test]
async fn which_argo_cd_it_is_is_asked_once() {
    let server = Server::start(|_| ok(&json!({"Version": "v3.2.7+eks-1"}))).await;
    let reader = server.connect().0;
    for _ in 0..2 {
        assert_eq!(reader.clone().product().await.unwrap(), Product::Hosted);
    }
    assert_eq!(server.requests().len(), 1);
    let settings = ArgoCdSettings::parse(&server.address, "token", "--plaintext").unwrap();
    let told = Registering { product: Some(Product::SelfManaged), ..Registering::default() };
    let reader = connect(&settings.registering(told)).unwrap().0;
    assert_eq!(reader.product().await.unwrap(), Product::SelfManaged, "settings come first");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn applications_are_asked_for_with_what_is_read_of_them() {
    let applications = json!({"items": [{"metadata": {"name": "addon-a"}, "spec": {"destination": {"name": "a"}}}]});
    let server = Server::start(move |_| ok(&applications)).await;
    assert_eq!(server.connect().0.list_applications(&cluster()).await.unwrap(), ["addon-a"]);
    let line = &server.requests()[0].line;
    assert_eq!(line, "GET /api/v1/applications?fields=items.metadata.name,items.spec HTTP/1.1");
}

#[test]
fn a_failed_connection_has_a_way_out() {
    let certificate = way_out(true, "invalid peer certificate: UnknownIssuer").unwrap();
    assert!(certificate.contains("--server-crt") && certificate.contains("--insecure"));
    assert!(way_out(true, "tcp connect error").unwrap().contains("ARGOCD_SERVER"));
    assert_eq!(way_out(false, "connection reset"), None);
}

#[tokio::test]
async fn a_read_is_repeated_and_a_redirect_is_not_followed() {
    let count = Mutex::new(0);
    let server = Server::start(move |_| {
        let mut count = count.lock().unwrap();
        *count += 1;
        if *count < 3 { refused(503, 14, "unavailable") } else { ok(&json!({"items": null})) }
    })
    .await;
    assert!(server.connect().0.list_clusters().await.is_ok());
    assert_eq!(server.requests().len(), 3);
    let server = Server::start(|_| (307, "<a>Temporary Redirect</a>".into())).await;
    let error = server.connect().0.list_clusters().await.unwrap_err();
    assert!(error.message.contains("--plaintext"), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn certificates_that_are_none_are_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let options = format!("--server-crt {}", file.path().display());
    let error = connect(&ArgoCdSettings::parse("host", "token", &options).unwrap()).unwrap_err();
    assert!(error.to_string().contains("no certificate"), "{error}");
    let error = connect(&ArgoCdSettings::parse("host", "token", "--server-crt /nowhere/ca.pem").unwrap()).unwrap_err();
    assert!(error.to_string().contains("/nowhere/ca.pem"), "{error}");
    let shown = format!("{:?}", connect(&ArgoCdSettings::parse("host", "very-secret", "-H 'X: hidden'").unwrap()).unwrap());
    assert!(!shown.contains("very-secret") && !shown.contains("hidden"), "{shown}");
}

async fn look(denied: &'static str, logged_in: bool) -> super::super::preflight::Preflight {
    let server = Server::start(move |line| {
        let path = line.split(' ').nth(1).unwrap();
        match path {
            "/api/version" => ok(&json!({"Version": "v3.2.7+eks-1"})),
            "/api/v1/session/userinfo" if logged_in => ok(&json!({"loggedIn": true, "username": "fleet", "iss": "argocd"})),
            "/api/v1/session/userinfo" => ok(&json!({})),
            "/api/v1/clusters" => ok(&json!({"items": [{"server": "https://other", "name": "taken"}]})),
            _ => ok(&json!({"value": if path.contains(denied) { "no" } else { "yes" }})),
        }
    })
    .await;
    let marks = Marks { lineage: "l".into(), instance: "i".into(), address: "a".into() };
    let planned = ["a", "taken"].map(|name| Planned { name, server: None, project: "default", marks: &marks });
    preflight(&server.connect().0, &planned, Utc::now(), TimeDelta::minutes(30)).await.unwrap()
}

#[tokio::test]
async fn a_preflight_finds_what_stands_in_the_way() {
    let found = look("/create/default%2F%2A", true).await;
    assert_eq!(found.version.version, "v3.2.7+eks-1");
    assert_eq!(found.username, "fleet");
    let texts: Vec<&str> = found.problems.iter().map(|problem| problem.text.as_str()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("may not create clusters of default/*"), "{texts:?}");
    assert!(texts[1].contains("a cluster taken already"), "{texts:?}");
    let found = look("nothing", false).await;
    assert!(found.problems.len() == 1 && found.problems[0].fatal, "{:?}", found.problems);
}
