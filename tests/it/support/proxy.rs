//! A proxy between fleetctl and the local AWS (or Argo CD): counts calls by itself, and can stop the world right after a
//! call took effect.

use super::emulator::Emulator;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// One call that went through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// `ec2`, `eks`, `iam`, `sts`, `argocd`.
    pub service: String,
    /// `CreateVpc`; `POST /clusters` for REST services.
    pub operation: String,
    pub status: u16,
    /// When it came, and when the answer to it was there.
    pub began: Instant,
    pub ended: Instant,
}

impl Call {
    pub(crate) fn is_mutating(&self) -> bool {
        if self.service == "sts" || self.service == "s3" {
            return false;
        }
        if self.operation.contains(' ') {
            return !self.operation.starts_with("GET ");
        }
        !["Describe", "Get", "List"].iter().any(|read| self.operation.starts_with(read))
    }
}

#[derive(Debug, Default)]
struct Shared {
    calls: Mutex<Vec<Call>>,
    /// The call after which nothing is answered any more.
    trap: Mutex<Option<String>>,
    sprung: Notify,
    /// Calls whose next reply is lost: they take effect, and an error is answered.
    losses: Mutex<Vec<String>>,
    /// The call that changes something, counted from 1, at which nothing is answered any more; and which it was.
    trap_at: Mutex<Option<(usize, Moment)>>,
    sprung_at: Mutex<Option<String>>,
    changes: AtomicUsize,
}

/// When a call is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// It never arrives.
    Before,
    /// It took effect, and nobody hears of it.
    After,
}

/// A running proxy.
#[derive(Debug, Clone)]
pub(crate) struct Proxy {
    pub url: String,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Starts a proxy in front of `upstream`.
    pub(crate) fn start(upstream: &str) -> Self {
        let emulator = Emulator::shared();
        let shared = Arc::<Shared>::default();
        let listener = emulator.runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (upstream, state) = (upstream.to_owned(), shared.clone());
        emulator.runtime.spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let (upstream, state) = (upstream.clone(), state.clone());
                tokio::spawn(async move {
                    let service = hyper::service::service_fn(move |request| {
                        let (upstream, state) = (upstream.clone(), state.clone());
                        async move { Ok::<_, Infallible>(forward(&upstream, &state, request).await) }
                    });
                    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { url, shared }
    }

    /// Every call so far, in the order in which they were answered.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.shared.calls.lock().unwrap().clone()
    }

    pub(crate) fn mutating(&self) -> Vec<Call> {
        self.calls().into_iter().filter(Call::is_mutating).collect()
    }

    pub(crate) fn forget(&self) {
        self.shared.calls.lock().unwrap().clear();
    }

    /// The next time this operation has taken effect, its reply is held back for ever.
    pub(crate) fn trap(&self, operation: &str) {
        *self.shared.trap.lock().unwrap() = Some(operation.to_owned());
    }

    /// The next time this operation has taken effect, an error is answered instead of its reply.
    pub(crate) fn lose(&self, operation: &str) {
        self.shared.losses.lock().unwrap().push(operation.to_owned());
    }

    /// Whether every reply that was to be lost is lost.
    pub(crate) fn has_lost_all(&self) -> bool {
        self.shared.losses.lock().unwrap().is_empty()
    }

    /// The call that changes something with this number, counted from 1 and from now on, is stopped for ever.
    pub(crate) fn trap_at(&self, number: usize, moment: Moment) {
        self.shared.changes.store(0, Ordering::SeqCst);
        *self.shared.trap_at.lock().unwrap() = Some((number, moment));
    }

    /// Waits until that has happened, and says which call it was.
    ///
    /// # Errors
    /// When the process ended before, or the call does not come.
    pub(crate) fn sprung_at(&self, process: &mut std::process::Child) -> Result<String, String> {
        for _ in 0..12_000 {
            if let Some(operation) = self.shared.sprung_at.lock().unwrap().clone() {
                return Ok(operation);
            }
            if let Some(status) = process.try_wait().unwrap() {
                return Err(format!("it ended before that call, {status}, after {} calls", self.mutating().len()));
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Err("the call did not come".to_owned())
    }

    /// Waits until the trap has sprung.
    pub(crate) fn wait_sprung(&self) {
        let shared = self.shared.clone();
        Emulator::shared().runtime.block_on(async move {
            tokio::time::timeout(std::time::Duration::from_mins(2), shared.sprung.notified()).await.expect("the call came");
        });
    }
}

impl Shared {
    /// Says which call it is, and never returns.
    async fn stop_at(&self, operation: &str) {
        *self.sprung_at.lock().unwrap() = Some(operation.to_owned());
        std::future::pending::<()>().await;
    }
}

type Body = http_body_util::Full<Bytes>;

async fn forward(upstream: &str, shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let began = Instant::now();
    let (head, body) = request.into_parts();
    let body = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
    let (service, operation) = name(&head, &body);
    let is_change = Call { service: service.clone(), operation: operation.clone(), status: 0, began, ended: began }.is_mutating();
    let number = if is_change { shared.changes.fetch_add(1, Ordering::SeqCst) + 1 } else { 0 };
    let moment = shared.trap_at.lock().unwrap().filter(|(trapped, _)| *trapped == number).map(|(_, moment)| moment);
    if moment == Some(Moment::Before) {
        shared.stop_at(&operation).await;
    }
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut headers = head.headers.clone();
    headers.remove("content-length");
    headers.remove("transfer-encoding");
    // The Host header stays: it is signed.
    let sent = Emulator::shared().http.request(head.method.clone(), format!("{upstream}{path}")).headers(headers).body(body);
    let Ok(answer) = sent.send().await else {
        return Response::builder().status(502).body(Body::default()).unwrap();
    };
    let (status, headers) = (answer.status(), answer.headers().clone());
    let bytes = answer.bytes().await.unwrap_or_default();
    let (operation_called, ended) = (operation.clone(), Instant::now());
    shared.calls.lock().unwrap().push(Call { service, operation: operation_called, status: status.as_u16(), began, ended });
    if moment == Some(Moment::After) {
        shared.stop_at(&operation).await;
    }
    let hit = shared.trap.lock().unwrap().take_if(|trap| *trap == operation && status.is_success());
    if hit.is_some() {
        shared.sprung.notify_one();
        std::future::pending::<()>().await;
    }
    let lost = {
        let mut losses = shared.losses.lock().unwrap();
        let at = losses.iter().position(|lost| *lost == operation && status.is_success());
        at.map(|at| losses.remove(at))
    };
    if lost.is_some() {
        let body = "<Error><Code>InternalError</Code><Message>We encountered an internal error</Message></Error>";
        return Response::builder().status(500).body(Body::from(body)).unwrap();
    }
    let mut response = Response::builder().status(status);
    for (key, value) in &headers {
        if !["content-length", "transfer-encoding", "connection"].contains(&key.as_str()) {
            response = response.header(key, value);
        }
    }
    response.body(Body::new(bytes)).unwrap()
}

fn name(head: &hyper::http::request::Parts, body: &[u8]) -> (String, String) {
    let authorization = head.headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or("");
    let scope = authorization.split("Credential=").nth(1).and_then(|rest| rest.split('/').nth(3));
    let Some(service) = scope else {
        return ("argocd".to_owned(), format!("{} {}", head.method, head.uri.path()));
    };
    if service == "s3" {
        return (service.to_owned(), format!("{} {}", head.method, object(head.uri.path(), head.uri.query())));
    }
    let text = String::from_utf8_lossy(body);
    let action = text.split('&').find_map(|pair| pair.strip_prefix("Action="));
    // JSON services name the operation in a header.
    let target = head.headers.get("x-amz-target").and_then(|value| value.to_str().ok()?.split('.').nth(1));
    let operation = action.or(target).map_or_else(|| format!("{} {}", head.method, shape(head.uri.path())), str::to_owned);
    (service.to_owned(), operation)
}

/// What a call of S3 is about.
fn object(path: &str, query: Option<&str>) -> &'static str {
    let is_list = query.is_some_and(|query| query.contains("list-type"));
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "lock" => "lock",
        _ if path.contains(".journal/") => "segment",
        _ if path.contains(".backup-") => "backup",
        "json" => "state",
        _ if is_list => "list",
        _ => "many",
    }
}

/// `/clusters/x/addons/y` → `/clusters/*/addons/*`.
fn shape(path: &str) -> String {
    let parts: Vec<_> = path.trim_start_matches('/').split('/').collect();
    let shaped: Vec<_> = parts.iter().enumerate().map(|(index, part)| if index % 2 == 1 { "*" } else { part }).collect();
    format!("/{}", shaped.join("/"))
}
