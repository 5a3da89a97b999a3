//! A plan as text.

use super::json::add;
use super::render_checks;
use super::render_plan_fields;
use super::style::{Look, Style, clean, plural};
use crate::engine::plan::{Action, Change, FieldDifference, Header, Plan, Summary, Target};
use crate::state::file::DefinitionsUsed;
use serde_json::Value;

/// Values that are longer than this are cut where only one is shown, and get lines of their own where two are.
const LONG: usize = 100;

/// A plan as text. `verbosity` 1 lists what is unchanged and shows long values whole.
pub fn render(plan: &Plan, style: Style, verbosity: u8) -> String {
    let mut lines = Vec::new();
    header(&plan.header, style, &mut lines);
    open_calls(&plan.open_calls, style, &mut lines);
    let mut was_long = true;
    let shown = plan.changes.iter().filter(|change| change.action != Action::None || change.waits || verbosity > 0);
    for change in render_plan_fields::refused_last(shown) {
        let shown = resource(change, style, verbosity);
        // One-liners stand close together.
        if was_long || shown.len() > 1 {
            lines.push(String::new());
        }
        was_long = shown.len() > 1;
        lines.extend(shown);
    }
    not_carried_out(plan, style, &mut lines);
    warnings(&plan.warnings, style, &mut lines);
    lines.extend(render_checks::lines(&plan.checks, style));
    lines.push(String::new());
    lines.push(style.paint(Look::Bold, summary(plan)));
    lines.join("\n") + "\n"
}

fn header(header: &Header, style: Style, lines: &mut Vec<String>) {
    lines.push(style.paint(Look::Bold, clean(header.instance.as_str())));
    lines.push(format!("  caller       {}", clean(&header.caller)));
    lines.extend(header.targets.iter().map(|place| format!("  target       {}", target(place))));
    // A state that was never applied knows of none.
    if !header.definitions.hash.is_empty() {
        lines.push(format!("  definitions  {}", definitions(&header.definitions)));
    }
    if let Some((recorded, now)) = &header.definitions_changed {
        let text = format!("the definitions have changed: {} → {}", definitions(recorded), definitions(now));
        lines.push(format!("  {}", style.paint(Look::Yellow, text)));
    }
}

/// `222222222222 us-west-2 as arn:… (IAMRoleSelector workload-cluster1)`.
fn target(target: &Target) -> String {
    let role = target.role.as_ref().map_or_else(|| "with the caller's own credentials".into(), |role| format!("as {role}"));
    clean(&format!("{} {} {role} ({})", target.account, target.region, target.because))
}

/// `built-in, 0123456789ab`.
fn definitions(used: &DefinitionsUsed) -> String {
    let hash = used.hash.get(..12).unwrap_or(&used.hash);
    clean(&format!("{}, sha256 {hash}", used.source))
}

fn open_calls(calls: &[String], style: Style, lines: &mut Vec<String>) {
    if calls.is_empty() {
        return;
    }
    let text = format!("{} of an earlier run may have been carried out, and is looked up first:", plural(calls.len(), "call"));
    lines.push(String::new());
    lines.push(format!("  {}", style.paint(Look::Yellow, text)));
    lines.extend(calls.iter().map(|call| format!("    {}", clean(call))));
}

fn resource(change: &Change, style: Style, verbosity: u8) -> Vec<String> {
    let (marker, word, look) = marker(change);
    let id = change.id.as_ref().map(|id| format!("  {}", clean(id))).unwrap_or_default();
    let by_name = if change.by_name { "  (has to be confirmed by name)" } else { "" };
    let marker = style.paint(look, format!("{marker:>3} {word}"));
    let mut lines = vec![format!("{marker}  {}  {}{id}{by_name}", clean(change.address.as_str()), clean(&change.kind))];
    if let Some(reason) = &change.reason {
        lines.extend(clean(reason).lines().map(|line| format!("      {}", style.paint(Look::Dim, line))));
    }
    let is_new = change.action == Action::Create;
    let fields = render_plan_fields::tags_by_key(&change.fields);
    for difference in fields.iter().filter(|difference| verbosity > 0 || !is_new || is_telling(&difference.path)) {
        lines.extend(field(difference, is_new, verbosity).into_iter().map(|line| format!("      {line}")));
    }
    lines
}

/// Fields of a new object that say something that the address and the header do not.
fn is_telling(path: &str) -> bool {
    let is_name = path == "metadata.name" || path == "metadata.namespace";
    !is_name && !path.starts_with("metadata.annotations[services.k8s.aws/")
}

fn marker(change: &Change) -> (&'static str, &'static str, Look) {
    match change.action {
        Action::Create => ("+", "create", Look::Green),
        Action::Adopt if change.recorded_as.is_some() => ("<=", "record anew", Look::Green),
        Action::Adopt => ("<=", "adopt", Look::Green),
        Action::Update => ("~", "update", Look::Yellow),
        Action::Replace => ("-/+", "replace", Look::Red),
        Action::Delete => ("-", "delete", Look::Red),
        Action::Refused => ("!", "refused", Look::Red),
        Action::None if change.unread => ("?", "not read", Look::Red),
        Action::None if change.waits => ("…", "wait", Look::Yellow),
        Action::None => ("=", "unchanged", Look::Dim),
    }
}

/// `spec.version: "1.33" → "1.34"`.
fn field(difference: &FieldDifference, is_new: bool, verbosity: u8) -> Vec<String> {
    let path = clean(&difference.path);
    let after = match &difference.unknown {
        Some(expression) if expression.is_empty() => "(known after apply)".into(),
        Some(expression) => format!("(known after apply: {})", clean(&braced(expression))),
        None => value(&difference.after),
    };
    if is_new && difference.before.is_null() {
        let whole = verbosity > 0 || difference.unknown.is_some();
        return vec![format!("{path}: {}", if whole { after } else { cut(&after) })];
    }
    let (before, after) = distinct(difference, after);
    if before.chars().count() <= LONG && after.chars().count() <= LONG {
        return vec![format!("{path}: {before} → {after}")];
    }
    vec![format!("{path}:"), format!("    {before}"), format!("  → {after}")]
}

/// Both values. Where only the writing of a document differs, both are shown as they are written.
fn distinct(difference: &FieldDifference, after: String) -> (String, String) {
    let before = value(&difference.before);
    if before == after { (difference.before.to_string(), difference.after.to_string()) } else { (before, after) }
}

/// An expression as it stands in a document.
pub(super) fn braced(expression: &str) -> String {
    if expression.contains("${") { expression.to_owned() } else { format!("${{{expression}}}") }
}

/// JSON; control characters are escaped by it. Texts that hold JSON, such as policies, are shown as what they hold.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::Null => "(nothing)".into(),
        Value::String(text) => document(text).as_ref().unwrap_or(value).to_string(),
        value => value.to_string(),
    }
}

/// The mapping or list that a text holds.
pub(super) fn document(text: &str) -> Option<Value> {
    let is_document = text.trim_start().starts_with(['{', '[']);
    serde_json::from_str(text).ok().filter(|_| is_document)
}

fn cut(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONG {
        return text.to_owned();
    }
    let start: String = text.chars().take(LONG).collect();
    format!("{start}… ({count} characters)")
}

fn not_carried_out(plan: &Plan, style: Style, lines: &mut Vec<String>) {
    if plan.not_carried_out.is_empty() {
        return;
    }
    lines.push(String::new());
    lines.push(style.paint(Look::Yellow, "Not carried out by fleetctl:"));
    for object in &plan.not_carried_out {
        lines.push(format!("  {}  {}: {}", clean(object.address.as_str()), clean(&object.kind), clean(&object.reason)));
    }
}

fn warnings(warnings: &[String], style: Style, lines: &mut Vec<String>) {
    if !warnings.is_empty() {
        lines.push(String::new());
    }
    lines.extend(warnings.iter().map(|warning| format!("{} {}", style.paint(Look::Yellow, "warning:"), clean(warning))));
}

/// `Plan: 22 to create, 1 unchanged.`, or `No changes.`
pub(super) fn summary(plan: &Plan) -> String {
    if !has_changes(plan) && plan.refused_checks().next().is_none() {
        return match (unread(plan), waiting(plan)) {
            (0, 0) => "No changes.".into(),
            (0, waiting) => format!("No changes; {} to wait for.", plural(waiting, "object")),
            (unread, 0) => format!("No changes in what could be read; {} not read.", plural(unread, "object")),
            (unread, waiting) => {
                format!("No changes in what could be read; {} not read, {waiting} to wait for.", plural(unread, "object"))
            }
        };
    }
    let refused = if plan.is_refused() { " Nothing at all is changed while something is refused." } else { "" };
    format!("Plan: {}{}.{refused}", counts(&[plan]), not_reached(plan))
}

fn waiting(plan: &Plan) -> usize {
    plan.changes.iter().filter(|change| change.action == Action::None && change.waits && !change.unread).count()
}

/// What is ours already, under another identity.
fn recorded_anew(plan: &Plan) -> usize {
    plan.changes.iter().filter(|change| change.action == Action::Adopt && change.recorded_as.is_some()).count()
}

/// What could not be read, and of which nothing else is said.
fn unread(plan: &Plan) -> usize {
    plan.changes.iter().filter(|change| change.action == Action::None && change.unread).count()
}

/// `22 to create, 1 unchanged`, of all these together.
pub(super) fn counts(plans: &[&Plan]) -> String {
    let summary = plans.iter().map(|plan| plan.summary).fold(Summary::default(), add);
    let total = |count: fn(&Plan) -> usize| plans.iter().map(|plan| count(plan)).sum::<usize>();
    let (waiting, unread, anew) = (total(waiting), total(unread), total(recorded_anew));
    let counts = [
        (summary.create, "to create"),
        (summary.adopt.saturating_sub(anew), "to adopt"),
        (anew, "to record anew"),
        (summary.update, "to update"),
        (summary.replace, "to replace"),
        (summary.delete, "to delete"),
        (summary.refused, "refused"),
        (total(|plan| plan.refused_checks().count()), "refused by checks"),
        (total(|plan| plan.open_calls.len()), "to look up"),
        (waiting, "to wait for"),
        (unread, "not read"),
        (summary.none.saturating_sub(waiting + unread), "unchanged"),
    ];
    let counted = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    counted.collect::<Vec<_>>().join(", ")
}

/// `; 1 of them will not be reached: no Argo CD server is configured`.
fn not_reached(plan: &Plan) -> String {
    let unreached: Vec<_> =
        plan.changes.iter().filter_map(|change| Some((change.unreached.as_deref()?, change.unread))).collect();
    let Some((first, _)) = unreached.first() else { return String::new() };
    // The way out stands beside the object.
    let why = first.split([':', '(']).next().unwrap_or(first).trim_end();
    let how = if unreached.iter().all(|(_, unread)| *unread) { "not read" } else { "will not be reached" };
    format!("; {} of them {how}: {}", unreached.len(), clean(why))
}

/// Whether there is more to do than to wait.
pub fn has_changes(plan: &Plan) -> bool {
    !plan.open_calls.is_empty() || plan.summary.none != plan.changes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testing::{change, difference, plan};
    use crate::engine::plan::NotCarriedOut;
    use crate::graph::identity::Address;
    use serde_json::json;

    fn text(plan: &Plan, verbosity: u8) -> String {
        render(plan, Style::new(false), verbosity)
    }

    #[test]
    fn what_was_not_read_is_no_unchanged_object_and_none_to_wait_for() {
        let mut unread = change(Action::None, "secret", "Secret");
        (unread.waits, unread.unread, unread.unreached) = (true, true, Some("Argo CD could not be read: ListClusters".into()));
        let alone = plan(vec![unread.clone(), change(Action::None, "vpc/vpc", "VPC")]);
        assert_eq!(summary(&alone), "No changes in what could be read; 1 object not read.");
        assert!(text(&alone, 0).contains("? not read  EksCluster/demo/secret"), "{}", text(&alone, 0));
        let create = plan(vec![unread.clone(), change(Action::Create, "vpc/vpc", "VPC")]);
        assert_eq!(summary(&create), "Plan: 1 to create, 1 not read; 1 of them not read: Argo CD could not be read.");
        unread.action = Action::Create;
        assert_eq!(summary(&plan(vec![unread])), "Plan: 1 to create; 1 of them not read: Argo CD could not be read.");
    }

    #[test]
    fn what_is_ours_already_is_not_taken_over() {
        let mut ours = change(Action::Adopt, "vpc/vpc", "VPC");
        ours.recorded_as = Some("VPC argocd/old".into());
        let plan = plan(vec![ours, change(Action::Adopt, "vpc/subnet", "Subnet")]);
        assert_eq!(counts(&[&plan]), "1 to adopt, 1 to record anew");
        assert!(text(&plan, 0).contains("<= record anew  EksCluster/demo/vpc/vpc"), "{}", text(&plan, 0));
    }

    #[test]
    fn every_action_has_its_marker() {
        let mut create = change(Action::Create, "vpc/vpc", "VPC");
        create.fields.push(difference("spec.cidrBlocks[0]", json!(null), json!("10.0.0.0/16")));
        create.fields.push(difference("metadata.name", json!(null), json!("demo-vpc")));
        create.fields.push(difference("spec.document", json!(null), json!("{\n  \"Version\": \"2012-10-17\"}")));
        create.fields.push(difference("spec.policy", json!(null), json!("x".repeat(200))));
        let mut subnet = change(Action::Create, "vpc/subnet", "Subnet");
        subnet.fields.push(FieldDifference {
            unknown: Some("vpc.status.vpcID".into()),
            ..difference("spec.vpcID", json!(null), json!(null))
        });
        let mut update = change(Action::Update, "eks/cluster", "Cluster");
        update.id = Some("workload-cluster1".into());
        update.fields.push(difference("spec.version", json!("1.33"), json!("1.34")));
        update.fields.push(difference("spec.tags[team]", json!(null), json!("platform")));
        update.fields.push(difference("spec.document", json!("a".repeat(120)), json!("b".repeat(120))));
        let mut replace = change(Action::Replace, "eks/clusterRole", "Role");
        replace.by_name = true;
        replace.reason = Some("the path of a role cannot be changed".into());
        let delete = change(Action::Delete, "vpc/natGateway2", "NATGateway");
        let adopt = change(Action::Adopt, "vpc/internetGateway", "InternetGateway");
        let mut refused = change(Action::Refused, "vpc/subnet1", "Subnet");
        refused.reason = Some("the CIDR of a subnet cannot be changed:\nwrite the old one back".into());
        let mut wait = change(Action::None, "vpc/natGateway1", "NATGateway");
        wait.waits = true;
        wait.reason = Some("it is pending".into());
        let none = change(Action::None, "vpc/elasticIP1", "ElasticIPAddress");
        let plan = plan(vec![create, subnet, update, replace, delete, adopt, refused, wait, none]);
        insta::assert_snapshot!(text(&plan, 0), @r#"
        EksCluster/demo
          caller       arn:aws:sts::111111111111:assumed-role/deployer/me
          target       222222222222 us-west-2 as arn:aws:iam::222222222222:role/ack (IAMRoleSelector demo)
          definitions  built-in, sha256 0123456789ab

          + create  EksCluster/demo/vpc/vpc  VPC
              spec.cidrBlocks[0]: "10.0.0.0/16"
              spec.document: {"Version":"2012-10-17"}
              spec.policy: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (202 characters)

          + create  EksCluster/demo/vpc/subnet  Subnet
              spec.vpcID: (known after apply: ${vpc.status.vpcID})

          ~ update  EksCluster/demo/eks/cluster  Cluster  workload-cluster1
              spec.version: "1.33" → "1.34"
              spec.tags[team]: (nothing) → "platform"
              spec.document:
                  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                → "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

        -/+ replace  EksCluster/demo/eks/clusterRole  Role  (has to be confirmed by name)
              the path of a role cannot be changed

          - delete  EksCluster/demo/vpc/natGateway2  NATGateway
         <= adopt  EksCluster/demo/vpc/internetGateway  InternetGateway

          … wait  EksCluster/demo/vpc/natGateway1  NATGateway
              it is pending

          ! refused  EksCluster/demo/vpc/subnet1  Subnet
              the CIDR of a subnet cannot be changed:
              write the old one back

        Plan: 2 to create, 1 to adopt, 1 to update, 1 to replace, 1 to delete, 1 refused, 1 to wait for, 1 unchanged. Nothing at all is changed while something is refused.
        "#);
    }

    #[test]
    fn the_header_names_everything_that_is_unusual() {
        let mut plan = plan(vec![change(Action::None, "vpc/vpc", "VPC")]);
        plan.header.targets.push(Target {
            account: "111111111111".into(),
            region: "us-west-2".into(),
            role: None,
            because: "the caller's own account".into(),
        });
        let old = DefinitionsUsed { source: "./graphs".into(), hash: "fedcba9876543210".into() };
        plan.header.definitions_changed = Some((old, plan.header.definitions.clone()));
        plan.open_calls = vec!["CreateVpc for EksCluster/demo/vpc/vpc".into()];
        plan.not_carried_out = vec![NotCarriedOut {
            address: Address("EksCluster/demo/eks/serviceAccount".into()),
            kind: "ServiceAccount".into(),
            reason: "it is an object of Kubernetes".into(),
        }];
        insta::assert_snapshot!(text(&plan, 1), @"
        EksCluster/demo
          caller       arn:aws:sts::111111111111:assumed-role/deployer/me
          target       222222222222 us-west-2 as arn:aws:iam::222222222222:role/ack (IAMRoleSelector demo)
          target       111111111111 us-west-2 with the caller's own credentials (the caller's own account)
          definitions  built-in, sha256 0123456789ab
          the definitions have changed: ./graphs, sha256 fedcba987654 → built-in, sha256 0123456789ab

          1 call of an earlier run may have been carried out, and is looked up first:
            CreateVpc for EksCluster/demo/vpc/vpc

          = unchanged  EksCluster/demo/vpc/vpc  VPC

        Not carried out by fleetctl:
          EksCluster/demo/eks/serviceAccount  ServiceAccount: it is an object of Kubernetes

        Plan: 1 to look up, 1 unchanged.
        ");
    }

    #[test]
    fn nothing_to_do_is_said_in_two_words() {
        let nothing = plan(vec![change(Action::None, "vpc/vpc", "VPC")]);
        assert!(text(&nothing, 0).ends_with("\n\nNo changes.\n"));
        let mut waiting = nothing.clone();
        waiting.changes[0].waits = true;
        assert!(text(&waiting, 0).ends_with("\n\nNo changes; 1 object to wait for.\n"));
        let mut open = nothing;
        open.open_calls.push("CreateVpc".into());
        assert!(text(&open, 0).ends_with("\n\nPlan: 1 to look up, 1 unchanged.\n"));
    }

    #[test]
    fn the_last_line_says_what_will_not_be_reached() {
        let mut secret = change(Action::Create, "eks/argocdSecret", "Secret");
        secret.reason = Some("will not be reached: no Argo CD server is configured: set ARGOCD_SERVER".into());
        secret.unreached = Some("no Argo CD server is configured: set ARGOCD_SERVER".into());
        let plan = plan(vec![change(Action::Create, "vpc/vpc", "VPC"), secret]);
        let last = "\n\nPlan: 2 to create; 1 of them will not be reached: no Argo CD server is configured.\n";
        assert!(text(&plan, 0).ends_with(last), "{}", text(&plan, 0));
    }

    #[test]
    fn colour_adds_nothing_but_colour() {
        let plan = plan(vec![change(Action::Create, "vpc/vpc", "VPC"), change(Action::Delete, "vpc/old", "VPC")]);
        let colored = render(&plan, Style::new(true), 0);
        let uncolored = regex::Regex::new("\u{1b}\\[[0-9]+m").unwrap().replace_all(&colored, "").into_owned();
        assert_eq!(uncolored, text(&plan, 0));
    }
}
