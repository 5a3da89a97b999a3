//! What scrolls away above the part of the view that moves: one line an object, and failures in full.

use crate::cli::fit;
use crate::cli::progress::answer;
use crate::cli::style::{Look, Style, clean, duration};

/// From this width on there is room for everything.
const WIDE: usize = 100;
/// Below this width only what is most important is shown.
const NARROW: usize = 60;
/// As wide as `drained`, the longest of the words in front.
const WORD: usize = 7;

/// Something worth keeping.
#[derive(Debug)]
pub(in crate::cli) enum Kept {
    Done { word: &'static str, name: String, kind: String, id: String, took: f64 },
    Failed { name: String, kind: String, reason: String },
    Resolved { name: String, text: String },
}

impl Kept {
    pub(super) fn done(word: &'static str, name: String, kind: &str, id: &str, took: f64) -> Self {
        Self::Done { word, name, kind: clean(kind), id: clean(id), took }
    }

    pub(super) fn failed(name: String, kind: &str, reason: &str) -> Self {
        Self::Failed { name, kind: clean(kind), reason: clean(reason) }
    }

    pub(super) fn resolved(name: String, operation: &str, carried_out: Option<bool>) -> Self {
        let outcome = answer(carried_out);
        Self::Resolved { name, text: format!("{} of an earlier run {outcome}", clean(operation)) }
    }

    /// As lines of a terminal that is so wide.
    pub(in crate::cli) fn render(&self, columns: usize, now: f64, style: Style) -> String {
        let columns = columns.saturating_sub(1).max(20);
        match self {
            Self::Done { word, name, kind, id, took } => done((word, name, kind, id), *took, columns, now, style),
            Self::Failed { name, kind, reason } => {
                let mut lines = vec![format!("{}  {name}  {kind}", style.paint(Look::Red, "failed"))];
                lines.extend(reason.lines().map(|line| format!("        {}", style.paint(Look::Red, line))));
                lines.iter().map(|line| fit::wrap(line, columns)).collect::<Vec<_>>().join("\n")
            }
            Self::Resolved { name, text } => fit::wrap(&format!("{name}  {text}"), columns),
        }
    }
}

fn done((word, name, kind, id): (&str, &str, &str, &str), took: f64, columns: usize, now: f64, style: Style) -> String {
    let word = style.paint(Look::Green, fit::pad(word, WORD));
    let took = fit::pad_left(&duration(took), 7);
    if columns < NARROW {
        let room = columns.saturating_sub(WORD + 2 + 2 + 7);
        return format!("{word}  {}  {took}", fit::pad(&fit::middle(name, room), room));
    }
    let (kind_width, name_width) =
        if columns >= WIDE { (22, 44) } else { (22, columns.saturating_sub(WORD + 2 + 22 + 2 + 2 + 7)) };
    let when = if columns >= WIDE { style.paint(Look::Dim, fit::pad_left(&duration(now), 7)) + "  " } else { String::new() };
    let kind = fit::pad(&fit::middle(kind, kind_width), kind_width);
    let name = fit::pad(&fit::middle(name, name_width), name_width);
    let line = format!("{when}{word}  {kind}  {name}  {took}");
    if columns < WIDE {
        return line;
    }
    let line = line + "  ";
    let room = columns.saturating_sub(fit::width(&line));
    format!("{line}{}", style.paint(Look::Dim, fit::cut(id, room))).trim_end().to_owned()
}
