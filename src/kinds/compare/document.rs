//! JSON and YAML text, by meaning.

use serde_json::Value;

/// Whether two texts hold the same JSON or YAML value. Texts that are neither are compared as they stand.
pub(super) fn same(left: &str, right: &str) -> bool {
    if left == right {
        return true;
    }
    match (parse(left), parse(right)) {
        (Some(left), Some(right)) => super::normal(&left, false) == super::normal(&right, false),
        _ => left.trim() == right.trim(),
    }
}

fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| serde_saphyr::from_str(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_yaml_of_the_same_value_are_the_same() {
        assert!(same(r#"{"a": {"b": [1, 2]}, "c": "x"}"#, "c: x\na:\n  b: [1, 2]\n"));
        assert!(same("{\"a\":1}", "{ \"a\": 1.0 }\n"));
        assert!(!same(r#"{"a": [1, 2]}"#, r#"{"a": [2, 1]}"#));
        assert!(!same(r#"{"a": "1"}"#, r#"{"a": 1}"#));
    }

    #[test]
    fn other_texts_are_compared_as_they_stand() {
        assert!(same("{unfinished", "{unfinished\n"));
        assert!(!same("{unfinished", "{unended"));
    }
}
