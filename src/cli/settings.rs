//! Settings: flag, then environment variable, then settings file, then default; each value with its origin.

pub mod file;
pub mod place;

use super::arguments::{ArgoCdKind, Arguments, ColorChoice, Common, OutputFormat};
use super::environment::{self, Environment};
use super::error::CliError;
use super::printer::PrinterSettings;
use crate::engine::api::AccountSettings;
use crate::graph::diagnostic::{Location, SourceFile};
use clap::ValueEnum;
use file::{Located, SettingsFile};
use place::Place;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The settings file that is used if it is there.
pub const DEFAULT_FILE: &str = "fleetctl.yaml";

const DEFAULT_STATE: &str = "./state";
const DEFAULT_PARALLELISM: usize = 32;
const DEFAULT_VISIBILITY_WINDOW: Duration = Duration::from_mins(1);

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag.
    Flag(&'static str),
    /// An environment variable.
    Environment(&'static str),
    /// The settings file.
    File(Location),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => formatter.write_str(name),
            Self::Environment(name) => write!(formatter, "environment variable {name}"),
            Self::File(location) => write!(formatter, "{}:{}", location.file.name, location.line),
            Self::Default => formatter.write_str("default"),
        }
    }
}

/// The settings in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The settings file, if there is one.
    pub config: Setting<Option<PathBuf>>,
    /// Folder with graph definitions, if one is named.
    pub graphs: Setting<Option<PathBuf>>,
    /// Where state is.
    pub state: Setting<Place>,
    /// Form of the results.
    pub output: Setting<OutputFormat>,
    /// Do not ask.
    pub yes: Setting<bool>,
    /// Most steps at one time.
    pub parallelism: Setting<usize>,
    /// No progress.
    pub quiet: Setting<bool>,
    /// How often `-v` was given.
    pub verbosity: Setting<u8>,
    /// Whether to colour.
    pub color: Setting<ColorChoice>,
    /// When the absence of a new object counts.
    pub visibility_window: Setting<Duration>,
    /// Which Argo CD clusters are registered with.
    pub argocd: Setting<ArgoCdKind>,
    /// Region of objects that nothing else gives one.
    pub region: Setting<Option<String>>,
    /// What only the file holds.
    pub file: SettingsFile,
}

impl Settings {
    /// Those of a command line; the settings file counts where the command reads it.
    pub fn of_command(arguments: &Arguments, environment: &Environment) -> Result<Self, CliError> {
        if arguments.command.reads_settings_file() {
            return Self::load(&arguments.common, environment);
        }
        let none = Setting { value: None, origin: Origin::Default };
        Self::resolve(&arguments.common, environment, none, SettingsFile::default())
    }

    /// Finds the settings file and puts everything together.
    pub fn load(flags: &Common, environment: &Environment) -> Result<Self, CliError> {
        let config = config_path(flags, environment);
        let file = match &config.value {
            Some(path) => read_file(path)?,
            None => SettingsFile::default(),
        };
        let settings = Self::resolve(flags, environment, config, file)?;
        let state = &settings.state;
        if state.value.is_file() {
            let message = format!("{} is a file: state needs a folder ({})", state.value, state.origin);
            return Err(CliError::Usage(message));
        }
        Ok(settings)
    }

    /// Puts together what the flags, the environment and the file say.
    fn resolve(
        flags: &Common,
        environment: &Environment,
        config: Setting<Option<PathBuf>>,
        file: SettingsFile,
    ) -> Result<Self, CliError> {
        let from = Sources { environment, folder: config.value.as_deref().and_then(Path::parent).unwrap_or(Path::new("")) };
        let optional_path = |path: Option<&PathBuf>| path.cloned().map(Some);
        let window = flags.visibility_window.as_deref().map(|text| usage(file::parse_duration(text), "--visibility-window"));
        let parallelism = flags.parallelism.map(|n| usage(file::parse_parallelism(&n.to_string()), "--parallelism"));
        Ok(Self {
            graphs: from.pick(
                ("--graphs", optional_path(flags.graphs.as_ref())),
                (environment::GRAPHS, |text| Ok(Some(text.into()))),
                file.graphs.as_ref().map(|path| from.relative(path).map(Some)),
                None,
            )?,
            state: from.pick(
                ("--state", flags.state.as_deref().map(|path| usage(Place::of_path(path), "--state")).transpose()?),
                (environment::STATE, Place::parse),
                file.state.as_ref().map(|path| from.place(path)),
                Place::Folder(DEFAULT_STATE.into()),
            )?,
            output: from.pick(("--output", flags.output), (environment::OUTPUT, parse_choice), None, OutputFormat::Text)?,
            yes: from.pick(("--yes", flags.yes.then_some(true)), (environment::YES, parse_bool), None, false)?,
            quiet: from.pick(("--quiet", flags.quiet.then_some(true)), (environment::QUIET, parse_bool), None, false)?,
            verbosity: from.pick(
                ("--verbose", Some(flags.verbose).filter(|count| *count > 0)),
                (environment::VERBOSE, |text| text.parse().map_err(|_| "a number from 0 to 2".into())),
                None,
                0,
            )?,
            color: from.pick(("--color", flags.color), (environment::COLOR, parse_choice), None, ColorChoice::Auto)?,
            parallelism: from.pick(
                ("--parallelism", parallelism.transpose()?),
                (environment::PARALLELISM, file::parse_parallelism),
                file.parallelism.clone(),
                DEFAULT_PARALLELISM,
            )?,
            visibility_window: from.pick(
                ("--visibility-window", window.transpose()?),
                (environment::VISIBILITY_WINDOW, file::parse_duration),
                file.visibility_window.clone(),
                DEFAULT_VISIBILITY_WINDOW,
            )?,
            argocd: from.pick(
                ("--argocd", flags.argocd),
                (environment::ARGOCD, parse_choice),
                file.argocd.kind.clone(),
                ArgoCdKind::Auto,
            )?,
            region: from.region(&file),
            config,
            file,
        })
    }

    /// Settings per account.
    pub fn accounts(&self) -> BTreeMap<String, AccountSettings> {
        self.file.accounts.iter().map(|(id, account)| (id.clone(), account.value.clone())).collect()
    }

    /// Tags for everything.
    pub fn default_tags(&self) -> BTreeMap<String, String> {
        self.file.default_tags.iter().map(|(key, tag)| (key.clone(), tag.value.clone())).collect()
    }

    /// What the printer has to know.
    pub fn printer(&self, environment: &Environment) -> PrinterSettings {
        let no_color = environment.get(environment::NO_COLOR).is_some() || environment.get(environment::TERM) == Some("dumb");
        let plain = PrinterSettings {
            format: self.output.value,
            quiet: self.quiet.value,
            verbosity: self.verbosity.value,
            ..PrinterSettings::PLAIN
        };
        plain.colored(self.color.value, no_color)
    }
}

/// Reads a value; the error is what was expected.
type Parse<T> = fn(&str) -> Result<T, String>;

/// Where values come from, beside flags.
struct Sources<'a> {
    environment: &'a Environment,
    /// The settings file's folder.
    folder: &'a Path,
}

impl Sources<'_> {
    fn pick<T>(
        &self,
        (flag, from_flag): (&'static str, Option<T>),
        (variable, parse): (&'static str, Parse<T>),
        from_file: Option<Located<T>>,
        default: T,
    ) -> Result<Setting<T>, CliError> {
        if let Some(value) = from_flag {
            return Ok(Setting { value, origin: Origin::Flag(flag) });
        }
        if let Some(text) = self.environment.get(variable) {
            let value = parse(text)
                .map_err(|expected| CliError::Usage(format!("{variable} is {expected}, not `{}`", place::shown(text))))?;
            return Ok(Setting { value, origin: Origin::Environment(variable) });
        }
        Ok(match from_file {
            Some(Located { value, location }) => Setting { value, origin: Origin::File(location) },
            None => Setting { value: default, origin: Origin::Default },
        })
    }

    /// The region: the SDK's own variables come before the file.
    fn region(&self, file: &SettingsFile) -> Setting<Option<String>> {
        for name in [environment::AWS_REGION, environment::AWS_DEFAULT_REGION] {
            if let Some(region) = self.environment.get(name) {
                return Setting { value: Some(region.to_owned()), origin: Origin::Environment(name) };
            }
        }
        match &file.region {
            Some(region) => Setting { value: Some(region.value.clone()), origin: Origin::File(region.location.clone()) },
            None => Setting { value: None, origin: Origin::Default },
        }
    }

    /// A place of the settings file, which was checked when it was read; a folder is relative to that file.
    fn place(&self, text: &Located<String>) -> Located<Place> {
        let value = Place::parse(&text.value).unwrap_or_else(|_| Place::Folder(text.value.clone().into()));
        Located { value: value.below(self.folder), location: text.location.clone() }
    }

    /// A path of the settings file, which is relative to that file.
    fn relative(&self, path: &Located<String>) -> Located<PathBuf> {
        Located { value: self.folder.join(&path.value), location: path.location.clone() }
    }
}

impl<T> Located<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Located<U> {
        Located { value: change(self.value), location: self.location }
    }
}

/// The settings file: the one that is named, else the usual one if it is there.
fn config_path(flags: &Common, environment: &Environment) -> Setting<Option<PathBuf>> {
    if let Some(path) = &flags.config {
        return Setting { value: Some(path.clone()), origin: Origin::Flag("--config") };
    }
    if let Some(path) = environment.get(environment::CONFIG) {
        return Setting { value: Some(path.into()), origin: Origin::Environment(environment::CONFIG) };
    }
    let usual = Path::new(DEFAULT_FILE);
    Setting { value: usual.exists().then(|| usual.to_owned()), origin: Origin::Default }
}

fn read_file(path: &Path) -> Result<SettingsFile, CliError> {
    let text = super::load::read_text(path).map_err(|problem| CliError::Settings(vec![problem]))?;
    SettingsFile::read(&SourceFile::new(path.display().to_string(), text)).map_err(CliError::Settings)
}

fn usage<T>(parsed: Result<T, String>, flag: &str) -> Result<T, CliError> {
    parsed.map_err(|expected| CliError::Usage(format!("{flag} is {expected}")))
}

fn parse_bool(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("`true` or `false`".into()),
    }
}

fn parse_choice<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, true).map_err(|_| {
        let names = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<_> = names.map(|value| format!("`{}`", value.get_name())).collect();
        format!("one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(flags: &Common, environment: &[(&str, &str)], file: &str) -> Result<Settings, CliError> {
        let file = SettingsFile::read(&SourceFile::new("conf/fleetctl.yaml", file)).unwrap();
        let config = Setting { value: Some("conf/fleetctl.yaml".into()), origin: Origin::Flag("--config") };
        Settings::resolve(flags, &Environment::of(environment), config, file)
    }

    #[test]
    fn flag_beats_environment_beats_file_beats_default() {
        let file = "state: here\nparallelism: 3\n";
        let environment = [("FLEETCTL_STATE", "there"), ("FLEETCTL_PARALLELISM", "5")];
        let flags = Common { parallelism: Some(7), ..Common::default() };
        let shown = |settings: Settings| {
            format!(
                "{} {}, {} {}",
                settings.state.value, settings.state.origin, settings.parallelism.value, settings.parallelism.origin
            )
        };
        let lines = [
            shown(resolve(&flags, &environment, file).unwrap()),
            shown(resolve(&Common::default(), &environment, file).unwrap()),
            shown(resolve(&Common::default(), &[], file).unwrap()),
            shown(resolve(&Common::default(), &[], "").unwrap()),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        there environment variable FLEETCTL_STATE, 7 --parallelism
        there environment variable FLEETCTL_STATE, 5 environment variable FLEETCTL_PARALLELISM
        conf/here conf/fleetctl.yaml:1, 3 conf/fleetctl.yaml:2
        ./state default, 32 default
        ");
    }

    #[test]
    fn wrong_values_name_their_variable() {
        let problem = |name, value| resolve(&Common::default(), &[(name, value)], "").unwrap_err().to_string();
        let lines = [
            problem("FLEETCTL_OUTPUT", "xml"),
            problem("FLEETCTL_YES", "maybe"),
            problem("FLEETCTL_PARALLELISM", "many"),
            problem("FLEETCTL_VISIBILITY_WINDOW", "-1"),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        FLEETCTL_OUTPUT is one of `text`, `json`, `dot`, `mermaid`, `markdown`, not `xml`
        FLEETCTL_YES is `true` or `false`, not `maybe`
        FLEETCTL_PARALLELISM is a number from 1 to 1000, not `many`
        FLEETCTL_VISIBILITY_WINDOW is a number of seconds, or a time like `90s`, `15m`, `1h`, not `-1`
        ");
    }

    #[test]
    fn the_region_of_the_sdk_comes_before_the_file() {
        let region = |environment: &[_]| resolve(&Common::default(), environment, "region: eu-west-1").unwrap().region.value;
        assert_eq!(region(&[("AWS_REGION", "us-east-1")]).as_deref(), Some("us-east-1"));
        assert_eq!(region(&[("AWS_DEFAULT_REGION", "us-east-2")]).as_deref(), Some("us-east-2"));
        assert_eq!(region(&[]).as_deref(), Some("eu-west-1"));
    }
}
