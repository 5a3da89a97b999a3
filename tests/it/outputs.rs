//! Forms of output that other programs read: completion scripts, manual pages, Markdown.

use crate::support::World;
use crate::support::skip::skipped;
use crate::support::world::Ended;
use std::path::Path;
use std::process::Command;

fn fleetctl(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fleetctl")).args(arguments).current_dir(std::env::temp_dir()).output();
    Ended::of(output.unwrap()).expect(0).stdout
}

/// Whether a program is there, and what it says of a file. `None` if it is not there.
fn judged(program: &str, arguments: &[&str], file: &Path) -> Option<(bool, String)> {
    let output = Command::new(program).args(arguments).arg(file).output().ok()?;
    Some((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[test]
fn shells_take_their_completion_scripts() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = fleetctl(&["completion", shell]);
        assert!(script.contains("kubeconfig") && script.contains("visibility-window"), "{shell}");
        let file = folder.path().join(shell);
        std::fs::write(&file, script).unwrap();
        let arguments: &[&str] = match shell {
            "bash" | "zsh" => &["-n"],
            "fish" => &["--no-execute"],
            // These have no way to look at a script without running it.
            _ => continue,
        };
        match judged(shell, arguments, &file) {
            Some((is_fine, said)) => assert!(is_fine, "{shell}: {said}"),
            None => skipped("shells_take_their_completion_scripts", &format!("there is no {shell}")),
        }
    }
}

#[test]
fn bash_completes_commands_and_options() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fleetctl.bash");
    std::fs::write(&file, fleetctl(&["completion", "bash"])).unwrap();
    let complete = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let script = format!(
            "source '{}'; COMP_WORDS=({}); COMP_CWORD={}; _fleetctl fleetctl '{last}' '{before}'; echo \"${{COMPREPLY[@]}}\"",
            file.display(),
            words.join(" "),
            words.len() - 1,
        );
        Ended::of(Command::new("bash").args(["-c", &script]).output().unwrap()).expect(0).stdout.trim().to_owned()
    };
    if Command::new("bash").arg("--version").output().is_err() {
        return skipped("bash_completes_commands_and_options", "there is no bash");
    }
    assert_eq!(complete("fleetctl kub"), "kubeconfig");
    assert_eq!(complete("fleetctl kubeconfig --keep"), "--keep-context");
    assert_eq!(complete("fleetctl graph -o m"), "mermaid markdown");
}

#[test]
fn manual_pages_are_read_without_a_complaint() {
    let folder = tempfile::tempdir().unwrap();
    fleetctl(&["man", folder.path().to_str().unwrap()]);
    let pages: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|page| page.unwrap().path()).collect();
    assert!(pages.len() > 12, "{pages:?}");
    for page in &pages {
        match judged("groff", &["-man", "-ww", "-z", "-Tutf8"], page) {
            Some((is_fine, said)) => assert!(is_fine && said.is_empty(), "{}: {said}", page.display()),
            None => return skipped("manual_pages_are_read_without_a_complaint", "there is no groff"),
        }
    }
}

#[test]
fn a_plan_as_markdown_ends_as_a_plan_as_text_does() {
    let world = World::new();
    let text = world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode"]).expect(2);
    let markdown =
        world.fleetctl(&["plan", "cluster.yaml", "--detailed-exitcode", "-o", "markdown", "--color", "always"]).expect(2);
    let page = &markdown.stdout;
    assert!(page.starts_with("## fleetctl plan: 22 to create\n"), "{page}");
    assert!(text.stdout.contains("Plan: 22 to create"), "{}", text.stdout);
    assert_eq!(page.lines().filter(|line| line.starts_with("| create |")).count(), 22, "{page}");
    assert!(page.contains("role/ack</code> (") && !page.contains('\u{1b}'), "{page}");
    assert!(page.len() < 65_536, "{}", page.len());

    // A plan that cannot be made is said on the page too.
    world.write("fleetctl.yaml", &world.fleetctl_yaml("externalId: wrong"));
    let failed = world.fleetctl(&["plan", "cluster.yaml", "-o", "markdown"]);
    assert_eq!(failed.code, Some(6), "{}", failed.stderr);
    world.write("fleetctl.yaml", &world.fleetctl_yaml("externalId: fleetctl-test"));
    let wrong = world.fleetctl(&["status", "-o", "markdown"]).expect(4);
    assert!(wrong.stderr.contains("markdown is a form of `fleetctl plan`"), "{}", wrong.stderr);
    let graph = world.fleetctl(&["graph", "cluster.yaml", "-o", "mermaid"]).expect(0);
    assert!(graph.stdout.starts_with("flowchart BT\n"), "{}", graph.stdout);
    assert_eq!(world.inventory(&world.workload)["vpcs"].as_array().map_or(0, Vec::len), 0);
}
