//! From what the command line names to documents: files, folders and standard input.

use super::settings::DEFAULT_FILE;
use super::written_plan::MARK;
use crate::graph::diagnostic::{Diagnostic, Location, SourceFile};
use crate::graph::yaml::{self, MAX_BYTES, Node};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What standard input is called.
pub const STDIN: &str = "<stdin>";

/// What was read.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The files.
    pub files: Vec<Arc<SourceFile>>,
    /// Their documents.
    pub nodes: Vec<Node>,
    /// What is wrong.
    pub problems: Vec<Diagnostic>,
}

/// Reads everything that the command line names. A file that is named twice, or named and in a named folder, counts once.
pub fn read_inputs(inputs: &[PathBuf]) -> Loaded {
    let mut loaded = Loaded::default();
    let mut seen = HashSet::new();
    for input in inputs {
        if input.as_os_str() == "-" {
            if seen.insert(input.clone()) {
                loaded.add(STDIN.into(), read_all(STDIN, io::stdin().lock()), true);
            }
            continue;
        }
        let (paths, is_folder) = match paths_of(input) {
            Ok(found) => found,
            Err(problem) => {
                loaded.problems.push(problem);
                continue;
            }
        };
        for path in paths {
            if seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                loaded.add(path.display().to_string(), read_text(&path), !is_folder);
            }
        }
    }
    loaded
}

/// Reads the YAML files of a folder.
pub fn read_folder(folder: &Path) -> Result<Loaded, Diagnostic> {
    let mut loaded = Loaded::default();
    for path in yaml_files(folder)? {
        loaded.add(path.display().to_string(), read_text(&path), false);
    }
    Ok(loaded)
}

impl Loaded {
    fn add(&mut self, name: String, text: Result<String, Diagnostic>, is_named: bool) {
        let file = match text {
            Ok(text) => SourceFile::new(name, text),
            Err(problem) => return self.problems.push(problem),
        };
        match yaml::parse(&file) {
            Ok(nodes) if nodes.is_empty() && is_named => {
                let problem = Diagnostic::error("no-documents", format!("{} holds no document", file.name));
                self.problems.push(problem);
            }
            Ok(nodes) => match nodes.iter().find_map(|node| node.entry(MARK)) {
                Some((key, _)) => self.problems.push(misplaced_plan(&file, &key.location)),
                None => self.nodes.extend(nodes),
            },
            Err(problems) => self.problems.extend(problems),
        }
        self.files.push(file);
    }
}

fn misplaced_plan(file: &SourceFile, location: &Location) -> Diagnostic {
    let message = format!("{} is a written plan, not a document", file.name);
    let hint = format!("carry it out with `fleetctl apply {}`, with nothing beside it", file.name);
    Diagnostic::error("misplaced-plan", message).at(location).suggest(hint)
}

/// The files that an input stands for, and whether it is a folder.
fn paths_of(input: &Path) -> Result<(Vec<PathBuf>, bool), Diagnostic> {
    let metadata = std::fs::metadata(input).map_err(|error| unreadable(&input.display().to_string(), &error))?;
    if !metadata.is_dir() {
        return Ok((vec![input.to_owned()], false));
    }
    let files = yaml_files(input)?;
    if files.is_empty() {
        let message = format!("the folder {} holds no file *.yaml or *.yml", input.display());
        return Err(Diagnostic::error("no-documents", message).suggest("folders below it are not looked into: name them"));
    }
    Ok((files, true))
}

/// The YAML files of a folder, sorted by name; not those of folders below it, as kubectl does. Hidden files and
/// fleetctl's own settings are no documents.
fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let failed = |error: &io::Error| unreadable(&folder.display().to_string(), error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| failed(&error))? {
        let path = entry.map_err(|error| failed(&error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        if is_yaml && !name.starts_with('.') && name != DEFAULT_FILE && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The text of a file.
pub fn read_text(path: &Path) -> Result<String, Diagnostic> {
    let name = path.display().to_string();
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(&name, &error))?;
    if metadata.is_dir() {
        return Err(Diagnostic::error("unreadable-file", format!("{name} is a folder, not a file")));
    }
    if metadata.is_file() && metadata.len() > MAX_BYTES as u64 {
        return Err(too_large(&name, Some(metadata.len())));
    }
    read_all(&name, File::open(path).map_err(|error| unreadable(&name, &error))?)
}

/// Reads to the end, or until it is too much.
fn read_all(name: &str, source: impl Read) -> Result<String, Diagnostic> {
    let mut bytes = Vec::new();
    source.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, &error))?;
    if bytes.len() > MAX_BYTES {
        return Err(too_large(name, None));
    }
    String::from_utf8(bytes).map_err(|error| not_utf8(name, error.as_bytes(), error.utf8_error().valid_up_to()))
}

fn unreadable(name: &str, error: &io::Error) -> Diagnostic {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::NotADirectory => "it is no folder".into(),
        _ => error.to_string(),
    };
    Diagnostic::error("unreadable-file", format!("{name} cannot be read: {reason}"))
}

fn too_large(name: &str, size: Option<u64>) -> Diagnostic {
    let limit = MAX_BYTES >> 20;
    let has = size.map_or_else(|| format!("more than {limit} MiB"), |size| format!("{} MiB", size >> 20));
    Diagnostic::error("yaml-too-large", format!("{name} has {has}; documents may have {limit} MiB"))
}

fn not_utf8(name: &str, bytes: &[u8], valid: usize) -> Diagnostic {
    let line = bytes[..valid].split(|byte| *byte == b'\n').count();
    let problem = Diagnostic::error("not-utf8", format!("{name} is not UTF-8: byte {} in line {line}", valid + 1));
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => problem.suggest("it looks like UTF-16: save it as UTF-8"),
        _ => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        folder
    }

    /// What is read of these inputs, with the folder's own path left out.
    fn summary(folder: &tempfile::TempDir, inputs: &[&str]) -> String {
        let inputs: Vec<PathBuf> = inputs.iter().map(|name| folder.path().join(name)).collect();
        let loaded = read_inputs(&inputs);
        let files = loaded.files.iter().map(|file| format!("read {}", file.name));
        let problems = loaded.problems.iter().map(|problem| {
            let hint = problem.suggestion.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{}: {}{hint}", problem.category, problem.message)
        });
        let lines: Vec<String> = files.chain(problems).collect();
        lines.join("\n").replace(&format!("{}/", folder.path().display()), "").replace(&folder.path().display().to_string(), ".")
    }

    #[test]
    fn folders_give_their_yaml_files_once_and_sorted() {
        let files: [(&str, &[u8]); 7] = [
            ("b.yaml", b"a: 1"),
            ("a.yml", b"a: 1"),
            ("c.json", b"{}"),
            ("fleetctl.yaml", b"x: 1"),
            (".hidden.yaml", b"x: 1"),
            ("empty.yaml", b""),
            ("below/d.yaml", b"a: 1"),
        ];
        let folder = folder(&files);
        insta::assert_snapshot!(summary(&folder, &["", "b.yaml", "below", "c.json"]), @"
        read a.yml
        read b.yaml
        read empty.yaml
        read below/d.yaml
        read c.json
        ");
    }

    #[test]
    fn bad_files_are_all_named() {
        let files: [(&str, &[u8]); 6] = [
            ("empty.yaml", b"# nothing\n"),
            ("latin.yaml", b"a: 1\nb: \xe9\n"),
            ("wide.yaml", b"\xff\xfea\0"),
            ("large.yaml", &vec![b'#'; MAX_BYTES + 1]),
            ("plan.json", br#"{"fleetctlPlan": 1}"#),
            ("folder/text.txt", b""),
        ];
        let folder = folder(&files);
        let inputs = ["missing.yaml", "empty.yaml", "latin.yaml", "wide.yaml", "large.yaml", "plan.json", "folder"];
        insta::assert_snapshot!(summary(&folder, &inputs), @"
        read empty.yaml
        read plan.json
        unreadable-file: missing.yaml cannot be read: there is no such file or folder
        no-documents: empty.yaml holds no document
        not-utf8: latin.yaml is not UTF-8: byte 9 in line 2
        not-utf8: wide.yaml is not UTF-8: byte 1 in line 1 (it looks like UTF-16: save it as UTF-8)
        yaml-too-large: large.yaml has 8 MiB; documents may have 8 MiB
        misplaced-plan: plan.json is a written plan, not a document (carry it out with `fleetctl apply plan.json`, with nothing beside it)
        no-documents: the folder folder holds no file *.yaml or *.yml (folders below it are not looked into: name them)
        ");
    }

    #[test]
    fn a_stream_that_never_ends_is_given_up() {
        let problem = read_all(STDIN, io::repeat(b'#')).unwrap_err();
        assert_eq!(problem.message, "<stdin> has more than 8 MiB; documents may have 8 MiB");
    }
}
