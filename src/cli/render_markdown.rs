//! Plans as Markdown, for a comment on a pull request: short enough for GitHub, and such that nothing that a document or
//! AWS says can be markup.

mod escape;

use super::line_diff::{Line, lines};
use super::render_plan::{braced, counts, document, has_changes, value};
use super::style::plural;
use crate::engine::finding::{Finding, Severity};
use crate::engine::plan::{Action, Change, FieldDifference, Plan, Target};
use escape::{code, fenced, one_line, prose};
use serde_json::Value;

/// GitHub takes 65,536 characters. Counted are bytes, of which there are never fewer.
const LIMIT: usize = 65_536;
/// What is kept for headings and for saying how much was left out.
const RESERVE: usize = 4_096;
/// What the part of an instance takes beside its lists, at most.
const FRAME: usize = 1_024;
/// A value that is longer than this is cut, in bytes.
const LONG: usize = 4_096;

/// Plans as Markdown. `errors` are the instances that could not be planned. What does not fit is counted.
pub fn render(plans: &[Plan], errors: &[String]) -> String {
    let mut room = LIMIT - RESERVE;
    // What is refused must not fall behind the end.
    let mut ordered: Vec<&Plan> = plans.iter().collect();
    ordered.sort_by_key(|plan| !plan.is_refused());
    let failed = listed(errors.iter().map(|error| format!("- {}\n", prose(error))), "instance", &mut room);
    let mut tops = Vec::new();
    for plan in &ordered {
        // What is not in a list is short.
        let Some(mut of_lists) = room.checked_sub(FRAME) else { break };
        let top = top(plan, &mut of_lists);
        let Some(left) = room.checked_sub(top.len()) else { break };
        room = left;
        tops.push(top);
    }
    // Every table comes before any detail, when it comes to room.
    let details: Vec<Option<String>> = ordered.iter().zip(&tops).map(|(plan, _)| details(plan, &mut room)).collect();
    let mut parts = vec![format!("## {}\n\n", headline(plans))];
    if !failed.is_empty() {
        parts.push(format!("**Not planned**\n\n{failed}\n"));
    }
    let (shown, without_fields) = (tops.len(), details.iter().filter(|details| details.is_none()).count());
    parts.extend(tops.into_iter().zip(details).flat_map(|(top, details)| [top, details.unwrap_or_default()]));
    parts.push(left_out(ordered.len() - shown, "instance"));
    if without_fields > 0 {
        parts.push(format!("\n_There is no room here for the fields of {}._\n", plural(without_fields, "instance")));
    }
    parts.concat()
}

/// `3 changes more, for which there is no room here.`
fn left_out(count: usize, noun: &str) -> String {
    if count == 0 { String::new() } else { format!("\n_{} more, for which there is no room here._\n", plural(count, noun)) }
}

/// `fleetctl plan: 22 to create`.
fn headline(plans: &[Plan]) -> String {
    let says_something = |plan: &Plan| has_changes(plan) || plan.is_refused() || plan.changes.iter().any(is_waiting);
    let counted = if plans.iter().any(says_something) { counts(&plans.iter().collect::<Vec<_>>()) } else { String::new() };
    format!("fleetctl plan: {}", if counted.is_empty() { "no changes" } else { &counted })
}

fn is_waiting(change: &Change) -> bool {
    change.action == Action::None && (change.waits || change.unread)
}

/// Everything about an instance but the details.
fn top(plan: &Plan, room: &mut usize) -> String {
    let header = &plan.header;
    let mut parts = vec![format!("### {}\n\n{}\n\n", code(header.instance.as_str()), prose(&super::render_plan::summary(plan)))];
    parts.push(format!("- caller {}\n", code(&header.caller)));
    parts.push(listed(header.targets.iter().map(target), "target", room));
    if let Some((recorded, now)) = &header.definitions_changed {
        let (recorded, now) = (prose(&recorded.source), prose(&now.source));
        parts.push(format!("- the definitions have changed: {recorded} → {now}\n"));
    }
    parts.push("\n".to_owned());
    parts.push(checks(&plan.checks, room));
    parts.push(warnings(&plan.warnings, room));
    parts.push(open_calls(&plan.open_calls, room));
    parts.push(table(&plan.changes, room));
    parts.push(by_name(&plan.changes, room));
    parts.push(not_carried_out(plan, room));
    parts.concat()
}

fn open_calls(calls: &[String], room: &mut usize) -> String {
    if calls.is_empty() {
        return String::new();
    }
    let list = listed(calls.iter().map(|call| format!("- {}\n", prose(call))), "call", room);
    format!("Calls of an earlier run that may have been carried out, and are looked up first:\n\n{list}\n")
}

/// What the checks have found, the worst first.
fn checks(findings: &[Finding], room: &mut usize) -> String {
    let mut ordered: Vec<&Finding> = findings.iter().collect();
    ordered.sort_by_key(|finding| finding.severity);
    let line = |finding: &Finding| {
        let word = match finding.severity {
            Severity::Refused => "**refused**",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let way_out = finding.way_out.as_deref().map(|way_out| format!(" ({})", prose(way_out))).unwrap_or_default();
        format!("- {word} {}: {}{way_out}\n", code(finding.address.as_str()), prose(&finding.text))
    };
    let list = listed(ordered.into_iter().map(line), "finding", room);
    if list.is_empty() { list } else { format!("Checked before anything is changed:\n\n{list}\n") }
}

fn warnings(warnings: &[String], room: &mut usize) -> String {
    let list = listed(warnings.iter().map(|warning| format!("- warning: {}\n", prose(warning))), "warning", room);
    if list.is_empty() { list } else { format!("{list}\n") }
}

fn target(target: &Target) -> String {
    let role = target.role.as_ref().map_or_else(|| "the caller's own credentials".into(), |role| format!("as {}", code(role)));
    format!("- target {} {} {role} ({})\n", code(&target.account), code(&target.region), prose(&target.because))
}

/// The changes by what is done, what is refused first.
fn table(changes: &[Change], room: &mut usize) -> String {
    let mut rows: Vec<(usize, &str, &Change)> =
        changes.iter().filter_map(|change| rank(change).map(|(rank, word)| (rank, word, change))).collect();
    rows.sort_by_key(|(rank, ..)| *rank);
    if rows.is_empty() {
        return String::new();
    }
    let row = |(_, word, change): (usize, &str, &Change)| {
        let id = change.id.as_deref().map(code).unwrap_or_default();
        let reason = change.reason.as_deref().map(prose).unwrap_or_default();
        format!("| {word} | {} | {} | {id} | {reason} |\n", code(change.address.as_str()), prose(&change.kind))
    };
    let body = listed(rows.into_iter().map(row), "change", room);
    // A line that is no row ends the table.
    format!("| | object | kind | id | why |\n|---|---|---|---|---|\n{body}\n")
}

/// Where a change stands in the table, and its word; what is unchanged does not.
fn rank(change: &Change) -> Option<(usize, &'static str)> {
    match change.action {
        Action::Refused => Some((0, "**refused**")),
        Action::Replace => Some((1, "**replace**")),
        Action::Delete => Some((2, "**delete**")),
        Action::Update => Some((3, "update")),
        Action::Create => Some((4, "create")),
        Action::Adopt if change.recorded_as.is_some() => Some((5, "record anew")),
        Action::Adopt => Some((5, "adopt")),
        Action::None if change.unread => Some((6, "not read")),
        Action::None if change.waits => Some((7, "wait")),
        Action::None => None,
    }
}

fn by_name(changes: &[Change], room: &mut usize) -> String {
    let named = changes.iter().filter(|change| change.by_name).map(|change| format!("- {}\n", code(change.address.as_str())));
    let list = listed(named, "object", room);
    if list.is_empty() { list } else { format!("**To be confirmed by name** (`--confirm ADDRESS`):\n\n{list}\n") }
}

fn not_carried_out(plan: &Plan, room: &mut usize) -> String {
    let line = |object: &crate::engine::plan::NotCarriedOut| {
        format!("- {} {}: {}\n", code(object.address.as_str()), prose(&object.kind), prose(&object.reason))
    };
    let list = listed(plan.not_carried_out.iter().map(line), "object", room);
    if list.is_empty() { list } else { format!("**Not carried out by fleetctl**\n\n{list}\n") }
}

/// What differs, field by field, folded away. `None` if there is no room even to begin.
fn details(plan: &Plan, room: &mut usize) -> Option<String> {
    let with_fields: Vec<&Change> =
        plan.changes.iter().filter(|change| !change.fields.is_empty() && rank(change).is_some()).collect();
    if with_fields.is_empty() {
        return Some(String::new());
    }
    *room = room.checked_sub(FRAME / 4)?;
    let blocks = with_fields.iter().map(|change| {
        let word = rank(change).map_or("", |(_, word)| word);
        format!("{word} {}\n\n{}\n", code(change.address.as_str()), fenced("diff", &fields(change)))
    });
    let body = listed(blocks, "object", room);
    let count = plural(with_fields.len(), "object");
    Some(format!("<details><summary>Fields of {count}</summary>\n\n{body}\n</details>\n\n"))
}

/// The differences of an object in the form of a diff.
fn fields(change: &Change) -> String {
    change.fields.iter().map(|difference| field(difference, change.action == Action::Create)).collect()
}

fn field(difference: &FieldDifference, is_new: bool) -> String {
    let after = match &difference.unknown {
        Some(expression) if expression.is_empty() => "(known after apply)".to_owned(),
        Some(expression) => format!("(known after apply: {})", one_line(&braced(expression))),
        None => value(&difference.after),
    };
    if is_new && difference.before.is_null() {
        return format!("+ {}: {}\n", one_line(&difference.path), cut(&after));
    }
    let path = format!("  {}:\n", one_line(&difference.path));
    if let (Some(before), Some(after), None) = (pretty(&difference.before), pretty(&difference.after), &difference.unknown) {
        return path + &documents(&before, &after);
    }
    let before = value(&difference.before);
    // Where only the writing differs, both are shown as they are written.
    let written = before == after && difference.unknown.is_none();
    let (before, after) = if written { (difference.before.to_string(), difference.after.to_string()) } else { (before, after) };
    format!("{path}- {}\n+ {}\n", cut(&before), cut(&after))
}

/// Two documents, such as policies, line by line.
fn documents(before: &str, after: &str) -> String {
    let text: String = lines(before, after)
        .into_iter()
        .map(|line| match line {
            Line::Same(text) => format!("  {text}\n"),
            Line::Removed(text) => format!("- {text}\n"),
            Line::Added(text) => format!("+ {text}\n"),
        })
        .collect();
    if text.len() <= LONG { text } else { format!("{}\n", cut(text.trim_end())) }
}

/// A mapping or list, or a text that holds one, over several lines.
fn pretty(value: &Value) -> Option<String> {
    let held = match value {
        Value::String(text) => document(text)?,
        Value::Object(_) | Value::Array(_) => value.clone(),
        _ => return None,
    };
    serde_json::to_string_pretty(&held).ok()
}

/// A value as far as there is room for one.
fn cut(text: &str) -> String {
    if text.len() <= LONG {
        return text.to_owned();
    }
    let end = (0..=LONG).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}… ({} characters)", &text[..end], text.chars().count())
}

/// The items as far as there is room, and how many are left out. What was used is taken from `room`.
fn listed(items: impl Iterator<Item = String>, noun: &str, room: &mut usize) -> String {
    let (mut text, mut more) = (String::new(), 0);
    for item in items {
        if more > 0 || item.len() > *room {
            more += 1;
            continue;
        }
        *room -= item.len();
        text += &item;
    }
    text + &left_out(more, noun)
}

#[cfg(test)]
mod tests;
