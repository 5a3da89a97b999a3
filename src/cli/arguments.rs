//! The command line: clap's types. The doc comments are the help text.
#![expect(clippy::doc_markdown, reason = "help text shows backticks as they are")]

mod access;
mod state;

pub use access::{Completion, Kubeconfig, Man, Token};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
pub use state::{Doctor, History, Import, List, Mv, Orphans, Pull, Push, Rebuild, Rm, Show, State, Unlock};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0    done; nothing to do; no drift
  1    failed; refused; the answer was no
  2    changes (`plan --detailed-exitcode`); drift (`drift`); orphans (`orphans`)
  3    incomplete: some objects could not be read or were not reached
  4    bad input: usage, settings, documents, definitions; `--yes` or `--confirm` is missing
  5    the state is locked by somebody else
  6    no credentials, or the wrong account
  130  interrupted";

/// Provisions fleets of Amazon EKS clusters from kro graph definitions, calling AWS directly.
#[derive(Debug, Parser)]
#[command(name = "fleetctl", version, after_help = EXIT_CODES, max_term_width = 120)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub common: Common,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check documents and graph definitions, without credentials and without any call
    Validate(Inputs),
    /// Show what apply would change, and change nothing
    Plan(Plan),
    /// Make AWS what the documents say
    Apply(Apply),
    /// Remove everything that an instance has made
    Destroy(Destroy),
    /// Show what was changed past fleetctl, and change nothing
    Drift(Inputs),
    /// Show what is recorded, without any call
    Status(Status),
    /// Show the resources of instances, their order and what they need of each other, without any call
    Graph(Graph),
    /// Let kubectl reach a recorded cluster: writes into a kubeconfig
    Kubeconfig(Kubeconfig),
    /// Print a token for a cluster's Kubernetes API; kubectl calls this
    Token(Token),
    /// Look after recorded state
    #[command(subcommand)]
    State(State),
    /// Take an object that is there and is nobody's into an instance's state
    Import(Import),
    /// Show what bears fleetctl's tags and is in no state, and what is recorded and not there; change nothing
    Orphans(Orphans),
    /// Show the settings
    #[command(subcommand)]
    Config(Config),
    /// Print a script that makes a shell complete commands and options
    Completion(Completion),
    /// Print the manual page, or write one page a command into a folder
    Man(Man),
    /// Show the version
    Version,
}

impl Command {
    /// The command's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Validate(_) => "validate",
            Self::Plan(_) => "plan",
            Self::Apply(_) => "apply",
            Self::Destroy(_) => "destroy",
            Self::Drift(_) => "drift",
            Self::Status(_) => "status",
            Self::Graph(_) => "graph",
            Self::Kubeconfig(_) => "kubeconfig",
            Self::Token(_) => "token",
            Self::State(command) => command.name(),
            Self::Import(_) => "import",
            Self::Orphans(_) => "orphans",
            Self::Config(Config::Show) => "config show",
            Self::Completion(_) => "completion",
            Self::Man(_) => "man",
            Self::Version => "version",
        }
    }

    /// The forms that its results have.
    pub fn forms(&self) -> &'static [OutputFormat] {
        use OutputFormat::{Dot, Json, Markdown, Mermaid, Text};
        match self {
            Self::Plan(_) => &[Text, Json, Markdown],
            Self::Graph(_) => &[Text, Json, Dot, Mermaid],
            Self::Completion(_) | Self::Man(_) => &[Text],
            _ => &[Text, Json],
        }
    }

    /// Whether the settings file counts. kubectl starts `token` in any folder: what lies there must not matter.
    pub fn reads_settings_file(&self) -> bool {
        !matches!(self, Self::Token(_) | Self::Completion(_) | Self::Man(_))
    }

    /// Whether the machine output is one event a line instead of one object.
    pub fn streams(&self) -> bool {
        matches!(self, Self::Apply(_) | Self::Destroy(_))
    }
}

/// Documents.
#[derive(Debug, Clone, Default, Args)]
pub struct Inputs {
    /// Files, folders (their *.yaml and *.yml, not those of folders below) or `-` for standard input
    #[arg(value_name = "FILE", required_unless_present = "file")]
    pub files: Vec<PathBuf>,
    /// The same as FILE; may be repeated
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub file: Vec<PathBuf>,
}

impl Inputs {
    /// All of them, in order.
    pub fn all(&self) -> Vec<PathBuf> {
        self.files.iter().chain(&self.file).cloned().collect()
    }
}

/// `plan`.
#[derive(Debug, Args)]
pub struct Plan {
    /// Documents.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Write the plan to a file, to be carried out by `fleetctl apply PLAN` as long as nothing has moved
    #[arg(long, value_name = "PLAN")]
    pub out: Option<PathBuf>,
    /// Exit with 2 when there are changes
    #[arg(long)]
    pub detailed_exitcode: bool,
}

/// `apply`.
#[derive(Debug, Args)]
pub struct Apply {
    /// Documents, or one plan that `plan --out` wrote.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Confirm the replacement, removal or takeover of the object at this address; may be repeated. On a terminal it is
    /// asked for
    #[arg(long, value_name = "ADDRESS")]
    pub confirm: Vec<String>,
    /// Put back what was changed past fleetctl, and leave alone what the documents have brought since the last apply
    #[arg(long)]
    pub drift_only: bool,
}

/// `destroy`.
#[derive(Debug, Args)]
pub struct Destroy {
    /// Files, folders or `-`, whose instances are destroyed; or KIND/NAME of recorded instances
    #[arg(value_name = "FILE|KIND/NAME", required_unless_present = "file")]
    pub targets: Vec<PathBuf>,
    /// A file, folder or `-`; may be repeated
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub file: Vec<PathBuf>,
    /// Namespace of the instances that KIND/NAME names, where there are several
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Before anything goes, switch off the labels by which Argo CD puts Applications on the clusters, and wait until
    /// they are gone
    #[arg(long)]
    pub drain: bool,
    /// How long that may take; after it nothing is destroyed. Otherwise 600
    #[arg(long, value_name = "SECONDS", requires = "drain")]
    pub drain_timeout: Option<String>,
    /// Set this label too when draining, beside `enable_*` and `workloads`, which become `false`; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "drain", value_parser = label)]
    pub drain_label: Vec<(String, String)>,
    /// Confirm that the cluster of the registration at this address goes although Applications live on it; may be
    /// repeated. On a terminal it is asked for
    #[arg(long, value_name = "ADDRESS")]
    pub confirm: Vec<String>,
}

/// `KEY=VALUE`.
fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a label is written KEY=VALUE")?;
    if key.is_empty() { Err("a label needs a key".to_owned()) } else { Ok((key.to_owned(), value.to_owned())) }
}

/// `status`.
#[derive(Debug, Args)]
pub struct Status {
    /// Only these instances
    #[arg(value_name = "KIND/NAME")]
    pub instances: Vec<String>,
    /// Only instances of this namespace
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}

/// `graph`.
#[derive(Debug, Args)]
pub struct Graph {
    /// Documents.
    #[command(flatten)]
    pub inputs: Inputs,
}

/// `config`.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Show every setting and where its value comes from
    Show,
}

/// Options of every command.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Folder with graph definitions; otherwise ./graphs if it holds any, otherwise the built-in ones [env: FLEETCTL_GRAPHS]
    #[arg(long, value_name = "DIR", global = true)]
    pub graphs: Option<PathBuf>,
    /// Folder with state, or s3://BUCKET/PREFIX; otherwise ./state [env: FLEETCTL_STATE]
    #[arg(long, value_name = "DIR", global = true)]
    pub state: Option<PathBuf>,
    /// Form of the results; otherwise text [env: FLEETCTL_OUTPUT]
    #[arg(short = 'o', long, value_name = "FORM", global = true)]
    pub output: Option<OutputFormat>,
    /// Do not ask before apply and destroy [env: FLEETCTL_YES]
    #[arg(short = 'y', long, global = true)]
    pub yes: bool,
    /// Most steps at one time; otherwise 32 [env: FLEETCTL_PARALLELISM]
    #[arg(long, value_name = "NUMBER", global = true)]
    pub parallelism: Option<usize>,
    /// Only failures and results; with --yes no plan either [env: FLEETCTL_QUIET]
    #[arg(short = 'q', long, global = true)]
    pub quiet: bool,
    /// More: -v lists what is unchanged and logs, -vv logs what the AWS SDK does [env: FLEETCTL_VERBOSE]
    #[arg(short = 'v', long = "verbose", action = ArgAction::Count, global = true)]
    pub verbose: u8,
    /// Whether to colour; otherwise auto [env: FLEETCTL_COLOR, NO_COLOR]
    #[arg(long, value_name = "WHEN", global = true)]
    pub color: Option<ColorChoice>,
    /// Which Argo CD clusters are registered with; otherwise auto [env: FLEETCTL_ARGOCD]
    #[arg(long, value_name = "KIND", global = true)]
    pub argocd: Option<ArgoCdKind>,
    /// File with settings; otherwise ./fleetctl.yaml if it is there [env: FLEETCTL_CONFIG]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// The absence of an object that was just made counts after this many seconds; otherwise 60 [env:
    /// FLEETCTL_VISIBILITY_WINDOW]
    #[arg(long, value_name = "SECONDS", global = true)]
    pub visibility_window: Option<String>,
}

/// Form of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people
    Text,
    /// For programs: one object, or one event a line for apply and destroy
    Json,
    /// `graph` alone, for Graphviz: `fleetctl graph -o dot cluster.yaml | dot -Tsvg`
    Dot,
    /// `graph` alone, for Mermaid, as GitHub draws it
    Mermaid,
    /// `plan` alone, for a comment on a pull request
    Markdown,
}

impl OutputFormat {
    /// As it is typed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Dot => "dot",
            Self::Mermaid => "mermaid",
            Self::Markdown => "markdown",
        }
    }
}

/// Which Argo CD clusters are registered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArgoCdKind {
    /// None: registrations are left out on purpose
    None,
    /// The one in ARGOCD_SERVER; its version tells which kind it is
    Auto,
    /// The capability that EKS hosts
    Hosted,
    /// Argo CD itself
    SelfManaged,
}

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Whether machine output was asked for, as far as a command line that does not parse tells.
pub fn asks_for_json(arguments: &[std::ffi::OsString], from_environment: Option<&str>) -> bool {
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let by_two_words = words.windows(2).rev().find(|pair| pair[0] == "-o" || pair[0] == "--output").map(|pair| pair[1] == "json");
    let by_one_word = || words.iter().any(|word| matches!(word.as_ref(), "-ojson" | "-o=json" | "--output=json"));
    by_two_words.unwrap_or_else(|| by_one_word() || from_environment == Some("json"))
}

#[cfg(test)]
mod tests;
