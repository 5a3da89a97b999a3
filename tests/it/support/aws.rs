//! Calls of AWS as another program would make them. The emulator checks no signature: the access key is the account.

use super::emulator::Emulator;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::fmt::Write as _;

/// An id as part of a path or a form.
pub(crate) fn encoded(id: &str) -> String {
    utf8_percent_encode(id, NON_ALPHANUMERIC).to_string()
}

/// An account, in the region of the tests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account<'a>(pub &'a str);

impl Account<'_> {
    /// A call of EC2; gives the answer below its outermost element.
    pub(crate) fn ec2(self, action: &str, parameters: &[(&str, &str)]) -> Value {
        let mut answer = self.query("ec2", "2016-11-15", action, parameters);
        answer[format!("{action}Response")].take()
    }

    /// What a `Describe` call of EC2 lists.
    pub(crate) fn listed(self, action: &str, list: &str) -> Vec<Value> {
        items(self.ec2(action, &[])[list].take())
    }

    /// A call of IAM; gives its result.
    pub(crate) fn iam(self, action: &str, parameters: &[(&str, &str)]) -> Value {
        let mut answer = self.query("iam", "2010-05-08", action, parameters);
        answer[format!("{action}Response")][format!("{action}Result")].take()
    }

    /// A read of EKS.
    pub(crate) fn eks(self, path: &str) -> Value {
        self.send("eks", |emulator| emulator.http.get(format!("{}{path}", emulator.url)))
    }

    /// Changes an object of EKS.
    pub(crate) fn change_of_eks(self, path: &str, body: &Value) {
        self.send("eks", |emulator| {
            let request = emulator.http.post(format!("{}{path}", emulator.url)).header("content-type", "application/json");
            request.body(body.to_string())
        });
    }

    /// Removes an object of EKS.
    pub(crate) fn remove_of_eks(self, path: &str) {
        self.send("eks", |emulator| emulator.http.delete(format!("{}{path}", emulator.url)));
    }

    fn query(self, service: &str, version: &str, action: &str, parameters: &[(&str, &str)]) -> Value {
        let mut form = format!("Action={action}&Version={version}");
        for (name, value) in parameters {
            write!(form, "&{name}={}", encoded(value)).unwrap();
        }
        self.send(service, |emulator| {
            let request = emulator.http.post(&emulator.url).header("content-type", "application/x-www-form-urlencoded");
            request.body(form)
        })
    }

    fn send(self, service: &str, request: impl FnOnce(&Emulator) -> reqwest::RequestBuilder) -> Value {
        let emulator = Emulator::shared();
        let scope = format!("{}/20260101/us-west-2/{service}/aws4_request", self.0);
        let authorization = format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0");
        let request = request(emulator).header("authorization", authorization).header("accept", "application/json");
        emulator.runtime.block_on(async {
            let answer = request.send().await.unwrap();
            let status = answer.status();
            let text = answer.text().await.unwrap();
            assert!(status.is_success(), "{status}: {text}");
            serde_json::from_str(&text).unwrap()
        })
    }
}

/// The items of a list in a query answer, which is XML by its shape: one item alone is not in a list.
pub(crate) fn items(list: Value) -> Vec<Value> {
    let Value::Object(mut entries) = list else { return Vec::new() };
    match entries.remove("item").or_else(|| entries.remove("member")) {
        Some(Value::Array(items)) => items,
        Some(one) => vec![one],
        None => Vec::new(),
    }
}
