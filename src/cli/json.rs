//! The shapes of machine output (`-o json`). Fields may be added, never renamed.

use super::diagnostics::DiagnosticJson;
use super::error::CliError;
use crate::engine::finding::Finding;
use crate::engine::plan::{Action, Applications, Change, Header, NotCarriedOut, Plan, Summary};
use crate::engine::report::{EngineError, InstanceStatus, RunReport};
use serde::Serialize;

/// Version of the shapes.
pub const VERSION: u32 = 1;

/// Puts the version before an object.
#[derive(Debug, Serialize)]
pub struct Versioned<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

impl<T> Versioned<T> {
    /// The object with the version.
    pub fn new(content: T) -> Self {
        Self { version: VERSION, content }
    }
}

/// `validate`.
#[derive(Debug, Serialize)]
pub struct Validation {
    /// What is wrong.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// `plan`: the plans of all instances put together.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plans<'a> {
    /// Who, where, by which role; one an instance.
    pub instances: Vec<&'a Header>,
    /// One an object.
    pub changes: Vec<&'a Change>,
    /// What is known and not carried out.
    pub not_carried_out: Vec<&'a NotCarriedOut>,
    /// How many of each.
    pub summary: Summary,
    /// Calls of earlier runs that are looked up first.
    pub open_calls: Vec<&'a str>,
    /// What lives on clusters whose registration goes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<&'a Applications>,
    /// What may go wrong later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<&'a str>,
    /// What the checks have found.
    pub checks: Vec<&'a Finding>,
    /// Instances that could not be planned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorJson>,
}

impl<'a> Plans<'a> {
    /// Puts plans together.
    pub fn of(plans: &'a [&'a Plan], errors: &[CliError]) -> Self {
        Self {
            instances: plans.iter().map(|plan| &plan.header).collect(),
            changes: plans.iter().flat_map(|plan| &plan.changes).collect(),
            not_carried_out: plans.iter().flat_map(|plan| &plan.not_carried_out).collect(),
            summary: plans.iter().map(|plan| plan.summary).fold(Summary::default(), add),
            open_calls: plans.iter().flat_map(|plan| &plan.open_calls).map(String::as_str).collect(),
            applications: plans.iter().flat_map(|plan| &plan.applications).collect(),
            warnings: plans.iter().flat_map(|plan| &plan.warnings).map(String::as_str).collect(),
            checks: plans.iter().flat_map(|plan| &plan.checks).collect(),
            errors: errors.iter().map(ErrorJson::from).collect(),
        }
    }
}

/// Adds up.
pub fn add(left: Summary, right: Summary) -> Summary {
    Summary {
        create: left.create + right.create,
        adopt: left.adopt + right.adopt,
        update: left.update + right.update,
        replace: left.replace + right.replace,
        delete: left.delete + right.delete,
        none: left.none + right.none,
        refused: left.refused + right.refused,
    }
}

/// `status`.
#[derive(Debug, Serialize)]
pub struct Instances<'a> {
    /// One an instance.
    pub instances: Vec<&'a InstanceStatus>,
}

/// What ended a command.
#[derive(Debug, Serialize)]
pub struct Failed {
    /// What ended it.
    pub error: ErrorJson,
}

/// An error.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorJson {
    /// A stable word.
    pub code: &'static str,
    /// The message for people.
    pub message: String,
    /// What is wrong with the documents, where that is the error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<DiagnosticJson>,
    /// The changes that are refused, where that is the error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Change>,
    /// What the checks refuse, where that is the error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Finding>,
}

impl From<&CliError> for ErrorJson {
    fn from(error: &CliError) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            diagnostics: error.diagnostics().into_iter().map(DiagnosticJson::from).collect(),
            refused: refused(error),
            checks: refused_checks(error),
        }
    }
}

fn refused_checks(error: &CliError) -> Vec<Finding> {
    match error {
        CliError::Engine { error, .. } => match &**error {
            EngineError::Refused(plan) => plan.refused_checks().cloned().collect(),
            _ => Vec::new(),
        },
        CliError::Several(errors) => errors.iter().flat_map(refused_checks).collect(),
        _ => Vec::new(),
    }
}

fn refused(error: &CliError) -> Vec<Change> {
    match error {
        CliError::Engine { error, .. } => match &**error {
            EngineError::Refused(plan) => {
                plan.changes.iter().filter(|change| change.action == Action::Refused).cloned().collect()
            }
            _ => Vec::new(),
        },
        CliError::Several(errors) => errors.iter().flat_map(refused).collect(),
        _ => Vec::new(),
    }
}

/// The line of apply and destroy that shows what will be done.
#[derive(Debug, Serialize)]
pub struct PlanLine<'a> {
    event: &'static str,
    #[serde(flatten)]
    plans: Plans<'a>,
}

impl<'a> PlanLine<'a> {
    /// The line.
    pub fn of(plans: &'a [&'a Plan]) -> Self {
        Self { event: "plan", plans: Plans::of(plans, &[]) }
    }
}

/// The last line of apply and destroy.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryLine<'a> {
    event: &'static str,
    version: u32,
    command: &'a str,
    instances: &'a [RunReport],
    #[serde(skip_serializing_if = "Option::is_none")]
    carry_on: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorJson>,
    exit: u8,
}

impl<'a> SummaryLine<'a> {
    /// Of runs.
    pub fn of(command: &'a str, reports: &'a [RunReport], carry_on: &'a str, error: Option<&CliError>, exit: u8) -> Self {
        let carry_on = Some(carry_on).filter(|_| exit != 0);
        let error = error.map(ErrorJson::from);
        Self { event: "summary", version: VERSION, command, instances: reports, carry_on, error, exit }
    }

    /// Of a command that did not come to a run.
    pub fn failed(command: &'a str, error: &CliError) -> Self {
        let (error, exit) = (Some(ErrorJson::from(error)), error.exit_code());
        Self { event: "summary", version: VERSION, command, instances: &[], carry_on: None, error, exit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testing::{change, difference, plan};
    use crate::engine::plan::FieldDifference;
    use crate::engine::report::End;
    use crate::graph::identity::Address;
    use serde_json::json;

    #[test]
    fn a_plan_has_every_field() {
        let mut create = change(Action::Create, "vpc/subnet", "Subnet");
        create.fields.push(FieldDifference {
            unknown: Some("vpc.status.vpcID".into()),
            ..difference("spec.vpcID", json!(null), json!(null))
        });
        let plan = plan(vec![create]);
        insta::assert_json_snapshot!(Versioned::new(Plans::of(&[&plan], &[])), @r#"
        {
          "version": 1,
          "instances": [
            {
              "instance": "EksCluster/demo",
              "caller": "arn:aws:sts::111111111111:assumed-role/deployer/me",
              "targets": [
                {
                  "account": "222222222222",
                  "region": "us-west-2",
                  "role": "arn:aws:iam::222222222222:role/ack",
                  "because": "IAMRoleSelector demo"
                }
              ],
              "definitionsChanged": null,
              "definitions": {
                "source": "built-in",
                "hash": "0123456789abcdef0123456789abcdef"
              },
              "lineage": "c1e1d2a0",
              "serial": 7
            }
          ],
          "changes": [
            {
              "address": "EksCluster/demo/vpc/subnet",
              "kind": "Subnet",
              "account": "222222222222",
              "region": "us-west-2",
              "action": "create",
              "fields": [
                {
                  "path": "spec.vpcID",
                  "before": null,
                  "after": null,
                  "unknown": "vpc.status.vpcID"
                }
              ],
              "identity": {
                "apiVersion": "ec2.services.k8s.aws/v1alpha1",
                "kind": "Subnet",
                "namespace": "demo",
                "name": "vpc-subnet",
                "account": "222222222222",
                "region": "us-west-2"
              },
              "byName": false,
              "waits": false
            }
          ],
          "notCarriedOut": [],
          "summary": {
            "create": 1,
            "adopt": 0,
            "update": 0,
            "replace": 0,
            "delete": 0,
            "none": 0,
            "refused": 0
          },
          "openCalls": [],
          "checks": []
        }
        "#);
    }

    #[test]
    fn plans_are_put_together() {
        let first = plan(vec![change(Action::Create, "vpc/vpc", "VPC"), change(Action::None, "vpc/subnet", "Subnet")]);
        let second = plan(vec![change(Action::Create, "vpc/vpc", "VPC")]);
        let plans = [&first, &second];
        let both = Plans::of(&plans, &[CliError::Usage("no".into())]);
        assert_eq!((both.instances.len(), both.changes.len(), both.errors.len()), (2, 3, 1));
        assert_eq!((both.summary.create, both.summary.none), (2, 1));
    }

    #[test]
    fn an_error_is_an_object_too() {
        let error = CliError::of("EksCluster/demo", EngineError::Identity("no credentials".into()));
        insta::assert_json_snapshot!(Versioned::new(Failed { error: ErrorJson::from(&error) }), @r#"
        {
          "version": 1,
          "error": {
            "code": "identity",
            "message": "EksCluster/demo: no credentials"
          }
        }
        "#);
        insta::assert_json_snapshot!(SummaryLine::failed("apply", &error), @r#"
        {
          "event": "summary",
          "version": 1,
          "command": "apply",
          "instances": [],
          "error": {
            "code": "identity",
            "message": "EksCluster/demo: no credentials"
          },
          "exit": 6
        }
        "#);
    }

    #[test]
    fn the_last_line_of_a_run_holds_its_report() {
        let report = RunReport {
            instance: Address::root("EksCluster", "demo"),
            end: End::Incomplete,
            done: Vec::new(),
            failed: Vec::new(),
            not_reached: Vec::new(),
            status: json!({}),
            seconds: 1.5,
            circumstances: crate::engine::outcome::Circumstances::default(),
        };
        insta::assert_json_snapshot!(SummaryLine::of("apply", &[report], "fleetctl apply cluster.yaml", None, 3), @r#"
        {
          "event": "summary",
          "version": 1,
          "command": "apply",
          "instances": [
            {
              "instance": "EksCluster/demo",
              "end": "incomplete",
              "done": [],
              "failed": [],
              "notReached": [],
              "status": {},
              "seconds": 1.5,
              "startedAt": "1970-01-01T00:00:00Z",
              "endedAt": "1970-01-01T00:00:00Z",
              "caller": "",
              "places": [],
              "present": [],
              "outputs": [],
              "calls": 0,
              "unfinished": [],
              "toConfirm": []
            }
          ],
          "carryOn": "fleetctl apply cluster.yaml",
          "exit": 3
        }
        "#);
    }
}
