//! What Argo CD's refusals mean: its own, and those of the cluster that it tried to reach.

use crate::aws::error::{CallError, ErrorClass};
use crate::aws::redact::redact;
use serde::Deserialize;

/// Texts that begin so are about the caller's own token.
const TOKEN: [&str; 3] = ["invalid session", "no session information", "Invalid username or password"];
/// Texts that hold one of these are about the cluster: Argo CD asks its `/version` before it stores anything.
const TARGET: [&str; 3] = ["server version", "getting credentials", "the server has asked for the client to provide credentials"];
/// What no waiting cures, although it is about the cluster.
const FINAL: [&str; 4] = ["error getting REST config", "failed to create discovery client", "x509:", "PEM block"];
/// Argo CD has stored the cluster when it says this.
const STORED: &str = "error setting cluster info in cache";

/// An answer that is no success.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer<'a> {
    pub(super) operation: &'static str,
    pub(super) status: u16,
    pub(super) location: Option<&'a str>,
    pub(super) body: &'a str,
}

/// The body of Argo CD's errors. Anything else comes from what stands between.
#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    message: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    code: u32,
}

impl Answer<'_> {
    /// The error that it is.
    pub(super) fn error(&self) -> CallError {
        match serde_json::from_str::<Body>(self.body) {
            Ok(body) => {
                let message = if body.message.is_empty() { body.error } else { body.message };
                let class = self.class(&message, body.code);
                self.call_error(class, name(body.code, self.status), &hinted(class, &message))
            }
            Err(_) => self.foreign(),
        }
    }

    /// The error of a success that cannot be read: whatever it was, it may have been done.
    pub(super) fn unreadable(&self) -> CallError {
        let message = format!("the answer is not Argo CD's: {}", self.excerpt());
        self.call_error(ErrorClass::Unclear, "UnreadableReply".to_owned(), &message)
    }

    fn class(&self, message: &str, code: u32) -> ErrorClass {
        let starts = |texts: &[&str]| texts.iter().any(|text| message.starts_with(text));
        let holds = |texts: &[&str]| texts.iter().any(|text| message.contains(text));
        if starts(&TOKEN) {
            return ErrorClass::Credentials;
        }
        if message.starts_with(STORED) {
            return ErrorClass::Unclear;
        }
        if holds(&FINAL) {
            return ErrorClass::Final;
        }
        // Any other 401 of a call that dials is the cluster's, which refused Argo CD. Old versions leave out the prefix.
        let dials = matches!(self.operation, "CreateCluster" | "UpdateCluster");
        if holds(&TARGET) || (self.status == 401 && dials) {
            return ErrorClass::NotYet;
        }
        match self.status {
            401 => ErrorClass::Credentials,
            403 => ErrorClass::Denied,
            404 => ErrorClass::NotFound,
            409 => ErrorClass::NotYet,
            429 => ErrorClass::Throttled,
            // 13 is a panic inside, or trouble with its own Kubernetes: nobody knows how far it came.
            500.. => ErrorClass::Unclear,
            _ if code == 14 => ErrorClass::Unclear,
            _ => ErrorClass::Final,
        }
    }

    /// An answer of a router, a load balancer or a sign-in page.
    fn foreign(&self) -> CallError {
        let (class, hint) = match self.status {
            300..=399 => (ErrorClass::Final, self.redirect()),
            401 => (
                ErrorClass::Credentials,
                "something before Argo CD asks for a sign-in: headers go into ARGOCD_OPTS as -H".to_owned(),
            ),
            403 => (ErrorClass::Denied, "something before Argo CD refuses: headers go into ARGOCD_OPTS as -H".to_owned()),
            404 => (ErrorClass::Final, "there is no Argo CD API at this address: check the path in ARGOCD_SERVER".to_owned()),
            429 => (ErrorClass::Throttled, self.excerpt()),
            500.. => (ErrorClass::Unclear, self.excerpt()),
            _ => (ErrorClass::Final, self.excerpt()),
        };
        self.call_error(class, format!("HTTP {}", self.status), &hint)
    }

    fn redirect(&self) -> String {
        let to = self.location.unwrap_or("elsewhere");
        if to.starts_with("https://") {
            return format!("Argo CD wants TLS (it redirects to {to}): leave out --plaintext and http://");
        }
        format!("something redirects to {to}: name the right address in ARGOCD_SERVER")
    }

    fn excerpt(&self) -> String {
        let line = self.body.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(200).collect()
    }

    fn call_error(&self, class: ErrorClass, code: String, message: &str) -> CallError {
        CallError { service: "argocd", operation: self.operation, class, code, message: redact(message), request_id: None }
    }
}

/// What people can do about trouble whose text does not say it.
fn hinted(class: ErrorClass, message: &str) -> String {
    let hint = if class == ErrorClass::Credentials {
        "Argo CD does not accept the token in ARGOCD_AUTH_TOKEN: make a new one; of the Argo CD that EKS hosts, an account's \
         token lasts 12 hours at most, and AWS signatures are not taken instead"
    } else if message.contains("argocd-k8s-auth") {
        "Argo CD has no AWS identity that reaches the cluster: check the role of argocd-server's pods, and roleARN"
    } else if message.contains("asked for the client to provide credentials") {
        "the cluster refuses Argo CD: its access entry is missing or not yet effective, or is for another role"
    } else if message.contains("failed to create discovery client") && message.contains("arn:") {
        "only the Argo CD that EKS hosts takes an ARN as server: is `argocd: hosted` right?"
    } else {
        return message.to_owned();
    };
    format!("{message} ({hint})")
}

/// The name of gRPC's code, which is what Argo CD's own command line shows.
fn name(code: u32, status: u16) -> String {
    const NAMES: [&str; 17] = [
        "OK",
        "Canceled",
        "Unknown",
        "InvalidArgument",
        "DeadlineExceeded",
        "NotFound",
        "AlreadyExists",
        "PermissionDenied",
        "ResourceExhausted",
        "FailedPrecondition",
        "Aborted",
        "OutOfRange",
        "Unimplemented",
        "Internal",
        "Unavailable",
        "DataLoss",
        "Unauthenticated",
    ];
    let name = usize::try_from(code).ok().filter(|code| *code > 0).and_then(|code| NAMES.get(code));
    name.map_or_else(|| format!("HTTP {status}"), |name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::ErrorClass::{self, *};
    use super::*;
    use serde_json::Value;

    /// The recorded exchanges that are refusals, and what they mean.
    const RECORDED: &[(&str, ErrorClass)] = &[
        ("list-garbage-token", Credentials),
        ("list-expired-token", Credentials),
        ("put-unknown", Denied),
        ("delete-implicit-in-cluster", NotFound),
        ("delete-twice", Denied),
        ("id-bare-colon", Final),
        ("id-raw-url", Final),
        ("ct-charset", Final),
        ("http-to-https", Final),
        ("dup-different", Final),
        ("dup-upsert-without-update-right", Denied),
        ("u-concurrent-put-loser", NotYet),
        ("u-labels-target-401", NotYet),
        ("b-ca-raw-pem", Final),
        ("b-ca-not-pem", Final),
        ("b-empty-body", Unclear),
        ("b-arn", Final),
        ("b-label-invalid", Final),
        ("post-target-401", NotYet),
        ("post-target-403", NotYet),
        ("post-target-badca", Final),
        ("post-target-hang", NotYet),
        ("post-target-refused", NotYet),
        ("post-aws-no-credentials", NotYet),
        ("post-rbac-denied", Denied),
        ("c-create-redis-down", Unclear),
    ];

    fn recorded() -> Vec<Value> {
        let text = include_str!("../../tests/conformance/argocd-exchanges.jsonl");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn operation(method: &str) -> &'static str {
        match method {
            "POST" => "CreateCluster",
            "PUT" => "UpdateCluster",
            "DELETE" => "DeleteCluster",
            _ => "ListClusters",
        }
    }

    #[test]
    fn recorded_refusals_mean_what_they_mean() {
        let exchanges = recorded();
        for (id, class) in RECORDED {
            let exchange = exchanges.iter().find(|exchange| exchange["id"] == *id).unwrap();
            let body = &exchange["response"]["body"];
            let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
            let answer = Answer {
                operation: operation(exchange["request"]["method"].as_str().unwrap()),
                status: u16::try_from(exchange["response"]["status"].as_u64().unwrap()).unwrap(),
                location: None,
                body: &body,
            };
            assert_eq!(answer.error().class, *class, "{id}: {}", answer.error());
        }
    }

    fn error(operation: &'static str, status: u16, body: &str) -> CallError {
        Answer { operation, status, location: None, body }.error()
    }

    #[test]
    fn answers_of_others_are_told_from_argo_cds() {
        assert_eq!(error("CreateCluster", 502, "<html>bad gateway</html>").class, Unclear);
        let answer = Answer { operation: "CreateCluster", status: 200, location: None, body: "<html> sign\n in</html>" };
        assert_eq!((answer.unreadable().class, answer.unreadable().code.as_str()), (Unclear, "UnreadableReply"));
        assert!(answer.unreadable().message.ends_with("<html> sign in</html>"));
        assert_eq!(error("CreateCluster", 401, "<html>sign in</html>").class, Credentials);
        assert_eq!(error("ListClusters", 404, "Not Found\n").class, Final);
        assert!(error("ListClusters", 404, "404 page not found").message.contains("ARGOCD_SERVER"));
        let redirect = Answer { operation: "ListClusters", status: 307, location: Some("https://host/api"), body: "<a>" };
        assert!(redirect.error().message.contains("--plaintext"), "{}", redirect.error());
    }

    /// Every kind of refusal, with what it means for a call that dials and for one that does not.
    #[test]
    fn each_code_has_its_class() {
        let text = |message: &str| format!("error getting server version: failed to get server version: {message}");
        let rows = [
            (400, 3, "existing cluster spec is different; use upsert flag to force update".to_owned(), Final, Final),
            (400, 9, "bad request".to_owned(), Final, Final),
            (401, 16, "no session information".to_owned(), Credentials, Credentials),
            (401, 16, "invalid session: account fleet does not have token with id x".to_owned(), Credentials, Credentials),
            (401, 16, text("the server has asked for the client to provide credentials"), NotYet, NotYet),
            (403, 7, "permission denied".to_owned(), Denied, Denied),
            (403, 7, "failed to get server version: unknown".to_owned(), NotYet, NotYet),
            (404, 5, "secrets \"cluster-x\" not found".to_owned(), NotFound, NotFound),
            (404, 5, text("the server could not find the requested resource"), NotYet, NotYet),
            (409, 10, "the object has been modified".to_owned(), NotYet, NotYet),
            (409, 6, "already exists".to_owned(), NotYet, NotYet),
            (429, 8, "too many requests".to_owned(), Throttled, Throttled),
            (503, 14, "connection refused".to_owned(), Unclear, Unclear),
            (504, 4, "context deadline exceeded".to_owned(), Unclear, Unclear),
            (504, 4, text("getting credentials: exec: executable argocd-k8s-auth failed with exit code 20"), NotYet, NotYet),
            (500, 2, text("dial tcp: i/o timeout"), NotYet, NotYet),
            (500, 2, text("tls: failed to verify certificate: x509: unknown authority"), Final, Final),
            (500, 2, "error setting cluster info in cache: dial tcp".to_owned(), Unclear, Unclear),
            (500, 13, "unable to check existing cluster details".to_owned(), Unclear, Unclear),
            (401, 16, "Unauthorized".to_owned(), NotYet, Credentials),
        ];
        for (status, code, message, dials, does_not) in rows {
            let body = serde_json::json!({"message": message, "code": code, "error": message}).to_string();
            for (operation, class) in [("CreateCluster", dials), ("UpdateCluster", dials), ("DeleteCluster", does_not)] {
                assert_eq!(error(operation, status, &body).class, class, "{operation}: {status} {message}");
            }
        }
    }

    #[test]
    fn throttling_and_servers_that_are_down() {
        let body = |message: &str, code: u32| serde_json::json!({"message": message, "code": code, "error": message}).to_string();
        assert_eq!(error("CreateCluster", 429, &body("too many requests", 8)).class, Throttled);
        assert_eq!(error("CreateCluster", 503, &body("unavailable", 14)).class, Unclear);
        assert_eq!(error("CreateCluster", 401, &body("Unauthorized", 16)).class, NotYet, "old versions: the cluster's");
        let unauthorized = error("ListClusters", 401, &body("Unauthorized", 16));
        assert_eq!(unauthorized.class, Credentials);
        assert!(unauthorized.message.contains("ARGOCD_AUTH_TOKEN"), "{unauthorized}");
    }

    #[test]
    fn codes_have_grpcs_names_and_messages_hold_no_token() {
        let refused = error("CreateCluster", 400, r#"{"error":"x","code":3,"message":"bad eyJh.eyJz.c2ln"}"#);
        assert_eq!(refused.to_string(), "argocd CreateCluster: InvalidArgument: bad …");
        assert_eq!(error("CreateCluster", 400, r#"{"error":"only error"}"#).message, "only error");
        assert_eq!(error("CreateCluster", 400, "{}").code, "HTTP 400");
    }
}
