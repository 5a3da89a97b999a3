//! What can be known about Argo CD before anything is made on AWS: whether it answers, whether the token is good and lasts,
//! what it may do, and whether names are free. A run that ends in a refused registration has cost half an hour.

use super::client::{Reader, Version};
use super::cluster::Cluster;
use super::product::Product;
use crate::aws::error::CallError;
use crate::aws::tags::{self, Marks, Owner};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use secrecy::ExposeSecret;
use serde_json::Value;
use std::collections::BTreeSet;

/// A registration that a run is going to make or keep.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// Its name in Argo CD.
    pub name: &'a str,
    /// Its server, once the cluster has one.
    pub server: Option<&'a str>,
    /// Its project; empty for none.
    pub project: &'a str,
    /// What makes it ours.
    pub marks: &'a Marks,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// The server's version.
    pub version: Version,
    /// Whom it takes the token for; empty if for nobody.
    pub username: String,
    /// What the token says of itself.
    pub claims: Claims,
    /// What stands in the way, or may do so later.
    pub problems: Vec<Problem>,
}

/// Something that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whether the registration cannot succeed; otherwise it may.
    pub fatal: bool,
    /// What is wrong, and the way out.
    pub text: String,
}

/// What a token says of itself. Nothing here is verified.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claims {
    /// `fleet:apiKey`, `admin:login`, `proj:team-a:ci`.
    pub subject: Option<String>,
    /// When it ends; `None` for never, or for a token that cannot be read.
    pub expires: Option<DateTime<Utc>>,
}

impl Claims {
    /// Reads the claims of a JSON web token; other tokens have none.
    pub fn of(token: &str) -> Self {
        let payload = token.split('.').nth(1).and_then(|payload| URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok());
        let claims: Value = payload.and_then(|payload| serde_json::from_slice(&payload).ok()).unwrap_or_default();
        // A number of seconds: whole, or with a fraction.
        let seconds = claims["exp"].as_i64().or_else(|| claims["exp"].as_number()?.to_string().split('.').next()?.parse().ok());
        Self {
            subject: claims["sub"].as_str().map(str::to_owned),
            expires: seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0)),
        }
    }

    /// The project that the token is of, if it is a project role's.
    pub fn project(&self) -> Option<&str> {
        self.subject.as_deref()?.strip_prefix("proj:")?.split(':').next()
    }
}

/// Asks and checks. `lasts` is how long the run may take from `now` on. Errors only where Argo CD does not answer.
pub async fn preflight(
    reader: &Reader,
    planned: &[Planned<'_>],
    now: DateTime<Utc>,
    lasts: TimeDelta,
) -> Result<Preflight, CallError> {
    let version = reader.version().await?;
    let claims = Claims::of(reader.token().expose_secret());
    let mut problems: Vec<Problem> = expiry(&claims, now, lasts).into_iter().collect();
    let user = reader.user_info().await?;
    if !user.logged_in {
        // A token that says itself that it has ended needs no second problem.
        if !problems.iter().any(|problem| problem.fatal) {
            problems
                .push(fatal("Argo CD does not accept the token in ARGOCD_AUTH_TOKEN: it was revoked, or is another server's"));
        }
        return Ok(Preflight { version, username: user.username, claims, problems });
    }
    problems.extend(rights(reader, planned, &claims).await?);
    problems.extend(other_product(reader, &version));
    let clusters = reader.list_clusters().await?;
    problems.extend(planned.iter().flat_map(|planned| clashes(planned, &clusters)));
    problems.extend(twins(planned));
    Ok(Preflight { version, username: user.username, claims, problems })
}

fn fatal(text: impl Into<String>) -> Problem {
    Problem { fatal: true, text: text.into() }
}

/// Settings say one Argo CD, its version another.
fn other_product(reader: &Reader, version: &Version) -> Option<Problem> {
    let set = reader.registering().product?;
    let found = Product::of_version(&version.version);
    let text = match (set, found) {
        (Product::Hosted, Product::SelfManaged) => "`argocd: hosted` is set, but its version is that of a self-managed one",
        (Product::SelfManaged, Product::Hosted) => {
            "`argocd: self-managed` is set, but its version is that of the one that EKS hosts"
        }
        _ => return None,
    };
    Some(Problem { fatal: false, text: format!("{text} ({})", version.version) })
}

fn expiry(claims: &Claims, now: DateTime<Utc>, lasts: TimeDelta) -> Option<Problem> {
    let expires = claims.expires?;
    if expires <= now {
        return Some(fatal(format!("the token in ARGOCD_AUTH_TOKEN has ended at {expires}: make a new one")));
    }
    let minutes = (expires - now).num_minutes();
    (expires < now + lasts).then(|| Problem {
        fatal: false,
        text: format!(
            "the token in ARGOCD_AUTH_TOKEN ends in {minutes} minutes, but the run may take {}: make one that lasts longer \
             (of the Argo CD that EKS hosts, an account's token lasts 12 hours at most, a project role's longer)",
            lasts.num_minutes()
        ),
    })
}

/// The rights that registrations need, for each project once.
async fn rights(reader: &Reader, planned: &[Planned<'_>], claims: &Claims) -> Result<Vec<Problem>, CallError> {
    let mut problems = Vec::new();
    let projects: BTreeSet<&str> = planned.iter().map(|planned| planned.project).collect();
    for project in projects {
        if let Some(own) = claims.project().filter(|own| *own != project) {
            problems.push(fatal(format!(
                "the token in ARGOCD_AUTH_TOKEN is a role's of project {own}, which reaches no cluster of project {project}"
            )));
            continue;
        }
        let object = &if project.is_empty() { "*".to_owned() } else { format!("{project}/*") };
        let asks = ["get", "create", "update", "delete"]
            .map(|action| async move { Ok::<_, CallError>((action, reader.can_i("clusters", action, object).await?)) });
        let answers = futures::future::try_join_all(asks).await?;
        let missing: Vec<&str> = answers.into_iter().filter(|(_, may)| !may).map(|(action, _)| action).collect();
        if !missing.is_empty() {
            let actions = missing.join(", ");
            // A policy for these very servers would do, but only the cluster's own address could be asked for then.
            problems.push(Problem {
                fatal: false,
                text: format!(
                    "the token in ARGOCD_AUTH_TOKEN may not {actions} clusters of {object}: add `p, <role>, clusters, {}, {object}, allow` to argocd-rbac-cm or the project",
                    missing.first().copied().unwrap_or_default()
                ),
            });
        }
    }
    Ok(problems)
}

/// Registrations that are in the way of one.
fn clashes(planned: &Planned<'_>, clusters: &[Cluster]) -> Vec<Problem> {
    let Planned { name, server, marks, .. } = *planned;
    let server = server.map(|server| server.trim_end_matches('/'));
    let mut problems = Vec::new();
    for cluster in clusters.iter().filter(|cluster| cluster.name == name && server != Some(&cluster.server)) {
        if tags::owner(&cluster.annotations, marks) != Owner::Ours {
            problems.push(fatal(format!(
                "Argo CD has a cluster {name} already, for another server ({}): names are to be unique, ApplicationSets take one of the two at random",
                cluster.server
            )));
        }
    }
    let same: Vec<&Cluster> = clusters.iter().filter(|cluster| server == Some(&cluster.server)).collect();
    match same.as_slice() {
        [] => {}
        [cluster] => problems.extend(other_owner(cluster, marks)),
        several => problems.push(fatal(format!(
            "Argo CD has {} clusters for the server {}: remove all but one of their Secrets",
            several.len(),
            server.unwrap_or_default()
        ))),
    }
    problems
}

fn other_owner(cluster: &Cluster, marks: &Marks) -> Option<Problem> {
    match tags::owner(&cluster.annotations, marks) {
        Owner::Ours | Owner::Nobody => None,
        Owner::Other(owner) => Some(fatal(format!("Argo CD's cluster {} ({}) belongs to {owner}", cluster.name, cluster.server))),
    }
}

/// Names that are planned twice.
fn twins(planned: &[Planned<'_>]) -> Vec<Problem> {
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<&str> = planned.iter().map(|planned| planned.name).filter(|name| !seen.insert(*name)).collect();
    twice.into_iter().map(|name| fatal(format!("two clusters are to be registered as {name}: names are to be unique"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn token(claims: &Value) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    fn marks() -> Marks {
        Marks { lineage: "ours".into(), instance: "n/EksCluster/a".into(), address: "EksCluster/a/secret".into() }
    }

    fn cluster(name: &str, server: &str, lineage: Option<&str>) -> Cluster {
        let annotations = lineage.map(|lineage| (tags::LINEAGE_ANNOTATION.to_owned(), lineage.to_owned()));
        Cluster { name: name.into(), server: server.into(), annotations: BTreeMap::from_iter(annotations), ..Cluster::default() }
    }

    #[test]
    fn claims_are_read_without_asking() {
        let claims = Claims::of(&token(&json!({"sub": "proj:team-a:ci", "exp": 1000})));
        assert_eq!((claims.project(), claims.expires), (Some("team-a"), Some(at(1000))));
        assert_eq!(Claims::of(&token(&json!({"sub": "fleet:apiKey", "exp": 1000.5}))).expires, Some(at(1000)));
        assert_eq!(Claims::of(&token(&json!({"sub": "fleet:apiKey"}))).project(), None);
        for opaque in ["", "opaque", "a.b.c", "a.%%%.c"] {
            assert_eq!(Claims::of(opaque), Claims::default(), "{opaque}");
        }
    }

    #[test]
    fn a_token_has_to_outlast_the_run() {
        let claims = |exp| Claims { subject: None, expires: Some(at(exp)) };
        let problem = |exp| expiry(&claims(exp), at(10_000), TimeDelta::minutes(30));
        assert_eq!(problem(20_000), None);
        assert!(problem(9_000).unwrap().fatal);
        let soon = problem(10_600).unwrap();
        assert!(!soon.fatal && soon.text.contains("10 minutes") && soon.text.contains("take 30"), "{}", soon.text);
        assert_eq!(expiry(&Claims::default(), at(0), TimeDelta::minutes(30)), None);
    }

    #[test]
    fn names_and_servers_clash() {
        let marks = marks();
        let planned = |server| Planned { name: "a", server, project: "default", marks: &marks };
        let texts = |server, clusters: &[Cluster]| {
            clashes(&planned(server), clusters).into_iter().map(|problem| problem.text).collect::<Vec<_>>()
        };
        let free = [cluster("in-cluster", "https://kubernetes.default.svc", None)];
        assert!(texts(None, &free).is_empty());
        assert!(texts(Some("https://A/"), &[cluster("a", "https://A", Some("ours"))]).is_empty());
        assert!(
            texts(Some("https://A"), &[cluster("a", "https://A", None)]).is_empty(),
            "to be adopted, or refused, by its kind"
        );
        assert!(texts(None, &[cluster("a", "https://A", Some("ours"))]).is_empty(), "ours, from an earlier run");
        let rows = [
            (None, vec![cluster("a", "https://B", None)], "another server (https://B)"),
            (Some("https://A"), vec![cluster("a", "https://B", Some("theirs"))], "another server (https://B)"),
            (Some("https://A"), vec![cluster("x", "https://A", Some("theirs"))], "lineage theirs"),
            (Some("https://A"), vec![cluster("a", "https://A", None), cluster("b", "https://A", None)], "2 clusters"),
        ];
        for (server, clusters, part) in rows {
            let texts = texts(server, &clusters);
            assert!(texts.len() == 1 && texts[0].contains(part), "{texts:?}");
        }
    }

    #[test]
    fn a_name_is_planned_once() {
        let marks = marks();
        let planned = |name| Planned { name, server: None, project: "", marks: &marks };
        assert_eq!(twins(&[planned("a"), planned("b")]), []);
        assert_eq!(twins(&[planned("a"), planned("a"), planned("a")]).len(), 1);
    }
}
