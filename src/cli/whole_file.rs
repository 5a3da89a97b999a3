//! Files that are written whole or not at all.

use std::io::{self, Write as _};
use std::path::Path;

/// Puts a file with this text in the place of another, with mode 0600. Readers see the one or the other. What is no file, such
/// as a device or a pipe, is refused: it would be gone.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    check(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The mode of temporary files is 0600.
    let mut unfinished = tempfile::Builder::new().prefix(".fleetctl-").tempfile_in(folder)?;
    unfinished.write_all(text.as_bytes())?;
    unfinished.as_file().sync_all()?;
    unfinished.persist(path)?;
    Ok(())
}

/// Whether a file may stand there: what is there is one, or nothing is.
pub(super) fn check(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(found) if !found.is_file() => Err(io::Error::other("it is not a regular file")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        replace(&file, "a").unwrap();
        replace(&file, "b").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "b");
        for other in [folder.path(), Path::new("/dev/null")] {
            assert_eq!(replace(other, "a").unwrap_err().to_string(), "it is not a regular file");
        }
    }
}
