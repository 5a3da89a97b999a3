//! `argocd` in the settings file: a word, or a mapping.

use super::{Located, Reader, parse_duration};
use crate::argocd::product::{AccessRole, Product, Registering, ServerForm};
use crate::aws::arn::RoleArn;
use crate::cli::arguments::ArgoCdKind;
use crate::graph::diagnostic::Location;
use crate::graph::yaml::{Node, NodeValue};
use clap::ValueEnum as _;
use std::time::Duration;

const KEYS: [&str; 6] = ["kind", "patience", "profile", "roleArn", "roleName", "serverForm"];

/// What the settings file says of Argo CD.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ArgoCdFile {
    /// Which one it is: `kind`, or the word that stands instead of the mapping.
    pub kind: Option<Located<ArgoCdKind>>,
    /// `serverForm`: what a hosted one is given as a cluster's server.
    pub server_form: Option<Located<ServerForm>>,
    /// `roleArn` or `roleName`: the role that a self-managed one assumes.
    pub role: Option<Located<AccessRole>>,
    /// `profile`: the AWS profile that a self-managed one uses.
    pub profile: Option<Located<String>>,
    /// `patience`: how long it may be refused by a cluster whose access entry is not effective yet.
    pub patience: Option<Located<Duration>>,
    /// What was written, for `config show`: key, value, where.
    pub values: Vec<(String, Located<String>)>,
}

impl ArgoCdFile {
    /// How clusters are registered, given which Argo CD it is.
    pub fn registering(&self, kind: ArgoCdKind) -> Registering {
        let default = Registering::default();
        Registering {
            product: match kind {
                ArgoCdKind::Hosted => Some(Product::Hosted),
                ArgoCdKind::SelfManaged => Some(Product::SelfManaged),
                ArgoCdKind::Auto | ArgoCdKind::None => None,
            },
            server_form: self.server_form.as_ref().map_or(default.server_form, |form| form.value),
            role: self.role.as_ref().map(|role| role.value.clone()),
            profile: self.profile.as_ref().map(|profile| profile.value.clone()),
            patience: self.patience.as_ref().map_or(default.patience, |patience| patience.value),
        }
    }
}

impl Reader {
    /// Reads `argocd`.
    pub(super) fn argocd(&mut self, node: &Node) -> ArgoCdFile {
        if !matches!(node.value, NodeValue::Mapping(_)) {
            return ArgoCdFile { kind: self.parsed("argocd", node, parse_kind), ..ArgoCdFile::default() };
        }
        let mut file = ArgoCdFile::default();
        for (key, value) in self.mapping("`argocd`", node) {
            match key.text.as_str() {
                "kind" => {
                    file.kind = self.parsed("kind", value, parse_kind);
                    continue;
                }
                "serverForm" => file.server_form = self.parsed("serverForm", value, parse_server_form),
                "patience" => file.patience = self.parsed("patience", value, parse_duration),
                "profile" => file.profile = self.text("profile", value),
                "roleArn" | "roleName" => {
                    if file.role.is_some() {
                        self.problem("setting-value", "`argocd` has both `roleName` and `roleArn`: keep one", &key.location);
                    }
                    file.role = self.role(&key.text, value);
                }
                _ => {
                    self.unknown_key(key, &KEYS);
                    continue;
                }
            }
            let written = value.as_str().map_or_else(|| value.location.text().to_owned(), ToOwned::to_owned);
            file.values.push((key.text.clone(), Located { value: written, location: value.location.clone() }));
        }
        self.check_product(&file, &node.location);
        file
    }

    fn role(&mut self, name: &str, node: &Node) -> Option<Located<AccessRole>> {
        let is_arn = name == "roleArn";
        let Located { value, location } = self.checked(name, node, if is_arn { check_role_arn } else { check_role_name })?;
        let value = if is_arn { AccessRole::Arn(value) } else { AccessRole::Name(value) };
        Some(Located { value, location })
    }

    /// Settings that mean nothing to the Argo CD that is named.
    fn check_product(&mut self, file: &ArgoCdFile, location: &Location) {
        let useless = match file.kind.as_ref().map(|kind| kind.value) {
            Some(ArgoCdKind::Hosted) if file.role.is_some() || file.profile.is_some() => {
                "`roleArn`, `roleName` and `profile` are for a self-managed Argo CD: the hosted one uses its capability's role"
            }
            Some(ArgoCdKind::SelfManaged) if file.server_form.is_some() => {
                "`serverForm` is for a hosted Argo CD: a self-managed one takes only the endpoint"
            }
            _ => return,
        };
        self.problem("setting-value", useless, location);
    }
}

fn parse_kind(text: &str) -> Result<ArgoCdKind, String> {
    let expected = "`none`, `auto`, `hosted` or `self-managed` (a server is named by the variable ARGOCD_SERVER)";
    ArgoCdKind::from_str(text, true).map_err(|_| expected.to_owned())
}

fn parse_server_form(text: &str) -> Result<ServerForm, String> {
    match text {
        "arn" => Ok(ServerForm::Arn),
        "endpoint" => Ok(ServerForm::Endpoint),
        _ => Err("`arn`, or `endpoint` as `argocd cluster add` sends it".to_owned()),
    }
}

fn check_role_arn(arn: &str) -> Result<(), String> {
    let expected = || "the ARN of a role (`arn:aws:iam::ACCOUNT:role/NAME`)".to_owned();
    RoleArn::parse(arn).map(drop).ok_or_else(expected)
}

/// The name of a role, with its path where it has one.
fn check_role_name(name: &str) -> Result<(), String> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "+=,.@_-/".contains(letter);
    let expected = || "the name of a role in each cluster's account (for an ARN there is `roleArn`)".to_owned();
    (name.chars().all(fits) && !name.ends_with('/')).then_some(()).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::super::SettingsFile;
    use super::*;
    use crate::graph::diagnostic::SourceFile;

    fn read(text: &str) -> Result<ArgoCdFile, Vec<String>> {
        let file = SettingsFile::read(&SourceFile::new("fleetctl.yaml", text));
        file.map(|file| file.argocd).map_err(|problems| problems.iter().map(|problem| problem.message.clone()).collect())
    }

    #[test]
    fn a_word_or_a_mapping() {
        assert_eq!(read("argocd: hosted").unwrap().kind.unwrap().value, ArgoCdKind::Hosted);
        let file = read("argocd:\n  kind: self-managed\n  roleName: argocd\n  profile: fleet\n  patience: 90\n").unwrap();
        let registering = file.registering(ArgoCdKind::SelfManaged);
        assert_eq!(
            registering,
            Registering {
                product: Some(Product::SelfManaged),
                role: Some(AccessRole::Name("argocd".into())),
                profile: Some("fleet".into()),
                patience: Duration::from_secs(90),
                ..Registering::default()
            }
        );
        assert_eq!(read("").unwrap().registering(ArgoCdKind::Auto), Registering::default());
        let form = read("argocd: {serverForm: endpoint}").unwrap().registering(ArgoCdKind::Auto).server_form;
        assert_eq!(form, ServerForm::Endpoint);
    }

    #[test]
    fn what_cannot_be_is_named() {
        let both = "argocd: {roleName: a, roleArn: 'arn:aws:iam::111122223333:role/a'}";
        assert_eq!(read(both).unwrap_err(), ["`argocd` has both `roleName` and `roleArn`: keep one"]);
        for (text, part) in [
            ("argocd: eks", "`argocd` is `none`"),
            ("argocd: {kind: eks}", "`kind` is `none`"),
            ("argocd: {serverForm: name}", "`serverForm` is `arn`"),
            ("argocd: {roleArn: role/a}", "`roleArn` is the ARN of a role"),
            ("argocd: {roleName: 'a b'}", "`roleName` is"),
            ("argocd: {kind: hosted, profile: a}", "self-managed Argo CD"),
            ("argocd: {kind: self-managed, serverForm: arn}", "hosted Argo CD"),
            ("argocd: {server: x}", "unknown setting `server`"),
        ] {
            let problems = read(text).unwrap_err();
            assert!(problems.len() == 1 && problems[0].contains(part), "{text}: {problems:?}");
        }
    }
}
