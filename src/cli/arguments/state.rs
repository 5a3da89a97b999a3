//! `state`, and what compares states with AWS.

use super::Inputs;
use clap::{Args, Subcommand};

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
