//! Values for the tests of this module.

use super::arguments::{Common, OutputFormat};
use super::context::{CommandLine, Context};
use super::environment::Environment;
use super::printer::{Captured, PrinterSettings};
use super::settings::Settings;
use super::signals::Signals;
use crate::engine::drift::report::{Class, DriftReport, FieldDrift, Finding, Pending, Unreadable};
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
        applications: Vec::new(),
        warnings: Vec::new(),
        checks: Vec::new(),
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

/// A drift of `EksCluster/demo`, one finding of each class.
pub(crate) fn drift() -> DriftReport {
    let finding = |path: &str, kind: &str, class, id: Option<&str>, fields| Finding {
        address: Address(format!("EksCluster/demo/{path}")),
        kind: kind.into(),
        account: "222222222222".into(),
        region: "us-west-2".into(),
        id: id.map(str::to_owned),
        class,
        reason: None,
        fields,
    };
    let field = |path: &str, desired, applied, observed| FieldDrift { path: path.into(), desired, applied, observed };
    let route = json!({"destinationCIDRBlock": "0.0.0.0/0", "natGatewayID": "nat-1"});
    let routes = field("spec.routes[0.0.0.0/0]", route.clone(), Some(route), Value::Null);
    let team = field("spec.tags[team]", json!("platform"), None, json!("other"));
    let version = field("status.platformVersion", Value::Null, Some(json!("eks.1")), json!("eks.2"));
    DriftReport {
        instance: Address::root("EksCluster", "demo"),
        namespace: "argocd".into(),
        recorded: true,
        findings: vec![
            finding("vpc/table", "RouteTable", Class::Changed, Some("rtb-1"), vec![routes, team]),
            finding("access", "AccessEntry", Class::Missing, Some("demo|arn:aws:iam::222222222222:role/Admin"), Vec::new()),
            finding("cluster", "Cluster", Class::Info, Some("demo"), vec![version]),
        ],
        pending: vec![Pending {
            address: Address("EksCluster/demo/new".into()),
            kind: "Role".into(),
            action: Action::Create,
            fields: Vec::new(),
        }],
        unreadable: vec![Unreadable {
            account: "222222222222".into(),
            region: "us-west-2".into(),
            reason: "iam GetRole: AccessDenied: no".into(),
            addresses: vec![Address("EksCluster/demo/role".into())],
        }],
        notes: Vec::new(),
        objects: 22,
        seconds: 1.23,
    }
}
