//! The log, on standard error: off unless `-v` or `FLEETCTL_LOG` asks for it.

use super::environment::{self, Environment};
use super::error::CliError;
use std::io::IsTerminal;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, FilterFn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// Turns the log on as far as it is asked for.
pub fn start(verbosity: u8, colored: bool, environment: &Environment) -> Result<(), CliError> {
    let directives = match (environment.get(environment::LOG), verbosity) {
        (Some(directives), _) => directives,
        (None, 0) => return Ok(()),
        (None, 1) => "fleetctl=info",
        (None, _) => "debug",
    };
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::OFF.into())
        .parse(directives)
        .map_err(|error| CliError::Usage(format!("{} cannot be read: {error}", environment::LOG)))?;
    let layer = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(colored && std::io::stderr().is_terminal())
        .with_filter(FilterFn::new(is_harmless));
    // A second start, as in tests, leaves the first one's log.
    let _ = tracing_subscriber::registry().with(filter).with(layer).try_init();
    Ok(())
}

/// At the level `trace` the libraries below us print requests and replies, and with them session credentials and tokens.
fn is_harmless(metadata: &Metadata<'_>) -> bool {
    is_harmless_at(*metadata.level(), metadata.target())
}

fn is_harmless_at(level: Level, target: &str) -> bool {
    level < Level::TRACE || target == "fleetctl" || target.starts_with("fleetctl::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_never_log_at_trace() {
        assert!(!is_harmless_at(Level::TRACE, "aws_smithy_runtime::client::orchestrator"));
        assert!(is_harmless_at(Level::DEBUG, "aws_smithy_runtime::client::orchestrator"));
        assert!(is_harmless_at(Level::TRACE, "fleetctl::engine::run"));
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_a_usage_error() {
        let environment = Environment::of(&[("FLEETCTL_LOG", "fleetctl=loud")]);
        assert_eq!(start(0, false, &environment).unwrap_err().exit_code(), 4);
    }
}
