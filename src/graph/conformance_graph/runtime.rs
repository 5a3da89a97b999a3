//! Evaluation in its places, plans in words, status blocks and the roll-up of Ready.

use super::{Answer, Case, NO_FOR_EACH, PROSE, conform, kind_of, node};
use crate::graph::catalog::Production;
use crate::graph::definition::Definitions;
use crate::graph::documents::Documents;
use crate::graph::evaluation::{Evaluation, Included, Observation, Observations, evaluate, ready_roll_up};
use crate::graph::expansion::{Graph, NodeIndex, expand};
use crate::graph::expression::Segment;
use crate::graph::test_catalog::catalog;
use crate::graph::walk::{Look, look};
use serde_json::{Map, Value, json};

/// A definition, an instance of it and what is there, put together from the words of a case.
#[derive(Default)]
struct Setting {
    /// `SimpleSchema` of the inputs.
    inputs: Map<String, Value>,
    /// Fields of list items: conditions read them.
    item: Map<String, Value>,
    /// The instance's spec.
    spec: Value,
    status: Map<String, Value>,
    resources: Vec<Value>,
    observed: Map<String, Value>,
}

/// What became of it.
struct Outcome {
    graph: Graph,
    evaluation: Evaluation,
}

impl Outcome {
    fn index(&self, id: &str) -> NodeIndex {
        self.graph.find(&format!("Case/x/{id}")).unwrap()
    }
}

impl Setting {
    /// Inputs are declared as their values are, and as texts where the expression reads one that is not given.
    fn with_inputs(case: &Case, expressions: &str) -> Self {
        let spec = case.given.get("schema").map_or(json!({}), |schema| schema["spec"].clone());
        let mut inputs = Map::new();
        for read in expressions.split("schema.spec.").skip(1) {
            let name: String = read.chars().take_while(char::is_ascii_alphanumeric).collect();
            inputs.insert(name, json!("string"));
        }
        for (name, value) in spec.as_object().unwrap() {
            let declared = match value {
                Value::Bool(_) => "boolean",
                Value::Number(number) if number.is_f64() => "float",
                Value::Number(_) => "integer",
                Value::Array(_) => "[]Item",
                Value::Object(_) => "object",
                Value::String(_) | Value::Null => "string",
            };
            inputs.insert(name.clone(), json!(declared));
        }
        let fields = expressions.split("].").skip(1).map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric));
        let item = fields.map(|field| (field.collect(), json!("boolean"))).collect();
        Self { inputs, item, spec, ..Self::default() }
    }

    /// Adds a resource of a kind that takes anything.
    fn add(&mut self, id: &str, extra: &Value) {
        let template = json!({"apiVersion": "test/v1", "kind": "Thing", "metadata": {"name": id}});
        let mut resource = json!({"id": id, "template": template});
        for (key, value) in extra.as_object().unwrap() {
            resource[key] = value.clone();
        }
        self.resources.push(resource);
    }

    /// Expands and evaluates. `Err` with the kinds of the errors.
    fn run(&self) -> Result<Outcome, String> {
        let definition = json!({
            "apiVersion": "kro.run/v1alpha1", "kind": "ResourceGraphDefinition", "metadata": {"name": "case"},
            "spec": {
                "schema": {"apiVersion": "v1alpha1", "kind": "Case", "spec": self.inputs,
                    "types": {"Item": self.item}, "status": self.status},
                "resources": self.resources,
            },
        });
        let (definitions, problems) = Definitions::load(&[node(&definition)], catalog());
        kind_of(&problems).map_or(Ok(()), Err)?;
        let instance = json!({
            "apiVersion": "kro.run/v1alpha1", "kind": "Case", "metadata": {"name": "x"}, "spec": self.spec,
        });
        let (documents, problems) = Documents::load(&[node(&instance)], &definitions);
        kind_of(&problems).map_or(Ok(()), Err)?;
        let graph = expand(&documents.instances[0], &definitions, catalog())
            .map_err(|problems| kind_of(&problems).unwrap_or_default())?;
        let observed = self.observed.iter().filter(|(_, object)| !object.is_null());
        let observations: Observations = observed
            .filter_map(|(id, object)| {
                let index = graph.find(&format!("Case/x/{id}"))?;
                Some((index, Observation { object: object.clone(), reached: Production::Ready }))
            })
            .collect();
        let evaluation = evaluate(&graph, &observations, catalog());
        kind_of(&evaluation.errors).map_or(Ok(()), Err)?;
        Ok(Outcome { graph, evaluation })
    }
}

fn excluded(case: &Case) -> Vec<String> {
    let list = case.given.get("excluded").and_then(Value::as_array).cloned().unwrap_or_default();
    list.iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

/// kro waits for ever where an input is missing; fleetctl says so at once.
fn as_in_kro(kind: String) -> Answer {
    Answer::Error(if kind == "missing-input" { "pending".to_owned() } else { kind })
}

fn eval_at(case: &Case) -> Answer {
    let input: Value = serde_json::from_str(&case.input).unwrap();
    let (place, source) = (input["where"].as_str().unwrap(), input["expr"].as_str().unwrap());
    if !["template", "includeWhen", "readyWhen", "forEach", "status"].contains(&place) {
        return Answer::Apart(PROSE);
    }
    let mut setting = Setting::with_inputs(case, source);
    let braced = format!("${{{source}}}");
    for (id, object) in case.given.iter().filter(|(id, _)| !["schema", "excluded"].contains(&id.as_str())) {
        let extra =
            if place == "readyWhen" && source.contains(&format!("{id}.")) { json!({ "readyWhen": [braced] }) } else { json!({}) };
        setting.add(id, &extra);
        setting.observed.insert(id.clone(), object.clone());
    }
    for id in excluded(case) {
        setting.add(&id, &json!({"includeWhen": ["${false}"]}));
    }
    let probe = |value: Value| json!({"apiVersion": "test/v1", "kind": "Thing", "metadata": {"name": "probe"}, "spec": value});
    match place {
        "template" => setting.add("probe", &json!({"template": probe(json!({ "value": braced }))})),
        "includeWhen" => setting.add("probe", &json!({ "includeWhen": [braced] })),
        "forEach" => {
            let template = json!({"apiVersion": "test/v1", "kind": "Thing", "metadata": {"name": "${string(x)}"}});
            setting.add("probe", &json!({"forEach": [{"x": braced}], "template": template}));
        }
        "status" => drop(setting.status.insert("probe".to_owned(), json!(braced))),
        _ => {}
    }
    let outcome = match setting.run() {
        Ok(outcome) => outcome,
        Err(kind) if kind == "not-carried-out" => return Answer::Apart(NO_FOR_EACH),
        Err(kind) => return as_in_kro(kind),
    };
    match place {
        "template" => {
            let path = [Segment::Field("spec".to_owned()), Segment::Field("value".to_owned())];
            match look(&outcome.evaluation.node(outcome.index("probe")).desired, &path) {
                Look::Known(value) => Answer::Ok(value),
                _ => Answer::Error("pending".to_owned()),
            }
        }
        "includeWhen" => match outcome.evaluation.node(outcome.index("probe")).included {
            Included::Yes => Answer::Ok(json!("included")),
            Included::No(_) => Answer::Ok(json!("skipped")),
            Included::Unknown(_) => Answer::Error("pending".to_owned()),
        },
        "readyWhen" => {
            let id = case.given.keys().find(|id| *id != "schema").unwrap();
            let open = outcome.evaluation.node(outcome.index(id)).gate_open;
            Answer::Ok(json!(if open { "ready" } else { "waiting" }))
        }
        "status" => {
            let status = outcome.evaluation.nodes[0].status.clone().unwrap();
            Answer::Ok(status.get("probe").cloned().unwrap_or_else(|| json!("omitted")))
        }
        _ => Answer::Apart(NO_FOR_EACH),
    }
}

#[test]
fn conformance_eval_at() {
    conform("eval-at", eval_at);
}

/// `a(includeWhen ${…}) ; b uses ${…}`.
fn plan(case: &Case) -> Answer {
    let Some(list) = case.input.strip_prefix("resources: ") else { return Answer::Apart(PROSE) };
    if list.contains("externalRef") {
        return Answer::Apart("externalRef is not carried out yet");
    }
    let mut setting = Setting::with_inputs(case, list);
    if let Some((ids, _)) = list.split_once(" both render ") {
        let template = json!({"apiVersion": "ec2.services.k8s.aws/v1alpha1", "kind": "VPC",
            "metadata": {"namespace": "ns", "name": "shared"}, "spec": {"cidrBlocks": ["10.0.0.0/16"]}});
        ids.split(" and ").for_each(|id| setting.add(id, &json!({ "template": template })));
    } else {
        for part in list.split(" ; ") {
            let (head, uses) = part.split_once(" uses ").unwrap_or((part, ""));
            let (id, conditions) = head.split_once('(').unwrap_or((head, ""));
            let conditions = conditions.trim_end_matches(')');
            let field = |name: &str| -> Vec<&str> {
                conditions
                    .split_once(name)
                    .map(|(_, rest)| &rest[..rest.find('}').map_or(0, |end| end + 1)])
                    .into_iter()
                    .collect()
            };
            if !id.trim().chars().all(|c| c.is_ascii_alphanumeric()) {
                return Answer::Apart(PROSE);
            }
            let uses: Vec<&str> = uses.split(" and ").filter(|text| text.starts_with("${")).collect();
            let template = json!({"apiVersion": "test/v1", "kind": "Thing", "metadata": {"name": id.trim()}, "spec": uses});
            let extra = json!({"template": template, "includeWhen": field("includeWhen "), "readyWhen": field("readyWhen ")});
            setting.add(id.trim(), &extra);
        }
    }
    setting.observed = case.given.get("observed").and_then(Value::as_object).cloned().unwrap_or_default();
    match setting.run() {
        Ok(outcome) => Answer::Ok(described(&outcome, &setting)),
        Err(kind) if kind == "fatal" => Answer::Ok(json!({"apply": [], "state": "ERROR"})),
        Err(kind) => as_in_kro(kind),
    }
}

/// Node states and the rest of what kro's pass would say.
fn described(outcome: &Outcome, setting: &Setting) -> Value {
    let (mut answer, mut apply, mut pending) = (json!({}), Vec::new(), Vec::new());
    for (index, node) in outcome.graph.resources() {
        let evaluation = outcome.evaluation.node(index);
        let exists = setting.observed.get(&node.id).is_some_and(|object| !object.is_null());
        let is_included = evaluation.included == Included::Yes;
        answer[&node.id] = json!(match evaluation.included {
            Included::No(_) => "SKIPPED",
            Included::Yes if evaluation.gate_open => "SYNCED",
            Included::Yes if exists => "WAITING_FOR_READINESS",
            _ => "IN_PROGRESS",
        });
        if is_included && evaluation.desired.is_known() {
            apply.push(json!(node.id));
        } else if !matches!(evaluation.included, Included::No(_)) {
            pending.push(json!(node.id));
        }
    }
    answer["pruneAllowed"] = json!(pending.is_empty());
    answer["apply"] = json!(apply);
    answer["pending"] = json!(pending);
    answer["state"] = outcome.evaluation.nodes[0].status.as_ref().unwrap()["state"].clone();
    answer
}

#[test]
fn conformance_plan() {
    conform("plan", plan);
}

#[test]
fn conformance_status() {
    conform("status", |case| {
        let mut setting = Setting::with_inputs(case, &case.input);
        let observed = case.given.get("observed").and_then(Value::as_object).cloned().unwrap_or_default();
        observed.keys().for_each(|id| setting.add(id, &json!({})));
        for id in excluded(case) {
            setting.add(&id, &json!({"includeWhen": ["${false}"]}));
        }
        setting.observed = observed;
        setting.status = super::parse(&case.input).unwrap()[0].to_json().as_object().unwrap().clone();
        match setting.run() {
            Ok(outcome) => {
                let status = outcome.evaluation.nodes[0].status.clone().unwrap();
                let fields = case.expect["ok"].as_object().cloned().unwrap_or_default();
                let extra = setting.status.keys().find(|key| status.get(*key).is_some() && !fields.contains_key(*key));
                extra.map_or(Answer::Ok(status), |key| Answer::Error(format!("{key} has a value")))
            }
            Err(kind) => as_in_kro(kind),
        }
    });
}

#[test]
fn conformance_ready_rollup() {
    conform("ready-rollup", |case| {
        let parts: Vec<&str> = case.input.split_whitespace().filter_map(|part| Some(part.split_once('=')?.1)).collect();
        Answer::Ok(json!({"Ready": ready_roll_up(&parts)}))
    });
}
