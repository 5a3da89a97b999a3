//! Drift as text.

use super::line_diff::{self, Line};
use super::style::{Look, Style, clean, plural};
use crate::engine::drift::report::{Class, DriftReport, FieldDrift, Finding, Pending, Unreadable};
use serde_json::Value;

/// Values that are longer than this are not shown whole unless asked for.
const LONG: usize = 100;
/// Lines of a document that differ and are shown.
const LINES: usize = 12;

/// A report as text. `verbosity` 1 shows long values and what is not applied yet whole.
pub(super) fn render(report: &DriftReport, style: Style, verbosity: u8) -> String {
    let mut lines = vec![headline(report, style)];
    lines.extend(report.notes.iter().map(|note| format!("  {}", style.paint(Look::Yellow, clean(note)))));
    if !report.recorded {
        let text = "nothing is recorded here: objects were found by their tags and names; last applied: unknown";
        lines.push(format!("  {}", style.paint(Look::Yellow, text)));
    }
    for finding in &report.findings {
        lines.push(String::new());
        lines.extend(self::finding(finding, report, style, verbosity));
    }
    unreadable(&report.unreadable, style, &mut lines);
    pending(&report.pending, style, verbosity, &mut lines);
    lines.join("\n") + "\n"
}

/// `EksCluster/x: no drift, 22 objects looked at in 1.2 s`.
fn headline(report: &DriftReport, style: Style) -> String {
    let summary = report.summary();
    let counts = [(summary.changed, "changed"), (summary.missing, "missing")];
    let counted: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let found = summary.changed + summary.missing;
    let (what, look) = match (found, summary.unreadable) {
        (0, 0) => ("no drift".to_owned(), Look::Green),
        (0, unread) => (format!("no drift in what could be read; {} not read", plural(unread, "object")), Look::Yellow),
        (found, 0) => (format!("{} ({})", plural(found, "finding"), counted.join(", ")), Look::Red),
        (found, unread) => {
            let counted = counted.join(", ");
            (format!("{} ({counted}); {} not read", plural(found, "finding"), plural(unread, "object")), Look::Red)
        }
    };
    let name = style.paint(Look::Bold, clean(report.instance.as_str()));
    let looked = format!("{} looked at in {:.1} s", plural(summary.objects, "object"), report.seconds);
    format!("{name}: {}, {looked}", style.paint(look, what))
}

fn finding(finding: &Finding, report: &DriftReport, style: Style, verbosity: u8) -> Vec<String> {
    let (marker, look) = match finding.class {
        Class::Changed => ("~ changed", Look::Yellow),
        Class::Missing => ("- missing", Look::Red),
        Class::Info => ("i info", Look::Dim),
    };
    let id = finding.id.as_ref().map(|id| format!("  {}", clean(id))).unwrap_or_default();
    let address = clean(finding.address.as_str());
    let mut lines = vec![format!("  {}  {address}  {}{id}", style.paint(look, marker), clean(&finding.kind))];
    if let Some(reason) = &finding.reason {
        lines.extend(clean(reason).lines().map(|line| format!("      {}", style.paint(Look::Dim, line))));
    }
    if finding.class == Class::Missing && finding.id.is_none() && finding.reason.is_none() {
        lines.push(format!("      {}", style.paint(Look::Dim, "nothing carries its tags or its name")));
    }
    for field in &finding.fields {
        lines.extend(
            self::field(field, finding.class, report.recorded, verbosity).into_iter().map(|line| format!("      {line}")),
        );
    }
    lines
}

/// The field with its voices: on one line where they are short, else one a line.
fn field(field: &FieldDrift, class: Class, recorded: bool, verbosity: u8) -> Vec<String> {
    let path = clean(&field.path);
    if let (Some(expected), Some(there)) = (document(&field.desired), document(&field.observed)) {
        let applied = match &field.applied {
            None => "unknown".to_owned(),
            Some(applied) if document(applied).as_ref() == Some(&expected) => "as desired".to_owned(),
            Some(applied) => value(applied, verbosity),
        };
        let differs = difference(&expected, &there, verbosity).into_iter().map(|line| format!("  {line}"));
        return [path, format!("  last applied  {}", clean(&applied))].into_iter().chain(differs).collect();
    }
    let mut voices = Vec::new();
    // What AWS does by itself is not what anybody wants.
    if class != Class::Info {
        voices.push(("desired", value(&field.desired, verbosity)));
    }
    match &field.applied {
        Some(applied) => voices.push(("last applied", value(applied, verbosity))),
        None if class == Class::Info && recorded => {}
        None => voices.push(("last applied", "unknown".to_owned())),
    }
    voices.push(("observed", value(&field.observed, verbosity)));
    let line: Vec<String> = voices.iter().map(|(name, text)| format!("{name} {}", clean(text))).collect();
    let line = format!("{path}: {}", line.join(", "));
    if line.chars().count() <= LONG {
        return vec![line];
    }
    let is_as_desired = class != Class::Info && field.applied.as_ref() == Some(&field.desired);
    for (_, text) in voices.iter_mut().filter(|(name, _)| is_as_desired && *name == "last applied") {
        "as desired".clone_into(text);
    }
    let voices = voices.iter().map(|(name, text)| format!("  {name:<14}{}", clean(text)));
    std::iter::once(path).chain(voices).collect()
}

/// The document that a text holds, written out.
fn document(value: &Value) -> Option<String> {
    let parsed = match value {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => serde_json::from_str::<Value>(text).ok()?,
        _ => return None,
    };
    serde_json::to_string_pretty(&parsed).ok()
}

/// The lines that only one of two documents has, `-` for what is wanted and `+` for what is there.
fn difference(wanted: &str, there: &str, verbosity: u8) -> Vec<String> {
    let mut lines: Vec<String> = vec!["desired (-), observed (+):".to_owned()];
    let only_one = |line: Line<'_>| match line {
        Line::Same(_) => None,
        Line::Removed(text) => Some(format!("- {}", clean(text))),
        Line::Added(text) => Some(format!("+ {}", clean(text))),
    };
    let all: Vec<String> = line_diff::lines(wanted, there).into_iter().filter_map(only_one).collect();
    let shown = if verbosity > 0 { all.len() } else { all.len().min(LINES) };
    let more = all.len() - shown;
    lines.extend(all.into_iter().take(shown));
    if more > 0 {
        lines.push(format!("… {} more; -v shows them", plural(more, "line")));
    }
    lines
}

/// JSON; control characters are escaped by it.
fn value(value: &Value, verbosity: u8) -> String {
    let text = if value.is_null() { "(nothing)".to_owned() } else { value.to_string() };
    let count = text.chars().count();
    if verbosity > 0 || count <= LONG {
        return text;
    }
    let start: String = text.chars().take(LONG).collect();
    format!("{start}… ({count} characters; -v shows them)")
}

fn unreadable(unreadable: &[Unreadable], style: Style, lines: &mut Vec<String>) {
    for one in unreadable {
        lines.push(String::new());
        let what = plural(one.addresses.len(), "object");
        let place = clean(&format!("{} {}", one.account, one.region));
        lines.push(format!("  {}  {what} in {place}", style.paint(Look::Red, "? not read")));
        lines.extend(clean(&one.reason).lines().map(|line| format!("      {line}")));
        if let [only] = one.addresses.as_slice() {
            lines.push(format!("      {}", clean(only.as_str())));
        }
    }
}

fn pending(pending: &[Pending], style: Style, verbosity: u8, lines: &mut Vec<String>) {
    if pending.is_empty() {
        return;
    }
    lines.push(String::new());
    let text = format!("  not applied yet: {}; see `fleetctl plan`", plural(pending.len(), "change"));
    lines.push(style.paint(Look::Dim, text));
    for one in pending.iter().filter(|_| verbosity > 0) {
        let action = serde_json::to_value(one.action).ok();
        let action = action.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        let paths: Vec<&str> = one.fields.iter().map(|field| field.path.as_str()).collect();
        let line = format!("    {action}  {}  {}  {}", one.address, one.kind, paths.join(", "));
        lines.push(style.paint(Look::Dim, clean(line.trim_end())));
    }
}

/// What to do about it.
pub(super) fn way_out(reports: &[&DriftReport], command: &str, style: Style) -> Option<String> {
    let recorded = reports.iter().any(|report| report.has_drift() && report.recorded);
    let unrecorded = reports.iter().any(|report| report.has_drift() && !report.recorded);
    let put_back = recorded.then(|| format!("Put it back: {}", style.paint(Look::Cyan, clean(command))));
    let elsewhere = unrecorded.then(|| "Put it back where the state is: what was applied last is not known here.".to_owned());
    put_back.or(elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testing::drift;
    use serde_json::json;

    #[test]
    fn every_class_has_its_marker_and_every_field_its_voices() {
        insta::assert_snapshot!(render(&drift(), Style::new(false), 0), @r#"
        EksCluster/demo: 2 findings (1 changed, 1 missing); 1 object not read, 22 objects looked at in 1.2 s

          ~ changed  EksCluster/demo/vpc/table  RouteTable  rtb-1
              spec.routes[0.0.0.0/0]
                desired       {"destinationCIDRBlock":"0.0.0.0/0","natGatewayID":"nat-1"}
                last applied  as desired
                observed      (nothing)
              spec.tags[team]: desired "platform", last applied unknown, observed "other"

          - missing  EksCluster/demo/access  AccessEntry  demo|arn:aws:iam::222222222222:role/Admin

          i info  EksCluster/demo/cluster  Cluster  demo
              status.platformVersion: last applied "eks.1", observed "eks.2"

          ? not read  1 object in 222222222222 us-west-2
              iam GetRole: AccessDenied: no
              EksCluster/demo/role

          not applied yet: 1 change; see `fleetctl plan`
        "#);
    }

    #[test]
    fn nothing_is_one_line() {
        let report = DriftReport { findings: Vec::new(), pending: Vec::new(), unreadable: Vec::new(), ..drift() };
        assert_eq!(render(&report, Style::new(false), 0), "EksCluster/demo: no drift, 22 objects looked at in 1.2 s\n");
        assert_eq!(way_out(&[&report], "fleetctl apply --drift-only a.yaml", Style::new(false)), None);
    }

    #[test]
    fn without_a_state_nobody_knows_what_was_applied() {
        let mut report = drift();
        report.recorded = false;
        report.findings[0].fields[0].applied = None;
        let text = render(&report, Style::new(false), 0);
        assert!(text.contains("nothing is recorded here") && text.contains("last applied unknown"), "{text}");
        let way_out = way_out(&[&report], "fleetctl apply --drift-only a.yaml", Style::new(false)).unwrap();
        assert!(!way_out.contains("--drift-only"), "{way_out}");
    }

    #[test]
    fn documents_are_shown_by_what_differs() {
        let policy = |effect: &str| json!(format!(r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"{effect}"}}]}}"#));
        let policies = FieldDrift {
            path: "spec.assumeRolePolicyDocument".into(),
            desired: policy("Allow"),
            applied: Some(policy("Allow")),
            observed: policy("Deny"),
        };
        let lines = field(&policies, Class::Changed, true, 0);
        insta::assert_snapshot!(lines.join("\n"), @r#"
        spec.assumeRolePolicyDocument
          last applied  as desired
          desired (-), observed (+):
          -       "Effect": "Allow"
          +       "Effect": "Deny"
        "#);
    }
}
