//! The shape of drift (`-o json`).

use super::error::CliError;
use super::json::ErrorJson;
use crate::engine::drift::report::{DriftReport, DriftSummary, Finding, Pending, Unreadable};
use serde::Serialize;

/// `drift`: the reports of all instances put together.
#[derive(Debug, Serialize)]
pub(super) struct Drifts<'a> {
    instances: Vec<InstanceDrift<'a>>,
    findings: Vec<&'a Finding>,
    unreadable: Vec<&'a Unreadable>,
    pending: Vec<&'a Pending>,
    summary: DriftSummary,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ErrorJson>,
}

/// One instance of a drift.
#[derive(Debug, Serialize)]
struct InstanceDrift<'a> {
    instance: &'a str,
    namespace: &'a str,
    /// Whether there was a state to tell what was applied last.
    recorded: bool,
    notes: &'a [String],
    summary: DriftSummary,
    seconds: f64,
}

impl<'a> Drifts<'a> {
    /// Puts reports together.
    pub(super) fn of(reports: &[&'a DriftReport], errors: &[CliError]) -> Self {
        Self {
            instances: reports.iter().map(|report| InstanceDrift::of(report)).collect(),
            findings: reports.iter().flat_map(|report| &report.findings).collect(),
            unreadable: reports.iter().flat_map(|report| &report.unreadable).collect(),
            pending: reports.iter().flat_map(|report| &report.pending).collect(),
            summary: reports.iter().map(|report| report.summary()).fold(DriftSummary::default(), add),
            errors: errors.iter().map(ErrorJson::from).collect(),
        }
    }
}

impl<'a> InstanceDrift<'a> {
    fn of(report: &'a DriftReport) -> Self {
        Self {
            instance: report.instance.as_str(),
            namespace: &report.namespace,
            recorded: report.recorded,
            notes: &report.notes,
            summary: report.summary(),
            seconds: report.seconds,
        }
    }
}

fn add(left: DriftSummary, right: DriftSummary) -> DriftSummary {
    DriftSummary {
        changed: left.changed + right.changed,
        missing: left.missing + right.missing,
        info: left.info + right.info,
        pending: left.pending + right.pending,
        unreadable: left.unreadable + right.unreadable,
        objects: left.objects + right.objects,
    }
}

/// The line of `apply --drift-only` that shows what has drifted.
#[derive(Debug, Serialize)]
pub(super) struct DriftLine<'a> {
    event: &'static str,
    #[serde(flatten)]
    drifts: Drifts<'a>,
}

impl<'a> DriftLine<'a> {
    /// The line.
    pub(super) fn of(reports: &[&'a DriftReport]) -> Self {
        Self { event: "drift", drifts: Drifts::of(reports, &[]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::json::Versioned;
    use crate::cli::testing::drift;
    use crate::engine::report::EngineError;

    #[test]
    fn a_drift_has_every_field_and_what_is_not_known_is_absent() {
        let mut report = drift();
        report.findings.truncate(1);
        insta::assert_json_snapshot!(Versioned::new(Drifts::of(&[&report], &[])), @r#"
        {
          "version": 1,
          "instances": [
            {
              "instance": "EksCluster/demo",
              "namespace": "argocd",
              "recorded": true,
              "notes": [],
              "summary": {
                "changed": 1,
                "missing": 0,
                "info": 0,
                "pending": 1,
                "unreadable": 1,
                "objects": 22
              },
              "seconds": 1.23
            }
          ],
          "findings": [
            {
              "address": "EksCluster/demo/vpc/table",
              "kind": "RouteTable",
              "account": "222222222222",
              "region": "us-west-2",
              "id": "rtb-1",
              "class": "changed",
              "fields": [
                {
                  "path": "spec.routes[0.0.0.0/0]",
                  "desired": {
                    "destinationCIDRBlock": "0.0.0.0/0",
                    "natGatewayID": "nat-1"
                  },
                  "applied": {
                    "destinationCIDRBlock": "0.0.0.0/0",
                    "natGatewayID": "nat-1"
                  },
                  "observed": null
                },
                {
                  "path": "spec.tags[team]",
                  "desired": "platform",
                  "observed": "other"
                }
              ]
            }
          ],
          "unreadable": [
            {
              "account": "222222222222",
              "region": "us-west-2",
              "reason": "iam GetRole: AccessDenied: no",
              "addresses": [
                "EksCluster/demo/role"
              ]
            }
          ],
          "pending": [
            {
              "address": "EksCluster/demo/new",
              "kind": "Role",
              "action": "create",
              "fields": []
            }
          ],
          "summary": {
            "changed": 1,
            "missing": 0,
            "info": 0,
            "pending": 1,
            "unreadable": 1,
            "objects": 22
          }
        }
        "#);
    }

    #[test]
    fn reports_are_put_together_and_errors_do_not_hide_them() {
        let (one, two) = (drift(), drift());
        let error = CliError::of("EksCluster/other", EngineError::Identity("no".into()));
        let both = Drifts::of(&[&one, &two], &[error]);
        assert_eq!((both.instances.len(), both.findings.len(), both.errors.len()), (2, 6, 1));
        assert_eq!((both.summary.changed, both.summary.objects), (2 * one.summary().changed, 44));
    }
}
