//! A small Argo CD within this process, with the answers of the double in `localstack/argocd`: what simulations register
//! clusters with.

use futures::future::BoxFuture;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;

/// A request as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    pub(crate) body: Value,
}

/// Status and body; `None`: the connection was lost.
type Answered = Option<(u16, String)>;

/// The way to it.
#[derive(Clone)]
pub(crate) struct Link(Arc<dyn Fn(Sent) -> BoxFuture<'static, Answered> + Send + Sync>);

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Link")
    }
}

impl Link {
    pub(crate) fn new(carry: impl Fn(Sent) -> BoxFuture<'static, Answered> + Send + Sync + 'static) -> Self {
        Self(Arc::new(carry))
    }

    pub(super) fn send(&self, method: &str, path: &str, body: Option<String>) -> BoxFuture<'static, Answered> {
        let body = body.and_then(|body| serde_json::from_str(&body).ok()).unwrap_or_default();
        (self.0)(Sent { method: method.to_owned(), path: path.to_owned(), body })
    }
}

impl Sent {
    /// What the call is, in the client's own words.
    pub(crate) fn operation(&self) -> &'static str {
        match (self.method.as_str(), self.path.split('?').next().unwrap_or_default()) {
            ("GET", "/api/version") => "Version",
            ("GET", "/api/v1/clusters") => "ListClusters",
            ("GET", "/api/v1/applications") => "ListApplications",
            ("GET", "/api/v1/session/userinfo") => "GetUserInfo",
            ("GET", path) if path.starts_with("/api/v1/account/can-i/") => "CanI",
            ("POST", "/api/v1/clusters") => "CreateCluster",
            ("PUT", _) => "UpdateCluster",
            ("DELETE", _) => "DeleteCluster",
            other => panic!("Argo CD is not asked for {other:?}"),
        }
    }

    pub(crate) fn changes(&self) -> bool {
        self.method != "GET"
    }
}

/// Argo CD's clusters, by server.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArgoCd {
    pub(crate) clusters: Vec<Value>,
}

/// Argo CD's own form of a refusal; the numbers are gRPC's.
fn refused(status: u16, code: u32, message: &str) -> (u16, String) {
    (status, json!({"error": message, "code": code, "message": message}).to_string())
}

impl ArgoCd {
    /// Answers. `reaches` says whether it gets into the cluster of a server: that is tried before anything is written.
    pub(crate) fn answer(&mut self, sent: &Sent, reaches: impl Fn(&str) -> bool) -> (u16, String) {
        let answer = match sent.operation() {
            "Version" => json!({"Version": "v3.5.1+109ca7c"}),
            "ListClusters" => {
                let own = json!({
                    "server": "https://kubernetes.default.svc", "name": "in-cluster",
                    "config": {"tlsClientConfig": {"insecure": false}},
                });
                let all: Vec<Value> = self.clusters.iter().map(given_back).chain([own]).collect();
                json!({"metadata": {}, "items": all})
            }
            "ListApplications" => json!({"metadata": {}, "items": null}),
            "GetUserInfo" => json!({"loggedIn": true, "username": "fleet", "iss": "argocd"}),
            "CanI" => json!({"value": "yes"}),
            _ => return self.change(sent, reaches),
        };
        (200, answer.to_string())
    }

    fn change(&mut self, sent: &Sent, reaches: impl Fn(&str) -> bool) -> (u16, String) {
        let (path, query) = sent.path.split_once('?').unwrap_or((&sent.path, ""));
        let named = percent_decode_str(path.rsplit('/').next().unwrap_or_default()).decode_utf8_lossy().into_owned();
        let server = if sent.method == "POST" { sent.body["server"].as_str().unwrap_or_default().to_owned() } else { named };
        let position = self.clusters.iter().position(|cluster| cluster["server"] == server.as_str());
        if sent.method != "POST" && position.is_none() {
            return refused(403, 7, "permission denied");
        }
        if sent.method == "DELETE" {
            self.clusters.retain(|cluster| cluster["server"] != server.as_str());
            return (200, "{}".to_owned());
        }
        if !reaches(&server) {
            return refused(401, 16, "error getting server version: the server has asked for the client to provide credentials");
        }
        let cluster = match position {
            None => {
                self.clusters.push(sent.body.clone());
                self.clusters.last_mut().unwrap()
            }
            Some(index) if sent.method == "POST" => {
                self.clusters[index] = sent.body.clone();
                &mut self.clusters[index]
            }
            Some(index) => {
                let cluster = &mut self.clusters[index];
                for field in query.split('&').filter_map(|pair| pair.strip_prefix("updatedFields=")) {
                    cluster[field] = sent.body[field].clone();
                }
                cluster
            }
        };
        (200, given_back(cluster).to_string())
    }
}

/// What Argo CD gives back: never the certificate authority.
fn given_back(cluster: &Value) -> Value {
    let mut cluster = cluster.clone();
    if let Some(tls) = cluster.pointer_mut("/config/tlsClientConfig").and_then(Value::as_object_mut) {
        tls.remove("caData");
    }
    let state = json!({"status": "Unknown", "message": "Cluster has no applications and is not being monitored."});
    cluster["info"] = json!({"connectionState": state, "applicationsCount": 0});
    cluster
}
