//! `state`, and what compares states with AWS.

use super::Inputs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `state`.
#[derive(Debug, Subcommand)]
pub enum State {
    /// List what is recorded, one resource a line
    List(List),
    /// Show everything that is recorded of an instance, or of one resource
    Show(Show),
    /// Forget resources, without touching them on AWS
    Rm(Rm),
    /// Give a recorded resource, or the state of a whole instance, another name
    ///
    /// Nothing changes on AWS: the next apply puts the new names into the tags.
    Mv(Mv),
    /// Print a state, as it is now, journal included
    Pull(Pull),
    /// Put a state, or entries that a run could not write, into the store
    Push(Push),
    /// Show the versions that are kept, and what each changed
    History(History),
    /// Look for what is wrong with states, and go back to what is whole
    Doctor(Doctor),
    /// Make a lost state anew from what bears the instance's tags on AWS and in Argo CD
    Rebuild(Rebuild),
    /// Take the lock of a state away from a holder that is gone
    ///
    /// Shows who holds it and when that run was heard of last, and asks. A run that has lost its lock begins nothing more.
    /// A lock in a folder goes with its process and needs no unlock; one in S3 stays when its run is killed.
    Unlock(Unlock),
}

impl State {
    /// The command's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::List(_) => "state list",
            Self::Show(_) => "state show",
            Self::Rm(_) => "state rm",
            Self::Mv(_) => "state mv",
            Self::Pull(_) => "state pull",
            Self::Push(_) => "state push",
            Self::History(_) => "state history",
            Self::Doctor(_) => "state doctor",
            Self::Rebuild(_) => "state rebuild",
            Self::Unlock(_) => "state unlock",
        }
    }
}

/// `state unlock`.
#[derive(Debug, Clone, Default, Args)]
pub struct Unlock {
    /// The instance
    #[arg(value_name = "KIND/NAME")]
    pub name: String,
    /// Its namespace
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Confirm by name that a holder that seems to be alive loses the lock: its host and process, as shown
    #[arg(long, value_name = "HOST:PID")]
    pub confirm: Option<String>,
}

/// `state list`.
#[derive(Debug, Clone, Default, Args)]
pub struct List {
    /// Only these instances
    #[arg(value_name = "KIND/NAME")]
    pub names: Vec<String>,
    /// Only instances of this namespace
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}

/// `state show`.
#[derive(Debug, Clone, Default, Args)]
pub struct Show {
    /// The instance
    #[arg(value_name = "KIND/NAME")]
    pub name: String,
    /// Only this resource
    #[arg(value_name = "ADDRESS")]
    pub address: Option<String>,
    /// The instance's namespace
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}

/// `state rm`.
#[derive(Debug, Clone, Default, Args)]
pub struct Rm {
    /// The instance
    #[arg(value_name = "KIND/NAME")]
    pub name: String,
    /// The resources
    #[arg(value_name = "ADDRESS", required = true)]
    pub addresses: Vec<String>,
    /// The instance's namespace
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Confirm that the resource at this address is forgotten although what came of a call about it is not known; may be
    /// repeated
    #[arg(long, value_name = "ADDRESS")]
    pub confirm: Vec<String>,
}

/// `state mv`.
#[derive(Debug, Clone, Default, Args)]
pub struct Mv {
    /// KIND/NAME of an instance, or the address of a resource: EksCluster/workload-cluster1/vpc/vpc
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// The same with its new name
    #[arg(value_name = "DESTINATION")]
    pub destination: String,
    /// The instance's namespace
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Its new namespace, for an instance
    #[arg(long, value_name = "NAMESPACE")]
    pub to_namespace: Option<String>,
    /// The new metadata.name, for a resource whose definition gives it another one
    #[arg(long, value_name = "NAME")]
    pub metadata_name: Option<String>,
}

/// `state pull`.
#[derive(Debug, Clone, Default, Args)]
pub struct Pull {
    /// The instance
    #[arg(value_name = "KIND/NAME")]
    pub name: String,
    /// Its namespace
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Write it into a file instead
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `state push`.
#[derive(Debug, Clone, Default, Args)]
pub struct Push {
    /// A state as `state pull` wrote it, edited or not; its checksum is made anew
    #[arg(value_name = "FILE", required_unless_present = "entries")]
    pub file: Option<PathBuf>,
    /// Lines that a run printed because it could not write them; `-` for standard input
    #[arg(long, value_name = "FILE", requires = "to", conflicts_with = "file")]
    pub entries: Option<PathBuf>,
    /// The instance that the entries are of
    #[arg(long, value_name = "KIND/NAME")]
    pub to: Option<String>,
    /// Its namespace
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Put the state there although it is older than the one that is there, or of another lineage
    #[arg(long, value_name = "KIND/NAME")]
    pub force: Option<String>,
}

/// `state history`.
#[derive(Debug, Clone, Default, Args)]
pub struct History {
    /// The instance
    #[arg(value_name = "KIND/NAME")]
    pub name: String,
    /// Its namespace
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}

/// `state doctor`.
#[derive(Debug, Clone, Default, Args)]
pub struct Doctor {
    /// Only this instance
    #[arg(value_name = "KIND/NAME", required_if_eq("restore", "true"))]
    pub name: Option<String>,
    /// Its namespace
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Go back to the newest version that is whole, and add what the journal says; what is damaged is kept aside
    #[arg(long)]
    pub restore: bool,
}

/// `state rebuild`.
#[derive(Debug, Args)]
pub struct Rebuild {
    /// Documents.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Take the objects of this lineage, where several states have made objects for one instance
    #[arg(long, value_name = "LINEAGE")]
    pub lineage: Option<String>,
    /// Where several objects bear one address, record the one with this id; may be repeated
    #[arg(long, value_name = "ID")]
    pub keep: Vec<String>,
    /// Keep a state that cannot be read aside, and put what is found in its place; may be repeated
    #[arg(long, value_name = "NAMESPACE/KIND.NAME.json")]
    pub replace: Vec<String>,
}

/// `orphans`.
#[derive(Debug, Args)]
pub struct Orphans {
    /// Documents, whose accounts and regions are looked into beside those of all recorded instances
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The same as FILE; may be repeated
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub file: Vec<PathBuf>,
    /// Look into this account too, by the role that the settings name for it; may be repeated
    #[arg(long, value_name = "ID", value_parser = account)]
    pub account: Vec<String>,
    /// In this region; may be repeated. Otherwise the one of the environment
    #[arg(long, value_name = "REGION", requires = "account")]
    pub region: Vec<String>,
}

fn account(text: &str) -> Result<String, String> {
    if crate::aws::arn::is_account(text) { Ok(text.to_owned()) } else { Err("an account id has 12 digits".to_owned()) }
}

/// `import`.
#[derive(Debug, Args)]
pub struct Import {
    /// File, folder or `-` with the instance's documents; may be repeated
    #[arg(short = 'f', long = "file", value_name = "FILE", required = true)]
    pub file: Vec<PathBuf>,
    /// The resource that the object is to be: EksCluster/workload-cluster1/vpc/vpc
    #[arg(value_name = "ADDRESS")]
    pub address: String,
    /// What AWS knows the object by: vpc-0abc, a role's name, CLUSTER|NAME for what lives in a cluster, the server of a
    /// registration
    #[arg(value_name = "ID")]
    pub id: String,
    /// Import it although fields differ that can be changed only by making it anew: plans refuse those until the documents
    /// fit
    #[arg(long, value_name = "ADDRESS")]
    pub confirm: Option<String>,
}
