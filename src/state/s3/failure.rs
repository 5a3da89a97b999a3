//! What an error of S3 means.

use super::client::NoKeys;
use super::location::Location;
use crate::state::error::StateError;
use object_store::Error;
use object_store::client::HttpError;
use std::error::Error as _;

/// What an error of S3 means.
#[derive(Debug)]
pub(super) enum Failure {
    /// The condition of a write does not hold.
    Condition,
    /// There is no such object.
    Absent,
    /// It may have been carried out or not, or may go well another time.
    Unclear(String),
    /// There are no credentials, or AWS does not take them.
    Credentials(String),
    /// It will not go well another time either.
    Refused(String),
}

/// Codes that say that the credentials are at fault.
const CREDENTIALS: [&str; 7] = [
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidSecurity",
    "InvalidToken",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
];

impl Failure {
    /// Reads an error.
    pub(super) fn of(error: &Error, location: &Location) -> Self {
        if let Some(reason) = find::<NoKeys>(error) {
            return Self::Credentials(reason.0.clone());
        }
        if find::<HttpError>(error).is_some() {
            return Self::Unclear(format!("S3 does not answer: {}", innermost(error)));
        }
        let answer = Answer::of(error);
        if answer.code == "NoSuchBucket" {
            return Self::Refused(format!("there is no bucket `{}`: make it first, or correct --state", location.bucket()));
        }
        match error {
            // Two conditional writes at one time: AWS asks for another attempt.
            Error::AlreadyExists { .. } | Error::Precondition { .. } if answer.status == 409 => Self::Unclear(answer.text()),
            Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotModified { .. } => Self::Condition,
            Error::NotFound { .. } => Self::Absent,
            _ => answer.failure(error),
        }
    }

    /// What it is called for whoever asked.
    pub(super) fn named(self, action: &'static str, key: &str, location: &Location) -> StateError {
        let failed = |reason: String| StateError::Store { action, key: location.url(key), source: std::io::Error::other(reason) };
        match self {
            Self::Condition => StateError::Conflict { key: key.to_owned() },
            Self::Absent => failed("it is not there".to_owned()),
            Self::Credentials(reason) => StateError::Credentials { store: location.to_string(), reason },
            Self::Unclear(reason) | Self::Refused(reason) => failed(reason),
        }
    }
}

/// What S3 has answered.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    status: u16,
    code: String,
    message: String,
    has_moved: bool,
}

impl Answer {
    /// The library gives the answer as text alone.
    fn of(error: &Error) -> Self {
        Self::read(&innermost(error))
    }

    fn read(text: &str) -> Self {
        let status = text.split_once("status code: ").and_then(|(_, rest)| rest.get(..3)?.parse().ok()).unwrap_or(0);
        Self {
            status,
            code: element(text, "Code"),
            message: element(text, "Message"),
            has_moved: text.contains("redirect without LOCATION") || matches!(status, 301 | 307 | 308),
        }
    }

    fn text(&self) -> String {
        let status = if self.status == 0 { String::new() } else { format!(" {}", self.status) };
        let code = if self.code.is_empty() { String::new() } else { format!(" {}", self.code) };
        let message = if self.message.is_empty() { String::new() } else { format!(": {}", self.message) };
        format!("S3 answered{status}{code}{message}")
    }

    fn failure(self, error: &Error) -> Failure {
        let text = self.text();
        if CREDENTIALS.contains(&self.code.as_str()) {
            return Failure::Credentials(text);
        }
        if self.has_moved || matches!(self.code.as_str(), "PermanentRedirect" | "AuthorizationHeaderMalformed") {
            let hint = "the bucket is in another region: set AWS_REGION, or the region of the profile, to the bucket's";
            return Failure::Refused(if self.code.is_empty() { hint.to_owned() } else { format!("{text}; {hint}") });
        }
        match self.status {
            403 => Failure::Refused(format!(
                "{text}; the credentials need s3:GetObject, s3:PutObject and s3:DeleteObject on the objects, and s3:ListBucket on \
                 the bucket"
            )),
            501 => Failure::Refused(format!("{text}; state needs a store that has conditional writes, as S3 has")),
            408 | 429 | 500.. => Failure::Unclear(text),
            0 => Failure::Refused(innermost(error)),
            _ => Failure::Refused(text),
        }
    }
}

/// The content of an XML element.
fn element(text: &str, name: &str) -> String {
    let inside = || text.split_once(&format!("<{name}>"))?.1.split_once(&format!("</{name}>")).map(|(inside, _)| inside);
    inside().unwrap_or_default().to_owned()
}

/// An error of a type among the causes.
fn find<T: std::error::Error + 'static>(error: &Error) -> Option<&T> {
    let mut cause = error.source();
    while let Some(found) = cause {
        if let Some(found) = found.downcast_ref::<T>() {
            return Some(found);
        }
        cause = found.source();
    }
    None
}

/// The cause of causes, in words.
fn innermost(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(found) = cause {
        text = found.to_string();
        cause = found.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: &str, code: &str, message: &str) -> String {
        let body = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
        let text = format!("Server returned non-2xx status code: {status}: {body}");
        let error = Error::Generic { store: "S3", source: text.into() };
        let location = Location::parse("s3://fleet-state/team").unwrap();
        let failure = Failure::of(&error, &location);
        let kind = match failure {
            Failure::Unclear(_) => "again",
            Failure::Credentials(_) => "credentials",
            _ => "ends",
        };
        format!("{kind}: {}", failure.named("write", "a/b.json", &location))
    }

    #[test]
    fn errors_name_bucket_and_key_and_say_what_to_do() {
        let lines = [
            said("403 Forbidden", "AccessDenied", "Access Denied"),
            said("404 Not Found", "NoSuchBucket", "The specified bucket does not exist"),
            said("301 Moved Permanently", "PermanentRedirect", "The bucket must be addressed using the specified endpoint"),
            said("403 Forbidden", "InvalidAccessKeyId", "The key does not exist in our records"),
            said("503 Service Unavailable", "SlowDown", "Please reduce your request rate"),
            said("501 Not Implemented", "NotImplemented", "A header implies functionality that is not implemented"),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        ends: cannot write s3://fleet-state/team/a/b.json: S3 answered 403 AccessDenied: Access Denied; the credentials need s3:GetObject, s3:PutObject and s3:DeleteObject on the objects, and s3:ListBucket on the bucket
        ends: cannot write s3://fleet-state/team/a/b.json: there is no bucket `fleet-state`: make it first, or correct --state
        ends: cannot write s3://fleet-state/team/a/b.json: S3 answered 301 PermanentRedirect: The bucket must be addressed using the specified endpoint; the bucket is in another region: set AWS_REGION, or the region of the profile, to the bucket's
        credentials: no way into s3://fleet-state/team: S3 answered 403 InvalidAccessKeyId: The key does not exist in our records
        again: cannot write s3://fleet-state/team/a/b.json: S3 answered 503 SlowDown: Please reduce your request rate
        ends: cannot write s3://fleet-state/team/a/b.json: S3 answered 501 NotImplemented: A header implies functionality that is not implemented; state needs a store that has conditional writes, as S3 has
        ");
        let gone = Error::Generic { store: "S3", source: Box::new(NoKeys("the profile holds none".into())) };
        let location = Location::parse("s3://fleet-state").unwrap();
        assert!(matches!(Failure::of(&gone, &location), Failure::Credentials(reason) if reason == "the profile holds none"));
    }
}
