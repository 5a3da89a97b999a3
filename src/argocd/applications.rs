//! Applications, as far as they tell what lives on a cluster.

use super::cluster::{Cluster, or_default};
use serde::Deserialize;

/// Where they are listed. Whole Applications are large: `fields` asks for what is read here.
pub(super) const APPLICATIONS: &str = "/api/v1/applications?fields=items.metadata.name,items.spec";

/// The answer to a list.
#[derive(Debug, Deserialize)]
pub(super) struct ApplicationList {
    #[serde(default, deserialize_with = "or_default")]
    items: Vec<Application>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Application {
    #[serde(deserialize_with = "or_default")]
    metadata: Metadata,
    #[serde(deserialize_with = "or_default")]
    spec: Spec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    #[serde(deserialize_with = "or_default")]
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    #[serde(deserialize_with = "or_default")]
    destination: Destination,
}

/// An Application names its cluster by server or by name.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Destination {
    #[serde(deserialize_with = "or_default")]
    server: String,
    #[serde(deserialize_with = "or_default")]
    name: String,
}

impl ApplicationList {
    /// Names of those that live on a cluster, sorted.
    pub(super) fn on(self, cluster: &Cluster) -> Vec<String> {
        let lives = |destination: &Destination| {
            let by_server = !destination.server.is_empty() && destination.server.trim_end_matches('/') == cluster.server;
            by_server || (!destination.name.is_empty() && destination.name == cluster.name)
        };
        let on = self.items.into_iter().filter(|application| lives(&application.spec.destination));
        let mut names: Vec<String> = on.map(|application| application.metadata.name).collect();
        names.sort();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn applications_name_their_cluster_by_server_or_by_name() {
        let application = |name: &str, destination: serde_json::Value| json!({"metadata": {"name": name}, "spec": {"destination": destination}});
        let list: ApplicationList = serde_json::from_value(json!({"metadata": null, "items": [
            application("c", json!({"server": "https://A/"})),
            application("b", json!({"name": "a", "server": null})),
            application("other", json!({"name": "b"})),
            application("none", json!({})),
        ]}))
        .unwrap();
        let cluster = Cluster { server: "https://A".into(), name: "a".into(), ..Cluster::default() };
        assert_eq!(list.on(&cluster), ["b", "c"]);
        let nothing: ApplicationList = serde_json::from_value(json!({"items": null})).unwrap();
        assert!(nothing.on(&cluster).is_empty());
    }
}
