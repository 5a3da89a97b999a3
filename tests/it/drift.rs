//! What somebody changes past fleetctl is told by `drift`, which changes nothing, and put back by `apply --drift-only`.

use crate::support::World;
use crate::support::aws::{Account, encoded};
use crate::support::calls::count;
use crate::support::emulator::Emulator;
use crate::support::world::Ended;
use serde_json::{Value, json};
use std::time::Duration;

fn applied() -> World {
    let world = World::new();
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    forget(&world);
    world
}

fn forget(world: &World) {
    world.aws.forget();
    world.argocd.forget();
}

/// Looks for drift: the report as JSON. No call that changes anything leaves the process, and nothing is written.
#[track_caller]
fn drift(world: &World, code: i32) -> Value {
    forget(world);
    let before = traces(world);
    let ended = world.fleetctl(&["drift", "cluster.yaml", "-o", "json"]).expect(code);
    expect_no_change(world);
    assert_eq!(traces(world), before, "drift writes nothing");
    serde_json::from_str(&ended.stdout).unwrap()
}

#[track_caller]
fn expect_no_change(world: &World) {
    assert!(!world.aws.calls().is_empty(), "drift reads");
    assert_eq!((world.aws.mutating(), world.argocd.mutating()), (Vec::new(), Vec::new()), "drift changes nothing");
}

/// Everything below the state folder with its content, and when something was last made or removed in each folder.
fn traces(world: &World) -> (Vec<(String, Vec<u8>)>, Vec<std::time::SystemTime>) {
    let folders = ["state", "state/argocd"].map(|folder| world.folder.path().join(folder));
    let touched = folders.iter().filter_map(|folder| std::fs::metadata(folder).ok()?.modified().ok());
    (files(world), touched.collect())
}

/// Everything below the state folder, with its content.
fn files(world: &World) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![world.folder.path().join("state")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The findings as lines: class, last part of the address, paths of fields.
fn lines(report: &Value) -> Vec<String> {
    let line = |finding: &Value| {
        let name = finding["address"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let paths: Vec<&str> =
            finding["fields"].as_array().unwrap().iter().map(|field| field["path"].as_str().unwrap()).collect();
        format!("{} {name} {}", finding["class"].as_str().unwrap(), paths.join(" ")).trim_end().to_owned()
    };
    let mut lines: Vec<String> = report["findings"].as_array().unwrap().iter().map(line).collect();
    lines.sort();
    lines
}

fn ec2(world: &World, form: &str) {
    world.by_hand("ec2", "POST", "/", &format!("{form}&Version=2016-11-15"));
}

fn remove_entry(world: &World, principal: &str) {
    world.by_hand("eks", "DELETE", &format!("/clusters/workload-cluster1/access-entries/{}", encoded(principal)), "");
}

/// The role that Argo CD comes with.
fn argocd_principal(world: &World) -> String {
    format!("arn:aws:iam::{}:role/hub-cluster-argocd-controller", world.hub)
}

/// The ARN of its access entry.
fn entry_arn(world: &World) -> String {
    let path = format!("/clusters/workload-cluster1/access-entries/{}", encoded(&argocd_principal(world)));
    let entry = Account(&world.workload).eks(&path);
    entry["accessEntry"]["accessEntryArn"].as_str().unwrap().to_owned()
}

/// Somebody changes a label of the registration in Argo CD.
fn relabel(world: &World, key: &str, value: &str) {
    let mut cluster =
        clusters(world)["items"].as_array().unwrap().iter().find(|one| one["name"] == "workload-cluster1").unwrap().clone();
    cluster["labels"][key] = json!(value);
    let server = encoded(cluster["server"].as_str().unwrap());
    let path = format!("/api/v1/clusters/{server}?updatedFields=labels");
    argocd(world, reqwest::Method::PUT, &path, Some(&cluster));
}

pub(crate) fn clusters(world: &World) -> Value {
    argocd(world, reqwest::Method::GET, "/api/v1/clusters", None)
}

pub(crate) fn argocd(world: &World, method: reqwest::Method, path: &str, body: Option<&Value>) -> Value {
    let emulator = Emulator::shared();
    let request = emulator.http.request(method, format!("{}{path}", world.argocd.url)).bearer_auth(world.token());
    let request = request.header("content-type", "application/json").body(body.map(Value::to_string).unwrap_or_default());
    emulator.runtime.block_on(async {
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status}: {text}");
        serde_json::from_str(&text).unwrap()
    })
}

/// Five changes past fleetctl.
fn five_changes(world: &World) {
    let table = world.id("workload-cluster1-public-routetable");
    ec2(world, &format!("Action=DeleteRoute&RouteTableId={table}&DestinationCidrBlock=0.0.0.0%2F0"));
    let subnet = world.id("workload-cluster1-public-subnet1");
    ec2(world, &format!("Action=ModifySubnetAttribute&SubnetId={subnet}&MapPublicIpOnLaunch.Value=false"));
    let vpc = world.id("workload-cluster1-vpc");
    ec2(world, &format!("Action=CreateTags&ResourceId.1={vpc}&Tag.1.Key=Name&Tag.1.Value=mine"));
    // Argo CD asks the cluster before it takes a change, and gets in by that entry.
    relabel(world, "tenant", "somebody");
    remove_entry(world, &argocd_principal(world));
    // Absence counts by the end of the visibility window.
    std::thread::sleep(Duration::from_secs(5));
}

#[test]
fn nothing_has_drifted_right_after_an_apply() {
    let world = applied();
    let report = drift(&world, 0);
    assert_eq!(report["findings"], json!([]));
    assert_eq!((&report["pending"], &report["unreadable"]), (&json!([]), &json!([])));
    assert_eq!(report["summary"]["objects"], 22, "{}", report["summary"]);
    assert_eq!(report["instances"][0]["recorded"], true);
    let text = world.fleetctl(&["drift", "cluster.yaml"]).expect(0);
    assert!(text.stdout.starts_with("EksCluster/workload-cluster1: no drift, 22 objects looked at in "), "{}", text.stdout);
    assert_eq!(text.stdout.lines().count(), 1, "{}", text.stdout);
}

#[test]
fn five_changes_past_fleetctl_are_five_findings_and_are_put_back() {
    let world = applied();
    five_changes(&world);
    let report = drift(&world, 2);
    let expected = [
        "changed argocdSecret metadata.labels[tenant]",
        "changed publicRoutetable spec.routes[0.0.0.0/0]",
        "changed publicSubnet1 spec.mapPublicIPOnLaunch",
        "changed vpc spec.tags[Name]",
        "missing accessEntry",
    ];
    assert_eq!(lines(&report), expected, "{report:#}");
    assert_eq!((&report["summary"]["changed"], &report["summary"]["missing"]), (&json!(4), &json!(1)));
    let label = report["findings"].as_array().unwrap().iter().find(|one| one["kind"] == "Secret").unwrap();
    let field = json!({"path": "metadata.labels[tenant]", "desired": "tenant1", "applied": "tenant1", "observed": "somebody"});
    assert_eq!(label["fields"], json!([field]));

    forget(&world);
    let text = world.fleetctl(&["drift", "cluster.yaml"]).expect(2);
    expect_no_change(&world);
    for part in ["5 findings (4 changed, 1 missing)", "last applied", "observed", "fleetctl apply --drift-only cluster.yaml"] {
        assert!(text.stdout.contains(part), "{part}: {}", text.stdout);
    }

    forget(&world);
    // One slot, so that the order of all calls is the order of steps.
    let arguments = ["apply", "cluster.yaml", "--drift-only", "--yes", "-o", "json", "--parallelism", "1"];
    let applied = world.fleetctl(&arguments).expect(0);
    // What is missing and young is looked for a while before that.
    let mut events = applied.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found = events.find(|event| event["event"] == "drift").unwrap();
    assert_eq!(found["findings"].as_array().unwrap().len(), 5, "{found}");
    expect_policies_at_once(&world);
    let changed: Vec<_> = count(&world.aws.mutating()).into_iter().collect();
    let expected = [
        ("ec2:CreateRoute".to_owned(), 1),
        ("ec2:CreateTags".to_owned(), 1),
        ("ec2:ModifySubnetAttribute".to_owned(), 1),
        ("eks:POST /clusters/*/access-entries".to_owned(), 1),
        ("eks:POST /clusters/*/access-entries/*/access-policies".to_owned(), 1),
    ];
    assert_eq!(changed, expected);
    // The registration's annotations follow the entry that was made anew, and its label is back.
    let registered = world.registered();
    assert_eq!(registered[0]["annotations"]["access_entry_arn"], json!(entry_arn(&world)));
    assert_eq!(registered[0]["labels"]["tenant"], "tenant1");
    drift(&world, 0);
    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(0);
}

/// No entry is without its policies for longer than one call: of everything that is changed, that comes next.
fn expect_policies_at_once(world: &World) {
    let changes: Vec<String> = world.aws.mutating().into_iter().map(|call| call.operation).collect();
    let made = changes.iter().position(|operation| operation == "POST /clusters/*/access-entries").unwrap();
    assert_eq!(changes.get(made + 1).unwrap(), "POST /clusters/*/access-entries/*/access-policies", "{changes:?}");
}

#[test]
fn what_the_documents_have_brought_since_is_no_drift_and_is_left_alone() {
    let world = applied();
    let vpc = world.id("workload-cluster1-vpc");
    ec2(&world, &format!("Action=CreateTags&ResourceId.1={vpc}&Tag.1.Key=Name&Tag.1.Value=mine"));
    relabel(&world, "environment", "somebodys");
    remove_entry(&world, &argocd_principal(&world));
    std::thread::sleep(Duration::from_secs(5));
    let text = world.instance("workload-cluster1", "").replace("tenant: tenant1", "tenant: tenant2");
    world.write("cluster.yaml", &text);
    let report = drift(&world, 2);
    let expected = ["changed argocdSecret metadata.labels[environment]", "changed vpc spec.tags[Name]", "missing accessEntry"];
    assert_eq!(lines(&report), expected, "{report:#}");
    let pending: Vec<&str> = report["pending"].as_array().unwrap().iter().map(|one| one["action"].as_str().unwrap()).collect();
    assert!(!pending.is_empty() && pending.iter().all(|action| *action == "update"), "{report:#}");
    let text = world.fleetctl(&["drift", "cluster.yaml"]).expect(2);
    assert!(text.stdout.contains("not applied yet"), "{}", text.stdout);

    forget(&world);
    world.fleetctl(&["apply", "cluster.yaml", "--drift-only", "--yes"]).expect(0);
    let registered = world.registered();
    let labels = &registered[0]["labels"];
    assert_eq!((&labels["tenant"], &labels["environment"]), (&json!("tenant1"), &json!("staging")));
    assert_eq!(registered[0]["annotations"]["access_entry_arn"], json!(entry_arn(&world)), "what was made anew is followed");
    let changed = count(&world.aws.mutating());
    let others: Vec<&String> = changed.keys().filter(|call| !call.contains("/access-entries")).collect();
    assert_eq!(others, ["ec2:CreateTags"]);
    let report = drift(&world, 0);
    assert!(!report["pending"].as_array().unwrap().is_empty(), "{report:#}");
    // A plan still shows what the documents want.
    world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(2);
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!(world.registered()[0]["labels"]["tenant"], "tenant2");
    assert_eq!(drift(&world, 0)["pending"], json!([]));
}

#[test]
fn what_drifted_and_is_wanted_otherwise_by_now_goes_back_to_what_was_applied() {
    let world = World::new();
    let documents = |tenant: &str| {
        let text = world.instance("workload-cluster1", "").replace("tenant: tenant1", &format!("tenant: {tenant}"));
        world.write("cluster.yaml", &text);
    };
    documents("tenant1");
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    let cluster = "/clusters/workload-cluster1";
    let tenant = || Account(&world.workload).eks(cluster)["cluster"]["tags"]["tenant"].clone();
    assert_eq!(tenant(), "tenant1");
    let arn = encoded(Account(&world.workload).eks(cluster)["cluster"]["arn"].as_str().unwrap());
    Account(&world.workload).change_of_eks(&format!("/tags/{arn}"), &json!({"tags": {"tenant": "oops"}}));
    relabel(&world, "tenant", "oops");
    documents("tenant3");
    let report = drift(&world, 2);
    assert_eq!(lines(&report), ["changed argocdSecret metadata.labels[tenant]", "changed ekscluster spec.tags[tenant]"]);
    for kind in ["Secret", "Cluster"] {
        let of_kind = |list: &str| report[list].as_array().unwrap().iter().find(|one| one["kind"] == kind).unwrap().clone();
        let (finding, pending) = (of_kind("findings"), of_kind("pending"));
        let field = &finding["fields"][0];
        let voices = (&field["desired"], &field["applied"], &field["observed"]);
        assert_eq!(voices, (&json!("tenant3"), &json!("tenant1"), &json!("oops")));
        assert!(pending["fields"].as_array().unwrap().contains(field), "{pending}");
    }
    world.fleetctl(&["apply", "cluster.yaml", "--drift-only", "--yes"]).expect(0);
    assert_eq!((tenant(), &world.registered()[0]["labels"]["tenant"]), (json!("tenant1"), &json!("tenant1")));
    let report = drift(&world, 0);
    assert!(report["pending"].as_array().unwrap().len() >= 2, "{report:#}");
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(0);
    assert_eq!((tenant(), &world.registered()[0]["labels"]["tenant"]), (json!("tenant3"), &json!("tenant3")));
    assert_eq!(drift(&world, 0)["pending"], json!([]));
}

#[test]
fn nothing_is_made_that_never_was_where_only_drift_is_put_back() {
    let mut world = World::new();
    world.set("ARGOCD_SERVER", "");
    world.fleetctl(&["apply", "cluster.yaml", "--yes"]).expect(3);
    let url = world.argocd.url.trim_start_matches("http://").to_owned();
    world.set("ARGOCD_SERVER", &url);
    let report = drift(&world, 0);
    let pending = &report["pending"];
    assert_eq!((&pending[0]["kind"], &pending[0]["action"]), (&json!("Secret"), &json!("create")), "{report:#}");
    let vpc = world.id("workload-cluster1-vpc");
    ec2(&world, &format!("Action=CreateTags&ResourceId.1={vpc}&Tag.1.Key=Name&Tag.1.Value=mine"));
    world.fleetctl(&["apply", "cluster.yaml", "--drift-only", "--yes"]).expect(0);
    assert_eq!(world.argocd.mutating(), []);
    assert_eq!(drift(&world, 0)["pending"][0]["kind"], "Secret");
}

#[test]
fn a_fresh_runner_finds_everything_by_tags_and_names() {
    let world = applied();
    std::fs::rename(world.folder.path().join("state"), world.folder.path().join("elsewhere")).unwrap();
    let report = drift(&world, 0);
    assert_eq!((&report["findings"], &report["summary"]["objects"]), (&json!([]), &json!(22)), "{report:#}");
    assert_eq!(report["instances"][0]["recorded"], false);
    assert!(!world.folder.path().join("state").exists(), "drift makes no state");

    five_changes_without_state(&world);
    let report = drift(&world, 2);
    let expected = [
        "changed argocdSecret metadata.labels[tenant]",
        "changed publicRoutetable spec.routes[0.0.0.0/0]",
        "changed publicSubnet1 spec.mapPublicIPOnLaunch",
        "changed vpc spec.tags[Name]",
        "missing accessEntry",
    ];
    assert_eq!(lines(&report), expected, "{report:#}");
    let fields = report["findings"].as_array().unwrap().iter().flat_map(|one| one["fields"].as_array().unwrap());
    assert!(fields.into_iter().all(|field| field.get("applied").is_none()), "nobody knows what was applied: {report:#}");
    let text = world.fleetctl(&["drift", "cluster.yaml"]).expect(2);
    assert!(text.stdout.contains("last applied unknown"), "{}", text.stdout);

    forget(&world);
    let refused = world.fleetctl(&["apply", "cluster.yaml", "--drift-only", "--yes"]).expect(4);
    assert!(refused.stderr.contains("--state"), "{}", refused.stderr);
    assert_eq!(world.aws.mutating(), []);
    assert!(!world.folder.path().join("state").exists(), "nothing was locked");
}

/// The five changes, where the ids are read from a state that lies elsewhere.
fn five_changes_without_state(world: &World) {
    let (here, elsewhere) = (world.folder.path().join("state"), world.folder.path().join("elsewhere"));
    std::fs::rename(&elsewhere, &here).unwrap();
    five_changes(world);
    std::fs::rename(&here, &elsewhere).unwrap();
}

#[cfg(unix)]
#[test]
fn a_state_that_cannot_be_written_is_enough() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = applied();
    let mode = |mode: u32, folder_mode: u32| {
        for (path, _) in files(&world) {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        for folder in ["state", "state/argocd"] {
            std::fs::set_permissions(world.folder.path().join(folder), std::fs::Permissions::from_mode(folder_mode)).unwrap();
        }
    };
    mode(0o400, 0o500);
    let report = drift(&world, 0);
    mode(0o600, 0o700);
    assert_eq!(report["summary"]["objects"], 22);
}

#[test]
fn what_cannot_be_read_does_not_hide_the_others() {
    let world = applied();
    let vpc = world.id("workload-cluster1-vpc");
    ec2(&world, &format!("Action=CreateTags&ResourceId.1={vpc}&Tag.1.Key=Name&Tag.1.Value=mine"));
    let denied = "388888888888";
    let other = world.instance("other", "").replace(&world.workload, denied);
    world.write("other.yaml", &other);
    world.write(
        "fleetctl.yaml",
        &format!("{}  \"{denied}\":\n    roleName: ack\n", world.fleetctl_yaml("externalId: fleetctl-test")),
    );
    forget(&world);
    let ended = world.fleetctl(&["drift", "cluster.yaml", "other.yaml", "-o", "json"]).expect(3);
    expect_no_change(&world);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(lines(&report), ["changed vpc spec.tags[Name]"], "{report:#}");
    let unreadable = report["unreadable"].as_array().unwrap();
    assert_eq!((unreadable.len(), &unreadable[0]["account"]), (1, &json!(denied)), "{report:#}");
    assert!(unreadable[0]["reason"].as_str().unwrap().contains("role/ack"), "{report:#}");
    let text: Ended = world.fleetctl(&["drift", "cluster.yaml", "other.yaml"]).expect(3);
    assert!(text.stdout.contains("not read") && text.stdout.contains("spec.tags[Name]"), "{}", text.stdout);
}

#[test]
fn an_argo_cd_that_is_not_there_is_told_beside_the_findings() {
    let mut world = applied();
    let vpc = world.id("workload-cluster1-vpc");
    ec2(&world, &format!("Action=CreateTags&ResourceId.1={vpc}&Tag.1.Key=Name&Tag.1.Value=mine"));
    world.set("ARGOCD_SERVER", "");
    let report = drift(&world, 3);
    assert_eq!(lines(&report), ["changed vpc spec.tags[Name]"]);
    assert!(report["unreadable"][0]["reason"].as_str().unwrap().contains("ARGOCD_SERVER"), "{report:#}");
    world.set("ARGOCD_SERVER", "127.0.0.1:1");
    let report = drift(&world, 3);
    assert!(report["unreadable"][0]["reason"].as_str().unwrap().contains("argocd ListClusters"), "{report:#}");
    assert_eq!(lines(&report), ["changed vpc spec.tags[Name]"]);
}

#[test]
fn a_call_that_is_refused_keeps_its_objects_from_being_judged_and_no_others() {
    let world = applied();
    world.faults(&[json!({"service": "iam", "operation": "GetRole", "count": null, "code": "AccessDenied", "status": 403})]);
    remove_entry(&world, &argocd_principal(&world));
    std::thread::sleep(Duration::from_secs(5));
    let report = drift(&world, 3);
    assert_eq!(lines(&report), ["missing accessEntry"], "{report:#}");
    assert_eq!((report["unreadable"].as_array().unwrap().len(), &report["summary"]["unreadable"]), (1, &json!(3)), "{report:#}");
}

#[test]
fn a_cluster_that_is_gone_is_missing_with_what_it_held() {
    let world = applied();
    world.by_hand("eks", "DELETE", "/clusters/workload-cluster1", "");
    std::thread::sleep(Duration::from_secs(5));
    let report = drift(&world, 2);
    let missing: Vec<String> = lines(&report);
    assert!(missing.iter().all(|line| line.starts_with("missing ")), "{report:#}");
    assert!(missing.contains(&"missing ekscluster".to_owned()), "{report:#}");
    assert_eq!(report["summary"]["missing"], 5, "{report:#}");
}

#[test]
fn a_cluster_that_is_being_deleted_has_changed() {
    let world = applied();
    world.settings(&json!({"clusterDeleteSeconds": 60.0}));
    world.by_hand("eks", "DELETE", "/clusters/workload-cluster1", "");
    let report = drift(&world, 2);
    let cluster = report["findings"].as_array().unwrap().iter().find(|one| one["kind"] == "Cluster").unwrap();
    assert_eq!((&cluster["class"], &cluster["fields"][0]["path"]), (&json!("changed"), &json!("status.status")), "{cluster}");
    assert_eq!((&cluster["fields"][0]["applied"], &cluster["fields"][0]["observed"]), (&json!("ACTIVE"), &json!("DELETING")));
    assert!(cluster["reason"].as_str().unwrap().contains("being deleted"), "{cluster}");
}

#[test]
fn an_apply_that_is_running_is_told_and_not_waited_for() {
    let world = World::new();
    world.settings(&json!({"clusterCreateSeconds": 20.0}));
    let mut apply = world.spawn(&["apply", "cluster.yaml", "--yes"]);
    world.wait_for("POST /clusters");
    let before = world.aws.mutating().len();
    let ended = world.fleetctl(&["drift", "cluster.yaml", "-o", "json"]);
    apply.kill().unwrap();
    apply.wait().unwrap();
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(report["instances"][0]["notes"][0].as_str().unwrap().contains("the state is locked since"), "{report:#}");
    assert_eq!(report["summary"]["missing"], 0, "what is not made yet is not missing: {report:#}");
    assert!(world.aws.mutating().len() >= before);
    // A holder that was killed is none.
    assert_eq!(drift(&world, 0)["instances"][0]["notes"], json!([]));
}

#[test]
fn drift_only_goes_with_documents_and_not_with_a_written_plan() {
    let world = World::new();
    world.fleetctl(&["plan", "cluster.yaml", "--out", "plan.json"]).expect(0);
    let refused = world.fleetctl(&["apply", "plan.json", "--drift-only", "--yes"]).expect(4);
    assert!(refused.stderr.contains("--drift-only"), "{}", refused.stderr);
    assert_eq!(world.aws.mutating(), []);
}

#[test]
fn what_cannot_be_put_back_is_refused_and_nothing_is_changed() {
    let world = applied();
    let vpc = world.id("workload-cluster1-vpc");
    ec2(&world, &format!("Action=CreateTags&ResourceId.1={vpc}&Tag.1.Key=Name&Tag.1.Value=mine"));
    Account(&world.workload).change_of_eks("/clusters/workload-cluster1/updates", &json!({"version": "1.35"}));
    std::thread::sleep(Duration::from_secs(3));
    let report = drift(&world, 2);
    let cluster = report["findings"].as_array().unwrap().iter().find(|one| one["kind"] == "Cluster").unwrap();
    assert_eq!(cluster["fields"][0]["path"], "spec.version", "{report:#}");
    assert_eq!((&cluster["fields"][0]["applied"], &cluster["fields"][0]["observed"]), (&json!("1.34"), &json!("1.35")));
    assert!(cluster["reason"].as_str().unwrap().contains("spec.version"), "{cluster}");
    forget(&world);
    world.fleetctl(&["apply", "cluster.yaml", "--drift-only", "--yes"]).expect(1);
    assert_eq!((world.aws.mutating(), world.argocd.mutating()), (Vec::new(), Vec::new()));
}

#[test]
fn a_fresh_runner_tells_of_objects_that_two_states_have_made() {
    let world = applied();
    let vpc = world.id("workload-cluster1-vpc");
    let address = "EksCluster/workload-cluster1/vpc/vpc";
    let tags = [
        ("fleetctl:lineage", "another"),
        ("fleetctl:instance", "argocd/EksCluster/workload-cluster1"),
        ("fleetctl:address", address),
    ];
    let tag = |(number, (key, value)): (u8, (&str, &str))| {
        let tag = format!("TagSpecification.1.Tag.{number}");
        format!("&{tag}.Key={}&{tag}.Value={}", encoded(key), encoded(value))
    };
    let tags: String = (1..).zip(tags).map(tag).collect();
    let form = format!("Action=CreateVpc&CidrBlock=10.9.0.0%2F16&TagSpecification.1.ResourceType=vpc{tags}");
    ec2(&world, &form);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(drift(&world, 0)["findings"], json!([]), "with the state there is no doubt");
    std::fs::remove_dir_all(world.folder.path().join("state")).unwrap();
    let report = drift(&world, 0);
    let notes = report["instances"][0]["notes"].to_string();
    assert!(notes.contains(&format!("{vpc} was compared")) && notes.contains("another"), "{notes}");
}

#[test]
fn what_was_never_applied_waits_and_does_not_keep_others_from_being_put_back() {
    let world = applied();
    let vpc = world.id("workload-cluster1-vpc");
    ec2(&world, &format!("Action=CreateTags&ResourceId.1={vpc}&Tag.1.Key=Name&Tag.1.Value=mine"));
    world.write("other.yaml", &world.instance("other", ""));
    forget(&world);
    let ended = world.fleetctl(&["drift", "cluster.yaml", "other.yaml", "-o", "json"]).expect(2);
    expect_no_change(&world);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(lines(&report), ["changed vpc spec.tags[Name]"], "{report:#}");
    assert!(report["instances"][1]["notes"].to_string().contains("never applied"), "{report:#}");
    let put_back = world.fleetctl(&["apply", "cluster.yaml", "other.yaml", "--drift-only", "--yes"]).expect(0);
    assert!(put_back.stderr.contains("EksCluster/other"), "{}", put_back.stderr);
    assert_eq!(count(&world.aws.mutating()).into_iter().collect::<Vec<_>>(), [("ec2:CreateTags".to_owned(), 1)]);
    assert_eq!(lines(&drift(&world, 0)), Vec::<String>::new());
}

#[test]
fn what_the_documents_name_otherwise_is_still_looked_at() {
    let world = applied();
    let text = world.instance("workload-cluster1", "");
    remove_entry(&world, &argocd_principal(&world));
    for other in [
        text.replace("region: us-west-2", "region: us-east-1"),
        text.replace("spec:\n  name: workload-cluster1", "spec:\n  name: b"),
    ] {
        world.write("cluster.yaml", &other);
        let report = drift(&world, 2);
        assert_eq!(lines(&report), ["missing accessEntry"], "{report:#}");
        assert!(report["findings"][0]["reason"].as_str().unwrap().contains("is not put back"), "{report:#}");
        assert_eq!(report["summary"]["unreadable"], 0);
    }
}
