//! Arguments of `state`.

use clap::{Args, Subcommand};

/// `state`.
#[derive(Debug, Subcommand)]
pub enum State {
    /// Take the lock of a state away from a holder that is gone
    ///
    /// Shows who holds it and when that run was heard of last, and asks. A run that has lost its lock begins nothing more.
    /// A lock in a folder goes with its process and needs no unlock; one in S3 stays when its run is killed.
    Unlock(Unlock),
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
