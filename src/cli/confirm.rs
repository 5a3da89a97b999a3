//! Questions. They are asked on a terminal only; elsewhere the answer has to come with the command.

use super::blocking::blocking;
use super::context::Context;
use super::error::CliError;
use crate::engine::plan::{Action, Change, Plan};
use std::io::{BufRead, IsTerminal};

/// Asks. Made once a command.
#[derive(Debug)]
pub struct Questions<'a> {
    context: &'a Context,
    verb: &'static str,
    can_ask: bool,
}

impl<'a> Questions<'a> {
    /// Questions of a command, whose verb is `apply` or `destroy`.
    pub fn new(context: &'a Context, verb: &'static str) -> Self {
        let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        Self { context, verb, can_ask }
    }

    /// Refuses to begin what would end at a question that nobody can answer.
    pub fn can_be_answered(&self) -> Result<(), CliError> {
        if self.context.settings.yes.value || self.can_ask {
            return Ok(());
        }
        let message = format!("{} needs --yes where there is no terminal to ask on; nothing was changed", self.verb);
        Err(CliError::NeedsConfirmation(message))
    }

    /// Asks whether to do what was shown, unless `--yes` has answered.
    pub async fn whether(&self, question: &str) -> Result<(), CliError> {
        self.can_be_answered()?;
        if self.context.settings.yes.value {
            return Ok(());
        }
        let answer = self.ask(&format!("{question} Only `yes` is taken for an answer: ")).await;
        if answer.as_deref() == Some("yes") { Ok(()) } else { Err(CliError::Declined(self.verb)) }
    }

    /// Asks for a name to be typed, whatever `--yes` says; `hint` is the error where nobody can be asked.
    pub async fn by_typing(&self, question: &str, name: &str, hint: String) -> Result<(), CliError> {
        if !self.can_ask {
            return Err(CliError::NeedsConfirmation(hint));
        }
        let answer = self.ask(&format!("{question} Type {name} to confirm: ")).await;
        if answer.as_deref() == Some(name) { Ok(()) } else { Err(CliError::Declined(self.verb)) }
    }

    /// The addresses whose replacement or removal is confirmed by name: by `--confirm`, or by typing the name.
    pub async fn by_name(&self, plans: &[&Plan], confirmed: &[String]) -> Result<Vec<String>, CliError> {
        let mut confirmed = confirmed.to_vec();
        let open = unconfirmed(plans, &confirmed);
        if open.is_empty() {
            return Ok(confirmed);
        }
        if !self.can_ask {
            return Err(CliError::NeedsConfirmation(by_name_hint(&open, self.verb)));
        }
        for change in open {
            let name = &change.identity.name;
            let question =
                format!("{} {} will be {}. Type its name, {name}, to confirm: ", change.kind, change.address, becomes(change));
            if self.ask(&question).await.as_deref() != Some(name.as_str()) {
                return Err(CliError::Declined(self.verb));
            }
            confirmed.push(change.address.to_string());
        }
        Ok(confirmed)
    }

    /// The answer, or `None` when there is none any more.
    async fn ask(&self, question: &str) -> Option<String> {
        self.context.printer.question(question);
        let answer = blocking(|| answer(&mut std::io::stdin().lock())).await;
        if answer.is_some() {
            self.context.printer.answered();
        }
        answer
    }
}

/// One line without the spaces around it.
fn answer(input: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    match input.read_line(&mut line) {
        Ok(count) if count > 0 => Some(line.trim().to_owned()),
        _ => None,
    }
}

/// What has to be confirmed by name and is not.
fn unconfirmed<'p>(plans: &[&'p Plan], confirmed: &[String]) -> Vec<&'p Change> {
    let changes = plans.iter().flat_map(|plan| &plan.changes);
    changes.filter(|change| change.by_name && !confirmed.iter().any(|address| address == change.address.as_str())).collect()
}

/// What becomes of an object, with the reason where that is more than that it left the graph.
fn becomes(change: &Change) -> String {
    let reason = change.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    match change.action {
        Action::Replace => "replaced".to_owned(),
        Action::Adopt => format!("taken over{reason}"),
        Action::Update => format!("changed{reason}"),
        _ if change.identity.is_secret() => format!("deleted{reason}"),
        _ => "deleted".to_owned(),
    }
}

fn by_name_hint(open: &[&Change], verb: &str) -> String {
    let flags: Vec<_> = open.iter().map(|change| format!("--confirm {}", change.address)).collect();
    let flags = flags.join(" ");
    if verb == "destroy" {
        return format!(
            "Applications of Argo CD still live there: --drain removes them first, or confirm by name that what they made may \
             stay behind: {flags}; nothing was changed"
        );
    }
    format!("what is replaced, removed or taken over has to be confirmed by name: {flags}; nothing was changed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testing::{change, plan};

    #[test]
    fn what_is_confirmed_is_not_asked_for_again() {
        let mut role = change(Action::Replace, "eks/clusterRole", "Role");
        role.by_name = true;
        let mut cluster = change(Action::Delete, "eks/cluster", "Cluster");
        cluster.by_name = true;
        let plan = plan(vec![role, cluster, change(Action::Create, "vpc/vpc", "VPC")]);
        let open = unconfirmed(&[&plan], &["EksCluster/demo/eks/clusterRole".into()]);
        insta::assert_snapshot!(by_name_hint(&open, "apply"), @"what is replaced, removed or taken over has to be confirmed by name: --confirm EksCluster/demo/eks/cluster; nothing was changed");
    }

    #[test]
    fn an_answer_is_a_line() {
        assert_eq!(answer(&mut "yes \nno\n".as_bytes()).as_deref(), Some("yes"));
        assert_eq!(answer(&mut "".as_bytes()), None);
    }
}
