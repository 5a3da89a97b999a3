//! Each check with the definitions that ship: answers in, findings out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::question::Answers;
use super::*;
use crate::aws::error::{CallError, ErrorClass};
use crate::aws::facts::{ClusterVersion, Network, Quota, Subnet, Vpc};
use crate::engine::api::{ArgoCd, EngineSettings};
use crate::engine::finding::Severity;
use crate::engine::place::{expand_all, place_all};
use crate::graph::definition::Definitions;
use crate::graph::diagnostic::SourceFile;
use crate::graph::documents::Documents;
use crate::graph::expansion::NodeIndex;
use crate::graph::yaml;
use crate::kinds::catalog::KindCatalog;
use crate::state::file::DefinitionsUsed;
use crate::state::session::Holder;
use chrono::NaiveDate;
use std::fmt::Write as _;
use std::time::Duration;

const ACCOUNT: &str = "222222222222";
const HUB: &str = "111111111111";
const DEFINITIONS: [&str; 3] = [
    include_str!("../../../graphs/eks-cluster.yaml"),
    include_str!("../../../graphs/eks-cluster-basic.yaml"),
    include_str!("../../../graphs/vpc.yaml"),
];
const EXISTING: &str = "  vpc:\n    create: false\n    vpcId: vpc-1\n    publicSubnet1Id: subnet-3\n    publicSubnet2Id: subnet-4\n    \
                        privateSubnet1Id: subnet-1\n    privateSubnet2Id: subnet-2\n";

fn settings() -> EngineSettings {
    EngineSettings {
        holder: Holder { command: "test".into(), host: String::new(), pid: 1, user: String::new() },
        accounts: BTreeMap::new(),
        default_tags: BTreeMap::new(),
        role_path: None,
        permissions_boundary: None,
        region: None,
        argocd: ArgoCd::NotConfigured,
        parallelism: 1,
        visibility_window: Duration::ZERO,
    }
}

/// Instances with further lines of their specs, as they are planned when nothing is there.
fn instances(more: &[&str]) -> Vec<Work> {
    let mut text = DEFINITIONS.join("\n---\n");
    for (number, more) in more.iter().enumerate() {
        write!(
            text,
            "\n---\napiVersion: kro.run/v1alpha1\nkind: EksCluster\nmetadata: {{name: c{number}, namespace: argocd}}\nspec:\n  \
             name: c{number}\n  accountId: \"{ACCOUNT}\"\n  managementAccountId: \"{HUB}\"\n{more}"
        )
        .unwrap();
    }
    let nodes = yaml::parse(&SourceFile::new("all.yaml", text)).unwrap();
    let (definitions, problems) = Definitions::load(&nodes, &KindCatalog);
    assert!(problems.is_empty(), "{problems:?}");
    let (documents, problems) = Documents::load(&nodes, &definitions);
    assert!(problems.is_empty(), "{problems:?}");
    let mut works = expand_all(&documents, &definitions, &DefinitionsUsed::default()).unwrap();
    place_all(&mut works, &documents, &settings(), Some(ACCOUNT)).unwrap();
    works
}

fn place() -> Place {
    Place { account: ACCOUNT.into(), region: "us-west-2".into() }
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn version(version: &str, standard: &str, extended: &str) -> ClusterVersion {
    let today = day("2026-03-01");
    let (standard, until) = (day(standard), day(extended));
    ClusterVersion {
        version: version.into(),
        extended: standard < today,
        standard_until: Some(standard),
        extended_until: Some(until),
    }
}

fn subnet(zone: &str, tag: &str) -> Subnet {
    Subnet {
        vpc: "vpc-1".into(),
        zone: zone.into(),
        hosts_eks: true,
        free_addresses: 200,
        tags: BTreeMap::from([(format!("kubernetes.io/role/{tag}"), "1".to_owned())]),
    }
}

fn network() -> Network {
    let subnets = [
        ("subnet-1", subnet("us-west-2a", "internal-elb")),
        ("subnet-2", subnet("us-west-2b", "internal-elb")),
        ("subnet-3", subnet("us-west-2a", "elb")),
        ("subnet-4", subnet("us-west-2b", "elb")),
    ];
    Network {
        subnets: subnets.map(|(id, subnet)| (id.to_owned(), subnet)).into(),
        vpcs: BTreeMap::from([("vpc-1".to_owned(), Vpc { dns_support: true, dns_hostnames: true })]),
    }
}

/// An account in which everything is as it should be.
fn answer(question: &Question) -> Answer {
    match question {
        Question::Zones(_) => Answer::Zones(BTreeMap::new()),
        Question::ClusterVersions(_) => Answer::ClusterVersions(vec![
            version("1.35", "2027-03-27", "2028-03-27"),
            version("1.34", "2026-12-02", "2027-12-02"),
            version("1.32", "2026-03-23", "2027-03-23"),
            version("1.31", "2025-11-26", "2026-11-26"),
        ]),
        Question::AddonVersions { .. } => Answer::AddonVersions(vec!["v1.3.8-eksbuild.2".into(), "v1.3.4-eksbuild.1".into()]),
        Question::Quota(..) => Answer::Count(5),
        Question::Used(..) => Answer::Count(0),
        Question::Network { .. } => Answer::Network(network()),
        Question::Role { .. } => Answer::Exists(true),
        Question::Marked { .. } => Answer::Ids(Vec::new()),
    }
}

/// What is found of instances that are all new. `change` changes what the accounts answer.
fn found(more: &[&str], change: impl Fn(&Question, Answer) -> Result<Answer, CallError>) -> Vec<Vec<String>> {
    let works = instances(more);
    checked(&works, |_| Stage::New, Breadth::Changes, change)
}

fn checked(
    works: &[Work],
    stage: impl Fn(&str) -> Stage,
    breadth: Breadth,
    change: impl Fn(&Question, Answer) -> Result<Answer, CallError>,
) -> Vec<Vec<String>> {
    let wants: Vec<Wants> = works.iter().map(|work| Wants::of(work, |_, field| stage(field))).collect();
    let questions: BTreeSet<Question> = wants.iter().flat_map(|wants| wants.questions(breadth)).collect();
    let answers: Answers =
        questions.into_iter().map(|question| (question.clone(), change(&question, answer(&question)))).collect();
    let line = |finding: &Finding| {
        let way_out = finding.way_out.as_ref().map(|text| format!(" | {text}")).unwrap_or_default();
        let place = finding.address.as_str().rsplit('/').next().unwrap_or_default().to_owned();
        format!("{:?} {place}: {}{way_out}", finding.severity, finding.text)
    };
    let found = checks::all(&wants, &answers, day("2026-03-01"));
    found.iter().map(|findings| findings.iter().map(line).collect()).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a change that may fail")]
fn as_it_is(_: &Question, answer: Answer) -> Result<Answer, CallError> {
    Ok(answer)
}

#[track_caller]
fn says(found: &[Vec<String>], lines: &[&str]) {
    assert_eq!(found.concat(), lines);
}

#[test]
fn a_new_cluster_in_an_account_that_is_as_it_should_be() {
    says(&found(&[""], as_it_is), &[]);
    says(&found(&[EXISTING], as_it_is), &[]);
}

#[test]
fn what_another_state_has_made_is_not_made_again() {
    let works = instances(&["", EXISTING]);
    let wants = works.iter().map(|work| Wants::of(work, |_, _| Stage::New).of_unused_state(work));
    let wants: Vec<Wants> = wants.collect();
    let question = Question::Marked { place: place(), instance: "argocd/EksCluster/c0".into() };
    let asked =
        |wants: &Wants| wants.questions(Breadth::Changes).into_iter().filter(|one| matches!(one, Question::Marked { .. }));
    assert_eq!(
        wants.iter().flat_map(asked).collect::<Vec<_>>(),
        std::slice::from_ref(&question),
        "only where it makes something of EC2"
    );
    let found = |answer: Result<Answer, CallError>| {
        let answers = Answers::from([(question.clone(), answer)]);
        let found = checks::all(&wants[..1], &answers, day("2026-03-01")).concat();
        found.into_iter().filter(|one| one.text.contains("argocd/EksCluster/c0")).collect::<Vec<_>>()
    };
    assert_eq!(found(Ok(Answer::Ids(Vec::new()))), []);
    let refused = found(Ok(Answer::Ids(["vpc-1", "subnet-1", "subnet-2", "subnet-3"].map(str::to_owned).into())));
    assert_eq!((refused.len(), refused[0].severity), (1, Severity::Refused));
    assert_eq!(
        refused[0].text,
        "4 objects of EC2 carry the tags of argocd/EksCluster/c0 and are not recorded here (vpc-1, subnet-1, subnet-2, …): \
         another state has made them, which is elsewhere or lost, or a part of this one is lost; here they would be made a second time"
    );
    let denied = found(Err(CallError {
        service: "ec2",
        operation: "DescribeTags",
        class: ErrorClass::Denied,
        code: "UnauthorizedOperation".into(),
        message: "no".into(),
        request_id: None,
    }));
    assert_eq!(denied[0].severity, Severity::Note);
}

/// The budget: seven calls for a new cluster, as its add-on names no version, and one of them is asked per account and region.
#[test]
fn what_is_asked_about_a_new_cluster() {
    let works = instances(&["", ""]);
    let questions = |work: &Work| Wants::of(work, |_, _| Stage::New).questions(Breadth::Changes);
    let of_one = questions(&works[0]);
    let expected = [
        Question::ClusterVersions(place()),
        Question::Quota(place(), Quota::ElasticIpAddresses),
        Question::Quota(place(), Quota::Vpcs),
        Question::Used(place(), Quota::ElasticIpAddresses),
        Question::Used(place(), Quota::Vpcs),
        Question::Role { account: HUB.into(), name: "hub-cluster-argocd-controller".into() },
        Question::Role { account: ACCOUNT.into(), name: "Admin".into() },
    ];
    assert_eq!(of_one, BTreeSet::from(expected));
    assert_eq!(questions(&works[1]), of_one, "the second instance asks nothing more");
}

#[test]
fn what_stays_as_it_is_asks_nothing() {
    let works = instances(&["  podIdentityAddonVersion: v1.3.8-eksbuild.2\n"]);
    let kept = Wants::of(&works[0], |_, _| Stage::Kept);
    assert_eq!(kept.questions(Breadth::Changes), BTreeSet::new());
    assert_eq!(kept.questions(Breadth::Everything), BTreeSet::from([Question::ClusterVersions(place())]));
    let changed = |field: &'static str| move |_: NodeIndex, path: &str| if path == field { Stage::Changed } else { Stage::Kept };
    let addon = Wants::of(&works[0], changed("spec.addonVersion")).questions(Breadth::Changes);
    assert!(
        matches!(addon.first(), Some(Question::AddonVersions { kubernetes: Some(version), .. }) if version == "1.34"),
        "{addon:?}"
    );
    let cluster = Wants::of(&works[0], changed("spec.version")).questions(Breadth::Changes);
    assert_eq!(cluster, BTreeSet::from([Question::ClusterVersions(place())]));
}

#[test]
fn kubernetes_versions() {
    let cases = [
        ("1.99", Some("Refused ekscluster: EKS has no Kubernetes 1.99 in us-west-2 | give one of 1.35, 1.34, 1.32, 1.31")),
        ("1.34", None),
        (
            "1.32",
            Some(
                "Warning ekscluster: standard support of Kubernetes 1.32 ends on 2026-03-23; AWS charges more for extended support \
                 | in standard support: 1.35, 1.34",
            ),
        ),
        (
            "1.31",
            Some(
                "Warning ekscluster: Kubernetes 1.31 is in extended support since 2025-11-26, for which AWS charges more; \
                 on 2026-11-26 EKS updates the cluster by itself | in standard support: 1.35, 1.34, 1.32",
            ),
        ),
    ];
    for (version, expected) in cases {
        let found = found(&[&format!("  k8sVersion: \"{version}\"\n")], as_it_is);
        says(&found, expected.as_slice());
    }
}

#[test]
fn a_cluster_that_stays_is_warned_about_and_never_refused() {
    let kept = |version: &str, breadth| {
        let works = instances(&[&format!("  k8sVersion: \"{version}\"\n")]);
        checked(&works, |_| Stage::Kept, breadth, as_it_is).concat()
    };
    assert_eq!(kept("1.31", Breadth::Everything).len(), 1);
    assert_eq!(kept("1.31", Breadth::Changes).len(), 0);
    assert_eq!(kept("1.20", Breadth::Everything).len(), 0);
}

#[test]
fn versions_of_add_ons() {
    says(&found(&["  podIdentityAddonVersion: v1.3.4-eksbuild.1\n"], as_it_is), &[]);
    let missing = "  podIdentityAddonVersion: v9\n";
    says(
        &found(&[missing], as_it_is),
        &[
            "Refused podIdentityAddon: there is no eks-pod-identity-agent v9 for Kubernetes 1.34 | give none, for the one that EKS has \
           chosen, or one of v1.3.8-eksbuild.2, v1.3.4-eksbuild.1",
        ],
    );
    let many = (0..10).map(|number| format!("v1.{number}")).collect::<Vec<_>>();
    let found_many = found(&[missing], |question, answer| {
        Ok(if matches!(question, Question::AddonVersions { .. }) { Answer::AddonVersions(many.clone()) } else { answer })
    });
    assert!(found_many[0][0].ends_with("v1.7 and 2 more"), "{found_many:?}");
    let neither = found(&[&format!("{missing}  k8sVersion: \"1.99\"\n")], as_it_is);
    assert_eq!(neither.concat().len(), 1, "only the Kubernetes version is said: {neither:?}");
}

#[test]
fn quotas_against_what_all_instances_want() {
    let apart = |block: u8| {
        format!(
            "  vpc:\n    vpcCidr: 10.{block}.0.0/16\n    publicSubnet1Cidr: 10.{block}.1.0/24\n    publicSubnet2Cidr: 10.{block}.2.0/24\n    \
             privateSubnet1Cidr: 10.{block}.11.0/24\n    privateSubnet2Cidr: 10.{block}.12.0/24\n"
        )
    };
    let three = [apart(1), apart(2), apart(3)];
    let three: Vec<&str> = three.iter().map(String::as_str).collect();
    let found_three = found(&three, as_it_is);
    assert_eq!(found_three[..2].concat(), [""; 0]);
    says(
        &found_three[2..],
        &[
            "Refused eip1: 2 Elastic IP addresses wanted, 1 left in account 222222222222 and us-west-2: the quota is 5, 0 in use, 4 for \
           other instances of this run | ask for more (Service Quotas: ec2 L-0263D0A3), give back what is not needed, or apply fewer \
           instances at one time",
        ],
    );
    let vpcs_in_use = |question: &Question, answer| {
        Ok(if matches!(question, Question::Used(_, Quota::Vpcs)) { Answer::Count(5) } else { answer })
    };
    says(
        &found(&[""], vpcs_in_use),
        &["Refused vpc: 1 VPC wanted, 0 left in account 222222222222 and us-west-2: the quota is 5, 5 in use | ask for more \
           (Service Quotas: vpc L-F678F1CE), give back what is not needed"],
    );
}

#[test]
fn what_is_made_in_the_place_of_another_needs_no_more_room() {
    let works = instances(&[""]);
    let full = |question: &Question, answer| Ok(if matches!(question, Question::Used(..)) { Answer::Count(5) } else { answer });
    assert_eq!(checked(&works, |_| Stage::New, Breadth::Changes, full)[0].len(), 2);
    assert_eq!(checked(&works, |_| Stage::Anew, Breadth::Changes, full)[0].len(), 0);
    let questions = Wants::of(&works[0], |_, _| Stage::Anew).questions(Breadth::Changes);
    assert_eq!(questions.len(), 3, "the version and two roles: {questions:?}");
}

#[test]
fn what_cannot_be_read_is_noted_once() {
    let denied = |question: &Question, answer| match question {
        Question::Quota(_, Quota::Vpcs) => Err(CallError {
            service: "servicequotas",
            operation: "GetServiceQuota",
            class: ErrorClass::Denied,
            code: "AccessDeniedException".into(),
            message: "no".into(),
            request_id: None,
        }),
        _ => Ok(answer),
    };
    let found = found(&["", "  vpc: {vpcCidr: 10.0.0.0/16}\n"], denied);
    assert_eq!(
        found[0],
        ["Note vpc: the quota of VPCs: not checked: servicequotas GetServiceQuota: AccessDeniedException: no | allow \
          servicequotas:GetServiceQuota"]
    );
    assert!(!found[1].iter().any(|line| line.contains("Note")), "{found:?}");
}

#[test]
fn blocks_that_two_networks_share() {
    let found = found(&["", ""], as_it_is);
    assert_eq!(found[0], [""; 0]);
    assert_eq!(
        found[1],
        [
            "Warning vpc: 10.0.0.0/16 is also a block of EksCluster/c0/vpc/vpc: the two networks can never be peered | give each network a \
          block of its own, if they are ever to reach each other"
        ]
    );
}

#[test]
fn roles_that_may_enter() {
    let missing = |wanted: &'static str| {
        move |question: &Question, answer| match question {
            Question::Role { name, .. } if name == wanted => Ok(Answer::Exists(false)),
            _ => Ok(answer),
        }
    };
    says(
        &found(&[""], missing("Admin")),
        &[
            "Refused accessEntryAdmin: there is no role Admin in account 222222222222: EKS would take no access entry | make it, or name a \
           role that is there",
        ],
    );
    let hub = found(&["  hubRoleName: other\n"], missing("other")).concat();
    assert!(hub[0].contains("accessEntry: there is no role other in account 111111111111"), "{hub:?}");
    // A role that the graph makes need not be there yet.
    says(&found(&["  adminRoleName: c0-cluster-role\n"], missing("c0-cluster-role")), &[]);
}

#[test]
fn a_role_in_an_account_that_is_not_reached_is_noted() {
    let works = instances(&["", ""]);
    let wants: Vec<Wants> = works.iter().map(|work| Wants::of(work, |_, _| Stage::New)).collect();
    let questions: BTreeSet<Question> = wants.iter().flat_map(|wants| wants.questions(Breadth::Changes)).collect();
    let reached = questions.into_iter().filter(|question| !matches!(question, Question::Role { account, .. } if account == HUB));
    let answers: Answers = reached.map(|question| (question.clone(), Ok(answer(&question)))).collect();
    let found = checks::all(&wants, &answers, day("2026-03-01"));
    let notes: Vec<&str> =
        found.iter().flatten().filter(|finding| finding.kind == "AccessEntry").map(|it| it.text.as_str()).collect();
    assert_eq!(
        notes,
        [
            "arn:aws:iam::111111111111:role/hub-cluster-argocd-controller: not checked whether it is there: this run does not reach its \
          account"
        ]
    );
}

#[test]
fn networks_that_are_there() {
    type Change = fn(&mut Network);
    let cases: [(Change, &str); 12] = [
        (|it| drop(it.subnets.remove("subnet-1")), "Refused: there is no subnet-1 in account 222222222222 and us-west-2"),
        (|it| drop(it.subnets.remove("subnet-3")), "Refused: there is no subnet-3 in account 222222222222 and us-west-2"),
        (|it| it.vpcs.clear(), "Refused: there is no vpc-1 in account 222222222222 and us-west-2"),
        (|it| of(it, "subnet-2").vpc = "vpc-2".into(), "Refused: the subnets of the cluster are in several VPCs: vpc-1, vpc-2"),
        (|it| of(it, "subnet-4").vpc = "vpc-2".into(), "Refused: subnet-4 is in vpc-2, the cluster in vpc-1"),
        (
            |it| of(it, "subnet-2").zone = "us-west-2a".into(),
            "Refused: all subnets of the cluster are in us-west-2a; EKS wants two zones",
        ),
        (
            |it| of(it, "subnet-2").hosts_eks = false,
            "Refused: subnet-2 is in us-west-2b, where EKS takes no subnets of a cluster",
        ),
        (|it| of(it, "subnet-1").free_addresses = 5, "Refused: subnet-1 has 5 free addresses; EKS wants 6 at least"),
        (|it| of(it, "subnet-1").free_addresses = 6, "Warning: subnet-1 has 6 free addresses; EKS recommends 16"),
        (
            |it| it.vpcs.get_mut("vpc-1").unwrap().dns_hostnames = false,
            "Refused: vpc-1 has no DNS hostnames: nodes would not find the cluster",
        ),
        (
            |it| of(it, "subnet-1").tags.clear(),
            "Warning: subnet-1 has neither the tag kubernetes.io/role/internal-elb nor kubernetes.io/role/elb: load balancers do not \
             find it",
        ),
        (
            |it| of(it, "subnet-3").tags.clear(),
            "Warning: subnet-3 has no tag kubernetes.io/role/elb: load balancers that face the internet do not find it",
        ),
    ];
    for (change, expected) in cases {
        let found = found(&[EXISTING], |question, answer| match answer {
            Answer::Network(mut network) => {
                assert!(matches!(question, Question::Network { subnets, vpcs, .. } if subnets.len() == 4 && vpcs.len() == 1));
                change(&mut network);
                Ok(Answer::Network(network))
            }
            answer => Ok(answer),
        });
        let lines: Vec<String> = found.concat().iter().map(|line| line.replacen(" ekscluster", "", 1)).collect();
        let lines: Vec<&str> = lines.iter().map(|line| line.split(" | ").next().unwrap()).collect();
        assert_eq!(lines, [expected]);
    }
}

fn of<'a>(network: &'a mut Network, id: &str) -> &'a mut Subnet {
    network.subnets.get_mut(id).unwrap()
}

/// The VPC that is named has to be that of the subnets.
#[test]
fn another_vpc_than_that_of_the_subnets() {
    let found = found(&[&EXISTING.replace("vpcId: vpc-1", "vpcId: vpc-2")], |_, answer| match answer {
        Answer::Network(mut network) => {
            network.vpcs.insert("vpc-2".into(), Vpc { dns_support: true, dns_hostnames: true });
            Ok(Answer::Network(network))
        }
        answer => Ok(answer),
    });
    says(&found, &["Refused ekscluster: the cluster's subnets are in vpc-1, not in vpc-2 | give the VPC of the subnets"]);
}
