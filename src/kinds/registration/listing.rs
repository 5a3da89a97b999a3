//! Which of Argo CD's clusters is the one that a registration is about. Argo CD's own filters give the first match only,
//! so everything is listed and chosen here.

use super::target::Target;
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

/// Makes sure that what a list lacks is not there: clusters that the token may not see are left out without a word.
pub(super) async fn absent(argocd: &Reader, project: &str, server: &str) -> Result<(), CallError> {
    if argocd.sees(project, server).await? {
        return Ok(());
    }
    let object = if project.is_empty() { server.to_owned() } else { format!("{project}/{server}") };
    let message = format!(
        "the token in ARGOCD_AUTH_TOKEN may not get the cluster {object}, so it is not known whether it is registered: add \
         `p, <role>, clusters, get, {object}, allow` to argocd-rbac-cm or the project"
    );
    Err(fault("argocd", LIST, "NotSeen", message))
}

/// Registrations that stand in each other's way. Somebody has to choose between them: nothing is touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    /// A word for it.
    pub(super) code: &'static str,
    /// What is wrong, and the way out.
    pub(super) message: String,
    /// The server of one of them.
    pub(super) server: String,
}

impl From<Conflict> for CallError {
    fn from(conflict: Conflict) -> Self {
        fault("argocd", LIST, conflict.code, conflict.message)
    }
}

/// The cluster of a server. Two of one server are a conflict: which of them Argo CD uses is arbitrary.
pub(super) fn of_server<'a>(clusters: &'a [Cluster], server: &str) -> Result<Option<&'a Cluster>, Conflict> {
    let found: Vec<&Cluster> = clusters.iter().filter(|cluster| trimmed(&cluster.server) == trimmed(server)).collect();
    only(&found)
}

fn only<'a>(found: &[&'a Cluster]) -> Result<Option<&'a Cluster>, Conflict> {
    match found {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => {
            let message = format!(
                "Argo CD has {} registrations of this one cluster ({}), and which of them it uses is arbitrary: remove all but \
                 one",
                several.len(),
                named(several)
            );
            Err(Conflict { code: "DuplicateServer", message, server: trimmed(&several[0].server).to_owned() })
        }
    }
}

/// `one at https://a, two at https://b`.
fn named(clusters: &[&Cluster]) -> String {
    let named = clusters.iter().map(|cluster| format!("{} at {}", cluster.name, cluster.server));
    named.collect::<Vec<_>>().join(", ")
}

/// The cluster that a registration is about: the one of its target, where that is known; else the one of its name. A name
/// that others have too is a conflict: `ApplicationSets` take clusters of one name for the same.
pub(super) fn choose<'a>(
    clusters: &'a [Cluster],
    target: Option<&Target>,
    name: &str,
    marks: &Marks,
) -> Result<Option<&'a Cluster>, Conflict> {
    let is_target = |cluster: &Cluster| target.is_some_and(|target| is_of(cluster, target));
    let found: Vec<&Cluster> = clusters.iter().filter(|cluster| is_target(cluster)).collect();
    if let Some(useless) = clusters.iter().find(|cluster| target.is_some_and(|target| is_useless(cluster, target))) {
        return Err(useless_server(useless, &found));
    }
    let found = only(&found)?;
    let elsewhere: Vec<&Cluster> = clusters.iter().filter(|cluster| cluster.name == name && !is_target(cluster)).collect();
    match (found, elsewhere.as_slice()) {
        (found, []) => Ok(found),
        // The cluster was made anew and has another endpoint, or is not there yet; or Argo CD changed the server.
        (None, [only]) if is_ours(only, marks) => Ok(Some(only)),
        // Whose it is, is known: that is said.
        (None, [only]) if target.is_none() && owner(&only.annotations, marks) != Owner::Nobody => Ok(Some(only)),
        (_, others) => {
            let message = format!(
                "Argo CD has another cluster of the name {name} ({}): ApplicationSets would take both for one; remove it, or \
                 give one of the two another name",
                named(others)
            );
            Err(Conflict { code: "NameTaken", message, server: trimmed(&others[0].server).to_owned() })
        }
    }
}

/// The cluster of a record: the one of its server; else ours of its name, whose server Argo CD has changed.
pub(super) fn recorded<'a>(
    clusters: &'a [Cluster],
    server: &str,
    name: &str,
    marks: &Marks,
) -> Result<Option<&'a Cluster>, Conflict> {
    if let Some(found) = of_server(clusters, server)? {
        return Ok(Some(found));
    }
    let ours: Vec<&Cluster> = clusters.iter().filter(|cluster| cluster.name == name && is_ours(cluster, marks)).collect();
    only(&ours)
}

/// Whether a cluster of Argo CD's is this one. The hosted Argo CD may have changed its server: it is told by what its
/// tokens are made for, then.
pub(super) fn is_of(cluster: &Cluster, target: &Target) -> bool {
    let by_server = target.servers().contains(&trimmed(&cluster.server));
    by_server || (target.is_hosted() && cluster.config["awsAuthConfig"]["clusterName"] == target.arn.arn)
}

fn is_useless(cluster: &Cluster, target: &Target) -> bool {
    target.useless_server() == Some(trimmed(&cluster.server))
}

fn useless_server(useless: &Cluster, others: &[&Cluster]) -> Conflict {
    let beside = if others.is_empty() { String::new() } else { format!(", beside {}", named(others)) };
    let message = format!(
        "Argo CD has a registration {} of this cluster whose server is its ARN{beside}: such Secrets are for the Argo CD that \
         EKS hosts, a self-managed one can neither use nor change them; delete that Secret in Argo CD's namespace and apply \
         again, or set `argocd: hosted` if it is that one",
        useless.name
    );
    Conflict { code: "UselessServer", message, server: useless.server.clone() }
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
        _ => format!("Argo CD has a cluster {name} ({server}) that fleetctl did not register: plan, and confirm its adoption"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::secret::ClusterArn;
    use super::super::target::Way;
    use super::super::target::tests::plain;
    use super::*;
    use crate::argocd::product::ServerForm;
    use serde_json::json;

    const ARN: &str = "arn:aws:eks:us-west-2:111122223333:cluster/one";

    fn marks(lineage: &str) -> Marks {
        Marks { lineage: lineage.into(), instance: "argocd/EksCluster/one".into(), address: "EksCluster/one/argocd".into() }
    }

    fn cluster(name: &str, server: &str, lineage: Option<&str>) -> Cluster {
        let annotations = lineage.map(|lineage| marks(lineage).annotations()).unwrap_or_default();
        Cluster { name: name.into(), server: server.into(), annotations, ..Cluster::default() }
    }

    fn at(endpoint: &str, way: Way) -> Target {
        Target { arn: ClusterArn::parse(ARN).unwrap(), endpoint: endpoint.into(), authority: "Q0E=".into(), way }
    }

    fn chosen_at(clusters: &[Cluster], target: Option<&Target>) -> Result<Option<String>, &'static str> {
        choose(clusters, target, "one", &marks("ours"))
            .map(|found| found.map(|cluster| cluster.server.clone()))
            .map_err(|conflict| conflict.code)
    }

    fn chosen(clusters: &[Cluster], server: Option<&str>) -> Result<Option<String>, &'static str> {
        chosen_at(clusters, server.map(|server| at(server, plain())).as_ref())
    }

    #[test]
    fn servers_are_told_apart_without_their_slash() {
        let clusters = [cluster("one", "https://a/", None), cluster("two", "https://b", None)];
        assert_eq!(chosen(&clusters, Some("https://a")), Ok(Some("https://a/".into())));
        assert_eq!(chosen(&clusters[1..], Some("https://a")), Ok(None));
    }

    #[test]
    fn two_of_one_server_are_refused_with_both_names() {
        let clusters = [cluster("one", "https://a", Some("ours")), cluster("kro", "https://a/", None)];
        let conflict = choose(&clusters, Some(&at("https://a", plain())), "one", &marks("ours")).unwrap_err();
        assert_eq!(conflict.code, "DuplicateServer");
        assert!(conflict.message.contains("one at https://a, kro at https://a/"), "{}", conflict.message);
    }

    #[test]
    fn an_arn_is_of_no_use_to_a_self_managed_argo_cd() {
        let made_by_kro = cluster("spoke", ARN, None);
        let conflict = choose(&[made_by_kro], Some(&at("https://a", plain())), "one", &marks("ours")).unwrap_err();
        assert_eq!(conflict.code, "UselessServer");
        assert!(conflict.message.contains("delete that Secret"), "{}", conflict.message);
        let both = [cluster("spoke", ARN, None), cluster("one", "https://a", Some("ours"))];
        let conflict = choose(&both, Some(&at("https://a", plain())), "one", &marks("ours")).unwrap_err();
        assert!(conflict.message.contains("spoke") && conflict.message.contains("one at"), "{}", conflict.message);
    }

    #[test]
    fn the_hosted_argo_cd_may_change_the_server() {
        let hosted = at("https://a", Way::Hosted(ServerForm::Arn));
        assert_eq!(chosen_at(&[cluster("spoke", ARN, None)], Some(&hosted)), Ok(Some(ARN.into())));
        assert_eq!(chosen_at(&[cluster("one", "https://a", None)], Some(&hosted)), Ok(Some("https://a".into())));
        let mut changed = cluster("one", "https://somewhere", None);
        changed.config = json!({"awsAuthConfig": {"clusterName": ARN}});
        assert_eq!(chosen_at(&[changed], Some(&hosted)), Ok(Some("https://somewhere".into())));
        let ours = cluster("one", "https://somewhere", Some("ours"));
        assert_eq!(chosen_at(&[ours], Some(&hosted)), Ok(Some("https://somewhere".into())));
        let two = [cluster("one", ARN, None), cluster("two", "https://a", None)];
        assert_eq!(chosen_at(&two, Some(&hosted)), Err("DuplicateServer"));
    }

    #[test]
    fn a_name_that_others_have_is_refused() {
        let clusters = [cluster("one", "https://b", None)];
        assert_eq!(chosen(&clusters, Some("https://a")), Err("NameTaken"));
        let clusters = [cluster("one", "https://a", Some("ours")), cluster("one", "https://b", Some("other"))];
        assert_eq!(chosen(&clusters, Some("https://a")), Err("NameTaken"));
    }

    #[test]
    fn our_own_old_server_is_found_by_name() {
        let clusters = [cluster("one", "https://old", Some("ours"))];
        assert_eq!(chosen(&clusters, Some("https://new")), Ok(Some("https://old".into())));
    }

    #[test]
    fn before_the_server_is_known_the_name_counts() {
        assert_eq!(chosen(&[cluster("one", "https://b", Some("ours"))], None), Ok(Some("https://b".into())));
        assert_eq!(chosen(&[cluster("one", "https://b", Some("theirs"))], None), Ok(Some("https://b".into())));
        assert_eq!(chosen(&[cluster("one", "https://b", None)], None), Err("NameTaken"));
        assert_eq!(chosen(&[cluster("two", "https://b", None)], None), Ok(None));
        let two = [cluster("one", "https://b", None), cluster("one", "https://c", None)];
        assert_eq!(chosen(&two, None), Err("NameTaken"));
    }

    #[test]
    fn what_is_recorded_is_found_by_server_and_else_by_name_and_marks() {
        let found = |clusters: &[Cluster]| {
            recorded(clusters, "https://a", "one", &marks("ours")).unwrap().map(|cluster| cluster.server.clone())
        };
        assert_eq!(found(&[cluster("renamed", "https://a", None)]).as_deref(), Some("https://a"));
        assert_eq!(found(&[cluster("one", "https://b", Some("ours"))]).as_deref(), Some("https://b"));
        assert_eq!(found(&[cluster("one", "https://b", None)]), None);
    }

    #[test]
    fn owners_are_named() {
        assert!(is_ours(&cluster("one", "https://a", Some("ours")), &marks("ours")));
        assert!(whose(&cluster("one", "https://a", Some("theirs")), &marks("ours")).contains("lineage theirs"));
        assert!(whose(&cluster("one", "https://a", None), &marks("ours")).contains("did not register"));
    }
}
