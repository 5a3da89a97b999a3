use super::*;
use crate::kinds::ec2::tests::{changes, settled, subject};
use aws_sdk_ec2::types::VpcCidrBlockState;

fn block(block: &str, state: &str) -> VpcCidrBlockAssociation {
    VpcCidrBlockAssociation::builder()
        .association_id(format!("vpc-cidr-assoc-{block}"))
        .cidr_block(block)
        .cidr_block_state(VpcCidrBlockState::builder().state(VpcCidrBlockStateCode::from(state)).build())
        .build()
}

fn vpc(others: &[(&str, &str)]) -> Ec2Vpc {
    let associations = std::iter::once(block("10.0.0.0/16", "associated"))
        .chain(others.iter().map(|(cidr, state)| block(cidr, state)))
        .collect();
    Ec2Vpc::builder()
        .vpc_id("vpc-1")
        .cidr_block("10.0.0.0/16")
        .instance_tenancy(Tenancy::Default)
        .state(VpcState::Available)
        .set_cidr_block_association_set(Some(associations))
        .build()
}

fn there(others: &[(&str, &str)], attributes: Attributes) -> Observed {
    observe(&subject(), &vpc(others), attributes, tags::wanted(&subject(), &json!({})))
}

fn in_place(path: &str) -> (String, Changeability) {
    (path.to_owned(), Changeability::InPlace)
}

#[test]
fn a_new_vpc_needs_hostnames_only() {
    let wanted = json!({"spec": {"cidrBlocks": ["10.0.0.0/16"], "enableDNSSupport": true, "enableDNSHostnames": true}});
    assert_eq!(changes::<Vpc>(&wanted, &there(&[], NEW)), [in_place("spec.enableDNSHostnames")]);
    settled::<Vpc>(&there(&[("10.1.0.0/16", "associated")], NEW));
}

#[test]
fn absent_attributes_are_enforced_but_for_metrics() {
    let wanted = json!({"spec": {"cidrBlocks": ["10.0.0.0/16"]}});
    let turned = Attributes { support: false, hostnames: true, metrics: true };
    assert_eq!(
        changes::<Vpc>(&wanted, &there(&[], turned)),
        [in_place("spec.enableDNSSupport"), in_place("spec.enableDNSHostnames")]
    );
}

#[test]
fn hostnames_come_after_support_and_go_before_it() {
    let inputs = |support: bool, hostnames: bool| {
        let observed = there(&[], Attributes { support: !support, hostnames: !hostnames, metrics: false });
        let wanted = json!({"spec": {"enableDNSSupport": support, "enableDNSHostnames": hostnames}});
        let inputs = attribute_inputs(&Vpc::differences(&subject(), &wanted, &observed));
        inputs.iter().map(|input| input.get_enable_dns_support().is_some()).collect::<Vec<_>>()
    };
    assert_eq!(inputs(true, true), [true, false]);
    assert_eq!(inputs(false, false), [false, true]);
}

#[test]
fn the_first_block_stays_and_others_come_and_go() {
    let wanted = |blocks: &[&str]| json!({"spec": {"cidrBlocks": blocks}});
    let two = there(&[("10.1.0.0/16", "associated")], NEW);
    assert_eq!(changes::<Vpc>(&wanted(&["10.1.0.0/16", "10.0.0.0/16"]), &two), []);
    assert_eq!(changes::<Vpc>(&wanted(&["10.0.0.0/16"]), &two), [in_place("spec.cidrBlocks")]);
    assert_eq!(changes::<Vpc>(&wanted(&["10.0.0.0/16", "10.2.0.0/16"]), &two), [in_place("spec.cidrBlocks")]);
    let other = Vpc::differences(&subject(), &wanted(&["10.1.0.0/16"]), &two);
    assert_eq!((other[0].changeability, other[0].reason), (Changeability::Replacement, Some(FIRST_BLOCK)));
}

#[test]
fn blocks_that_are_gone_do_not_count() {
    let rows = [("10.1.0.0/16", "disassociated"), ("10.2.0.0/16", "failed"), ("10.3.0.0/16", "associating")];
    let observed = there(&rows, NEW);
    assert_eq!(observed.spec["cidrBlocks"], json!(["10.0.0.0/16", "10.3.0.0/16"]));
    assert_eq!(association_of(&observed, "10.3.0.0/16"), Some("vpc-cidr-assoc-10.3.0.0/16"));
    assert_eq!(association_of(&observed, "10.1.0.0/16"), None);
    assert_eq!(observed.readiness, Readiness::Waiting("associating".to_owned()));
    assert_eq!(there(&[("10.1.0.0/16", "disassociated")], NEW).readiness, Readiness::Ready);
}

#[test]
fn tenancy_needs_a_new_vpc() {
    let wanted = json!({"spec": {"cidrBlocks": ["10.0.0.0/16"], "instanceTenancy": "dedicated"}});
    let replaced = [("spec.instanceTenancy".to_owned(), Changeability::Replacement)];
    assert_eq!(changes::<Vpc>(&wanted, &there(&[], NEW)), replaced);
}

#[test]
fn fields_of_ipam_and_ipv6_are_not_carried_out() {
    for path in ["spec.ipv4IPAMPoolID", "spec.ipv6CIDRBlock", "spec.disallowSecurityGroupDefaultRules"] {
        assert!(!DESCRIPTION.field(path).carried_out, "{path}");
    }
    assert_eq!(DESCRIPTION.published_at("status.vpcID"), Production::Created);
    assert_eq!(DESCRIPTION.published_at("status.state"), Production::Ready);
    let pool = json!({"spec": {"cidrBlocks": ["10.0.0.0/16"], "ipv4IPAMPoolID": "ipam-pool-1"}});
    assert_eq!(changes::<Vpc>(&pool, &there(&[], NEW)), [("spec.ipv4IPAMPoolID".to_owned(), Changeability::NotCarriedOut)]);
    assert!(spec::<VpcSpec>(&pool).unwrap_err().message.contains("ipv4IPAMPoolID"));
}

#[test]
fn impossible_values_are_found() {
    let object = json!({"spec": {"cidrBlocks": ["10.0.0.1/16", "10.0.0.0/8", "10.0.0.0/16"], "instanceTenancy": "host"}});
    let found = Vpc::impossible_values(&object);
    let found: Vec<_> = found.iter().map(|wrong| (wrong.path.as_str(), wrong.expected.as_str())).collect();
    assert_eq!(
        found,
        [
            ("spec.cidrBlocks[0]", "10.0.0.0/16"),
            ("spec.cidrBlocks[1]", "a prefix from /16 to /28"),
            ("spec.instanceTenancy", "one of default, dedicated"),
        ]
    );
}
