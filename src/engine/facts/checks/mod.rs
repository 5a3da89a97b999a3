//! The checks: wants and answers in, findings out. They read no clock and no network.

mod blocks;
mod marks;
mod networks;
mod principals;
mod quotas;
mod versions;

use super::question::{Answer, Answers, Question};
use super::wants::{Object, Wants};
use crate::aws::error::ErrorClass;
use crate::engine::finding::{Finding, Severity};
use chrono::NaiveDate;
use std::collections::BTreeSet;

/// What the checks of a run share.
struct Facts<'a> {
    answers: &'a Answers,
    today: NaiveDate,
    /// What was not answered is said once for all instances.
    said: BTreeSet<Question>,
}

/// Checks what the instances of a run want; one list of findings an instance.
pub(super) fn all(wants: &[Wants], answers: &Answers, today: NaiveDate) -> Vec<Vec<Finding>> {
    let mut facts = Facts { answers, today, said: BTreeSet::new() };
    let mut found: Vec<Vec<Finding>> = wants.iter().map(|one| of_instance(one, wants, &mut facts)).collect();
    quotas::check(wants, &mut facts, &mut found);
    blocks::check(wants, &mut found);
    for findings in &mut found {
        findings.sort_by_key(|finding| finding.severity);
    }
    found
}

fn of_instance(one: &Wants, all: &[Wants], facts: &mut Facts<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for fresh in &one.fresh {
        marks::check(fresh, facts, &mut found);
    }
    for cluster in &one.clusters {
        versions::cluster(cluster, facts, &mut found);
        networks::cluster(cluster, facts, &mut found);
    }
    for addon in &one.addons {
        versions::addon(addon, facts, &mut found);
    }
    let made_here = |role: &(String, String)| all.iter().any(|wants| wants.roles.contains(role));
    for principal in one.principals.iter().filter(|principal| !made_here(&principal.role())) {
        principals::check(principal, facts, &mut found);
    }
    found
}

impl<'a> Facts<'a> {
    /// The answer to a question. `None` if it was not asked; if it could not be answered, that is noted.
    fn answer(&mut self, question: &Question, object: &Object, what: &str, found: &mut Vec<Finding>) -> Option<&'a Answer> {
        match self.answers.get(question)? {
            Ok(answer) => Some(answer),
            Err(error) => {
                if self.said.insert(question.clone()) {
                    let note = note(object, format!("{what}: not checked: {error}"));
                    let permission = format!("allow {}:{}", error.service, error.operation);
                    found.push(if error.class == ErrorClass::Denied { note.way_out(permission) } else { note });
                }
                None
            }
        }
    }
}

fn refused(object: &Object, text: impl Into<String>) -> Finding {
    Finding::new(Severity::Refused, &object.address, &object.identity, text)
}

fn warning(object: &Object, text: impl Into<String>) -> Finding {
    Finding::new(Severity::Warning, &object.address, &object.identity, text)
}

fn note(object: &Object, text: impl Into<String>) -> Finding {
    Finding::new(Severity::Note, &object.address, &object.identity, text)
}
