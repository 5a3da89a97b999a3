//! What AWS and others do to an object by themselves, and what apply leaves alone: news for people, never a difference.

use super::kind::Observed;
use crate::aws::tags::{is_ignored, is_reserved, of_spec};
use serde_json::{Map, Value};

/// Fields of `status` that AWS changes by itself.
const OF_AWS: [&str; 2] = ["platformVersion", "health"];

/// Labels and annotations with this beginning are Argo CD's.
const OF_ARGO_CD: &str = "argocd.argoproj.io/";

/// Those of Argo CD that say nothing: what makes a Secret a cluster, and the wish to refresh.
const SILENT: [&str; 2] = ["argocd.argoproj.io/secret-type", "argocd.argoproj.io/refresh"];

/// Fields that tell a route.
const OF_ROUTES: [&str; 3] = ["destinationCIDRBlock", "destinationIPv6CIDRBlock", "destinationPrefixListID"];

/// Something that has changed and is nobody's to put back.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// `status.platformVersion`, `spec.tags[kro.run/kro-version]`.
    pub path: String,
    /// What was there when the object was last applied; `None`: the state does not keep it.
    pub before: Option<Value>,
    /// What is there.
    pub now: Value,
}

/// What is new about an object. `recorded` is its `status` as of the last apply.
pub fn news(desired: &Value, observed: &Observed, recorded: Option<&Value>) -> Vec<News> {
    let mut found = Vec::new();
    if let Some(recorded) = recorded {
        found.extend(of_aws(recorded, &observed.status));
        found.extend(routes(recorded, observed));
    }
    found.extend(tags(desired, observed));
    found.extend(of_argo_cd(desired, observed));
    found
}

fn of_aws<'a>(recorded: &'a Value, now: &'a Value) -> impl Iterator<Item = News> + 'a {
    // What the state does not have was not looked at then.
    let known = OF_AWS.into_iter().filter(|name| recorded.get(*name).is_some() && recorded.get(*name) != now.get(*name));
    known.map(|name| News {
        path: format!("status.{name}"),
        before: recorded.get(name).cloned(),
        now: now.get(name).cloned().unwrap_or_default(),
    })
}

/// Routes that are there now, were not there, and are nobody's to change: propagated ones, those of gateway endpoints.
fn routes(recorded: &Value, observed: &Observed) -> Vec<News> {
    let statuses = |status: &Value| status["routeStatuses"].as_array().cloned().unwrap_or_default();
    let destination = |route: &Value| OF_ROUTES.iter().find_map(|name| Some(route.get(*name)?.as_str()?.to_owned()));
    let before: Vec<Option<String>> = statuses(recorded).iter().map(destination).collect();
    let ours = observed.spec["routes"].as_array().cloned().unwrap_or_default();
    let ours: Vec<Option<String>> = ours.iter().map(destination).collect();
    let is_new = |route: &Value| {
        let to = destination(route);
        route["gatewayID"] != "local" && to.is_some() && !before.contains(&to) && !ours.contains(&to)
    };
    let new = statuses(&observed.status).into_iter().filter(is_new);
    new.map(|route| News {
        path: format!("spec.routes[{}]", destination(&route).unwrap_or_default()),
        before: Some(Value::Null),
        now: route,
    })
    .collect()
}

/// Tags that ACK or kro have put on the object.
fn tags<'a>(desired: &'a Value, observed: &'a Observed) -> impl Iterator<Item = News> + 'a {
    let wanted = of_spec(&desired["spec"]["tags"]);
    let theirs = observed.tags.iter().filter(|(key, _)| is_ignored(key) && !is_reserved(key));
    theirs.filter(move |(key, _)| !wanted.contains_key(*key)).map(|(key, value)| News {
        path: format!("spec.tags[{key}]"),
        before: None,
        now: Value::String(value.clone()),
    })
}

/// Labels and annotations that are Argo CD's own.
fn of_argo_cd(desired: &Value, observed: &Observed) -> Vec<News> {
    let mut found = Vec::new();
    for part in ["labels", "annotations"] {
        let nothing = Map::new();
        let there = observed.spec["metadata"][part].as_object().unwrap_or(&nothing);
        let theirs = there.iter().filter(|(key, _)| key.starts_with(OF_ARGO_CD) && !SILENT.contains(&key.as_str()));
        let theirs = theirs.filter(|(key, _)| desired["metadata"][part].get(key.as_str()).is_none());
        found.extend(theirs.map(|(key, value)| News {
            path: format!("metadata.{part}[{key}]"),
            before: None,
            now: value.clone(),
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::kind::Readiness;
    use serde_json::json;

    fn observed(spec: Value, status: Value, tags: &[(&str, &str)]) -> Observed {
        let tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Observed { id: "one".into(), spec, status, tags, readiness: Readiness::Ready }
    }

    fn told(desired: &Value, observed: &Observed, recorded: Option<&Value>) -> Vec<String> {
        let line = |news: News| format!("{}: {:?} → {}", news.path, news.before.map(|before| before.to_string()), news.now);
        news(desired, observed, recorded).into_iter().map(line).collect()
    }

    #[test]
    fn what_aws_does_to_a_status_is_told_and_what_is_the_same_is_not() {
        let before = json!({"platformVersion": "eks.1", "status": "ACTIVE", "health": {"issues": []}});
        let now = json!({"platformVersion": "eks.2", "status": "UPDATING", "health": {"issues": []}});
        let cluster = observed(json!({}), now, &[]);
        assert_eq!(told(&json!({}), &cluster, Some(&before)), ["status.platformVersion: Some(\"\\\"eks.1\\\"\") → \"eks.2\""]);
        assert_eq!(told(&json!({}), &cluster, None), Vec::<String>::new());
        assert_eq!(told(&json!({}), &cluster, Some(&json!({}))), Vec::<String>::new());
    }

    #[test]
    fn routes_that_nobody_may_change_are_told_once_they_are_new() {
        let status = json!({"routeStatuses": [
            {"destinationCIDRBlock": "10.0.0.0/16", "gatewayID": "local"},
            {"destinationCIDRBlock": "0.0.0.0/0", "natGatewayID": "nat-1"},
            {"destinationPrefixListID": "pl-1", "gatewayID": "vpce-1"},
        ]});
        let table = observed(json!({"routes": [{"destinationCIDRBlock": "0.0.0.0/0"}]}), status.clone(), &[]);
        let told_of = told(&json!({}), &table, Some(&json!({})));
        assert_eq!((told_of.len(), told_of[0].starts_with("spec.routes[pl-1]: Some(\"null\")")), (1, true), "{told_of:?}");
        assert_eq!(told(&json!({}), &table, Some(&status)), Vec::<String>::new());
    }

    #[test]
    fn tags_of_others_are_told_but_for_those_of_aws_and_our_own() {
        let tags = [("aws:eks:cluster-name", "a"), ("fleetctl:lineage", "5f0c"), ("kro.run/kro-version", "1"), ("team", "x")];
        let desired = json!({"spec": {"tags": [{"key": "kro.run/kro-version", "value": "0"}]}});
        let vpc = observed(json!({}), json!({}), &tags);
        assert_eq!(told(&desired, &vpc, None), Vec::<String>::new());
        assert_eq!(told(&json!({}), &vpc, None), ["spec.tags[kro.run/kro-version]: None → \"1\""]);
    }

    #[test]
    fn labels_of_argo_cd_are_told() {
        let labels = json!({"argocd.argoproj.io/secret-type": "cluster", "argocd.argoproj.io/skip-reconcile": "true", "a": "b"});
        let registration = observed(json!({"metadata": {"labels": labels}}), json!({}), &[]);
        assert_eq!(
            told(&json!({}), &registration, None),
            ["metadata.labels[argocd.argoproj.io/skip-reconcile]: None → \"true\""]
        );
    }
}
