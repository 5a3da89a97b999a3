//! Which state is meant.

use crate::cli::error::CliError;
use crate::cli::targets::{is_key_of, unknown};
use crate::graph::diagnostic::closest;
use crate::state::error::StateError;
use crate::state::file::{Record, StateFile};
use crate::state::session::{keys, read_key};
use crate::state::store::Store;

/// The key of the instance. With a namespace nothing need be recorded of it yet: a lock is older than its state.
pub(super) async fn key(store: &dyn Store, name: &str, namespace: Option<&str>) -> Result<String, CliError> {
    let form = || CliError::Usage(format!("`{name}` names no instance: write KIND/NAME, like EksCluster/workload-cluster1"));
    let (kind, rest) = name.split_once('/').ok_or_else(form)?;
    if kind.is_empty() || rest.is_empty() || rest.contains('/') {
        return Err(form());
    }
    if let Some(namespace) = namespace {
        if !is_name(namespace) {
            return Err(CliError::Usage(format!("`{namespace}` cannot be a namespace: small letters, digits and dashes")));
        }
        return Ok(format!("{namespace}/{kind}.{rest}.json"));
    }
    let keys = keys(store).await?;
    let found: Vec<&String> = keys.iter().filter(|key| is_key_of(key, name)).collect();
    match found.as_slice() {
        [key] => Ok((*key).clone()),
        [] => {
            let recorded: Vec<(&str, &str)> = keys.iter().filter_map(|key| parts(key)).collect();
            Err(CliError::Usage(unknown(name, &recorded, &store.name())))
        }
        _ => {
            let namespaces: Vec<&str> = found.iter().filter_map(|key| Some(key.split_once('/')?.0)).collect();
            Err(CliError::Usage(format!("{name} is in several namespaces: choose with -n {}", namespaces.join(" or -n "))))
        }
    }
}

/// Kind and name in a key.
fn parts(key: &str) -> Option<(&str, &str)> {
    key.split_once('/')?.1.strip_suffix(".json")?.split_once('.')
}

/// Whether Kubernetes takes a text for the name of an object: small letters, digits, dashes and dots, up to 253 of them.
pub(super) fn is_name(text: &str) -> bool {
    let is_edge = |end: Option<char>| end.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    text.len() <= 253 && is_edge(text.chars().next()) && is_edge(text.chars().last()) && text.chars().all(is_inner)
}

/// The state that KIND/NAME names, as it is now. Nothing is locked.
pub(super) async fn state(store: &dyn Store, name: &str, namespace: Option<&str>) -> Result<StateFile, CliError> {
    let key = key(store, name, namespace).await?;
    read_key(store, &key).await?.ok_or_else(|| CliError::Usage(format!("nothing is recorded at {key} in {}", store.name())))
}

/// The record at an address, whole or as it is shown: below the instance.
pub(super) fn record<'a>(state: &'a StateFile, address: &str) -> Result<&'a Record, CliError> {
    let root = format!("{}/{}/", state.instance.kind, state.instance.name);
    let whole = if address.starts_with(&root) { address.to_owned() } else { format!("{root}{address}") };
    let found = state.resources.iter().find(|record| record.address.as_str() == whole);
    found.ok_or_else(|| {
        let near = closest(&whole, state.resources.iter().map(|record| record.address.as_str()));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        CliError::Usage(format!("nothing is recorded at `{whole}`{hint}"))
    })
}

/// The states that are asked for, and what is wrong with those that cannot be read. Error: a name that no state has.
pub(super) async fn states(
    store: &dyn Store,
    names: &[String],
    namespace: Option<&str>,
) -> Result<(Vec<StateFile>, Vec<StateError>), CliError> {
    let mut chosen = Vec::new();
    for name in names {
        chosen.push(key(store, name, namespace).await?);
    }
    let is_asked = |key: &str| {
        let there = namespace.is_none_or(|namespace| key.strip_prefix(namespace).is_some_and(|rest| rest.starts_with('/')));
        there && (chosen.is_empty() || chosen.iter().any(|one| one == key))
    };
    let (mut states, mut unreadable) = (Vec::new(), Vec::new());
    for (key, state) in crate::state::session::read_each(store).await? {
        match state {
            _ if !is_asked(&key) => {}
            Ok(state) if state.is_blank() => {}
            Ok(state) => states.push(state),
            Err(error) => unreadable.push(error),
        }
    }
    Ok((states, unreadable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_kubernetes() {
        assert!(["a", "workload-cluster1", "0.a"].into_iter().all(is_name));
        assert!(!["", "a b", "A", "../a", "a/b", "-a", "a.", "\u{fc}"].into_iter().any(is_name));
    }

    use crate::state::folder::FolderStore;

    #[tokio::test]
    async fn an_instance_is_found_by_its_namespace_or_by_what_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let store = FolderStore::new(folder.path());
        for key in ["argocd/EksCluster.one.json", "other/EksCluster.one.json", "argocd/EksCluster.two.json"] {
            store.put_if_absent(key, b"{}").await.unwrap();
        }
        assert_eq!(keys(&store).await.unwrap().len(), 3);
        let mut lines = Vec::new();
        for (name, namespace) in [
            ("EksCluster/two", None),
            ("EksCluster/one", None),
            ("EksCluster/tow", None),
            ("EksCluster/new", Some("argocd")),
            ("two", None),
        ] {
            lines.push(key(&store, name, namespace).await.unwrap_or_else(|error| error.to_string()));
        }
        let lines = lines.join("\n").replace(&store.name(), "STORE");
        insta::assert_snapshot!(lines, @"
        argocd/EksCluster.two.json
        EksCluster/one is in several namespaces: choose with -n argocd or -n other
        nothing is recorded of EksCluster/tow in STORE; did you mean `EksCluster/two`?
        argocd/EksCluster.new.json
        `two` names no instance: write KIND/NAME, like EksCluster/workload-cluster1
        ");
    }
}
