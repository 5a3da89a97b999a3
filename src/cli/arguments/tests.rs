//! What the help says, and that it is consistent.

use super::*;
use clap::CommandFactory;

fn help(path: &[&str]) -> String {
    let mut command = Arguments::command().term_width(100);
    command.build();
    let mut place = &mut command;
    for name in path {
        place = place.find_subcommand_mut(name).unwrap();
    }
    place.render_long_help().to_string()
}

/// Help without what all commands have in common.
fn own_help(path: &[&str]) -> String {
    let text = help(path);
    text.split("Common options:").next().unwrap_or_default().trim_end().to_owned()
}

#[test]
fn the_definition_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn every_common_option_names_its_variable() {
    let text = help(&["plan"]).replace('\n', " ");
    for variable in crate::cli::environment::ALL {
        let internal = ["FLEETCTL_LOG"].contains(&variable.name);
        assert!(internal || !variable.name.starts_with("FLEETCTL_") || text.contains(variable.name), "{}", variable.name);
    }
}

#[test]
fn json_is_recognised_on_a_broken_command_line() {
    let words = |text: &str| text.split(' ').map(Into::into).collect::<Vec<std::ffi::OsString>>();
    assert!(asks_for_json(&words("fleetctl -o json nonsense"), None));
    assert!(asks_for_json(&words("fleetctl nonsense --output=json"), None));
    assert!(asks_for_json(&words("fleetctl nonsense"), Some("json")));
    assert!(!asks_for_json(&words("fleetctl -o text nonsense"), Some("json")));
    assert!(!asks_for_json(&words("fleetctl nonsense"), None));
}

#[test]
fn help_of_the_program() {
    insta::assert_snapshot!(help(&[]), @"
    Provisions fleets of Amazon EKS clusters from kro graph definitions, calling AWS directly

    Usage: fleetctl [OPTIONS] <COMMAND>

    Commands:
      validate    Check documents and graph definitions, without credentials and without any call
      plan        Show what apply would change, and change nothing
      apply       Make AWS what the documents say
      destroy     Remove everything that an instance has made
      drift       Show what was changed past fleetctl, and change nothing
      status      Show what is recorded, without any call
      graph       Show the resources of instances, their order and what they need of each other, without
                  any call
      kubeconfig  Let kubectl reach a recorded cluster: writes into a kubeconfig
      token       Print a token for a cluster's Kubernetes API; kubectl calls this
      state       Look after recorded state
      import      Take an object that is there and is nobody's into an instance's state
      orphans     Show what bears fleetctl's tags and is in no state, and what is recorded and not
                  there; change nothing
      config      Show the settings
      completion  Print a script that makes a shell complete commands and options
      man         Print the manual page, or write one page a command into a folder
      version     Show the version
      help        Print this message or the help of the given subcommand(s)

    Options:
      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Common options:
          --graphs <DIR>
              Folder with graph definitions; otherwise ./graphs if it holds any, otherwise the built-in
              ones [env: FLEETCTL_GRAPHS]

          --state <DIR>
              Folder with state, or s3://BUCKET/PREFIX; otherwise ./state [env: FLEETCTL_STATE]

      -o, --output <FORM>
              Form of the results; otherwise text [env: FLEETCTL_OUTPUT]

              Possible values:
              - text:     For people
              - json:     For programs: one object, or one event a line for apply and destroy
              - dot:      `graph` alone, for Graphviz: `fleetctl graph -o dot cluster.yaml | dot -Tsvg`
              - mermaid:  `graph` alone, for Mermaid, as GitHub draws it
              - markdown: `plan` alone, for a comment on a pull request

      -y, --yes
              Do not ask before apply and destroy [env: FLEETCTL_YES]

          --parallelism <NUMBER>
              Most steps at one time; otherwise 32 [env: FLEETCTL_PARALLELISM]

      -q, --quiet
              Only failures and results; with --yes no plan either [env: FLEETCTL_QUIET]

      -v, --verbose...
              More: -v lists what is unchanged and logs, -vv logs what the AWS SDK does [env:
              FLEETCTL_VERBOSE]

          --color <WHEN>
              Whether to colour; otherwise auto [env: FLEETCTL_COLOR, NO_COLOR]

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never

          --argocd <KIND>
              Which Argo CD clusters are registered with; otherwise auto [env: FLEETCTL_ARGOCD]

              Possible values:
              - none:         None: registrations are left out on purpose
              - auto:         The one in ARGOCD_SERVER; its version tells which kind it is
              - hosted:       The capability that EKS hosts
              - self-managed: Argo CD itself

          --config <FILE>
              File with settings; otherwise ./fleetctl.yaml if it is there [env: FLEETCTL_CONFIG]

          --visibility-window <SECONDS>
              The absence of an object that was just made counts after this many seconds; otherwise 60
              [env: FLEETCTL_VISIBILITY_WINDOW]

    Exit codes:
      0    done; nothing to do; no drift
      1    failed; refused; the answer was no
      2    changes (`plan --detailed-exitcode`); drift (`drift`); orphans (`orphans`)
      3    incomplete: some objects could not be read or were not reached
      4    bad input: usage, settings, documents, definitions; `--yes` or `--confirm` is missing
      5    the state is locked by somebody else
      6    no credentials, or the wrong account
      130  interrupted
    ");
}

#[test]
fn help_of_validate() {
    insta::assert_snapshot!(own_help(&["validate"]), @"
    Check documents and graph definitions, without credentials and without any call

    Usage: fleetctl validate [OPTIONS] [FILE]...

    Arguments:
      [FILE]...
              Files, folders (their *.yaml and *.yml, not those of folders below) or `-` for standard
              input

    Options:
      -f, --file <FILE>
              The same as FILE; may be repeated

      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn help_of_plan() {
    insta::assert_snapshot!(own_help(&["plan"]), @"
    Show what apply would change, and change nothing

    Usage: fleetctl plan [OPTIONS] [FILE]...

    Arguments:
      [FILE]...
              Files, folders (their *.yaml and *.yml, not those of folders below) or `-` for standard
              input

    Options:
      -f, --file <FILE>
              The same as FILE; may be repeated

          --out <PLAN>
              Write the plan to a file, to be carried out by `fleetctl apply PLAN` as long as nothing
              has moved

          --detailed-exitcode
              Exit with 2 when there are changes

      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn help_of_apply() {
    insta::assert_snapshot!(own_help(&["apply"]), @"
    Make AWS what the documents say

    Usage: fleetctl apply [OPTIONS] [FILE]...

    Arguments:
      [FILE]...
              Files, folders (their *.yaml and *.yml, not those of folders below) or `-` for standard
              input

    Options:
      -f, --file <FILE>
              The same as FILE; may be repeated

          --confirm <ADDRESS>
              Confirm the replacement, removal or takeover of the object at this address; may be
              repeated. On a terminal it is asked for

          --drift-only
              Put back what was changed past fleetctl, and leave alone what the documents have brought
              since the last apply

      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn help_of_destroy() {
    insta::assert_snapshot!(own_help(&["destroy"]), @"
    Remove everything that an instance has made

    Usage: fleetctl destroy [OPTIONS] [FILE|KIND/NAME]...

    Arguments:
      [FILE|KIND/NAME]...
              Files, folders or `-`, whose instances are destroyed; or KIND/NAME of recorded instances

    Options:
      -f, --file <FILE>
              A file, folder or `-`; may be repeated

      -n, --namespace <NAMESPACE>
              Namespace of the instances that KIND/NAME names, where there are several

          --drain
              Before anything goes, switch off the labels by which Argo CD puts Applications on the
              clusters, and wait until they are gone

          --drain-timeout <SECONDS>
              How long that may take; after it nothing is destroyed. Otherwise 600

          --drain-label <KEY=VALUE>
              Set this label too when draining, beside `enable_*` and `workloads`, which become `false`;
              may be repeated

          --confirm <ADDRESS>
              Confirm that the cluster of the registration at this address goes although Applications
              live on it; may be repeated. On a terminal it is asked for

      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn help_of_status() {
    insta::assert_snapshot!(own_help(&["status"]), @"
    Show what is recorded, without any call

    Usage: fleetctl status [OPTIONS] [KIND/NAME]...

    Arguments:
      [KIND/NAME]...
              Only these instances

    Options:
      -n, --namespace <NAMESPACE>
              Only instances of this namespace

      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn help_of_graph() {
    insta::assert_snapshot!(own_help(&["graph"]), @"
    Show the resources of instances, their order and what they need of each other, without any call

    Usage: fleetctl graph [OPTIONS] [FILE]...

    Arguments:
      [FILE]...
              Files, folders (their *.yaml and *.yml, not those of folders below) or `-` for standard
              input

    Options:
      -f, --file <FILE>
              The same as FILE; may be repeated

      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn help_of_config_show() {
    insta::assert_snapshot!(own_help(&["config", "show"]), @"
    Show every setting and where its value comes from

    Usage: fleetctl config show [OPTIONS]

    Options:
      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn help_of_version() {
    insta::assert_snapshot!(own_help(&["version"]), @"
    Show the version

    Usage: fleetctl version [OPTIONS]

    Options:
      -h, --help
              Print help (see a summary with '-h')
    ");
}
