//! A cloud for tests: objects that appear with ids of their own as soon as somebody says so.

use super::{at, catalog, short};
use crate::graph::catalog::{Production, Step};
use crate::graph::evaluation::{Evaluation, Observation, Observations, evaluate};
use crate::graph::expansion::{Graph, NodeIndex};
use serde_json::{Value, json};

pub(super) struct Cloud<'a> {
    pub(super) graph: &'a Graph,
    pub(super) observations: Observations,
}

impl<'a> Cloud<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        Self { graph, observations: Observations::new() }
    }

    pub(super) fn evaluate(&self) -> Evaluation {
        let evaluation = evaluate(self.graph, &self.observations, catalog());
        assert!(evaluation.errors.is_empty(), "{}", super::shown(&evaluation.errors));
        evaluation
    }

    /// What a step of a resource waits for.
    pub(super) fn waits_for(&self, address: &str, step: Step) -> Option<String> {
        self.evaluate().step_waits_for(self.graph, &self.observations, catalog(), self.index(address), step)
    }

    pub(super) fn index(&self, address: &str) -> NodeIndex {
        self.graph.find(&format!("{}/{address}", self.graph.nodes[0].address)).unwrap()
    }

    /// The resource has reached something.
    pub(super) fn reach(&mut self, address: &str, reached: Production) {
        let desired = at(self.graph, &self.evaluate(), address).desired.known_part();
        let index = self.index(address);
        let node = self.graph.node(index);
        let mut object = desired;
        object["status"] = status(&node.kind, &node.id, reached);
        self.observations.insert(index, Observation { object, reached });
    }

    /// Everything whose creation waits for nothing, again and again, reaches `reached`; the addresses in the order in
    /// which they could.
    pub(super) fn settle(&mut self, reached: Production) -> Vec<String> {
        let mut order = Vec::new();
        loop {
            let evaluation = self.evaluate();
            let free: Vec<NodeIndex> = self
                .graph
                .order
                .iter()
                .copied()
                .filter(|index| self.observations.get(index).is_none_or(|known| known.reached < reached))
                .filter(|index| {
                    let waits = |step| evaluation.step_waits_for(self.graph, &self.observations, catalog(), *index, step);
                    waits(Step::Create).is_none() && (reached == Production::Created || waits(Step::Configure).is_none())
                })
                .collect();
            if free.is_empty() {
                return order;
            }
            for index in free {
                let address = short(self.graph, index).to_owned();
                self.reach(&address, reached);
                order.push(address);
            }
        }
    }
}

/// A status as ACK would write it.
fn status(kind: &str, id: &str, reached: Production) -> Value {
    let synced = if reached == Production::Created { "False" } else { "True" };
    let arn = format!("arn:aws:x:us-west-2:222222222222:{}/{id}", kind.to_lowercase());
    let mut status = json!({
        "ackResourceMetadata": {"ownerAccountID": "222222222222", "region": "us-west-2", "arn": arn},
        "conditions": [{"type": "ACK.ResourceSynced", "status": synced}],
    });
    let field = match kind {
        "VPC" => "vpcID",
        "Subnet" => "subnetID",
        "InternetGateway" => "internetGatewayID",
        "NATGateway" => "natGatewayID",
        "ElasticIPAddress" => "allocationID",
        "RouteTable" => "routeTableID",
        _ => "id",
    };
    status[field] = json!(format!("{}-{id}", kind.to_lowercase()));
    if kind == "Cluster" {
        status["status"] = json!(if reached == Production::Ready { "ACTIVE" } else { "CREATING" });
    }
    if kind == "Cluster" && reached == Production::Ready {
        status["identity"] = json!({"oidc": {"issuer": "https://oidc.example.com/id/1"}});
        status["endpoint"] = json!("https://api.example.com");
    }
    status
}
