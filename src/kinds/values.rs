//! Values that AWS could never accept, found before anything is called.
//!
//! A [`Checker`] goes through the known texts of an object, path by path, and collects what is wrong with them. What is
//! not there, or not a text, is nobody's business here: schemas see to types, and unknown leaves are left out.

use crate::aws::tags::is_reserved;
use crate::aws::{arn, identity};
use crate::graph::catalog::ImpossibleValue;
use ipnet::{Ipv4Net, Ipv6Net};
use serde_json::Value;
use std::collections::BTreeSet;

/// AWS's limit on the tags of one object, those that begin with `aws:` not counted.
const MOST_TAGS: usize = 50;
/// The marks that every object carries.
const MARKS: usize = 3;
/// Longest key of a tag, in characters.
const LONGEST_KEY: usize = 128;
/// Longest value of a tag, in characters.
const LONGEST_VALUE: usize = 256;

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong, quoting the value.
    pub message: String,
    /// What was expected.
    pub expected: String,
}

impl Wrong {
    /// A message and what was expected.
    pub fn new(message: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { message: message.into(), expected: expected.into() }
    }
}

/// Goes through an object and collects impossible values.
#[derive(Debug)]
pub struct Checker<'a> {
    object: &'a Value,
    found: Vec<ImpossibleValue>,
}

impl<'a> Checker<'a> {
    /// Starts with an object's known leaves.
    pub fn new(object: &'a Value) -> Self {
        Self { object, found: Vec::new() }
    }

    /// Checks every text at a path; `[]` enters list items: `spec.routes[].gatewayID`.
    #[must_use]
    pub fn texts(mut self, path: &str, check: impl Fn(&str) -> Option<Wrong>) -> Self {
        for (path, value) in places(self.object, path) {
            if let Some(wrong) = value.as_str().and_then(&check) {
                self.found.push(impossible(path, wrong));
            }
        }
        self
    }

    /// Checks every value at a path.
    #[must_use]
    pub fn values(mut self, path: &str, check: impl Fn(&Value) -> Option<Wrong>) -> Self {
        for (path, value) in places(self.object, path) {
            if let Some(wrong) = check(value) {
                self.found.push(impossible(path, wrong));
            }
        }
        self
    }

    /// Checks the tags at a path, in either of ACK's forms: a list of `key` and `value`, or a mapping.
    #[must_use]
    pub fn tags(mut self, path: &str) -> Self {
        for (path, tags) in places(self.object, path) {
            self.found.extend(impossible_tags(&path, tags));
        }
        self
    }

    /// What was found.
    pub fn finish(self) -> Vec<ImpossibleValue> {
        self.found
    }
}

fn impossible(path: String, wrong: Wrong) -> ImpossibleValue {
    ImpossibleValue { path, message: wrong.message, expected: wrong.expected }
}

/// The values at a path, with `[]` replaced by indices.
fn places<'a>(object: &'a Value, path: &str) -> Vec<(String, &'a Value)> {
    let mut places = vec![(String::new(), object)];
    for segment in path.split('.') {
        let name = segment.strip_suffix("[]");
        let into_items = name.is_some();
        let name = name.unwrap_or(segment);
        places = places.into_iter().filter_map(|(path, value)| Some((join(&path, name), value.get(name)?))).collect();
        if into_items {
            places = places.into_iter().flat_map(|(path, value)| items(&path, value)).collect();
        }
    }
    places
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn items<'a>(path: &str, list: &'a Value) -> Vec<(String, &'a Value)> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().enumerate().map(|(index, item)| (format!("{path}[{index}]"), item)).collect()
}

/// An id that AWS made: it begins with one of these prefixes (`vpc-`), and something follows.
pub fn id(prefixes: &'static [&'static str]) -> impl Fn(&str) -> Option<Wrong> {
    move |text| {
        let fits = prefixes.iter().any(|prefix| text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()));
        let expected =
            || format!("an id like {}", prefixes.iter().map(|prefix| format!("{prefix}…")).collect::<Vec<_>>().join(", "));
        match text {
            "" => Some(Wrong::new("the id is empty", expected())),
            _ if fits => None,
            _ => Some(Wrong::new(format!("`{text}` is not such an id"), expected())),
        }
    }
}

/// One of the values that AWS knows.
pub fn one_of(values: &'static [&'static str]) -> impl Fn(&str) -> Option<Wrong> {
    move |text| {
        let expected = || format!("one of {}", values.join(", "));
        (!values.contains(&text)).then(|| Wrong::new(format!("AWS knows no `{text}` here"), expected()))
    }
}

/// An IPv4 block without host bits, whose prefix has from `shortest` to `longest` bits.
pub fn cidr(shortest: u8, longest: u8) -> impl Fn(&str) -> Option<Wrong> {
    move |text| {
        let Ok(block) = text.parse::<Ipv4Net>() else {
            return Some(Wrong::new(format!("`{text}` is not an IPv4 CIDR block"), "a block like 10.0.0.0/16"));
        };
        if block.trunc() != block {
            let message = format!("`{text}` has bits set behind its prefix");
            return Some(Wrong::new(message, block.trunc().to_string()));
        }
        let fits = (shortest..=longest).contains(&block.prefix_len());
        let size = || format!("`{text}` has a prefix of {} bits", block.prefix_len());
        (!fits).then(|| Wrong::new(size(), format!("a prefix from /{shortest} to /{longest}")))
    }
}

/// An IPv6 block without host bits.
pub fn ipv6_cidr(text: &str) -> Option<Wrong> {
    let Ok(block) = text.parse::<Ipv6Net>() else {
        return Some(Wrong::new(format!("`{text}` is not an IPv6 CIDR block"), "a block like ::/0"));
    };
    let message = || format!("`{text}` has bits set behind its prefix");
    (block.trunc() != block).then(|| Wrong::new(message(), block.trunc().to_string()))
}

/// An availability zone of a region: `us-west-2a`, or a local zone like `us-west-2-lax-1a`. Without a region only the
/// form is checked.
pub fn zone(region: Option<&str>) -> impl Fn(&str) -> Option<Wrong> {
    move |text| {
        let expected = region.map_or_else(|| "a zone like us-west-2a".to_owned(), |region| format!("a zone like {region}a"));
        let fits = match region {
            Some(region) => text.strip_prefix(region).is_some_and(is_zone_suffix),
            None => text
                .char_indices()
                .filter(|(_, character)| character.is_ascii_digit())
                .any(|(at, _)| text.is_char_boundary(at + 1) && is_zone_suffix(&text[at + 1..])),
        };
        (!fits).then(|| Wrong::new(format!("`{text}` is not an availability zone of the region"), expected))
    }
}

/// What follows a region's name in the name of a zone: `a`, or `-lax-1a` and `-wl1-bos-wlz-1` for zones outside.
fn is_zone_suffix(suffix: &str) -> bool {
    let letter = suffix.len() == 1 && suffix.bytes().all(|byte| byte.is_ascii_lowercase());
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    letter || suffix.strip_prefix('-').is_some_and(|rest| rest.len() > 1 && rest.bytes().all(plain))
}

fn impossible_tags<'a>(path: &str, tags: &'a Value) -> Vec<ImpossibleValue> {
    let entries: Vec<(String, Option<&str>, Option<&str>)> = match tags {
        Value::Object(map) => {
            map.iter().map(|(key, value)| (format!("{path}.{key}"), Some(key.as_str()), value.as_str())).collect()
        }
        list => {
            let text = |tag: &'a Value, name| tag.get(name).and_then(Value::as_str);
            items(path, list).into_iter().map(|(path, tag)| (path, text(tag, "key"), text(tag, "value"))).collect()
        }
    };
    let mut found = Vec::new();
    let mut keys = BTreeSet::new();
    for (place, key, value) in &entries {
        let wrong = tag(*key, *value);
        found.extend(wrong.map(|wrong| impossible(place.clone(), wrong)));
        if let Some(key) = key
            && !keys.insert(*key)
        {
            let wrong = Wrong::new(format!("the tag `{key}` stands here twice"), "each key once");
            found.push(impossible(place.clone(), wrong));
        }
    }
    if entries.len() > MOST_TAGS - MARKS {
        let message = format!("{} tags are too many: AWS takes {MOST_TAGS}, and fleetctl needs {MARKS}", entries.len());
        found.push(impossible(path.to_owned(), Wrong::new(message, format!("at most {} tags", MOST_TAGS - MARKS))));
    }
    found
}

/// Checks a tag, as far as it is known.
pub fn tag(key: Option<&str>, value: Option<&str>) -> Option<Wrong> {
    key.and_then(wrong_key).or_else(|| value.and_then(wrong_value))
}

fn wrong_key(key: &str) -> Option<Wrong> {
    let length = key.chars().count();
    if key.is_empty() {
        return Some(Wrong::new("the key of a tag is empty", format!("1 to {LONGEST_KEY} characters")));
    }
    if length > LONGEST_KEY {
        let message = format!("the key of a tag, `{key}`, has {length} characters");
        return Some(Wrong::new(message, format!("at most {LONGEST_KEY} characters")));
    }
    let reserved = || Wrong::new(format!("`{key}`: keys that begin with `aws:` or `fleetctl:` are reserved"), "another key");
    is_reserved(&key.to_lowercase()).then(reserved)
}

fn wrong_value(value: &str) -> Option<Wrong> {
    let length = value.chars().count();
    let message = || format!("the value of a tag has {length} characters");
    (length > LONGEST_VALUE).then(|| Wrong::new(message(), format!("at most {LONGEST_VALUE} characters")))
}

/// Checks a name: its length, and its characters.
pub fn name(most: usize, allowed: impl Fn(char) -> bool, expected: &'static str) -> impl Fn(&str) -> Option<Wrong> {
    move |text| {
        let length = text.chars().count();
        if length > most {
            return Some(Wrong::new(format!("the name `{text}` has {length} characters, {most} are allowed"), expected));
        }
        let fits = !text.is_empty() && text.chars().all(&allowed);
        (!fits).then(|| Wrong::new(format!("`{text}` cannot be a name here"), expected))
    }
}

/// Checks the ARN of something in IAM: `role/`, `policy/`.
pub fn iam_arn(kinds: &'static [&'static str]) -> impl Fn(&str) -> Option<Wrong> {
    move |text| {
        let fits = iam_resource(text).is_some_and(|resource| kinds.iter().any(|kind| resource.starts_with(kind)));
        let expected = || kinds.iter().map(|kind| format!("arn:aws:iam::<account>:{kind}…")).collect::<Vec<_>>().join(" or ");
        (!fits).then(|| Wrong::new(format!("`{text}` is not an ARN of that kind"), expected()))
    }
}

/// What an ARN of IAM names, `role/x`; `None` for other texts. The account is 12 digits, or `aws` for AWS's own
/// policies.
fn iam_resource(text: &str) -> Option<&str> {
    let (partition, rest) = text.strip_prefix("arn:")?.split_once(":iam::")?;
    let (account, resource) = rest.split_once(':')?;
    ((arn::is_account(account) || account == "aws") && partition.starts_with("aws") && resource.len() > 1).then_some(resource)
}

/// Checks the path of something in IAM.
pub fn iam_path(text: &str) -> Option<Wrong> {
    let plain = text.chars().all(|character| ('\u{21}'..='\u{7f}').contains(&character));
    let fits = text.starts_with('/') && text.ends_with('/') && plain && text.len() <= 512;
    (!fits).then(|| Wrong::new(format!("`{text}` cannot be a path"), "/ or /some/path/, at most 512 characters"))
}

/// The region that an object's annotation names, if it does.
pub fn region(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(identity::REGION)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_found_by_path() {
        let object = json!({"spec": {"routes": [{"gatewayID": ""}, {}, {"gatewayID": "igw-1"}, {"gatewayID": "eni-1"}]}});
        let found = Checker::new(&object).texts("spec.routes[].gatewayID", id(&["igw-", "vgw-"])).finish();
        let paths: Vec<&str> = found.iter().map(|wrong| wrong.path.as_str()).collect();
        assert_eq!(paths, ["spec.routes[0].gatewayID", "spec.routes[3].gatewayID"]);
        assert_eq!(found[0].message, "the id is empty");
        assert_eq!(found[0].expected, "an id like igw-…, vgw-…");
        assert!(Checker::new(&json!({"spec": {"routes": "text"}})).texts("spec.routes[].gatewayID", id(&[])).finish().is_empty());
    }

    #[test]
    fn blocks_have_a_size_and_no_host_bits() {
        let check = cidr(16, 28);
        assert_eq!(check("10.0.0.0/16"), None);
        assert_eq!(check("10.0.0.1/16").unwrap().expected, "10.0.0.0/16");
        assert_eq!(check("10.0.0.0/8").unwrap().expected, "a prefix from /16 to /28");
        assert!(check("10.0.0.0/29").is_some());
        for text in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/16", "fd00::/64", "10.0.0.256/24"] {
            assert!(check(text).unwrap().message.contains("not an IPv4 CIDR block"), "{text}");
        }
    }

    #[test]
    fn zones_belong_to_a_region() {
        let check = zone(Some("us-west-2"));
        assert_eq!(check("us-west-2a"), None);
        assert_eq!(check("us-west-2-lax-1a"), None);
        for text in ["us-west-1a", "us-west-2", "us-west-22a", "a", "", "us-west-2A", "us-west-2ab"] {
            assert!(check(text).is_some(), "{text}");
        }
        let check = zone(None);
        assert_eq!(check("eu-central-1b"), None);
        assert_eq!(check("us-east-1-wl1-bos-wlz-1"), None);
        assert!(check("eu-central-1").is_some());
        assert!(check("zone").is_some());
    }

    #[test]
    fn tags_have_limits() {
        let found = |tags: Value| Checker::new(&json!({"tags": tags})).tags("tags").finish();
        assert!(found(json!([{"key": "Name", "value": "x"}, {"key": "empty"}, {"value": "key unknown"}])).is_empty());
        let wrong = found(json!([
            {"key": ""}, {"key": "k".repeat(129)}, {"key": "v", "value": "ü".repeat(257)}, {"key": "AWS:x"},
            {"key": "fleetctl:lineage"}, {"key": "a"}, {"key": "a"}, {"key": "k".repeat(128), "value": "ü".repeat(256)},
        ]));
        let paths: Vec<&str> = wrong.iter().map(|wrong| wrong.path.as_str()).collect();
        assert_eq!(paths, ["tags[0]", "tags[1]", "tags[2]", "tags[3]", "tags[4]", "tags[6]"]);
        let many: Vec<Value> = (0..48).map(|number| json!({"key": number.to_string()})).collect();
        assert_eq!(found(json!(many[..47])), []);
        assert_eq!(found(json!(many))[0].path, "tags");
        assert_eq!(found(json!({"aws:x": "y"}))[0].path, "tags.aws:x");
    }

    #[test]
    fn arns_of_iam_are_told_from_others() {
        assert_eq!(iam_resource("arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"), Some("policy/AmazonEKSClusterPolicy"));
        assert_eq!(iam_resource("arn:aws-cn:iam::111122223333:role/path/x"), Some("role/path/x"));
        assert_eq!(iam_resource("arn:aws:sts::111122223333:assumed-role/x/y"), None);
        assert_eq!(iam_resource("arn:aws:iam::1111:role/x"), None);
        assert_eq!(iam_resource("role/x"), None);
    }

    #[test]
    fn only_known_values_pass() {
        assert_eq!(one_of(&["default", "dedicated"])("dedicated"), None);
        assert_eq!(one_of(&["default", "dedicated"])("host").unwrap().expected, "one of default, dedicated");
    }
}
