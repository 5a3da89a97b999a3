//! EKS clusters (ACK's `Cluster`), found by their name.
//!
//! A cluster is made in one call, Auto Mode with it. EKS takes minutes until it is ACTIVE, and gives endpoint,
//! certificate authority and OIDC issuer only then. What EKS could change of a living cluster is not carried out yet, but
//! for its tags: each such field says so.

mod delete;
mod impossible;
mod observe;
mod request;
mod spec;

pub(super) use observe::describe;

use self::spec::ClusterSpec;
use super::catalog::{self, Facts};
use super::compare::{self, How, Rule, at};
use super::eks;
use super::kind::{Changeability, Cloud, FieldChange, Kind, Observed, Readers, Readiness, StepError, Subject, Typical};
use super::recorder::{Created, Recorder};
use super::shared::{create, creation, empty_answer, only_known, spec};
use super::tags;
use crate::aws::error::CallError;
use crate::graph::catalog::{Field, ImpossibleValue, KindDescription, Production, Reference, ReferenceTarget, Step, Support};
use crate::state::file::Record;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use std::sync::LazyLock;
use std::time::Duration;

/// An EKS cluster.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cluster;

const FIELDS: &[Field] = &[
    create("spec.name"),
    create("spec.roleARN"),
    create("spec.version"),
    create("spec.resourcesVPCConfig"),
    create("spec.accessConfig"),
    create("spec.bootstrapSelfManagedAddons"),
    create("spec.computeConfig"),
    create("spec.controlPlaneScalingConfig"),
    create("spec.deletionProtection"),
    create("spec.encryptionConfig"),
    create("spec.kubeAPIServerConfig"),
    create("spec.kubeControllerManagerConfig"),
    create("spec.kubeSchedulerConfig"),
    create("spec.kubernetesNetworkConfig"),
    create("spec.logging"),
    create("spec.remoteNetworkConfig"),
    create("spec.storageConfig"),
    create("spec.tags"),
    create("spec.upgradePolicy"),
    create("spec.zonalShiftConfig"),
    only_known("spec.clientRequestToken"),
    only_known("spec.outpostConfig"),
    only_known("spec.roleRef"),
    only_known("spec.encryptionConfig[].provider.keyRef"),
    only_known("spec.resourcesVPCConfig.securityGroupRefs"),
    only_known("spec.resourcesVPCConfig.subnetRefs"),
];

const fn ec2_ref(path: &'static str, kind: &'static str) -> Reference {
    Reference {
        path,
        kind,
        group: "ec2.services.k8s.aws",
        target: ReferenceTarget::MetadataName,
        step: Step::Create,
        asks: Production::Created,
    }
}

const FACTS: Facts = Facts {
    support: Support::CarriedOut,
    fields: FIELDS,
    published: &[
        ("status.endpoint", Production::Ready),
        ("status.certificateAuthority", Production::Ready),
        ("status.identity", Production::Ready),
        ("status.clusterSecurityGroupID", Production::Ready),
        ("status.platformVersion", Production::Ready),
    ],
    references: &[
        eks::role_ref("spec.roleRef.from.name"),
        ec2_ref("spec.resourcesVPCConfig.subnetRefs[].from.name", "Subnet"),
        ec2_ref("spec.resourcesVPCConfig.securityGroupRefs[].from.name", "SecurityGroup"),
    ],
    implied: &[],
};

const AUTO_MODE: &str = "fleetctl does not carry out changes of EKS Auto Mode yet";
const ENDPOINT: &str = "fleetctl does not carry out changes of endpoint access yet";
const NETWORK: &str = "fleetctl does not carry out changes of a cluster's subnets and security groups yet";
const COMPONENTS: &str = "fleetctl does not carry out changes of the control plane's settings yet";
const ADDRESSES: &str = "the addresses of a cluster's services cannot be changed";
const BOOTSTRAP: &str = "this counts only when a cluster is made";
const VERSION: &str = "fleetctl does not carry out version upgrades yet";
const DOWNGRADE: &str = "EKS does not go back to a lower version than the cluster has";

const ENCRYPTED: &str = "EKS never changes the encryption config that a cluster has, nor takes it back";

/// How fields are compared. Only what the document sets counts, but for tags.
const RULES: &[Rule] = &[
    Rule::replacement("spec.name", How::Exact, "a cluster cannot be renamed"),
    Rule::replacement("spec.roleARN", How::Exact, "EKS has no call that gives a cluster another role"),
    Rule::not_carried_out("spec.version", How::Exact, VERSION),
    Rule::not_carried_out("spec.resourcesVPCConfig.subnetIDs", How::Set, NETWORK),
    Rule::not_carried_out("spec.resourcesVPCConfig.securityGroupIDs", How::Set, NETWORK),
    Rule::not_carried_out("spec.resourcesVPCConfig.endpointPublicAccess", How::Exact, ENDPOINT),
    Rule::not_carried_out("spec.resourcesVPCConfig.endpointPrivateAccess", How::Exact, ENDPOINT),
    Rule::not_carried_out("spec.resourcesVPCConfig.publicAccessCIDRs", How::Set, ENDPOINT),
    Rule::not_carried_out(
        "spec.accessConfig.authenticationMode",
        How::Exact,
        "fleetctl does not carry out changes of the authentication mode yet",
    ),
    Rule::replacement("spec.accessConfig.bootstrapClusterCreatorAdminPermissions", How::WriteOnly, BOOTSTRAP),
    Rule::replacement("spec.bootstrapSelfManagedAddons", How::WriteOnly, BOOTSTRAP),
    Rule::not_carried_out("spec.computeConfig", How::Exact, AUTO_MODE),
    Rule::not_carried_out("spec.computeConfig.nodePools", How::Set, AUTO_MODE),
    Rule::not_carried_out(
        "spec.computeConfig.nodeRoleARN",
        How::Exact,
        "EKS does not give the nodes of Auto Mode another role while it is enabled",
    ),
    Rule::not_carried_out("spec.storageConfig", How::Exact, AUTO_MODE),
    Rule::not_carried_out("spec.kubernetesNetworkConfig.elasticLoadBalancing", How::Exact, AUTO_MODE),
    Rule::replacement("spec.kubernetesNetworkConfig.ipFamily", How::Exact, ADDRESSES),
    Rule::replacement("spec.kubernetesNetworkConfig.serviceIPv4CIDR", How::Exact, ADDRESSES),
    Rule::not_carried_out(
        "spec.logging.clusterLogging",
        How::Names,
        "fleetctl does not carry out changes of the control plane's logging yet",
    ),
    Rule::not_carried_out(
        "spec.encryptionConfig",
        How::Set,
        "EKS adds an encryption config to a living cluster once and never takes it back; fleetctl does not carry that out yet",
    ),
    Rule::not_carried_out("spec.upgradePolicy", How::Exact, "fleetctl does not carry out changes of the upgrade policy yet"),
    Rule::not_carried_out("spec.zonalShiftConfig", How::Exact, "fleetctl does not carry out changes of zonal shift yet"),
    Rule::not_carried_out("spec.controlPlaneScalingConfig", How::Exact, COMPONENTS),
    Rule::not_carried_out("spec.kubeAPIServerConfig", How::Exact, COMPONENTS),
    Rule::not_carried_out("spec.kubeControllerManagerConfig", How::Exact, COMPONENTS),
    Rule::not_carried_out("spec.kubeSchedulerConfig", How::Exact, COMPONENTS),
    Rule::not_carried_out(
        "spec.deletionProtection",
        How::Exact,
        "fleetctl does not carry out changes of deletion protection yet",
    ),
    Rule::not_carried_out(
        "spec.remoteNetworkConfig",
        How::Exact,
        "fleetctl does not carry out changes of the networks of hybrid nodes yet",
    ),
    Rule::in_place("spec.tags", How::Tags),
];

/// Types of logs of the control plane.
const LOG_TYPES: [&str; 5] = ["api", "audit", "authenticator", "controllerManager", "scheduler"];

static DESCRIPTION: LazyLock<KindDescription> = LazyLock::new(|| catalog::describe_ack("Cluster", &FACTS));

/// What differs. While EKS makes the cluster it does not answer with every block yet; what it leaves out then is no
/// difference.
fn differences(subject: &Subject, desired: &Value, observed: &Observed, applied: Option<&Value>) -> Vec<FieldChange> {
    // A cluster that was made with Auto Mode has no self-managed add-ons.
    let self_managed = at(applied.unwrap_or(desired), "spec.computeConfig.enabled") != &Value::Bool(true);
    let desired = normal(desired, Side::Document { self_managed });
    let applied = applied.map(|applied| normal(applied, Side::Document { self_managed }));
    let making = observed.readiness != Readiness::Ready && !observed.status["endpoint"].is_string();
    let there =
        Observed { spec: normal_spec(&observed.spec, if making { Side::Making } else { Side::There }), ..observed.clone() };
    let mut changes = compare::object(RULES, subject, &desired, &there, applied.as_ref());
    changes.retain(|change| !making || !change.before.is_null() || change.path.starts_with("spec.tags"));
    for change in &mut changes {
        if change.path == "spec.version" && is_lower(&change.after, &change.before) {
            change.reason = Some(DOWNGRADE);
            change.changeability = Changeability::Replacement;
        }
        if change.path.starts_with("spec.encryptionConfig") && !is_nothing(&change.before) {
            change.reason = Some(ENCRYPTED);
            change.changeability = Changeability::Replacement;
        }
    }
    changes
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// Whose spec is brought into a form in which it can be compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The document's (or what was applied of it).
    Document {
        /// EKS's default for `bootstrapSelfManagedAddons` when the cluster was made.
        self_managed: bool,
    },
    /// EKS's.
    There,
    /// EKS's, while the cluster is being made.
    Making,
}

fn normal(object: &Value, side: Side) -> Value {
    let mut object = object.clone();
    if let Some(spec) = object.get_mut("spec") {
        *spec = normal_spec(spec, side);
    }
    object
}

/// Logging as a mapping from type to whether it is on (a type that is not mentioned is off); switches that EKS leaves out
/// as off; what counts only for a new cluster with its default.
fn normal_spec(spec: &Value, side: Side) -> Value {
    let mut spec = spec.clone();
    let setups = at(&spec, "logging.clusterLogging").as_array().map(|setups| log_types(setups));
    if let (Some(types), Some(logging)) = (setups, spec.get_mut("logging").and_then(Value::as_object_mut)) {
        logging.insert("clusterLogging".to_owned(), types);
    }
    match side {
        Side::There => {
            for path in ["computeConfig.enabled", "kubernetesNetworkConfig.elasticLoadBalancing.enabled"] {
                fill(&mut spec, path, false);
            }
            fill(&mut spec, "storageConfig.blockStorage.enabled", false);
            fill(&mut spec, "zonalShiftConfig.enabled", false);
            fill(&mut spec, "deletionProtection", false);
        }
        Side::Document { self_managed } => {
            fill(&mut spec, "accessConfig.bootstrapClusterCreatorAdminPermissions", true);
            fill(&mut spec, "bootstrapSelfManagedAddons", self_managed);
        }
        Side::Making => {}
    }
    spec
}

fn log_types(setups: &[Value]) -> Value {
    let on = |name: &str| {
        setups.iter().any(|setup| {
            let types = setup.get("types").and_then(Value::as_array);
            setup.get("enabled") == Some(&Value::Bool(true))
                && types.is_some_and(|types| types.iter().any(|listed| listed.as_str() == Some(name)))
        })
    };
    Value::Object(LOG_TYPES.iter().map(|name| ((*name).to_owned(), Value::Bool(on(name)))).collect())
}

/// Sets what is not set at a dotted path.
fn fill(spec: &mut Value, path: &str, value: bool) {
    let mut place = spec;
    for name in path.split('.') {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        let Some(fields) = place.as_object_mut() else { return };
        place = fields.entry(name).or_insert(Value::Null);
    }
    if place.is_null() {
        *place = Value::Bool(value);
    }
}

/// Whether a Kubernetes version is lower than another: `1.9` is lower than `1.33`.
fn is_lower(version: &Value, than: &Value) -> bool {
    let parts = |value: &Value| {
        let (major, minor) = value.as_str()?.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    matches!((parts(version), parts(than)), (Some(version), Some(than)) if version < than)
}

/// `CreateCluster`, with a client token. That EKS does not see a role yet that was made a moment ago passes.
async fn make(cloud: &Cloud, recorder: &Recorder, subject: &Subject, desired: &Value) -> Result<(Record, Observed), StepError> {
    let wanted: ClusterSpec = spec(desired).map_err(StepError::Refused)?;
    let input = request::create(&wanted, &tags::wanted(subject, desired))?;
    let writer = &cloud.writers.eks;
    let make = |permit: crate::state::journal::Permit| {
        let input = input.clone().client_request_token(permit.token());
        async move {
            let answer = writer.create_cluster(permit, input).await?;
            answer.cluster.ok_or_else(|| empty_answer("eks", "CreateCluster"))
        }
    };
    let created = |cluster: &aws_sdk_eks::types::Cluster| Created {
        id: cluster.name().unwrap_or_default().to_owned(),
        status: observe::status(subject, cluster),
    };
    let call = creation(subject, "CreateCluster", desired).with_token().patience(eks::patience(subject));
    let (cluster, record) = recorder.create(call, make, created).await?;
    let mut observed = observe::observed(subject, &cluster);
    observed.tags = tags::wanted(subject, desired);
    Ok((record, observed))
}

impl Kind for Cluster {
    fn description(&self) -> &KindDescription {
        &DESCRIPTION
    }

    fn impossible_values(&self, object: &Value) -> Vec<ImpossibleValue> {
        impossible::values(object)
    }

    fn typical(&self) -> Typical {
        Typical { create: Duration::from_mins(10), delete: Duration::from_mins(7), limit: Duration::from_mins(30) }
    }

    fn compare(&self, subject: &Subject, desired: &Value, observed: &Observed, applied: Option<&Value>) -> Vec<FieldChange> {
        differences(subject, desired, observed, applied)
    }

    fn find<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        Box::pin(async move {
            let Some(name) = at(desired, "spec.name").as_str() else { return Ok(None) };
            let cluster = describe(&readers.eks, name).await?;
            Ok(cluster.map(|cluster| observe::observed(subject, &cluster)))
        })
    }

    fn read<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        Box::pin(async move {
            let cluster = describe(&readers.eks, &record.id).await?;
            Ok(cluster.map(|cluster| observe::observed(subject, &cluster)))
        })
    }

    fn create<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<(Record, Observed), StepError>> {
        Box::pin(make(cloud, recorder, subject, desired))
    }

    fn configure<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
        observed: &'a Observed,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(async move {
            let changes = compare::tag_changes(&tags::wanted(subject, desired), &observed.tags);
            eks::tags(cloud, recorder, subject, &observed.id, &observed.status, &changes).await
        })
    }

    fn delete<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(delete::cluster(cloud, recorder, subject, &record.id))
    }
}

#[cfg(test)]
mod tests;
