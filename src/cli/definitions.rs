//! Which graph definitions are in use: those of a folder, or the built-in ones; those among the user's documents come
//! before both.

use super::load::read_folder;
use crate::graph::definition::is_definition;
use crate::graph::diagnostic::{Diagnostic, SourceFile};
use crate::graph::yaml::{self, Node};
use crate::state::file::DefinitionsUsed;
use crate::state::hash::sha256;
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;

/// The definitions in the binary: file name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("eks-cluster-basic.yaml", include_str!("../../graphs/eks-cluster-basic.yaml")),
    ("eks-cluster.yaml", include_str!("../../graphs/eks-cluster.yaml")),
    ("vpc.yaml", include_str!("../../graphs/vpc.yaml")),
];

/// What the built-in definitions are called.
pub const BUILT_IN_SOURCE: &str = "built-in";

/// The folder that is used if it holds definitions.
const DEFAULT_FOLDER: &str = "graphs";

/// The definitions in use, not checked yet.
#[derive(Debug)]
pub struct Chosen {
    /// Their documents.
    pub nodes: Vec<Node>,
    /// What is recorded of them.
    pub used: DefinitionsUsed,
}

/// Chooses the definitions. `folder` is the one that is named, if one is; `documents` are the user's.
pub fn choose(folder: Option<&Path>, documents: &[Node], problems: &mut Vec<Diagnostic>) -> Chosen {
    let (base, mut source) = base(folder, problems);
    let own: Vec<Node> = documents.iter().filter(|document| is_definition(document)).cloned().collect();
    if !own.is_empty() {
        let names: HashSet<&str> = own.iter().map(|node| node.location.file.name.as_str()).collect();
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_unstable();
        source = format!("{source} and {}", names.join(", "));
    }
    let redefined: HashSet<&str> = own.iter().filter_map(defined_kind).collect();
    let kept = base.into_iter().filter(|node| defined_kind(node).is_none_or(|kind| !redefined.contains(kind)));
    let nodes: Vec<Node> = kept.chain(own.iter().cloned()).collect();
    let hash = meaning(&nodes);
    Chosen { nodes, used: DefinitionsUsed { source, hash } }
}

/// The definitions that the user's own are added to.
fn base(folder: Option<&Path>, problems: &mut Vec<Diagnostic>) -> (Vec<Node>, String) {
    let named = folder.is_some();
    let folder = folder.unwrap_or(Path::new(DEFAULT_FOLDER));
    if !named && !folder.is_dir() {
        return built_in(problems);
    }
    let loaded = match read_folder(folder) {
        Ok(loaded) => loaded,
        Err(problem) => {
            problems.push(problem);
            return (Vec::new(), folder.display().to_string());
        }
    };
    let nodes: Vec<Node> = loaded.nodes.into_iter().filter(is_definition).collect();
    let is_sound = loaded.problems.is_empty();
    problems.extend(loaded.problems);
    match (nodes.is_empty() && is_sound, named) {
        (true, false) => built_in(problems),
        (true, true) => {
            let message = format!("the folder {} holds no graph definition", folder.display());
            problems.push(Diagnostic::error("no-definitions", message));
            (nodes, folder.display().to_string())
        }
        (false, _) => (nodes, folder.display().to_string()),
    }
}

/// Where the definitions come from that [`choose`] takes, before the user's own.
pub fn source(folder: Option<&Path>) -> String {
    base(folder, &mut Vec::new()).1
}

/// The built-in definitions.
fn built_in(problems: &mut Vec<Diagnostic>) -> (Vec<Node>, String) {
    let mut nodes = Vec::new();
    for (name, text) in BUILT_IN {
        match yaml::parse(&SourceFile::new(format!("built-in:{name}"), *text)) {
            Ok(documents) => nodes.extend(documents),
            Err(found) => problems.extend(found),
        }
    }
    (nodes, BUILT_IN_SOURCE.into())
}

/// The kind that a definition defines.
fn defined_kind(node: &Node) -> Option<&str> {
    node.get("spec")?.get("schema")?.get("kind")?.as_str()
}

/// SHA-256 over what the documents mean: comments, formatting, the order of keys and the order of files do not count.
fn meaning(nodes: &[Node]) -> String {
    let mut texts: Vec<String> = nodes.iter().map(|node| canonical(&node.to_json())).collect();
    texts.sort();
    sha256(texts.join("\n"))
}

/// JSON with sorted keys and without spaces.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries: Vec<_> =
                entries.into_iter().map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), canonical(value))).collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(name: &str, text: &str) -> Vec<Node> {
        yaml::parse(&SourceFile::new(name, text)).unwrap()
    }

    const ONE: &str = "kind: ResourceGraphDefinition\napiVersion: kro.run/v1alpha1\nspec: {schema: {kind: One}, resources: []}\n";
    const TWO: &str = "kind: ResourceGraphDefinition\napiVersion: kro.run/v1alpha1\nspec: {schema: {kind: Two}, resources: []}\n";

    #[test]
    fn the_hash_is_over_the_meaning() {
        let first = nodes("a", &format!("{ONE}---\n{TWO}"));
        let second = nodes(
            "b",
            &format!(
                "# comment\n{TWO}---\nspec:\n  resources: []\n  schema: {{kind: 'One'}}\napiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\n"
            ),
        );
        assert_eq!(meaning(&first), meaning(&second));
        assert_ne!(meaning(&first), meaning(&nodes("a", ONE)));
    }

    #[test]
    fn the_users_own_definitions_come_first() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.yaml"), format!("{ONE}---\n{TWO}")).unwrap();
        let mut problems = Vec::new();
        let chosen = choose(Some(folder.path()), &nodes("mine.yaml", ONE), &mut problems);
        let kinds: Vec<_> = chosen.nodes.iter().map(|node| (defined_kind(node).unwrap(), &*node.location.file.name)).collect();
        assert_eq!(kinds.last(), Some(&("One", "mine.yaml")));
        assert_eq!(kinds.len(), 2);
        assert_eq!(chosen.used.source, format!("{} and mine.yaml", folder.path().display()));
        assert_eq!(problems, []);
    }

    #[test]
    fn a_named_folder_must_hold_definitions() {
        let folder = tempfile::tempdir().unwrap();
        let mut problems = Vec::new();
        choose(Some(folder.path()), &[], &mut problems);
        assert_eq!(problems.first().map(|problem| problem.category), Some("no-definitions"));
    }

    #[test]
    fn every_definition_that_ships_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("graphs");
        let mut shipped: Vec<String> = std::fs::read_dir(folder)
            .map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
            .unwrap_or_default();
        shipped.retain(|name| Path::new(name).extension().is_some_and(|extension| extension == "yaml"));
        shipped.sort();
        let built_in: Vec<_> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(built_in, shipped);
    }
}
