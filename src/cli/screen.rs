//! The lines at the bottom of a terminal that are drawn over and over.

use super::fit;
use console::Term;

/// DECAWM: whether the terminal wraps lines.
const WRAP_OFF: &str = "\u{1b}[?7l";
const WRAP_ON: &str = "\u{1b}[?7h";

/// Lines that are drawn over and over. Closed at first: then nothing is drawn.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: Term,
    is_open: bool,
    drawn: Vec<String>,
    columns: u16,
}

impl Screen {
    /// On standard error. Nothing is drawn before it is opened.
    pub(super) fn on_standard_error() -> Self {
        Self { terminal: Term::buffered_stderr(), is_open: false, drawn: Vec::new(), columns: 0 }
    }

    /// Rows and columns, as they are now.
    pub(super) fn size(&self) -> (usize, usize) {
        let (rows, columns) = self.terminal.size();
        (usize::from(rows), usize::from(columns))
    }

    /// From now on something may be drawn.
    pub(super) fn open(&mut self) {
        self.is_open = true;
    }

    /// Takes away what is drawn; from now on nothing is.
    pub(super) fn close(&mut self) {
        self.erase();
        self.flush();
        self.is_open = false;
    }

    /// Draws these lines in the place of those before.
    pub(super) fn draw(&mut self, lines: Vec<String>) {
        let columns = self.terminal.size().1;
        if !self.is_open || (self.drawn == lines && self.columns == columns) {
            return;
        }
        self.erase();
        self.columns = columns;
        self.drawn = lines;
        self.redraw();
    }

    /// Has `write` write above the lines.
    pub(super) fn above(&mut self, write: impl FnOnce()) {
        if self.drawn.is_empty() {
            return write();
        }
        let lines = std::mem::take(&mut self.drawn);
        self.erase_rows(&lines);
        self.flush();
        write();
        self.drawn = lines;
        self.redraw();
    }

    fn erase(&mut self) {
        let lines = std::mem::take(&mut self.drawn);
        self.erase_rows(&lines);
    }

    /// A terminal that has become narrower has wrapped what was drawn.
    fn erase_rows(&self, lines: &[String]) {
        let columns = usize::from(self.terminal.size().1).max(1);
        let rows: usize = lines.iter().map(|line| fit::width(line).div_ceil(columns).max(1)).sum();
        if rows == 0 {
            return;
        }
        // A terminal that is gone takes nothing, and nobody misses it.
        let _ = self.terminal.write_str("\r");
        let _ = self.terminal.move_cursor_up(rows);
        let _ = self.terminal.clear_to_end_of_screen();
    }

    fn redraw(&self) {
        // Between a resize and the news of it (tmux takes a quarter of a second) a line may be too wide: it is cut, so that
        // it takes one row all the same.
        let _ = self.terminal.write_str(WRAP_OFF);
        for line in &self.drawn {
            let _ = self.terminal.write_line(line);
        }
        let _ = self.terminal.write_str(WRAP_ON);
        self.flush();
    }

    fn flush(&self) {
        let _ = self.terminal.flush();
    }
}
