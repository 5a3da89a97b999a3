use super::*;
use crate::cli::testing::report;
use crate::engine::failure::Answer;
use crate::graph::identity::Address;

fn address(path: &str) -> Address {
    Address(format!("EksCluster/demo/{path}"))
}

fn text(report: RunReport, columns: Option<usize>) -> String {
    render(&[report], "fleetctl apply cluster.yaml", Style::new(false), columns)
}

fn present(path: &str, kind: &str, id: &str) -> Present {
    let charged = matches!(kind, "Cluster" | "NATGateway");
    Present { address: address(path), kind: kind.into(), id: id.into(), charged }
}

fn not_reached(path: &str, kind: &str, because: Option<&str>, reason: &str) -> NotReached {
    NotReached { address: address(path), kind: kind.into(), reason: reason.into(), because: because.map(address) }
}

#[test]
fn a_run_that_did_everything_says_what_people_ask_for_first() {
    let mut done = report(End::Done);
    done.done[0].seconds = Some(2.0);
    done.done[1].seconds = Some(600.0);
    let output = |kind: &str, name, value: &str| Output { address: address("x"), kind: kind.into(), name, value: value.into() };
    done.circumstances.outputs = vec![
        output("Cluster", "cluster", "demo"),
        output("Cluster", "endpoint", "https://F5A90CE8.gr7.us-west-2.eks.amazonaws.com"),
        output("Cluster", "version", "1.34"),
        output("ElasticIPAddress", "publicAddress", "203.0.113.1"),
        output("ElasticIPAddress", "publicAddress", "203.0.113.2"),
        output("VPC", "vpc", "vpc-1"),
    ];
    insta::assert_snapshot!(text(done, None), @"
    EksCluster/demo: done in 12m 3s: 2 created, 1 updated.
      1970-01-01 00:00:00 to 00:00:00 UTC; fleetctl 0.1.0

      cluster         demo
      endpoint        https://F5A90CE8.gr7.us-west-2.eks.amazonaws.com
      Kubernetes      1.34
      public address  203.0.113.1, 203.0.113.2
      VPC             vpc-1
      state           ACTIVE
      took longest    vpc/a 10m 0s
    ");
}

#[test]
fn what_fails_in_argo_cd_is_not_placed_in_an_account() {
    let mut report = failed();
    report.failed[0].argocd = Some("https://argocd.example.com".into());
    let text = render(&[report], "fleetctl destroy", Style::new(false), None);
    assert!(text.contains("where           Argo CD, https://argocd.example.com\n"), "{text}");
}

fn failed() -> RunReport {
    let mut failed = report(End::Failed);
    failed.failed.push(Failure {
        id: Some("nat-0123".into()),
        place: Some(Place { account: "222222222222".into(), region: "us-west-2".into() }),
        answer: Some(Answer {
            service: "ec2".into(),
            operation: "CreateNatGateway".into(),
            code: "NatGatewayLimitExceeded".into(),
            message: "Performing this operation would exceed the limit of 5 NAT gateways".into(),
            request_id: Some("0ea41ed8-49e3-41d7-af1f-e9f33d43529e".into()),
        }),
        hint: Some("ask Service Quotas for more in that account and region".into()),
        ..Failure::new(address("vpc/natGateway1"), "NATGateway".into(), "all in one".to_owned())
    });
    failed.failed.push(Failure::new(
        address("eks/nodeRole"),
        "Role".into(),
        "role-1 belongs to somebody else\nit is not deleted".to_owned(),
    ));
    let because = Some("vpc/natGateway1");
    failed.not_reached = vec![
        not_reached("vpc/routeTable2", "RouteTable", because, "EksCluster/demo/vpc/natGateway1 failed"),
        not_reached("vpc/subnet2", "Subnet", because, "EksCluster/demo/vpc/natGateway1 failed"),
        not_reached("vpc/subnet1", "Subnet", because, "EksCluster/demo/vpc/natGateway1 failed"),
        not_reached("eks/secret", "Secret", None, "no Argo CD is configured"),
    ];
    failed.circumstances.places = vec![Place { account: "222222222222".into(), region: "us-west-2".into() }];
    failed.circumstances.caller = "arn:aws:iam::111111111111:user/me".into();
    failed.circumstances.present = vec![
        present("eks/cluster", "Cluster", "demo"),
        present("vpc/natGateway2", "NATGateway", "nat-1"),
        present("vpc/routeTable2", "RouteTable", "rtb-1"),
    ];
    failed
}

#[test]
fn a_run_that_failed_says_why_what_it_left_and_how_to_carry_on() {
    insta::assert_snapshot!(text(failed(), None), @"
    EksCluster/demo: failed after 12m 3s: 2 created, 1 updated, 2 failed, 4 not reached.
      222222222222 us-west-2; 1970-01-01 00:00:00 to 00:00:00 UTC; fleetctl 0.1.0; run by arn:aws:iam::111111111111:user/me

      failed: EksCluster/demo/vpc/natGateway1  NATGateway
        id              nat-0123
        where           222222222222 us-west-2
        call            ec2 CreateNatGateway
        code            NatGatewayLimitExceeded
        message         Performing this operation would exceed the limit of 5 NAT gateways
        request id      0ea41ed8-49e3-41d7-af1f-e9f33d43529e
        what may help   ask Service Quotas for more in that account and region

      failed: EksCluster/demo/eks/nodeRole  Role
        why             role-1 belongs to somebody else
                        it is not deleted

      not finished, because vpc/natGateway1 failed
        RouteTable: vpc/routeTable2

      not reached, because vpc/natGateway1 failed
        Subnet: vpc/subnet1, vpc/subnet2

      not reached: no Argo CD is configured
        Secret: eks/secret

      there now: 3 objects: 1 Cluster, 1 NATGateway, 1 RouteTable
        Of these AWS charges for 1 Cluster, 1 NATGateway by the hour, used or not.

    Carry on with: fleetctl apply cluster.yaml
    ");
}

#[test]
fn on_a_terminal_it_is_wrapped_but_for_the_command() {
    let text = render(&[failed()], &format!("fleetctl apply {}.yaml", "cluster".repeat(8)), Style::new(false), Some(50));
    insta::assert_snapshot!(text, @"
    EksCluster/demo: failed after 12m 3s: 2 created, 1
        updated, 2 failed, 4 not reached.
      222222222222 us-west-2; 1970-01-01 00:00:00 to
          00:00:00 UTC; fleetctl 0.1.0; run by
          arn:aws:iam::111111111111:user/me

      failed: EksCluster/demo/vpc/natGateway1
          NATGateway
        id              nat-0123
        where           222222222222 us-west-2
        call            ec2 CreateNatGateway
        code            NatGatewayLimitExceeded
        message         Performing this operation
                        would exceed the limit of 5
                        NAT gateways
        request id      0ea41ed8-49e3-41d7-af1f-e9f33d43529e
        what may help   ask Service Quotas for more in
                        that account and region

      failed: EksCluster/demo/eks/nodeRole  Role
        why             role-1 belongs to somebody
                        else
                        it is not deleted

      not finished, because vpc/natGateway1 failed
        RouteTable: vpc/routeTable2

      not reached, because vpc/natGateway1 failed
        Subnet: vpc/subnet1, vpc/subnet2

      not reached: no Argo CD is configured
        Secret: eks/secret

      there now: 3 objects: 1 Cluster, 1 NATGateway, 1
          RouteTable
        Of these AWS charges for 1 Cluster, 1
            NATGateway by the hour, used or not.

    Carry on with: fleetctl apply clusterclusterclusterclusterclusterclusterclustercluster.yaml
    ");
}

#[test]
fn an_incomplete_run_names_what_is_missing() {
    let mut incomplete = report(End::Incomplete);
    incomplete.done.clear();
    incomplete.not_reached.push(not_reached("eks/argocdSecret", "Secret", None, "no Argo CD is configured"));
    insta::assert_snapshot!(text(incomplete, None), @"
    EksCluster/demo: incomplete after 12m 3s: nothing was changed, 1 not reached.
      1970-01-01 00:00:00 to 00:00:00 UTC; fleetctl 0.1.0

      not reached: no Argo CD is configured
        Secret: eks/argocdSecret

    Carry on with: fleetctl apply cluster.yaml
    ");
}

#[test]
fn a_removal_that_left_something_names_it_with_its_id() {
    let mut failed = failed();
    failed.status = serde_json::json!({"state": "DELETING"});
    failed.failed.truncate(1);
    failed.not_reached.clear();
    let text = text(failed, None);
    let left: Vec<_> = text.lines().skip_while(|line| !line.contains("still there")).take(4).collect();
    insta::assert_snapshot!(left.join("\n"), @"
    still there: 3 objects: 1 Cluster, 1 NATGateway, 1 RouteTable
      Cluster: eks/cluster (demo)
      NATGateway: vpc/natGateway2 (nat-1)
      RouteTable: vpc/routeTable2 (rtb-1)
    ");
}

#[test]
fn what_was_changed_counts_though_nothing_was_finished() {
    let headline = |done: bool, calls, unfinished: &[&str]| {
        let mut failed = failed();
        if !done {
            failed.done.clear();
        }
        failed.circumstances.calls = calls;
        failed.circumstances.unfinished = unfinished.iter().copied().map(address).collect();
        text(failed, None).lines().next().unwrap().to_owned()
    };
    let made = ["vpc/natGateway1", "vpc/routeTable2"];
    let lines = [headline(false, 0, &[]), headline(false, 1, &[]), headline(false, 2, &made), headline(true, 5, &made)];
    insta::assert_snapshot!(lines.join("\n"), @"
    EksCluster/demo: failed after 12m 3s: nothing was changed, 2 failed, 4 not reached.
    EksCluster/demo: failed after 12m 3s: 1 change made, nothing finished, 2 failed, 4 not reached.
    EksCluster/demo: failed after 12m 3s: 1 made and failed, 1 made and not finished, 1 failed, 3 not reached.
    EksCluster/demo: failed after 12m 3s: 2 created, 1 updated, 1 made and failed, 1 made and not finished, 1 failed, 3 not reached.
    ");
}

#[test]
fn a_run_that_lost_its_lock_claims_nothing_of_what_is_there() {
    let mut lost = failed();
    lost.status = serde_json::json!({"state": "DELETING"});
    (lost.done, lost.not_reached) = (Vec::new(), Vec::new());
    lost.circumstances.unfinished.clear();
    (lost.circumstances.calls, lost.circumstances.lock_lost) = (0, true);
    let text = text(lost, None);
    assert!(!text.contains("nothing was changed") && !text.contains("still there"), "{text}");
    assert!(text.contains("nothing was seen to end") && text.contains("recorded as there when the lock was lost"), "{text}");
}
