//! Arguments of the commands around fleetctl: kubectl's way into a cluster, completion, manual pages.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// A text that is not blank.
fn word(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// `kubeconfig`.
#[derive(Debug, Clone, Default, Args)]
pub struct Kubeconfig {
    /// A recorded instance, or a cluster by the name that EKS has for it
    #[arg(value_name = "KIND/NAME|CLUSTER")]
    pub name: String,
    /// Only instances of this namespace
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// The cluster's name or ARN, where an instance has several
    #[arg(long, value_name = "CLUSTER")]
    pub cluster: Option<String>,
    /// The kubeconfig; otherwise the first file of KUBECONFIG that is there, otherwise ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Print a kubeconfig with this cluster alone, and write nothing
    #[arg(long, conflicts_with = "kubeconfig")]
    pub stdout: bool,
    /// Name of the context; otherwise the cluster's ARN, which also names cluster and user
    #[arg(long, value_name = "NAME", visible_alias = "alias", value_parser = word)]
    pub context: Option<String>,
    /// Leave the current context as it is
    #[arg(long, visible_alias = "no-set-context")]
    pub keep_context: bool,
    /// Role that tokens are for; otherwise the one that is recorded with the cluster
    #[arg(long, value_name = "ARN")]
    pub role_arn: Option<String>,
}

/// `token`.
#[derive(Debug, Args)]
pub struct Token {
    /// The name that EKS has for the cluster
    #[arg(long, value_name = "NAME", value_parser = word)]
    pub cluster: String,
    /// The cluster's region
    #[arg(long, value_name = "REGION", value_parser = word)]
    pub region: String,
    /// The role to assume; otherwise the token is for the caller's own credentials
    #[arg(long, value_name = "ARN")]
    pub role_arn: Option<String>,
    /// External id that the role's trust policy asks for
    #[arg(long, value_name = "ID", requires = "role_arn")]
    pub external_id: Option<String>,
    /// Name of the role's session; otherwise fleetctl-<cluster>
    #[arg(long, value_name = "NAME", requires = "role_arn")]
    pub session_name: Option<String>,
}

/// `completion`.
#[derive(Debug, Args)]
pub struct Completion {
    /// The shell
    pub shell: Shell,
}

/// `man`.
#[derive(Debug, Args)]
pub struct Man {
    /// Folder to write one page a command into; it is made if it is not there
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}
