//! How a run ended, as text that can be pasted into a ticket: plain words and spaces, nothing that needs colours or a
//! fixed width.

use super::fit;
use super::style::{Look, Style, clean, duration, plural};
use crate::engine::outcome::{Circumstances, Output, Place, Present};
use crate::engine::plan::Action;
use crate::engine::report::{Done, End, Failure, NotReached, RunReport};
use crate::graph::identity::Address;
use chrono::{DateTime, Utc};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many of the objects that took longest are named.
const LONGEST: usize = 3;
/// What took less than this is not worth naming, seconds.
const SHORT: f64 = 5.0;
/// Width of the names of values.
const LABEL: usize = 16;

/// Reports as text, wrapped where it goes to a terminal that is so wide. `carry_on` is the command that carries on; not
/// said when everything is done, and never wrapped.
pub fn render(reports: &[RunReport], carry_on: &str, style: Style, columns: Option<usize>) -> String {
    let mut lines = Vec::new();
    for report in reports {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        instance(report, style, &mut lines);
    }
    if let Some(columns) = columns {
        lines = lines.iter().map(|line| fit::wrap(line, columns)).collect();
    }
    if reports.iter().any(|report| report.end != End::Done) {
        lines.push(String::new());
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
    let name = style.paint(Look::Bold, clean(report.instance.as_str()));
    lines.push(format!("{name}: {} {}: {}.", style.paint(look, word), duration(report.seconds), counts(report)));
    lines.push(format!("  {}", circumstances(&report.circumstances)));
    for failure in &report.failed {
        failed(failure, style, lines);
    }
    not_reached(report, style, lines);
    if report.end == End::Done {
        values(report, lines);
        longest(report, lines);
    } else {
        remains(report, style, lines);
    }
}

/// `22 created, 1 made and failed, 1 failed`.
fn counts(report: &RunReport) -> String {
    let words = [
        (Action::Create, "created"),
        (Action::Adopt, "adopted"),
        (Action::Update, "updated"),
        (Action::Replace, "replaced"),
        (Action::Delete, "deleted"),
    ];
    let count = |action| report.done.iter().filter(|done| done.action == action).count();
    let Circumstances { calls, unfinished, lock_lost, .. } = &report.circumstances;
    let was_made = |address: &Address| unfinished.contains(address);
    let made_and_failed = report.failed.iter().filter(|failure| was_made(&failure.address)).count();
    let made_only = report.not_reached.iter().filter(|object| was_made(&object.address)).count();
    let others = [
        (made_and_failed, "made and failed"),
        (made_only, "made and not finished"),
        (report.failed.len() - made_and_failed, "failed"),
        (report.not_reached.len() - made_only, "not reached"),
    ];
    let counted = words.into_iter().map(|(action, word)| (count(action), word)).chain(others);
    let counted = counted.filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let nothing = match (report.done.is_empty() && made_and_failed + made_only == 0, calls) {
        (false, _) => None,
        // What an earlier run began may have ended meanwhile.
        (true, 0) if *lock_lost => Some("nothing was seen to end".to_owned()),
        (true, 0) => Some("nothing was changed".to_owned()),
        // Labels that were switched off, a deletion that has begun.
        (true, calls) => Some(format!("{} made, nothing finished", plural(*calls, "change"))),
    };
    nothing.into_iter().chain(counted).collect::<Vec<_>>().join(", ")
}

/// Where and when it was, and with what: `222222222222 us-west-2; 2026-11-30 20:03:45 to 20:04:11 UTC; fleetctl 0.1.0`.
fn circumstances(of: &Circumstances) -> String {
    let mut parts: Vec<String> = Vec::new();
    let places: Vec<_> = of.places.iter().map(place).collect();
    if !places.is_empty() {
        parts.push(places.join(", "));
    }
    parts.push(times(of.started_at, of.ended_at));
    parts.push(format!("fleetctl {}", env!("CARGO_PKG_VERSION")));
    if !of.caller.is_empty() {
        parts.push(format!("run by {}", of.caller));
    }
    clean(&parts.join("; "))
}

fn times(started: DateTime<Utc>, ended: DateTime<Utc>) -> String {
    let day = |time: DateTime<Utc>| time.format("%Y-%m-%d").to_string();
    let end = if day(started) == day(ended) { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
    format!("{} to {} UTC", started.format("%Y-%m-%d %H:%M:%S"), ended.format(end))
}

fn place(place: &Place) -> String {
    format!("{} {}", place.account, place.region).trim_end().to_owned()
}

fn failed(failure: &Failure, style: Style, lines: &mut Vec<String>) {
    lines.push(String::new());
    let object = format!("{}  {}", clean(failure.address.as_str()), clean(&failure.kind));
    lines.push(format!("  {}: {}", style.paint(Look::Red, "failed"), object.trim_end()));
    let mut say = |label: &str, value: &str| lines.extend(labelled("    ", label, value));
    if let Some(id) = failure.id.as_ref().filter(|id| !id.is_empty()) {
        say("id", id);
    }
    match (&failure.argocd, &failure.place) {
        (Some(server), _) => say("where", &format!("Argo CD, {server}")),
        (None, Some(at)) => say("where", &place(at)),
        (None, None) => {}
    }
    match &failure.answer {
        Some(answer) => {
            say("call", &format!("{} {}", answer.service, answer.operation));
            say("code", &answer.code);
            say("message", &answer.message);
            if let Some(request) = &answer.request_id {
                say("request id", request);
            }
        }
        None => say("why", &failure.reason),
    }
    if let Some(hint) = &failure.hint {
        say("what may help", hint);
    }
}

/// `    message         The maximum number …`, further lines below the first.
fn labelled(indent: &str, label: &str, value: &str) -> Vec<String> {
    let value = clean(value);
    let line = |(index, line): (usize, &str)| {
        let label = if index == 0 { label } else { "" };
        format!("{indent}{}{line}", fit::pad(label, LABEL)).trim_end().to_owned()
    };
    value.lines().enumerate().map(line).collect()
}

/// What was not reached, by what it waits for: one failure may keep many waiting.
fn not_reached(report: &RunReport, style: Style, lines: &mut Vec<String>) {
    let mut groups: Vec<(String, Vec<&NotReached>)> = Vec::new();
    for object in &report.not_reached {
        let is_there = report.circumstances.present.iter().any(|one| one.address == object.address);
        let how = if is_there { "not finished" } else { "not reached" };
        let why = match &object.because {
            Some(culprit) => format!("{how}, because {} failed", short(report, culprit.as_str())),
            None => format!("{how}: {}", object.reason),
        };
        match groups.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, objects)) => objects.push(object),
            None => groups.push((why, vec![object])),
        }
    }
    for (why, objects) in groups {
        lines.push(String::new());
        let why = clean(&why).replace('\n', " ");
        lines.push(format!("  {}", style.paint(Look::Yellow, why)));
        let objects = objects.iter().map(|object| (object.kind.as_str(), short(report, object.address.as_str())));
        lines.extend(by_kind(objects));
    }
}

/// `    Subnet: vpc/privateSubnet1, vpc/privateSubnet2`.
fn by_kind<'a>(objects: impl Iterator<Item = (&'a str, String)>) -> Vec<String> {
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for (kind, name) in objects {
        match kinds.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, names)) => names.push(name),
            None => kinds.push((kind, vec![name])),
        }
    }
    let line = |(kind, mut names): (&str, Vec<String>)| {
        names.sort();
        format!("    {}: {}", clean(kind), names.join(", "))
    };
    kinds.into_iter().map(line).collect()
}

/// An address without that of its instance.
fn short(report: &RunReport, address: &str) -> String {
    let below = address.strip_prefix(report.instance.as_str()).and_then(|rest| rest.strip_prefix('/'));
    clean(below.unwrap_or(address))
}

/// What is there now, and what that means for the bill.
fn remains(report: &RunReport, style: Style, lines: &mut Vec<String>) {
    let present = &report.circumstances.present;
    if present.is_empty() {
        return;
    }
    let is_removal = report.status["state"] == "DELETING";
    let heading = match (report.circumstances.lock_lost, is_removal) {
        (true, _) => "recorded as there when the lock was lost",
        (false, true) => "still there",
        (false, false) => "there now",
    };
    let counted = counted(present.iter().map(|one| one.kind.as_str()));
    lines.push(String::new());
    lines.push(format!("  {}: {}: {counted}", style.paint(Look::Bold, heading), plural(present.len(), "object")));
    if is_removal {
        let name = |one: &Present| format!("{} ({})", short(report, one.address.as_str()), clean(&one.id));
        lines.extend(by_kind(present.iter().map(|one| (one.kind.as_str(), name(one)))));
    }
    if present.iter().any(|one| one.charged) {
        let charged = self::counted(present.iter().filter(|one| one.charged).map(|one| one.kind.as_str()));
        lines.push(format!("    Of these AWS charges for {charged} by the hour, used or not."));
    }
}

/// `1 Cluster, 2 NATGateway`.
fn counted<'a>(kinds: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    kinds.for_each(|kind| *counts.entry(kind).or_default() += 1);
    clean(&counts.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", "))
}

/// What people ask for first, then the status that the definition's author gives. Conditions are for programs.
fn values(report: &RunReport, lines: &mut Vec<String>) {
    let mut shown: Vec<(String, String)> = Vec::new();
    for Output { name, value, .. } in &report.circumstances.outputs {
        let label = label(name);
        match shown.iter_mut().find(|(other, _)| *other == label) {
            Some((_, values)) => values.extend([", ", value]),
            None => shown.push((label, value.clone())),
        }
    }
    for (key, value) in report.status.as_object().into_iter().flatten() {
        if key != "conditions" {
            leaves(key, value, &mut shown);
        }
    }
    if !shown.is_empty() {
        lines.push(String::new());
    }
    for (label, value) in shown {
        lines.extend(labelled("  ", &clean(&format!("{label}  ")), &value.replace('\n', " ")));
    }
}

fn label(name: &str) -> String {
    match name {
        "arn" => "cluster ARN",
        "version" => "Kubernetes",
        "vpc" => "VPC",
        "cidr" => "VPC's CIDR",
        "publicAddress" => "public address",
        "registration" => "Argo CD name",
        "server" => "Argo CD server",
        name => name,
    }
    .to_owned()
}

/// The leaves of a status that nothing shown says already.
fn leaves(path: &str, value: &Value, shown: &mut Vec<(String, String)>) {
    let text = match value {
        Value::Object(fields) => return fields.iter().for_each(|(key, value)| leaves(&format!("{path}.{key}"), value, shown)),
        Value::Null => return,
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    if !shown.iter().any(|(_, other)| *other == text) {
        shown.push((path.to_owned(), text));
    }
}

/// What took longest, if anything took long.
fn longest(report: &RunReport, lines: &mut Vec<String>) {
    let mut timed: Vec<(f64, &Done)> =
        report.done.iter().filter_map(|done| Some((done.seconds.filter(|seconds| *seconds >= SHORT)?, done))).collect();
    timed.sort_by(|one, other| other.0.total_cmp(&one.0));
    if timed.is_empty() {
        return;
    }
    let text = |(seconds, done): &(f64, &Done)| format!("{} {}", short(report, done.address.as_str()), duration(*seconds));
    let longest: Vec<_> = timed.iter().take(LONGEST).map(text).collect();
    lines.extend(labelled("  ", "took longest", &longest.join(", ")));
}

#[cfg(test)]
#[path = "render_report_tests.rs"]
mod tests;
