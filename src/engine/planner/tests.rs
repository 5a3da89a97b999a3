//! The planner with the kinds as they are: documents and what was seen in, actions out.

mod guards;

use super::*;
use crate::engine::api::{ArgoCd, EngineSettings};
use crate::engine::place::{expand_all, place_all};
use crate::graph::definition::Definitions;
use crate::graph::diagnostic::SourceFile;
use crate::graph::documents::Documents;
use crate::graph::yaml;
use crate::kinds::kind::Marks;
use crate::state::file::DefinitionsUsed;
use crate::state::session::Holder;
use chrono::DateTime;
use serde_json::json;
use std::time::Duration;

const ACCOUNT: &str = "222222222222";

const DEFINITION: &str = r#"
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: network.kro.run}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Network
    spec:
      accountId: string | required=true
      name: string | default="main"
      tenancy: string | default="default"
      hostnames: boolean | default=false
      zone: string | default="us-west-2a"
  resources:
    - id: vpc
      template:
        apiVersion: ec2.services.k8s.aws/v1alpha1
        kind: VPC
        metadata: {name: "${schema.spec.name}"}
        spec:
          cidrBlocks: [10.0.0.0/16]
          instanceTenancy: ${schema.spec.tenancy}
          enableDNSHostnames: ${schema.spec.hostnames}
    - id: subnet
      template:
        apiVersion: ec2.services.k8s.aws/v1alpha1
        kind: Subnet
        metadata: {name: subnet}
        spec:
          vpcID: ${vpc.status.vpcID}
          cidrBlock: 10.0.0.0/24
          availabilityZone: ${schema.spec.zone}
    - id: role
      includeWhen: ["${vpc.status.state == 'available'}"]
      template:
        apiVersion: iam.services.k8s.aws/v1alpha1
        kind: Role
        metadata: {name: role}
        spec:
          name: role
          assumeRolePolicyDocument: '{"Statement": [{"Effect": "Allow"}]}'
    - id: registration
      template:
        apiVersion: v1
        kind: Secret
        metadata: {name: registration, labels: {argocd.argoproj.io/secret-type: cluster}}
        type: Opaque
        stringData:
          name: one
          project: default
          server: arn:aws:eks:us-west-2:222222222222:cluster/one
"#;

/// A cluster, what lives in it, and its registration.
pub(in crate::engine) const WITH_CLUSTER: &str = r#"
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: network.kro.run}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Network
    spec:
      accountId: string | required=true
  resources:
    - id: cluster
      template:
        apiVersion: eks.services.k8s.aws/v1alpha1
        kind: Cluster
        metadata: {name: one}
        spec:
          name: one
          roleARN: arn:aws:iam::222222222222:role/eks
          resourcesVPCConfig: {subnetIDs: [subnet-1, subnet-2]}
    - id: addon
      template:
        apiVersion: eks.services.k8s.aws/v1alpha1
        kind: Addon
        metadata: {name: dns}
        spec: {name: dns, clusterName: "${cluster.spec.name}"}
    - id: registration
      template:
        apiVersion: v1
        kind: Secret
        metadata: {name: registration, labels: {argocd.argoproj.io/secret-type: cluster}}
        type: Opaque
        stringData:
          name: one
          project: default
          server: ${cluster.status.ackResourceMetadata.arn}
"#;

/// An instance of a definition, what the state says of it, and what AWS says.
pub(crate) struct Scene {
    pub(in crate::engine) work: Work,
    pub(in crate::engine) seen: BTreeMap<NodeIndex, Seen>,
    orphans: Vec<Orphan>,
    facts: BTreeMap<(String, String), PlaceFacts>,
}

impl Scene {
    /// An instance of [`DEFINITION`]. Nothing is recorded, and nothing is there. `inputs` are lines of the instance's spec.
    pub(crate) fn new(inputs: &str) -> Self {
        Self::of(DEFINITION, inputs)
    }

    /// A cluster, an add-on of it, and its registration.
    pub(in crate::engine) fn with_cluster() -> Self {
        Self::of(WITH_CLUSTER, "")
    }

    pub(in crate::engine) fn of(definition: &str, inputs: &str) -> Self {
        let spec = format!("  accountId: \"{ACCOUNT}\"\n{inputs}");
        let instance =
            format!("apiVersion: kro.run/v1alpha1\nkind: Network\nmetadata: {{name: one, namespace: argocd}}\nspec:\n{spec}");
        let nodes = yaml::parse(&SourceFile::new("network.yaml", format!("{definition}---\n{instance}"))).unwrap();
        let (definitions, problems) = Definitions::load(&nodes, &KindCatalog);
        assert!(problems.is_empty(), "{problems:?}");
        let (documents, problems) = Documents::load(&nodes, &definitions);
        assert!(problems.is_empty(), "{problems:?}");
        let mut works = expand_all(&documents, &definitions, &DefinitionsUsed::default()).unwrap();
        place_all(&mut works, &documents, &settings(), Some(ACCOUNT)).unwrap();
        let work = works.remove(0);
        let zones = BTreeMap::from([("us-west-2a".to_owned(), true), ("us-west-2d".to_owned(), false)]);
        let facts = BTreeMap::from([((ACCOUNT.to_owned(), "us-west-2".to_owned()), PlaceFacts { zones })]);
        let mut scene = Self { work, seen: BTreeMap::new(), orphans: Vec::new(), facts };
        for (index, place) in scene.work.places.clone().into_iter().enumerate() {
            let Some(place) = place else { continue };
            let index = NodeIndex(index);
            let address = scene.work.graph.node(index).address.clone();
            let subject = subject(&place, &address);
            scene.seen.insert(index, Seen { subject, record: None, observed: None, unreachable: None });
        }
        scene
    }

    pub(crate) fn seen(&mut self, id: &str) -> &mut Seen {
        let index = self.work.graph.find(&format!("Network/one/{id}")).unwrap();
        self.seen.get_mut(&index).unwrap()
    }

    /// AWS has the object.
    pub(in crate::engine) fn there(mut self, id: &str, observed: Observed) -> Self {
        self.seen(id).observed = Some(observed);
        self
    }

    /// AWS has the VPC, as the definition wants it by default.
    fn vpc(self) -> Self {
        self.there("vpc", vpc())
    }

    /// The state has a record of it.
    pub(in crate::engine) fn recorded(mut self, id: &str, aws: &str, phase: Phase) -> Self {
        let seen = self.seen(id);
        seen.record = Some(record(&seen.subject, aws, phase));
        self
    }

    /// Everything is there, ready and recorded, but for what a test says of it afterwards.
    pub(in crate::engine) fn finished(inputs: &str) -> Self {
        let subnet = json!({"vpcID": "vpc-1", "cidrBlock": "10.0.0.0/24", "availabilityZone": "us-west-2a"});
        let role = json!({"name": "role", "assumeRolePolicyDocument": "{\"Statement\": [{\"Effect\": \"Allow\"}]}"});
        let arn = json!({"ackResourceMetadata": {"arn": format!("arn:aws:iam::{ACCOUNT}:role/role")}});
        Self::new(inputs)
            .vpc()
            .there("subnet", observed("subnet-1", subnet, json!({"subnetID": "subnet-1"})))
            .there("role", observed("role", role, arn))
            .recorded("vpc", "vpc-1", Phase::Ready)
            .recorded("subnet", "subnet-1", Phase::Ready)
            .recorded("role", "role", Phase::Ready)
            .without_registration()
    }

    pub(in crate::engine) fn without_registration(mut self) -> Self {
        let index = self.work.graph.find("Network/one/registration").unwrap();
        self.seen.remove(&index);
        self.work.places[index.0] = None;
        self
    }

    /// What the state has of the graph is no longer in it, under another name.
    fn renamed(mut self, id: &str) -> Self {
        let seen = self.seen(id);
        let (mut record, observed) = (seen.record.take().unwrap(), seen.observed.clone());
        record.identity.name = "before".into();
        self.orphans.push(Orphan { record, observed, unreachable: None });
        self
    }

    pub(crate) fn plan(&self) -> Planned {
        plan(PlanInput {
            work: &self.work,
            header: Header {
                instance: self.work.graph.node(NodeIndex(0)).address.clone(),
                caller: String::new(),
                targets: Vec::new(),
                definitions_changed: None,
                definitions: DefinitionsUsed::default(),
                lineage: "ours".into(),
                serial: 1,
            },
            seen: &self.seen,
            orphans: &self.orphans,
            facts: &self.facts,
            open_calls: Vec::new(),
        })
    }

    /// The change of one resource, as a line.
    fn change(&self, id: &str) -> String {
        let changes = self.plan().plan.changes;
        let of_it = changes.iter().filter(|change| change.address.as_str() == format!("Network/one/{id}"));
        of_it.map(line).collect::<Vec<_>>().join("\n")
    }

    /// All actions.
    fn actions(&self) -> String {
        let changes = self.plan().plan.changes;
        let of_one =
            |change: &Change| format!("{:?} {}", change.action, change.address.as_str().trim_start_matches("Network/one/"));
        changes.iter().map(of_one).collect::<Vec<_>>().join(", ")
    }
}

fn line(change: &Change) -> String {
    let fields = change.fields.iter().map(|field| match &field.unknown {
        Some(expression) => format!(" [{}: {} → ({expression})]", field.path, field.before),
        None => format!(" [{}: {} → {}]", field.path, field.before, field.after),
    });
    let marks = [(change.by_name, " by name"), (change.waits, " waits"), (change.unread, " unread")];
    let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
    let reason = change.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{:?}{marks}{reason}{}", change.action, fields.collect::<String>())
}

fn settings() -> EngineSettings {
    EngineSettings {
        holder: Holder { pid: 1, host: String::new(), user: String::new(), command: String::new() },
        accounts: BTreeMap::new(),
        default_tags: BTreeMap::new(),
        role_path: None,
        permissions_boundary: None,
        region: Some("us-west-2".into()),
        argocd: ArgoCd::NotConfigured,
        parallelism: 1,
        visibility_window: Duration::ZERO,
    }
}

pub(in crate::engine) fn marks(lineage: &str) -> Marks {
    Marks { lineage: lineage.into(), instance: "argocd/Network/one".into(), address: "Network/one/x".into() }
}

fn subject(place: &Place, address: &Address) -> Subject {
    Subject {
        identity: place.identity.clone(),
        address: address.clone(),
        partition: "aws".into(),
        role: None,
        marks: marks("ours"),
        default_tags: BTreeMap::new(),
        role_path: None,
        permissions_boundary: None,
        dependencies: Vec::new(),
    }
}

pub(in crate::engine) fn observed(id: &str, spec: Value, status: Value) -> Observed {
    Observed { id: id.into(), spec, status, tags: marks("ours").tags(), readiness: Readiness::Ready }
}

fn vpc() -> Observed {
    let spec = json!({
        "cidrBlocks": ["10.0.0.0/16"],
        "instanceTenancy": "default",
        "enableDNSHostnames": false,
        "enableDNSSupport": true,
    });
    observed("vpc-1", spec, json!({"vpcID": "vpc-1", "state": "available"}))
}

pub(crate) fn record(subject: &Subject, id: &str, phase: Phase) -> Record {
    Record {
        identity: subject.identity.clone(),
        address: subject.address.clone(),
        role: None,
        id: id.into(),
        phase,
        applied: json!({}),
        status: json!({}),
        dependencies: Vec::new(),
        adopted: false,
        since: DateTime::UNIX_EPOCH,
        created_at: DateTime::UNIX_EPOCH,
        wait: None,
    }
}

#[test]
fn what_is_not_there_is_made() {
    let scene = Scene::new("");
    assert_eq!(scene.actions(), "Create vpc, Create subnet, Create role, Create registration");
    let subnet = scene.change("subnet");
    assert!(subnet.contains("[spec.vpcID: null → (vpc.status.vpcID)]"), "{subnet}");
    assert!(subnet.contains("[spec.availabilityZone: null → \"us-west-2a\"]"), "{subnet}");
}

#[test]
fn what_is_as_wanted_is_left_alone() {
    let scene = Scene::finished("");
    assert_eq!(scene.actions(), "None vpc, None subnet, None role");
    assert!(scene.plan().plan.is_empty());
}

#[test]
fn what_was_not_seen_ready_is_waited_for() {
    let scene = Scene::finished("").recorded("vpc", "vpc-1", Phase::Configured);
    assert_eq!(scene.change("vpc"), "None waits: an earlier run did not see it ready");
    let scene = Scene::finished("").there("vpc", Observed { readiness: Readiness::Waiting("pending".into()), ..vpc() });
    assert_eq!(scene.change("vpc"), "None waits: AWS says pending: waits");
}

#[test]
fn what_differs_is_changed_in_place() {
    let scene = Scene::finished("  hostnames: true");
    assert_eq!(scene.change("vpc"), "Update [spec.enableDNSHostnames: false → true]");
}

#[test]
fn what_cannot_be_changed_is_refused_with_the_way_out() {
    let scene = Scene::finished("  tenancy: dedicated");
    let expected = "Refused: spec.instanceTenancy: the tenancy of a VPC cannot be changed; take the change back, or destroy and \
                    apply anew [spec.instanceTenancy: \"default\" → \"dedicated\"]";
    assert_eq!(scene.change("vpc"), expected);
    assert_eq!(scene.plan().plan.summary.refused, 1);
}

#[test]
fn zones_that_the_target_does_not_have_are_refused() {
    let zone = |zone: &str| Scene::new(&format!("  zone: {zone}")).change("subnet");
    assert_eq!(zone("us-west-2x"), "Refused: us-west-2x is no zone of this account and region, which has us-west-2a, us-west-2d");
    assert!(zone("us-west-2d").starts_with("Refused: EKS takes no subnets in us-west-2d"), "{}", zone("us-west-2d"));
    // What is there has been accepted by AWS.
    assert_eq!(Scene::finished("").change("subnet"), "None");
}

#[test]
fn what_an_earlier_run_made_and_did_not_record_is_adopted() {
    assert_eq!(Scene::new("").vpc().change("vpc"), "Adopt waits: made by an earlier run of this state");
    let scene = Scene::new("  tenancy: dedicated").vpc();
    assert!(scene.change("vpc").starts_with("Refused: spec.instanceTenancy"), "{}", scene.change("vpc"));
}

#[test]
fn what_is_somebody_elses_is_refused() {
    let others = |tags| Scene::new("").there("vpc", Observed { tags, ..vpc() }).change("vpc");
    assert_eq!(
        others(BTreeMap::new()),
        "Refused: vpc-1 exists and carries no fleetctl tags: it is somebody else's; remove it, or give yours another name"
    );
    let theirs = others(marks("theirs").tags());
    assert!(theirs.starts_with("Refused: vpc-1 exists and belongs to argocd/Network/one, lineage theirs; use"), "{theirs}");
    let taken = Scene::finished("").there("vpc", Observed { tags: marks("theirs").tags(), ..vpc() });
    let taken = taken.change("vpc");
    assert!(taken.starts_with("Refused: vpc-1 now belongs to argocd/Network/one, lineage theirs; use"), "{taken}");
}

#[test]
fn what_failed_is_made_anew_and_what_reads_it_waits() {
    let readiness = Readiness::Failed { code: "InternalError".into(), message: "no".into() };
    let scene = Scene::finished("").there("vpc", Observed { readiness, ..vpc() });
    assert_eq!(scene.change("vpc"), "Replace by name: AWS says it failed: InternalError: no");
    assert_eq!(scene.change("subnet"), "Update [spec.vpcID: null → (vpc.status.vpcID)]");
    let going = Scene::finished("").there("vpc", Observed { readiness: Readiness::Deleting, ..vpc() });
    assert_eq!(going.change("vpc"), "Replace by name: it is being deleted");
}

#[test]
fn what_was_removed_outside_is_made_anew() {
    let mut scene = Scene::finished("");
    scene.seen("vpc").observed = None;
    assert!(
        scene.change("vpc").starts_with("Create: vpc-1 is gone: it was removed outside of fleetctl"),
        "{}",
        scene.change("vpc")
    );
    // An interrupted destroy had removed it.
    let scene = scene.recorded("vpc", "vpc-1", Phase::Deleting);
    assert!(scene.change("vpc").starts_with("Create ["), "{}", scene.change("vpc"));
}

#[test]
fn what_an_interrupted_destroy_left_is_taken_up_again() {
    let scene = Scene::finished("").recorded("vpc", "vpc-1", Phase::Deleting);
    assert_eq!(scene.change("vpc"), "None waits: an earlier run did not see it ready");
}

#[test]
fn what_left_the_graph_is_removed_last_and_what_is_precious_by_name() {
    let mut scene = Scene::finished("");
    let orphan = |scene: &mut Scene, id: &str, is_there: bool| {
        let Seen { record, observed, .. } = scene.seen(id).clone();
        let mut record = record.unwrap();
        record.id = format!("{}-old", record.id);
        record.address = Address(format!("Network/one/old-{id}"));
        record.identity.name = "old".into();
        scene.orphans.push(Orphan { record, observed: observed.filter(|_| is_there), unreachable: None });
    };
    orphan(&mut scene, "vpc", true);
    orphan(&mut scene, "subnet", true);
    orphan(&mut scene, "role", false);
    assert_eq!(scene.actions(), "None vpc, None subnet, None role, Delete old-vpc, Delete old-subnet, Delete old-role");
    assert_eq!(scene.change("old-vpc"), "Delete by name: it left the graph");
    assert_eq!(scene.change("old-subnet"), "Delete: it left the graph");
    assert_eq!(scene.change("old-role"), "Delete: it left the graph and is gone already");
    assert_eq!(scene.plan().plan.unconfirmed(&[]), ["Network/one/old-vpc"]);
    assert!(scene.plan().plan.unconfirmed(&["Network/one/old-vpc".to_owned()]).is_empty());
}

#[test]
fn what_is_no_longer_included_is_removed() {
    let vpc = Observed { status: json!({"vpcID": "vpc-1", "state": "pending"}), ..vpc() };
    let scene = Scene::finished("").there("vpc", vpc);
    assert_eq!(scene.actions(), "None vpc, None subnet, Delete role");
    assert_eq!(scene.change("role"), "Delete by name: it left the graph");
}

#[test]
fn an_object_with_another_name_in_the_graph_is_the_same_object() {
    let scene = Scene::finished("").renamed("vpc");
    assert_eq!(
        scene.change("vpc"),
        "Adopt waits: it is ours, and recorded until now as VPC argocd/before (222222222222, us-west-2)"
    );
    let superseded = scene.plan().superseded;
    assert_eq!(superseded, [scene.orphans[0].record.identity.clone()]);
    // A role is the same in all regions.
    let mut scene = Scene::finished("").renamed("role");
    scene.orphans[0].record.identity.region = "eu-west-1".into();
    assert_eq!(scene.actions(), "None vpc, None subnet, Adopt role");
}

#[test]
fn what_would_become_another_object_is_refused() {
    let mut scene = Scene::finished("").renamed("vpc");
    scene.orphans[0].record.identity.region = "eu-west-1".into();
    scene.seen("vpc").observed = None;
    let change = scene.change("vpc");
    assert!(change.starts_with("Refused: its region changes from eu-west-1 to us-west-2, which would make another"), "{change}");
    // The subnet cannot follow it.
    assert_eq!(scene.actions(), "Refused vpc, Refused subnet, None role");
}

#[test]
fn what_is_still_used_is_not_removed() {
    let mut scene = Scene::finished("").renamed("vpc");
    scene.seen("vpc").observed = None;
    scene.orphans[0].record.address = Address("Network/one/old-vpc".into());
    assert_eq!(
        scene.change("old-vpc"),
        "Refused: it left the graph, but Network/one/subnet still uses it; take the change back, or destroy and apply anew"
    );
    // A role is used by its ARN: that others are called as it is says nothing.
    let mut scene = Scene::finished("").renamed("role");
    scene.seen("role").observed = None;
    scene.orphans[0].record.address = Address("Network/one/old-role".into());
    assert_eq!(scene.change("old-role"), "Delete by name: it left the graph");
}

#[test]
fn a_registration_that_cannot_be_reached_is_named() {
    let mut scene = Scene::new("");
    scene.seen("registration").unreachable = Some("no server".into());
    assert!(
        scene.change("registration").starts_with("Create: will not be reached: no server"),
        "{}",
        scene.change("registration")
    );
    assert!(scene.plan().plan.is_complete());
    let mut scene = scene.recorded("registration", "https://one", Phase::Ready);
    assert_eq!(scene.change("registration"), "None waits unread: not read: no server");
    assert!(!scene.plan().plan.is_complete());
    let record = scene.seen("registration").record.clone().unwrap();
    let mut scene = scene.without_registration();
    scene.orphans.push(Orphan { record, observed: None, unreachable: Some("no server".into()) });
    assert_eq!(scene.change("registration"), "Delete unread: it left the graph, but will not be reached: no server");
}

#[test]
fn what_could_have_been_read_and_was_not_makes_a_plan_incomplete() {
    let mut scene = Scene::new("");
    scene.seen("registration").unreachable = Some("Argo CD could not be read".into());
    let mut plan = scene.plan().plan;
    plan.changes.iter_mut().filter(|change| change.kind == "Secret").for_each(super::Change::mark_unread);
    let change = plan.changes.iter().find(|change| change.kind == "Secret").unwrap();
    let reason = change.reason.as_deref();
    assert_eq!(
        (change.action, reason),
        (Action::Create, Some("not read, so it may be there already: Argo CD could not be read"))
    );
    assert!(!plan.is_complete());
}

#[test]
fn what_goes_with_a_cluster_is_made_anew_with_it() {
    let cluster = |readiness| Observed { readiness, ..observed("one", json!({"name": "one"}), json!({})) };
    let failed = Readiness::Failed { code: "InternalFailure".into(), message: "no".into() };
    let mut scene = Scene::of(WITH_CLUSTER, "")
        .there("cluster", cluster(failed))
        .there("addon", observed("one|dns", json!({"name": "dns", "clusterName": "one"}), json!({})))
        .there("registration", observed("https://one", json!({}), json!({})))
        .recorded("cluster", "one", Phase::Ready)
        .recorded("addon", "one|dns", Phase::Ready)
        .recorded("registration", "https://one", Phase::Ready);
    assert_eq!(scene.actions(), "Replace cluster, Replace addon, Replace registration");
    assert_eq!(scene.change("addon"), "Replace: its cluster is made anew");
    // What went with a cluster that is gone is gone too, but for its registration.
    scene.seen("cluster").observed = None;
    scene.seen("addon").observed = None;
    assert_eq!(scene.actions(), "Create cluster, Create addon, Replace registration");
}

#[test]
fn what_the_settings_leave_out_is_named() {
    let mut scene = Scene::finished("");
    let index = scene.work.graph.find("Network/one/registration").unwrap();
    scene.work.left_out.insert(index, "`argocd: none` in the settings".into());
    let left_out = scene.plan().plan.not_carried_out;
    assert_eq!((left_out.len(), &*left_out[0].reason), (1, "`argocd: none` in the settings"));
}

/// A registration that bears nobody's marks is taken over by name, if it is that of this very cluster; conflicts are refused
/// in the kind's own words.
#[test]
fn a_registration_without_marks_is_taken_over_by_name() {
    let nobodys = |status| Observed { tags: BTreeMap::new(), ..observed("https://one", json!({}), status) };
    let of_this_cluster = json!({"server": "https://one", "cluster": {"server": "https://one"}});
    let cluster = || observed("one", json!({"name": "one"}), json!({}));
    let scene = || Scene::of(WITH_CLUSTER, "").there("cluster", cluster()).recorded("cluster", "one", Phase::Ready);
    let planned = scene().there("registration", nobodys(of_this_cluster.clone())).plan().plan;
    let change = planned.changes.iter().find(|change| change.kind == "Secret").unwrap();
    assert_eq!((change.action, change.by_name), (Action::Adopt, true));
    assert_eq!(planned.unconfirmed(&[]), ["Network/one/registration"]);
    let marks_gone = scene().recorded("registration", "https://one", Phase::Ready);
    let change = marks_gone.there("registration", nobodys(of_this_cluster)).change("registration");
    assert!(change.starts_with("Update") && change.contains("took our marks away"), "{change}");
    let other = scene().there("registration", nobodys(json!({"server": "https://other"}))).change("registration");
    assert!(other.starts_with("Refused") && other.contains("somebody else's"), "{other}");
    let conflict = scene().there("registration", nobodys(json!({"conflict": "two of one"}))).change("registration");
    assert_eq!(conflict, "Refused: two of one");
}
