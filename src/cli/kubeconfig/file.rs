//! Where the kubeconfig is, and how it is replaced as a whole.

use crate::cli::environment::{self, Environment};
use crate::cli::error::CliError;
use crate::cli::whole_file;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// How often, and how long, another program that writes the file is waited for.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// The file that kubectl would write to: of several in KUBECONFIG the first that is there, else the last.
pub(in crate::cli) fn place(flag: Option<&Path>, environment: &Environment) -> Result<PathBuf, CliError> {
    if let Some(path) = flag {
        return Ok(path.to_owned());
    }
    let listed: Vec<PathBuf> =
        environment.get(environment::KUBECONFIG).map(std::env::split_paths).into_iter().flatten().collect();
    let listed: Vec<PathBuf> = listed.into_iter().filter(|path| !path.as_os_str().is_empty()).collect();
    if let Some(path) = listed.iter().find(|path| path.exists()).or(listed.last()) {
        return Ok(path.clone());
    }
    let home = environment.get(environment::HOME).ok_or_else(|| {
        CliError::Usage(
            "there is no home folder to look for a kubeconfig in: set KUBECONFIG or HOME, or give --kubeconfig".into(),
        )
    })?;
    Ok(Path::new(home).join(".kube/config"))
}

/// Replaces the file by what `change` makes of its text: whole or not at all, mode 0600, and not while kubectl writes it.
/// Where it is a link, the file that it leads to is replaced. `None` leaves it as it is.
pub(in crate::cli) fn update(path: &Path, change: impl FnOnce(&str) -> Result<Option<String>, CliError>) -> Result<(), CliError> {
    let failed = |action: &str| {
        let name = path.display().to_string();
        let action = action.to_owned();
        move |error: io::Error| CliError::Output(format!("{name} could not be {action}: {error}"))
    };
    let real = led_to(path).map_err(failed("read"))?;
    whole_file::check(&real).map_err(failed("read"))?;
    let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder).map_err(failed("written"))?;
    let _lock = Lock::take(path)?;
    let text = match fs::read_to_string(&real) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        text => text.map_err(failed("read"))?,
    };
    let Some(text) = change(&text)? else { return Ok(()) };
    whole_file::replace(&real, &text).map_err(failed("written"))
}

/// The file that a path leads to, through links, also where that is not there yet.
fn led_to(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => return Ok(path),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// The lock that kubectl takes: a file beside the kubeconfig, which is there for as long as somebody writes.
struct Lock(PathBuf);

impl Lock {
    fn take(path: &Path) -> Result<Self, CliError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock = PathBuf::from(name);
        for _ in 0..TRIES {
            match OpenOptions::new().write(true).create_new(true).open(&lock) {
                Ok(_) => return Ok(Self(lock)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => sleep(PAUSE),
                Err(error) => return Err(CliError::Output(format!("{} could not be made: {error}", lock.display()))),
            }
        }
        Err(CliError::Output(format!(
            "{0} is being written by another program, which keeps {1}; if there is none any more, remove {1}",
            path.display(),
            lock.display()
        )))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If somebody has removed it meanwhile there is nothing left to do.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(folder: &Path, listed: &str) -> String {
        let name = folder.display().to_string();
        let environment = Environment::of(&[("KUBECONFIG", &listed.replace("DIR", &name)), ("HOME", "/home/me")]);
        place(None, &environment).unwrap().display().to_string().replace(&name, "DIR")
    }

    #[test]
    fn the_file_is_the_one_that_kubectl_would_write_to() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), "").unwrap();
        assert_eq!(chosen(folder.path(), ""), "/home/me/.kube/config");
        assert_eq!(chosen(folder.path(), "DIR/a"), "DIR/a");
        assert_eq!(chosen(folder.path(), "DIR/a:DIR/b:DIR/c"), "DIR/b");
        assert_eq!(chosen(folder.path(), ":DIR/a:DIR/c:"), "DIR/c");
        assert!(place(None, &Environment::default()).unwrap_err().to_string().contains("--kubeconfig"));
        assert_eq!(place(Some(Path::new("x")), &Environment::default()).unwrap(), Path::new("x"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_the_mode_is_narrow() {
        use std::os::unix::fs::{MetadataExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real/config"), folder.path().join("config"));
        symlink("real/config", &link).unwrap();
        update(&link, |text| Ok(Some(format!("{text}a\n")))).unwrap();
        update(&link, |text| Ok(Some(format!("{text}b\n")))).unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "a\nb\n");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no lock is left");
        assert_eq!(fs::read_dir(folder.path().join("real")).unwrap().count(), 1, "nothing unfinished is left");
    }

    #[test]
    fn a_change_that_fails_leaves_the_file_and_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        fs::write(&path, "a").unwrap();
        update(&path, |_| Err(CliError::Output("no".into()))).unwrap_err();
        update(&path, |_| Ok(None)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn who_writes_is_waited_for_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let lock = folder.path().join("config.lock");
        fs::write(&lock, "").unwrap();
        let error = update(&path, |_| Ok(Some("b".into()))).unwrap_err().to_string();
        assert!(error.contains("config.lock"), "{error}");
        assert!(lock.exists() && !path.exists(), "another's lock is not taken away");
    }
}
