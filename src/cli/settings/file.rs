//! The settings file, `fleetctl.yaml`: read with positions, unknown keys refused.

mod argocd;

use super::place::{self, Place};
use crate::aws::arn::{RoleArn, is_account};
use crate::engine::api::AccountSettings;
use crate::graph::diagnostic::{Diagnostic, Location, SourceFile};
use crate::graph::yaml::{self, Key, Node, NodeValue};
use crate::kinds::values::{self, Wrong, iam_arn, iam_path};
pub use argocd::ArgoCdFile;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub location: Location,
}

/// What a settings file holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingsFile {
    /// `graphs`: folder with graph definitions, relative to the file.
    pub graphs: Option<Located<String>>,
    /// `state`: folder with state, relative to the file, or a bucket.
    pub state: Option<Located<String>>,
    /// `parallelism`.
    pub parallelism: Option<Located<usize>>,
    /// `visibilityWindow`.
    pub visibility_window: Option<Located<Duration>>,
    /// `region`.
    pub region: Option<Located<String>>,
    /// `rolePath`.
    pub role_path: Option<Located<String>>,
    /// `permissionsBoundary`.
    pub permissions_boundary: Option<Located<String>>,
    /// `argocd`.
    pub argocd: ArgoCdFile,
    /// `defaultTags`, by key.
    pub default_tags: BTreeMap<String, Located<String>>,
    /// `accounts`, by account id.
    pub accounts: BTreeMap<String, Located<AccountSettings>>,
    /// Every account setting as it was written, for `config show`: account, key, value, where.
    pub account_values: Vec<(String, String, Located<String>)>,
}

const KEYS: [&str; 10] = [
    "accounts",
    "argocd",
    "defaultTags",
    "graphs",
    "parallelism",
    "permissionsBoundary",
    "region",
    "rolePath",
    "state",
    "visibilityWindow",
];

const ACCOUNT_KEYS: [&str; 6] = ["duration", "externalId", "roleArn", "roleName", "sessionName", "stsRegion"];

impl SettingsFile {
    /// Reads a settings file. All problems are reported.
    pub fn read(file: &Arc<SourceFile>) -> Result<Self, Vec<Diagnostic>> {
        let documents = yaml::parse(file)?;
        let mut reader = Reader::default();
        let settings = match documents.as_slice() {
            [] => Self::default(),
            [document] => reader.settings(document),
            [_, second, ..] => {
                reader.problem("setting-type", "a settings file holds one document", &second.location);
                Self::default()
            }
        };
        if reader.problems.is_empty() { Ok(settings) } else { Err(reader.problems) }
    }
}

/// Reads nodes and collects what is wrong with them.
#[derive(Default)]
struct Reader {
    problems: Vec<Diagnostic>,
}

impl Reader {
    fn problem(&mut self, category: &'static str, message: impl Into<String>, location: &Location) {
        self.problems.push(Diagnostic::error(category, message).at(location));
    }

    fn settings(&mut self, document: &Node) -> SettingsFile {
        let mut settings = SettingsFile::default();
        for (key, node) in self.mapping("the settings", document) {
            match key.text.as_str() {
                "graphs" => settings.graphs = self.text("graphs", node),
                "state" => settings.state = self.checked("state", node, |text| Place::parse(text).map(drop)),
                "region" => settings.region = self.text("region", node),
                "rolePath" => settings.role_path = self.checked("rolePath", node, check_role_path),
                "permissionsBoundary" => settings.permissions_boundary = self.checked(&key.text, node, check_policy_arn),
                "parallelism" => settings.parallelism = self.parsed("parallelism", node, parse_parallelism),
                "visibilityWindow" => settings.visibility_window = self.parsed(&key.text, node, parse_duration),
                "argocd" => settings.argocd = self.argocd(node),
                "defaultTags" => settings.default_tags = self.tags(node),
                "accounts" => self.accounts(node, &mut settings),
                _ => self.unknown_key(key, &KEYS),
            }
        }
        settings
    }

    fn unknown_key(&mut self, key: &Key, known: &[&str]) {
        let message = format!("unknown setting `{}`", key.text);
        let problem = Diagnostic::error("unknown-setting", message).at(&key.location);
        let problem = problem.suggest_closest(&key.text, known.iter().copied());
        let list = || format!("known settings here: {}", known.join(", "));
        self.problems.push(if problem.suggestion.is_some() { problem } else { problem.suggest(list()) });
    }

    fn mapping<'a>(&mut self, name: &str, node: &'a Node) -> &'a [(Key, Node)] {
        match &node.value {
            NodeValue::Mapping(_) | NodeValue::Null => {}
            _ => self.problem("setting-type", format!("{name} must be a mapping, not {}", node.describe()), &node.location),
        }
        node.entries()
    }

    fn text(&mut self, name: &str, node: &Node) -> Option<Located<String>> {
        let problem = match node.as_str() {
            Some(text) if !text.trim().is_empty() => {
                return Some(Located { value: text.to_owned(), location: node.location.clone() });
            }
            Some(_) => format!("`{name}` is empty: leave it out instead"),
            None => format!("`{name}` must be text, not {}", node.describe()),
        };
        let diagnostic = Diagnostic::error("setting-type", problem).at(&node.location);
        let quoted = matches!(node.value, NodeValue::Integer(_) | NodeValue::Float(_) | NodeValue::Boolean(_));
        let written = node.location.text();
        self.problems.push(if quoted { diagnostic.suggest(format!("write \"{written}\"")) } else { diagnostic });
        None
    }

    /// A text that a check has something to say about.
    fn checked(&mut self, name: &str, node: &Node, check: fn(&str) -> Result<(), String>) -> Option<Located<String>> {
        let text = self.text(name, node)?;
        match check(&text.value) {
            Ok(()) => Some(text),
            Err(expected) => {
                self.wrong_value(name, node, &expected);
                None
            }
        }
    }

    /// A scalar that is read from its text, quoted or not.
    fn parsed<T>(&mut self, name: &str, node: &Node, parse: fn(&str) -> Result<T, String>) -> Option<Located<T>> {
        let text = match &node.value {
            NodeValue::String(text) => text.clone(),
            NodeValue::Integer(number) => number.to_string(),
            NodeValue::Null => "null".into(),
            NodeValue::Float(_) | NodeValue::Boolean(_) => node.location.text().to_owned(),
            NodeValue::Sequence(_) | NodeValue::Mapping(_) => node.describe().to_owned(),
        };
        match parse(&text) {
            Ok(value) => Some(Located { value, location: node.location.clone() }),
            Err(expected) => {
                self.wrong_value(name, node, &expected);
                None
            }
        }
    }

    fn wrong_value(&mut self, name: &str, node: &Node, expected: &str) {
        let written = node.as_str().map_or_else(|| node.location.text().to_owned(), ToOwned::to_owned);
        self.problem("setting-value", format!("`{name}` is {expected}, not `{}`", place::shown(&written)), &node.location);
    }

    fn tags(&mut self, node: &Node) -> BTreeMap<String, Located<String>> {
        let mut tags = BTreeMap::new();
        for (key, node) in self.mapping("`defaultTags`", node) {
            if let Some(wrong) = values::tag(Some(&key.text), node.as_str()) {
                let problem = Diagnostic::error("setting-value", wrong.message).at(&key.location);
                self.problems.push(problem.suggest(wrong.expected));
            }
            // AWS takes tags without a value.
            let value = match node.as_str() {
                Some("") => Some(Located { value: String::new(), location: node.location.clone() }),
                _ => self.text(&key.text, node),
            };
            tags.extend(value.map(|value| (key.text.clone(), value)));
        }
        tags
    }

    fn accounts(&mut self, node: &Node, settings: &mut SettingsFile) {
        for (key, node) in self.mapping("`accounts`", node) {
            if !is_account(&key.text) {
                let message = format!("`{}` is no account id", key.text);
                let problem = Diagnostic::error("setting-value", message).at(&key.location);
                self.problems.push(problem.suggest("account ids have 12 digits; write them in quotes"));
                continue;
            }
            let account = self.account(&key.text, node, &mut settings.account_values);
            settings.accounts.insert(key.text.clone(), Located { value: account, location: key.location.clone() });
        }
    }

    fn account(&mut self, id: &str, node: &Node, values: &mut Vec<(String, String, Located<String>)>) -> AccountSettings {
        let mut account = AccountSettings::default();
        for (key, node) in self.mapping(&format!("the settings of account {id}"), node) {
            let name = key.text.as_str();
            let value = match name {
                "roleName" => &mut account.role_name,
                "roleArn" => &mut account.role_arn,
                "externalId" => &mut account.external_id,
                "sessionName" => &mut account.session_name,
                "stsRegion" => &mut account.sts_region,
                "duration" => {
                    account.duration = self.parsed(name, node, parse_session_duration).map(|value| value.value);
                    let value = node.as_str().map_or_else(|| node.location.text().to_owned(), ToOwned::to_owned);
                    values.push((id.to_owned(), key.text.clone(), Located { value, location: node.location.clone() }));
                    continue;
                }
                _ => {
                    self.unknown_key(key, &ACCOUNT_KEYS);
                    continue;
                }
            };
            let text = self.text(name, node);
            *value = text.as_ref().map(|text| text.value.clone());
            values.extend(text.map(|text| (id.to_owned(), key.text.clone(), text)));
        }
        self.check_role(id, node, &account);
        account
    }

    fn check_role(&mut self, id: &str, node: &Node, account: &AccountSettings) {
        if account.role_arn.is_some() && account.role_name.is_some() {
            self.problem("setting-value", format!("account {id} has both `roleName` and `roleArn`: keep one"), &node.location);
        }
        if let (Some(arn), Some(value)) = (&account.role_arn, node.get("roleArn")) {
            match RoleArn::parse(arn).map(|role| role.account) {
                None => self.wrong_value("roleArn", value, "the ARN of a role (`arn:aws:iam::ACCOUNT:role/NAME`)"),
                Some(owner) if owner != id => {
                    let message = format!("the role `{arn}` is one of account {owner}, not of account {id}");
                    self.problem("setting-value", message, &value.location);
                }
                Some(_) => {}
            }
        }
        if let (Some(name), Some(value)) = (&account.role_name, node.get("roleName"))
            && name.contains(':')
        {
            self.wrong_value("roleName", value, "the name of a role (for an ARN there is `roleArn`)");
        }
    }
}

fn check_role_path(path: &str) -> Result<(), String> {
    wrong(iam_path(path))
}

fn check_policy_arn(arn: &str) -> Result<(), String> {
    wrong(iam_arn(&["policy/"])(arn))
}

/// What a check of the kinds expects.
fn wrong(found: Option<Wrong>) -> Result<(), String> {
    found.map_or(Ok(()), |wrong| Err(wrong.expected))
}

/// How many steps at one time.
pub fn parse_parallelism(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| (1..=1000).contains(number)).ok_or_else(|| "a number from 1 to 1000".into())
}

/// `90`, `90s`, `15m`, `1h`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let seconds = factor.zip(number.parse::<u64>().ok()).and_then(|(factor, number)| number.checked_mul(factor));
    seconds.map(Duration::from_secs).ok_or_else(|| "a number of seconds, or a time like `90s`, `15m`, `1h`".into())
}

fn parse_session_duration(text: &str) -> Result<Duration, String> {
    let message = || "a time from `15m` to `12h`".to_owned();
    parse_duration(text).ok().filter(|duration| (900..=43_200).contains(&duration.as_secs())).ok_or_else(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SettingsFile, Vec<String>> {
        SettingsFile::read(&SourceFile::new("fleetctl.yaml", text)).map_err(|problems| {
            let line = |problem: &Diagnostic| {
                let place = problem.location.as_ref().map(ToString::to_string).unwrap_or_default();
                let suggestion = problem.suggestion.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
                format!("{place}: {}{suggestion}", problem.message)
            };
            problems.iter().map(line).collect()
        })
    }

    #[test]
    fn everything_is_read() {
        let settings = read(include_str!("../../../fleetctl.example.yaml")).unwrap();
        let account = &settings.accounts["222222222222"].value;
        assert_eq!(account.role_name.as_deref(), Some("ack"));
        assert_eq!(account.duration, Some(Duration::from_hours(1)));
        assert_eq!(settings.parallelism.unwrap().value, 32);
        assert_eq!(settings.visibility_window.unwrap().value, Duration::from_mins(1));
        assert_eq!(settings.default_tags["team"].value, "platform");
    }

    #[test]
    fn an_empty_file_is_no_problem() {
        assert_eq!(read("# nothing\n"), Ok(SettingsFile::default()));
    }

    #[test]
    fn problems_are_all_reported_with_their_place() {
        let text = r#"
regoin: eu-west-1
state: 7
parallelism: 0
visibilityWindow: soon
argocd: yes
rolePath: fleet
defaultTags: {cost: 12, "aws:x": y}
accounts:
  22: {}
  "333333333333": {roleName: a, roleArn: "arn:aws:iam::444444444444:role/a", duration: 1m}
  "444444444444": {externalID: x, roleArn: role/a}
zzz: 1
"#;
        insta::assert_snapshot!(read(text).unwrap_err().join("\n"), @r#"
        fleetctl.yaml:2:1: unknown setting `regoin` (did you mean `region`?)
        fleetctl.yaml:3:8: `state` must be text, not a number (write "7")
        fleetctl.yaml:4:14: `parallelism` is a number from 1 to 1000, not `0`
        fleetctl.yaml:5:19: `visibilityWindow` is a number of seconds, or a time like `90s`, `15m`, `1h`, not `soon`
        fleetctl.yaml:6:9: `argocd` is `none`, `auto`, `hosted` or `self-managed` (a server is named by the variable ARGOCD_SERVER), not `yes`
        fleetctl.yaml:7:11: `rolePath` is / or /some/path/, at most 512 characters, not `fleet`
        fleetctl.yaml:8:21: `cost` must be text, not a number (write "12")
        fleetctl.yaml:8:25: `aws:x`: keys that begin with `aws:` or `fleetctl:` are reserved (another key)
        fleetctl.yaml:8:34: `aws:x` must be text, not a boolean (write "y")
        fleetctl.yaml:10:3: `22` is no account id (account ids have 12 digits; write them in quotes)
        fleetctl.yaml:11:88: `duration` is a time from `15m` to `12h`, not `1m`
        fleetctl.yaml:11:19: account 333333333333 has both `roleName` and `roleArn`: keep one
        fleetctl.yaml:11:42: the role `arn:aws:iam::444444444444:role/a` is one of account 444444444444, not of account 333333333333
        fleetctl.yaml:12:20: unknown setting `externalID` (did you mean `externalId`?)
        fleetctl.yaml:12:44: `roleArn` is the ARN of a role (`arn:aws:iam::ACCOUNT:role/NAME`), not `role/a`
        fleetctl.yaml:13:1: unknown setting `zzz` (known settings here: accounts, argocd, defaultTags, graphs, parallelism, permissionsBoundary, region, rolePath, state, visibilityWindow)
        "#);
    }

    #[test]
    fn durations_have_units() {
        let seconds = |text| parse_duration(text).ok().map(|duration| duration.as_secs());
        assert_eq!(
            ["90", "90s", "15m", "1h", "h", "1d", "-1", ""].map(seconds),
            [Some(90), Some(90), Some(900), Some(3600), None, None, None, None]
        );
    }
}
