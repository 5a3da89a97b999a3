//! IAM policy documents, compared by meaning.
//!
//! IAM gives documents back percent-encoded (`GetRole`, `GetRolePolicy`), and not always as they were written: an
//! account id as a principal comes back as the ARN of that account's root. Two documents mean the same when they differ
//! only in white space, in the order of keys, statements and list items, in one item against a list of one, in an empty
//! list against none, in the case of actions and condition keys (IAM ignores it), or in a condition's `true` against
//! `"true"`. `Sid`, `Effect`, `Id` and `Version` are compared as they stand; a document without a `Version` has
//! `2008-10-17`, which is what IAM takes.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The version that IAM takes for a document that names none.
const DEFAULT_VERSION: &str = "2008-10-17";

/// The document as text, without IAM's percent-encoding. A document that is not encoded starts with `{` or white space
/// and comes back as it is, whatever percent signs it has in it.
pub fn decoded(document: &str) -> Cow<'_, str> {
    if document.trim_start().starts_with('{') {
        return Cow::Borrowed(document);
    }
    percent_decode_str(document).decode_utf8_lossy()
}

/// Whether two documents mean the same. Documents that are not JSON objects are the same only if their texts are.
pub fn same_meaning(one: &str, other: &str) -> bool {
    match (normal_form(one), normal_form(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.trim() == other.trim(),
        _ => false,
    }
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

/// A form that is equal for documents that mean the same.
fn normal_form(document: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(&decoded(document)).ok()?;
    let Value::Object(fields) = value else { return None };
    let mut normal = Map::new();
    for (name, value) in fields {
        let value = if name == "Statement" { set(items(value).map(statement)) } else { value };
        insert(&mut normal, name, value);
    }
    normal.entry("Version").or_insert_with(|| DEFAULT_VERSION.into());
    Some(sorted(normal))
}

fn statement(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let mut normal = Map::new();
    for (name, value) in fields {
        let value = match name.as_str() {
            "Action" | "NotAction" => set(items(value).map(lower_case)),
            "Resource" | "NotResource" => set(items(value)),
            "Principal" | "NotPrincipal" => principal(value),
            "Condition" => condition(value),
            _ => value,
        };
        insert(&mut normal, name, value);
    }
    sorted(normal)
}

/// `"*"` is everybody, which is what `{"AWS": "*"}` says.
fn principal(value: Value) -> Value {
    let fields = match value {
        Value::Object(fields) => fields,
        everybody => Map::from_iter([("AWS".to_owned(), everybody)]),
    };
    let mut normal = Map::new();
    for (kind, members) in fields {
        let members = if kind == "AWS" { set(items(members).map(account_root)) } else { set(items(members)) };
        insert(&mut normal, kind, members);
    }
    sorted(normal)
}

/// The ARN of an account's root user and the bare account id name the same principal; the id it is.
fn account_root(value: Value) -> Value {
    let account = value.as_str().and_then(|text| {
        let (partition, rest) = text.strip_prefix("arn:")?.split_once(":iam::")?;
        let account = rest.strip_suffix(":root")?;
        let digits = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
        (digits && !partition.contains(':')).then(|| account.to_owned())
    });
    account.map_or(value, Value::String)
}

fn condition(value: Value) -> Value {
    let Value::Object(operators) = value else { return value };
    let mut normal = Map::new();
    for (operator, keys) in operators {
        let keys = match keys {
            Value::Object(keys) => {
                let mut lower = Map::new();
                for (key, values) in keys {
                    insert(&mut lower, key.to_lowercase(), set(items(values).map(text)));
                }
                sorted(lower)
            }
            other => other,
        };
        insert(&mut normal, operator, keys);
    }
    sorted(normal)
}

/// The items of a list, or the one value that stands for it.
fn items(value: Value) -> impl Iterator<Item = Value> {
    let items = match value {
        Value::Array(items) => items,
        single => vec![single],
    };
    items.into_iter()
}

/// A list without order or repetition.
fn set(values: impl Iterator<Item = Value>) -> Value {
    let mut values: Vec<(String, Value)> = values.map(|value| (value.to_string(), value)).collect();
    values.sort_by(|one, other| one.0.cmp(&other.0));
    values.dedup_by(|one, other| one.0 == other.0);
    Value::Array(values.into_iter().map(|(_, value)| value).collect())
}

fn lower_case(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.to_lowercase()),
        other => other,
    }
}

fn text(value: Value) -> Value {
    match value {
        Value::Bool(_) | Value::Number(_) => Value::String(value.to_string()),
        other => other,
    }
}

/// Puts a field in, unless it is an empty list or null, which means the same as none.
fn insert(fields: &mut Map<String, Value>, name: String, value: Value) {
    let nothing = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    if !nothing {
        fields.insert(name, value);
    }
}

/// The fields in the order of their names: the order of keys must not show when statements are sorted by their text.
fn sorted(mut fields: Map<String, Value>) -> Value {
    fields.sort_keys();
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;
    use serde_json::json;

    fn same(one: &Value, other: &Value) -> bool {
        same_meaning(&one.to_string(), &other.to_string())
    }

    fn trust(principal: &Value) -> Value {
        json!({"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Principal": principal, "Action": ["sts:AssumeRole", "sts:TagSession"]}
        ]})
    }

    #[test]
    fn one_statement_is_a_list_of_one() {
        let list = trust(&json!({"Service": "eks.amazonaws.com"}));
        let single = json!({"Statement": {"Action": ["sts:TagSession", "sts:AssumeRole"], "Effect": "Allow",
            "Principal": {"Service": ["eks.amazonaws.com"]}}, "Version": "2012-10-17"});
        assert!(same(&list, &single));
    }

    #[test]
    fn principals_are_named_in_several_ways() {
        let id = trust(&json!({"AWS": "123456789012"}));
        assert!(same(&id, &trust(&json!({"AWS": ["arn:aws:iam::123456789012:root"]}))));
        assert!(same(&id, &trust(&json!({"AWS": "arn:aws-cn:iam::123456789012:root"}))));
        assert!(!same(&id, &trust(&json!({"AWS": "arn:aws:iam::123456789012:role/root"}))));
        assert!(!same(&id, &trust(&json!({"AWS": "AROAEXAMPLE"}))));
        assert!(same(&trust(&json!("*")), &trust(&json!({"AWS": "*"}))));
        assert!(!same(&id, &trust(&json!({"Federated": "123456789012"}))));
    }

    #[test]
    fn what_is_different_stays_different() {
        let base = trust(&json!({"Service": "ec2.amazonaws.com"}));
        let mut without_version = base.clone();
        without_version.as_object_mut().unwrap().remove("Version");
        assert!(!same(&base, &without_version));
        let mut old = without_version.clone();
        old["Version"] = json!("2008-10-17");
        assert!(same(&without_version, &old));
        let mut denied = base.clone();
        denied["Statement"][0]["Effect"] = json!("Deny");
        assert!(!same(&base, &denied));
        let mut named = base.clone();
        named["Statement"][0]["Sid"] = json!("x");
        assert!(!same(&base, &named));
        let mut other = base.clone();
        other["Statement"][0]["Principal"] = json!({"Service": "eks.amazonaws.com"});
        assert!(!same(&base, &other));
    }

    #[test]
    fn conditions_have_texts_and_keys_without_case() {
        let with = |condition: Value| {
            let mut document = trust(&json!({"AWS": "*"}));
            document["Statement"][0]["Condition"] = condition;
            document
        };
        let one = with(json!({"Bool": {"aws:SecureTransport": true}, "StringEquals": {"sts:ExternalId": ["a", "b"]}}));
        let other = with(json!({"StringEquals": {"STS:externalid": ["b", "a"]}, "Bool": {"aws:securetransport": "true"}}));
        assert!(same(&one, &other));
        assert!(!same(&one, &with(json!({"StringEquals": {"sts:ExternalId": ["a", "B"]}}))));
    }

    #[test]
    fn encoded_documents_are_decoded() {
        let document = trust(&json!({"Service": "eks.amazonaws.com"})).to_string();
        let encoded = utf8_percent_encode(&document, NON_ALPHANUMERIC).to_string();
        assert_eq!(decoded(&encoded), document);
        assert!(same_meaning(&encoded, &document));
        let with_percent = document.replace("eks.amazonaws.com", "%41");
        assert_eq!(decoded(&with_percent), with_percent);
    }

    #[test]
    fn what_does_not_parse_is_compared_as_text() {
        assert!(same_meaning("{ broken ", " { broken"));
        assert!(!same_meaning("{ broken", "{}"));
        assert!(!same_meaning("[1]", "[2]"));
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(fault(&trust(&json!("*")).to_string()), None);
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
            prop_assert!(same_meaning(&serde_json::to_string_pretty(&document).unwrap(), &other.to_string()));
            let encoded = utf8_percent_encode(&other.to_string(), NON_ALPHANUMERIC).to_string();
            prop_assert!(same_meaning(&document.to_string(), &encoded));
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
        fn any_text_means_the_same_as_itself(text in ".*") {
            prop_assert!(same_meaning(&text, &text));
        }
    }
}
