//! Requests and answers in the wire formats of the services.

use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A call.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// `ec2`, `iam`, `sts`, `eks`, `servicequotas`: from the signature's scope.
    pub(super) service: String,
    /// The region of the signature's scope.
    pub(super) region: String,
    /// The access key that signed it.
    pub(super) key: String,
    /// AWS's name of the operation.
    pub(super) operation: String,
    /// Fields of a form, or of a URL's query.
    pub(super) fields: BTreeMap<String, String>,
    /// Parts of the path that are names.
    pub(super) names: Vec<String>,
    /// A body in JSON.
    pub(super) body: Value,
    /// Everything that it says.
    pub(super) text: String,
}

/// A refusal.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) message: String,
}

pub(super) fn refuse<T>(status: u16, code: &'static str, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { status, code, message: message.into() })
}

impl Request {
    pub(super) fn read(request: &HttpRequest) -> Self {
        let authorization = request.headers().get("authorization").unwrap_or_default();
        let credential = authorization.split("Credential=").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or_default();
        let scope: Vec<&str> = credential.split('/').collect();
        let part = |index: usize| scope.get(index).copied().unwrap_or_default().to_owned();
        let text = String::from_utf8_lossy(request.body().bytes().unwrap_or_default()).into_owned();
        let uri = request.uri().split_once("://").map_or("", |(_, rest)| rest);
        let path = uri.split_once('/').map_or("", |(_, path)| path);
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let (service, body): (String, Value) = (part(3), serde_json::from_str(&text).unwrap_or_default());
        let form = matches!(service.as_str(), "ec2" | "iam" | "sts");
        let fields = fields(if form { &text } else { query });
        let parts: Vec<String> = path.split('/').map(decoded).collect();
        let (operation, names) = match service.as_str() {
            "eks" => eks_operation(request.method(), &parts),
            "servicequotas" => {
                let target = request.headers().get("x-amz-target").unwrap_or_default();
                (target.rsplit('.').next().unwrap_or_default().to_owned(), Vec::new())
            }
            _ => (fields.get("Action").cloned().unwrap_or_default(), Vec::new()),
        };
        let said = fields.values().chain(&names).cloned().chain([body.to_string()]).collect::<Vec<_>>().join(" ");
        Self { service, region: part(2), key: part(0), operation, fields, names, body, text: said }
    }

    pub(super) fn changes(&self) -> bool {
        !["Describe", "Get", "List", "AssumeRole"].iter().any(|verb| self.operation.starts_with(verb))
    }

    pub(super) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// `TagKeys.member.1`, `TagKeys.member.2`, …
    pub(super) fn list(&self, prefix: &str) -> Vec<String> {
        (1..).map_while(|number| self.fields.get(&format!("{prefix}.{number}")).cloned()).collect()
    }

    /// `Tag.1.Key` and `Tag.1.Value`, …
    pub(super) fn pairs(&self, prefix: &str) -> BTreeMap<String, String> {
        let pair = |number: usize| {
            let key = self.fields.get(&format!("{prefix}.{number}.Key"))?;
            let value = self.fields.get(&format!("{prefix}.{number}.Value")).cloned().unwrap_or_default();
            Some((key.clone(), value))
        };
        (1..).map_while(pair).collect()
    }

    /// The filters of a Describe call of EC2.
    pub(super) fn filters(&self) -> Vec<(String, Vec<String>)> {
        let filter = |number: usize| {
            let name = self.fields.get(&format!("Filter.{number}.Name"))?;
            Some((name.clone(), self.list(&format!("Filter.{number}.Value"))))
        };
        (1..).map_while(filter).collect()
    }

    /// An answer in this service's format.
    pub(super) fn answer(&self, answer: Result<Value, Refusal>) -> HttpResponse {
        let (status, text, code) = match (answer, self.service.as_str()) {
            (Ok(value), "ec2") => (200, format!("<{0}Response>{1}</{0}Response>", self.operation, xml(&value, "item")), None),
            (Ok(value), "iam" | "sts") => {
                let result = xml(&value, "member");
                (200, format!("<{0}Response><{0}Result>{result}</{0}Result></{0}Response>", self.operation), None)
            }
            (Ok(value), _) => (200, value.to_string(), None),
            (Err(Refusal { status, code, message }), "ec2") => {
                let error = format!("<Error><Code>{code}</Code><Message>{}</Message></Error>", escaped(&message));
                (status, format!("<Response><Errors>{error}</Errors><RequestID>r</RequestID></Response>"), None)
            }
            (Err(Refusal { status, code, message }), "iam" | "sts") => {
                let error = format!("<Error><Code>{code}</Code><Message>{}</Message></Error>", escaped(&message));
                (status, format!("<ErrorResponse>{error}<RequestId>r</RequestId></ErrorResponse>"), None)
            }
            (Err(Refusal { status, code, message }), _) => {
                (status, serde_json::json!({"__type": code, "message": message}).to_string(), Some(code))
            }
        };
        let mut response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(text));
        response.headers_mut().insert("x-amzn-requestid", "request-1");
        if let Some(code) = code {
            response.headers_mut().insert("x-amzn-errortype", code);
        }
        response
    }
}

/// AWS's name of a call of EKS, and the names in its path.
fn eks_operation(method: &str, parts: &[String]) -> (String, Vec<String>) {
    let words: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (operation, names): (&str, &[&str]) = match (method, words.as_slice()) {
        ("GET", ["clusters"]) => ("ListClusters", &[]),
        ("POST", ["clusters"]) => ("CreateCluster", &[]),
        ("GET", ["clusters", cluster]) => ("DescribeCluster", &[*cluster]),
        ("DELETE", ["clusters", cluster]) => ("DeleteCluster", &[*cluster]),
        ("GET", ["clusters", cluster, "node-groups"]) => ("ListNodegroups", &[*cluster]),
        ("POST", ["clusters", cluster, "addons"]) => ("CreateAddon", &[*cluster]),
        ("GET", ["clusters", cluster, "addons"]) => ("ListAddons", &[*cluster]),
        ("GET", ["clusters", cluster, "addons", name]) => ("DescribeAddon", &[*cluster, *name]),
        ("DELETE", ["clusters", cluster, "addons", name]) => ("DeleteAddon", &[*cluster, *name]),
        ("POST", ["clusters", cluster, "access-entries"]) => ("CreateAccessEntry", &[*cluster]),
        ("GET", ["clusters", cluster, "access-entries"]) => ("ListAccessEntries", &[*cluster]),
        ("GET", ["clusters", cluster, "access-entries", name]) => ("DescribeAccessEntry", &[*cluster, *name]),
        ("POST", ["clusters", cluster, "access-entries", name]) => ("UpdateAccessEntry", &[*cluster, *name]),
        ("DELETE", ["clusters", cluster, "access-entries", name]) => ("DeleteAccessEntry", &[*cluster, *name]),
        ("POST", ["clusters", cluster, "access-entries", name, "access-policies"]) => {
            ("AssociateAccessPolicy", &[*cluster, *name])
        }
        ("GET", ["clusters", cluster, "access-entries", name, "access-policies"]) => {
            ("ListAssociatedAccessPolicies", &[*cluster, *name])
        }
        ("DELETE", ["clusters", cluster, "access-entries", name, "access-policies", policy]) => {
            ("DisassociateAccessPolicy", &[*cluster, *name, *policy])
        }
        ("POST", ["clusters", cluster, "pod-identity-associations"]) => ("CreatePodIdentityAssociation", &[*cluster]),
        ("GET", ["clusters", cluster, "pod-identity-associations"]) => ("ListPodIdentityAssociations", &[*cluster]),
        ("GET", ["clusters", cluster, "pod-identity-associations", id]) => ("DescribePodIdentityAssociation", &[*cluster, *id]),
        ("POST", ["clusters", cluster, "pod-identity-associations", id]) => ("UpdatePodIdentityAssociation", &[*cluster, *id]),
        ("DELETE", ["clusters", cluster, "pod-identity-associations", id]) => ("DeletePodIdentityAssociation", &[*cluster, *id]),
        ("POST", ["tags", arn]) => ("TagResource", &[*arn]),
        ("DELETE", ["tags", arn]) => ("UntagResource", &[*arn]),
        ("GET", ["addons", "supported-versions"]) => ("DescribeAddonVersions", &[]),
        ("GET", ["cluster-versions"]) => ("DescribeClusterVersions", &[]),
        other => panic!("no operation of EKS: {other:?}"),
    };
    (operation.to_owned(), names.iter().map(|name| (*name).to_owned()).collect())
}

/// Fields of a form. Of one that comes several times (`tagKeys`), the values are told apart by numbers.
fn fields(text: &str) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(name), decoded(&value.replace('+', " ")));
        if name == "tagKeys" {
            let count = fields.keys().filter(|key: &&String| key.starts_with("tagKeys.")).count();
            fields.insert(format!("tagKeys.{}", count + 1), value);
        } else {
            fields.insert(name, value);
        }
    }
    fields
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// A value as elements; what is not there is left out.
fn xml(value: &Value, item: &str) -> String {
    let mut text = String::new();
    write_xml(&mut text, value, item);
    text
}

fn write_xml(text: &mut String, value: &Value, item: &str) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                write!(text, "<{name}>").unwrap();
                write_xml(text, value, item);
                write!(text, "</{name}>").unwrap();
            }
        }
        Value::Array(items) => {
            for value in items {
                write!(text, "<{item}>").unwrap();
                write_xml(text, value, item);
                write!(text, "</{item}>").unwrap();
            }
        }
        Value::String(string) => text.push_str(&escaped(string)),
        other => text.push_str(&other.to_string()),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Whether a text fits a pattern of EC2: `*` and `?`, and a backslash before what is meant literally.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    matches(&pattern, &text)
}

fn matches(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['\\', literal, rest @ ..] => text.first() == Some(literal) && matches(rest, &text[1..]),
        ['*', rest @ ..] => (0..=text.len()).any(|start| matches(rest, &text[start..])),
        ['?', rest @ ..] => !text.is_empty() && matches(rest, &text[1..]),
        [letter, rest @ ..] => text.first() == Some(letter) && matches(rest, &text[1..]),
    }
}

/// A moment as the services of forms write it.
pub(super) fn moment(at: chrono::DateTime<chrono::Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
