//! Takes secrets out of messages before they become error texts.

/// Separates the words that may be secrets.
fn is_boundary(letter: char) -> bool {
    letter.is_whitespace()
        || matches!(letter, '"' | '\'' | '`' | '&' | '?' | ',' | ';' | '(' | ')' | '<' | '>' | '{' | '}' | '[' | ']')
}

/// Query parameters of a signed URL, and their like, whose value is a secret.
const PARAMETERS: [&str; 5] = ["X-Amz-Security-Token=", "X-Amz-Signature=", "X-Amz-Credential=", "Signature=", "Credential="];

/// A message with everything that looks like a key, a token or a signature replaced by `…`.
pub(crate) fn redact(message: &str) -> String {
    let mut clean = String::with_capacity(message.len());
    let mut previous = "";
    let mut rest = message;
    while !rest.is_empty() {
        let end = rest.find(is_boundary).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        if !word.is_empty() {
            clean.push_str(&word_without_secret(word, previous));
            previous = word;
        }
        let boundary = tail.chars().next().map_or(0, char::len_utf8);
        clean.push_str(&tail[..boundary]);
        rest = &tail[boundary..];
    }
    clean
}

fn word_without_secret(word: &str, previous: &str) -> String {
    if previous.eq_ignore_ascii_case("bearer") || is_key(word) || is_token(word) {
        return "…".to_owned();
    }
    match PARAMETERS.iter().find(|parameter| word.starts_with(**parameter)) {
        Some(parameter) => format!("{parameter}…"),
        None => word.to_owned(),
    }
}

/// An access key id: not a secret by itself, but it leads to one.
fn is_key(word: &str) -> bool {
    (word.starts_with("AKIA") || word.starts_with("ASIA"))
        && word.len() >= 16
        && word.chars().all(|letter| letter.is_ascii_alphanumeric())
}

/// A JSON web token, or a token of EKS.
fn is_token(word: &str) -> bool {
    (word.starts_with("eyJ") && word.matches('.').count() == 2) || word.starts_with("k8s-aws-v1.")
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn secrets_go_and_the_rest_stays() {
        let rows = [
            ("The vpc ID 'vpc-1' does not exist", "The vpc ID 'vpc-1' does not exist"),
            ("key AKIAIOSFODNN7EXAMPLE is wrong", "key … is wrong"),
            ("(ASIAIOSFODNN7EXAMPLE)", "(…)"),
            ("Authorization: Bearer abc.def next", "Authorization: Bearer … next"),
            ("token \"eyJhbGciOi.eyJzdWIi.c2ln\" expired", "token \"…\" expired"),
            ("https://sts/?Action=X&X-Amz-Security-Token=FwoG&Y=1", "https://sts/?Action=X&X-Amz-Security-Token=…&Y=1"),
            ("invalid k8s-aws-v1.aHR0cHM6", "invalid …"),
            ("AKIA is a prefix", "AKIA is a prefix"),
            ("Zone „west“, größer", "Zone „west“, größer"),
            ("", ""),
        ];
        for (message, clean) in rows {
            assert_eq!(redact(message), clean);
        }
    }
}
