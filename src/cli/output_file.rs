//! Files that the command line asks to be written: they take nobody else's place.

use super::error::CliError;
use super::settings::place::Place;
use super::whole_file;
use std::path::{Path, PathBuf};

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A plan.
    Plan,
    /// A state.
    State,
}

impl Content {
    /// What people call it.
    fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::State => "state",
        }
    }

    /// A field that it has, and other files do not.
    fn mark(self) -> &'static str {
        match self {
            Self::Plan => super::written_plan::MARK,
            Self::State => "lineage",
        }
    }
}

/// Refuses a place where a file of this content may not stand: a folder or device, the folder of state, and a file that is something
/// else. To be asked before anything that takes time.
pub(super) fn check(path: &Path, content: Content, state: &Place) -> Result<(), CliError> {
    let refused = |why: &str| {
        let (name, path) = (content.name(), path.display());
        Err(CliError::Usage(format!("--out {path}: {why}; name a file for the {name} that is not there yet, or an older {name}")))
    };
    if let Err(error) = whole_file::check(path) {
        return refused(&error.to_string());
    }
    if is_below(path, state) {
        return refused("state is kept in that folder");
    }
    match std::fs::read(path) {
        Ok(text) if !text.trim_ascii().is_empty() && !is(&text, content) => refused(&format!("it is no {}", content.name())),
        _ => Ok(()),
    }
}

fn is(text: &[u8], content: Content) -> bool {
    // A plan or state that is cut off is one all the same.
    let text = String::from_utf8_lossy(text);
    text.trim_start().starts_with('{') && text.contains(&format!("\"{}\":", content.mark()))
}

/// Whether it would stand in the folder of state.
fn is_below(path: &Path, state: &Place) -> bool {
    let Place::Folder(folder) = state else { return false };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let real = |path: &Path| -> Option<PathBuf> { path.canonicalize().ok() };
    matches!((real(parent), real(folder)), (Some(parent), Some(folder)) if parent.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_else_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        std::fs::create_dir_all(state.join("argocd")).unwrap();
        let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        file("cluster.yaml", "kind: EksCluster\n");
        file("plan", "{\n  \"fleetctlPlan\": 1, ");
        file("pulled", "{\"version\": 2, \"lineage\": \"a\"}");
        file("empty", "");
        std::os::unix::fs::symlink(folder.path().join("cluster.yaml"), folder.path().join("link")).unwrap();
        let said = |name: &str, content| match check(&folder.path().join(name), content, &Place::Folder(state.clone())) {
            Ok(()) => format!("{name}: may be written"),
            Err(error) => error.to_string().replace(&format!("{}/", folder.path().display()), ""),
        };
        let names =
            ["new", "cluster.yaml", "link", "plan", "pulled", "empty", "state", "state/plan", "state/argocd/plan", "no/plan"];
        let mut all = names.map(|name| said(name, Content::Plan)).to_vec();
        all.extend(["pulled", "plan", "state/argocd/EksCluster.one.json"].map(|name| said(name, Content::State)));
        insta::assert_snapshot!(all.join("\n"), @"
        new: may be written
        --out cluster.yaml: it is no plan; name a file for the plan that is not there yet, or an older plan
        --out link: it is no plan; name a file for the plan that is not there yet, or an older plan
        plan: may be written
        --out pulled: it is no plan; name a file for the plan that is not there yet, or an older plan
        empty: may be written
        --out state: it is not a regular file; name a file for the plan that is not there yet, or an older plan
        --out state/plan: state is kept in that folder; name a file for the plan that is not there yet, or an older plan
        --out state/argocd/plan: state is kept in that folder; name a file for the plan that is not there yet, or an older plan
        no/plan: may be written
        pulled: may be written
        --out plan: it is no state; name a file for the state that is not there yet, or an older state
        --out state/argocd/EksCluster.one.json: state is kept in that folder; name a file for the state that is not there yet, or an older state
        ");
    }

    #[test]
    fn a_bucket_is_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check(&folder.path().join("plan"), Content::Plan, &Place::parse("s3://fleet-state").unwrap()).is_ok());
    }
}
