//! Which cluster is meant, and what kubectl is told.

use super::*;
use crate::cli::arguments::OutputFormat;
use crate::cli::testing::context;
use crate::engine::clusters::testing::cluster;

fn named(name: &str) -> Kubeconfig {
    Kubeconfig { name: name.into(), ..Kubeconfig::default() }
}

fn said(clusters: &[RecordedCluster], arguments: &Kubeconfig) -> String {
    let instances = vec![("EksCluster".to_owned(), "one".to_owned()), ("Vpc".to_owned(), "net".to_owned())];
    match choose(clusters, arguments) {
        Ok(cluster) => told_apart(cluster),
        Err(Missing::Several(message)) => message,
        Err(Missing::Unknown) => not_found(clusters, &instances, arguments, "./state").to_string(),
    }
}

#[test]
fn clusters_are_found_or_explained() {
    let clusters = [
        cluster("argocd", "one", "one"),
        cluster("argocd", "two", "blue"),
        cluster("argocd", "two", "green"),
        cluster("other", "three", "blue"),
    ];
    let with = |name: &str, namespace: Option<&str>, cluster: Option<&str>| Kubeconfig {
        namespace: namespace.map(Into::into),
        cluster: cluster.map(Into::into),
        ..named(name)
    };
    let lines = [
        said(&clusters, &named("EksCluster/one")),
        said(&clusters, &named("ekscluster/one")),
        said(&clusters, &named("green")),
        said(&clusters, &named("EksCluster/two")),
        said(&clusters, &named("blue")),
        said(&clusters, &with("blue", Some("other"), None)),
        said(&clusters, &with("EksCluster/two", None, Some("blue"))),
        said(&clusters, &with("green", Some("other"), None)),
        said(&clusters, &named("EksCluster/oen")),
        said(&clusters, &named("Vpc/net")),
        said(&clusters, &named("gren")),
    ];
    insta::assert_snapshot!(lines.join("\n"), @"
    EksCluster/one --namespace argocd --cluster arn:aws:eks:us-west-2:222222222222:cluster/one  (222222222222, us-west-2)
    EksCluster/one --namespace argocd --cluster arn:aws:eks:us-west-2:222222222222:cluster/one  (222222222222, us-west-2)
    EksCluster/two --namespace argocd --cluster arn:aws:eks:us-west-2:222222222222:cluster/green  (222222222222, us-west-2)
    `EksCluster/two` names several clusters; choose one:
      EksCluster/two --namespace argocd --cluster arn:aws:eks:us-west-2:222222222222:cluster/blue  (222222222222, us-west-2)
      EksCluster/two --namespace argocd --cluster arn:aws:eks:us-west-2:222222222222:cluster/green  (222222222222, us-west-2)
    `blue` names several clusters; choose one:
      EksCluster/two --namespace argocd --cluster arn:aws:eks:us-west-2:222222222222:cluster/blue  (222222222222, us-west-2)
      EksCluster/three --namespace other --cluster arn:aws:eks:us-west-2:222222222222:cluster/blue  (222222222222, us-west-2)
    EksCluster/three --namespace other --cluster arn:aws:eks:us-west-2:222222222222:cluster/blue  (222222222222, us-west-2)
    EksCluster/two --namespace argocd --cluster arn:aws:eks:us-west-2:222222222222:cluster/blue  (222222222222, us-west-2)
    `green` names no cluster there; there is EksCluster/two --namespace argocd --cluster arn:aws:eks:us-west-2:222222222222:cluster/green  (222222222222, us-west-2)
    nothing is recorded of EksCluster/oen in ./state; did you mean `EksCluster/one`?
    Vpc/net is recorded, but no EKS cluster of it: run `fleetctl apply` first
    no cluster `gren` is recorded in ./state; did you mean `green`?
    ");
}

#[test]
fn kubectl_is_told_what_is_recorded_and_what_was_chosen() {
    let (context, ..) = context(OutputFormat::Text);
    let mut one = cluster("argocd", "one", "one");
    let access = one.access.clone().unwrap();
    let arguments = |arguments: &Kubeconfig, one: &RecordedCluster| {
        let entry = entry(&context, arguments, one, access.clone()).unwrap();
        format!("{}: {}", entry.context, entry.exec.arguments.join(" "))
    };
    one.role = Some(RoleUsed { arn: "arn:aws:iam::222222222222:role/ack".into(), external_id: Some("x".into()) });
    let admin = Kubeconfig { role_arn: Some("arn:aws:iam::222222222222:role/Admin".into()), ..named("one") };
    let mut lines = vec![
        arguments(&named("one"), &one),
        arguments(&Kubeconfig { context: Some("short".into()), ..named("one") }, &one),
        arguments(&admin, &one),
    ];
    one.role = None;
    lines.push(arguments(&named("one"), &one));
    insta::assert_snapshot!(lines.join("\n"), @"
    arn:aws:eks:us-west-2:222222222222:cluster/one: token --cluster one --region us-west-2 --role-arn arn:aws:iam::222222222222:role/ack --external-id x
    short: token --cluster one --region us-west-2 --role-arn arn:aws:iam::222222222222:role/ack --external-id x
    arn:aws:eks:us-west-2:222222222222:cluster/one: token --cluster one --region us-west-2 --role-arn arn:aws:iam::222222222222:role/Admin
    arn:aws:eks:us-west-2:222222222222:cluster/one: token --cluster one --region us-west-2
    ");
    let wrong = Kubeconfig { role_arn: Some("Admin".into()), ..named("one") };
    assert_eq!(entry(&context, &wrong, &one, access).unwrap_err().exit_code(), 4);
}

#[cfg(unix)]
#[test]
fn the_program_is_named_shortly_where_path_leads_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (folder.path().join("own/fleetctl"), folder.path().join("other/fleetctl"));
    for path in [&own, &other] {
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let path = |folders: &[&Path]| {
        let joined = std::env::join_paths(folders.iter().map(|path| path.parent().unwrap())).unwrap();
        own_name(Some(&own), &Environment::of(&[("PATH", joined.to_str().unwrap())]))
    };
    let whole = own.canonicalize().unwrap().display().to_string();
    assert_eq!(path(&[&own, &other]), "fleetctl");
    assert_eq!(path(&[&other, &own]), whole);
    assert_eq!(path(&[]), whole);
}
