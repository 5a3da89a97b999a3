//! How long a command takes, and how much memory.

use super::World;
use super::world::Ended;
use std::fmt;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How often the memory of a running command is read.
const SAMPLE: Duration = Duration::from_millis(5);

/// A command that has ended well.
#[derive(Debug)]
pub(crate) struct Measured {
    pub seconds: f64,
    pub memory: Memory,
}

/// What Linux counts of a process, in KiB. The peak is the kernel's own; the parts are those of the largest sample.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Memory {
    peak: u64,
    resident: u64,
    anonymous: u64,
    file: u64,
    threads: u64,
}

impl fmt::Display for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.peak == 0 {
            return formatter.write_str("memory is not measured on this system");
        }
        let bytes = self.peak * 1024;
        write!(
            formatter,
            "peak memory {}.{} MB (anonymous {} KiB, pages of files {} KiB), {} threads",
            bytes / 1_000_000,
            bytes % 1_000_000 / 100_000,
            self.anonymous,
            self.file,
            self.threads
        )
    }
}

/// Runs a command to its good end.
pub(crate) fn measured(world: &World, arguments: &[&str]) -> Measured {
    let started = Instant::now();
    let child = world.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let ending = std::thread::spawn(move || (child.wait_with_output().unwrap(), started.elapsed()));
    let mut memory = Memory::default();
    while !ending.is_finished() {
        if let Ok(text) = std::fs::read_to_string(&status) {
            memory.note(&text);
        }
        std::thread::sleep(SAMPLE);
    }
    let (output, took) = ending.join().unwrap();
    Ended::of(output).expect(0);
    Measured { seconds: took.as_secs_f64(), memory }
}

impl Memory {
    fn note(&mut self, status: &str) {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
        };
        self.peak = self.peak.max(field("VmHWM"));
        if field("VmRSS") > self.resident {
            self.resident = field("VmRSS");
            self.anonymous = field("RssAnon");
            self.file = field("RssFile");
        }
        self.threads = self.threads.max(field("Threads"));
    }
}

/// How long `--help` takes, and how large the program is.
pub(crate) fn start_of_help(world: &World) -> String {
    const TIMES: usize = 21;
    let mut took: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let started = Instant::now();
            world.fleetctl(&["--help"]).expect(0);
            started.elapsed()
        })
        .collect();
    took.sort_unstable();
    let bytes = std::fs::metadata(world.command(&[]).get_program()).unwrap().len();
    let median = took[TIMES / 2].as_secs_f64() * 1000.0;
    format!("--help in {median:.1} ms (median of {TIMES}); the program has {} MB", bytes / 1_000_000)
}
