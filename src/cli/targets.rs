//! What destroy is to destroy: instances of documents, or recorded ones by kind and name.

use super::arguments::Destroy;
use super::blocking::blocking;
use super::error::CliError;
use super::load::{Loaded, read_inputs};
use super::project::has_errors;
use crate::graph::definition::is_definition;
use crate::graph::diagnostic::{Diagnostic, closest};
use crate::graph::yaml::Node;
use crate::state::error::StateError;
use crate::state::file::InstanceKey;
use std::path::{Path, PathBuf};

/// What is not recorded may be there all the same.
const IF_LOST: &str = "if its state is lost, `fleetctl state rebuild FILE…` with its documents makes it anew from what is there, and destroy \
removes that";

/// The instances that a store knows.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Those whose state can be read.
    pub keys: Vec<InstanceKey>,
    /// Those of them of which nothing is recorded, and no call is open.
    pub empty: Vec<InstanceKey>,
    /// Keys in the store of states that cannot be read, and why.
    pub unreadable: Vec<(String, StateError)>,
    /// What people know the store by.
    pub store: String,
}

impl Recorded {
    /// Whether there is a state of this instance, readable or not.
    fn has(&self, key: &InstanceKey) -> bool {
        self.keys.contains(key) || self.unreadable.iter().any(|(unreadable, _)| *unreadable == key.store_key())
    }

    /// What is wrong with the state of an instance that KIND/NAME names, taken out.
    fn take_unreadable(&mut self, text: &str, namespace: Option<&str>) -> Option<StateError> {
        let is_meant = |key: &str| {
            let is_there = |namespace: &str| key.strip_prefix(namespace).is_some_and(|rest| rest.starts_with('/'));
            is_key_of(key, text) && namespace.is_none_or(is_there)
        };
        let at = self.unreadable.iter().position(|(key, _)| is_meant(key))?;
        Some(self.unreadable.remove(at).1)
    }
}

/// The keys of the instances that the command line names. Documents are read for their names alone: the state knows the
/// rest, so that definitions that have changed or gone do not matter.
pub async fn keys(arguments: &Destroy, recorded: &mut Recorded) -> Result<Vec<InstanceKey>, CliError> {
    let names = arguments.targets.iter().filter(|target| !is_path(target));
    let paths = documents(arguments);
    let mut keys = Vec::new();
    if !paths.is_empty() {
        keys.extend(of_documents(blocking(move || read_inputs(&paths)).await, recorded)?);
    }
    for name in names {
        keys.push(by_name(&name.to_string_lossy(), arguments.namespace.as_deref(), recorded)?);
    }
    keys.dedup();
    Ok(keys)
}

/// The files and folders that the command line names.
pub fn documents(arguments: &Destroy) -> Vec<PathBuf> {
    arguments.targets.iter().filter(|target| is_path(target)).chain(&arguments.file).cloned().collect()
}

/// Whether a target is a file or folder; what is there wins over what looks like KIND/NAME.
fn is_path(target: &Path) -> bool {
    let text = target.to_string_lossy();
    let has_suffix = target.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    text == "-" || target.exists() || has_suffix || text.matches('/').count() > 1
}

/// The instances among documents.
fn of_documents(loaded: Loaded, recorded: &Recorded) -> Result<Vec<InstanceKey>, CliError> {
    let Loaded { nodes, mut problems, files } = loaded;
    let keys: Vec<(InstanceKey, &Node)> = nodes.iter().filter_map(|node| Some((key(node)?, node))).collect();
    if keys.is_empty() && !has_errors(&problems) {
        let names = files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ");
        problems.push(Diagnostic::error("no-instance", format!("no instance of a graph definition in {names}")));
    }
    for (key, node) in &keys {
        if !recorded.has(key) {
            let problem = Diagnostic::error("not-recorded", not_recorded(&key.to_string(), &recorded.store)).at(&node.location);
            problems.push(problem.suggest(IF_LOST));
        }
    }
    if has_errors(&problems) { Err(CliError::Documents(problems)) } else { Ok(keys.into_iter().map(|(key, _)| key).collect()) }
}

/// The key of a document, if it is an instance.
fn key(document: &Node) -> Option<InstanceKey> {
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::as_str).map(ToOwned::to_owned);
    let (api_version, kind) = (text(document, "apiVersion")?, text(document, "kind")?);
    let is_other = matches!(kind.as_str(), "Namespace" | "IAMRoleSelector") || is_definition(document);
    let metadata = document.get("metadata").filter(|_| !is_other)?;
    let namespace = text(metadata, "namespace").unwrap_or_else(|| "default".into());
    Some(InstanceKey { api_version, kind, namespace, name: text(metadata, "name")? })
}

/// The recorded instance that KIND/NAME names.
fn by_name(text: &str, namespace: Option<&str>, recorded: &mut Recorded) -> Result<InstanceKey, CliError> {
    if matching(text, namespace, &recorded.keys).is_empty()
        && let Some(error) = recorded.take_unreadable(text, namespace)
    {
        return Err(error.into());
    }
    match matching(text, namespace, &recorded.keys).as_slice() {
        [key] => Ok((*key).clone()),
        [] => Err(CliError::Usage(not_there(text, namespace, recorded))),
        several => {
            let lines: Vec<_> =
                several.iter().map(|key| format!("  {}/{} --namespace {}", key.kind, key.name, key.namespace)).collect();
            Err(CliError::Usage(format!("`{text}` is recorded in several namespaces; choose one:\n{}", lines.join("\n"))))
        }
    }
}

/// Why there is no instance of this name to be found in this namespace.
fn not_there(text: &str, namespace: Option<&str>, recorded: &Recorded) -> String {
    let elsewhere = matching(text, None, &recorded.keys);
    if let (Some(namespace), Some(key)) = (namespace, elsewhere.first()) {
        return format!("{text} is not recorded in namespace {namespace}, but in namespace {}", key.namespace);
    }
    let names: Vec<_> = recorded.keys.iter().map(|key| (key.kind.as_str(), key.name.as_str())).collect();
    let unknown = unknown(text, &names, &recorded.store);
    if text.contains('/') { format!("{unknown}\n{IF_LOST}") } else { unknown }
}

/// The recorded instances that KIND/NAME and a namespace name. The case of the kind does not matter, as with kubectl.
fn matching<'a>(text: &str, namespace: Option<&str>, recorded: &'a [InstanceKey]) -> Vec<&'a InstanceKey> {
    let Some((kind, name)) = text.split_once('/') else { return Vec::new() };
    let is_meant = |key: &&InstanceKey| {
        key.kind.eq_ignore_ascii_case(kind) && key.name == name && namespace.is_none_or(|namespace| key.namespace == namespace)
    };
    recorded.iter().filter(is_meant).collect()
}

/// Whether a key in the store is that of the instance that KIND/NAME names, in whatever namespace.
pub fn is_key_of(key: &str, text: &str) -> bool {
    let (Some((_, file)), Some((kind, name))) = (key.split_once('/'), text.split_once('/')) else { return false };
    let stem = file.strip_suffix(".json").and_then(|stem| stem.split_once('.'));
    stem.is_some_and(|(its_kind, its_name)| its_kind.eq_ignore_ascii_case(kind) && its_name == name)
}

/// What is said of a name that no state knows, given the kinds and names that are recorded.
pub fn unknown(text: &str, recorded: &[(&str, &str)], store: &str) -> String {
    let names: Vec<_> = recorded.iter().map(|(kind, name)| format!("{kind}/{name}")).collect();
    let (said, near) = if text.contains('/') {
        (not_recorded(text, store), closest(text, names.iter().map(String::as_str)).map(ToOwned::to_owned))
    } else {
        let near = closest(text, recorded.iter().map(|(_, name)| *name));
        let whole = recorded.iter().find(|(_, name)| Some(*name) == near).map(|(kind, name)| format!("{kind}/{name}"));
        (format!("`{text}` names no instance: use KIND/NAME"), whole)
    };
    format!("{said}{}", near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())
}

/// What is said of an instance that no state knows.
fn not_recorded(instance: &str, store: &str) -> String {
    format!("nothing is recorded of {instance} in {store}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::diagnostic::SourceFile;
    use crate::graph::yaml;

    fn recorded(namespace: &str, name: &str) -> InstanceKey {
        InstanceKey {
            api_version: "kro.run/v1alpha1".into(),
            kind: "EksCluster".into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    #[test]
    fn names_are_found_or_explained() {
        let keys = vec![recorded("argocd", "one"), recorded("argocd", "two"), recorded("other", "two")];
        let damaged = "argocd/EksCluster.three.json".to_owned();
        let error = StateError::Damaged { key: damaged.clone(), reason: "no JSON".into() };
        let mut all = Recorded { keys, unreadable: vec![(damaged, error)], store: "./state".into(), ..Recorded::default() };
        let mut find = |text, namespace| match by_name(text, namespace, &mut all) {
            Ok(key) => key.to_string(),
            Err(error) => error.to_string(),
        };
        let lines = [
            find("EksCluster/one", None),
            find("ekscluster/one", None),
            find("EksCluster/two", Some("other")),
            find("EksCluster/two", None),
            find("EksCluster/oen", None),
            find("EksCluster/one", Some("other")),
            find("one", None),
            find("EksCluster/three", Some("other")),
            find("EksCluster/three", None),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        EksCluster/one in namespace argocd
        EksCluster/one in namespace argocd
        EksCluster/two in namespace other
        `EksCluster/two` is recorded in several namespaces; choose one:
          EksCluster/two --namespace argocd
          EksCluster/two --namespace other
        nothing is recorded of EksCluster/oen in ./state; did you mean `EksCluster/one`?
        if its state is lost, `fleetctl state rebuild FILE…` with its documents makes it anew from what is there, and destroy removes that
        EksCluster/one is not recorded in namespace other, but in namespace argocd
        `one` names no instance: use KIND/NAME; did you mean `EksCluster/one`?
        nothing is recorded of EksCluster/three in ./state; did you mean `EksCluster/two`?
        if its state is lost, `fleetctl state rebuild FILE…` with its documents makes it anew from what is there, and destroy removes that
        argocd/EksCluster.three.json is damaged: no JSON
        ");
    }

    #[test]
    fn instances_are_told_from_other_documents() {
        let text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n\
                    apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata: {name: a}\n---\n\
                    apiVersion: kro.run/v1alpha1\nkind: EksCluster\nmetadata: {name: one, namespace: argocd}\nspec: {}\n---\n\
                    apiVersion: kro.run/v1alpha1\nkind: Vpc\nmetadata: {name: two}\n";
        let nodes = yaml::parse(&SourceFile::new("a.yaml", text)).unwrap();
        let keys: Vec<_> = nodes.iter().filter_map(key).map(|key| key.to_string()).collect();
        assert_eq!(keys, ["EksCluster/one in namespace argocd", "Vpc/two in namespace default"]);
    }

    #[test]
    fn paths_are_told_from_names() {
        let is_path = |text: &str| is_path(Path::new(text));
        assert!(is_path("-") && is_path("cluster.yaml") && is_path("missing/cluster.yaml") && is_path("src/cli"));
        assert!(!is_path("EksCluster/one") && !is_path("one"));
    }
}
