//! Kubernetes' URLs, read as Go's `net/url` reads them.

use super::super::environment::Library;
use super::{Arguments, Outcome, bool_value, failed, text, text_value, typed};
use cel::ExecutionError;
use cel::common::types::{CelList, CelMap, CelMapKey, CelString};
use cel::common::value::{CowVal, Val};
use indexmap::IndexMap;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::collections::HashMap;

opaque_type!(
    /// A URL.
    Url(Parts),
    "kubernetes.URL"
);

/// The parts of a URL that functions answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Parts {
    scheme: String,
    /// With the port.
    host: String,
    path: String,
    query: String,
}

/// What Go escapes in a path: all but these.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'/')
    .remove(b':')
    .remove(b'=')
    .remove(b'@');

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.function("url(string) -> kubernetes.URL", url)?;
    library.function("isURL(string) -> bool", is_url)?;
    library.method("kubernetes.URL.getScheme() -> string", |arguments| part(&arguments, |url| url.scheme.clone()))?;
    library.method("kubernetes.URL.getHost() -> string", |arguments| part(&arguments, |url| url.host.clone()))?;
    library
        .method("kubernetes.URL.getHostname() -> string", |arguments| part(&arguments, |url| url.split_host().0.to_owned()))?;
    library.method("kubernetes.URL.getPort() -> string", |arguments| part(&arguments, |url| url.split_host().1.to_owned()))?;
    library.method("kubernetes.URL.getEscapedPath() -> string", |arguments| part(&arguments, Parts::escaped_path))?;
    library.method("kubernetes.URL.getQuery() -> map(string, list(string))", query)
}

impl Parts {
    /// Reads an absolute URL or an absolute path.
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return None;
        }
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (scheme, rest) = split_scheme(text)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parts = Self { scheme: scheme.to_ascii_lowercase(), query: query.to_owned(), ..Self::default() };
        if !is_escaped(fragment) {
            return None;
        }
        if !rest.starts_with('/') {
            // `mailto:x` has neither host nor path; without a scheme it is relative.
            return (!scheme.is_empty()).then_some(parts);
        }
        let mut path = rest;
        if let Some(authority) = rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            let end = authority.find('/').unwrap_or(authority.len());
            let (authority, below) = authority.split_at(end);
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            parts.host = is_host(host).then(|| host.to_owned())?;
            path = below;
        }
        parts.path = is_escaped(path).then(|| path.to_owned())?;
        Some(parts)
    }

    /// Name and port; an IPv6 address without its brackets.
    fn split_host(&self) -> (&str, &str) {
        let (name, port) = match self.host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port),
            _ => (self.host.as_str(), ""),
        };
        (name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name), port)
    }

    /// The path as written if every character may stand there, else escaped anew.
    fn escaped_path(&self) -> String {
        let may_stand = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@[]/%".contains(&byte);
        if self.path.bytes().all(may_stand) {
            return self.path.clone();
        }
        let decoded = percent_decode_str(&self.path).decode_utf8_lossy();
        utf8_percent_encode(&decoded, PATH).to_string()
    }

    /// Values by name, in order; what cannot be read is left out.
    fn query_values(&self) -> IndexMap<String, Vec<String>> {
        let mut values: IndexMap<String, Vec<String>> = IndexMap::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';') && is_escaped(pair)) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
            values.entry(decode(name)).or_default().push(decode(value));
        }
        values
    }
}

/// Scheme and rest; no scheme where the first character that none may have is not a colon.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|character: char| !(character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.')));
    match end.map(|end| text.split_at(end)) {
        Some((scheme, rest)) if rest.starts_with(':') => match scheme.bytes().next() {
            None => None,
            Some(first) if first.is_ascii_alphabetic() => Some((scheme, rest.get(1..)?)),
            Some(_) => Some(("", text)),
        },
        _ => Some(("", text)),
    }
}

/// Whether every `%` is followed by two hexadecimal digits.
fn is_escaped(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit()))
}

fn is_host(host: &str) -> bool {
    let may_stand = |byte: u8| byte >= 0x80 || byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte);
    let port = match host.strip_prefix('[') {
        Some(rest) => rest.rsplit_once(']').map(|(_, port)| port),
        None => Some(host.rfind(':').and_then(|colon| host.get(colon..)).unwrap_or("")),
    };
    let is_port = |port: &str| {
        port.is_empty() || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    port.is_some_and(is_port) && host.bytes().all(may_stand)
}

fn url<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let parts = Parts::parse(text(&arguments, 0)?);
    parts.map(|parts| CowVal::owned(Url(parts))).ok_or_else(|| failed("url", "the text is no URL"))
}

fn is_url<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(bool_value(Parts::parse(text(&arguments, 0)?).is_some()))
}

fn receiver<'a>(arguments: &'a [CowVal<'_, '_>]) -> Result<&'a Parts, ExecutionError> {
    typed::<Url>(arguments, 0, "kubernetes.URL").map(|url| &url.0)
}

fn part<'b, 'v>(arguments: &[CowVal<'b, 'v>], part: fn(&Parts) -> String) -> Outcome<'b, 'v> {
    Ok(text_value(part(receiver(arguments)?)))
}

fn query<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let mut map: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = HashMap::new();
    for (name, values) in receiver(&arguments)?.query_values() {
        let values: Vec<Box<dyn Val + 'v>> = values.into_iter().map(|value| Box::new(CelString::from(value)) as _).collect();
        map.insert(CelMapKey::from(name), Box::new(CelList::from(values)));
    }
    Ok(CowVal::owned(CelMap::from(map)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let url = Parts::parse("HTTPS://user:pw@[2001:db8::1]:8443/a%20b/c?x=1&x=2&y=a+b#top").unwrap();
        assert_eq!((url.scheme.as_str(), url.host.as_str()), ("https", "[2001:db8::1]:8443"));
        assert_eq!(url.split_host(), ("2001:db8::1", "8443"));
        assert_eq!(url.escaped_path(), "/a%20b/c");
        assert_eq!(url.query_values().get("x").unwrap(), &["1", "2"]);
        assert_eq!(url.query_values().get("y").unwrap(), &["a b"]);
        assert_eq!(Parts::parse("https://example.com/a b").unwrap().escaped_path(), "/a%20b");
        assert_eq!(Parts::parse("https://example.com").unwrap().split_host(), ("example.com", ""));
    }

    #[test]
    fn only_absolute_ones_are_urls() {
        for text in ["https://a.b/c", "/path", "mailto:x@y", "http://a:80"] {
            assert!(Parts::parse(text).is_some(), "{text}");
        }
        for text in ["", "path", "../p", ":x", "http://a:b", "http://a b/", "https://a/%zz", "http://[::1", "//host/p\n"] {
            assert!(Parts::parse(text).is_none(), "{text}");
        }
    }
}
