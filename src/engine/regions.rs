//! Regions that are none, before anybody is asked.

use super::work::Work;
use crate::aws::arn::is_region;
use crate::aws::identity::REGION;
use crate::graph::catalog::ImpossibleValue;
use crate::graph::diagnostic::Diagnostic;
use crate::graph::evaluation::Included;
use serde_json::Value;

/// What is wrong with the regions that resources name, once for each place where one is written.
pub(super) fn problems(work: &Work) -> Vec<Diagnostic> {
    let mut problems: Vec<Diagnostic> = Vec::new();
    for (index, node) in work.graph.resources().filter(|(index, _)| work.blank.node(*index).included == Included::Yes) {
        let object = work.blank.node(index).desired.known_part();
        let region = object.pointer("/metadata/annotations").and_then(|annotations| annotations.get(REGION));
        let Some(region) = region.and_then(Value::as_str).filter(|region| !region.is_empty() && !is_region(region)) else {
            continue;
        };
        let value = ImpossibleValue {
            path: format!("metadata.annotations[\"{REGION}\"]"),
            message: format!("`{region}` is no region"),
            expected: "a region like us-west-2".to_owned(),
        };
        let problem = node.template.is_some().then(|| work.graph.impossible(index, &value));
        if let Some(problem) = problem.filter(|problem| !problems.iter().any(|other| other.location == problem.location)) {
            problems.push(problem);
        }
    }
    problems
}
