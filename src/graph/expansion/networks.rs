//! Subnets that cannot be in their VPC: outside of its CIDR blocks, or on one another's addresses.

use super::problems::impossible;
use super::{Graph, NodeIndex};
use crate::graph::catalog::ImpossibleValue;
use crate::graph::diagnostic::Diagnostic;
use crate::graph::evaluation::{Evaluation, Included};
use crate::graph::path;
use ipnet::IpNet;

const CIDR: &str = "spec.cidrBlock";

/// A subnet of a VPC of the same graph.
struct Subnet {
    index: NodeIndex,
    vpc: NodeIndex,
    block: IpNet,
}

/// What is impossible, as far as the blocks are known.
pub(super) fn find(graph: &Graph, looks: &Evaluation) -> Vec<Diagnostic> {
    let subnets: Vec<Subnet> = graph.resources().filter_map(|(index, _)| subnet(graph, looks, index)).collect();
    let mut problems = Vec::new();
    for (at, subnet) in subnets.iter().enumerate() {
        let wrong = |message: String, expected: String| {
            let value = ImpossibleValue { path: CIDR.to_owned(), message, expected };
            impossible(graph, subnet.index, &value)
        };
        let block = subnet.block;
        if let Some(blocks) = blocks(looks, subnet.vpc).filter(|blocks| !blocks.iter().any(|whole| whole.contains(&block))) {
            let texts = blocks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let message = format!("`{block}` lies outside of the VPC, which has {texts}");
            problems.push(wrong(message, format!("a block inside of {texts}")));
        }
        let before = &subnets[..at];
        let same = |other: &&Subnet| other.vpc == subnet.vpc && overlap(&other.block, &block);
        if let Some(other) = before.iter().find(same) {
            let message = format!("`{block}` overlaps with {} of {}", other.block, graph.node(other.index).address);
            problems.push(wrong(message, "a block that no other subnet of the VPC has a part of".to_owned()));
        }
    }
    problems
}

fn subnet(graph: &Graph, looks: &Evaluation, index: NodeIndex) -> Option<Subnet> {
    let is_there = |index: NodeIndex| looks.node(index).included == Included::Yes;
    let edge = graph.edges_from(index).find(|edge| edge.field == "spec.vpcID" && graph.node(edge.to).kind == "VPC")?;
    if graph.node(index).kind != "Subnet" || !is_there(index) || !is_there(edge.to) {
        return None;
    }
    let block = looks.node(index).desired.at(&path::parse(CIDR))?.known()?.as_str()?.parse().ok()?;
    Some(Subnet { index, vpc: edge.to, block })
}

/// The blocks of a VPC, if all of them are known.
fn blocks(looks: &Evaluation, vpc: NodeIndex) -> Option<Vec<IpNet>> {
    let tree = looks.node(vpc).desired.at(&path::parse("spec.cidrBlocks"))?.known_part();
    let known: Vec<IpNet> = tree.as_array()?.iter().map(|block| block.as_str()?.parse().ok()).collect::<Option<_>>()?;
    let all = looks.node(vpc).desired.unknowns().iter().all(|(field, _)| !field.starts_with("spec.cidrBlocks"));
    (all && !known.is_empty()).then_some(known)
}

fn overlap(one: &IpNet, other: &IpNet) -> bool {
    one.contains(other) || other.contains(one)
}
