//! The only code that writes to the terminal. Results go to standard output, everything else to standard error. A reader
//! that goes away (`fleetctl plan … | head`) silences its stream; the command goes on, and what changes something stops as
//! at a first Ctrl-C ([`Printer::unread`]).

use super::arguments::{ColorChoice, OutputFormat};
use super::fit;
use super::screen::Screen;
use super::style::Style;
use console::Term;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Writes. Cheap to clone.
#[derive(Clone)]
pub struct Printer(Arc<Inner>);

struct Inner {
    settings: PrinterSettings,
    out: Mutex<Stream>,
    error: Mutex<Stream>,
    screen: Mutex<Screen>,
    /// The cursor stands behind a question.
    is_asking: AtomicBool,
    /// Somebody who read one of the streams went away.
    unread: watch::Sender<bool>,
}

/// What the printer is told once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrinterSettings {
    /// Form of the results.
    pub format: OutputFormat,
    /// No notes.
    pub quiet: bool,
    /// How often `-v` was given.
    pub verbosity: u8,
    /// Whether standard output is coloured.
    pub color_out: bool,
    /// Whether standard error is coloured.
    pub color_error: bool,
    /// How wide the terminal is that standard output is, if it is one.
    pub columns: Option<usize>,
}

impl PrinterSettings {
    /// Plain text, everything said.
    pub const PLAIN: Self =
        Self { format: OutputFormat::Text, quiet: false, verbosity: 0, color_out: false, color_error: false, columns: None };

    /// Whether to colour, for both streams, and how wide they are.
    #[must_use]
    pub fn colored(self, choice: ColorChoice, no_color: bool) -> Self {
        let on = |is_terminal: bool| match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !no_color,
        };
        let columns = Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
        let (out, error) = (std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
        Self { color_out: on(out), color_error: on(error), columns: columns.filter(|_| out), ..self }
    }
}

/// `EIO`: what Linux, macOS and the BSDs answer whoever writes to a terminal that was closed.
const CLOSED_TERMINAL: i32 = 5;

/// A stream; `None` once nothing can be written any more.
struct Stream {
    to: Option<Box<dyn Write + Send>>,
    /// Why not, unless the reader went away.
    lost: Option<std::io::Error>,
}

impl Stream {
    fn new(to: Option<Box<dyn Write + Send>>) -> Mutex<Self> {
        Mutex::new(Self { to, lost: None })
    }

    /// Whether it could be written, or nothing could be written before already.
    #[must_use]
    fn write(&mut self, text: &str) -> bool {
        let Some(stream) = &mut self.to else { return true };
        let Err(error) = stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) else { return true };
        self.to = None;
        self.lost = Some(error).filter(|error| error.kind() != std::io::ErrorKind::BrokenPipe);
        false
    }
}

impl Printer {
    /// Writes to the process's own streams.
    pub fn new(settings: PrinterSettings) -> Self {
        Self::to(settings, Box::new(std::io::stdout()), Box::new(std::io::stderr()))
    }

    /// Writes to these streams.
    pub fn to(settings: PrinterSettings, out: Box<dyn Write + Send>, error: Box<dyn Write + Send>) -> Self {
        Self::of(settings, Stream::new(Some(out)), Stream::new(Some(error)))
    }

    fn of(settings: PrinterSettings, out: Mutex<Stream>, error: Mutex<Stream>) -> Self {
        let screen = Mutex::new(Screen::on_standard_error());
        let (is_asking, unread) = (AtomicBool::new(false), watch::Sender::new(false));
        Self(Arc::new(Inner { settings, out, error, screen, is_asking, unread }))
    }

    /// The same streams with other settings.
    #[must_use]
    pub fn with(&self, settings: PrinterSettings) -> Self {
        let take = |stream: &Mutex<Stream>| Stream::new(lock(stream).to.take());
        Self::of(settings, take(&self.0.out), take(&self.0.error))
    }

    /// Why results were lost, if they were; a reader that went away is no loss, nor is a terminal that was closed.
    pub fn lost_results(&self) -> Option<String> {
        let was_terminal = self.0.settings.columns.is_some();
        let out = lock(&self.0.out);
        let lost = out.lost.as_ref().filter(|error| !(was_terminal && error.raw_os_error() == Some(CLOSED_TERMINAL)));
        lost.map(|error| format!("the results could not be written: {error}"))
    }

    /// What it was told.
    pub fn settings(&self) -> PrinterSettings {
        self.0.settings
    }

    /// Whether results are for programs.
    pub fn is_json(&self) -> bool {
        self.0.settings.format == OutputFormat::Json
    }

    /// How text on standard output is styled.
    pub fn style(&self) -> Style {
        Style::new(self.0.settings.color_out)
    }

    /// How text on standard error is styled.
    pub fn error_style(&self) -> Style {
        Style::new(self.0.settings.color_error)
    }

    /// A result, on standard output.
    pub fn result(&self, text: &str) {
        self.write_line(&self.0.out, text);
    }

    /// A result for people: on a terminal, lines that are too wide are wrapped.
    pub fn text(&self, text: &str) {
        match self.0.settings.columns {
            Some(columns) => self.result(&fit::wrap(text, columns)),
            None => self.result(text),
        }
    }

    /// A result as one JSON object over several lines.
    pub fn json(&self, value: &impl Serialize) {
        self.result(&serde_json::to_string_pretty(value).unwrap_or_else(|error| error.to_string()));
    }

    /// A JSON object on one line.
    pub fn json_line(&self, value: &impl Serialize) {
        self.result(&serde_json::to_string(value).unwrap_or_else(|error| error.to_string()));
    }

    /// Something beside the results, on standard error; not when quiet.
    pub fn note(&self, text: &str) {
        if !self.0.settings.quiet {
            self.failure(text);
        }
    }

    /// Something that has to be said, on standard error.
    pub fn failure(&self, text: &str) {
        self.write_line(&self.0.error, text);
    }

    /// From now on lines may be drawn at the bottom of the terminal that standard error is.
    pub(super) fn open_screen(&self) {
        lock(&self.0.screen).open();
    }

    /// Takes away what is drawn; from now on nothing is.
    pub(super) fn close_screen(&self) {
        lock(&self.0.screen).close();
    }

    /// Draws lines at the bottom of the terminal, in the place of those before. What is printed goes above them.
    pub(super) fn draw(&self, lines: Vec<String>) {
        lock(&self.0.screen).draw(lines);
    }

    /// Rows and columns of the terminal that standard error is.
    pub(super) fn screen_size(&self) -> (usize, usize) {
        lock(&self.0.screen).size()
    }

    fn write_line(&self, stream: &Mutex<Stream>, text: &str) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        if self.0.is_asking.swap(false, Ordering::SeqCst) {
            self.write(&self.0.error, "\n");
        }
        lock(&self.0.screen).above(|| self.write(stream, &format!("{text}{end}")));
    }

    fn write(&self, stream: &Mutex<Stream>, text: &str) {
        if !lock(stream).write(text) {
            self.0.unread.send_replace(true);
        }
    }

    /// Returns when something could not be written, because its reader went away or the terminal was closed.
    pub(super) async fn unread(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.0.unread.subscribe().wait_for(|unread| *unread).await;
    }

    /// A question: like [`Printer::failure`], wrapped, and the cursor stays on the line.
    pub fn question(&self, text: &str) {
        let text = fit::question(text, self.screen_size().1);
        self.write(&self.0.error, &text);
        self.0.is_asking.store(true, Ordering::SeqCst);
    }

    /// The question has been answered, and the cursor stands on a line of its own.
    pub fn answered(&self) {
        self.0.is_asking.store(false, Ordering::SeqCst);
    }
}

impl std::fmt::Debug for Printer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Printer").field(&self.0.settings).finish()
    }
}

/// A panic while writing leaves nothing half-done that would matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory that takes what is printed, for tests.
#[cfg(test)]
#[derive(Debug, Clone, Default)]
pub(crate) struct Captured(Arc<Mutex<Vec<u8>>>);

#[cfg(test)]
impl Captured {
    /// A printer into two of these: standard output and standard error.
    pub(crate) fn printer(settings: PrinterSettings) -> (Printer, Self, Self) {
        let (out, error) = (Self::default(), Self::default());
        (Printer::to(settings, Box::new(out.clone()), Box::new(error.clone())), out, error)
    }

    /// What was printed so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[cfg(test)]
impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    struct Failing(std::io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _bytes: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn results_and_notes_go_to_streams_of_their_own() {
        let (printer, out, error) = Captured::printer(PrinterSettings::PLAIN);
        printer.result("a");
        printer.note("b\n");
        printer.failure("c");
        assert_eq!((out.text().as_str(), error.text().as_str()), ("a\n", "b\nc\n"));
    }

    #[test]
    fn quiet_leaves_failures() {
        let (printer, out, error) = Captured::printer(PrinterSettings { quiet: true, ..PrinterSettings::PLAIN });
        printer.note("note");
        printer.failure("failure");
        assert_eq!((out.text().as_str(), error.text().as_str()), ("", "failure\n"));
    }

    #[test]
    fn a_broken_pipe_silences_its_stream() {
        let error = Captured::default();
        let closed = Box::new(Failing(std::io::ErrorKind::BrokenPipe));
        let printer = Printer::to(PrinterSettings::PLAIN, closed, Box::new(error.clone()));
        printer.result("lost");
        printer.result("lost too");
        printer.note("kept");
        assert_eq!((error.text().as_str(), printer.lost_results()), ("kept\n", None));
        assert!(printer.unread().now_or_never().is_some());
    }

    #[test]
    fn what_is_read_is_not_unread() {
        let (printer, ..) = Captured::printer(PrinterSettings::PLAIN);
        printer.result("a");
        assert!(printer.unread().now_or_never().is_none());
    }

    #[test]
    fn a_full_disk_is_a_loss() {
        let full = Box::new(Failing(std::io::ErrorKind::StorageFull));
        let printer = Printer::to(PrinterSettings::PLAIN, full, Box::new(Captured::default()));
        printer.result("lost");
        assert_eq!(printer.lost_results().unwrap(), "the results could not be written: no storage space");
    }
}
