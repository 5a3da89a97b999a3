//! Plans as Markdown: form, length, and texts that try to be markup.

use super::*;
use crate::cli::testing::{change, difference, plan};
use crate::engine::plan::NotCarriedOut;
use crate::graph::identity::Address;
use serde_json::json;

fn policy(action: &str) -> Value {
    let statement = json!([{"Effect": "Allow", "Action": action, "Resource": "*"}]);
    Value::String(json!({"Version": "2012-10-17", "Statement": statement}).to_string())
}

#[test]
fn a_comment_has_what_a_reviewer_needs() {
    let mut create = change(Action::Create, "vpc/subnet", "Subnet");
    create.fields.push(difference("spec.cidrBlock", json!(null), json!("10.0.1.0/24")));
    create
        .fields
        .push(FieldDifference { unknown: Some("vpc.status.vpcID".into()), ..difference("spec.vpcID", json!(null), json!(null)) });
    let mut update = change(Action::Update, "eks/role", "Role");
    update.id = Some("demo-role".into());
    update.fields.push(difference("spec.assumeRolePolicyDocument", policy("sts:AssumeRole"), policy("sts:TagSession")));
    update.fields.push(difference("spec.tags[team]", json!(null), json!("platform")));
    let mut replace = change(Action::Replace, "eks/clusterRole", "Role");
    replace.by_name = true;
    replace.reason = Some("the path of a role cannot be changed".into());
    let mut refused = change(Action::Refused, "vpc/subnet1", "Subnet");
    refused.reason = Some("the CIDR of a subnet cannot be changed:\nwrite the old one back".into());
    let mut plan = plan(vec![create, update, replace, refused, change(Action::None, "vpc/vpc", "VPC")]);
    plan.not_carried_out = vec![NotCarriedOut {
        address: Address("EksCluster/demo/eks/serviceAccount".into()),
        kind: "ServiceAccount".into(),
        reason: "it is an object of Kubernetes".into(),
    }];
    plan.open_calls = vec!["CreateVpc for EksCluster/demo/vpc/vpc".into()];
    insta::assert_snapshot!(render(&[plan], &["EksCluster/other: no role".into()]), @r#"
    ## fleetctl plan: 1 to create, 1 to update, 1 to replace, 1 refused, 1 to look up, 1 unchanged

    **Not planned**

    - EksCluster/other: no role

    ### <code>EksCluster/demo</code>

    Plan: 1 to create, 1 to update, 1 to replace, 1 refused, 1 to look up, 1 unchanged. Nothing at all is changed while something is refused.

    - caller <code>arn:aws:sts::111111111111:assumed-role/deployer/me</code>
    - target <code>222222222222</code> <code>us-west-2</code> as <code>arn:aws:iam::222222222222:role/ack</code> (IAMRoleSelector demo)

    Calls of an earlier run that may have been carried out, and are looked up first:

    - CreateVpc for EksCluster/demo/vpc/vpc

    | | object | kind | id | why |
    |---|---|---|---|---|
    | **refused** | <code>EksCluster/demo/vpc/subnet1</code> | Subnet |  | the CIDR of a subnet cannot be changed: write the old one back |
    | **replace** | <code>EksCluster/demo/eks/clusterRole</code> | Role |  | the path of a role cannot be changed |
    | update | <code>EksCluster/demo/eks/role</code> | Role | <code>demo-role</code> |  |
    | create | <code>EksCluster/demo/vpc/subnet</code> | Subnet |  |  |

    **To be confirmed by name** (`--confirm ADDRESS`):

    - <code>EksCluster/demo/eks/clusterRole</code>

    **Not carried out by fleetctl**

    - <code>EksCluster/demo/eks/serviceAccount</code> ServiceAccount: it is an object of Kubernetes

    <details><summary>Fields of 2 objects</summary>

    create <code>EksCluster/demo/vpc/subnet</code>

    ```diff
    + spec.cidrBlock: "10.0.1.0/24"
    + spec.vpcID: (known after apply: ${vpc.status.vpcID})
    ```

    update <code>EksCluster/demo/eks/role</code>

    ```diff
      spec.assumeRolePolicyDocument:
      {
        "Version": "2012-10-17",
        "Statement": [
          {
            "Effect": "Allow",
    -       "Action": "sts:AssumeRole",
    +       "Action": "sts:TagSession",
            "Resource": "*"
          }
        ]
      }
      spec.tags[team]:
    - (nothing)
    + "platform"
    ```


    </details>
    "#);
}

#[test]
fn nothing_to_do_is_short() {
    insta::assert_snapshot!(render(&[plan(vec![change(Action::None, "vpc/vpc", "VPC")])], &[]), @"
    ## fleetctl plan: no changes

    ### <code>EksCluster/demo</code>

    No changes.

    - caller <code>arn:aws:sts::111111111111:assumed-role/deployer/me</code>
    - target <code>222222222222</code> <code>us-west-2</code> as <code>arn:aws:iam::222222222222:role/ack</code> (IAMRoleSelector demo)
    ");
}

#[test]
fn what_the_checks_have_found_stands_above_the_table_the_worst_first() {
    let finding = |severity, text: &str, way_out: Option<&str>| Finding {
        severity,
        address: Address("EksCluster/demo/eks/cluster".into()),
        kind: "Cluster".into(),
        account: "222222222222".into(),
        region: "us-west-2".into(),
        text: text.into(),
        way_out: way_out.map(str::to_owned),
    };
    let mut plan = plan(vec![change(Action::Create, "eks/cluster", "Cluster")]);
    plan.checks = vec![
        finding(Severity::Note, "the quota is not known", None),
        finding(Severity::Refused, "EKS has no Kubernetes 1.99", Some("give 1.35")),
    ];
    plan.warnings = vec!["the token ends soon".into()];
    insta::assert_snapshot!(render(&[plan], &[]), @"
    ## fleetctl plan: 1 to create, 1 refused by checks

    ### <code>EksCluster/demo</code>

    Plan: 1 to create, 1 refused by checks. Nothing at all is changed while something is refused.

    - caller <code>arn:aws:sts::111111111111:assumed-role/deployer/me</code>
    - target <code>222222222222</code> <code>us-west-2</code> as <code>arn:aws:iam::222222222222:role/ack</code> (IAMRoleSelector demo)

    Checked before anything is changed:

    - **refused** <code>EksCluster/demo/eks/cluster</code>: EKS has no Kubernetes 1.99 (give 1.35)
    - note <code>EksCluster/demo/eks/cluster</code>: the quota is not known

    - warning: the token ends soon

    | | object | kind | id | why |
    |---|---|---|---|---|
    | create | <code>EksCluster/demo/eks/cluster</code> | Cluster |  |  |
    ");
}

/// Values that try to end a cell, a fence, the fold and the element that they stand in.
const HOSTILE: &str = "a|b</code></details><img src=x>\n```\n| x | y |\n@octocat #1 [z](https://example.com) \u{202e}";

#[test]
fn nothing_that_is_said_becomes_markup() {
    let mut hostile = change(Action::Update, "vpc/vpc", "VPC");
    hostile.address = Address(HOSTILE.into());
    hostile.kind = HOSTILE.into();
    hostile.id = Some(HOSTILE.into());
    hostile.reason = Some(HOSTILE.into());
    hostile.by_name = true;
    hostile.fields.push(difference(HOSTILE, json!(HOSTILE), json!({ HOSTILE: HOSTILE })));
    hostile.fields.push(difference("spec.document", json!([HOSTILE]), json!({ HOSTILE: HOSTILE })));
    let mut plan = plan(vec![hostile]);
    plan.header.caller = HOSTILE.into();
    plan.header.targets[0].because = HOSTILE.into();
    plan.open_calls = vec![HOSTILE.into()];
    let text = render(&[plan], &[HOSTILE.into()]);
    let (mut fence, mut cells) = (None, Vec::new());
    let mut outside = String::new();
    for line in text.lines() {
        match fence {
            None if line.starts_with("```") => fence = Some(line.trim_end_matches("diff")),
            None => {
                if line.starts_with('|') {
                    cells.push(line.matches('|').count());
                }
                outside += line;
                outside += "\n";
            }
            Some(open) if line.trim() == open => fence = None,
            Some(_) => {}
        }
    }
    assert_eq!(fence, None, "every fence is closed by its own: {text}");
    assert_eq!(cells, [6, 6, 6], "header, rule and one row: {text}");
    for (markup, count) in [("<details>", 1), ("</details>", 1), ("<img", 0), ("](", 0), ("@", 0), ("\u{202e}", 0)] {
        assert_eq!(outside.matches(markup).count(), count, "{markup}: {outside}");
    }
    assert_eq!(outside.matches("<code>").count(), outside.matches("</code>").count());
}

#[test]
fn a_comment_is_never_too_long_and_says_what_was_left_out() {
    let large = |action, count: usize, size: usize| {
        let changes = (0..count).map(|number| {
            let mut one = change(action, &format!("vpc/object{number}"), "VPC");
            one.reason = Some("because".into());
            one.fields.push(difference("spec.document", json!("é".repeat(size)), json!("x".repeat(size))));
            one
        });
        plan(changes.collect())
    };
    let many: Vec<Plan> = (0..200).map(|_| large(Action::Update, 10, 10)).collect();
    let cases = [
        (vec![large(Action::Update, 300, 2000)], "_2"),
        (vec![large(Action::Create, 5000, 10)], " changes more,"),
        (many, "instances more, for which"),
        (vec![large(Action::Update, 1, 200_000)], "(200002 characters)"),
        (vec![large(Action::Update, 3, 10), large(Action::Refused, 3000, 10)], "Plan: 3000 refused."),
    ];
    for (plans, says) in cases {
        let text = render(&plans, &vec!["an error".into(); 50]);
        assert!(text.len() <= LIMIT, "{}", text.len());
        assert!(text.contains(says), "{says}: {}", &text[..1000]);
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }
}
