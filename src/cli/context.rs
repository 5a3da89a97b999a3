//! What every command is given.

use super::environment::Environment;
use super::printer::Printer;
use super::settings::Settings;
use super::signals::Signals;
use std::ffi::OsString;

/// What every command is given.
#[derive(Debug)]
pub struct Context {
    /// The settings in force.
    pub settings: Settings,
    /// Environment variables.
    pub environment: Environment,
    /// What writes.
    pub printer: Printer,
    /// The signals that come.
    pub signals: Signals,
    /// What was typed.
    pub command_line: CommandLine,
}

/// What was typed, without the program's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine(Vec<String>);

impl CommandLine {
    /// Of the process's arguments, the first of which is the program.
    pub fn of(arguments: &[OsString]) -> Self {
        Self(arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect())
    }

    /// With one word replaced by others.
    #[must_use]
    pub fn replacing(&self, word: &str, others: &[String]) -> Self {
        let replaced = |old: &String| if old == word { others.to_vec() } else { vec![old.clone()] };
        Self(self.0.iter().flat_map(replaced).collect())
    }

    /// With the first of these words replaced by others: the command, say.
    #[must_use]
    pub fn replacing_first(&self, word: &str, others: &[String]) -> Self {
        let mut words = self.0.clone();
        if let Some(at) = words.iter().position(|old| old == word) {
            words.splice(at..=at, others.iter().cloned());
        }
        Self(words)
    }

    /// With what has to be confirmed by name beside what it confirms already.
    #[must_use]
    pub fn confirming<'a>(&self, addresses: impl Iterator<Item = &'a str>) -> Self {
        let is_there = |address: &str| self.0.iter().any(|word| word.strip_prefix("--confirm=").unwrap_or(word) == address);
        let flags = addresses.filter(|address| !is_there(address));
        let flags = flags.flat_map(|address| ["--confirm".to_owned(), address.to_owned()]);
        // After `--` nothing is an option any more.
        let end = self.0.iter().position(|word| word == "--").unwrap_or(self.0.len());
        let (before, after) = self.0.split_at(end);
        Self(before.iter().cloned().chain(flags).chain(after.iter().cloned()).collect())
    }
}

impl std::fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("fleetctl")?;
        self.0.iter().try_for_each(|word| write!(formatter, " {}", quoted(word)))
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-".contains(c);
    if !word.is_empty() && word.chars().all(is_safe) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_typed_again() {
        let words = ["target/debug/fleetctl", "apply", "my cluster.yaml", "it's", "--yes"].map(OsString::from);
        let line = CommandLine::of(&words);
        assert_eq!(line.to_string(), r"fleetctl apply 'my cluster.yaml' 'it'\''s' --yes");
        let confirming = CommandLine::of(&["fleetctl", "apply", "--confirm", "A/b", "--", "c.yaml"].map(OsString::from));
        let confirming = confirming.confirming(["A/b", "C/d"].into_iter());
        assert_eq!(confirming.to_string(), "fleetctl apply --confirm A/b --confirm C/d -- c.yaml");
        let replaced = line.replacing("it's", &["a.yaml".into(), "b.yaml".into()]);
        assert_eq!(replaced.to_string(), "fleetctl apply 'my cluster.yaml' a.yaml b.yaml --yes");
    }
}
