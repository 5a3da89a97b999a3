//! fleetctl: arguments → settings → command → exit code. Everything is in the library.

use std::io::Write;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(report_panic));
    let arguments: Vec<_> = std::env::args_os().collect();
    let code = std::panic::catch_unwind(|| fleetctl::cli::main(&arguments));
    ExitCode::from(code.unwrap_or(1))
}

/// One line, and no secrets: a message that was put together at run time may hold anything, so only its place is shown.
fn report_panic(panic: &PanicHookInfo<'_>) {
    let message = panic.payload().downcast_ref::<&str>().unwrap_or(&"unexpected condition");
    let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    // If standard error is gone there is nobody to tell.
    let _ = writeln!(
        std::io::stderr(),
        "fleetctl {version}: internal error{place}: {message}. This is a bug: please report it with this line and the command; \
         what is recorded in the state is intact."
    );
}
