//! `fleetctl status`.

use crate::cli::arguments::Status;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::fit;
use crate::cli::json::{Instances, Versioned};
use crate::cli::launch::offline_engine;
use crate::cli::style::{Look, Style, clean, plural};
use crate::cli::table::table;
use crate::cli::targets::{is_key_of, unknown};
use crate::engine::report::{End, InstanceStatus, ResourceStatus};
use crate::state::error::StateError;
use crate::state::file::Phase;
use crate::state::lock::ago;
use chrono::Utc;
use std::collections::BTreeMap;

/// Prints what is recorded. A state that cannot be read does not hide the others.
pub(super) async fn run(context: &Context, arguments: &Status) -> Result<u8, CliError> {
    let (all, unreadable) = offline_engine(context).status().await?;
    let store = context.settings.state.value.to_string();
    for name in &arguments.instances {
        if !all.iter().any(|instance| is_named(instance, name)) {
            return Err(not_found(name, &all, unreadable, &store));
        }
    }
    let is_asked = |instance: &&InstanceStatus| {
        let by_name = arguments.instances.is_empty() || arguments.instances.iter().any(|name| is_named(instance, name));
        by_name && arguments.namespace.as_ref().is_none_or(|namespace| *namespace == instance.namespace)
    };
    let instances: Vec<_> = all.iter().filter(is_asked).collect();
    for error in &unreadable {
        context.printer.failure(&format!("not read: {error}"));
    }
    if context.printer.is_json() {
        context.printer.json(&Versioned::new(Instances { instances }));
    } else if instances.is_empty() && unreadable.is_empty() {
        context.printer.result(&nothing(&all, arguments.namespace.as_deref(), &store));
    } else if !instances.is_empty() {
        let printer = &context.printer;
        printer.result(&render(&instances, printer.style(), printer.settings().columns));
    }
    Ok(if unreadable.is_empty() { 0 } else { End::Incomplete.exit_code() })
}

/// Why nothing is shown of what was asked for: its state cannot be read, or there is none of that name.
fn not_found(name: &str, all: &[InstanceStatus], unreadable: Vec<StateError>, store: &str) -> CliError {
    if let Some(error) = unreadable.into_iter().find(|error| error.key().is_some_and(|key| is_key_of(key, name))) {
        return error.into();
    }
    let names: Vec<_> = all.iter().map(|instance| (instance.kind.as_str(), instance.name.as_str())).collect();
    CliError::Usage(unknown(name, &names, store))
}

/// What is said where there is nothing to show.
fn nothing(all: &[InstanceStatus], namespace: Option<&str>, store: &str) -> String {
    let Some(namespace) = namespace.filter(|_| !all.is_empty()) else { return format!("Nothing is recorded in {store}.") };
    let mut others: Vec<&str> = all.iter().map(|instance| instance.namespace.as_str()).collect();
    others.sort_unstable();
    others.dedup();
    let are = if others.len() == 1 { "There are instances in namespace" } else { "There are instances in the namespaces" };
    clean(&format!("Nothing is recorded in namespace {namespace} in {store}. {are} {}.", others.join(", ")))
}

fn is_named(instance: &InstanceStatus, name: &str) -> bool {
    name.split_once('/').is_some_and(|(kind, name)| instance.kind.eq_ignore_ascii_case(kind) && instance.name == name)
}

/// Instances with their resources. `columns`: how wide the terminal is; what says least is left out where it is too narrow.
fn render(instances: &[&InstanceStatus], style: Style, columns: Option<usize>) -> String {
    let mut parts = Vec::new();
    for instance in instances {
        let name = format!("{}/{} in namespace {}", instance.kind, instance.name, instance.namespace);
        let state = state(&instance.state, style);
        let mut lines = vec![format!("{}: {state}{}", style.paint(Look::Bold, clean(&name)), phases(instance))];
        lines.extend(run_of(instance).map(|text| wrapped(&format!("  {}", style.paint(Look::Yellow, clean(&text))), columns)));
        if !instance.resources.is_empty() {
            let rows = instance.resources.iter().map(|resource| {
                let phase = phase(resource);
                let since = resource.since.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
                let address = below(instance, resource.address.as_str());
                [address, resource.kind.clone(), resource.id.clone(), phase, since].map(|cell| clean(&cell))
            });
            let text = fitting(rows.collect(), style, columns.map(|columns| columns.saturating_sub(2)));
            lines.extend(text.lines().map(|line| format!("  {line}")));
        }
        parts.push(lines.join("\n"));
    }
    let legend = legend(instances);
    if !legend.is_empty() {
        let lines = legend.iter().map(|line| style.paint(Look::Dim, wrapped(line, columns)));
        parts.push(lines.collect::<Vec<_>>().join("\n"));
    }
    parts.join("\n\n")
}

fn wrapped(text: &str, columns: Option<usize>) -> String {
    columns.map_or_else(|| text.to_owned(), |columns| fit::wrap(text, columns))
}

/// Who is at it; or, where something is left to be done, that nobody is.
fn run_of(instance: &InstanceStatus) -> Option<String> {
    let Some(run) = &instance.run else {
        let next = match instance.state.as_str() {
            "IN_PROGRESS" => "apply again to go on",
            "ERROR" => "the next apply makes anew what failed",
            "DELETING" => "the same command again goes on",
            _ => return None,
        };
        return Some(format!("no run is going on; {next}"));
    };
    let command = run.holder.command.split_whitespace().find(|word| matches!(*word, "apply" | "destroy"));
    let done = match command {
        Some("apply") => "being applied by",
        Some(_) => "being destroyed by",
        None => "in use by",
    };
    let Some(heard) = run.last_heard else { return Some(format!("{done} {run}")) };
    let InstanceStatus { kind, name, namespace, .. } = instance;
    let heard = ago(heard, Utc::now());
    let way_out = format!("if that run is gone, `fleetctl state unlock {kind}/{name} -n {namespace}` with this --state");
    Some(format!("{done} {run}; last heard of {heard}. A lock in S3 stays until it is released: {way_out}"))
}

/// What the phases mean that are not `ready`, as far as they are shown.
fn legend(instances: &[&InstanceStatus]) -> Vec<String> {
    let words = [
        (Phase::Created, "it is there, and its settings are still to be made"),
        (Phase::Configured, "its settings are made, and it waits for AWS to say that it can be used"),
        (Phase::Failed, "AWS says that it failed"),
        (Phase::Deleting, "AWS has begun to remove it"),
    ];
    let is_shown = |phase| instances.iter().flat_map(|instance| &instance.resources).any(|resource| resource.phase == phase);
    let shown = words.into_iter().filter(|(phase, _)| is_shown(*phase));
    shown.map(|(phase, text)| format!("{}  {text}", fit::pad(&word(phase), 10))).collect()
}

/// The widest table that fits: without the time, then without the id, then without the kind too.
fn fitting(rows: Vec<[String; 5]>, style: Style, columns: Option<usize>) -> String {
    let text = table(["ADDRESS", "KIND", "ID", "PHASE", "SINCE"], rows.clone(), style);
    let fits = |text: &str| columns.is_none_or(|columns| text.lines().all(|line| fit::width(line) <= columns));
    if fits(&text) {
        return text;
    }
    let without_time = |[address, kind, id, phase, _]: [String; 5]| [address, kind, id, phase];
    let text = table(["ADDRESS", "KIND", "ID", "PHASE"], rows.iter().cloned().map(without_time), style);
    if fits(&text) {
        return text;
    }
    let without_id = |[address, kind, _, phase, _]: [String; 5]| [address, kind, phase];
    let text = table(["ADDRESS", "KIND", "PHASE"], rows.iter().cloned().map(without_id), style);
    if fits(&text) {
        return text;
    }
    table(["ADDRESS", "PHASE"], rows.into_iter().map(|[address, _, _, phase, _]| [address, phase]), style)
}

/// An address without that of its instance, which stands above.
fn below(instance: &InstanceStatus, address: &str) -> String {
    let above = format!("{}/{}/", instance.kind, instance.name);
    address.strip_prefix(&above).unwrap_or(address).to_owned()
}

fn phase(resource: &ResourceStatus) -> String {
    word(resource.phase)
}

fn word(phase: Phase) -> String {
    let phase = serde_json::to_value(phase).ok();
    phase.as_ref().and_then(|phase| phase.as_str()).unwrap_or_default().to_owned()
}

/// `, 22 objects: 20 ready, 2 created`.
fn phases(instance: &InstanceStatus) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    instance.resources.iter().for_each(|resource| *counts.entry(phase(resource)).or_default() += 1);
    if counts.is_empty() {
        return String::new();
    }
    if let (1, Some(phase)) = (counts.len(), counts.keys().next()) {
        return format!(", {}, all {phase}", plural(instance.resources.len(), "object"));
    }
    let counted: Vec<_> = counts.into_iter().rev().map(|(phase, count)| format!("{count} {phase}")).collect();
    format!(", {}: {}", plural(instance.resources.len(), "object"), counted.join(", "))
}

fn state(state: &str, style: Style) -> String {
    let look = match state {
        "ACTIVE" => Look::Green,
        "ERROR" => Look::Red,
        "DELETED" => Look::Dim,
        _ => Look::Yellow,
    };
    style.paint(look, clean(state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testing::change;
    use crate::engine::plan::Action;
    use crate::engine::report::ResourceStatus;
    use crate::state::session::{Holder, Holding};
    use chrono::DateTime;
    use serde_json::json;

    fn instance() -> InstanceStatus {
        let resource = |path: &str, kind: &str, id: &str, phase| {
            let change = change(Action::None, path, kind);
            let since = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
            ResourceStatus { address: change.address, kind: kind.into(), id: id.into(), phase, since, identity: change.identity }
        };
        InstanceStatus {
            kind: "EksCluster".into(),
            namespace: "argocd".into(),
            name: "demo".into(),
            state: "IN_PROGRESS".into(),
            status: json!({"vpcID": "vpc-0123456789abcdef0"}),
            run: None,
            resources: vec![
                resource("vpc/vpc", "VPC", "vpc-0123456789abcdef0", Phase::Ready),
                resource("vpc/natGateway1", "NATGateway", "nat-0123456789abcdef0", Phase::Created),
            ],
        }
    }

    #[test]
    fn an_instance_is_a_heading_and_a_table() {
        let mut gone = instance();
        gone.state = "DELETED".into();
        gone.resources.clear();
        insta::assert_snapshot!(render(&[&instance(), &gone], Style::new(false), None), @"
        EksCluster/demo in namespace argocd: IN_PROGRESS, 2 objects: 1 ready, 1 created
          no run is going on; apply again to go on
          ADDRESS          KIND        ID                     PHASE    SINCE
          vpc/vpc          VPC         vpc-0123456789abcdef0  ready    2027-01-15T08:00:00Z
          vpc/natGateway1  NATGateway  nat-0123456789abcdef0  created  2027-01-15T08:00:00Z

        EksCluster/demo in namespace argocd: DELETED

        created     it is there, and its settings are still to be made
        ");
    }

    #[test]
    fn whether_anybody_is_at_it_is_said() {
        let headed = |state: &str, command: Option<&str>| {
            let mut instance = instance();
            instance.state = state.into();
            instance.run = command.map(|command| Holding {
                holder: Holder { pid: 7, host: "here".into(), user: "me".into(), command: command.into() },
                since: DateTime::from_timestamp(1_800_000_000, 0).unwrap(),
                last_heard: None,
            });
            render(&[&instance], Style::new(false), None).lines().take(2).last().unwrap().trim().to_owned()
        };
        let lines = [
            headed("ACTIVE", Some("fleetctl destroy EksCluster/demo --drain")),
            headed("IN_PROGRESS", Some("fleetctl apply a.yaml")),
            headed("IN_PROGRESS", None),
            headed("ERROR", None),
            headed("DELETING", None),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        being destroyed by process 7 of me on here since 2027-01-15T08:00:00Z: fleetctl destroy EksCluster/demo --drain
        being applied by process 7 of me on here since 2027-01-15T08:00:00Z: fleetctl apply a.yaml
        no run is going on; apply again to go on
        no run is going on; the next apply makes anew what failed
        no run is going on; the same command again goes on
        ");
        assert!(headed("ACTIVE", None).starts_with("ADDRESS"));
    }

    #[test]
    fn a_lock_that_outlives_its_run_comes_with_the_way_out() {
        let mut instance = instance();
        let command = "fleetctl apply a.yaml".to_owned();
        let holder = Holder { pid: 7, host: "here".into(), user: "me".into(), command };
        let last_heard = Some(Utc::now() - chrono::Duration::minutes(40));
        instance.run = Some(Holding { last_heard, ..Holding::from_now(&holder) });
        let text = run_of(&instance).unwrap();
        assert!(text.starts_with("being applied by process 7 of me on here since "), "{text}");
        assert!(text.contains("last heard of 40 minutes ago") && !text.contains("apply again"), "{text}");
        assert!(text.contains("`fleetctl state unlock EksCluster/demo -n argocd`"), "{text}");
    }

    #[test]
    fn on_a_narrow_terminal_what_says_least_is_left_out() {
        let headings = |columns| {
            let text = render(&[&instance()], Style::new(false), Some(columns));
            text.lines().find(|line| line.contains("ADDRESS")).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let narrower = [100, 70, 50, 30].map(headings);
        assert_eq!(narrower, ["ADDRESS KIND ID PHASE SINCE", "ADDRESS KIND ID PHASE", "ADDRESS KIND PHASE", "ADDRESS PHASE"]);
    }

    #[test]
    fn what_is_not_shown_is_explained() {
        let all = [instance()];
        let damaged = || StateError::Damaged { key: "argocd/EksCluster.other.json".into(), reason: "no JSON".into() };
        let lines = [
            nothing(&[], Some("other"), "./state"),
            nothing(&all, Some("other"), "./state"),
            not_found("demo", &all, Vec::new(), "./state").to_string(),
            not_found("EksCluster/dmeo", &all, Vec::new(), "./state").to_string(),
            not_found("EksCluster/other", &all, vec![damaged()], "./state").to_string(),
            not_found("whatever", &all, Vec::new(), "./state").to_string(),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        Nothing is recorded in ./state.
        Nothing is recorded in namespace other in ./state. There are instances in namespace argocd.
        `demo` names no instance: use KIND/NAME; did you mean `EksCluster/demo`?
        nothing is recorded of EksCluster/dmeo in ./state; did you mean `EksCluster/demo`?
        argocd/EksCluster.other.json is damaged: no JSON
        `whatever` names no instance: use KIND/NAME
        ");
    }

    #[test]
    fn programs_get_every_field() {
        let instance = instance();
        insta::assert_json_snapshot!(Versioned::new(Instances { instances: vec![&instance] }), @r#"
        {
          "version": 1,
          "instances": [
            {
              "kind": "EksCluster",
              "namespace": "argocd",
              "name": "demo",
              "state": "IN_PROGRESS",
              "status": {
                "vpcID": "vpc-0123456789abcdef0"
              },
              "run": null,
              "resources": [
                {
                  "address": "EksCluster/demo/vpc/vpc",
                  "kind": "VPC",
                  "id": "vpc-0123456789abcdef0",
                  "phase": "ready",
                  "since": "2027-01-15T08:00:00Z"
                },
                {
                  "address": "EksCluster/demo/vpc/natGateway1",
                  "kind": "NATGateway",
                  "id": "nat-0123456789abcdef0",
                  "phase": "created",
                  "since": "2027-01-15T08:00:00Z"
                }
              ]
            }
          ]
        }
        "#);
    }
}
