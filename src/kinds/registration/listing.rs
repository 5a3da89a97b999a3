//! Which of Argo CD's clusters is the one that a registration is about. Argo CD's own filters give the first match only,
//! so everything is listed and chosen here.

use crate::argocd::{Cluster, Reader};
use crate::aws::error::CallError;
use crate::aws::tags::owner;
use crate::kinds::kind::{Marks, Owner};
use crate::kinds::shared::fault;

/// What a look for a cluster is answered by, in Argo CD's own words.
const LIST: &str = "ListClusters";

/// The reader, or the error that says that there is none.
pub(super) fn reader(reader: Option<&Reader>) -> Result<&Reader, CallError> {
    reader.ok_or_else(|| not_configured(LIST))
}

/// There is no Argo CD to register with.
pub(super) fn not_configured(operation: &'static str) -> CallError {
    let message = "no Argo CD server is configured: set ARGOCD_SERVER and ARGOCD_AUTH_TOKEN".to_owned();
    fault("argocd", operation, "NotConfigured", message)
}

/// A server as Argo CD keeps it: without slashes at its end.
pub(super) fn trimmed(server: &str) -> &str {
    server.trim_end_matches('/')
}

/// The cluster of a server. Two of one server are an error: which of them Argo CD uses is arbitrary.
pub(super) fn of_server<'a>(clusters: &'a [Cluster], server: &str) -> Result<Option<&'a Cluster>, CallError> {
    let found: Vec<&Cluster> = clusters.iter().filter(|cluster| trimmed(&cluster.server) == trimmed(server)).collect();
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => {
            let names: Vec<&str> = several.iter().map(|cluster| cluster.name.as_str()).collect();
            let message = format!(
                "Argo CD has {} clusters with the server {server} ({}), and which of them it uses is arbitrary: remove all \
                 but one",
                several.len(),
                names.join(", ")
            );
            Err(fault("argocd", LIST, "DuplicateServer", message))
        }
    }
}

/// The cluster that a registration is about: the one of its server, where that is known; else the one of its name. A name
/// that others have too is an error: `ApplicationSets` take clusters of one name for the same.
pub(super) fn choose<'a>(
    clusters: &'a [Cluster],
    server: Option<&str>,
    name: &str,
    marks: &Marks,
) -> Result<Option<&'a Cluster>, CallError> {
    let of_server = match server {
        Some(server) => of_server(clusters, server)?,
        None => None,
    };
    let elsewhere: Vec<&Cluster> = clusters
        .iter()
        .filter(|cluster| cluster.name == name && server.is_none_or(|server| trimmed(&cluster.server) != trimmed(server)))
        .collect();
    match (of_server, elsewhere.as_slice()) {
        (found, []) => Ok(found),
        // The cluster was made anew and has another endpoint, or is not there yet.
        (None, [only]) if server.is_none() || is_ours(only, marks) => Ok(Some(only)),
        (_, others) => {
            let servers: Vec<&str> = others.iter().map(|cluster| cluster.server.as_str()).collect();
            let message = format!(
                "Argo CD has another cluster of the name {name} ({}): ApplicationSets would take both for one",
                servers.join(", ")
            );
            Err(fault("argocd", LIST, "NameTaken", message))
        }
    }
}

/// Whether a cluster bears our lineage.
pub(super) fn is_ours(cluster: &Cluster, marks: &Marks) -> bool {
    owner(&cluster.annotations, marks) == Owner::Ours
}

/// Why a cluster is left alone that is somebody else's.
pub(super) fn whose(cluster: &Cluster, marks: &Marks) -> String {
    let (name, server) = (&cluster.name, &cluster.server);
    match owner(&cluster.annotations, marks) {
        Owner::Other(other) => format!("Argo CD's cluster {name} ({server}) belongs to {other}"),
        _ => format!("Argo CD has a cluster {name} ({server}) that fleetctl did not register"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(lineage: &str) -> Marks {
        Marks { lineage: lineage.into(), instance: "argocd/EksCluster/one".into(), address: "EksCluster/one/argocd".into() }
    }

    fn cluster(name: &str, server: &str, lineage: Option<&str>) -> Cluster {
        let annotations = lineage.map(|lineage| marks(lineage).annotations()).unwrap_or_default();
        Cluster { name: name.into(), server: server.into(), annotations, ..Cluster::default() }
    }

    fn chosen(clusters: &[Cluster], server: Option<&str>) -> Result<Option<String>, String> {
        choose(clusters, server, "one", &marks("ours"))
            .map(|found| found.map(|cluster| cluster.server.clone()))
            .map_err(|error| error.code)
    }

    #[test]
    fn servers_are_told_apart_without_their_slash() {
        let clusters = [cluster("one", "https://a/", None), cluster("two", "https://b", None)];
        assert_eq!(chosen(&clusters, Some("https://a")), Ok(Some("https://a/".into())));
        assert_eq!(chosen(&clusters[1..], Some("https://a")), Ok(None));
    }

    #[test]
    fn two_of_one_server_are_refused() {
        let clusters = [cluster("one", "https://a", Some("ours")), cluster("kro", "https://a/", None)];
        assert_eq!(chosen(&clusters, Some("https://a")), Err("DuplicateServer".into()));
    }

    #[test]
    fn a_name_that_others_have_is_refused() {
        let clusters = [cluster("one", "https://b", None)];
        assert_eq!(chosen(&clusters, Some("https://a")), Err("NameTaken".into()));
        let clusters = [cluster("one", "https://a", Some("ours")), cluster("one", "https://b", Some("other"))];
        assert_eq!(chosen(&clusters, Some("https://a")), Err("NameTaken".into()));
    }

    #[test]
    fn our_own_old_server_is_found_by_name() {
        let clusters = [cluster("one", "https://old", Some("ours"))];
        assert_eq!(chosen(&clusters, Some("https://new")), Ok(Some("https://old".into())));
    }

    #[test]
    fn before_the_server_is_known_the_name_counts() {
        assert_eq!(chosen(&[cluster("one", "https://b", None)], None), Ok(Some("https://b".into())));
        assert_eq!(chosen(&[cluster("two", "https://b", None)], None), Ok(None));
        let two = [cluster("one", "https://b", None), cluster("one", "https://c", None)];
        assert_eq!(chosen(&two, None), Err("NameTaken".into()));
    }

    #[test]
    fn owners_are_named() {
        assert!(is_ours(&cluster("one", "https://a", Some("ours")), &marks("ours")));
        assert!(whose(&cluster("one", "https://a", Some("theirs")), &marks("ours")).contains("lineage theirs"));
        assert!(whose(&cluster("one", "https://a", None), &marks("ours")).contains("did not register"));
    }
}
