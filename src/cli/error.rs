//! What ends a command before it has a report, and the exit code and the word that go with it.

use super::signals::{INTERRUPTED, Left};
use crate::engine::report::EngineError;
use crate::graph::diagnostic::{Diagnostic, Severity};
use crate::state::error::StateError;

/// What ends a command.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The command line is not right.
    #[error("{0}")]
    Usage(String),
    /// The settings are not right.
    #[error("{}", count(.0, "the settings"))]
    Settings(Vec<Diagnostic>),
    /// The documents or definitions are not right.
    #[error("{}", count(.0, "the documents"))]
    Documents(Vec<Diagnostic>),
    /// The kubeconfig is not right.
    #[error("{}; it was left as it is", count(.0, "the kubeconfig"))]
    Kubeconfig(Vec<Diagnostic>),
    /// What was asked for is not there yet.
    #[error("{0}")]
    NotReady(String),
    /// A question would have to be asked, and nobody is there to answer.
    #[error("{0}")]
    NeedsConfirmation(String),
    /// The user said no.
    #[error("{0}: not confirmed; nothing was changed")]
    Declined(&'static str),
    /// The engine said no.
    #[error("{}{error}", prefix(.instance.as_deref(), .error))]
    Engine {
        /// The instance that it is about, where it is about one.
        instance: Option<String>,
        /// What it said.
        error: Box<EngineError>,
    },
    /// A file could not be written.
    #[error("{0}")]
    Output(String),
    /// The user interrupted it, and nothing is there to be reported.
    #[error("{}", interrupted(*.0))]
    Interrupted(Left),
    /// Several of these, one for each instance.
    #[error("{}", join(.0))]
    Several(Vec<CliError>),
}

impl CliError {
    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Settings(_) | Self::Documents(_) | Self::Kubeconfig(_) | Self::NeedsConfirmation(_) => 4,
            Self::NotReady(_) => 3,
            Self::Declined(_) | Self::Output(_) => 1,
            Self::Interrupted(_) => INTERRUPTED,
            Self::Engine { error, .. } => error.exit_code(),
            Self::Several(errors) => worst(errors.iter().map(Self::exit_code)),
        }
    }

    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::Settings(_) => "settings",
            Self::Documents(_) => "documents",
            Self::Kubeconfig(_) => "kubeconfig",
            Self::NotReady(_) => "not-ready",
            Self::NeedsConfirmation(_) => "needs-confirmation",
            Self::Declined(_) => "declined",
            Self::Output(_) => "output",
            Self::Interrupted(_) => "interrupted",
            Self::Engine { error, .. } => engine_code(error),
            Self::Several(errors) => {
                errors.iter().find(|error| error.exit_code() == self.exit_code()).map_or("failed", Self::code)
            }
        }
    }

    /// The diagnostics in it.
    pub fn diagnostics(&self) -> Vec<&Diagnostic> {
        match self {
            Self::Settings(diagnostics) | Self::Documents(diagnostics) | Self::Kubeconfig(diagnostics) => {
                diagnostics.iter().collect()
            }
            Self::Engine { error, .. } => match &**error {
                EngineError::Documents(diagnostics) => diagnostics.iter().collect(),
                _ => Vec::new(),
            },
            Self::Several(errors) => errors.iter().flat_map(Self::diagnostics).collect(),
            _ => Vec::new(),
        }
    }

    /// What the engine says of an instance.
    pub fn of(instance: impl Into<String>, error: EngineError) -> Self {
        Self::Engine { instance: Some(instance.into()), error: Box::new(error) }
    }

    /// One error of several; a single one stays what it is.
    pub fn join(mut errors: Vec<CliError>) -> Self {
        match errors.len() {
            1 => errors.remove(0),
            _ => Self::Several(errors),
        }
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        Self::Engine { instance: None, error: Box::new(error) }
    }
}

impl From<StateError> for CliError {
    fn from(error: StateError) -> Self {
        EngineError::from(error).into()
    }
}

/// The word for what the engine says.
fn engine_code(error: &EngineError) -> &'static str {
    match error {
        EngineError::Documents(_) => "documents",
        EngineError::State(StateError::Locked { .. }) => "state-locked",
        EngineError::State(StateError::LockLost { .. }) => "state-lock-lost",
        EngineError::State(StateError::Credentials { .. }) => "state-credentials",
        EngineError::State(_) => "state",
        EngineError::Identity(_) => "identity",
        EngineError::Selector(_) => "selector",
        EngineError::Read(_) => "read",
        EngineError::Refused(_) => "refused",
        EngineError::NotConfirmed(_) => "not-confirmed",
        EngineError::Unresolved(_) => "unresolved",
        EngineError::ArgoCd(_) => "argocd",
        EngineError::NothingApplied(_) => "nothing-applied",
        EngineError::Recovery(_) => "recovery",
        EngineError::PlanOutOfDate(_) => "plan-out-of-date",
    }
}

/// The exit code that stands for several: interrupted, then failed, then what kept a run from starting, then incomplete,
/// then changes.
pub fn worst(codes: impl IntoIterator<Item = u8>) -> u8 {
    const BY_WEIGHT: [u8; 7] = [130, 1, 6, 5, 4, 3, 2];
    let weight = |code: &u8| BY_WEIGHT.iter().position(|other| other == code).unwrap_or(BY_WEIGHT.len());
    codes.into_iter().min_by_key(weight).unwrap_or(0)
}

fn interrupted(left: Left) -> &'static str {
    match left {
        Left::BeforeRun => "Interrupted: nothing was changed.",
        Left::DuringRun => {
            "Left at once. What had been begun is recorded: the same command looks what came of it, and goes on from there."
        }
    }
}

/// `2 problems in the documents`.
fn count(diagnostics: &[Diagnostic], place: &str) -> String {
    match diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count() {
        1 => format!("1 problem in {place}"),
        count => format!("{count} problems in {place}"),
    }
}

/// The instance that an error is about, unless its own text names it.
fn prefix(instance: Option<&str>, error: &EngineError) -> String {
    let unnamed = instance.filter(|instance| !error.to_string().contains(instance));
    unnamed.map(|instance| format!("{instance}: ")).unwrap_or_default()
}

fn join(errors: &[CliError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_beats_incomplete_and_incomplete_beats_changes() {
        assert_eq!(worst([0, 3, 1]), 1);
        assert_eq!(worst([2, 3, 0]), 3);
        assert_eq!(worst([130, 1]), 130);
        assert_eq!(worst([0, 0]), 0);
        assert_eq!(worst([]), 0);
    }

    #[test]
    fn each_error_has_its_exit_code() {
        let locked = StateError::Locked { instance: "a".into(), holder: "b".into() };
        assert_eq!(CliError::from(locked).exit_code(), 5);
        assert_eq!(CliError::from(EngineError::Identity("no".into())).exit_code(), 6);
        assert_eq!(CliError::Usage("no".into()).exit_code(), 4);
        assert_eq!(CliError::NeedsConfirmation("apply needs --yes".into()).exit_code(), 4);
        assert_eq!(CliError::from(EngineError::NotConfirmed(vec!["a".into()])).exit_code(), 4);
        assert_eq!(CliError::Declined("apply").exit_code(), 1);
        let several = CliError::join(vec![CliError::Usage("no".into()), EngineError::ArgoCd("no".into()).into()]);
        assert_eq!((several.exit_code(), several.code()), (1, "argocd"));
    }
}
