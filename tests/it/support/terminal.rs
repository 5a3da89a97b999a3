//! A terminal: the command runs on one, and what it writes there is carried out on a screen of our own.

use super::World;
use super::emulator::repository;
use std::process::Command;

/// What a command did on a terminal.
pub(crate) struct Session {
    pub code: Option<i32>,
    /// Everything that was written.
    pub written: String,
    /// What stands there in the end, what has scrolled away included.
    pub screen: String,
    /// Lines that were drawn over and over and were wider than the terminal.
    pub too_wide: Vec<String>,
}

/// Runs fleetctl on a terminal of a size; `environment` on top of the world's own.
pub(crate) fn on_terminal(
    world: &World,
    (rows, columns): (usize, usize),
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Session {
    let fleetctl = world.command(arguments);
    let mut command = Command::new("python3");
    command
        .arg(repository().join("tests/it/support/terminal.py"))
        .args([rows.to_string(), columns.to_string()])
        .arg(fleetctl.get_program())
        .args(fleetctl.get_args())
        .current_dir(world.folder.path())
        .env_clear()
        .envs(fleetctl.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("TERM", "xterm-256color")
        .envs(environment.iter().copied());
    let output = command.output().unwrap();
    let written = String::from_utf8(output.stdout).unwrap();
    let (screen, too_wide) = carried_out(&written, columns);
    Session { code: output.status.code(), written, screen, too_wide }
}

/// Carries out what fleetctl writes: text, line ends, cursor up, clear to the end; colours and modes are passed over.
fn carried_out(written: &str, columns: usize) -> (String, Vec<String>) {
    let mut lines: Vec<Vec<char>> = vec![Vec::new()];
    let mut too_wide = Vec::new();
    let (mut row, mut column) = (0, 0);
    // The terminal is told not to wrap what is drawn over and over.
    let mut is_drawn = false;
    let mut characters = written.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                if row == lines.len() {
                    lines.push(Vec::new());
                }
            }
            '\u{1b}' => {
                assert_eq!(characters.next(), Some('['), "only control sequences");
                let mut parameters = String::new();
                let command = loop {
                    match characters.next().unwrap() {
                        other if other.is_ascii_alphabetic() => break other,
                        other => parameters.push(other),
                    }
                };
                match command {
                    'A' => row -= parameters.parse::<usize>().unwrap(),
                    'J' => {
                        lines.truncate(row + 1);
                        lines[row].truncate(column);
                    }
                    'm' => {}
                    'l' | 'h' => {
                        assert_eq!(parameters, "?7", "no mode but that");
                        is_drawn = command == 'l';
                    }
                    other => panic!("nobody expects the control sequence {parameters}{other}"),
                }
            }
            other => {
                let line = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = other;
                column += 1;
                if is_drawn && column == columns {
                    too_wide.push(line.iter().collect());
                }
            }
        }
    }
    (lines.into_iter().map(|line| line.into_iter().collect::<String>()).collect::<Vec<_>>().join("\n"), too_wide)
}
