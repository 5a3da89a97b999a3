//! Where a state in S3 lies: `s3://bucket/prefix`.

use std::fmt;

/// A bucket, and what the keys of everything in it begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    bucket: String,
    /// Without slashes around it; may be empty.
    prefix: String,
}

impl Location {
    /// Reads `s3://bucket` or `s3://bucket/prefix`. The error says what is expected instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = |instead: &str| format!("s3://BUCKET/PREFIX: {instead}");
        let (scheme, rest) = text.split_once("://").ok_or_else(|| form("the two slashes are missing"))?;
        if !scheme.eq_ignore_ascii_case("s3") {
            return Err(format!("a folder or s3://BUCKET/PREFIX; fleetctl knows no `{scheme}://`"));
        }
        if let Some(mark) = rest.chars().find(|c| "?#".contains(*c)) {
            return Err(form(&format!("leave out everything from `{mark}` on")));
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.contains('@') {
            return Err(form("credentials do not belong there, they come from the environment or a profile"));
        }
        check_bucket(bucket).map_err(|instead| form(&instead))?;
        let prefix = prefix.trim_end_matches('/');
        if !prefix.is_empty() {
            check_prefix(prefix).map_err(|instead| form(&instead))?;
        }
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    /// The bucket.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The key in the bucket of a key in the store.
    pub(super) fn whole(&self, key: &str) -> String {
        match (self.prefix.as_str(), key) {
            ("", key) => key.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, key) => format!("{prefix}/{key}"),
        }
    }

    /// The key in the store of a key in the bucket.
    pub(super) fn own<'a>(&self, whole: &'a str) -> Option<&'a str> {
        if self.prefix.is_empty() {
            return Some(whole);
        }
        whole.strip_prefix(&self.prefix)?.strip_prefix('/')
    }

    /// A key in the store, for people.
    pub(super) fn url(&self, key: &str) -> String {
        format!("s3://{}/{}", self.bucket, self.whole(key))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.url("").trim_end_matches('/'))
    }
}

/// Refuses what S3 does not take for the name of a bucket.
fn check_bucket(bucket: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let lower = bucket.to_ascii_lowercase();
    match bucket {
        "" => Err("the bucket is missing".to_owned()),
        _ if bucket.contains(':') => {
            Err("no port and no ARN belong there; another endpoint is set with AWS_ENDPOINT_URL_S3".to_owned())
        }
        _ if bucket != lower && lower.chars().all(fits) => Err(format!("buckets have small letters, did you mean `{lower}`?")),
        _ if bucket.ends_with("--x-s3") => Err("directory buckets do not list their keys in order, take another one".to_owned()),
        _ if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(fits) => {
            Err(format!("`{bucket}` cannot be a bucket: 3 to 63 small letters, digits, dots and dashes"))
        }
        _ if !bucket.starts_with(is_end) || !bucket.ends_with(is_end) => {
            Err(format!("`{bucket}` cannot be a bucket: it begins and ends with a letter or a digit"))
        }
        _ => Ok(()),
    }
}

fn check_prefix(prefix: &str) -> Result<(), String> {
    let suggestion = prefix.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect::<Vec<_>>().join("/");
    if suggestion != prefix {
        return Err(format!("no part of the prefix is empty, `.` or `..`, did you mean `{suggestion}`?"));
    }
    match object_store::path::Path::parse(prefix) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("`{prefix}` has characters that keys in S3 should not have")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_a_bucket_and_a_prefix() {
        let lines = [
            "s3://fleet-state",
            "S3://fleet-state/",
            "s3://fleet-state/team/eu/",
            "https://fleet-state.s3.amazonaws.com",
            "s3://",
            "s3:///prefix",
            "s3:/fleet-state",
            "s3://key:secret@fleet-state/x",
            "s3://fleet-state/x?region=eu-west-1",
            "s3://localhost:4566/x",
            "s3://Fleet-State/x",
            "s3://fleet_state/x",
            "s3://-fleet/x",
            "s3://fleet--x-s3/x",
            "s3://fleet-state//x/../y",
        ]
        .map(|text| match Location::parse(text) {
            Ok(location) => format!("{location} holds {}", location.url("a/b")),
            Err(expected) => format!("`{text}`: {expected}"),
        });
        insta::assert_snapshot!(lines.join("\n"), @"
        s3://fleet-state holds s3://fleet-state/a/b
        s3://fleet-state holds s3://fleet-state/a/b
        s3://fleet-state/team/eu holds s3://fleet-state/team/eu/a/b
        `https://fleet-state.s3.amazonaws.com`: a folder or s3://BUCKET/PREFIX; fleetctl knows no `https://`
        `s3://`: s3://BUCKET/PREFIX: the bucket is missing
        `s3:///prefix`: s3://BUCKET/PREFIX: the bucket is missing
        `s3:/fleet-state`: s3://BUCKET/PREFIX: the two slashes are missing
        `s3://key:secret@fleet-state/x`: s3://BUCKET/PREFIX: credentials do not belong there, they come from the environment or a profile
        `s3://fleet-state/x?region=eu-west-1`: s3://BUCKET/PREFIX: leave out everything from `?` on
        `s3://localhost:4566/x`: s3://BUCKET/PREFIX: no port and no ARN belong there; another endpoint is set with AWS_ENDPOINT_URL_S3
        `s3://Fleet-State/x`: s3://BUCKET/PREFIX: buckets have small letters, did you mean `fleet-state`?
        `s3://fleet_state/x`: s3://BUCKET/PREFIX: `fleet_state` cannot be a bucket: 3 to 63 small letters, digits, dots and dashes
        `s3://-fleet/x`: s3://BUCKET/PREFIX: `-fleet` cannot be a bucket: it begins and ends with a letter or a digit
        `s3://fleet--x-s3/x`: s3://BUCKET/PREFIX: directory buckets do not list their keys in order, take another one
        `s3://fleet-state//x/../y`: s3://BUCKET/PREFIX: no part of the prefix is empty, `.` or `..`, did you mean `x/y`?
        ");
    }

    #[test]
    fn keys_are_those_below_the_prefix() {
        let location = Location::parse("s3://fleet-state/team").unwrap();
        assert_eq!(location.own("team/a/b"), Some("a/b"));
        assert_eq!(location.own("teams/a"), None);
        assert_eq!(Location::parse("s3://fleet-state").unwrap().own("a/b"), Some("a/b"));
    }
}
