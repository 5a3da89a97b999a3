//! The part of the view that moves, as lines: how far the run is and when it is expected to end, then what goes on.

use super::{Instance, Model, Row, Stage, What};
use crate::cli::fit::{self, first_that_fits};
use crate::cli::style::{Look, Style, clean, plural};
use crate::engine::events::StepName;
use crate::graph::identity::Address;

/// Below this width kinds are left out and times are short.
const NARROW: usize = 60;
/// The least that is left for an address, and for a state that is long.
const ADDRESS: usize = 12;
const STATE: usize = 18;
/// From this height on a line is left free above.
const HIGH: usize = 16;

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Size {
    pub(in crate::cli) rows: usize,
    pub(in crate::cli) columns: usize,
}

/// The model as lines, none wider than the terminal and fewer than it has rows.
pub(in crate::cli) fn frame(model: &Model, now: f64, size: Size, style: Style) -> Vec<String> {
    // The last column and the last row stay free: writing there would scroll.
    let (columns, rows) = (size.columns.saturating_sub(1).max(1), size.rows.saturating_sub(1).max(1));
    let mut lines = Vec::new();
    if rows >= HIGH {
        lines.push(String::new());
    }
    lines.extend(heading(model, now, columns, style));
    lines.extend(instances(model, now, columns, rows.saturating_sub(lines.len())));
    lines.truncate(rows);
    let room = rows.saturating_sub(lines.len());
    lines.extend(body(model, now, columns, room, style));
    lines
}

/// What stands first: how far it is, and since when and until when.
fn heading(model: &Model, now: f64, columns: usize, style: Style) -> Vec<String> {
    if model.stage == Stage::Looking {
        let texts = [format!("Reading what is there … {}", short(now)), format!("Reading … {}", short(now))];
        return vec![style.paint(Look::Bold, first_that_fits(&texts, columns))];
    }
    let (objects, done, failed) = totals(&model.instances);
    let waiting = model.rows.iter().filter(|row| row.is_waiting()).count();
    let running = model.rows.len() - waiting;
    let others = [(failed, "failed"), (running, "running"), (waiting, "waiting")];
    let others: Vec<_> = others.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let others = others.iter().fold(String::new(), |text, other| text + ", " + other);
    let name = match model.instances.as_slice() {
        [] => "0 instances".to_owned(),
        [one] => clean(one.address.as_str()),
        several => plural(several.len(), "instance"),
    };
    let counted = model.instances.iter().any(|instance| instance.is_counted);
    let (counts, few) = match (counted, objects) {
        (true, 0) => (format!("nothing to do{others}"), "nothing to do".to_owned()),
        (true, _) => (format!("{done} of {objects} done{others}"), format!("{done}/{objects} done")),
        // So far it is only known what goes on.
        (false, _) => (others.trim_start_matches(", ").to_owned(), String::new()),
    };
    if counts.is_empty() {
        let texts = [name.clone(), fit::middle(&name, columns)];
        return vec![style.paint(Look::Bold, first_that_fits(&texts, columns)), times_line(model, now, columns, style)];
    }
    let room = columns.saturating_sub(fit::width(&counts) + 2);
    let last = fit::middle(&name, room.max(ADDRESS));
    let failures = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    let texts = [
        format!("{name}: {counts}"),
        format!("{last}: {counts}"),
        format!("{few}{others}").trim_start_matches(", ").to_owned(),
        format!("{few}{failures}").trim_start_matches(", ").to_owned(),
    ];
    let first = first_that_fits(&texts, columns);
    vec![style.paint(Look::Bold, first), times_line(model, now, columns, style)]
}

fn times_line(model: &Model, now: f64, columns: usize, style: Style) -> String {
    style.paint(look(model, now), first_that_fits(&times(model, now), columns))
}

fn totals(instances: &[Instance]) -> (usize, usize, usize) {
    let add = |(objects, done, failed): (usize, usize, usize), instance: &Instance| {
        (objects + instance.objects, done + instance.done, failed + instance.failed)
    };
    instances.iter().fold((0, 0, 0), add)
}

fn look(model: &Model, now: f64) -> Look {
    if model.stage == Stage::Stopping || is_late(model, now) { Look::Yellow } else { Look::Dim }
}

/// The second line, from the longest wording to the shortest.
fn times(model: &Model, now: f64) -> Vec<String> {
    let passed = short(now);
    if model.stage == Stage::Stopping {
        let running = plural(model.rows.len(), "running step");
        return vec![
            format!("{passed} so far; stopping: {running} to finish, nothing new is started; Ctrl-C again leaves at once"),
            format!("stopping: {running} to finish; Ctrl-C again leaves at once"),
            "stopping; Ctrl-C again leaves at once".to_owned(),
        ];
    }
    let Some(last) = last(model) else { return vec![format!("{passed} so far")] };
    if is_late(model, now) {
        return vec![format!("{passed} so far; this takes longer than usual"), format!("{passed}, longer than usual")];
    }
    let left = about(last.end - now);
    let why = if last.measured { "as in earlier runs" } else { "typical of AWS, not measured here yet" };
    vec![
        format!("{passed} so far, about {left} to go ({why})"),
        format!("{passed} so far, about {left} to go"),
        format!("{passed}, about {left} to go"),
    ]
}

/// The instance that is expected to end last.
fn last(model: &Model) -> Option<&Instance> {
    model.instances.iter().filter(|instance| instance.waits_for.is_some()).max_by(|one, other| one.end.total_cmp(&other.end))
}

/// Whether what was expected has not come: the end, or what it hangs on.
fn is_late(model: &Model, now: f64) -> bool {
    let Some(last) = last(model) else { return false };
    last.end < now || model.rows.iter().any(|row| Some(&row.address) == last.waits_for.as_ref() && row.is_late(now))
}

/// One line an instance, where there are several and enough room.
fn instances(model: &Model, now: f64, columns: usize, room: usize) -> Vec<String> {
    let count = model.instances.len();
    if count < 2 || room < count + 4 {
        return Vec::new();
    }
    let widest = model.instances.iter().map(|instance| fit::width(instance.address.as_str())).max().unwrap_or_default();
    let room = widest.min(columns.saturating_sub(34).max(ADDRESS));
    let line = |instance: &Instance| {
        let name = fit::pad(&fit::middle(&clean(instance.address.as_str()), room), room);
        let failed = if instance.failed > 0 { format!(", {} failed", instance.failed) } else { String::new() };
        let left = match &instance.waits_for {
            Some(_) if instance.end > now => format!(", about {} to go", about(instance.end - now)),
            Some(_) => ", longer than usual".to_owned(),
            None => String::new(),
        };
        let counts = match (instance.is_counted, instance.objects) {
            (true, 0) => "nothing to do".to_owned(),
            (true, objects) => format!("{} of {objects} done{failed}{left}", instance.done),
            (false, _) => "begun".to_owned(),
        };
        fit::cut(&format!("  {name}  {counts}"), columns)
    };
    model.instances.iter().map(line).collect()
}

/// A row of the body before it is fitted.
struct Cells<'a> {
    is_critical: bool,
    kind: &'a str,
    name: String,
    state: String,
    time: String,
    look: Option<Look>,
}

fn body(model: &Model, now: f64, columns: usize, room: usize, style: Style) -> Vec<String> {
    let critical = |row: &&Row| is_critical(model, &row.address);
    let mut rows: Vec<&Row> = model.rows.iter().filter(critical).collect();
    rows.extend(model.rows.iter().filter(|row| !critical(row)));
    let hidden = if rows.len() > room { rows.len() - room.saturating_sub(1) } else { 0 };
    rows.truncate(rows.len() - hidden);
    let is_narrow = columns < NARROW;
    let cells: Vec<Cells<'_>> = rows.into_iter().map(|row| cells(model, row, now, is_narrow)).collect();
    let least = if model.instances.len() > 1 && !is_narrow { 2 * ADDRESS } else { ADDRESS };
    let mut lines = aligned(&cells, columns, (is_narrow, least), style);
    if hidden > 0 && room > 0 {
        lines.push(style.paint(Look::Dim, fit::cut(&format!("  … and {hidden} more"), columns)));
    }
    lines
}

fn is_critical(model: &Model, address: &Address) -> bool {
    model.instances.iter().any(|instance| instance.waits_for.as_ref() == Some(address))
}

fn cells<'a>(model: &Model, row: &'a Row, now: f64, is_narrow: bool) -> Cells<'a> {
    let passed = short(now - row.since);
    let (state, time, look) = match &row.what {
        What::Step(step) => (doing(*step).to_owned(), passed, None),
        What::Unseen => (doing(StepName::Wait).to_owned(), passed, None),
        What::Waiting { state, usually } => {
            let is_late = row.is_late(now);
            let usually = about(*usually);
            let time = match (is_late, is_narrow) {
                (false, false) => format!("{passed} of about {usually}"),
                (false, true) => format!("{passed}/{usually}"),
                (true, false) => format!("{passed}, usually {usually}"),
                (true, true) => format!("{passed} > {usually}"),
            };
            (state.clone(), time, is_late.then_some(Look::Yellow))
        }
        What::Repeating { code, again } => (code.clone(), format!("again in {}", short(again - now)), Some(Look::Yellow)),
        What::Resolving { operation, counts } => {
            (format!("looking up {operation} of an earlier run"), format!("{} left", short(counts - now)), Some(Look::Yellow))
        }
    };
    let is_critical = is_critical(model, &row.address);
    Cells { is_critical, kind: &row.kind, name: model.name(&row.address), state, time, look }
}

fn doing(step: StepName) -> &'static str {
    match step {
        StepName::Create => "creating",
        StepName::Configure => "configuring",
        StepName::Wait => "waiting",
        StepName::Delete => "deleting",
        StepName::Drain => "draining",
    }
}

/// Rows in columns. A long state gives way first, then the kind if less than `least` is left for the address, then the
/// address.
fn aligned(cells: &[Cells<'_>], columns: usize, (is_narrow, least): (bool, usize), style: Style) -> Vec<String> {
    let widest = |width: &dyn Fn(&Cells<'_>) -> usize| cells.iter().map(width).max().unwrap_or_default();
    let time = widest(&|cells| fit::width(&cells.time));
    let kind = if is_narrow { 0 } else { widest(&|cells| fit::width(cells.kind)) + 2 };
    let state = widest(&|cells| fit::width(&cells.state));
    let name = widest(&|cells| fit::width(&cells.name));
    let room = |kind: usize, state: usize| columns.saturating_sub(2 + kind + 2 + state + 2 + time);
    let too_wide = name.saturating_sub(room(kind, state));
    let state = if is_narrow { state } else { state.saturating_sub(too_wide).max(state.min(STATE)) };
    let kind = if room(kind, state) < least { 0 } else { kind };
    let state = state.min(columns.saturating_sub(2 + kind + ADDRESS + 2 + 2 + time));
    let address = room(kind, state).min(name);
    // What shortened addresses leave free goes back to the states.
    let address = widest(&|cells| fit::width(&fit::middle(&cells.name, address)));
    let states = widest(&|cells| fit::width(&cells.state));
    let state = columns.saturating_sub(2 + kind + address + 2 + 2 + time).clamp(state, states.max(state));
    let line = |cells: &Cells<'_>| {
        let marker = if cells.is_critical { "> " } else { "  " };
        let kind = if kind == 0 { String::new() } else { fit::pad(cells.kind, kind) };
        let name = fit::pad(&fit::middle(&cells.name, address), address);
        let state = fit::pad(&fit::cut(&cells.state, state), state);
        let rest = format!("{state}  {}", cells.time);
        let rest = cells.look.map_or(rest.clone(), |look| style.paint(look, &rest));
        fit::cut(&format!("{marker}{kind}{name}  {rest}"), columns)
    };
    cells.iter().map(line).collect()
}

impl Row {
    /// Whether nothing is done about it but wait.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.what, What::Waiting { .. } | What::Unseen)
    }

    fn is_late(&self, now: f64) -> bool {
        matches!(self.what, What::Waiting { usually, .. } if now - self.since > usually)
    }
}

/// `3s`, `1m 20s`, `1h 5m`: what has passed, without more digits than change from one look to the next.
fn short(seconds: f64) -> String {
    let whole = whole(seconds);
    match whole {
        ..60 => format!("{whole}s"),
        60..3600 => format!("{}m {}s", whole / 60, whole % 60),
        _ => format!("{}h {}m", whole / 3600, whole % 3600 / 60),
    }
}

/// `45s`, `1m 40s`, `10m`: no more exact than it is known.
pub(in crate::cli) fn about(seconds: f64) -> String {
    let whole = whole(seconds.ceil());
    match whole {
        ..10 => format!("{whole}s"),
        10..120 => match (whole + 2) / 5 * 5 {
            tidy @ ..60 => format!("{tidy}s"),
            60 => "1m".to_owned(),
            120 => "2m".to_owned(),
            tidy => format!("1m {}s", tidy - 60),
        },
        120..3600 => format!("{}m", (whole + 30) / 60),
        _ => format!("{}h {}m", whole / 3600, whole % 3600 / 60),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and no run takes that long")]
fn whole(seconds: f64) -> u64 {
    seconds.max(0.0) as u64
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
