//! Requests to Argo CD's REST API.

use super::applications::{APPLICATIONS, ApplicationList};
use super::cluster::{Cluster, ClusterList, not_updatable};
use super::errors::Answer;
use super::product::{Product, Registering};
use super::settings::{ArgoCdSettings, SettingsError};
use crate::aws::error::{CallError, ErrorClass, text};
use crate::aws::redact::redact;
use crate::state::journal::Permit;
use backon::{ExponentialBuilder, Retryable};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Certificate, Method, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

/// Argo CD dials the cluster before it answers: up to 60 seconds where it has no AWS identity.
const TIMEOUT: Duration = Duration::from_secs(100);
const CONNECT: Duration = Duration::from_secs(10);
/// Attempts of a read.
const ATTEMPTS: usize = 4;

/// Reads clusters.
#[derive(Debug, Clone)]
pub struct Reader {
    client: Client,
}

/// Changes clusters.
#[derive(Debug, Clone)]
pub struct Writer {
    client: Client,
}

/// Makes a reader and a writer. Calls nothing; reads the file of `--server-crt`.
pub fn connect(settings: &ArgoCdSettings) -> Result<(Reader, Writer), SettingsError> {
    let client = Client::new(settings)?;
    Ok((Reader { client: client.clone() }, Writer { client }))
}

/// The server's version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// `v3.5.1+109ca7c`.
    pub version: String,
}

/// Whom Argo CD takes the token for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UserInfo {
    /// False for a bad token: Argo CD answers without an error then.
    pub logged_in: bool,
    /// The account.
    pub username: String,
    /// Who issued the token.
    pub iss: String,
}

impl Reader {
    /// Every cluster the token may see. Filters of the API answer the first match only, so there are none.
    pub async fn list_clusters(&self) -> Result<Vec<Cluster>, CallError> {
        let list: ClusterList = self.client.read("ListClusters", "/api/v1/clusters").await?;
        Ok(list.items)
    }

    /// The server's version. Needs no token.
    pub async fn version(&self) -> Result<Version, CallError> {
        #[derive(Deserialize)]
        struct Reply {
            #[serde(rename = "Version")]
            version: String,
        }
        let reply: Reply = self.client.read("Version", "/api/version").await?;
        Ok(Version { version: reply.version })
    }

    /// Which Argo CD it is: what settings say, else what its address or its version tells. Asked once.
    pub async fn product(&self) -> Result<Product, CallError> {
        if let Some(product) = self.client.registering.product.or_else(|| Product::of_address(&self.client.base)) {
            return Ok(product);
        }
        let product = self.client.product.get_or_try_init(|| async {
            let version = self.version().await?;
            Ok(Product::of_version(&version.version))
        });
        product.await.copied()
    }

    /// What settings say of how clusters are registered.
    pub fn registering(&self) -> &Registering {
        &self.client.registering
    }

    /// Names of the Applications that live on a cluster, as far as the token may see them: a list that it may not see is
    /// answered like an empty one.
    pub async fn list_applications(&self, cluster: &Cluster) -> Result<Vec<String>, CallError> {
        let list: ApplicationList = self.client.read("ListApplications", APPLICATIONS).await?;
        Ok(list.on(cluster))
    }

    /// Whom Argo CD takes the token for.
    pub async fn user_info(&self) -> Result<UserInfo, CallError> {
        self.client.read("GetUserInfo", "/api/v1/session/userinfo").await
    }

    /// Whether the token may do something: `can_i("clusters", "create", "default/*")`.
    pub async fn can_i(&self, resource: &str, action: &str, object: &str) -> Result<bool, CallError> {
        #[derive(Deserialize)]
        struct Reply {
            #[serde(default)]
            value: String,
        }
        let path = format!("/api/v1/account/can-i/{}/{}/{}", encoded(resource), encoded(action), encoded(object));
        let reply: Reply = self.client.read("CanI", &path).await?;
        Ok(reply.value == "yes")
    }

    /// Whether a list would show a cluster to this token: what it may not see is left out without a word.
    pub async fn sees(&self, project: &str, server: &str) -> Result<bool, CallError> {
        let server = server.trim_end_matches('/');
        let object = if project.is_empty() { server.to_owned() } else { format!("{project}/{server}") };
        self.can_i("clusters", "get", &object).await
    }

    /// The token, for what can be read of it without asking anybody.
    pub(super) fn token(&self) -> &SecretString {
        &self.client.token
    }
}

impl Writer {
    /// `POST /api/v1/clusters?upsert=true`: labels, annotations and the rest replace what is there.
    pub async fn create_cluster(&self, _permit: Permit, cluster: &Cluster) -> Result<Cluster, CallError> {
        self.client.write("CreateCluster", Method::POST, "/api/v1/clusters?upsert=true", Some(cluster)).await
    }

    /// `PUT /api/v1/clusters/{server}` with `updatedFields`: only those fields change, each as a whole. A cluster that is
    /// not there is [`ErrorClass::NotFound`].
    pub async fn update_cluster(
        &self,
        _permit: Permit,
        cluster: &Cluster,
        updated_fields: &[&str],
    ) -> Result<Cluster, CallError> {
        // Without a field Argo CD replaces everything, secrets included; an unknown one it ignores.
        if updated_fields.is_empty() {
            return Err(misuse("no field is to be updated"));
        }
        if let Some(field) = not_updatable(updated_fields) {
            return Err(misuse(&format!("{field} cannot be updated")));
        }
        let fields: Vec<String> = updated_fields.iter().map(|field| format!("updatedFields={}", encoded(field))).collect();
        let path = format!("{}?{}", path_of(&cluster.server), fields.join("&"));
        let answer = self.client.write("UpdateCluster", Method::PUT, &path, Some(cluster)).await;
        self.or_not_found(cluster, answer).await
    }

    /// `DELETE /api/v1/clusters/{server}`, as names are not unique. A cluster that is not there is [`ErrorClass::NotFound`].
    pub async fn delete_cluster(&self, _permit: Permit, cluster: &Cluster) -> Result<(), CallError> {
        let answer = self.client.write("DeleteCluster", Method::DELETE, &path_of(&cluster.server), None).await;
        self.or_not_found(cluster, answer.map(|_: serde_json::Value| ())).await
    }

    /// Argo CD answers 403 for a cluster that is not there. It is not there if the list lacks it and the token would see
    /// it.
    async fn or_not_found<T>(&self, cluster: &Cluster, answer: Result<T, CallError>) -> Result<T, CallError> {
        let error = match answer {
            Err(error) if error.class == ErrorClass::Denied => error,
            answer => return answer,
        };
        let reader = Reader { client: self.client.clone() };
        let (Ok(clusters), Ok(sees)) = (reader.list_clusters().await, reader.sees(&cluster.project, &cluster.server).await)
        else {
            return Err(error);
        };
        let server = cluster.server.trim_end_matches('/');
        let listed = clusters.iter().any(|cluster| cluster.server == server);
        Err(if sees && !listed { error.meaning(ErrorClass::NotFound) } else { error })
    }
}

/// A part of a path. Argo CD's router takes a bare colon for something else, and undoes slashes.
fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn path_of(server: &str) -> String {
    format!("/api/v1/clusters/{}", encoded(server.trim_end_matches('/')))
}

fn misuse(message: &str) -> CallError {
    failure("UpdateCluster", ErrorClass::Final, "InvalidRequest", message.to_owned())
}

fn failure(operation: &'static str, class: ErrorClass, code: &str, message: String) -> CallError {
    CallError { service: "argocd", operation, class, code: code.to_owned(), message, request_id: None }
}

/// What carries requests.
#[derive(Debug, Clone)]
enum Transport {
    Network(reqwest::Client),
    /// An Argo CD within this process: real connections know no paused clock.
    #[cfg(test)]
    Simulated(super::simulated::Link),
}

impl Transport {
    fn network(&self) -> &reqwest::Client {
        match self {
            Self::Network(http) => http,
            #[cfg(test)]
            Self::Simulated(_) => unreachable!("it is asked itself"),
        }
    }
}

/// What came back.
struct Reply {
    status: u16,
    location: Option<String>,
    body: String,
}

/// The same over an Argo CD within this process.
#[cfg(test)]
pub(crate) fn connect_simulated(settings: &ArgoCdSettings, link: super::simulated::Link) -> (Reader, Writer) {
    let client = Client {
        transport: Transport::Simulated(link),
        base: settings.base.clone(),
        token: settings.token.clone(),
        registering: settings.registering.clone(),
        product: Arc::default(),
    };
    (Reader { client: client.clone() }, Writer { client })
}

/// Connection, address and token. Cheap to clone.
#[derive(Debug, Clone)]
struct Client {
    transport: Transport,
    base: String,
    token: SecretString,
    registering: Registering,
    product: Arc<OnceCell<Product>>,
}

impl Client {
    fn new(settings: &ArgoCdSettings) -> Result<Self, SettingsError> {
        let mut builder = reqwest::Client::builder()
            .http1_only()
            .redirect(redirect::Policy::none())
            .timeout(TIMEOUT)
            .connect_timeout(CONNECT)
            .user_agent(concat!("fleetctl/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers(settings)?)
            .tls_danger_accept_invalid_certs(settings.insecure);
        if let Some(path) = &settings.server_certificates {
            let wrong = |why: &dyn std::fmt::Display| SettingsError(format!("--server-crt {}: {why}", path.display()));
            let pem = std::fs::read(path).map_err(|error| wrong(&error))?;
            let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| wrong(&text(&error)))?;
            if certificates.is_empty() {
                return Err(wrong(&"it holds no certificate in PEM"));
            }
            builder = builder.tls_certs_merge(certificates);
        }
        let http = builder.build().map_err(|error| SettingsError(text(&error)))?;
        Ok(Self {
            transport: Transport::Network(http),
            base: settings.base.clone(),
            token: settings.token.clone(),
            registering: settings.registering.clone(),
            product: Arc::default(),
        })
    }

    /// A read: repeated where the answer is lost or the server is busy.
    async fn read<T: DeserializeOwned>(&self, operation: &'static str, path: &str) -> Result<T, CallError> {
        let passes = |error: &CallError| matches!(error.class, ErrorClass::NotYet | ErrorClass::Throttled | ErrorClass::Unclear);
        let backoff = ExponentialBuilder::default().with_jitter().with_max_times(ATTEMPTS - 1);
        (|| self.call(operation, Method::GET, path, None)).retry(backoff).when(passes).await
    }

    /// A write: one attempt.
    async fn write<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        method: Method,
        path: &str,
        cluster: Option<&Cluster>,
    ) -> Result<T, CallError> {
        let body = cluster.map(|cluster| serde_json::to_string(&cluster.to_be_sent())).transpose();
        let body = body.map_err(|error| failure(operation, ErrorClass::Final, "InvalidRequest", error.to_string()))?;
        self.call(operation, method, path, Some(body.unwrap_or_default())).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Result<T, CallError> {
        let Reply { status, location, body } = self.send(operation, method, path, body).await?;
        let answer = Answer { operation, status, location: location.as_deref(), body: &body };
        if !(200..300).contains(&status) {
            return Err(answer.error());
        }
        serde_json::from_str(&body).map_err(|_| answer.unreadable())
    }

    async fn send(&self, operation: &'static str, method: Method, path: &str, body: Option<String>) -> Result<Reply, CallError> {
        #[cfg(test)]
        if let Transport::Simulated(link) = &self.transport {
            let (status, body) = link.send(method.as_str(), path, body).await.ok_or_else(|| {
                failure(operation, ErrorClass::Unclear, "ConnectionLost", "connection reset by peer".to_owned())
            })?;
            return Ok(Reply { status, location: None, body });
        }
        let http = self.transport.network();
        let mut request = http.request(method, format!("{}{path}", self.base));
        if let Some(body) = body {
            // Exactly so, also without a body: with a charset, or without the header, Argo CD answers 415.
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        let response = request.send().await.map_err(|error| lost(operation, &error))?;
        let status = response.status().as_u16();
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = response.text().await.map_err(|error| lost(operation, &error))?;
        Ok(Reply { status, location, body })
    }
}

/// No answer: the connection was never made, or nobody knows.
fn lost(operation: &'static str, error: &reqwest::Error) -> CallError {
    let (class, code) = if error.is_builder() {
        (ErrorClass::Final, "InvalidRequest")
    } else if error.is_connect() {
        (ErrorClass::NotYet, "Unreachable")
    } else if error.is_timeout() {
        (ErrorClass::Unclear, "Timeout")
    } else {
        (ErrorClass::Unclear, "ConnectionLost")
    };
    let text = redact(&text(error));
    let message = match way_out(error.is_connect(), &text) {
        Some(way_out) => format!("{text} ({way_out})"),
        None => text,
    };
    failure(operation, class, code, message)
}

/// What can be done about a connection that fails, where its text tells why.
fn way_out(is_connect: bool, text: &str) -> Option<&'static str> {
    let holds = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    if holds(&["InvalidContentType", "corrupt message"]) {
        return Some("the server does not speak TLS here: set ARGOCD_OPTS=--plaintext, or correct the port in ARGOCD_SERVER");
    }
    if holds(&["invalid peer certificate", "UnknownIssuer", "certificate"]) {
        return Some(
            "the server's certificate is not trusted: name its authority with --server-crt FILE in ARGOCD_OPTS, or set ARGOCD_OPTS=--insecure",
        );
    }
    is_connect.then_some("is the address in ARGOCD_SERVER right, and reachable from here?")
}

/// Headers of every request. Values are marked, so that they do not show in debug forms.
fn headers(settings: &ArgoCdSettings) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &settings.headers {
        let wrong = || SettingsError(format!("--header {name}: HTTP does not allow this name, or its value"));
        let name = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
        headers.append(name, secret(value.expose_secret()).ok_or_else(wrong)?);
    }
    let wrong = || SettingsError("the token of Argo CD does not fit into a header".to_owned());
    headers.insert(AUTHORIZATION, secret(&format!("Bearer {}", settings.token.expose_secret())).ok_or_else(wrong)?);
    Ok(headers)
}

fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests;
