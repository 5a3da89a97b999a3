//! Plans that are written down and carried out later. The file names the documents and their hashes, not their texts: a
//! plan holds no secrets, and a document that has changed is noticed.

use super::error::CliError;
use super::load::{STDIN, read_text};
use super::project::Project;
use super::whole_file;
use crate::engine::plan::{Action, Change, Plan};
use crate::engine::report::EngineError;
use crate::graph::diagnostic::Diagnostic;
use crate::state::hash::sha256;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The field that marks a written plan and holds its version.
pub const MARK: &str = "fleetctlPlan";

/// The newest version that is read and written.
const VERSION: u64 = 1;

/// A plan as it stands in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WrittenPlan {
    /// Version of the file.
    #[serde(rename = "fleetctlPlan")]
    version: u64,
    /// `fleetctl 0.1.0`.
    writer: String,
    /// What the command line named, relative to the folder it was run in.
    inputs: Vec<PathBuf>,
    /// That folder; empty if it is not known.
    #[serde(default)]
    folder: PathBuf,
    /// The files that were read.
    documents: Vec<DocumentHash>,
    /// One an instance.
    plans: Vec<Plan>,
    /// SHA-256 of everything else in the file, as [`WrittenPlan::sum`] has it: what is carried out is what was written.
    #[serde(default)]
    checksum: String,
}

/// A file and the SHA-256 of its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct DocumentHash {
    name: String,
    sha256: String,
}

impl WrittenPlan {
    /// A plan to be written.
    pub fn new(inputs: Vec<PathBuf>, project: &Project, plans: Vec<Plan>) -> Result<Self, CliError> {
        if project.files.iter().any(|file| file.name == STDIN) {
            let message = "--out needs documents that can be read again: name files instead of standard input";
            return Err(CliError::Usage(message.into()));
        }
        let folder = std::env::current_dir().unwrap_or_default();
        let documents = hashes(project);
        let plan = Self { version: VERSION, writer: writer(), inputs, folder, documents, plans, checksum: String::new() };
        Ok(plan.sealed())
    }

    /// With the checksum of what it holds.
    fn sealed(mut self) -> Self {
        self.checksum = self.sum();
        self
    }

    /// The checksum of what it holds, whatever the file looks like.
    fn sum(&self) -> String {
        let bare = Self { checksum: String::new(), ..self.clone() };
        serde_json::to_value(bare).map(|value| sha256(value.to_string())).unwrap_or_default()
    }

    /// Writes the file, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), CliError> {
        let failed = |error: &dyn std::fmt::Display| CliError::Output(format!("{} cannot be written: {error}", path.display()));
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(&error))? + "\n";
        whole_file::replace(path, &text).map_err(|error| failed(&error))
    }

    /// Reads the one written plan that the command line names, if it names one.
    pub fn read(inputs: &[PathBuf]) -> Result<Option<Self>, CliError> {
        let [path] = inputs else { return Ok(None) };
        if path.as_os_str() == "-" || !path.is_file() {
            return Ok(None);
        }
        let text = read_text(path).map_err(|problem| CliError::Documents(vec![problem]))?;
        if !text.trim_start().starts_with('{') || !text.contains(MARK) {
            return Ok(None);
        }
        let damaged = |error: &dyn std::fmt::Display| {
            let message = format!("{} is no plan that can be read: {error}", path.display());
            CliError::Documents(vec![Diagnostic::error("damaged-plan", message)])
        };
        let value: Value = serde_json::from_str(&text).map_err(|error| damaged(&error))?;
        match value.get(MARK).and_then(Value::as_u64) {
            Some(VERSION) => {
                let plan: Self = serde_json::from_value(value).map_err(|error| damaged(&error))?;
                if plan.checksum != plan.sum() {
                    return Err(damaged(&"it is not what was written: plan again"));
                }
                Ok(Some(plan))
            }
            Some(version) => Err(damaged(&format!("it has version {version}, this fleetctl reads up to {VERSION}"))),
            None => Err(damaged(&format!("`{MARK}` is not a number"))),
        }
    }

    /// What the command line named when the plan was made.
    pub fn inputs(&self) -> &[PathBuf] {
        &self.inputs
    }

    /// Refuses to look for documents where they are not, and says where they are.
    pub fn check_inputs(&self) -> Result<(), CliError> {
        let Some(missing) = self.inputs.iter().find(|input| !input.exists()) else { return Ok(()) };
        let there = if missing.is_absolute() || self.folder.as_os_str().is_empty() {
            "carry it out where that is".to_owned()
        } else {
            format!("carry it out in the folder in which it was made, {}", self.folder.display())
        };
        let message = format!("the plan needs {}, which is not here", missing.display());
        Err(CliError::Documents(vec![Diagnostic::error("missing-document", message).suggest(there)]))
    }

    /// Refuses documents and definitions that have moved.
    pub fn check_documents(&self, project: &Project) -> Result<(), CliError> {
        if self.writer != writer() {
            return Err(out_of_date(None, &format!("{} has made it, and this is {}", self.writer, writer())));
        }
        let now = hashes(project);
        let changed =
            self.documents.iter().find(|written| !now.contains(written)).or(now.iter().find(|new| !self.documents.contains(new)));
        if let Some(file) = changed {
            return Err(out_of_date(None, &format!("{} has changed", file.name)));
        }
        match self.plans.iter().find(|plan| plan.header.definitions.hash != project.used.hash) {
            Some(_) => Err(out_of_date(None, "the graph definitions have changed")),
            None => Ok(()),
        }
    }

    /// Refuses plans that would do something else than the written ones.
    pub fn check_plans(&self, plans: &[&Plan]) -> Result<(), CliError> {
        if plans.len() != self.plans.len() {
            return Err(out_of_date(None, "it is for other instances"));
        }
        for (written, now) in self.plans.iter().zip(plans) {
            if let Some(difference) = difference(written, now) {
                return Err(out_of_date(Some(now.header.instance.to_string()), &difference));
            }
        }
        Ok(())
    }
}

/// Who writes plans. Another version may do something else for the same plan.
fn writer() -> String {
    format!("fleetctl {}", env!("CARGO_PKG_VERSION"))
}

fn out_of_date(instance: Option<String>, reason: &str) -> CliError {
    CliError::Engine { instance, error: Box::new(EngineError::PlanOutOfDate(reason.to_owned())) }
}

fn hashes(project: &Project) -> Vec<DocumentHash> {
    let hash = |file: &std::sync::Arc<crate::graph::diagnostic::SourceFile>| DocumentHash {
        name: file.name.clone(),
        sha256: sha256(&file.text),
    };
    project.files.iter().map(hash).collect()
}

/// The first thing in which two plans differ, as far as it changes what a run does.
fn difference(written: &Plan, now: &Plan) -> Option<String> {
    let (before, after) = (&written.header, &now.header);
    if before.instance != after.instance {
        return Some(format!("it is for {}", before.instance));
    }
    if principal(&before.caller) != principal(&after.caller) {
        return Some(format!("the caller was {}, and is {}", before.caller, after.caller));
    }
    if before.targets != after.targets {
        return Some("accounts, regions or roles have changed".into());
    }
    if let Some(call) = written.open_calls.first() {
        return Some(format!("when it was made it was not known what had come of {call}, which has been looked for now"));
    }
    // The lock is taken on a state, so applying makes one where there was none; it has been used for nothing yet.
    let still_unused = before.lineage.is_empty() && after.serial == 0;
    if !still_unused && (&before.lineage, before.serial) != (&after.lineage, after.serial) {
        return Some(format!("the state has moved from serial {} to {}", before.serial, after.serial));
    }
    changes_difference(written, now)
        .or_else(|| (written.not_carried_out != now.not_carried_out).then(|| "what is not carried out has changed".into()))
}

fn changes_difference(written: &Plan, now: &Plan) -> Option<String> {
    let same = |left: &Change, right: &Change| left.identity == right.identity;
    for change in &now.changes {
        match written.changes.iter().find(|other| same(other, change)) {
            None => return Some(format!("{} is new", change.address)),
            Some(other) if essence(other) != essence(change) => return Some(format!("{} has changed", change.address)),
            Some(_) => {}
        }
    }
    let gone = written.changes.iter().find(|change| !now.changes.iter().any(|other| same(other, change)))?;
    Some(format!("{} is no longer there", gone.address))
}

/// What of a change must be the same. Reasons are texts for people; whether an object that is left alone is still on its
/// way may change by itself.
fn essence(change: &Change) -> Value {
    match change.action {
        Action::None => json!([change.address, change.action, change.unread]),
        _ => json!([change.address, change.action, change.id, change.by_name, change.unread, change.fields]),
    }
}

/// The caller without the session's name, which is another one for each sign-in.
fn principal(arn: &str) -> &str {
    if arn.contains(":assumed-role/") { arn.rsplit_once('/').map_or(arn, |(role, _)| role) } else { arn }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testing::{change, difference as field, plan};

    fn base() -> Plan {
        let mut update = change(Action::Update, "eks/cluster", "Cluster");
        update.fields.push(field("spec.version", json!("1.33"), json!("1.34")));
        plan(vec![update, change(Action::None, "vpc/vpc", "VPC")])
    }

    #[test]
    fn what_changes_by_itself_is_no_difference() {
        let mut now = base();
        now.header.caller = "arn:aws:sts::111111111111:assumed-role/deployer/somebody".into();
        now.changes[1].waits = true;
        now.changes[1].reason = Some("it is pending".into());
        assert_eq!(difference(&base(), &now), None);
    }

    #[test]
    fn everything_that_a_run_does_is_compared() {
        let mut differences = Vec::new();
        let mut check = |change: &dyn Fn(&mut Plan)| {
            let mut now = base();
            change(&mut now);
            differences.push(difference(&base(), &now).unwrap_or_else(|| "none".into()));
        };
        check(&|plan| plan.header.serial = 8);
        check(&|plan| plan.header.lineage = "other".into());
        check(&|plan| plan.header.caller = "arn:aws:iam::111111111111:user/me".into());
        check(&|plan| plan.header.targets[0].role = None);
        check(&|plan| plan.changes[0].fields[0].after = json!("1.35"));
        check(&|plan| plan.changes[1].action = Action::Update);
        check(&|plan| plan.changes.push(change(Action::Create, "vpc/subnet", "Subnet")));
        check(&|plan| drop(plan.changes.pop()));
        check(&|plan| plan.changes[0].id = Some("another".into()));
        insta::assert_snapshot!(differences.join("\n"), @"
        the state has moved from serial 7 to 8
        the state has moved from serial 7 to 7
        the caller was arn:aws:sts::111111111111:assumed-role/deployer/me, and is arn:aws:iam::111111111111:user/me
        accounts, regions or roles have changed
        EksCluster/demo/eks/cluster has changed
        EksCluster/demo/vpc/vpc has changed
        EksCluster/demo/vpc/subnet is new
        EksCluster/demo/vpc/vpc is no longer there
        EksCluster/demo/eks/cluster has changed
        ");
    }

    #[test]
    fn a_plan_that_was_made_before_open_calls_were_resolved_is_out_of_date() {
        let mut written = base();
        written.open_calls = vec!["CreateVpc of EksCluster/demo/vpc/vpc".into()];
        let why = difference(&written, &base()).unwrap();
        assert_eq!(
            why,
            "when it was made it was not known what had come of CreateVpc of EksCluster/demo/vpc/vpc, which has been looked for now"
        );
    }

    fn written() -> WrittenPlan {
        WrittenPlan {
            version: VERSION,
            writer: writer(),
            inputs: vec!["cluster.yaml".into()],
            folder: "/home/me/fleet".into(),
            documents: vec![DocumentHash { name: "cluster.yaml".into(), sha256: "00".into() }],
            plans: vec![base()],
            checksum: String::new(),
        }
        .sealed()
    }

    /// A plan that was reviewed is what runs: not one that somebody has edited, or of which a part is missing.
    #[test]
    fn a_plan_that_was_edited_or_cut_off_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.json");
        let whole = serde_json::to_string_pretty(&written()).unwrap();
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            WrittenPlan::read(std::slice::from_ref(&path))
                .map(|plan| plan.is_some())
                .map_err(|error| error.diagnostics()[0].message.clone())
        };
        assert_eq!(read(&whole), Ok(true));
        let edited = whole.replace("\"1.34\"", "\"1.35\"");
        assert_ne!(edited, whole);
        assert!(read(&edited).unwrap_err().ends_with("it is not what was written: plan again"));
        let mut without: Value = serde_json::from_str(&whole).unwrap();
        without.as_object_mut().unwrap().remove("checksum");
        assert!(read(&without.to_string()).unwrap_err().ends_with("it is not what was written: plan again"));
        assert!(read(&whole[..whole.len() / 2]).is_err());
    }

    #[test]
    fn the_plan_of_another_version_is_refused() {
        let project = Project {
            documents: crate::graph::documents::Documents::default(),
            definitions: crate::graph::definition::Definitions::default(),
            used: crate::state::file::DefinitionsUsed::default(),
            files: Vec::new(),
            problems: Vec::new(),
        };
        let older = WrittenPlan { writer: "fleetctl 0.0.1".into(), ..written() };
        let refused = older.check_documents(&project).unwrap_err().to_string();
        assert!(refused.contains("fleetctl 0.0.1 has made it, and this is fleetctl "), "{refused}");
    }

    #[test]
    fn a_written_plan_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.json");
        let plan = written();
        plan.write(&path).unwrap();
        assert_eq!(WrittenPlan::read(&[path]).unwrap(), Some(plan.clone()));
        let error = plan.check_inputs().unwrap_err();
        let missing = error.diagnostics()[0];
        assert_eq!(missing.message, "the plan needs cluster.yaml, which is not here");
        assert!(missing.suggestion.as_ref().unwrap().ends_with("made, /home/me/fleet"));
    }

    #[test]
    fn plans_that_cannot_be_read_say_why() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let path = folder.path().join("plan.json");
            std::fs::write(&path, text).unwrap();
            match WrittenPlan::read(&[path]) {
                Ok(found) => format!("{}", found.is_some()),
                Err(error) => error.diagnostics()[0].message.replace(&format!("{}/", folder.path().display()), ""),
            }
        };
        let texts = [r#"{"fleetctlPlan": 2}"#, r#"{"fleetctlPlan": 1}"#, r#"{"fleetctlPlan": "#, "kind: EksCluster"];
        insta::assert_snapshot!(texts.map(read).join("\n"), @"
        plan.json is no plan that can be read: it has version 2, this fleetctl reads up to 1
        plan.json is no plan that can be read: missing field `writer`
        plan.json is no plan that can be read: EOF while parsing a value at line 1 column 17
        false
        ");
    }
}
