//! The local AWS, started once for the whole test run. It ends by itself when this process is gone.

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Top of the repository.
pub(crate) fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The running emulator.
#[derive(Debug)]
pub(crate) struct Emulator {
    pub url: String,
    pub runtime: tokio::runtime::Runtime,
    pub http: reqwest::Client,
}

impl Emulator {
    /// Starts it, or gives the one that runs. `FLEETCTL_TEST_AWS` names one that was started by hand.
    pub(crate) fn shared() -> &'static Self {
        static EMULATOR: OnceLock<Emulator> = OnceLock::new();
        EMULATOR.get_or_init(|| Self {
            url: std::env::var("FLEETCTL_TEST_AWS").unwrap_or_else(|_| start()),
            runtime: tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap(),
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
        })
    }

    pub(crate) fn request(&self, method: reqwest::Method, path: &str, body: Option<&Value>) -> Value {
        self.request_at(&self.url, method, path, body)
    }

    pub(crate) fn request_at(&self, base: &str, method: reqwest::Method, path: &str, body: Option<&Value>) -> Value {
        let mut request = self.http.request(method, format!("{base}{path}"));
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        self.runtime.block_on(async {
            let answer = request.send().await.unwrap();
            let status = answer.status();
            let text = answer.text().await.unwrap();
            assert!(status.is_success(), "{path}: {status}: {text}");
            serde_json::from_str(&text).unwrap_or(Value::Null)
        })
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.request(reqwest::Method::GET, path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        self.request(reqwest::Method::POST, path, Some(body))
    }
}

fn start() -> String {
    let output = Command::new(repository().join("localstack/up"))
        .arg("0")
        .env("FLEETCTL_LOCALSTACK_PARENT", std::process::id().to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "localstack/up: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("export AWS_ENDPOINT_URL="));
    line.expect("localstack/up prints where it listens").to_owned()
}
