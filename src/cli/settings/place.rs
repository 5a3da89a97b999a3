//! Where state is: a folder, or a bucket of S3.

use crate::state::s3::location::Location;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where state is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a folder.
    Folder(PathBuf),
    /// In S3.
    Bucket(Location),
}

impl Place {
    /// Reads a path or a URL. The error says what is expected instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_url = text.contains("://") || text.get(..3).is_some_and(|scheme| scheme.eq_ignore_ascii_case("s3:"));
        if is_url { Location::parse(text).map(Self::Bucket) } else { Ok(Self::Folder(text.into())) }
    }

    /// The same of what need not be text.
    pub fn of_path(path: &Path) -> Result<Self, String> {
        match path.to_str() {
            Some(text) => Self::parse(text),
            None => Ok(Self::Folder(path.to_owned())),
        }
    }

    /// With a folder that is not absolute taken to be in another one.
    #[must_use]
    pub fn below(self, folder: &Path) -> Self {
        match self {
            Self::Folder(path) => Self::Folder(folder.join(path)),
            bucket @ Self::Bucket(_) => bucket,
        }
    }

    /// Whether it is a file where a folder is needed.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::Folder(path) if path.is_file())
    }
}

/// What was written, as it may be shown: what may be a secret in a URL is not.
pub fn shown(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (place, query) = rest.split_once('?').map_or((rest, ""), |(place, _)| (place, "?…"));
    let place = place.rsplit_once('@').map_or_else(|| place.to_owned(), |(_, place)| format!("…@{place}"));
    format!("{scheme}://{place}{query}")
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(formatter),
            Self::Bucket(location) => location.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::arguments::Common;
    use crate::cli::environment::Environment;
    use crate::cli::settings::Settings;

    /// What the settings say of a file's `state`.
    fn in_file(state: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("fleetctl.yaml");
        std::fs::write(&config, format!("state: {state}\n")).unwrap();
        let flags = Common { config: Some(config), ..Common::default() };
        let said = match Settings::load(&flags, &Environment::of(&[])) {
            Ok(settings) => settings.state.value.to_string(),
            Err(error) => error.diagnostics().iter().map(|problem| problem.message.clone()).collect(),
        };
        said.replace(folder.path().to_str().unwrap(), "FOLDER")
    }

    #[test]
    fn the_file_names_a_folder_beside_it_or_a_bucket() {
        assert_eq!(in_file("there"), "FOLDER/there");
        assert_eq!(in_file("s3://fleet-state/team"), "s3://fleet-state/team");
        let wrong = in_file("s3://key:secret@fleet-state/team");
        assert!(wrong.contains("credentials do not belong there") && !wrong.contains("secret"), "{wrong}");
    }

    #[test]
    fn a_place_is_a_folder_unless_it_looks_like_a_url() {
        let below = |text: &str| Place::parse(text).map(|place| place.below(Path::new("/home/me")).to_string());
        assert_eq!(below("state").unwrap(), "/home/me/state");
        assert_eq!(below("/var/state").unwrap(), "/var/state");
        assert_eq!(below("S3://fleet-state/team/").unwrap(), "s3://fleet-state/team");
        assert!(below("gs://fleet-state").unwrap_err().contains("`gs://`"));
        assert_eq!(shown("s3://key:secret@fleet-state/x?token=abc"), "s3://…@fleet-state/x?…");
        assert!(below("s3:/fleet-state").unwrap_err().contains("slashes"));
    }
}
