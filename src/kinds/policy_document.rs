//! IAM policy documents: as IAM gives them back, and what it could never accept. Whether two of them mean the same is
//! asked of [`super::compare::policy`].

use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::borrow::Cow;

/// The document as text, without the percent-encoding of IAM's answers (`GetRole`, `GetRolePolicy`). A document that is
/// not encoded starts with `{` or white space and comes back as it is, whatever percent signs it has in it.
pub fn decoded(document: &str) -> Cow<'_, str> {
    if document.trim_start().starts_with('{') {
        return Cow::Borrowed(document);
    }
    percent_decode_str(document).decode_utf8_lossy()
}

/// What is wrong with a document that IAM could never accept. It must be a JSON object with at least one statement,
/// each of them with an `Effect` of `Allow` or `Deny`.
pub fn fault(document: &str) -> Option<String> {
    let value: Value = match serde_json::from_str(document) {
        Ok(value) => value,
        Err(error) => return Some(format!("the policy document is not JSON: {error}")),
    };
    let Value::Object(document) = value else { return Some("the policy document is not a JSON object".to_owned()) };
    let statements = match document.get("Statement") {
        Some(Value::Array(statements)) if statements.is_empty() => None,
        Some(Value::Array(statements)) => Some(statements.as_slice()),
        Some(single @ Value::Object(_)) => Some(std::slice::from_ref(single)),
        _ => None,
    };
    let Some(statements) = statements else { return Some("the policy document has no Statement".to_owned()) };
    statements.iter().enumerate().find_map(|(index, statement)| match statement.get("Effect").and_then(Value::as_str) {
        Some("Allow" | "Deny") => None,
        Some(effect) => Some(format!("statement {} has the Effect `{effect}`", index + 1)),
        None => Some(format!("statement {} has no Effect", index + 1)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::compare::policy;
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;
    use serde_json::json;

    fn same(one: &Value, other: &Value) -> bool {
        policy::same(&one.to_string(), &other.to_string())
    }

    #[test]
    fn encoded_documents_are_decoded() {
        let document = json!({"Statement": {"Effect": "Allow", "Action": "sts:AssumeRole"}}).to_string();
        let encoded = utf8_percent_encode(&document, NON_ALPHANUMERIC).to_string();
        assert_eq!(decoded(&encoded), document);
        let with_percent = document.replace("sts", "%41");
        assert_eq!(decoded(&with_percent), with_percent);
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(fault(r#"{"Statement": {"Effect": "Allow", "Action": "sts:AssumeRole"}}"#), None);
        assert!(fault("{").unwrap().contains("not JSON"));
        assert!(fault("[]").unwrap().contains("not a JSON object"));
        assert!(fault("{}").unwrap().contains("no Statement"));
        assert!(fault(r#"{"Statement": []}"#).unwrap().contains("no Statement"));
        assert_eq!(fault(r#"{"Statement": {"Effect": "allow"}}"#).unwrap(), "statement 1 has the Effect `allow`");
        assert_eq!(fault(r#"{"Statement": [{"Effect": "Deny"}, {}]}"#).unwrap(), "statement 2 has no Effect");
    }

    /// Statements as a user might write them.
    fn any_statement() -> impl Strategy<Value = Value> {
        let words = |word: &'static str| prop::collection::vec(word, 1..4);
        let principal = prop_oneof![
            Just(json!("*")),
            words("[a-z]{1,6}\\.amazonaws\\.com").prop_map(|names| json!({"Service": names})),
            words("[0-9]{12}").prop_map(|ids| json!({"AWS": ids})),
        ];
        let condition = prop::option::of((words("[a-z]{1,3}"), any::<bool>()).prop_map(
            |(values, flag)| json!({"StringLike": {"aws:PrincipalTag/x": values}, "Bool": {"aws:SecureTransport": flag}}),
        ));
        (words("[a-z]{2,4}:[A-Z][a-z]{1,5}"), principal, any::<bool>(), condition).prop_map(
            |(actions, principal, allow, condition)| {
                let effect = if allow { "Allow" } else { "Deny" };
                let mut statement = json!({"Effect": effect, "Action": actions, "Principal": principal});
                if let Some(condition) = condition {
                    statement["Condition"] = condition;
                }
                statement
            },
        )
    }

    /// Another way to write the same: everything that is a set in the other order, lists of one as one.
    fn rewritten(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                Value::Object(fields.iter().rev().map(|(name, value)| (name.clone(), rewritten(value))).collect())
            }
            Value::Array(items) if items.len() == 1 => rewritten(&items[0]),
            Value::Array(items) => Value::Array(items.iter().rev().map(rewritten).collect()),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn another_way_to_write_it_means_the_same(statements in prop::collection::vec(any_statement(), 1..4)) {
            let document = json!({"Version": "2012-10-17", "Statement": statements});
            let other = rewritten(&document);
            prop_assert!(same(&document, &other));
            prop_assert!(policy::same(&serde_json::to_string_pretty(&document).unwrap(), &other.to_string()));
        }

        #[test]
        fn another_action_means_something_else(statements in prop::collection::vec(any_statement(), 1..4), index: usize) {
            let document = json!({"Version": "2012-10-17", "Statement": statements});
            let mut other = document.clone();
            let index = index % statements.len();
            other["Statement"][index]["Action"].as_array_mut().unwrap().push(json!("zzzzz:Extra"));
            // the changed statement must not be the copy of one that stays
            prop_assume!(statements.iter().filter(|one| same(&json!({"Statement": one}), &json!({"Statement": statements[index]}))).count() == 1);
            prop_assert!(!same(&document, &other));
        }

        #[test]
        fn documents_survive_the_encoding(statements in prop::collection::vec(any_statement(), 1..4)) {
            let document = json!({"Version": "2012-10-17", "Statement": statements}).to_string();
            let encoded = utf8_percent_encode(&document, NON_ALPHANUMERIC).to_string();
            prop_assert_eq!(decoded(&encoded), document);
        }
    }
}
