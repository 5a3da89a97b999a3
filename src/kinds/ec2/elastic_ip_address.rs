//! `ElasticIPAddress`: a public IPv4 address for use in VPCs. Known to AWS by its allocation id.

use super::{Object, Read, Scene, SpecTag, created, observed, only, tag_specification, there};
use crate::aws::ec2::Reader;
use crate::aws::tags::{Tags, of_ec2};
use crate::graph::catalog::{Field, ImpossibleValue, KindDescription};
use crate::kinds::catalog::{Facts, describe_ack};
use crate::kinds::compare::{self, How, Rule};
use crate::kinds::kind::{FieldChange, Observed, Readiness, StepError, Subject, Typical};
use crate::kinds::shared::{create, creation, metadata, spec};
use crate::kinds::tags;
use crate::kinds::values::{Checker, Wrong};
use crate::state::file::Record;
use aws_sdk_ec2::operation::allocate_address::AllocateAddressOutput;
use aws_sdk_ec2::operation::allocate_address::builders::AllocateAddressInputBuilder;
use aws_sdk_ec2::operation::release_address::builders::ReleaseAddressInputBuilder;
use aws_sdk_ec2::types::{Address, DomainType, ResourceType};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::LazyLock;
use std::time::Duration;

/// Carries out `ElasticIPAddress`.
#[derive(Debug, Clone, Copy)]
pub struct ElasticIpAddress;

/// `spec`, as far as it is carried out. Nothing has to be set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ElasticIpAddressSpec {
    /// The very address, out of a pool of one's own or a moment after it was released.
    pub address: Option<String>,
    /// Pool of addresses that were brought to AWS.
    #[serde(rename = "publicIPv4Pool")]
    pub public_ipv4_pool: Option<String>,
    /// Zones from which the address is advertised.
    pub network_border_group: Option<String>,
    /// Tags.
    pub tags: Option<Vec<SpecTag>>,
}

const FIELDS: &[Field] =
    &[create("spec.address"), create("spec.publicIPv4Pool"), create("spec.networkBorderGroup"), create("spec.tags")];

const OTHER_ADDRESS: &str = "an address that is allocated cannot become another one";

const RULES: &[Rule] = &[
    Rule::replacement("spec.address", How::Exact, OTHER_ADDRESS),
    Rule::replacement("spec.publicIPv4Pool", How::Exact, OTHER_ADDRESS),
    Rule::replacement("spec.networkBorderGroup", How::Exact, OTHER_ADDRESS),
    Rule::in_place("spec.tags", How::Tags),
];

static DESCRIPTION: LazyLock<KindDescription> =
    LazyLock::new(|| describe_ack("ElasticIPAddress", &Facts { fields: FIELDS, ..Facts::default() }));

fn observe(subject: &Subject, address: &Address, tags: Tags) -> Observed {
    let spec = json!({
        "address": address.public_ip(),
        "publicIPv4Pool": address.public_ipv4_pool(),
        "networkBorderGroup": address.network_border_group(),
    });
    let status = json!({
        "ackResourceMetadata": metadata(subject, None),
        "allocationID": address.allocation_id(),
        "publicIP": address.public_ip(),
        "carrierIP": address.carrier_ip(),
        "customerOwnedIP": address.customer_owned_ip(),
    });
    observed(address.allocation_id().unwrap_or_default(), spec, status, tags, Readiness::Ready)
}

/// What `AllocateAddress` answers, as `DescribeAddresses` has it.
fn allocated(answer: AllocateAddressOutput) -> Address {
    Address::builder()
        .set_allocation_id(answer.allocation_id)
        .set_public_ip(answer.public_ip)
        .set_public_ipv4_pool(answer.public_ipv4_pool)
        .set_network_border_group(answer.network_border_group)
        .set_carrier_ip(answer.carrier_ip)
        .set_customer_owned_ip(answer.customer_owned_ip)
        .build()
}

/// Who holds an address that cannot be released: `held by network interface eni-1 of amazon-aws`.
async fn holder(reader: &Reader, id: &str) -> Option<String> {
    let address = reader.address(id).await.ok().flatten()?;
    let interface = address.network_interface_id().filter(|interface| !interface.is_empty())?;
    let owner = address.network_interface_owner_id().map(|owner| format!(" of {owner}")).unwrap_or_default();
    Some(format!("held by network interface {interface}{owner}"))
}

fn wrong_address(text: &str) -> Option<Wrong> {
    let message = || format!("`{text}` is not an IPv4 address");
    text.parse::<Ipv4Addr>().is_err().then(|| Wrong::new(message(), "an address like 203.0.113.7"))
}

impl Object for ElasticIpAddress {
    const TYPICAL: Typical =
        Typical { create: Duration::from_secs(1), delete: Duration::from_secs(1), limit: Duration::from_mins(10) };

    fn description() -> &'static KindDescription {
        &DESCRIPTION
    }

    fn impossible_values(object: &Value) -> Vec<ImpossibleValue> {
        Checker::new(object).texts("spec.address", wrong_address).tags("spec.tags").finish()
    }

    fn differences(subject: &Subject, desired: &Value, observed: &Observed) -> Vec<FieldChange> {
        compare::object(RULES, subject, desired, observed, None)
    }

    async fn read(reader: &Reader, subject: &Subject, record: &Record) -> Read {
        Ok(reader.address(&record.id).await?.map(|address| observe(subject, &address, of_ec2(address.tags()))))
    }

    async fn find(reader: &Reader, subject: &Subject) -> Read {
        let found = reader.addresses_tagged(&subject.marks.lineage, &subject.marks.address).await?;
        let found = there(found, Address::allocation_id, |id| async move { reader.address(&id).await }).await?;
        let address = only("ElasticIPAddress", found, Address::allocation_id)?;
        Ok(address.map(|address| observe(subject, &address, of_ec2(address.tags()))))
    }

    async fn make(scene: Scene<'_>, desired: &Value) -> Result<(Record, Observed), StepError> {
        let subject = scene.subject;
        let wanted: ElasticIpAddressSpec = spec(desired).map_err(StepError::Refused)?;
        let input = AllocateAddressInputBuilder::default()
            .domain(DomainType::Vpc)
            .set_address(wanted.address)
            .set_public_ipv4_pool(wanted.public_ipv4_pool)
            .set_network_border_group(wanted.network_border_group)
            .tag_specifications(tag_specification(ResourceType::ElasticIp, subject, desired));
        let make = |permit| {
            let input = input.clone();
            async move { scene.writer().allocate_address(permit, input).await.map(allocated) }
        };
        let see = |address: &Address| observe(subject, address, tags::wanted(subject, desired));
        let call = creation(subject, "AllocateAddress", desired);
        let (address, record) = scene.recorder.create(call, make, |address| created(see(address))).await?;
        Ok((record, see(&address)))
    }

    /// Nothing but tags can be changed.
    async fn change(_: Scene<'_>, _: &Value, _: &Observed, _: &[FieldChange]) -> Result<(), StepError> {
        Ok(())
    }

    async fn remove(scene: Scene<'_>, id: &str) -> Result<(), StepError> {
        let input = ReleaseAddressInputBuilder::default().allocation_id(id);
        match scene.removal("ReleaseAddress", id, |permit| scene.writer().release_address(permit, input.clone())).await {
            Err(StepError::Refused(mut refused)) => {
                if let Some(holder) = holder(scene.reader(), id).await {
                    refused.message = format!("{}; {holder}", refused.message.trim_end_matches('.'));
                }
                Err(StepError::Refused(refused))
            }
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::ec2::tests::{changes, settled, subject};
    use crate::kinds::kind::Changeability;

    fn address() -> Address {
        Address::builder()
            .allocation_id("eipalloc-1")
            .public_ip("203.0.113.7")
            .public_ipv4_pool("amazon")
            .network_border_group("us-west-2")
            .build()
    }

    #[test]
    fn an_address_shows_its_id_and_itself() {
        let there = observe(&subject(), &address(), Tags::new());
        assert_eq!(there.id, "eipalloc-1");
        assert_eq!(there.readiness, Readiness::Ready);
        let metadata = json!({"ownerAccountID": "111122223333", "region": "us-west-2", "partition": "aws"});
        let status = json!({"ackResourceMetadata": metadata, "allocationID": "eipalloc-1", "publicIP": "203.0.113.7"});
        assert_eq!(there.status, status);
    }

    #[test]
    fn an_empty_spec_is_right_and_a_pool_is_not_changed() {
        let there = observe(&subject(), &address(), tags::wanted(&subject(), &json!({})));
        settled::<ElasticIpAddress>(&there);
        assert_eq!(changes::<ElasticIpAddress>(&json!({"spec": {}}), &there), []);
        assert_eq!(changes::<ElasticIpAddress>(&json!({}), &there), []);
        let pool = json!({"spec": {"publicIPv4Pool": "ipv4pool-ec2-1"}});
        let expected = [("spec.publicIPv4Pool".to_owned(), Changeability::Replacement)];
        assert_eq!(changes::<ElasticIpAddress>(&pool, &there), expected);
    }

    #[test]
    fn only_addresses_are_addresses() {
        let found = |address: &str| ElasticIpAddress::impossible_values(&json!({"spec": {"address": address}}));
        assert!(found("203.0.113.7").is_empty());
        assert_eq!(found("203.0.113.777")[0].path, "spec.address");
    }
}
