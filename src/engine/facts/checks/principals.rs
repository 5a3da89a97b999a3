//! Roles that may enter a cluster.

use super::{Facts, note, refused};
use crate::engine::facts::question::Answer;
use crate::engine::facts::wants::Principal;
use crate::engine::finding::Finding;

/// EKS takes no access entry for a role that is not there.
pub(super) fn check(principal: &Principal, facts: &mut Facts<'_>, found: &mut Vec<Finding>) {
    let question = principal.question();
    if !facts.answers.contains_key(&question) {
        if facts.said.insert(question) {
            let text = format!("{}: not checked whether it is there: this run does not reach its account", principal.arn);
            found.push(note(&principal.object, text));
        }
        return;
    }
    let answer = facts.answer(&question, &principal.object, &format!("whether {} is there", principal.arn), found);
    if let Some(Answer::Exists(false)) = answer {
        let text =
            format!("there is no role {} in account {}: EKS would take no access entry", principal.name, principal.account);
        found.push(refused(&principal.object, text).way_out("make it, or name a role that is there"));
    }
}
