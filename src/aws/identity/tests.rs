//! Tests of the choice of roles.

use super::*;
use crate::graph::diagnostic::{Location, SourceFile};
use serde_json::json;
use std::sync::Arc;

const SPOKE: &str = "222222222222";
const HUB: &str = "111111111111";

fn map(pairs: &[(&str, &str)]) -> IndexMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A selector that matches everything.
fn selector(name: &str) -> RoleSelector {
    RoleSelector {
        name: name.to_owned(),
        arn: format!("arn:aws:iam::{SPOKE}:role/ack"),
        namespaces: Vec::new(),
        namespace_labels: IndexMap::new(),
        resource_types: Vec::new(),
        resource_labels: IndexMap::new(),
        location: location(),
    }
}

fn location() -> Location {
    let file = Arc::new(SourceFile { name: "selectors.yaml".into(), text: String::new() });
    Location { file, line: 1, column: 1, offset: 0, length: 0 }
}

fn resource_type(group: &str, version: &str, kind: &str) -> ResourceType {
    ResourceType { group: group.into(), version: version.into(), kind: kind.into() }
}

/// What a question is made of.
#[derive(Default)]
struct Setting {
    labels: BTreeMap<String, String>,
    namespace: Option<Namespace>,
    account: Option<&'static str>,
    selectors: Vec<RoleSelector>,
    settings: BTreeMap<String, AccountSettings>,
    caller: Option<&'static str>,
    region: Option<&'static str>,
}

impl Setting {
    fn choose(&self) -> Result<Choice, Refusal> {
        Question {
            api_version: "ec2.services.k8s.aws/v1alpha1",
            kind: "VPC",
            namespace: "workload-cluster1",
            name: "vpc",
            labels: &self.labels,
            namespace_document: self.namespace.as_ref(),
            account: self.account,
            region: self.region.unwrap_or("us-west-2"),
            selectors: &self.selectors,
            settings: &self.settings,
            caller: self.caller,
        }
        .choose()
    }

    fn with(selectors: Vec<RoleSelector>) -> Self {
        Self { selectors, account: Some(HUB), caller: Some(HUB), ..Self::default() }
    }

    /// Whether the selectors matched: they lead elsewhere than the instance's own account then.
    fn matched(&self) -> bool {
        match self.choose() {
            Ok(choice) => {
                assert_eq!(choice.source, Source::Caller);
                false
            }
            Err(refusal) => {
                assert!(refusal.reason.contains("leads into account 222222222222"), "{refusal}");
                true
            }
        }
    }
}

fn role(arn: &str, external_id: Option<&str>) -> RoleUsed {
    RoleUsed { arn: arn.into(), external_id: external_id.map(Into::into) }
}

fn settings(account: &str, settings: AccountSettings) -> BTreeMap<String, AccountSettings> {
    BTreeMap::from([(account.to_owned(), settings)])
}

#[test]
fn one_selector_gives_account_and_role() {
    let setting = Setting { selectors: vec![selector("spoke")], ..Setting::default() };
    let choice = setting.choose().unwrap();
    assert_eq!(choice.account, SPOKE);
    assert_eq!(choice.role, Some(role("arn:aws:iam::222222222222:role/ack", None)));
    assert_eq!(choice.source, Source::Selector("spoke".into()));
    assert_eq!(choice.source.to_string(), "IAMRoleSelector spoke");
}

#[test]
fn the_external_id_of_a_selectors_role_comes_from_settings() {
    let given = AccountSettings { external_id: Some("x".into()), role_name: Some("other".into()), ..Default::default() };
    let setting = Setting { selectors: vec![selector("spoke")], settings: settings(SPOKE, given), ..Setting::default() };
    assert_eq!(setting.choose().unwrap().role, Some(role("arn:aws:iam::222222222222:role/ack", Some("x"))));
}

#[test]
fn names_of_namespaces_are_alternatives() {
    let named = |names: &[&str]| {
        let namespaces = names.iter().map(|name| (*name).to_owned()).collect();
        Setting::with(vec![RoleSelector { namespaces, ..selector("s") }])
    };
    assert!(named(&[]).matched());
    assert!(named(&["other", "workload-cluster1"]).matched());
    assert!(!named(&["other"]).matched());
}

#[test]
fn labels_of_the_namespace_are_needed_with_its_name() {
    let labelled = |wanted: &[(&str, &str)], names: &[&str], has: Option<&[(&str, &str)]>| Setting {
        namespace: has.map(|has| Namespace { labels: map(has), annotations: IndexMap::new() }),
        ..Setting::with(vec![RoleSelector {
            namespace_labels: map(wanted),
            namespaces: names.iter().map(|name| (*name).to_owned()).collect(),
            ..selector("s")
        }])
    };
    assert!(labelled(&[("env", "prod")], &[], Some(&[("env", "prod"), ("x", "y")])).matched());
    assert!(!labelled(&[("env", "prod")], &[], Some(&[("env", "dev")])).matched());
    assert!(!labelled(&[("env", "prod"), ("a", "b")], &[], Some(&[("env", "prod")])).matched());
    assert!(!labelled(&[("env", "prod")], &[], None).matched());
    assert!(!labelled(&[("env", "prod")], &["other"], Some(&[("env", "prod")])).matched());
    assert!(labelled(&[("env", "prod")], &["workload-cluster1"], Some(&[("env", "prod")])).matched());
}

#[test]
fn every_namespace_has_the_label_that_kubernetes_gives_it() {
    let named = |name: &str| {
        Setting::with(vec![RoleSelector { namespace_labels: map(&[("kubernetes.io/metadata.name", name)]), ..selector("s") }])
    };
    assert!(named("workload-cluster1").matched());
    assert!(!named("other").matched());
}

#[test]
fn types_are_alternatives_of_whole_triples() {
    let typed = |types: Vec<ResourceType>| Setting::with(vec![RoleSelector { resource_types: types, ..selector("s") }]);
    assert!(typed(vec![resource_type("ec2.services.k8s.aws", "", "")]).matched());
    assert!(typed(vec![resource_type("", "v1alpha1", "")]).matched());
    assert!(typed(vec![resource_type("", "", "VPC")]).matched());
    assert!(typed(vec![resource_type("", "", "Subnet"), resource_type("ec2.services.k8s.aws", "v1alpha1", "VPC")]).matched());
    assert!(!typed(vec![resource_type("eks.services.k8s.aws", "", "VPC")]).matched());
    assert!(!typed(vec![resource_type("", "v1", "")]).matched());
    assert!(!typed(vec![resource_type("", "", "vpc")]).matched());
}

#[test]
fn labels_of_the_object_are_all_needed() {
    let labelled = |wanted: &[(&str, &str)]| Setting {
        labels: BTreeMap::from([("team".to_owned(), "a".to_owned()), ("tier".to_owned(), "1".to_owned())]),
        ..Setting::with(vec![RoleSelector { resource_labels: map(wanted), ..selector("s") }])
    };
    assert!(labelled(&[("team", "a")]).matched());
    assert!(labelled(&[("team", "a"), ("tier", "1")]).matched());
    assert!(!labelled(&[("team", "a"), ("tier", "2")]).matched());
    assert!(!labelled(&[("other", "")]).matched());
}

#[test]
fn two_selectors_are_refused_by_name_even_with_one_arn() {
    let setting = Setting { selectors: vec![selector("one"), selector("two")], ..Setting::default() };
    let refusal = setting.choose().unwrap_err();
    assert!(refusal.offline);
    assert_eq!(refusal.reason, "2 IAMRoleSelectors match VPC workload-cluster1/vpc: one, two");
}

#[test]
fn a_selector_into_another_account_is_refused() {
    let setting = Setting { account: Some(HUB), ..Setting::with(vec![selector("spoke")]) };
    let refusal = setting.choose().unwrap_err();
    assert!(refusal.offline);
    for part in [HUB, SPOKE, "spoke", "VPC workload-cluster1/vpc"] {
        assert!(refusal.reason.contains(part), "{refusal}");
    }
    assert!(Setting { account: Some(SPOKE), ..setting }.choose().is_ok());
}

#[test]
fn a_selector_without_the_arn_of_a_role_is_refused() {
    let wrong = RoleSelector { arn: "arn:aws:iam::222222222222:user/ack".into(), ..selector("spoke") };
    let refusal = Setting { selectors: vec![wrong], ..Setting::default() }.choose().unwrap_err();
    assert!(refusal.offline && refusal.reason.contains("user/ack"), "{refusal}");
}

#[test]
fn accounts_that_are_none_are_refused() {
    for account in ["12345", "abc", "1234567890123"] {
        let refusal = Setting { account: Some(account), ..Setting::default() }.choose().unwrap_err();
        assert!(refusal.offline && refusal.way_out.contains("12 digits"), "{refusal}");
    }
}

#[test]
fn settings_give_a_role_by_name_or_arn() {
    let named = |name: &str, region| Setting {
        account: Some(SPOKE),
        caller: Some(HUB),
        region,
        settings: settings(
            SPOKE,
            AccountSettings { role_name: Some(name.into()), external_id: Some("x".into()), ..Default::default() },
        ),
        ..Setting::default()
    };
    let choice = named("ack", None).choose().unwrap();
    assert_eq!(choice.role, Some(role("arn:aws:iam::222222222222:role/ack", Some("x"))));
    assert_eq!(choice.source, Source::Settings);
    assert_eq!(named("/team/ack", None).choose().unwrap().role, Some(role("arn:aws:iam::222222222222:role/team/ack", Some("x"))));
    assert_eq!(
        named("ack", Some("cn-north-1")).choose().unwrap().role,
        Some(role("arn:aws-cn:iam::222222222222:role/ack", Some("x")))
    );
    let by_arn = |arn: &str| Setting {
        settings: settings(
            SPOKE,
            AccountSettings { role_arn: Some(arn.into()), role_name: Some("no".into()), ..Default::default() },
        ),
        ..named("", None)
    };
    assert_eq!(
        by_arn("arn:aws:iam::222222222222:role/b").choose().unwrap().role,
        Some(role("arn:aws:iam::222222222222:role/b", None))
    );
    for wrong in ["arn:aws:iam::333333333333:role/b", "b"] {
        let refusal = by_arn(wrong).choose().unwrap_err();
        assert!(refusal.offline && refusal.reason.contains(wrong), "{refusal}");
    }
}

#[test]
fn a_role_in_settings_counts_in_the_callers_own_account_too() {
    let setting = Setting {
        account: Some(HUB),
        caller: Some(HUB),
        settings: settings(HUB, AccountSettings { role_name: Some("ack".into()), ..Default::default() }),
        ..Setting::default()
    };
    assert_eq!(setting.choose().unwrap().source, Source::Settings);
}

#[test]
fn the_callers_own_credentials_are_for_its_own_account_only() {
    let own = Setting { account: Some(HUB), caller: Some(HUB), ..Setting::default() };
    assert_eq!(own.choose(), Ok(Choice { account: HUB.into(), role: None, source: Source::Caller }));
    let refusal = Setting { account: Some(SPOKE), ..own }.choose().unwrap_err();
    assert!(!refusal.offline, "STS told the caller's account");
    assert!(refusal.reason.contains(HUB) && refusal.reason.contains(SPOKE), "{refusal}");
    assert!(refusal.way_out.contains("accounts.222222222222"), "{refusal}");
}

#[test]
fn without_an_account_it_is_the_callers() {
    let setting = Setting { caller: Some(HUB), ..Setting::default() };
    assert_eq!(setting.choose().unwrap().account, HUB);
    let refusal = Setting::default().choose().unwrap_err();
    assert!(refusal.offline && refusal.reason.contains("has no account"), "{refusal}");
}

#[test]
fn offline_a_declared_account_is_taken_to_be_the_callers() {
    let setting = Setting { account: Some(SPOKE), ..Setting::default() };
    assert_eq!(setting.choose(), Ok(Choice { account: SPOKE.into(), role: None, source: Source::Caller }));
}

#[test]
fn a_namespace_may_name_the_account() {
    let annotated = |account: Option<&'static str>| Setting {
        account,
        namespace: Some(Namespace { labels: IndexMap::new(), annotations: map(&[(OWNER_ACCOUNT, SPOKE)]) }),
        settings: settings(SPOKE, AccountSettings { role_name: Some("ack".into()), ..Default::default() }),
        ..Setting::default()
    };
    assert_eq!(annotated(None).choose().unwrap().account, SPOKE);
    assert_eq!(annotated(Some(SPOKE)).choose().unwrap().account, SPOKE);
    let refusal = annotated(Some(HUB)).choose().unwrap_err();
    assert!(refusal.offline && refusal.reason.contains(OWNER_ACCOUNT), "{refusal}");
}

#[test]
fn regions_come_from_object_namespace_or_environment() {
    let object =
        |annotations: Value| json!({"kind": "VPC", "metadata": {"name": "a", "namespace": "n", "annotations": annotations}});
    let namespace = Namespace { labels: IndexMap::new(), annotations: map(&[(DEFAULT_REGION, "eu-west-1")]) };
    let own = object(json!({"services.k8s.aws/region": "us-west-2"}));
    assert_eq!(region(&own, Some(&namespace), Some("us-east-1")).unwrap(), "us-west-2");
    assert_eq!(region(&object(json!({})), Some(&namespace), Some("us-east-1")).unwrap(), "eu-west-1");
    assert_eq!(region(&object(json!({})), Some(&Namespace::default()), Some("us-east-1")).unwrap(), "us-east-1");
    let refusal = region(&object(json!({})), None, Some("")).unwrap_err();
    assert!(refusal.offline && refusal.reason.contains("VPC n/a"), "{refusal}");
    let wrong = object(json!({"services.k8s.aws/region": "us-west-2a"}));
    assert!(region(&wrong, None, None).unwrap_err().reason.contains("us-west-2a"));
}

#[test]
fn labels_are_read_from_the_object() {
    let object = json!({"metadata": {"labels": {"a": "b", "number": 1}}});
    assert_eq!(labels(&object), BTreeMap::from([("a".to_owned(), "b".to_owned())]));
    assert!(labels(&json!({})).is_empty());
}
