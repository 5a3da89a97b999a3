//! Everything that a command works on: the user's documents and the graph definitions in use.

use super::arguments::Inputs;
use super::blocking::blocking;
use super::definitions;
use super::error::CliError;
use super::load::{Loaded, read_inputs};
use super::settings::Settings;
use crate::graph::definition::Definitions;
use crate::graph::diagnostic::{Diagnostic, Severity, SourceFile};
use crate::graph::documents::Documents;
use crate::kinds::catalog::KindCatalog;
use crate::state::file::DefinitionsUsed;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Documents and definitions.
#[derive(Debug)]
pub struct Project {
    /// The user's documents.
    pub documents: Documents,
    /// The graph definitions in use.
    pub definitions: Definitions,
    /// What is recorded of them.
    pub used: DefinitionsUsed,
    /// The files that the documents were read from.
    pub files: Vec<Arc<SourceFile>>,
    /// What is wrong with them; only warnings after [`Project::load`].
    pub problems: Vec<Diagnostic>,
}

impl Project {
    /// Reads documents and definitions, which must be sound and hold an instance. All problems are reported at once.
    pub async fn load(settings: &Settings, inputs: &Inputs) -> Result<Self, CliError> {
        let project = Self::load_with_problems(settings, inputs).await;
        if has_errors(&project.problems) {
            return Err(CliError::Documents(project.problems));
        }
        project.require_instance()?;
        Ok(project)
    }

    /// The same; problems are part of the result.
    pub async fn load_with_problems(settings: &Settings, inputs: &Inputs) -> Self {
        let (folder, inputs) = (settings.graphs.value.clone(), inputs.all());
        // Reading may last for ever: standard input may be a terminal.
        blocking(move || Self::read(folder.as_deref(), &inputs)).await
    }

    fn read(folder: Option<&Path>, inputs: &[PathBuf]) -> Self {
        let Loaded { files, nodes, mut problems } = read_inputs(inputs);
        let chosen = definitions::choose(folder, &nodes, &mut problems);
        let (definitions, found) = Definitions::load(&chosen.nodes, &KindCatalog);
        let is_sound = !has_errors(&found) && !has_errors(&problems);
        problems.extend(found);
        let (documents, found) = Documents::load(&nodes, &definitions);
        // The kind of a definition that has errors is not unknown: that would be a second message for one problem.
        problems.extend(found.into_iter().filter(|problem| is_sound || problem.category != "schema-not-found"));
        Self { documents, definitions, used: chosen.used, files, problems }
    }

    fn require_instance(&self) -> Result<(), CliError> {
        if !self.documents.instances.is_empty() {
            return Ok(());
        }
        let names = self.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ");
        let problem = Diagnostic::error("no-instance", format!("no instance of a graph definition in {names}"));
        let kinds = self.definitions.by_kind.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let hint = if self.documents.definitions.is_empty() {
            format!("name a file with a document of kind {kinds}")
        } else {
            format!("a graph definition alone makes nothing: name a file with a document of kind {kinds} too")
        };
        Err(CliError::Documents(vec![problem.suggest(hint)]))
    }
}

/// Whether there is an error among the diagnostics.
pub fn has_errors(problems: &[Diagnostic]) -> bool {
    problems.iter().any(|problem| problem.severity == Severity::Error)
}
