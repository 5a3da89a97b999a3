//! The graph of instances as a drawing: for Graphviz and for Mermaid. Arrows point from what needs to what is needed;
//! implied ones are dashed. Resources stand in the box of the instance that they belong to.

use super::render_graph::{GraphJson, NodeJson, links};
use super::style::clean;
use std::fmt::Write as _;

/// The graph for Graphviz. `verbosity` 1 adds what follows from other edges.
pub fn dot(graph: &GraphJson, verbosity: u8) -> String {
    draw(graph, verbosity, &Dot)
}

/// The graph for Mermaid.
pub fn mermaid(graph: &GraphJson, verbosity: u8) -> String {
    draw(graph, verbosity, &Mermaid)
}

/// How a language writes down what a drawing is made of. Names are made here, so that no text of a document is one.
trait Language {
    fn begin(&self) -> &'static str;
    fn end(&self) -> &'static str;
    fn open_box(&self, number: usize, label: &str) -> String;
    fn close_box(&self) -> &'static str;
    /// `lines` are one below the other; what is not certain to come is set apart.
    fn resource(&self, number: usize, lines: &[&str], is_certain: bool) -> String;
    fn arrow(&self, from: usize, to: usize, lines: &[&str], is_implied: bool) -> String;
}

fn draw(graph: &GraphJson, verbosity: u8, language: &dyn Language) -> String {
    let shown: Vec<&NodeJson> = graph.nodes.iter().filter(|node| node.included != Some(false)).collect();
    let mut text = language.begin().to_owned();
    let drawing = Drawing { graph, shown: &shown, language };
    for (number, (address, kind)) in graph.instances.iter().enumerate() {
        let is_outermost = !graph.instances.iter().any(|(other, _)| other == parent(address));
        if is_outermost {
            drawing.instance(number, address, kind, 1, &mut text);
        }
    }
    let number = |address: &str| shown.iter().position(|node| node.address == address);
    for (from, node) in shown.iter().enumerate() {
        for link in links(graph, &node.address, verbosity) {
            let Some(to) = number(link.to) else { continue };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {}", language.arrow(from, to, &link.reasons, link.implied));
        }
    }
    text + language.end()
}

struct Drawing<'a> {
    graph: &'a GraphJson,
    shown: &'a [&'a NodeJson],
    language: &'a dyn Language,
}

impl Drawing<'_> {
    /// An instance with all that belongs to it; nothing where that is nothing.
    fn instance(&self, number: usize, address: &str, kind: &str, depth: usize, text: &mut String) {
        let is_within = |node: &&NodeJson| node.address.strip_prefix(address).is_some_and(|rest| rest.starts_with('/'));
        if !self.shown.iter().any(is_within) {
            return;
        }
        let indent = "  ".repeat(depth);
        let label = if depth == 1 { address.to_owned() } else { format!("{}  {kind}", last(address)) };
        let _ = writeln!(text, "{indent}{}", self.language.open_box(number, &label));
        for (index, node) in self.shown.iter().enumerate().filter(|(_, node)| parent(&node.address) == address) {
            let drawn = self.language.resource(index, &[&node.kind, last(&node.address)], node.included == Some(true));
            let _ = writeln!(text, "{indent}  {drawn}");
        }
        let nested = self.graph.instances.iter().enumerate().filter(|(_, (nested, _))| parent(nested) == address);
        for (number, (nested, kind)) in nested {
            self.instance(number, nested, kind, depth + 1, text);
        }
        let _ = writeln!(text, "{indent}{}", self.language.close_box());
    }
}

/// The address of the instance that a resource or instance belongs to.
fn parent(address: &str) -> &str {
    address.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn last(address: &str) -> &str {
    address.rsplit_once('/').map_or(address, |(_, last)| last)
}

struct Dot;

impl Language for Dot {
    fn begin(&self) -> &'static str {
        "digraph fleetctl {\n  rankdir = BT;\n  node [shape = box];\n"
    }

    fn end(&self) -> &'static str {
        "}\n"
    }

    fn open_box(&self, number: usize, label: &str) -> String {
        format!("subgraph cluster_{number} {{ label = {};", dot_label(&[label]))
    }

    fn close_box(&self) -> &'static str {
        "}"
    }

    fn resource(&self, number: usize, lines: &[&str], is_certain: bool) -> String {
        let style = if is_certain { "" } else { ", style = dashed" };
        format!("n{number} [label = {}{style}];", dot_label(lines))
    }

    fn arrow(&self, from: usize, to: usize, lines: &[&str], is_implied: bool) -> String {
        let style = if is_implied { ", style = dashed" } else { "" };
        format!("n{from} -> n{to} [label = {}{style}];", dot_label(lines))
    }
}

/// A text in quotes. Graphviz knows two characters inside them: the quote and the backslash, with which its own
/// replacements (`\N`) begin; entities such as `&amp;` it replaces too.
fn dot_label(lines: &[&str]) -> String {
    let line = |line: &&str| clean(line).replace('\n', " ").replace('&', "&amp;").replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", lines.iter().map(line).collect::<Vec<_>>().join("\\n"))
}

struct Mermaid;

impl Language for Mermaid {
    fn begin(&self) -> &'static str {
        "flowchart BT\n"
    }

    fn end(&self) -> &'static str {
        "  classDef perhaps stroke-dasharray: 5 5;\n"
    }

    fn open_box(&self, number: usize, label: &str) -> String {
        format!("subgraph g{number} [{}]", mermaid_label(&[label]))
    }

    fn close_box(&self) -> &'static str {
        "end"
    }

    fn resource(&self, number: usize, lines: &[&str], is_certain: bool) -> String {
        let class = if is_certain { "" } else { ":::perhaps" };
        format!("n{number}[{}]{class}", mermaid_label(lines))
    }

    fn arrow(&self, from: usize, to: usize, lines: &[&str], is_implied: bool) -> String {
        let arrow = if is_implied { "-.->" } else { "-->" };
        format!("n{from} {arrow}|{}| n{to}", mermaid_label(lines))
    }
}

/// A text in quotes. Mermaid has no rule for what may stand in them (markup, comments, directives and entities are
/// looked for everywhere), so everything but letters, digits and a few harmless signs is written by its number.
fn mermaid_label(lines: &[&str]) -> String {
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        text += if number > 0 { "<br>" } else { "" };
        for letter in clean(line).replace('\n', " ").chars() {
            if letter.is_alphanumeric() || matches!(letter, ' ' | '.' | '/' | '-' | '_') {
                text.push(letter);
            } else {
                let _ = write!(text, "#{};", u32::from(letter));
            }
        }
    }
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render_graph::EdgeJson;
    use proptest::prelude::*;

    fn node(address: &str, kind: &str, included: Option<bool>) -> NodeJson {
        NodeJson {
            address: address.into(),
            kind: kind.into(),
            api_version: "ec2.services.k8s.aws/v1alpha1".into(),
            account: None,
            region: None,
            included,
            reason: None,
            delete_wave: None,
        }
    }

    fn edge(from: &str, to: &str, expression: &str, implied: bool) -> EdgeJson {
        let follows = expression.ends_with("(readyWhen)");
        EdgeJson { from: from.into(), to: to.into(), expression: expression.into(), implied, follows }
    }

    fn graph() -> GraphJson {
        GraphJson {
            nodes: vec![
                node("E/x/net/vpc", "VPC", Some(true)),
                node("E/x/net/peer", "VPC", Some(false)),
                node("E/x/old/vpc", "VPC", Some(false)),
                node("E/x/subnet", "Subnet", Some(true)),
                node("E/x/nat", "NATGateway", None),
            ],
            edges: vec![
                edge("E/x/subnet", "E/x/net/vpc", "has(vpc.status) ? vpc.status.vpcID : \"none\"", false),
                edge("E/x/nat", "E/x/subnet", "subnet.status.zone", false),
                edge("E/x/nat", "E/x/subnet", "subnet.status.subnetID", false),
                edge("E/x/nat", "E/x/subnet", "spec.subnetID", true),
                edge("E/x/nat", "E/x/net/peer", "peer.status.vpcID", false),
                edge("E/x/nat", "E/x/net/vpc", "internet gateway", true),
                edge("E/x/subnet", "E/x/net/vpc", "net (readyWhen)", false),
            ],
            instances: [("E/x", "E"), ("E/x/net", "Vpc"), ("E/x/old", "Vpc")].map(|(a, k)| (a.into(), k.into())).into(),
            ..GraphJson::default()
        }
    }

    #[test]
    fn graphviz_gets_boxes_and_what_each_arrow_reads() {
        insta::assert_snapshot!(dot(&graph(), 0), @r#"
        digraph fleetctl {
          rankdir = BT;
          node [shape = box];
          subgraph cluster_0 { label = "E/x";
            n1 [label = "Subnet\nsubnet"];
            n2 [label = "NATGateway\nnat", style = dashed];
            subgraph cluster_1 { label = "net  Vpc";
              n0 [label = "VPC\nvpc"];
            }
          }
          n1 -> n0 [label = "has(vpc.status) ? vpc.status.vpcID : \"none\""];
          n2 -> n1 [label = "subnet.status.subnetID\nsubnet.status.zone"];
          n2 -> n0 [label = "internet gateway", style = dashed];
        }
        "#);
    }

    #[test]
    fn mermaid_gets_the_same() {
        insta::assert_snapshot!(mermaid(&graph(), 0), @r#"
        flowchart BT
          subgraph g0 ["E/x"]
            n1["Subnet<br>subnet"]
            n2["NATGateway<br>nat"]:::perhaps
            subgraph g1 ["net  Vpc"]
              n0["VPC<br>vpc"]
            end
          end
          n1 -->|"has#40;vpc.status#41; #63; vpc.status.vpcID #58; #34;none#34;"| n0
          n2 -->|"subnet.status.subnetID<br>subnet.status.zone"| n1
          n2 -.->|"internet gateway"| n0
          classDef perhaps stroke-dasharray: 5 5;
        "#);
    }

    #[test]
    fn what_follows_is_for_those_who_ask() {
        assert!(!dot(&graph(), 0).contains("readyWhen"));
        assert!(dot(&graph(), 1).contains("net (readyWhen)"));
    }

    /// The text that a Graphviz label stands for.
    fn read_dot(label: &str) -> String {
        label[1..label.len() - 1].replace("\\\"", "\"").replace("\\\\", "\\").replace("&amp;", "&")
    }

    /// The text that a Mermaid label stands for.
    fn read_mermaid(label: &str) -> String {
        let number = regex::Regex::new("#([0-9]+);").unwrap();
        let letter = |found: &regex::Captures<'_>| char::from_u32(found[1].parse().unwrap()).unwrap().to_string();
        number.replace_all(&label[1..label.len() - 1], letter).into_owned()
    }

    proptest! {
        #[test]
        fn labels_hold_what_was_said_and_never_end_early(text in "[ -~äé⊥]{0,40}") {
            let of_dot = dot_label(&[&text]);
            let inside = &of_dot[1..of_dot.len() - 1];
            // A quote ends a label unless an odd number of backslashes stands before it.
            let backslashes = |at: usize| inside[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
            prop_assert!(inside.match_indices('"').all(|(at, _)| backslashes(at) % 2 == 1));
            prop_assert_eq!(backslashes(inside.len()) % 2, 0);
            let of_mermaid = mermaid_label(&[&text]);
            let is_harmless = |letter: char| letter.is_alphanumeric() || " ./-_#;".contains(letter);
            prop_assert!(of_mermaid[1..of_mermaid.len() - 1].chars().all(is_harmless));
            prop_assert_eq!(read_mermaid(&of_mermaid), text);
        }

        #[test]
        fn graphviz_reads_back_what_was_said(text in "[a-z\"& ]{0,20}") {
            prop_assert_eq!(read_dot(&dot_label(&[&text])), text);
        }
    }
}
