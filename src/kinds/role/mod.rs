//! IAM roles (ACK's `Role`), found by their name.
//!
//! Create is `CreateRole` with everything that the call takes; policies follow in `configure`. Other objects get to see
//! the ARN only when the policies are attached: a cluster made from a role without policies fails. IAM is eventually
//! consistent, so calls on a role that was just made may answer that there is none; that passes.

mod delete;
mod read;
mod spec;
mod steps;

use super::catalog::{self, Facts};
use super::compare::{self, Absent, How, Rule, at};
use super::kind::{Cloud, FieldChange, Kind, Observed, Readers, StepError, Subject, Typical};
use super::policy_document;
use super::recorder::Recorder;
use super::shared::{as_wanted, configure, create, only_known};
use super::values::{Checker, Wrong, iam_arn, iam_path, name};
use crate::aws::error::CallError;
use crate::graph::catalog::{Field, ImpossibleValue, KindDescription, Production, Reference, ReferenceTarget, Step};
use crate::state::file::Record;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::LazyLock;
use std::time::Duration;

/// An IAM role.
#[derive(Debug, Clone, Copy, Default)]
pub struct Role;

const FIELDS: &[Field] = &[
    create("spec.name"),
    create("spec.assumeRolePolicyDocument"),
    create("spec.description"),
    create("spec.maxSessionDuration"),
    create("spec.path"),
    create("spec.permissionsBoundary"),
    create("spec.tags"),
    configure("spec.policies"),
    configure("spec.inlinePolicies"),
    only_known("spec.permissionsBoundaryRef"),
    only_known("spec.policyRefs"),
];

const fn policy(path: &'static str, step: Step) -> Reference {
    Reference {
        path,
        kind: "Policy",
        group: "iam.services.k8s.aws",
        target: ReferenceTarget::MetadataName,
        step,
        asks: Production::Created,
    }
}

const FACTS: Facts = Facts {
    support: crate::graph::catalog::Support::CarriedOut,
    fields: FIELDS,
    published: &[("status.ackResourceMetadata.arn", Production::Configured)],
    references: &[
        policy("spec.permissionsBoundaryRef.from.name", Step::Create),
        policy("spec.policyRefs[].from.name", Step::Configure),
    ],
    implied: &[],
};

/// How fields are compared. What is absent in the document is not compared, but for what ACK enforces: policies, inline
/// policies and the boundary are removed when the document does not have them.
const RULES: &[Rule] = &[
    Rule::replacement("spec.name", How::Exact, "a role cannot be renamed"),
    Rule::in_place("spec.assumeRolePolicyDocument", How::Policy),
    Rule::in_place("spec.description", How::Exact),
    Rule::in_place("spec.maxSessionDuration", How::Exact),
    Rule::replacement("spec.path", How::Exact, "the path of a role cannot be changed"),
    Rule::in_place("spec.permissionsBoundary", How::Exact).enforced(Absent::Nothing),
    Rule::in_place("spec.policies", How::Set).enforced(Absent::Nothing),
    Rule::in_place("spec.inlinePolicies", How::NamedPolicies).enforced(Absent::Nothing),
    Rule::in_place("spec.tags", How::Tags),
];

static DESCRIPTION: LazyLock<KindDescription> = LazyLock::new(|| catalog::describe_ack("Role", &FACTS));

/// The object with what settings give where the spec says nothing: the boundary. (The path counts only for a new role:
/// that of a role which is there is not the setting's business.)
fn with_settings(subject: &Subject, desired: &Value) -> Value {
    let mut object = desired.clone();
    if let (Some(boundary), true) = (&subject.permissions_boundary, at(desired, "spec.permissionsBoundary").is_null())
        && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.insert("permissionsBoundary".to_owned(), Value::String(boundary.clone()));
    }
    object
}

/// What differs, with what settings give counted as wanted.
fn differences(subject: &Subject, desired: &Value, observed: &Observed) -> Vec<FieldChange> {
    compare::object(RULES, subject, &with_settings(subject, desired), observed, None)
}

impl Kind for Role {
    fn description(&self) -> &KindDescription {
        &DESCRIPTION
    }

    fn impossible_values(&self, object: &Value) -> Vec<ImpossibleValue> {
        impossible_values(object)
    }

    fn typical(&self) -> Typical {
        Typical { create: Duration::from_secs(2), delete: Duration::from_secs(3), limit: Duration::from_mins(10) }
    }

    fn compare(&self, subject: &Subject, desired: &Value, observed: &Observed, _applied: Option<&Value>) -> Vec<FieldChange> {
        differences(subject, desired, observed)
    }

    fn find<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        Box::pin(async move {
            match at(desired, "spec.name").as_str() {
                Some(name) => read::role(&readers.iam, subject, name).await,
                None => Ok(None),
            }
        })
    }

    fn read<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        Box::pin(read::role(&readers.iam, subject, &record.id))
    }

    fn glance<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<Option<Observed>, CallError>> {
        Box::pin(read::bare_role(&readers.iam, subject, &record.id))
    }

    fn create<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<(Record, Observed), StepError>> {
        Box::pin(steps::create(&cloud.writers.iam, recorder, subject, desired))
    }

    fn configure<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
        observed: &'a Observed,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(steps::configure(&cloud.writers.iam, recorder, subject, desired, observed))
    }

    fn configured(&self, subject: &Subject, desired: &Value, observed: &Observed) -> Option<Observed> {
        Some(as_wanted(&with_settings(subject, desired), observed))
    }

    fn delete<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(delete::role(cloud, recorder, subject, &record.id))
    }
}

/// Characters of the names of roles and inline policies (IAM API: `[\w+=,.@-]+`).
fn in_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_+=,.@-".contains(character)
}

fn impossible_values(object: &Value) -> Vec<ImpossibleValue> {
    let mut found = Checker::new(object)
        .texts("spec.name", name(64, in_name, "1 to 64 of A-Z, a-z, 0-9 and _+=,.@-"))
        .texts("spec.assumeRolePolicyDocument", document)
        .texts("spec.path", iam_path)
        .values("spec.maxSessionDuration", duration)
        .texts("spec.description", description)
        .texts("spec.permissionsBoundary", iam_arn(&["policy/"]))
        .texts("spec.policies[]", iam_arn(&["policy/"]))
        .tags("spec.tags")
        .finish();
    found.extend(inline_policies(object));
    found
}

fn document(text: &str) -> Option<Wrong> {
    policy_document::fault(text).map(|fault| Wrong::new(fault, "a policy document in JSON"))
}

fn duration(value: &Value) -> Option<Wrong> {
    let seconds = value.as_i64()?;
    let fits = (3600..=43200).contains(&seconds);
    (!fits).then(|| Wrong::new(format!("{seconds} seconds is no session duration"), "3600 to 43200 seconds"))
}

fn description(text: &str) -> Option<Wrong> {
    let characters = text.chars().count();
    (characters > 1000).then(|| Wrong::new(format!("the description has {characters} characters"), "at most 1000 characters"))
}

/// Names of inline policies, and their documents.
fn inline_policies(object: &Value) -> Vec<ImpossibleValue> {
    let Some(policies) = at(object, "spec.inlinePolicies").as_object() else { return Vec::new() };
    let of_name = name(128, in_name, "1 to 128 of A-Z, a-z, 0-9 and _+=,.@-");
    let fault = |(policy, text): (&String, &Value)| {
        let wrong = of_name(policy).or_else(|| document(text.as_str()?))?;
        Some(ImpossibleValue { path: format!("spec.inlinePolicies[{policy}]"), message: wrong.message, expected: wrong.expected })
    };
    policies.iter().filter_map(fault).collect()
}

#[cfg(test)]
mod tests;
