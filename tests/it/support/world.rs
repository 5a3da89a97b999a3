//! A world of one test: two accounts, an Argo CD double, proxies before both, a folder with documents and state.

use super::emulator::{Emulator, repository};
use super::proxy::Proxy;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A world of one test.
pub(crate) struct World {
    pub hub: String,
    pub workload: String,
    pub folder: tempfile::TempDir,
    pub aws: Proxy,
    pub argocd: Proxy,
    double: Child,
    double_url: String,
    token: String,
    environment: Vec<(String, String)>,
    /// Where state is, if it is in S3.
    bucket: Option<String>,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.double.kill();
        let _ = self.double.wait();
    }
}

impl World {
    /// Two fresh accounts, seeded; the role in the workload account asks for an external id.
    pub(crate) fn new() -> Self {
        Self::with_external_id(Some("fleetctl-test"))
    }

    pub(crate) fn with_external_id(external_id: Option<&str>) -> Self {
        let emulator = Emulator::shared();
        let (hub, workload) = (account(), account());
        emulator.post("/_fleet/accounts", &json!({"hub": hub, "workload": workload, "externalId": external_id}));
        let folder = tempfile::tempdir().unwrap();
        let (double, ready) = start_double(folder.path(), &emulator.url, &hub);
        let double_url = format!("http://127.0.0.1:{}", ready["port"]);
        let token = ready["tokens"]["fleet"].as_str().unwrap().to_owned();
        let world = Self {
            aws: Proxy::start(&emulator.url),
            argocd: Proxy::start(&double_url),
            hub,
            workload,
            folder,
            double,
            double_url,
            token,
            environment: Vec::new(),
            bucket: None,
        };
        world.settings(&json!({
            "clusterCreateSeconds": 2.0, "clusterDeleteSeconds": 1.0, "addonCreateSeconds": 0.5, "addonDeleteSeconds": 0.5,
            "natGatewayCreateSeconds": 1.0, "natGatewayDeleteSeconds": 1.0,
            "ec2VisibilityLagSeconds": 0.5, "iamVisibilityLagSeconds": 0.5, "rolePropagationSeconds": 1.0,
        }));
        world.write("fleetctl.yaml", &world.fleetctl_yaml("externalId: fleetctl-test"));
        world.write("cluster.yaml", &world.instance("workload-cluster1", ""));
        world
    }

    pub(crate) fn fleetctl_yaml(&self, more: &str) -> String {
        format!("accounts:\n  \"{}\":\n    roleName: ack\n    {more}\n", self.workload)
    }

    /// An `EksCluster` for the workload account. `more` are further lines of its spec.
    pub(crate) fn instance(&self, name: &str, more: &str) -> String {
        format!(
            "apiVersion: kro.run/v1alpha1\nkind: EksCluster\nmetadata:\n  name: {name}\n  namespace: argocd\nspec:\n  name: {name}\n  \
             tenant: tenant1\n  environment: staging\n  region: us-west-2\n  k8sVersion: \"1.34\"\n  accountId: \"{}\"\n  \
             managementAccountId: \"{}\"\n  adminRoleName: Admin\n{more}",
            self.workload, self.hub
        )
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The token for Argo CD.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The definitions that ship, whatever other tests use.
    pub(crate) fn use_shipped_graphs(&mut self) {
        self.set("FLEETCTL_GRAPHS", repository().join("graphs").to_str().unwrap());
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// The command, as a user in the hub account would start it in the world's folder. `FLEETCTL_TEST_PROGRAM` names
    /// another build.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let built = env!("CARGO_BIN_EXE_fleetctl").into();
        self.program(Path::new(&std::env::var_os("FLEETCTL_TEST_PROGRAM").unwrap_or(built)), arguments)
    }

    /// Another program in the same surroundings.
    pub(crate) fn program(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("AWS_ENDPOINT_URL", &self.aws.url)
            .env("AWS_ACCESS_KEY_ID", &self.hub)
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_REGION", "us-west-2")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("ARGOCD_SERVER", self.argocd.url.trim_start_matches("http://"))
            .env("ARGOCD_AUTH_TOKEN", &self.token)
            .env("ARGOCD_OPTS", "--plaintext")
            .env("FLEETCTL_VISIBILITY_WINDOW", "4")
            .stdin(Stdio::null());
        if let Some(graphs) = upstream_graphs() {
            command.env("FLEETCTL_GRAPHS", graphs);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it to its end.
    pub(crate) fn fleetctl(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.command(arguments).output().unwrap())
    }

    /// Starts it and lets it run.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// A call that somebody makes in the workload account past fleetctl: `form` of EC2 and IAM, a path of EKS.
    pub(crate) fn by_hand(&self, service: &str, method: &str, path: &str, form: &str) -> String {
        let emulator = Emulator::shared();
        let credential = format!("{}/20260101/us-west-2/{service}/aws4_request", self.workload);
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = emulator
            .http
            .request(method, format!("{}{path}", emulator.url))
            .header("authorization", format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=none"))
            .header("content-type", "application/x-www-form-urlencoded; charset=utf-8")
            .body(form.to_owned());
        emulator.runtime.block_on(async {
            let answer = request.send().await.unwrap();
            let (status, text) = (answer.status(), answer.text().await.unwrap());
            assert!(status.is_success(), "{form}{path}: {status}: {text}");
            text
        })
    }

    /// What AWS knows a resource by, as the state says.
    pub(crate) fn id(&self, name: &str) -> String {
        let state = self.state();
        let records = state["resources"].as_array().unwrap();
        let record = records.iter().find(|record| record["identity"]["name"] == name).unwrap();
        record["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn settings(&self, settings: &Value) {
        for account in [&self.hub, &self.workload] {
            let mut body = settings.clone();
            body["account"] = json!(account);
            Emulator::shared().post("/_fleet/settings", &body);
        }
    }

    /// Adds fault rules for the workload account.
    pub(crate) fn faults(&self, rules: &[Value]) {
        let rules: Vec<_> = rules
            .iter()
            .map(|rule| {
                let mut rule = rule.clone();
                rule["account"] = json!(self.workload);
                rule
            })
            .collect();
        Emulator::shared().post("/_fleet/faults?add=1", &json!(rules));
    }

    /// Waits until AWS has accepted a call.
    pub(crate) fn wait_for(&self, operation: &str) {
        for _ in 0..6000 {
            if self.aws.calls().iter().any(|call| call.operation == operation && call.status < 300) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{operation} was not called");
    }

    /// How many calls the fault rules of the workload account have hit.
    pub(crate) fn hits(&self) -> u64 {
        let rules = Emulator::shared().get("/_fleet/faults");
        let of_ours = rules.as_array().unwrap().iter().filter(|rule| rule["account"] == json!(self.workload));
        of_ours.map(|rule| rule["hits"].as_u64().unwrap()).sum()
    }

    #[expect(clippy::unused_self, reason = "reads as what the world holds")]
    pub(crate) fn inventory(&self, account: &str) -> Value {
        Emulator::shared().get(&format!("/_fleet/inventory?account={account}"))
    }

    /// Clusters as the Argo CD double has them.
    pub(crate) fn registered(&self) -> Value {
        Emulator::shared().request_at(&self.double_url, reqwest::Method::GET, "/_double/clusters", None)
    }

    /// Where the Argo CD double itself listens, without the proxy: `127.0.0.1:8080`.
    pub(crate) fn argocd_itself(&self) -> &str {
        self.double_url.trim_start_matches("http://")
    }

    /// Tells the Argo CD double something: `settings`, `faults`, `secrets`, `applicationSets`.
    pub(crate) fn tell_argocd(&self, what: &str, body: &Value) {
        Emulator::shared().request_at(&self.double_url, reqwest::Method::POST, &format!("/_double/{what}"), Some(body));
    }

    /// What the Argo CD double says of itself: `calls`, `faults`, `applications`.
    pub(crate) fn ask_argocd(&self, what: &str) -> Value {
        Emulator::shared().request_at(&self.double_url, reqwest::Method::GET, &format!("/_double/{what}"), None)
    }

    /// Empties a list of the Argo CD double: `clusters`, `calls`, `faults`.
    pub(crate) fn clear_argocd(&self, what: &str) {
        Emulator::shared().request_at(&self.double_url, reqwest::Method::DELETE, &format!("/_double/{what}"), None);
    }

    /// Keeps state in a new bucket from now on.
    pub(crate) fn use_bucket(&mut self) {
        let bucket = format!("fleet-state-{}", self.hub);
        let place = "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><LocationConstraint>us-west-2\
                     </LocationConstraint></CreateBucketConfiguration>";
        self.s3("PUT", &format!("/{bucket}"), place);
        self.set("FLEETCTL_STATE", &format!("s3://{bucket}/team"));
        self.bucket = Some(bucket);
    }

    /// An object below the prefix of the bucket, if it is there.
    pub(crate) fn object(&self, key: &str) -> Option<Vec<u8>> {
        let (status, bytes) = self.s3("GET", &format!("/{}/team/{key}", self.bucket.as_ref().unwrap()), "");
        (status == 200).then_some(bytes)
    }

    /// The keys in the bucket.
    pub(crate) fn keys(&self) -> Vec<String> {
        let (_, bytes) = self.s3("GET", &format!("/{}?list-type=2", self.bucket.as_ref().unwrap()), "");
        let text = String::from_utf8(bytes).unwrap();
        text.split("<Key>").skip(1).map(|rest| rest.split("</Key>").next().unwrap().to_owned()).collect()
    }

    fn s3(&self, method: &str, path: &str, body: &'static str) -> (u16, Vec<u8>) {
        let emulator = Emulator::shared();
        let credential = format!("{}/20260101/us-west-2/s3/aws4_request", self.hub);
        let request = emulator
            .http
            .request(reqwest::Method::from_bytes(method.as_bytes()).unwrap(), format!("{}{path}", emulator.url))
            .header("authorization", format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=none"))
            .body(body);
        emulator.runtime.block_on(async {
            let answer = request.send().await.unwrap();
            let (status, bytes) = (answer.status(), answer.bytes().await.unwrap().to_vec());
            assert!(status.is_success() || status == 404, "{method} {path}: {status}: {}", String::from_utf8_lossy(&bytes));
            (status.as_u16(), bytes)
        })
    }

    /// The state file of the instance.
    pub(crate) fn state(&self) -> Value {
        if self.bucket.is_some() {
            return serde_json::from_slice(&self.object("argocd/EksCluster.workload-cluster1.json").unwrap()).unwrap();
        }
        let path = self.folder.path().join("state/argocd/EksCluster.workload-cluster1.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Says everything when the exit code is another one.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    /// The last line of stdout as JSON: the summary.
    pub(crate) fn summary(&self) -> Value {
        serde_json::from_str(self.stdout.lines().last().unwrap()).unwrap()
    }
}

/// The definitions that the world runs: upstream's own, byte for byte, where they are at hand; else the built-in ones.
pub(crate) fn upstream_graphs() -> Option<PathBuf> {
    let folder = std::env::var_os("FLEETCTL_UPSTREAM_DATA")?;
    let graphs = Path::new(&folder).join("kro/eks-cluster-mgmt");
    let graphs = if graphs.is_absolute() { graphs } else { repository().join(graphs) };
    Some(graphs.canonicalize().unwrap())
}

/// An account id that no other test has.
fn account() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let base = u64::from(std::process::id()) * 10_000 % 100_000_000_000;
    format!("{}", 300_000_000_000 + base + NEXT.fetch_add(1, Ordering::Relaxed))
}

#[expect(clippy::zombie_processes, reason = "the world waits for it when it is dropped")]
fn start_double(folder: &Path, emulator: &str, hub: &str) -> (Child, Value) {
    let ready = folder.join("argocd.json");
    let child = Command::new("python3")
        .arg(repository().join("localstack/argocd"))
        .args(["--port", "0", "--emulator", emulator, "--parent", &std::process::id().to_string()])
        .args(["--role-arn", &format!("arn:aws:iam::{hub}:role/hub-cluster-argocd-controller")])
        .arg("--ready-file")
        .arg(&ready)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..1000 {
        if let Ok(bytes) = std::fs::read(&ready) {
            return (child, serde_json::from_slice(&bytes).unwrap());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the Argo CD double did not start");
}
