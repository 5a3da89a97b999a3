//! Tests of the graph language as a whole, with the definitions that ship and, where `FLEETCTL_UPSTREAM_DATA` names the
//! folder that holds `kro/…`, with kro's own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod checks;
mod cloud;
mod documents;
mod evaluation;
mod expansion;

use super::definition::Definitions;
use super::diagnostic::{Diagnostic, SourceFile};
use super::documents::{Documents, Instance};
use super::evaluation::Evaluation;
use super::expansion::{Graph, NodeIndex, expand};
use super::test_catalog::catalog;
use super::yaml::{self, Node};
use std::fs;
use std::path::PathBuf;

/// The instance of which kro and ACK were recorded.
pub(super) const INSTANCE: &str = include_str!("../../../tests/conformance/ack-end-state-instance.yaml");

const OWN: [(&str, &str); 3] = [
    ("graphs/eks-cluster.yaml", include_str!("../../../graphs/eks-cluster.yaml")),
    ("graphs/eks-cluster-basic.yaml", include_str!("../../../graphs/eks-cluster-basic.yaml")),
    ("graphs/vpc.yaml", include_str!("../../../graphs/vpc.yaml")),
];

fn parse(name: &str, text: &str) -> Vec<Node> {
    yaml::parse(&SourceFile::new(name, text)).unwrap_or_else(|problems| panic!("{}", shown(&problems)))
}

/// Diagnostics as lines.
fn shown(problems: &[Diagnostic]) -> String {
    let line = |problem: &Diagnostic| {
        let place = problem.location.as_ref().map_or_else(String::new, |location| format!("{location} "));
        let suggestion = problem.suggestion.as_ref().map_or_else(String::new, |text| format!(" [{text}]"));
        format!("{place}{}: {}{suggestion}", problem.category, problem.message)
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Definitions from texts; they have no problem.
fn definitions(texts: &[(&str, &str)]) -> Definitions {
    let documents: Vec<Node> = texts.iter().flat_map(|(name, text)| parse(name, text)).collect();
    let (definitions, problems) = Definitions::load(&documents, catalog());
    assert!(problems.is_empty(), "{}", shown(&problems));
    definitions
}

/// The definitions that ship.
fn own() -> Definitions {
    definitions(&OWN)
}

/// kro's definitions of the same kinds.
fn upstream() -> Option<Definitions> {
    let Some(root) = std::env::var_os("FLEETCTL_UPSTREAM_DATA") else {
        println!("skipped: FLEETCTL_UPSTREAM_DATA is not set");
        return None;
    };
    let folder = PathBuf::from(root).join("kro/eks-cluster-mgmt");
    let names = ["rg-eks.yaml", "rg-eks-basic.yaml", "rg-vpc.yaml"];
    let texts: Vec<String> = names.iter().map(|name| fs::read_to_string(folder.join(name)).unwrap()).collect();
    let pairs: Vec<(&str, &str)> = names.iter().copied().zip(texts.iter().map(String::as_str)).collect();
    Some(definitions(&pairs))
}

/// The instance in a document.
fn instance(text: &str, definitions: &Definitions) -> Instance {
    let (documents, problems) = Documents::load(&parse("instance.yaml", text), definitions);
    assert!(problems.is_empty(), "{}", shown(&problems));
    documents.instances.into_iter().next().unwrap()
}

/// An instance expanded; it has no problem.
fn graph(text: &str, definitions: &Definitions) -> Graph {
    expand(&instance(text, definitions), definitions, catalog()).unwrap_or_else(|problems| panic!("{}", shown(&problems)))
}

/// The problems of an instance.
fn problems(text: &str, definitions: &Definitions) -> Vec<Diagnostic> {
    expand(&instance(text, definitions), definitions, catalog()).expect_err("problems")
}

/// The recorded instance with another `vpc` block.
fn with_vpc(block: &str) -> String {
    let (before, after) = INSTANCE.split_once("  vpc:\n").unwrap();
    let (_, after) = after.split_once("  gitops:").unwrap();
    format!("{before}  vpc:\n{block}  gitops:{after}")
}

/// Addresses without the instance's own.
fn short(graph: &Graph, index: NodeIndex) -> &str {
    let root = graph.nodes[0].address.as_str();
    graph.node(index).address.as_str().strip_prefix(root).unwrap().trim_start_matches('/')
}

/// What a node waits for, by its address below the instance.
fn at<'a>(graph: &Graph, evaluation: &'a Evaluation, address: &str) -> &'a super::evaluation::NodeEvaluation {
    let whole = format!("{}/{address}", graph.nodes[0].address);
    evaluation.node(graph.find(&whole).unwrap_or_else(|| panic!("no node {whole}")))
}
