//! A real kubectl, and something that plays the API server of a cluster.

use super::World;
use super::emulator::{Emulator, repository};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

fn support(name: &str) -> PathBuf {
    repository().join("tests/it/support").join(name)
}

/// The Python of the local AWS, which has pip; otherwise the machine's own.
fn python() -> PathBuf {
    let folders = std::fs::read_dir(repository().join("localstack/.local")).into_iter().flatten().flatten();
    let mut pythons = folders.map(|folder| folder.path().join("bin/python")).filter(|python| python.exists());
    pythons.next().unwrap_or_else(|| "python3".into())
}

/// A real kubectl: that of `FLEETCTL_TEST_KUBECTL`, otherwise a pinned one, which the first test run downloads.
pub(crate) fn kubectl() -> Option<&'static Path> {
    static KUBECTL: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        if let Some(path) = std::env::var_os("FLEETCTL_TEST_KUBECTL") {
            return Some(path.into());
        }
        // The local AWS brings the Python with pip.
        Emulator::shared();
        let output = Command::new(python()).arg(support("kubectl.py")).output().unwrap();
        assert!(output.status.success() || output.status.code() == Some(3), "{}", String::from_utf8_lossy(&output.stderr));
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().into())
    };
    KUBECTL.get_or_init(find).as_deref()
}

/// Plays the API server of a cluster on loopback, with a certificate that the cluster's own CA has signed.
#[derive(Debug)]
pub(crate) struct ApiServer {
    pub url: String,
    log: PathBuf,
    process: Child,
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl ApiServer {
    #[expect(clippy::zombie_processes, reason = "it is waited for when it is dropped")]
    pub(crate) fn start(world: &World, endpoint: &str, cluster: &str) -> Self {
        let signed = Emulator::shared().get(&format!("/_fleet/certificate?endpoint={}", super::aws::encoded(endpoint)));
        let text = |name: &str| signed[name].as_str().unwrap();
        let certificate = world.write("api/certificate.pem", text("certificate"));
        let key = world.write("api/key.pem", text("key"));
        let (log, ready) = (world.folder.path().join("api/log"), world.folder.path().join("api/ready"));
        let process = Command::new("python3")
            .arg(support("kubernetes_api.py"))
            .args([&certificate, &key, Path::new(cluster), &log, &ready])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        for _ in 0..1000 {
            if let Ok(port) = std::fs::read_to_string(&ready) {
                return Self { url: format!("https://127.0.0.1:{port}"), log, process };
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the API server did not start");
    }

    /// What it was asked, in order: path, authorization, and the ARN of who asked.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
