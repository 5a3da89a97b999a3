//! IAM policy documents, by meaning.
//!
//! Not a difference: the order of statements, of actions, resources, principals and condition values; one statement or
//! a list of one; a text or a list of one; an absent list or an empty one; an account's id or the ARN of its root user
//! (AWS turns one into the other in a trust policy); `"*"` or `{"AWS": "*"}` as principal; `true` or `"true"` as
//! condition value; upper and lower case in actions and condition keys. Sid, Effect, Id and Version count as they stand,
//! as ACK has it.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Whether two documents mean the same. Texts that are not JSON are compared as they stand.
pub fn same(left: &str, right: &str) -> bool {
    if left == right {
        return true;
    }
    match (normal_text(left), normal_text(right)) {
        (Some(left), Some(right)) => left == right,
        _ => false,
    }
}

fn normal_text(text: &str) -> Option<Value> {
    let document: Value = serde_json::from_str(text).ok()?;
    let Value::Object(fields) = document else { return None };
    Some(object(fields.into_iter().map(|(name, value)| match name.as_str() {
        "Statement" => (name, statements(value)),
        _ => (name, super::normal(&value, false)),
    })))
}

fn statements(value: Value) -> Value {
    let list = match value {
        Value::Array(list) => list,
        single => vec![single],
    };
    sorted(list.into_iter().map(statement).collect())
}

fn statement(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    object(fields.into_iter().map(|(name, value)| {
        let value = match name.as_str() {
            "Action" | "NotAction" => values(value, |text| text.to_lowercase()),
            "Resource" | "NotResource" => values(value, |text| text),
            "Principal" | "NotPrincipal" => principals(value),
            "Condition" => condition(value),
            _ => super::normal(&value, false),
        };
        (name, value)
    }))
}

fn principals(value: Value) -> Value {
    match value {
        Value::Object(kinds) => object(kinds.into_iter().map(|(kind, value)| {
            let account = kind == "AWS";
            let value = values(value, |text| if account { bare_account(text) } else { text });
            (kind, value)
        })),
        Value::String(text) if text == "*" => object([("AWS".to_owned(), Value::Array(vec![Value::String(text)]))]),
        other => other,
    }
}

fn condition(value: Value) -> Value {
    let Value::Object(operators) = value else { return value };
    object(operators.into_iter().map(|(operator, keys)| {
        let keys = match keys {
            Value::Object(keys) => object(keys.into_iter().map(|(key, value)| (key.to_lowercase(), values(value, |text| text)))),
            other => other,
        };
        (operator, keys)
    }))
}

/// `arn:aws:iam::111122223333:root` as `111122223333`; anything else as it stands.
fn bare_account(principal: String) -> String {
    let mut parts = principal.split(':');
    let is_root = parts.next() == Some("arn") && parts.nth(1) == Some("iam") && principal.ends_with(":root");
    let account = parts.nth(1).filter(|account| account.len() == 12).map(str::to_owned);
    if is_root { account.unwrap_or(principal) } else { principal }
}

/// A text or a list of texts as a list in order, without repetitions. Booleans and numbers count as texts.
fn values(value: Value, each: impl Fn(String) -> String) -> Value {
    let list = match value {
        Value::Array(list) => list,
        Value::Null => Vec::new(),
        single => vec![single],
    };
    let texts = list.into_iter().map(|item| match item {
        Value::String(text) => Value::String(each(text)),
        Value::Bool(_) | Value::Number(_) => Value::String(item.to_string()),
        other => other,
    });
    sorted(texts.collect())
}

fn sorted(mut list: Vec<Value>) -> Value {
    list.sort_by_key(ToString::to_string);
    list.dedup();
    Value::Array(list)
}

/// A mapping with its names in order, without empty lists and nulls.
fn object(fields: impl IntoIterator<Item = (String, Value)>) -> Value {
    let fields: BTreeMap<String, Value> = fields.into_iter().filter(|(_, value)| !super::is_nothing(value)).collect();
    Value::Object(Map::from_iter(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn trust(principal: &Value) -> String {
        let statement = json!({"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"});
        json!({"Version": "2012-10-17", "Statement": statement}).to_string()
    }

    #[test]
    fn order_and_single_values_do_not_matter() {
        let left = r#"{"Version":"2012-10-17","Statement":[
            {"Effect":"Allow","Action":["sts:AssumeRole","sts:TagSession"],"Principal":{"Service":"eks.amazonaws.com"}},
            {"Sid":"S","Effect":"Deny","Action":"*","Resource":[]}]}"#;
        let right = r#"{"Statement":[{"Effect":"Deny","Sid":"S","Action":["*"]},
            {"Principal":{"Service":["eks.amazonaws.com"]},"Effect":"Allow","Action":["sts:TagSession","sts:AssumeRole"]}],
            "Version":"2012-10-17"}"#;
        assert!(same(left, right));
    }

    #[test]
    fn an_account_is_its_root_user() {
        let account = trust(&json!({"AWS": "111122223333"}));
        assert!(same(&account, &trust(&json!({"AWS": ["arn:aws:iam::111122223333:root"]}))));
        assert!(same(&account, &trust(&json!({"AWS": "arn:aws-cn:iam::111122223333:root"}))));
        assert!(!same(&account, &trust(&json!({"AWS": "arn:aws:iam::111122223333:role/root"}))));
        assert!(!same(&account, &trust(&json!({"AWS": "arn:aws:iam::444455556666:root"}))));
        assert!(!same(&account, &trust(&json!({"AWS": "AROAEXAMPLEID"}))));
        assert!(same(&trust(&json!("*")), &trust(&json!({"AWS": "*"}))));
    }

    #[test]
    fn conditions_are_compared_by_meaning() {
        let with = |condition: Value| json!({"Statement": {"Effect": "Allow", "Condition": condition}}).to_string();
        let left = with(json!({"StringEquals": {"aws:SourceArn": ["b", "a"]}, "Bool": {"aws:SecureTransport": true}}));
        let right = with(json!({"Bool": {"aws:securetransport": "true"}, "StringEquals": {"aws:SourceArn": ["a", "b"]}}));
        assert!(same(&left, &right));
        assert!(!same(&left, &with(json!({"StringLike": {"aws:SourceArn": ["b", "a"]}}))));
    }

    #[test]
    fn sid_effect_and_version_count_as_they_stand() {
        let document = |sid: &str, effect: &str, version: &str| {
            json!({"Version": version, "Statement": [{"Sid": sid, "Effect": effect}]}).to_string()
        };
        let base = document("Eks", "Allow", "2012-10-17");
        assert!(!same(&base, &document("eks", "Allow", "2012-10-17")));
        assert!(!same(&base, &document("Eks", "Deny", "2012-10-17")));
        assert!(!same(&base, &document("Eks", "Allow", "2008-10-17")));
    }

    #[test]
    fn what_is_not_json_is_compared_as_it_stands() {
        assert!(same("not json", "not json"));
        assert!(!same("not json", "{}"));
    }
}
