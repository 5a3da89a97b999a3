//! Values for the tests of this module.

use super::arguments::{Common, OutputFormat};
use super::context::{CommandLine, Context};
use super::environment::Environment;
use super::printer::{Captured, PrinterSettings};
use super::settings::Settings;
use super::signals::Signals;
use crate::engine::outcome::Circumstances;
use crate::engine::plan::{Action, Change, FieldDifference, Header, Plan, Summary, Target};
use crate::engine::report::{Done, End, RunReport};
use crate::graph::identity::{Address, Identity};
use crate::state::file::DefinitionsUsed;
use serde_json::{Value, json};

/// A change of an object of `EksCluster/demo`.
pub(crate) fn change(action: Action, path: &str, kind: &str) -> Change {
    let identity = Identity {
        api_version: "ec2.services.k8s.aws/v1alpha1".into(),
        kind: kind.into(),
        namespace: "demo".into(),
        name: path.replace('/', "-"),
        account: "222222222222".into(),
        region: "us-west-2".into(),
    };
    Change::new(action, &Address(format!("EksCluster/demo/{path}")), &identity)
}

/// A difference.
pub(crate) fn difference(path: &str, before: Value, after: Value) -> FieldDifference {
    FieldDifference { path: path.into(), before, after, unknown: None }
}

/// A plan for `EksCluster/demo`.
pub(crate) fn plan(changes: Vec<Change>) -> Plan {
    Plan {
        header: Header {
            instance: Address::root("EksCluster", "demo"),
            caller: "arn:aws:sts::111111111111:assumed-role/deployer/me".into(),
            targets: vec![Target {
                account: "222222222222".into(),
                region: "us-west-2".into(),
                role: Some("arn:aws:iam::222222222222:role/ack".into()),
                because: "IAMRoleSelector demo".into(),
            }],
            definitions_changed: None,
            definitions: DefinitionsUsed { source: "built-in".into(), hash: "0123456789abcdef0123456789abcdef".into() },
            lineage: "c1e1d2a0".into(),
            serial: 7,
        },
        summary: Summary::of(&changes),
        changes,
        not_carried_out: Vec::new(),
        open_calls: Vec::new(),
    }
}

/// A report about `EksCluster/demo`: two objects made, one updated.
pub(crate) fn report(end: End) -> RunReport {
    let address = |path: &str| Address(format!("EksCluster/demo/{path}"));
    let done =
        |path: &str, action| Done { address: address(path), kind: "VPC".into(), id: "vpc-1".into(), action, seconds: None };
    RunReport {
        instance: Address::root("EksCluster", "demo"),
        end,
        done: vec![done("vpc/vpc", Action::Create), done("vpc/a", Action::Create), done("vpc/b", Action::Update)],
        failed: Vec::new(),
        not_reached: Vec::new(),
        status: json!({"state": "ACTIVE", "vpc": {"id": "vpc-1"}, "conditions": [{"type": "Ready"}], "none": null}),
        seconds: 723.4,
        circumstances: Circumstances::default(),
    }
}

/// A context with default settings whose output is kept.
pub(crate) fn context(format: OutputFormat) -> (Context, Captured, Captured) {
    let (printer, out, error) = Captured::printer(PrinterSettings { format, ..PrinterSettings::PLAIN });
    let environment = Environment::default();
    let flags = Common { output: Some(format), ..Common::default() };
    let context = Context {
        settings: Settings::load(&flags, &environment).unwrap(),
        environment,
        printer,
        signals: Signals::none(),
        command_line: CommandLine::of(&[]),
    };
    (context, out, error)
}
