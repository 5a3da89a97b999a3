//! Tests of the calls that a registration makes, against a small Argo CD that keeps what it is told.

use super::world::{ACCOUNT, World, of};
use super::{CLUSTER, cluster};
use crate::argocd::connect;
use crate::argocd::settings::ArgoCdSettings;
use crate::kinds::cluster::Cluster;
use crate::kinds::kind::{Kind, Observed, Owner, StepError, Takeover};
use crate::kinds::registration::Registration;
use crate::state::file::Record;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ARN: &str = "arn:aws:eks:us-west-2:222222222222:cluster/workload-cluster1";
const SERVER: &str = "https://ABC.gr7.us-west-2.eks.amazonaws.com";

/// A request: its first line without the version, and its body.
type Request = (String, Value);

/// Argo CD: its clusters, and the requests that changed something.
#[derive(Clone, Default)]
struct ArgoCd {
    clusters: Arc<Mutex<Vec<Value>>>,
    changes: Arc<Mutex<Vec<Request>>>,
    /// Its version; what the hosted one calls a server it has been given.
    version: &'static str,
    rewritten: Option<&'static str>,
    /// The token may not see anything.
    blind: bool,
}

impl ArgoCd {
    async fn start(&self) -> ArgoCdSettings {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let this = self.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (line, body) = read(&mut stream).await;
                let answer = this.answer(&line, &body).to_string();
                let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", answer.len());
                stream.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
            }
        });
        ArgoCdSettings::parse(&address, "token", "--plaintext").unwrap()
    }

    fn answer(&self, line: &str, body: &Value) -> Value {
        let mut clusters = self.clusters.lock().unwrap();
        if line == "GET /api/version" {
            return json!({"Version": self.version});
        }
        if line.starts_with("GET /api/v1/account/can-i/") {
            return json!({"value": if self.blind { "no" } else { "yes" }});
        }
        if line.starts_with("GET ") {
            let clusters = if self.blind { &[][..] } else { &clusters[..] };
            return json!({"items": clusters.iter().map(given_back).collect::<Vec<_>>()});
        }
        self.changes.lock().unwrap().push((line.to_owned(), body.clone()));
        let (path, fields) = line.split_once('?').unwrap_or((line, ""));
        let server = percent_decode_str(path.rsplit('/').next().unwrap()).decode_utf8().unwrap().into_owned();
        if line.starts_with("DELETE ") {
            clusters.retain(|cluster| cluster["server"] != server);
            return json!({});
        }
        if line.starts_with("POST ") {
            let mut cluster = body.clone();
            if let Some(server) = self.rewritten {
                cluster["server"] = json!(server);
            }
            clusters.push(cluster.clone());
            return given_back(&cluster);
        }
        let there = clusters.iter_mut().find(|cluster| cluster["server"] == server).unwrap();
        for field in fields.split('&').filter_map(|field| field.strip_prefix("updatedFields=")) {
            there[field] = body[field].clone();
        }
        given_back(there)
    }

    /// First lines of the requests that changed something.
    fn lines(&self) -> Vec<String> {
        self.changes.lock().unwrap().iter().map(|(line, _)| line.clone()).collect()
    }

    /// Changes what is stored, as somebody else would.
    fn meddle(&self, change: impl Fn(&mut Value)) {
        self.clusters.lock().unwrap().iter_mut().for_each(change);
    }
}

/// Argo CD never gives the certificate authority back.
fn given_back(cluster: &Value) -> Value {
    let mut cluster = cluster.clone();
    if let Some(tls) = cluster.pointer_mut("/config/tlsClientConfig").and_then(Value::as_object_mut) {
        tls.remove("caData");
    }
    cluster
}

async fn read(stream: &mut TcpStream) -> Request {
    let mut text = String::new();
    loop {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await.unwrap();
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            let line = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
            return (line, serde_json::from_str(body).unwrap_or_default());
        }
    }
}

/// An ACTIVE cluster, and an Argo CD.
async fn world(argocd: &ArgoCd) -> World {
    let mut world = Box::pin(World::new(|_| None)).await;
    Box::pin(world.make(&Cluster, &cluster())).await.unwrap();
    let (reader, writer) = connect(&argocd.start().await).unwrap();
    world.cloud.readers.argocd = Some(reader);
    world.cloud.writers.argocd = Some(writer);
    world
}

fn secret() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {
            "name": CLUSTER, "namespace": "argocd",
            "labels": {"argocd.argoproj.io/secret-type": "cluster", "tenant": "tenant1", "environment": "staging"},
            "annotations": {"addons_repo_url": "https://github.com/example/eks-cluster-mgmt"},
        },
        "stringData": {
            "name": CLUSTER, "project": "default",
            "server": format!("arn:aws:eks:us-west-2:{ACCOUNT}:cluster/{CLUSTER}"),
        },
    })
}

async fn read_again(world: &World, record: &Record) -> Observed {
    Registration.read(&world.cloud.readers, &of(&Registration, &secret()), record).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_cluster_is_registered_with_one_call_and_then_left_alone() {
    let argocd = ArgoCd::default();
    let world = world(&argocd).await;
    let (record, observed) = world.make(&Registration, &secret()).await.unwrap();
    assert_eq!(argocd.lines(), ["POST /api/v1/clusters?upsert=true"]);
    let sent = argocd.changes.lock().unwrap()[0].1.clone();
    assert_eq!((&sent["server"], &sent["name"], &sent["project"]), (&json!(SERVER), &json!(CLUSTER), &json!("default")));
    assert_eq!(sent["config"]["tlsClientConfig"]["caData"], "Q0E=");
    assert_eq!(sent["config"]["awsAuthConfig"], json!({"clusterName": CLUSTER}));
    assert_eq!(record.id, SERVER);
    assert_eq!(record.applied["stringData"], secret()["stringData"]);
    let subject = of(&Registration, &secret());
    assert_eq!(observed.owner(&subject.marks), Owner::Ours);

    let again = read_again(&world, &record).await;
    assert_eq!(again, observed);
    assert_eq!(Registration.find(&world.cloud.readers, &subject, &secret()).await.unwrap(), Some(again.clone()));
    assert_eq!(Registration.compare(&subject, &secret(), &again, None), []);
    Registration.configure(&world.cloud, &world.recorder, &subject, &secret(), &again).await.unwrap();
    assert_eq!(argocd.lines().len(), 1);
}

#[tokio::test]
async fn only_what_drifted_is_written() {
    let argocd = ArgoCd::default();
    let world = world(&argocd).await;
    let (record, _) = world.make(&Registration, &secret()).await.unwrap();
    argocd.meddle(|cluster| {
        cluster["labels"]["tenant"] = json!("other");
        cluster["labels"]["argocd.argoproj.io/kubernetes-version"] = json!("1.34");
    });
    let subject = of(&Registration, &secret());
    let observed = read_again(&world, &record).await;
    Registration.configure(&world.cloud, &world.recorder, &subject, &secret(), &observed).await.unwrap();
    assert!(argocd.lines()[1].ends_with("?updatedFields=labels"), "{:?}", argocd.lines());
    let labels = argocd.clusters.lock().unwrap()[0]["labels"].clone();
    assert_eq!(labels, json!({"argocd.argoproj.io/kubernetes-version": "1.34", "environment": "staging", "tenant": "tenant1"}));
}

#[tokio::test]
async fn a_new_certificate_authority_is_written_with_its_hash() {
    let argocd = ArgoCd::default();
    let world = world(&argocd).await;
    let (record, _) = world.make(&Registration, &secret()).await.unwrap();
    let path = format!("/clusters/{CLUSTER}");
    world.objects.lock().unwrap().get_mut(&path).unwrap()["certificateAuthority"]["data"] = json!("TkVX");
    let subject = of(&Registration, &secret());
    let observed = read_again(&world, &record).await;
    Registration.configure(&world.cloud, &world.recorder, &subject, &secret(), &observed).await.unwrap();
    assert!(argocd.lines()[1].ends_with("?updatedFields=annotations&updatedFields=config"), "{:?}", argocd.lines());
    assert_eq!(argocd.clusters.lock().unwrap()[0]["config"]["tlsClientConfig"]["caData"], "TkVX");
    let observed = read_again(&world, &record).await;
    assert_eq!(Registration.compare(&subject, &secret(), &observed, None), []);
}

#[tokio::test]
async fn what_others_registered_is_refused() {
    let argocd = ArgoCd::default();
    let world = world(&argocd).await;
    let other = json!({"server": SERVER, "name": CLUSTER, "config": {}});
    argocd.clusters.lock().unwrap().push(other.clone());
    let refused = world.make(&Registration, &secret()).await.unwrap_err();
    assert!(matches!(&refused, StepError::NotOurs(text) if text.contains("did not register")), "{refused}");
    argocd.clusters.lock().unwrap().push(other);
    let refused = world.make(&Registration, &secret()).await.unwrap_err();
    assert!(matches!(&refused, StepError::Refused(error) if error.code == "DuplicateServer"), "{refused}");
    *argocd.clusters.lock().unwrap() = vec![json!({"server": "https://other", "name": CLUSTER, "config": {}})];
    let refused = world.make(&Registration, &secret()).await.unwrap_err();
    assert!(matches!(&refused, StepError::Refused(error) if error.code == "NameTaken"), "{refused}");
    assert!(argocd.lines().is_empty());
}

#[tokio::test]
async fn our_own_half_made_registration_is_completed() {
    let argocd = ArgoCd::default();
    let world = world(&argocd).await;
    world.make(&Registration, &secret()).await.unwrap();
    argocd.meddle(|cluster| cluster["project"] = json!("other"));
    let (record, _) = world.make(&Registration, &secret()).await.unwrap();
    assert!(argocd.lines()[1].starts_with("PUT "), "{:?}", argocd.lines());
    assert_eq!((argocd.lines().len(), record.id.as_str()), (2, SERVER));
    assert_eq!(argocd.clusters.lock().unwrap()[0]["project"], "default");
}

#[tokio::test]
async fn a_registration_is_removed_by_server_and_only_if_it_is_ours() {
    let argocd = ArgoCd::default();
    let world = world(&argocd).await;
    let (record, _) = world.make(&Registration, &secret()).await.unwrap();
    let subject = of(&Registration, &secret());
    let mut stranger = subject.clone();
    stranger.marks.lineage = "other".to_owned();
    let refused = Registration.delete(&world.cloud, &world.recorder, &stranger, &record).await.unwrap_err();
    assert!(matches!(refused, StepError::NotOurs(_)), "{refused}");
    for _ in 0..2 {
        Registration.delete(&world.cloud, &world.recorder, &subject, &record).await.unwrap();
    }
    assert_eq!(argocd.lines().len(), 2);
    assert!(argocd.lines()[1].starts_with("DELETE /api/v1/clusters/https%3A%2F%2FABC"), "{:?}", argocd.lines());
    assert!(argocd.clusters.lock().unwrap().is_empty());
}

#[tokio::test]
async fn without_argo_cd_or_cluster_nothing_is_called() {
    let argocd = ArgoCd::default();
    let mut world = world(&argocd).await;
    world.objects.lock().unwrap().remove(&format!("/clusters/{CLUSTER}"));
    let refused = world.make(&Registration, &secret()).await.unwrap_err();
    assert!(refused.to_string().contains("no endpoint and certificate authority yet"), "{refused}");
    world.cloud.readers.argocd = None;
    let refused = world.make(&Registration, &secret()).await.unwrap_err();
    assert!(matches!(&refused, StepError::Refused(error) if error.code == "NotConfigured"), "{refused}");
    assert!(argocd.lines().is_empty());
}

/// What the hosted Argo CD is given and gives back.
#[tokio::test]
async fn the_hosted_argo_cd_is_given_the_arn_and_may_change_it() {
    for (rewritten, id) in [(None, ARN), (Some("https://hosted"), "https://hosted")] {
        let argocd = ArgoCd { version: "v3.2.7+eks-1", rewritten, ..ArgoCd::default() };
        let world = world(&argocd).await;
        let mut wanted = secret();
        wanted["stringData"].as_object_mut().unwrap().remove("project");
        let (record, observed) = world.make(&Registration, &wanted).await.unwrap();
        let sent = argocd.changes.lock().unwrap()[0].1.clone();
        assert_eq!((&sent["server"], &sent["project"]), (&json!(ARN), &json!("default")));
        assert_eq!(sent["config"], json!({"awsAuthConfig": {"clusterName": ARN}}));
        assert!(sent["annotations"]["fleetctl/config-hash"].is_null());
        assert_eq!(record.id, id);
        let subject = of(&Registration, &wanted);
        let again = read_again(&world, &record).await;
        assert_eq!(Registration.compare(&subject, &wanted, &again, None), []);
        assert_eq!(Registration.find(&world.cloud.readers, &subject, &wanted).await.unwrap(), Some(observed));
        Registration.delete(&world.cloud, &world.recorder, &subject, &record).await.unwrap();
        assert!(argocd.clusters.lock().unwrap().is_empty(), "{:?}", argocd.lines());
    }
}

/// A Secret as kro makes them: server, name and project, no configuration.
#[tokio::test]
async fn what_kro_registered_is_taken_over_by_one_put() {
    let argocd = ArgoCd { version: "v3.2.7+eks-1", ..ArgoCd::default() };
    let world = world(&argocd).await;
    let made_by_kro = json!({"server": ARN, "name": CLUSTER, "project": "default", "labels": {"tenant": "old"}, "config": {}});
    argocd.clusters.lock().unwrap().push(made_by_kro);
    let subject = of(&Registration, &secret());
    let observed = Registration.find(&world.cloud.readers, &subject, &secret()).await.unwrap().unwrap();
    assert_eq!((observed.owner(&subject.marks), Registration.takeover(&observed)), (Owner::Nobody, Takeover::ByName));
    Registration.configure(&world.cloud, &world.recorder, &subject, &secret(), &observed).await.unwrap();
    let lines = argocd.lines();
    assert!(
        lines.len() == 1 && lines[0].starts_with("PUT ") && lines[0].ends_with("?updatedFields=labels&updatedFields=annotations"),
        "{lines:?}"
    );
    let observed = Registration.find(&world.cloud.readers, &subject, &secret()).await.unwrap().unwrap();
    assert_eq!(observed.owner(&subject.marks), Owner::Ours);
    assert_eq!(Registration.compare(&subject, &secret(), &observed, None), []);
}

#[tokio::test]
async fn registrations_in_each_others_way_are_shown_and_never_touched() {
    let argocd = ArgoCd::default();
    let world = world(&argocd).await;
    let subject = of(&Registration, &secret());
    let rows = [
        (vec![json!({"server": SERVER, "name": CLUSTER}), json!({"server": SERVER, "name": "kro"})], "2 registrations"),
        (vec![json!({"server": "https://other", "name": CLUSTER})], "another cluster of the name"),
        (vec![json!({"server": ARN, "name": "spoke"})], "delete that Secret"),
    ];
    for (clusters, part) in rows {
        *argocd.clusters.lock().unwrap() = clusters;
        let observed = Registration.find(&world.cloud.readers, &subject, &secret()).await.unwrap().unwrap();
        let Takeover::Refused(Some(reason)) = Registration.takeover(&observed) else { panic!("{observed:?}") };
        assert!(reason.contains(part), "{reason}");
        world.make(&Registration, &secret()).await.unwrap_err();
    }
    assert!(argocd.lines().is_empty());
}

/// What a token may not see is not taken for absent: nothing is registered over it, and its record stays.
#[tokio::test]
async fn what_the_token_may_not_see_is_not_absent() {
    let argocd = ArgoCd { blind: true, ..ArgoCd::default() };
    let world = world(&argocd).await;
    let subject = of(&Registration, &secret());
    let refused = world.make(&Registration, &secret()).await.unwrap_err();
    assert!(matches!(&refused, StepError::Refused(error) if error.code == "NotSeen"), "{refused}");
    let readers = &world.cloud.readers;
    assert_eq!(Registration.find(readers, &subject, &secret()).await.unwrap_err().code, "NotSeen");
    assert!(argocd.lines().is_empty());
}
