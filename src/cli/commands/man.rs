//! `fleetctl man`.

use crate::cli::arguments::{Arguments, Man};
use crate::cli::blocking::blocking;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use clap::CommandFactory as _;
use std::io;
use std::path::Path;

/// Prints the page of the program, or writes one page a command.
pub(super) async fn run(context: &Context, arguments: &Man) -> Result<u8, CliError> {
    let Some(folder) = arguments.folder.clone() else {
        let page = page().map_err(|error| CliError::Output(format!("the page could not be made: {error}")))?;
        context.printer.result(&String::from_utf8_lossy(&page));
        return Ok(0);
    };
    let name = folder.display().to_string();
    let written = blocking(move || write_all(&folder)).await;
    written.map_err(|error| CliError::Output(format!("the pages could not be written to {name}: {error}")))?;
    context.printer.note(&format!("One page a command is in {name}. Read the first with: man {name}/fleetctl.1"));
    Ok(0)
}

fn page() -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Arguments::command().disable_help_subcommand(true)).render(&mut page)?;
    Ok(page)
}

fn write_all(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Arguments::command(), folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_for_every_command() {
        let folder = tempfile::tempdir().unwrap();
        write_all(folder.path()).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(read("fleetctl.1").contains("Exit codes"), "{}", read("fleetctl.1"));
        for command in Arguments::command().get_subcommands() {
            let about = command.get_about().unwrap().to_string();
            let page = read(&format!("fleetctl-{}.1", command.get_name())).replace('\\', "");
            assert!(page.contains(about.split(['`', '\'', '-']).next().unwrap()), "{about}: {page}");
        }
        assert!(read("fleetctl-config-show.1").contains("Show every setting"));
    }
}
