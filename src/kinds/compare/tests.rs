use super::*;
use proptest::prelude::*;
use serde_json::json;

const RULES: &[Rule] = &[
    Rule::replacement("spec.vpcID", How::Exact, "a subnet cannot move"),
    Rule::in_place("spec.blocks", How::Set),
    Rule::in_place("spec.support", How::Exact).enforced(Absent::True),
    Rule::in_place("spec.hostnames", How::Exact).enforced(Absent::False),
    Rule::in_place("spec.hostnameType", How::Exact).enforced(Absent::Text("ip-name")),
    Rule::in_place("spec.routeTables", How::Set).enforced(Absent::Nothing),
    Rule::in_place("spec.routes", How::Keyed(&["cidr", "prefix"])).enforced(Absent::Nothing),
    Rule::in_place("spec.trust", How::Policy),
    Rule::in_place("spec.inline", How::NamedPolicies).enforced(Absent::Nothing),
    Rule::in_place("spec.values", How::Document),
    Rule::in_place("spec.conflicts", How::WriteOnly),
    Rule::in_place("spec.config", How::Exact),
    Rule::in_place("spec.config.subnets", How::Set),
    Rule::in_place("spec.tags", How::Tags),
    Rule::in_place("spec.bootstrap", How::Ignored),
];

fn changes(desired: &Value, observed: &Value) -> Vec<FieldChange> {
    fields(RULES, &json!({"apiVersion": "v1", "metadata": {"name": "x"}, "spec": desired}), &json!({"spec": observed}), None)
}

fn paths(desired: &Value, observed: &Value) -> Vec<String> {
    changes(desired, observed).into_iter().map(|change| change.path).collect()
}

#[test]
fn only_what_is_set_counts() {
    assert!(paths(&json!({}), &json!({"vpcID": "vpc-1", "blocks": ["a"], "support": true})).is_empty());
    assert!(paths(&json!({"vpcID": null, "blocks": []}), &json!({"vpcID": "vpc-1", "blocks": ["a"]})).is_empty());
    assert_eq!(paths(&json!({"vpcID": ""}), &json!({})), ["spec.vpcID"]);
}

#[test]
fn a_change_carries_both_values_and_the_way() {
    let found = changes(&json!({"vpcID": "vpc-2"}), &json!({"vpcID": "vpc-1"}));
    let expected = FieldChange {
        path: "spec.vpcID".to_owned(),
        before: json!("vpc-1"),
        after: json!("vpc-2"),
        changeability: Changeability::Replacement,
        reason: Some("a subnet cannot move"),
    };
    assert_eq!(found, [expected]);
}

#[test]
fn absence_is_enforced_where_ack_does() {
    let there = json!({"support": false, "hostnames": true, "hostnameType": "resource-name", "routeTables": ["rtb-1"]});
    let expected = ["spec.support", "spec.hostnames", "spec.hostnameType", "spec.routeTables"];
    assert_eq!(paths(&json!({}), &there), expected);
    assert!(paths(&json!({}), &json!({})).is_empty());
    assert!(paths(&json!({"hostnames": false, "support": true, "hostnameType": "ip-name"}), &json!({})).is_empty());
}

#[test]
fn sets_have_no_order() {
    assert!(paths(&json!({"blocks": ["a", "b", "a"]}), &json!({"blocks": ["b", "a"]})).is_empty());
    assert_eq!(paths(&json!({"blocks": ["a"]}), &json!({"blocks": ["b", "a"]})), ["spec.blocks"]);
}

#[test]
fn keyed_lists_are_compared_item_by_item() {
    let desired = json!({"routes": [{"cidr": "0.0.0.0/0", "nat": "nat-2"}, {"prefix": "pl-1", "gateway": "igw-1"}]});
    let observed = json!({"routes": [
        {"cidr": "10.1.0.0/16", "peering": "pcx-1"},
        {"prefix": "pl-1", "gateway": "igw-1", "nat": null, "state": "active"},
        {"cidr": "0.0.0.0/0", "nat": "nat-1"},
    ]});
    let found = changes(&desired, &observed);
    assert_eq!(found[0].path, "spec.routes[0.0.0.0/0]");
    assert_eq!((&found[0].before["nat"], &found[0].after["nat"]), (&json!("nat-1"), &json!("nat-2")));
    assert_eq!((found[1].path.as_str(), &found[1].after), ("spec.routes[10.1.0.0/16]", &Value::Null));
    assert_eq!(found.len(), 2);
}

#[test]
fn documents_are_compared_by_meaning() {
    let desired = json!({
        "trust": r#"{"Statement":{"Effect":"Allow","Action":"a"}}"#,
        "inline": {"one": r#"{"Statement":[]}"#, "two": "{}"},
        "values": "a: 1",
    });
    let observed = json!({
        "trust": r#"{"Statement":[{"Action":["a"],"Effect":"Allow"}]}"#,
        "inline": {"one": "{ \"Statement\": [] }", "three": "{}"},
        "values": "{\"a\": 1}",
    });
    assert_eq!(paths(&desired, &observed), ["spec.inline[two]", "spec.inline[three]"]);
}

#[test]
fn write_only_fields_are_compared_with_what_was_applied() {
    let (desired, observed) = (json!({"spec": {"conflicts": "NONE"}}), json!({"spec": {}}));
    assert!(fields(RULES, &desired, &observed, None).is_empty());
    assert!(fields(RULES, &desired, &observed, Some(&desired)).is_empty());
    let applied = json!({"spec": {"conflicts": "OVERWRITE"}});
    assert_eq!(fields(RULES, &desired, &observed, Some(&applied))[0].before, json!("OVERWRITE"));
}

#[test]
fn mappings_are_compared_leaf_by_leaf() {
    let desired = json!({"config": {"public": true, "subnets": ["b", "a"], "cidrs": ["y", "x"]}});
    let observed = json!({"config": {"public": false, "private": true, "subnets": ["a", "b"], "cidrs": ["x", "y"]}});
    assert_eq!(paths(&desired, &observed), ["spec.config.public"]);
}

#[test]
fn names_with_dots_are_names() {
    let desired = json!({"config": {"app.kubernetes.io/name": "x"}});
    assert!(paths(&desired, &desired).is_empty());
    assert_eq!(paths(&desired, &json!({})), ["spec.config.app.kubernetes.io/name"]);
}

#[test]
fn fields_without_a_rule_cannot_be_changed() {
    let found = changes(&json!({"other": {"deep": 1}, "same": 2}), &json!({"same": 2}));
    assert_eq!((found[0].path.as_str(), found[0].changeability), ("spec.other.deep", Changeability::NotCarriedOut));
    assert_eq!(found[0].reason, Some(NOT_CARRIED_OUT));
    assert_eq!(found.len(), 1);
}

#[test]
fn some_fields_are_never_compared() {
    assert!(paths(&json!({"bootstrap": true, "tags": [{"key": "a", "value": "b"}]}), &json!({})).is_empty());
}

#[test]
fn tags_of_others_are_left_alone() {
    let map = |tags: &[(&str, &str)]| tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let wanted: Tags = map(&[("Name", "vpc"), ("fleetctl:address", "new")]);
    let observed = map(&[
        ("Name", "vpc"),
        ("fleetctl:address", "old"),
        ("fleetctl:future", "x"),
        ("aws:cloudformation:stack-name", "x"),
        ("services.k8s.aws/namespace", "x"),
        ("services.k8s.aws/controller-version", "x"),
        ("app.kubernetes.io/managed-by", "kro"),
        ("kro.run/kro-version", "x"),
        ("by-hand", "x"),
    ]);
    let found = tag_changes(&wanted, &observed);
    assert_eq!(
        found.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(),
        ["spec.tags[fleetctl:address]", "spec.tags[by-hand]"]
    );
    assert_eq!((&found[1].before, &found[1].after), (&json!("x"), &Value::Null));
}

#[test]
fn unknown_leaves_leave_their_field_undecided() {
    assert!(undecided("spec.routes[0.0.0.0/0]", "spec.routes[0].natGatewayID"));
    assert!(undecided("spec.routeTables", "spec.routeTables[0]"));
    assert!(undecided("spec.config.subnets", "spec.config"));
    assert!(undecided("spec.config", "spec.config.subnets[1]"));
    assert!(!undecided("spec.routes[0.0.0.0/0]", "spec.routeTables[0]"));
    assert!(!undecided("spec.config.public", "spec.config.subnets[0]"));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c{}:\" ]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_spec() -> impl Strategy<Value = Value> {
    let names: Vec<String> =
        RULES.iter().map(|rule| rule.path.trim_start_matches("spec.").split('.').next().unwrap().to_owned()).collect();
    prop::collection::btree_map(prop::sample::select(names), any_value(), 0..8)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    #[test]
    fn nothing_differs_from_itself(spec in any_spec()) {
        let object = json!({"spec": spec});
        // What is absent may still be enforced: only the fields that are set must agree with themselves.
        let lax: Vec<Rule> = RULES.iter().map(|rule| rule.enforced(Absent::Unmanaged)).collect();
        prop_assert_eq!(fields(&lax, &object, &object, Some(&object)), vec![]);
    }

    #[test]
    fn the_order_of_a_set_does_not_matter(items in prop::collection::vec(any_value(), 0..6), seed in any::<prop::sample::Index>()) {
        let mut turned = items.clone();
        if !turned.is_empty() {
            let by = seed.index(turned.len());
            turned.rotate_left(by);
            turned.push(turned[0].clone());
        }
        let found = paths(&json!({"blocks": items}), &json!({"blocks": turned}));
        prop_assert!(found.is_empty());
    }
}
