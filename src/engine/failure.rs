//! Why something failed: what is said of it, what AWS answered, and the way out where one is known.

use crate::aws::error::{CallError, ErrorClass};
use serde::Serialize;

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    /// For people, in one piece.
    pub(crate) text: String,
    /// What AWS or Argo CD answered, where a call was refused.
    pub(crate) answer: Option<Answer>,
    /// What probably helps.
    pub(crate) hint: Option<String>,
}

/// What AWS (or Argo CD) answered to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// `ec2`, `eks`, `iam`, `sts`, `argocd`.
    pub service: String,
    /// `CreateVpc`.
    pub operation: String,
    /// The code.
    pub code: String,
    /// The message.
    pub message: String,
    /// What AWS's support asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self { text, answer: None, hint: None }
    }
}

impl From<CallError> for Reason {
    fn from(error: CallError) -> Self {
        let (text, hint) = (error.to_string(), hint(&error));
        let CallError { service, operation, code, message, request_id, .. } = error;
        let answer = Answer { service: service.into(), operation: operation.into(), code, message, request_id };
        Self { text, answer: Some(answer), hint }
    }
}

/// The likely cause, and what to do.
pub(super) fn hint(error: &CallError) -> Option<String> {
    if error.service == "argocd" { hint_of_argocd(error).map(str::to_owned) } else { hint_of_aws(error) }
}

/// The same of what Argo CD answers, or of what stands before it: AWS's session and support have no part in it.
fn hint_of_argocd(error: &CallError) -> Option<&'static str> {
    let text = match (error.class, error.code.as_str()) {
        (_, "Unreachable") => {
            "Argo CD was not reached: check ARGOCD_SERVER and ARGOCD_OPTS, the network from here, and whether it is up; then the \
             same command again"
        }
        (ErrorClass::Credentials, _) => {
            "it is about the token in ARGOCD_AUTH_TOKEN, not about the session with AWS: make a new one, of this very Argo CD"
        }
        (ErrorClass::Denied, _) => "the token's role in Argo CD does not allow this for clusters: allow it there",
        (ErrorClass::Throttled, _) => "Argo CD, or what stands before it, takes fewer calls than that: wait, then try again",
        (ErrorClass::NotYet, _) => {
            "Argo CD does not get into the cluster yet, or somebody else wrote at the same time: try again; `patience` under \
             `argocd` in fleetctl.yaml gives it longer"
        }
        (ErrorClass::Unclear, _) => {
            "it is not known whether Argo CD did it: see whether it is up; the next run looks before it does anything else"
        }
        _ => return None,
    };
    Some(text)
}

fn hint_of_aws(error: &CallError) -> Option<String> {
    let text = match (error.class, error.code.as_str()) {
        (ErrorClass::Denied, _) => format!(
            "the role that is used there does not allow {}:{}, or a permissions boundary or a policy of the organization forbids it: \
             allow it",
            error.service, error.operation
        ),
        (ErrorClass::Quota, _) => {
            "ask Service Quotas for more in that account and region, or remove what is no longer used there".to_owned()
        }
        (ErrorClass::Credentials, _) => "the credentials or the session have ended: sign in again".to_owned(),
        (ErrorClass::Throttled, _) => "others make many calls in the same account: wait, or lower --parallelism".to_owned(),
        (_, "DependencyViolation" | "DeleteConflict" | "ResourceInUseException") => {
            "something that is not in this state still uses it, for instance a load balancer, a network interface or an instance \
             profile: remove that"
                .to_owned()
        }
        (ErrorClass::AlreadyExists, _) => {
            "something of that name is there and is not this instance's: remove it, or give this one another name".to_owned()
        }
        (ErrorClass::NotYet, _) => "AWS was not ready for it within the time that this usually takes: try again".to_owned(),
        (ErrorClass::Unclear, _) => {
            "it is not known whether the call was carried out: the next run looks before it does anything else".to_owned()
        }
        (_, "InvalidSubnet.Conflict") => {
            "the CIDR block overlaps that of another subnet of this VPC: change it in the document".to_owned()
        }
        (_, "InvalidSubnet.Range" | "InvalidVpc.Range") => "the CIDR block does not fit: change it in the document".to_owned(),
        _ => return None,
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(service: &'static str, operation: &'static str, class: ErrorClass, code: &str) -> CallError {
        let (code, message) = (code.to_owned(), "AWS's own words".to_owned());
        CallError { service, operation, class, code, message, request_id: Some("4c5a".into()) }
    }

    #[test]
    fn a_refused_call_keeps_its_parts_and_names_a_way_out() {
        let reason = Reason::from(refused("ec2", "CreateVpc", ErrorClass::Denied, "UnauthorizedOperation"));
        assert_eq!(reason.text, "ec2 CreateVpc: UnauthorizedOperation: AWS's own words");
        assert!(reason.hint.unwrap().contains("ec2:CreateVpc"));
        assert_eq!(reason.answer.unwrap().request_id.as_deref(), Some("4c5a"));
    }

    #[test]
    fn what_stands_in_the_way_is_more_telling_than_that_it_is_too_early() {
        let reason = Reason::from(refused("ec2", "DeleteVpc", ErrorClass::NotYet, "DependencyViolation"));
        assert!(reason.hint.unwrap().contains("load balancer"));
    }

    #[test]
    fn argo_cd_has_ways_out_of_its_own() {
        let all = [
            (ErrorClass::NotYet, "Unreachable", "ARGOCD_SERVER"),
            (ErrorClass::Credentials, "Unauthenticated", "ARGOCD_AUTH_TOKEN"),
            (ErrorClass::Denied, "PermissionDenied", "the token's role"),
            (ErrorClass::Throttled, "HTTP 429", "wait"),
            (ErrorClass::NotYet, "Unauthenticated", "patience"),
            (ErrorClass::Unclear, "Timeout", "whether it is up"),
        ];
        for (class, code, part) in all {
            let hint = Reason::from(refused("argocd", "ListClusters", class, code)).hint.unwrap();
            assert!(hint.contains(part), "{hint}");
            for of_aws in ["AWS was not ready", "sign in again", "same account", "permissions boundary"] {
                assert!(!hint.contains(of_aws), "{hint}");
            }
        }
    }

    #[test]
    fn where_nothing_is_known_nothing_is_said() {
        assert_eq!(Reason::from(refused("eks", "CreateCluster", ErrorClass::Final, "InvalidParameterException")).hint, None);
    }
}
