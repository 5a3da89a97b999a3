//! Progress: a reader of the engine's events. On a terminal the waits are shown as they go on; elsewhere each event is
//! one line; for programs each event is one JSON object on standard output.

use super::printer::Printer;
use super::style::{Look, Style, clean, duration};
use super::view::Model;
use super::view::frame::{Size, about, frame};
use crate::engine::events::{Event, Events, StepName};
use crate::graph::identity::Address;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::{Duration, Instant};
use tracing::level_filters::LevelFilter;

/// How often what goes on is drawn anew.
const REDRAW: Duration = Duration::from_millis(200);
/// In lines, the expected end is said again when it has moved by more than this, seconds, and by a fifth of what is left.
const MOVED: f64 = 30.0;

/// Shows events. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Progress(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    form: Form,
    printer: Printer,
    start: Mutex<Instant>,
    /// The thread that draws is started once.
    drawer: Once,
}

#[derive(Debug)]
enum Form {
    /// One JSON object a line.
    Json,
    /// One line an event; of each instance, when its end was last expected.
    Lines(Mutex<HashMap<Address, f64>>),
    /// Failures only.
    Quiet,
    /// A terminal: what is over scrolls away above, what goes on stands below.
    Terminal(Mutex<Model>),
}

impl Progress {
    /// Progress in the form that fits where it goes.
    pub fn new(printer: &Printer) -> Self {
        let settings = printer.settings();
        let form = if printer.is_json() {
            Form::Json
        } else if settings.quiet {
            Form::Quiet
        } else if can_redraw() && settings.verbosity == 0 {
            Form::Terminal(Mutex::default())
        } else {
            Form::Lines(Mutex::default())
        };
        Self(Arc::new(Inner { form, printer: printer.clone(), start: Mutex::new(Instant::now()), drawer: Once::new() }))
    }

    /// Where the engine is to send its events.
    pub fn events(&self) -> Events {
        let progress = self.clone();
        Events::to(move |event| progress.show(&event))
    }

    /// From now on something is looked up before a run: on a terminal it says so.
    pub fn look(&self) {
        self.open();
    }

    /// From now on things are changed, and time is counted anew: an answer may have been waited for.
    pub fn restart(&self) {
        *lock(&self.0.start) = Instant::now();
        if let Form::Terminal(model) = &self.0.form {
            lock(model).begin();
        }
        self.open();
    }

    fn elapsed(&self) -> f64 {
        lock(&self.0.start).elapsed().as_secs_f64()
    }

    /// Says something beside the events.
    pub fn note(&self, text: &str) {
        self.0.printer.note(text);
    }

    /// Takes away what is drawn over and over.
    pub fn finish(&self) {
        self.0.printer.close_screen();
    }

    fn open(&self) {
        let Form::Terminal(_) = &self.0.form else { return };
        self.0.printer.open_screen();
        let progress = Arc::downgrade(&self.0);
        self.0.drawer.call_once(|| drop(std::thread::spawn(move || draw_again(&progress))));
    }

    fn draw(&self) {
        let Form::Terminal(model) = &self.0.form else { return };
        let (rows, columns) = self.0.printer.screen_size();
        let lines = frame(&lock(model), self.elapsed(), Size { rows, columns }, self.0.printer.error_style());
        self.0.printer.draw(lines);
    }

    fn show(&self, event: &Event) {
        let (printer, style) = (&self.0.printer, self.0.printer.error_style());
        let line = || line(event, self.elapsed(), style);
        match &self.0.form {
            Form::Json => printer.json_line(&json_line(event)),
            Form::Quiet if matches!(event, Event::Failed { .. }) => printer.failure(&line()),
            Form::Quiet => {}
            // Said where the signal was heard.
            Form::Lines(_) if *event == Event::Stopping => {}
            Form::Lines(ends) if !is_news(event, &mut lock(ends), self.elapsed()) => {}
            Form::Lines(_) => printer.failure(&line()),
            Form::Terminal(model) => {
                let now = self.elapsed();
                let kept = lock(model).hear(event, now);
                if let Some(kept) = kept {
                    printer.failure(&kept.render(printer.screen_size().1, now, style));
                }
            }
        }
    }
}

/// Draws until nobody holds the progress any more.
fn draw_again(progress: &Weak<Inner>) {
    while let Some(inner) = progress.upgrade() {
        Progress(inner).draw();
        std::thread::sleep(REDRAW);
    }
}

/// Whether lines can be drawn over and over: on a terminal that can move its cursor, and where no log breaks in.
fn can_redraw() -> bool {
    let has_log = LevelFilter::current() != LevelFilter::OFF;
    std::io::stderr().is_terminal() && !console::is_dumb() && !has_log
}

/// Whether an event is worth a line: the outlook is if it is the first one or the end has moved a good deal.
fn is_news(event: &Event, ends: &mut HashMap<Address, f64>, now: f64) -> bool {
    let Event::Progress { instance, seconds_left, waits_for, .. } = event else { return true };
    let end = now + seconds_left;
    let moved = ends.get(instance).is_none_or(|said| (end - said).abs() > MOVED.max(seconds_left / 5.0));
    if moved && waits_for.is_some() {
        ends.insert(instance.clone(), end);
    }
    moved && waits_for.is_some()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
fn line(event: &Event, elapsed: f64, style: Style) -> String {
    let when = style.paint(Look::Dim, format!("{elapsed:>7.1}s"));
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
            let answer = answer(*carried_out);
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
        Event::Progress { instance, objects, done, seconds_left, measured, .. } => {
            let basis = if *measured { "as in earlier runs" } else { "typical of AWS, not measured here yet" };
            let left = about(*seconds_left);
            format!("{}  {done} of {objects} done, about {left} to go ({basis})", clean(instance.as_str()))
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

/// What was found out about a call without an end.
pub(super) fn answer(carried_out: Option<bool>) -> &'static str {
    match carried_out {
        Some(true) => "had been carried out",
        Some(false) => "had not been carried out",
        None => "may have been carried out: its object is looked at again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::printer::{Captured, PrinterSettings};

    fn progress(done: usize, seconds_left: f64) -> Event {
        let (instance, waits_for) = (Address::root("EksCluster", "x"), Some(Address("EksCluster/x/vpc/vpc".into())));
        Event::Progress { instance, objects: 22, done, failed: 0, seconds_left, measured: false, waits_for }
    }

    fn events() -> Vec<Event> {
        let address = Address("EksCluster/x/vpc/vpc".into());
        let kind = "VPC".to_owned();
        vec![
            Event::Resolving { address: address.clone(), operation: "CreateVpc".into(), seconds_left: 42 },
            Event::Resolved { address: address.clone(), operation: "CreateVpc".into(), carried_out: Some(false) },
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
            progress(3, 600.0),
            Event::Failed { address, kind, reason: "VpcLimitExceeded: too\nmany".into() },
            Event::Stopping,
        ]
    }

    #[test]
    fn each_event_is_one_line() {
        let lines: Vec<_> = events().iter().map(|event| line(event, 12.34, Style::new(false))).collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        12.3s  EksCluster/x/vpc/vpc  looking up CreateVpc of an earlier run; absence counts in 42s
        12.3s  EksCluster/x/vpc/vpc  CreateVpc had not been carried out
        12.3s  EksCluster/x/vpc/vpc  VPC  create …
        12.3s  EksCluster/x/vpc/vpc  CreateVpc refused: RequestLimitExceeded: slow down; again in 1.5s
        12.3s  EksCluster/x/vpc/vpc  VPC  create  vpc-0ab  0.4s
        12.3s  EksCluster/x/vpc/vpc  VPC  pending  1m 1s of usually 1m 35s
        12.3s  EksCluster/x  3 of 22 done, about 10m to go (typical of AWS, not measured here yet)
        12.3s  EksCluster/x/vpc/vpc  VPC  failed: VpcLimitExceeded: too many
        12.3s  stopping: nothing new is started
        ");
    }

    #[test]
    fn in_lines_the_expected_end_is_said_again_when_it_has_moved_a_good_deal() {
        let mut ends = HashMap::new();
        let said = [(0.0, 600.0), (10.0, 590.0), (20.0, 550.0), (30.0, 300.0), (300.0, 31.0)];
        let news: Vec<_> = said.map(|(now, left)| is_news(&progress(3, left), &mut ends, now)).into_iter().collect();
        assert_eq!(news, [true, false, false, true, false]);
    }

    #[test]
    fn of_a_change_nobody_says_what_nobody_asked() {
        let address = Address("EksCluster/x/argocdSecret".into());
        let event = Event::Resolved { address, operation: "UpdateCluster".into(), carried_out: None };
        let line = line(&event, 0.0, Style::new(false));
        assert!(line.ends_with("UpdateCluster may have been carried out: its object is looked at again"), "{line}");
        assert_eq!(json_line(&event)["carriedOut"], Value::Null);
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
        {"event":"progress","instance":"EksCluster/x","objects":22,"done":3,"failed":0,"secondsLeft":600.0,"measured":false,"waitsFor":"EksCluster/x/vpc/vpc"}
        {"event":"failed","address":"EksCluster/x/vpc/vpc","kind":"VPC","reason":"VpcLimitExceeded: too\nmany"}
        {"event":"stopping"}
        "#);
        assert_eq!(error.text(), "");
    }
}
