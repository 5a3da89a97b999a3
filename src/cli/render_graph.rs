//! The graph of instances: for programs and for people. [`super::render_drawing`] draws it.

use super::style::{Look, Style, clean, plural};
use crate::engine::waves::delete_waves;
use crate::engine::work::Work;
use crate::graph::evaluation::Included;
use crate::graph::expansion::{Edge, GATE, GraphNode, NodeIndex, NodeRole, REGISTRATION_LAST};
use indexmap::IndexMap;
use serde::Serialize;

/// The graphs of all instances put together.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphJson {
    pub(super) nodes: Vec<NodeJson>,
    pub(super) edges: Vec<EdgeJson>,
    /// Addresses in an order that respects all edges.
    pub(super) order: Vec<String>,
    /// Addresses in waves: a wave is deleted when the one before it is gone.
    pub(super) delete_waves: Vec<Vec<String>>,
    /// Address and kind of every instance, nested ones too, each after the one that it belongs to.
    #[serde(skip)]
    pub(super) instances: Vec<(String, String)>,
}

/// A resource.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeJson {
    pub(super) address: String,
    pub(super) kind: String,
    pub(super) api_version: String,
    /// Null where only the caller's identity would tell.
    pub(super) account: Option<String>,
    pub(super) region: Option<String>,
    /// Null where it is not known before something has been made.
    pub(super) included: Option<bool>,
    /// Why it is not included, or what that waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    pub(super) delete_wave: Option<usize>,
}

/// `from` needs something of `to`.
#[derive(Debug, Serialize)]
pub(super) struct EdgeJson {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) expression: String,
    pub(super) implied: bool,
    /// It follows from others, and is for people who want to see everything.
    #[serde(skip)]
    pub(super) follows: bool,
}

/// All that one resource needs of another, for people.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link<'a> {
    pub(super) to: &'a str,
    /// The expressions; what implies the link where there are none.
    pub(super) reasons: Vec<&'a str>,
    pub(super) implied: bool,
}

impl GraphJson {
    /// The graphs of these instances.
    pub fn of(works: &[Work]) -> Self {
        let mut all = Self::default();
        for work in works {
            all.add(work);
        }
        all
    }

    fn add(&mut self, work: &Work) {
        let graph = &work.graph;
        let address = |index: NodeIndex| graph.node(index).address.to_string();
        let waves = delete_waves(work);
        self.nodes.extend(graph.resources().map(|(index, _)| node(work, index, &waves)));
        let is_instance = |node: &&GraphNode| matches!(node.role, NodeRole::Instance { .. });
        let instances = graph.nodes.iter().filter(is_instance);
        self.instances.extend(instances.map(|node| (node.address.to_string(), node.kind.clone())));
        self.edges.extend(graph.edges.iter().map(|edge| EdgeJson {
            from: address(edge.from),
            to: address(edge.to),
            expression: edge.expression.clone(),
            implied: edge.implied,
            follows: follows(edge),
        }));
        self.order.extend(graph.order.iter().map(|index| address(*index)));
        self.delete_waves.resize(self.delete_waves.len().max(waves.len()), Vec::new());
        for (all, wave) in self.delete_waves.iter_mut().zip(&waves) {
            all.extend(wave.iter().map(|index| address(*index)));
        }
    }

    /// Whether a resource may come to be.
    pub(super) fn is_shown(&self, address: &str) -> bool {
        self.node(address).is_some_and(|node| node.included != Some(false))
    }

    fn node(&self, address: &str) -> Option<&NodeJson> {
        self.nodes.iter().find(|node| node.address == address)
    }
}

fn node(work: &Work, index: NodeIndex, waves: &[Vec<NodeIndex>]) -> NodeJson {
    let node = work.graph.node(index);
    let (included, reason) = match &work.blank.node(index).included {
        Included::Yes => (Some(true), None),
        Included::No(reason) => (Some(false), Some(reason.clone())),
        Included::Unknown(reason) => (None, Some(reason.clone())),
    };
    let identity = work.place(index).map(|place| &place.identity);
    let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    NodeJson {
        address: node.address.to_string(),
        kind: node.kind.clone(),
        api_version: node.api_version.clone(),
        account: identity.and_then(|identity| known(&identity.account)),
        region: identity.and_then(|identity| known(&identity.region)),
        included,
        reason,
        delete_wave: waves.iter().position(|wave| wave.contains(&index)),
    }
}

/// Whether an edge follows from others: what a gate waits for, and a registration's place behind everything else.
fn follows(edge: &Edge) -> bool {
    edge.reads.is_empty() && (edge.expression.ends_with(GATE) || edge.expression == REGISTRATION_LAST)
}

/// The graph as text: resources in order, with what each needs, one line each. `verbosity` 1 adds the edges that follow
/// from others.
pub fn render(graph: &GraphJson, style: Style, verbosity: u8) -> String {
    let needs: Vec<_> = graph.order.iter().map(|address| needs(graph, address, verbosity)).collect();
    let count = needs.iter().map(Vec::len).sum();
    let mut lines =
        vec![style.paint(Look::Bold, format!("{}, {}", plural(graph.nodes.len(), "resource"), plural(count, "edge")))];
    for (number, address) in graph.order.iter().enumerate() {
        let Some(node) = graph.node(address) else { continue };
        lines.push(format!(
            "{:>3}  {}  {}{}",
            number + 1,
            clean(address),
            clean(&node.kind),
            style.paint(Look::Yellow, remark(node))
        ));
        lines.extend(needs[number].iter().map(|line| style.paint(Look::Dim, format!("       needs {}", clean(line)))));
    }
    lines.push(style.paint(Look::Bold, "Deletion, wave by wave"));
    for (number, wave) in graph.delete_waves.iter().enumerate() {
        let wave: Vec<&str> = wave.iter().map(String::as_str).filter(|address| graph.is_shown(address)).collect();
        if !wave.is_empty() {
            // The number is that of `deleteWave`.
            lines.push(format!("{number:>3}  {}", clean(&wave.join("  "))));
        }
    }
    lines.join("\n")
}

/// What a resource needs of others that may come to be: one text for each of them.
fn needs(graph: &GraphJson, address: &str, verbosity: u8) -> Vec<String> {
    let text = |link: Link<'_>| {
        let implied = if link.implied { "  (implied)" } else { "" };
        format!("{}  {}{implied}", link.to, link.reasons.join(", "))
    };
    links(graph, address, verbosity).into_iter().map(text).collect()
}

/// What a resource needs of others that may come to be. `verbosity` 1 adds what follows from others.
pub(super) fn links<'a>(graph: &'a GraphJson, address: &str, verbosity: u8) -> Vec<Link<'a>> {
    if !graph.is_shown(address) {
        return Vec::new();
    }
    let is_wanted = |edge: &&EdgeJson| edge.from == address && graph.is_shown(&edge.to) && (verbosity > 0 || !edge.follows);
    let mut by_target: IndexMap<&str, Vec<&EdgeJson>> = IndexMap::new();
    for edge in graph.edges.iter().filter(is_wanted) {
        by_target.entry(edge.to.as_str()).or_default().push(edge);
    }
    by_target.into_iter().map(|(to, edges)| link(to, &edges)).collect()
}

/// The edges between two resources as one. Implied ones are said where there are no others.
fn link<'a>(to: &'a str, edges: &[&'a EdgeJson]) -> Link<'a> {
    let implied = edges.iter().all(|edge| edge.implied);
    let mut reasons: Vec<_> = edges.iter().filter(|edge| edge.implied == implied).map(|edge| edge.expression.trim()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    Link { to, reasons, implied }
}

fn remark(node: &NodeJson) -> String {
    let reason = node.reason.as_deref().unwrap_or_default();
    match node.included {
        Some(true) => String::new(),
        Some(false) => format!("  not included: {}", clean(reason)),
        None => format!("  perhaps: {}", clean(reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> GraphJson {
        let node = |address: &str, kind: &str, included: Option<bool>, reason: Option<&str>, wave| NodeJson {
            address: address.into(),
            kind: kind.into(),
            api_version: "ec2.services.k8s.aws/v1alpha1".into(),
            account: Some("222222222222".into()),
            region: Some("us-west-2".into()),
            included,
            reason: reason.map(Into::into),
            delete_wave: wave,
        };
        let edge = |from: &str, to: &str, expression: &str, implied| EdgeJson {
            from: from.into(),
            to: to.into(),
            expression: expression.into(),
            implied,
            follows: expression.ends_with(GATE),
        };
        GraphJson {
            nodes: vec![
                node("V/x/vpc", "VPC", Some(true), None, Some(1)),
                node("V/x/subnet", "Subnet", Some(true), None, Some(0)),
                node("V/x/peer", "VPC", Some(false), Some("${schema.spec.peer} is false"), None),
                node("V/x/nat", "NATGateway", None, Some("subnet.status.state"), Some(0)),
            ],
            edges: vec![
                edge("V/x/subnet", "V/x/vpc", "${vpc.status.vpcID}", false),
                edge("V/x/nat", "V/x/subnet", "${subnet.status.subnetID}", false),
                edge("V/x/nat", "V/x/subnet", "${subnet.status.zone}", false),
                edge("V/x/nat", "V/x/subnet", "spec.subnetID", true),
                edge("V/x/nat", "V/x/peer", "${peer.status.vpcID}", false),
                edge("V/x/nat", "V/x/vpc", "internet gateway", true),
                edge("V/x/subnet", "V/x/vpc", "net (readyWhen)", false),
                edge("V/x/nat", "V/x/vpc", "net (readyWhen)", false),
            ],
            order: ["V/x/vpc", "V/x/peer", "V/x/subnet", "V/x/nat"].map(Into::into).into(),
            delete_waves: vec![vec!["V/x/subnet".into(), "V/x/nat".into()], vec!["V/x/vpc".into(), "V/x/peer".into()]],
            instances: vec![("V/x".into(), "V".into())],
        }
    }

    #[test]
    fn people_see_the_order_and_what_each_resource_needs() {
        insta::assert_snapshot!(render(&graph(), Style::new(false), 0), @"
        4 resources, 3 edges
          1  V/x/vpc  VPC
          2  V/x/peer  VPC  not included: ${schema.spec.peer} is false
          3  V/x/subnet  Subnet
               needs V/x/vpc  ${vpc.status.vpcID}
          4  V/x/nat  NATGateway  perhaps: subnet.status.state
               needs V/x/subnet  ${subnet.status.subnetID}, ${subnet.status.zone}
               needs V/x/vpc  internet gateway  (implied)
        Deletion, wave by wave
          0  V/x/subnet  V/x/nat
          1  V/x/vpc
        ");
    }

    #[test]
    fn what_follows_is_for_those_who_ask() {
        let text = render(&graph(), Style::new(false), 1);
        assert!(text.contains("needs V/x/vpc  ${vpc.status.vpcID}, net (readyWhen)"), "{text}");
    }

    #[test]
    fn programs_get_every_field() {
        let mut graph = graph();
        graph.nodes.truncate(1);
        graph.edges.truncate(1);
        insta::assert_json_snapshot!(graph, @r#"
        {
          "nodes": [
            {
              "address": "V/x/vpc",
              "kind": "VPC",
              "apiVersion": "ec2.services.k8s.aws/v1alpha1",
              "account": "222222222222",
              "region": "us-west-2",
              "included": true,
              "deleteWave": 1
            }
          ],
          "edges": [
            {
              "from": "V/x/subnet",
              "to": "V/x/vpc",
              "expression": "${vpc.status.vpcID}",
              "implied": false
            }
          ],
          "order": [
            "V/x/vpc",
            "V/x/peer",
            "V/x/subnet",
            "V/x/nat"
          ],
          "deleteWaves": [
            [
              "V/x/subnet",
              "V/x/nat"
            ],
            [
              "V/x/vpc",
              "V/x/peer"
            ]
          ]
        }
        "#);
    }
}
