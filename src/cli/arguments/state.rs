//! `state`, and what compares states with AWS.

use super::Inputs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `state`.
#[derive(Debug, Subcommand)]
pub enum State {
    /// Make a lost state anew from what bears the instance's tags on AWS and in Argo CD
    Rebuild(Rebuild),
}

impl State {
    /// The command's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rebuild(_) => "state rebuild",
        }
    }
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
