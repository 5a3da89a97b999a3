//! Whole commands, as far as they need neither AWS nor Argo CD: what is typed in, exit code and texts out.

use super::environment::Environment;
use super::printer::{Captured, PrinterSettings};
use super::run;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use tempfile::TempDir;

/// A folder of documents to run commands on.
struct Folder(TempDir);

/// What a command did.
struct Outcome {
    code: u8,
    out: String,
    error: String,
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        std::fs::write(folder.path().join("no-settings.yaml"), "").unwrap();
        Self(folder)
    }

    /// Runs a command line in which `DIR` stands for the folder.
    fn run(&self, line: &str) -> Outcome {
        self.run_with(line, &[])
    }

    fn run_with(&self, line: &str, environment: &[(&str, &str)]) -> Outcome {
        let folder = self.0.path().display().to_string();
        // The same definitions and settings, wherever the tests are run.
        let line = format!("fleetctl {line} --state DIR/state --graphs {}", shipped().display()).replace("DIR", &folder);
        let arguments: Vec<OsString> = line.split(' ').map(Into::into).collect();
        let (printer, out, error) = Captured::printer(PrinterSettings::PLAIN);
        let config = format!("{folder}/no-settings.yaml");
        let environment = [&[("FLEETCTL_CONFIG", config.as_str())], environment].concat();
        let (code, _) = run(&arguments, &Environment::of(&environment), &printer);
        let text = |captured: &Captured| captured.text().replace(&folder, "DIR");
        Outcome { code, out: text(&out), error: text(&error) }
    }
}

fn shipped() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("graphs")
}

const CLUSTER: &str = include_str!("../../examples/workload-cluster1.yaml");

#[test]
fn the_example_is_valid() {
    let outcome = Folder::new(&[("cluster.yaml", CLUSTER)]).run("validate DIR/cluster.yaml");
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "valid: 1 instance, 1 role selector, 1 namespace\n"));
    assert_eq!(outcome.error, "");
}

#[test]
fn definitions_alone_are_validated_as_definitions() {
    let outcome = Folder::new(&[]).run(&format!("validate {}", shipped().display()));
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "valid: 3 graph definitions\n"));
}

#[test]
fn what_is_wrong_is_shown_at_its_line() {
    let wrong =
        CLUSTER.replace("accountId: \"222222222222\"", "acountId: \"222222222222\"").replace("10.0.1.0/24", "10.0.1.0/33");
    let outcome = Folder::new(&[("cluster.yaml", &wrong)]).run("validate DIR/cluster.yaml");
    assert_eq!(outcome.code, 4);
    insta::assert_snapshot!(outcome.out, @r#"
    fleetctl::unknown-field

      × `spec.acountId`: there is no field `acountId`
        ╭─[DIR/cluster.yaml:19:3]
     18 │   k8sVersion: "1.34"
     19 │   acountId: "222222222222" # where the cluster is; quoted, since an account id is text
        ·   ────────
     20 │   managementAccountId: "111111111111" # where Argo CD is
        ╰────
      help: did you mean `accountId`?

    1 error
    "#);
}

#[test]
fn values_that_aws_refuses_are_found_offline() {
    let wrong = CLUSTER.replace("10.0.1.0/24", "10.0.1.0/33");
    let outcome = Folder::new(&[("cluster.yaml", &wrong)]).run("validate -o json DIR/cluster.yaml");
    let json: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((outcome.code, &json["diagnostics"][0]["category"]), (4, &"impossible-value".into()));
    assert_eq!(json["diagnostics"][0]["file"], "DIR/cluster.yaml");
    assert_eq!(json["version"], 1);
}

#[test]
fn a_region_that_is_none_is_found_at_its_input() {
    let wrong = CLUSTER.replace("us-west-2", "us-wset-2");
    let outcome = Folder::new(&[("cluster.yaml", &wrong)]).run("validate -o json DIR/cluster.yaml");
    let json: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((outcome.code, json["diagnostics"].as_array().map(Vec::len)), (4, Some(1)), "{json}");
    assert_eq!(json["diagnostics"][0]["category"], "impossible-value");
    assert!(json["diagnostics"][0]["suggestion"].as_str().unwrap().contains("`spec.region`"), "{json}");
    assert!(json["diagnostics"][0]["line"].is_number(), "{json}");
}

#[test]
fn a_usage_error_is_four_and_help_is_no_error() {
    let folder = Folder::new(&[]);
    for line in ["nonsense", "plan", "apply --parallelism many x.yaml", "plan --parallelism 0 x.yaml", "status nonsense"] {
        let outcome = folder.run(line);
        assert_eq!(outcome.code, 4, "{line}: {}", outcome.error);
        assert_eq!(outcome.out, "", "{line}");
        assert!(outcome.error.starts_with("error:"), "{line}: {}", outcome.error);
    }
    for line in ["--help", "plan --help", "--version"] {
        let outcome = folder.run(line);
        assert_eq!((outcome.code, outcome.error.as_str()), (0, ""), "{line}");
    }
}

#[test]
fn programs_get_errors_as_objects() {
    let folder = Folder::new(&[]);
    for line in ["-o json nonsense", "plan -o json DIR/missing.yaml", "graph --output=json DIR/missing.yaml"] {
        let outcome = folder.run(line);
        let json: Value = serde_json::from_str(&outcome.out).unwrap();
        assert_eq!((outcome.code, json["version"].as_u64(), json["error"]["message"].is_string()), (4, Some(1), true), "{line}");
    }
    for line in ["apply -o json DIR/missing.yaml", "destroy -o json EksCluster/missing", "apply -o json"] {
        let outcome = folder.run(line);
        let json: Value = serde_json::from_str(outcome.out.lines().last().unwrap()).unwrap();
        assert_eq!((outcome.code, &json["event"], json["exit"].as_u64()), (4, &"summary".into(), Some(4)), "{line}");
    }
}

#[test]
fn without_a_terminal_yes_has_to_be_said() {
    let folder = Folder::new(&[("cluster.yaml", CLUSTER)]);
    let outcome = folder.run("apply DIR/cluster.yaml");
    let message = "error: apply needs --yes where there is no terminal to ask on; nothing was changed\n";
    // Someone who runs the tests on a terminal would be asked; nobody is there to ask where they run for everyone.
    let has_terminal = std::io::IsTerminal::is_terminal(&std::io::stdin());
    assert!(has_terminal || (outcome.code, outcome.error.as_str()) == (4, message), "{}", outcome.error);
    assert_eq!(outcome.out, "");
}

#[test]
fn an_apply_needs_an_instance() {
    let outcome = Folder::new(&[]).run(&format!("apply --yes {}", shipped().join("vpc.yaml").display()));
    assert_eq!(outcome.code, 4);
    assert!(outcome.error.contains("no instance of a graph definition in"), "{}", outcome.error);
    assert!(outcome.error.contains("a graph definition alone makes nothing"), "{}", outcome.error);
}

#[test]
fn nothing_is_recorded_at_first() {
    let folder = Folder::new(&[("cluster.yaml", CLUSTER)]);
    let status = folder.run("status");
    assert_eq!((status.code, status.out.as_str()), (0, "Nothing is recorded in DIR/state.\n"));
    let json: Value = serde_json::from_str(&folder.run("status -o json").out).unwrap();
    assert_eq!(json, serde_json::json!({"version": 1, "instances": []}));
    let destroy = folder.run("destroy --yes EksCluster/workload-cluster1");
    assert_eq!(
        (destroy.code, destroy.error.as_str()),
        (
            4,
            "error: nothing is recorded of EksCluster/workload-cluster1 in DIR/state\nif its state is lost, `fleetctl state rebuild \
             FILE…` with its documents makes it anew from what is there, and destroy removes that\n"
        )
    );
    assert_eq!(folder.run("destroy --yes DIR/cluster.yaml").code, 4);
}

#[test]
fn the_graph_has_every_resource_of_the_example_in_order() {
    let outcome = Folder::new(&[("cluster.yaml", CLUSTER)]).run("graph -o json DIR/cluster.yaml");
    let json: Value = serde_json::from_str(&outcome.out).unwrap();
    let count = |key: &str| json[key].as_array().map(Vec::len);
    assert_eq!((outcome.code, count("nodes")), (0, count("order")));
    let included = json["nodes"].as_array().unwrap().iter().filter(|node| node["included"] == true);
    assert!(included.clone().all(|node| node["account"] == "222222222222" && node["region"] == "us-west-2"));
    assert_eq!(included.count(), 22);
}

#[test]
fn settings_that_are_wrong_stop_every_command() {
    let folder = Folder::new(&[("fleetctl.yaml", "regoin: us-west-2\n")]);
    let outcome = folder.run("status --config DIR/fleetctl.yaml");
    assert_eq!(outcome.code, 4);
    insta::assert_snapshot!(outcome.error, @"
    fleetctl::unknown-setting

      × unknown setting `regoin`
       ╭─[DIR/fleetctl.yaml:1:1]
     1 │ regoin: us-west-2
       · ──────
       ╰────
      help: did you mean `region`?

    error: 1 problem in the settings
    ");
}

#[test]
fn folders_that_are_files_are_told() {
    let folder = Folder::new(&[("cluster.yaml", CLUSTER)]);
    let outcome = folder.run_with("status --config DIR/fleetctl.yaml", &[]);
    assert_eq!(outcome.code, 4, "{}", outcome.error);
    std::fs::write(folder.0.path().join("state"), "").unwrap();
    let outcome = folder.run("status");
    let message = "error: DIR/state is a file: state needs a folder (--state)\n";
    assert_eq!((outcome.code, outcome.error.as_str()), (4, message));
}

#[test]
fn variables_are_as_good_as_flags() {
    let outcome = Folder::new(&[]).run_with("status", &[("FLEETCTL_OUTPUT", "json")]);
    assert!(outcome.out.starts_with('{'), "{}", outcome.out);
}
