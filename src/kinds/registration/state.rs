//! A registration as Argo CD has it, and what differs from what is wanted.

use super::listing::{Conflict, trimmed};
use super::secret::{SECRET_TYPE, Wanted};
use super::target::{CONFIG_HASH, Target, readable};
use crate::argocd::Cluster;
use crate::kinds::kind::{Changeability, FieldChange, Observed, Readiness, Subject, Takeover};
use crate::kinds::shared::without_nulls;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Keys of labels and annotations that belong to Argo CD and are left as they are unless the document has them.
const ARGO_CD: &str = "argocd.argoproj.io/";

/// Why a registration cannot get another name.
const NAME: &str = "Applications are called after the cluster's name and find it by that: with another one all add-ons would be removed and made anew";

/// Why a registration cannot get another server.
const SERVER: &str = "Argo CD knows a cluster by its server: another server is another registration";

/// Why a registration is replaced unasked.
const MADE_ANEW: &str = "its cluster was made anew";

type Map = BTreeMap<String, String>;

/// The observed object. `server` is what stands for the server in the Secret: the ARN, where it is the ARN's cluster.
/// `target` is that cluster as EKS has it now, so that a plan sees a new endpoint or authority.
pub(super) fn observed(cluster: &Cluster, server: &str, target: Option<&Target>) -> Observed {
    let now = target.map(|target| wanted_now(cluster, target));
    Observed {
        id: trimmed(&cluster.server).to_owned(),
        spec: json!({
            "metadata": { "labels": cluster.labels, "annotations": cluster.annotations },
            "stringData": { "name": cluster.name, "server": server, "project": cluster.project },
        }),
        status: without_nulls(json!({
            "server": trimmed(&cluster.server),
            "config": readable(&cluster.config),
            "cluster": now,
        })),
        tags: cluster.annotations.clone(),
        readiness: Readiness::Ready,
    }
}

/// How the cluster is to be reached as EKS has it now. The hosted Argo CD goes by the ARN: whatever it calls the server is
/// right, and so is a registration without a configuration.
fn wanted_now(cluster: &Cluster, target: &Target) -> Value {
    let given = readable(&cluster.config);
    let server = if target.is_hosted() { trimmed(&cluster.server) } else { target.server() };
    let leave_config = target.is_hosted() && given["awsAuthConfig"].is_null();
    let config = if leave_config { given } else { target.readable_config() };
    let hash = if leave_config { None } else { target.hash() };
    json!({ "server": server, "config": config, "hash": hash })
}

/// Registrations that stand in each other's way, as one object that is nobody's: it is shown, and never touched.
pub(super) fn conflict(conflict: Conflict) -> Observed {
    Observed {
        id: conflict.server,
        spec: json!({}),
        status: json!({ "conflict": conflict.message }),
        tags: Map::new(),
        readiness: Readiness::Ready,
    }
}

/// Whether a registration that nobody marked may be taken over: only that of this very cluster.
pub(super) fn takeover(observed: &Observed) -> Takeover {
    let status = &observed.status;
    if let Some(conflict) = status["conflict"].as_str() {
        return Takeover::Refused(Some(conflict.to_owned()));
    }
    let is_this_cluster = status["cluster"]["server"].is_string() && status["cluster"]["server"] == status["server"];
    if is_this_cluster { Takeover::ByName } else { Takeover::Refused(None) }
}

/// The annotations that are wanted: those of the document, and our marks.
pub(super) fn wanted_annotations(subject: &Subject, wanted: &Wanted) -> Map {
    let mut annotations = wanted.annotations.clone();
    annotations.retain(|key, _| key != CONFIG_HASH);
    annotations.extend(subject.marks.annotations());
    annotations
}

/// What differs. Labels and annotations that nobody wants are to go, but for Argo CD's own.
pub(super) fn differences(subject: &Subject, desired: &Value, observed: &Observed) -> Vec<FieldChange> {
    let wanted = Wanted::of(desired);
    let labels = by_key("metadata.labels", &wanted.labels, &observed.spec["metadata"]["labels"]);
    let annotations = wanted_annotations(subject, &wanted);
    let annotations = by_key("metadata.annotations", &annotations, &observed.spec["metadata"]["annotations"]);
    let mut changes: Vec<FieldChange> = labels.into_iter().chain(annotations).collect();
    changes.extend(text(desired, observed, "name").map(|change| FieldChange {
        changeability: Changeability::Replacement,
        reason: Some(NAME),
        ..change
    }));
    changes.extend(text(desired, observed, "project"));
    changes.extend(server(desired, observed));
    changes.extend(config(observed));
    changes
}

fn text(desired: &Value, observed: &Observed, key: &str) -> Option<FieldChange> {
    let (after, before) = (&desired["stringData"][key], &observed.spec["stringData"][key]);
    (after.is_string() && before.is_string() && after != before)
        .then(|| in_place(format!("stringData.{key}"), before.clone(), after.clone()))
}

fn by_key(path: &str, wanted: &Map, observed: &Value) -> Vec<FieldChange> {
    let there = super::secret::texts(observed);
    let text = |value: Option<&String>| value.map_or(Value::Null, |value| Value::String(value.clone()));
    let change = |key: &String| in_place(format!("{path}[{key}]"), text(there.get(key)), text(wanted.get(key)));
    let missing = wanted.iter().filter(|(key, value)| there.get(*key) != Some(*value)).map(|(key, _)| key);
    let extra = there.keys().filter(|key| !wanted.contains_key(*key) && !is_foreign(key));
    missing.chain(extra).map(change).collect()
}

/// Whether a key that is not wanted is left alone.
pub(super) fn is_foreign(key: &str) -> bool {
    key.starts_with(ARGO_CD) || key == CONFIG_HASH
}

/// Foreign keys that go along when labels or annotations are written: Argo CD replaces the whole map. What it keeps by
/// itself is not sent.
pub(super) fn carried_over(wanted: Map, observed: &Value) -> Map {
    let kept = super::secret::texts(observed)
        .into_iter()
        .filter(|(key, _)| is_foreign(key) && key != CONFIG_HASH && key != SECRET_TYPE && key != "argocd.argoproj.io/refresh");
    kept.chain(wanted).collect()
}

/// Another cluster is wanted, or the cluster has another endpoint: it was made anew.
fn server(desired: &Value, observed: &Observed) -> Option<FieldChange> {
    let (after, before) = (&desired["stringData"]["server"], &observed.spec["stringData"]["server"]);
    let (now, then) = (&observed.status["cluster"]["server"], &observed.status["server"]);
    let (before, after, changeability, reason) = if after.is_string() && after != before {
        (before, after, Changeability::Replacement, SERVER)
    } else if now.is_string() && now != then {
        (then, now, Changeability::Follows, MADE_ANEW)
    } else {
        return None;
    };
    let (before, after, reason) = (before.clone(), after.clone(), Some(reason));
    Some(FieldChange { path: "stringData.server".to_owned(), before, after, changeability, reason })
}

/// How Argo CD reaches the cluster: what it gives back is compared, and the hash of what it does not.
fn config(observed: &Observed) -> Vec<FieldChange> {
    let now = &observed.status["cluster"];
    if !now.is_object() {
        return Vec::new();
    }
    let hash = &observed.spec["metadata"]["annotations"][CONFIG_HASH];
    let way = (&observed.status["config"], &now["config"]);
    let mut changes = Vec::new();
    if way.0 != way.1 {
        changes.push(in_place("config".to_owned(), way.0.clone(), way.1.clone()));
    }
    if now["hash"].is_string() && hash != &now["hash"] {
        changes.push(in_place("config.tlsClientConfig.caData".to_owned(), hash.clone(), now["hash"].clone()));
    }
    changes
}

fn in_place(path: String, before: Value, after: Value) -> FieldChange {
    FieldChange { path, before, after, changeability: Changeability::InPlace, reason: None }
}
