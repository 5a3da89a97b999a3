//! Every environment variable that fleetctl reads itself, and the only place that reads them. Credentials, regions and
//! endpoints of AWS come from the SDK's standard chain; they are looked at here only so that `config show` can name
//! their origin.

use super::error::CliError;
use crate::state::session::Holder;
use std::collections::BTreeMap;

/// An environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub help: &'static str,
}

macro_rules! variables {
    ($($constant:ident = $name:literal, $help:literal;)*) => {
        $(#[doc = $help] pub const $constant: &str = $name;)*
        /// Every variable that is read.
        pub const ALL: &[Variable] = &[$(Variable { name: $name, help: $help }),*];
    };
}

variables! {
    CONFIG = "FLEETCTL_CONFIG", "The settings file: `--config`.";
    GRAPHS = "FLEETCTL_GRAPHS", "Folder with graph definitions: `--graphs`.";
    STATE = "FLEETCTL_STATE", "Folder with state, or `s3://BUCKET/PREFIX`: `--state`.";
    OUTPUT = "FLEETCTL_OUTPUT", "`text`, `json`, …: `--output`.";
    YES = "FLEETCTL_YES", "`true` answers the question of apply and destroy: `--yes`.";
    PARALLELISM = "FLEETCTL_PARALLELISM", "Most steps at one time: `--parallelism`.";
    QUIET = "FLEETCTL_QUIET", "`true` leaves out progress: `--quiet`.";
    VERBOSE = "FLEETCTL_VERBOSE", "`1` or `2`, as many as there would be of `-v`.";
    COLOR = "FLEETCTL_COLOR", "`auto`, `always` or `never`: `--color`.";
    VISIBILITY_WINDOW = "FLEETCTL_VISIBILITY_WINDOW", "Seconds after which the absence of a new object counts: `--visibility-window`.";
    ARGOCD = "FLEETCTL_ARGOCD", "`none`, `auto`, `hosted` or `self-managed`: `--argocd`.";
    LOG = "FLEETCTL_LOG", "Filter of the log on standard error, as `tracing` has it: `fleetctl=debug`.";
    NO_COLOR = "NO_COLOR", "When it is set, `--color auto` means `never`.";
    TERM = "TERM", "When it is `dumb`, `--color auto` means `never`.";
    USER = "USER", "Who takes the lock of a state.";
    LOGNAME = "LOGNAME", "Who takes the lock of a state, where `USER` is not set.";
    HOSTNAME = "HOSTNAME", "Where the lock of a state is taken from, where the system does not tell.";
    HOME = "HOME", "Where kubectl's configuration is looked for: `~/.kube/config`.";
    PATH = "PATH", "Whether `fleetctl` is found there decides what `fleetctl kubeconfig` writes.";
    KUBECONFIG = "KUBECONFIG", "kubectl's configuration files: `fleetctl kubeconfig` writes where kubectl would.";
    KUBERNETES_EXEC_INFO = "KUBERNETES_EXEC_INFO", "What kubectl tells `fleetctl token`.";
    ARGOCD_SERVER = "ARGOCD_SERVER", "Argo CD's server, `host[:port]`.";
    ARGOCD_AUTH_TOKEN = "ARGOCD_AUTH_TOKEN", "Argo CD's token. Never shown.";
    ARGOCD_OPTS = "ARGOCD_OPTS", "Options as for Argo CD's own command line: `--plaintext`, `--insecure`, ….";
    AWS_PROFILE = "AWS_PROFILE", "Read by the AWS SDK; shown by `config show`.";
    AWS_REGION = "AWS_REGION", "Read by the AWS SDK; also the region of objects that nothing else gives one.";
    AWS_DEFAULT_REGION = "AWS_DEFAULT_REGION", "The same, where `AWS_REGION` is not set.";
    AWS_ENDPOINT_URL = "AWS_ENDPOINT_URL", "Read by the AWS SDK; shown by `config show`.";
    AWS_ENDPOINT_URL_EC2 = "AWS_ENDPOINT_URL_EC2", "Read by the AWS SDK; shown by `config show`.";
    AWS_ENDPOINT_URL_EKS = "AWS_ENDPOINT_URL_EKS", "Read by the AWS SDK; shown by `config show`.";
    AWS_ENDPOINT_URL_IAM = "AWS_ENDPOINT_URL_IAM", "Read by the AWS SDK; shown by `config show`.";
    AWS_ENDPOINT_URL_S3 = "AWS_ENDPOINT_URL_S3", "Where state in S3 is reached; shown by `config show`.";
    AWS_ENDPOINT_URL_STS = "AWS_ENDPOINT_URL_STS", "Read by the AWS SDK; shown by `config show`.";
}

/// The variables that are set. An empty one counts as not set.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Those of this process.
    pub fn of_process() -> Result<Self, CliError> {
        let mut values = BTreeMap::new();
        for variable in ALL {
            let Some(value) = std::env::var_os(variable.name) else { continue };
            let value = match value.into_string() {
                Ok(value) => value,
                // Folders that cannot be named in text are passed over where one is searched for.
                Err(value) if variable.name == PATH => value.to_string_lossy().into_owned(),
                Err(_) => return Err(CliError::Usage(format!("the value of {} is not UTF-8", variable.name))),
            };
            values.insert(variable.name.to_owned(), value);
        }
        Ok(Self(values))
    }

    /// These.
    #[cfg(test)]
    pub fn of(values: &[(&str, &str)]) -> Self {
        Self(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Endpoints that are set to nothing: the AWS SDK takes them for addresses.
    pub fn empty_endpoints(&self) -> Vec<&str> {
        let is_empty = |(name, value): (&'_ String, &String)| name.starts_with("AWS_ENDPOINT_URL") && value.trim().is_empty();
        self.0.iter().filter(|entry| is_empty((entry.0, entry.1))).map(|(name, _)| name.as_str()).collect()
    }

    /// Who runs this process, as the lock of a state names them.
    pub fn holder(&self, command: &str) -> Holder {
        let user = self.get(USER).or(self.get(LOGNAME)).unwrap_or_default();
        Holder { pid: std::process::id(), host: self.host(), user: user.to_owned(), command: command.to_owned() }
    }

    /// The name of this machine.
    fn host(&self) -> String {
        let told = ["/proc/sys/kernel/hostname", "/etc/hostname"]
            .iter()
            .find_map(|path| std::fs::read_to_string(path).ok())
            .map(|text| text.trim().to_owned())
            .filter(|name| !name.is_empty());
        told.or_else(|| self.get(HOSTNAME).map(ToOwned::to_owned)).or_else(host_by_command).unwrap_or_else(|| "unknown".into())
    }
}

/// What the command `hostname` says, for systems that keep the name nowhere else.
fn host_by_command() -> Option<String> {
    let output = std::process::Command::new("hostname").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|name| !name.is_empty())
}

// Values may be secrets: only names are shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_holds_no_values() {
        let environment = Environment::of(&[(ARGOCD_AUTH_TOKEN, "secret-token")]);
        assert_eq!(format!("{environment:?}"), r#"{"ARGOCD_AUTH_TOKEN"}"#);
    }

    #[test]
    fn a_user_that_is_not_known_is_not_named() {
        assert_eq!(Environment::default().holder("apply").user, "");
        assert_eq!(Environment::of(&[(LOGNAME, "me")]).holder("apply").user, "me");
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        assert_eq!(Environment::of(&[(STATE, "")]).get(STATE), None);
    }
}
