//! How a run ended, as text.

use super::style::{Look, Style, clean, duration};
use crate::engine::plan::Action;
use crate::engine::report::{End, RunReport};
use serde_json::Value;

/// Reports as text. `carry_on` is the command that carries on; not said when everything is done.
pub fn render(reports: &[RunReport], carry_on: &str, style: Style) -> String {
    let mut lines = Vec::new();
    for report in reports {
        instance(report, style, &mut lines);
    }
    if reports.iter().any(|report| report.end != End::Done) {
        lines.push(format!("Carry on with: {}", style.paint(Look::Cyan, clean(carry_on))));
    }
    lines.join("\n") + "\n"
}

fn instance(report: &RunReport, style: Style, lines: &mut Vec<String>) {
    let (word, look) = match report.end {
        End::Done => ("done in", Look::Green),
        End::Failed => ("failed after", Look::Red),
        End::Incomplete => ("incomplete after", Look::Yellow),
        End::Interrupted => ("interrupted after", Look::Yellow),
    };
    let name = clean(report.instance.as_str());
    lines.push(format!(
        "{}: {} {}: {}.",
        style.paint(Look::Bold, name),
        style.paint(look, word),
        duration(report.seconds),
        done(report)
    ));
    let failed: Vec<_> = report.failed.iter().map(|failure| (&failure.address, &failure.kind, &failure.reason)).collect();
    let not_reached: Vec<_> = report.not_reached.iter().map(|object| (&object.address, &object.kind, &object.reason)).collect();
    for (heading, look, objects) in [("failed", Look::Red, failed), ("not reached", Look::Yellow, not_reached)] {
        if !objects.is_empty() {
            lines.push(format!("  {}", style.paint(look, heading)));
        }
        for (address, kind, reason) in objects {
            lines.push(format!("    {}  {}", clean(address.as_str()), clean(kind)));
            lines.extend(clean(reason).lines().map(|line| format!("      {line}")));
        }
    }
    if report.end == End::Done {
        lines.extend(status(&report.status).into_iter().map(|line| format!("  {line}")));
    }
}

/// `22 created, 1 updated`.
fn done(report: &RunReport) -> String {
    let words = [
        (Action::Create, "created"),
        (Action::Adopt, "adopted"),
        (Action::Update, "updated"),
        (Action::Replace, "replaced"),
        (Action::Delete, "deleted"),
    ];
    let count = |action| report.done.iter().filter(|done| done.action == action).count();
    let counted = words.into_iter().map(|(action, word)| (count(action), word)).filter(|(count, _)| *count > 0);
    let counted: Vec<_> = counted.map(|(count, word)| format!("{count} {word}")).collect();
    if counted.is_empty() { "nothing was changed".into() } else { counted.join(", ") }
}

/// The status that the definition's author gives: `vpcID: vpc-0a…`. Conditions are for programs.
fn status(status: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, value) in status.as_object().into_iter().flatten() {
        if key != "conditions" {
            leaves(key, value, &mut lines);
        }
    }
    lines
}

fn leaves(path: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| leaves(&format!("{path}.{key}"), value, lines)),
        Value::Null => {}
        Value::String(text) => lines.push(clean(&format!("{path}: {text}")).replace('\n', " ")),
        value => lines.push(clean(&format!("{path}: {value}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testing::report;
    use crate::engine::report::{Failure, NotReached};
    use crate::graph::identity::Address;

    fn address(path: &str) -> Address {
        Address(format!("EksCluster/demo/{path}"))
    }

    fn text(report: RunReport) -> String {
        render(&[report], "fleetctl apply cluster.yaml", Style::new(false))
    }

    #[test]
    fn a_run_that_did_everything_says_the_status() {
        insta::assert_snapshot!(text(report(End::Done)), @"
        EksCluster/demo: done in 12m 3s: 2 created, 1 updated.
          state: ACTIVE
          vpc.id: vpc-1
        ");
    }

    #[test]
    fn a_run_that_failed_says_why_and_how_to_carry_on() {
        let mut failed = report(End::Failed);
        failed.failed.push(Failure {
            address: address("vpc/natGateway1"),
            kind: "NATGateway".into(),
            reason:
                "AddressLimitExceeded: the maximum number of addresses has been reached\nraise the quota `EC2-VPC Elastic IPs`"
                    .into(),
        });
        failed.not_reached.push(NotReached {
            address: address("eks/cluster"),
            kind: "Cluster".into(),
            reason: "EksCluster/demo/vpc/natGateway1 failed".into(),
        });
        insta::assert_snapshot!(text(failed), @"
        EksCluster/demo: failed after 12m 3s: 2 created, 1 updated.
          failed
            EksCluster/demo/vpc/natGateway1  NATGateway
              AddressLimitExceeded: the maximum number of addresses has been reached
              raise the quota `EC2-VPC Elastic IPs`
          not reached
            EksCluster/demo/eks/cluster  Cluster
              EksCluster/demo/vpc/natGateway1 failed
        Carry on with: fleetctl apply cluster.yaml
        ");
    }

    #[test]
    fn an_incomplete_run_names_what_is_missing() {
        let mut incomplete = report(End::Incomplete);
        incomplete.done.clear();
        incomplete.not_reached.push(NotReached {
            address: address("eks/argocdSecret"),
            kind: "Secret".into(),
            reason: "no Argo CD is configured".into(),
        });
        insta::assert_snapshot!(text(incomplete), @"
        EksCluster/demo: incomplete after 12m 3s: nothing was changed.
          not reached
            EksCluster/demo/eks/argocdSecret  Secret
              no Argo CD is configured
        Carry on with: fleetctl apply cluster.yaml
        ");
    }
}
