//! The kinds of EC2, and what they share: tags, finding by our marks, and naming what stands in the way of a delete.
//!
//! Tags go with every create call. EC2 knows no names: an object that is ours is found by its lineage and address tags.

pub mod elastic_ip_address;
pub mod internet_gateway;
pub mod nat_gateway;
pub mod route_table;
pub mod subnet;
pub mod vpc;

#[cfg(test)]
mod calls;
pub(super) mod copies;
mod obstacles;

use super::kind::{Cloud, FieldChange, Kind, Observed, Readers, Readiness, SecondCopy, StepError, Subject, Typical};
use super::recorder::{Created, Recorder};
use super::shared::{change, fault, part_removal, removal, tag_changes, tags_as_list, without_nulls};
use super::tags;
use crate::aws::ec2::{Reader, Writer};
use crate::aws::error::CallError;
use crate::aws::tags::{Tags, to_ec2, to_ec2_specification};
use crate::graph::catalog::{ImpossibleValue, KindDescription, Production, Reference, ReferenceTarget, Step};
use crate::state::file::Record;
use crate::state::journal::Permit;
use aws_sdk_ec2::operation::create_tags::builders::CreateTagsInputBuilder;
use aws_sdk_ec2::operation::delete_tags::builders::DeleteTagsInputBuilder;
use aws_sdk_ec2::types::{AttributeBooleanValue, ResourceType, Tag, TagSpecification};
use futures::future::{BoxFuture, try_join_all};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// How long a delete call waits for what still depends on the object: network interfaces of a cluster or a load balancer
/// go minutes after their owner.
const DELETE_PATIENCE: Duration = Duration::from_mins(5);

/// One of `spec.tags`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecTag {
    /// The key.
    pub key: String,
    /// The value; none is an empty one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// What each kind of EC2 brings; [`Kind`] follows from it.
trait Object: Send + Sync {
    /// How long things usually take.
    const TYPICAL: Typical;

    /// What the graph language knows of it.
    fn description() -> &'static KindDescription;

    /// Values that EC2 could never accept.
    fn impossible_values(object: &Value) -> Vec<ImpossibleValue>;

    /// The differences that matter.
    fn differences(subject: &Subject, desired: &Value, observed: &Observed) -> Vec<FieldChange>;

    /// The object of a record.
    fn read(reader: &Reader, subject: &Subject, record: &Record) -> impl Future<Output = Read> + Send;

    /// See [`Kind::watch`].
    fn watch(reader: &Reader, subject: &Subject, record: &Record) -> impl Future<Output = Read> + Send {
        Self::read(reader, subject, record)
    }

    /// See [`Kind::glance`].
    fn glance(reader: &Reader, subject: &Subject, record: &Record) -> impl Future<Output = Read> + Send {
        Self::watch(reader, subject, record)
    }

    /// The object with our marks.
    fn find(reader: &Reader, subject: &Subject) -> impl Future<Output = Read> + Send;

    /// Makes the object, tags with it.
    fn make(scene: Scene<'_>, desired: &Value) -> impl Future<Output = Result<(Record, Observed), StepError>> + Send;

    /// Makes the changes, all but those of tags.
    fn change(
        scene: Scene<'_>,
        desired: &Value,
        observed: &Observed,
        changes: &[FieldChange],
    ) -> impl Future<Output = Result<(), StepError>> + Send;

    /// Removes the object.
    fn remove(scene: Scene<'_>, id: &str) -> impl Future<Output = Result<(), StepError>> + Send;
}

/// What looking for an object gives.
type Read = Result<Option<Observed>, CallError>;

/// Where a step takes place, and for which object.
#[derive(Clone, Copy)]
struct Scene<'a> {
    cloud: &'a Cloud,
    recorder: &'a Recorder,
    subject: &'a Subject,
}

impl<'a> Scene<'a> {
    fn reader(&self) -> &'a Reader {
        &self.cloud.readers.ec2
    }

    fn writer(&self) -> &'a Writer {
        &self.cloud.writers.ec2
    }

    /// Makes a call that changes the object with this id.
    async fn call<T, F, R>(&self, operation: &'static str, id: &str, make: F) -> Result<T, StepError>
    where
        F: Fn(Permit) -> R,
        R: Future<Output = Result<T, CallError>>,
    {
        self.recorder.call(change(self.subject, operation, id), make).await
    }

    /// Makes a call after which something is not there, with the patience that dependencies need. NotFound is success.
    async fn removal<T, F, R>(&self, operation: &'static str, id: &str, make: F) -> Result<(), StepError>
    where
        F: Fn(Permit) -> R,
        R: Future<Output = Result<T, CallError>>,
    {
        self.recorder.delete(removal(self.subject, operation, id).patience(DELETE_PATIENCE), make).await
    }

    /// Takes a part of the object away: a route, an attachment. Not there is as good.
    async fn part_removal<T, F, R>(&self, operation: &'static str, id: &str, make: F) -> Result<(), StepError>
    where
        F: Fn(Permit) -> R,
        R: Future<Output = Result<T, CallError>>,
    {
        self.recorder.delete(part_removal(self.subject, operation, id).patience(DELETE_PATIENCE), make).await
    }
}

impl<T: Object> Kind for T {
    fn has_unique_id(&self) -> bool {
        true
    }

    fn is_found_by_marks(&self) -> bool {
        true
    }

    fn prefix_of_ids(&self) -> Option<&'static str> {
        copies::prefix(&T::description().kind)
    }

    fn copies<'a>(
        &'a self,
        readers: &'a Readers,
        subject: &'a Subject,
        recorded: &'a str,
    ) -> BoxFuture<'a, Result<Vec<SecondCopy>, CallError>> {
        Box::pin(copies::of(&readers.ec2, subject, recorded))
    }

    fn description(&self) -> &KindDescription {
        T::description()
    }

    fn impossible_values(&self, object: &Value) -> Vec<ImpossibleValue> {
        T::impossible_values(object)
    }

    fn typical(&self) -> Typical {
        T::TYPICAL
    }

    fn compare(&self, subject: &Subject, desired: &Value, observed: &Observed, _applied: Option<&Value>) -> Vec<FieldChange> {
        T::differences(subject, desired, observed)
    }

    fn find<'a>(&'a self, readers: &'a Readers, subject: &'a Subject, _desired: &'a Value) -> BoxFuture<'a, Read> {
        Box::pin(async move {
            // Without a lineage nothing can bear our marks.
            if subject.marks.lineage.is_empty() { Ok(None) } else { T::find(&readers.ec2, subject).await }
        })
    }

    fn read<'a>(&'a self, readers: &'a Readers, subject: &'a Subject, record: &'a Record) -> BoxFuture<'a, Read> {
        Box::pin(T::read(&readers.ec2, subject, record))
    }

    fn watch<'a>(&'a self, readers: &'a Readers, subject: &'a Subject, record: &'a Record) -> BoxFuture<'a, Read> {
        Box::pin(T::watch(&readers.ec2, subject, record))
    }

    fn glance<'a>(&'a self, readers: &'a Readers, subject: &'a Subject, record: &'a Record) -> BoxFuture<'a, Read> {
        Box::pin(T::glance(&readers.ec2, subject, record))
    }

    fn is_read_together(&self) -> bool {
        true
    }

    fn create<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
    ) -> BoxFuture<'a, Result<(Record, Observed), StepError>> {
        Box::pin(T::make(Scene { cloud, recorder, subject }, desired))
    }

    fn configure<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        desired: &'a Value,
        observed: &'a Observed,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(async move {
            let scene = Scene { cloud, recorder, subject };
            let changes = T::differences(subject, desired, observed);
            T::change(scene, desired, observed, &changes).await?;
            retag(scene, &observed.id, &changes).await
        })
    }

    fn delete<'a>(
        &'a self,
        cloud: &'a Cloud,
        recorder: &'a Recorder,
        subject: &'a Subject,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StepError>> {
        Box::pin(T::remove(Scene { cloud, recorder, subject }, &record.id))
    }
}

/// The `TagSpecifications` of a create call: everything that the object is to carry.
fn tag_specification(resource: ResourceType, subject: &Subject, desired: &Value) -> TagSpecification {
    to_ec2_specification(resource, &tags::wanted(subject, desired))
}

/// An object as EC2 has it. The tags of the spec are those that people see to.
fn observed(id: &str, mut spec: Value, status: Value, tags: Tags, readiness: Readiness) -> Observed {
    if let (Some(fields), Some(list)) = (spec.as_object_mut(), tags_as_list(&tags)) {
        fields.insert("tags".to_owned(), list);
    }
    Observed { id: id.to_owned(), spec: without_nulls(spec), status: without_nulls(status), tags, readiness }
}

/// What a create call gave, for the record.
fn created(observed: Observed) -> Created {
    Created { id: observed.id, status: observed.status }
}

/// Those of the objects found by our marks that EC2 knows by their ids: asked for by tags, it shows for a while what is gone.
async fn there<T, F>(found: Vec<T>, id: fn(&T) -> Option<&str>, look: impl Fn(String) -> F) -> Result<Vec<T>, CallError>
where
    F: Future<Output = Result<Option<T>, CallError>>,
{
    let ids: Vec<String> = found.iter().filter_map(id).map(str::to_owned).collect();
    Ok(try_join_all(ids.into_iter().map(look)).await?.into_iter().flatten().collect())
}

/// The one object that was found by our marks. Several: nobody can tell which one is meant.
fn only<T>(kind: &str, found: Vec<T>, id: impl Fn(&T) -> Option<&str>) -> Result<Option<T>, CallError> {
    if found.len() > 1 {
        let ids: Vec<&str> = found.iter().filter_map(id).collect();
        let message = format!("{} carry the same lineage and address: remove those that are not needed", ids.join(", "));
        return Err(fault("ec2", "Find", "Ambiguous", format!("several objects of the kind {kind}, {message}")));
    }
    Ok(found.into_iter().next())
}

/// Sets and removes tags: `CreateTags` overwrites, `DeleteTags` is only sent for keys that are not wanted at all.
async fn retag(scene: Scene<'_>, id: &str, changes: &[FieldChange]) -> Result<(), StepError> {
    let (set, remove) = tag_changes(changes);
    let writer = scene.writer();
    if !set.is_empty() {
        let input = CreateTagsInputBuilder::default().resources(id).set_tags(Some(to_ec2(&set)));
        scene.call("CreateTags", id, |permit| writer.create_tags(permit, input.clone())).await?;
    }
    if !remove.is_empty() {
        let keys = remove.into_iter().map(|key| Tag::builder().key(key).build()).collect();
        let input = DeleteTagsInputBuilder::default().resources(id).set_tags(Some(keys));
        scene.call("DeleteTags", id, |permit| writer.delete_tags(permit, input.clone())).await?;
    }
    Ok(())
}

/// What a change of this field makes of it; none when it does not change.
fn after<'a>(changes: &'a [FieldChange], path: &str) -> Option<&'a Value> {
    changes.iter().find(|change| change.path == path).map(|change| &change.after)
}

/// `{"Value": true}`: how EC2's Modify calls take a boolean.
fn boolean(value: bool) -> AttributeBooleanValue {
    AttributeBooleanValue::builder().value(value).build()
}

/// A reference of ACK to an EC2 object by its name, `spec.vpcRef.from.name`.
const fn reference(path: &'static str, kind: &'static str, step: Step, asks: Production) -> Reference {
    Reference { path, kind, group: "ec2.services.k8s.aws", target: ReferenceTarget::MetadataName, step, asks }
}

/// The texts of a list.
fn list(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::kind::Changeability;
    use crate::kinds::shared;
    use aws_sdk_ec2::types::Vpc;
    use serde_json::json;

    /// A subject for tests.
    pub(super) fn subject() -> Subject {
        shared::tests::subject("ec2.services.k8s.aws/v1alpha1", "VPC")
    }

    /// The differences of an object, in short.
    pub(super) fn changes<T: Object>(desired: &Value, observed: &Observed) -> Vec<(String, Changeability)> {
        T::differences(&subject(), desired, observed).into_iter().map(|change| (change.path, change.changeability)).collect()
    }

    /// What was observed is what is wanted: nothing differs.
    pub(super) fn settled<T: Object>(observed: &Observed) {
        assert_eq!(changes::<T>(&serde_json::json!({"spec": observed.spec}), observed), []);
    }

    #[test]
    fn a_spec_shows_the_tags_that_people_see_to() {
        let tags = [("Name", "x"), ("aws:y", "z"), ("fleetctl:lineage", "5f0c")];
        let tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let observed = observed("vpc-1", json!({"a": null}), json!({"b": {"c": null}}), tags, Readiness::Ready);
        assert_eq!(observed.spec, json!({"tags": [{"key": "Name", "value": "x"}]}));
        assert_eq!(observed.status, json!({"b": {}}));
        assert_eq!(observed.tags.len(), 3);
    }

    #[test]
    fn several_objects_with_our_marks_are_an_error() {
        let found = |ids: &[&str]| {
            let vpcs = ids.iter().map(|id| Vpc::builder().vpc_id(*id).build()).collect();
            only("VPC", vpcs, Vpc::vpc_id).map(|vpc| vpc.and_then(|vpc| vpc.vpc_id))
        };
        assert_eq!(found(&["vpc-1"]), Ok(Some("vpc-1".to_owned())));
        assert_eq!(found(&[]), Ok(None));
        assert!(found(&["vpc-1", "vpc-2"]).unwrap_err().message.contains("vpc-1, vpc-2"));
    }

    #[test]
    fn new_objects_carry_tags_of_the_spec_and_marks() {
        let subject = subject();
        let desired = json!({"spec": {"tags": [{"key": "Name", "value": "x"}]}});
        let specification = tag_specification(ResourceType::Vpc, &subject, &desired);
        let keys: Vec<&str> = specification.tags().iter().filter_map(Tag::key).collect();
        assert_eq!(keys, ["Name", "fleetctl:address", "fleetctl:instance", "fleetctl:lineage"]);
    }
}
