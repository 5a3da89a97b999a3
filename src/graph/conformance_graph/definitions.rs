//! Static checks, order, and what of forEach is decided by the checks.

use super::{Answer, Case, NO_FOR_EACH, PROSE, conform, kind_of, mapping, node, parse, upstream_file};
use crate::graph::definition::{Definition, Definitions, Features, Form};
use crate::graph::test_catalog::catalog;
use crate::graph::yaml::Node;
use serde_json::{Value, json};

const NO_FILE: &str = "FLEETCTL_UPSTREAM_DATA does not name a folder that holds the file";

fn load(documents: &[Node], features: Features, answer: impl Fn(&Definition) -> Answer) -> Answer {
    let (definitions, problems) = Definitions::load_with(documents, catalog(), features);
    match kind_of(&problems) {
        Some(kind) => Answer::Error(kind),
        None => answer(definitions.by_kind.values().last().expect("a definition")),
    }
}

fn order_of(definition: &Definition) -> Answer {
    Answer::Ok(json!({"topo": definition.topological_order(), "deleteWaves": definition.delete_waves()}))
}

fn order_of_file(name: &str) -> Answer {
    let Some((documents, others)) = upstream_file(name) else { return Answer::Apart(NO_FILE) };
    let kind = documents[0].get("spec").and_then(|spec| spec.get("schema")?.get("kind")?.as_str()).unwrap_or_default();
    let all: Vec<Node> = documents.iter().chain(&others).cloned().collect();
    let (definitions, problems) = Definitions::load(&all, catalog());
    match (kind_of(&problems), definitions.by_kind.get(kind)) {
        (None, Some(definition)) => order_of(definition),
        (kind, _) => Answer::Error(kind.unwrap_or_else(|| "lost".to_owned())),
    }
}

/// A definition from its parts, as the cases give them.
fn definition(parts: &Node) -> Node {
    let part = |name: &str| parts.get(name).cloned();
    let mut schema = vec![("apiVersion", node(&json!("v1alpha1")))];
    schema.push(("kind", part("kind").unwrap_or_else(|| node(&json!("Case")))));
    schema.extend(["spec", "types", "status", "scope", "group"].into_iter().filter_map(|name| Some((name, part(name)?))));
    let mut spec = vec![("schema", mapping(schema))];
    spec.extend(part("resources").map(|resources| ("resources", resources)));
    mapping(vec![
        ("apiVersion", node(&json!("kro.run/v1alpha1"))),
        ("kind", node(&json!("ResourceGraphDefinition"))),
        ("metadata", node(&json!({"name": "case"}))),
        ("spec", mapping(spec)),
    ])
}

fn features(case: &Case) -> Features {
    let gates = case.given.get("featureGates");
    Features { omit: gates.is_some_and(|gates| gates["CELOmitFunction"] == true) }
}

#[test]
fn conformance_rgd() {
    conform("rgd", |case| {
        if let Some(name) = case.input.strip_prefix("file:") {
            return order_of_file(name.trim());
        }
        match parse(&case.input) {
            Ok(parts) => load(&[definition(&parts[0])], features(case), order_of),
            Err(problems) => Answer::Error(kind_of(&problems).unwrap()),
        }
    });
}

/// `nodes=A,B edges=A->B (X->Y: Y depends on X)`: ids begin with a small letter here, as they have to.
fn order_of_graph(text: &str) -> Answer {
    let (nodes, edges) = text.split_once(" edges=").unwrap();
    let nodes: Vec<&str> = nodes.strip_prefix("nodes=").unwrap().split(',').collect();
    let edges = edges.split(" (").next().unwrap().split(',').filter_map(|edge| edge.split_once("->"));
    let edges: Vec<(&str, &str)> = edges.collect();
    let small = |name: &str| format!("n{name}");
    let resource = |name: &str| {
        let needs = edges.iter().filter(|(_, to)| *to == name).map(|(from, _)| small(from));
        let data: serde_json::Map<String, Value> =
            needs.map(|id| (id.clone(), json!(format!("${{{id}.metadata.name}}")))).collect();
        let template = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data});
        json!({"id": small(name), "template": template})
    };
    let resources: Vec<Value> = nodes.iter().map(|name| resource(name)).collect();
    load(&[definition(&node(&json!({ "resources": resources })))], Features::default(), |definition| {
        let large = |id: &str| id[1..].to_owned();
        let waves = definition.delete_waves();
        let waves = waves.iter().map(|wave| wave.iter().map(|id| large(id)).collect::<Vec<_>>()).collect::<Vec<_>>();
        let order: Vec<String> = definition.topological_order().into_iter().map(large).collect();
        Answer::Ok(json!({"topo": order, "deleteWaves": waves}))
    })
}

#[test]
fn conformance_order() {
    conform("order", |case| match case.input.strip_prefix("file:") {
        Some(name) => order_of_file(name.trim()),
        None => order_of_graph(&case.input),
    });
}

/// The axes of `[{a: ['x','y']}, {b: ${schema.spec.l}}]`; `None` if that is not what the text is.
fn axes(text: &str) -> Option<Vec<Value>> {
    let mut axes = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        let (name, value) = after.split_once(": ")?;
        let mut depth = 1;
        let end = value
            .char_indices()
            .find(|(_, c)| {
                depth += i32::from(*c == '{') - i32::from(*c == '}');
                depth == 0
            })
            .map_or(value.len(), |(at, _)| at);
        let list = &value[..end];
        let list = if list.starts_with("${") { list.to_owned() } else { format!("${{{list}}}") };
        axes.push(json!({ name: list }));
        rest = &value[end..];
    }
    (!axes.is_empty()).then_some(axes)
}

#[test]
fn conformance_foreach() {
    conform("foreach", |case| {
        let Some((before, after)) = case.input.split_once("forEach: [") else { return Answer::Apart(PROSE) };
        let list = after.rfind("}]").map_or("", |end| &after[..=end]);
        let Some(axes) = axes(list) else { return Answer::Apart(PROSE) };
        let named = after.split_once("name: ").map(|(_, name)| name.trim().to_owned());
        let all: Vec<&String> = axes.iter().flat_map(|axis| axis.as_object().unwrap().keys()).collect();
        let name = named.unwrap_or_else(|| format!("x-${{string({})}}", all[0]));
        let id = before.split_once("resources: ").or(before.split_once("id: ")).map_or("probe", |(_, rest)| rest);
        let id = id.split([' ', ';']).next().unwrap();
        let ready: Vec<&str> = after.split_once("readyWhen: ").map(|(_, condition)| condition.trim()).into_iter().collect();
        let template = json!({"apiVersion": "test/v1", "kind": "Thing", "metadata": {"name": name}});
        let parts = json!({
            "spec": {"l": "[]object", "name": "string"},
            "resources": [{"id": id, "forEach": axes, "readyWhen": ready, "template": template}],
        });
        load(&[definition(&node(&parts))], Features::default(), |definition| match definition.resources[0].form {
            Form::Collection(_) => Answer::Apart(NO_FOR_EACH),
            _ => panic!("a collection was lost"),
        })
    });
}
