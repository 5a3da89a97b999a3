//! Progress: a reader of the engine's events. On a terminal the waits are shown as they go on; elsewhere each event is
//! one line; for programs each event is one JSON object on standard output.

use super::printer::Printer;
use super::style::{Look, Style, clean, duration};
use crate::engine::events::{Event, Events, StepName};
use crate::graph::identity::Address;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shows events. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Progress(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    form: Form,
    printer: Printer,
    start: Mutex<Instant>,
}

#[derive(Debug)]
enum Form {
    /// One JSON object a line.
    Json,
    /// One line an event.
    Lines,
    /// Failures only.
    Quiet,
    /// A terminal: what is over scrolls away above, what goes on stands below.
    Terminal { bars: MultiProgress, running: Mutex<HashMap<Address, ProgressBar>> },
}

impl Progress {
    /// Progress in the form that fits where it goes.
    pub fn new(printer: &Printer) -> Self {
        let settings = printer.settings();
        let form = if printer.is_json() {
            Form::Json
        } else if settings.quiet {
            Form::Quiet
        } else if std::io::stderr().is_terminal() && settings.verbosity == 0 {
            Form::Terminal { bars: MultiProgress::new(), running: Mutex::default() }
        } else {
            // Also with -v: lines of the log would break the lines that are drawn over and over.
            Form::Lines
        };
        Self(Arc::new(Inner { form, printer: printer.clone(), start: Mutex::new(Instant::now()) }))
    }

    /// Where the engine is to send its events.
    pub fn events(&self) -> Events {
        let progress = self.clone();
        Events::to(move |event| progress.show(&event))
    }

    /// From now on time is counted anew: an answer may have been waited for.
    pub fn restart(&self) {
        *self.0.start.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn elapsed(&self) -> Duration {
        self.0.start.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Says something beside the events.
    pub fn note(&self, text: &str) {
        match &self.0.form {
            Form::Terminal { bars, .. } => bars.suspend(|| self.0.printer.note(text)),
            _ => self.0.printer.note(text),
        }
    }

    /// Takes away what is drawn over and over.
    pub fn finish(&self) {
        if let Form::Terminal { bars, running } = &self.0.form {
            running.lock().unwrap_or_else(PoisonError::into_inner).clear();
            // Fails only if the terminal is gone.
            let _ = bars.clear();
        }
    }

    fn show(&self, event: &Event) {
        let style = self.0.printer.error_style();
        let line = || line(event, self.elapsed(), style);
        match &self.0.form {
            // Said where the signal was heard.
            Form::Lines | Form::Terminal { .. } if *event == Event::Stopping => {}
            Form::Json => self.0.printer.json_line(&json_line(event)),
            Form::Quiet if matches!(event, Event::Failed { .. }) => self.0.printer.failure(&line()),
            Form::Quiet => {}
            Form::Lines => self.0.printer.failure(&line()),
            Form::Terminal { bars, running } => {
                let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
                if update_bars(event, bars, &mut running) {
                    bars.suspend(|| self.0.printer.failure(&line()));
                }
            }
        }
    }
}

/// Shows what goes on; whether the event is to be kept as a line as well.
fn update_bars(event: &Event, bars: &MultiProgress, running: &mut HashMap<Address, ProgressBar>) -> bool {
    match event {
        Event::Started { address, kind, step } => {
            let bar = running.entry(address.clone()).or_insert_with(|| new_bar(bars));
            bar.set_message(bar_text(address, kind, word(*step)));
            bar.reset_elapsed();
            false
        }
        Event::Waiting { address, kind, state, seconds, usually_seconds } => {
            let text = bar_text(address, kind, &format!("{} (usually {})", clean(state), duration(*usually_seconds)));
            // A wait may have begun in an earlier run.
            let waited = Duration::try_from_secs_f64(*seconds).unwrap_or_default();
            let bar = running.entry(address.clone()).or_insert_with(|| new_bar(bars));
            bar.set_message(text);
            bar.set_elapsed(waited);
            false
        }
        Event::Finished { address, .. } | Event::Failed { address, .. } => {
            if let Some(bar) = running.remove(address) {
                bar.finish_and_clear();
            }
            true
        }
        _ => true,
    }
}

fn new_bar(bars: &MultiProgress) -> ProgressBar {
    let bar = bars.add(ProgressBar::new_spinner().with_style(bar_style()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// What is cut off where the terminal is narrow stands last.
fn bar_text(address: &Address, kind: &str, what: &str) -> String {
    format!("{what}  {}  {}", clean(kind), clean(address.as_str()))
}

fn bar_style() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {elapsed:>5}  {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// The event and when it happened.
fn json_line(event: &Event) -> Value {
    let mut value =
        serde_json::to_value(event).unwrap_or_else(|error| json!({"event": "unprintable", "reason": error.to_string()}));
    if let Some(fields) = value.as_object_mut() {
        fields.insert("at".into(), json!(chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)));
    }
    value
}

/// An event as one line: when, where, what.
fn line(event: &Event, elapsed: Duration, style: Style) -> String {
    let when = style.paint(Look::Dim, format!("{:>7.1}s", elapsed.as_secs_f64()));
    format!("{when}  {}", clean_line(&what(event, style)))
}

/// A line stays one line, whatever AWS says; what sets words apart is kept.
fn clean_line(text: &str) -> String {
    text.replace('\n', " ")
}

fn what(event: &Event, style: Style) -> String {
    let object = |address: &Address, kind: &str| format!("{}  {}", clean(address.as_str()), clean(kind));
    match event {
        Event::Resolving { address, operation, seconds_left } => {
            let left = format!("absence counts in {seconds_left}s");
            format!("{}  looking up {} of an earlier run; {left}", clean(address.as_str()), clean(operation))
        }
        Event::Resolved { address, operation, carried_out } => {
            let answer = if *carried_out { "had been carried out" } else { "had not been carried out" };
            format!("{}  {} {answer}", clean(address.as_str()), clean(operation))
        }
        Event::Started { address, kind, step } => format!("{}  {} …", object(address, kind), word(*step)),
        Event::Finished { address, kind, step, id, seconds } => {
            let word = style.paint(Look::Green, if *step == StepName::Wait { "ready" } else { word(*step) });
            format!("{}  {word}  {}  {}", object(address, kind), clean(id), duration(*seconds))
        }
        Event::Waiting { address, kind, state, seconds, usually_seconds } => {
            let times = format!("{} of usually {}", duration(*seconds), duration(*usually_seconds));
            format!("{}  {}  {times}", object(address, kind), style.paint(Look::Yellow, clean(state)))
        }
        Event::Repeating { address, operation, code, message, seconds } => {
            let why = if message.is_empty() { clean(code) } else { clean(&format!("{code}: {message}")) };
            let again = format!("again in {}", duration(*seconds));
            format!("{}  {} refused: {why}; {again}", clean(address.as_str()), clean(operation))
        }
        Event::Failed { address, kind, reason } => {
            format!("{}  {}: {}", object(address, kind), style.paint(Look::Red, "failed"), clean(reason))
        }
        Event::Stopping => style.paint(Look::Yellow, "stopping: nothing new is started"),
    }
}

fn word(step: StepName) -> &'static str {
    match step {
        StepName::Create => "create",
        StepName::Configure => "configure",
        StepName::Wait => "wait",
        StepName::Delete => "delete",
        StepName::Drain => "drain",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::printer::{Captured, PrinterSettings};

    fn events() -> Vec<Event> {
        let address = Address("EksCluster/x/vpc/vpc".into());
        let kind = "VPC".to_owned();
        vec![
            Event::Resolving { address: address.clone(), operation: "CreateVpc".into(), seconds_left: 42 },
            Event::Resolved { address: address.clone(), operation: "CreateVpc".into(), carried_out: false },
            Event::Started { address: address.clone(), kind: kind.clone(), step: StepName::Create },
            Event::Repeating {
                address: address.clone(),
                operation: "CreateVpc".into(),
                code: "RequestLimitExceeded".into(),
                message: "slow down".into(),
                seconds: 1.5,
            },
            Event::Finished {
                address: address.clone(),
                kind: kind.clone(),
                step: StepName::Create,
                id: "vpc-0ab".into(),
                seconds: 0.42,
            },
            Event::Waiting {
                address: address.clone(),
                kind: kind.clone(),
                state: "pending".into(),
                seconds: 61.0,
                usually_seconds: 95.0,
            },
            Event::Failed { address, kind, reason: "VpcLimitExceeded: too\nmany".into() },
            Event::Stopping,
        ]
    }

    #[test]
    fn each_event_is_one_line() {
        let lines: Vec<_> = events().iter().map(|event| line(event, Duration::from_millis(12_340), Style::new(false))).collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        12.3s  EksCluster/x/vpc/vpc  looking up CreateVpc of an earlier run; absence counts in 42s
        12.3s  EksCluster/x/vpc/vpc  CreateVpc had not been carried out
        12.3s  EksCluster/x/vpc/vpc  VPC  create …
        12.3s  EksCluster/x/vpc/vpc  CreateVpc refused: RequestLimitExceeded: slow down; again in 1.5s
        12.3s  EksCluster/x/vpc/vpc  VPC  create  vpc-0ab  0.4s
        12.3s  EksCluster/x/vpc/vpc  VPC  pending  1m 1s of usually 1m 35s
        12.3s  EksCluster/x/vpc/vpc  VPC  failed: VpcLimitExceeded: too many
        12.3s  stopping: nothing new is started
        ");
    }

    #[test]
    fn quiet_shows_failures() {
        let (printer, _, error) = Captured::printer(PrinterSettings { quiet: true, ..PrinterSettings::PLAIN });
        let progress = Progress::new(&printer).events();
        for event in events() {
            progress.say(event);
        }
        assert_eq!(error.text().lines().count(), 1);
        assert!(error.text().contains("VpcLimitExceeded"), "{}", error.text());
    }

    #[test]
    fn programs_get_one_object_a_line() {
        let settings = PrinterSettings { format: crate::cli::arguments::OutputFormat::Json, ..PrinterSettings::PLAIN };
        let (printer, out, error) = Captured::printer(settings);
        let progress = Progress::new(&printer).events();
        for event in events() {
            progress.say(event);
        }
        let without_time = regex::Regex::new(r#","at":"[^"]+""#).unwrap().replace_all(&out.text(), "").into_owned();
        insta::assert_snapshot!(without_time, @r#"
        {"event":"resolving","address":"EksCluster/x/vpc/vpc","operation":"CreateVpc","secondsLeft":42}
        {"event":"resolved","address":"EksCluster/x/vpc/vpc","operation":"CreateVpc","carriedOut":false}
        {"event":"started","address":"EksCluster/x/vpc/vpc","kind":"VPC","step":"create"}
        {"event":"repeating","address":"EksCluster/x/vpc/vpc","operation":"CreateVpc","code":"RequestLimitExceeded","message":"slow down","seconds":1.5}
        {"event":"finished","address":"EksCluster/x/vpc/vpc","kind":"VPC","step":"create","id":"vpc-0ab","seconds":0.42}
        {"event":"waiting","address":"EksCluster/x/vpc/vpc","kind":"VPC","state":"pending","seconds":61.0,"usuallySeconds":95.0}
        {"event":"failed","address":"EksCluster/x/vpc/vpc","kind":"VPC","reason":"VpcLimitExceeded: too\nmany"}
        {"event":"stopping"}
        "#);
        assert_eq!(error.text(), "");
    }
}
