//! Checksums of state files and journal segments: a bit that flipped, a file that was cut off or edited is noticed.
//!
//! The checksum is that of the bytes as they stand, with nothing between its own quotation marks. So it says nothing of
//! what the document means, and whoever wants to check it needs no more than `sed` and `sha256sum`.

use super::hash::sha256;
use serde_json::{Map, Value};

/// The field that holds it: the second one, after the version.
pub(super) const FIELD: &str = "checksum";

/// How many hexadecimal digits it has.
const DIGITS: usize = 64;

/// A document with an empty checksum behind its version. What is no object stays as it is.
pub(super) fn with_room(document: Value) -> Value {
    let Value::Object(fields) = document else { return document };
    let (first, rest): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(name, _)| name == "version");
    let room = std::iter::once((FIELD.to_owned(), Value::String(String::new())));
    Value::Object(first.into_iter().chain(room).chain(rest).collect::<Map<_, _>>())
}

/// The text of a document that has room for its checksum, with it.
pub(super) fn seal(mut text: String) -> String {
    if let Some(at) = digits_at(text.as_bytes()) {
        let checksum = sha256(text.as_bytes());
        text.insert_str(at, &checksum);
    }
    text
}

/// Whether the bytes are those that were sealed.
pub(super) fn is_whole(bytes: &[u8]) -> bool {
    let Some(at) = digits_at(bytes) else { return false };
    let Some(found) = bytes.get(at..at + DIGITS) else { return false };
    if bytes.get(at + DIGITS) != Some(&b'"') {
        return false;
    }
    let blank = [&bytes[..at], &bytes[at + DIGITS..]].concat();
    found == sha256(blank).as_bytes()
}

/// Where the digits are, or belong: behind the first quotation mark after the field's name.
fn digits_at(bytes: &[u8]) -> Option<usize> {
    let name = format!("\"{FIELD}\"");
    let after_name = bytes.windows(name.len()).position(|window| window == name.as_bytes())? + name.len();
    let to_mark = bytes[after_name..].iter().position(|byte| *byte == b'"')?;
    Some(after_name + to_mark + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_bit_counts() {
        let document = json!({"version": 2, "name": "a \"checksum\": of its own", "list": [1, 2]});
        let text = seal(serde_json::to_string_pretty(&with_room(document)).unwrap_or_default());
        assert!(is_whole(text.as_bytes()), "{text}");
        for bit in 0..text.len() * 8 {
            let mut bytes = text.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_whole(&bytes), "bit {bit}");
        }
        for length in 0..text.len() {
            assert!(!is_whole(&text.as_bytes()[..length]), "{length} bytes");
        }
    }

    #[test]
    fn it_stands_behind_the_version() {
        let text = seal(with_room(json!({"version": 2, "lineage": "l"})).to_string());
        let checksum = sha256(r#"{"version":2,"checksum":"","lineage":"l"}"#);
        assert_eq!(text, format!(r#"{{"version":2,"checksum":"{checksum}","lineage":"l"}}"#));
    }
}
