//! Colours and other ways to set words apart. Everything can be read without them.

/// Sets words apart, or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    enabled: bool,
}

/// How a word is set apart. Each has one meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A heading.
    Bold,
    /// Less important.
    Dim,
    /// Made, done.
    Green,
    /// Changed, waited for.
    Yellow,
    /// Removed, failed, refused.
    Red,
    /// A hint, a command.
    Cyan,
}

impl Style {
    /// With colours or without.
    pub fn new(enabled: bool) -> Self {
        Self { enabled }
    }

    /// The text, set apart.
    pub fn paint(self, look: Look, text: impl AsRef<str>) -> String {
        let text = text.as_ref();
        if !self.enabled || text.is_empty() {
            return text.to_owned();
        }
        let code = match look {
            Look::Bold => 1,
            Look::Dim => 2,
            Look::Green => 32,
            Look::Yellow => 33,
            Look::Red => 31,
            Look::Cyan => 36,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// The text without control characters, so that nothing that AWS or a document says can move the cursor.
pub fn clean(text: &str) -> String {
    text.chars().map(|letter| if misleads(letter) { '\u{fffd}' } else { letter }).collect()
}

/// Whether a character makes text look other than it is: control characters, those that turn its direction, and those that
/// are not seen.
fn misleads(letter: char) -> bool {
    let is_hidden = matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    is_hidden || letter.is_control() && letter != '\n'
}

/// `1 object`, `2 objects`.
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// `0.4s`, `42s`, `3m 20s`, `1h 5m`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded, and not negative")]
pub fn duration(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{:.1}s", seconds.max(0.0));
    }
    match seconds.round() as u64 {
        whole @ ..60 => format!("{whole}s"),
        whole @ 60..3600 => format!("{}m {}s", whole / 60, whole % 60),
        whole => format!("{}h {}m", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let texts: Vec<_> = [0.04, 0.42, 9.96, 42.4, 59.6, 200.0, 3900.0].into_iter().map(duration).collect();
        assert_eq!(texts, ["0.0s", "0.4s", "10.0s", "42s", "1m 0s", "3m 20s", "1h 5m"]);
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(clean("a\u{1b}[31mb\nc"), "a\u{fffd}[31mb\nc");
    }

    #[test]
    fn without_colour_text_is_as_it_is() {
        assert_eq!(Style::new(false).paint(Look::Red, "x"), "x");
        assert_eq!(Style::new(true).paint(Look::Red, "x"), "\u{1b}[31mx\u{1b}[0m");
    }
}
