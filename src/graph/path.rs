//! Paths as text: `spec.routes[0].natGatewayID`; `[]` stands for any item of a list, keys with dots are quoted.

use super::expression::{Read, Segment};
use super::tree::{push_field, push_index};

/// A path as text.
pub(crate) fn text(path: &[Segment]) -> String {
    let mut out = String::new();
    for segment in path {
        match segment {
            Segment::Field(name) => push_field(&mut out, name),
            Segment::Index(index) => push_index(&mut out, *index),
        }
    }
    out
}

/// The path with a key below it.
pub(crate) fn child(path: &str, key: &str) -> String {
    let mut out = path.to_owned();
    push_field(&mut out, key);
    out
}

/// Reads a path back. Keys may stand in brackets with or without quotes; `[]` becomes the first item.
pub(crate) fn parse(text: &str) -> Vec<Segment> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some((key, after)) = rest.strip_prefix("[\"").and_then(|inner| inner.split_once("\"]")) {
            out.push(Segment::Field(key.to_owned()));
            rest = after;
        } else if let Some((index, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            // A key may stand there as it is: `metadata.labels[team]`.
            let is_item = index.is_empty() || index.bytes().all(|digit| digit.is_ascii_digit());
            let item = || Segment::Index(index.parse().unwrap_or(0));
            out.push(if is_item { item() } else { Segment::Field(index.to_owned()) });
            rest = after;
        } else {
            let end = rest.char_indices().skip(1).find(|(_, c)| matches!(c, '.' | '[')).map_or(rest.len(), |(at, _)| at);
            out.push(Segment::Field(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
    out
}

/// The same path with `[]` in place of item numbers.
pub(crate) fn any_item(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        out.push('[');
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out.push_str(rest);
    out
}

/// Whether a dotted path is the other or lies below it.
pub(crate) fn covers(prefix: &str, path: &str) -> bool {
    match path.strip_prefix(prefix) {
        Some(rest) => prefix.is_empty() || rest.is_empty() || rest.starts_with('.') || rest.starts_with('['),
        None => false,
    }
}

/// How an expression reads its only path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plain {
    /// `vpc.status.vpcID`: the value at the path and nothing else.
    Value,
    /// `vpc.status.?vpcID`: an optional.
    Optional,
}

/// Whether a CEL source is nothing but the path of its one read.
pub(crate) fn plain(source: &str, reads: &[Read]) -> Option<Plain> {
    let [read] = reads else { return None };
    let mut optional = false;
    let mut rest = source.trim().strip_prefix(read.root.as_str())?;
    for segment in &read.path {
        rest = match segment {
            Segment::Index(index) => rest.strip_prefix('[')?.strip_prefix(index.to_string().as_str())?.strip_prefix(']')?,
            Segment::Field(name) if rest.starts_with('[') => quoted_index(rest, name)?,
            Segment::Field(name) => {
                let after = rest.strip_prefix('.')?;
                optional |= after.starts_with('?');
                after.strip_prefix('?').unwrap_or(after).strip_prefix(name.as_str())?
            }
        };
    }
    rest.is_empty().then_some(if optional { Plain::Optional } else { Plain::Value })
}

/// What follows `["name"]` or `['name']`.
fn quoted_index<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let inner = text.strip_prefix('[')?;
    let quote = inner.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    inner[1..].strip_prefix(name)?.strip_prefix(quote)?.strip_prefix(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str) -> Segment {
        Segment::Field(name.to_owned())
    }

    #[test]
    fn text_and_back() {
        let path = vec![field("metadata"), field("annotations"), field("services.k8s.aws/region")];
        assert_eq!(text(&path), "metadata.annotations[\"services.k8s.aws/region\"]");
        assert_eq!(parse(&text(&path)), path);
        assert_eq!(parse("spec.routes[2].gatewayID"), [field("spec"), field("routes"), Segment::Index(2), field("gatewayID")]);
        assert_eq!(parse("metadata.labels[team]"), [field("metadata"), field("labels"), field("team")]);
        assert_eq!(parse("spec.routes[]"), [field("spec"), field("routes"), Segment::Index(0)]);
        assert_eq!(any_item("spec.routes[12].gatewayID"), "spec.routes[].gatewayID");
        assert_eq!(any_item("metadata.annotations[\"a.b\"]"), "metadata.annotations[\"a.b\"]");
    }

    #[test]
    fn a_prefix_ends_at_a_segment() {
        assert!(covers("spec.routes", "spec.routes[].gatewayID"));
        assert!(covers("", "spec"));
        assert!(!covers("spec.vpc", "spec.vpcID"));
    }

    #[test]
    fn plain_paths_are_told_from_expressions() {
        let read = |path: &[Segment]| Read { root: "vpc".to_owned(), path: path.to_vec() };
        let status = read(&[field("status"), field("vpcID")]);
        assert_eq!(plain(" vpc.status.vpcID ", std::slice::from_ref(&status)), Some(Plain::Value));
        assert_eq!(plain("vpc.status['vpcID']", std::slice::from_ref(&status)), Some(Plain::Value));
        assert_eq!(plain("vpc.status.?vpcID", std::slice::from_ref(&status)), Some(Plain::Optional));
        assert_eq!(plain("vpc.status.vpcID + 'x'", std::slice::from_ref(&status)), None);
        assert_eq!(plain("has(vpc.status.vpcID)", &[status]), None);
        assert_eq!(plain("vpc.l[0]", &[read(&[field("l"), Segment::Index(0)])]), Some(Plain::Value));
    }
}
